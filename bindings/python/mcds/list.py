"""Lists that grow at the end."""

from __future__ import annotations

import builtins
import itertools
from typing import Any, AsyncIterator, Callable, Iterable, Iterator

from ._binding import ffi, lib
from .arguments import as_integer, check_elements
from .core import Core, Opened
from .encoding import encoded
from .helping import named
from .plan import (Bytes, Plan, Structure, as_array, as_bytes, awaited, begun, called, checked,
                   encode_name, new_options, refusal, started, take_found, take_none, waiting)
from .stream import Stream, collect_value, count, read_all

#: extend() makes one call for so many values.
GROUP = 4096


def open_list(core: Core, name: Bytes) -> Opened:
    """Values in the order in which they were pushed, in any number.

    >>> jobs = s.list("jobs")
    >>> jobs.push("resize 17"); jobs.extend(["resize 18", "mail 4"])
    >>> list(jobs)
    [b'resize 17', b'resize 18', b'mail 4']
    >>> list(jobs.values(skip=1, limit=1))
    [b'resize 18']
    """
    return core.open("list", encode_name(name), new_options("mcds_list_options"), ())


def groups_of(values: Iterable[Bytes]) -> Iterator[builtins.list[Bytes]]:
    """The values in parts of GROUP."""
    iterator = iter(values)
    while group := builtins.list(itertools.islice(iterator, GROUP)):
        yield group


class ListPlans(Structure):
    def _push(self, value: Bytes) -> Plan[None]:
        """Add a value at the end. Exactly once, also where a reply is lost."""
        return Plan(lib.mcds_list_push, lib.mcds_list_push_start,
                    (self._opened.handle, as_bytes(value)), take_none)

    def _push_many(self, values: Iterable[Bytes]) -> Plan[None]:
        """Add values in their order; those of others may come between them."""
        array, kept = as_array(values, "values")
        return Plan(lib.mcds_list_push_many, lib.mcds_list_push_many_start,
                    (self._opened.handle, array, len(kept), ffi.NULL), take_none, (array, kept))

    def _clear(self) -> Plan[bool]:
        """Empty the list. False: there was none."""
        return Plan(lib.mcds_list_clear, lib.mcds_list_clear_start, (self._opened.handle,),
                    take_found)

    def _drop(self) -> Plan[bool]:
        """Empty the list and erase it. False: there was none."""
        return Plan(lib.mcds_list_drop, lib.mcds_list_drop_start, (self._opened.handle,),
                    take_found)

    def _read(self, skip: int = 0, limit: int = 0) -> Plan["builtins.list[bytes]"]:
        """The values after the first `skip`, in memory, at most `limit` (0: all)."""
        return read_all(self, lib.mcds_list_scan, lib.mcds_list_scan_start,
                        (as_integer(skip, "skip"), as_integer(limit, "limit")),
                        collect_value, lambda record: record[3])

    def _scan(self, method: str, skip: int, limit: int) -> Callable[[Any], int]:
        build = named(method, ListPlans._read)
        try:
            skip, limit = as_integer(skip, "skip"), as_integer(limit, "limit")
            ffi.new("uint64_t[]", (skip, limit))
        except TypeError as error:
            raise refusal(error, build, self) from error.__cause__
        except OverflowError as error:
            plan: Plan[None] = Plan(lib.mcds_list_scan, None, (ffi.NULL, skip, limit, collect_value, ffi.NULL),
                                    take_none, made_by=(self, build, (skip, limit), {}))
            raise plan.failure(error) from None

        def scan(buffer: Any) -> int:
            return int(lib.mcds_list_scan(self._opened.handle, skip, limit, collect_value, buffer))

        return scan


class List(ListPlans):
    """Values in the order in which they were pushed."""

    push = waiting(ListPlans._push)
    read = waiting(ListPlans._read)
    clear = waiting(ListPlans._clear)
    drop = waiting(ListPlans._drop)

    def extend(self, values: Iterable[Bytes]) -> None:
        """Add values in their order, 4096 with each call."""
        checked(self, type(self).extend, check_elements, values, "values")
        for group in groups_of(values):
            called("extend", ListPlans._push_many, self, group)

    def values(self, skip: int = 0, limit: int = 0) -> Iterator[bytes]:
        """The values after the first `skip`, in order and in parts, at most `limit` (0: all)."""
        return self._values("values", skip, limit)

    def __iter__(self) -> Iterator[bytes]:
        return self._values("__iter__")

    def __contains__(self, value: object) -> bool:
        """Whether the list has the value. This visits all before it."""
        wanted = encoded(value)
        return any(one == wanted for one in self._values("__contains__"))

    def __len__(self) -> int:
        """The number of values. This visits all of them."""
        return count(self, self._scan("__len__", 0, 0), "__len__")

    def __bool__(self) -> bool:
        return any(True for _ in self._values("__bool__", limit=1))

    def _values(self, method: str, skip: int = 0, limit: int = 0) -> Iterator[bytes]:
        """Refuses an argument before the iteration begins."""
        return values_of(Stream(self, self._scan(method, skip, limit), method))


def values_of(stream: Stream) -> Iterator[bytes]:
    for _, _, _, value in stream:
        yield value


class PipelineList(ListPlans):
    """A list in a pipeline. Operations of a pipeline have no order among each other."""

    push = started(ListPlans._push)
    push_many = started(ListPlans._push_many)
    read = started(ListPlans._read)
    clear = started(ListPlans._clear)
    drop = started(ListPlans._drop)


class AioList(ListPlans):
    """A list whose operations are awaited."""

    push = awaited(ListPlans._push)
    read = awaited(ListPlans._read)
    clear = awaited(ListPlans._clear)
    drop = awaited(ListPlans._drop)

    async def extend(self, values: Iterable[Bytes]) -> None:
        """Add values in their order, 4096 with each call."""
        checked(self, type(self).extend, check_elements, values, "values")
        for group in groups_of(values):
            await begun("extend", ListPlans._push_many, self, group)

    def values(self, skip: int = 0, limit: int = 0) -> AsyncIterator[bytes]:
        """The values after the first `skip`, in order, in parts that another thread reads."""
        return self._values("values", skip, limit)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._values("__aiter__")

    def _values(self, method: str, skip: int = 0, limit: int = 0) -> AsyncIterator[bytes]:
        """Refuses an argument before the iteration begins."""
        return awaited_values_of(Stream(self, self._scan(method, skip, limit), method))


async def awaited_values_of(stream: Stream) -> AsyncIterator[bytes]:
    async for _, _, _, value in stream:
        yield value
