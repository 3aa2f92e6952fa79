"""A cancelled call of an event loop claims nothing that its caller does not get."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Coroutine, Dict, List, NamedTuple

import mcds
import mcds.plan
import pytest
from mcds._binding import lib


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 60))


async def until_idle(aio: mcds.Aio) -> None:
    """Until the library has nothing in flight. A wait that nobody ended would last an hour. Between the steps of a claim
    that is given back, nothing is in flight for one turn of the loop."""
    driver = aio._driver_of(asyncio.get_running_loop())
    turns = 0
    while turns < 3:
        turns = 0 if driver._running or driver._waiting else turns + 1
        await asyncio.sleep(0.001)


async def cancel_late(future: Any) -> None:
    """Cancels a task that awaits this result, between the result and the next step of the task."""
    async def get() -> Any:
        return await future

    task = asyncio.ensure_future(get())
    future.add_done_callback(lambda _: task.cancel())
    with pytest.raises(asyncio.CancelledError):
        await task
    assert future.exception() is None


class Wait(NamedTuple):
    """What another caller holds, what waits for it, what ends it, and what is true when it is free."""

    hold: Callable[[mcds.Aio], Any]
    wait: Callable[[mcds.Aio], Any]
    free: Callable[[mcds.Aio, Any], Any]
    is_free: Callable[[mcds.Aio], Any]


async def nothing(aio: mcds.Aio) -> None:
    pass


async def work(*_: Any) -> bytes:
    raise AssertionError("a caller that has left works")


async def first_of(jobs: Any) -> Any:
    async for job in jobs:
        return job


def queue(aio: mcds.Aio, stripes: int = 0) -> mcds.AioQueue:
    return aio.queue("q", tries=1, may_lose=True, stripes=stripes)


async def waits_in_queue(aio: mcds.Aio) -> bool:
    return await queue(aio).count() == (1, 0, 0, 0)


def strict(aio: mcds.Aio) -> mcds.AioOnce:
    return aio.once("s", strict=True)


async def begins(once: mcds.AioOnce) -> bool:
    return (await once.begin("k")).mine


async def is_unheld(lock: mcds.AioLock) -> bool:
    return await lock.holder() is None


async def looks(aio: mcds.Aio) -> bool:
    return (await aio.cache("c").look("k")).mine


async def has_permits(aio: mcds.Aio) -> bool:
    return await aio.semaphore("p", 1).holders() == []


WAITS: Dict[str, Wait] = {
    "queue.next": Wait(nothing, lambda aio: queue(aio).next(wait=3600),
                       lambda aio, _: queue(aio).push("j"), waits_in_queue),
    "queue.next stripes": Wait(nothing, lambda aio: queue(aio, 3).next(wait=3600),
                               lambda aio, _: queue(aio, 3).push("j"), waits_in_queue),
    "queue.jobs": Wait(nothing, lambda aio: first_of(queue(aio).jobs(wait=3600)),
                       lambda aio, _: queue(aio).push("j"), waits_in_queue),
    "once.begin": Wait(lambda aio: aio.once("o").begin("k"),
                       lambda aio: aio.once("o").begin("k", wait=3600),
                       lambda aio, held: held.abandon(), lambda aio: begins(aio.once("o"))),
    "once.begin strict": Wait(lambda aio: strict(aio).begin("k"),
                              lambda aio: strict(aio).begin("k", wait=3600),
                              lambda aio, held: held.abandon(), lambda aio: begins(strict(aio))),
    "once.run": Wait(lambda aio: strict(aio).begin("k"),
                     lambda aio: strict(aio).run("k", work, wait=3600),
                     lambda aio, held: held.abandon(), lambda aio: begins(strict(aio))),
    "cache.look": Wait(lambda aio: aio.cache("c").look("k"),
                       lambda aio: aio.cache("c").look("k", wait=3600),
                       lambda aio, held: held.release(), looks),
    "cache.fetch": Wait(lambda aio: aio.cache("c").look("k"),
                        lambda aio: aio.cache("c").fetch("k", work, wait=3600),
                        lambda aio, held: held.release(), looks),
    "lock.acquire": Wait(lambda aio: aio.lock("l", ttl=600).acquire(),
                         lambda aio: aio.lock("l", ttl=600).acquire(),
                         lambda aio, held: held.release(), lambda aio: is_unheld(aio.lock("l"))),
    "lock block": Wait(lambda aio: aio.lock("l", ttl=600).acquire(),
                       lambda aio: aio.lock("l", ttl=600).__aenter__(),
                       lambda aio, held: held.release(), lambda aio: is_unheld(aio.lock("l"))),
    "semaphore": Wait(lambda aio: aio.semaphore("p", 1, ttl=600).acquire(),
                      lambda aio: aio.semaphore("p", 1, ttl=600).acquire(),
                      lambda aio, held: held.release(), has_permits),
}


@pytest.mark.parametrize("turns", [1, 20], ids=["at once", "asleep"])
@pytest.mark.parametrize("name", WAITS)
def test_a_cancelled_wait_claims_nothing_later(name: str, turns: int, s: mcds.Store) -> None:
    async def main() -> None:
        hold, wait, free, is_free = WAITS[name]
        held = await hold(s.aio)
        task = asyncio.ensure_future(wait(s.aio))
        for _ in range(turns):
            await asyncio.sleep(0.001)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until_idle(s.aio)
        await free(s.aio, held)
        assert await is_free(s.aio)

    run(main())


@pytest.mark.parametrize("name", WAITS)
def test_what_a_request_under_way_claims_is_given_back(name: str, s: mcds.Store) -> None:
    """The call is cancelled when its request is collected, so the request claims."""
    async def main() -> None:
        hold, wait, free, is_free = WAITS[name]
        await free(s.aio, await hold(s.aio))
        task = asyncio.ensure_future(wait(s.aio))
        driver = s.aio._driver_of(asyncio.get_running_loop())
        while not driver._running and not task.done():
            await asyncio.sleep(0)
        assert driver._running
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until_idle(s.aio)
        assert await is_free(s.aio)

    run(main())


def test_a_try_that_was_cancelled_is_given_back(s: mcds.Store) -> None:
    async def main() -> None:
        for turns in range(3):
            tries = [asyncio.ensure_future(s.aio.lock("l", ttl=600).try_acquire()),
                     asyncio.ensure_future(s.aio.semaphore("p", 1, ttl=600).try_acquire())]
            for _ in range(turns):
                await asyncio.sleep(0)
            for task in tries:
                task.cancel()
            for task in tries:
                with pytest.raises(asyncio.CancelledError):
                    await task
            await until_idle(s.aio)
            assert await is_unheld(s.aio.lock("l")) and await has_permits(s.aio)

    run(main())


@pytest.mark.parametrize("name", ["queue.next", "once.begin strict", "cache.look"])
def test_a_result_that_the_task_does_not_get_is_given_back(name: str, s: mcds.Store) -> None:
    """The awaiting task is cancelled between the result and its own next step."""
    async def main() -> None:
        hold, wait, free, is_free = WAITS[name]
        await free(s.aio, await hold(s.aio))
        await cancel_late(wait(s.aio))
        await until_idle(s.aio)
        assert await is_free(s.aio)

    run(main())


def test_a_timeout_ends_a_watch_and_ids(s: mcds.Store) -> None:
    """They claim nothing; a wait that goes on would keep the loop busy."""
    async def main() -> None:
        lease = await s.aio.lock("l", ttl=600).acquire()
        seen = await s.aio.lock("l").holder()
        waits: List[Any] = [s.aio.lock("l").watch(seen, 3600), s.aio.ids("i", spread=60).next(),
                            s.aio.ids("i", spread=60).take(5)]
        for wait in waits:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(wait, 0.01)
        await until_idle(s.aio)
        await lease.release()

    run(main())


def test_a_job_before_its_last_try_keeps_its_place(s: mcds.Store) -> None:
    async def main() -> None:
        jobs = s.aio.queue("q", tries=2, may_lose=True)
        await jobs.push_many(["a", "b"])
        for tries in (2, 1):  # the second time it is pushed again, as a new job
            jobs.next().cancel()
            await until_idle(s.aio)
            assert (await jobs.count()).waiting == 2
        assert [(job.data, job.tries) for job in (await jobs.next(), await jobs.next())] == [
            (b"b", 1), (b"a", 1)]

    run(main())


def test_the_previous_job_is_not_given_back(s: mcds.Store) -> None:
    async def main() -> None:
        jobs = s.aio.queue("q", may_lose=True)
        await jobs.push("a")
        job = await jobs.next()
        jobs.next(wait=3600, after=job).cancel()
        await until_idle(s.aio)
        assert not job.held and await jobs.count() == (0, 0, 0, 0)

    run(main())


def test_claims_are_awaited(s: mcds.Store) -> None:
    async def main() -> None:
        run_ = await s.aio.once("o").begin("k")
        claim = await s.aio.cache("c").look("k")
        assert isinstance(run_, mcds.AioRun) and isinstance(claim, mcds.AioClaim)
        renewed: List[Any] = [run_.renew(), claim.renew()]
        assert not any(future.done() for future in renewed)
        assert await asyncio.gather(*renewed) == [None, True]
        assert await claim.put("v") and (await s.aio.cache("c").look("k")).value == b"v"
        await run_.finish("r", code=7)
        done = await s.aio.once("o").begin("k")
        assert (done.result, done.code, done.mine) == (b"r", 7, False)
        again = await s.aio.once("o").begin("other")
        await again.abandon()
        failing, released = await s.aio.cache("c").look("f"), await s.aio.cache("c").look("g")
        assert await released.release() and await failing.fail("gone")
        with pytest.raises(mcds.Io, match="gone"):
            await s.aio.cache("c").look("f")

    run(main())


class Interrupted:
    """The library, in which a signal ends the first wait for an operation."""

    def __init__(self) -> None:
        self.is_due = True

    def __getattr__(self, name: str) -> Any:
        if name == "mcds_py_run" and self.is_due:
            self.is_due = False
            raise KeyboardInterrupt
        return getattr(lib, name)


@pytest.mark.parametrize("wait, is_free", [
    (lambda s: s.queue("q", tries=1, may_lose=True).next(wait=3600),
     lambda s: s.queue("q", may_lose=True).count() == (1, 0, 0, 0)),
    (lambda s: s.once("o", strict=True).begin("k", wait=3600),
     lambda s: s.once("o", strict=True).begin("k").mine),
    (lambda s: s.cache("c").look("k", wait=3600), lambda s: s.cache("c").look("k").mine),
    (lambda s: s.lock("l", ttl=600).acquire(), lambda s: s.lock("l").holder() is None),
    (lambda s: s.semaphore("p", 1, ttl=600).acquire(),
     lambda s: s.semaphore("p", 1).holders() == [])],
    ids=["queue", "once", "cache", "lock", "semaphore"])
def test_an_interrupt_gives_back_what_was_claimed(wait: Callable[[mcds.Store], Any],
                                                  is_free: Callable[[mcds.Store], bool],
                                                  s: mcds.Store,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a waiting call, whose request was collected."""
    s.queue("q", may_lose=True).push("j")
    monkeypatch.setattr(mcds.plan, "lib", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        wait(s)
    monkeypatch.undo()
    assert is_free(s)
