"""An interrupt ends a call that waits, and leaves nothing half claimed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any, Callable, List, Tuple

import mcds
import pytest

LOCK = 's.lock("x", ttl=600).acquire()'
FREE = 'a.release() or s.lock("x").try_acquire() is not None'

#: What makes others wait, what waits an hour for it, and what is true after the interrupt. A call
#: that cannot be interrupted lets the test hang.
WAITS: List[Tuple[str, str, str]] = [
    (LOCK, 's.lock("x").acquire()', FREE),
    (LOCK, 's.lock("x", wait=3600, shared=True).acquire()', FREE),
    (LOCK, 's.lock("x").__enter__()', FREE),
    (LOCK, 's.lock("x").watch(s.lock("x").holder(), wait=3600)', FREE),
    ('s.semaphore("y", 1, ttl=600).acquire()', 's.semaphore("y", 1).acquire()',
     'a.release() or s.semaphore("y", 1).try_acquire() is not None'),
    ('s.cache("c").look("a")', 's.cache("c").fetch("a", lambda key: b"other")',
     'a.put("v") and s.cache("c").fetch("a", lambda key: b"other") == b"v"'),
    ('s.cache("c").look("b")', 's.cache("c").look("b", wait=3600)',
     'a.release() and s.cache("c").fetch("b", lambda key: b"other") == b"other"'),
    ('s.cache("c", failed=0.001)', 'a.fetch("c", lambda key: work())',
     'in_the_end(lambda: a.fetch("c", lambda key: b"v")) == b"v"'),
    ('s.ids("i", spread=60)', 'a.next()', 'a.drop() or True'),
    ('s.ids("i", spread=60)', 'a.take(5)', 'a.drop() or True'),
    ('s.once("o").begin("a")', 's.once("o").begin("a", wait=3600)',
     'a.finish(b"r") or s.once("o").begin("a").result == b"r"'),
    ('s.once("o").begin("b")', 's.once("o").run("b", lambda: b"other", wait=3600)',
     'a.abandon() or s.once("o").run("b", lambda: b"other") == b"other"'),
    ('s.once("o")', 'a.run("c", work)', 'a.begin("c").mine'),
    ('s.queue("q", may_lose=True)', 'a.next(wait=3600)', 'a.push("j") or a.next().data == b"j"'),
    ('s.queue("q", may_lose=True)', 'next(a.jobs(wait=3600))',
     'a.push("k") or a.next().data == b"k"'),
    ('s.log("l")', 'next(a.follow())', 'a.put("e") or [e.data for e in a] == [b"e"]'),
]

PROGRAM = """
import json, signal, sys, time
import mcds

def work():
    print("waiting", flush=True)
    time.sleep(3600)

def in_the_end(call):
    while True:
        try:
            return call()
        except mcds.Io:
            pass

signal.signal(signal.SIGINT, signal.default_int_handler)
s = mcds.open(sys.argv[1], ns=sys.argv[2], timeout=60)
for before, wait, after in json.loads(sys.argv[3]):
    a = eval(before)
    try:
        if "work" not in wait:
            print("waiting", flush=True)
        eval(wait)
    except KeyboardInterrupt:
        print(eval(after), flush=True)
    else:
        print("not interrupted", flush=True)
    if "lock" in before:
        s.lock("x").break_lock()
"""


def wait_until_asleep(pid: int) -> None:
    """Until the process waits in a call of the system."""
    while True:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            if file.read().rpartition(")")[2].split()[0] == "S":
                return
        time.sleep(0.001)


def interrupt(uri: str, space: str, waits: List[Tuple[str, str, str]]) -> List[Tuple[str, str]]:
    """What is printed after an interrupt of each wait."""
    child = subprocess.Popen([sys.executable, "-c", PROGRAM, uri, space, json.dumps(waits)],
                             stdout=subprocess.PIPE, text=True)
    said = []
    assert child.stdout is not None
    for _, wait, _ in waits:
        assert child.stdout.readline() == "waiting\n", wait
        wait_until_asleep(child.pid)
        child.send_signal(signal.SIGINT)
        said.append((wait, child.stdout.readline()))
    child.stdout.close()
    assert child.wait() == 0
    return said


@pytest.mark.parametrize("kind", ["memory", "lmdb", "memcached"])
def test_a_signal_ends_a_wait(kind: str, request: Any, tmp_path: Any) -> None:
    uris = {"memory": "memory:", "lmdb": f"lmdb:{tmp_path}/store.mdb?sync=async"}
    uri = uris.get(kind) or request.getfixturevalue("memcached")
    assert interrupt(uri, "interrupt", WAITS) == [(wait, "True\n") for _, wait, _ in WAITS]


def test_a_signal_ends_a_wait_for_a_silent_server(tmp_path: Any) -> None:
    """Nothing answers the connection; the timeout of the store is a minute."""
    waits = [("None", wait, "True") for wait in (
        's.lock("x").acquire()', 's.cache("c").fetch("k", len)', 's.ids("i", spread=60).next()',
        's.once("o").begin("k", wait=9)', 's.queue("q", may_lose=True).next(wait=9)')]
    with socket.socket(socket.AF_UNIX) as silent:
        path = os.path.join(str(tmp_path), "silent")
        silent.bind(path)
        silent.listen()
        uri = f"memcached://{path}?timeout=60000"
        assert interrupt(uri, "silent", waits) == [(wait, "True\n") for _, wait, _ in waits]


def hit_and_flush(s: mcds.Store) -> None:
    views = s.views("v", lambda *_: 0, lambda *_: None)
    views.hit("p")
    views.flush_final()


@pytest.mark.parametrize("callback, call", [
    ("mcds_py_source", lambda s: s.cache("c").fetch("k", lambda key: b"v")),
    ("mcds_py_change", lambda s: s.array("a").change_by(lambda old: [b"v"])),
    ("mcds_py_load", lambda s: s.views("v", lambda *_: 0, lambda *_: None).get("p")),
    ("mcds_py_save", hit_and_flush)])
def test_an_interrupt_where_a_callback_begins(callback: str, call: Callable[[Any], Any],
                                              s: mcds.Store) -> None:
    """It is no failure of the callback, and it is not lost."""
    def trace(frame: Any, event: str, argument: Any) -> None:
        if frame.f_code.co_name == callback:
            raise KeyboardInterrupt

    sys.settrace(trace)
    try:
        with pytest.raises(KeyboardInterrupt):
            call(s)
    finally:
        sys.settrace(None)


class Boom(Exception):
    pass


def boom_at(step: int) -> Callable[..., Any]:
    """A trace that raises before this instruction of the callback that fills a cache."""
    seen = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal seen
        code = frame.f_code
        if not code.co_name.startswith("mcds_py_") or not code.co_filename.endswith("cache.py"):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            seen += 1
            if seen == step:
                raise Boom
        return trace

    return trace


def test_no_value_is_in_the_text_of_a_failure() -> None:
    """An exception of a signal handler comes after each instruction of a fill, also after the value is
    there. Other callers get the name of the exception alone."""
    with mcds.open("memory:") as s:
        pages = s.cache("c", failed=60)
        for step in range(1, 1000):
            sys.settrace(boom_at(step))
            try:
                assert pages.fetch(f"k{step}", lambda key: b"secret") == b"secret"
                break
            except Boom:
                pass
            finally:
                sys.settrace(None)
            with pytest.raises(mcds.Io) as caught:
                pages.fetch(f"k{step}", lambda key: b"other")
            assert "secret" not in str(caught.value)
        assert 10 < step < 999


def test_a_wait_takes_its_whole_time() -> None:
    """It does not end where the interpreter looks for signals."""
    def time_of(call: Callable[[], Any]) -> float:
        begun = time.monotonic()
        with pytest.raises(mcds.Busy):
            call()
        return time.monotonic() - begun

    with mcds.open("memory:") as s:
        run = s.once("x").begin("k")
        claim = s.cache("x").look("k")
        lease = s.lock("x").acquire()
        assert time_of(lambda: s.once("x").begin("k", wait=0.2)) >= 0.2
        assert time_of(lambda: s.cache("x").look("k", wait=0.2)) >= 0.2
        assert time_of(lambda: s.lock("x").watch(s.lock("x").holder(), wait=0.6)) >= 0.6
        assert time_of(s.lock("x", wait=0.6).acquire) >= 0.6
        assert run.mine and claim.mine and not lease.lost
