#!/usr/bin/python3
"""Compare waiting and pipelined counters with pymemcache and redis-py.

    compare.py [--rounds 7] [--count 20000]

The servers and this program share one processor, so what is measured is the work of both. The ways
take turns in each round; the figures are medians over the rounds. Time is processor time, so other
programs on the machine do not count. mcds must be importable, built with optimisation: PYTHONPATH
names the build.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from typing import Any, Callable, Dict, List

import mcds
import pymemcache.client.base  # type: ignore[import]
import redis  # type: ignore[import]

DEPTH = 256


def serve(command: List[str], path: str) -> "subprocess.Popen[bytes]":
    """Start a server, and wait until it accepts connections."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while True:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(path) == 0:
                return process
        if process.poll() is not None:
            raise SystemExit(f"{command[0]} does not start")
        time.sleep(0.01)


def mcds_waiting(store: mcds.Store, count: int) -> None:
    add = store.counter("waiting").add
    for _ in range(count):
        add(1)


def mcds_pipelined(store: mcds.Store, count: int) -> None:
    with store.pipeline(2 * DEPTH) as pipeline:
        add = pipeline.counter("pipelined").add
        for _ in range(count):
            add(1)


def mcds_gathered(store: mcds.Store, count: int) -> None:
    async def main() -> None:
        add = store.aio.counter("gathered").add
        for _ in range(count // DEPTH):
            await asyncio.gather(*(add(1) for _ in range(DEPTH)))

    asyncio.run(main())


def pymemcache_waiting(client: Any, count: int) -> None:
    for _ in range(count):
        client.incr("waiting-peer", 1)


def redis_waiting(client: Any, count: int) -> None:
    for _ in range(count):
        client.incr("waiting")


def redis_pipelined(client: Any, count: int) -> None:
    for _ in range(count // DEPTH):
        with client.pipeline(transaction=False) as pipeline:
            for _ in range(DEPTH):
                pipeline.incr("pipelined")
            pipeline.execute()


def spent_ns(servers: "List[subprocess.Popen[bytes]]") -> int:
    """Processor time of this process and of the servers, all threads."""
    spent = time.process_time_ns()
    for server in servers:
        for task in os.listdir(f"/proc/{server.pid}/task"):
            with open(f"/proc/{server.pid}/task/{task}/schedstat", encoding="ascii") as file:
                spent += int(file.read().split()[0])
    return spent


def measure(ways: Dict[str, Callable[[int], None]], servers: "List[subprocess.Popen[bytes]]",
            rounds: int, count: int) -> Dict[str, float]:
    """Operations per second: the median over the rounds."""
    rates: Dict[str, List[float]] = {name: [] for name in ways}
    for run in ways.values():
        run(DEPTH)
    for _ in range(rounds):
        for name, run in ways.items():
            begun = spent_ns(servers)
            run(count)
            rates[name].append(count * 1e9 / (spent_ns(servers) - begun))
    return {name: statistics.median(found) for name, found in rates.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--count", type=int, default=20480)
    given = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    place = tempfile.mkdtemp()
    servers: List["subprocess.Popen[bytes]"] = []
    try:
        memcached, other = os.path.join(place, "memcached"), os.path.join(place, "redis")
        user = ["-u", "nobody"] if os.getuid() == 0 else []
        os.chmod(place, 0o777)
        servers.append(serve(["memcached", "-s", memcached, "-t", "1", *user], memcached))
        servers.append(serve(["redis-server", "--port", "0", "--unixsocket", other, "--save", "",
                              "--dir", place], other))
        store = mcds.open(f"memcached://{memcached}", timeout=10)
        peer = pymemcache.client.base.Client(memcached)
        peer.set("waiting-peer", "0", noreply=False)
        rival = redis.Redis(unix_socket_path=other)
        rates = measure({
            "mcds": lambda count: mcds_waiting(store, count),
            "pymemcache": lambda count: pymemcache_waiting(peer, count),
            "redis-py": lambda count: redis_waiting(rival, count),
            "mcds, pipeline": lambda count: mcds_pipelined(store, count),
            "redis-py, pipeline": lambda count: redis_pipelined(rival, count),
            "mcds, asyncio": lambda count: mcds_gathered(store, count),
        }, servers, given.rounds, given.count)
        store.close()
    finally:
        for server in servers:
            server.terminate()
            server.wait()
        shutil.rmtree(place)
    for name, rate in rates.items():
        print(f"{name:20} {rate:10.0f} adds/s")
    print(f"waiting:   {rates['mcds'] / rates['pymemcache']:.2f} of pymemcache, "
          f"{rates['mcds'] / rates['redis-py']:.2f} of redis-py")
    print(f"pipelined: {rates['mcds, pipeline'] / rates['redis-py, pipeline']:.2f} of redis-py, "
          f"asyncio {rates['mcds, asyncio'] / rates['redis-py, pipeline']:.2f}")


if __name__ == "__main__":
    main()
