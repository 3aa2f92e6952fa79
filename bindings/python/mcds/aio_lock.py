"""Locks in an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from types import TracebackType
from typing import Any, Dict, List, Optional, Type

from ._binding import ffi
from .block import ending, statement, to_its_end
from .core import Opened
from .errors import Ambiguous, Error, Invalid, Lost, again
from .lock import Leased, LockPlans, Tenure, goes_on, slice_ms
from .plan import Bytes, Plan, awaited


def _cancelling(task: "asyncio.Task[Any]") -> int:
    """The number of requests to cancel the task; 0 before Python 3.11, which does not count them."""
    count: int = task.cancelling() if hasattr(task, "cancelling") else 0
    return count


class AioTenure(Tenure):
    """One tenure of a lock or a semaphore; renew and release are awaited."""

    def __init__(self, opened: Opened, runner: Any, lease: Any) -> None:
        super().__init__(opened, lease)
        self._runner = runner
        self._last: "Optional[asyncio.Future[None]]" = None
        self._keeper: "Optional[asyncio.Task[None]]" = None
        self._statement: "Optional[weakref.ref[object]]" = None
        self._has_cancelled = False
        self._cancelling_before = 0  # requests of others to cancel the task, when the block began

    def _begin(self, plan: Plan[None]) -> "asyncio.Future[None]":
        """C has one operation with a lease at a time: this one begins after the one before it. Nothing
        is awaited before, so a cancellation cannot prevent it."""
        future: "asyncio.Future[None]" = self._runner._start(plan, self._last)
        self._last = future
        future.add_done_callback(self._ended)
        return future

    def _ended(self, future: "asyncio.Future[None]") -> None:
        """Let go of it: its plan keeps the handle of C, and it keeps the exception."""
        if self._last is future:
            self._last = None

    async def renew(self) -> None:
        """Extend the lease by its whole length from now."""
        try:
            await to_its_end(self._begin(self._renew_plan()))
        except Error as error:
            self._judge(error)
            raise

    async def release(self) -> None:
        """End the lease. Raises Lost where it had ended before."""
        await to_its_end(self._begin(self._release_plan()))

    def _is_cancelled_by_others(self, task: "asyncio.Task[Any]") -> bool:
        """Whether others than the keeper have cancelled the task since the block began."""
        return _cancelling(task) > self._cancelling_before

    def _keep_for(self, here: object, lease_ms: int, task: "asyncio.Task[Any]") -> None:
        """Renew until the block has ended. If its statement ends without a call of __aexit__, because
        of an exception before the first instruction of __aexit__, release the lease."""
        keeper = asyncio.ensure_future(self._keep(lease_ms, task))
        loop = keeper.get_loop()

        def end() -> None:
            if keeper is self._keeper:
                self._stop()
                self._begin(self._release_plan()).add_done_callback(_forget)

        def over(_: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(end)

        self._keeper = keeper
        self._statement = weakref.ref(here, over)

    def _stop(self) -> None:
        """End the renewal."""
        if self._keeper is not None:
            self._keeper.cancel()
            self._keeper = None

    async def _keep(self, lease_ms: int, task: "asyncio.Task[Any]") -> None:
        """Renew until the block has ended; where the lease is lost, cancel the block."""
        pause = lease_ms / 3000
        while True:
            await asyncio.sleep(pause)
            try:
                await self.renew()
                pause = lease_ms / 3000
            except Invalid:  # the store is closed
                return
            except Error:
                pause = lease_ms / 20000
            if self._failure is not None:
                self._has_cancelled = True
                task.cancel()
                return


class AioLease(AioTenure):
    """One tenure of a lock; renew, release and export are awaited."""

    async def export(self) -> str:
        """The lease as text, with which `adopt` of another process renews and releases it."""
        self._opened.check_process()  # in a child nothing ends an operation of the parent
        while self._last is not None and not self._last.done():
            await asyncio.wait([self._last])
        return self._export()


class AioBlock(Leased):
    """Acquires for an `async with` block."""

    def _new_aio(self) -> Any:
        """A tenure that is not held yet."""
        return AioLease(self._opened, self._runner, ffi.new("mcds_lease *"))

    def __init__(self, opened: Opened, runner: Any) -> None:
        super().__init__(opened, runner)
        self._held: "Dict[asyncio.Task[Any], List[AioTenure]]" = {}

    async def _acquire(self) -> Any:
        wait = self._chosen.wait
        until = None if wait is None else time.monotonic() + wait
        lease = self._new_aio()
        while True:
            try:
                await self._runner._start(self._acquire_plan(lease, slice_ms(until)))
                return lease
            except Error as error:
                if until is not None and time.monotonic() >= until or not goes_on(error, wait):
                    if isinstance(error, Ambiguous):
                        with contextlib.suppress(Invalid):  # the store is closed
                            self._runner._start(lease._release_plan()).add_done_callback(_forget)
                    raise

    async def _try_acquire_aio(self) -> Any:
        return await self._runner._start(self._try_plan(self._new_aio()))

    async def _enter(self) -> Any:
        here = statement(self)
        task = asyncio.current_task()
        assert task is not None
        lease = await self._acquire()
        self._held.setdefault(task, []).append(lease)
        if self._chosen.renew:
            lease._cancelling_before = _cancelling(task)
            lease._keep_for(here, self._chosen.lease_ms, task)
        return lease

    @ending
    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        task = asyncio.current_task()
        if task is None or task not in self._held:
            raise self._not_begun("__aexit__", "task")
        leases = self._held[task]
        lease = leases.pop()
        if not leases:
            del self._held[task]
        lease._stop()
        if lease._has_cancelled and hasattr(task, "uncancel"):
            task.uncancel()
        is_cancelled = isinstance(error, asyncio.CancelledError)
        try:
            await lease.release()
        except Error as failure:
            lease._judge(failure)
            if error is None:
                raise
        except asyncio.CancelledError:
            if not lease._has_cancelled or is_cancelled or lease._is_cancelled_by_others(task):
                raise
            is_cancelled = error is None  # by the keeper, and the block had ended by then
        if is_cancelled and lease._has_cancelled and not lease._is_cancelled_by_others(task):
            raise again(lease._failure) if lease._failure is not None else Lost("the lease is over")


class AioLock(AioBlock, LockPlans):
    """A lock with leases. An `async with` block holds it, and is cancelled when the lease is lost."""

    holder = awaited(LockPlans._holder)
    watch = awaited(LockPlans._watch)
    break_lock = awaited(LockPlans._break_lock)
    drop = awaited(LockPlans._drop)

    async def try_acquire(self) -> Optional[AioLease]:
        """Acquire the lock, or return None where another holds it. Nothing renews this lease.

        >>> async def main():
        ...     lease = await s.aio.lock("aio").try_acquire()
        ...     print(await s.aio.lock("aio").try_acquire())
        ...     await lease.release()
        >>> asyncio.run(main())
        None
        """
        lease: Optional[AioLease] = await self._try_acquire_aio()
        return lease

    async def acquire(self) -> AioLease:
        """Wait for the lock as long as the option `wait` says, then Busy. Nothing renews the lease."""
        lease: AioLease = await self._acquire()
        return lease

    def adopt(self, token: Bytes) -> AioLease:
        """The lease that another process has exported, as by `Lock.adopt`. Renew it first."""
        opened, lease = self._import(token)
        return AioLease(opened, self._runner, lease)

    async def __aenter__(self) -> AioLease:
        lease: AioLease = await self._enter()
        return lease


def _forget(future: "asyncio.Future[None]") -> None:
    """Nobody waits for it; its failure is no news."""
    if not future.cancelled():
        future.exception()
