"""Names an argument that C cannot take, and says what it must be.

Only a failed call looks for them. So a call that succeeds costs nothing more.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, SupportsIndex, Tuple

from ._binding import ffi, lib
from .errors import Invalid, locate, message_of, shown_name, text
from .handle import new_place
from .helping import name_of, with_method
from .wording import OPTIONS

#: Types of C that do not hold integers.
OTHERS = ("_Bool", "char", "float", "double")

#: A value with its name and its type of C.
Typed = Tuple[str, Any, Any]


class Misfit(str):
    """What an argument must be: the message of a TypeError or a ValueError, before the structure is known."""

    def reason(self, called: Callable[..., Any], *given: Any) -> str:
        """What is wrong, with the name of the argument if it can be found."""
        return self

    def located(self, error: Exception, noun: str, name: str, verb: str, reason: str) -> Exception:
        """The error with the place in its message."""
        return type(error)(message_of(noun, name, verb, reason))


class NoData(Misfit):
    """What is wrong with an argument that is not encoded."""

    data: object
    must_be = "must be"
    must_have = "must have"

    @classmethod
    def of(cls, reason: str, data: object) -> "NoData":
        said = cls(reason)
        said.data = data
        return said

    def reason(self, called: Callable[..., Any], *given: Any) -> str:
        """Names the argument that is `data`, or the list that has it. `given`: the first argument of the call,
        a tuple of the other ones, and a dict of those that were passed by name."""
        if len(given) < 3:
            return self
        arguments = inspect.signature(called).bind(given[0], *given[1], **given[2]).arguments
        for name, one in arguments.items():
            if one is self.data:
                return f"{name} {self.must_be} {self}"
            if isinstance(one, (list, tuple)) and any(item is self.data for item in one):
                return f"{name} {self.must_have} {self}"
        return self


class NotBytes(NoData):
    """The message of a TypeError for a value that is neither bytes nor str."""

    @classmethod
    def error(cls, data: object) -> TypeError:
        return TypeError(cls.of(f"bytes or str, not {type(data).__name__}", data))


class NotUnicode(NoData):
    """The message of an Invalid for a str that UTF-8 cannot encode."""

    must_be = "has"
    must_have = "has an element with"

    @classmethod
    def error(cls, data: object, error: UnicodeEncodeError) -> Invalid:
        return Invalid(cls.of(f"the lone surrogate U+{ord(error.object[error.start]):04X}, which UTF-8 cannot "
                              "encode; pass bytes", data))

    def located(self, error: Exception, noun: str, name: str, verb: str, reason: str) -> Exception:
        refusal = Invalid()
        refusal.result, refusal.cause = lib.MCDS_INVALID, "BAD_BYTE"
        locate(refusal, noun, name, verb, reason)
        return refusal


def misfit_of(error: Exception) -> Optional[Misfit]:
    """The message of an error about an argument. None: the error has another cause."""
    said = error.args[0] if error.args else None
    return said if isinstance(said, Misfit) else None


def located(error: Exception, build: Callable[..., Any], structure: Any, *given: Any) -> Exception:
    """The error with the structure, the method `build`, and the argument in its message."""
    said = misfit_of(error)
    if said is not None:
        opened = structure._opened
        return said.located(error, opened.noun, shown_name(opened.name), name_of(build),
                            said.reason(build, structure, *given))
    return with_method(error, type(structure), build) if isinstance(error, TypeError) else error


def is_integer(value: object) -> bool:
    """Whether operator.index() accepts the value. __int__ is not used: it discards the fraction of a Decimal."""
    return hasattr(type(value), "__index__")


def as_integer(value: SupportsIndex, name: str, must: str = "must be") -> int:
    """The argument `name`, an integer. cffi would accept the result of __int__ too."""
    if isinstance(value, int):
        return value
    if not is_integer(value):
        raise TypeError(Misfit(f"{name} {must} an integer, not {type(value).__name__}"))
    return operator.index(value)


def check_elements(elements: object, name: str, must: str = "must be") -> None:
    """Refuse the argument `name` if it is not iterable, or if it is one str or bytes. The elements of these
    are letters or numbers, which no caller means."""
    is_text = isinstance(elements, (str, bytes, bytearray, memoryview))
    if is_text or not (hasattr(type(elements), "__iter__") or hasattr(type(elements), "__getitem__")):
        raise TypeError(Misfit(f"{name} {must} several bytes or str, such as a list of them, "
                               f"not {'one ' if is_text else ''}{type(elements).__name__}"))


def located_opening(error: Exception, opener: Callable[..., Any], runner: Any, args: Tuple[Any, ...],
                    kwargs: Mapping[str, Any]) -> Exception:
    """The error of a call that opens a structure. Its message names the structure, unless the name is the bad
    argument."""
    said = misfit_of(error)
    if said is None:
        return with_method(error, type(runner), opener) if isinstance(error, TypeError) else error
    reason = said.reason(opener, runner._core, args, kwargs)
    name = kwargs["name"] if "name" in kwargs else args[0]
    noun = opener.__name__.removeprefix("open_")
    if not hasattr(lib, f"mcds_{noun}_open"):  # a form of a structure: its module has the noun
        noun = opener.__module__.rpartition(".")[2]
    if not isinstance(name, (str, bytes, bytearray, memoryview)):
        return said.located(error, noun, "", "", reason)
    encoded = name.encode(errors="backslashreplace") if isinstance(name, str) else bytes(name)
    return said.located(error, noun, shown_name(encoded), "", reason)


def of_noun(error: Exception, noun: str, verb: str = "") -> Exception:
    """The error with the noun in its message: for a store, and for objects that have no name."""
    said = misfit_of(error)
    return error if said is None else said.located(error, noun, "", verb, said)


def check_function(function: object, name: str) -> None:
    """Refuse the argument `name` if it is not a function, before the call that would run it."""
    if not callable(function):
        raise TypeError(Misfit(f"{name} must be a function, not {type(function).__name__}"))


def check_awaitable(returned: object, function: str) -> None:
    """Refuse the result of a function that an event loop runs, if it cannot be awaited."""
    if not inspect.isawaitable(returned):
        raise TypeError(Misfit(f"{function} must return an awaitable, not {type(returned).__name__}"))


def check_type(value: object, kind: type, name: str) -> None:
    """Refuse the argument `name` if it is not an object of the class `kind`."""
    if not isinstance(value, kind):
        raise TypeError(Misfit(f"{name} must be a {kind.__name__.removesuffix('Base')}, "
                               f"not {type(value).__name__}"))


class Outside(NamedTuple):
    """An argument outside of the range of its type."""

    option: str
    low: int
    high: int
    value: int
    wanted: str

    def refusal(self, noun: str, verb: str = "") -> Invalid:
        error = Invalid()
        error.result, error.cause = lib.MCDS_INVALID, "OUT_OF_RANGE"
        error.option = OPTIONS.get(self.option, self.option)
        error.wanted, error.found = self.wanted, str(self.value)
        error.wanted_min, error.wanted_max, error.found_number = self.low, self.high, self.value
        locate(error, noun, "", verb, f"{error.option} must be {error.wanted}, not {error.found}")
        return error


def range_of(kind: Any) -> Optional[Tuple[int, int]]:
    """The least and the largest integer of a type. None: the type does not hold integers."""
    if kind.kind not in ("primitive", "enum") or kind.cname in OTHERS:
        return None
    bits = 8 * ffi.sizeof(kind)
    if int(ffi.cast(kind, -1)) < 0:
        return -(1 << bits - 1), (1 << bits - 1) - 1
    return 0, (1 << bits) - 1


def leaves(name: str, kind: Any, value: Any) -> Iterator[Typed]:
    """The value, or each value inside an array or a struct."""
    if kind.kind == "array" and isinstance(value, (list, tuple)):
        for one in value:
            yield from leaves(name, kind.item, one)
    elif kind.kind == "struct" and isinstance(value, dict):
        types = dict(kind.fields)
        for member, one in value.items():
            yield from leaves(member, types[member].type, one)
    elif kind.kind == "struct" and isinstance(value, tuple):
        for (member, field), one in zip(kind.fields, value):
            yield from leaves(member, field.type, one)
    else:
        yield name, kind, value


def outside(values: Iterable[Typed]) -> Optional[Outside]:
    """The first number that does not fit its type."""
    for name, kind, value in (leaf for one in values for leaf in leaves(*one)):
        span = range_of(kind)
        if span is not None and is_integer(value) and not span[0] <= operator.index(value) <= span[1]:
            return Outside(name, *span, operator.index(value), f"{span[0]} to {span[1]}")
    return None


def fitting(kind: Any, value: Any) -> Any:
    """The value, with each number that does not fit its type replaced by an end of the range of the type. For
    a type without a sign this is the largest number, because 0 often selects a default."""
    if kind.kind == "array" and isinstance(value, (list, tuple)):
        return [fitting(kind.item, one) for one in value]
    if kind.kind == "struct" and isinstance(value, dict):
        types = dict(kind.fields)
        return {member: fitting(types[member].type, one) for member, one in value.items()}
    if kind.kind == "struct" and isinstance(value, tuple):
        return tuple(fitting(field.type, one) for (_, field), one in zip(kind.fields, value))
    span = range_of(kind)
    if span is None or not is_integer(value) or span[0] <= operator.index(value) <= span[1]:
        return value
    return span[0] if operator.index(value) < span[0] < 0 else span[1]


def calls_back(options: Any) -> bool:
    """Whether the options have a function that C calls."""
    return options is not None and any(
        field.type.kind == "pointer" and field.type.item.kind == "function"
        for _, field in ffi.typeof(options).item.fields)


def narrowed(found: Outside, noun: str, options: Any, call: Any = None,
             arguments: Tuple[Any, ...] = ()) -> Outside:
    """`found` with the range that the library accepts, if it is narrower than the range of the type.

    The call is made on an empty store in memory, with numbers that fit their types. Its refusal has the
    range. So the caller's store is not changed.
    """
    if calls_back(options):
        return found
    given = ffi.NULL if options is None else options
    store, place = new_place("store"), new_place(noun)
    code = lib.mcds_open(b"memory:", ffi.NULL, store)
    if code == 0 and noun == "pipeline":
        code = lib.mcds_pipeline_open(store[0], given, place)
    elif code == 0:
        code = getattr(lib, f"mcds_{noun}_open")(store[0], b"x", given, place)
    if code == 0 and call is not None:
        code = call(place[0], *map(fitting, ffi.typeof(call).args[1:], arguments[1:]))
    last = lib.mcds_last_error()
    if (code, last.cause, text(last.option)) != (lib.MCDS_INVALID, lib.MCDS_CAUSE_OUT_OF_RANGE, found.option):
        return found
    return found._replace(low=int(last.wanted_min), high=int(last.wanted_max), wanted=text(last.wanted))
