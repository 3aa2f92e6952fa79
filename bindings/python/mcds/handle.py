"""Handles of C that no exception leaves open.

A signal handler may raise an exception after each call of Python or C. So the object that closes a
handle exists before the call that opens the handle, and no Python code runs while a handle is closed.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

from ._binding import ffi, lib


def new_place(noun: str) -> Any:
    """A place into which a call writes a handle or a buffer. ffi.release(place) closes the handle, as
    does the end of the last reference to the place."""
    return ffi.gc(ffi.new(f"mcds_{noun} **"), getattr(lib, f"mcds_py_close_{noun}"))


def handle_in(place: Any) -> Any:
    """The handle that a call has written into the place. It refers to the place until
    ffi.release(handle)."""
    return ffi.gc(place[0], functools.partial(operator.is_, place))
