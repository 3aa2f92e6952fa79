"""Work that is done once for each key."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any, Awaitable, Callable, Iterator, NamedTuple, Optional, Tuple, Type, TypeVar

from ._binding import ffi, lib
from .arguments import as_integer, check_awaitable, check_function
from .block import surely, to_its_end
from .core import Bound, Core, Opened
from .encoding import encode_returned
from .errors import Error, Exists, brief, error_of
from .helping import named
from .plan import (EXISTS, NOT_FOUND, Bytes, Plan, Seconds, Structure, as_bytes, as_option_ms, as_short_ms,
                   as_short_option_ms, awaited, begun, checked, encode, encode_name, new_options, new_sized,
                   new_value, read_value, started, take_found, take_none, waiting)


class OnceState(NamedTuple):
    """The state of a key.

    state   "running", "done", or "vanished": strict work whose caller has not finished it
    code    the code with which the work was done; else 0
    result  the result with which it was done; else empty
    began   Unix time in seconds
    until   Unix time in seconds: the end of the claim, or of the time for which the result is kept
    """

    state: str
    code: int
    result: bytes
    began: float
    until: float


STATES = {lib.MCDS_ONCE_RUNNING: "running", lib.MCDS_ONCE_DONE: "done",
          lib.MCDS_ONCE_VANISHED: "vanished"}


def open_once(core: Core, name: Bytes, *, keep: Optional[Seconds] = None,
              run: Optional[Seconds] = None, strict: bool = False) -> Opened:
    """Work that one caller does; every other caller with the same key gets its result.

    keep    how long a result is kept (a day)
    run     how long a claim lasts (60); longer work renews it
    strict  work whose caller has died does not run again, until the key is settled or forgotten

    >>> payments = s.once("payments", keep=7 * 86400)
    >>> payments.run("order:4711", lambda: b"receipt 1")
    b'receipt 1'
    >>> payments.run("order:4711", lambda: b"never called")
    b'receipt 1'
    """
    options = {"keep_ms": as_option_ms(keep, "keep"), "run_ms": as_short_option_ms(run, "run"),
               "flags": lib.MCDS_ONCE_STRICT if strict else 0}
    return core.open("once", encode_name(name), new_options("mcds_once_options", **options),
                     tuple(options.values()))


class RunBase(Bound):
    """What a begin has returned: the result, or the claim of the caller that does the work."""

    def __init__(self, plans: "OncePlans", run: Any, result: Optional[bytes],
                 code: int) -> None:
        self._runner = plans._runner
        self._opened = plans._opened
        self._run = run
        #: The result; None: this caller does the work.
        self.result = result
        self.code = code

    @property
    def mine(self) -> bool:
        """Whether this caller does the work. Raises Invalid in a child of the process that has begun it."""
        self._opened.check_process()
        return bool(self._run.mine)

    @property
    def strict(self) -> bool:
        """Whether nobody does the work again when this caller has vanished."""
        return bool(self._run.strict)

    @property
    def until(self) -> float:
        """Unix time at which the claim ends. Raises Invalid in a child, as `mine`."""
        self._opened.check_process()
        return float(self._run.until_ms / 1000)

    def _finish_plan(self, result: Bytes, code: int = 0) -> Plan[None]:
        """Store the result. Lost: the claim has ended, and the result was not stored. After
        Ambiguous, call again with the same result while `mine` is True."""
        pair = as_bytes(result)
        return Plan(lib.mcds_once_finish, lib.mcds_once_finish_start,
                    (self._opened.handle, self._run, as_integer(code, "code"), pair), take_none, pair)

    def _renew_plan(self) -> Plan[None]:
        """Extend the claim. Lost: the claim has ended."""
        return Plan(lib.mcds_once_renew, lib.mcds_once_renew_start,
                    (self._opened.handle, self._run), take_none)

    def _abandon_plan(self) -> Plan[None]:
        """Give the claim back if the work was certainly not done: the next caller does it."""
        return Plan(lib.mcds_once_abandon, lib.mcds_once_abandon_start,
                    (self._opened.handle, self._run), take_none)

    def __repr__(self) -> str:
        return f"<mcds.{type(self).__name__} {'mine' if self._run.mine else 'not mine'}>"


class Run(RunBase):
    """What a begin has returned: the result, or the claim of the caller that does the work."""

    finish = waiting(RunBase._finish_plan)
    renew = waiting(RunBase._renew_plan)
    abandon = waiting(RunBase._abandon_plan)
    _finish_of_run: Any = waiting(named("run", RunBase._finish_plan))


class AioRun(RunBase):
    """The same in an event loop: its operations are awaited.

    >>> async def main():
    ...     run = await s.aio.once("mails").begin("welcome:8")
    ...     await run.finish(b"sent")
    ...     return (await s.aio.once("mails").begin("welcome:8")).result
    >>> asyncio.run(main())
    b'sent'
    """

    finish = awaited(RunBase._finish_plan)
    renew = awaited(RunBase._renew_plan)
    abandon = awaited(RunBase._abandon_plan)


def as_result(returned: Optional[Bytes]) -> bytes:
    """The result of work that has returned."""
    return b"" if returned is None else encode_returned(returned, "work")


#: What stands for an empty request: C does not check a request without bytes. Each program must use the same.
EMPTY_REQUEST = bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")


def as_request(request: Optional[Bytes]) -> Tuple[Any, int]:
    """None is not checked."""
    return as_bytes(b"" if request is None else encode(request) or EMPTY_REQUEST)


def key_in_use(key: Bytes, reason: str) -> Exists:
    """The error of a call that finds a key in another state than its caller expects. Its plan puts the place into
    the message."""
    error = Exists(f"the key {brief(encode(key))} {reason}")
    error.result = EXISTS
    return error


R = TypeVar("R", bound=RunBase)


class OncePlans(Structure):
    def _begin(self, key: Bytes, request: Optional[Bytes] = None, wait: Optional[Seconds] = None) -> Plan[Run]:
        """The result of a key, or the claim to do its work.

        request  what is asked for, such as the body of a request; Exists: the key was used for another
                 request. None, here or when the work was begun: not checked. b"" is a request
        wait     seconds to wait while another caller does the work, then Busy. If the call is
                 interrupted or cancelled, a claim of its request under way is given back. If the
                 reply to that request is late, the claim ends after the option `run`

        After Ambiguous the caller has no claim: the call abandons what it may have claimed.

        >>> run = s.once("mails").begin("welcome:7")
        >>> run.mine
        True
        >>> run.finish(b"sent", code=0)
        >>> s.once("mails").begin("welcome:7").result
        b'sent'
        """
        return self._begin_as(Run, key, request, wait)

    def _begin_as(self, kind: Type[R], key: Bytes, request: Optional[Bytes],
                  wait: Optional[Seconds]) -> Plan[R]:
        asked = as_request(request)
        value = new_value()
        run = ffi.new("mcds_once_run *")
        code_out = ffi.new("int32_t *")

        def give_back(code: int, handle: Any) -> Iterator[Plan[Any]]:
            if run.mine or run.doubt:
                yield RunBase(self._with(handle), run, None, 0)._abandon_plan()

        def take(code: int, out: Any) -> R:
            if code == EXISTS:
                raise key_in_use(key, "was used for another request; take a new key for this one")
            if code != 0:
                raise error_of(code)
            return kind(self, run, None if run.mine else read_value(value), int(code_out[0]))

        return Plan(lib.mcds_once_begin, lib.mcds_once_begin_start,
                    (self._opened.handle, as_bytes(key), asked, as_short_ms(wait, "wait"), run, value, code_out),
                    take, (asked, value, run, code_out), waits=bool(wait), give_back=give_back)

    def _settle(self, key: Bytes, result: Bytes, code: int = 0) -> Plan[None]:
        """Store a result without a claim. Exists: the key has one. Busy: a caller does the work."""
        pair = as_bytes(result)

        def take(found: int, out: Any) -> None:
            if found == EXISTS:
                raise key_in_use(key, "has a result, which stays; forget it first")
            take_none(found, out)

        return Plan(lib.mcds_once_settle, lib.mcds_once_settle_start,
                    (self._opened.handle, as_bytes(key), as_integer(code, "code"), pair), take, pair)

    def _forget(self, key: Bytes) -> Plan[bool]:
        """Forget a result or a claim: the work is done again. False: there was none."""
        return Plan(lib.mcds_once_forget, lib.mcds_once_forget_start,
                    (self._opened.handle, as_bytes(key)), take_found)

    def _get(self, key: Bytes) -> Plan[Optional[OnceState]]:
        """Returns the state of a key, or None if there is no key. Claims nothing."""
        out = new_sized("mcds_once_value")
        value = new_value()

        def take(code: int, kept: Any) -> Optional[OnceState]:
            if code == NOT_FOUND:
                return None
            if code != 0:
                raise error_of(code)
            return OnceState(STATES[out.state], int(out.code), read_value(value),
                             out.began_ms / 1000, out.until_ms / 1000)

        return Plan(lib.mcds_once_get, lib.mcds_once_get_start,
                    (self._opened.handle, as_bytes(key), out, value), take, (out, value))


class Once(OncePlans):
    """Work that is done once for each key."""

    begin = waiting(OncePlans._begin)
    settle = waiting(OncePlans._settle)
    forget = waiting(OncePlans._forget)
    get = waiting(OncePlans._get)

    def run(self, key: Bytes, work: Callable[[], Optional[Bytes]], request: Optional[Bytes] = None,
            wait: Seconds = 60) -> bytes:
        """The result of work(), which one caller calls. If it raises, the next caller does the
        work; strict: nobody does it again, until the key is settled or forgotten.

        None is stored as b"". Where work() returns another type, or more than the store accepts,
        this raises TypeError or TooBig, and the claim lasts until its end, because the work was done.

        request  what is asked for; Exists: the key was used for another request. None, here or when the
                 work was begun: not checked. b"" is a request
        """
        checked(self, Once.run, check_function, work, "work")
        run: Run = self._begin_of_run(key, request, wait)
        if run.result is not None:
            return run.result
        has_returned = False
        try:
            returned = work()
            has_returned = True
            result = checked(self, Once.run, as_result, returned)
            run._finish_of_run(result)
            return result
        except BaseException as error:
            if has_returned and not isinstance(error, Error):  # of a signal handler, or a TypeError
                surely(lambda: run.finish(as_result(returned)))
            elif not has_returned and not run.strict:
                surely(run.abandon)
            raise

    _begin_of_run: Any = waiting(named("run", OncePlans._begin))


class PipelineOnce(OncePlans):
    """Once in a pipeline."""

    begin = started(OncePlans._begin)
    settle = started(OncePlans._settle)
    forget = started(OncePlans._forget)
    get = started(OncePlans._get)


class AioOnce(OncePlans):
    """Once, whose operations and work are awaited."""

    def _begin_plan(self, key: Bytes, request: Optional[Bytes] = None,
                    wait: Optional[Seconds] = None) -> Plan[AioRun]:
        """The result of a key, or the claim to do its work, as Once.begin."""
        return self._begin_as(AioRun, key, request, wait)

    begin = awaited(_begin_plan)
    settle = awaited(OncePlans._settle)
    forget = awaited(OncePlans._forget)
    get = awaited(OncePlans._get)

    async def run(self, key: Bytes, work: Callable[[], Awaitable[Optional[Bytes]]],
                  request: Optional[Bytes] = None, wait: Seconds = 60) -> bytes:
        """Like Once.run(), but one caller awaits work(). If the result of work() cannot be awaited, this raises
        TypeError and does not give the claim back, because the work may be done. Without a `request`, here or when
        the work was begun, the request is not checked."""
        checked(self, AioOnce.run, check_function, work, "work")
        run: AioRun = await begun("run", AioOnce._begin_plan, self, key, request, wait)
        if run.result is not None:
            return run.result
        has_returned = False
        try:
            awaitable = work()
            has_returned = not inspect.isawaitable(awaitable)
            checked(self, AioOnce.run, check_awaitable, awaitable, "work")
            returned = await awaitable
        except BaseException:
            if not has_returned and not run.strict:
                with contextlib.suppress(Error):
                    await to_its_end(run.abandon())
            raise
        result = checked(self, AioOnce.run, as_result, returned)
        await to_its_end(begun("run", RunBase._finish_plan, run, result))
        return result
