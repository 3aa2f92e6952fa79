"""Handles of C, which no exception leaves open.

A signal handler may raise after each call of Python or C. So the object that closes a handle exists
before the call that opens it, and no code of Python runs where a handle is closed.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

from ._binding import ffi, lib


def new_place(noun: str) -> Any:
    """Where a call puts a handle, or a buffer. It is closed when nothing refers to the place, and by
    ffi.release(place)."""
    return ffi.gc(ffi.new(f"mcds_{noun} **"), getattr(lib, f"mcds_py_close_{noun}"))


def handle_in(place: Any) -> Any:
    """The handle that a call has put there. It keeps the place, until ffi.release(handle)."""
    return ffi.gc(place[0], functools.partial(operator.is_, place))
