"""What a type checker knows of the three ways of running. Never run: test_types.py checks it."""

from __future__ import annotations

from typing import List, MutableMapping, MutableSet, Optional

import mcds
from typing_extensions import assert_type


def waiting(s: mcds.Store) -> None:
    assert_type(s.counter("a").add(2), int)
    assert_type(s.striped_counter("a", 4).add(2), None)
    assert_type(s.table("t").get("k"), Optional[bytes])
    assert_type(s.visitors("v", period=60).hit("ann"), bool)
    assert_type(list(s.list("l")), List[bytes])
    assert_type(s.limit("m", rates=["2/s", (5, 60)]).take("ann"), mcds.Take)
    assert_type(s.once("o").begin("k"), mcds.Run)
    assert_type([job.data for job in s.queue("q", stripes=8).jobs()], List[bytes])
    with s.lock("l", ttl=30) as lease:
        assert_type(lease, mcds.Lease)
        assert_type(lease.fence, int)
    mapping: MutableMapping[bytes, bytes] = s.table("t")
    elements: MutableSet[bytes] = s.set("x")
    mapping[b"k"] = b"v"
    elements.add(b"1")


def pipelined(s: mcds.Store) -> None:
    with s.pipeline() as p:
        assert_type(p.counter("a").add(2), mcds.Result[int])
        assert_type(p.table("t").get("k").result(), Optional[bytes])


async def awaited(s: mcds.Store) -> None:
    assert_type(await s.aio.counter("a").add(2), int)
    assert_type((await s.aio.limit("m", rates="2/s").take("ann")).retry, float)
    assert_type(await s.aio.once("o").begin("k"), mcds.AioRun)
    assert_type(await (await s.aio.cache("c").look("k")).put("v"), bool)
    async with s.aio.lock("l") as lease:
        assert_type(lease, mcds.AioLease)
    assert_type(await s.aio.lock("l").try_acquire(), Optional[mcds.AioLease])
    assert_type(await s.aio.semaphore("p", 1).try_acquire(), Optional[mcds.AioPermit])
    async for element in s.aio.set("x"):
        assert_type(element, bytes)


def wrong(s: mcds.Store) -> None:
    s.counter("a").add("2")  # type: ignore[arg-type]
    s.counter(7)  # type: ignore[arg-type]
    s.limit("m", rates=[2])  # type: ignore[list-item]
    s.queue("q", stripes="8")  # type: ignore[arg-type]
    s.lock("l", tt=30)  # type: ignore[call-arg]
    s.table("t")["k"] = 7  # type: ignore[assignment]
    s.log("g").put("event", whem=3)  # type: ignore[call-arg]
