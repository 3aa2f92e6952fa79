"""Threads, fork, and the interpreter's lock."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable, List

import mcds
import pytest

Opener = Callable[..., mcds.Store]


def test_threads_share_a_store(s: mcds.Store) -> None:
    def work() -> None:
        for i in range(200):
            s.counter("a").add(1)
            s.table("t").incr(str(i % 7))
            s.set("x").add(str(i))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert s.counter("a").get() == 800
    assert sum(int(value) for value in s.table("t").values()) == 800 and len(s.set("x")) == 200


def test_a_call_in_another_thread_survives_the_close(opener: Opener) -> None:
    """The handles stay until the calls have returned."""
    for _ in range(10):
        store = opener()
        counter = store.counter("a")
        has_begun = threading.Event()

        def work() -> None:
            try:
                while True:
                    counter.add(1)
                    has_begun.set()
            except mcds.Invalid:
                pass

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        has_begun.wait()
        store.close()
        for thread in threads:
            thread.join()


def in_child(work: Callable[[], bool], seconds: int = 60) -> bool:
    """Whether work() returns True in a child process within so many seconds. The child ends without cleaning up."""
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(seconds)
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitpid(pid, 0)[1] == 0


def refuses(call: Callable[[], object]) -> bool:
    try:
        call()
    except mcds.Invalid:
        return True
    return False


def test_a_child_opens_its_own_store(opener: Opener) -> None:
    with opener() as s:
        s.counter("a").add(5)
        x = s.set("many")
        x.update(str(i) + "y" * 90 for i in range(5000))
        elements = iter(x)
        next(elements)
        pipeline = s.pipeline()
        result = pipeline.counter("b").add(1)
        with s.lock("l") as lease:
            assert in_child(lambda: refuses(lambda: s.counter("a").add(1)))
            assert in_child(lambda: refuses(lambda: s.counter("new").add(1)))
            assert in_child(lambda: refuses(lambda: list(elements)))
            assert in_child(lambda: refuses(result.result))
            assert in_child(lambda: refuses(lease.release))

        def go_on() -> bool:
            s.close()
            gc.collect()
            with opener() as own:
                return own.counter("child").add(1) == 1

        assert in_child(go_on)
        assert s.counter("a").get() == 5 and result.result() == 1
        assert len(set(elements)) == 4999
        pipeline.close()


def test_an_exact_counter_is_not_written_by_a_child(opener: Opener) -> None:
    with opener() as s:
        s.exact_counter("sold", flush=3600).add(7)

        def close() -> bool:
            try:
                s.close()
            except mcds.Invalid:
                pass
            gc.collect()
            return True

        assert in_child(close)
    with opener() as s:
        if not repr(s).startswith("<mcds.Store memory:"):
            assert s.exact_counter("sold").get() == 7


def test_a_waiting_call_lets_other_threads_run() -> None:
    """The lock is held by another; the waiting thread does not hold the interpreter's lock."""
    with mcds.open("memory:") as s:
        turns = 0
        with s.lock("l", ttl=60) as lease:
            waiting = threading.Thread(target=lambda: s.lock("l", ttl=60).acquire().release())
            waiting.start()
            while turns < 1000:
                turns += 1
                time.sleep(0)
            assert waiting.is_alive() and not lease.lost
        waiting.join()


def test_handles_are_freed(opener: Opener) -> None:
    """Many names, more than are kept open, and results that nobody takes."""
    with opener() as s:
        for i in range(1500):
            s.counter(str(i)).add(1)
        assert len(s._core._opened) <= mcds.core.KEPT
        values: List[object] = [s.pipeline() for _ in range(5)]
        del values
        gc.collect()
        assert s.counter("0").get() == 1


@pytest.mark.parametrize("way", ["exit", "leak"])
def test_the_interpreter_ends_cleanly(way: str) -> None:
    """With a scan that waits in a thread, a held lock, and operations in flight."""
    program = f"""
import mcds
s = mcds.open("memory:")
s.set("x").update(str(i) + "y" * 90 for i in range(9000))
elements = iter(s.set("x"))
next(elements), next(elements)
lease = s.lock("l").__enter__()
pipeline = s.pipeline()
pipeline.counter("a").add(1)
if {way!r} == "exit":
    s.close()
"""
    done = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_of_a_store_is_copied(s: mcds.Store) -> None:
    """Another process, or a second object with the same memory of C, could only do harm with it."""
    s.queue("q", may_lose=True).push("j")
    pipeline = s.pipeline()
    bound: List[Any] = [
        s, s.aio, pipeline, pipeline.counter("c"), pipeline.counter("c").add(1), s.counter("c"), s.aio.lock("l"), s.set("s"),
        s.table("t"), s.lock("l").acquire(), s.semaphore("p", 1).acquire(), s.once("o").begin("k"), s.cache("c").look("k"),
        s.queue("q", may_lose=True).next()]
    leaves: List[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, pickle.dumps]
    for one in bound:
        assert re.match(r"<mcds\.\w+ .*>$", repr(one))
        for leave in leaves:
            with pytest.raises(TypeError, match="cannot be copied or pickled: .* must open the store itself"):
                leave(one)
    pipeline.wait()


def test_values_are_copied(s: mcds.Store) -> None:
    cursor = mcds.LogCursor(1)
    assert copy.copy(cursor).save() == pickle.loads(pickle.dumps(cursor)).save() == cursor.save()
    with pytest.raises(mcds.Error) as caught:
        s.counter("c").add(-1)
    error = pickle.loads(pickle.dumps(caught.value))
    assert (str(error), error.cause, error.args) == (str(caught.value), caught.value.cause, caught.value.args)
    assert str(error) in repr(error) and type(error) is type(caught.value)


@pytest.mark.parametrize("hold, uses", [
    (lambda s: s.lock("l", ttl=600).acquire(), ["check", "renew", "release", "export", "lost", "remaining"]),
    (lambda s: s.semaphore("m", 1, ttl=600).acquire(), ["check", "renew", "release", "lost", "remaining"]),
    (lambda s: s.once("o").begin("k"), ["mine", "until", "renew", "abandon"]),
    (lambda s: s.cache("c").look("k"), ["mine", "renew", "release"]),
    (lambda s: pushed(s).next(), ["held", "deadline", "remaining", "longer", "done", "__enter__"])],
    ids=["lease", "permit", "run", "claim", "job"])
def test_a_child_does_not_hold_what_its_parent_holds(hold: Callable[[mcds.Store], Any], uses: List[str],
                                                     opener: Opener) -> None:
    """Also where another thread of the parent renews the lease at the fork."""
    with opener() as s:
        held = hold(s)

        def use(name: str) -> Any:
            found = getattr(held, name)
            return found() if callable(found) else found

        with getattr(held, "_mutex", threading.Lock()):
            assert in_child(lambda: all(refuses(lambda: use(name)) for name in uses) and repr(held) != "")
        for name in uses:
            if name not in ("release", "abandon", "done"):
                use(name)


def pushed(s: mcds.Store) -> mcds.Queue:
    queue = s.queue("q", may_lose=True)
    queue.push("j")
    return queue


def test_a_child_ends_the_job_of_its_parent(opener: Opener) -> None:
    """The child uses the receipt of the job, on a store that it has opened."""
    with opener() as s:
        if repr(s).startswith("<mcds.Store memory:"):
            return
        job = pushed(s).next()
        assert job is not None

        def end() -> bool:
            with opener() as own:
                own.queue("q", may_lose=True).job(job.receipt).done()
            return True

        assert in_child(end) and s.queue("q", may_lose=True).count() == (0, 0, 0, 0)
