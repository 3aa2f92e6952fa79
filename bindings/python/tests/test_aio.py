"""asyncio: thousands in flight, failures, cancellation, several loops."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Coroutine, Iterator

import mcds
import pytest

Opener = Callable[..., mcds.Store]


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 60))


def test_every_structure(s: mcds.Store) -> None:
    async def main() -> None:
        aio = s.aio
        assert await aio.counter("c").add(1) == 1
        await aio.striped_counter("s", 2).add(3)
        await aio.exact_counter("e").add(2)
        await aio.exact_counter("e").flush()
        assert (await aio.counter("c").read()).value == 1
        assert await aio.visitors("v").hit("ann") and await aio.online("o").beat("ann")
        await aio.views("w", lambda page, slot: 0, lambda page, slot, n: None).hit("/a")
        await aio.set("x").add("1")
        assert [e async for e in aio.set("x")] == [b"1"]
        await aio.bag("b").add("1")
        assert [e async for e in aio.bag("b").counts()] == [(b"1", 1)]
        await asyncio.gather(*(aio.table("t").put(str(i), "v") for i in range(300)))
        assert len({key async for key in aio.table("t")}) == 300
        await aio.list("y").extend(["1", "2"])
        assert [v async for v in aio.list("y")] == [b"1", b"2"]
        assert [v async for v in aio.list("y").values(limit=1)] == [b"1"]
        async def fill(key: bytes) -> bytes:
            await asyncio.sleep(0.01)
            return key * 2
        values = await asyncio.gather(*(aio.cache("k").fetch("a", fill) for _ in range(20)))
        assert values == [b"aa"] * 20
        await aio.log("z").put("1")
        assert [e.data async for e in aio.log("z")] == [b"1"]
        async for event in aio.log("z").follow(mcds.LogCursor(1), 0.01):
            assert event.data == b"1"
            break
        await aio.array("a").set(["1"])
        assert await aio.array("a").get() == [b"1"]
        api = aio.limit("m", rates=["2/d"])
        takes = await asyncio.gather(*(api.take("ann") for _ in range(5)))
        assert sum(take.taken for take in takes) == 2
        await api.give("ann")
        assert (await api.get("ann")).remaining == 1
        assert [(who, value.remaining) async for who, value in api.scan()] == [(b"ann", 1)]
        assert await api.drop()
        orders = aio.ids("o", bits=53, spread=0.01)
        assert len(set(await asyncio.gather(*(orders.next() for _ in range(9))))) == 9
        assert len(await orders.take(3)) == 3 and await orders.drop()
        once = aio.once("o")

        async def work() -> bytes:
            return b"done"

        assert await once.run("k", work) == b"done" and (await once.begin("k")).result == b"done"
        assert await once.forget("k")
        jobs = aio.queue("q", tries=1, may_lose=True)
        await jobs.push_many([b"a", b"b"])
        async with await jobs.next() as job:
            assert job.data == b"a"
        assert [job.data async for job in jobs.jobs()] == [b"b"]
        assert (await jobs.count()).waiting == 0
        await jobs.push(b"c")
        await (await jobs.next()).again()
        assert [await jobs.retry(dead) for dead in await jobs.dead()] == [True]
        assert (await jobs.count()).waiting == 1 and await jobs.drop()
        wide = aio.queue("wide", may_lose=True, stripes=4)
        await asyncio.gather(*(wide.push(str(i)) for i in range(40)))
        assert len({job.data async for job in wide.jobs()}) == 40
        with pytest.raises(mcds.Invalid):
            await aio.queue("wide", may_lose=True, stripes=2).push("40")
        assert await wide.count() == (0, 0, 0, 0) and await wide.drop()
        assert await aio.counter("c").drop()

    run(main())


#: What a collection of Python has.
ONLY_WAITING = {"isdisjoint", "pop", "clear", "pairs", "keys", "values", "popitem", "setdefault", "update"}


def test_each_method_can_be_awaited() -> None:
    """The classes of asyncio have the methods of those that wait."""
    names = [name for name in vars(mcds.Aio) if hasattr(mcds.Store, name) and name[0] != "_"]
    assert len(names) == 20
    with mcds.open("memory:") as s:
        for name in names:
            more: Any = {"views": (lambda page, slot: 0, lambda page, slot, n: None),
                         "striped_counter": (2,)}.get(name, ())
            options = {"may_lose": True} if name == "queue" else {}
            waiting = getattr(s, name)("n", *more, **options)
            awaited = getattr(s.aio, name)("n", *more, **options)
            lacks = {one for one in dir(waiting) if one[0] != "_"} - set(dir(awaited))
            assert lacks <= (ONLY_WAITING if name in ("set", "bag", "sequence", "table") else set()), name


def test_collections(s: mcds.Store) -> None:
    async def main() -> None:
        await s.aio.list("l").extend(str(i) for i in range(5000))
        assert [value async for value in s.aio.list("l")] == [b"%d" % i for i in range(5000)]
        await s.aio.set("s").update(["a", "b"])
        await s.aio.set("s").remove("a")
        with pytest.raises(mcds.NotFound):
            await s.aio.set("s").remove("a")
        assert [element async for element in s.aio.set("s")] == [b"b"]

        @s.aio.cache("c").cached(key=lambda user: f"/{user}", tags=lambda user: [user])
        async def render(user: str) -> str:
            return user * 2

        assert await render("a") == await render("a") == b"aa"

    run(main())


def test_thousands_in_flight(s: mcds.Store) -> None:
    """More than the pipeline takes at once; other tasks run meanwhile."""
    async def main() -> None:
        turns = 0

        async def beside() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(beside())
        futures = [s.aio.counter("a").add(1) for _ in range(10000)]
        driver = s.aio._driver_of(asyncio.get_running_loop())
        assert len(driver._running) <= mcds.aio.DEPTH and not any(f.done() for f in futures)
        found = await asyncio.gather(*futures)
        assert sorted(found) == list(range(1, 10001)) and turns > 1
        task.cancel()

    run(main())


def test_failures(s: mcds.Store) -> None:
    s.table("t")["word"] = "x"

    async def main() -> None:
        with pytest.raises(mcds.Corrupt) as caught:
            await s.aio.table("t").incr("word")
        assert caught.value.noun == "table"
        with pytest.raises(mcds.Invalid):
            await s.aio.counter("a").add(-1)
        with pytest.raises(ZeroDivisionError):
            await s.aio.array("a").change_by(lambda old: 1 / 0)  # type: ignore[arg-type, return-value]
        assert await s.aio.counter("a").add(1) == 1

    run(main())


def test_a_cancelled_operation_does_no_harm(s: mcds.Store) -> None:
    async def main() -> None:
        for _ in range(20):
            futures = [s.aio.table("t").put(str(i), "v") for i in range(20)]
            for future in futures[::2]:
                future.cancel()
            await asyncio.gather(*futures, return_exceptions=True)
        assert await s.aio.counter("a").add(1) == 1

    run(main())


def test_one_store_in_several_loops(s: mcds.Store) -> None:
    async def main() -> None:
        await asyncio.gather(*(s.aio.counter("a").add(1) for _ in range(100)))

    for _ in range(3):
        run(main())
    assert s.counter("a").get() == 300


def test_the_store_closes_what_is_in_flight(opener: Opener) -> None:
    async def main() -> None:
        store = opener()
        async with store.aio as aio:
            future = aio.counter("a").add(1)
        with pytest.raises(mcds.Ambiguous):
            await future
        with pytest.raises(mcds.Invalid):
            await store.aio.counter("a").add(1)

    run(main())


def test_an_idle_loop_ends(s: mcds.Store) -> None:
    """No handler stays in the loop when nothing is in flight."""
    async def main() -> None:
        await s.aio.counter("a").add(1)
        driver = s.aio._driver_of(asyncio.get_running_loop())
        assert not driver._running and driver._fd == -1
        assert driver._next is None or driver._next.cancelled() or driver._is_soon

    run(main())


def test_a_server_that_is_down() -> None:
    async def main() -> None:
        with mcds.open("memcached://127.0.0.1:1", timeout=0.2) as store:
            found = await asyncio.gather(*(store.aio.counter("a").add(1) for _ in range(50)),
                                         return_exceptions=True)
        assert {type(one) for one in found} <= {mcds.Unavailable, mcds.Timeout}
        assert all(isinstance(one, mcds.Error) and one.peer for one in found)

    run(main())


def test_outside_of_a_loop(s: mcds.Store) -> None:
    with pytest.raises(RuntimeError):
        s.aio.counter("a").add(1)


def test_an_update_adds_in_parts(s: mcds.Store) -> None:
    """The last element of many comes when the first one is in the set."""
    async def main() -> None:
        for structure, own in ((s.aio.set("s"), s.set("s")), (s.aio.bag("b"), s.bag("b")),
                               (s.aio.sequence("l"), s.sequence("l"))):
            def elements(own: Any = own) -> Iterator[str]:
                yield from map(str, range(2000))
                assert own.has("0")
                yield "last"

            await structure.update(["a"], elements())
            assert len(own) == 2002

    run(main())


def refused(kind: str) -> Iterator[Any]:
    """Elements of which one is refused by the library, or by Python, or whose iterator raises."""
    yield from map(str, range(100))
    if kind == "raises":
        raise LookupError
    yield b"x" * 1025 if kind == "library" else 7
    yield from map(str, range(100, 200))


@pytest.mark.parametrize("kind, failure, count", [
    ("library", mcds.Invalid, 100), ("python", TypeError, 100), ("raises", LookupError, 100)])
def test_an_update_waits_for_all_before_it_raises(kind: str, failure: Any, count: int, s: mcds.Store) -> None:
    async def main() -> None:
        with pytest.raises(failure):
            await s.aio.set("a").update(refused(kind))
        assert len(s.set("a")) == count

    with pytest.raises(failure):
        s.set("w").update(refused(kind))
    assert len(s.set("w")) == count
    run(main())
