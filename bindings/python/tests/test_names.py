"""A message begins with the structure, its name and the method that was called.

The calls come from the classes, as in test_siblings.py: each public method of what a server has answered
before and does not answer now. A new method is called without a change here.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Callable, Dict, Iterable, Iterator, List, Tuple

import mcds
import pytest
from test_siblings import CLAIMS, OPENERS, OPTIONS, TYPES, Awaited, Pipelined, Way

#: What makes a fine argument of a type that siblings do not have in common.
OTHERS: Dict[str, Callable[[], Any]] = {
    "Fill": lambda: lambda key: b"", "AwaitedFill": lambda: lambda key: later(b""),
    "Callable[[], Optional[Bytes]]": lambda: lambda: b"", "Iterable[Bytes]": lambda: [b"a"],
    "Callable[[], Awaitable[Optional[Bytes]]]": lambda: lambda: later(b""), "object": lambda: b"x",
    "Union[bytes, T]": lambda: b"x"}
#: Those without a request of their own, and a fetch: it returns what `fill` has returned.
ANSWERED = {"cached", "fetch", "job", "adopt", "export", "check", "follow", "isdisjoint"}
#: Those that return an iterable, whose iteration is named.
ITERABLE = {"keys": "__iter__"}
#: Of a pipeline: they need a job.
OF_A_JOB = {"done", "again", "longer"}


def first(some: Iterable[Any]) -> Any:
    """Of list(), Python asks for the length first."""
    return next(iter(some))


#: Operators, with what they return or iterate.
OPERATORS: List[Tuple[str, str, Callable[[Any], Any]]] = [
    ("set", "__contains__", lambda one: b"x" in one), ("set", "__len__", len), ("set", "__bool__", bool),
    ("set", "__iter__", first), ("sequence", "__iter__", first), ("bag", "__contains__", lambda one: b"x" in one),
    ("table", "__getitem__", lambda one: one[b"x"]), ("table", "__setitem__", lambda one: one.__setitem__(b"x", b"y")),
    ("table", "__delitem__", lambda one: one.__delitem__(b"x")), ("table", "__contains__", lambda one: b"x" in one),
    ("table", "__len__", len), ("table", "__bool__", bool), ("table", "__iter__", first),
    ("table", "__eq__", lambda one: one == {}), ("table", "__iter__", lambda one: first(one.keys())),
    ("table", "items", lambda one: first(one.items())), ("table", "values", lambda one: first(one.values())),
    ("table", "__setitem__", lambda one: one.update({b"x": b"y"})),
    ("list", "__contains__", lambda one: b"x" in one), ("list", "__len__", len), ("list", "__bool__", bool),
    ("list", "__iter__", first), ("log", "__iter__", first), ("array", "__iter__", first), ("array", "__len__", len),
    ("array", "__contains__", lambda one: b"x" in one), ("lock", "acquire", lambda one: one.__enter__()),
    ("semaphore", "acquire", lambda one: one.__enter__())]
#: The nouns of what is opened with another name.
NOUNS = {"striped_counter": "counter", "exact_counter": "counter", "bag": "set", "sequence": "set"}


async def later(value: bytes) -> bytes:
    return value


def noun_of(what: str) -> str:
    opener = CLAIMS.get(what, (what, ()))[0].partition(".")[0]
    return NOUNS.get(opener, opener)


def arguments_of(method: Any) -> Dict[str, Any]:
    """Only those that are needed, so that no call waits."""
    made = {}
    for one in [*inspect.signature(method).parameters.values()][1:]:
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            kind = str(one.annotation)
            made[one.name] = OTHERS[kind]() if kind in OTHERS else TYPES[kind][0]()
    return made


def methods_of(kind: type) -> Iterator[str]:
    for name in dir(kind):
        if name[0] != "_" and callable(getattr(kind, name)) and name not in ANSWERED:
            yield name


def use(structure: Any, name: str) -> Any:
    """A call, and where it returns a view of the structure, the first step of an iteration."""
    method = getattr(structure, name)
    if name in ("keys", "items", "values") and isinstance(structure, mcds.Table):
        return first(method())
    given = arguments_of(getattr(type(structure), name))
    if name == "update":
        return method({b"a": b"b"} if isinstance(structure, mcds.Table) else [b"a"])
    positional = [given.pop(one.name) for one in inspect.signature(getattr(type(structure), name)).parameters.values()
                  if one.kind is one.POSITIONAL_ONLY and one.name in given]
    return method(*positional, **given)


async def said(way: Way, begin: Callable[[], Any]) -> str:
    try:
        await way.result(begin())
    except (mcds.Error, TypeError) as error:
        return str(error)
    return "nothing"


async def wrong_names(way: Way, what: str, structure: Any, space: str) -> List[str]:
    found = []
    for name in methods_of(type(structure)):
        if isinstance(structure, mcds.PipelineQueue) and name in OF_A_JOB:
            continue
        message = await said(way, lambda: use(structure, name))
        shown = "__setitem__" if name == "update" and what == "table" else ITERABLE.get(name, name)
        if not message.startswith(f"{noun_of(what)} '{space}': {shown}: "):
            found.append(f"{name}: {message}")
    return found


def in_a_loop(main: Any) -> List[str]:
    return asyncio.run(asyncio.wait_for(main, 300))


@pytest.mark.parametrize("kind", [Way, Awaited, Pipelined])
@pytest.mark.parametrize("what", [one for one in OPENERS if one not in ("striped_counter", "exact_counter")])
def test_a_message_names_the_method(what: str, kind: Any, tmp_path: Any) -> None:
    async def main() -> List[str]:
        with mcds.open(f"memcached://{tmp_path}/none.sock", timeout=0.01) as s:
            way = kind({Way: s, Awaited: s.aio, Pipelined: s.pipeline(check_results=False)}[kind], "n")
            structure = getattr(way.runner, what)("n", **OPTIONS.get(what, {}))
            return await wrong_names(way, what, structure, "n")

    assert in_a_loop(main()) == []


@pytest.mark.parametrize("what, shown, use", OPERATORS)
def test_a_message_names_the_operator(what: str, shown: str, use: Callable[[Any], Any], tmp_path: Any) -> None:
    with mcds.open(f"memcached://{tmp_path}/none.sock", timeout=0.01) as s:
        structure = getattr(s, what)("n", **OPTIONS.get(what, {}))
        structure = getattr(s, what)("n", 2, wait=0) if what == "semaphore" else structure
        structure = s.lock("n", wait=0) if what == "lock" else structure
        with pytest.raises(mcds.Unavailable) as caught:
            use(structure)
        assert str(caught.value).startswith(f"{noun_of(what)} 'n': {shown}: ")
        assert caught.value.verb == shown


@pytest.mark.parametrize("kind", [Way, Awaited])
@pytest.mark.parametrize("what", CLAIMS)
def test_a_message_of_a_claim_names_the_method(what: str, kind: Any, restarted: Any) -> None:
    async def main() -> List[str]:
        with restarted() as uri:
            s = mcds.open(uri.partition("?")[0], timeout=5)
            way = kind(s if kind is Way else s.aio, "n")
            claim = await way.open(what, 1)
        with s:
            s.limit_timeout(0.01)
            return await wrong_names(way, what, claim, "n1")

    assert in_a_loop(main()) == []


def test_a_message_of_a_counter_in_parts_names_the_method(tmp_path: Any) -> None:
    s = mcds.open(f"memcached://{tmp_path}/none.sock", timeout=0.01)
    striped, exact = s.striped_counter("n", 2), s.exact_counter("n", flush=0)
    calls: List[Tuple[str, Callable[[], Any]]] = [
        ("add", striped.add), ("get", striped.get), ("read", striped.read), ("take", striped.take), ("drop", striped.drop),
        ("add", exact.add), ("get", exact.get), ("read", exact.read), ("take", exact.take), ("drop", exact.drop)]
    for shown, begin in calls:
        with pytest.raises((mcds.Unavailable, mcds.Unsupported), match=f"^counter 'n': {shown}: "):
            begin()
    summed = s.exact_counter("n", flush=60)
    summed.add()
    for end in (summed.flush, s.close):
        with pytest.raises(mcds.Unavailable, match="^counter 'n': flush: "):
            end()


def test_a_message_of_the_store_names_the_method(tmp_path: Any) -> None:
    with mcds.open(f"memcached://{tmp_path}/none.sock", timeout=0.01) as s:
        with pytest.raises(mcds.Unavailable, match="^store: structures: "):
            list(s.structures())
        with pytest.raises(mcds.Unavailable, match="^set 'n': made_with: "):
            s.made_with("set", "n")
        with pytest.raises(mcds.Unsupported, match="^store: backup: "):
            s.backup(tmp_path / "copy")


def test_a_failure_inside_of_a_function_keeps_its_method(s: mcds.Store) -> None:
    """Also if the structure is the same."""
    cache, array, once = s.cache("n"), s.array("n"), s.once("n")

    def fill(key: bytes) -> bytes:
        cache.hold("", 30)
        raise AssertionError

    def change(elements: List[bytes]) -> List[bytes]:
        s.table("n").incr("k", 1 << 80)
        raise AssertionError

    def work() -> bytes:
        once.forget("")
        raise AssertionError

    with pytest.raises(mcds.Invalid, match="^cache 'n': hold: "):
        cache.fetch("k", fill)
    with pytest.raises(mcds.Invalid, match="^table 'n': incr: "):
        array.change_by(change)
    with pytest.raises(mcds.Invalid, match="^once 'n': forget: "):
        once.run("k", work)


#: Calls with a text, and where the message says that it is.
TEXTS: List[Tuple[Callable[[Any, Any], Any], str]] = [
    (lambda s, text: s.counter(text), r"counter 'a\ud800': name has"),
    (lambda s, text: s.bag(name=text), r"set 'a\ud800': name has"),
    (lambda s, text: s.lock("n", label=text), "lock 'n': label has"),
    (lambda s, text: s.semaphore("n", 2, label=text), "semaphore 'n': label has"),
    (lambda s, text: s.set("n").add(text), "set 'n': add: element has"),
    (lambda s, text: s.set("n").update(["b", text]), "set 'n': update: element has"),
    (lambda s, text: s.table("n").put("k", text), "table 'n': put: value has"),
    (lambda s, text: s.table("n").put(text, "v"), "table 'n': put: key has"),
    (lambda s, text: s.table("n").__setitem__("k", text), "table 'n': __setitem__: value has"),
    (lambda s, text: s.table("n").setdefault("k", text), "table 'n': setdefault: default has"),
    (lambda s, text: s.list("n").extend(["b", text]), "list 'n': extend: values has an element with"),
    (lambda s, text: s.array("n").set([text]), "array 'n': set: elements has an element with"),
    (lambda s, text: s.array("n").change_by(lambda _: [text]), "array 'n': change_by: change has returned a str with"),
    (lambda s, text: s.cache("n").fetch("k", lambda _: text), "cache 'n': fetch: fill has returned a str with"),
    (lambda s, text: s.cache("n").fetch(text, lambda _: b""), "cache 'n': fetch: key has"),
    (lambda s, text: s.once("n").run("k", lambda: text), "once 'n': run: work has returned a str with"),
    (lambda s, text: s.once("n").begin("k2").finish(text), "once 'n': finish: result has"),
    (lambda s, text: s.log("n").put(text), "log 'n': put: event has"),
    (lambda s, text: s.queue("n").push(text), "queue 'n': push: job has"),
    (lambda s, text: s.queue("n").job(text), "queue 'n': job: receipt has"),
    (lambda s, text: s.lock("n").adopt(text), "lock 'n': adopt: token has"),
    (lambda s, text: s.limit("n", rates="1/s").take(text), "limit 'n': take: who has"),
    (lambda s, text: s.visitors("n").hit(text), "visitors 'n': hit: visitor has"),
    (lambda s, text: s.online("n").beat(text), "online 'n': beat: visitor has"),
    (lambda s, text: s.views("n", lambda *_: 0, lambda *_: None).hit(text), "views 'n': hit: page has"),
    (lambda s, text: s.pipeline().table("n").put("k", text), "table 'n': put: value has"),
    (lambda s, text: asyncio.run(awaited(lambda: s.aio.table("n").put("k", text))), "table 'n': put: value has"),
    (lambda s, text: s.made_with("set", text), "store: made_with: name has"),
    (lambda s, text: s.backup(text), "store: backup: path has"),
    (lambda s, text: mcds.open("memory:", ns=text), "store: ns has"),
    (lambda s, text: mcds.open(text), "store: uri has"),
    (lambda s, text: mcds.LogCursor.load(text), "log: load: text has"),
]


async def awaited(begin: Callable[[], Any]) -> Any:
    return await begin()


@pytest.mark.parametrize("use, where", TEXTS)
def test_a_lone_surrogate_is_named(use: Callable[[Any, Any], Any], where: str) -> None:
    with mcds.open("memory:") as s, pytest.raises(mcds.Invalid) as caught:
        use(s, "a\ud800")
    error = caught.value
    assert isinstance(error, ValueError) and error.__cause__ is None
    assert str(error) == f"{where} the lone surrogate U+D800, which UTF-8 cannot encode; pass bytes"
    assert (error.cause, error.result) == ("BAD_BYTE", -6)
    assert where.startswith(error.noun)


def test_what_cannot_be_stored_is_absent(s: mcds.Store) -> None:
    assert "\ud800" not in s.set("n") and s.table("n").get("\ud800") is None and "\ud800" not in s.list("n")
    assert s.set("n") == set() and s.set("n") != {"\ud800"}


#: Arguments of a store.
STORES: List[Tuple[Callable[[Any], Any], str]] = [
    (lambda s: mcds.open(7), "store: uri must be bytes or str, not int"),  # type: ignore[arg-type]
    (lambda s: mcds.open("memory:", ns=7), "store: ns must be bytes or str, not int"),  # type: ignore[arg-type]
    (lambda s: mcds.open("memory:\0"), "store: uri must not have a NUL"),
    (lambda s: mcds.open("memory:", timeout="5"),  # type: ignore[arg-type]
     "store: timeout must be a number of seconds or a timedelta, not str"),
    (lambda s: mcds.open("memory:", timeout=0), "store: timeout must not be 0; None selects the default"),
    (lambda s: mcds.open("memory:", timeout=-1), "store: timeout must not be negative"),
    (lambda s: mcds.open("memory:", timeout=4000), "store: timeout must be at most 3600 seconds, not 4000"),
    (lambda s: s.limit_timeout("5"), "store: limit_timeout: timeout must be a number of seconds or a timedelta, not str"),
    (lambda s: s.backup(7), "store: backup: path must be bytes or str, not int"),
    (lambda s: s.made_with("set", 7), "store: made_with: name must be bytes or str, not int"),
    (lambda s: s.pipeline("5"), "pipeline: depth must be an integer, not str"),
    (lambda s: mcds.LogCursor.load(7), "log: load: text must be bytes or str, not int"),  # type: ignore[arg-type]
    (lambda s: mcds.LogCursor("5"),  # type: ignore[arg-type]
     "log: start must be a datetime or a Unix time, not str")]


@pytest.mark.parametrize("use, said_of_it", STORES)
def test_arguments_of_a_store_are_named(use: Callable[[Any], Any], said_of_it: str) -> None:
    with mcds.open("memory:") as s, pytest.raises((TypeError, ValueError)) as caught:
        use(s)
    assert str(caught.value) == said_of_it


def test_help_shows_no_internal_names() -> None:
    """What help() lists is for programs: methods and properties with a text, and constants."""
    found = []
    for name in mcds.__all__:
        kind = getattr(mcds, name)
        if isinstance(kind, type) and not issubclass(kind, (mcds.Error, tuple, int)):
            found += [f"{name}.{one}" for one, value in inspect.getmembers(kind)
                      if one[0] != "_" and not callable(value) and not isinstance(value, property) and not one.isupper()
                      and one not in getattr(kind, "__dataclass_fields__", {}) and not inspect.ismemberdescriptor(value)]
    assert found == []


def test_a_value_that_is_not_a_number_is_named(s: mcds.Store) -> None:
    table: Any = s.table("n")
    table.update({"a": "x", b"\xff" * 80: "1.5"})
    calls: List[Tuple[Callable[[], Any], str]] = [
        (lambda: table.incr("a"), "b'a'"), (lambda: s.pipeline().table("n").incr(b"a").result(), "b'a'"),
        (lambda: asyncio.run(awaited(lambda: s.aio.table("n").incr("a"))), "b'a'"),
        (lambda: table.incr(b"\xff" * 80), "b'" + "\\xff" * 13 + "\\x...")]
    for begin, key in calls:
        with pytest.raises(mcds.Corrupt) as caught:
            begin()
        error = caught.value
        assert error.reason == f"the value of the key {key} is not a number; put one, or remove the key"
        assert str(error) == f"table 'n': incr: {error.peer and error.peer + ': '}{error.reason}"
        assert error.cause == "NOT_A_NUMBER" and table["a"] == b"x"
