"""Each method of asyncio and of a pipeline answers and refuses as its sibling that waits.

The calls come from the classes: each public method with arguments that are fine, and with each of
them in turn replaced by one that is not. A new method is called without a change here.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections import abc
from collections.abc import Generator, ItemsView
from typing import Any, Callable, Dict, Iterator, List, Tuple

import mcds
import pytest

#: The options of what cannot be opened by its name alone.
OPTIONS: Dict[str, Dict[str, Any]] = {
    "semaphore": {"permits": 2}, "striped_counter": {"stripes": 2}, "queue": {"may_lose": True},
    "limit": {"rates": "10/m"}, "views": {"load": lambda page: 1, "save": lambda page, views: None}}
OPENERS = [name for name, opener in vars(mcds.Aio).items() if name[0] != "_" and callable(opener)]
#: The calls whose results have methods of their own.
CLAIMS: Dict[str, Tuple[str, Tuple[bytes, ...]]] = {
    "run": ("once.begin", (b"k",)), "claim": ("cache.look", (b"k",)), "job": ("queue.next", ()),
    "lease": ("lock.try_acquire", ()), "permit": ("semaphore.try_acquire", ())}
#: `follow` and `tail` do not end. Where others are a function of the caller, asyncio awaits it.
LEFT_OUT = ["follow", "tail", "cached", "run", "fetch"]

BYTES = [b"", b"x" * 1025, b"x" * (1 << 21), "a\0b", "\ud800", 7, 0.5, None, object()]
MANY = [[], [b""], [7], [b"x" * 1025], [b"x" * (1 << 21)], ["\ud800"], 7, None]
NUMBERS = [-1, 0, 1 << 31, 1 << 64, 0.5, "x", b"x", None, object()]
SPANS = [-1, 0, float("nan"), float("inf"), 1 << 64, "x", object()]
#: What makes a fine argument of a type, and those that are wrong, or nearly so.
TYPES: Dict[str, Tuple[Callable[[], Any], List[Any]]] = {
    "Bytes": (lambda: b"x", BYTES), "bytes": (lambda: b"x", BYTES), "int": (lambda: 1, NUMBERS),
    "Optional[Bytes]": (lambda: b"x", BYTES), "Iterable[Bytes]": (lambda: [b"a", b"b"], MANY),
    "bool": (lambda: True, [None, 7, "x"]), "Any": (lambda: None, BYTES),
    "Seconds": (lambda: 0.001, SPANS), "Optional[Seconds]": (lambda: 0.001, SPANS),
    "Optional[When]": (lambda: None, [-1, float("nan"), 1 << 64, "x", object()]),
    "Cursor": (mcds.Cursor, [None, 7]), "LogCursor": (mcds.LogCursor, [None, 7]),
    "Optional[LogCursor]": (mcds.LogCursor, [7]), "Optional[Holder]": (lambda: None, [7]),
    "Optional[JobBase]": (lambda: None, [7]), "Change": (lambda: lambda elements: [b"x"], [7, None]),
    "JobEntry": (lambda: mcds.JobEntry(b"x", mcds.JobState(0), 0, 0.0, b"x"), [7, None])}


class Way:
    """Calls of a structure, and what they return in the end."""

    def __init__(self, runner: Any, space: str) -> None:
        self.runner = runner
        self.space = space

    async def open(self, what: str, number: int) -> Any:
        opener, _, verb = CLAIMS.get(what, (what, ()))[0].partition(".")
        structure = getattr(self.runner, opener)(f"{self.space}{number}", **OPTIONS.get(opener, {}))
        if what == "job":
            await self.result(structure.push(b"j"))
        if not verb:
            return structure
        return await self.result(getattr(structure, verb)(*CLAIMS[what][1]))

    async def result(self, made: Any) -> Any:
        return [*made] if isinstance(made, (Generator, ItemsView)) else made

    async def outcome(self, what: str, number: int, name: str, arguments: Dict[str, Any]) -> Any:
        structure = await self.open(what, number)
        try:
            return shown(await self.result(getattr(structure, name)(**arguments)))
        except Exception as error:
            return type(error)


class Awaited(Way):
    async def result(self, made: Any) -> Any:
        if inspect.isasyncgen(made):
            return [one async for one in made]
        return await made if inspect.isawaitable(made) else made


class Pipelined(Way):
    async def result(self, made: Any) -> Any:
        return made.result() if isinstance(made, mcds.Result) else made


def shown(answer: Any) -> Any:
    if answer is None or isinstance(answer, bytes) or isinstance(answer, int) and answer < 1 << 32:
        return answer
    if isinstance(answer, list):
        return [shown(one) for one in answer]
    return type(answer).__name__.replace("Aio", "")


def calls_of(method: Any) -> Iterator[Callable[[], Dict[str, Any]]]:
    """What makes arguments that are fine, then each in turn replaced, then one more."""
    parameters = [*inspect.signature(method).parameters.values()][1:]
    kinds = {one.name: TYPES[str(one.annotation)] for one in parameters}
    yield lambda: {name: make() for name, (make, _) in kinds.items()}
    yield lambda: {one.name: kinds[one.name][0]() for one in parameters if one.default is one.empty}
    for replaced, (_, wrong) in kinds.items():
        for value in wrong:
            yield lambda: {**{name: make() for name, (make, _) in kinds.items()}, replaced: value}
    yield lambda: {"nothing": 1}


def methods_of(one: Any, other: Any) -> List[str]:
    """The public methods that both have, with the same arguments."""
    names = [name for name in dir(one) if name[0] != "_" and name not in LEFT_OUT
             and callable(getattr(one, name)) and callable(getattr(other, name, None))]
    for name in names:
        mine, others = (inspect.signature(getattr(type(way), name)) for way in (one, other))
        assert [*mine.parameters] == [*others.parameters], (type(other).__name__, name)
    return names


@pytest.mark.parametrize("what", OPENERS)
def test_asyncio_has_the_same_methods(what: str) -> None:
    """Except those that Python's collections have, which cannot be awaited."""
    with mcds.open("memory:") as s:
        waiting, awaited = (type(getattr(one, what)("n", **OPTIONS.get(what, {}))) for one in (s, s.aio))
    ours, theirs = ({name for name in dir(kind) if name[0] != "_"} for kind in (waiting, awaited))
    assert theirs <= ours
    assert ours - theirs <= {*dir(abc.MutableMapping), *dir(abc.MutableSet)}


@pytest.mark.parametrize("what", [*OPENERS, *CLAIMS])
def test_siblings(what: str, s: mcds.Store) -> None:
    numbers = itertools.count()

    async def compare(way: Way) -> None:
        waiting = Way(s, "w")
        ours, theirs = [await one.open(what, next(numbers)) for one in (waiting, way)]
        names = methods_of(ours, theirs)
        assert names
        for name in names:
            for arguments in calls_of(getattr(type(ours), name)):
                number = next(numbers)
                expected = await waiting.outcome(what, number, name, arguments())
                found = await way.outcome(what, number, name, arguments())
                assert found == expected, f"{name}({arguments()})"[:300]

    async def main() -> None:
        await compare(Awaited(s.aio, "a"))
        if what not in CLAIMS:
            await compare(Pipelined(s.pipeline(check_results=False), "p"))

    asyncio.run(asyncio.wait_for(main(), 300))
