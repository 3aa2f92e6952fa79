"""Locks: one holder, fences, loss in mid-block."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import inspect
import threading
from typing import Any, Callable, List

import mcds
import mcds.aio_lock
import pytest

Opener = Callable[..., mcds.Store]


def test_a_block_holds_the_lock(s: mcds.Store, opener: Opener) -> None:
    with opener() as other:
        with s.lock("l", ttl=30, label="web3") as lease:
            assert not lease.lost and 0 < lease.remaining <= 30
            lease.check()
            holder = other.lock("l").holder()
            assert holder is not None
            assert (holder.label, holder.fence) == ("web3", lease.fence)
            with pytest.raises(mcds.Busy) as caught:
                with other.lock("l", wait=0):
                    pass
            assert caught.value.cause == "HELD"
            assert other.lock("l").try_acquire() is None
            with pytest.raises(mcds.Busy):
                s.lock("l").drop()
        assert other.lock("l").holder() is None
        with other.lock("l") as later:
            assert later.fence > lease.fence
    assert s.lock("l").drop() and not s.lock("l").break_lock()


def test_a_holder_of_another_lock_is_no_look(s: mcds.Store) -> None:
    with s.lock("one"), s.lock("other"):
        one, other = s.lock("one").watch(), s.lock("other").holder()
        assert one is not None and other is not None and one == dataclasses.replace(one, lock=None)
        said = "lock 'other': watch: seen is the holder of lock 'one'; give one of lock 'other', or None"
        watches: List[Callable[..., Any]] = [s.lock("other").watch, s.pipeline().lock("other").watch, s.aio.lock("other").watch]
        for watch in watches:
            with pytest.raises(ValueError, match=f"^{said}$"):
                watch(one)
        for seen in (other, dataclasses.replace(other, lock=None)):  # as a program may have stored it
            with pytest.raises(mcds.Busy):
                s.lock("other").watch(seen)


def test_most_readers(s: mcds.Store) -> None:
    leases = [s.lock("l", shared=True).try_acquire() for _ in range(mcds.Lock.SHARED_MAX)]
    assert all(leases) and s.lock("l", shared=True).try_acquire() is None
    assert s.lock("l").break_lock()


def test_readers_share_the_lock(s: mcds.Store, opener: Opener) -> None:
    with opener() as other:
        with s.lock("l", ttl=3000, label="one", shared=True) as lease:
            with other.lock("l", ttl=30, shared=True) as second:
                assert second.fence > lease.fence
                holder = s.lock("l").holder()
                assert holder is not None
                assert (holder.label, holder.shared, holder.intended) == ("one", 2, False)
            assert other.lock("l").try_acquire() is None
            with pytest.raises(mcds.Busy):
                with other.lock("l", wait=0.2):
                    pass
            holder = s.lock("l").holder()
            assert holder is not None and holder.shared == 1
            lease.renew()
        with other.lock("l") as alone:
            assert alone.fence > second.fence
            held = s.lock("l").holder()
            assert held is not None and held.shared == 0


def test_a_lease_is_exported_and_adopted(s: mcds.Store, opener: Opener) -> None:
    with opener() as other:
        lease = s.lock("l", ttl=30, label="web3").acquire()
        token = lease.export()
        adopted = other.lock("l").adopt(token)
        assert adopted.fence == lease.fence and adopted.remaining == 0 and adopted.lost
        adopted.renew()
        assert 0 < adopted.remaining <= 30 and not adopted.lost
        holder = s.lock("l").holder()
        assert holder is not None and holder.label == "web3"
        lease.renew()
        other.lock("l").adopt(token).release()
        with pytest.raises(mcds.Lost):
            lease.renew()
        with s.lock("l"):
            with pytest.raises(mcds.Lost):
                other.lock("l").adopt(token).renew()
            with pytest.raises(mcds.Lost):
                other.lock("l").adopt(token).release()
        with pytest.raises(mcds.Invalid, match="belongs to 'l'"):
            s.lock("another").adopt(token)
        with pytest.raises(mcds.Invalid, match="not a lease"):
            s.lock("l").adopt(token[:-1])


def test_a_permit_is_not_exported(s: mcds.Store) -> None:
    permit = s.semaphore("p", permits=1).try_acquire()
    assert permit is not None
    assert not hasattr(permit, "export") and not hasattr(mcds.AioPermit, "export")
    assert not isinstance(permit, mcds.Lease)
    permit.release()


def test_no_docstring_of_a_permit_speaks_of_a_lock() -> None:
    for kind in (mcds.Permit, mcds.AioPermit):
        for name in dir(kind):
            if name[0] != "_":
                said = inspect.getdoc(getattr(kind, name)) or ""
                assert "lock" not in said.replace("unlock", ""), (kind, name)


def test_aio_adopts_a_lease(s: mcds.Store) -> None:
    async def run() -> None:
        async with s.aio as aio:
            lease = await aio.lock("l", ttl=30).acquire()
            adopted = aio.lock("l").adopt(await lease.export())
            await adopted.renew()
            assert adopted.fence == lease.fence and not adopted.lost
            await adopted.release()
            with pytest.raises(mcds.Lost):
                await lease.release()

    asyncio.run(run())


def test_a_lease_lost_in_mid_block_ends_the_block_with_lost(s: mcds.Store, opener: Opener) -> None:
    with opener() as other:
        with pytest.raises(mcds.Lost):
            with s.lock("l", ttl=30) as lease:
                assert other.lock("l").break_lock()
                with pytest.raises(mcds.Lost):
                    lease.renew()
                assert lease.lost
                with pytest.raises(mcds.Lost):
                    lease.check()
        assert lease.lost


def test_a_loss_that_nobody_looked_for_ends_the_block_with_lost(s: mcds.Store) -> None:
    with pytest.raises(mcds.Lost):
        with s.lock("l", renew=False):
            s.lock("l").break_lock()


def test_what_the_block_raises_comes_first(s: mcds.Store) -> None:
    with pytest.raises(LookupError):
        with s.lock("l") as lease:
            s.lock("l").break_lock()
            raise LookupError
    assert lease.lost
    with pytest.raises(LookupError):
        with s.lock("l"):
            raise LookupError
    assert s.lock("l").holder() is None


def test_the_block_is_renewed() -> None:
    with mcds.open("memory:") as s, s.lock("l", ttl=0.3) as lease:
        first = lease._lease.deadline_ns
        while lease._lease.deadline_ns == first:
            threading.Event().wait(0.01)
        assert not lease.lost or lease.remaining == 0


def test_the_renewing_thread_notices_a_loss() -> None:
    with mcds.open("memory:") as s, pytest.raises(mcds.Lost):
        with s.lock("l", ttl=0.3) as lease:
            s.lock("l").break_lock()
            while lease._failure is None:
                threading.Event().wait(0.01)
            assert isinstance(lease._failure, mcds.Lost)


def test_a_lease_that_is_not_renewed_ends() -> None:
    with mcds.open("memory:") as s, pytest.raises(mcds.Lost):
        with s.lock("l", ttl=0.05, renew=False) as lease:
            while not lease.lost:
                threading.Event().wait(0.01)
            with pytest.raises(mcds.Lost):
                lease.check()
            with s.lock("l"):
                pass


def test_threads_take_turns(s: mcds.Store) -> None:
    """They share one object; each block has a lease of its own."""
    lock = s.lock("l", ttl=60)
    fences: List[int] = []
    inside: List[int] = []

    def work() -> None:
        for _ in range(5):
            with lock as lease:
                inside.append(1)
                assert len(inside) == 1
                fences.append(lease.fence)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fences) == 20 and fences == sorted(set(fences))


def test_a_store_that_is_down_is_reported() -> None:
    with mcds.open("memcached://127.0.0.1:1", timeout=0.2) as s:
        with pytest.raises(mcds.Unavailable):
            with s.lock("l"):
                pass
        with pytest.raises((mcds.Busy, mcds.Unavailable, mcds.Timeout)):
            with s.lock("l", wait=0.3):
                pass


def test_aio_block(s: mcds.Store) -> None:
    async def main() -> None:
        async with s.aio.lock("l", ttl=30) as lease:
            assert lease.fence > 0 and not lease.lost
            assert await s.aio.lock("l").holder() is not None
            with pytest.raises(mcds.Busy):
                async with s.aio.lock("l", wait=0):
                    pass
            await lease.renew()
        assert await s.aio.lock("l").holder() is None
        with pytest.raises(LookupError):
            async with s.aio.lock("l"):
                raise LookupError
        with pytest.raises(mcds.Lost):
            async with s.aio.lock("l"):
                await s.aio.lock("l").break_lock()

    asyncio.run(main())


def test_aio_block_is_cancelled_when_the_lease_is_lost() -> None:
    async def main() -> None:
        with mcds.open("memory:") as s:
            with pytest.raises(mcds.Lost):
                async with s.aio.lock("l", ttl=0.3) as lease:
                    await s.aio.lock("l").break_lock()
                    await asyncio.Event().wait()
            assert lease.lost
            await asyncio.sleep(0)  # this task itself goes on

    asyncio.run(main())


COUNTS = pytest.mark.skipif(not hasattr(asyncio.Task, "cancelling"),
                            reason="this Python does not count the requests to cancel a task")


@COUNTS
def test_aio_block_that_ends_in_its_own_way_is_not_left_cancelled() -> None:
    """The block ends normally or with its own exception after the cancellation by the lost lease."""
    class Own(Exception):
        pass

    async def lose(s: mcds.Store, reached: bool, own: bool) -> None:
        async with s.aio.lock("l", ttl=0.3) as lease:
            await s.aio.lock("l").break_lock()
            with contextlib.suppress(asyncio.CancelledError):
                if reached:
                    await asyncio.Event().wait()
            while not lease._has_cancelled:
                await asyncio.sleep(0)
            if own:
                raise Own

    async def main() -> None:
        with mcds.open("memory:") as s:
            task = asyncio.current_task()
            assert task is not None
            for reached in True, False:
                for own in True, False:
                    with pytest.raises(Own if own and reached else mcds.Lost):
                        await lose(s, reached, own)
                    assert mcds.aio_lock._cancelling(task) == 0
                    await asyncio.sleep(0)  # nor is a cancellation left

    asyncio.run(main())


@COUNTS
def test_aio_block_that_others_cancel_after_the_loss() -> None:
    """The task is cancelled: Lost would make it go on."""
    async def hold(s: mcds.Store, is_cleaning: asyncio.Event) -> None:
        async with s.aio.lock("l", ttl=0.3):
            await s.aio.lock("l").break_lock()
            try:
                await asyncio.Event().wait()
            finally:
                is_cleaning.set()
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()

    async def main() -> None:
        with mcds.open("memory:") as s:
            is_cleaning = asyncio.Event()
            task = asyncio.ensure_future(hold(s, is_cleaning))
            await is_cleaning.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


def test_aio_block_that_others_cancel() -> None:
    async def hold(s: mcds.Store, has_begun: asyncio.Event) -> None:
        async with s.aio.lock("l", ttl=30):
            has_begun.set()
            await asyncio.Event().wait()

    async def main() -> None:
        with mcds.open("memory:") as s:
            has_begun = asyncio.Event()
            task = asyncio.ensure_future(hold(s, has_begun))
            await has_begun.wait()
            waiting = asyncio.ensure_future(hold(s, has_begun))
            await asyncio.sleep(0)
            for one in (waiting, task):
                one.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await one
            async with s.aio.lock("l", ttl=30):
                pass

    asyncio.run(main())


def test_a_semaphore_has_permits(s: mcds.Store, opener: Opener) -> None:
    with opener() as other:
        assert s.semaphore("s", 2).holders() == []
        with s.semaphore("s", 2, label="web3") as one, other.semaphore("s", 2) as two:
            assert {one.slot, two.slot} == {0, 1} and one.fence > 0 and not one.lost
            one.renew()
            assert s.semaphore("s").try_acquire() is None
            with pytest.raises(mcds.Busy):
                s.semaphore("s", wait=0).acquire()
            holders = other.semaphore("s").holders()
            assert [holder.slot for holder in holders] == [0, 1]
            assert (holders[one.slot].label, holders[one.slot].permits) == ("web3", 2)
            assert s.made_with("semaphore", "s") == {"permits": 2}
            assert s.semaphore("s").resize(1) == 1
            with pytest.raises(mcds.Busy):
                s.semaphore("s").drop()
        with s.pipeline() as p:
            tries = [p.semaphore("s").try_acquire() for _ in range(2)]
        permits = [one for one in (each.result() for each in tries) if one is not None]
        assert [permit.slot for permit in permits] == [0]
        permits[0].release()
        assert s.semaphore("s").drop()


def test_aio_semaphore(s: mcds.Store) -> None:
    async def run() -> None:
        aio = s.aio
        async with aio.semaphore("a", 1) as permit:
            assert permit.slot == 0 and len(await aio.semaphore("a").holders()) == 1
            with pytest.raises(mcds.Busy):
                await aio.semaphore("a", wait=0).acquire()
        assert await aio.semaphore("a").resize(3) == 0
        assert await aio.semaphore("a").drop()

    asyncio.run(run())


def test_aio_tries(s: mcds.Store) -> None:
    async def main() -> None:
        aio = s.aio
        lease = await aio.lock("l", ttl=30).try_acquire()
        assert lease is not None and lease.fence > 0 and not lease.lost
        assert await aio.lock("l").try_acquire() is None
        await lease.renew()
        await lease.release()
        leases = [await aio.lock("l", shared=True).try_acquire() for _ in range(2)]
        assert all(leases) and await aio.lock("l").try_acquire() is None
        permits = [await aio.semaphore("p", 2).try_acquire() for _ in range(3)]
        permit, second, third = permits
        assert permit is not None and second is not None and third is None
        assert {permit.slot, second.slot} == {0, 1}
        await permit.release()
        assert len(await aio.semaphore("p").holders()) == 1

    asyncio.run(main())


def test_a_watch_follows_the_holders(s: mcds.Store, opener: Opener) -> None:
    with opener() as other:
        lock = s.lock("l")
        with pytest.raises(mcds.Busy):
            lock.watch()
        with other.lock("l", ttl=30, label="web3"):
            seen = lock.watch(None, 10)
            assert seen is not None and seen.label == "web3"
            held = lock.holder()
            assert held is not None and held.tenure == seen.tenure
            assert other.lock("l").try_acquire() is None
            with pytest.raises(mcds.Busy):
                lock.watch(seen, 0.01)
            with s.pipeline() as pipeline:
                started = pipeline.lock("l").watch()
            again = started.result()
            assert again is not None and again.tenure == seen.tenure
        assert lock.watch(seen, 10) is None


def test_a_watch_is_awaited(s: mcds.Store) -> None:
    async def main() -> None:
        lock = s.aio.lock("l", ttl=30)
        async with lock:
            seen = await lock.watch()
            assert seen is not None
            with pytest.raises(mcds.Busy):
                await lock.watch(seen, 0.01)
        assert await lock.watch(seen, 10) is None

    asyncio.run(main())
