"""The close of a store ends its open iterations and pipelines, and closes their file or connections at once."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from typing import Any, Callable, Dict, Iterator, List

import mcds
import mcds.stream
import pytest
from mcds._binding import lib
from test_closing import files
from test_process import in_child, refuses

Opener = Callable[..., mcds.Store]
CLOSED = "the store is closed$"
#: More than three parts of an iteration.
MANY = [b"%d" % i * 100 for i in range(1000, 5000)]


def fill_table(s: mcds.Store, values: List[bytes]) -> None:
    with s.pipeline() as p:
        for value in values:
            p.table("t").put(value, value)


def take_each(s: mcds.Store, values: List[bytes]) -> None:
    with s.pipeline() as p:
        for value in values:
            p.limit("m", rates="1/h").take(value)


#: What is iterated, how it is filled, and how an event loop iterates.
ITERATIONS: Dict[str, Any] = {
    "set": (lambda s, v: s.set("s").update(v), lambda s: s.set("s")),
    "bag": (lambda s, v: s.bag("b").update(v), lambda s: s.bag("b").counts()),
    "sequence": (lambda s, v: s.sequence("q").update(v), lambda s: s.sequence("q")),
    "list": (lambda s, v: s.list("l").extend(v), lambda s: s.list("l").values()),
    "log": (lambda s, v: s.log("g").put_many(v), lambda s: s.log("g")),
    "follow": (lambda s, v: s.log("g").put_many(v), lambda s: s.log("g").follow(mcds.LogCursor(1), 600)),
    "table": (fill_table, lambda s: s.table("t").items()),
    "limit": (take_each, lambda s: s.limit("m", rates="1/h").scan())}
#: Those that only a waiting program has.
WAITING: Dict[str, Any] = {
    "keys": (fill_table, lambda s: s.table("t")),
    "values": (fill_table, lambda s: s.table("t").values()),
    "array": (lambda s, v: s.array("a").set(v), lambda s: s.array("a")),
    "structures": (lambda s, v: [s.set(f"s{i}").add("x") for i in range(2)], lambda s: s.structures()),
    "inspect": (lambda s, v: None, lambda s: s.inspect())}
SIZES = {"small": MANY[:3], "large": MANY}


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [*ITERATIONS, *WAITING])
def test_an_iteration_ends_with_its_store(name: str, size: str, opener: Opener, no_collector: None) -> None:
    fill, iterate = {**ITERATIONS, **WAITING}[name]
    before = files()
    s = opener()
    fill(s, SIZES[size][:300] if name == "array" else SIZES[size])
    begun, new = iter(iterate(s)), iter(iterate(s))
    next(begun)
    s.close()
    assert files() == before
    for iterator in (begun, new):
        with pytest.raises(mcds.Invalid, match=CLOSED):
            next(iterator)
        with pytest.raises(StopIteration):
            next(iterator)
    del begun, new, iterator
    s.close()


def test_the_end_of_a_scan_is_waited_for(opener: Opener, no_collector: None) -> None:
    """The loop has ended, and its thread may not."""
    before = files()
    for _ in range(20):
        with opener() as s:
            s.list("l").extend(MANY)
            for _ in s.list("l"):
                for _ in s.list("l"):
                    break
                break
        assert files() == before


def test_what_is_read_whole_is_kept(opener: Opener) -> None:
    """An iteration that has ended before the close is over."""
    with opener() as s:
        s.list("l").extend(MANY)
        elements = iter(s.list("l"))
        assert sum(1 for _ in elements) == len(MANY)
    assert list(elements) == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ITERATIONS)
def test_an_asynchronous_iteration_ends_with_its_store(name: str, size: str, opener: Opener,
                                                       no_collector: None) -> None:
    fill, iterate = ITERATIONS[name]

    async def main() -> None:
        s = opener()
        fill(s, SIZES[size])
        iterator = iterate(s.aio).__aiter__()
        await iterator.__anext__()
        s.close()
        assert files() == before
        with pytest.raises(mcds.Invalid, match=CLOSED):
            await iterator.__anext__()

    with contextlib.closing(asyncio.new_event_loop()) as loop:
        before = files()
        loop.run_until_complete(main())
        loop.run_until_complete(loop.shutdown_default_executor())


#: Scans by one call: the module and the function of C, how it is filled, and the call.
SCANS: Dict[str, Any] = {
    "set.len": ("set", "mcds_set_scan", lambda s, v: s.set("s").update(v), lambda s: len(s.set("s"))),
    "table.len": ("table", "mcds_table_scan", fill_table, lambda s: len(s.table("t"))),
    "table.page": ("table", "mcds_table_scan", fill_table, lambda s: s.table("t").page(mcds.Cursor())),
    "limit.page": ("limit", "mcds_limit_scan", take_each, lambda s: s.limit("m", rates="1/h").page(mcds.Cursor())),
    "list.len": ("list", "mcds_list_scan", lambda s, v: s.list("l").extend(v), lambda s: len(s.list("l"))),
    "array.get": ("array", "mcds_array_scan", lambda s, v: s.array("a").set(v), lambda s: s.array("a").get()),
    "array.len": ("array", "mcds_array_scan", lambda s, v: s.array("a").set(v), lambda s: len(s.array("a"))),
    "log.damage": ("log", "mcds_log_scan", lambda s, v: s.log("g").put_many(v), lambda s: s.log("g").damage()),
    "queue.scan": ("queue", "mcds_queue_scan", lambda s, v: s.queue("q", may_lose=True).push_many(v),
                   lambda s: s.queue("q", may_lose=True).scan()),
    "queue.dead": ("queue", "mcds_queue_dead", lambda s, v: [s.queue("q", may_lose=True).push_dead(one) for one in v],
                   lambda s: s.queue("q", may_lose=True).dead()),
    "structures": ("store", "mcds_scan", lambda s, v: [s.set(f"s{i}").add("x") for i in range(3)],
                   lambda s: list(s.structures())),
    "inspect": ("store", "mcds_inspect", lambda s, v: None, lambda s: list(s.inspect()))}


@pytest.mark.parametrize("name", SCANS)
def test_a_scan_by_one_call_ends_with_its_store(name: str, opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is closed after the call of C has begun. The scan ends at the next element."""
    module, function, fill, call = SCANS[name]
    before = files()
    s = opener()
    fill(s, MANY[:300])
    visited: List[int] = []

    class Closing:
        def __getattr__(self, name: str) -> Any:
            return scan if name == function else getattr(lib, name)

    def scan(*arguments: Any) -> Any:
        s.close()
        result = getattr(lib, function)(*arguments)
        buffer = next(one for one in arguments if one in buffers)
        visited.append(lib.mcds_py_buffer_records(buffer))
        return result

    buffers: List[Any] = []
    new = mcds.stream.new_buffer

    def new_buffer(*arguments: Any) -> Any:
        buffers.append(new(*arguments))
        return buffers[-1]

    monkeypatch.setattr(mcds.stream, "new_buffer", new_buffer)
    monkeypatch.setattr(getattr(mcds, module), "lib", Closing())
    with pytest.raises(mcds.Invalid, match=CLOSED):
        call(s)
    assert visited in ([1], [2])  # a finding has two records
    buffers.clear()
    assert files() == before


@pytest.mark.parametrize("opener", ["lmdb", "memcached"], indirect=True)
def test_a_thread_that_iterates_ends(opener: Opener) -> None:
    """The store is closed while other threads are in calls of iterations."""
    before = files()
    s = opener()
    s.list("l").extend(MANY)
    fill_table(s, MANY)
    has_begun = threading.Barrier(5)
    caught: List[str] = []

    def visit(iterate: Callable[[], Any]) -> None:
        is_first = True
        try:
            while True:
                for _ in iterate():
                    if is_first:
                        has_begun.wait()
                    is_first = False
        except mcds.Invalid as error:
            caught.append(error.reason)

    threads = [threading.Thread(target=visit, args=(one,)) for one in
               (s.list("l").values, s.table("t").items, s.list("l").values, s.table("t").keys)]
    for thread in threads:
        thread.start()
    has_begun.wait()
    s.close()
    for thread in threads:
        thread.join()
    assert caught == ["the store is closed"] * 4 and files() == before


def test_a_child_closes_a_store_with_an_iteration(opener: Opener) -> None:
    """No thread of the parent is waited for."""
    s = opener()
    s.list("l").extend(MANY)
    elements = iter(s.list("l"))
    pipeline = s.pipeline()
    result = pipeline.counter("c").add()
    next(elements)

    def close() -> bool:
        s.close()
        return refuses(lambda: next(elements)) and isinstance(result.exception(), mcds.Error)

    assert in_child(close)
    assert sum(1 for _ in elements) == len(MANY) - 1 and result.result() == 1
    s.close()


def test_a_pipeline_ends_with_its_store(opener: Opener, no_collector: None) -> None:
    """Operations in flight may or may not be applied."""
    before = files()
    s = opener()
    pipeline = s.pipeline()
    done = pipeline.counter("c").add()
    pipeline.wait()
    results = [pipeline.counter("c").add() for _ in range(3)]
    counter = pipeline.counter("c")
    s.close()
    assert files() == before
    assert done.result() == 1
    for result in results:
        with pytest.raises(mcds.Ambiguous, match="the pipeline was closed before this operation had finished$"):
            result.result()
        assert result.done()
    calls: List[Callable[[], Any]] = [counter.add, lambda: pipeline.counter("c")]
    for call in calls:
        with pytest.raises(mcds.Invalid, match=CLOSED):
            call()
    pipeline.wait()
    pipeline.close()
    assert repr(pipeline) == "<mcds.Pipeline 0 in flight>"


def test_the_block_of_a_pipeline_says_that_the_store_is_closed(opener: Opener) -> None:
    s = opener()
    with pytest.raises(mcds.Ambiguous, match="the pipeline was closed"):
        with s.pipeline() as p:
            p.counter("c").add()
            s.close()
    s = opener()
    with pytest.raises(LookupError):
        with s.pipeline() as p:
            p.counter("c").add()
            s.close()
            raise LookupError


def test_a_forgotten_pipeline_delays_no_exact_counter(opener: Opener) -> None:
    """Nobody drives the operation in flight, for which a flush would wait."""
    s = opener()
    pipeline = s.pipeline()
    pipeline.exact_counter("e", flush=3600).add(1)
    s.exact_counter("e", flush=3600).add(7)
    s.close()
    with opener() as s:
        if not repr(s).startswith("<mcds.Store memory:"):
            assert s.exact_counter("e").get() >= 7


def test_a_call_of_a_pipeline_ends_before_its_handle(opener: Opener) -> None:
    """A function that an operation calls closes the store; so may a signal handler or another thread."""
    s = opener()
    pipeline = s.pipeline(check_results=False)
    called = pipeline.views("v", lambda *_: s.close() or 5, lambda *_: None).get("p")  # type: ignore[func-returns-value]
    pipeline.wait()
    assert called.done()
    with pytest.raises(mcds.Invalid, match=CLOSED):
        s.counter("c")


def test_threads_of_a_pipeline_end(opener: Opener) -> None:
    for _ in range(10):
        before = files()
        s = opener()
        pipeline = s.pipeline(depth=8)
        counter = pipeline.counter("c")
        has_begun = threading.Event()
        kinds = set()

        def work() -> None:
            try:
                while True:
                    counter.add(1).result()
                    has_begun.set()
            except mcds.Error as error:
                kinds.add(type(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        has_begun.wait()
        s.close()
        for thread in threads:
            thread.join()
        assert kinds <= {mcds.Invalid, mcds.Ambiguous} and files() == before


def test_another_thread_closes_the_store_of_a_loop(opener: Opener) -> None:
    async def main() -> None:
        s = opener()
        await s.aio.counter("c").add()
        task = asyncio.get_running_loop().create_task(work(s))
        while not started:
            await asyncio.sleep(0)
        await asyncio.to_thread(s.close)
        assert files() == before
        await task

    async def work(s: mcds.Store) -> None:
        with pytest.raises((mcds.Invalid, mcds.Ambiguous), match="the store (is|was) closed"):
            while True:
                await asyncio.gather(*(s.aio.counter("c").add() for _ in range(50)))
                started.append(True)

    started: List[bool] = []
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        loop.set_debug(True)
        before = files()
        loop.run_until_complete(asyncio.wait_for(main(), 60))
        loop.run_until_complete(loop.shutdown_default_executor())


def test_a_busy_loop_does_not_keep_a_close(opener: Opener) -> None:
    """The loop of another thread is blocked; its pipeline is closed when it runs again."""
    goes_on, blocked = threading.Event(), threading.Event()
    failures: List[BaseException] = []
    s = opener(timeout=0.05)

    async def main() -> None:
        future = s.aio.counter("c").add()
        blocked.set()
        assert goes_on.wait(60)
        try:
            await future
        except BaseException as error:
            failures.append(error)

    before = files()
    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    assert blocked.wait(60)
    s.close()
    goes_on.set()
    thread.join()
    assert [type(one) for one in failures] == [mcds.Ambiguous] and len(files()) <= len(before)


def test_what_has_not_begun_was_not_applied(opener: Opener) -> None:
    """An operation that waits for a place in flight is refused."""
    async def main() -> None:
        s = opener()
        futures = [s.aio.counter("c").add() for _ in range(mcds.aio.DEPTH + 3)]
        s.close()
        found = await asyncio.gather(*futures, return_exceptions=True)
        assert [type(one) for one in found[-3:]] == [mcds.Invalid] * 3
        assert {type(one) for one in found[:-3]} == {mcds.Ambiguous}

    asyncio.run(main())


def test_a_structure_that_is_not_kept_ends_too(opener: Opener, no_collector: None) -> None:
    """More structures than a store keeps open."""
    before = files()
    s = opener()
    counter, exact = s.counter("first"), s.exact_counter("exact", flush=3600)
    counter.add()
    exact.add(7)
    for i in range(mcds.core.KEPT + 1):
        s.counter(f"c{i}")
    other = s.counter("first")
    other.add()
    assert other._opened is not counter._opened
    s.close()
    assert files() == before
    calls: List[Callable[[], Any]] = [counter.add, exact.get, other.add]
    for call in calls:
        with pytest.raises(mcds.Invalid, match=CLOSED):
            call()


def test_an_iterator_outlives_its_store(opener: Opener) -> None:
    """Everything is freed once, in any order."""
    for _ in range(20):
        s = opener()
        s.list("l").extend(MANY)
        iterators = [iter(s.list("l")) for _ in range(3)]
        for one in iterators:
            next(one)
        pipeline = s.pipeline()
        results = [pipeline.counter("c").add()]
        s.close()
        del s
        iterators.pop()
        gc.collect()
        iterators.clear()
        del pipeline
        results.clear()
        gc.collect()
