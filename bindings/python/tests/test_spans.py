"""Arguments that are a number of seconds."""

from __future__ import annotations

import datetime
from typing import Any, Callable, List

import mcds
import mcds.store
import pytest
from mcds.plan import as_bound_ms, as_ms

NOTHING: List[Any] = [0, 0.0, datetime.timedelta(0)]


def test_a_span_is_a_number(s: mcds.Store) -> None:
    with pytest.raises(ValueError, match="not a number"):
        s.semaphore("builds", ttl=float("nan"))


@pytest.mark.parametrize("span", [float("inf"), 1e300, 10 ** 30])
@pytest.mark.parametrize("call", [
    lambda s, span: s.table("t").put("a", "b", ttl=span), lambda s, span: s.lock("l", ttl=span),
    lambda s, span: s.lock("l").watch(None, span), lambda s, span: s.semaphore("p", 1, ttl=span),
    lambda s, span: s.queue("q", visible=span, may_lose=True),
    lambda s, span: s.queue("q", may_lose=True).push("j", delay=span),
    lambda s, span: s.queue("q", may_lose=True).next(wait=span),
    lambda s, span: s.once("o", run=span), lambda s, span: s.once("o").begin("k", wait=span),
    lambda s, span: s.cache("c", fill=span), lambda s, span: s.cache("c").hold("k", span),
    lambda s, span: s.cache("c").look("k", wait=span), lambda s, span: s.log("g", late=span),
    lambda s, span: s.log("g").put("e", when=span), lambda s, span: next(s.log("g").follow(pause=span)),
    lambda s, span: s.limit("m", rates=["2/s"]).take("ann", patience=span),
    lambda s, span: s.limit("m", rates=[(1, span)]), lambda s, span: s.ids("i", spread=span),
    lambda s, span: s.online("n", width=span), lambda s, span: s.visitors("v", settle=span),
    lambda s, span: s.exact_counter("e", flush=span), lambda s, span: s.counter("e", ttl=span),
    lambda s, span: s.limit_timeout(span), lambda s, span: mcds.open("memory:", timeout=span)])
def test_a_span_is_not_endless(call: Callable[[mcds.Store, float], object], span: float) -> None:
    with mcds.open("memory:") as s, pytest.raises(ValueError, match="too "):
        call(s, span)


def test_a_short_span_has_32_bits(s: mcds.Store) -> None:
    with pytest.raises(ValueError, match="too long"):
        s.lock("l", ttl=datetime.timedelta(days=60))
    with pytest.raises(ValueError, match="too long"):
        s.lock("l", ttl=2 ** 32 / 1000)
    with pytest.raises(mcds.Invalid, match="ttl must be at most"):
        s.table("t").put("a", "b", ttl=1e12)
    with pytest.raises(mcds.Invalid, match="ttl must be None or"):
        s.lock("l", ttl=1e6)


def test_a_lock_waits_for_a_timedelta(s: mcds.Store) -> None:
    short = datetime.timedelta(milliseconds=1)
    with s.lock("l", ttl=60), pytest.raises(mcds.Busy):
        s.lock("l", wait=short).acquire()
    with pytest.raises(ValueError, match="too long"):
        s.lock("l", wait=float("inf"))
    with pytest.raises(ValueError, match="negative"):
        s.semaphore("p", 1, wait=-1)


@pytest.mark.parametrize("span", NOTHING)
@pytest.mark.parametrize("call", [
    lambda s, span: mcds.open("memory:", timeout=span), lambda s, span: s.counter("e", ttl=span),
    lambda s, span: s.striped_counter("e", 2, ttl=span), lambda s, span: s.lock("l", ttl=span),
    lambda s, span: s.semaphore("p", 1, ttl=span), lambda s, span: s.queue("q", visible=span),
    lambda s, span: s.once("o", keep=span), lambda s, span: s.once("o", run=span),
    lambda s, span: s.cache("c", ttl=span), lambda s, span: s.cache("c", nothing=span),
    lambda s, span: s.cache("c", fill=span), lambda s, span: s.cache("c", wait=span),
    lambda s, span: s.cache("c", failed=span), lambda s, span: s.table("t").put("k", "v", ttl=span),
    lambda s, span: s.table("t").put_if_absent("k", "v", ttl=span),
    lambda s, span: s.table("t").compare_and_set("k", "v", "w", ttl=span),
    lambda s, span: s.ids("i", spread=span), lambda s, span: s.log("g", late=span),
    lambda s, span: s.log("g", retention=span), lambda s, span: s.log("g", chunk=span),
    lambda s, span: s.log("g", ahead=span), lambda s, span: s.visitors("v", settle=span),
    lambda s, span: s.online("n", width=span),
    lambda s, span: s.views("w", lambda *_: 0, lambda *_: None, flush=span)])
def test_no_time_is_not_the_default(call: Callable[[mcds.Store, Any], object], span: Any) -> None:
    """0 is the default in C. A caller that has computed it means something else."""
    with mcds.open("memory:") as s, pytest.raises(ValueError, match="None selects the default"):
        call(s, span)


def test_each_add_of_an_exact_counter_is_written_without_a_time(opener: Callable[..., mcds.Store]
                                                                ) -> None:
    with opener() as s, opener() as other:
        for flush in NOTHING:
            s.exact_counter("e", flush=flush).add(1)
        assert other.exact_counter("e").get() == 3


def test_a_limit_of_no_time_is_the_smallest(s: mcds.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: List[int] = []

    class Library:
        def mcds_limit_timeout(self, store: Any, limit_ms: int) -> None:
            limits.append(limit_ms)

    monkeypatch.setattr(mcds.store, "lib", Library())
    for timeout in (*NOTHING, 0.0001, 0.2, None):
        s.limit_timeout(timeout)
    assert limits == [1, 1, 1, 1, 200, 0]


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize("when", [0, 0.0, 1e-9, EPOCH])
@pytest.mark.parametrize("call, name", [
    (lambda s, when: s.log("g").put("e", when=when), "when"),
    (lambda s, when: s.log("g").put_many(["e"], when=when), "when"),
    (lambda s, when: list(s.log("g").events(last=when)), "last"),
    (lambda s, when: s.visitors("v", period=60).hit("ann", at=when), "at"),
    (lambda s, when: s.visitors("v", period=60).get(at=when), "at"),
    (lambda s, when: s.visitors("v", period=60).drop(at=when), "at"),
    (lambda s, when: s.online("n").beat("ann", at=when), "at"),
    (lambda s, when: s.online("n").get(at=when), "at")])
def test_a_missing_time_is_not_now(call: Callable[[mcds.Store, Any], object], name: str, when: Any) -> None:
    with mcds.open("memory:") as s:
        s.log("g").put("kept")
        s.visitors("v", period=60).hit("bob")
        with pytest.raises(ValueError, match=f"{name} must be after 1970"):
            call(s, when)
        assert [event.data for event in s.log("g").events(first=when)] == [b"kept"]
        assert s.visitors("v", period=60).get().current == 1


def test_times_and_spans_are_rounded_alike() -> None:
    """A number, a datetime and a timedelta. A span that is not 0 stays so."""
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    for us, ms in ((1_000_400, 1000), (1_000_600, 1001), (1_499, 1), (1_501, 2), (0, 0)):
        span = datetime.timedelta(microseconds=us)
        assert as_bound_ms(epoch + span, "when") == as_bound_ms(us / 1e6, "when") == ms
        assert as_ms(span, "ttl") == as_ms(us / 1e6, "ttl") == ms
    for us in (1, 499, 500):
        assert as_ms(datetime.timedelta(microseconds=us), "ttl") == as_ms(us / 1e6, "ttl") == 1
