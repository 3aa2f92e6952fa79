"""An open store of C, and the structures that are open on it."""

from __future__ import annotations

import collections
import os
import threading
import time
import weakref
from typing import Any, Callable, Hashable, List, NoReturn, Optional, Set, Tuple

from ._binding import ffi, lib
from .block import surely
from .errors import Error, Invalid, check, closed, forked, note
from .handle import handle_in, new_place
from .helping import name_methods

#: Handles of structures that are kept open, so that `store.counter("a")` is cheap the second time
#: and a handle's first call, which looks for more, is made once.
KEPT = 1024


class Bound:
    """A base of objects that cannot leave the process that has opened their store."""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name_methods(cls)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"{self!r} cannot be copied or pickled: it belongs to a store that this process "
                        "has opened; another process must open the store itself")


class Opened:
    """A handle of C. It is closed when nothing refers to it, so never during a call."""

    __slots__ = ("handle", "noun", "name", "options", "kept", "process", "__weakref__")

    def __init__(self, handle: Any, noun: str, name: bytes, options: Any = None, kept: Any = None) -> None:
        self.handle = handle
        self.noun = noun
        self.name = name
        self.options = options
        self.kept = kept
        self.process = os.getpid()

    def check_process(self) -> None:
        """Raise Invalid in a child of the process that has opened it. For what C answers without the store."""
        if self.process != os.getpid():
            raise forked(self.noun, self.name)

    def close(self) -> None:
        """Let go of the handle. Calls then raise Invalid, with the name."""
        vars(Opened)["handle"].__set__(self, ffi.NULL)  # also where another thread closes it
        self.__class__ = Closed  # so a call on an open structure has no check


class Closed(Opened):
    """What an Opened is after its store is closed."""

    __slots__ = ()

    @property
    def handle(self) -> NoReturn:
        raise closed(self.noun, self.name)


class Core:
    """The handle of a store. Any thread may use it."""

    def __init__(self, uri: bytes, options: Any) -> None:
        place = new_place("store")
        check(lib.mcds_open(uri, options, place))
        self.handle = handle_in(place)
        self.process = os.getpid()
        #: The longest time that close() waits for threads.
        self.patience_ms: int = options.timeout_ms or 1000
        self._lock = threading.Lock()  # acquired only after `check_process`, like each lock of this package
        self._opened: "collections.OrderedDict[Hashable, Opened]" = collections.OrderedDict()
        self._adopted: "weakref.WeakSet[Opened]" = weakref.WeakSet()
        self.pipelines: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self.scans: "weakref.WeakSet[Any]" = weakref.WeakSet()  #: that run in threads
        self.visits: "Set[weakref.ref[Any]]" = set()  #: of scans that run in the threads of their callers
        self.resting: Set[Any] = set()  #: elements that iterations have read and not yet returned
        self._exact: List[Opened] = []
        self._at_close: List[Callable[[], None]] = []

    def is_of_parent(self) -> bool:
        """Whether a parent process has opened the store. Then another thread of the parent may have held a lock at
        the fork, and nothing releases the lock in this process."""
        return self.process != os.getpid()

    def check_process(self, noun: str, name: bytes) -> None:
        """Raise Invalid in a child of the process that has opened the store."""
        if self.is_of_parent():
            raise forked(noun, name)

    def open(self, noun: str, name: bytes, options: Any, key: Tuple[Hashable, ...],
             kept: Any = None) -> Opened:
        """The structure with this name and these options; opens it if it is not open yet."""
        whole = (noun, name, *key)
        self.check_process(noun, name)
        with self._lock:
            opened = self._opened.get(whole)
            if opened is not None:
                self._opened.move_to_end(whole)
                return opened
            if self.handle is ffi.NULL:
                raise closed(noun, name)
            place = new_place(noun)
            check(getattr(lib, f"mcds_{noun}_open")(self.handle, name, options, place))
            opened = Opened(handle_in(place), noun, name, options, kept)
            # An interrupt may come between these lines: close() must know each counter in use.
            if noun == "counter" and (options.flags & lib.MCDS_COUNTER_EXACT or options.copies > 1):
                self._exact.append(opened)
            self._opened[whole] = opened
            if len(self._opened) > KEPT:
                self._adopted.add(next(iter(self._opened.values())))
                self._opened.popitem(last=False)
            return opened

    def forget(self, opened: Opened) -> None:
        """Keep this handle no more, so that the next open makes a new one: it reports a loss at each call."""
        if self.is_of_parent():
            return
        with self._lock:
            for key, one in self._opened.items():
                if one is opened:
                    del self._opened[key]
                    self._adopted.add(opened)
                    return

    def adopt(self, opened: Opened) -> Opened:
        """Close a handle that nobody else opens with the store."""
        self.check_process(opened.noun, opened.name)
        with self._lock:
            if self.handle is ffi.NULL:
                raise closed(opened.noun, opened.name)
            self._adopted.add(opened)
        return opened

    def end(self, users: "weakref.WeakSet[Any]", user: Any, noun: str, name: bytes) -> None:
        """Register a pipeline or a scan for close(), which ends it before it flushes exact counters: a flush waits
        for the operations of pipelines."""
        self.check_process(noun, name)
        with self._lock:
            if self.handle is ffi.NULL:
                raise closed(noun, name)
            users.add(user)

    def at_close(self, function: Callable[[], None]) -> None:
        self.check_process("store", b"")
        with self._lock:
            self._at_close.append(function)

    def close(self) -> None:
        """Write what exact counters hold, then let go of every handle. In a child of fork nothing is written."""
        failures: List[Error] = []
        try:
            self._end(failures)
        except BaseException as error:  # of a signal handler
            surely(lambda: self._end(failures))
            note(error, failures)
            raise
        if failures:
            note(failures[0], failures[1:])
            raise failures.pop(0)

    def close_after(self, error: Optional[BaseException]) -> None:
        """Close the store at the end of a with block. What the block has raised comes first."""
        try:
            self.close()
        except Error as failure:
            if error is None:
                raise
            note(error, [failure])

    def _end(self, failures: List[Error]) -> None:
        """Close everything. It is safe to repeat this after an interrupt, and in several threads."""
        is_of_parent = self.is_of_parent()
        if is_of_parent:
            self.handle = ffi.NULL
        else:
            with self._lock:
                self.handle = ffi.NULL
        for rest in [*self.resting]:
            rest.part.clear()
        for visit in [one() for one in [*self.visits]]:
            if visit is not None:
                visit.close()
        scans = [*self.scans]
        for function in [*self._at_close, *(one.close for one in [*self.pipelines, *scans])]:
            function()
        for counter in self._exact:
            try:
                handle = counter.handle
            except Invalid:  # it was flushed before an interrupt, or by another thread
                continue
            try:
                if handle != ffi.NULL and not is_of_parent:
                    check(lib.mcds_counter_flush(handle))
            except Error as error:
                failures.append(error.with_traceback(None))  # which refers to this frame
            counter.close()
        for opened in [*self._opened.values(), *self._adopted]:
            opened.close()
        until = time.monotonic() + self.patience_ms / 1000
        for scan in scans:
            scan.join(until)
        self._at_close.clear()
        self._exact.clear()
        self._opened.clear()
