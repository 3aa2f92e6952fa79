"""Lists and logs and the segments in which they are stored, as docs/formats.md says."""

import struct

from reader import AGAIN, Bytes, crc32c, frame, plain_root

PART_MAX = 16384
SEGMENT_END = 0xFFFFFFFF


def root(key, flags, value):
    """The life of a list or log, and of a log (by arrival, late, ahead, retention, chunk)."""
    life, settings = plain_root(key, flags, value)
    assert len(settings) in {b"l1": (0, 1), b"e1": (5,)}[key.split(b":")[1]]
    return life, settings if len(settings) == 5 else None


def segment(key, flags, value):
    """The incarnation of the segment before, and records (writer, seq, flags, filed, when, payload)."""
    if flags == SEGMENT_END:
        assert value == b""
        return 0, []
    bytes_, before, records = Bytes(value), None, []
    while not bytes_.is_over() and value[bytes_.at] != 0:
        assert bytes_.number(1) == 0xA7
        length, total = bytes_.number(2), bytes_.number(4)
        if bytes_.at + length > PART_MAX:
            break
        body = Bytes(bytes_.take(length))
        assert crc32c(key, body.value) == total
        kind = body.number(1)
        if kind == 64:
            before = body.number(4)
            assert body.is_over() and not records
            continue
        writer, seq = body.number(8), body.number(4)
        filed = body.number(6) if kind & 16 else None
        when = body.number(6) if kind & 32 else filed
        assert kind < 64 and before is not None
        records.append((writer, seq, kind, filed, when, body.rest()))
    return before, records


def count(_, flags, value):
    """How many segments have been made; the first builds of version 0.1 left out the last one."""
    assert flags == 0 and value.isdigit() and value[:1] != b"0"
    return int(value)


def stream(server, top):
    """The records (filed, when, payload) of all segments below a key, and how many segments."""
    made = server.get(top)
    found, seen, births, at = [], set(), [], 0
    while True:
        key = b"%s:%d" % (top, at)
        item = server.get(key)
        if item is None or item[0] == SEGMENT_END:
            assert made is None or count(top, *made) in (at - 1, at)
            return found, at
        before, records = segment(key, *item)
        assert before in (0, SEGMENT_END, births[-1] if births else 0)
        births.append(item[0])
        for writer, seq, kind, filed, when, payload in records:
            assert not kind & 4
            if (writer, seq) not in seen:
                whole = payload if not kind & 8 else blocks(server, top, writer, seq, payload)
                found.append((filed, when, whole))
            seen.add((writer, seq))
        at += 1


def tombstone(key, flags, value):
    """The end of a life of a log, a set, a table or members; all but the first have the root's flags."""
    _, tag, *_, life = key.split(b":")
    assert value == b""
    assert flags >> 2 == int(life, 16) >> 32 & 0x3FFFFFFF if tag != b"e1" else flags == SEGMENT_END
    return True


def block(key, _, value):
    return frame(key, value, b"P")


def blocks(server, top, writer, seq, where):
    length, most = struct.unpack("<QI", where)
    keys = [b"%s:%016x:%d:%d" % (top, writer, seq, i) for i in range((length + most - 1) // most)]
    found = [block(key, *server.get(key)) for key in keys]
    assert all(len(one) == most for one in found[:-1]) and sum(map(len, found)) == length
    return b"".join(found)


def list_(server, key):
    """The values of a list, and in how many segments they are stored."""
    life, _ = root(key, *server.get(key))
    found, count = stream(server, b"%s:%d" % (key.replace(b":l1:", b":lp1:", 1), life))
    return [value for _, _, value in found], count


def log(server, key):
    """The settings of a log, and its events (filed, when, event) by the time they are filed; None:
    there is no log."""
    life, settings = root(key, *server.get(key))
    if server.get(key)[0] & AGAIN and server.get(b"%s:%d" % (key, life >> 32 & 0x3FFFFFFF)):
        return None
    top = b"%s:%d:%d" % (key.replace(b":e1:", b":ep1:", 1), settings[4], life >> 32 & 0x3FFFFFFF)
    chunks = {one[len(top) + 1:].split(b":")[0] for one in server.keys() if one.startswith(top + b":")}
    found = []
    for chunk in sorted(chunks, key=int):
        events, _ = stream(server, b"%s:%s" % (top, chunk))
        assert all(filed // settings[4] == int(chunk) for filed, _, _ in events)
        found += events
    return settings, sorted(found, key=lambda event: event[0])
