"""Sets, bags, and sequences with removal."""

from __future__ import annotations

import asyncio
import builtins
import itertools
from typing import Any, AsyncIterator, Iterable, Iterator, List, MutableSet, Tuple

from ._binding import ffi, lib
from .arguments import check_elements
from .core import Core, Opened
from .errors import absent, brief
from .helping import named
from .operators import OfBytes
from .plan import (Bytes, Plan, Structure, as_bytes, awaited, begun, called, checked, encode_name, fits, known,
                   new_options, planned, started, take_flag, take_found, take_none, waiting)
from .stream import Stream, collect_set, count, read_all

#: An awaited update adds so many elements at once.
DEPTH = 1024


def open_form(core: Core, name: Bytes, form: int) -> Opened:
    options = new_options("mcds_set_options", form=form)
    return core.open("set", encode_name(name), options, (form,))


def open_set(core: Core, name: Bytes) -> Opened:
    """Elements that many programs add and remove, in any number.

    >>> tags = s.set("tags")
    >>> tags.add("red"); tags.add("green"); tags.add("red")
    >>> "green" in tags, len(tags), sorted(tags)
    (True, 2, [b'green', b'red'])
    """
    return open_form(core, name, lib.MCDS_SET_PLAIN)


def open_bag(core: Core, name: Bytes) -> Opened:
    """A multiset: each element has a count.

    >>> bag = s.bag("votes")
    >>> bag.add("yes"); bag.add("yes"); bag.add("no")
    >>> dict(bag.counts())[b"yes"]
    2
    """
    return open_form(core, name, lib.MCDS_SET_BAG)


def open_sequence(core: Core, name: Bytes) -> Opened:
    """A list with removal: each addition has a position.

    >>> steps = s.sequence("steps")
    >>> steps.add("a"); steps.add("b"); steps.add("a"); steps.discard("a")
    >>> list(steps)
    [b'b', b'a']
    """
    return open_form(core, name, lib.MCDS_SET_LIST)


class SetPlans(Structure):
    """What the three forms have in common."""

    def _add(self, element: Bytes) -> Plan[None]:
        """Add an element. Exactly once, also where a reply is lost."""
        return Plan(lib.mcds_set_add, lib.mcds_set_add_start,
                    (self._opened.handle, as_bytes(element), ffi.NULL), take_none)

    def _discard(self, value: Bytes) -> Plan[None]:
        """Remove an element: of a bag one of it, of a sequence the first one that is equal.

        Nothing is done for what cannot be stored.
        """
        if not fits(value):
            return known(None)
        return Plan(lib.mcds_set_remove, lib.mcds_set_remove_start,
                    (self._opened.handle, as_bytes(value), ffi.NULL), take_none)

    def _add_new(self, element: Bytes) -> Plan[bool]:
        """Add an element, and tell whether it was absent. One program at most gets True.

        >>> s.set("seen").add_new("x"), s.set("seen").add_new("x")
        (True, False)
        """
        out = ffi.new("bool *")
        return Plan(lib.mcds_set_add, lib.mcds_set_add_start,
                    (self._opened.handle, as_bytes(element), out), take_flag, out)

    def _take(self, element: Bytes) -> Plan[bool]:
        """Remove an element, and tell whether it was there. One program at most gets True.

        >>> s.set("jobs").add("7")
        >>> s.set("jobs").take("7"), s.set("jobs").take("7")
        (True, False)
        """
        if not fits(element):
            return known(False)
        out = ffi.new("bool *")
        return Plan(lib.mcds_set_remove, lib.mcds_set_remove_start,
                    (self._opened.handle, as_bytes(element), out), take_flag, out)

    def _has(self, element: Bytes) -> Plan[bool]:
        """Whether the element is there."""
        if not fits(element):
            return known(False)
        return Plan(lib.mcds_set_has, lib.mcds_set_has_start,
                    (self._opened.handle, as_bytes(element)), take_found)

    def _drop(self) -> Plan[bool]:
        """Erase all of it. False: there was nothing."""
        return Plan(lib.mcds_set_drop, lib.mcds_set_drop_start, (self._opened.handle,),
                    take_found)

    def _read(self) -> Plan[List[Tuple[bytes, int]]]:
        """All elements with their counts, in memory; for what is known to be small."""
        return read_all(self, lib.mcds_set_scan, lib.mcds_set_scan_start, (), collect_set,
                        lambda record: (record[3], record[0]))

    def _scan(self, buffer: Any) -> int:
        code: int = lib.mcds_set_scan(self._opened.handle, collect_set, buffer)
        return code


class AnyForm(SetPlans):
    """The waiting calls of the three forms."""

    add_new = waiting(SetPlans._add_new)
    take = waiting(SetPlans._take)
    has = waiting(SetPlans._has)
    read = waiting(SetPlans._read)
    drop = waiting(SetPlans._drop)

    def add(self, element: Bytes) -> None:
        """Add an element. Exactly once, also where a reply is lost."""
        planned(SetPlans._add, self, (element,), {}).wait()

    def discard(self, value: Bytes) -> None:
        """Remove an element: of a bag one of it, of a sequence the first one that is equal.

        Nothing is done for what cannot be stored.
        """
        planned(SetPlans._discard, self, (value,), {}).wait()

    def remove(self, element: Bytes) -> None:
        """Remove an element; raise NotFound, which is a KeyError, where it is absent."""
        if not called("remove", SetPlans._take, self, element):
            raise absent(self._opened, "remove", f"no element {brief(element)}")

    def update(self, *elements: Iterable[Bytes]) -> None:
        """Add many elements, of any number of iterables; their requests travel together."""
        for some in elements:
            checked(self, type(self).update, check_elements, some, "elements")
        _ = self._opened.handle  # of a closed store: refused with the name of the set
        with self._runner.pipeline() as pipeline:
            for element in itertools.chain(*elements):
                pipeline._start(planned(named("update", SetPlans._add), self, (element,), {}))

    def clear(self) -> None:
        """Erase all of it."""
        called("clear", SetPlans._drop, self)

    def __contains__(self, element: object) -> bool:
        return fits(element) and called("__contains__", SetPlans._has, self, element)

    def __iter__(self) -> Iterator[bytes]:
        """All elements, in parts. What others change meanwhile may be seen or not."""
        yield from self._elements("__iter__")

    def __len__(self) -> int:
        """The number of elements. This visits all of them."""
        return count(self, self._scan, "__len__")

    def __bool__(self) -> bool:
        return any(True for _ in self._elements("__bool__"))

    def _elements(self, method: str) -> Iterator[bytes]:
        for _, _, _, element in Stream(self, self._scan, method):
            yield element


class Set(AnyForm, OfBytes, MutableSet[bytes]):
    """A set of bytes. Operators such as - return a set of Python. All operators encode text in the other
    set as UTF-8.

    >>> tags = s.set("tags")
    >>> tags.update(["red", "green"])
    >>> tags - {"red"}, tags >= {"red"}
    ({b'green'}, True)
    """

    def pop(self) -> bytes:
        """Remove an element and return it. Concurrent calls get different elements."""
        for element in self._elements("pop"):
            if called("pop", SetPlans._take, self, element):
                return element
        raise absent(self._opened, "pop", "empty")

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> builtins.set[Any]:
        return builtins.set(it)

    __hash__ = None  # type: ignore[assignment]


class Bag(AnyForm):
    """A multiset. Iteration visits each element once."""

    def __len__(self) -> int:
        """The number of different elements. This visits all of them. `counts` has how often each was added."""
        return super().__len__()

    def counts(self) -> Iterator[Tuple[bytes, int]]:
        """Each element with its count, in parts."""
        for number, _, _, element in Stream(self, self._scan, "counts"):
            yield element, number


class Sequence(AnyForm):
    """A list with removal. Iteration keeps the order of addition."""


class PipelineSet(SetPlans):
    """A set, bag or sequence in a pipeline."""

    add = started(SetPlans._add)
    discard = started(SetPlans._discard)
    add_new = started(SetPlans._add_new)
    take = started(SetPlans._take)
    has = started(SetPlans._has)
    read = started(SetPlans._read)
    drop = started(SetPlans._drop)


class AioSet(SetPlans):
    """A set or a sequence whose operations are awaited."""

    add = awaited(SetPlans._add)
    discard = awaited(SetPlans._discard)
    add_new = awaited(SetPlans._add_new)
    take = awaited(SetPlans._take)
    has = awaited(SetPlans._has)
    read = awaited(SetPlans._read)
    drop = awaited(SetPlans._drop)

    async def remove(self, element: Bytes) -> None:
        """Remove an element; raise NotFound, which is a KeyError, where it is absent."""
        if not await begun("remove", SetPlans._take, self, element):
            raise absent(self._opened, "remove", f"no element {brief(element)}")

    async def update(self, *elements: Iterable[Bytes]) -> None:
        """Add many elements, of any number of iterables; their requests travel together."""
        for some in elements:
            checked(self, type(self).update, check_elements, some, "elements")
        rest = itertools.chain(*elements)
        failures: List[BaseException] = []
        while await self._add_some(rest, failures):
            pass
        try:
            if failures:
                raise failures[0]
        finally:
            del failures  # their tracebacks refer to this frame

    async def _add_some(self, rest: Iterator[Bytes], failures: List[BaseException]) -> bool:
        """Add the next elements, and wait for all of them. Keeps the first failure. False: no element is left, or
        the library has refused one."""
        adds: "List[asyncio.Future[None]]" = []
        goes_on = False
        try:
            for element in itertools.islice(rest, DEPTH):
                adds.append(begun("update", SetPlans._add, self, element))
                goes_on = not adds[-1].done()
                if not goes_on:
                    break
        finally:  # also after a refusal by Python
            raised = await asyncio.gather(*adds, return_exceptions=True)
        failures += [one for one in raised if one is not None]
        del failures[1:]
        return goes_on

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """All elements, in parts that another thread reads."""
        async for _, _, _, element in Stream(self, self._scan, "__aiter__"):
            yield element


class AioBag(AioSet):
    """A multiset whose operations are awaited."""

    async def counts(self) -> AsyncIterator[Tuple[bytes, int]]:
        """Each element with its count."""
        async for number, _, _, element in Stream(self, self._scan, "counts"):
            yield element, number
