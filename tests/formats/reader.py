"""What mcds keeps on memcached, read as docs/formats.md says and by nothing of mcds: numbers,
frames and records. Folds and parts are read by the files beside."""

import re
import socket
import struct
import urllib.parse


def crc32c_row(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC32C = [crc32c_row(byte) for byte in range(256)]


def crc32c(*parts):
    total = 0xFFFFFFFF
    for byte in b"".join(parts):
        total = total >> 8 ^ CRC32C[(total ^ byte) & 255]
    return total ^ 0xFFFFFFFF


class Server:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()

    def keys(self):
        first = b"BUSY"  # while the server goes through its keys for itself
        while first.startswith(b"BUSY"):
            self.socket.sendall(b"lru_crawler metadump hash\r\n")
            first = self.file.readline()
        lines = []
        while first != b"END\r\n":
            lines.append(first)
            first = self.file.readline()
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

    def set(self, key, flags, value, ttl_s=0):
        self.socket.sendall(b"set %s %d %d %d\r\n%s\r\n" % (key, flags, ttl_s, len(value), value))
        line = self.file.readline()
        assert line == b"STORED\r\n", (key, line)


class Bytes:
    """A place in bytes that moves on."""

    def __init__(self, value, at=0):
        self.value, self.at = value, at

    def is_over(self):
        return self.at == len(self.value)

    def take(self, length):
        assert self.at + length <= len(self.value)
        self.at += length
        return self.value[self.at - length:self.at]

    def rest(self):
        return self.take(len(self.value) - self.at)

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


def number(key, flags, value):
    """The value, and the second of its incarnation."""
    count = int(value)
    is_limit = b":rw1:" in key or b":rb1:" in key
    assert value.strip().isdigit() and count < 2**63, (key, flags, value)
    assert flags > 1600000000 or (is_limit and flags == 0), (key, flags, value)
    is_signed = count >= 2**61
    assert not is_signed or b":lf1:" in key or b":sf1:" in key or abs(count - 2**62) <= 2**61
    return count - 2**62 if is_signed and b":c1:" in key else count, flags


def frame(key, value, kind, version=1):
    assert value[:3] == b"md" + kind and value[3] == version, value
    assert struct.unpack("<I", value[-4:])[0] == crc32c(key, value[:-4])
    return value[4:-4]


def lease(key, _, value):
    """Whether it is held, the token, how often it was renewed, and the label."""
    bytes_ = Bytes(frame(key, value, b"L"))
    state = bytes_.number(1)
    assert state in (0, 1) and len(value) <= 8 + 25 + 200
    return state == 0, bytes_.take(16), bytes_.number(8), bytes_.rest()


def readers(key, _, value):
    """When the intent ends, None: there is none; and for each holder its token, how often it was renewed, when its
    lease ends, and the label. A time is what is left of the ttl of the key."""
    bytes_ = Bytes(frame(key, value, b"L", 2))
    intent, found = bytes_.number(4), []
    while not bytes_.is_over():
        token, renewed, end = bytes_.take(16), bytes_.number(8), bytes_.number(4)
        found.append((token, renewed, end, bytes_.take(bytes_.number(1))))
        assert len(found) <= 64 and len(found[-1][3]) <= 200
    return None if intent == 2**32 - 1 else intent, found


def ids(key, _, value):
    """The bits of an id, and the next one; None: the key has only a mark."""
    bytes_ = Bytes(frame(key, value, b"I"))
    state, bits, following = bytes_.number(1), bytes_.number(1), bytes_.number(8)
    assert bytes_.is_over() and state in (1, 2) and bits in (53, 63) and following <= 2**bits
    assert state == 2 or following == 0
    return bits, following if state == 2 else None


def permits(key, _, value):
    """The number of permits of a semaphore, and the number that it was made with."""
    numbers = struct.unpack("<2Q", frame(key, value, b"S"))
    assert all(1 <= number <= 60 for number in numbers)
    return numbers


def once(key, _, value):
    """Kind, whether it is strict, the token, the hash of the request, both times, the code and the result."""
    bytes_ = Bytes(frame(key, value, b"N"))
    kind, strict, token = bytes_.number(1), bytes_.number(1), bytes_.take(16)
    request, began_ms, until_ms, code = bytes_.number(8), bytes_.number(8), bytes_.number(8), bytes_.number(4)
    result = bytes_.rest()
    assert kind in (1, 2, 3) and strict in (0, 1) and (kind == 2 or (code, result) == (0, b""))
    return kind, strict == 1, token, request, began_ms, until_ms, code - (code >> 31 << 32), result


def transcript(result):
    """The parts of what a command of once has printed: stream and bytes."""
    parts = transcript_parts(result)
    return [(1, result)] if parts is None else parts


def transcript_parts(result):
    """None: the result is standard output alone, as it was printed."""
    if result[:3] != b"mo\1" or result[3:4] not in (b"\0", b"\1"):
        return None
    at, parts = 4, []
    while at < len(result):
        length = int.from_bytes(result[at + 1 : at + 5], "little")
        if len(result) < at + 5 + length or result[at] not in (1, 2):
            return None
        parts.append((result[at], result[at + 5 : at + 5 + length]))
        at += 5 + length
    return parts


def cached(key, _, value):
    """Kind, whether it is held, the times, the tags with their generations, and the rest."""
    bytes_ = Bytes(frame(key, value, b"C"))
    kind, held, _id = bytes_.number(1), bytes_.number(1), bytes_.number(8)
    times = tuple(bytes_.number(8) for _ in range(3))
    _cost, failures, count, own = bytes_.number(4), bytes_.number(1), bytes_.number(1), bytes_.number(8)
    tags = {}
    for _ in range(count):
        length = bytes_.number(1)
        tag = bytes_.take(length)
        tags[tag] = bytes_.number(8)
    rest = bytes_.rest()
    assert 1 <= kind <= 5 and held in (0, 1) and count <= 16
    assert kind not in (3, 4) or rest == b""
    assert kind != 2 or len(rest) == 24
    return kind, held == 1, times, failures, own, tags, rest


def generation(key, _, value):
    """Whether it is held, and its number."""
    bytes_ = Bytes(frame(key, value, b"K"))
    state, number_ = bytes_.number(1), bytes_.number(8)
    assert state in (1, 2) and bytes_.is_over()
    return state == 2, number_


def pair(kind):
    """Two numbers: of V, slot and token; of B, views and slot; of M, slot and 0."""
    def decode(key, _, value):
        payload = frame(key, value, kind)
        assert len(payload) == 16 and (kind != b"M" or payload[8:] == bytes(8))
        return struct.unpack("<QQ", payload)
    return decode


def beats(key, _, value):
    """The slots in which a visitor was active, newest first."""
    payload = frame(key, value, b"O")
    assert len(payload) == 24
    newest, bits, _token = struct.unpack("<QQQ", payload)
    assert bits & 1
    return [newest - i for i in range(64) if bits >> i & 1]


ESTIMATED = 2
PROGRAM, COMMAND = 0, 1  # whose database has the views
AGAIN = 1  # in the flags of a log's root: added again after a loss, and not confirmed
ROOTS = {b"c1": (b"c", 1), b"vc1": (b"v", 2), b"ow1": (b"o", 3), b"vw1": (b"w", 2),
         b"l1": (b"l", 0), b"e1": (b"e", 5)}


def plain_root(key, flags, value):
    """The life of a structure without a map of its own, and the numbers that it was made with."""
    bytes_ = Bytes(frame(key, value, b"D"))
    layout, needs, kind, form = (bytes_.take(1) for _ in range(4))
    assert (layout, needs, form) == (b"\x01", b"\x01", b"\x00")
    _born, life = bytes_.number(4), bytes_.number(8)
    if kind == b"e":
        flags &= ~AGAIN
    assert life % 2 == 1 and flags == (life >> 32 << 2 & 0xFFFFFFFF | 2)
    hash_key = bytes_.take(16)
    settings_ = tuple(bytes_.number(8) for _ in range(bytes_.number(1)))
    assert any(hash_key) == (kind in b"vo" and settings_[-1] == ESTIMATED)
    expected, count = ROOTS[key.split(b":")[1]]
    is_used_list = kind == b"l" and settings_ == (1,)
    is_open = kind == b"w" and len(settings_) == 1  # no client has chosen the database yet
    assert bytes_.is_over() and kind == expected and (len(settings_) == count or is_used_list or is_open)
    assert kind != b"w" or settings_[1:] in ((), (PROGRAM,), (COMMAND,))
    return life, settings_


def settings(key, flags, value):
    """The numbers that a structure was made with."""
    return plain_root(key, flags, value)[1]


class Life:
    """What a descriptor tells."""

    def __init__(self, root, payload):
        layout, needs, kind, self.form, self.born, self.number, self.hash_key, count = \
            struct.unpack("<BB1sBIQ16sB", payload[:33])
        assert layout == needs and needs in (1, 3, 4) and self.number % 2 == 1 and len(payload) == 33 + 8 * count
        self.root, self.kind, self.layout = root, kind, layout
        self.settings = struct.unpack("<%dQ" % count, payload[33:])

    def key(self, digits):
        return b"%s:%016x" % (self.root, self.number) + (b":" + digits if digits else b"")


def descriptor(key, flags, value):
    life = Life(key, frame(key, value, b"D"))
    if life.kind in b"smtp":  # a map's
        assert life.layout in (3, 4), (key, life.layout)
        assert flags == (life.number >> 32 << 2 | 2) & 0xFFFFFFFF, (key, flags)
        assert not life.settings and any(life.hash_key)
    return life


def record(key, _, value):
    """The kind, and the value or (name, count, length, sum) of its parts."""
    bytes_ = Bytes(frame(key, value, b"R"))
    bytes_.take(16)
    kind, ids = bytes_.number(1), bytes_.number(1)
    assert kind in (1, 2, 3) and ids <= 16
    bytes_.take(12 * ids + 12)
    if kind == 3:
        return kind, struct.unpack("<QIQI", bytes_.rest())
    return kind, bytes_.rest()


def exact_head(key, _, value):
    """How many copies and slots."""
    form, copies, slots = frame(key, value, b"H")
    assert form == 1 and slots == 64 // copies - 1
    return copies, slots


def exact_slot(key, _, value):
    """Epoch, base, and {owner: [version, added, settled, mark]}."""
    bytes_ = Bytes(frame(key, value, b"X"))
    bytes_.take(8)
    epoch, base, entries = bytes_.number(4), bytes_.number(8, signed=True), {}
    for _ in range(bytes_.number(1)):
        owner, version, added, settled, _, mark = struct.unpack("<QQqqIB", bytes_.take(37))
        entries[owner] = [version, added, settled, mark]
    assert bytes_.is_over() and list(entries) == sorted(entries) and len(entries) <= 40
    return epoch, base, entries


def exact_drop(key, flags, value):
    """The number of the drop."""
    (number_,) = struct.unpack("<Q", frame(key, value, b"Y"))
    assert flags == 0 and number_ != 0
    return number_


def merge(copies):
    """A slot from its copies."""
    newest, base, _ = max(copies, key=lambda copy: copy[0])
    merged = {}
    for epoch, _, entries in sorted(copies, key=lambda copy: copy[0]):
        for owner, entry in entries.items() if epoch > newest - 2 else ():
            old = merged.get(owner, entry)
            version, added, _, mark = max(old, entry)
            both = old[3] | entry[3] if old[0] == entry[0] else mark
            merged[owner] = [version, added, entry[2], both]
    return base, merged


def exact(servers, key):
    """The value of an exact counter, its entries, and the numbers of the servers that hold it."""
    holders = [i for i, server in enumerate(servers) if server.get(key)]
    copies, slots = exact_head(key, *servers[holders[0]].get(key))
    value, writers = 0, []
    for slot in range(slots):
        name = key.replace(b":c1:", b":cx1:", 1) + b":%d" % slot
        found = [servers[i].get(name) for i in holders]
        found = [exact_slot(name, *copy) for copy in found if copy]
        base, entries = merge(found) if found else (0, {})
        value += base + sum(added - settled for _, added, settled, _ in entries.values())
        writers += entries.values()
    assert len(holders) <= copies
    return value, writers, holders


def array(server, key):
    kind, value = record(key, *server.get(key))
    if kind == 3:
        name, count, length, total = value
        keys = [b"%s:%016x:%d" % (key.replace(b":a1:", b":a1c:", 1), name, i) for i in range(count)]
        value = b"".join(server.get(one)[1] for one in keys)
        assert len(value) == length and crc32c(value) == total
    bytes_, found = Bytes(value), []
    while not bytes_.is_over():
        found.append(bytes_.take(bytes_.varint()))
    return None if kind == 2 else found
