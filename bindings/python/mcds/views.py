"""Views of pages, kept in the program's database."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, Optional

from ._binding import ffi, lib
from .arguments import as_integer, check_function
from .core import Core, Opened
from .errors import error_of
from .plan import (Bytes, Plan, Seconds, Structure, as_short_option_ms, awaited, encode_name, new_options,
                   started, take_found, take_none, waiting)

#: Ends a flush.
STOP: int = lib.MCDS_VIEWS_STOP

#: load(page, upto_slot): the sum of the views saved for the page up to and including that slot
Load = Callable[[bytes, int], int]
#: save(page, slot, views): the page had so many views in the slot; replaces a smaller number
Save = Callable[[bytes, int, int], None]


class Callback:
    """A function of the program, and what it has raised in each thread: the first exception, or an
    interrupt."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call
        self.raised: Dict[int, BaseException] = {}

    def failed(self, error: BaseException) -> int:
        if isinstance(error, Exception):
            self.raised.setdefault(threading.get_ident(), error)
            return 1
        self.raised[threading.get_ident()] = error
        return STOP

    def take(self) -> Optional[BaseException]:
        return self.raised.pop(threading.get_ident(), None)


class Callbacks:
    def __init__(self, load: Load, save: Save) -> None:
        self.load = Callback(load)
        self.save = Callback(save)


def keep_interrupt(kind: Any, error: BaseException, trace: Any) -> None:
    """As keep_raised, for the function that has begun."""
    if trace is not None:
        frame = trace.tb_frame
        callbacks: Callbacks = ffi.from_handle(frame.f_locals["context"])
        (callbacks.save if frame.f_code.co_name == "mcds_py_save" else callbacks.load).failed(error)


@ffi.def_extern(error=STOP, onerror=keep_interrupt)  # type: ignore[misc]
def mcds_py_load(context: Any, page: Any, upto_slot: int, views_out: Any) -> int:
    load: Callback = ffi.from_handle(context).load
    try:
        views_out[0] = as_integer(load.call(ffi.string(page), upto_slot), "load", "must return")
    except BaseException as error:
        return load.failed(error)
    return 0


@ffi.def_extern(error=STOP, onerror=keep_interrupt)  # type: ignore[misc]
def mcds_py_save(context: Any, page: Any, slot: int, views: int) -> int:
    save: Callback = ffi.from_handle(context).save
    try:
        save.call(ffi.string(page), slot, views)
    except BaseException as error:
        return save.failed(error)
    return 0


def open_views(core: Core, name: Bytes, load: Load, save: Save, *,
               flush: Optional[Seconds] = None) -> Opened:
    """The number of views of each page, counted per interval of `flush` seconds.

    What `load` raises is the cause of the Io of get. If `save` raises an exception for a page, flush
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
    callbacks = Callbacks(load, save)
    context = ffi.new_handle(callbacks)
    flush_ms = as_short_option_ms(flush, "flush")
    options = new_options("mcds_views_options", flush_ms=flush_ms, load=lib.mcds_py_load,
                          save=lib.mcds_py_save, context=context)
    return core.open("views", encode_name(name), options, (load, save, flush_ms),
                     (callbacks, context))


class ViewsPlans(Structure):
    def _plan(self, call: Any, start: Any, callback: str, *arguments: Any, out: Any = None) -> Plan[Any]:
        """The plan of a call that runs `load` or `save`."""
        kept = self._opened.kept  # C calls with its handle until the operation has finished

        def take(code: int, out: Any) -> Any:
            raised: Optional[BaseException] = getattr(kept[0], callback).take()
            try:
                if code != 0 and raised is not None and not isinstance(raised, Exception):
                    raise raised  # an interrupt
                if code != 0:
                    raise error_of(code) from raised
            finally:
                del raised  # its traceback refers to this frame
            return None if out is None else out[0]

        return Plan(call, start, (self._opened.handle, *arguments), take, out)

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
