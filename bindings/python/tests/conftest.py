"""Stores of the tests' own: memory:, a file, and a memcached on a unix socket."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from typing import Any, Callable, Iterator

import mcds
import pytest

KINDS = ["memory", "lmdb", "memcached"]


@contextlib.contextmanager
def serving(path: str, *options: str) -> Iterator[str]:
    """The URI of a memcached on this path, which runs with these options until the end of the block."""
    program = shutil.which("memcached")
    if program is None:
        pytest.skip("no memcached")
    user = ["-u", "root"] if os.getuid() == 0 else []
    server = subprocess.Popen([program, "-s", path, "-m", "64", *user, *options])
    try:
        while True:
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(path) == 0:
                    break
            assert server.poll() is None, "memcached did not start"
            time.sleep(0.01)
        yield f"memcached://{path}?connect_timeout=30000&timeout=60000"
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="session")
def memcached() -> Iterator[str]:
    """The URI of a memcached that runs for the whole session."""
    with tempfile.TemporaryDirectory(prefix="mcds-python-") as folder:
        with serving(os.path.join(folder, "memcached.sock")) as uri:
            yield uri


@pytest.fixture
def restarted() -> Iterator[Callable[..., "contextlib.AbstractContextManager[str]"]]:
    """Starts a memcached, again and again on the same path."""
    with tempfile.TemporaryDirectory(prefix="mcds-python-") as folder:
        yield lambda *options: serving(os.path.join(folder, "memcached.sock"), *options)


spaces = 0


@pytest.fixture(params=KINDS)
def opener(request: Any, tmp_path: Any) -> Callable[..., mcds.Store]:
    """Opens further handles of one empty store."""
    global spaces
    spaces += 1
    space = f"test{spaces}"
    uris = {"memory": f"memory:{space}", "lmdb": f"lmdb:{tmp_path}/store.mdb?sync=async"}
    uri = uris.get(request.param) or request.getfixturevalue("memcached")
    return lambda **options: mcds.open(uri, ns=space, **{"timeout": 60, **options})


@pytest.fixture
def s(opener: Callable[..., mcds.Store]) -> Iterator[mcds.Store]:
    with opener() as store:
        yield store
