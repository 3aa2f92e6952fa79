"""Counters."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any, Optional

from ._binding import ffi, lib
from .arguments import as_integer
from .core import Core, Opened
from .errors import error_of
from .plan import (EPOCH, NOT_FOUND, Bytes, Plan, Seconds, Structure, as_option_ms, as_short_ms,
                   awaited, encode_name, new_options, new_sized, started, take_found, take_none,
                   take_number, waiting)


@dataclasses.dataclass(frozen=True)
class CounterValue:
    """What a counter holds.

    value   the number
    since   when the counter was made; None for exact counters
    reborn  it was lost since this handle saw it, and made again in another second: counts are lost
    ttl     seconds until it expires; None: it does not expire, or the store does not report the time
    """

    value: int
    since: Optional[datetime.datetime]
    reborn: bool
    ttl: Optional[float] = None


def open_form(core: Core, name: Bytes, **options: int) -> Opened:
    return core.open("counter", encode_name(name), new_options("mcds_counter_options", **options),
                     tuple(sorted(options.items())))


def flags_of(signed: bool, strict: bool) -> int:
    flags: int = lib.MCDS_COUNTER_SIGNED if signed else 0
    if strict:
        flags |= lib.MCDS_COUNTER_STRICT
    return flags


def open_counter(core: Core, name: Bytes, *, signed: bool = False, strict: bool = False,
                 ttl: Optional[Seconds] = None) -> Opened:
    """A number that many programs add to.

    signed   it may go down and below zero
    strict   raise Lost when the store has lost the number

    >>> s.counter("visits").add(2)
    2
    >>> s.counter("balance", signed=True).add(-5)
    -5
    """
    return open_form(core, name, flags=flags_of(signed, strict), ttl_ms=as_option_ms(ttl, "ttl"))


def open_striped(core: Core, name: Bytes, stripes: int, *, signed: bool = False,
                 strict: bool = False, ttl: Optional[Seconds] = None) -> Opened:
    """A counter whose load several keys share; add() does not return its value.

    >>> c = s.striped_counter("busy", 4)
    >>> c.add(2); c.add(3); c.get()
    5
    """
    return open_form(core, name, flags=flags_of(signed, strict), ttl_ms=as_option_ms(ttl, "ttl"),
                     stripes=as_integer(stripes, "stripes"))


def open_exact(core: Core, name: Bytes, *, copies: int = 0,
               flush: Optional[Seconds] = None) -> Opened:
    """A counter where every add counts exactly once, whatever is lost on the way. It may go down.

    The program sums its adds, and writes them every `flush` seconds (0.1), when it adds; with 0 each
    add is written. flush() writes them, and so does the end of the store's block.

    copies   servers that each keep the counter; a majority must answer

    >>> c = s.exact_counter("sold")
    >>> c.add(2); c.add(-1); c.flush(); c.get()
    1
    """
    flush_ms = as_short_ms(flush, "flush")
    if flush_ms == 0 and flush is not None:
        flush_ms = lib.MCDS_COUNTER_FLUSH_EACH
    return open_form(core, name, flags=lib.MCDS_COUNTER_EXACT, copies=as_integer(copies, "copies"),
                     flush_ms=flush_ms)


def take_value(code: int, out: Any) -> CounterValue:
    if code != 0:
        raise error_of(code)
    since = EPOCH + datetime.timedelta(seconds=out.since_s) if out.since_s > 0 else None
    ttl = out.ttl_ms / 1000 if out.ttl_ms >= 0 else None
    return CounterValue(out.value, since, out.reborn, ttl)


def take_or_zero(code: int, out: Any) -> int:
    if code == NOT_FOUND:
        return 0
    if code != 0:
        raise error_of(code)
    return int(out.value)


def take_taken(code: int, out: Any) -> int:
    return 0 if code == NOT_FOUND else take_number(code, out)


new = ffi.new
NULL = ffi.NULL
add_call = lib.mcds_counter_add
add_start = lib.mcds_counter_add_start


class AnyPlans(Structure):
    """What counters of every form have in common."""

    def _get(self) -> Plan[int]:
        """The number; 0 for a counter that does not exist.

        >>> s.counter("nothing").get()
        0
        """
        out = new_sized("mcds_counter_value")
        return Plan(lib.mcds_counter_get, lib.mcds_counter_get_start, (self._opened.handle, out),
                    take_or_zero, out)

    def _read(self) -> Plan[CounterValue]:
        """The number, since when it is counted, and whether counts are lost. Raises NotFound.

        >>> c = s.counter("b")
        >>> c.add(3)
        3
        >>> c.read().value, c.read().reborn
        (3, False)
        """
        out = new_sized("mcds_counter_value")
        return Plan(lib.mcds_counter_get, lib.mcds_counter_get_start, (self._opened.handle, out),
                    take_value, out)

    def _take(self) -> Plan[int]:
        """Set the counter to zero, and return what it was. Concurrent takers get different parts.

        >>> s.counter("c").add(7), s.counter("c").take(), s.counter("c").get()
        (7, 7, 0)
        """
        out = new("int64_t *")
        return Plan(lib.mcds_counter_take, lib.mcds_counter_take_start,
                    (self._opened.handle, out), take_taken, out)

    def _drop(self) -> Plan[bool]:
        """Erase the counter. False: there was none."""
        return Plan(lib.mcds_counter_drop, lib.mcds_counter_drop_start, (self._opened.handle,),
                    take_found)


class CounterPlans(AnyPlans):
    def _add(self, delta: int = 1) -> Plan[int]:
        """Add, and return the value directly afterwards. Ambiguous: counted once or not at all.

        >>> s.counter("a").add()
        1
        """
        out = new("int64_t *")
        return Plan(add_call, add_start, (self._opened.handle, as_integer(delta, "delta"), out), take_number, out)


class SumPlans(AnyPlans):
    def _add(self, delta: int = 1) -> Plan[None]:
        """Add. Striped and Ambiguous: counted once or not at all; exact: once."""
        return Plan(add_call, add_start, (self._opened.handle, as_integer(delta, "delta"), NULL), take_none)

    def _flush(self) -> Plan[None]:
        """Write what an exact counter has added since the last flush."""
        return Plan(lib.mcds_counter_flush, lib.mcds_counter_flush_start, (self._opened.handle,),
                    take_none)


class Counter(CounterPlans):
    """A number that many programs add to."""

    add = waiting(CounterPlans._add)
    get = waiting(CounterPlans._get)
    read = waiting(CounterPlans._read)
    take = waiting(CounterPlans._take)
    drop = waiting(CounterPlans._drop)


class SumCounter(SumPlans):
    """A striped or exact counter: add() does not return its value."""

    add = waiting(SumPlans._add)
    get = waiting(SumPlans._get)
    read = waiting(SumPlans._read)
    take = waiting(SumPlans._take)
    flush = waiting(SumPlans._flush)
    drop = waiting(SumPlans._drop)


class PipelineCounter(CounterPlans):
    """A counter whose operations are collected in a pipeline."""

    add = started(CounterPlans._add)
    get = started(CounterPlans._get)
    read = started(CounterPlans._read)
    take = started(CounterPlans._take)
    drop = started(CounterPlans._drop)


class PipelineSumCounter(SumPlans):
    """A striped or exact counter in a pipeline."""

    add = started(SumPlans._add)
    get = started(SumPlans._get)
    read = started(SumPlans._read)
    take = started(SumPlans._take)
    flush = started(SumPlans._flush)
    drop = started(SumPlans._drop)


class AioCounter(CounterPlans):
    """A counter whose operations are awaited."""

    add = awaited(CounterPlans._add)
    get = awaited(CounterPlans._get)
    read = awaited(CounterPlans._read)
    take = awaited(CounterPlans._take)
    drop = awaited(CounterPlans._drop)


class AioSumCounter(SumPlans):
    """A striped or exact counter whose operations are awaited."""

    add = awaited(SumPlans._add)
    get = awaited(SumPlans._get)
    read = awaited(SumPlans._read)
    take = awaited(SumPlans._take)
    flush = awaited(SumPlans._flush)
    drop = awaited(SumPlans._drop)
