"""The end of a with block. An interrupt or a cancellation does not prevent its requests."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import weakref
from typing import Any, Callable, Optional, TypeVar, cast

from .errors import Error

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])

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
    """Await an operation that continues even if the caller is cancelled. A cancellation waits for it,
    because C uses the arguments until then. The end of asyncio.run() cancels again what was cancelled before."""
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([future])
        raise
    finally:
        del future  # it keeps the exception, whose traceback refers to this frame


#: A weak reference to the __exit__ or __aexit__ of the with statement that this thread began last.
_begun = threading.local()


class _Ending:
    """The method that ends a block. Each with statement gets an object of its own.

    The statement gets the object before it calls __enter__. It drops the object when the block is left
    in any way, even by an interrupt before the first instruction of the method. A traceback has no
    reference to the object.
    """

    def __init__(self, method: Callable[..., object]) -> None:
        self.method = method

    def __get__(self, block: Any, kind: Any = None) -> Callable[..., object]:
        if block is None:
            return self.method
        end = functools.partial(self.method, block)
        _begun.end = weakref.ref(end)
        return end


def ending(method: F) -> F:
    """Decorates __exit__ and __aexit__, so that `statement` works."""
    return cast(F, _Ending(method))


def statement(block: object) -> object:
    """Called in __enter__. Returns an object that lives as long as the with statement. An ExitStack
    keeps no such object; then this is the block itself."""
    end: "Optional[functools.partial[object]]" = getattr(_begun, "end", lambda: None)()
    return end if end is not None and end.args[0] is block else block
