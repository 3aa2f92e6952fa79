"""Parts of queues, as docs/formats.md says."""

import struct

from reader import Bytes

DAY_MS = 86400000
LOST = 2**62
STRIPE = 2**41
OPEN, CLOSED = 1, 2
CLAIMED, DYING = 1, 2
AT_ONCE = 0


class Part:
    """The jobs of a part: [number, tries, state, time, bytes]."""

    def __init__(self, value=None):
        self.state, self.next, self.jobs = OPEN, 0, []
        if value is None:
            return
        bytes_ = Bytes(value)
        self.state, self.next = bytes_.number(1), bytes_.number(6)
        assert self.state in (OPEN, CLOSED)
        while not bytes_.is_over():
            head = [bytes_.number(6), bytes_.number(2), bytes_.number(1), bytes_.number(6)]
            self.jobs.append([*head, bytes_.take(bytes_.number(4))])
        numbers = [job[0] for job in self.jobs]
        assert numbers == sorted(set(numbers)) and len(numbers) <= 320
        assert all(number < self.next for number in numbers)

    def write(self):
        out = bytes([self.state]) + self.next.to_bytes(6, "little")
        for number, tries, state, time_ms, job in self.jobs:
            out += struct.pack("<Q", number)[:6] + struct.pack("<HB", tries, state)
            out += struct.pack("<Q", time_ms)[:6] + struct.pack("<I", len(job)) + job
        return out

    def find(self, number):
        return next((job for job in self.jobs if job[0] == number), None)

    def end(self, number, tries):
        job = self.find(number)
        if job is not None:
            self.jobs.remove(job)
        return job is not None and job[1] == tries and not job[2] & DYING


def stripe_of(part):
    assert part % STRIPE < 2**40
    return part // STRIPE


def numbers(value):
    """Incarnation, and the first and the last part of each stripe."""
    bytes_ = Bytes(value)
    incarnation, ranges = bytes_.number(8), []
    while not bytes_.is_over():
        first, last = bytes_.number(6), bytes_.number(6)
        assert first <= last and stripe_of(first) == stripe_of(last) == len(ranges)
        ranges.append((first, last))
    assert incarnation != 0 and 1 <= len(ranges) <= 32
    return incarnation, ranges


def write_numbers(incarnation, ranges):
    return incarnation.to_bytes(8, "little") + b"".join(part.to_bytes(6, "little") for pair in ranges for part in pair)


def dead(value):
    """Tries and bytes of a dead job."""
    return int.from_bytes(value[:4], "little"), value[4:]


def due(time_ms, delay_ms):
    return time_ms + delay_ms if delay_ms else AT_ONCE


def claim(part, time_ms, order):
    ms, ended, tries = order.varint(), order.varint(), order.varint()
    flag = LOST if ended and not part.end(ended - 1, tries) else 0
    for job in part.jobs:
        if job[3] <= time_ms:
            job[1:4] = job[1] + 1, job[2] | CLAIMED, time_ms + ms
            return flag | job[0] << 16 | job[1]
    return flag | min((job[3] for job in part.jobs), default=0)


def push(entries, time_ms, element, order):
    opens, due_ms = order.number(1), due(time_ms, order.varint())
    if element not in entries and not opens:
        return 0
    part = Part(entries[element][0]) if element in entries else Part()
    if part.state == CLOSED:
        return 0
    first = part.next
    while not order.is_over():
        part.jobs.append([part.next, 0, 0, due_ms, order.take(order.varint())])
        part.next += 1
    assert first < part.next <= first + 64
    if len(part.jobs) >= 256 or len(part.write()) >= 8192:
        part.state = CLOSED
    entries[element] = part.write(), 0
    return first


def raise_numbers(entries, element, order):
    incarnation, first, last = order.number(8), order.varint(), order.varint()
    stripes = 1 if order.is_over() else order.varint()
    stripe = stripe_of(first)
    assert first <= last and stripe == stripe_of(last) and 1 <= stripes <= 32
    if element not in entries:
        if first == last == 0:
            entries[element] = write_numbers(incarnation, [(i * STRIPE, i * STRIPE) for i in range(stripes)]), 0
        return
    old, ranges = numbers(entries[element][0])
    if old == incarnation:
        ranges[stripe] = max(first, ranges[stripe][0]), max(last, ranges[stripe][1])
        entries[element] = write_numbers(incarnation, ranges), 0


def change(part, what, time_ms, order):
    """DONE, AGAIN, LONGER or DIE."""
    number, tries = order.varint(), order.varint()
    if what == 4:
        part.end(number, tries)
        return
    job, ms = part.find(number), order.varint()
    if job is None or not job[2] & CLAIMED or job[1] != tries:
        return
    if what == 5:
        job[2:4] = job[2] & DYING, due(time_ms, ms)
    else:
        job[2:4] = job[2] | (DYING if what == 9 else 0), max(job[3], time_ms + ms)


def apply(entries, time_ms, element, value):
    """Returns the number of the outcome."""
    order = Bytes(value)
    what, number = order.number(1), 0
    if what == 1:
        return push(entries, time_ms, element, order)
    if what == 8:
        raise_numbers(entries, element, order)
    elif what == 2:
        entries.setdefault(element, (Part().write(), 0))
    elif element in entries:
        kept, expires = entries[element]
        part = Part(kept)
        if what == 3:
            number = claim(part, time_ms, order)
        elif what == 7:
            if part.state == CLOSED and not part.jobs and not expires:
                expires = time_ms + DAY_MS
        else:
            change(part, what, time_ms, order)
        entries[element] = part.write(), expires
    assert order.is_over()
    return number
