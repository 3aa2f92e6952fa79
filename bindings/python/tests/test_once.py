"""Work that is done once: what it may return, and what becomes of its claim."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, List, Tuple

import mcds
import pytest

Opener = Callable[..., mcds.Store]


def test_once(s: mcds.Store, opener: Opener) -> None:
    payments = s.once("payments", run=3, keep=60)
    run = payments.begin("order:1", request=b"10 euro")
    assert run.mine and run.result is None and run.until > 0
    with opener() as other:
        with pytest.raises(mcds.Busy):
            other.once("payments", run=3).begin("order:1", request=b"10 euro")
        with pytest.raises(mcds.Exists):
            other.once("payments", run=3).begin("order:1", request=b"20 euro")
    run.renew()
    run.finish(b"receipt", code=-3)
    again = payments.begin("order:1")
    assert not again.mine and again.result == b"receipt" and again.code == -3
    state = payments.get("order:1")
    assert state is not None and (state.state, state.code, state.result) == ("done", -3, b"receipt")
    assert payments.run("order:2", lambda: b"two") == b"two"
    assert payments.run("order:2", lambda: b"never") == b"two"
    with pytest.raises(ZeroDivisionError):
        payments.run("order:3", lambda: b"%d" % (1 // 0))
    assert payments.get("order:3") is None and payments.run("order:3", lambda: b"3") == b"3"
    with pytest.raises(mcds.Exists):
        payments.settle("order:3", b"4")
    payments.settle("order:4", b"four", code=4)
    assert payments.begin("order:4").code == 4
    assert payments.forget("order:4") and not payments.forget("order:4")


def test_a_key_in_use_is_named(s: mcds.Store) -> None:
    hooks = s.once("hooks")
    hooks.run("evt", lambda: b"r", request=b"A")

    async def run() -> bytes:
        async def work() -> bytes:
            return b"never"

        return await s.aio.once("hooks").run("evt", work, request=b"B")

    async def begin() -> Any:
        return await s.aio.once("hooks").begin("evt", b"B")

    async def settle() -> None:
        await s.aio.once("hooks").settle("evt", b"s")

    pipeline = s.pipeline(check_results=False).once("hooks")
    other = "the key b'evt' was used for another request; take a new key for this one"
    done = "the key b'evt' has a result, which stays; forget it first"
    calls: List[Tuple[str, str, Callable[[], Any]]] = [
        ("run", other, lambda: hooks.run("evt", lambda: b"never", request=b"B")),
        ("begin", other, lambda: hooks.begin("evt", request=b"B")), ("settle", done, lambda: hooks.settle("evt", b"s")),
        ("run", other, lambda: asyncio.run(run())), ("begin", other, lambda: asyncio.run(begin())),
        ("settle", done, lambda: asyncio.run(settle())),
        ("begin", other, lambda: pipeline.begin("evt", request=b"B").result()),
        ("settle", done, lambda: pipeline.settle("evt", b"s").result())]
    for verb, reason, call in calls:
        with pytest.raises(mcds.Exists) as caught:
            call()
        error = caught.value
        assert (str(error), error.reason, error.verb) == (f"once 'hooks': {verb}: {reason}", reason, verb)
    assert hooks.run("evt", lambda: b"never", request=b"A") == b"r"


def test_an_empty_request_is_a_request(s: mcds.Store) -> None:
    """Only None, the default, is not checked."""
    hooks = s.once("hooks")
    hooks.run("a", lambda: b"A", request=b"A")
    hooks.run("empty", lambda: b"E", request="")
    hooks.run("none", lambda: b"N")
    empties: List[Any] = [b"", "", bytearray(), memoryview(b"")]
    for empty in empties:
        with pytest.raises(mcds.Exists):
            hooks.run("a", lambda: b"never", request=empty)
        assert hooks.run("empty", lambda: b"never", request=empty) == b"E"
    with pytest.raises(mcds.Exists):
        hooks.begin("empty", request=b"A")
    for key, result in (("a", b"A"), ("empty", b"E")):
        assert hooks.run(key, lambda: b"never") == hooks.run(key, lambda: b"never", request=None) == result
    for request in (b"A", b"", None):
        assert hooks.run("none", lambda: b"never", request=request) == b"N"


def run_waiting(s: mcds.Store, key: str, work: Callable[[], Any]) -> bytes:
    return s.once("o", run=600).run(key, work, wait=0)


def run_awaited(s: mcds.Store, key: str, work: Callable[[], Any]) -> bytes:
    async def call() -> Any:
        return work()

    async def main() -> bytes:
        return await s.aio.once("o", run=600).run(key, call, wait=0)

    return asyncio.run(asyncio.wait_for(main(), 60))


RUNS = pytest.mark.parametrize("run", [run_waiting, run_awaited])


@RUNS
def test_work_that_returns_nothing_is_done_once(run: Any, s: mcds.Store) -> None:
    calls: List[int] = []
    assert [run(s, "k", lambda: calls.append(1)) for _ in range(3)] == [b""] * 3
    assert len(calls) == 1


@RUNS
@pytest.mark.parametrize("returned", [7, {"a": 1}, ["x"], "\udc80", b"x" * 2_000_000],
                         ids=["int", "dict", "list", "surrogate", "large"])
def test_work_whose_result_cannot_be_stored_is_not_repeated(run: Any, returned: Any,
                                                            s: mcds.Store) -> None:
    """It was done, so its claim lasts until its end."""
    calls: List[int] = []

    def work() -> Any:
        calls.append(1)
        return returned

    with pytest.raises((TypeError, mcds.Invalid, mcds.TooBig)):
        run(s, "k", work)
    with pytest.raises(mcds.Busy):
        run(s, "k", work)
    state = s.once("o", run=600).get("k")
    assert len(calls) == 1 and state is not None and state.state == "running"


@RUNS
def test_what_work_raises_comes_first(run: Any, s: mcds.Store) -> None:
    def work() -> None:
        assert s.once("o", run=600).forget("k")
        raise LookupError

    with pytest.raises(LookupError):
        run(s, "k", work)
    assert s.once("o", run=600).get("k") is None


def fetch_waiting(s: mcds.Store, fill: Callable[[], Any]) -> Any:
    def call(key: bytes) -> bytes:
        value: bytes = fill()
        return value

    return s.cache("c", failed=30).fetch("k", call)


def fetch_awaited(s: mcds.Store, fill: Callable[[], Any]) -> Any:
    async def call(key: bytes) -> bytes:
        value: bytes = fill()
        return value

    async def main() -> Any:
        return await s.aio.cache("c", failed=30).fetch("k", call)

    return asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize("fetch", [fetch_waiting, fetch_awaited])
def test_a_fill_of_another_type_is_a_failure(fetch: Any, s: mcds.Store) -> None:
    """Another caller is told at once, and does not wait for the claim."""
    with pytest.raises(TypeError):
        fetch(s, lambda: 7)
    with pytest.raises(mcds.Io, match="TypeError"):
        fetch(s, lambda: b"never called")
