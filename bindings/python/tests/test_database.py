"""Views have one database: the command `mcds views` does not know that of a program, and a program not that of the
command."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Dict, Tuple

import mcds
import pytest

COMMAND = Path(mcds.__file__).parents[4] / "cli" / "mcds"
INVALID = 64  # the exit code of MCDS_INVALID

PROGRAM = "a program saves them in a database of its own; ask that program"
TABLE = "'mcds views' saves them in its table; ask it, or drop them first"


@pytest.fixture
def uri(tmp_path: Path) -> str:
    if not COMMAND.exists():
        pytest.skip("the command is not built")
    return f"lmdb:{tmp_path}/store.mdb"


def run(uri: str, *words: str) -> Tuple[int, Dict[str, Any]]:
    done = subprocess.run([COMMAND, "-s", uri, "--timeout", "1m", "--json", *words], capture_output=True, text=True,
                          env={"MCDS_CONFIG": "/dev/null", "PATH": "/usr/bin:/bin"})
    return done.returncode, json.loads(done.stdout or "{}")


class Database:
    """1000 views of each page that no flush has saved, and those that flushes have saved."""

    def __init__(self) -> None:
        self.saved: Dict[Tuple[bytes, int], int] = {}

    def load(self, page: bytes, upto_slot: int) -> int:
        return 1000 + sum(views for (of, slot), views in self.saved.items() if of == page and slot <= upto_slot)

    def save(self, page: bytes, slot: int, views: int) -> None:
        self.saved[page, slot] = max(views, self.saved.get((page, slot), 0))

    def open(self, s: mcds.Store) -> mcds.Views:
        return s.views("site", self.load, self.save)


def test_the_command_does_not_read_the_database_of_a_program(uri: str) -> None:
    database = Database()
    with mcds.open(uri, timeout=60) as s:
        views = database.open(s)
        views.hit("/a", 2)
        for words in (["get", "site", "/a"], ["flush", "site"], ["top", "site"], ["get", "site", "/a", "--flush-every", "1m"],
                      ["flush", "site", "--flush-every", "1m"]):
            code, said = run(uri, "views", *words)
            assert (code, said["result"]) == (INVALID, "MCDS_INVALID"), words
            assert said["error"].startswith(f"views 'site': {words[0]}: ") and said["error"].endswith(PROGRAM)
        assert run(uri, "views", "hit", "site", "/a", "3")[0] == 0  # which needs no database
        assert views.get("/a") == 1005
        views.flush_final()
        assert sum(database.saved.values()) == 5 and views.get("/a") == 1005
        assert run(uri, "views", "drop", "site")[0] == 0


def test_the_command_counts_for_a_program(uri: str) -> None:
    """A hit of the command comes first, and the program reads and saves it."""
    database = Database()
    assert run(uri, "views", "hit", "site", "/a", "2")[0] == 0
    with mcds.open(uri, timeout=60) as s:
        views = database.open(s)
        views.hit("/a", 3)
        assert views.get("/a") == 1005
        assert run(uri, "views", "flush", "site")[0] == INVALID
        views.flush_final()
        assert sum(database.saved.values()) == 5


def test_a_batch_does_neither(uri: str) -> None:
    """Its lines share handles, and a handle that has counted is refused like a new one."""
    database = Database()
    with mcds.open(uri, timeout=60) as s:
        database.open(s).hit("/a", 2)
        lines = "views hit site /a\nviews get site /a\nviews flush site\nviews get site /a\n"
        done = subprocess.run([COMMAND, "-s", uri, "--timeout", "1m", "batch"], capture_output=True, text=True, input=lines,
                              env={"MCDS_CONFIG": "/dev/null", "PATH": "/usr/bin:/bin"})
        assert done.stdout == "counted\n-\n-\n-\n" and done.stderr.count(PROGRAM) == 3, done
        assert database.open(s).get("/a") == 1003


def test_a_program_does_not_read_the_table_of_the_command(uri: str) -> None:
    database = Database()
    assert run(uri, "views", "hit", "site", "/a", "2")[0] == 0
    assert run(uri, "views", "flush", "site")[0] == 0
    with mcds.open(uri, timeout=60) as s:
        views = database.open(s)
        views.hit("/a", 3)
        for call in (lambda: views.get("/a"), views.flush, views.flush_final):
            with pytest.raises(mcds.Invalid, match=TABLE) as raised:
                call()
            assert raised.value.cause == "OPTION_DIFFERS" and "site" in str(raised.value)
        assert database.saved == {}
        assert run(uri, "views", "get", "site", "/a") == (0, {"noun": "views", "verb": "get", "name": "site", "page": "/a",
                                                             "views": 5})
        views.drop()
        views.hit("/a", 4)
        assert views.get("/a") == 1004
        assert run(uri, "views", "get", "site", "/a")[0] == INVALID
