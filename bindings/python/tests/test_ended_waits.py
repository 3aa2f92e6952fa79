"""The close of a store ends each call that waits for other callers. What the call claims meanwhile is given back."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple

import mcds
import pytest
from mcds._binding import lib

Opener = Callable[..., mcds.Store]
CLOSED = "the store is closed$"
HOUR = 3600


class Wait(NamedTuple):
    """Functions: another caller takes the claim; a call waits for it; the claim is freed; nobody has it."""

    hold: Callable[[mcds.Store], Any]
    wait: Callable[[mcds.Store], Any]
    free: Callable[[mcds.Store, Any], Any]
    is_free: Callable[[mcds.Store], bool]


def work(*_: Any) -> bytes:
    raise AssertionError("a caller whose store is closed works")


def queue(s: Any) -> Any:
    return s.queue("q", may_lose=True)


def strict(s: Any) -> Any:
    return s.once("o", strict=True)


def cache(s: Any) -> Any:
    return s.cache("c", fill=HOUR, wait=HOUR)


WAITS: Dict[str, Wait] = {
    "queue.next": Wait(lambda s: None, lambda s: queue(s).next(HOUR), lambda s, _: queue(s).push("j"),
                       lambda s: bool(queue(s).count() == (1, 0, 0, 0))),
    "queue.jobs": Wait(lambda s: None, lambda s: list(queue(s).jobs(HOUR)), lambda s, _: queue(s).push("j"),
                       lambda s: bool(queue(s).count() == (1, 0, 0, 0))),
    "once.begin": Wait(lambda s: strict(s).begin("k"), lambda s: strict(s).begin("k", wait=HOUR),
                       lambda s, held: held.abandon(), lambda s: bool(strict(s).begin("k").mine)),
    "once.run": Wait(lambda s: strict(s).begin("k"), lambda s: strict(s).run("k", work, wait=HOUR),
                     lambda s, held: held.abandon(), lambda s: bool(strict(s).begin("k").mine)),
    "cache.look": Wait(lambda s: cache(s).look("k"), lambda s: cache(s).look("k", wait=HOUR),
                       lambda s, held: held.release(), lambda s: bool(cache(s).look("k").mine)),
    "cache.fetch": Wait(lambda s: cache(s).look("k"), lambda s: cache(s).fetch("k", work),
                        lambda s, held: held.release(), lambda s: bool(cache(s).look("k").mine)),
    "lock.acquire": Wait(lambda s: s.lock("l", ttl=600).acquire(), lambda s: s.lock("l", ttl=600).acquire(),
                         lambda s, held: held.release(), lambda s: s.lock("l").holder() is None),
    "lock.watch": Wait(lambda s: s.lock("l", ttl=600).acquire(),
                       lambda s: s.lock("l").watch(s.lock("l").holder(), HOUR),
                       lambda s, held: held.release(), lambda s: s.lock("l").holder() is None),
    "semaphore.acquire": Wait(lambda s: s.semaphore("m", 1, ttl=600).acquire(),
                              lambda s: s.semaphore("m", 1, ttl=600).acquire(),
                              lambda s, held: held.release(), lambda s: s.semaphore("m", 1).holders() == []),
    "ids.next": Wait(lambda s: None, lambda s: s.ids("i", spread=60).next(), lambda s, _: None, lambda s: True),
    "log.follow": Wait(lambda s: None, lambda s: list(s.log("g").follow(pause=HOUR)), lambda s, _: None,
                       lambda s: True),
}
#: Those whose calls claim, of which one request is made.
CLAIMS = ["queue.next", "queue.jobs", "once.begin", "once.run", "cache.look", "cache.fetch", "lock.acquire",
          "semaphore.acquire"]
#: Of a pipeline.
STARTED = ["queue.next", "once.begin", "cache.look", "cache.fetch", "lock.watch", "ids.next"]


@pytest.fixture
def other(opener: Opener) -> Iterator[mcds.Store]:
    with opener() as store:
        yield store


class Hooked:
    """The library, in which something is called before or after each call of one function."""

    def __init__(self, name: str, before: Callable[[], Any] = lambda: None,
                 after: Callable[[], Any] = lambda: None) -> None:
        self.name, self.before, self.after = name, before, after

    def __getattr__(self, name: str) -> Any:
        function = getattr(lib, name)
        if name != self.name:
            return function

        def call(*arguments: Any) -> Any:
            self.before()
            result = function(*arguments)
            self.after()
            return result

        call.__name__ = name
        return call


@pytest.mark.parametrize("name", WAITS)
def test_a_close_ends_a_wait(name: str, opener: Opener, other: mcds.Store) -> None:
    """By another thread. A wait that continues would last an hour."""
    hold, wait, free, is_free = WAITS[name]
    s = opener()
    held = hold(other)
    failures: List[BaseException] = []

    def run() -> None:
        try:
            wait(s)
        except BaseException as error:
            failures.append(error)

    waiting = threading.Thread(target=run, daemon=True)
    waiting.start()
    waiting.join(0.05)  # so that most have begun; one that has not raises the same
    s.close()
    waiting.join(60)
    assert [type(one) for one in failures] == [mcds.Invalid] and str(failures[0]).endswith("the store is closed")
    free(other, held)
    assert is_free(other)


@pytest.mark.parametrize("name", CLAIMS)
def test_what_is_claimed_after_the_close_is_given_back(name: str, opener: Opener, other: mcds.Store,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is closed before the request of the call."""
    _, wait, free, is_free = WAITS[name]
    free(other, WAITS[name].hold(other))
    s = opener()
    monkeypatch.setattr(mcds.plan, "lib", Hooked("mcds_pipeline_open", after=s.close))
    with pytest.raises(mcds.Invalid, match=CLOSED):
        wait(s)
    monkeypatch.undo()
    assert is_free(other)


@pytest.mark.parametrize("call, function, place, is_free", [
    (lambda s: queue(s).next(), "mcds_queue_next", "queue", WAITS["queue.next"].is_free),
    (lambda s: strict(s).run("k", work, wait=0), "mcds_once_begin", "once", WAITS["once.run"].is_free),
    (lambda s: cache(s).look("k"), "mcds_cache_look", "cache", WAITS["cache.look"].is_free)],
    ids=["queue", "once", "cache"])
def test_what_a_call_without_a_wait_claims_is_given_back(call: Callable[[mcds.Store], Any], function: str, place: str,
                                                         is_free: Callable[[mcds.Store], bool], opener: Opener,
                                                         other: mcds.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    queue(other).push("j")
    s = opener()
    monkeypatch.setattr(getattr(mcds, place), "lib", Hooked(function, after=s.close))
    with pytest.raises(mcds.Invalid, match=CLOSED):
        call(s)
    monkeypatch.undo()
    assert is_free(other)


def close_elsewhere(s: mcds.Store) -> None:
    """In another thread, as of a program that ends."""
    closing = threading.Thread(target=s.close)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()


def awaited(s: mcds.Store, call: Callable[[Any], Any]) -> Any:
    async def main() -> Any:
        return await call(s.aio)

    return asyncio.run(asyncio.wait_for(main(), 60))


#: The ways to run an operation, and how another part of the program closes the store meanwhile.
WAYS: Dict[str, Callable[[mcds.Store, Callable[[Any], Any]], Any]] = {
    "waiting": lambda s, call: call(s), "pipeline": lambda s, call: call(s.pipeline()).result(), "loop": awaited}
#: A loop may end its operations before their last results are read.
ENDS: Dict[str, Any] = {"waiting": mcds.Invalid, "pipeline": mcds.Invalid, "loop": (mcds.Invalid, mcds.Ambiguous)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("others", [False, True], ids=["alone", "changed by others"])
def test_a_close_ends_change_by(way: str, others: bool, opener: Opener, other: mcds.Store) -> None:
    """The function closes the store; an array that others change meanwhile is changed again by a call of it."""
    other.array("a").set(["x"])
    s = opener()
    calls: List[List[bytes]] = []

    def change(old: List[bytes]) -> List[bytes]:
        calls.append(old)
        if others:
            other.array("a").set([b"%d" % len(calls)])
        s.close() if way == "loop" else close_elsewhere(s)
        return [b"ours"]

    with pytest.raises(ENDS[way], match="the store was closed|" + CLOSED):
        WAYS[way](s, lambda of: of.array("a").change_by(change))
    assert len(calls) == 1
    assert other.array("a").get() == [b"1" if others else b"x"]


@pytest.mark.parametrize("way", WAYS)
def test_a_close_ends_a_flush(way: str, opener: Opener, other: mcds.Store) -> None:
    """save is called for no further page. The next flush saves the others."""
    saved: List[bytes] = []
    s = opener()

    def save(page: bytes, slot: int, views: int) -> None:
        saved.append(page)
        s.close() if way == "loop" else close_elsewhere(s)

    for page in ("a", "b", "c"):
        other.views("v", lambda *_: 0, lambda *_: None).hit(page)
    with pytest.raises(ENDS[way], match="the store was closed|" + CLOSED):
        WAYS[way](s, lambda of: of.views("v", lambda *_: 0, save).flush_final())
    assert len(saved) == 1
    other.views("v", lambda *_: 0, lambda page, *_: saved.append(page)).flush_final()
    assert sorted({*saved}) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("way", WAYS)
def test_a_close_ends_a_load(way: str, opener: Opener) -> None:
    s = opener()
    calls: List[bytes] = []

    def load(page: bytes, upto_slot: int) -> int:
        calls.append(page)
        s.close() if way == "loop" else close_elsewhere(s)
        return 0

    with pytest.raises(ENDS[way], match="the store was closed|" + CLOSED):
        WAYS[way](s, lambda of: of.views("v", load, lambda *_: None).get("p"))
    assert calls == [b"p"]


@pytest.mark.parametrize("name", STARTED)
def test_a_close_ends_a_wait_of_a_pipeline(name: str, opener: Opener, other: mcds.Store) -> None:
    hold, wait, free, is_free = WAITS[name]
    s = opener()
    held = hold(other)
    pipeline: Any = s.pipeline()
    result = wait_in(pipeline, name, other)
    failures: List[Any] = []
    waiting = threading.Thread(target=lambda: failures.append(result.exception()), daemon=True)
    waiting.start()
    waiting.join(0.05)
    s.close()
    waiting.join(60)
    assert [type(one) for one in failures] == [mcds.Ambiguous]
    free(other, held)
    assert is_free(other)


def wait_in(pipeline: Any, name: str, other: mcds.Store) -> Any:
    """The wait of this name, started in a pipeline."""
    if name == "lock.watch":
        return pipeline.lock("l").watch(other.lock("l").holder(), HOUR)
    return WAITS[name].wait(pipeline)


@pytest.mark.parametrize("name", ["queue.next", "once.begin", "cache.look", "cache.fetch"])
def test_what_a_pipeline_claims_after_the_close_is_given_back(name: str, opener: Opener, other: mcds.Store,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    WAITS[name].free(other, WAITS[name].hold(other))
    s = opener()
    result = wait_in(s.pipeline(), name, other)
    monkeypatch.setattr(mcds.pipeline, "lib", Hooked("mcds_py_drain", before=s.close))
    assert isinstance(result.exception(), mcds.Error)
    monkeypatch.undo()
    assert WAITS[name].is_free(other)


@pytest.mark.parametrize("name", ["queue.next", "once.begin", "once.run", "cache.look", "cache.fetch"])
def test_an_await_that_ends_after_the_close_is_refused(name: str, opener: Opener, other: mcds.Store,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is closed between the result of the operation and the next step of its task."""
    WAITS[name].free(other, WAITS[name].hold(other))

    async def main(s: mcds.Store) -> None:
        driver = s.aio._driver_of(asyncio.get_running_loop())
        finish = driver._finish

        def finish_and_close(count: int) -> None:
            finish(count)
            if count > 0:
                s.close()

        monkeypatch.setattr(driver, "_finish", finish_and_close)
        with pytest.raises(mcds.Invalid, match=CLOSED):
            await call(s.aio)

    async def call(aio: Any) -> Any:
        async def never(*_: Any) -> bytes:
            return work()

        calls: Dict[str, Callable[[], Any]] = {
            "queue.next": lambda: queue(aio).next(HOUR), "once.begin": lambda: strict(aio).begin("k", wait=HOUR),
            "once.run": lambda: strict(aio).run("k", never), "cache.look": lambda: cache(aio).look("k", wait=HOUR),
            "cache.fetch": lambda: cache(aio).fetch("k", never)}
        return await calls[name]()

    asyncio.run(asyncio.wait_for(main(opener()), 60))
    assert WAITS[name].is_free(other)
