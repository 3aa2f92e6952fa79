"""Tables of values by key."""

from __future__ import annotations

from typing import (Any, AsyncIterator, Callable, ItemsView, Iterator, KeysView, List, Mapping, MutableMapping,
                    Optional, Tuple, TypeVar, Union, ValuesView, overload)

from ._binding import ffi, lib
from .arguments import as_integer, check_type
from .core import Core, Opened
from .encoding import encoded
from .errors import Error, absent, again, brief, change_reason, error_of
from .operators import OfBytes
from .plan import (NOT_FOUND, Bytes, Plan, Seconds, Structure, as_bytes, as_option_ms, awaited, begun,
                   called, encode, encode_name, fits, known, new_options, new_struct, new_value, planned, read_value,
                   started, take_flag, take_found, take_new, take_none, take_number, waiting)
from .stream import PART, check_open, check_scan, collect_table, count, records, rest_of, visit_of

T = TypeVar("T")
MISSING = object()


def open_table(core: Core, name: Bytes) -> Opened:
    """Values by key, in any number; each may expire.

    >>> hosts = s.table("hosts")
    >>> hosts["web3"] = "10.0.0.3"
    >>> hosts["web3"], hosts.get("web4"), "web3" in hosts, len(hosts)
    (b'10.0.0.3', None, True, 1)
    >>> dict(hosts)
    {b'web3': b'10.0.0.3'}
    """
    return core.open("table", encode_name(name), new_options("mcds_table_options"), ())


class Cursor:
    """The position of a scan: plain numbers, which another process may continue with."""

    def __init__(self, position: int = 0, done: bool = False) -> None:
        self.position = position
        self.done = done  #: nothing is left
        self.lost: Optional[Error] = None  #: a part is gone that the cursor has passed

    def __repr__(self) -> str:
        return f"Cursor({self.position}, {self.done})"


def moving(cursor: Cursor, state: Any) -> Callable[[], None]:
    """The `move` of a plan: to where C has moved its copy of the cursor."""
    def move() -> None:
        cursor.position, cursor.done = state.position, state.done

    return move


def take_value(code: int, out: Any) -> Optional[bytes]:
    value, default = out
    if code == NOT_FOUND:
        return default  # type: ignore[no-any-return]
    if code != 0:
        raise error_of(code)
    return read_value(value)


def naming_key(error: Error, key: Bytes) -> Error:
    """The error of a value that is not a number, with its key and the way out."""
    if error.cause == "NOT_A_NUMBER":
        change_reason(error, f"the value of the key {brief(encode(key))} is not a number; put one, or remove the key")
    return error


class TablePlans(Structure):
    def _get(self, key: Bytes, default: Optional[bytes] = None) -> Plan[Optional[bytes]]:
        """The value of a key, or `default`; also for a key that cannot be stored."""
        if not fits(key):
            return known(default)
        value = new_value()
        return Plan(lib.mcds_table_get, lib.mcds_table_get_start,
                    (self._opened.handle, as_bytes(key), value), take_value, (value, default))

    def _has(self, key: Bytes) -> Plan[bool]:
        """Whether a key has a value."""
        if not fits(key):
            return known(False)
        return Plan(lib.mcds_table_has, lib.mcds_table_has_start,
                    (self._opened.handle, as_bytes(key)), take_found)

    def _put(self, key: Bytes, value: Bytes, ttl: Optional[Seconds] = None) -> Plan[None]:
        """Set a value, which expires after `ttl` seconds.

        >>> s.table("sessions").put("7f3a", "alice", ttl=3600)
        """
        return Plan(lib.mcds_table_put, lib.mcds_table_put_start,
                    (self._opened.handle, as_bytes(key), as_bytes(value), as_option_ms(ttl, "ttl")), take_none)

    def _put_if_absent(self, key: Bytes, value: Bytes,
                       ttl: Optional[Seconds] = None) -> Plan[bool]:
        """Set a value only where the key has none. One program at most gets True.

        >>> s.table("seats").put_if_absent("12A", "ann"), s.table("seats").put_if_absent("12A", "bo")
        (True, False)
        """
        return Plan(lib.mcds_table_put_if_absent, lib.mcds_table_put_if_absent_start,
                    (self._opened.handle, as_bytes(key), as_bytes(value), as_option_ms(ttl, "ttl")), take_new)

    def _put_default(self, key: Bytes, default: Bytes) -> Plan[bool]:
        """That of setdefault, whose argument has another name."""
        return self._put_if_absent(key, default)

    def _compare_and_set(self, key: Bytes, expected: Bytes, value: Bytes,
                         ttl: Optional[Seconds] = None) -> Plan[bool]:
        """Set a value only where the key has the expected one. Raises NotFound where it has none.

        >>> s.table("state")["job"] = "new"
        >>> s.table("state").compare_and_set("job", "new", "running")
        True
        >>> s.table("state").compare_and_set("job", "new", "running")
        False
        """
        return Plan(lib.mcds_table_compare_and_set, lib.mcds_table_compare_and_set_start,
                    (self._opened.handle, as_bytes(key), as_bytes(expected), as_bytes(value),
                     as_option_ms(ttl, "ttl")), take_new)

    def _discard(self, key: Bytes) -> Plan[None]:
        """Remove an entry if it is there."""
        if not fits(key):
            return known(None)
        return Plan(lib.mcds_table_remove, lib.mcds_table_remove_start,
                    (self._opened.handle, as_bytes(key), ffi.NULL), take_none)

    def _remove(self, key: Bytes) -> Plan[bool]:
        """Remove an entry, and tell whether it was there. One program at most gets True."""
        if not fits(key):
            return known(False)
        out = ffi.new("bool *")
        return Plan(lib.mcds_table_remove, lib.mcds_table_remove_start,
                    (self._opened.handle, as_bytes(key), out), take_flag, out)

    def _incr(self, key: Bytes, delta: int = 1) -> Plan[int]:
        """Add to a value that is a decimal number; absent counts as 0. Corrupt, with the cause
        "NOT_A_NUMBER": the value is not a number, and nothing is changed.

        >>> s.table("stock").incr("bolts", 40), s.table("stock").incr("bolts", -1)
        (40, 39)
        """
        out = ffi.new("int64_t *")

        def take(code: int, number: Any) -> int:
            if code == lib.MCDS_CORRUPT:
                raise naming_key(error_of(code), key)
            return take_number(code, number)

        return Plan(lib.mcds_table_incr, lib.mcds_table_incr_start,
                    (self._opened.handle, as_bytes(key), as_integer(delta, "delta"), out), take, out)

    def _drop(self) -> Plan[bool]:
        """Erase the table. False: there was none."""
        return Plan(lib.mcds_table_drop, lib.mcds_table_drop_start, (self._opened.handle,),
                    take_found)

    def _page(self, cursor: Cursor, limit: int = 0) -> Plan[List[Tuple[bytes, bytes]]]:
        """The entries from the cursor on: about 256 KB of them, and at most `limit` (0: all).

        Moves the cursor, when the call returns. Until it is done, each entry that does not change is returned
        exactly once. A part that the store has lost is left out, and `cursor.lost` is set.

        >>> cursor = mcds.Cursor()
        >>> while not cursor.done:
        ...     for key, value in s.table("hosts").page(cursor):
        ...         pass
        """
        check_type(cursor, Cursor, "cursor")
        visit = visit_of(self, PART)
        state = new_struct("mcds_table_cursor", position=as_integer(cursor.position, "position"), done=cursor.done)

        def take(code: int, out: Any) -> List[Tuple[bytes, bytes]]:
            check_open(self._runner._core, self._opened)
            state.done = state.done or code == NOT_FOUND
            # The scan has moved past these entries: return them now; the next call fails again.
            entries = [(key, value) for _, _, key, value in records(visit.buffer)]
            if code == lib.MCDS_LOST:
                cursor.lost = error_of(code)
            elif not entries:
                check_scan(code, visit.buffer)
            return entries

        return Plan(lib.mcds_table_scan, lib.mcds_table_scan_start,
                    (self._opened.handle, state, as_integer(limit, "limit"), collect_table, visit.buffer), take,
                    (state, visit), move=moving(cursor, state))


class Table(TablePlans, MutableMapping[bytes, bytes]):
    """Values by key. A mapping of bytes to bytes; str is encoded as UTF-8."""

    has = waiting(TablePlans._has)
    put = waiting(TablePlans._put)
    put_if_absent = waiting(TablePlans._put_if_absent)
    compare_and_set = waiting(TablePlans._compare_and_set)
    discard = waiting(TablePlans._discard)
    remove = waiting(TablePlans._remove)
    incr = waiting(TablePlans._incr)
    drop = waiting(TablePlans._drop)
    page = waiting(TablePlans._page)

    @overload
    def get(self, key: Bytes) -> Optional[bytes]: ...

    @overload
    def get(self, key: Bytes, default: Union[bytes, T]) -> Union[bytes, T]: ...

    def get(self, key: Bytes, default: Any = None) -> Any:
        """The value of a key, or `default`; also for a key that cannot be stored."""
        return planned(TablePlans._get, self, (key, default), {}).wait()

    def __getitem__(self, key: Bytes) -> bytes:
        value = called("__getitem__", TablePlans._get, self, key)
        if value is None:
            raise absent(self._opened, "__getitem__", f"no key {brief(key)}")
        return value

    def __setitem__(self, key: Bytes, value: Bytes) -> None:
        called("__setitem__", TablePlans._put, self, key, value)

    def __delitem__(self, key: Bytes) -> None:
        if not called("__delitem__", TablePlans._remove, self, key):
            raise absent(self._opened, "__delitem__", f"no key {brief(key)}")

    def __contains__(self, key: object) -> bool:
        return fits(key) and called("__contains__", TablePlans._has, self, key)

    def _pairs(self, method: str) -> Iterator[Tuple[bytes, bytes]]:
        cursor = Cursor()
        with rest_of(self) as rest:
            while rest.take(None if cursor.done else called(method, TablePlans._page, self, cursor)):
                yield from rest.part
        if cursor.lost is not None:
            raise again(cursor.lost)

    def __iter__(self) -> Iterator[bytes]:
        return (key for key, _ in self._pairs("__iter__"))

    def __len__(self) -> int:
        """The number of entries. This visits all of them."""
        return count(self, lambda buffer: int(lib.mcds_table_scan(
            self._opened.handle, ffi.new("mcds_table_cursor *"), 0, collect_table, buffer)), "__len__")

    def __bool__(self) -> bool:
        return any(True for _ in self._pairs("__bool__"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return dict(self._pairs("__eq__")) == {encoded(key): encoded(value) for key, value in other.items()}

    def keys(self) -> "KeysView[bytes]":
        """The keys, a set of bytes. Its operators encode the text of other sets as UTF-8."""
        return Keys(self)

    def items(self) -> "ItemsView[bytes, bytes]":
        """The entries, read in parts of about 256 KB. Lost, at the end, where a part is gone."""
        return Items(self)

    def values(self) -> "ValuesView[bytes]":
        """The values, read in parts."""
        return Values(self)

    def setdefault(self, key: Bytes, default: Bytes = b"") -> bytes:
        """The value of the key, after setting it to `default` where it had none."""
        while True:
            if called("setdefault", TablePlans._put_default, self, key, default):
                return encode(default)
            value = called("setdefault", TablePlans._get, self, key)
            if value is not None:
                return value

    @overload
    def pop(self, key: Bytes, /) -> bytes: ...

    @overload
    def pop(self, key: Bytes, /, default: Union[bytes, T]) -> Union[bytes, T]: ...

    def pop(self, key: Bytes, /, default: Any = MISSING) -> Any:
        """Remove an entry and return its value: two calls, between which others may change it."""
        value = called("pop", TablePlans._get, self, key)
        if value is not None and called("pop", TablePlans._remove, self, key):
            return value
        if default is MISSING:
            raise absent(self._opened, "pop", f"no key {brief(key)}")
        return default

    def popitem(self) -> Tuple[bytes, bytes]:
        """Remove an entry and return it. Concurrent calls get different entries."""
        for key, value in self._pairs("popitem"):
            if called("popitem", TablePlans._remove, self, key):
                return key, value
        raise absent(self._opened, "popitem", "empty")

    def clear(self) -> None:
        """Erase the table."""
        called("clear", TablePlans._drop, self)

    __hash__ = None  # type: ignore[assignment]


class Keys(OfBytes, KeysView[bytes]):
    """The keys of a table."""


class Items(ItemsView[bytes, bytes]):
    """The entries of a table, without a call for each."""

    _mapping: Table

    def __contains__(self, item: object) -> bool:
        if not isinstance(item, tuple) or len(item) != 2:
            return False
        value = self._mapping.get(item[0])
        return value is not None and value == encoded(item[1])

    def __iter__(self) -> Iterator[Tuple[bytes, bytes]]:
        return self._mapping._pairs("items")


class Values(ValuesView[bytes]):
    """The values of a table, without a call for each."""

    _mapping: Table

    def __iter__(self) -> Iterator[bytes]:
        return (value for _, value in self._mapping._pairs("values"))

    def __contains__(self, value: object) -> bool:
        wanted = encoded(value)
        return any(one == wanted for one in self)


class PipelineTable(TablePlans):
    """A table in a pipeline."""

    get = started(TablePlans._get)
    has = started(TablePlans._has)
    put = started(TablePlans._put)
    put_if_absent = started(TablePlans._put_if_absent)
    compare_and_set = started(TablePlans._compare_and_set)
    discard = started(TablePlans._discard)
    remove = started(TablePlans._remove)
    incr = started(TablePlans._incr)
    drop = started(TablePlans._drop)


class AioTable(TablePlans):
    """A table whose operations are awaited."""

    get = awaited(TablePlans._get)
    has = awaited(TablePlans._has)
    put = awaited(TablePlans._put)
    put_if_absent = awaited(TablePlans._put_if_absent)
    compare_and_set = awaited(TablePlans._compare_and_set)
    discard = awaited(TablePlans._discard)
    remove = awaited(TablePlans._remove)
    incr = awaited(TablePlans._incr)
    drop = awaited(TablePlans._drop)
    page = awaited(TablePlans._page)

    def items(self) -> AsyncIterator[Tuple[bytes, bytes]]:
        """All entries, in parts of about 256 KB."""
        return self._items("items")

    async def _items(self, method: str) -> AsyncIterator[Tuple[bytes, bytes]]:
        cursor = Cursor()
        with rest_of(self) as rest:
            while rest.take(None if cursor.done else await begun(method, TablePlans._page, self, cursor)):
                for entry in rest.part:
                    yield entry
        if cursor.lost is not None:
            raise again(cursor.lost)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for key, _ in self._items("__aiter__"):
            yield key
