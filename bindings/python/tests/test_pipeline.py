"""Pipelines: results, failures, depth, abandoned operations."""

from __future__ import annotations

import gc
import threading
from typing import List

import mcds
import pytest


def test_every_structure(s: mcds.Store) -> None:
    with s.pipeline() as p:
        numbers = [p.counter("c").add(2) for _ in range(50)]
        striped = p.striped_counter("s", 2).add(1)
        exact = p.exact_counter("e", flush=0).add(1)
        lease = p.lock("l").try_acquire()
        hit = p.visitors("v").hit("ann")
        beat = p.online("o").beat("ann")
        view = p.views("w", lambda page, slot: 0, lambda page, slot, n: None).hit("/a")
        added = p.set("x").add_new("1")
        counted = p.bag("b").add("1")
        step = p.sequence("q").add("1")
        put = p.table("t").put("k", "v")
        pushed = p.list("y").push_many(["1", "2"])
        event = p.log("z").put("1")
        changed = p.array("a").change(add=["1"])
        takes = [p.limit("m", rates=["2/d"]).take("ann") for _ in range(3)]
    assert sorted(number.result() for number in numbers) == list(range(2, 101, 2))
    assert hit.result() and beat.result() and added.result()
    for result in (striped, exact, view, counted, step, put, pushed, event, changed):
        assert result.done() and result.result() is None and result.exception() is None
    with s.pipeline() as p:
        orders = p.ids("o", spread=0.01)
        numbers, five = [orders.next() for _ in range(3)], orders.take(5)
    ids = [*(number.result() for number in numbers), *five.result()]
    assert len(set(ids)) == 8
    with s.pipeline() as p:
        dropped = p.ids("o").drop()
    assert dropped.result()
    assert sorted(take.result().taken for take in takes) == [False, True, True]
    held = lease.result()
    assert held is not None and held.fence > 0
    held.release()
    assert s.table("t")["k"] == b"v" and list(s.list("y")) == [b"1", b"2"]
    with s.pipeline() as p:
        results = (p.counter("c").get(), p.counter("c").read(), p.table("t").get("k"),
                   p.set("x").has("1"), p.array("a").get(), p.log("z").tail(mcds.LogCursor(1)),
                   p.visitors("v").get(), p.lock("l").holder())
        assert results[0].result() == 100
        tokens = p.limit("m", rates=["2/d"]).get("ann")
        everything = (p.set("x").read(), p.bag("b").read(), p.list("y").read(skip=1),
                      p.log("z").read())
    assert tokens.result().remaining == 0
    with s.pipeline() as p:
        given, dropped = p.limit("m", rates=["2/d"]).give("ann"), p.limit("none").drop()
    assert given.result() is None and not dropped.result()
    assert s.limit("m", rates=["2/d"]).get("ann").remaining == 1
    assert everything[0].result() == [(b"1", 1)] == everything[1].result()
    assert everything[2].result() == [b"2"]
    assert [event.data for event in everything[3].result()] == [b"1"]
    assert [result.result() for result in results[2:5]] == [b"v", True, [b"1"]]  # type: ignore[attr-defined]
    assert results[1].result().value == 100 and results[6].result().current == 1
    assert len(results[5].result()) == 1 and results[7].result() is None


def test_a_result_is_waited_for(s: mcds.Store) -> None:
    p = s.pipeline(depth=4)
    results = [p.counter("a").add(1) for _ in range(100)]
    assert max(result.result() for result in results) == 100
    p.close()
    p.close()
    with pytest.raises(mcds.Invalid):
        p.counter("a").add(1)


def test_the_first_failure_is_raised(s: mcds.Store) -> None:
    s.table("t")["word"] = "x"
    with pytest.raises(mcds.Corrupt) as caught:
        with s.pipeline() as p:
            good = p.counter("a").add(1)
            bad = p.table("t").incr("word")
            also = p.counter("a").add(1)
    assert caught.value is bad.exception() and caught.value.noun == "table"
    assert good.result() + also.result() == 3
    with s.pipeline(check_results=False) as p:
        bad = p.table("t").incr("word")
    with pytest.raises(mcds.Corrupt):
        bad.result()
    with pytest.raises(LookupError):
        with s.pipeline() as p:
            p.table("t").incr("word")
            raise LookupError


def test_each_failure_has_its_own_sentence(s: mcds.Store) -> None:
    for name in ("t1", "t2", "t3"):
        s.table(name)["word"] = "x"
    with s.pipeline(check_results=False) as p:
        results = [p.table(name).incr("word") for name in ("t1", "t2", "t3") * 5]
    for result, name in zip(results, ("t1", "t2", "t3") * 5):
        error = result.exception()
        assert isinstance(error, mcds.Corrupt) and error.name == name


def test_what_cannot_be_started_is_raised_at_once(s: mcds.Store) -> None:
    with s.pipeline() as p:
        with pytest.raises(mcds.Invalid):
            p.counter("a").add(-1)
        with pytest.raises(TypeError):
            p.counter("a").add("1")  # type: ignore[arg-type]


def test_a_closed_pipeline_forgets(s: mcds.Store) -> None:
    p = s.pipeline()
    results = [p.table("t").get("k") for _ in range(10)]
    p.close()
    with pytest.raises(mcds.Ambiguous):
        results[0].result()


def test_callbacks_of_a_pipeline(s: mcds.Store) -> None:
    s.array("a").set(["1"])
    with s.pipeline(check_results=False) as p:
        good = p.array("a").change_by(lambda old: [*old, b"2"])
        bad = p.array("b").change_by(lambda old: 1 / 0)  # type: ignore[arg-type, return-value]
    assert good.exception() is None and isinstance(bad.exception(), ZeroDivisionError)
    assert s.array("a").get() == [b"1", b"2"]


def test_callbacks_outlive_their_structure(s: mcds.Store) -> None:
    """The views are closed by Python, and the operation still calls load()."""
    with s.pipeline() as p:
        views = p.views("w", lambda page, slot: 41, lambda page, slot, n: None).get("/a")
        for i in range(mcds.core.KEPT + 1):
            s.counter(str(i))
        gc.collect()
    assert views.result() == 41


def test_threads_share_a_pipeline(s: mcds.Store) -> None:
    """They wait for each other."""
    failures: List[BaseException] = []
    with s.pipeline(depth=16) as p:
        def work() -> None:
            try:
                for _ in range(200):
                    p.counter("a").add(1).result()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == [] and s.counter("a").get() == 800
