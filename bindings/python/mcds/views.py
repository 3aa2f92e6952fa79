"""Views of pages, kept in the program's database."""

from __future__ import annotations

import itertools
import re
import threading
import weakref
from typing import Any, Callable, Dict, Optional, Tuple

from ._binding import ffi, lib
from .arguments import Misfit, as_integer, check_function, misfit_of
from .core import Core, Opened
from .errors import Error, describe, error_of, locate
from .plan import (Bytes, Plan, Seconds, Structure, as_short_option_ms, awaited, closed_of, encode_name,
                   new_options, started, take_found, take_none, waiting)

#: What the library says of `load` or `save`: the number is that of Callback.failed.
FAILED = re.compile(r"the program's (load|save) callback has failed(: it returned -?\d+)?")
#: The cause of the error with this text.
FAILED_CAUSE = "CALLBACK_FAILED"
#: Ends a flush.
STOP: int = lib.MCDS_VIEWS_STOP
#: The largest number of an exception.
NUMBER_MAX = (1 << 31) - 1
#: How many exceptions are kept in addition to one for each call. In a flush, `save` may raise one for each of a
#: million pages.
SPARE = 1000

#: load(page, upto_slot): the sum of the views saved for the page up to and including that slot
Load = Callable[[bytes, int], int]
#: save(page, slot, views): the page had so many views in the slot; replaces a smaller number
Save = Callable[[bytes, int, int], None]


class Call:
    """A call that has begun and has not finished. It runs a function of the program."""


class Callback:
    """A function of the program, and the exceptions that it has raised. The callback of the library returns the number
    of the exception, and the call fails with this number. The number shows which exception belongs to which call,
    because one thread of a pipeline or an event loop runs several calls at once. After an interrupt the callback
    returns STOP, which ends a flush."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call
        self._calls: "weakref.WeakSet[Call]" = weakref.WeakSet()
        self._numbers = itertools.count()
        self._raised: Dict[int, BaseException] = {}
        #: Interrupts, each with the thread in which it was raised.
        self._ending: Dict[int, Tuple[int, BaseException]] = {}

    def begin(self) -> Call:
        self._forget()
        call = Call()
        self._calls.add(call)
        return call

    def end(self, call: Call) -> None:
        self._calls.discard(call)
        self._forget()

    def _forget(self) -> None:
        """If no call is left, forget the exceptions that no call has raised: a flush raises only that of the first
        page. Another thread may begin a call meanwhile."""
        raised, ending = list(self._raised), list(self._ending)
        if not self._calls:
            for number in raised:
                self._raised.pop(number, None)
            for number in ending:
                self._ending.pop(number, None)

    def failed(self, error: BaseException) -> int:
        """Keep the exception, and return the number that the callback returns."""
        number = next(self._numbers) % NUMBER_MAX + 1
        if len(self._raised) < len(self._calls) + SPARE:
            self._raised[number] = error
        return number

    def interrupted(self, error: BaseException) -> int:
        """Keep the interrupt, and return the number that the callback returns."""
        self._ending[next(self._numbers)] = threading.get_ident(), error
        return STOP

    def take(self, error: Error) -> Optional[BaseException]:
        """The exception that the function has raised in the call that has failed with this error."""
        if error.cause != FAILED_CAUSE:
            return None
        if error.found_number != STOP:
            return self._raised.pop(error.found_number, None)
        own = threading.get_ident()  # this thread has run the call, unless threads share a pipeline
        ending = sorted(list(self._ending.items()), key=lambda one: (one[1][0] != own, one[0]))
        taken = (self._ending.pop(number, None) for number, _ in ending)
        return next((one[1] for one in taken if one is not None), None)


class Callbacks:
    def __init__(self, core: Core, load: Load, save: Save) -> None:
        self._core = weakref.ref(core)  # which keeps this object
        self.load = Callback(load)
        self.save = Callback(save)

    def are_closed(self) -> bool:
        """Whether the store is closed: then neither function is called, and C makes no further request."""
        core = self._core()
        return core is not None and core.handle is ffi.NULL


def keep_interrupt(kind: Any, error: BaseException, trace: Any) -> None:
    """As keep_raised, for the function that has begun."""
    if trace is not None:
        frame = trace.tb_frame
        callbacks: Callbacks = ffi.from_handle(frame.f_locals["context"])
        (callbacks.save if frame.f_code.co_name == "mcds_py_save" else callbacks.load).interrupted(error)


def as_views(returned: int) -> int:
    """The sum that load has returned."""
    views = as_integer(returned, "load", "must return")
    if not 0 <= views < 1 << 63:
        raise ValueError(Misfit(f"load must return 0 to {(1 << 63) - 1}, not {views}"))
    return views


def explain(error: Error, function: str, raised: Exception) -> Error:
    """Put into the Io of a function of the program what it has raised, or what it must return. The library says
    which pages are not saved."""
    said = str(misfit_of(raised) or f"{function} has raised {describe(raised)}")
    locate(error, error.noun, error.name, error.verb, FAILED.sub(lambda _: said, error.reason))
    return error


@ffi.def_extern(error=STOP, onerror=keep_interrupt)  # type: ignore[misc]
def mcds_py_load(context: Any, page: Any, upto_slot: int, views_out: Any) -> int:
    callbacks: Callbacks = ffi.from_handle(context)
    if callbacks.are_closed():
        return STOP
    load = callbacks.load
    try:
        views_out[0] = as_views(load.call(ffi.string(page), upto_slot))
    except BaseException as error:
        return load.failed(error) if isinstance(error, Exception) else load.interrupted(error)
    return STOP if callbacks.are_closed() else 0


@ffi.def_extern(error=STOP, onerror=keep_interrupt)  # type: ignore[misc]
def mcds_py_save(context: Any, page: Any, slot: int, views: int) -> int:
    callbacks: Callbacks = ffi.from_handle(context)
    if callbacks.are_closed():
        return STOP
    save = callbacks.save
    try:
        save.call(ffi.string(page), slot, views)
    except BaseException as error:
        return save.failed(error) if isinstance(error, Exception) else save.interrupted(error)
    return 0


def open_views(core: Core, name: Bytes, load: Load, save: Save, *,
               flush: Optional[Seconds] = None) -> Opened:
    """The number of views of each page, counted per interval of `flush` seconds.

    What `load` raises is the cause of the Io of get, and its message names it. If `save` raises an exception for a page, flush
    saves the other pages, leaves this one to the next flush, and then raises Io, whose cause is the
    first of these exceptions. If `save` raises KeyboardInterrupt, or another exception that is no
    Exception, the flush saves no other page and raises it.

    >>> saved = {}
    >>> def load(page, upto_slot):
    ...     return sum(n for (p, slot), n in saved.items() if p == page and slot <= upto_slot)
    >>> def save(page, slot, views):
    ...     saved[page, slot] = max(views, saved.get((page, slot), 0))
    >>> views = s.views("site", load, save)
    >>> views.hit("/home", 3)
    >>> views.get("/home")
    3
    >>> views.flush_final()
    >>> sum(saved.values())
    3
    """
    check_function(load, "load")
    check_function(save, "save")
    callbacks = Callbacks(core, load, save)
    context = ffi.new_handle(callbacks)
    flush_ms = as_short_option_ms(flush, "flush")
    options = new_options("mcds_views_options", flush_ms=flush_ms, load=lib.mcds_py_load,
                          save=lib.mcds_py_save, context=context)
    return core.open("views", encode_name(name), options, (load, save, flush_ms),
                     (callbacks, context))


class ViewsPlans(Structure):
    def _plan(self, call: Any, start: Any, function: str, *arguments: Any, out: Any = None) -> Plan[Any]:
        """The plan of a call that runs `load` or `save`."""
        kept = self._opened.kept  # C calls with its handle until the operation has finished
        callbacks: Callbacks = kept[0]
        callback: Callback = getattr(callbacks, function)
        own = callback.begin()

        def take(code: int, out: Any) -> Any:
            error: Optional[Error] = None
            raised: Optional[BaseException] = None
            try:
                if code == 0:
                    return None if out is None else out[0]
                error = error_of(code)
                raised = callback.take(error)
                if raised is None:
                    raise self._unexplained(error, callbacks)
                if not isinstance(raised, Exception):  # an interrupt
                    raise raised
                raise explain(error, function, raised) from raised
            finally:
                callback.end(own)
                del error, raised  # their tracebacks refer to this frame

        return Plan(call, start, (self._opened.handle, *arguments), take, out)

    def _unexplained(self, error: Error, callbacks: Callbacks) -> Error:
        """The failure of a call in which the function has raised nothing."""
        is_closed = error.cause == FAILED_CAUSE and error.found_number == STOP and callbacks.are_closed()
        return closed_of(self) if is_closed else error

    def _hit(self, page: Bytes, n: int = 1) -> Plan[None]:
        """Count n views of a page. Ambiguous: counted once or not at all."""
        return Plan(lib.mcds_views_hit, lib.mcds_views_hit_start,
                    (self._opened.handle, encode_name(page, "page"), as_integer(n, "n")), take_none)

    def _get(self, page: Bytes) -> Plan[int]:
        """The total number of views of a page."""
        out = ffi.new("int64_t *")
        return self._plan(lib.mcds_views_get, lib.mcds_views_get_start, "load",
                          encode_name(page, "page"), out, out=out)

    def _flush(self) -> Plan[None]:
        """Save the intervals that have ended."""
        return self._plan(lib.mcds_views_flush, lib.mcds_views_flush_start, "save")

    def _flush_final(self) -> Plan[None]:
        """Save the current interval too, before the program ends."""
        return self._plan(lib.mcds_views_flush_final, lib.mcds_views_flush_final_start,
                          "save")

    def _drop(self) -> Plan[bool]:
        """Erase what the store holds. False: it held nothing."""
        return Plan(lib.mcds_views_drop, lib.mcds_views_drop_start, (self._opened.handle,),
                    take_found)


class Views(ViewsPlans):
    """The number of views of each page."""

    hit = waiting(ViewsPlans._hit)
    get = waiting(ViewsPlans._get)
    flush = waiting(ViewsPlans._flush)
    flush_final = waiting(ViewsPlans._flush_final)
    drop = waiting(ViewsPlans._drop)


class PipelineViews(ViewsPlans):
    """Views in a pipeline."""

    hit = started(ViewsPlans._hit)
    get = started(ViewsPlans._get)
    flush = started(ViewsPlans._flush)
    flush_final = started(ViewsPlans._flush_final)
    drop = started(ViewsPlans._drop)


class AioViews(ViewsPlans):
    """Views whose operations are awaited; load and save run in the loop's thread."""

    hit = awaited(ViewsPlans._hit)
    get = awaited(ViewsPlans._get)
    flush = awaited(ViewsPlans._flush)
    flush_final = awaited(ViewsPlans._flush_final)
    drop = awaited(ViewsPlans._drop)
