"""Each structure on each kind of store."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import time
from typing import Any, Callable, Dict, List, Tuple

import mcds
import pytest
from mcds._binding import lib

Opener = Callable[..., mcds.Store]


def test_counter(s: mcds.Store, opener: Opener) -> None:
    c = s.counter("a")
    assert (c.get(), c.take(), c.drop()) == (0, 0, False)
    with pytest.raises(mcds.NotFound):
        c.read()
    assert c.add(5) == 5 and c.add() == 6
    value = c.read()
    now = datetime.datetime.now(datetime.timezone.utc)
    assert value.value == 6 and not value.reborn and value.since is not None
    assert abs(now - value.since) < datetime.timedelta(minutes=5)
    with opener() as other:
        assert other.counter(b"a").add(4) == 10
    assert c.take() == 10 and c.get() == 0
    assert s.counter("signed", signed=True).add(-3) == -3
    with pytest.raises(mcds.Invalid) as caught:
        c.add(-1)
    assert (caught.value.noun, caught.value.name, caught.value.verb) == ("counter", "a", "add")
    assert c.drop()


def test_striped_counter(s: mcds.Store) -> None:
    c = s.striped_counter("busy", 4)
    for _ in range(10):
        c.add(3)
    assert c.get() == 30
    stored = s.made_with("counter", "busy")
    assert stored is not None and stored["stripes"] == 4
    assert s.made_with("counter", "none") is None
    with pytest.raises(mcds.Error) as caught:
        s.striped_counter("busy", 8).add()
    assert caught.value.cause == "OPTION_DIFFERS"
    assert (caught.value.option, caught.value.wanted, caught.value.found) == ("stripes", "8", "4")


def test_exact_counter_is_written_when_the_store_is_closed(opener: Opener) -> None:
    keeper = opener()
    with opener() as store:
        store.exact_counter("sold", flush=3600).add(7)
        store.exact_counter("sold", flush=3600).add(-2)
    assert keeper.exact_counter("sold").get() == 5
    keeper.exact_counter("sold", flush=0).add(1)
    with opener() as store:
        assert store.exact_counter("sold").get() == 6
    keeper.close()


def test_an_exact_counter_that_cannot_be_written_is_reported() -> None:
    store = mcds.open("memcached://127.0.0.1:1", timeout=0.2)
    store.exact_counter("sold", flush=3600).add(1)
    with pytest.raises((mcds.Unavailable, mcds.Timeout)):
        store.close()


def test_visitors(s: mcds.Store) -> None:
    at = 1700000000
    for members in mcds.Members:
        v = s.visitors(f"site {members}", period=3600, members=members)
        assert v.hit("ann", at) and v.hit("bob", at) and not v.hit("ann", at)
        value = v.get(at)
        assert (value.current, value.closed, value.reborn) == (2, 0, False)
        assert v.get(at + 3600).closed == 2
        assert v.drop(at)
    anonymous = s.visitors("hits", period=0)
    assert anonymous.hit() and anonymous.hit() and anonymous.get().current == 2


def test_a_period_of_a_day_and_of_all_time(s: mcds.Store) -> None:
    at = 1700000000
    days, ever = s.visitors("days"), s.visitors("ever", period=0)
    for visitors in (days, ever):
        assert visitors.hit("ann", at)
    assert days.hit("ann", at + 86400) and not ever.hit("ann", at + 86400)
    assert days._opened is s.visitors("days", period=datetime.timedelta(days=1))._opened
    with pytest.raises(mcds.Invalid, match="it was made with period 0, not 86400 s; open it the same way"):
        s.visitors("ever").hit("ann")
    with pytest.raises(mcds.Invalid, match="^visitors 'x': period must be 0 or 1 to 31622400 seconds, not 0.5$"):
        s.visitors("x", period=0.5)


def test_online(s: mcds.Store) -> None:
    o = s.online("site", buckets=3, width=60)
    at = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
    assert o.beat("ann", at) and o.beat("bob", at) and not o.beat("ann", at)
    assert o.get(at).current == 2
    with pytest.raises(mcds.TooOld, match="online 'site': beat: .* 31 buckets later") as late:
        o.beat("ann", at - datetime.timedelta(days=1))
    assert (late.value.cause, late.value.verb) == ("CLOCK", "beat")
    assert o.drop(at)


def test_views(s: mcds.Store) -> None:
    saved: Dict[Tuple[bytes, int], int] = {}

    def load(page: bytes, upto_slot: int) -> int:
        return sum(n for (name, slot), n in saved.items() if name == page and slot <= upto_slot)

    def save(page: bytes, slot: int, views: int) -> None:
        saved[page, slot] = max(views, saved.get((page, slot), 0))

    views = s.views("site", load, save)
    views.hit("/a", 3)
    views.hit("/a")
    assert views.get("/a") == 4 and views.get("/b") == 0
    views.flush()
    views.flush_final()
    assert sum(saved.values()) == 4 and views.get("/a") == 4
    assert s.made_with("views", "site") == {"flush_ms": 60000, "database": 0}
    assert views.drop() and not views.drop()


def test_views_pass_on_what_a_callback_raises(s: mcds.Store) -> None:
    def load(page: bytes, upto_slot: int) -> int:
        raise LookupError("no database")

    def save(page: bytes, slot: int, views: int) -> None:
        raise OSError("disk")

    views = s.views("site", load, save)
    views.hit("/a")
    for call in (lambda: views.get("/a"), views.flush_final):
        with pytest.raises(mcds.Io) as caught:
            call()
        assert caught.value.cause == "CALLBACK_FAILED"
        assert isinstance(caught.value.__cause__, (LookupError, OSError))


def refusing(error: BaseException, saved: Dict[bytes, int]) -> Callable[[bytes, int, int], None]:
    """A save that raises `error` for each page whose name begins with "bad"."""
    def save(page: bytes, slot: int, views: int) -> None:
        saved[page] = saved.get(page, 0) + 1
        if page.startswith(b"bad"):
            raise error

    return save


def test_a_page_whose_save_raises_hides_no_other(s: mcds.Store) -> None:
    saved: Dict[bytes, int] = {}
    views = s.views("site", lambda page, slot: 0, refusing(OSError("disk"), saved))
    with s.pipeline() as p:
        for n in range(60):
            p.views("site", lambda page, slot: 0, lambda page, slot, n: None).hit(f"bad{n}" if n % 3 == 0 else f"{n}")
    with pytest.raises(mcds.Io) as caught:
        views.flush_final()
    assert str(caught.value.__cause__) == "disk"
    assert caught.value.reason.startswith("page 'bad") and " and 19 more are not saved; " in caught.value.reason
    assert len(saved) == 60 and set(saved.values()) == {1}
    with pytest.raises(mcds.Io) as caught:
        with s.pipeline() as p:
            flush = p.views("site", lambda page, slot: 0, views_save := refusing(OSError("disk"), saved)).flush_final()
            p.views("site", lambda page, slot: 0, views_save).hit("1")
    assert flush.exception() is caught.value and str(caught.value.__cause__) == "disk"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupt_in_save_ends_the_flush(error: BaseException, s: mcds.Store) -> None:
    saved: Dict[bytes, int] = {}
    views = s.views("site", lambda page, slot: 0, refusing(error, saved))
    for n in range(30):
        views.hit(f"bad{n}")
    with pytest.raises(type(error)) as caught:
        views.flush_final()
    assert caught.value is error and sum(saved.values()) == 1


def test_set(s: mcds.Store) -> None:
    x = s.set("x")
    assert not x and len(x) == 0 and "a" not in x and not x.drop()
    x.add("a")
    x.add("a")
    assert x.add_new(b"\0\xff") and not x.add_new("a")
    assert set(x) == {b"a", b"\0\xff"} and len(x) == 2 and "a" in x and 7 not in x
    assert x | {b"z"} == {b"a", b"\0\xff", b"z"} and x == {b"a", b"\0\xff"} and x & {b"a"} == {b"a"}
    with pytest.raises(KeyError):
        x.remove("none")
    x.remove("a")
    x.discard("none")
    assert x.pop() == b"\0\xff"
    with pytest.raises(KeyError):
        x.pop()
    x.update(["1", "2"])
    x |= {b"3"}
    x -= {b"1"}
    assert sorted(x) == [b"2", b"3"]
    x.clear()
    assert list(x) == []


UNFIT: List[Any] = ["", b"", "x" * 1025, memoryview(b"x" * 1025), "\ud800", 5, None]


def test_a_set_has_no_element_that_cannot_be_stored(s: mcds.Store) -> None:
    x = s.set("x")
    x.add("a")
    for element in UNFIT:
        assert element not in x
        x.discard(element)
        assert x.isdisjoint([element])
        with pytest.raises(KeyError):
            x.remove(element)
        with pytest.raises((ValueError, TypeError)):
            x.add(element)
        assert x == {b"a"} and x & {element} == set() and x - {element} == {b"a"}
    assert not {b""} <= x and x != {b""} and x > set()
    x -= {b""}
    assert x == {b"a"}


def test_a_table_has_no_key_that_cannot_be_stored(s: mcds.Store) -> None:
    t = s.table("t")
    t["a"] = "1"
    for key in UNFIT:
        assert key not in t and t.get(key) is None and t.get(key, 7) == 7 and t.pop(key, 8) == 8
        calls: List[Callable[[], Any]] = [lambda: t[key], lambda: t.pop(key),
                                          lambda: t.__delitem__(key)]
        for call in calls:
            with pytest.raises(KeyError):
                call()
        with pytest.raises((ValueError, TypeError)):
            t[key] = "2"
    assert t.keys() & {b""} == set() and t == {b"a": b"1"}


def test_what_cannot_be_stored_is_absent_in_each_way(s: mcds.Store) -> None:
    s.set("x").add("a")
    s.table("t")["a"] = "1"

    async def main() -> None:
        x, t = s.aio.set("x"), s.aio.table("t")
        for one in UNFIT:
            assert await asyncio.gather(t.get(one), t.has(one), t.discard(one), t.remove(one)) == [
                None, False, None, False]
            assert await t.get(one, b"other") == b"other"
            assert await asyncio.gather(x.has(one), x.discard(one), x.take(one)) == [
                False, None, False]
            with pytest.raises(KeyError):
                await x.remove(one)
            calls: List[Callable[[], Any]] = [
                lambda: t.put(one, "2"), lambda: t.put_if_absent(one, "2"), lambda: x.add(one)]
            for call in calls:
                with pytest.raises((ValueError, TypeError)):
                    await call()

    asyncio.run(main())
    with s.pipeline() as p:
        gets: List[Callable[[Any], Any]] = [p.table("t").get, p.table("t").discard,
                                            p.set("x").discard]
        results: List[Any] = [call(one) for one in UNFIT for call in gets]
        removed = [call(one) for one in UNFIT for call in (p.table("t").remove, p.set("x").take,
                                                           p.table("t").has, p.set("x").has)]
    assert {result.result() for result in results} == {None}
    assert {result.result() for result in removed} == {False}
    for one in UNFIT:
        assert not s.table("t").has(one) and not s.table("t").remove(one)
        assert not s.set("x").has(one) and not s.set("x").take(one)
    assert dict(s.table("t")) == {b"a": b"1"} and s.set("x") == {b"a"}


def test_bag_and_sequence(s: mcds.Store) -> None:
    bag = s.bag("bag")
    for element in ("a", "b", "a"):
        bag.add(element)
    assert dict(bag.counts()) == {b"a": 2, b"b": 1} and len(bag) == 2
    bag.remove("a")
    assert dict(bag.counts()) == {b"a": 1, b"b": 1}
    steps = s.sequence("steps")
    for element in ("a", "b", "a", "c"):
        steps.add(element)
    assert steps.take("a") and not steps.take("z")
    assert list(steps) == [b"b", b"a", b"c"]
    assert s.made_with("set", "bag") == {"form": 1}
    with pytest.raises(mcds.Invalid) as caught:
        s.set("bag").add("x")
    assert caught.value.cause == "OPTION_DIFFERS"


def test_table(s: mcds.Store) -> None:
    t = s.table("t")
    assert not t and t.get("k") is None and t.get("k", b"-") == b"-" and not t.drop()
    with pytest.raises(KeyError):
        t["k"]
    t["k"] = "v"
    t[b"\0"] = b""
    assert t["k"] == b"v" and t["\0"] == b"" and "k" in t and 7 not in t and len(t) == 2
    assert dict(t) == {b"k": b"v", b"\0": b""} == dict(t.items()) == t
    assert sorted(t.values()) == [b"", b"v"] and b"v" in t.values()
    assert t.put_if_absent("new", "1") and not t.put_if_absent("new", "2")
    assert t.compare_and_set("new", "1", "3") and not t.compare_and_set("new", "1", "4")
    with pytest.raises(mcds.NotFound):
        t.compare_and_set("none", "1", "4")
    assert t.incr("n", 5) == 5 and t.incr("n", -7) == -2
    with pytest.raises(mcds.Corrupt):
        t.incr("k")
    assert t.setdefault("k", "other") == b"v" and t.setdefault("d", "w") == b"w"
    assert t.remove("d") and not t.remove("d")
    del t["n"]
    with pytest.raises(KeyError):
        del t["n"]
    assert t.pop("new") == b"3"
    t.discard("none")
    t.put("short", "x", ttl=3600)
    t.clear()
    assert list(t) == []


def test_table_pages(s: mcds.Store, opener: Opener) -> None:
    t = s.table("t")
    with s.pipeline() as p:
        for i in range(500):
            p.table("t").put(str(i), str(i * i))
    cursor = mcds.Cursor()
    seen = t.page(cursor, 100)
    assert len(seen) == 100 and not cursor.done
    with opener() as other:
        rest = mcds.Cursor(cursor.position, cursor.done)
        while not rest.done:
            seen += other.table("t").page(rest, 77)
    assert sorted(seen) == sorted((b"%d" % i, b"%d" % (i * i)) for i in range(500))


def test_an_iterator_does_not_count(s: mcds.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """list(x) asks for len(x), which reads all elements; list(iter(x)) does not."""
    counted: List[type] = []
    values, elements, table = s.list("l"), s.set("s"), s.table("t")
    values.push("x")
    elements.add("x")
    table.put("x", "v")

    def count(self: Any) -> int:
        counted.append(type(self))
        return 1

    structures: List[Any] = [values, elements, table]
    for one in structures:
        monkeypatch.setattr(type(one), "__len__", count)
    for one in structures:
        assert list(iter(one)) == [element for element in one] == [b"x"]
        assert set(one) == {b"x"} and counted == []
        assert list(one) == [b"x"] and counted.pop() == type(one)
        counted.clear()


def test_list(s: mcds.Store) -> None:
    x = s.list("l")
    assert not x and list(x) == [] and not x.clear()
    x.push("a")
    x.extend([b"", "\u00e9", b"\0\n"])
    x.extend([])
    assert list(x) == [b"a", b"", b"\xc3\xa9", b"\0\n"] and len(x) == 4 and x
    assert list(x.values(skip=1, limit=2)) == [b"", b"\xc3\xa9"]
    assert x.clear() and list(x) == []
    x.push("again")
    assert x.drop() and not x.drop()


def test_log(s: mcds.Store) -> None:
    log = s.log("deploys", retention=86400)
    cursor = mcds.LogCursor()
    assert log.tail(cursor) == [] and list(log) == []
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    log.put("one", when=now - datetime.timedelta(seconds=5))
    log.put_many(["two", "three"], when=now)
    assert [event.data for event in log] == [b"one", b"two", b"three"]
    assert [event.when for event in log][1] == now
    newest = log.events(limit=2, newest_first=True)
    assert [event.data for event in newest] == [b"three", b"two"]
    assert [event.data for event in log.events(first=now)] == [b"two", b"three"]
    assert [event.data for event in log.events(last=now)] == [b"one"]
    assert [event.data for event in log.tail(cursor)] == [b"one", b"two", b"three"]
    saved = cursor.save()
    log.put("four")
    assert [event.data for event in log.tail(mcds.LogCursor.load(saved))] == [b"four"]
    followed = log.follow(mcds.LogCursor(start=now - datetime.timedelta(hours=1)))
    assert [next(followed).data for _ in range(4)] == [b"one", b"two", b"three", b"four"]
    assert (cursor.gaps, cursor.corrupt, log.damage()) == (0, 0, (0, 0))
    with pytest.raises(mcds.TooOld, match="more than the log's option late before this machine's clock"):
        log.put("old", when=time.time() - 7200)
    with pytest.raises(mcds.TooFuture, match="more than the log's option ahead after") as ahead:
        log.put("new", when=time.time() + 7200)
    assert 7100000 < ahead.value.found_number < 7300000
    with pytest.raises(mcds.Invalid):
        mcds.LogCursor.load("no cursor")
    assert log.drop() and not log.drop()


READS: "dict[str, Callable[[mcds.Log], Any]]" = {
    "damage": lambda log: [], "events": lambda log: list(log.events()),
    "first event": lambda log: [next(log.events(limit=1))],
    "aio": lambda log: asyncio.run(awaited_events(log._runner)),
    "pipeline": lambda log: piped_events(log._runner)}


async def awaited_events(s: mcds.Store) -> List[mcds.Event]:
    found = await s.aio.log("g").read()
    assert found == [event async for event in s.aio.log("g")]
    return found


def piped_events(s: mcds.Store) -> List[mcds.Event]:
    with s.pipeline() as p:
        found = p.log("g").read()
    return found.result()


def test_damage_counts_a_loss_that_another_read_has_found(restarted: Any) -> None:
    """The library reports the loss of a whole log once to each handle."""
    with contextlib.ExitStack() as stack:
        with restarted() as uri:
            stores = {read: stack.enter_context(mcds.open(uri)) for read in READS}
            stores["damage"].log("g").put_many(["1", "2"])
            for store in stores.values():
                assert len(list(store.log("g"))) == 2 and store.log("g").damage() == (0, 0)
        with restarted() as uri:
            with mcds.open(uri) as other:
                other.log("g").put("new")
            for read, store in stores.items():
                assert [event.data for event in READS[read](store.log("g"))] in ([], [b"new"])
                assert store.log("g").damage() == (1, 0), read
                assert store.log("g").damage() == (0, 0), read


def test_array(s: mcds.Store) -> None:
    a = s.array("a")
    assert a.get() == [] and not a.drop()
    a.change(remove=["x"])
    a.set(["1", b"", "1"])
    a.change(add=["2"], remove=["1"])
    assert list(a) == [b"", b"1", b"2"] and len(a) == 3
    a.change_by(lambda old: [element + b"!" for element in old])
    assert a.get() == [b"!", b"1!", b"2!"]

    def refuse(old: "list[bytes]") -> "list[mcds.plan.Bytes]":
        raise LookupError(len(old))

    with pytest.raises(LookupError, match="3"):
        a.change_by(refuse)
    with pytest.raises(TypeError):
        a.change_by(lambda old: [7])  # type: ignore[list-item]
    assert len(a) == 3 and a.drop()


def test_cache(s: mcds.Store, opener: Opener) -> None:
    c = s.cache("pages", stale=600)
    reads: List[bytes] = []

    def fill(key: bytes) -> bytes:
        reads.append(key)
        return b"value %d" % len(reads)

    assert c.fetch("k", fill, tags=["red", "blue"]) == b"value 1"
    with opener() as other:
        pages = other.cache(b"pages", stale=600)
        assert pages.fetch("k", fill) == b"value 1"
        pages.forget_tag("blue")
        assert c.fetch("k", fill, tags=["red"]) == b"value 2"
        pages.forget(b"k")
        assert c.fetch("k", fill) == b"value 3"
        pages.expire("k")
        claim = pages.look("k")
        assert claim.mine and claim.value == b"value 3" and not claim.is_missing
        assert c.fetch("k", fill) == b"value 3"
        assert claim.renew() and claim.put(b"by hand") and not claim.mine
        assert c.fetch("k", fill) == b"by hand"
        pages.hold("k", 60)
        pages.hold_tag("red", 60)
        pages.clear()
        assert c.fetch("none", lambda key: None) is None
        assert c.fetch("none", fill) is None
    assert reads == [b"k"] * 3
    assert c.look("new").release() and c.look("new").mine
    assert c.drop() and not c.drop()


def test_one_text_is_no_list_of_tags(s: mcds.Store) -> None:
    with pytest.raises(TypeError, match="not one str"):
        s.cache("pages").fetch("k", lambda key: b"v", tags="abc")
    with pytest.raises(TypeError, match="not one str"):
        s.cache("pages").look("k", tags="abc")
    assert s.cache("pages").fetch("k", lambda key: b"v", tags=["abc"]) == b"v"


def test_cache_passes_on_what_a_fill_raises(s: mcds.Store, opener: Opener) -> None:
    c = s.cache("api")

    def fail(key: bytes) -> bytes:
        raise KeyError("away")

    with pytest.raises(KeyError):
        c.fetch("k", fail)
    with opener() as other, pytest.raises(mcds.Io) as caught:
        other.cache("api").fetch("k", fail)
    assert "KeyError: 'away'" in str(caught.value)
    with s.pipeline() as p:
        value = p.cache("api").fetch("l", lambda key: key * 2)
    assert value.result() == b"ll"
    assert c.look("m").fail("down")
    with pytest.raises(mcds.Io):
        c.look("m")


def test_limit(s: mcds.Store, opener: Opener) -> None:
    """The times of the rates are long: what refills while the test runs is less than a token."""
    api = s.limit("api", rates=["5/d", (100, 300 * 86400)], burst=3)
    assert api.get("ann") == mcds.LimitValue(3, 0.0, 0.0) and not api.drop()
    first = api.take("ann")
    assert first and first.taken and (first.remaining, first.retry, first.delay) == (2, 0, 0)
    with opener() as other:
        same = other.limit(b"api", rates=[(5, datetime.timedelta(days=1), 3), "100/300d"])
        assert same.take("ann", 2).remaining == 0 and same.take(b"bob").remaining == 2
    day = 86400
    refused = api.take("ann", 2)
    assert not refused and not refused.taken and (refused.remaining, refused.delay) == (0, 0)
    assert day / 5 < refused.retry <= 2 * day / 5 < refused.full <= 3 * day * 3
    assert 0 < api.get("ann").retry <= day / 5
    assert api.take("ann", patience=60).taken is False
    patient = api.take("ann", patience=datetime.timedelta(days=1))
    assert patient.taken and 0 < patient.delay <= day / 5
    api.give("ann", 3)
    assert api.get("ann").remaining == 2
    seen = dict(api.scan())
    assert {who: value.remaining for who, value in seen.items()} == {b"ann": 2, b"bob": 2}
    names = s.limit("api")
    assert all(value.full > 0 for _, value in names.scan())
    assert names.drop() and dict(names.scan()) == {} and api.get("ann").remaining == 3


def test_ids(s: mcds.Store, opener: Opener) -> None:
    orders = s.ids("orders", bits=53, spread=0.01)
    assert not orders.drop() and s.made_with("ids", "orders") is None
    ids = [orders.next() for _ in range(1100)]
    with opener() as other:
        ids += [other.ids(b"orders", bits=53, spread=0.01).next() for _ in range(3)]
        with pytest.raises(mcds.Invalid) as caught:
            other.ids("orders", spread=0.01).next()
        assert caught.value.option == "bits"
    assert len(set(ids)) == len(ids) and ids[:1100] == sorted(ids[:1100]) and max(ids) < 2 ** 53
    made = s.made_with("ids", "orders")
    assert made is not None and made["bits"] == 53
    many = orders.take(65536)
    assert len(many) == 65536 and many[0] > ids[1099]
    with pytest.raises(mcds.Invalid):
        orders.take(0)
    assert orders.drop() and orders.next() > many[-1]


def test_limit_window(s: mcds.Store) -> None:
    w = s.limit("mails", rates="3/d", form=mcds.LimitForm.WINDOW)
    assert w.take("ann", 2).remaining == 1 and not w.take("ann", 2) and w.take("ann")
    refused = w.take("ann")
    assert not refused.taken and 0 < refused.retry <= 2 * 86400
    assert w.get("ann").remaining == 0 and w.get("bob").remaining == 3
    calls: List[Callable[[], object]] = [lambda: w.give("ann"), w.drop, lambda: list(w.scan())]
    for call in calls:
        with pytest.raises(mcds.Unsupported):
            call()
    with pytest.raises(mcds.Invalid):
        w.take("ann", patience=1)


def test_limit_remembers_a_refusal(s: mcds.Store) -> None:
    hot, other = s.limit("hot", rates="1/h", remember=60), s.limit("hot", rates="1/h")
    assert hot.take("ann") and not hot.take("ann")
    other.give("ann")
    assert not hot.take("ann") and other.take("ann")
    hot.give("ann")
    assert hot.take("ann")
    with pytest.raises(mcds.Invalid, match="remember must be at most 60 seconds, not 61"):
        s.limit("hot", rates="1/h", remember=61)


def test_limit_refuses_bad_arguments(s: mcds.Store) -> None:
    for text in ("10", "/s", "10/", "10/x", "-1/s", "1/0.5ms", "1/.5s", "1.5/s", "1 /s", "\u0661/s"):
        with pytest.raises(ValueError, match="such as 10/s"):
            s.limit("api", rates=[text])
    wrong: List[Any] = [["0/s"], [(5, 0)], ["1/s"] * 5, [(1, 1, -1)], ["1/1000d"]]
    for rates in wrong:
        with pytest.raises(mcds.Invalid) as caught:
            s.limit("api", rates=rates)
        assert caught.value.option == "rates"
    with pytest.raises(ValueError, match="is missing"):
        s.limit("api", burst=3)
    with pytest.raises(ValueError, match="has one already"):
        s.limit("api", rates=[(1, 1, 2)], burst=3)
    with pytest.raises(mcds.Invalid) as caught:
        s.limit("api", rates=["5/s"], burst=3).take("ann", 4)
    assert (caught.value.option, caught.value.wanted_max) == ("n", 3)
    with pytest.raises(mcds.Invalid) as caught:
        s.limit("api").take("ann")
    assert caught.value.option == "rates"


def test_limit_reads_rates_as_the_command() -> None:
    read = mcds.limit.as_rate
    assert read("10/s") == read((10, 1)) == read("10/1") == read("10/1000ms") == (10, 1000, 0)
    assert read("5/1.5s") == (5, 1500, 0) and read("7/2h") == (7, 2 * 3600 * 1000, 0)
    assert read("1/ms") == (1, 1, 0) and read("1/m") == (1, 60000, 0)
    assert read("1/d") == (1, 86400000, 0)
    assert read((3, 0.25, 9)) == (3, 250, 9)


def test_a_limit_that_is_busy_is_no_refusal(s: mcds.Store, opener: Opener) -> None:
    """The result of C is the same; only the cause differs."""
    with s.lock("l"), opener() as other:
        assert other.lock("l").try_acquire() is None
        assert lib.mcds_last_error().result == lib.MCDS_BUSY
        with pytest.raises(mcds.Busy):
            mcds.limit.take_taken(lib.MCDS_BUSY, None)


def test_limit_pages(s: mcds.Store, opener: Opener) -> None:
    """More than one part, and a scan that another handle continues."""
    names = [b"%0999d" % i for i in range(300)]
    with s.pipeline() as p:
        takes = [p.limit("many", rates=["9/d"]).take(name) for name in names]
    assert all(take.result().remaining == 8 for take in takes)
    first = mcds.Cursor()
    assert 200 < len(s.limit("many").page(first)) < 300 and not first.done
    assert sorted(who for who, _ in s.limit("many").scan()) == names
    cursor = mcds.Cursor()
    seen = s.limit("many").page(cursor, 100)
    assert len(seen) == 100 and not cursor.done
    with opener() as other:
        rest = mcds.Cursor(cursor.position, cursor.done)
        while not rest.done:
            seen += other.limit("many").page(rest, 77)
    assert sorted(who for who, _ in seen) == names


def test_a_large_scan_is_read_in_parts(s: mcds.Store) -> None:
    """More than one part, with a slow reader, an early end, and a second scan meanwhile."""
    s.set("many").update(str(i) + "x" * 90 for i in range(9000))
    x = iter(s.set("many"))
    first = next(x)
    again = list(s.set("many"))
    assert len(set(again)) == 9000 and first in again
    assert len({first, *x}) == 9000
    some = iter(s.set("many"))
    next(some)
    del some
    entries = {b"%d" % i: b"z" * 90 for i in range(4000)}
    with s.pipeline() as p:
        for key, value in entries.items():
            p.table("many").put(key, value)
    assert dict(s.table("many").items()) == entries and set(s.table("many")) == set(entries)
    assert len(s.table("many")) == 4000
    values = [b"%d" % i + b"y" * 90 for i in range(9000)]
    s.list("many").extend(values)
    assert list(s.list("many")) == values and len(s.list("many")) == 9000
    s.log("many").put_many(values)
    cursor = mcds.LogCursor(start=1)
    followed: List[mcds.Event] = []
    while len(followed) < 9000:
        part = s.log("many").tail(cursor)
        assert part
        followed += part
    assert [event.data for event in followed] == values
    assert [event.data for event in s.log("many")] == values


def test_names_and_values_are_bytes(s: mcds.Store) -> None:
    assert s.counter("\u00e9").add() == 1 and s.counter(b"\xc3\xa9").add() == 2
    assert s.counter(bytearray(b"\xff \n")).add() == 1
    assert s.counter("a" * 1024).add() == 1
    with pytest.raises(ValueError):
        s.counter("a\0b")
    with pytest.raises(mcds.Invalid) as caught:
        s.counter("a" * 1025)
    assert caught.value.cause == "TOO_LONG"
    with pytest.raises(TypeError):
        s.counter(7)  # type: ignore[arg-type]
    with pytest.raises(mcds.Invalid):
        s.set("x").add("")
    with pytest.raises(ValueError):
        s.table("t").put("k", "v", ttl=-1)
    assert sorted(s.structures())[0] == ("counter", b"a" * 1024) or len(list(s.structures())) == 3


def test_a_closed_store_refuses(opener: Opener) -> None:
    store = opener()
    counter = store.counter("a")
    counter.add()
    lock, permits, table, jobs = store.lock("l"), store.semaphore("p", 1), store.table("t"), store.queue(
        "q", may_lose=True)
    limit, ids, once, cache = store.limit("m"), store.ids("i"), store.once("o"), store.cache("c")
    words, log, array, lines = store.set("s"), store.log("g"), store.array("y"), store.list("n")
    views = store.views("w", lambda *_: 0, lambda *_: None)
    visitors, online, exact = store.visitors("v", period=60), store.online("b"), store.exact_counter("e")
    pipeline = store.pipeline()
    sum_in_flight, adopted = pipeline.counter("a"), store.lock("z").try_acquire()
    jobs.push("j")
    job, claim, run = jobs.next(), cache.look("k"), once.begin("k")
    assert adopted is not None and run is not None
    token = adopted.export()
    store.close()
    store.close()
    calls: List[Tuple[str, Callable[[], Any]]] = [
        ("", store.pipeline), ("", store.inspect().__next__), ("", store.structures().__next__),
        ("counter 'a'", counter.add), ("counter 'a'", lambda: store.counter("a")), ("counter 'e'", exact.flush),
        ("counter 'a'", sum_in_flight.add), ("lock 'l'", lock.holder), ("lock 'l'", lock.try_acquire),
        ("lock 'l'", lock.acquire), ("lock 'l'", lock.__enter__), ("lock 'l'", lock.watch),
        ("lock 'l'", lambda: lock.adopt(token)), ("semaphore 'p'", permits.holders),
        ("semaphore 'p'", permits.acquire), ("table 't'", lambda: table.get("k")),
        ("table 't'", lambda: table.put("k", "v")), ("table 't'", lambda: list(table)),
        ("table 't'", lambda: table.__setitem__("k", "v")), ("queue 'q'", jobs.next), ("queue 'q'", jobs.count),
        ("queue 'q'", lambda: list(jobs.jobs())), ("queue 'q'", job.done), ("limit 'm'", lambda: limit.take("ann")),
        ("ids 'i'", ids.next), ("once 'o'", lambda: once.begin("k")), ("once 'o'", lambda: once.run("k", bytes)),
        ("once 'o'", run.renew), ("cache 'c'", lambda: cache.look("k")),
        ("cache 'c'", lambda: cache.fetch("k", bytes)), ("cache 'c'", lambda: claim.put("v")),
        ("set 's'", lambda: words.add("e")), ("set 's'", lambda: words.update(["e"])), ("set 's'", lambda: list(words)),
        ("log 'g'", lambda: log.put("e")), ("log 'g'", lambda: list(log.events())), ("array 'y'", array.get),
        ("list 'n'", lambda: lines.push("e")), ("list 'n'", lambda: list(lines.values())),
        ("views 'w'", lambda: views.hit("p")), ("visitors 'v'", visitors.get), ("online 'b'", online.get)]
    for where, call in calls:
        with pytest.raises(mcds.Invalid, match=f"^{where}.*: the store is closed$" if where else "the store is closed$"
                           ) as caught:
            call()
        assert not where or f"{caught.value.noun} '{caught.value.name}'" == where
    pipeline.close()


def test_sentences_have_the_names_of_python(opener: Opener) -> None:
    with opener() as store:
        store.bag("b").add("x")
        with pytest.raises(mcds.Invalid, match=r"open it with bag\(\)$"):
            store.set("b").add("x")


def test_what_is_missing_is_named(s: mcds.Store) -> None:
    """Not every call that lacks something has a closed store."""
    jobs = s.queue("q", may_lose=True)
    jobs.push("j")
    job = jobs.next()
    with pytest.raises(mcds.Invalid, match="^queue 'q': job: needs the receipt of a job$"):
        jobs.job("garbage")
    job.done()
    for call in (job.done, job.again, job.longer):
        with pytest.raises(mcds.Invalid, match="needs a job that is held$"):
            call()
    with pytest.raises(mcds.Invalid, match="discard: needs the id of a dead job$"):
        jobs.discard(b"garbage")
    with pytest.raises(mcds.Invalid, match="take: needs a rate$"):
        s.limit("m").take("ann")
    with pytest.raises(mcds.Invalid, match="needs a visitor, because its members are kept$"):
        s.visitors("v", members=mcds.Members.EXACT).hit()


def test_errors_have_the_parts_of_the_sentence() -> None:
    with mcds.open("memcached://127.0.0.1:1", timeout=0.3) as store:
        with pytest.raises(mcds.Unavailable) as caught:
            store.counter("a").add()
    error = caught.value
    assert isinstance(error, mcds.Error) and isinstance(error, ConnectionError)
    assert error.cause == "CONNECTION_REFUSED" and error.os_error > 0
    assert error.peer == "127.0.0.1:1" and (error.noun, error.name) == ("counter", "a")
    assert error.peer in str(error) and error.reason in str(error) and error.key == ""


def test_a_message_is_fit_for_a_terminal() -> None:
    with pytest.raises(mcds.Error) as caught:
        mcds.open("lmdb:/nowhere/a\x1b[31m\n\u202eb/x")
    assert r"/nowhere/a\x1b[31m\x0a\xe2\x80\xaeb/x: " in str(caught.value)
    assert caught.value.peer == "/nowhere/a\x1b[31m\n\u202eb/x"
    with pytest.raises(mcds.Invalid) as refused:
        mcds.open("memory:?strict=7")
    assert refused.value.cause in ("UNKNOWN_VALUE", "OUT_OF_RANGE", "BAD_URI")


def test_inspect_and_backup(s: mcds.Store, opener: Opener, tmp_path: object) -> None:
    s.counter("a").add(3)
    found = list(s.inspect())
    assert found and all(one.severity in ("fact", "advice", "problem") for one in found)
    if "lmdb:" in repr(s):
        s.backup(f"{tmp_path}/copy.mdb")
        with mcds.open(f"lmdb:{tmp_path}/copy.mdb") as copy:
            assert list(copy.structures()) == []
    else:
        with pytest.raises(mcds.Unsupported):
            s.backup(f"{tmp_path}/copy.mdb")
    s.limit_timeout(0.5)
    s.limit_timeout(None)
