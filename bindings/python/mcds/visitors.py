"""Distinct visitors in each period, and visitors online."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Optional

from ._binding import ffi, lib
from .arguments import as_integer
from .core import Core, Opened
from .errors import error_of
from .plan import (Bytes, Plan, Seconds, Structure, When, as_ms, as_short_option_ms, as_time_ms,
                   awaited, encode_name, new_options, new_sized, started, take_found,
                   take_new, waiting)


#: That of the command.
PERIOD_DEFAULT_MS = 86_400_000


class Members(enum.IntEnum):
    """What is stored about each visitor.

    NONE       the number of visitors, and for the current period a mark for each visitor. A visitor counts at most
               once. A lost reply may leave a visitor uncounted
    EXACT      the names of the visitors. Each visitor counts exactly once. `get` reads all of the names
    ESTIMATED  4096 registers (HyperLogLog), about 30 KB for any number of visitors. The numbers are estimates with a
               standard error of 1.6 %. A hit of a new visitor may leave the estimate as it is
    """

    NONE = lib.MCDS_MEMBERS_NONE  #: a number, and for the period a mark for each visitor
    EXACT = lib.MCDS_MEMBERS_EXACT  #: the visitors; each counts exactly once
    ESTIMATED = lib.MCDS_MEMBERS_ESTIMATED  #: 4096 registers; a standard error of 1.6 %


@dataclasses.dataclass(frozen=True)
class VisitorsValue:
    """Numbers of visitors.

    closed       visitors in the last complete period
    current      visitors in the current period so far
    estimate     visitors in the last `period` seconds before now
    error        visitors; one standard deviation of the estimate
    provisional  closed may still grow: its period ended less than `settle` seconds ago
    reborn       a key was lost and made again: hits are lost. Without members, in another second than before
    """

    closed: int
    current: int
    estimate: float
    error: float
    provisional: bool
    reborn: bool


@dataclasses.dataclass(frozen=True)
class OnlineValue:
    """Numbers of visitors that are online. `mcds online get` prints `estimate`, rounded.

    estimate  visitors active in the last `buckets` times `width` seconds before now
    error     visitors; one standard deviation of the estimate
    closed    visitors active in the closed buckets of the window
    current   visitors active in the current bucket and in no closed one: 0 when a bucket begins
    reborn    a key was lost and made again: beats are lost. Without members, in another second than before
    """

    closed: int
    current: int
    estimate: float
    error: float
    reborn: bool


def open_visitors(core: Core, name: Bytes, *, period: Optional[Seconds] = None,
                  settle: Optional[Seconds] = None, members: Members = Members.NONE) -> Opened:
    """The number of distinct visitors in each period.

    period  a day, as for the command `mcds visitors`; 0: one period for all time. All callers must give the same
    settle  the most by which the clocks of two machines differ (5 s)

    >>> v = s.visitors("site", period=86400)
    >>> v.hit("alice"), v.hit("alice"), v.hit("bob")
    (True, False, True)
    >>> v.get().current
    2
    """
    period_ms = PERIOD_DEFAULT_MS if period is None else as_ms(period, "period")  # 0 is all time in C
    key = (period_ms, as_short_option_ms(settle, "settle"), as_integer(members, "members"))
    options = new_options("mcds_visitors_options", period_ms=key[0], settle_ms=key[1],
                          members=key[2])
    return core.open("visitors", encode_name(name), options, key)


def open_online(core: Core, name: Bytes, *, buckets: int = 0, width: Optional[Seconds] = None,
                members: Members = Members.NONE) -> Opened:
    """The number of visitors active in a sliding window of `buckets` times `width`.

    >>> o = s.online("site")
    >>> o.beat("alice"), o.beat("bob"), o.beat("alice")
    (True, True, False)
    >>> round(o.get().estimate)
    2
    """
    key = (as_integer(buckets, "buckets"), as_short_option_ms(width, "width"), as_integer(members, "members"))
    options = new_options("mcds_online_options", buckets=key[0], width_ms=key[1], members=key[2])
    return core.open("online", encode_name(name), options, key)


def take_visitors(code: int, out: Any) -> VisitorsValue:
    if code != 0:
        raise error_of(code)
    return VisitorsValue(out.closed, out.current, out.estimate, out.error, out.provisional,
                         out.reborn)


def take_online(code: int, out: Any) -> OnlineValue:
    if code != 0:
        raise error_of(code)
    return OnlineValue(out.closed, out.current, out.estimate, out.error, out.reborn)


class VisitorsPlans(Structure):
    def _hit(self, visitor: Optional[Bytes] = None, at: Optional[When] = None) -> Plan[bool]:
        """Count a visit. False: this visitor was counted before; with Members.ESTIMATED, the visit does not change the
        estimate, which is also true of many new visitors. Without a visitor it counts."""
        who = ffi.NULL if visitor is None else encode_name(visitor, "visitor")
        return Plan(lib.mcds_visitors_hit, lib.mcds_visitors_hit_start,
                    (self._opened.handle, who, as_time_ms(at, "at")), take_new)

    def _get(self, at: Optional[When] = None) -> Plan[VisitorsValue]:
        """The period of `at`, or of now, and the one before it."""
        out = new_sized("mcds_visitors_value")
        return Plan(lib.mcds_visitors_get, lib.mcds_visitors_get_start,
                    (self._opened.handle, as_time_ms(at, "at"), out), take_visitors, out)

    def _drop(self, at: Optional[When] = None) -> Plan[bool]:
        """Erase the period of `at`, or of now, and the one before it. False: there was nothing."""
        return Plan(lib.mcds_visitors_drop, lib.mcds_visitors_drop_start,
                    (self._opened.handle, as_time_ms(at, "at")), take_found)


class Visitors(VisitorsPlans):
    """The number of distinct visitors in each period."""

    hit = waiting(VisitorsPlans._hit)
    get = waiting(VisitorsPlans._get)
    drop = waiting(VisitorsPlans._drop)


class PipelineVisitors(VisitorsPlans):
    """Visitors in a pipeline."""

    hit = started(VisitorsPlans._hit)
    get = started(VisitorsPlans._get)
    drop = started(VisitorsPlans._drop)


class AioVisitors(VisitorsPlans):
    """Visitors whose operations are awaited."""

    hit = awaited(VisitorsPlans._hit)
    get = awaited(VisitorsPlans._get)
    drop = awaited(VisitorsPlans._drop)


class OnlinePlans(Structure):
    def _beat(self, visitor: Bytes, at: Optional[When] = None) -> Plan[bool]:
        """Report that a visitor is active. False: its windows have counted it; with Members.ESTIMATED, the estimate
        does not change."""
        return Plan(lib.mcds_online_beat, lib.mcds_online_beat_start,
                    (self._opened.handle, encode_name(visitor, "visitor"), as_time_ms(at, "at")), take_new)

    def _get(self, at: Optional[When] = None) -> Plan[OnlineValue]:
        """The window whose current bucket is that of `at`, or of now."""
        out = new_sized("mcds_online_value")
        return Plan(lib.mcds_online_get, lib.mcds_online_get_start,
                    (self._opened.handle, as_time_ms(at, "at"), out), take_online, out)

    def _drop(self, at: Optional[When] = None) -> Plan[bool]:
        """Erase the window. False: there was nothing."""
        return Plan(lib.mcds_online_drop, lib.mcds_online_drop_start,
                    (self._opened.handle, as_time_ms(at, "at")), take_found)


class Online(OnlinePlans):
    """The number of visitors active in a sliding window."""

    beat = waiting(OnlinePlans._beat)
    get = waiting(OnlinePlans._get)
    drop = waiting(OnlinePlans._drop)


class PipelineOnline(OnlinePlans):
    """Visitors online, in a pipeline."""

    beat = started(OnlinePlans._beat)
    get = started(OnlinePlans._get)
    drop = started(OnlinePlans._drop)


class AioOnline(OnlinePlans):
    """Visitors online; operations are awaited."""

    beat = awaited(OnlinePlans._beat)
    get = awaited(OnlinePlans._get)
    drop = awaited(OnlinePlans._drop)
