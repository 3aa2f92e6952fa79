"""Queues: claims, receipts, dead jobs, stripes."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any, Callable, List, Tuple

import mcds
import pytest
from mcds._binding import lib

Opener = Callable[..., mcds.Store]


def test_queue(s: mcds.Store, opener: Opener) -> None:
    jobs = s.queue("jobs", visible=30, tries=2, may_lose=True)
    assert jobs.next() is None and jobs.count() == (0, 0, 0, 0) and jobs.scan() == []
    jobs.push_many([b"a", b"b"])
    jobs.push("later", delay=60)
    assert [(e.data, e.state) for e in jobs.scan()] == [
        (b"a", mcds.JobState.WAITING), (b"b", mcds.JobState.WAITING), (b"later", mcds.JobState.DELAYED)]
    with opener() as other:
        theirs = other.queue("jobs", visible=30, tries=2, may_lose=True)
        first = jobs.next()
        second = theirs.next(wait=1)
        assert first.data == b"a" and first.tries == 1 and first.held
        assert first.remaining is not None and first.deadline is not None
        assert 0 < first.remaining <= 30 and first.deadline > first.remaining
        assert second is not None and second.data == b"b" and jobs.next() is None
        assert jobs.count() == mcds.QueueCounts(waiting=0, delayed=1, claimed=2, dead=0)
        second.longer()
        same = jobs.job(second.receipt.encode())
        assert same.deadline is None and same.remaining is None
        same.longer()
        assert same.held and same.tries == 1 and same.data == b"" and same.remaining is not None
        second.again()
        assert not second.held and second.receipt == "" and second.deadline is None
        with pytest.raises(mcds.Invalid):
            jobs.job("no receipt")
        with pytest.raises(mcds.Invalid):
            second.done()
        again = jobs.next(after=first)
        assert not first.held and again.data == b"b" and again.tries == 2
        again.again()
        assert theirs.next() is None
    dead, = jobs.dead()
    assert (dead.data, dead.state, dead.tries) == (b"b", mcds.JobState.DEAD, 2)
    assert jobs.retry(dead) and jobs.dead() == [] and jobs.count().waiting == 1
    assert not jobs.retry(dead) and not jobs.discard(dead.id)
    jobs.push_dead(b"other", 7)
    dead, = jobs.dead()
    assert (dead.data, dead.tries, jobs.count().dead) == (b"other", 7, 1)
    assert jobs.discard(dead.id)
    assert [job.data for job in jobs.jobs()] == [b"b", b"b"]
    jobs.push(b"c")
    with pytest.raises(ZeroDivisionError):
        with jobs.next():
            1 // 0
    assert [job.data for job in jobs.jobs()] == [b"c"]


def test_a_worker_learns_that_its_claim_had_ended(s: mcds.Store, opener: Opener) -> None:
    jobs = s.queue("jobs", may_lose=True)
    jobs.push_many(["a", "b"])
    slow = jobs.next()
    with opener() as other:
        # The other worker gives back the job and claims it.
        queue = other.queue("jobs", may_lose=True)
        queue.job(slow.receipt).again()
        assert queue.next().data == b"a"
        job = jobs.next(after=slow)
        assert slow.was_lost and not slow.held and job.data == b"b" and not job.was_lost
        assert jobs.next(after=job) is None and not job.was_lost and not job.held


def test_a_job_of_another_queue_is_not_ended(s: mcds.Store) -> None:
    jobs, others = s.queue("jobs", may_lose=True), s.queue("others", may_lose=True)
    jobs.push("a")
    others.push_many(["b", "c"])
    job = jobs.next()
    with pytest.raises(mcds.Invalid, match="the job belongs to queue 'jobs'"):
        others.next(after=job)
    with s.pipeline() as p:
        with pytest.raises(mcds.Invalid, match="the job belongs to queue 'jobs'"):
            p.queue("others", may_lose=True).next(after=job)
    assert job.held and not job.was_lost and others.count() == (2, 0, 0, 0)
    job.done()
    assert jobs.count() == (0, 0, 0, 0)


def test_a_dead_job_of_another_queue_is_refused(s: mcds.Store) -> None:
    """Nothing is pushed, and the dead job stays."""
    jobs, others = (s.queue(name, tries=1, may_lose=True) for name in ("jobs", "others"))
    jobs.push("a")
    jobs.next().again()
    dead, = jobs.dead()
    same = pickle.loads(pickle.dumps(dead))
    assert same == dead and len(dead) == 5

    async def retry() -> bool:
        return await s.aio.queue("others", may_lose=True).retry(dead)

    async def discard() -> bool:
        return await s.aio.queue("others", may_lose=True).discard(dead.id)

    pipeline = s.pipeline()
    calls: List[Tuple[str, Callable[[], Any]]] = [
        ("retry", lambda: others.retry(dead)), ("retry", lambda: others.retry(same)),
        ("discard", lambda: others.discard(dead.id)), ("retry", lambda: asyncio.run(retry())),
        ("discard", lambda: asyncio.run(discard())),
        ("discard", lambda: pipeline.queue("others", may_lose=True).discard(dead.id).result())]
    for verb, call in calls:
        with pytest.raises(mcds.Invalid) as caught:
            call()
        assert str(caught.value) == (f"queue 'others': {verb}: the dead job belongs to queue 'jobs'; "
                                     "pass it to a call on that queue")
    assert others.count() == (0, 0, 0, 0) and jobs.count() == (0, 0, 0, 1)
    assert not others.discard(bytes(dead.id))
    assert jobs.retry(same) and jobs.count() == (1, 0, 0, 0)


def test_only_a_dead_job_is_retried(s: mcds.Store) -> None:
    jobs = s.queue("jobs", may_lose=True)
    jobs.push("a")
    entry, = jobs.scan()

    async def retry() -> bool:
        return await s.aio.queue("jobs", may_lose=True).retry(entry)

    calls: List[Callable[[], Any]] = [lambda: jobs.retry(entry), lambda: asyncio.run(retry())]
    for call in calls:
        with pytest.raises(mcds.Invalid) as caught:
            call()
        assert str(caught.value) == "queue 'jobs': retry: needs a dead job"
    assert jobs.count() == (1, 0, 0, 0)


def test_a_receipt_of_another_queue_is_refused(s: mcds.Store) -> None:
    """It stays held, and its own queue ends it."""
    jobs, others = s.queue("jobs", may_lose=True), s.queue("others", may_lose=True)
    jobs.push("a")
    others.push("b")
    job = jobs.next()
    foreign = others.job(job.receipt)
    pipeline = s.pipeline().queue("others", may_lose=True)
    calls: List[Callable[[], Any]] = [
        foreign.done, foreign.again, foreign.longer, lambda: pipeline.done(job).result(),
        lambda: pipeline.again(job).result(), lambda: pipeline.longer(job).result(),
        lambda: others.next(after=foreign)]
    for call in calls:
        with pytest.raises(mcds.Invalid, match="job of this queue"):
            call()
        assert foreign.held and job.held
    assert jobs.count() == others.count()._replace(waiting=0, claimed=1) == (0, 0, 1, 0)
    jobs.job(job.receipt).done()
    assert jobs.count() == (0, 0, 0, 0)


@pytest.mark.parametrize("verb", ["done", "again", "longer"])
def test_a_pipeline_needs_a_job(verb: str, s: mcds.Store) -> None:
    with pytest.raises(TypeError) as caught:
        getattr(s.pipeline().queue("jobs", may_lose=True), verb)(7)
    assert str(caught.value) == f"queue 'jobs': {verb}: job must be a Job, not int"


def test_a_queue_of_stripes(s: mcds.Store, opener: Opener) -> None:
    jobs = s.queue("jobs", may_lose=True, stripes=2)
    assert jobs.next() is None and s.made_with("queue", "jobs") is None
    numbers = list(range(600))
    jobs.push_many(str(i) for i in numbers)  # at most 256 in sequence to one stripe
    assert s.made_with("queue", "jobs") == {"stripes": 2}
    seen = [int(entry.data) for entry in jobs.scan()]
    assert sorted(seen) == numbers
    begin, = (i for i in numbers[1:] if seen[i - 1] > seen[i])
    with opener() as other:
        # The handle accepts the number of the queue.
        taken = [int(job.data) for job in other.queue("jobs", may_lose=True).jobs()]
    assert sorted(taken) == numbers
    for stripe in (seen[:begin], seen[begin:]):
        assert sorted(stripe, key=taken.index) == stripe
    assert jobs.next() is None and jobs.count() == (0, 0, 0, 0)


def test_a_queue_of_other_stripes_is_refused(s: mcds.Store) -> None:
    jobs = s.queue("jobs", may_lose=True, stripes=4)
    jobs.push_many(["a", "b"])
    other = s.queue("jobs", may_lose=True, stripes=2)
    held = jobs.next()
    calls: List[Callable[[], Any]] = [
        lambda: other.push("c"), lambda: other.push_many(["c"]), lambda: other.push_dead("c"),
        other.next, lambda: other.next(after=held), other.scan]
    for call in calls:
        with pytest.raises(mcds.Invalid) as caught:
            call()
        assert caught.value.cause == "OPTION_DIFFERS"
        assert (caught.value.option, caught.value.wanted, caught.value.found) == ("stripes", "2", "4")
    assert held.held and jobs.count() == other.count() == (1, 0, 1, 0)
    held.done()
    assert [job.data for job in jobs.jobs()] == [b"b"]
    # The handle that makes the queue chooses.
    assert other.drop()
    other.push("c")
    assert s.made_with("queue", "jobs") == {"stripes": 2} and s.queue("jobs", may_lose=True).drop()
    s.queue("jobs", may_lose=True).push("c")
    assert s.made_with("queue", "jobs") == {"stripes": 1}
    for stripes in (33, -1, 2 ** 40):
        with pytest.raises((mcds.Invalid, OverflowError)):
            s.queue("jobs", may_lose=True, stripes=stripes)
    assert jobs.drop() and not jobs.drop()


def test_a_queue_that_may_lose_is_opened_with_may_lose(memcached: str) -> None:
    with mcds.open(memcached) as store:
        with pytest.raises(mcds.Unsupported, match="may_lose=True"):
            store.queue("q")


class Losing:
    """The library, whose first done or again finds that an earlier queue is lost, and leaves the job held."""

    def __init__(self) -> None:
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        if name in ("mcds_queue_done", "mcds_queue_again"):
            self.calls += 1
            if self.calls == 1:
                return lambda *arguments: lib.MCDS_LOST
        return getattr(lib, name)


@pytest.mark.parametrize("fails", [False, True])  # what the block raises comes before Lost
def test_a_job_that_stays_held_is_done_at_the_end(s: mcds.Store, monkeypatch: pytest.MonkeyPatch,
                                                 fails: bool) -> None:
    jobs = s.queue("jobs", may_lose=True)
    jobs.push(b"a")
    job = jobs.next()
    monkeypatch.setattr(mcds.queue, "lib", Losing())
    with pytest.raises(ZeroDivisionError if fails else mcds.Lost):
        with job:
            assert not fails or 1 // 0
    assert not job.held and jobs.count() == (int(fails), 0, 0, 0)


@pytest.mark.parametrize("fails", [False, True])  # what the block raises comes before Lost
def test_a_job_that_stays_held_is_done_at_the_end_of_an_awaited_block(
        s: mcds.Store, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    async def work() -> None:
        jobs = s.aio.queue("jobs", may_lose=True)
        await jobs.push(b"a")
        job = await jobs.next()
        calls = []

        def say(kind: Any) -> Any:
            calls.append(kind)
            return lost() if len(calls) == 1 else mcds.AioJob._say(job, kind)

        monkeypatch.setattr(job, "_say", say)
        with pytest.raises(ZeroDivisionError if fails else mcds.Lost):
            async with job:
                assert not fails or 1 // 0
        assert not job.held and await jobs.count() == (int(fails), 0, 0, 0)

    async def lost() -> None:
        raise mcds.Lost("an earlier queue")

    asyncio.run(work())
