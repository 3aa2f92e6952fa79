"""An operation before it is decided how it runs: waiting, in a pipeline, or in an event loop.

Each structure makes plans; `waiting`, `started` and `awaited` turn a method that makes a plan into
the method of one of the three. So arguments and results are converted in one place.
"""

from __future__ import annotations

import asyncio
import datetime
import inspect
import operator
from typing import (TYPE_CHECKING, Any, Callable, Concatenate, Generic, Iterable, Iterator,
                    Mapping, NoReturn, Optional, ParamSpec, Tuple, TypeGuard, TypeVar, Union)

from ._binding import ffi, lib
from .arguments import (Misfit, NotBytes, NotUnicode, check_elements, fitting, is_integer, located, located_opening,
                        misfit_of, narrowed, outside)
from .core import Bound, Opened
from .errors import (Error, Invalid, Lost, NotFound, brief, closed, error_of, locate, message_of, name_method,
                     shown_name)
from .handle import new_place
from .helping import name_of, named, shows, with_method

if TYPE_CHECKING:
    from .pipeline import Result

T = TypeVar("T")
O = TypeVar("O")
H = TypeVar("H")
P = ParamSpec("P")
C = TypeVar("C")

#: Bytes; a str is encoded as UTF-8.
Bytes = Union[bytes, bytearray, memoryview, str]
#: A time span in seconds, or a timedelta.
Seconds = Union[int, float, datetime.timedelta]
#: A time: a datetime with a zone, or Unix time in seconds.
When = Union[int, float, datetime.datetime]

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
MS = datetime.timedelta(milliseconds=1)

#: A call that waits for others returns to the interpreter so often, so that signals are handled.
LOOK_MS = 150
PENDING: int = lib.MCDS_PENDING
AMBIGUOUS: int = lib.MCDS_AMBIGUOUS


def new_struct(kind: str, **members: Any) -> Any:
    """A struct of C. Invalid names a number that its member cannot hold."""
    try:
        return ffi.new(kind + " *", members)
    except OverflowError:
        found = outside([("", ffi.typeof(kind), members)])
        if found is None:
            raise
        noun = kind.split("_")[1]
        if kind.endswith("_options"):
            found = narrowed(found, noun, ffi.new(kind + " *", fitting(ffi.typeof(kind), members)))
        raise found.refusal(noun) from None


def new_options(kind: str, **members: Any) -> Any:
    return new_struct(kind, size=ffi.sizeof(kind), **members)


ONE_OPERATION = new_options("mcds_pipeline_options", depth=1)


class Plan(Generic[T]):
    """What to call, and how to read the result. It keeps alive what C reads and writes.

    `waits`: the call may wait for other callers, longer than the store's timeout.
    `give_back`: for a call whose caller does not get the claim: the call was interrupted, cancelled
    or Ambiguous, or the store was closed meanwhile. From the result code and the handle of the call it
    makes the plans that give back the claim. Each plan begins after the one before has succeeded.
    `repeats`: the caller repeats an Ambiguous call with the same claim.
    `move`: moves the caller's cursor past the result, when the caller gets the result. After a failure, an interrupt
    or a cancellation the cursor stays, and what the call has read comes again.
    `made_by`: the structure, the method that made the plan, and its arguments: for `failure`.
    """

    __slots__ = ("call", "start", "arguments", "take", "out", "waits", "give_back", "repeats", "move",
                 "made_by")

    def __init__(self, call: Any, start: Any, arguments: Tuple[Any, ...],
                 take: Callable[[int, Any], T], out: Any = None, waits: bool = False,
                 give_back: Optional[GiveBack] = None, repeats: bool = False,
                 move: Optional[Callable[[], None]] = None, made_by: Optional[MadeBy] = None) -> None:
        self.call = call
        self.start = start
        self.arguments = arguments
        self.take = take
        self.out = out
        self.waits = waits
        self.give_back = give_back
        self.repeats = repeats
        self.move = move
        self.made_by = made_by

    def wait(self) -> T:
        try:
            return self.handed(self.call(*self.arguments))
        except BaseException as error:
            self.raise_failure(error)

    def handed(self, code: int) -> T:
        """The result, which the caller gets at once. Nothing after the move looks for signals, so that the cursor
        does not move past a result that an exception of a signal handler replaces."""
        if self.move is None:
            return self.take(code, self.out)
        result = self.take(code, self.out)
        self.move()
        return result

    def run(self, structure: Any) -> int:
        """The result code. Signals are handled meanwhile; a handler that raises ends the wait. So does the
        close of the store, with Invalid.

        No further request begins then. If the last request has made a claim, the claim is given
        back. If its reply does not come at once, the claim ends with its lease.
        """
        place = new_place("pipeline")
        code: int = lib.mcds_pipeline_open(structure._runner._core.handle, ONE_OPERATION, place)
        if code != 0:
            return code
        pipeline = place[0]
        try:
            code = self.start(*self.arguments, pipeline, 0)
            if code == 0:
                code = lib.mcds_py_run(pipeline, LOOK_MS)
            while code == PENDING and not is_closed(structure):
                code = lib.mcds_py_run(pipeline, LOOK_MS)
            if code == PENDING or self.comes_late(structure, code):
                raise closed_of(structure)
            return code
        except BaseException as error:
            if self.give_back is not None or isinstance(error, Invalid):
                self._leave(pipeline)
            raise
        finally:
            ffi.release(place)

    def _leave(self, pipeline: Any) -> None:
        """After an interrupt or a close: end the wait, and give back the claim."""
        lib.mcds_pipeline_end_wait(pipeline, 0)
        code = lib.mcds_py_run(pipeline, LOOK_MS)
        if code != PENDING:
            self.end_claim(code)

    def comes_late(self, structure: Any, code: int) -> bool:
        """Whether the store was closed before the result, which may be a claim, has come."""
        return self.give_back is not None and code != AMBIGUOUS and is_closed(structure)

    def end_claim(self, code: int) -> None:
        """Give back the claim that the call has made, or may have made."""
        for plan in self.after(code):
            if plan.call(*plan.arguments) != 0:
                return

    def after(self, code: int) -> Iterator[Plan[Any]]:
        """The plans that give back the claim."""
        return self.give_back(code, self.arguments[0]) if self.give_back is not None else iter(())

    def failure(self, error: BaseException) -> BaseException:
        """What the caller gets for an exception of this plan: with the structure, its name and the method,
        and Invalid for a number that C cannot hold."""
        if self.made_by is None:
            return error
        structure, build, args, kwargs = self.made_by
        if isinstance(error, Lost):
            structure._runner._core.forget(structure._opened)
        if isinstance(error, Error) and misfit_of(error) is None:
            if error.result > 0 and not error.noun:
                reason = structure._absent if isinstance(error, NotFound) else ""
                locate(error, *self.place(), reason or error.message)
            else:
                name_method(error, self.place()[2])
        elif isinstance(error, OverflowError) and build is not None:
            given = inspect.signature(build).bind(structure, *args, **kwargs).arguments
            names = [next((name for name, one in given.items() if is_number(one, value)), "number")
                     for value in self.arguments]
            noun, name, verb = self.place()
            found = outside(zip(names, ffi.typeof(self.call).args, self.arguments))
            if found is not None:
                found = narrowed(found, noun, structure._opened.options, self.call, self.arguments)
                refusal = found.refusal(noun, verb)
                locate(refusal, noun, name, verb, refusal.reason)
                return refusal
        elif isinstance(error, REFUSALS) and build is not None:  # of what a function has returned
            return located(error, build, structure, args, kwargs)
        return error

    def raise_failure(self, error: BaseException) -> NoReturn:
        """Raise what the caller gets for the exception of this plan that is being handled."""
        failure = self.failure(error)
        try:
            if failure is not error:
                raise failure from None
            raise
        finally:
            del error, failure  # their tracebacks refer to this frame

    def check_process(self) -> None:
        """Raise Invalid in a child of the process that has opened the store."""
        if self.made_by is not None:
            self.made_by[0]._opened.check_process()

    def place(self) -> Tuple[str, str, str]:
        """The noun, the name of the structure, and the method."""
        assert self.made_by is not None
        structure, build, _, _ = self.made_by
        opened = structure._opened
        called = self.call.__name__.split("_", 2)[2].removesuffix("_shared") if build is None else name_of(build)
        return opened.noun, shown_name(opened.name), called

    def is_in_doubt(self, code: int) -> bool:
        """Whether the call may have made a claim that no caller gets."""
        return code == AMBIGUOUS and self.give_back is not None and not self.repeats


def known(result: T) -> Plan[T]:
    """The plan of a call whose result needs no request. It has no `start`."""
    return Plan(lambda: 0, None, (), lambda code, out: result)


#: A structure, the method that makes a plan, and the arguments of the method. Without a method, the
#: numbers of the plan are not the caller's, and the call of C has the name of the method.
MadeBy = Tuple[Any, Optional[Callable[..., Any]], Tuple[Any, ...], Mapping[str, Any]]


def put_name(error: Invalid, name: bytes, method: str = "") -> None:
    """Into the refusal of a number by `new_struct`, which knows no name and no method."""
    if error.option and not error.name:
        locate(error, error.noun, shown_name(name), method or error.verb, error.reason)


def is_number(given: Any, number: Any) -> bool:
    """Whether as_integer has made the number of the argument."""
    return given is number or (type(given) is not int and type(number) is int and is_integer(given)
                               and operator.index(given) == number)


#: What `build` raises for an argument, without the structure.
REFUSALS = (ValueError, TypeError)


def refusal(error: Exception, build: Callable[..., Any], structure: Any, *given: Any) -> Exception:
    """The error, with the name of the structure. Only calls that fail run this."""
    if isinstance(error, Invalid) and misfit_of(error) is None:
        put_name(error, structure._opened.name, name_of(build))
        return error
    return located(error, build, structure, *given)


def checked(structure: Any, method: Callable[..., Any], convert: Callable[..., C], *given: Any) -> C:
    """An argument as `convert` returns it, or its refusal with the structure and the method, which makes no plan
    or many."""
    try:
        return convert(*given)
    except REFUSALS as error:
        raise refusal(error, method, structure) from None


def planned(build: Callable[..., Plan[T]], structure: Any, args: Tuple[Any, ...],
            kwargs: Mapping[str, Any]) -> Plan[T]:
    """The plan of a method that does not wait, whose failures name the structure."""
    try:
        plan = build(structure, *args, **kwargs)
    except REFUSALS as error:
        raise refusal(error, build, structure, args, kwargs) from error.__cause__
    plan.made_by = (structure, build, args, kwargs)
    return plan


def called(method: str, build: Callable[Concatenate[Any, P], Plan[T]], structure: Any, /, *args: P.args,
           **kwargs: P.kwargs) -> T:
    """Run one of the calls that the method of this name makes, and wait for it."""
    return planned(named(method, build), structure, args, kwargs).wait()


def begun(method: str, build: Callable[Concatenate[Any, P], Plan[Any]], structure: Any, /, *args: P.args,
          **kwargs: P.kwargs) -> "asyncio.Future[Any]":
    """The same for a call that is awaited."""
    future: "asyncio.Future[Any]" = structure._runner._start(planned(named(method, build), structure, args, kwargs))
    return future


#: Plans that give back a claim.
GiveBack = Callable[[int, Any], Iterator[Plan[Any]]]


def waiting(build: Callable[Concatenate[O, P], Plan[T]]) -> Callable[Concatenate[O, P], T]:
    @shows(build, "{}")
    def method(self: O, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            plan = build(self, *args, **kwargs)
        except REFUSALS as error:
            raise refusal(error, build, self, args, kwargs) from error.__cause__
        code = PENDING
        try:
            if plan.waits:
                code = plan.run(self)
            else:
                code = plan.call(*plan.arguments)
                if plan.give_back is not None and plan.comes_late(self, code):
                    plan.end_claim(code)
                    raise closed_of(self)
            return plan.take(code, plan.out) if plan.move is None else plan.handed(code)
        except BaseException as error:
            # After an exception of a signal handler the caller has no claim either.
            if plan.is_in_doubt(code) or not isinstance(error, Error):
                plan.end_claim(code)
            plan.made_by = (self, build, args, kwargs)
            plan.raise_failure(error)

    return method


def is_closed(structure: Any) -> bool:
    """Whether the store of a structure is closed."""
    return structure._runner._core.handle is ffi.NULL


def closed_of(structure: Any) -> Invalid:
    """The error of a structure whose store is closed."""
    return closed(structure._opened.noun, structure._opened.name)


def started(build: Callable[Concatenate[Any, P], Plan[T]]
            ) -> Callable[Concatenate[Any, P], "Result[T]"]:
    @shows(build, "Result[{}]")
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> "Result[T]":
        result: "Result[T]" = self._runner._start(planned(build, self, args, kwargs))
        return result

    return method


def awaited(build: Callable[Concatenate[Any, P], Plan[T]]
            ) -> Callable[Concatenate[Any, P], "asyncio.Future[T]"]:
    @shows(build, "Awaitable[{}]")
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
        future: "asyncio.Future[T]" = self._runner._start(planned(build, self, args, kwargs))
        return future

    return method


def opens(opener: Callable[Concatenate[Any, P], Any], kind: Callable[[Any, Any], H]
          ) -> Callable[Concatenate[Any, P], H]:
    """A method that opens a structure, or finds it open, and wraps it for this way of running."""
    @shows(opener, kind.__name__)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> H:
        try:
            return kind(opener(self._core, *args, **kwargs), self)
        except REFUSALS as error:
            if isinstance(error, Invalid) and misfit_of(error) is None:
                name: Any = kwargs["name"] if "name" in kwargs else args[0]
                put_name(error, encode(name))
                raise
            raise located_opening(error, opener, self, args, kwargs) from error.__cause__

    return method


class Structure(Bound):
    """What all structures have, however their operations run."""

    #: Why a call raises NotFound, and the way out.
    _absent = ""

    def __init__(self, opened: Any, runner: Any) -> None:
        if not isinstance(opened, Opened):
            raise TypeError(f"do not call {type(self).__name__}(): open a structure with a method of a store, "
                            "such as store.table(name)")
        self._opened = opened
        self._runner = runner

    @property
    def name(self) -> bytes:
        """The name, as it was given to open."""
        name: bytes = self._opened.name
        return name

    def _with(self, handle: Any) -> Any:
        """The same structure with a handle that the close of the store leaves open: to give back a claim."""
        opened = self._opened
        return type(self)(Opened(handle, opened.noun, opened.name, opened.options, opened.kept), self._runner)

    def __repr__(self) -> str:
        return f"<mcds.{type(self).__name__} {brief(self.name)}>"


def keep_raised(kind: Any, error: BaseException, trace: Any) -> None:
    """For what a callback raises outside of its try: an interrupt. Its context keeps the error."""
    if trace is not None:
        ffi.from_handle(trace.tb_frame.f_locals["context"]).failed(error)


# Arguments.

#: What cffi raises for an argument that C cannot take; nothing was called then. After any other
#: exception, an interrupt for instance, an operation may have been started.
CONVERSION = (TypeError, ValueError, OverflowError)


def encode(data: Bytes) -> bytes:
    if type(data) is bytes:
        return data
    if isinstance(data, str):
        try:
            return str.encode(data)  # whatever the methods of a subclass return
        except UnicodeEncodeError as error:
            raise NotUnicode.error(data, error) from None
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(memoryview(data))
    raise NotBytes.error(data)


#: The largest element of a set, and the largest key of a table.
ELEMENT_MAX = 1024


def fits(data: object) -> TypeGuard[Bytes]:
    """Whether it can be an element or a key. What cannot be stored is absent, without a call."""
    if not isinstance(data, (bytes, bytearray, memoryview, str)):
        return False
    try:
        return 0 < len(encode(data)) <= ELEMENT_MAX
    except Invalid:
        return False


def encode_name(data: Bytes, name: str = "name") -> bytes:
    """The argument `name` goes to C as a string, which a NUL would end."""
    encoded = encode(data)
    if b"\0" in encoded:
        raise ValueError(Misfit(f"{name} must not have a NUL"))
    return encoded


from_buffer = ffi.from_buffer


def as_bytes(data: Bytes) -> Tuple[Any, int]:
    """An argument of type mcds_bytes."""
    encoded = encode(data)
    return (from_buffer(encoded), len(encoded))


def as_array(items: Iterable[Bytes], name: str) -> Tuple[Any, Any]:
    """An array of mcds_bytes with the elements of the argument `name`, and the bytes to which it points."""
    check_elements(items, name)
    pairs = [as_bytes(item) for item in items]
    return ffi.new("mcds_bytes[]", pairs), pairs


def no_span(span: object, name: str) -> TypeError:
    given = "None" if span is None else type(span).__name__
    return TypeError(Misfit(f"{name} must be a number of seconds or a timedelta, not {given}"))


def as_ms(span: Optional[Seconds], name: str, bits: int = 63) -> int:
    """Milliseconds of the argument `name`, of fewer than `bits` bits; 0 for None, which is C's default. A span is
    rounded to a whole millisecond, and is at least 1 unless it is 0: 0 has another meaning in C."""
    if span is None:
        return 0
    try:
        ms = span / MS if isinstance(span, datetime.timedelta) else span * 1000
        is_negative = ms < 0
    except TypeError:
        raise no_span(span, name) from None
    if is_negative:
        raise ValueError(Misfit(f"{name} must not be negative"))
    if ms != ms:
        raise ValueError(Misfit(f"{name} is not a number"))
    if ms > (1 << bits) - 1024:
        raise ValueError(Misfit(f"{name} is too long"))
    return max(1, round(ms)) if ms > 0 else 0


def as_required_ms(span: Seconds, name: str, bits: int = 63) -> int:
    """The same for a span that has no default."""
    if span is None:
        raise no_span(None, name)
    return as_ms(span, name, bits)


def as_short_ms(span: Optional[Seconds], name: str) -> int:
    """The same for an argument of type uint32_t: 49 days."""
    return as_ms(span, name, 32)


def as_option_ms(span: Optional[Seconds], name: str, bits: int = 63) -> int:
    """The same for an option for which 0 selects the default in C. A span of 0 is refused: it may be the
    rest of a time that has passed, and must not select a default of 15 seconds or of no end."""
    ms = as_ms(span, name, bits)
    if ms == 0 and span is not None:
        raise ValueError(Misfit(f"{name} must not be 0; None selects the default"))
    return ms


def as_short_option_ms(span: Optional[Seconds], name: str) -> int:
    """The same for an option of type uint32_t."""
    return as_option_ms(span, name, 32)


def as_time_ms(when: Optional[When], name: str) -> int:
    """Unix time in milliseconds; 0 for None, for which C takes now, or no bound. The time 0 itself is refused: it
    may be a time that is missing, and must not mean now."""
    ms = as_bound_ms(when, name)
    if ms == 0 and when is not None:
        raise ValueError(Misfit(f"{name} must be after 1970-01-01 00:00 UTC; without it, it is None"))
    return ms


def as_bound_ms(when: Optional[When], name: str) -> int:
    """The same for the time at which a range begins: nothing is earlier than the time 0."""
    if when is None:
        return 0
    if isinstance(when, datetime.datetime):
        if when.tzinfo is None:
            raise ValueError(Misfit(f"{name} must be a datetime with a time zone"))
        return round((when - EPOCH) / MS)  # as a number
    try:
        ms = when * 1000
        fits_in = -(1 << 62) < ms < 1 << 62
    except (TypeError, OverflowError):  # the latter of a timedelta
        raise TypeError(Misfit(f"{name} must be a datetime or a Unix time, "
                               f"not {type(when).__name__}")) from None
    if not fits_in:
        raise ValueError(Misfit(f"{name} is not a number, or is too far from 1970"))
    return round(ms)


def from_time_ms(ms: int) -> datetime.datetime:
    return EPOCH + ms * MS


# Results.

def take_none(code: int, out: Any) -> None:
    if code != 0:
        raise error_of(code)


def take_number(code: int, out: Any) -> int:
    if code != 0:
        raise error_of(code)
    number: int = out[0]
    return number


def take_flag(code: int, out: Any) -> bool:
    if code != 0:
        raise error_of(code)
    return bool(out[0])


NOT_FOUND: int = lib.MCDS_NOT_FOUND
EXISTS: int = lib.MCDS_EXISTS


def take_found(code: int, out: Any) -> bool:
    """False for "not found"."""
    if code == NOT_FOUND:
        return False
    if code != 0:
        raise error_of(code)
    return True


def take_new(code: int, out: Any) -> bool:
    """False for "already there"."""
    if code == EXISTS:
        return False
    if code != 0:
        raise error_of(code)
    return True


def new_value() -> Any:
    """A buffer that C fills. Python frees it."""
    return ffi.gc(ffi.new("mcds_value *"), lib.mcds_value_free)


def read_value(value: Any) -> bytes:
    return bytes(ffi.buffer(value.data, value.length)) if value.length > 0 else b""


def new_sized(kind: str) -> Any:
    """An output that begins with its size."""
    out = ffi.new(kind + " *")
    out.size = ffi.sizeof(kind)
    return out
