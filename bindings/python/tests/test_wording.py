"""Failures name the arguments of Python, in its units."""

from __future__ import annotations

import inspect
import math
import pickle
from typing import Any, Callable, List, Tuple

import mcds
import mcds.errors
import mcds.store
import mcds.wording
import pytest
from mcds._binding import ffi

#: What opens each structure; `views` needs callbacks.
OPENERS = ["counter", "striped_counter", "exact_counter", "lock", "visitors", "online", "views", "set",
           "table", "list", "log", "array", "cache", "ids", "once", "queue", "limit", "semaphore"]
NEEDED = {"striped_counter": (2,), "views": (lambda *_: 0, lambda *_: None)}
SPANS = [(noun, name) for noun in OPENERS
         for name in inspect.signature(getattr(mcds.Store, noun)).parameters
         if name in mcds.wording.OPTIONS.values() and name != "at"]


def open_with(s: Any, noun: str, name: str, span: Any) -> None:
    getattr(s, noun)("x", *NEEDED.get(noun, ()), **{name: span})


def sentence(call: Callable[[], object]) -> str:
    with pytest.raises((mcds.Error, TypeError, ValueError, OverflowError)) as caught:
        call()
    return str(caught.value)


def test_every_time_of_c_has_a_name() -> None:
    """Of the options with which structures are opened, and a parameter has this name."""
    nouns = {noun.rpartition("_")[2] for noun in OPENERS}
    for noun in nouns:
        names = {name for one in OPENERS if one.endswith(noun)
                 for name in inspect.signature(getattr(mcds.Store, one)).parameters}
        times = [member for member, _ in ffi.typeof(f"mcds_{noun}_options").fields
                 if member.endswith("_ms")]
        assert {mcds.wording.OPTIONS[member] for member in times} <= names, noun


@pytest.mark.parametrize("noun, name", SPANS)
def test_each_option_is_named(noun: str, name: str) -> None:
    with mcds.open("memory:") as s:
        for span in ("5", [], -1, math.nan, math.inf):
            said = sentence(lambda: open_with(s, noun, name, span))
            assert said.startswith(f"{name} "), said
        if (noun, name) not in {("lock", "wait"), ("semaphore", "wait"), ("cache", "stale"), (
                "counter", "ttl"), ("striped_counter", "ttl"), ("log", "ahead"), ("visitors", "settle")}:
            said = sentence(lambda: open_with(s, noun, name, 4_000_000_000))
            assert f"{name} " in said and "_ms" not in said, said


RANGES: List[Tuple[Callable[[mcds.Store], object], str, str, str, str]] = [
    (lambda s: s.lock("l", ttl=0.001), "lock 'l'", "ttl", "None or 0.05 to 86400 seconds", "0.001"),
    (lambda s: s.once("o", run=10_000_000 / 3), "once 'o'", "run", "None or 0.05 to 86400 seconds",
     "3333333.333"),
    (lambda s: s.cache("c_ms", fill=0.002), "cache 'c_ms'", "fill", "None or 0.05 to 3600 seconds", "0.002"),
    (lambda s: s.cache("c").hold("k", 0.001), "cache 'c': hold", "seconds", "0.05 to 3600 seconds", "0.001"),
    (lambda s: s.ids("i", spread=61), "ids 'i'", "spread", "at most 60 seconds", "61"),
    (lambda s: s.exact_counter("e", flush=3601), "counter 'e'", "flush", "at most 3600 seconds", "3601"),
    (lambda s: s.limit("r", rates=[(1, 40_000_000)]), "limit 'r'", "per", "0.001 to 31622400 seconds",
     "40000000"),
    (lambda s: s.visitors("v", period=5).hit("x", at=-5), "visitors 'v': hit", "at", "0 or more seconds",
     "-5"),
    (lambda s: s.log("g").put("x", when=-1), "log 'g': put", "when", "in the years 1970 to 6429", "-1"),
]


@pytest.mark.parametrize("call, where, option, wanted, found", RANGES)
def test_ranges_are_in_seconds(call: Callable[[mcds.Store], object], where: str, option: str,
                               wanted: str, found: str) -> None:
    with mcds.open("memory:") as s, pytest.raises(mcds.Invalid) as caught:
        call(s)
    error = caught.value
    assert str(error) == f"{where}: {option} must be {wanted}, not {found}"
    assert error.reason == f"{option} must be {wanted}, not {found}"
    assert (error.option, error.wanted, error.found) == (option, wanted, found)


def test_options_that_differ() -> None:
    with mcds.open("memory:") as s:
        s.log("g", retention=60).put("e")
        assert sentence(lambda: s.log("g", retention=90.5).put("e")) == (
            "log 'g': put: it was made with retention 60 s, not 90.5 s; open it with None to accept that")


def test_the_time_after_the_clock() -> None:
    with mcds.open("memory:") as s:
        said = sentence(lambda: s.visitors("v", period=5).hit("x", at=9e9))
        assert said.endswith(", 10 s after this machine's clock, not 9000000000")
        assert 1e9 < float(said.partition("at most ")[2].partition(",")[0]) < 9e9


def test_an_option_of_another_type() -> None:
    with mcds.open("memory:") as s:
        assert sentence(lambda: s.semaphore("p", "3")).startswith("permits: ")  # type: ignore[arg-type]
        assert sentence(lambda: s.cache("c", jitter=2 ** 40)).startswith("jitter: ")


@pytest.mark.parametrize("kind, call", [
    (mcds.Invalid, lambda s: s.lock("e", ttl=0.001)), (mcds.NotFound, lambda s: s.table("t")["k"])])
def test_repr_and_args_have_the_sentence(kind: Any, call: Callable[[mcds.Store], object]) -> None:
    with mcds.open("memory:") as s, pytest.raises(kind) as caught:
        call(s)
    error = caught.value
    assert repr(error) == f"{kind.__name__}({str(error)!r})" and error.args == (str(error),)
    same = pickle.loads(pickle.dumps(error))
    assert type(same) is kind and str(same) == str(error) and same.__dict__ == error.__dict__


@pytest.mark.parametrize("kind", mcds.errors.KINDS.values())
def test_a_sentence_can_change(kind: Any) -> None:
    """Also of those that are exceptions of Python, which have texts of their own."""
    error = kind("one")
    error.message = "two"
    assert (str(error), error.args) == ("two", ("two",)) and "two" in repr(error)
    assert str(pickle.loads(pickle.dumps(error))) == "two"
