"""What a programmer of Python expects of the package: of its operators, its messages, and its help."""

from __future__ import annotations

import asyncio
import inspect
import os
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import mcds
import mcds.table
import pytest
from mcds.plan import take_flag


class Text(str):
    pass


class Data(bytes):
    pass


class Number(int):
    pass


class Encoded(str):
    def encode(self, *_: object, **__: object) -> bytes:
        return b"another"


class Converted(bytes):
    def __bytes__(self) -> bytes:
        return b"another"


def test_subclasses_are_what_they_are_of(s: mcds.Store) -> None:
    table = s.table(Text("t"))
    table[Text("k")] = Data(b"v")
    assert table[Data(b"k")] == b"v" and type(table[b"k"]) is bytes and type(s.table(Data(b"t")).name) is bytes
    assert s.counter("c").add(Number(3)) == 3 and s.counter("c").add(True) == 4
    s.set("s").update([Data(b"e"), bytearray(b"f"), memoryview(b"gg")[::2]])
    assert sorted(s.set("s")) == [b"e", b"f", b"g"]


def test_a_subclass_does_not_choose_its_bytes(s: mcds.Store, tmp_path: Path) -> None:
    table = s.table(Encoded("t"))
    table[Encoded("k")] = Encoded("v")
    table[Converted(b"l")] = Converted(b"w")
    assert dict(s.table("t")) == {b"k": b"v", b"l": b"w"} and table.name == b"t"
    assert s.made_with("set", Encoded("s")) is None
    s.set("s").add(Encoded("e"))
    assert Encoded("e") in s.set("s") and s.made_with("set", Encoded("s")) is not None
    with mcds.open(Encoded("memory:"), ns=Encoded("ns")) as other:
        other.visitors("v").hit(Encoded("ann"))


def test_operators_see_text_as_bytes(s: mcds.Store) -> None:
    x: Any = s.set("x")
    x.update(["a", "b"], {"b": 1}, [])
    x.update()
    assert x == {"a", "b"} and {"a", "b"} == x and x == {b"a", "b"} and x != {"a"} and x != ["a", "b"]
    assert x <= {"a", "b"} and x < {"a", "b", "c"} and not x < {"a", "b"} and x >= {"a"} and x > {"a"}
    assert x & {"a", "q"} == {b"a"} == {"a", "q"} & x
    assert x - {"a"} == {b"b"} and {"a", "q"} - x == {b"q"}
    assert x | {"c"} == {b"a", b"b", b"c"} == {"c"} | x
    assert x ^ {"a", "c"} == {b"b", b"c"} == {"a", "c"} ^ x
    assert x - ["a"] == {b"b"} and x == x and x <= x and x - x == set() and x & x == {b"a", b"b"}
    assert x != {"\ud800", 7} and x - {"\ud800", 7} == {b"a", b"b"}
    with pytest.raises(TypeError):
        x <= ["a"]
    x -= {"a"}
    x |= {"c", "d"}
    x &= {"c", "d"}
    x ^= {"d", "e"}
    assert x == {"c", "e"} and not x.isdisjoint({"c"})


def test_views_of_a_table_see_text_as_bytes(s: mcds.Store) -> None:
    table: Any = s.table("t")
    table.update({"a": "1"}, b="2")
    assert table == {"a": "1", b"b": b"2"} and table != {"a": "1"} and table != 7 and table == s.table("t")
    assert table.keys() == {"a", "b"} and table.keys() - {"a"} == {b"b"} and table.keys() & {"a"} == {b"a"}
    assert "1" in table.values() and "3" not in table.values() and 7 not in table.values()
    assert ("a", "1") in table.items() and (b"a", b"1") in table.items()
    for other in (("a", "2"), ("q", None), ("q", "1"), 7, (), (7, 7)):
        assert other not in table.items()
    assert repr(table.keys()) == "Keys(<mcds.Table b't'>)"
    taken = [table.popitem(), table.popitem()]
    assert sorted(taken) == [(b"a", b"1"), (b"b", b"2")] and not table


def test_popitem_passes_over_what_others_remove(s: mcds.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    table = s.table("t")
    table.update({b"a": b"1", b"b": b"2"})
    take: Callable[[int, Any], bool] = take_flag
    lost: List[bytes] = []

    def take_after_another(code: int, out: Any) -> bool:
        is_ours = take(code, out)
        if not lost:
            lost.extend({b"a", b"b"} - {*table})
            return False
        return is_ours

    monkeypatch.setattr(mcds.table, "take_flag", take_after_another)
    assert {table.popitem()[0], *lost} == {b"a", b"b"}
    with pytest.raises(mcds.NotFound, match="empty"):
        table.popitem()


def test_text_is_found_in_lists_and_arrays(s: mcds.Store) -> None:
    s.list("l").extend(["a", "b"])
    s.array("a").set(["a", "b"])
    both: List[Any] = [s.list("l"), s.array("a")]
    for elements in both:
        assert "b" in elements and b"b" in elements and bytearray(b"b") in elements
        assert "c" not in elements and 7 not in elements and "\ud800" not in elements


def test_what_is_absent_is_named(s: mcds.Store) -> None:
    calls: List[Tuple[Callable[[], Any], str]] = [
        (lambda: s.table("t")["k"], "table 't': __getitem__: no key 'k'"),
        (lambda: s.table("t").pop("k"), "table 't': pop: no key 'k'"),
        (lambda: s.table("t").__delitem__("k"), "table 't': __delitem__: no key 'k'"),
        (lambda: s.table("t").popitem(), "table 't': popitem: empty"),
        (lambda: s.set("s").remove("e"), "set 's': remove: no element 'e'"),
        (lambda: s.set("s").pop(), "set 's': pop: empty"),
        (lambda: asyncio.run(remove(s)), "set 's': remove: no element 'e'")]
    for call, message in calls:
        with pytest.raises(mcds.NotFound) as caught:
            call()
        error = caught.value
        assert str(error) == message and f"{error.noun} '{error.name}': {error.verb}: {error.reason}" == message
        assert isinstance(error, KeyError)
    with pytest.raises(mcds.NotFound) as caught:
        s.table("t")["x" * 100000]
    assert len(str(caught.value)) < 100


async def remove(s: mcds.Store) -> None:
    await s.aio.set("s").remove("e")


def test_what_is_no_function_is_refused_before_it_does_harm(s: mcds.Store) -> None:
    """No failure is stored for others, and no claim is made."""
    cache, once, array = s.cache("c"), s.once("o", strict=True), s.array("a")
    wrong: Any = 7
    with pytest.raises(TypeError, match="^cache 'c': fetch: fill must be a function, not int"):
        cache.fetch("k", wrong)
    with pytest.raises(TypeError, match="^cache 'c': fetch: fill must be a function, not int"):
        asyncio.run(fetch(s.aio.cache("c"), wrong))
    assert cache.fetch("k", lambda key: b"v") == b"v"
    with pytest.raises(TypeError, match="^once 'o': run: work must be a function, not int"):
        once.run("k", wrong)
    with pytest.raises(TypeError, match="^once 'o': run: work must be a function, not int"):
        asyncio.run(run(s.aio.once("o", strict=True), wrong))
    assert once.run("k", lambda: b"r") == b"r"
    for cached in (cache.cached, s.aio.cache("c").cached):
        with pytest.raises(TypeError, match="^cache 'c': cached: key must be a function, not int"):
            cached(wrong)
    with pytest.raises(TypeError, match="^array 'a': change_by: change must be a function, not int"):
        array.change_by(wrong)


async def fetch(cache: Any, fill: Any) -> Any:
    return await cache.fetch("k", fill)


async def run(once: Any, work: Any, **options: Any) -> Any:
    return await once.run("k", work, **options)


def test_what_a_function_returns_is_named(s: mcds.Store) -> None:
    cache: Any = s.cache("c")
    once: Any = s.once("o")
    array: Any = s.array("a")
    with pytest.raises(TypeError, match="^cache 'c': fetch: fill must return bytes or str, not int$"):
        cache.fetch("k", lambda key: 7)
    with pytest.raises(TypeError, match="^once 'o': run: work must return bytes or str, not int$"):
        once.run("k", lambda: 7)
    with pytest.raises(TypeError, match="^array 'a': change_by: change must return bytes or str, not int$"):
        array.change_by(lambda old: [7])


def test_work_that_is_not_awaited_is_done_once(s: mcds.Store) -> None:
    """The function is no coroutine function. It has done the work when it returns."""
    done: List[str] = []

    def work(*_: Any) -> bytes:
        done.append("work")
        return b"r"

    for _ in range(2):
        with pytest.raises((TypeError, mcds.Busy)) as caught:
            asyncio.run(run(s.aio.once("o"), work, wait=0))
        assert done == ["work"]
    assert caught.type is mcds.Busy
    with pytest.raises(TypeError, match="^once 'p': run: work must return an awaitable, not bytes$"):
        asyncio.run(run(s.aio.once("p"), work, wait=0))
    with pytest.raises(TypeError, match="^cache 'c': fetch: fill must return an awaitable, not bytes$"):
        asyncio.run(fetch(s.aio.cache("c"), work))


def test_a_structure_is_opened_by_its_store(s: mcds.Store) -> None:
    kinds: List[Any] = [mcds.Table, mcds.Lock, mcds.AioSet, mcds.PipelineCounter, mcds.Queue]
    for kind in kinds:
        with pytest.raises(TypeError, match=rf"^do not call {kind.__name__}\(\): .* store.table\(name\)$"):
            kind(s, "x")
    with pytest.raises(TypeError, match=r"store.pipeline\(\)$"):
        mcds.Pipeline(s)  # type: ignore[arg-type]


def test_a_closed_pipeline_begins_no_block(s: mcds.Store) -> None:
    with s.pipeline() as pipeline:
        pipeline.counter("c").add()
    with pytest.raises(mcds.Invalid, match="the pipeline is closed"):
        pipeline.__enter__()


#: Calls of one wrong argument, and what the TypeError says.
WRONG: Dict[str, Tuple[Callable[[Any], Any], str]] = {
    "uri": (lambda s: mcds.open(7), "store: uri must be bytes or str, not int"),  # type: ignore[arg-type]
    "ns": (lambda s: mcds.open("memory:", ns=7), "store: ns must be bytes or str, not int"),  # type: ignore[arg-type]
    "name": (lambda s: s.made_with("set", 7), "store: made_with: name must be bytes or str, not int"),
    "token": (lambda s: s.lock("l").adopt(7), "lock 'l': adopt: token must be bytes or str, not int"),
    "receipt": (lambda s: s.queue("q", may_lose=True).job(7), "queue 'q': job: receipt must be bytes or str, not int"),
    "text": (lambda s: mcds.LogCursor.load(7), "log: load: text must be bytes or str, not int"),  # type: ignore[arg-type]
    "after": (lambda s: s.queue("q", may_lose=True).next(after=7), "queue 'q': next: after must be a Job, not int"),
    "dead": (lambda s: s.queue("q", may_lose=True).retry(7), "queue 'q': retry: dead must be a JobEntry, not int"),
    "seen": (lambda s: s.lock("l").watch(7), "lock 'l': watch: seen must be a Holder, not int"),
    "page": (lambda s: s.limit("m", rates="1/s").page(7), "limit 'm': page: cursor must be a Cursor, not int"),
    "members": (lambda s: s.visitors("v", members=1.5), "visitors 'v': members must be an integer, not float"),
    "no members": (lambda s: s.online("v", members=None), "online 'v': members must be an integer, not NoneType"),
    "rates": (lambda s: s.limit("m", rates=7), "limit 'm': rates must be a str or an iterable of rates, not int"),
    "rate": (lambda s: s.limit("m", rates=[7]), "limit 'm': each of rates must be a str or a tuple, not int"),
    "awaited token": (lambda s: s.aio.lock("l").adopt(7), "lock 'l': adopt: token must be bytes or str, not int"),
    "awaited dead": (lambda s: asyncio.run(s.aio.queue("q", may_lose=True).retry(7)),
                     "queue 'q': retry: dead must be a JobEntry, not int"),
    "piped seen": (lambda s: s.pipeline().lock("l").watch(7), "lock 'l': watch: seen must be a Holder, not int"),
    "log page": (lambda s: s.log("g").tail(7), "log 'g': tail: cursor must be a LogCursor, not int"),
    "load": (lambda s: s.views("v", 7, print), "views 'v': load must be a function, not int"),
    "again": (lambda s: a_job(s).again("x"),
              "queue 'q': again: delay must be a number of seconds or a timedelta, not str"),
    "watch": (lambda s: s.lock("l").watch(None, "x"),
              "lock 'l': watch: wait must be a number of seconds or a timedelta, not str"),
    "follow": (lambda s: next(s.log("g").follow(pause="x")),
               "log 'g': follow: pause must be a number of seconds or a timedelta, not str"),
    "method": (lambda s: s.table("t").put("k"), r"Table.put\(\) missing 1 required positional argument: 'value'"),
    "renamed": (lambda s: s.lock("l").break_lock(7), r"Lock.break_lock\(\) takes 1 positional argument but 2"),
    "opener": (lambda s: s.exact_counter(), r"Store.exact_counter\(\) missing 1 required .*: 'name'"),
    "option": (lambda s: s.lock("l", tt=3), r"Store.lock\(\) got an unexpected keyword argument 'tt'"),
    "pipeline": (lambda s: s.pipeline().set("s").add(), r"PipelineSet.add\(\) missing 1 required"),
    "loop": (lambda s: s.aio.table("t").incr(), r"AioTable.incr\(\) missing 1 required")}


def a_job(s: Any) -> Any:
    queue = s.queue("q", may_lose=True)
    queue.push("j")
    return queue.next()


#: As WRONG, of the right type.
REFUSED: Dict[str, Tuple[Callable[[Any], Any], str]] = {
    "rate": (lambda s: s.limit("m", rates="5"), "limit 'm': each of rates must be a number and a time, such as 10/s, "
             "1000/h or 5/10s, not '5'$"),
    "parts of a rate": (lambda s: s.limit("m", rates=[(5,)]), "limit 'm': each of rates must have 2 or 3 members, not 1$"),
    "burst": (lambda s: s.limit("m", burst=3), "limit 'm': burst belongs to the first rate, which is missing$"),
    "token": (lambda s: s.lock("l").adopt("a\0b"), "lock 'l': adopt: token must not have a NUL$"),
    "receipt": (lambda s: s.queue("q", may_lose=True).job("a\0b"), "queue 'q': job: receipt must not have a NUL$"),
    "no receipt": (lambda s: s.queue("q", may_lose=True).job("x"), "queue 'q': job: needs the receipt of a job$"),
    "delay": (lambda s: a_job(s).again(-1), "queue 'q': again: delay must not be negative$")}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_argument_is_named(name: str, s: mcds.Store) -> None:
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=f"^{message}"):
        call(s)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_named(name: str, s: mcds.Store) -> None:
    call, message = WRONG[name]
    with pytest.raises(TypeError, match=f"^{message}"):
        call(s)


def test_paths(tmp_path: Path) -> None:
    """Names of files are any bytes."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.mdb")
    with mcds.open(f"lmdb:{path}") as s:
        s.counter("c").add(7)
        s.backup(tmp_path / "copy.mdb")
        assert r"\xff.mdb" in repr(s)
    with mcds.open(f"lmdb:{tmp_path}/copy.mdb") as s:
        assert s.counter("c").get() == 7
    with pytest.raises(ValueError, match="path must not have a NUL"):
        s.backup("a\0b")


def test_a_closed_store_begins_no_block(opener: Callable[..., mcds.Store]) -> None:
    s = opener()
    s.close()
    calls: List[Callable[[], Any]] = [s.__enter__, lambda: s.limit_timeout(1), lambda: s.made_with("set", "x")]
    for call in calls:
        with pytest.raises(mcds.Invalid, match="the store is closed$"):
            call()


def test_no_repr_is_long(s: mcds.Store) -> None:
    name = "x" * 1000
    queue = s.queue(name[:200], may_lose=True)
    queue.push("y" * 60000)
    job = queue.next()
    with mcds.open("memcached://" + ",".join(f"127.0.0.{i}" for i in range(1, 60))) as many:
        assert len(repr(many)) < 250 and repr(many).endswith("...>")
    for one in (s.counter(name), s.aio.set(name), s.pipeline().table(name), job, queue, s.table(name).keys()):
        assert len(repr(one)) < 100 and "..." in repr(one)
    job.done()


def test_differences_of_times_are_in_seconds(s: mcds.Store) -> None:
    with pytest.raises(mcds.TooOld, match=r"the difference is \d{10}(\.\d+)? s, and at most 60 s is accepted$"):
        s.log("g").put("e", when=5)


def test_help_shows_what_is_called() -> None:
    """No private name, and no type that only the package uses."""
    for name in mcds.__all__:
        kind = getattr(mcds, name)
        if not inspect.isclass(kind):
            continue
        for member, method in inspect.getmembers(kind, inspect.isfunction):
            if not member.startswith("_") and method.__module__.startswith("mcds"):
                assert method.__name__ == member, (name, member)
                shown = str(inspect.signature(method))
                assert "Plan[" not in shown and "Opened" not in shown and "Core" not in shown, (name, member, shown)
                assert shown.startswith("(self"), (name, member, shown)
    assert str(inspect.signature(mcds.Store.table)) == "(self, name: 'Bytes') -> 'Table'"
    assert str(inspect.signature(mcds.Table.has)) == "(self, key: 'Bytes') -> 'bool'"
    assert str(inspect.signature(mcds.AioTable.has)) == "(self, key: 'Bytes') -> 'Awaitable[bool]'"
    assert str(inspect.signature(mcds.PipelineTable.has)) == "(self, key: 'Bytes') -> 'Result[bool]'"


def test_opened_again_after_a_loss(s: mcds.Store, opener: Callable[..., mcds.Store]) -> None:
    """`open it again to accept that` is what the message says: the store keeps no handle that has found a loss."""
    def lose() -> None:
        with opener() as other:
            assert other.counter("a").drop()

    first = s.counter("a", strict=True)
    assert first.add() == 1
    lose()
    with pytest.raises(mcds.Lost, match="open it again"):
        first.add()
    again = s.counter("a", strict=True)
    assert again.add() == 1 and s.counter("a", strict=True).add() == 2
    lose()
    with pytest.raises(mcds.Lost, match="open it again"):
        with s.pipeline() as p:
            p.counter("a", strict=True).add()
    assert s.counter("a", strict=True).add() == 1


def test_opened_again_after_a_loss_in_a_loop(s: mcds.Store, opener: Callable[..., mcds.Store]) -> None:
    async def main() -> None:
        assert await s.aio.counter("a", strict=True).add() == 1
        with opener() as other:
            assert other.counter("a").drop()
        with pytest.raises(mcds.Lost, match="open it again"):
            await s.aio.counter("a", strict=True).add()
        assert await s.aio.counter("a", strict=True).add() == 1

    asyncio.run(main())
