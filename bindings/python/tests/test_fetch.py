"""Cache.fetch and its awaited sibling return the same: also while the store is down, dies, refuses or is held."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import mcds
import pytest
from mcds._binding import lib

Restarted = Callable[..., "contextlib.AbstractContextManager[str]"]
Fill = Callable[[], Any]
LARGE = (64 << 20) + 1


def fetch_waiting(cache: Dict[str, Any], s: mcds.Store, key: bytes, fill: Fill) -> Any:
    def call(_: bytes) -> Any:
        return fill()

    return s.cache("c", **cache).fetch(key, call)


def fetch_awaited(cache: Dict[str, Any], s: mcds.Store, key: bytes, fill: Fill) -> Any:
    async def call(_: bytes) -> Any:
        return fill()

    async def main() -> Any:
        return await s.aio.cache("c", **cache).fetch(key, call)

    return asyncio.run(asyncio.wait_for(main(), 120))


WAYS = pytest.mark.parametrize("fetch", [fetch_waiting, fetch_awaited])


def nothing(cache: Any) -> None:
    pass


def old(cache: Any) -> None:
    """A stale value, and another that is in the store."""
    assert cache.fetch(b"k", lambda _: b"old") == b"old"
    cache.expire(b"k")


def fail(cache: Any) -> None:
    assert cache.look(b"k").fail("the database is down")


class Case(NamedTuple):
    """What the fetch returns or raises, and what the next one does: the same, with or without a call of `fill`, or
    what the store has of a failure.

    before  what others have done
    dies    the store, before the fetch or in its fill
    fill    what it returns, or raises
    """

    wanted: Any
    fill: Any = b"v"
    before: Callable[[Any], Any] = nothing
    dies: str = ""
    options: Tuple[str, ...] = ()
    cache: Dict[str, Any] = {}
    key: bytes = b"k"
    is_called: bool = True
    is_stored: bool = False
    again: Any = ...


STALE = {"stale": 60}
SHORT = {"wait": 0.05}
FAILED = {"failed": 30}
CASES: Dict[str, Case] = {
    "well": Case(b"v", is_stored=True),
    "fill raises": Case(LookupError, LookupError(), cache=FAILED, is_stored=True, again=mcds.Io),
    "fill raises, stale": Case(b"old", LookupError(), old, cache={**STALE, **FAILED}, is_stored=True),
    "fill raises a surrogate": Case(ValueError, ValueError("\udc80"), cache=FAILED, is_stored=True, again=mcds.Io),
    "too big": Case(mcds.TooBig, b"x" * LARGE),
    "down": Case(b"v", dies="before"),
    "down, nothing": Case(None, None, dies="before"),
    "down, fill raises": Case(LookupError, LookupError(), dies="before"),
    "down, not of UTF-8": Case(mcds.Invalid, "\udc80", dies="before"),
    "down, long key": Case(mcds.Invalid, dies="before", key=b"k" * 1025, is_called=False),
    "dies": Case(b"v", dies="in"),
    "dies, nothing": Case(None, None, dies="in"),
    "dies, stale": Case(b"v", b"v", old, "in", cache=STALE),
    "dies, fill raises": Case(LookupError, LookupError(), dies="in"),
    "dies, fill raises, stale": Case(b"old", LookupError(), old, "in", cache=STALE),
    "dies, fill is cancelled": Case(asyncio.CancelledError, asyncio.CancelledError(), dies="in"),
    "dies, fill is cancelled, stale": Case(asyncio.CancelledError, asyncio.CancelledError(), old, "in", cache=STALE),
    "held": Case(b"v", before=lambda cache: cache.hold(b"k", 30), cache=SHORT),
    "held, nothing": Case(None, None, lambda cache: cache.hold(b"k", 30), cache=SHORT),
    "held, fill raises": Case(LookupError, LookupError(), lambda cache: cache.hold(b"k", 30), cache=SHORT),
    "another fills": Case(mcds.Busy, before=lambda cache: cache.look(b"k"), cache=SHORT, is_called=False),
    "has failed": Case(mcds.Io, before=fail, cache=FAILED, is_called=False),
    "no compare-and-set": Case(b"v", options=("-C",)),
    "no compare-and-set, fill raises": Case(LookupError, LookupError(), options=("-C",)),
}


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (Exception, asyncio.CancelledError) as error:
        return type(error)


def open_at(uri: str, dies: bool) -> mcds.Store:
    """A call fails if a store that is down has not come back within the timeout."""
    return mcds.open(uri.partition("?")[0], timeout=1) if dies else mcds.open(uri)


@WAYS
@pytest.mark.parametrize("name", CASES)
def test_fetch(name: str, fetch: Any, restarted: Restarted) -> None:
    case = CASES[name]
    calls: List[str] = []
    with contextlib.ExitStack() as server:
        with open_at(server.enter_context(restarted(*case.options)), bool(case.dies)) as s:
            case.before(s.cache("c", **case.cache))

            def fill() -> Any:
                calls.append(name)
                if case.dies == "in":
                    server.close()
                if isinstance(case.fill, BaseException):
                    raise case.fill
                return case.fill

            if case.dies == "before":
                server.close()
            assert outcome(lambda: fetch(case.cache, s, case.key, fill)) == case.wanted
            assert len(calls) == case.is_called
            if case.is_called and not case.dies:  # a claim that was not given back would be Busy
                calls.clear()
                again = outcome(lambda: fetch(case.cache, s, case.key, fill))
                assert again == (case.wanted if case.again is ... else case.again)
                assert case.is_stored == (not calls)


def test_a_failure_whose_text_utf_8_cannot_encode_is_stored(s: mcds.Store) -> None:
    for number, fetch in enumerate((fetch_waiting, fetch_awaited)):
        key = b"k%d" % number

        def fill() -> Any:
            raise ValueError("\udc80")

        with pytest.raises(ValueError):
            fetch({"failed": 60}, s, key, fill)
        with pytest.raises(mcds.Io, match=r"ValueError: \\udc80"):
            s.cache("c", failed=60).fetch(key, lambda _: b"never")


@pytest.mark.parametrize("before", [nothing, old], ids=["missing", "stale"])
def test_a_cancellation_while_the_store_is_down(before: Callable[[Any], Any], restarted: Restarted) -> None:
    with contextlib.ExitStack() as server:
        s = open_at(server.enter_context(restarted()), True)
        task: Any = None
        before(s.cache("c", stale=60))

        async def fill(key: bytes) -> bytes:
            server.close()
            task.cancel()
            await asyncio.sleep(3600)
            return b"never"

        async def main() -> None:
            nonlocal task
            task = asyncio.ensure_future(s.aio.cache("c", stale=60).fetch("k", fill))
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(asyncio.wait_for(main(), 120))
        s.close()


class Looking:
    """The library, which notes how long each look waits."""

    def __init__(self) -> None:
        self.waits: List[int] = []

    def __getattr__(self, name: str) -> Any:
        function = getattr(lib, name)
        if name != "mcds_cache_look_start":
            return function

        def call(*arguments: Any) -> Any:
            self.waits.append(arguments[4])
            return function(*arguments)

        call.__name__ = name
        return call


@pytest.mark.parametrize("options, wait, wait_ms", [
    ({}, None, 14_000), ({"fill": 60}, None, 64_000), ({"wait": 0.3}, None, 300), ({"wait": 7200}, None, 7_200_000),
    ({"wait": 0.3}, 2, 2000), ({}, 0, 0)])
def test_an_awaited_fetch_waits_as_the_cache_says(options: Dict[str, Any], wait: Any, wait_ms: int, s: mcds.Store,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the option, until the claim of a caller that died has ended: mcds_cache_options."""
    looking = Looking()
    monkeypatch.setattr(mcds.cache, "lib", looking)

    async def fill(key: bytes) -> bytes:
        return b"v"

    async def main() -> None:
        given = {} if wait is None else {"wait": wait}
        assert await s.aio.cache("c", **options).fetch("k", fill, **given) == b"v"

    asyncio.run(asyncio.wait_for(main(), 60))
    assert looking.waits == [wait_ms]
