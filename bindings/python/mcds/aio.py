"""Operations that are awaited: one pipeline in each event loop."""

from __future__ import annotations

import asyncio
import collections
from types import TracebackType
from typing import Any, Deque, Dict, List, Optional, Tuple, Type

from ._binding import ffi, lib
from .aio_lock import AioLock
from .array import AioArray, open_array
from .cache import AioCache, open_cache
from .core import Core
from .counter import AioCounter, AioSumCounter, open_counter, open_exact, open_striped
from .errors import Error, Invalid, check, error_of
from .ids import AioIds, open_ids
from .limit import AioLimit, open_limit
from .list import AioList, open_list
from .lock import open_lock
from .log import AioLog, open_log
from .once import AioOnce, open_once
from .plan import CONVERSION, Plan, new_options, new_sized, opens
from .queue import AioQueue, open_queue
from .semaphore import AioSemaphore, open_semaphore
from .set import AioSet, open_bag, open_sequence, open_set
from .table import AioTable, open_table
from .views import AioViews, open_views
from .visitors import AioOnline, AioVisitors, open_online, open_visitors

#: Operations in flight. Further ones wait in Python, because C would wait for a place.
DEPTH = 4096
#: Completions that one iteration of the loop takes, so that other tasks are not delayed.
TURN = 1024


class Driver:
    """A pipeline in an event loop. Only the thread of the loop uses it."""

    def __init__(self, core: Core, loop: asyncio.AbstractEventLoop) -> None:
        out = ffi.new("mcds_pipeline **")
        check(lib.mcds_pipeline_open(core.handle,
                                     new_options("mcds_pipeline_options", depth=DEPTH), out))
        self._pipeline: Optional[Any] = ffi.gc(out[0], lib.mcds_pipeline_close)
        self._loop = loop
        self._running: Dict[int, Tuple[Plan[Any], "asyncio.Future[Any]"]] = {}
        self._waiting: Deque[Tuple[Plan[Any], "asyncio.Future[Any]"]] = collections.deque()
        self._tag = 0
        self._fd = -1
        self._next: Optional[asyncio.Handle] = None  # the turn that is due
        self._is_soon = False  # and it is due at once
        self._wait = new_sized("mcds_wait")
        self._done = ffi.new("mcds_completion[]", TURN)
        self._code = ffi.new("int *")

    def start(self, plan: Plan[Any]) -> "asyncio.Future[Any]":
        future = self._loop.create_future()
        if self._pipeline is None:
            future.set_exception(Invalid("the store is closed"))
        elif self._waiting or len(self._running) >= DEPTH:
            self._waiting.append((plan, future))
        else:
            self._launch(plan, future)
            if not self._is_soon:
                self._turn_soon()
        return future

    def _launch(self, plan: Plan[Any], future: "asyncio.Future[Any]") -> None:
        self._tag = tag = self._tag + 1
        self._running[tag] = (plan, future)
        try:
            code = plan.start(*plan.arguments, self._pipeline, tag)
        except CONVERSION as error:
            del self._running[tag]
            future.set_exception(error)
            return
        if code != 0:
            del self._running[tag]
            future.set_exception(error_of(code))

    def _turn_soon(self) -> None:
        """At once, but after what the loop has ready: that may start more."""
        if self._next is not None:
            self._next.cancel()
        self._next = self._loop.call_soon(self._turn)
        self._is_soon = True

    def _readable(self) -> None:
        if not self._is_soon:
            self._turn()

    def _turn(self) -> None:
        """Take what has finished, start what waits, send, and say what to wait for."""
        if self._pipeline is None:
            return
        if self._next is not None:
            self._next.cancel()
        self._next = None
        self._is_soon = False
        count = lib.mcds_py_drain(self._pipeline, False, self._done, TURN, self._code)
        if count == 0 and self._running and self._code[0] != lib.MCDS_PENDING:
            self._unwatch()
            self._fail_all(error_of(self._code[0]))  # after fork, after an interrupt
            return
        self._finish(count)
        while self._waiting and len(self._running) < DEPTH:
            plan, future = self._waiting.popleft()
            if not future.cancelled():
                self._launch(plan, future)
        self._arm(count > 0 and self._code[0] == 0)

    def _finish(self, count: int) -> None:
        done = self._done
        pop = self._running.pop
        for i in range(count):
            completion = done[i]
            plan, future = pop(completion.tag)
            try:
                value = plan.take(completion.result, plan.out)
            except BaseException as error:
                if not future.cancelled():
                    future.set_exception(error)
            else:
                if not future.cancelled():
                    future.set_result(value)

    def _arm(self, has_more: bool) -> None:
        if not self._running:
            self._unwatch()
            return
        if has_more:
            self._turn_soon()
            return
        lib.mcds_pipeline_prepare(self._pipeline, self._wait)
        if self._fd < 0 <= self._wait.fd:
            self._fd = self._wait.fd
            self._loop.add_reader(self._fd, self._readable)
        if self._wait.timeout_ms == 0:
            self._turn_soon()
        elif self._wait.timeout_ms > 0:
            self._next = self._loop.call_later(self._wait.timeout_ms / 1000, self._turn)

    def _unwatch(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            self._fd = -1

    def _fail_all(self, error: Error) -> None:
        started = [future for _, future in self._running.values()]
        for future in started + [future for _, future in self._waiting]:
            if not future.done():
                future.set_exception(error)
        self._running.clear()
        self._waiting.clear()

    def close(self) -> None:
        """Operations in flight may or may not be applied."""
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is None:
            return
        is_open = not self._loop.is_closed()
        if is_open:
            self._unwatch()
        ffi.release(pipeline)  # until then C may write to what the plans keep
        if is_open:
            if self._next is not None:
                self._next.cancel()
            self._fail_all(Invalid("the store was closed before this operation had finished"))


class Aio:
    """The store in an event loop: every operation is awaited, thousands may be in flight.

    >>> async def main():
    ...     aio = s.aio
    ...     await asyncio.gather(*(aio.counter("hits").add(1) for _ in range(1000)))
    ...     return await aio.counter("hits").get()
    >>> asyncio.run(main())
    1000
    """

    counter = opens(open_counter, AioCounter)
    striped_counter = opens(open_striped, AioSumCounter)
    exact_counter = opens(open_exact, AioSumCounter)
    lock = opens(open_lock, AioLock)
    visitors = opens(open_visitors, AioVisitors)
    online = opens(open_online, AioOnline)
    views = opens(open_views, AioViews)
    set = opens(open_set, AioSet)
    bag = opens(open_bag, AioSet)
    sequence = opens(open_sequence, AioSet)
    table = opens(open_table, AioTable)
    list = opens(open_list, AioList)
    log = opens(open_log, AioLog)
    array = opens(open_array, AioArray)
    cache = opens(open_cache, AioCache)
    ids = opens(open_ids, AioIds)
    once = opens(open_once, AioOnce)
    queue = opens(open_queue, AioQueue)
    limit = opens(open_limit, AioLimit)
    semaphore = opens(open_semaphore, AioSemaphore)

    def __init__(self, core: Core) -> None:
        self._core = core
        self._drivers: Dict[asyncio.AbstractEventLoop, Driver] = {}
        self._last: Tuple[Optional[asyncio.AbstractEventLoop], Optional[Driver]] = (None, None)
        core.at_close(self._close)

    def _start(self, plan: Plan[Any]) -> "asyncio.Future[Any]":
        loop = asyncio.get_running_loop()
        known, driver = self._last
        if known is not loop or driver is None:
            driver = self._driver_of(loop)
        return driver.start(plan)

    def _driver_of(self, loop: asyncio.AbstractEventLoop) -> Driver:
        for other in [one for one in self._drivers if one.is_closed()]:
            self._drivers.pop(other).close()
        driver = self._drivers.get(loop)
        if driver is None:
            driver = self._drivers[loop] = Driver(self._core, loop)
        self._last = (loop, driver)
        return driver

    def _close(self) -> None:
        drivers: List[Driver] = [*self._drivers.values()]
        self._drivers.clear()
        self._last = (None, None)
        for driver in drivers:
            driver.close()

    async def __aenter__(self) -> "Aio":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        self._core.close()
