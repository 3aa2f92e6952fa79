"""What mcds keeps on a memcached server, read as docs/formats.md says and by nothing of mcds."""

import re
import socket
import struct
import urllib.parse


def crc32c(*parts):
    total = 0xFFFFFFFF
    for byte in b"".join(parts):
        total ^= byte
        for _ in range(8):
            total = total >> 1 ^ (0x82F63B78 if total & 1 else 0)
    return total ^ 0xFFFFFFFF


class Server:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def keys(self):
        self.socket.sendall(b"lru_crawler metadump all\r\n")
        lines = iter(self.file.readline, b"END\r\n")
        quoted = [re.match(rb"key=(\S+)", line).group(1) for line in lines]
        return [urllib.parse.unquote_to_bytes(key) for key in quoted]

    def get(self, key):
        """Client flags and value, or None."""
        self.socket.sendall(b"get %s\r\n" % key)
        line = self.file.readline()
        if line == b"END\r\n":
            return None
        _, _, flags, length = line.split()
        value = self.file.read(int(length))
        self.file.read(len(b"\r\nEND\r\n"))
        return int(flags), value


def frame(key, value, kind):
    assert value[:3] == b"md" + kind and value[3] == 1, value
    assert struct.unpack("<I", value[-4:])[0] == crc32c(key, value[:-4])
    return value[4:-4]


class Bytes:
    """A place in bytes that moves on."""

    def __init__(self, value, at=0):
        self.value, self.at = value, at

    def take(self, length):
        assert self.at + length <= len(self.value)
        self.at += length
        return self.value[self.at - length:self.at]

    def number(self, length, signed=False):
        return int.from_bytes(self.take(length), "little", signed=signed)

    def varint(self):
        number = shift = 0
        while True:
            byte = self.number(1)
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number


def record(key, value):
    """The kind, and the value or (name, count, length) of its parts."""
    bytes_ = Bytes(frame(key, value, b"R"))
    bytes_.take(16)
    kind, ids = bytes_.number(1), bytes_.number(1)
    bytes_.take(12 * ids + 12)
    if kind == 3:
        return kind, (bytes_.number(8), bytes_.number(4), bytes_.number(8))
    return kind, bytes_.value[bytes_.at:]


def exact(server, key):
    """The value of an exact counter, and its writers as (owner, added, mark)."""
    head = frame(key, server.get(key)[1], b"H")
    assert head[0] == 1 and head[2] == 64 // head[1] - 1
    value, writers = 0, []
    for slot in range(head[2]):
        name = key.replace(b":c1:", b":cx1:", 1) + b":%d" % slot
        found = server.get(name)
        bytes_ = Bytes(frame(name, found[1], b"X") if found else bytes(21))
        bytes_.take(12)
        value += bytes_.number(8, signed=True)
        for _ in range(bytes_.number(1)):
            owner, _, added, settled = (bytes_.number(8, signed=True) for _ in range(4))
            value += added - settled
            bytes_.take(4)
            writers.append((owner, added, bytes_.number(1)))
    return value, writers


def elements(value):
    bytes_ = Bytes(value)
    found = []
    while bytes_.at < len(value):
        found.append(bytes_.take(bytes_.varint()))
    return found


def array(server, key):
    kind, value = record(key, server.get(key)[1])
    if kind == 3:
        name, count, length = value
        keys = [b"%s:%016x:%d" % (key.replace(b":a1:", b":a1c:", 1), name, i) for i in range(count)]
        value = b"".join(server.get(one)[1] for one in keys)
        assert len(value) == length
    return None if kind == 2 else elements(value)


def fold_record(bytes_, key):
    assert bytes_.number(1) == 0xA7
    length, total = bytes_.varint(), bytes_.number(4)
    body = Bytes(bytes_.take(length))
    assert crc32c(key, body.value) == total
    parts, writer, seq = body.number(1), body.number(8), body.number(4)
    low, time_ms, element = seq - body.varint(), body.number(6), body.take(body.varint())
    value = body.take(body.varint()) if parts & 16 else b""
    expires = body.number(6) if parts & 32 else 0
    expected = body.take(body.varint()) if parts & 64 else b""
    delta = body.number(8, signed=True) if parts & 128 else 0
    return parts & 15, writer, seq, low, time_ms, element, value, expires, expected, delta


def apply(entries, verb, time_ms, element, value, expires, expected, delta):
    old = entries.get(element)
    if verb == 1 or verb == 2 and old is None or verb == 3 and old and old[0] == expected:
        entries[element] = value, expires
    elif verb == 4 and old:
        del entries[element]
    elif verb in (5, 6) and (verb == 5 or old or delta > 0):
        number = int(old[0] if old else 0) + delta
        entries[element] = b"%d" % number, 0
        if verb == 6 and number <= 0:
            del entries[element]
    elif verb == 7:
        last = max((struct.unpack("<Q", v[-8:])[0] for v, _ in entries.values()), default=0)
        place = max(time_ms << 20, last + 1)
        entries[element] = (old[0] if old else b"") + struct.pack("<Q", place), 0
    elif verb == 8 and old:
        entries[element] = old[0][8:], 0
        if not entries[element][0]:
            del entries[element]
    elif verb == 9 and (not old or old[0] < value):
        entries[element] = value, 0


def fold_key(key, flags, value):
    """State, generation, and {element: (value, expiry)} of one key."""
    assert value[:4] == b"mdF\1"
    head = Bytes(value, 4)
    length, generation = head.number(4), head.number(8)
    _, floor, total = head.number(4), head.number(4), head.number(4)
    assert crc32c(key, value[:24], value[28:28 + length]) == total
    snapshot, entries, done, lows = Bytes(value[28:28 + length]), {}, set(), {}
    for _ in range(snapshot.varint()):
        writer = snapshot.number(8)
        lows[writer] = snapshot.number(4)
        snapshot.take(4)
        for _ in range(snapshot.varint()):
            done.add((writer, snapshot.number(4)))
            snapshot.take(9)
    for _ in range(snapshot.varint()):
        size, twice = snapshot.varint(), snapshot.varint()
        element, kept = snapshot.take(size), snapshot.take(twice >> 1)
        entries[element] = kept, snapshot.number(6) if twice & 1 else 0
    records = Bytes(value, 28 + length)
    while flags & 3 == 1 and records.at < len(value):
        verb, writer, seq, low, time_ms, *rest = fold_record(records, key)
        void = seq < lows.get(writer, 0) or (writer, seq) in done or time_ms // 1000 < floor
        if not void:
            done.add((writer, seq))
            lows[writer] = max(low, lows.get(writer, 0))
            apply(entries, verb, time_ms, *rest)
    return flags & 3, generation, entries


def fold(server, root, key=None, digits=b""):
    """{element: (value, expiry)} of a whole fold."""
    flags, value = server.get(key or root)
    state, generation, entries = fold_key(key or root, flags, value)
    if state == 1:
        return entries
    below = {}
    for digit in b"0123456789abcdef":
        longer = digits + bytes([digit])
        below.update(fold(server, root, b"%s:%016x:%s" % (root, generation, longer), longer))
    return below


def places(entries):
    """The elements of a list with removal, in their order."""
    found = []
    for element, (value, _) in entries.items():
        found += [(place, element) for (place,) in struct.iter_unpack("<Q", value)]
    return [element for _, element in sorted(found)]
