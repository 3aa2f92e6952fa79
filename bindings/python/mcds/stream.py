"""What scans visit: collected in C, read as records, in parts of bounded size."""

from __future__ import annotations

import _thread
import os
import queue
import struct
import time
import weakref
from typing import Any, AsyncIterator, Callable, Generic, Iterator, List, Optional, Tuple, TypeVar

from ._binding import ffi, lib
from .core import Core, Opened
from .errors import Error, NoMemory, closed, error_of, forked, locate, name_method
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


def keep_failure(scan: Callable[[Any], int], buffer: Any, failures: List[Error], method: str) -> None:
    try:
        check_scan(scan(buffer), buffer)
    except Error as error:
        failures.append(name_method(error, method).with_traceback(None))  # which refers to this frame


class Visit:
    """The elements of a scan that its caller's thread runs. The close of the store by another thread ends the
    scan at its next element; then `check` raises Invalid."""

    __slots__ = ("buffer", "_core", "_opened", "__weakref__")

    def __init__(self, core: Core, opened: Optional[Opened] = None, most: int = 2 ** 62) -> None:
        self.buffer = new_buffer(most)
        self._core = core
        self._opened = opened
        # Without a mutex, which a signal handler that scans would wait for. close() marks the store, then looks here.
        core.visits.add(weakref.ref(self, core.visits.discard))
        check_open(core, opened)

    def close(self) -> None:
        """End the scan at its next element."""
        lib.mcds_py_buffer_stop(self.buffer)

    def check(self, code: int) -> None:
        check_open(self._core, self._opened)
        check_scan(code, self.buffer)


def visit_of(structure: Any, most: int = 2 ** 62) -> Visit:
    """For a scan of a structure."""
    return Visit(structure._runner._core, structure._opened, most)


def check_open(core: Core, opened: Optional[Opened]) -> None:
    """Raise Invalid after the close of the store."""
    if core.handle is ffi.NULL:
        raise closed() if opened is None else closed(opened.noun, opened.name)


class Rest(Generic[T]):
    """The elements that an iteration has read and not yet returned. The close of the store drops them. The
    iteration calls `take` after each part; after the close, `take` raises Invalid."""

    __slots__ = ("_core", "_opened", "part")

    def __init__(self, core: Core, opened: Optional[Opened] = None) -> None:
        self._core = core
        self._opened = opened
        self.part: List[T] = []

    def __enter__(self) -> "Rest[T]":
        self._core.resting.add(self)  # before the look at the store: close() marks it, then looks here
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._core.resting.discard(self)

    def take(self, part: Optional[List[T]]) -> bool:
        """Whether there is a part."""
        self.part = [] if part is None else part
        check_open(self._core, self._opened)
        return part is not None


def rest_of(structure: Any) -> "Rest[Any]":
    """For an iteration of a structure."""
    return Rest(structure._runner._core, structure._opened)


def in_one(whole: "Rest[Any]", part: List[T]) -> Iterator[T]:
    """The elements of an iteration that is read at once."""
    with whole as rest:
        rest.take(part)
        yield from rest.part
        rest.take(None)


class Scan:
    """A scan that a thread runs. The thread refers to it, and not to the stream."""

    def __init__(self, scan: Callable[[Any], int], buffer: Any, failures: List[Error], method: str) -> None:
        self._scan = scan
        self._buffer = buffer
        self._failures = failures
        self._method = method
        self._begun: "queue.SimpleQueue[None]" = queue.SimpleQueue()

    def begin(self) -> None:
        # A call of C, unlike Thread.start(), which an interrupt leaves half done.
        _thread.start_new_thread(self._run, ())
        self._begun.get()  # a thread that begins while the interpreter ends crashes it

    def _run(self) -> None:
        self._begun.put(None)
        try:
            keep_failure(self._scan, self._buffer, self._failures, self._method)
        finally:
            lib.mcds_py_buffer_end(self._buffer)

    def close(self) -> None:
        """End the scan at its next element."""
        lib.mcds_py_buffer_stop(self._buffer)

    def join(self, until: float) -> None:
        """Wait until it has ended. Signals are handled meanwhile."""
        while (left := until - time.monotonic()) > 0:
            if lib.mcds_py_buffer_join(self._buffer, min(LOOK_MS, round(left * 1000) + 1)):
                return


class Stream:
    """A scan that cannot be continued with a cursor, read in parts.

    A small structure is read by one call. Where the first part does not hold all of it, the scan
    begins again in a thread of its own, which waits inside of the scan while nobody reads.

    `method`: what the program has called, for messages.
    """

    def __init__(self, structure: Any, scan: Callable[[Any], int], method: str) -> None:
        self._structure = structure
        self._scan = scan
        self._method = method
        self._pid = os.getpid()
        self._reader: Any = None  # of the thread
        self._has_ended = False
        self._failures: List[Error] = []

    def read(self) -> Optional[List[Record]]:
        """The next part; None at the end. What was visited before a failure comes first."""
        if os.getpid() != self._pid:
            opened = self._structure._opened
            error = forked(opened.noun, opened.name)
            locate(error, opened.noun, error.name, self._method, "the scan began before fork")
            raise error
        if self._has_ended:
            if self._failures:
                raise self._failures.pop()
            return None
        if self._reader is not None:
            return self._read_thread()
        visit = visit_of(self._structure, PART)
        keep_failure(self._scan, visit.buffer, self._failures, self._method)
        if not lib.mcds_py_buffer_is_full(visit.buffer):
            self._has_ended = True
            return records(visit.buffer)
        self._out = new_buffer()
        self._begin_thread(new_buffer(PART, True))
        return []

    def _begin_thread(self, buffer: Any) -> None:
        """The scan ends when nothing refers to the reader, also after an interrupt of close()."""
        core, opened = self._structure._runner._core, self._structure._opened
        scan = Scan(self._scan, buffer, self._failures, self._method)
        core.end(core.scans, scan, opened.noun, opened.name)
        self._reader = ffi.gc(buffer, lib.mcds_py_buffer_stop)
        scan.begin()

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
            with rest_of(self._structure) as rest:
                while rest.take(self.read()):
                    yield from rest.part
        finally:
            self.close()

    async def __aiter__(self) -> AsyncIterator[Record]:
        import asyncio
        try:
            with rest_of(self._structure) as rest:
                while rest.take(await asyncio.to_thread(self.read)):
                    for record in rest.part:
                        yield record
        finally:
            self.close()


def collect(visit: Visit, scan: Callable[[Any], int], method: str) -> List[Record]:
    """All that a scan visits."""
    try:
        visit.check(scan(visit.buffer))
    except Error as error:
        name_method(error, method)
        raise
    return records(visit.buffer)


def count(structure: Any, scan: Callable[[Any], int], method: str) -> int:
    """How many elements a scan visits."""
    visit = visit_of(structure)
    lib.mcds_py_buffer_count_only(visit.buffer)
    collect(visit, scan, method)
    return int(lib.mcds_py_buffer_records(visit.buffer))


def read_all(structure: Any, call: Any, start: Any, arguments: Tuple[Any, ...], collector: Any,
             convert: Callable[[Record], T], rest: Tuple[Any, ...] = ()) -> Plan[List[T]]:
    """A scan whose records are all kept. What does not exist has none. `arguments`: those after the handle."""
    visit = visit_of(structure)

    def take(code: int, out: Any) -> List[T]:
        visit.check(code)
        return [convert(record) for record in records(visit.buffer)]

    return Plan(call, start, (structure._opened.handle, *arguments, collector, visit.buffer, *rest), take, visit)
