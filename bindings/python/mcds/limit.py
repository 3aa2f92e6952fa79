"""Rate limits: how often each identity may do something."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import fractions
import re
from typing import Any, AsyncIterator, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from ._binding import ffi, lib
from .arguments import Misfit, as_integer, check_type
from .core import Core, Opened
from .errors import Invalid, brief, change_reason, error_of
from .plan import (NOT_FOUND, Bytes, Plan, Seconds, Structure, as_bytes, as_ms, as_required_ms, as_short_ms,
                   awaited, begun, called, encode_name, new_options, new_sized, new_struct, started,
                   take_found, take_none, waiting)
from .stream import PART, check_open, check_scan, collect_limit, records, rest_of, visit_of
from .table import Cursor, moving

#: "10/s", "1000/h", "5/10s", or (count, per[, burst]) with `per` in seconds.
Rate = Union[str, Tuple[int, Seconds], Tuple[int, Seconds, int]]

#: Without a number the time is one unit, and without a unit the number is of seconds.
RATE = re.compile(r"([0-9]{1,18})/([0-9]{1,10}(?:\.[0-9]{1,3})?)?(ms|[smhd])?(?<!/)")
UNITS_MS = {"ms": 1, "s": 1000, "m": 60 * 1000, "h": 3600 * 1000, "d": 24 * 3600 * 1000}


class LimitForm(enum.IntEnum):
    """What a limit bounds."""

    BUCKET = lib.MCDS_LIMIT_BUCKET  #: a rate and a burst
    WINDOW = lib.MCDS_LIMIT_WINDOW  #: the number in any window of the rate's time


@dataclasses.dataclass(frozen=True)
class LimitValue:
    """The tokens of an identity.

    remaining  tokens left in the rate that has fewest left
    retry      seconds until the refused take can succeed; of get, until one token is available; else 0
    full       seconds until all tokens that were taken are refilled: the upper bound
    """

    remaining: int
    retry: float
    full: float


@dataclasses.dataclass(frozen=True)
class Take(LimitValue):
    """The answer to a take. It is true if the tokens were taken.

    taken      whether the tokens were taken
    delay      seconds that the caller must wait before it begins; 0 without patience
    remaining  tokens left in the rate that has fewest left
    retry      seconds until the refused take can succeed; else 0
    full       seconds until all tokens that were taken are refilled: the upper bound
    """

    taken: bool
    delay: float

    def __bool__(self) -> bool:
        return self.taken


class Parts(NamedTuple):
    """The members of mcds_rate. A burst of 0 is the number of tokens."""

    tokens: int
    per_ms: int
    burst: int = 0


def as_per_ms(per: Seconds) -> int:
    """The time of a rate. One of less than a millisecond is refused: rounded up, it would be another rate."""
    ms = as_required_ms(per, "rates: per")
    if 0 < (per.total_seconds() if isinstance(per, datetime.timedelta) else per) < 0.001:
        raise ValueError(Misfit(f"rates: per must be at least 0.001 seconds, not {brief(per)}"))
    return ms


def as_rate(rate: Rate) -> Parts:
    if not isinstance(rate, (str, tuple, list)):
        raise TypeError(Misfit(f"each of rates must be a str or a tuple, not {type(rate).__name__}"))
    if not isinstance(rate, str):
        if not 2 <= len(rate) <= 3:
            raise ValueError(Misfit(f"each of rates must have 2 or 3 members, not {len(rate)}"))
        tokens, per, *burst = rate
        return Parts(as_integer(tokens, "rates: count"), as_per_ms(per),
                     *(as_integer(one, "rates: burst") for one in burst))
    found = RATE.fullmatch(rate)
    per_ms = fractions.Fraction(found[2] or 1) * UNITS_MS[found[3] or "s"] if found else None
    if found is None or per_ms is None or per_ms.denominator > 1:
        raise ValueError(Misfit(f"each of rates must be a number and a time, such as 10/s, 1000/h or 5/10s, "
                                f"not {brief(rate)}"))
    return Parts(int(found[1]), int(per_ms))


def as_rates(rates: Union[str, Iterable[Rate]], burst: Optional[int]) -> Tuple[Parts, ...]:
    if isinstance(rates, (bytes, bytearray, memoryview)) or not isinstance(rates, Iterable):
        raise TypeError(Misfit(f"rates must be a str or an iterable of rates, not {type(rates).__name__}"))
    parts = [as_rate(rate) for rate in ([rates] if isinstance(rates, str) else rates)]
    if burst is not None:
        if not parts or parts[0].burst > 0:
            raise ValueError(Misfit("burst belongs to the first rate, which "
                                    + ("has one already" if parts else "is missing")))
        parts[0] = parts[0]._replace(burst=as_integer(burst, "burst"))
    return tuple(parts)


def open_limit(core: Core, name: Bytes, *, rates: Union[str, Iterable[Rate]] = (),
               burst: Optional[int] = None, form: LimitForm = LimitForm.BUCKET,
               remember: Seconds = 0) -> Opened:
    """How often each identity (an address, a user) may do something, over all programs.

    rates  one to four, such as "10/s", "1000/h", "5/10s" or (count, per[, burst]) with `per` in seconds,
           at least 0.001; a take needs tokens of all. Without rates only scan, page and drop work
    burst  tokens at once, of the first rate (its count)
    form   LimitForm.WINDOW: at most `count` in any window; one rate, no patience, give, scan or drop
    remember  0 to 60: the same take is refused again from memory for so many seconds, and not after its
           time to retry, without a round trip; what others give back counts after that time

    >>> api = s.limit("api", rates=["10/s", "1000/h"], burst=20)
    >>> api.take("10.0.0.7").remaining
    19
    >>> daily = s.limit("mails", rates="2/d", form=mcds.LimitForm.WINDOW)
    >>> [daily.take("ann").taken for _ in range(3)]
    [True, True, False]

    The rates are not stored: other ones apply from the next take on, and keep what was used.
    """
    parts = as_rates(rates, burst)
    key = (as_integer(form, "form"), parts, as_ms(remember, "remember"))
    try:
        # C refuses a number of rates that does not fit.
        options = new_options("mcds_limit_options", form=key[0], rate_count=len(parts),
                              rates=parts[:lib.MCDS_LIMIT_RATES_MAX], remember_ms=key[2])
        return core.open("limit", encode_name(name), options, key)
    except Invalid as error:
        name_rates(error, burst)
        raise


def name_rates(error: Invalid, burst: Optional[int]) -> None:
    """Name the argument with the number that is refused: `rates`, unless it is the argument `burst`."""
    if error.option == "rate_count":
        error.option = "rates"
    elif error.option in ("count", "per") or error.option == "burst" and burst is None:
        change_reason(error, f"rates: {error.reason}")
        error.option = "rates"


def read_tokens(out: Any) -> LimitValue:
    return LimitValue(out.remaining, out.retry_ms / 1000, out.full_ms / 1000)


def take_tokens(code: int, out: Any) -> LimitValue:
    if code != 0:
        raise error_of(code)
    return read_tokens(out)


def take_taken(code: int, out: Any) -> Take:
    """A rate that refuses is an answer; callers that kept changing the key are a failure."""
    if code != 0 and not (code == lib.MCDS_BUSY
                          and lib.mcds_last_error().cause == lib.MCDS_CAUSE_LIMITED):
        raise error_of(code)
    return Take(out.remaining, out.retry_ms / 1000, out.full_ms / 1000, code == 0,
                out.delay_ms / 1000)


class LimitPlans(Structure):
    def _take(self, who: Bytes, n: int = 1, patience: Seconds = 0) -> Plan[Take]:
        """Take n tokens of an identity. A refusal takes nothing, and is false.

        With `patience`, tokens that are free within so many seconds are taken now, and `delay` is the
        time to wait. Busy: others kept changing the same key. Ambiguous: taken once or not at all;
        of a bucket, or not yet.

        >>> calls = s.limit("calls", rates=["1/h"])
        >>> calls.take("ann").taken, calls.take("ann").taken, calls.take("bob").taken
        (True, False, True)
        >>> take = calls.take("ann")
        >>> if not take:
        ...     answer = 429, {"Retry-After": str(int(take.retry) + 1)}
        >>> 3500 < calls.take("bob", patience=3600).delay <= 3600
        True
        """
        out = new_sized("mcds_limit_value")
        return Plan(lib.mcds_limit_take, lib.mcds_limit_take_start,
                    (self._opened.handle, as_bytes(who), as_integer(n, "n"), as_short_ms(patience, "patience"),
                     out), take_taken, out)

    def _get(self, who: Bytes) -> Plan[LimitValue]:
        """The tokens of an identity. Takes none.

        >>> s.limit("logins", rates=["5/m"]).get("ann")
        LimitValue(remaining=5, retry=0.0, full=0.0)
        """
        out = new_sized("mcds_limit_value")
        return Plan(lib.mcds_limit_get, lib.mcds_limit_get_start,
                    (self._opened.handle, as_bytes(who), out), take_tokens, out)

    def _give(self, who: Bytes, n: int = 1) -> Plan[None]:
        """Give back tokens that were taken and not used. A bucket holds at most its burst."""
        return Plan(lib.mcds_limit_give, lib.mcds_limit_give_start,
                    (self._opened.handle, as_bytes(who), as_integer(n, "n")), take_none)

    def _page(self, cursor: Cursor, limit: int = 0) -> Plan[List[Tuple[bytes, LimitValue]]]:
        """The identities from the cursor on: about 256 KB of them, and at most `limit` (0: all).

        Moves the cursor, when the call returns. An identity that takes or gives meanwhile may be visited or not.
        """
        check_type(cursor, Cursor, "cursor")
        visit = visit_of(self, PART)
        state = new_struct("mcds_limit_cursor", position=as_integer(cursor.position, "position"), done=cursor.done)

        def take(code: int, out: Any) -> List[Tuple[bytes, LimitValue]]:
            check_open(self._runner._core, self._opened)
            state.done = state.done or code == NOT_FOUND
            # The scan has moved past these buckets: return them now; the next call fails again.
            found = [(who, read_tokens(ffi.from_buffer("mcds_limit_value *", value)))
                     for _, _, who, value in records(visit.buffer)]
            if not found:
                check_scan(code, visit.buffer)
            return found

        return Plan(lib.mcds_limit_scan, lib.mcds_limit_scan_start,
                    (self._opened.handle, state, as_integer(limit, "limit"), collect_limit, visit.buffer), take,
                    (state, visit), move=moving(cursor, state))

    def _drop(self) -> Plan[bool]:
        """Erase the limit: every bucket is full. False: there was none."""
        return Plan(lib.mcds_limit_drop, lib.mcds_limit_drop_start, (self._opened.handle,),
                    take_found)


class Limit(LimitPlans):
    """How often each identity may do something."""

    take = waiting(LimitPlans._take)
    get = waiting(LimitPlans._get)
    give = waiting(LimitPlans._give)
    page = waiting(LimitPlans._page)
    drop = waiting(LimitPlans._drop)

    def scan(self) -> Iterator[Tuple[bytes, LimitValue]]:
        """Each identity whose bucket is not full, in parts. Without rates, only `full` is set.

        >>> s.limit("posts", rates=["3/h"]).take("ann").taken
        True
        >>> [(who, value.full > 0) for who, value in s.limit("posts").scan()]
        [(b'ann', True)]
        """
        cursor = Cursor()
        with rest_of(self) as rest:
            while rest.take(None if cursor.done else called("scan", LimitPlans._page, self, cursor)):
                yield from rest.part


class PipelineLimit(LimitPlans):
    """A limit in a pipeline."""

    take = started(LimitPlans._take)
    get = started(LimitPlans._get)
    give = started(LimitPlans._give)
    drop = started(LimitPlans._drop)


class AioLimit(LimitPlans):
    """A limit whose operations are awaited."""

    take = awaited(LimitPlans._take)
    get = awaited(LimitPlans._get)
    give = awaited(LimitPlans._give)
    page = awaited(LimitPlans._page)
    drop = awaited(LimitPlans._drop)

    async def scan(self) -> AsyncIterator[Tuple[bytes, LimitValue]]:
        """Each identity whose bucket is not full, in parts."""
        cursor = Cursor()
        with rest_of(self) as rest:
            while rest.take(None if cursor.done else await begun("scan", LimitPlans._page, self, cursor)):
                for identity in rest.part:
                    yield identity
