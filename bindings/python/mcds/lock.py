"""Locks with leases and fences."""

from __future__ import annotations

import _thread
import dataclasses
import threading
import time
import weakref
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Callable, Iterator, List, Optional, Tuple, Type, TypeVar

from ._binding import ffi, lib
from .arguments import Misfit, check_type
from .block import ending, statement, surely
from .core import Bound, Core, Opened
from .encoding import encode_text
from .errors import (Ambiguous, Busy, Error, Expired, Invalid, Lost, Timeout, Unavailable, again, check,
                     closed, error_of, message_of, needing, shown_name, text)
from .handle import handle_in, new_place
from .helping import shows
from .plan import (NOT_FOUND, Bytes, Plan, Seconds, Structure, as_ms, as_short_ms,
                   as_short_option_ms, checked, encode_name, new_options, new_sized, started,
                   take_found, take_none, waiting)

#: The longest call of a waiting acquisition: then it looks how the store is.
SLICE_MS = 500
LEASE_DEFAULT_MS = 15000


@dataclasses.dataclass(frozen=True)
class Holder:
    """The holder of a lock.

    fence      the newest fence drawn; 0: the store has lost it
    remaining  seconds until the lease ends, unless it is renewed; None: the store does not report it
    label      of the holder. If holders share the lock, label and remaining are those of the lease that ends last
    tenure     a random number that identifies this acquisition; a renewal keeps it
    shared     how many holders share the lock; 0: one holder has it alone
    intended   it is shared, and a caller waits, or has just waited, to have it alone
    lock       name of the lock
    """

    fence: int
    remaining: Optional[float]
    label: str
    tenure: int
    shared: int = 0
    intended: bool = False
    lock: Optional[bytes] = dataclasses.field(default=None, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class LockOptions:
    """How a handle waits and renews."""

    lease_ms: int
    wait: Optional[float]
    renew: bool
    shared: bool = False


def as_wait(wait: Optional[Seconds]) -> Optional[float]:
    """Seconds; None: for ever."""
    return None if wait is None else as_ms(wait, "wait") / 1000


def open_lock(core: Core, name: Bytes, *, ttl: Optional[Seconds] = None, label: Bytes = b"",
              wait: Optional[Seconds] = None, renew: bool = True, shared: bool = False) -> Opened:
    """A lock: one holder at a time, until it releases or its lease of `ttl` seconds (15) ends.

    wait   seconds to wait for it, then Busy; None: for ever, but not for a store that is down
    renew  a thread (or a task) renews the lease while the block runs
    label  names the holder to others
    shared up to Lock.SHARED_MAX holders with shared=True have the lock together: for readers

    >>> with s.lock("nightly", ttl=30) as lease:
    ...     lease.fence > 0, lease.lost
    (True, False)
    >>> with s.lock("files", shared=True), s.lock("files", shared=True):
    ...     s.lock("files").try_acquire() is None
    True

    The block ends with Lost where the lease was lost meanwhile. `lease.check()` raises it earlier.
    Pass the fence to what the lock protects, and let that refuse smaller fences.
    """
    lease_ms = as_short_option_ms(ttl, "ttl")
    label = encode_name(label, "label")
    shown = ffi.new("char[]", label)
    options = new_options("mcds_lock_options", lease_ms=lease_ms, label=shown)
    chosen = LockOptions(lease_ms or LEASE_DEFAULT_MS, as_wait(wait), bool(renew), bool(shared))
    return core.open("lock", encode_name(name), options, (lease_ms, label, chosen), chosen)


def holder_of(lock: bytes) -> Callable[[int, Any], Optional[Holder]]:
    """What makes a result of the lock from the struct of C."""
    def take(code: int, out: Any) -> Optional[Holder]:
        if code == NOT_FOUND:
            return None
        if code != 0:
            raise error_of(code)
        remaining = out.remaining_ms / 1000 if out.remaining_ms >= 0 else None
        return Holder(out.fence, remaining, text(out.label), out.tenure, out.shared, bool(out.intended), lock)
    return take


@dataclasses.dataclass(frozen=True)
class Calls:
    """What a lock and a semaphore call for the same thing."""

    noun: str
    held: str  #: the struct of one tenure
    remaining_ms: Any
    acquire: Any
    acquire_start: Any
    try_acquire: Any
    try_acquire_start: Any
    renew: Any
    renew_start: Any
    release: Any
    release_start: Any


LOCK_CALLS = Calls("lock", "mcds_lease *", lib.mcds_lock_remaining_ms, lib.mcds_lock_acquire,
                   lib.mcds_lock_acquire_start, lib.mcds_lock_try_acquire,
                   lib.mcds_lock_try_acquire_start, lib.mcds_lock_renew, lib.mcds_lock_renew_start,
                   lib.mcds_lock_release, lib.mcds_lock_release_start)

#: Only these calls know the mode; the lease knows it from then on.
SHARED_CALLS = dataclasses.replace(
    LOCK_CALLS, acquire=lib.mcds_lock_acquire_shared,
    acquire_start=lib.mcds_lock_acquire_shared_start, try_acquire=lib.mcds_lock_try_acquire_shared,
    try_acquire_start=lib.mcds_lock_try_acquire_shared_start)


class Tenure(Bound):
    """One tenure of a lock or a semaphore, without a way to renew or release it."""

    _calls = LOCK_CALLS

    def __init__(self, opened: Opened, held: Any) -> None:
        self._opened = opened
        self._held = held
        self._lease = held
        self._failure: Optional[Error] = None

    @property
    def _handle(self) -> Any:
        """Of C. Invalid: the store is closed, or a parent process has opened it."""
        self._opened.check_process()
        return self._opened.handle

    @property
    def fence(self) -> int:
        """Larger than the fence of every tenure before."""
        return int(self._lease.fence)

    @property
    def remaining(self) -> float:
        """Seconds that are left; 0 when it is over. Raises Invalid after the close of the store, and in a child
        of the process that has acquired it."""
        return int(self._calls.remaining_ms(self._handle, self._held)) / 1000

    @property
    def lost(self) -> bool:
        """Whether the lease has ended, or may have: another may be the holder. Raises Invalid after the close
        of the store, and in a child of the process that has acquired it."""
        return self._failure is not None or self.remaining == 0

    def check(self) -> None:
        """Raise Lost where the lease has ended, and Invalid where the store is closed or a parent process has
        acquired the lease. Call it before each action that must not be done twice."""
        if self._failure is not None:
            raise again(self._failure)
        if self.remaining == 0:
            raise Lost(message_of(self._calls.noun, shown_name(self._opened.name), "", "the lease is over"))

    def _judge(self, error: Error) -> None:
        """What a renewal that has failed says about the lease."""
        try:
            is_over = self.remaining == 0
        except Invalid:  # the store is closed
            return
        if isinstance(error, (Lost, Expired)) or is_over:
            self._failure = again(error) if isinstance(error, Lost) else Lost(str(error))

    def _is_held(self) -> bool:
        """Whether time is left, and the store is open."""
        try:
            return self.remaining > 0
        except Invalid:
            return False

    def _give_back(self, code: int, handle: Any) -> Iterator[Plan[Any]]:
        """For an acquisition whose caller does not get the lease. The store may be closed meanwhile."""
        if code == lib.MCDS_AMBIGUOUS or self._calls.remaining_ms(handle, self._held) > 0:
            yield self._release_plan(handle)

    def _renew_plan(self) -> Plan[None]:
        return Plan(self._calls.renew, self._calls.renew_start, (self._handle, self._held),
                    take_none)

    def _release_plan(self, handle: Any = None) -> Plan[None]:
        return Plan(self._calls.release, self._calls.release_start,
                    (handle or self._handle, self._held), take_none)

    def _export(self) -> str:
        """For a lease of a lock. Permits have no text."""
        out = ffi.new("char[]", lib.MCDS_LEASE_TEXT)
        check(lib.mcds_lock_export(self._handle, self._held, out))
        return str(ffi.string(out).decode())

    def __repr__(self) -> str:
        left = f"{self.remaining:.3f} s" if self._is_held() else "not held"
        return f"<mcds.{type(self).__name__} fence {self.fence}, {left}>"


#: A kind of tenure.
H = TypeVar("H", bound=Tenure)


class ThreadTenure(Tenure):
    """One tenure of a lock or a semaphore. Any thread may use it."""

    def __init__(self, opened: Opened, lease: Any) -> None:
        super().__init__(opened, lease)
        self._mutex = threading.Lock()
        # Not an Event: one that an interrupt leaves in mid-set blocks every later set.
        self._over: "SimpleQueue[Any]" = SimpleQueue()
        self._begun: "SimpleQueue[None]" = SimpleQueue()
        self._statement: "Optional[weakref.ref[object]]" = None

    def renew(self) -> None:
        """Extend the lease by its whole length from now."""
        self._opened.check_process()
        with self._mutex:
            try:
                self._renew_plan().wait()
            except Error as error:
                self._judge(error)
                raise

    def release(self) -> None:
        """End the lease. Raises Lost where it had ended before."""
        self._opened.check_process()  # in a child another thread of the parent may have the mutex
        self._over.put(None)
        with self._mutex:
            self._release_plan().wait()

    def _keep(self, lease_ms: int) -> None:
        """Renew until it is over or lost. A thread runs this. It releases where a with statement has
        ended without its __exit__, which an interrupt at its beginning skips."""
        self._begun.put(None)
        pause = lease_ms / 3000
        while self._failure is None:
            try:
                if self._over.get(timeout=pause) is not None:
                    surely(self.release)
                return
            except Empty:
                pass
            with self._mutex:
                if not self._over.empty():
                    continue
                try:
                    self._renew_plan().wait()
                    pause = lease_ms / 3000
                except Invalid:  # the store is closed
                    return
                except Error as error:
                    self._judge(error)
                    pause = lease_ms / 20000


class Lease(ThreadTenure):
    """One tenure of a lock. Any thread may use it."""

    def export(self) -> str:
        """The lease as text, with which `Lock.adopt` of another process renews and releases it."""
        self._opened.check_process()
        with self._mutex:
            return self._export()


def import_lease(core: Core, opened: Opened, token: bytes) -> Tuple[Opened, Any]:
    """The lease of a text, and the handle with the options of the process that has exported it."""
    place, lease = new_place("lock"), ffi.new("mcds_lease *")
    if core.handle is ffi.NULL:
        raise closed("lock", opened.name)
    check(lib.mcds_lock_import(core.handle, opened.name, token, place, lease), "adopt")
    return core.adopt(Opened(handle_in(place), "lock", opened.name)), lease


def take_tenure(code: int, tenure: H) -> Optional[H]:
    if code == lib.MCDS_BUSY:
        return None
    if code != 0:
        raise error_of(code)
    return tenure


class Leased(Structure):
    """A structure whose holders have leases."""

    _calls = LOCK_CALLS

    def _import(self, token: Bytes) -> Tuple[Opened, Any]:
        """For adopt: the lease of a text, and its handle."""
        encoded = checked(self, Lock.adopt, encode_text, token, "token")
        return import_lease(self._runner._core, self._opened, encoded)

    def _new(self, held: Any) -> Any:
        """The tenure that a waiting call has acquired."""
        return Lease(self._opened, held)

    @property
    def _chosen(self) -> LockOptions:
        chosen: LockOptions = self._opened.kept
        return chosen

    @property
    def _acquiring(self) -> Calls:
        return SHARED_CALLS if self._chosen.shared else self._calls

    def _not_begun(self, verb: str, caller: str) -> Invalid:
        """The error of the end of a block that the thread or the task has not begun."""
        return needing(self._opened, verb, f"a block that this {caller} has begun")

    def _acquire_plan(self, tenure: Tenure, wait_ms: int) -> Plan[None]:
        """Wait up to `wait_ms` for the lease."""
        return Plan(self._acquiring.acquire, self._acquiring.acquire_start,
                    (self._opened.handle, wait_ms, tenure._held), take_none, tenure,
                    give_back=tenure._give_back, repeats=True, made_by=(self, None, (), {}))

    def _try_plan(self, tenure: H) -> Plan[Optional[H]]:
        """Acquire the lease, or None where others hold it."""
        return Plan(self._acquiring.try_acquire, self._acquiring.try_acquire_start,
                    (self._opened.handle, tenure._held), take_tenure, tenure,
                    give_back=tenure._give_back, made_by=(self, None, (), {}))


def check_seen(seen: Optional[Holder], lock: bytes) -> None:
    """A Holder that a program has made names no lock."""
    if seen is None:
        return
    check_type(seen, Holder, "seen")
    if seen.lock is not None and seen.lock != lock:
        raise ValueError(Misfit(f"seen is the holder of lock '{shown_name(seen.lock)}'; give one of lock "
                                f"'{shown_name(lock)}', or None"))


class LockPlans(Leased):
    #: The most holders that share a lock.
    SHARED_MAX: int = lib.MCDS_LOCK_SHARED_MAX

    def _try_acquire(self) -> Plan[Optional[Lease]]:
        """Acquire the lock, or return None where another holds it. Nothing renews this lease.

        After Ambiguous the caller holds nothing: the call releases what it may have acquired.

        >>> lease = s.lock("once").try_acquire()
        >>> s.lock("once").try_acquire() is None
        True
        >>> lease.release()
        """
        return self._try_plan(Lease(self._opened, ffi.new("mcds_lease *")))

    def _holder(self) -> Plan[Optional[Holder]]:
        """Who holds the lock; None where it is free."""
        out = new_sized("mcds_lock_holder")
        return Plan(lib.mcds_lock_get_holder, lib.mcds_lock_get_holder_start,
                    (self._opened.handle, out), holder_of(self._opened.name), out)

    def _watch(self, seen: Optional[Holder] = None, wait: Seconds = 0) -> Plan[Optional[Holder]]:
        """Wait until the lock has another holder than `seen`, and return it, or None: it is free.

        seen  what an earlier call has returned; None: it was free
        wait  seconds, then Busy; 0: one look

        Lost: the fence is smaller than that of `seen`; the store has lost it.
        """
        out = new_sized("mcds_lock_holder")
        check_seen(seen, self._opened.name)
        if seen is not None:
            out.fence, out.tenure = seen.fence, seen.tenure
        return Plan(lib.mcds_lock_watch, lib.mcds_lock_watch_start,
                    (self._opened.handle, as_short_ms(wait, "wait"), out), holder_of(self._opened.name), out)

    def _break_lock(self) -> Plan[bool]:
        """Take the lock from its holder, which gets Lost. False: it was free."""
        return Plan(lib.mcds_lock_break, lib.mcds_lock_break_start, (self._opened.handle,),
                    take_found)

    def _drop(self) -> Plan[bool]:
        """Erase a free lock with its fence. False: there was none. Busy: it is held."""
        return Plan(lib.mcds_lock_drop, lib.mcds_lock_drop_start, (self._opened.handle,),
                    take_found)


def goes_on(error: Error, wait: Optional[float]) -> bool:
    """Whether an acquisition that has failed so is tried again until its time is over."""
    return isinstance(error, Busy) or (
        wait is not None and isinstance(error, (Ambiguous, Timeout, Unavailable)))


def slice_ms(until: Optional[float]) -> int:
    left = SLICE_MS if until is None else round((until - time.monotonic()) * 1000)
    return max(0, min(SLICE_MS, left))


class Block(Leased):
    """Acquires for a with block."""

    def __init__(self, opened: Opened, runner: Any) -> None:
        super().__init__(opened, runner)
        self._held = threading.local()

    def _acquire(self) -> Any:
        wait = self._chosen.wait
        until = None if wait is None else time.monotonic() + wait
        lease = self._new(ffi.new(self._calls.held))
        try:
            while True:
                plan = self._acquire_plan(lease, slice_ms(until))
                code = plan.run(self)
                if code == 0:
                    return lease
                error = error_of(code)
                plan.failure(error)
                if until is not None and time.monotonic() >= until or not goes_on(error, wait):
                    try:
                        raise error
                    finally:
                        del error  # its traceback refers to this frame
        except BaseException as failure:
            if isinstance(failure, Ambiguous) or lease._is_held():
                surely(lease.release)
            raise

    def _leases(self) -> List[Lease]:
        """Those of the with blocks that this thread is in."""
        leases: List[Lease] = self._held.__dict__.setdefault("leases", [])
        return leases

    def _enter(self) -> Any:
        here = statement(self)
        lease = self._acquire()
        try:
            if self._chosen.renew:
                lease._statement = weakref.ref(here, lease._over.put)
                # Calls of C, unlike Thread.start(), which an interrupt leaves half done.
                _thread.start_new_thread(lease._keep, (self._chosen.lease_ms,))
                # A thread that begins while the interpreter ends crashes it.
                lease._begun.get()
            self._leases().append(lease)
            return lease
        except BaseException:  # no thread can be started, or of a signal handler
            surely(lease.release)
            if lease in self._leases():
                self._leases().remove(lease)
            raise

    @ending
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        try:
            leases = self._held.leases  # a call, where a signal is handled, comes after the next try begins
            lease = leases[-1]
        except (AttributeError, IndexError):
            raise self._not_begun("__exit__", "thread") from None
        del leases[-1]
        try:
            lease.release()
        except Error as failure:
            lease._judge(failure)
            if error is None:
                raise
        except BaseException:  # of a signal handler
            surely(lease.release)
            raise


class Lock(Block, LockPlans):
    """A lock with leases. A with block holds it."""

    try_acquire = waiting(LockPlans._try_acquire)
    holder = waiting(LockPlans._holder)
    break_lock = waiting(LockPlans._break_lock)
    drop = waiting(LockPlans._drop)

    @shows(LockPlans._watch, "{}")
    def watch(self, seen: Optional[Holder] = None, wait: Seconds = 0) -> Optional[Holder]:
        until = time.monotonic() + checked(self, Lock.watch, as_ms, wait, "wait") / 1000
        checked(self, Lock.watch, check_seen, seen, self._opened.name)
        while True:
            plan = self._watch(seen, slice_ms(until) / 1000)
            try:
                return plan.take(plan.run(self), plan.out)
            except (Busy, Timeout, Unavailable):
                if time.monotonic() >= until:
                    raise

    def acquire(self) -> Lease:
        """Wait for the lock as long as the option `wait` says, then Busy. Nothing renews the lease."""
        lease: Lease = self._acquire()
        return lease

    def adopt(self, token: Bytes) -> Lease:
        """The lease that another process has exported; both may renew and release it.

        Renew it before you use what the lock protects: until then its end is not known, and
        `remaining` is 0. Nothing renews it by itself.

        >>> token = s.lock("deploy").acquire().export()
        >>> lease = s.lock("deploy").adopt(token)
        >>> lease.renew()
        >>> lease.lost
        False
        >>> lease.release()
        """
        return Lease(*self._import(token))

    def __enter__(self) -> Lease:
        lease: Lease = self._enter()
        return lease


class PipelineLock(LockPlans):
    """A lock in a pipeline."""

    try_acquire = started(LockPlans._try_acquire)
    holder = started(LockPlans._holder)
    watch = started(LockPlans._watch)
    break_lock = started(LockPlans._break_lock)
    drop = started(LockPlans._drop)
