"""The end of a with block. An interrupt or a cancellation does not prevent its requests."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Callable, TypeVar

from .errors import Error

T = TypeVar("T")

#: So many exceptions of signal handlers do not stop the end of a block.
ATTEMPTS = tuple(range(16))


def surely(call: Callable[[], object]) -> None:
    """Make a call, after an exception, until it has succeeded or the store has refused it.

    A signal handler that raises ends a call before its request or after it, so the call is made
    again: it must be one that may be repeated.
    """
    for _ in ATTEMPTS:
        try:
            call()
            return
        except Error:
            return
        except BaseException:
            pass


async def to_its_end(future: "asyncio.Future[T]") -> T:
    """Await an operation that is made also if the caller is cancelled. Each cancellation waits for it:
    C uses the arguments until then, and the end of asyncio.run() cancels what was cancelled before."""
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([future])
        raise
