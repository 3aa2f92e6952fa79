"""Logs of events."""

from __future__ import annotations

import asyncio
import builtins
import dataclasses
import datetime
import os
import threading
import time
from typing import Any, AsyncIterator, Callable, Iterable, Iterator, Optional, Tuple

from ._binding import ffi, lib
from .arguments import as_integer, check_type, of_noun
from .core import Core, Opened
from .encoding import encode_text
from .errors import check
from .plan import (LOOK_MS, REFUSALS, Bytes, Plan, Seconds, Structure, When, as_array, as_bytes, as_bound_ms,
                   as_option_ms, as_required_ms, as_short_option_ms, as_time_ms, awaited, begun, called, checked,
                   encode_name, from_time_ms, is_closed, new_options, new_sized, refusal, started, take_found,
                   take_none, waiting)
from .stream import (PART, Stream, check_scan, collect_event, new_buffer, read_all, records, rest_of,
                     visit_of)


@dataclasses.dataclass(frozen=True)
class Event:
    """An event of a log.

    when   its own time
    filed  the time under which it is filed: by arrival, when it arrived; else the same as when
    data   its bytes
    """

    when: datetime.datetime
    filed: datetime.datetime
    data: bytes


def open_log(core: Core, name: Bytes, *, by_arrival: bool = False, late: Optional[Seconds] = None,
             retention: Optional[Seconds] = None, chunk: Optional[Seconds] = None,
             ahead: Optional[Seconds] = None) -> Opened:
    """Events with a time, kept for `retention` seconds (7 days).

    late    age of the oldest event that is accepted; 60 s
    ahead   an event may be so far ahead of this machine's clock; 5 s
    by_arrival  file events under the time of arrival; none is too old

    >>> log = s.log("deploys")
    >>> log.put("v42 on web3")
    >>> [event.data for event in log]
    [b'v42 on web3']
    """
    key = (bool(by_arrival), as_short_option_ms(late, "late"), as_option_ms(retention, "retention"), as_option_ms(chunk, "chunk"),
           as_short_option_ms(ahead, "ahead"))
    options = new_options("mcds_log_options", flags=lib.MCDS_LOG_BY_ARRIVAL * key[0],
                          late_ms=key[1], retention_ms=key[2], chunk_ms=key[3], ahead_ms=key[4])
    return core.open("log", encode_name(name), options, key, Damage())


class Damage:
    """The losses that reads of a handle have found and damage() has not returned yet.

    The library reports some losses only to the first read after them. Each read finds the other
    losses again, so the numbers are the largest of all reads, not their sum. A child of fork finds none: its reads
    are refused, and a thread of the parent may have held the mutex at the fork.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._mutex = threading.Lock()
        self._found = (0, 0)

    def note(self, info: Any) -> None:
        """Add the losses that one read has found."""
        if self._process != os.getpid():
            return
        with self._mutex:
            self._found = (max(self._found[0], info.gaps), max(self._found[1], info.corrupt))

    def take(self) -> "tuple[int, int]":
        if self._process != os.getpid():
            return 0, 0
        with self._mutex:
            found, self._found = self._found, (0, 0)
        return found


class LogCursor:
    """The position of a reader that follows a log.

    Without a start it begins with the events that are put after its first use; with one, at the
    events filed at that time or later. Used by one reader at a time.

    It moves past events when the caller gets them. A call that was interrupted or cancelled leaves it where it was.
    """

    def __init__(self, start: Optional[When] = None) -> None:
        self._cursor = ffi.new("mcds_log_cursor *")  # C moves copies of it
        self._info = new_sized("mcds_log_info")
        try:
            self._cursor.from_ms = 0 if start is None else max(1, as_bound_ms(start, "start"))
        except REFUSALS as error:
            raise of_noun(error, "log") from None

    @property
    def gaps(self) -> int:
        """Places where events are missing that the store should hold. A call that was cancelled may have counted a
        place that the next call counts again."""
        return int(self._info.gaps)

    @property
    def corrupt(self) -> int:
        """Sequences of bytes that mcds did not write."""
        return int(self._info.corrupt)

    def save(self) -> str:
        """The position as text, for another process or for later: after the last event that the caller got."""
        out = ffi.new("char[]", lib.MCDS_LOG_CURSOR_TEXT)
        lib.mcds_log_cursor_save(self._cursor, out)
        return str(ffi.string(out).decode())

    def __repr__(self) -> str:
        return f"LogCursor.load({self.save()!r})"

    def __reduce__(self) -> Tuple[Any, ...]:
        return LogCursor.load, (self.save(),)

    @classmethod
    def load(cls, text: Bytes) -> "LogCursor":
        """The cursor of a text that save() has made."""
        cursor = cls()
        try:
            encoded = encode_text(text, "text")
        except REFUSALS as error:
            raise of_noun(error, "log", "load") from None
        check(lib.mcds_log_cursor_load(cursor._cursor, encoded), "load")
        return cursor


def to_range(first: Optional[When], last: Optional[When], limit: int, newest_first: bool) -> Any:
    return new_options("mcds_log_range", first_ms=as_bound_ms(first, "first"),
                       last_ms=as_time_ms(last, "last"), limit=as_integer(limit, "limit"),
                       newest_first=bool(newest_first))


def to_event(record: Any) -> Event:
    when_ms, filed_ms, _, data = record
    return Event(from_time_ms(when_ms), from_time_ms(filed_ms), data)


def to_following(cursor: Optional[LogCursor], pause: Seconds) -> Tuple[LogCursor, int]:
    """The cursor and the milliseconds with which `follow` begins."""
    if cursor is None:
        cursor = LogCursor()
    check_type(cursor, LogCursor, "cursor")
    return cursor, as_required_ms(pause, "pause", 32)


#: An event, or None, and the position after it: an mcds_log_cursor.
Step = Tuple[Optional[Event], Any]


def copy_of(cursor: Any) -> Any:
    """A copy of an mcds_log_cursor."""
    return ffi.new("mcds_log_cursor *", cursor[0])


class LogPlans(Structure):
    def _put(self, event: Bytes, when: Optional[When] = None) -> Plan[None]:
        """Put an event; without a time, now. Raises TooOld and TooFuture.

        >>> s.log("audit").put("alice signed in", when=time.time() - 2)
        """
        return Plan(lib.mcds_log_put, lib.mcds_log_put_start,
                    (self._opened.handle, as_time_ms(when, "when"), as_bytes(event)), take_none)

    def _put_many(self, events: Iterable[Bytes], when: Optional[When] = None) -> Plan[None]:
        """Put several events of one time, in their order."""
        array, kept = as_array(events, "events")
        return Plan(lib.mcds_log_put_many, lib.mcds_log_put_many_start,
                    (self._opened.handle, as_time_ms(when, "when"), array, len(kept), ffi.NULL), take_none,
                    (array, kept))

    def _tail(self, cursor: LogCursor) -> Plan["builtins.list[Event]"]:
        """Events put since the last call with this cursor, at most about 256 KB; empty if there are none.

        Every event comes once, late ones too. What is lost is counted in `cursor.gaps`.

        >>> cursor = mcds.LogCursor()
        >>> s.log("news").tail(cursor)
        []
        >>> s.log("news").put("one"); [event.data for event in s.log("news").tail(cursor)]
        [b'one']
        >>> cursor = mcds.LogCursor.load(cursor.save())
        """
        check_type(cursor, LogCursor, "cursor")
        buffer = new_buffer(PART)
        end = copy_of(cursor._cursor)

        def take(code: int, out: Any) -> "builtins.list[Event]":
            # The tail has moved past these events: return them now; the next call fails again.
            events = builtins.list(map(to_event, records(buffer)))
            if not events:
                check_scan(code, buffer)
            return events

        def move() -> None:
            cursor._cursor = end

        return Plan(lib.mcds_log_tail, lib.mcds_log_tail_start,
                    (self._opened.handle, end, collect_event, buffer, cursor._info), take,
                    (cursor, end, buffer), move=move)

    def _steps(self, cursor: LogCursor) -> Plan["builtins.list[Step]"]:
        """Like tail, but the caller moves the cursor. There is at least one step."""
        check_type(cursor, LogCursor, "cursor")
        buffer = new_buffer(PART)
        end = copy_of(cursor._cursor)
        lib.mcds_py_buffer_keep_positions(buffer, end)

        def take(code: int, out: Any) -> "builtins.list[Step]":
            found = [(to_event(record), ffi.from_buffer("mcds_log_cursor *", record[2])) for record in records(buffer)]
            if not found:
                check_scan(code, buffer)
                return [(None, end)]
            # The tail may have moved on from the last event, past segments without any.
            return [*found[:-1], (found[-1][0], end)]

        return Plan(lib.mcds_log_tail, lib.mcds_log_tail_start,
                    (self._opened.handle, end, collect_event, buffer, cursor._info), take,
                    (cursor, end, buffer))

    def _drop(self) -> Plan[bool]:
        """Erase the log. False: there was none."""
        return Plan(lib.mcds_log_drop, lib.mcds_log_drop_start, (self._opened.handle,), take_found)

    def _read(self, first: Optional[When] = None, last: Optional[When] = None, *, limit: int = 0,
              newest_first: bool = False) -> Plan["builtins.list[Event]"]:
        """The events of a range, in memory, at most `limit` (0: all). `damage` counts losses."""
        info = new_sized("mcds_log_info")
        plan = read_all(self, lib.mcds_log_scan, lib.mcds_log_scan_start,
                        (to_range(first, last, limit, newest_first),),
                        collect_event, to_event, (info,))

        def take(code: int, out: Any) -> "builtins.list[Event]":
            self._damaged.note(info)
            return plan.take(code, out)

        return Plan(plan.call, plan.start, plan.arguments, take, plan.out)

    def _damage(self) -> Plan["tuple[int, int]"]:
        """How many gaps and corrupt places there are. This reads the whole log.

        A gap is a place where events are missing that the store should hold. Calls that return events
        skip lost ones. The next damage() includes the gaps that they have found, once.

        >>> s.log("deploys").damage()
        (0, 0)
        """
        info = new_sized("mcds_log_info")
        visit = visit_of(self)
        lib.mcds_py_buffer_count_only(visit.buffer)

        def take(code: int, out: Any) -> "tuple[int, int]":
            self._damaged.note(info)
            visit.check(code)
            return self._damaged.take()

        return Plan(lib.mcds_log_scan, lib.mcds_log_scan_start,
                    (self._opened.handle, ffi.NULL, collect_event, visit.buffer, info), take, visit)

    def _parts_of(self, pause_ms: int) -> Iterator[float]:
        """Seconds to sleep, one short sleep after the other, until the pause or the store has ended."""
        until = time.monotonic() + pause_ms / 1000
        while (left := until - time.monotonic()) > 0 and not is_closed(self):
            yield min(left, LOOK_MS / 1000)

    @property
    def _damaged(self) -> Damage:
        damage: Damage = self._opened.kept
        return damage

    def _scan(self, first: Optional[When], last: Optional[When], limit: int,
              newest_first: bool) -> Callable[[Any], int]:
        try:
            log_range = to_range(first, last, limit, newest_first)
        except REFUSALS as error:
            raise refusal(error, Log.events, self) from error.__cause__

        def scan(buffer: Any) -> int:
            info = new_sized("mcds_log_info")
            code: int = lib.mcds_log_scan(self._opened.handle, log_range, collect_event, buffer,
                                          info)
            self._damaged.note(info)
            return code

        return scan


class Log(LogPlans):
    """Events with a time, read by range or followed with a cursor."""

    put = waiting(LogPlans._put)
    put_many = waiting(LogPlans._put_many)
    tail = waiting(LogPlans._tail)
    read = waiting(LogPlans._read)
    damage = waiting(LogPlans._damage)
    drop = waiting(LogPlans._drop)

    def events(self, first: Optional[When] = None, last: Optional[When] = None, *, limit: int = 0,
               newest_first: bool = False) -> Iterator[Event]:
        """The events filed from `first` on and before `last`, in parts, at most `limit` (0: all).
        Lost events are skipped. `damage` counts the losses, before or afterwards.

        >>> for text in ("one", "two", "three"):
        ...     s.log("numbers").put(text)
        >>> [event.data for event in s.log("numbers").events(limit=2, newest_first=True)]
        [b'three', b'two']
        """
        return self._events("events", first, last, limit, newest_first)

    def follow(self, cursor: Optional[LogCursor] = None, pause: Seconds = 0.5) -> Iterator[Event]:
        """Events as they are put, for ever; looks again after `pause` seconds without any.

        Each event moves the cursor past it. So `cursor.save()` after an event is the position from which
        another call, or another process, continues with the next event.
        """
        return self._follow(*checked(self, Log.follow, to_following, cursor, pause))

    def _follow(self, cursor: LogCursor, pause_ms: int) -> Iterator[Event]:
        with rest_of(self) as rest:
            while rest.take(called("follow", LogPlans._steps, self, cursor)):
                for event, position in rest.part:
                    cursor._cursor = position
                    if event is not None:
                        yield event
                        continue
                    for part in self._parts_of(pause_ms):
                        time.sleep(part)

    def __iter__(self) -> Iterator[Event]:
        return self._events("__iter__")

    def _events(self, method: str, first: Optional[When] = None, last: Optional[When] = None, limit: int = 0,
                newest_first: bool = False) -> Iterator[Event]:
        """Refuses an argument before the iteration begins."""
        return events_of(Stream(self, self._scan(first, last, limit, newest_first), method))


def events_of(stream: Stream) -> Iterator[Event]:
    for record in stream:
        yield to_event(record)


class PipelineLog(LogPlans):
    """A log in a pipeline."""

    put = started(LogPlans._put)
    put_many = started(LogPlans._put_many)
    tail = started(LogPlans._tail)
    read = started(LogPlans._read)
    damage = started(LogPlans._damage)
    drop = started(LogPlans._drop)


class AioLog(LogPlans):
    """A log whose operations are awaited."""

    put = awaited(LogPlans._put)
    put_many = awaited(LogPlans._put_many)
    tail = awaited(LogPlans._tail)
    read = awaited(LogPlans._read)
    damage = awaited(LogPlans._damage)
    drop = awaited(LogPlans._drop)

    def events(self, first: Optional[When] = None, last: Optional[When] = None, *,
               limit: int = 0, newest_first: bool = False) -> AsyncIterator[Event]:
        """The events of a range, in parts that another thread reads."""
        return self._events("events", first, last, limit, newest_first)

    def follow(self, cursor: Optional[LogCursor] = None,
               pause: Seconds = 0.5) -> AsyncIterator[Event]:
        """Events as they are put, for ever. Each event moves the cursor past it."""
        return self._follow(*checked(self, AioLog.follow, to_following, cursor, pause))

    async def _follow(self, cursor: LogCursor, pause_ms: int) -> AsyncIterator[Event]:
        with rest_of(self) as rest:
            while rest.take(await begun("follow", LogPlans._steps, self, cursor)):
                for event, position in rest.part:
                    cursor._cursor = position
                    if event is not None:
                        yield event
                        continue
                    for part in self._parts_of(pause_ms):
                        await asyncio.sleep(part)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events("__aiter__")

    def _events(self, method: str, first: Optional[When] = None, last: Optional[When] = None,
                limit: int = 0, newest_first: bool = False) -> AsyncIterator[Event]:
        """Refuses an argument before the iteration begins."""
        return awaited_events_of(Stream(self, self._scan(first, last, limit, newest_first), method))


async def awaited_events_of(stream: Stream) -> AsyncIterator[Event]:
    async for record in stream:
        yield to_event(record)
