"""Folds, and what sets, tables and members keep in them, as docs/formats.md says."""

import math
import re
import struct

import jobs
import reader
from reader import Bytes, crc32c


OPEN, SEALED, MOVED = 1, 2, 3
PLAIN, BAG, LIST, ESTIMATED = 0, 1, 2, 1

WORD = 2**64 - 1


def rotated(word, bits):
    return (word << bits | word >> 64 - bits) & WORD


def sip_round(a, b, c, d):
    a, c = a + b & WORD, c + d & WORD
    b, d = rotated(b, 13) ^ a, rotated(d, 16) ^ c
    a, c = rotated(a, 32) + d & WORD, c + b & WORD
    return a, rotated(b, 17) ^ c, rotated(c, 32), rotated(d, 21) ^ a


def siphash(key, data):
    """SipHash-1-3 of these bytes, under a key of 16 bytes."""
    low, high = struct.unpack("<QQ", key)
    state = (low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D,
             low ^ 0x6C7967656E657261, high ^ 0x7465646279746573)
    whole = len(data) // 8 * 8
    last = int.from_bytes(data[whole:], "little") | (len(data) & 255) << 56
    for word in [*(at for at, in struct.iter_unpack("<Q", data[:whole])), last]:
        a, b, c, d = state
        a, b, c, d = sip_round(a, b, c, d ^ word)
        state = a ^ word, b, c, d
    a, b, c, d = state
    state = a, b, c ^ 255, d
    for _ in range(3):
        state = sip_round(*state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def map_record(bytes_, key):
    assert bytes_.number(1) == 0xA7
    length, total = bytes_.varint(), bytes_.number(4)
    body = Bytes(bytes_.take(length))
    assert crc32c(key, body.value) == total
    verb, parts, writer, seq = body.number(1), body.number(1), body.number(8), body.number(4)
    assert parts < 16
    low, time_ms, element = seq - body.varint(), body.number(6), body.take(body.varint())
    value = body.take(body.varint()) if parts & 1 else b""
    expires = body.number(6) if parts & 2 else 0
    expected = body.take(body.varint()) if parts & 4 else b""
    delta = body.number(8, signed=True) if parts & 8 else 0
    assert body.is_over()
    return verb, writer, seq, low, time_ms, element, value, expires, expected, delta


def to_number(text):
    if not re.fullmatch(rb"-?\d{1,20}", text) or not -2**63 <= int(text) < 2**63:
        return None
    return int(text)


def add(entries, element, delta, ends_at_zero):
    text, expires = entries.get(element, (b"0", 0))
    count = to_number(text)
    if count is None or not -2**63 <= count + delta < 2**63:
        return
    entries[element] = b"%d" % (count + delta), expires
    if ends_at_zero and count + delta <= 0:
        del entries[element]


def place_of(entries, own, seq, low, chosen):
    """Where an addition belongs; `own`: the places of its writer's others by their numbers."""
    taken = [place for v, _ in entries.values() for (place,) in struct.iter_unpack("<Q", v)]
    known = {other: place for other, place in own.items() if place}
    floor = known[max(o for o in known if o < seq)] if any(o < seq for o in known) else 0
    later = min((o for o in known if o > seq), default=None)
    last = max((p for p in taken if later is None or p < known[later]), default=0)
    if chosen > floor and (chosen > last or last - chosen < 30000 << 20):
        return chosen
    if later is not None:
        return known[later] - (later - seq)
    return max(last, floor) + 1 + seq - low


def places_with(places, place):
    return b"".join(sorted([places[i:i + 8] for i in range(0, len(places), 8)]
                           + [struct.pack("<Q", place)], key=lambda p: struct.unpack("<Q", p)))


NS_PER_MS = 1000000
NEVER = 2**63 - 1


def rates_of(value):
    bytes_ = Bytes(value)
    patience, rates = bytes_.varint(), []
    while not bytes_.is_over():
        rates.append((bytes_.varint(), bytes_.varint()))
    assert 1 <= len(rates) <= 4
    return patience, rates


def bucket(value):
    """The time of a token bucket, and [interval, full] of each rate."""
    assert len(value) in (24, 40, 56, 72)
    time_ns, *words = struct.unpack("<%dQ" % (len(value) // 8), value)
    return time_ns, [list(pair) for pair in zip(words[::2], words[1::2])]


def take(entries, time_ms, element, value, delta):
    """Returns outcome and number."""
    patience, rates = rates_of(value)
    own = time_ms * NS_PER_MS
    time_ns, kept = bucket(entries[element][0]) if element in entries else (own, [])
    now = max(time_ns, own)
    if now - own > 5000 * NS_PER_MS:
        return 8, now - own
    if delta < 0 and not kept:
        return 3, 0
    debts, waits = [], [0]
    for i, (interval, burst) in enumerate(rates[:len(kept)] if delta < 0 else rates):
        old, debt = (kept[i][0], max(kept[i][1] - now, 0)) if i < len(kept) else (interval, 0)
        allowed = burst + patience - delta * interval
        waits.append(NEVER if allowed < 0 else max(debt - allowed * old // interval, 0) if debt else 0)
        debts.append(max(-(-debt * interval // old) + delta * interval, 0))
    if delta > 0 and max(waits) > 0:
        return 7, NEVER if max(waits) == NEVER else max(waits) + now - own
    kept[:len(debts)] = [[rate[0], now + debt] for rate, debt in zip(rates, debts)]
    while len(kept) > 1 and kept[-1][1] <= now:
        kept.pop()
    full = max(rate[1] for rate in kept)
    entries[element] = (struct.pack("<Q", now) + b"".join(struct.pack("<QQ", *rate) for rate in kept),
                        -(-full // NS_PER_MS))
    over = max(debt - rate[1] for debt, rate in zip(debts, rates))
    if over > 0:
        return 1, own - now - over
    debts += [0] * (len(rates) - len(debts))
    return 1, min((rate[1] - debt) // rate[0] for debt, rate in zip(debts, rates))


def apply(entries, own, seq, low, verb, time_ms, element, value, expires, expected, delta):
    """Returns the place of an addition to a list, else 0."""
    if 0 < entries.get(element, (b"", 0))[1] <= time_ms:
        del entries[element]
    old = entries.get(element)
    assert 1 <= verb <= 11
    if verb == 1 or verb == 2 and old is None or verb == 3 and old and old[0] == expected:
        entries[element] = value, expires
    elif verb == 4 and old:
        del entries[element]
    elif verb in (5, 6) and (verb == 5 or old or delta > 0):
        add(entries, element, delta, verb == 6)
    elif verb == 7:
        place = place_of(entries, own, seq, low, (time_ms << 20) + delta)
        entries[element] = places_with(old[0] if old else b"", place), 0
        return place
    elif verb == 8 and old:
        entries[element] = old[0][8:], 0
        if not entries[element][0]:
            del entries[element]
    elif verb == 9 and (not old or old[0] < value):
        entries[element] = value, 0
    elif verb == 10:
        return take(entries, time_ms, element, value, delta)[1]
    elif verb == 11:
        return jobs.apply(entries, time_ms, element, value)
    return 0


def map_key(key, flags, value):
    """State, and {element: (value, expiry)} of one key."""
    assert value[:4] == b"mdF\2" and flags & 15 in (OPEN, SEALED, MOVED)
    head = Bytes(value, 4)
    length = head.number(4)
    _, floor, total = head.number(4), head.number(4), head.number(4)
    assert crc32c(key, struct.pack("<I", flags), value[:16], value[20:20 + length]) == total
    snapshot, entries, done, lows = Bytes(value[20:20 + length]), {}, {}, {}
    for _ in range(snapshot.varint()):
        writer = snapshot.number(8)
        lows[writer] = snapshot.number(4)
        snapshot.take(4)
        numbers = done.setdefault(writer, {})
        for _ in range(snapshot.varint()):
            seq, _, numbers[seq] = snapshot.number(4), snapshot.take(1), snapshot.number(8)
    for _ in range(snapshot.varint()):
        size, twice = snapshot.varint(), snapshot.varint()
        element, kept = snapshot.take(size), snapshot.take(twice >> 1)
        assert element not in entries and 1 <= len(element) <= 1024
        entries[element] = kept, snapshot.number(6) if twice & 1 else 0
    assert snapshot.is_over()
    records = Bytes(value, 20 + length)
    while flags & 3 == OPEN and not records.is_over():
        verb, writer, seq, low, time_ms, *rest = map_record(records, key)
        own = done.setdefault(writer, {})
        if seq >= lows.get(writer, 0) and seq not in own and time_ms // 1000 >= floor:
            lows[writer] = max(low, lows.get(writer, 0))
            own[seq] = apply(entries, own, seq, low, verb, time_ms, *rest)
    return flags & 3, entries


LEVELS = 16


def digits_of(number, levels):
    """The digits that stand for so many levels, two bits each, of a hash."""
    whole = (b"%016x" % number)[:levels // 2]
    return whole + (b"wxyz"[number >> 62 - 4 * (levels // 2) & 3:][:1] if levels % 2 else b"")


def levels_of(digits):
    return 2 * len(digits) - (digits[-1:] in (b"w", b"x", b"y", b"z"))


def is_in(element, life, digits):
    return digits_of(siphash(life.hash_key, element), levels_of(digits)) == digits


def children_of(digits):
    if levels_of(digits) % 2 == 0:
        return [digits + letter for letter in (b"w", b"x", b"y", b"z")]
    quarter = b"wxyz".index(digits[-1:])
    return [digits[:-1] + b"%x" % (4 * quarter + rest) for rest in range(4)]


def child(server, life, digits, above):
    """The entries of one child; `above`: what its sealed parent has."""
    if server.get(life.key(digits)) is None:
        assert above is not None, life.key(digits)
        return {one: kept for one, kept in above.items() if is_in(one, life, digits)}
    return below(server, life, digits)


def below(server, life, digits):
    """{element: (value, expiry)} of a key and all below it."""
    key = life.key(digits)
    state, entries = map_key(key, *server.get(key))
    for element in entries:
        assert is_in(element, life, digits), (key, element)
    if state == OPEN:
        return entries
    assert levels_of(digits) < LEVELS
    found = {}
    for longer in children_of(digits):
        found.update(child(server, life, longer, entries if state == SEALED else None))
    return found


def read(server, root):
    """{element: (value, expiry)} of a whole map."""
    return below(server, reader.descriptor(root, *server.get(root)), b"")


def read_flat(server, root):
    """The same of a flat map."""
    life, found = reader.descriptor(root, *server.get(root)), {}
    for number in range(16**3):
        digits = b"%03x" % number
        item = server.get(life.key(digits))
        state, entries = map_key(life.key(digits), *item) if item else (OPEN, {})
        assert state == OPEN
        for element in entries:
            assert is_in(element, life, digits), element
        found.update(entries)
    return found


def places(entries):
    """The elements of a list with removal, in their order."""
    found = []
    for element, (value, _) in entries.items():
        found += [(place, element) for (place,) in struct.iter_unpack("<Q", value)]
    return [element for _, element in sorted(found)]


def series(first, term):
    """The sum of `first` and term(1), term(2), ... as far as a float can tell."""
    total, k = first, 1
    while total + term(k) != total:
        total, k = total + term(k), k + 1
    return total


def registers(entries):
    """{register: rank} as a map keeps them."""
    found = {}
    for element, (value, _) in entries.items():
        register, = struct.unpack("<H", element)
        assert register < 4096 and len(value) == 1 and 1 <= value[0] <= 53
        found[register] = value[0]
    return found


def registers_of(visitors, hash_key):
    """The registers to which these visitors lead under this hash key."""
    found = {}
    for visitor in visitors:
        total = siphash(hash_key, visitor)
        rank = 53 - (total & 2**52 - 1).bit_length()
        found[total >> 52] = max(rank, found.get(total >> 52, 0))
    return found


def estimate(known):
    """How many members came, from their registers."""
    ranks = [known.get(register, 0) for register in range(4096)]
    m, counts = 4096, [ranks.count(rank) for rank in range(54)]
    few, many = counts[0] / m, 1 - counts[53] / m
    if few == 1:
        return 0.0
    low = series(few, lambda k: few**2**k * 2**(k - 1))
    high = (1 - many + series(0.0, lambda k: -(1 - many**0.5**k)**2 / 2**k)) / 3
    middle = sum(counts[k] / 2**k for k in range(1, 53))
    return m * m / (2 * math.log(2) * (m * low + middle + m * high / 2**52))
