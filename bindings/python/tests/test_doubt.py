"""A claim whose reply is lost is given back: its caller gets Ambiguous, and nothing to release."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any, Callable, Dict, NamedTuple

import mcds
import mcds.aio
import mcds.lock
import mcds.once
import mcds.pipeline
import mcds.semaphore
import pytest
from mcds._binding import lib


class Claim(NamedTuple):
    """A call that claims, in each of the three ways, and what is true when nobody has the claim."""

    make: Callable[[Any], Any]
    is_free: Callable[[mcds.Store], bool]


CLAIMS: Dict[str, Claim] = {
    "lock": Claim(lambda s: s.lock("l", ttl=600).try_acquire(),
                  lambda s: s.lock("l").holder() is None),
    "shared lock": Claim(lambda s: s.lock("l", ttl=600, shared=True).try_acquire(),
                         lambda s: s.lock("l").holder() is None),
    "semaphore": Claim(lambda s: s.semaphore("p", 1, ttl=600).try_acquire(),
                       lambda s: s.semaphore("p", 1).holders() == []),
    "once": Claim(lambda s: s.once("o", run=600, strict=True).begin("k"),
                  lambda s: s.once("o", strict=True).get("k") is None),
}


class Lossy:
    """The library. The first claim is made, and its result is as after a lost reply."""

    is_lost = False

    def __getattr__(self, name: str) -> Any:
        return getattr(lib, name)

    def lose(self, code: int) -> int:
        if code != 0 or self.is_lost:
            return code
        self.is_lost = True
        return int(lib.MCDS_AMBIGUOUS)

    def losing(self, call: Any) -> Callable[..., int]:
        return lambda *arguments: self.lose(call(*arguments))

    def mcds_once_begin(self, *arguments: Any) -> int:
        return self.lose(lib.mcds_once_begin(*arguments))

    def mcds_py_drain(self, pipeline: Any, wait_ms: int, done: Any, most: int, code: Any) -> int:
        count: int = lib.mcds_py_drain(pipeline, wait_ms, done, most, code)
        for i in range(count):
            done[i].result = self.lose(done[i].result)
        return count


@pytest.mark.parametrize("name", CLAIMS)
def test_waiting(name: str, s: mcds.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lossy = Lossy()
    for place, calls in ((mcds.lock.Leased, "_calls"), (mcds.lock, "SHARED_CALLS"),
                         (mcds.semaphore.SemaphorePlans, "_calls")):
        sound = getattr(place, calls)
        monkeypatch.setattr(place, calls, dataclasses.replace(
            sound, try_acquire=lossy.losing(sound.try_acquire)))
    monkeypatch.setattr(mcds.once, "lib", lossy)
    with pytest.raises(mcds.Ambiguous):
        CLAIMS[name].make(s)
    assert lossy.is_lost and CLAIMS[name].is_free(s)
    assert CLAIMS[name].make(s)


@pytest.mark.parametrize("name", CLAIMS)
def test_in_a_pipeline(name: str, s: mcds.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcds.pipeline, "lib", Lossy())
    with pytest.raises(mcds.Ambiguous):
        with s.pipeline(depth=1) as p:
            claimed = CLAIMS[name].make(p)
            p.counter("c").add(1)
    assert isinstance(claimed.exception(), mcds.Ambiguous)
    assert CLAIMS[name].is_free(s) and s.counter("c").get() == 1


@pytest.mark.parametrize("name", CLAIMS)
def test_awaited(name: str, s: mcds.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        with pytest.raises(mcds.Ambiguous):
            await CLAIMS[name].make(s.aio)
        driver = s.aio._driver_of(asyncio.get_running_loop())
        while driver._running:
            await asyncio.sleep(0.001)

    monkeypatch.setattr(mcds.aio, "lib", Lossy())
    asyncio.run(asyncio.wait_for(main(), 60))
    assert CLAIMS[name].is_free(s)


def test_an_acquisition_that_waits_repeats_with_its_claim(
        s: mcds.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library, which has lost nothing, knows this lease: it is not given back meanwhile."""
    async def main() -> None:
        with pytest.raises(mcds.Invalid, match="held already"):
            await s.aio.lock("l", ttl=600, wait=60).acquire()
        assert await s.aio.lock("l").try_acquire() is None

    monkeypatch.setattr(mcds.aio, "lib", Lossy())
    asyncio.run(asyncio.wait_for(main(), 60))
