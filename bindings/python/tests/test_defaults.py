"""A program in Python and the command use one structure if both give no options."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import mcds
import pytest

COMMAND = Path(mcds.__file__).parents[4] / "cli" / "mcds"


def views(s: mcds.Store) -> mcds.Views:
    return s.views("n", lambda page, upto_slot: 0, lambda page, slot, views: None)


#: A call, and a command that changes the same structure.
PAIRS: Dict[str, Tuple[Callable[[mcds.Store], Any], List[str]]] = {
    "counter": (lambda s: s.counter("n").add(), ["counter", "add", "n", "1"]),
    "lock": (lambda s: s.lock("n", wait=0).acquire().release(), ["lock", "n", "-n", "--", "true"]),
    "visitors": (lambda s: s.visitors("n").hit("ann"), ["visitors", "hit", "n", "bob"]),
    "online": (lambda s: s.online("n").beat("ann"), ["online", "beat", "n", "bob"]),
    "views": (lambda s: views(s).hit("/"), ["views", "hit", "n", "/"]),
    "set": (lambda s: s.set("n").add("x"), ["set", "add", "n", "y"]),
    "table": (lambda s: s.table("n").put("x", "v"), ["table", "put", "n", "y", "v"]),
    "list": (lambda s: s.list("n").push("x"), ["list", "push", "n", "y"]),
    "log": (lambda s: s.log("n").put("x"), ["log", "put", "n", "y"]),
    "array": (lambda s: s.array("n").set(["x"]), ["array", "set", "n", "y"]),
    "cache": (lambda s: s.cache("n").fetch("x", lambda key: b"v"), ["cache", "get", "n", "y", "--", "echo"]),
    "ids": (lambda s: s.ids("n").next(), ["ids", "next", "n"]),
    "once": (lambda s: s.once("n").run("x", lambda: b"r"), ["once", "y", "--in", "n", "--", "true"]),
    "queue": (lambda s: s.queue("n").push("x"), ["queue", "push", "n", "y"]),
    "limit": (lambda s: s.limit("n", rates="9/h").take("x"), ["limit", "take", "n", "x", "--rate", "9/h"]),
    "semaphore": (lambda s: s.semaphore("n", 2).acquire().release(),
                  ["semaphore", "n", "--permits", "2", "--", "true"])}


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("noun", PAIRS)
def test_defaults(noun: str, is_first: bool, tmp_path: Path) -> None:
    if not COMMAND.exists():
        pytest.skip("the command is not built")
    call, command = PAIRS[noun]
    uri = f"lmdb:{tmp_path}/store.mdb"

    def run() -> None:
        done = subprocess.run([COMMAND, "-s", uri, "--timeout", "1m", *command], capture_output=True, text=True,
                              env={"MCDS_CONFIG": "/dev/null", "PATH": "/usr/bin:/bin"})
        assert (done.returncode, done.stderr) == (0, "")

    with mcds.open(uri, timeout=60) as s:
        if is_first:
            call(s)
            run()
        run()
        call(s)


def test_every_structure_has_a_pair() -> None:
    forms = {"striped_counter", "exact_counter", "bag", "sequence"}
    assert {name for name in vars(mcds.Aio) if name[0] != "_"} - forms == set(PAIRS)
