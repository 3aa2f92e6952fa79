"""Failures name the arguments of Python, in its units."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import fractions
import inspect
import math
import pickle
import uuid
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
            form = noun.rpartition("_")[2]
            assert said.startswith((f"{form} 'x': {name} ", f"counter 'x': {name} ")), said
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
        assert sentence(lambda: s.semaphore("p", "3")) == (  # type: ignore[arg-type]
            "semaphore 'p': permits must be an integer, not str")


#: Arguments of a wrong type.
MISTYPED: List[Tuple[Callable[[Any], object], str]] = [
    (lambda s: s.counter("n").add(1.5), "counter 'n': add: delta must be an integer, not float"),
    (lambda s: s.exact_counter("n").add("1"), "counter 'n': add: delta must be an integer, not str"),
    (lambda s: s.ids("n").take(n=None), "ids 'n': take: n must be an integer, not NoneType"),
    (lambda s: s.limit("n", rates=[("5", 1)]), "limit 'n': rates: count must be an integer, not str"),
    (lambda s: list(s.list("n").values(skip=1.5)), "list 'n': values: skip must be an integer, not float"),
    (lambda s: list(s.log("n").events(limit=1.5)), "log 'n': events: limit must be an integer, not float"),
    (lambda s: s.pipeline().counter("n").add(1.5), "counter 'n': add: delta must be an integer, not float"),
    (lambda s: run(lambda: s.aio.counter("n").add(1.5)), "counter 'n': add: delta must be an integer, not float"),
    (lambda s: s.counter(7), "counter: name must be bytes or str, not int"),
    (lambda s: s.set("n").add(7), "set 'n': add: element must be bytes or str, not int"),
    (lambda s: s.set("n").update(["a", 7]), "set 'n': update: element must be bytes or str, not int"),
    (lambda s: s.table("n").put("k", 7), "table 'n': put: value must be bytes or str, not int"),
    (lambda s: s.table("n").put(key=None, value="v"), "table 'n': put: key must be bytes or str, not NoneType"),
    (lambda s: s.table("n").__setitem__("k", 1.5), "table 'n': __setitem__: value must be bytes or str, not float"),
    (lambda s: s.pipeline().table("n").put("k", 7), "table 'n': put: value must be bytes or str, not int"),
    (lambda s: s.list("n").extend(["a", 7]), "list 'n': extend: values must have bytes or str, not int"),
    (lambda s: s.limit("n", rates=[(5, None)]), "limit 'n': rates: per must be a number of seconds or a timedelta, not None"),
    (lambda s: s.cache("n").hold("k", None),
     "cache 'n': hold: seconds must be a number of seconds or a timedelta, not None"),
    (lambda s: s.cache("n").hold_tag("k", None),
     "cache 'n': hold_tag: seconds must be a number of seconds or a timedelta, not None"),
]


@pytest.mark.parametrize("call, said", MISTYPED)
def test_an_argument_of_another_type(call: Callable[[Any], object], said: str) -> None:
    with mcds.open("memory:") as s, pytest.raises(TypeError) as caught:
        call(s)
    assert str(caught.value) == said


class Truncated:
    """A number whose __int__ discards its fraction, like a Decimal."""

    def __int__(self) -> int:
        return 3


class Exact:
    """What has one, such as an integer of numpy."""

    def __init__(self, number: int = 3) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


class Both(Exact, Truncated):
    pass


class Broken:
    def __index__(self) -> int:
        raise LookupError("of the program")


async def hold_all(of: Any) -> List[Any]:
    return [one async for one in of]


def pages(s: Any) -> Any:
    return s.views("n", lambda *_: 0, lambda *_: None)


#: Calls with one integer, and where the message says that it is.
INTEGERS: List[Tuple[Callable[[Any, Any], object], str]] = [
    (lambda s, n: s.counter("n").add(n), "counter 'n': add: delta"),
    (lambda s, n: s.striped_counter("n", 2).add(n), "counter 'n': add: delta"),
    (lambda s, n: s.exact_counter("n").add(n), "counter 'n': add: delta"),
    (lambda s, n: s.striped_counter("n", n), "counter 'n': stripes"),
    (lambda s, n: s.striped_counter(name="n", stripes=n), "counter 'n': stripes"),
    (lambda s, n: s.table("n").incr("k", n), "table 'n': incr: delta"),
    (lambda s, n: s.table("n").page(mcds.Cursor(), n), "table 'n': page: limit"),
    (lambda s, n: s.table("n").page(mcds.Cursor(n)), "table 'n': page: position"),
    (lambda s, n: pages(s).hit("p", n), "views 'n': hit: n"),
    (lambda s, n: s.limit("n", rates="9/h").take("me", n), "limit 'n': take: n"),
    (lambda s, n: s.limit("n", rates="9/h").give("me", n), "limit 'n': give: n"),
    (lambda s, n: s.limit("n", rates="9/h").page(mcds.Cursor(), n), "limit 'n': page: limit"),
    (lambda s, n: s.limit("n").page(mcds.Cursor(n)), "limit 'n': page: position"),
    (lambda s, n: s.limit("n", rates=[(n, 60)]), "limit 'n': rates: count"),
    (lambda s, n: s.limit("n", rates=[(5, 60, n)]), "limit 'n': rates: burst"),
    (lambda s, n: s.limit("n", rates="5/m", burst=n), "limit 'n': burst"),
    (lambda s, n: s.ids("n").take(n), "ids 'n': take: n"),
    (lambda s, n: list(s.list("n").values(n)), "list 'n': values: skip"),
    (lambda s, n: list(s.list("n").values(limit=n)), "list 'n': values: limit"),
    (lambda s, n: list(s.log("n").events(limit=n)), "log 'n': events: limit"),
    (lambda s, n: s.queue("n", tries=n), "queue 'n': tries"),
    (lambda s, n: s.queue("n", stripes=n), "queue 'n': stripes"),
    (lambda s, n: s.queue("n").scan(n), "queue 'n': scan: limit"),
    (lambda s, n: s.queue("n").dead(n), "queue 'n': dead: limit"),
    (lambda s, n: s.queue("n").push_dead("j", n), "queue 'n': push_dead: tries"),
    (lambda s, n: s.cache("n", jitter=n), "cache 'n': jitter"),
    (lambda s, n: s.online("n", buckets=n), "online 'n': buckets"),
    (lambda s, n: s.semaphore("n", n), "semaphore 'n': permits"),
    (lambda s, n: (s.once("n").settle("k", "r", n), s.once("n").forget("k")), "once 'n': settle: code"),
    (lambda s, n: s.once("n").begin(repr(n)).finish("r", n), "once 'n': finish: code"),
    (lambda s, n: s.pipeline(n).close(), "pipeline: depth"),
    (lambda s, n: s.pipeline().counter("n").add(n).result(), "counter 'n': add: delta"),
    (lambda s, n: s.pipeline().striped_counter("n", n), "counter 'n': stripes"),
    (lambda s, n: s.pipeline().list("n").read(n).result(), "list 'n': read: skip"),
    (lambda s, n: s.pipeline().list("n").read(limit=n).result(), "list 'n': read: limit"),
    (lambda s, n: s.pipeline().log("n").read(limit=n).result(), "log 'n': read: limit"),
    (lambda s, n: run(lambda: s.aio.counter("n").add(n)), "counter 'n': add: delta"),
    (lambda s, n: run(lambda: s.aio.ids("n").take(n)), "ids 'n': take: n"),
    (lambda s, n: run(lambda: hold_all(s.aio.list("n").values(n))), "list 'n': values: skip"),
]
#: The same, of which few numbers are in the range.
CHOICES: List[Tuple[Callable[[Any, Any], object], str, int]] = [
    (lambda s, n: s.exact_counter("n", copies=n), "counter 'n': copies", 1),
    (lambda s, n: s.visitors("n", members=n), "visitors 'n': members", 1),
    (lambda s, n: s.online("n", members=n), "online 'n': members", 1),
    (lambda s, n: s.limit("n", rates="5/m", form=n), "limit 'n': form", 1),
    (lambda s, n: s.ids("n", bits=n), "ids 'n': bits", 53),
    (lambda s, n: (s.semaphore("n", 3).try_acquire(), s.semaphore("n", 3).resize(n)),
     "semaphore 'n': resize: permits", 3),
]
NUMBERED = [(call, where, 3) for call, where in INTEGERS] + CHOICES


@pytest.mark.parametrize("call, where, number", NUMBERED)
def test_an_integer_has_an_index(call: Callable[[Any, Any], object], where: str, number: int) -> None:
    """An object with __index__ is accepted. One that has only __int__ is refused, because __int__ truncates."""
    with mcds.open("memory:") as s:
        call(s, number)
        call(s, Exact(number))
        call(s, Both(number))
        values: List[Any] = [decimal.Decimal("3.9"), fractions.Fraction(7, 2), uuid.UUID(int=3), Truncated(), "3", int]
        for value in values:
            with pytest.raises(TypeError) as caught:
                call(s, value)
            assert str(caught.value) == f"{where} must be an integer, not {type(value).__name__}"
        with pytest.raises(LookupError, match="of the program"):
            call(s, Broken())


def test_an_index_is_what_counts() -> None:
    with mcds.open("memory:") as s:
        assert s.counter("n").add(Exact(7)) == 7  # type: ignore[arg-type]
        assert len(s.ids("n").take(Both(5))) == 5  # type: ignore[arg-type]
        assert s.queue("n", tries=Exact(3))._opened is s.queue("n", tries=3)._opened  # type: ignore[arg-type]
        with pytest.raises(mcds.Invalid, match=f"counter 'n': add: delta must be {DELTA}, not {2 ** 63}"):
            s.counter("n").add(Exact(2 ** 63))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [None, "5", 1.9, decimal.Decimal(7)])
def test_load_returns_an_integer(value: Any) -> None:
    with mcds.open("memory:") as s, pytest.raises(mcds.Io) as caught:
        s.views("n", lambda *_: value, lambda *_: None).get("p")
    assert str(caught.value) == f"views 'n': get: load must return an integer, not {type(value).__name__}"
    assert repr(caught.value.__cause__) == repr(
        TypeError(f"load must return an integer, not {type(value).__name__}"))


@pytest.mark.parametrize("value", [-1, 2 ** 63])
def test_load_returns_a_number_of_views(value: int) -> None:
    with mcds.open("memory:") as s, pytest.raises(mcds.Io) as caught:
        s.views("n", lambda *_: value, lambda *_: None).get("p")
    assert str(caught.value) == f"views 'n': get: load must return 0 to {2 ** 63 - 1}, not {value}"


def test_a_function_that_raises_is_named() -> None:
    def fail(*_: Any) -> Any:
        raise LookupError("no such row")

    with mcds.open("memory:") as s:
        said = sentence(lambda: s.views("n", fail, lambda *_: None).get("p"))
        assert said == "views 'n': get: load has raised LookupError: no such row"
        pages = s.views("n", lambda *_: 0, fail)
        pages.hit("p")
        where = "views 'n': flush_final: page 'p' is not saved; correct the cause and flush again; "
        for call in (pages.flush_final, lambda: s.pipeline().views("n", lambda *_: 0, fail).flush_final().result(),
                     lambda: run(lambda: s.aio.views("n", lambda *_: 0, fail).flush_final())):
            assert sentence(call) == where + "save has raised LookupError: no such row"


#: Calls with a text that goes to C as a string.
STRINGS: List[Tuple[Callable[[Any, Any], object], str]] = [
    (lambda s, text: s.visitors("n").hit(text), "visitors 'n': hit: visitor"),
    (lambda s, text: s.online("n").beat(text), "online 'n': beat: visitor"),
    (lambda s, text: pages(s).hit(text), "views 'n': hit: page"),
    (lambda s, text: pages(s).get(text), "views 'n': get: page"),
    (lambda s, text: s.lock("n", label=text), "lock 'n': label"),
    (lambda s, text: s.semaphore("n", 2, label=text), "semaphore 'n': label"),
    (lambda s, text: s.pipeline().visitors("n").hit(text), "visitors 'n': hit: visitor"),
    (lambda s, text: run(lambda: s.aio.online("n").beat(text)), "online 'n': beat: visitor"),
    (lambda s, text: s.set(text), r"set 'a\x00b': name"),
    (lambda s, text: s.striped_counter(text, 2), r"counter 'a\x00b': name"),
]


@pytest.mark.parametrize("call, where", STRINGS)
def test_a_nul_is_named(call: Callable[[Any, Any], object], where: str) -> None:
    with mcds.open("memory:") as s:
        for text in ("a\0b", b"a\0b"):
            with pytest.raises(ValueError) as caught:
                call(s, text)
            assert str(caught.value) == f"{where} must not have a NUL"


#: Calls with several elements.
SEVERAL: List[Tuple[Callable[[Any, Any], object], str]] = [
    (lambda s, some: s.queue("n").push_many(some), "queue 'n': push_many: jobs must be"),
    (lambda s, some: s.log("n").put_many(some), "log 'n': put_many: events must be"),
    (lambda s, some: s.list("n").extend(some), "list 'n': extend: values must be"),
    (lambda s, some: s.set("n").update(["a"], some), "set 'n': update: elements must be"),
    (lambda s, some: s.array("n").set(some), "array 'n': set: elements must be"),
    (lambda s, some: s.array("n").change(add=some), "array 'n': change: add must be"),
    (lambda s, some: s.array("n").change(remove=some), "array 'n': change: remove must be"),
    (lambda s, some: s.array("n").change_by(lambda _: some), "array 'n': change_by: change must return"),
    (lambda s, some: s.cache("n").fetch("k", lambda _: b"", tags=some), "cache 'n': fetch: tags must be"),
    (lambda s, some: s.cache("n").look(repr(some), some), "cache 'n': look: tags must be"),
    (lambda s, some: s.pipeline().list("n").push_many(some), "list 'n': push_many: values must be"),
    (lambda s, some: run(lambda: s.aio.queue("n").push_many(some)), "queue 'n': push_many: jobs must be"),
    (lambda s, some: run(lambda: s.aio.list("n").extend(some)), "list 'n': extend: values must be"),
    (lambda s, some: run(lambda: s.aio.set("n").update(some)), "set 'n': update: elements must be"),
    (lambda s, some: run(lambda: s.aio.cache("n").look(repr(some), some)), "cache 'n': look: tags must be"),
]


@pytest.mark.parametrize("call, where", SEVERAL)
def test_several_elements_are_no_text(call: Callable[[Any, Any], object], where: str) -> None:
    with mcds.open("memory:") as s:
        for wrong, found in ((None, "NoneType"), (7, "int"), ("abc", "one str"), (b"abc", "one bytes"),
                             (memoryview(b"abc"), "one memoryview")):
            with pytest.raises(TypeError) as caught:
                call(s, wrong)
            assert str(caught.value) == f"{where} several bytes or str, such as a list of them, not {found}"
        call(s, iter(["a"]))
        call(s, ("b", "c"))


def test_the_noun_of_made_with_is_named() -> None:
    wrong: List[Any] = ["", "x", "table", 5, None, []]
    with mcds.open("memory:") as s:
        for noun in wrong:
            assert sentence(lambda: s.made_with(noun, "x")) == (
                "store: made_with: noun must be one of counter, visitors, online, views, set, ids, semaphore and queue, whose options "
                f"are stored, not {noun!r}")


def test_options_of_a_log_are_named() -> None:
    with mcds.open("memory:") as s:
        said = sentence(lambda: s.log("g").put("x", when=5))
        assert "more than the log's option late before this machine's clock" in said and "at most 60 s" in said
        said = sentence(lambda: s.log("g").put("x", when=9e9))
        assert "more than the log's option ahead after this machine's clock" in said and "at most 5 s" in said


U32, U64 = (f"0 to {2 ** bits - 1}" for bits in (32, 64))
I64 = f"{-2 ** 63} to {2 ** 63 - 1}"
#: Of an add to a counter.
DELTA = f"{1 - 2 ** 61} to {2 ** 61 - 1}"
RATE = {"rates": "5/s"}
#: Numbers outside of the types of C. The range is that of the library, where it has a narrower one.
NUMBERS: List[Tuple[Callable[[Any], object], str, str, str, int]] = [
    (lambda s: s.striped_counter("n", stripes=-1), "counter 'n'", "stripes", "0 to 32", -1),
    (lambda s: s.striped_counter(name="n", stripes=2 ** 32), "counter 'n'", "stripes", "0 to 32", 2 ** 32),
    (lambda s: s.semaphore("n", permits=-1), "semaphore 'n'", "permits", "0 to 60", -1),
    (lambda s: s.exact_counter("n", copies=-1), "counter 'n'", "copies", "0 to 7", -1),
    (lambda s: s.online("n", buckets=2 ** 32), "online 'n'", "buckets", "0 to 32", 2 ** 32),
    (lambda s: s.cache("n", jitter=2 ** 40), "cache 'n'", "jitter", "0 to 90", 2 ** 40),
    (lambda s: s.limit("n", rates=[(5, 1)], burst=-1), "limit 'n'", "burst", "0 to 1581120000", -1),
    (lambda s: s.queue("n", stripes=-1), "queue 'n'", "stripes", "0 to 32", -1),
    (lambda s: s.queue("n", tries=2 ** 32), "queue 'n'", "tries", "0 to 10000", 2 ** 32),
    (lambda s: s.queue("n").push_dead("j", -1), "queue 'n': push_dead", "tries", "0 to 65535", -1),
    (lambda s: s.pipeline(depth=-1), "pipeline", "depth", "0 to 65536", -1),
    (lambda s: s.counter("n").add(2 ** 63), "counter 'n': add", "delta", DELTA, 2 ** 63),
    (lambda s: s.table("n").incr("k", 2 ** 63), "table 'n': incr", "delta", I64, 2 ** 63),
    (lambda s: s.table("n").page(mcds.Cursor(), limit=-1), "table 'n': page", "limit", U64, -1),
    (lambda s: s.table("n").page(mcds.Cursor(-1)), "table 'n': page", "position", U64, -1),
    (lambda s: s.limit("n", **RATE).take("me", n=-1), "limit 'n': take", "n", "1 to 5", -1),
    (lambda s: s.limit("n", **RATE).take("me", 2 ** 64), "limit 'n': take", "n", "1 to 5", 2 ** 64),
    (lambda s: s.ids("n").take(-1), "ids 'n': take", "n", "1 to 65536", -1),
    (lambda s: s.semaphore("n", 2).resize(-1), "semaphore 'n': resize", "permits", "1 to 60", -1),
    (lambda s: s.views("n", lambda *_: 0, lambda *_: None).hit("p", 2 ** 63), "views 'n': hit", "n", U32, 2 ** 63),
    (lambda s: list(s.list("n").values(skip=-1)), "list 'n': values", "skip", U64, -1),
    (lambda s: list(s.log("n").events(limit=-1)), "log 'n': events", "limit", U64, -1),
    (lambda s: s.queue("n").scan(limit=-1), "queue 'n': scan", "limit", U64, -1),
    (lambda s: s.pipeline().counter("n").add(2 ** 63), "counter 'n': add", "delta", DELTA, 2 ** 63),
    (lambda s: s.pipeline().list("n").read(limit=-1), "list 'n': read", "limit", U64, -1),
    (lambda s: run(lambda: s.aio.counter("n").add(2 ** 63)), "counter 'n': add", "delta", DELTA, 2 ** 63),
    (lambda s: run(lambda: s.aio.ids("n").take(n=-1)), "ids 'n': take", "n", "1 to 65536", -1),
]


#: Rates that are refused, and why.
RATES: List[Tuple[Any, str]] = [
    ([(5, 0)], "rates: per must be 0.001 to 31622400 seconds, not 0"),
    ([(5, 0.0001)], "rates: per must be at least 0.001 seconds, not 0.0001"),
    (["5/m", (5, datetime.timedelta(microseconds=999))],
     "rates: per must be at least 0.001 seconds, not datetime.timedelta(microseconds=999)"),
    ([(1, 40_000_000)], "rates: per must be 0.001 to 31622400 seconds, not 40000000"),
    ([(5, 1, -1)], "rates: burst must be 0 to 1581120000, not -1"),
    ([(-1, 1)], "rates: count must be 1 to 1000000000, not -1"),
    (b"5/m", "rates must be a str or an iterable of rates, not bytes"),
    (memoryview(b"5/m"), "rates must be a str or an iterable of rates, not memoryview"),
]


@pytest.mark.parametrize("rates, said", RATES)
def test_rates_are_named(rates: Any, said: str) -> None:
    with mcds.open("memory:") as s:
        for runner in (s, s.aio, s.pipeline()):
            with pytest.raises((mcds.Invalid, TypeError, ValueError)) as caught:
                runner.limit("n", rates=rates)  # type: ignore[attr-defined]
            assert str(caught.value) == f"limit 'n': {said}"
            assert not isinstance(caught.value, mcds.Invalid) or caught.value.option == "rates"
        assert s.limit("n", rates=[(1, 0.001)]).take("me")


def run(call: Callable[[], Any]) -> Any:
    async def main() -> Any:
        return await call()

    return asyncio.run(main())


@pytest.mark.parametrize("call, where, option, wanted, found", NUMBERS)
def test_numbers_outside_of_the_types_of_c(call: Callable[[Any], object], where: str, option: str,
                                           wanted: str, found: int) -> None:
    with mcds.open("memory:") as s, pytest.raises(mcds.Invalid) as caught:
        call(s)
    error = caught.value
    assert str(error) == f"{where}: {option} must be {wanted}, not {found}"
    assert isinstance(error, ValueError) and error.cause == "OUT_OF_RANGE"
    assert (error.option, error.wanted, error.found_number) == (option, wanted, found)
    assert f"{error.noun} '{error.name}'" == where.partition(":")[0] or where == "pipeline"


PERMITS = "the semaphore does not exist; make it with permits=N"
#: Calls of structures that do not exist.
ABSENT: List[Tuple[Callable[[Any], object], str]] = [
    (lambda s: s.counter("c").read(), "counter 'c': read: no such key"),
    (lambda s: s.striped_counter("c", 2).read(), "counter 'c': read: no such key"),
    (lambda s: s.table("t").compare_and_set("k", "a", "b"), "table 't': compare_and_set: no such key"),
    (lambda s: s.semaphore("x\x1b").try_acquire(), f"semaphore 'x\\x1b': try_acquire: {PERMITS}"),
    (lambda s: s.semaphore("x").acquire(), f"semaphore 'x': acquire: {PERMITS}"),
    (lambda s: s.semaphore("x").__enter__(), f"semaphore 'x': acquire: {PERMITS}"),
    (lambda s: s.semaphore("x").resize(2), f"semaphore 'x': resize: {PERMITS}"),
    (lambda s: s.pipeline().counter("c").read().result(), "counter 'c': read: no such key"),
    (lambda s: s.pipeline().semaphore("x").try_acquire().result(), f"semaphore 'x': try_acquire: {PERMITS}"),
    (lambda s: run(lambda: s.aio.counter("c").read()), "counter 'c': read: no such key"),
    (lambda s: run(lambda: s.aio.semaphore("x").try_acquire()), f"semaphore 'x': try_acquire: {PERMITS}"),
    (lambda s: run(lambda: s.aio.semaphore("x").acquire()), f"semaphore 'x': acquire: {PERMITS}"),
]


@pytest.mark.parametrize("call, said", ABSENT)
def test_what_is_absent_has_a_name(call: Callable[[Any], object], said: str) -> None:
    with mcds.open("memory:") as s, pytest.raises(mcds.NotFound) as caught:
        call(s)
    error = caught.value
    assert (str(error), error.result) == (said, 1) and said.endswith(error.reason)
    assert said.startswith(f"{error.noun} '") and f": {error.verb}: " in said and error.name[0] in "ctx"


#: Each option that is true or false.
SWITCHES = [(noun, name) for noun in OPENERS
            for name, one in inspect.signature(getattr(mcds.Store, noun)).parameters.items()
            if isinstance(one.default, bool)]


@pytest.mark.parametrize("noun, name", SWITCHES)
def test_an_option_has_a_truth_value(noun: str, name: str) -> None:
    """The handle is the one of True or of False."""
    needed: Any = {"striped_counter": {"stripes": 2}}.get(noun, {})
    with mcds.open("memory:") as s:
        for value in (2, 1.5, 2 ** 32, -1, "yes", [0], 0, 0.0, "", [], None):
            given = getattr(s, noun)("x", **needed, **{name: value})
            meant = getattr(s, noun)("x", **needed, **{name: bool(value)})
            assert given._opened is meant._opened, value


def test_a_truth_value_is_not_another_flag() -> None:
    with mcds.open("memory:") as s:
        balance = s.counter("z", signed=2)  # type: ignore[arg-type]
        balance.add(1)
        s.counter("z").drop()
        assert balance.add(-1) == -1
        log = s.log("g", by_arrival=2)  # type: ignore[arg-type]
        log.put("e")
        newest = log.events(newest_first=2)  # type: ignore[arg-type]
        assert [event.data for event in newest] == [b"e"]


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


def test_the_end_of_a_block_that_was_not_begun() -> None:
    """Or was ended before."""
    async def leave(block: Any) -> None:
        await block.__aexit__(None, None, None)

    with mcds.open("memory:") as s:
        blocks: List[Tuple[str, Any, Any]] = [
            ("lock", s.lock("x"), s.aio.lock("x")), ("semaphore", s.semaphore("x", 1), s.aio.semaphore("x", 1))]
        for noun, block, awaited in blocks:
            for _ in range(2):
                assert sentence(lambda: block.__exit__(None, None, None)) == (
                    f"{noun} 'x': __exit__: needs a block that this thread has begun")
                with block:
                    pass
            assert sentence(lambda: run(lambda: leave(awaited))) == (
                f"{noun} 'x': __aexit__: needs a block that this task has begun")


def test_a_block_of_a_job_that_is_not_held() -> None:
    async def main(s: mcds.Store) -> None:
        job = await s.aio.queue("q").next()
        async with job:
            pass
        async with job:
            raise AssertionError("the body runs")

    with mcds.open("memory:") as s:
        s.queue("q").push_many(["a", "b"])
        job = s.queue("q").next()
        assert job is not None
        with job:
            pass
        assert sentence(job.__enter__) == "queue 'q': __enter__: needs a job that is held"
        assert sentence(lambda: run(lambda: main(s))) == "queue 'q': __aenter__: needs a job that is held"


def test_an_asynchronous_block_of_a_closed_store() -> None:
    with mcds.open("memory:") as s:
        pass
    assert sentence(lambda: run(s.aio.__aenter__)) == "the store is closed"
