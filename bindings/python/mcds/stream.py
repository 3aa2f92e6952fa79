"""What scans visit: collected in C, read as records, in parts of bounded size."""

from __future__ import annotations

import _thread
import os
import queue
import struct
from typing import Any, AsyncIterator, Callable, Iterator, List, Optional, Tuple, TypeVar

from ._binding import ffi, lib
from .errors import Error, Invalid, NoMemory, error_of
from .handle import handle_in, new_place
from .plan import Plan

T = TypeVar("T")

#: Two numbers, a key and a value; what each means depends on the scan.
Record = Tuple[int, int, bytes, bytes]

HEADER = struct.Struct("=qqQQ")
#: One part of a scan.
PART = 256 * 1024
#: A scan that waits for its reader is asked so often whether it goes on, so that signals are handled.
LOOK_MS = 200

collect_set = ffi.addressof(lib, "mcds_py_collect_set")
collect_table = ffi.addressof(lib, "mcds_py_collect_table")
collect_value = ffi.addressof(lib, "mcds_py_collect_value")
collect_event = ffi.addressof(lib, "mcds_py_collect_event")
collect_holder = ffi.addressof(lib, "mcds_py_collect_holder")
collect_limit = ffi.addressof(lib, "mcds_py_collect_limit")
collect_job = ffi.addressof(lib, "mcds_py_collect_job")
collect_listed = ffi.addressof(lib, "mcds_py_collect_listed")
collect_finding = ffi.addressof(lib, "mcds_py_collect_finding")


def new_buffer(most: int = 2 ** 62, waits: bool = False) -> Any:
    place = new_place("py_buffer")
    if not lib.mcds_py_buffer_new(most, waits, place):
        raise NoMemory("no memory for a scan")
    return handle_in(place)


def records(buffer: Any) -> List[Record]:
    """The records of a buffer, as copies."""
    length = ffi.new("size_t *")
    data = lib.mcds_py_buffer_data(buffer, length)
    whole = bytes(ffi.buffer(data, length[0])) if length[0] > 0 else b""
    found = []
    at = 0
    while at < len(whole):
        first, second, key_length, value_length = HEADER.unpack_from(whole, at)
        at += HEADER.size
        end = at + key_length
        found.append((first, second, whole[at:end], whole[end:end + value_length]))
        at = end + value_length
    return found


def check_scan(code: int, buffer: Any) -> None:
    """What does not exist has no elements."""
    if lib.mcds_py_buffer_has_failed(buffer):
        raise NoMemory("no memory for what a scan has visited")
    if code not in (0, lib.MCDS_NOT_FOUND):
        raise error_of(code)


def keep_failure(scan: Callable[[Any], int], buffer: Any, failures: List[Error]) -> None:
    try:
        check_scan(scan(buffer), buffer)
    except Error as error:
        failures.append(error.with_traceback(None))  # which refers to this frame


def work(scan: Callable[[Any], int], buffer: Any, failures: List[Error],
         begun: "queue.SimpleQueue[None]") -> None:
    """A thread runs this. It does not refer to the stream."""
    begun.put(None)
    try:
        keep_failure(scan, buffer, failures)
    finally:
        lib.mcds_py_buffer_end(buffer)


class Stream:
    """A scan that cannot be continued with a cursor, read in parts.

    A small structure is read by one call. Where the first part does not hold all of it, the scan
    begins again in a thread of its own, which waits inside of the scan while nobody reads.
    """

    def __init__(self, scan: Callable[[Any], int]) -> None:
        self._scan = scan
        self._pid = os.getpid()
        self._reader: Any = None  # of the thread
        self._has_ended = False
        self._failures: List[Error] = []

    def read(self) -> Optional[List[Record]]:
        """The next part; None at the end. What was visited before a failure comes first."""
        if os.getpid() != self._pid:
            raise Invalid("the scan began before fork")
        if self._has_ended:
            if self._failures:
                raise self._failures.pop()
            return None
        if self._reader is not None:
            return self._read_thread()
        buffer = new_buffer(PART)
        keep_failure(self._scan, buffer, self._failures)
        if not lib.mcds_py_buffer_is_full(buffer):
            self._has_ended = True
            return records(buffer)
        self._out = new_buffer()
        self._begin_thread(new_buffer(PART, True))
        return []

    def _begin_thread(self, buffer: Any) -> None:
        """The scan ends when nothing refers to the reader, also after an interrupt of close()."""
        self._reader = ffi.gc(buffer, lib.mcds_py_buffer_stop)
        begun: "queue.SimpleQueue[None]" = queue.SimpleQueue()
        # A call of C, unlike Thread.start(), which an interrupt leaves half done.
        _thread.start_new_thread(work, (self._scan, buffer, self._failures, begun))
        begun.get()  # a thread that begins while the interpreter ends crashes it

    def _read_thread(self) -> List[Record]:
        if not lib.mcds_py_buffer_take(self._reader, self._out, LOOK_MS):
            self._has_ended = True
            return []
        return records(self._out)

    def close(self) -> None:
        """End the scan at its next element."""
        self._has_ended = True
        if self._reader is not None:
            lib.mcds_py_buffer_stop(self._reader)

    def __iter__(self) -> Iterator[Record]:
        try:
            part = self.read()
            while part is not None:
                yield from part
                part = self.read()
        finally:
            self.close()

    async def __aiter__(self) -> AsyncIterator[Record]:
        import asyncio
        try:
            part = await asyncio.to_thread(self.read)
            while part is not None:
                for record in part:
                    yield record
                part = await asyncio.to_thread(self.read)
        finally:
            self.close()


def count(scan: Callable[[Any], int]) -> int:
    """How many elements a scan visits."""
    buffer = new_buffer()
    lib.mcds_py_buffer_count_only(buffer)
    check_scan(scan(buffer), buffer)
    return int(lib.mcds_py_buffer_records(buffer))


def collect(scan: Callable[[Any], int]) -> List[Record]:
    """All that a scan visits."""
    buffer = new_buffer()
    check_scan(scan(buffer), buffer)
    return records(buffer)


def read_all(call: Any, start: Any, arguments: Tuple[Any, ...], visit: Any,
             convert: Callable[[Record], T], rest: Tuple[Any, ...] = ()) -> Plan[List[T]]:
    """A scan whose records are all kept. What does not exist has none."""
    buffer = new_buffer()

    def take(code: int, out: Any) -> List[T]:
        check_scan(code, buffer)
        return [convert(record) for record in records(buffer)]

    return Plan(call, start, (*arguments, visit, buffer, *rest), take, buffer)
