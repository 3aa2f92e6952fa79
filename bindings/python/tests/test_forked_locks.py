"""A child of fork does not wait for a lock that another thread of its parent held at the fork."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import select
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import mcds
import mcds.stream
import pytest
from mcds._binding import ffi, lib
from test_process import in_child, refuses

Opener = Callable[..., mcds.Store]

#: The attributes of the package that are locks, by file.
LOCKS = {("core.py", "_lock"), ("lock.py", "_mutex"), ("log.py", "_mutex"), ("pipeline.py", "_mutex")}

#: A name for each noun, and what else opens it.
OPENINGS: Dict[str, Tuple[Any, ...]] = {
    **{noun: () for noun in ("counter", "exact_counter", "lock", "visitors", "online", "set", "bag", "sequence", "table",
                             "list", "log", "array", "cache", "ids", "once", "queue")},
    "striped_counter": (4,), "semaphore": (2,), "views": (lambda page, upto: 0, lambda page, slot, views: None)}


def test_the_locks_of_the_package_are_those_of_these_tests() -> None:
    """A new lock must be added to LOCKS and to `locks_of`."""
    found = set()
    for path in Path(mcds.__file__).parent.glob("*.py"):
        source = path.read_text()
        locks = re.findall(r"(\w+)(?:: \S+)? = threading\.Lock\(", source)
        found |= {(path.name, name) for name in locks}
        assert {*re.findall(r"\b_?thread(?:ing)?\.(\w+)", source)} <= {"Lock", "local", "get_ident", "start_new_thread"}
    assert found == LOCKS


class Parent:
    """A store of the parent, and one handle of each kind that it has opened there."""

    def __init__(self, s: mcds.Store) -> None:
        self.s = s
        self.counter = s.counter("a")
        self.counter.add(5)
        self.exact = s.exact_counter("sold", flush=3600)
        self.exact.add(7)
        self.pipeline = s.pipeline()
        self.pipelined = self.pipeline.counter("b")
        self.result = self.pipelined.add(1)
        self.log = s.log("g")
        self.log.put("one")
        self.block = s.lock("block", ttl=600, renew=False)
        self.held = self.block.__enter__()
        self.lease = s.lock("l", ttl=600).acquire()
        s.set("many").update(str(i) + "y" * 90 for i in range(5000))
        self.elements: Any = iter(s.set("many"))  # a thread reads it
        next(self.elements)
        self.events = self.log.events()
        self.aio = s.aio

    def locks(self) -> List[Any]:
        """All of LOCKS."""
        return [self.s._core._lock, self.pipeline._mutex, self.lease._mutex, self.held._mutex, self.log._damaged._mutex]


@contextlib.contextmanager
def holding(locks: List[Any]) -> Iterator[None]:
    """Another thread holds the locks during the block."""
    has_begun, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with contextlib.ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            has_begun.set()
            is_over.wait()

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    has_begun.wait()
    yield
    is_over.set()
    thread.join()


def run(call: Callable[[], Any]) -> Any:
    async def main() -> Any:
        made = call()
        return [one async for one in made] if hasattr(made, "__aiter__") else await made

    return asyncio.run(main())


async def enter(thing: Any) -> None:
    async with thing:
        pass


def use(thing: Any) -> None:
    with thing:
        pass


def close_and(call: Callable[[], Any], s: mcds.Store) -> Any:
    s.close()
    return call()


def opening(noun: str) -> Callable[[Parent], Any]:
    return lambda p: getattr(p.s, noun)("new", *OPENINGS[noun])


#: What raises Invalid in the child.
REFUSED: Dict[str, Callable[[Parent], Any]] = {
    **{f"open {noun}": opening(noun) for noun in OPENINGS},
    "open again": lambda p: p.s.counter("a").get(),
    "open in aio": lambda p: run(lambda: p.aio.counter("new").add(1)),
    "open in a pipeline": lambda p: p.pipeline.counter("new").add(1),
    "counter": lambda p: p.counter.add(1),
    "exact add": lambda p: p.exact.get(),
    "exact flush": lambda p: p.exact.flush(),
    "pipeline": lambda p: p.s.pipeline(),
    "pipelined": lambda p: p.pipelined.add(1),
    "result": lambda p: p.result.result(),
    "end of a pipeline": lambda p: use(p.pipeline),
    "result after the close": lambda p: close_and(p.result.result, p.s),
    "aio": lambda p: run(lambda: p.aio.counter("a").add(1)),
    "aio block": lambda p: run(lambda: enter(p.aio.lock("l"))),
    "aio scan": lambda p: run(lambda: p.aio.set("many")),
    "aio log": lambda p: run(lambda: p.aio.log("g").read()),
    "elements": lambda p: list(p.elements),
    "events": lambda p: list(p.events),
    "log": lambda p: list(p.log),
    "tail": lambda p: p.log.tail(mcds.LogCursor(1)),
    "damage": lambda p: p.log.damage(),
    "follow": lambda p: next(p.log.follow()),
    "len": lambda p: len(p.s.set("many")),
    "structures": lambda p: list(p.s.structures()),
    "inspect": lambda p: list(p.s.inspect()),
    "made_with": lambda p: p.s.made_with("set", "many"),
    "backup": lambda p: p.s.backup("/nowhere/at/all"),
    "renew": lambda p: p.lease.renew(),
    "release": lambda p: p.lease.release(),
    "export": lambda p: p.lease.export(),
    "adopt": lambda p: p.s.lock("l").adopt("x"),
    "acquire": lambda p: p.block.acquire(),
    "end of a block": lambda p: p.block.__exit__(None, None, None),
    "call after the close": lambda p: close_and(lambda: p.counter.add(1), p.s),
    "open after the close": lambda p: close_and(lambda: p.s.counter("a"), p.s),
    "aio after the close": lambda p: close_and(lambda: run(lambda: p.aio.counter("a").add(1)), p.s)}
#: What returns.
QUIET: Dict[str, Callable[[Parent], Any]] = {
    "close": lambda p: p.s.close(),
    "close twice": lambda p: close_and(p.s.close, p.s),
    "end of the store's block": lambda p: p.s.__exit__(None, None, None),
    "close of a pipeline": lambda p: p.pipeline.close(),
    "wait": lambda p: p.pipeline.wait(),
    "exception": lambda p: p.result.exception(),
    "done": lambda p: p.result.done(),
    "limit_timeout": lambda p: p.s.limit_timeout(1),
    "close of an iteration": lambda p: p.elements.close(),
    "repr": lambda p: repr([p.s, p.aio, p.pipeline, p.lease, p.log, p.result]),
    "del": lambda p: [vars(p).pop(name) for name in [*vars(p)]] and gc.collect()}


def returns(call: Callable[[], object]) -> bool:
    call()
    return True


@pytest.fixture
def parent(opener: Opener) -> Iterator[Parent]:
    """The timeout is so long that a child which waits for it fails the test too."""
    with opener(timeout=600) as s:
        parent = Parent(s)
        yield parent
        # What the child has done does not affect the parent.
        assert parent.counter.get() == 5 and parent.result.result() == 1
        assert len(set(parent.elements)) == 4999 and [event.data for event in parent.events] == [b"one"]
        parent.lease.release()
        parent.block.__exit__(None, None, None)
        parent.exact.flush()
        assert parent.exact.get() == 7
        parent.pipeline.close()


def test_a_child_waits_for_no_lock_of_its_parent(parent: Parent) -> None:
    failed = []
    with holding(parent.locks()):
        for name, call in REFUSED.items():
            if not in_child(lambda: refuses(lambda: call(parent)), 20):
                failed.append(name)
        for name, call in QUIET.items():
            if not in_child(lambda: returns(lambda: call(parent)), 20):
                failed.append(name)
    assert failed == []


def test_a_child_waits_for_no_thread_that_uses_a_pipeline(opener: Opener) -> None:
    """The other thread is in a call of C, with the mutex of the pipeline."""
    with opener(timeout=600) as s, s.lock("l", ttl=600, renew=False):
        pipeline = s.pipeline()
        acquired = pipeline.semaphore("p", 1, ttl=600).try_acquire()
        assert acquired.result() is not None
        watched = pipeline.lock("l", ttl=600).watch(None, 600)
        watched = pipeline.lock("l").watch(watched.result(), 600)
        thread = threading.Thread(target=watched.exception, daemon=True)
        thread.start()
        while not pipeline._mutex.locked():
            pass
        assert in_child(lambda: refuses(watched.result), 20)
        assert in_child(lambda: returns(s.close), 20)
        pipeline.close()
        thread.join()


class Looping:
    """An event loop whose operation is in flight: it waits for a lock that another holds."""

    def __init__(self, s: mcds.Store) -> None:
        self.s = s
        self.loop = asyncio.new_event_loop()
        self.operation: Any = None

    async def begin(self) -> None:
        self.operation = asyncio.ensure_future(self.s.aio.lock("l", ttl=600, renew=False).acquire())
        while self.fd() < 0:
            await asyncio.sleep(0)

    def fd(self) -> int:
        """The descriptor that the loop watches for the operation."""
        return max((driver._fd for driver in self.s.aio._drivers.values()), default=-1)

    def watches(self) -> bool:
        """Whether the kernel has it in the list of the loop, which the parent and the child share."""
        try:
            self.loop._selector._selector.modify(self.fd(), select.EPOLLIN)  # type: ignore[attr-defined]
        except FileNotFoundError:
            return False
        return True

    async def end(self) -> None:
        await (await self.operation).release()


#: What a child does with the store of an event loop of its parent.
LEAVING: Dict[str, Callable[[Looping], bool]] = {
    "close": lambda at: returns(at.s.close),
    "call": lambda at: refuses(lambda: run(lambda: at.s.aio.counter("a").add(1))),
    "open": lambda at: refuses(lambda: run(lambda: at.s.aio.counter("new").add(1)))}


@pytest.mark.parametrize("way", LEAVING)
def test_a_child_leaves_the_event_loop_of_a_thread_of_its_parent(way: str, memcached: str) -> None:
    """The child waits neither for the thread nor for the descriptors of the loop, and changes none of them."""
    with mcds.open(memcached, ns=f"loop-{way}", timeout=600) as s:
        at = Looping(s)
        held = s.lock("l", ttl=600).acquire()
        thread = threading.Thread(target=at.loop.run_forever, daemon=True)
        thread.start()
        asyncio.run_coroutine_threadsafe(at.begin(), at.loop).result()
        assert in_child(lambda: LEAVING[way](at), 20)
        assert at.watches()
        held.release()
        asyncio.run_coroutine_threadsafe(at.end(), at.loop).result()
        at.loop.call_soon_threadsafe(at.loop.stop)
        thread.join()
        at.loop.close()


@pytest.mark.parametrize("way", [*LEAVING, "await"])
def test_a_child_leaves_the_event_loop_of_its_own_thread(way: str, memcached: str) -> None:
    """The loop does not run at the fork. An operation that the child awaits on it ends with Invalid."""
    def wait(at: Looping) -> bool:
        return returns(at.s.close) and refuses(lambda: at.loop.run_until_complete(at.operation))

    leaving = LEAVING.get(way, wait)
    with mcds.open(memcached, ns=f"own-{way}", timeout=600) as s:
        at = Looping(s)
        held = s.lock("l", ttl=600).acquire()
        at.loop.run_until_complete(at.begin())
        assert in_child(lambda: leaving(at), 20)
        assert at.watches()
        held.release()
        at.loop.run_until_complete(at.end())
        at.loop.close()


def test_a_child_of_a_task_is_refused(opener: Opener) -> None:
    """In the child, the loop of the task is that of the parent, and no loop runs."""
    with opener(timeout=600) as s:
        async def main() -> None:
            aio = s.aio
            counter, lock = aio.counter("a"), aio.lock("l", ttl=600)
            assert await counter.add(1) == 1
            lease = await lock.acquire()
            renewal = asyncio.ensure_future(lease.renew())
            await asyncio.sleep(0)

            def is_refused(coroutine: Any) -> bool:
                return refuses(lambda: coroutine.send(None))

            for call in (lease.export, lease.renew, lease.release):
                assert in_child(lambda: is_refused(call()), 20)
            assert in_child(lambda: refuses(lambda: counter.add(1)), 20)
            assert in_child(lambda: returns(s.close), 20)
            await renewal
            await lease.release()
            assert await counter.get() == 1

        asyncio.run(main())


def test_a_child_frees_the_buffer_for_which_a_thread_of_its_parent_waits() -> None:
    buffer = mcds.stream.new_buffer(1 << 20, True)
    out = mcds.stream.new_buffer()
    thread = threading.Thread(target=lambda: lib.mcds_py_buffer_take(buffer, out, 1 << 31), daemon=True)
    thread.start()
    status = Path(f"/proc/self/task/{thread.native_id}/stat")
    while status.read_text().rpartition(")")[2].split()[0] != "S":
        pass

    def free() -> bool:
        ffi.release(buffer)
        return True

    assert in_child(free, 20)
    lib.mcds_py_buffer_end(buffer)
    thread.join()


@pytest.mark.parametrize("end", ["sys.exit()", "s.close(); sys.exit()", "raise SystemExit"])
def test_the_interpreter_of_a_child_ends(end: str) -> None:
    """The finalizers of the child run while the locks of the parent are held."""
    program = f"""
import os, signal, sys, threading
import mcds
with mcds.open("memory:", timeout=600) as s:
    s.exact_counter("sold", flush=3600).add(7)
    pipeline = s.pipeline()
    result = pipeline.counter("a").add(1)
    s.set("x").update(str(i) + "y" * 90 for i in range(9000))
    elements = iter(s.set("x"))
    next(elements), next(elements)
    lease = s.lock("l").__enter__()
    has_begun = threading.Event()
    is_over = threading.Event()
    def hold():
        with s._core._lock, pipeline._mutex:
            has_begun.set()
            is_over.wait()
    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    has_begun.wait()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        {end}
    assert os.waitpid(pid, 0)[1] == 0
    is_over.set()
    thread.join()
"""
    done = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
