"""Each public method refuses what fits no argument, and names the structure, the method and the argument.

The calls come from the classes, as in test_siblings.py. A new method is called without a change here.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Callable, Dict, Iterator, List, Tuple

import mcds
import pytest
from test_names import NOUNS, noun_of
from test_siblings import CLAIMS, OPENERS, OPTIONS, TYPES, Awaited, Pipelined, Way

#: What makes a fine argument of a type that test_siblings.py leaves out.
OTHERS: Dict[str, Callable[[], Any]] = {
    "Fill": lambda: lambda key: b"", "AwaitedFill": lambda: lambda key: b"", "Load": lambda: lambda *_: 0,
    "Save": lambda: lambda *_: None, "Callable[[], Optional[Bytes]]": lambda: lambda: b"",
    "Callable[[], Awaitable[Optional[Bytes]]]": lambda: lambda: b"", "Members": lambda: 1, "LimitForm": lambda: 0,
    "Union[str, Iterable[Rate]]": lambda: "5/m", "Optional[int]": lambda: None, "Callable[P, Bytes]": lambda: str,
    "JobBase": lambda: job_of(mcds.open("memory:"))}
#: Types of which each number outside of the range of C is refused.
NUMBERS = ("int", "Optional[int]", "Members", "LimitForm")
SPANS = ("Seconds", "Optional[Seconds]")
TIMES = ("Optional[When]",)
#: Arguments for which each value has a meaning: a truth value, a default of the caller's, what may be absent.
ANY = {("table", "get", "key"), ("table", "get", "default"), ("table", "has", "key"), ("table", "discard", "key"),
       ("table", "remove", "key"), ("table", "pop", "key"), ("table", "pop", "default"), ("set", "has", "element"),
       ("set", "discard", "element"), ("set", "discard", "value"), ("set", "remove", "element"),
       ("set", "take", "element")}
#: Those that take the arguments of a method of collections.abc, which raises.
OF_PYTHON = {"update", "cached", "index", "count", "clear", "isdisjoint"}


def job_of(s: mcds.Store) -> Any:
    s.queue("n0").push("j")
    return s.queue("n0").next()


def wrong_of(kind: str) -> List[Any]:
    wrong: List[Any] = [] if kind == "bool" else [object()]
    if kind in NUMBERS:
        wrong += [-1 << 70, 1 << 70, 0.5, "x"]
    if kind in SPANS:
        wrong += [-1, float("nan"), 1 << 70, "x"]
    if kind in TIMES:
        wrong += [float("nan"), 1 << 70, "x"]
    return wrong


def fine(parameters: List[Any]) -> Dict[str, Any]:
    """What every parameter needs that has no default."""
    made = {}
    for one in parameters:
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            kind = str(one.annotation)
            made[one.name] = (OTHERS.get(kind) or TYPES[kind][0])()
    return made


def bad_calls(method: Any) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Each argument in turn with each value that is wrong."""
    parameters = [*inspect.signature(method).parameters.values()][1:]
    for one in parameters:
        for value in wrong_of(str(one.annotation)):
            yield one.name, {**fine(parameters), one.name: value}


def refusal_of(call: Callable[[], Any]) -> str:
    """Of the call itself, not of an iteration that it begins."""
    try:
        made = call()
    except (mcds.Error, TypeError, ValueError) as error:
        return str(error)
    if inspect.iscoroutine(made):
        made.close()
    return f"no exception, but {type(made).__name__}"


async def refusals(way: Way, what: str, name: str, structure: Any, given: Dict[str, Any]) -> str:
    positional = [given.pop(one.name) for one in inspect.signature(getattr(type(structure), name)).parameters.values()
                  if one.kind is one.POSITIONAL_ONLY and one.name in given]
    try:
        made = getattr(structure, name)(*positional, **given)
        if inspect.isawaitable(made) or isinstance(made, mcds.Result):
            await way.result(made)
    except (mcds.Error, TypeError, ValueError) as error:
        return str(error)
    return "accepted"


@pytest.mark.parametrize("kind", [Way, Awaited, Pipelined])
@pytest.mark.parametrize("what", [*OPENERS, *CLAIMS])
def test_a_refusal_names_the_argument(what: str, kind: Any) -> None:
    if kind is Pipelined and what in CLAIMS:
        pytest.skip("a pipeline returns the same claims")
    found = []

    async def main() -> None:
        with mcds.open("memory:", timeout=0.2) as s:
            way = kind({Way: s, Awaited: s.aio, Pipelined: s.pipeline(check_results=False)}[kind], "n")
            structure = await Way(s, "n").open(what, 0) if what in CLAIMS and kind is Way else await way.open(what, 0)
            for name in dir(type(structure)):
                method = getattr(type(structure), name)
                if name[0] == "_" or not inspect.isroutine(method) or name in OF_PYTHON:
                    continue
                for argument, given in bad_calls(method):
                    if (noun_of(what), name, argument) in ANY:
                        continue
                    said = await refusals(way, what, name, structure, dict(given))
                    if not said.startswith((f"{noun_of(what)} 'n0': {name}: {argument} ",
                                            f"{noun_of(what)} 'n0': {name}: each of {argument} ")):
                        found.append(f"{name}({argument}={given[argument]!r}): {said}")

    asyncio.run(asyncio.wait_for(main(), 300))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("what", OPENERS)
def test_a_refusal_of_an_option_names_it(what: str) -> None:
    found = []
    noun = NOUNS.get(what, what)
    needed: Dict[str, Any] = {**OPTIONS.get(what, {}), "name": "n"}
    with mcds.open("memory:") as s:
        for argument, given in bad_calls(getattr(mcds.Store, what)):
            said = refusal_of(lambda: getattr(s, what)(**{**needed, **given}))
            name = given.get("name", b"n").decode() if argument != "name" else ""
            place = f"{noun} '{name}': " if name else f"{noun}: "
            if not said.startswith((f"{place}{argument} ", f"{place}{argument}: ", f"{place}each of {argument} ")):
                found.append(f"{argument}={given[argument]!r}: {said}")
    assert not found, "\n".join(found)
