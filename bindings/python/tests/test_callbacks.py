"""What a function of the program raises is raised by the call that has called it, beside other calls too."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Dict, List, Optional

import mcds
import pytest

#: Starts calls of one structure: of a pipeline, or of an event loop.
Start = Callable[[Any], List[Any]]


def none(*_: Any) -> Any:
    """Of `load` and of `save`."""
    return 0


def in_a_pipeline(s: mcds.Store, start: Start) -> List[Optional[BaseException]]:
    with s.pipeline(check_results=False) as p:
        results = start(p)
    return [result.exception() for result in results]


def in_a_loop(s: mcds.Store, start: Start) -> List[Optional[BaseException]]:
    async def main() -> List[Any]:
        return await asyncio.gather(*start(s.aio), return_exceptions=True)

    ends = asyncio.run(asyncio.wait_for(main(), 60))
    return [end if isinstance(end, BaseException) else None for end in ends]


#: How several calls run at once. The failure of each.
WAYS: Dict[str, Callable[[mcds.Store, Start], List[Optional[BaseException]]]] = {
    "pipeline": in_a_pipeline, "loop": in_a_loop}


def failing_for(pages: Dict[bytes, BaseException]) -> Callable[..., int]:
    def load(page: bytes, *_: Any) -> int:
        if page in pages:
            raise pages[page]
        return 0

    return load


def causes(failures: List[Optional[BaseException]]) -> List[Optional[BaseException]]:
    return [failure.__cause__ if isinstance(failure, mcds.Io) else failure for failure in failures]


@pytest.mark.parametrize("way", WAYS)
def test_each_get_raises_what_its_load_has_raised(way: str, s: mcds.Store) -> None:
    raised = [RuntimeError(f"no {n}") for n in range(3)]
    load = failing_for({b"%d" % n: one for n, one in enumerate(raised)})
    failures = WAYS[way](s, lambda of: [of.views("v", load, none).get(str(n)) for n in range(3)])
    assert causes(failures) == raised
    assert [str(failure) for failure in failures] == [
        f"views 'v': get: load has raised RuntimeError: no {n}" for n in range(3)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("raised", [RuntimeError("no"), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("place", range(3))
def test_a_get_that_succeeds_takes_no_exception(place: int, raised: BaseException, way: str, s: mcds.Store) -> None:
    load = failing_for({b"%d" % place: raised})
    failures = WAYS[way](s, lambda of: [of.views("v", load, none).get(str(n)) for n in range(3)])
    assert causes(failures) == [raised if n == place else None for n in range(3)]


@pytest.mark.parametrize("way", WAYS)
def test_each_flush_raises_what_its_save_has_raised(way: str, s: mcds.Store) -> None:
    raised: List[BaseException] = []

    def save(page: bytes, slot: int, views: int) -> None:
        raised.append(OSError(f"disk {len(raised)}"))
        raise raised[-1]

    for page in ("a", "b", "c"):
        s.views("v", none, save).hit(page)
    failures = WAYS[way](s, lambda of: [of.views("v", none, save).flush_final() for _ in range(3)])
    found = causes(failures)
    assert len(raised) == 9 and len({*map(id, found)}) == 3
    assert all(one in raised for one in found) and raised[0] in found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupt_ends_one_flush_of_several(interrupt: BaseException, way: str, s: mcds.Store) -> None:
    """It is raised by this flush, although another page was refused before."""
    called: List[bytes] = []

    def save(page: bytes, slot: int, views: int) -> None:
        called.append(page)
        raise interrupt if called.count(b"last") == 1 and page == b"last" else OSError("disk")

    with s.pipeline() as p:
        for n in range(20):
            p.views("v", none, save).hit(str(n))
        p.views("v", none, save).hit("last")
    failures = WAYS[way](s, lambda of: [of.views("v", none, save).flush_final() for _ in range(3)])
    assert failures.count(interrupt) == 1
    assert sum(isinstance(failure, mcds.Io) and isinstance(failure.__cause__, OSError) for failure in failures) == 2


@pytest.mark.parametrize("raised", [OSError("disk"), KeyboardInterrupt()])
def test_a_flush_that_succeeds_takes_no_exception(raised: BaseException, s: mcds.Store) -> None:
    """A flush that runs between the exception of another flush and the end of that one. The exception of the
    first page is raised, unless it is an interrupt, which has ended the flush."""
    called: List[bytes] = []

    def save(page: bytes, slot: int, views: int) -> None:
        called.append(page)
        if len(called) == 1:
            raise OSError("first")
        if len(called) == 2:
            views_of_all.flush_final()
            raise raised

    views_of_all = s.views("v", none, save)
    for page in ("a", "b"):
        views_of_all.hit(page)
    with pytest.raises((mcds.Io, KeyboardInterrupt)) as caught:
        views_of_all.flush_final()
    found = causes([caught.value])[0]
    assert found is raised if isinstance(raised, KeyboardInterrupt) else str(found) == "first"
    assert len(called) == 4


def test_a_nested_get_leaves_the_exception_of_the_other(s: mcds.Store) -> None:
    def load(page: bytes, *_: Any) -> int:
        if page == b"inner":
            raise LookupError("no row")
        with pytest.raises(mcds.Io) as caught:
            views.get("inner")
        assert str(caught.value.__cause__) == "no row"
        raise RuntimeError("no base")

    views = s.views("v", load, none)
    with pytest.raises(mcds.Io) as caught:
        views.get("outer")
    assert str(caught.value.__cause__) == "no base"


def test_a_failure_keeps_few_exceptions(s: mcds.Store) -> None:
    """The flush raises the first of them."""
    raised: List[BaseException] = []

    def save(page: bytes, slot: int, views: int) -> None:
        raised.append(OSError(f"disk {len(raised)}"))
        kept.append(len(callback._raised))
        raise raised[-1]

    kept: List[int] = []
    views = s.views("v", none, save)
    callback = views._opened.kept[0].save
    with s.pipeline() as p:
        for n in range(1500):
            p.views("v", none, save).hit(str(n))
    with pytest.raises(mcds.Io) as caught:
        views.flush_final()
    assert caught.value.__cause__ is raised[0] and len(raised) == 1500
    assert max(kept) == 1001 and not callback._raised and not callback._calls


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SystemExit(3), LookupError()])
def test_an_interrupt_in_a_fill_is_raised_beside_a_stale_value(raised: BaseException, s: mcds.Store) -> None:
    """A failure is not."""
    def fill(key: bytes) -> bytes:
        raise raised

    def fetched(fetch: Callable[..., Any]) -> Any:
        try:
            return fetch("k", fill)
        except BaseException as error:
            return error

    pages = s.cache("c", stale=60)
    wanted = b"old" if isinstance(raised, Exception) else raised
    ways: List[Callable[..., Any]] = [pages.fetch,
                                      lambda *given: s.pipeline().cache("c", stale=60).fetch(*given).result()]
    for way in ways:
        pages.forget("k")
        pages.fetch("k", lambda key: b"old")
        pages.expire("k")
        assert fetched(way) == wanted
