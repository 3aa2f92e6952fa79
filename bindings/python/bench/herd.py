#!/usr/bin/python3
"""Compare caches when many processes want one key at once.

    herd.py [--processes 8,32,128] [--fill 0.3] [--rounds 5] [--recipes mcds,dogpile,...]

One memcached serves all. The processes begin within 50 ms. A fill takes --fill seconds. The keys:

    cold         nothing is stored
    stale        the ttl of the stored value is over
    invalidated  in the middle of the fill, a writer changes the source and invalidates the key; the
                 processes read the key again and again, until well after the fill
    failing      the source cannot be read
    dying        the first process that reads the source dies there; where a recipe has a lock or a
                 claim, it ends after three seconds

The columns are medians over the rounds: how often the source was read; the time until a process had
its answer, half of all and 99 of 100, and the greatest p99 of all rounds; the processes that got no
value, or, if the source fails, no failure; and the reads that began after the invalidation was
acknowledged and returned the value from before. A process gives up after a minute. mcds and dogpile.cache are the libraries. The other
recipes are written down here after the text of the libraries that use them:

    naive  get; on a miss, read the source and set
    rails  ActiveSupport's race_condition_ttl: who sees that the ttl is over stores the old value
           for five seconds more, then reads the source
    win    memcached's meta commands, as Dalli's fetch_with_lock uses them: one caller wins; the
           others get the stored value, stale or none
"""

from __future__ import annotations

import argparse
import functools
import mmap
import os
import random
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple, Type

import mcds

KINDS = ("cold", "stale", "invalidated", "failing", "dying")
KEY = "key"
TTL_S = 60
CLAIM_S = 3  # how long a process that dies keeps the others from the source
STALE_TTL_S = 1.0
START_S = 1.5
LIMIT_S = 60
SPREAD_S = 0.05
REFUSED = "the source cannot be read"

Fill = Callable[[], bytes]


class SourceError(Exception):
    """The source cannot be read."""


class Recipe:
    """A cache with one key. Each process has its own."""

    def __init__(self, port: int, ttl: float) -> None:
        self.port, self.ttl = port, ttl

    def want(self, fill: Fill) -> Optional[bytes]:
        raise NotImplementedError

    def invalidate(self) -> None:
        raise NotImplementedError


class Mcds(Recipe):
    """mcds_cache_fetch."""

    def __init__(self, port: int, ttl: float) -> None:
        super().__init__(port, ttl)
        self.cache = mcds.open(f"memcached://127.0.0.1:{port}?timeout=10000").cache("herd", ttl=ttl, stale=TTL_S, fill=CLAIM_S)

    def want(self, fill: Fill) -> Optional[bytes]:
        try:
            value: Optional[bytes] = self.cache.fetch(KEY, lambda key: fill())
            return value
        except mcds.Io as error:
            raise SourceError from error

    def invalidate(self) -> None:
        self.cache.forget(KEY)


class Dogpile(Recipe):
    """dogpile.cache, with its lock on memcached."""

    def __init__(self, port: int, ttl: float) -> None:
        from dogpile.cache import make_region  # type: ignore[import]
        super().__init__(port, ttl)
        self.region = make_region().configure("dogpile.cache.pymemcache", expiration_time=ttl,
                                              arguments={"url": f"127.0.0.1:{port}", "distributed_lock": True, "lock_timeout": CLAIM_S})

    def want(self, fill: Fill) -> Optional[bytes]:
        value = self.region.get_or_create(KEY, fill)
        return value if isinstance(value, bytes) else None

    def invalidate(self) -> None:
        self.region.delete(KEY)


class Wire(Recipe):
    """A connection for the recipes that are written down here."""

    def __init__(self, port: int, ttl: float) -> None:
        super().__init__(port, ttl)
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def ask(self, request: bytes) -> List[bytes]:
        self.socket.sendall(request)
        return self.file.readline().split()

    def value(self, length: bytes) -> bytes:
        return self.file.read(int(length) + 2)[:-2]

    def get(self) -> Optional[bytes]:
        words = self.ask(b"get key\r\n")
        if words[0] == b"END":
            return None
        found = self.value(words[3])
        self.file.readline()
        return found

    def set(self, value: bytes, ttl: float = TTL_S) -> None:
        if self.ask(b"set key 0 %d %d\r\n%s\r\n" % (ttl, len(value), value)) != [b"STORED"]:
            raise SystemExit("herd.py: the server does not store")

    def invalidate(self) -> None:
        self.ask(b"delete key\r\n")


class Naive(Wire):
    def want(self, fill: Fill) -> Optional[bytes]:
        found = self.get()
        if found is None:
            found = fill()
            self.set(found, max(1, self.ttl))
        return found


class Rails(Wire):
    """The value has the time at which it ends before it."""

    def keep(self, value: bytes, ttl: float) -> None:
        self.set(struct.pack("d", time.time() + ttl) + value)

    def want(self, fill: Fill) -> Optional[bytes]:
        found = self.get()
        if found is not None:
            if struct.unpack("d", found[:8])[0] > time.time():
                return found[8:]
            self.keep(found[8:], 5)
        value = fill()
        self.keep(value, self.ttl)
        return value


class Win(Wire):
    """N: a miss makes an empty item, and its maker wins. R: so does the first that sees so little of the ttl left."""

    def want(self, fill: Fill) -> Optional[bytes]:
        words = self.ask(b"mg key v t N%d R%d\r\n" % (CLAIM_S, TTL_S - 1))
        found = self.value(words[1])
        if b"W" not in words:
            return found or None
        value = fill()
        self.set(value)
        return value


RECIPES: Dict[str, Type[Recipe]] = {"mcds": Mcds, "dogpile": Dogpile, "win": Win, "rails": Rails, "naive": Naive}


class World:
    """What all processes of a round share: the version of the source, and the first that dies."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 32)

    def put(self, place: int, number: float) -> None:
        self.memory[8 * place:8 * place + 8] = struct.pack("d", number)

    def get(self, place: int) -> float:
        return float(struct.unpack("d", self.memory[8 * place:8 * place + 8])[0])


VERSION, CHANGED_AT, DEATHS = 0, 1, 2


class Event(NamedTuple):
    kind: int  # FILL, ANSWER, NONE or OLD
    seconds: float


FILL, ANSWER, NONE, OLD = range(4)


class Result(NamedTuple):
    fills: int
    p50: float
    p99: float
    none: int
    old: int


class Runner:
    """One process of the herd."""

    def __init__(self, recipe: Recipe, kind: str, fill_s: float, world: World, pipe: int) -> None:
        self.recipe, self.kind, self.fill_s, self.world, self.pipe = recipe, kind, fill_s, world, pipe

    def tell(self, kind: int, seconds: float = 0) -> None:
        os.write(self.pipe, struct.pack("id", kind, seconds))

    def fill(self) -> bytes:
        version = self.world.get(VERSION)
        self.tell(FILL)
        if self.kind == "dying" and self.world.get(DEATHS) == 0:
            self.world.put(DEATHS, 1)
            os._exit(0)
        time.sleep(self.fill_s)
        if self.kind == "failing":
            raise SourceError
        return b"version %d" % version

    def once(self) -> Tuple[int, float]:
        """Returns the kind of the answer and its version."""
        try:
            value = self.recipe.want(self.fill)
        except SourceError:
            return (ANSWER if self.kind == "failing" else NONE), 0
        if value is None:
            return NONE, 0
        return (NONE if self.kind == "failing" else ANSWER), float(value.split()[1])

    def give_up(self, *_: object) -> None:
        self.tell(NONE, LIMIT_S)
        os._exit(0)

    def run(self, start: float) -> None:
        signal.signal(signal.SIGALRM, self.give_up)
        signal.alarm(LIMIT_S)
        time.sleep(max(0, start - time.time()) + random.random() * SPREAD_S)
        began = time.time()
        kind, _ = self.once()
        signal.alarm(0)
        self.tell(kind, time.time() - began)
        while self.kind == "invalidated" and time.time() < start + 4 * self.fill_s:
            changed_at = self.world.get(CHANGED_AT)
            began = time.time()
            kind, version = self.once()
            if kind == ANSWER and changed_at != 0 and began > changed_at and version < 2:
                self.tell(OLD)
            time.sleep(0.02)


def change_source(recipe: Recipe, world: World, at: float) -> None:
    time.sleep(max(0, at - time.time()))
    world.put(VERSION, 2)
    recipe.invalidate()
    world.put(CHANGED_AT, time.time())


def fork(body: Callable[[], None]) -> int:
    pid = os.fork()
    if pid != 0:
        return pid
    status = 1
    try:
        random.seed(os.getpid())
        body()
        status = 0
    except BaseException as error:  # of a process of the herd
        print(f"herd.py: {type(error).__name__}: {error}", file=sys.stderr)
    os._exit(status)


def read_events(pipe: int) -> List[Event]:
    with os.fdopen(pipe, "rb") as file:
        data = file.read()
    return [Event(*fields) for fields in struct.iter_unpack("id", data)]


def go_round(make: Type[Recipe], kind: str, count: int, fill_s: float, port: int) -> Result:
    world = World()
    world.put(VERSION, 1)
    Wire(port, 0).ask(b"flush_all\r\n")
    ttl = STALE_TTL_S if kind == "stale" else TTL_S
    if kind == "stale":
        make(port, ttl).want(lambda: b"version 0")
        time.sleep(2 * STALE_TTL_S if make is Win else 1.1 * STALE_TTL_S)
    start = time.time() + START_S
    reader, writer = os.pipe()

    def run() -> None:
        os.close(reader)
        Runner(make(port, ttl), kind, fill_s, world, writer).run(start)

    pids = [fork(run) for _ in range(count)]
    if kind == "invalidated":
        pids.append(fork(lambda: change_source(make(port, ttl), world, start + SPREAD_S + fill_s / 2)))
    os.close(writer)
    events = read_events(reader)
    for pid in pids:
        if os.waitpid(pid, 0)[1] != 0:
            raise SystemExit("herd.py: a process has failed")
    times = sorted(event.seconds for event in events if event.kind in (ANSWER, NONE))
    return Result(sum(event.kind == FILL for event in events), quantile(times, 0.5), quantile(times, 0.99),
                  sum(event.kind == NONE for event in events), sum(event.kind == OLD for event in events))


def quantile(times: List[float], part: float) -> float:
    return times[min(len(times) - 1, int(len(times) * part))]


def serve() -> Tuple["subprocess.Popen[bytes]", int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    server = subprocess.Popen(["memcached", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "root", "-c", "4096"])
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return server, port
        if server.poll() is not None:
            raise SystemExit("herd.py: memcached does not start")
        time.sleep(0.01)


def show(count: int, kind: str, name: str, results: List[Result]) -> None:
    medians = [statistics.median(column) for column in zip(*results)]
    fills, p50, p99, none, old = medians
    print(f"{count:>9} {kind:<12}{name:<8} {fills:>6.0f} {p50:>8.3f} {p99:>8.3f} {max(result.p99 for result in results):>8.3f}"
          f" {none:>8.0f} {old:>6.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare caches when many processes want one key at once.")
    parser.add_argument("--processes", default="8,32,128")
    parser.add_argument("--fill", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--recipes", default=",".join(RECIPES))
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    server, port = serve()
    try:
        print("processes key         recipe   fills    p50 s    p99 s max p99 s  without    old")
        for count in map(int, options.processes.split(",")):
            for kind in options.kinds.split(","):
                for name in options.recipes.split(","):
                    go = functools.partial(go_round, RECIPES[name], kind, count, options.fill, port)
                    show(count, kind, name, [go() for _ in range(options.rounds)])
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
