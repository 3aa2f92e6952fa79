"""Operations that are awaited: one pipeline in each event loop."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import os
import queue
import weakref
from types import TracebackType
from typing import Any, Callable, Deque, Dict, Generator, Iterator, List, Optional, Tuple, Type

from ._binding import ffi, lib
from .aio_lock import AioLock
from .array import AioArray, open_array
from .cache import AioCache, open_cache
from .core import Bound, Core
from .counter import AioCounter, AioSumCounter, open_counter, open_exact, open_striped
from .errors import Ambiguous, Error, check, closed, error_of, forked
from .handle import handle_in, new_place
from .ids import AioIds, open_ids
from .limit import AioLimit, open_limit
from .list import AioList, open_list
from .lock import open_lock
from .log import AioLog, open_log
from .once import AioOnce, open_once
from .plan import CONVERSION, Plan, closed_of, new_options, new_sized, opens
from .queue import AioQueue, open_queue
from .semaphore import AioSemaphore, open_semaphore
from .set import AioBag, AioSet, open_bag, open_sequence, open_set
from .table import AioTable, open_table
from .views import AioViews, open_views
from .visitors import AioOnline, AioVisitors, open_online, open_visitors

#: Operations in flight. Further ones wait in Python, because C would wait for a place.
DEPTH = 4096
#: Completions that one iteration of the loop takes, so that other tasks are not delayed.
TURN = 1024


class Operation(asyncio.Future[Any]):
    """The future of a call. If it is cancelled, the operation begins no further request."""

    driver: "Driver"
    tag = 0  #: of the operation in the pipeline; 0: not started

    def cancel(self, msg: Optional[Any] = None) -> bool:
        is_cancelled = super().cancel(msg)
        if is_cancelled:
            self.driver.end_wait(self.tag)
        return is_cancelled


class Claiming(Operation):
    """The future of a call that claims. If no caller gets the claim, it is given back."""

    plan: Optional[Plan[Any]]

    def __await__(self) -> Generator[Any, None, Any]:
        try:
            result = yield from super().__await__()
            if self.driver.is_closed() and self.plan is not None:
                self.plan.end_claim(0)  # by a call that waits: no loop drives another
                raise closed_of(self.plan.made_by[0]) if self.plan.made_by is not None else closed()
            return result
        except asyncio.CancelledError:
            # The result had come, but the awaiting task was cancelled before it got the result.
            if self.plan is not None and self.done() and not self.cancelled() and self.exception() is None:
                self.driver.give_back(self.plan, 0)
            raise
        finally:
            self.plan = None  # it keeps a handle, and the loop keeps this object for a while
            del self  # it keeps the exception, whose traceback refers to this frame


class Reading(Operation):
    """The future of a call that reads from a cursor. The cursor moves when the caller gets the result: by `await`,
    or by `result()`, which gather and wait_for call."""

    move: Optional[Callable[[], None]]
    _is_awaited = False  # by a task, which calls result() before it continues or is cancelled

    def _hand_over(self) -> None:
        move, self.move = self.move, None
        if move is not None:
            move()

    def __await__(self) -> Generator[Any, None, Any]:
        self._is_awaited = True
        try:
            result = yield from super().__await__()
            self._hand_over()
            return result
        finally:
            self._is_awaited = False
            del self  # it keeps the exception, whose traceback refers to this frame

    def result(self) -> Any:
        try:
            result = super().result()
            if not self._is_awaited:
                self._hand_over()
            return result
        finally:
            del self  # as above


#: An operation, and how it runs.
Started = Tuple[Operation, Plan[Any]]


class Driver:
    """A pipeline in an event loop. Only the thread of the loop uses it, and any thread may close it."""

    def __init__(self, core: Core, loop: asyncio.AbstractEventLoop) -> None:
        self._patience_ms = core.patience_ms
        self._process = os.getpid()
        place = new_place("pipeline")
        check(lib.mcds_pipeline_open(core.handle,
                                     new_options("mcds_pipeline_options", depth=DEPTH), place))
        self._pipeline: Optional[Any] = handle_in(place)
        self.loop = loop
        self._running: Dict[int, Started] = {}
        self._waiting: Deque[Started] = collections.deque()
        self._tag = 0
        self._fd = -1
        self._next: Optional[asyncio.Handle] = None  # the turn that is due
        self._is_soon = False  # and it is due at once
        self._wait = new_sized("mcds_wait")
        self._done = ffi.new("mcds_completion[]", TURN)
        self._code = ffi.new("int *")

    def start(self, plan: Plan[Any], before: "Optional[asyncio.Future[Any]]" = None) -> Operation:
        """`before`: the operation that must have ended before this one begins."""
        operation: Operation
        if plan.give_back is not None:
            operation = Claiming(loop=self.loop)
            operation.plan = plan
        elif plan.move is not None:
            operation = Reading(loop=self.loop)
            operation.move = plan.move
        else:
            operation = Operation(loop=self.loop)
        operation.driver = self
        if before is None or before.done():
            self._admit(operation, plan)
        else:
            before.add_done_callback(lambda _: self._admit(operation, plan))
        return operation

    def is_closed(self) -> bool:
        return self._pipeline is None

    def _admit(self, operation: Operation, plan: Plan[Any]) -> None:
        if operation.cancelled():
            return
        if self._pipeline is None:
            operation.set_exception(closed())
        elif plan.start is None:
            operation.set_result(plan.take(0, plan.out))
        elif self._waiting or len(self._running) >= DEPTH:
            self._waiting.append((operation, plan))
        else:
            self._launch(operation, plan)
            if not self._is_soon:
                self._turn_soon()

    def _launch(self, operation: Operation, plan: Plan[Any]) -> None:
        self._tag = operation.tag = tag = self._tag + 1
        self._running[tag] = operation, plan
        try:
            code = plan.start(*plan.arguments, self._pipeline, tag)
        except CONVERSION as error:
            del self._running[tag]
            operation.set_exception(plan.failure(error).with_traceback(None))  # which refers to this frame
            return
        if code != 0:
            del self._running[tag]
            operation.set_exception(plan.failure(error_of(code)))

    def end_wait(self, tag: int) -> None:
        """The caller was cancelled. Requests under way are still answered."""
        if self._pipeline is not None and tag in self._running:
            if lib.mcds_pipeline_end_wait(self._pipeline, tag) == 0 and not self._is_soon:
                self._turn_soon()

    def give_back(self, plan: Plan[Any], code: int) -> None:
        """Give back a claim that the operation has made and its caller does not get."""
        self._run_each(plan.after(code))

    def _run_each(self, plans: Iterator[Plan[Any]]) -> None:
        def go_on(done: "asyncio.Future[Any]") -> None:
            if not done.cancelled() and done.exception() is None:
                self._run_each(plans)

        plan = next(plans, None)
        if plan is not None:
            self.start(plan).add_done_callback(go_on)

    def _turn_soon(self) -> None:
        """At once, but after what the loop has ready: that may start more."""
        if self._next is not None:
            self._next.cancel()
        self._next = self.loop.call_soon(self._turn)
        self._is_soon = True

    def _readable(self) -> None:
        if not self._is_soon:
            self._turn()

    def _turn(self) -> None:
        """Take what has finished, start what waits, send, and say what to wait for."""
        if self._pipeline is None:
            return
        if self._process != os.getpid():
            self._leave_parent()
            return
        if self._next is not None:
            self._next.cancel()
        self._next = None
        self._is_soon = False
        count = lib.mcds_py_drain(self._pipeline, 0, self._done, TURN, self._code)
        if count == 0 and self._running and self._code[0] != lib.MCDS_PENDING:
            self._unwatch()
            error = error_of(self._code[0])  # after an interrupt
            self._fail_all(error, error)
            return
        self._finish(count)
        if self._pipeline is None:  # a function that the operations have called has closed the store
            return
        while self._waiting and len(self._running) < DEPTH:
            operation, plan = self._waiting.popleft()
            if not operation.cancelled():
                self._launch(operation, plan)
        self._arm(count > 0 and self._code[0] == 0)

    def _finish(self, count: int) -> None:
        done = self._done
        pop = self._running.pop
        for i in range(count):
            completion = done[i]
            operation, plan = pop(completion.tag)
            try:
                value = plan.take(completion.result, plan.out)
            except BaseException as error:
                if not operation.cancelled():
                    operation.set_exception(plan.failure(error).with_traceback(None))
            else:
                if not operation.cancelled():
                    operation.set_result(value)
            if operation.cancelled() or plan.is_in_doubt(completion.result):
                self.give_back(plan, completion.result)

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
            self.loop.add_reader(self._fd, self._readable)
        if self._wait.timeout_ms == 0:
            self._turn_soon()
        elif self._wait.timeout_ms > 0:
            self._next = self.loop.call_later(self._wait.timeout_ms / 1000, self._turn)

    def _unwatch(self) -> None:
        if self._fd >= 0:
            self.loop.remove_reader(self._fd)
            self._fd = -1

    def _fail_all(self, error: Error, not_begun: Error) -> None:
        for operations, failure in ((self._running.values(), error), (self._waiting, not_begun)):
            for operation, _ in operations:
                if not operation.done() and not self.loop.is_closed():
                    operation.set_exception(failure)
        self._running.clear()
        self._waiting.clear()

    def close(self) -> None:
        """Close the pipeline in the thread of its loop. A call from another thread waits for this, at most for the
        store's timeout. A call in a child of fork waits for nothing."""
        if self._process != os.getpid():
            self._leave_parent()
        elif is_running_elsewhere(self.loop):
            has_ended: "queue.SimpleQueue[None]" = queue.SimpleQueue()
            with contextlib.suppress(RuntimeError, queue.Empty):  # the loop has ended, or is busy
                self.loop.call_soon_threadsafe(self._close)
                self.loop.call_soon_threadsafe(has_ended.put, None)
                has_ended.get(timeout=self._patience_ms / 1000)
        else:
            self._close()

    def _leave_parent(self) -> None:
        """In a child of fork: let go of the pipeline. The child shares the kernel's list of what the loop watches with
        the parent, so the list stays as it is. A loop that has run at the fork never runs in the child."""
        self._pipeline = None
        self._fd = -1
        if self.loop.is_running():
            self._running.clear()
            self._waiting.clear()
        else:
            self._fail_all(forked("store", b""), forked("store", b""))

    def _close(self) -> None:
        """Operations in flight may or may not be applied. If a call uses the pipeline, C closes it when the call
        ends. The operations fail after that: until then C may write to their plans."""
        if self._pipeline is None:
            return
        is_open = not self.loop.is_closed()
        if is_open:
            self._unwatch()
            if self._next is not None:
                self._next.cancel()
        is_in_call = weakref.ref(self._pipeline)
        self._pipeline = None
        failures = Ambiguous("the store was closed before this operation had finished"), closed()
        if is_in_call() is None:
            self._fail_all(*failures)
        elif is_open:
            self.loop.call_soon(self._fail_all, *failures)


def is_running_elsewhere(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether another thread runs the loop."""
    try:
        return loop.is_running() and asyncio.get_running_loop() is not loop
    except RuntimeError:  # this thread runs none
        return True


class Aio(Bound):
    """The store in an event loop: every operation is awaited, thousands may be in flight.

    If the await of a call is cancelled, the call begins no further request. A change whose request
    is under way may or may not be applied. If that request makes a claim, the claim is given back. If
    the call reads from a cursor, the cursor does not move.

    A call returns a future or a coroutine. `await`, `asyncio.gather`, `asyncio.wait_for` and
    `asyncio.ensure_future` take either. `asyncio.create_task` takes only coroutines: it raises TypeError for a future.

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
    bag = opens(open_bag, AioBag)
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

    def __init__(self, core: Core, uri: str) -> None:
        self._core = core
        self._uri = uri
        self._drivers: Dict[asyncio.AbstractEventLoop, Driver] = {}
        self._last: Tuple[Optional[asyncio.AbstractEventLoop], Optional[Driver]] = (None, None)
        core.at_close(self._close)

    def _start(self, plan: Plan[Any], before: "Optional[asyncio.Future[Any]]" = None
               ) -> "asyncio.Future[Any]":
        plan.check_process()  # a child that a task has forked has no running loop
        loop = asyncio.get_running_loop()
        known, driver = self._last
        if known is not loop or driver is None:
            driver = self._driver_of(loop)
        return driver.start(plan, before)

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

    def __repr__(self) -> str:
        return f"<mcds.Aio {self._uri}>"

    async def __aenter__(self) -> "Aio":
        if self._core.handle is ffi.NULL:
            raise closed()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        self._core.close_after(error)
