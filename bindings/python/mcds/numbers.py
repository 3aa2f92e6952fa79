"""Numbers that a type of C cannot hold: which argument has such a number, and the range of its type.

Only a failed call looks for them. So a call that succeeds costs nothing more.
"""

from __future__ import annotations

import operator
from typing import Any, Iterable, NamedTuple, Optional, SupportsIndex, Tuple

from ._binding import ffi, lib
from .errors import Invalid, locate
from .wording import OPTIONS

#: Types that hold other things than integers.
OTHERS = ("_Bool", "char", "float", "double")


class Outside(NamedTuple):
    """An argument outside of the range of its type."""

    option: str
    low: int
    high: int
    value: int

    def refusal(self, noun: str, verb: str = "") -> Invalid:
        error = Invalid()
        error.result, error.cause = lib.MCDS_INVALID, "OUT_OF_RANGE"
        error.option = OPTIONS.get(self.option, self.option)
        error.wanted, error.found = f"{self.low} to {self.high}", str(self.value)
        error.wanted_min, error.wanted_max, error.found_number = self[1:]
        locate(error, noun, "", verb, f"{error.option} must be {error.wanted}, not {error.found}")
        return error


def range_of(kind: Any) -> Optional[Tuple[int, int]]:
    """The least and the largest integer of a type; None: it is not a type of integers."""
    if kind.kind not in ("primitive", "enum") or kind.cname in OTHERS:
        return None
    bits = 8 * ffi.sizeof(kind)
    if int(ffi.cast(kind, -1)) < 0:
        return -(1 << bits - 1), (1 << bits - 1) - 1
    return 0, (1 << bits) - 1


def outside(name: str, kind: Any, value: Any) -> Optional[Outside]:
    """The first number in a value, also inside of arrays and structs, that its type cannot hold."""
    if isinstance(value, SupportsIndex):
        span = range_of(kind)
        if span is None or span[0] <= operator.index(value) <= span[1]:
            return None
        return Outside(name, *span, operator.index(value))
    if kind.kind == "array" and isinstance(value, (list, tuple)):
        return first((name, kind.item, one) for one in value)
    if kind.kind == "struct" and isinstance(value, dict):
        types = dict(kind.fields)
        return first((member, types[member].type, one) for member, one in value.items())
    if kind.kind == "struct" and isinstance(value, tuple):
        return first((member, field.type, one) for (member, field), one in zip(kind.fields, value))
    return None


def first(values: Iterable[Tuple[str, Any, Any]]) -> Optional[Outside]:
    return next((found for one in values if (found := outside(*one)) is not None), None)
