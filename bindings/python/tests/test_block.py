"""The end of a with block releases, gives back or reports, also where it is interrupted or cancelled."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import gc
import sys
import time
from typing import Any, Callable, Coroutine, Dict, List, NamedTuple, Optional

import mcds
import mcds.aio_lock
import mcds.core
import pytest
from mcds._binding import lib


class Block(NamedTuple):
    """A block in each of the two ways, and whether nothing is left after it."""

    make: Callable[[Any], Any]
    is_free: Callable[[mcds.Store], Any]


def queue(s: Any) -> Any:
    return s.queue("q", may_lose=True)


BLOCKS: Dict[str, Block] = {
    "lock": Block(lambda s: s.lock("l", ttl=600), lambda s: s.lock("l").holder() is None),
    "shared lock": Block(lambda s: s.lock("l", ttl=600, shared=True),
                         lambda s: s.lock("l").holder() is None),
    "lock, not renewed": Block(lambda s: s.lock("l", ttl=600, renew=False),
                               lambda s: s.lock("l").holder() is None),
    "semaphore": Block(lambda s: s.semaphore("p", 1, ttl=600),
                       lambda s: s.semaphore("p", 1).holders() == []),
    "job": Block(lambda s: queue(s).next(), lambda s: queue(s).count() == (0, 0, 0, 0)),
}
#: A value of a cache that takes several requests.
LARGE = b"v" * 2_000_000
#: Turns of the loop after the end of the block.
TURNS = range(11)


async def in_turns(turns: int, call: Callable[[], object]) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)
    call()


async def cancelled_after(turns: int, s: mcds.Store, work: Callable[[Callable[[], Any]], Any]) -> None:
    """Cancel work(end) so many turns after it has called `end`. The cancellation waits until nothing is
    under way."""
    ends: List["asyncio.Task[None]"] = []
    driver = s.aio._driver_of(asyncio.get_running_loop())

    def end() -> None:
        ends.append(asyncio.ensure_future(in_turns(turns, lambda: task.cancel())))

    async def watched() -> None:
        try:
            await work(end)
        finally:
            assert not driver._running and not driver._waiting

    task = asyncio.ensure_future(watched())
    await asyncio.wait([task])
    await asyncio.wait(ends)
    assert task.cancelled() or task.exception() is None


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 60))


@pytest.mark.parametrize("name", BLOCKS)
def test_a_cancellation_at_the_end(name: str, s: mcds.Store) -> None:
    block = BLOCKS[name]

    async def main() -> None:
        for turns in TURNS:
            async def work(end: Callable[[], None]) -> None:
                made = block.make(s.aio)
                async with (await made if name == "job" else made):
                    await asyncio.sleep(0)
                    end()

            await s.aio.queue("q", may_lose=True).push("j")
            await cancelled_after(turns, s, work)
            if name != "job":
                assert await s.aio.queue("q", may_lose=True).drop()
            assert block.is_free(s), turns

    run(main())


@pytest.mark.parametrize("name", ["lock", "semaphore"])
def test_a_cancellation_at_the_end_during_a_renewal(name: str, s: mcds.Store) -> None:
    async def main() -> None:
        for turns in TURNS:
            async def work(end: Callable[[], None]) -> None:
                async with BLOCKS[name].make(s.aio) as lease:
                    renewal = asyncio.ensure_future(lease.renew())
                    await asyncio.sleep(0)
                    end()
                await renewal

            await cancelled_after(turns, s, work)
            assert BLOCKS[name].is_free(s), turns

    run(main())


@pytest.mark.parametrize("name", ["lock", "semaphore"])
def test_the_loop_ends_at_the_end(name: str, s: mcds.Store) -> None:
    """asyncio.run cancels every task that is left, also those that the end of a block would begin."""
    async def main(turns: int) -> None:
        async def work() -> None:
            async with BLOCKS[name].make(s.aio) as lease:
                renewal = asyncio.ensure_future(lease.renew())
                await asyncio.sleep(0)
                ends.set_result(None)
            await renewal

        ends: "asyncio.Future[None]" = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(work())
        await ends
        await in_turns(turns, task.cancel)

    for turns in TURNS:
        asyncio.run(main(turns))
        assert BLOCKS[name].is_free(s), turns


def test_blocks_of_one_handle_in_one_task(s: mcds.Store) -> None:
    async def main() -> None:
        permits = s.aio.semaphore("p", 2, ttl=600)
        async with permits as one:
            async with permits as two:
                assert {one.slot, two.slot} == {0, 1}
            assert [holder.slot for holder in await permits.holders()] == [one.slot]
        assert await permits.holders() == [] and not permits._held

    run(main())


def test_a_cancellation_at_the_end_of_work(s: mcds.Store) -> None:
    """once.run stores the result of finished work, and cache.fetch its value."""
    async def main() -> None:
        for turns in TURNS:
            async def runs(end: Callable[[], None]) -> None:
                async def work() -> bytes:
                    end()
                    return b"r"

                await s.aio.once("o").run(f"k{turns}", work)

            async def fetches(end: Callable[[], None]) -> None:
                async def fill(key: bytes) -> bytes:
                    end()
                    return LARGE

                await s.aio.cache("c").fetch(f"k{turns}", fill)

            async def fails(end: Callable[[], None]) -> None:
                async def work() -> bytes:
                    end()
                    raise LookupError

                try:
                    await s.aio.once("o").run(f"f{turns}", work)
                except LookupError:
                    pass

            for work in (runs, fetches, fails):
                await cancelled_after(turns, s, work)
            assert s.once("o").begin(f"k{turns}").result == b"r", turns
            assert s.cache("c").look(f"k{turns}").value == LARGE, turns
            assert s.once("o").get(f"f{turns}") is None, turns

    run(main())


def worked() -> bytes:
    return b"r"


#: Where places begin to count.
OURS = {worked.__code__, mcds.aio_lock.AioBlock.__aexit__.__code__, *(
    getattr(kind, name).__code__ for kind in (mcds.Lock, mcds.Semaphore, mcds.Job)
    for name in ("__enter__", "__exit__"))}


class Handler(Exception):
    """What a signal handler raises."""


def interrupted(function: str, number: int, call: Callable[[], object]) -> bool:
    """Call it, and raise at one of the places in `function` where the interpreter handles signals:
    where a function of Python begins, and where one of C has returned. False: there are fewer.

    The beginning of __exit__ itself has the number 0.
    """
    seen = -1

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal seen
        code = frame.f_code
        if event == "call" and code in OURS:
            seen = 0 if code.co_name == function else -1
            if seen == number:
                raise Handler
        elif seen >= 0 and event in ("call", "c_return"):
            seen += 1
            if seen == number:
                raise Handler

    gc.disable()  # what it frees has places of its own
    sys.setprofile(profile)
    try:
        call()
    except Handler:
        return True
    finally:
        sys.setprofile(None)
        gc.enable()
    return False


def interrupt_next(function: str) -> None:
    """Raise at the beginning of this function of ours."""
    def profile(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code in OURS and frame.f_code.co_name == function:
            raise Handler

    sys.setprofile(profile)


def wait_for(is_so: Callable[[], Any]) -> None:
    """What another thread does soon."""
    while not is_so():
        time.sleep(0.001)


@pytest.mark.parametrize("name, function", [*((name, "__exit__") for name in BLOCKS), *(
    (name, "__enter__") for name in BLOCKS if name != "job")])
def test_an_interrupt_of_a_block(name: str, function: str, s: mcds.Store) -> None:
    """At each place in turn, from the beginning of the function on."""
    def work() -> None:
        if name == "job":
            queue(s).push("j")
        with BLOCKS[name].make(s):
            pass

    number = 1
    while interrupted(function, number, work):
        assert BLOCKS[name].is_free(s), number
        number += 1
    assert number > 5 and BLOCKS[name].is_free(s)


@pytest.mark.parametrize("name", ["lock", "shared lock", "semaphore"])
def test_an_interrupt_before_the_end(name: str, s: mcds.Store) -> None:
    """__exit__ has not begun. The thread that renews the lease sees that the with statement is over,
    also while the program keeps the lock, the lease and the exception."""
    kept = BLOCKS[name].make(s)
    leases = []

    def work() -> None:
        try:
            with kept as lease:
                leases.append(lease)
        except Handler as error:
            leases.append(error)
            raise

    for count in (2, 4):
        assert interrupted("__exit__", 0, work) and len(leases) == count
        wait_for(lambda: BLOCKS[name].is_free(s))
    with kept:
        assert not BLOCKS[name].is_free(s)
    assert BLOCKS[name].is_free(s)


@pytest.mark.parametrize("name", ["lock", "shared lock", "semaphore"])
def test_an_interrupt_before_the_end_in_a_loop(name: str, s: mcds.Store) -> None:
    """The same of __aexit__. The task continues."""
    async def main() -> None:
        kept = BLOCKS[name].make(s.aio)
        for _ in range(2):
            async def work() -> None:
                async with kept as lease:
                    assert lease.remaining > 0
                    interrupt_next("__aexit__")

            try:
                await work()
            except Handler as error:
                caught = error
            finally:
                sys.setprofile(None)
            while not BLOCKS[name].is_free(s):
                await asyncio.sleep(0)
            assert caught.__traceback__ is not None
        async with kept:
            assert not BLOCKS[name].is_free(s)
        assert BLOCKS[name].is_free(s)

    run(main())


def test_an_exit_stack_ends_blocks(s: mcds.Store) -> None:
    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(s.aio.semaphore("p", 1))
            assert not BLOCKS["semaphore"].is_free(s)
        assert BLOCKS["semaphore"].is_free(s)

    with contextlib.ExitStack() as stack:
        lease = stack.enter_context(s.lock("l"))
        assert lease.remaining > 0 and not BLOCKS["lock"].is_free(s)
    assert BLOCKS["lock"].is_free(s)
    run(main())


def test_an_interrupt_after_work(s: mcds.Store) -> None:
    """Its result is stored: the next caller does not do it again."""
    number = 1
    while interrupted("worked", number, lambda: s.once("o").run(f"k{number}", worked)):
        state = s.once("o").get(f"k{number}")
        assert state is not None and (state.state, state.result) == ("done", b"r"), number
        number += 1
    assert number > 5


def test_an_interrupt_while_the_end_waits_for_a_renewal(s: mcds.Store) -> None:
    """The renewal has the mutex of the lease when a handler raises in the wait for it, twice."""
    class Mutex:
        raises = 2

        def __init__(self, mutex: Any) -> None:
            self.mutex = mutex

        def __enter__(self) -> None:
            if Mutex.raises > 0:
                Mutex.raises -= 1
                raise KeyboardInterrupt
            self.mutex.acquire()

        def __exit__(self, *_: object) -> None:
            self.mutex.release()

    with pytest.raises(KeyboardInterrupt):
        with s.lock("l", ttl=600) as lease:
            lease._mutex = Mutex(lease._mutex)  # type: ignore[assignment]
    assert Mutex.raises == 0 and s.lock("l").holder() is None


def test_a_thread_that_cannot_be_started(s: mcds.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", start)
    with pytest.raises(RuntimeError):
        with s.lock("l", ttl=600):
            pass
    assert s.lock("l").holder() is None and s.lock("l", ttl=600)._leases() == []


class Flushes:
    """The library, whose flushes of exact counters fail with these codes, in turn."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.flushed: List[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(lib, name)

    def mcds_counter_flush(self, handle: Any) -> int:
        code = self.codes.pop(0) if self.codes else 0
        if code == 0:
            self.flushed.append(str(handle))
        return code or int(lib.mcds_counter_flush(handle))


def sold(opener: Callable[..., mcds.Store]) -> mcds.Store:
    """A store whose exact counters hold adds that are not written."""
    store = opener()
    for name in "abc":
        store.exact_counter(name, flush=3600).add(1)
    return store


def test_every_exact_counter_is_flushed_or_reported(opener: Callable[..., mcds.Store],
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    store = sold(opener)
    flushes = Flushes(lib.MCDS_TIMEOUT, 0, lib.MCDS_UNAVAILABLE)
    monkeypatch.setattr(mcds.core, "lib", flushes)
    with pytest.raises(mcds.Timeout) as caught:
        store.close()
    assert len(flushes.flushed) == 1
    notes: List[str] = vars(caught.value)["__notes__"]
    assert len(notes) == 1 and notes[0].startswith("also Unavailable: ")
    store.close()
    with pytest.raises(mcds.Invalid, match="the store is closed"):
        store.counter("a")


def test_an_interrupt_of_the_end_of_a_store(opener: Callable[..., mcds.Store],
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """At each place in turn, every exact counter is flushed, and a failure is reported."""
    OURS.add(mcds.core.Core.close.__code__)
    keeper = opener()
    number = 1
    while True:
        store = sold(opener)
        structures = list(store._core._opened.values())
        flushes = Flushes(lib.MCDS_TIMEOUT)
        monkeypatch.setattr(mcds.core, "lib", flushes)
        try:
            is_interrupted = interrupted("close", number, store.close)
        except mcds.Timeout:
            is_interrupted = False
        monkeypatch.undo()
        assert len({*flushes.flushed}) >= 2, number
        assert not store._core._opened and all(type(one) is mcds.core.Closed for one in structures), number
        if not is_interrupted:
            break
        number += 1
    assert number > 10
    keeper.close()
    del flushes, structures
    gc.collect()  # frames of Flushes keep handles, which C closes while the server is there


def test_what_a_block_of_the_store_raises_comes_first(opener: Callable[..., mcds.Store],
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """The failures of the end of the block are its notes."""
    async def main(store: mcds.Store) -> None:
        async with store.aio:
            raise asyncio.CancelledError

    def block(store: mcds.Store) -> None:
        with store:
            raise asyncio.CancelledError

    ways: List[Callable[[mcds.Store], None]] = [block, lambda store: asyncio.run(main(store))]
    for way in ways:
        store = sold(opener)
        monkeypatch.setattr(mcds.core, "lib", Flushes(lib.MCDS_TIMEOUT, 0, lib.MCDS_UNAVAILABLE))
        with pytest.raises(asyncio.CancelledError) as caught:
            way(store)
        monkeypatch.undo()
        notes = [note for error in chain_of(caught.value) for note in vars(error).get("__notes__", [])]
        assert [note.split(":")[0] for note in notes] == ["also Timeout", "also Unavailable"]


def chain_of(error: Optional[BaseException]) -> List[BaseException]:
    """Before Python 3.12, asyncio.run raises a cancellation again."""
    return [error, *chain_of(error.__context__)] if error is not None else []


def test_what_the_block_of_a_job_raises_comes_first(restarted: Any) -> None:
    """The server is killed in the block, so that the job cannot be given back."""
    async def main(store: mcds.Store, kill: Callable[[], None]) -> None:
        async with await store.aio.queue("q", may_lose=True).next():
            kill()
            raise asyncio.CancelledError

    def block(store: mcds.Store, kill: Callable[[], None]) -> None:
        with store.queue("q", may_lose=True).next():
            kill()
            raise asyncio.CancelledError

    ways: List[Callable[..., None]] = [block, lambda *given: asyncio.run(main(*given))]
    for way in ways:
        with contextlib.ExitStack() as server:
            store = mcds.open(server.enter_context(restarted()).partition("?")[0], timeout=1)
            store.queue("q", may_lose=True).push("j")
            with pytest.raises(asyncio.CancelledError):
                way(store, server.close)
            store.close()
