"""A cursor moves past the items that its caller has received. After a cancellation, an interrupt, a break or a restart,
no item is lost, and none comes twice."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Any, Callable, List

import mcds
import pytest
from mcds.aio import Reading

from test_cancel import cancel_late, run, until_idle

COUNT = 10
TEXTS = [b"%d" % i for i in range(COUNT)]


class Source:
    """A structure that is read in parts: a log, a table, or the buckets of a limit."""

    def __init__(self, s: mcds.Store) -> None:
        self.s = s
        self.cursor: Any = mcds.Cursor()

    def position(self) -> Any:
        return self.cursor.position, self.cursor.done

    def part(self, s: Any) -> Any:
        raise NotImplementedError

    def data(self, part: Any) -> List[bytes]:
        return [element[0] for element in part]

    def rest(self) -> List[bytes]:
        """All items that the cursor has not passed."""
        found = []
        while not self.cursor.done:
            found += self.data(self.part(self.s))
        return found


class OfLog(Source):
    def __init__(self, s: mcds.Store) -> None:
        super().__init__(s)
        s.log("g").put_many(TEXTS)
        self.cursor = mcds.LogCursor(1)

    def position(self) -> Any:
        return self.cursor.save()

    def part(self, s: Any) -> Any:
        return s.log("g").tail(self.cursor)

    def data(self, part: Any) -> List[bytes]:
        return [event.data for event in part]

    def rest(self) -> List[bytes]:
        return self.data(self.part(self.s))


class OfTable(Source):
    def __init__(self, s: mcds.Store) -> None:
        super().__init__(s)
        s.table("t").update(dict.fromkeys(TEXTS, b"v"))

    def part(self, s: Any) -> Any:
        return s.table("t").page(self.cursor, 4)


class OfLimit(Source):
    def __init__(self, s: mcds.Store) -> None:
        super().__init__(s)
        for who in TEXTS:
            assert s.limit("m", rates="9/d").take(who).taken

    def part(self, s: Any) -> Any:
        return s.limit("m", rates="9/d").page(self.cursor, 4)


each = pytest.mark.parametrize("source_of", [OfLog, OfTable, OfLimit], ids=["log", "table", "limit"])
SourceOf = Callable[[mcds.Store], Source]


async def until_done(future: Any) -> None:
    """Wait until the operation has finished, without taking its result."""
    while not future.done():
        await asyncio.sleep(0.001)


@each
def test_a_cancelled_call_moves_no_cursor(source_of: SourceOf, s: mcds.Store) -> None:
    """The request of the call is in flight, and its reply comes later."""
    async def main() -> None:
        source = source_of(s)
        before = source.position()
        future = source.part(s.aio)
        driver = s.aio._driver_of(asyncio.get_running_loop())
        while not driver._running:
            await asyncio.sleep(0)
        future.cancel()
        with pytest.raises(asyncio.CancelledError):
            await future
        await until_idle(s.aio)
        assert source.position() == before
        assert sorted(source.rest()) == TEXTS

    run(main())


@each
def test_a_result_that_the_task_does_not_get_moves_no_cursor(source_of: SourceOf, s: mcds.Store) -> None:
    """The awaiting task is cancelled between the result and its own next step. A later call gets the result."""
    async def main() -> None:
        source = source_of(s)
        before = source.position()
        future = source.part(s.aio)
        await cancel_late(future)
        assert source.position() == before
        found = source.data(await future)
        assert source.position() != before
        assert sorted(found + source.rest()) == TEXTS

    run(main())


@each
def test_every_way_to_get_a_result_moves_the_cursor(source_of: SourceOf, s: mcds.Store) -> None:
    async def main() -> None:
        async def by_result(future: Any) -> Any:
            await until_done(future)
            assert source.position() == before
            return future.result()

        async def by_gather(future: Any) -> Any:
            return (await asyncio.gather(future))[0]

        async def by_task(future: Any) -> Any:
            async def get() -> Any:
                return await future
            return await asyncio.create_task(get())

        async def by_wait_for(future: Any) -> Any:
            return await asyncio.wait_for(future, 60)

        for get in (by_result, by_gather, by_task, by_wait_for):
            source = source_of(s)
            before = source.position()
            future = source.part(s.aio)
            assert isinstance(future, Reading)
            found = source.data(await get(future))
            after = source.position()
            assert after != before and found
            assert future.result() is await future and source.position() == after  # it moves once
            assert sorted(found + source.rest()) == TEXTS
            s.log("g").drop()

    run(main())


def test_a_result_of_a_pipeline_moves_the_cursor_when_it_is_got(s: mcds.Store) -> None:
    source = OfLog(s)
    before = source.position()
    with s.pipeline() as p:
        result = source.part(p)
    assert source.position() == before
    assert source.data(result.result()) == TEXTS
    s.log("g").put("more")
    assert source.rest() == [b"more"] and source.data(result.result()) == TEXTS and source.rest() == []


class Boom(Exception):
    pass


#: The files of the package that run a call on an open structure.
CALLING = ("plan.py", "stream.py", "log.py", "table.py", "limit.py")


def booming(step: int) -> Callable[..., Any]:
    """A trace function that raises before this line of a call, as a signal handler may."""
    seen = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal seen
        code = frame.f_code
        # The interpreter looks for signals neither between the stores of a move nor before a return.
        if code.co_name in ("move", "handed") or not code.co_filename.endswith(CALLING):
            return None
        if event == "line":
            seen += 1
            if seen == step:
                raise Boom
        return trace

    return trace


@each
def test_an_interrupted_call_moves_no_cursor(source_of: SourceOf, s: mcds.Store) -> None:
    source = source_of(s)
    source.part(s)  # the handle is open
    for step in range(1, 2000):
        source.cursor = mcds.LogCursor(1) if source_of is OfLog else mcds.Cursor()
        before = source.position()
        sys.settrace(booming(step))
        try:
            source.part(s)
            break
        except Boom:
            pass
        finally:
            sys.settrace(None)
        assert source.position() == before
    assert 10 < step < 1999 and source.position() != before


def test_each_event_of_follow_moves_the_cursor(s: mcds.Store) -> None:
    """A program saves the cursor after each event, and resumes from the saved text."""
    log = s.log("g")
    log.put_many(TEXTS)
    log.put(b"x" * 20_000)  # it has keys of its own
    log.put_many([b"y" * 3000] * 9)  # into several keys
    whole = [event.data for event in log]
    for most in (1, 2, 3, 7, 100):
        text = mcds.LogCursor(1).save()
        got: List[bytes] = []
        while len(got) < len(whole):
            cursor = mcds.LogCursor.load(text)
            for number, event in enumerate(log.follow(cursor), 1):
                got.append(event.data)
                text = cursor.save()
                if number == most or len(got) == len(whole):
                    break
        assert got == whole
        assert log.tail(mcds.LogCursor.load(text)) == [] and log.tail(cursor) == []


def test_a_follow_that_was_broken_off_is_continued(s: mcds.Store) -> None:
    log = s.log("g")
    log.put_many(TEXTS)
    cursor = mcds.LogCursor(1)
    got = [event.data for _, event in zip(range(3), log.follow(cursor))]
    got += [event.data for _, event in zip(range(3), log.follow(cursor))]
    assert got + [event.data for event in log.tail(cursor)] == TEXTS


def test_a_follow_without_events_moves_the_cursor(s: mcds.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new cursor begins where the first look was."""
    log = s.log("g")
    log.put("old")
    cursor = mcds.LogCursor()
    before = cursor.save()

    def sleep(seconds: float) -> None:
        assert cursor.save() != before
        if len(list(log)) == 1:
            log.put("new")

    monkeypatch.setattr("mcds.log.time.sleep", sleep)
    assert next(log.follow(cursor, pause=0.001)).data == b"new"
    assert log.tail(mcds.LogCursor.load(cursor.save())) == []


def test_a_follow_of_a_loop_that_was_cancelled_is_continued(s: mcds.Store) -> None:
    async def main() -> None:
        log = s.aio.log("g")
        await log.put_many(TEXTS)
        cursor = mcds.LogCursor(1)
        got: List[bytes] = []
        has_three = asyncio.Event()

        async def follow() -> None:
            async for event in log.follow(cursor):
                got.append(event.data)
                if len(got) == 3:
                    has_three.set()
                    await asyncio.sleep(3600)

        task = asyncio.create_task(follow())
        await has_three.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        saved = mcds.LogCursor.load(cursor.save())
        for one in (cursor, saved):
            assert got + [event.data for event in await log.tail(one)] == TEXTS

    run(main())


def test_what_help_says() -> None:
    assert "number of different elements" in str(mcds.Bag.__len__.__doc__)
    assert "asyncio.create_task" in str(mcds.Aio.__doc__)
