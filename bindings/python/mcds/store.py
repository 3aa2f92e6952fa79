"""Stores."""

from __future__ import annotations

import dataclasses
import os
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, Optional, Tuple, Type, TypeVar, Union

from ._binding import ffi, lib
from .aio import Aio
from .arguments import of_noun
from .array import Array, open_array
from .cache import Cache, open_cache
from .core import Bound, Core
from .counter import Counter, SumCounter, open_counter, open_exact, open_striped
from .encoding import encode_text
from .errors import brief, check, closed, shown_name, text
from .ids import Ids, open_ids
from .limit import Limit, open_limit
from .list import List, open_list
from .lock import Lock, open_lock
from .log import Log, open_log
from .pipeline import Pipeline
from .once import Once, open_once
from .plan import REFUSALS, Bytes, Seconds, as_short_ms, as_short_option_ms, new_options, opens
from .queue import Queue, open_queue
from .semaphore import Semaphore, open_semaphore
from .set import Bag, Sequence, Set, open_bag, open_sequence, open_set
from .stream import Rest, Visit, collect, collect_finding, collect_listed, in_one
from .table import Table, open_table
from .views import Views, open_views
from .visitors import Online, Visitors, open_online, open_visitors

C = TypeVar("C")

#: The number of bytes of a URI that messages show.
SHOWN = 200
#: The nouns whose options are stored, and the options of each that belong to a handle alone.
NOT_STORED: Dict[str, Tuple[str, ...]] = {
    "counter": (), "visitors": (), "online": (), "views": ("load", "save", "context"), "set": (),
    "ids": (), "semaphore": ("lease_ms", "label"), "queue": ("visible_ms", "tries", "flags")}


def checked(method: str, convert: Callable[..., C], *given: Any) -> C:
    """An argument of the store as `convert` returns it, or its refusal with the method."""
    try:
        return convert(*given)
    except REFUSALS as error:
        raise of_noun(error, "store", method) from None


def encode_path(path: "Union[str, os.PathLike[str]]") -> bytes:
    return encode_text(os.fspath(path) if isinstance(path, os.PathLike) else path, "path")


@dataclasses.dataclass(frozen=True)
class Finding:
    """What inspect() reports.

    severity  "fact", "advice" or "problem"
    subject   the server, file or setting
    what      what was found
    fix       what to do, or "" for a fact
    """

    severity: str
    subject: str
    what: str
    fix: str


class Store(Bound):
    """A store, and its structures. Any thread may use it and them at any time.

    A structure is opened once and kept: `store.counter("a")` is cheap. After fork, the child opens
    its own store; what the parent has opened raises Invalid there.
    """

    counter = opens(open_counter, Counter)
    striped_counter = opens(open_striped, SumCounter)
    exact_counter = opens(open_exact, SumCounter)
    lock = opens(open_lock, Lock)
    visitors = opens(open_visitors, Visitors)
    online = opens(open_online, Online)
    views = opens(open_views, Views)
    set = opens(open_set, Set)
    bag = opens(open_bag, Bag)
    sequence = opens(open_sequence, Sequence)
    table = opens(open_table, Table)
    list = opens(open_list, List)
    log = opens(open_log, Log)
    array = opens(open_array, Array)
    cache = opens(open_cache, Cache)
    ids = opens(open_ids, Ids)
    once = opens(open_once, Once)
    queue = opens(open_queue, Queue)
    limit = opens(open_limit, Limit)
    semaphore = opens(open_semaphore, Semaphore)

    def __init__(self, uri: str, ns: Optional[str] = None, timeout: Optional[Seconds] = None) -> None:
        options = new_options("mcds_options", timeout_ms=checked("", as_short_option_ms, timeout, "timeout"))
        prefix = ffi.NULL if ns is None else ffi.new("char[]", checked("", encode_text, ns, "ns"))
        options.ns = prefix
        encoded = checked("", encode_text, uri, "uri")
        self._uri = shown_name(encoded if len(encoded) <= SHOWN else encoded[:SHOWN] + b"...")
        self._core = Core(encoded, options)
        self._aio: Optional[Aio] = None

    @property
    def aio(self) -> Aio:
        """The same store in the running event loop: `await store.aio.counter("a").add(1)`."""
        if self._aio is None:
            self._aio = Aio(self._core, self._uri)
        return self._aio

    def pipeline(self, depth: int = 0, *, check_results: bool = True) -> Pipeline:
        """Many operations in flight at once, at most `depth` (1024)."""
        return Pipeline(self._core, depth, check_results)

    def limit_timeout(self, timeout: Optional[Seconds]) -> None:
        """Limit each operation that begins from now on; 0: to a millisecond. None ends the limit."""
        if self._core.handle is ffi.NULL:
            raise closed()
        # 0 ends the limit in C.
        limit_ms = 0 if timeout is None else max(1, checked("limit_timeout", as_short_ms, timeout, "timeout"))
        lib.mcds_limit_timeout(self._core.handle, limit_ms)

    def structures(self) -> Iterator[Tuple[str, bytes]]:
        """(noun, name) of each structure in the store, except limits of the form LimitForm.WINDOW, which are never
        listed. Slow on memcached, and not complete there: for people.

        >>> s.counter("a").add()
        1
        >>> list(s.structures())
        [('counter', b'a')]
        """
        found = collect(Visit(self._core), lambda buffer: self._scan(lib.mcds_scan, buffer, collect_listed),
                        "structures")
        yield from in_one(Rest(self._core), [(noun.decode(), name) for _, _, noun, name in found])

    def inspect(self) -> Iterator[Finding]:
        """Facts about the store, and its problems. Slow: for people.

        >>> sorted({finding.severity for finding in s.inspect()}) != []
        True
        """
        names = {lib.MCDS_FACT: "fact", lib.MCDS_ADVICE: "advice", lib.MCDS_PROBLEM: "problem"}
        found = collect(Visit(self._core), lambda buffer: self._scan(lib.mcds_inspect, buffer, collect_finding),
                        "inspect")
        yield from in_one(Rest(self._core), [
            Finding(names[severity], subject.decode(), what.decode(), fix.decode())
            for (severity, _, subject, what), (_, _, _, fix) in zip(found[::2], found[1::2])])

    def _scan(self, function: Any, buffer: Any, visit: Any) -> int:
        if self._core.handle is ffi.NULL:
            raise closed()
        code: int = function(self._core.handle, visit, buffer)
        return code

    def backup(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Copy a whole lmdb: store to a new file, as of one moment, while others use it."""
        encoded = checked("backup", encode_path, path)
        check(lib.mcds_backup(self._core.handle, encoded))

    def made_with(self, noun: str, name: Bytes) -> Optional[dict[str, int]]:
        """The stored options of a structure; None if it does not exist.

        >>> s.bag("votes").add("yes")
        >>> s.made_with("set", "votes")
        {'form': 1}
        """
        if not isinstance(noun, str) or noun not in NOT_STORED:
            *nouns, last = NOT_STORED
            raise ValueError(f"store: made_with: noun must be one of {', '.join(nouns)} and {last}, whose options are "
                             f"stored, not {brief(noun)}")
        options = new_options(f"mcds_{noun}_options")
        encoded = checked("made_with", encode_text, name, "name")
        code = getattr(lib, f"mcds_{noun}_made_with")(self._core.handle, encoded, options)
        if code == lib.MCDS_NOT_FOUND:
            return None
        check(code, "made_with")
        return {member: int(getattr(options, member)) for member in dir(options)
                if member not in ("size", "reserved", *NOT_STORED[noun])}

    def close(self) -> None:
        """Write what exact counters hold, and close everything that is open on the store.

        If several writes fail, the first exception is raised, and its `__notes__` name the others.
        The store is closed in this case too.

        Close a store after the blocks that use it. A lease, a permit or a claim that is still held is not
        released: it ends with its ttl, and its calls and the end of its block raise Invalid. The next step
        of an open iteration raises Invalid, and so does a call of another thread that waits for other callers.
        It gives back what it has claimed. A call of another thread that scans, such as len() of a table, raises
        Invalid after the element that it visits. Operations in flight in an open pipeline or an event loop may or may not be
        applied: their results raise Ambiguous.

        In a child of fork, close() of the parent's store returns at once and writes nothing.
        """
        self._core.close()

    def __enter__(self) -> "Store":
        if self._core.handle is ffi.NULL:
            raise closed()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._core.close_after(error)

    def __repr__(self) -> str:
        return f"<mcds.Store {self._uri}>"


def open(uri: str, *, ns: Optional[str] = None, timeout: Optional[Seconds] = None) -> Store:
    """Open the store that a URI names: memory:, lmdb:PATH or memcached://HOST,HOST.

    ns       prefix of all keys; "mcds"
    timeout  seconds that one operation may take; 1

    `ns=` and `timeout=` in the URI are stronger than the arguments.

    >>> with mcds.open("memory:") as store:
    ...     store.counter("visits").add(2)
    2
    """
    return Store(uri, ns, timeout)


def version() -> str:
    """The version of the library that is loaded."""
    return text(lib.mcds_version())
