"""Random calls against models, on each kind of store, in the three ways of running.

MCDS_EXAMPLES=1000 tries more, other ones each time.
"""

from __future__ import annotations

import asyncio
import collections
import os
from typing import Any, Callable, Counter, Dict, List, Set, Type

import mcds
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (RuleBasedStateMachine, initialize, invariant, precondition, rule,
                                 run_state_machine_as_test)

EXAMPLES = int(os.environ.get("MCDS_EXAMPLES", "0"))
SETTINGS = settings(max_examples=EXAMPLES or 30, stateful_step_count=25, deadline=None,
                    database=None, derandomize=EXAMPLES == 0,
                    suppress_health_check=list(HealthCheck))

keys = st.sampled_from([b"a", b"b", b"\0\xff", b"k" * 1024])
some_bytes = st.one_of(st.binary(max_size=40), st.sampled_from([b"", b"x" * 9000]))
deltas = st.integers(-(2 ** 60), 2 ** 60)
#: What refills in the time of a test is less than a token.
RATES = [(5, 300 * 86400)]
ways = st.sampled_from(["waiting", "pipeline", "asyncio"])
#: Of a handle; 0: those of the queue.
stripes = st.sampled_from([0, 1, 2, 5])


class Calls(RuleBasedStateMachine):
    """One store; each rule says how its call runs."""

    opener: Callable[[], mcds.Store]

    @initialize()
    def begin(self) -> None:
        self.store = type(self).opener()
        self.loop = asyncio.new_event_loop()
        self.clear_model()

    def clear_model(self) -> None:
        """What an empty store has."""
        raise NotImplementedError

    def run(self, way: str, call: Callable[[Any], Any]) -> Any:
        """The result of a call of the store, a pipeline or the event loop."""
        if way == "pipeline":
            with self.store.pipeline() as pipeline:
                result = call(pipeline)
            return result.result()
        if way == "asyncio":
            async def main() -> Any:
                return await asyncio.wait_for(call(self.store.aio), 60)

            return self.loop.run_until_complete(main())
        return call(self.store)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.loop.close()


class Structures(Calls):
    """Structures of which each has one handle."""

    def clear_model(self) -> None:
        self.table: Dict[bytes, bytes] = {}
        self.set: Set[bytes] = set()
        self.bag: Counter[bytes] = collections.Counter()
        self.sequence: List[bytes] = []
        self.list: List[bytes] = []
        self.log: List[bytes] = []
        self.array: List[bytes] = []
        self.taken: Counter[bytes] = collections.Counter()
        self.number = 0
        self.signed = 0
        self.cursor = mcds.LogCursor(1)
        self.tailed: List[bytes] = []

    def limit(self, way: str, call: Callable[[Any], Any]) -> Any:
        return self.run(way, lambda s: call(s.limit("m", rates=RATES)))

    @rule(way=ways, who=keys, n=st.integers(1, 5))
    def take_tokens(self, way: str, who: bytes, n: int) -> None:
        take = self.limit(way, lambda limit: limit.take(who, n))
        assert take.taken == (self.taken[who] + n <= 5)
        self.taken[who] += n if take else 0
        assert take.remaining == 5 - self.taken[who]

    @rule(way=ways, who=keys, n=st.integers(1, 5))
    def give_tokens(self, way: str, who: bytes, n: int) -> None:
        self.limit(way, lambda limit: limit.give(who, n))
        self.taken[who] = max(0, self.taken[who] - n)
        assert self.limit(way, lambda limit: limit.get(who)).remaining == 5 - self.taken[who]

    @rule(way=ways)
    def drop_limit(self, way: str) -> None:
        tokens = {who: value.remaining for who, value in self.store.limit("m", rates=RATES).scan()
                  if value.remaining < 5}
        assert tokens == {who: 5 - n for who, n in self.taken.items() if n > 0}
        assert self.limit(way, lambda limit: limit.drop()) or not tokens
        self.taken.clear()

    @rule(way=ways, key=keys, value=some_bytes)
    def put(self, way: str, key: bytes, value: bytes) -> None:
        self.run(way, lambda s: s.table("t").put(key, value))
        self.table[key] = value

    @rule(way=ways, key=keys, value=some_bytes)
    def put_if_absent(self, way: str, key: bytes, value: bytes) -> None:
        new = self.run(way, lambda s: s.table("t").put_if_absent(key, value))
        assert new == (key not in self.table)
        self.table.setdefault(key, value)

    @rule(way=ways, key=keys, value=some_bytes, other=some_bytes)
    def compare_and_set(self, way: str, key: bytes, value: bytes, other: bytes) -> None:
        expected = other if len(other) % 2 else self.table.get(key, other)
        try:
            changed = self.run(way, lambda s: s.table("t").compare_and_set(key, expected, value))
        except mcds.NotFound:
            assert key not in self.table
            return
        assert changed == (self.table[key] == expected)
        if changed:
            self.table[key] = value

    @rule(way=ways, key=keys)
    def remove(self, way: str, key: bytes) -> None:
        assert self.run(way, lambda s: s.table("t").remove(key)) == (key in self.table)
        self.table.pop(key, None)

    @rule(way=ways, key=keys)
    def get(self, way: str, key: bytes) -> None:
        assert self.run(way, lambda s: s.table("t").get(key)) == self.table.get(key)
        assert self.run(way, lambda s: s.table("t").has(key)) == (key in self.table)

    @rule(way=ways, delta=st.integers(-1000, 1000))
    def incr(self, way: str, delta: int) -> None:
        value = int(self.table.get(b"number", b"0")) + delta
        assert self.run(way, lambda s: s.table("t").incr(b"number", delta)) == value
        self.table[b"number"] = b"%d" % value

    @rule(way=ways, element=keys)
    def add(self, way: str, element: bytes) -> None:
        new = self.run(way, lambda s: s.set("s").add_new(element))
        assert new == (element not in self.set)
        self.run(way, lambda s: s.bag("b").add(element))
        self.run(way, lambda s: s.sequence("q").add(element))
        self.set.add(element)
        self.bag[element] += 1
        self.sequence.append(element)

    @rule(way=ways, element=keys)
    def take(self, way: str, element: bytes) -> None:
        assert self.run(way, lambda s: s.set("s").take(element)) == (element in self.set)
        assert self.run(way, lambda s: s.bag("b").take(element)) == (self.bag[element] > 0)
        there = self.run(way, lambda s: s.sequence("q").take(element))
        assert there == (element in self.sequence)
        self.set.discard(element)
        self.bag -= collections.Counter([element])
        if there:
            self.sequence.remove(element)

    @rule(way=ways, values=st.lists(some_bytes, max_size=5))
    def push(self, way: str, values: List[bytes]) -> None:
        if way == "pipeline":
            self.run(way, lambda s: s.list("l").push_many(values))
        else:
            self.run(way, lambda s: s.list("l").extend(values))
        self.run(way, lambda s: s.log("g").put_many(values))
        self.list += values
        self.log += values

    @rule(way=ways)
    def tail(self, way: str) -> None:
        part = [event.data for event in self.run(way, lambda s: s.log("g").tail(self.cursor))]
        self.tailed += part
        assert self.tailed == self.log
        self.cursor = mcds.LogCursor.load(self.cursor.save())

    @rule(way=ways, add=st.lists(some_bytes, max_size=3), remove=st.lists(keys, max_size=2))
    def change(self, way: str, add: List[bytes], remove: List[bytes]) -> None:
        self.run(way, lambda s: s.array("a").change(add, remove))
        for element in remove:
            if element in self.array:
                self.array.remove(element)
        self.array += add
        if len(add) == 2:
            self.run(way, lambda s: s.array("a").change_by(reversed))
            self.array.reverse()

    @rule(way=ways, delta=deltas)
    def count(self, way: str, delta: int) -> None:
        try:
            assert self.run(way, lambda s: s.counter("c").add(abs(delta))) == self.number + abs(delta)
            self.number += abs(delta)
        except mcds.Overflow:
            assert self.number + abs(delta) >= 2 ** 61
        try:
            value = self.run(way, lambda s: s.counter("signed", signed=True).add(delta))
            assert value == self.signed + delta
            self.signed += delta
        except mcds.Overflow:
            assert abs(self.signed + delta) >= 2 ** 61

    @rule(way=ways)
    def take_count(self, way: str) -> None:
        assert self.run(way, lambda s: s.counter("c").take()) == self.number
        self.number = 0

    @rule()
    def drop(self) -> None:
        assert self.store.table("t").drop() or not self.table
        self.store.list("l").clear()
        self.table.clear()
        self.list.clear()

    @invariant()
    def all_is_there(self) -> None:
        if not hasattr(self, "store"):
            return
        s = self.store
        assert dict(s.table("t")) == self.table
        assert set(s.set("s")) == self.set and dict(s.bag("b").counts()) == +self.bag
        assert list(s.sequence("q")) == self.sequence
        assert list(s.list("l")) == self.list
        assert list(s.list("l").values(1, 2)) == self.list[1:3]
        assert [event.data for event in s.log("g")] == self.log
        assert s.array("a").get() == self.array
        assert s.counter("c").get() == self.number
        assert s.counter("signed", signed=True).get() == self.signed


class Queue(Calls):
    """A queue, and handles that differ in their stripes. A job is its number and some bytes."""

    def clear_model(self) -> None:
        self.pushed = 0
        self.clear_queue()

    def clear_queue(self) -> None:
        self.stripes = 0  # there is no queue
        self.waiting: Dict[int, bytes] = {}
        self.returned: Dict[int, bytes] = {}  # given back: a handle may find them seconds later
        self.held: Dict[int, Any] = {}

    def call(self, way: str, stripes: int, call: Callable[[Any], Any]) -> Any:
        """The result of a call of the handle with this number."""
        return self.run(way, lambda s: call(s.queue("q", visible=3600, may_lose=True,
                                                stripes=stripes)))

    def is_refused(self, way: str, stripes: int, call: Callable[[Any], Any]) -> bool:
        """Whether the handle has another number than the queue; the call is made then."""
        if self.stripes == 0 or stripes in (0, self.stripes):
            return False
        with pytest.raises(mcds.Invalid):
            self.call(way, stripes, call)
        return True

    @rule(way=ways, stripes=stripes,
          sizes=st.one_of(st.lists(st.sampled_from([0, 9, 9000]), min_size=1, max_size=9),
                          st.just([0] * 300)))
    def push(self, way: str, stripes: int, sizes: List[int]) -> None:
        jobs = {self.pushed + i: b"%d " % (self.pushed + i) + bytes(n) for i, n in enumerate(sizes)}
        self.pushed += len(jobs)

        def push(queue: Any) -> Any:
            return queue.push(*jobs.values()) if len(jobs) == 1 else queue.push_many(jobs.values())

        if not self.is_refused(way, stripes, push):
            self.call(way, stripes, push)
            self.waiting.update(jobs)
            self.stripes = self.stripes or stripes or 1

    @rule(way=ways, stripes=stripes, ends=st.booleans())
    def next(self, way: str, stripes: int, ends: bool) -> None:
        previous = min(self.held.values(), key=lambda job: number_of(job.data)) \
            if ends and self.held else None
        if self.is_refused(way, stripes, lambda queue: queue.next(after=previous)):
            assert previous is None or previous.held
            return
        job = self.call(way, stripes, lambda queue: queue.next(after=previous))
        if previous is not None:
            assert not previous.held and not previous.was_lost
            del self.held[number_of(previous.data)]
        if job is None:
            assert not self.waiting
            return
        number = number_of(job.data)
        if self.stripes == 1 and number not in self.returned:
            assert number == min(self.waiting)
        assert job.data == (self.returned if number in self.returned else self.waiting).pop(number)
        self.held[number] = job

    @precondition(lambda self: len(self.held) > 0)
    @rule(way=ways, stripes=stripes, verb=st.sampled_from(["done", "again", "longer"]))
    def end(self, way: str, stripes: int, verb: str) -> None:
        number, job = max(self.held.items())

        def end(queue: Any) -> Any:
            claim = queue.job(job.receipt)
            return getattr(queue, verb)(claim) if way == "pipeline" else getattr(claim, verb)()

        self.call(way, stripes, end)
        if verb != "longer":
            del self.held[number]
        if verb == "again":
            self.returned[number] = job.data

    @rule(way=ways, stripes=stripes)
    def drop(self, way: str, stripes: int) -> None:
        assert self.call(way, stripes, lambda queue: queue.drop()) == (self.stripes > 0)
        for job in self.held.values():
            with pytest.raises(mcds.Lost):
                self.store.queue("q", may_lose=True).job(job.receipt).done()
        self.clear_queue()

    @invariant()
    def each_job_is_there_once(self) -> None:
        if not hasattr(self, "store"):
            return
        queue = self.store.queue("q", may_lose=True)
        entries = queue.scan()
        numbers = [number_of(entry.data) for entry in entries]
        # The jobs of a stripe are in the order of their pushes.
        assert sum(a > b for a, b in zip(numbers, numbers[1:])) < max(1, self.stripes)
        claimed = {number: job.data for number, job in self.held.items()}
        jobs = {**self.waiting, **self.returned, **claimed}
        assert sorted(entry.data for entry in entries) == sorted(jobs.values())
        assert {entry.data for entry in entries if entry.state == mcds.JobState.CLAIMED} == set(
            claimed.values())
        assert queue.count() == (len(jobs) - len(claimed), 0, len(claimed), 0)
        made = self.store.made_with("queue", "q")
        assert made == ({"stripes": self.stripes} if self.stripes > 0 else None)


def number_of(job: bytes) -> int:
    return int(job.split(b" ")[0])


spaces = 0


@pytest.mark.parametrize("machine", [Structures, Queue])
@pytest.mark.parametrize("kind", ["memory", "lmdb", "memcached"])
def test_model(kind: str, machine: Type[Calls], request: Any, tmp_path: Any) -> None:
    def opener() -> mcds.Store:
        global spaces
        spaces += 1
        if kind == "memory":
            return mcds.open("memory:")
        uri = f"lmdb:{tmp_path}/store.mdb?sync=async" if kind == "lmdb" else \
            request.getfixturevalue("memcached")
        return mcds.open(uri, ns=f"model{spaces}", timeout=60)

    opens = type(f"{machine.__name__}_{kind}", (machine,), {"opener": staticmethod(opener)})
    run_state_machine_as_test(opens, settings=SETTINGS)  # type: ignore[no-untyped-call]
