"""One exception for each result that is no answer, with the parts of the library's sentence."""

from __future__ import annotations

import copy
import re
from typing import Any, Dict, List, Type

from ._binding import ffi, lib
from .wording import OPTIONS, to_python


def text(pointer: object) -> str:
    """A C string. Names may be any bytes."""
    return "" if pointer == ffi.NULL else str(ffi.string(pointer).decode(errors="backslashreplace"))


class Error(Exception):
    """A call has failed. Nothing was changed, unless the class says otherwise.

    The attributes are the members of ``mcds_last_error()``; what is unknown is "" or 0. Times in texts
    are in seconds, and times in numbers in milliseconds.

    >>> try:
    ...     mcds.open("nowhere:")
    ... except mcds.Error as error:
    ...     print(type(error).__name__, error.cause, error.option)
    Invalid BAD_URI uri
    """

    result = 0  #: the result code of C
    cause = ""  #: "HELD", "CONNECTION_REFUSED", ...: MCDS_CAUSE_ of C without this prefix
    os_error = 0  #: errno, or 0
    noun = ""  #: "counter", "lock", ...
    name = ""  #: of the structure
    verb = ""  #: "add", ...
    option = ""  #: the argument concerned
    wanted = ""  #: what is allowed, or what the handle was opened with
    found = ""  #: what was given, or what the structure was made with
    wanted_min = 0
    wanted_max = 0
    found_number = 0
    peer = ""  #: the server or file
    reason = ""  #: the cause in one clause
    key = ""  #: of the value that cannot be read, on ``peer``

    _has_verb_of_c = False

    def __init__(self, message: str = "") -> None:
        super().__init__(message)

    @property
    def message(self) -> str:
        """The whole message, which `str()` and `repr()` contain too."""
        return str(self.args[0])

    @message.setter
    def message(self, message: str) -> None:
        self.args = (message,)

    def __str__(self) -> str:
        return self.message


class NotFound(Error, KeyError):
    """No such key."""


class Exists(Error):
    """It is there already."""


class Busy(Error):
    """Held by another, or changed by others until the timeout; not applied, and may be repeated."""


class TooOld(Error, ValueError):
    """Earlier than is accepted."""


class TooFuture(Error, ValueError):
    """Later than is accepted."""


class Ambiguous(Error):
    """The change may have been applied, or may still be, for instance because its reply was lost."""


class Lost(Error):
    """Something that must exist is gone or was made again."""


class Timeout(Error, TimeoutError):
    """The deadline has passed; not applied."""


class Unavailable(Error, ConnectionError):
    """The store cannot be reached; not applied."""


class Expired(Error):
    """The lease is over."""


class Invalid(Error, ValueError):
    """An argument is out of its range, or the structure was made with other options."""


class TooBig(Error, ValueError):
    """Larger than the store accepts."""


class NoMemory(Error, MemoryError):
    """This process is out of memory."""


class Full(Error):
    """The store is out of memory or of disk."""


class Corrupt(Error):
    """A key holds something that mcds did not write, or the value of an incr is not a number."""


class Unsupported(Error):
    """This store cannot do it."""


class Protocol(Error):
    """The other side does not speak memcached's protocol."""


class Overflow(Error, OverflowError):
    """The number leaves its range."""


class Io(Error, OSError):
    """The store refused for another reason; the message has it."""


KINDS: Dict[int, Type[Error]] = {
    lib.MCDS_NOT_FOUND: NotFound,
    lib.MCDS_EXISTS: Exists,
    lib.MCDS_BUSY: Busy,
    lib.MCDS_TOO_OLD: TooOld,
    lib.MCDS_TOO_FUTURE: TooFuture,
    lib.MCDS_AMBIGUOUS: Ambiguous,
    lib.MCDS_LOST: Lost,
    lib.MCDS_TIMEOUT: Timeout,
    lib.MCDS_UNAVAILABLE: Unavailable,
    lib.MCDS_EXPIRED: Expired,
    lib.MCDS_INVALID: Invalid,
    lib.MCDS_TOO_BIG: TooBig,
    lib.MCDS_NO_MEMORY: NoMemory,
    lib.MCDS_FULL: Full,
    lib.MCDS_CORRUPT: Corrupt,
    lib.MCDS_UNSUPPORTED: Unsupported,
    lib.MCDS_PROTOCOL: Protocol,
    lib.MCDS_OVERFLOW: Overflow,
    lib.MCDS_IO: Io,
}
#: The answers that have several causes.
EXPLAINED = (lib.MCDS_BUSY, lib.MCDS_TOO_OLD, lib.MCDS_TOO_FUTURE)
TEXTS = ("noun", "name", "verb", "option", "wanted", "found", "peer", "reason", "key")
NUMBERS = ("os_error", "wanted_min", "wanted_max", "found_number")


def speak_python(error: Error) -> None:
    """Put the names and units of Python into an error. Without name and option, the store is closed."""
    reason = to_python(error.reason)
    if error.cause == "ARGUMENT_MISSING" and not error.name and not error.option:
        reason = "the store is closed"
    change_reason(error, reason)
    if error.option in OPTIONS:
        error.option = OPTIONS[error.option]
        found = re.match(f"{error.option} must be (.*), not (.*)", reason)
        if found is not None:
            error.wanted, error.found = found.groups()


def error_of(code: int) -> Error:
    """The exception for a result of the call that this thread has just made.

    Negative results, BUSY, TOO_OLD and TOO_FUTURE leave a sentence; the other answers explain
    themselves.
    """
    error = KINDS.get(code, Error)(text(lib.mcds_strerror(code)))
    error.result = code
    last = lib.mcds_last_error()
    if (code < 0 or code in EXPLAINED) and last.result == code:
        error.message = text(lib.mcds_errmsg())
        error.cause = text(lib.mcds_cause_name(last.cause))[len("MCDS_CAUSE_"):]
        for name in TEXTS:
            setattr(error, name, text(getattr(last, name)))
        for name in NUMBERS:
            setattr(error, name, int(getattr(last, name)))
        speak_python(error)
        error._has_verb_of_c = error.verb != ""
    return error


def name_method(error: Error, method: str) -> Error:
    """Put the method that was called in place of the verb of the library. An error that another call has raised
    in a function of the program has its method already."""
    if error._has_verb_of_c:
        del error._has_verb_of_c
        where, _, peer = error.message.removesuffix(error.reason).rpartition(f": {error.verb}: ")
        error.message = f"{where}: {method}: {peer}{error.reason}"
        error.verb = method
    return error


def change_reason(error: Error, reason: str) -> None:
    """Put another reason into an error."""
    error.message = error.message.removesuffix(error.reason) + reason
    error.reason = reason


def shown_name(name: bytes) -> str:
    return name.decode(errors="backslashreplace")


def message_of(noun: str, name: str, verb: str, reason: str) -> str:
    """A message in the form of the library."""
    shown = "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in name)
    where = f"{noun} '{shown}'" if name else noun
    return f"{where}: {verb}: {reason}" if verb else f"{where}: {reason}"


def locate(error: Error, noun: str, name: str, verb: str, reason: str) -> None:
    """Put into an error where it has happened, and its message."""
    error.noun, error.name, error.verb, error.reason = noun, name, verb, reason
    error.message = message_of(noun, name, verb, reason)


def closed(noun: str = "", name: bytes = b"") -> Invalid:
    """The error of a structure whose store is closed, or without a noun of the store."""
    error = Invalid(reason := "the store is closed")
    error.result, error.cause, error.reason = lib.MCDS_INVALID, "ARGUMENT_MISSING", reason
    if noun:
        locate(error, noun, shown_name(name), "", reason)
    return error


def of_another(opened: Any, verb: str, thing: str, name: bytes) -> Invalid:
    """The error for a job that belongs to a structure of another name."""
    error = Invalid()
    error.result, error.cause = lib.MCDS_INVALID, "BAD_LEASE"
    locate(error, opened.noun, shown_name(opened.name), verb,
           f"the {thing} belongs to {opened.noun} '{shown_name(name)}'; pass it to a call on that {opened.noun}")
    return error


def needing(opened: Any, verb: str, wanted: str) -> Invalid:
    """The error of a call that lacks something, in the form of the library."""
    error = Invalid()
    error.result, error.cause, error.wanted = lib.MCDS_INVALID, "ARGUMENT_MISSING", wanted
    locate(error, opened.noun, shown_name(opened.name), verb, f"needs {wanted}")
    return error


def forked(noun: str, name: bytes) -> Invalid:
    """The error of a structure that a parent process has opened."""
    error = Invalid()
    error.result, error.cause = lib.MCDS_INVALID, "FORKED"
    locate(error, noun, shown_name(name), "", "opened before fork; open the store again in the child")
    return error


def brief(data: object) -> str:
    """The repr of a value, at most 60 characters."""
    shown = repr(data)
    return shown if len(shown) <= 60 else f"{shown[:56]}..."


def describe(error: BaseException) -> str:
    """An exception of the program in a message. UTF-8 can encode it."""
    return f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()


def absent(opened: Any, verb: str, reason: str) -> NotFound:
    """The error for a key or element that a structure does not have."""
    error = NotFound()
    error.result = lib.MCDS_NOT_FOUND
    locate(error, opened.noun, shown_name(opened.name), verb, reason)
    return error


def check(code: int, method: str = "") -> None:
    """Raise unless the call has succeeded. `method`: of Python, if the library has another name for it."""
    if code != 0:
        raise name_method(error_of(code), method) if method else error_of(code)


def again(error: Error) -> Error:
    """A failure that is kept and raised each time it is asked for, without the tracebacks of before: a
    traceback refers to the frames, and a frame to the object that keeps the failure."""
    fresh = copy.copy(error)
    fresh.__cause__ = error.__cause__
    return fresh


def note(error: BaseException, others: List[Error]) -> None:
    """Attach further failures of the same call, with their notes. A traceback shows them from Python 3.11 on."""
    for other in others:
        error.__dict__.setdefault("__notes__", []).extend([f"also {type(other).__name__}: {other}",
                                                           *vars(other).get("__notes__", ())])
