"""An exception of a signal handler, at any place of a call, leaves no handle of C open, and no claim
that no caller has."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
from typing import Any, Callable, Dict, List, Tuple

import mcds
import pytest


def hold(made: Any) -> None:
    with made:
        pass


def adopt(s: mcds.Store, name: str) -> None:
    lease = s.lock(name, ttl=600).try_acquire()
    assert lease is not None
    s.lock(name).adopt(lease.export()).release()


def fill_pipeline(s: mcds.Store, name: str) -> None:
    with s.pipeline() as p:
        one = p.counter("c").add(1)
        p.table("t").get("k")
    one.result()


def in_a_loop(s: mcds.Store, name: str) -> None:
    async def main() -> None:
        await s.aio.counter("c").add(1)

    asyncio.run(main())


def visit(s: mcds.Store, name: str) -> None:
    s.set("s").add("a")
    for _ in s.set("s"):
        break


#: Each gets a store, and a name that no other call has used.
CALLS: Dict[str, Callable[[mcds.Store, str], Any]] = {
    "lock": lambda s, n: hold(s.lock(n, ttl=600)),
    "lock, not renewed": lambda s, n: hold(s.lock(n, ttl=600, renew=False)),
    "adopted lease": adopt,
    "semaphore": lambda s, n: hold(s.semaphore(n, 2, ttl=600)),
    "once": lambda s, n: s.once("o").run(n, lambda: b"r"),
    "cache": lambda s, n: s.cache("c").fetch(n, lambda key: b"v"),
    "queue": lambda s, n: s.queue(n, may_lose=True).next(wait=0.001),
    "ids": lambda s, n: s.ids("i", spread=0.001).next(),
    "views": lambda s, n: s.views(n, lambda *_: 0, lambda *_: None).hit("p"),
    "exact counter": lambda s, n: s.exact_counter(n).add(1),
    "pipeline": fill_pipeline,
    "asyncio": in_a_loop,
    "set": visit,
}
#: The stores whose open handles are seen as open files.
FILES = pytest.mark.parametrize("opener", ["lmdb", "memcached"], indirect=True)


class Handler(KeyboardInterrupt):
    """What a signal handler raises."""


def interrupted(number: int, call: Callable[[], object]) -> bool:
    """Call it, and raise at one of the places in mcds where the interpreter handles signals: where a
    function of Python begins, and where one of C has returned. False: there are fewer."""
    seen = -1

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal seen
        if event in ("call", "c_return") and frame.f_globals["__name__"].startswith("mcds."):
            seen += 1
            if seen == number:
                raise Handler

    sys.setprofile(profile)
    try:
        call()
    except Handler:
        pass
    finally:
        sys.setprofile(None)
    return seen >= number


def open_files() -> List[str]:
    gc.collect()
    return sorted(os.listdir("/proc/self/fd"))


def closed_in_the_end(before: List[str]) -> bool:
    """A thread that renews a lease may be about to end."""
    until = time.monotonic() + 60
    while open_files() != before and time.monotonic() < until:
        time.sleep(0.001)
    return open_files() == before


@pytest.fixture
def frozen() -> Any:
    """So that a collection is quick."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


@FILES
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_leaves_no_handle_open(name: str, opener: Callable[..., mcds.Store],
                                            frozen: None) -> None:
    """The connections and the file of a store are closed with the last handle on it."""
    def work() -> bool:
        with opener() as s:
            return interrupted(number, lambda: CALLS[name](s, f"n{number}"))

    number = -1
    before = open_files()
    is_interrupted = True
    while is_interrupted:
        number += 1
        is_interrupted = work()
        assert closed_in_the_end(before), number
    assert number > 10


@FILES
def test_an_interrupt_of_open(opener: Callable[..., mcds.Store], frozen: None) -> None:
    def work() -> None:
        with opener() as s:
            s.counter("c").add(1)

    number = 0
    before = open_files()
    while interrupted(number, work):
        assert closed_in_the_end(before), number
        number += 1
    assert number > 10


def queue(s: mcds.Store) -> mcds.Queue:
    return s.queue("q", may_lose=True)


def is_unfilled(s: mcds.Store) -> bool:
    try:
        return s.cache("c").look("k").release()
    except mcds.Busy:
        return False


#: What claims, and whether nothing is claimed.
CLAIMS: Dict[str, Tuple[Callable[[mcds.Store], Any], Callable[[mcds.Store], bool]]] = {
    "lock": (lambda s: s.lock("l", ttl=600).try_acquire(), lambda s: s.lock("l").holder() is None),
    "semaphore": (lambda s: s.semaphore("p", 1, ttl=600).try_acquire(),
                  lambda s: s.semaphore("p", 1).holders() == []),
    "begin": (lambda s: s.once("o").begin("k"), lambda s: s.once("o").get("k") is None),
    "waiting begin": (lambda s: s.once("o").begin("k", wait=1), lambda s: s.once("o").get("k") is None),
    "cache": (lambda s: s.cache("c").look("k"), is_unfilled),
    "job": (lambda s: queue(s).next(), lambda s: queue(s).count().claimed == 0),
    "waiting for a job": (lambda s: queue(s).next(wait=1), lambda s: queue(s).count().claimed == 0),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_an_interrupt_leaves_no_claim(name: str, s: mcds.Store) -> None:
    claim, is_free = CLAIMS[name]
    queue(s).push("j")
    number = 0
    while interrupted(number, lambda: claim(s)):
        assert is_free(s), number
        number += 1
    assert number > 5 and not is_free(s)


def test_an_interrupt_leaves_no_thread(frozen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of a large scan ends soon after the loop, even if the interrupt comes in its end."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # that of pytest keeps the frames
    def visit_some() -> None:
        for _ in s.set("s"):
            break

    def threads() -> int:
        return len(os.listdir("/proc/self/task"))

    number = -1
    before = threads()
    with mcds.open("memory:") as s:
        s.set("s").update(b"%d" % i * 200 for i in range(1000, 2000))
        is_interrupted = True
        while is_interrupted:
            number += 1
            is_interrupted = interrupted(number, visit_some)
            until = time.monotonic() + 60
            while threads() != before and time.monotonic() < until:
                time.sleep(0.0001)
            assert threads() == before, number
    assert number > 10
