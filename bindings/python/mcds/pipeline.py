"""Many operations in flight at once."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import Any, Callable, Dict, Generic, Optional, Tuple, Type, TypeVar

from ._binding import ffi, lib
from .arguments import as_integer, of_noun
from .array import PipelineArray, open_array
from .cache import PipelineCache, open_cache
from .core import Bound, Core
from .counter import PipelineCounter, PipelineSumCounter, open_counter, open_exact, open_striped
from .errors import Ambiguous, Error, Invalid, check, error_of, forked
from .handle import handle_in, new_place
from .ids import PipelineIds, open_ids
from .limit import PipelineLimit, open_limit
from .list import PipelineList, open_list
from .lock import PipelineLock, open_lock
from .log import PipelineLog, open_log
from .once import PipelineOnce, open_once
from .plan import AMBIGUOUS, CONVERSION, LOOK_MS, PENDING, Plan, new_options, opens
from .queue import PipelineQueue, open_queue
from .semaphore import PipelineSemaphore, open_semaphore
from .set import PipelineSet, open_bag, open_sequence, open_set
from .table import PipelineTable, open_table
from .views import PipelineViews, open_views
from .visitors import PipelineOnline, PipelineVisitors, open_online, open_visitors

T = TypeVar("T")

DEPTH = 1024
NULL = ffi.NULL
#: Completions that one call takes.
GROUP = 256


class Result(Bound, Generic[T]):
    """What an operation of a pipeline returns, when it has finished."""

    __slots__ = ("_pipeline", "_is_done", "_value", "_error", "_move")

    _value: T

    def __init__(self, pipeline: "Pipeline") -> None:
        self._pipeline = pipeline
        self._is_done = False
        self._error: Optional[BaseException] = None
        self._move: Optional[Callable[[], None]] = None  #: of the plan, until the caller has the result

    def __repr__(self) -> str:
        return f"<mcds.Result {'done' if self._is_done else 'pending'}>"

    def done(self) -> bool:
        """Whether it has finished."""
        return self._is_done

    def result(self) -> T:
        """Wait, and return the result or raise the failure."""
        if not self._is_done:
            self._pipeline._wait_for(self)
        if self._error is None:
            move, self._move = self._move, None
            if move is not None:
                move()
            return self._value
        try:
            raise self._error.with_traceback(None)
        finally:
            del self  # it keeps the exception, whose traceback refers to this frame

    def exception(self) -> Optional[BaseException]:
        """Wait, and return the failure, or None."""
        if not self._is_done:
            self._pipeline._wait_for(self)
        return self._error


def doubt() -> Ambiguous:
    return Ambiguous("the pipeline was closed before this operation had finished")


class Pipeline(Bound):
    """Operations of any structures of one store, in flight together; they have no order.

    The end of the block waits for all of them, and raises the first failure.

    >>> with s.pipeline() as p:
    ...     numbers = [p.counter("a").add(1) for _ in range(3)]
    ...     value = p.table("t").get("k")
    >>> sorted(number.result() for number in numbers), value.result()
    ([1, 2, 3], None)

    Used by one thread at a time; others wait.
    """

    counter = opens(open_counter, PipelineCounter)
    striped_counter = opens(open_striped, PipelineSumCounter)
    exact_counter = opens(open_exact, PipelineSumCounter)
    lock = opens(open_lock, PipelineLock)
    visitors = opens(open_visitors, PipelineVisitors)
    online = opens(open_online, PipelineOnline)
    views = opens(open_views, PipelineViews)
    set = opens(open_set, PipelineSet)
    bag = opens(open_bag, PipelineSet)
    sequence = opens(open_sequence, PipelineSet)
    table = opens(open_table, PipelineTable)
    list = opens(open_list, PipelineList)
    log = opens(open_log, PipelineLog)
    array = opens(open_array, PipelineArray)
    cache = opens(open_cache, PipelineCache)
    ids = opens(open_ids, PipelineIds)
    once = opens(open_once, PipelineOnce)
    queue = opens(open_queue, PipelineQueue)
    limit = opens(open_limit, PipelineLimit)
    semaphore = opens(open_semaphore, PipelineSemaphore)

    def __init__(self, core: Core, depth: int = DEPTH, check_results: bool = True) -> None:
        if not isinstance(core, Core):
            raise TypeError("do not call Pipeline(): open a pipeline with store.pipeline()")
        self._core = core
        try:
            self._depth = as_integer(depth, "depth") or DEPTH
        except TypeError as error:
            raise of_noun(error, "pipeline") from error.__cause__
        self._check_results = check_results
        place = new_place("pipeline")
        check(lib.mcds_pipeline_open(core.handle, new_options("mcds_pipeline_options",
                                                              depth=self._depth), place))
        self._pipeline = handle_in(place)
        self._mutex = threading.Lock()
        self._running: Dict[int, Tuple[Plan[Any], Result[Any]]] = {}
        self._tag = 0
        self._failure: Optional[BaseException] = None
        self._done = ffi.new("mcds_completion[]", GROUP)
        self._code = ffi.new("int *")
        core.end(core.pipelines, self, "pipeline", b"")

    def _start(self, plan: Plan[T]) -> Result[T]:
        result: Result[T] = Result(self)
        plan.check_process()
        try:
            with self._mutex:
                if self._pipeline is NULL:
                    raise Invalid("the pipeline is closed")
                if plan.start is None:
                    result._value = plan.take(0, plan.out)
                    result._is_done = True
                    return result
                if len(self._running) >= self._depth:
                    self._take_some()
                code = self._launch(plan, result)
                if code != 0:
                    if self._pipeline is NULL:
                        raise Invalid("the pipeline is closed")
                    raise plan.failure(error_of(code))
            return result
        finally:
            if self._pipeline is NULL:  # it was closed meanwhile
                self.close()

    def _launch(self, plan: Plan[T], result: Result[T]) -> int:
        """Start an operation, for which there is a place. Under the mutex."""
        self._tag = tag = self._tag + 1
        self._running[tag] = (plan, result)
        try:
            code: int = plan.start(*plan.arguments, self._pipeline, tag)
        except CONVERSION as error:
            del self._running[tag]
            raise plan.failure(error) from None
        if code != 0:
            del self._running[tag]
        return code

    def _take_some(self) -> None:
        """Wait for at least one operation, and take what has finished. Under the mutex."""
        pipeline = self._pipeline
        count = self._drain(pipeline)
        while count == 0 and self._code[0] == PENDING and self._pipeline is not NULL:
            count = self._drain(pipeline)
        if self._pipeline is NULL:
            self._leave(pipeline, count)
        elif count == 0:
            self._forget(error_of(self._code[0]))
        else:
            self._finish(count)

    def _drain(self, pipeline: Any) -> int:
        """Take the operations that have finished into `_done`. Waits for at most LOOK_MS for the first one."""
        count: int = lib.mcds_py_drain(pipeline, LOOK_MS, self._done, GROUP, self._code)
        return count

    def _leave(self, pipeline: Any, count: int) -> None:
        """The pipeline was closed meanwhile. End the operations that wait for a claim, and give back their claims."""
        self._finish(count)
        claiming = [tag for tag, (plan, _) in self._running.items() if plan.give_back is not None]
        for tag in claiming:
            lib.mcds_pipeline_end_wait(pipeline, tag)
        if claiming:
            self._finish(self._drain(pipeline))
        self._forget(doubt())

    def _finish(self, count: int) -> None:
        """Take the results of the operations that have finished."""
        done = self._done
        pop = self._running.pop
        in_doubt = []
        for i in range(count):
            completion = done[i]
            plan, result = pop(completion.tag)
            try:
                if plan.give_back is not None and self._pipeline is NULL:
                    plan.end_claim(completion.result)
                    raise doubt()
                result._value = plan.take(completion.result, plan.out)
                result._move = plan.move
            except BaseException as raised:
                # Without a traceback, which refers to this frame.
                result._error = error = plan.failure(raised).with_traceback(None)
                self._failure = self._failure or error
                if plan.is_in_doubt(completion.result):
                    in_doubt.append(plan)
            result._is_done = True
        for plan in in_doubt:
            with contextlib.suppress(Invalid):  # the store is closed
                for release in plan.after(AMBIGUOUS):  # there is one
                    self._launch(release, Result(self))

    def _forget(self, error: Error) -> None:
        """Give all operations this error: nothing is in flight, or the pipeline is closed, or of a parent process, or
        was interrupted."""
        for _, result in self._running.values():
            result._error = error
            result._is_done = True
            self._failure = self._failure or error
        self._running.clear()

    def _leave_parent(self) -> None:
        """In a child of fork: give all operations Invalid, without the mutex, which a thread of the parent may have
        held at the fork."""
        self._forget(forked("pipeline", b""))

    def _take_while(self, goes_on: Callable[[], bool]) -> None:
        if self._core.is_of_parent():
            self._leave_parent()
            return
        try:
            with self._mutex:
                while goes_on():
                    self._take_some()
        finally:
            if self._pipeline is NULL:  # it was closed meanwhile
                self.close()

    def _wait_for(self, result: Result[Any]) -> None:
        self._take_while(lambda: not result._is_done)

    def wait(self) -> None:
        """Wait for all operations. Their failures stay in their results."""
        self._take_while(lambda: len(self._running) > 0)

    def close(self) -> None:
        """Close the pipeline, at the end of a call that uses it. Operations in flight may or may not be
        applied: their results raise Ambiguous."""
        self._pipeline = NULL
        if self._core.is_of_parent():
            self._leave_parent()
            return
        # If a call is running, its thread forgets the operations at its end: until then C may write to their plans.
        if self._mutex.acquire(blocking=False):
            try:
                self._forget(doubt())
            finally:
                self._mutex.release()

    def __repr__(self) -> str:
        return f"<mcds.Pipeline {len(self._running)} in flight>"

    def __enter__(self) -> "Pipeline":
        if self._pipeline is NULL:
            raise Invalid("the pipeline is closed")
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        try:
            self.wait()
        except Error:
            if error is None:
                raise
        finally:
            self.close()
        failure, self._failure = self._failure, None
        try:
            if error is None and self._check_results and failure is not None:
                raise failure
        finally:
            del failure  # its traceback refers to this frame
