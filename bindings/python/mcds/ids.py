"""Unique numbers that rise."""

from __future__ import annotations

from typing import Any, Optional

from ._binding import ffi, lib
from .arguments import as_integer
from .core import Core, Opened
from .errors import check
from .plan import (Bytes, Plan, Seconds, Structure, as_short_option_ms, awaited, encode_name,
                   new_options, started, take_found, waiting)

SPREAD_DEFAULT_MS = 1000


def open_ids(core: Core, name: Bytes, *, bits: int = 63, spread: Optional[Seconds] = None) -> Opened:
    """Numbers of which none is returned twice, to any program, also after the store has lost its data.

    bits    53, which JSON and JavaScript keep exactly, or 63; the same for all callers
    spread  the clocks of two machines never differ by more (1 s); the first ids of a name come after it

    >>> orders = s.ids("orders", bits=53, spread=0.01)
    >>> first = orders.next()
    >>> orders.next() > first
    True
    >>> len(orders.take(5))
    5
    """
    spread_ms = as_short_option_ms(spread, "spread")
    bits = as_integer(bits, "bits")
    options = new_options("mcds_ids_options", bits=bits, spread_ms=spread_ms)
    is_long = spread_ms > SPREAD_DEFAULT_MS
    return core.open("ids", encode_name(name), options, (bits, spread_ms), is_long)


class IdsPlans(Structure):
    def _next(self) -> Plan[int]:
        """An id. Never raises Ambiguous or Lost. An interrupt leaves ids unused, and nothing else; it
        may come a second late.

        TooOld: the clock of this machine is slow beside that of another caller, or that one is fast.
        Busy: many calls at once change the key. For many ids at once, use one take(n).
        """
        out = ffi.new("uint64_t *")

        def take(code: int, value: Any) -> int:
            check(code)
            return int(value[0])

        return Plan(lib.mcds_ids_next, lib.mcds_ids_next_start, (self._opened.handle, out), take, out,
                    waits=self._opened.kept)

    def _take(self, n: int) -> Plan[range]:
        """n adjacent ids, at most 65 536."""
        count = as_integer(n, "n")
        out = ffi.new("uint64_t *")

        def take(code: int, value: Any) -> range:
            check(code)
            return range(value[0], value[0] + count)

        return Plan(lib.mcds_ids_take, lib.mcds_ids_take_start, (self._opened.handle, count, out), take,
                    out, waits=self._opened.kept)

    def _drop(self) -> Plan[bool]:
        """Erase the key. The next ids are above all earlier ones. False: there was none."""
        return Plan(lib.mcds_ids_drop, lib.mcds_ids_drop_start, (self._opened.handle,), take_found)


class Ids(IdsPlans):
    """Unique numbers that rise."""

    next = waiting(IdsPlans._next)
    take = waiting(IdsPlans._take)
    drop = waiting(IdsPlans._drop)


class PipelineIds(IdsPlans):
    """Ids in a pipeline."""

    next = started(IdsPlans._next)
    take = started(IdsPlans._take)
    drop = started(IdsPlans._drop)


class AioIds(IdsPlans):
    """Ids whose operations are awaited."""

    next = awaited(IdsPlans._next)
    take = awaited(IdsPlans._take)
    drop = awaited(IdsPlans._drop)
