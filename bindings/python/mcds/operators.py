"""Set operators whose other operand may hold text, bytearrays and memoryviews, as arguments may."""

from __future__ import annotations

import collections.abc
from typing import Any, Callable

from .encoding import encoded

#: These accept only sets.
COMPARISONS = ("__lt__", "__le__", "__eq__", "__ge__", "__gt__")


class OfBytes(collections.abc.Set[bytes]):
    """A set of bytes. Its operators encode the other operand."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]


def operator(name: str) -> Callable[[Any, Any], Any]:
    """The operator of collections.abc, with the other operand encoded."""
    ours: Callable[[Any, Any], Any] = getattr(collections.abc.Set, name)

    operand: Any = collections.abc.Set if name in COMPARISONS else collections.abc.Iterable

    def method(self: Any, other: Any) -> Any:
        if isinstance(other, operand) and other is not self:
            other = {encoded(one) for one in other}
        return ours(self, other)

    method.__name__ = name
    return method


for name in (*COMPARISONS, "__and__", "__rand__", "__or__", "__ror__", "__sub__", "__rsub__", "__xor__", "__rxor__"):
    setattr(OfBytes, name, operator(name))
