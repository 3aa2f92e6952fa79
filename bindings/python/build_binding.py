"""Describe the extension mcds._binding to cffi; setup.py builds it.

MCDS_INCLUDEDIR and MCDS_LIBDIR name a build or an installation; without them pkg-config does.
MCDS_RUNPATH lists the directories in which the extension looks for the library before the linker does.
"""

import os
import re
import subprocess
import sys
from typing import List

import cffi

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import declare  # noqa: E402

CALLBACKS = """
extern "Python" int mcds_py_load(void *, const char *, uint64_t, int64_t *);
extern "Python" int mcds_py_save(void *, const char *, uint64_t, int64_t);
extern "Python+C" int mcds_py_source(void *, mcds_bytes, mcds_bytes *, mcds_bytes *);
extern "Python" int mcds_py_change(void *, const mcds_bytes *, size_t, mcds_elements *);
"""


def variable(name: str) -> str:
    command = ["pkg-config", f"--variable={name}", "mcds"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def helpers() -> str:
    """What collect.h declares."""
    with open(os.path.join(HERE, "collect.h"), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    return "\n".join(line for line in text.split("\n") if not line.startswith("#"))


def closers(declarations: str) -> List[str]:
    """For each kind of handle, a function that closes the handle in a place; mcds/handle.py uses them."""
    found = re.findall(r"void (mcds_\w*close|mcds_py_buffer_free)\((mcds_(\w+)) \*\w+\);", declarations)
    return [f"static void mcds_py_close_{noun}({kind} **place) {{ {close}(*place); *place = NULL; }}"
            for close, kind, noun in found]


include = os.environ.get("MCDS_INCLUDEDIR") or variable("includedir")

declarations = declare.declare(include) + helpers()
functions = closers(declarations)

ffi = cffi.FFI()
ffi.cdef(declarations + "".join(re.sub(r" \{.*", ";\n", one) for one in functions) + CALLBACKS)
ffi.set_source(
    "mcds._binding",
    '#include "collect.h"\n' + "\n".join(functions),
    sources=[os.path.relpath(os.path.join(HERE, "collect.c"))],
    depends=[os.path.join(HERE, "collect.h")],
    include_dirs=[HERE, include],
    library_dirs=[os.environ.get("MCDS_LIBDIR") or variable("libdir")],
    runtime_library_dirs=[path for path in os.environ.get("MCDS_RUNPATH", "").split(":") if path],
    libraries=["mcds"],
)
