"""A failed call leaves nothing that only the collector of cycles frees, and a closed store leaves no file
open. Arguments that C would not refuse are refused."""

from __future__ import annotations

import asyncio
import datetime
import gc
import os
import types
from typing import Any, Callable, Dict, Iterator, List

import mcds
import pytest


def files() -> List[str]:
    """The files and sockets that this process has open."""
    found = []
    for one in os.listdir("/proc/self/fd"):
        try:
            shown = os.readlink(f"/proc/self/fd/{one}")
        except OSError:
            continue
        if "mdb" in shown or "socket" in shown:
            found.append(shown)
    return sorted(found)


def fail(*_: Any) -> Any:
    raise RuntimeError("of the program")


def interrupt(*_: Any) -> Any:
    raise KeyboardInterrupt


def lost(s: mcds.Store) -> None:
    lease = s.lock("l").acquire()
    s.lock("l").break_lock()
    try:
        lease.renew()
    except mcds.Lost:
        lease.check()


def lost_block(s: mcds.Store) -> None:
    with s.lock("l"):
        s.lock("l").break_lock()


def busy(s: mcds.Store) -> None:
    s.lock("l").acquire()
    s.lock("l", wait=0).acquire()


def corrupt(s: mcds.Store) -> None:
    s.table("t").put("a", "x")
    s.table("t").incr("a")


def save(s: mcds.Store, save: Any) -> None:
    views = s.views("v", lambda *_: 0, save)
    views.hit("/")
    views.flush_final()


def pipeline(s: mcds.Store) -> None:
    s.table("t").put("a", "x")
    with s.pipeline() as p:
        p.table("t").incr("a")


def pipeline_result(s: mcds.Store) -> None:
    s.table("t").put("a", "x")
    s.pipeline().table("t").incr("a").result()


def in_a_loop(call: Callable[[Any], Any]) -> Callable[[mcds.Store], Any]:
    """run_until_complete() makes a cycle of an exception and its task. So the task raises none."""
    async def main(s: mcds.Store) -> type:
        try:
            await call(s.aio)
        except mcds.Error as error:
            return type(error)
        return type(None)

    def run(s: mcds.Store) -> None:
        raise asyncio.run(main(s))

    return run


async def aio_lost(aio: Any) -> None:
    lease = await aio.lock("l").acquire()
    await aio.lock("l").break_lock()
    try:
        await lease.renew()
    except mcds.Lost:
        lease.check()


async def aio_busy(aio: Any) -> None:
    await aio.lock("l").acquire()
    await aio.lock("l", wait=0).acquire()


async def aio_claim(aio: Any) -> None:
    await aio.once("o").begin("", b"")


#: Each fails.
FAILURES: Dict[str, Callable[[mcds.Store], Any]] = {
    "invalid": lambda s: s.counter("c").add(-1),
    "overflow": lambda s: s.counter("c").add(1 << 80),
    "type": lambda s: s.counter("c").add("x"),  # type: ignore[arg-type]
    "bytes": lambda s: s.table("t").put(1, "x"),  # type: ignore[arg-type]
    "corrupt": corrupt,
    "absent": lambda s: s.table("t")["none"],
    "too old": lambda s: s.log("g").put("x", when=5),
    "too big": lambda s: s.table("t").put("a" * 2000, "x"),
    "option": lambda s: s.queue("q", may_lose=True, tries=1 << 80),
    "busy": busy,
    "lost": lost,
    "lost block": lost_block,
    "save": lambda s: save(s, fail),
    "interrupted save": lambda s: save(s, interrupt),
    "load": lambda s: s.views("v", fail, lambda *_: None).get("/"),
    "fill": lambda s: s.cache("c").fetch("k", fail),
    "interrupted fill": lambda s: s.cache("c").fetch("k", interrupt),
    "change": lambda s: s.array("a").change_by(fail),
    "work": lambda s: s.once("o").run("k", fail),
    "scan": lambda s: list(s.list("l").values(limit=1 << 80)),
    "pipeline": pipeline,
    "pipeline's result": pipeline_result,
    "loop": in_a_loop(lambda aio: aio.counter("c").add(-1)),
    "loop, overflow": in_a_loop(lambda aio: aio.counter("c").add(1 << 80)),
    "loop, claim": in_a_loop(aio_claim),
    "loop, lost": in_a_loop(aio_lost),
    "loop, busy": in_a_loop(aio_busy),
}


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


def of_the_package(one: Any) -> bool:
    if isinstance(one, types.FrameType):
        return str(one.f_globals.get("__name__")).startswith("mcds")
    return type(one).__module__.startswith("mcds")


def caught(call: Callable[[mcds.Store], Any], s: mcds.Store) -> str:
    try:
        call(s)
    except BaseException as error:
        return type(error).__name__
    return ""


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_keeps_no_file_open(name: str, opener: Callable[..., mcds.Store], no_collector: None) -> None:
    before = files()
    s = opener()
    assert caught(FAILURES[name], s)
    s.close()
    assert files() == before
    del s
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    assert [repr(one) for one in gc.garbage if of_the_package(one)] == []


TENURES: Dict[str, Callable[[mcds.Store], Any]] = {
    "lease": lambda s: s.lock("l").acquire(),
    "permit": lambda s: s.semaphore("m", 2).acquire(),
    "adopted lease": lambda s: s.lock("l").adopt(s.lock("l").acquire().export()),
}


@pytest.mark.parametrize("name", TENURES)
def test_a_tenure_ends_with_its_store(name: str, opener: Callable[..., mcds.Store], no_collector: None) -> None:
    before = files()
    s = opener()
    held = TENURES[name](s)
    s.close()
    assert files() == before
    for call in (held.renew, held.check, held.release, lambda: held.remaining, lambda: held.lost):
        with pytest.raises(mcds.Invalid, match="the store is closed"):
            call()
    assert "not held" in repr(held)


def test_a_block_says_that_its_store_is_closed(opener: Callable[..., mcds.Store]) -> None:
    with pytest.raises(mcds.Invalid, match="the store is closed"):
        with opener() as s, s.lock("l", ttl=600):
            s.close()

    async def main(s: mcds.Store) -> None:
        async with s.aio.lock("m", ttl=600):
            s.close()

    with pytest.raises(mcds.Invalid, match="the store is closed"):
        asyncio.run(main(opener()))


def test_views_need_both_functions(s: mcds.Store) -> None:
    with pytest.raises(TypeError, match="load must be a function, not NoneType"):
        s.views("v", None, lambda *_: None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="save must be a function, not NoneType"):
        s.aio.views("v", lambda *_: 0, None)  # type: ignore[arg-type]


def test_what_is_no_cursor_is_refused(s: mcds.Store) -> None:
    with pytest.raises(TypeError, match="cursor must be a Cursor, not NoneType"):
        s.table("t").page(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cursor must be a LogCursor, not NoneType"):
        s.log("g").tail(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="when must be a datetime or a Unix time, not timedelta"):
        s.log("g").put("x", when=datetime.timedelta.max)  # type: ignore[arg-type]
