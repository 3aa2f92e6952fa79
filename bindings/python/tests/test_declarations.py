"""The declarations are those of the public headers, and all of them can be reached from Python."""

from __future__ import annotations

import os
import re
from pathlib import Path

import mcds
import mcds.errors
import mcds.store
from mcds._binding import ffi, lib

INCLUDE = Path(os.environ["MCDS_INCLUDEDIR"])
PACKAGE = Path(mcds.__file__).parent
#: Not for programs in Python, or called by collect.c: the interpreter has its own clocks, texts and loops.
UNUSED = {"mcds_result_name", "mcds_env_system", "mcds_pipeline_is_idle", "mcds_pipeline_wake_ns",
          "mcds_pipeline_next", "mcds_pipeline_poll", "mcds_pipeline_on_start", "mcds_fill_add"}


def headers() -> str:
    names = re.findall(r'#include "mcds/(\w+\.h)"', (INCLUDE / "mcds.h").read_text())
    return "".join((INCLUDE / "mcds" / name).read_text() for name in names)


def functions() -> "set[str]":
    declared = re.findall(r"^MCDS_API\b[^;]*?\b(mcds_\w+)\(", headers(), re.M)
    assert len(declared) > 100
    return set(declared)


def test_every_function_is_declared() -> None:
    assert {name for name in functions() if not hasattr(lib, name)} == set()


def test_every_function_is_used() -> None:
    text = "".join(path.read_text() for path in PACKAGE.glob("*.py"))
    for noun in ("counter", "lock", "visitors", "online", "views", "set", "table", "list", "log",
                 "array", "cache", "limit", "ids", "semaphore", "once", "queue"):
        text += f"lib.mcds_{noun}_open "
    for close, noun in re.findall(r"\b(mcds_\w*close)\(mcds_(\w+) \*", headers()):
        text += f"lib.{close} " if hasattr(lib, f"mcds_py_close_{noun}") else ""
    for noun in mcds.store.NOT_STORED:
        text += f"lib.mcds_{noun}_made_with "
    used = set(re.findall(r"lib\.(mcds_\w+)", text))
    assert functions() - used == UNUSED


def test_every_struct_has_the_members_of_the_header() -> None:
    """The compiler has compared their types; here none may be missing."""
    for name, body in re.findall(r"^typedef struct (mcds_\w+) \{\n(.*?)^\}", headers(),
                                 re.M | re.S):
        plain = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        plain = re.sub(r"struct \{.*?\}", "int", plain, flags=re.S)
        members = [member for member, _ in ffi.typeof(name).fields]
        found = re.findall(r"\b(\w+)(?:\[\w+\])?;|\(\*(\w+)\)\(", plain)
        assert members == [one or other for one, other in found], name


def test_every_failure_has_an_exception() -> None:
    codes = re.findall(r"X\(MCDS_(?!CAUSE_)(\w+), (-?\d+),", headers())
    assert len(codes) > 20
    for name, code in codes:
        if name not in ("OK", "IDLE", "PENDING"):
            wanted = "".join(part.capitalize() for part in name.split("_"))
            kind = mcds.errors.KINDS[int(code)]
            assert kind.__name__ == wanted and getattr(mcds, wanted) is kind
    assert len(mcds.errors.KINDS) == len(codes) - 3


def test_every_part_of_an_error_is_an_attribute() -> None:
    parts = {member for member, _ in ffi.typeof("mcds_error").fields} - {"size"}
    assert {part for part in parts if not hasattr(mcds.Error, part)} == set()


def test_the_version_is_that_of_the_header() -> None:
    parts = (lib.MCDS_VERSION_MAJOR, lib.MCDS_VERSION_MINOR, lib.MCDS_VERSION_PATCH)
    assert mcds.version() == mcds.__version__ == ".".join(map(str, parts))
    project = Path(__file__).parent.parent / "pyproject.toml"
    assert f'version = "{mcds.version()}"' in project.read_text()
