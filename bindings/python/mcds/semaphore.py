"""Semaphores: at most so many holders at a time, each with a lease, a slot and a fence."""

from __future__ import annotations

import dataclasses
from typing import Any, List, Optional

from ._binding import ffi, lib
from .arguments import as_integer
from .aio_lock import AioBlock, AioTenure
from .core import Core, Opened
from .errors import error_of, text
from .lock import LEASE_DEFAULT_MS, Block, Calls, Leased, LockOptions, ThreadTenure, as_wait
from .plan import (NOT_FOUND, Bytes, Plan, Seconds, as_short_option_ms, awaited, encode_name, new_options,
                   started, take_found, waiting)
from .stream import collect_holder, new_buffer, records

#: Bytes of a buffer that has room for the records of all holders.
PART = 1 << 16

CALLS = Calls("semaphore", "mcds_permit *", lib.mcds_semaphore_remaining_ms,
              lib.mcds_semaphore_acquire, lib.mcds_semaphore_acquire_start,
              lib.mcds_semaphore_try_acquire, lib.mcds_semaphore_try_acquire_start,
              lib.mcds_semaphore_renew, lib.mcds_semaphore_renew_start,
              lib.mcds_semaphore_release, lib.mcds_semaphore_release_start)


@dataclasses.dataclass(frozen=True)
class PermitHolder:
    """A holder of a permit.

    slot       the number of the permit, from 0
    fence      the newest fence of the slot; 0: the store has lost it
    remaining  seconds until the lease ends, unless it is renewed; None: the store does not report it
    label      of the holder
    permits    of the semaphore; a slot at or above it ends with its holder
    """

    slot: int
    fence: int
    remaining: Optional[float]
    label: str
    permits: int


def open_semaphore(core: Core, name: Bytes, permits: int = 0, *, ttl: Optional[Seconds] = None,
                   label: Bytes = b"", wait: Optional[Seconds] = None,
                   renew: bool = True) -> Opened:
    """A semaphore: at most `permits` holders (1 to 60) at a time; the other options are those of a lock.

    permits  the first acquisition makes the semaphore with this number; 0: it must exist

    >>> with s.semaphore("builds", 3, ttl=30) as permit:
    ...     permit.slot in (0, 1, 2), permit.fence > 0
    (True, True)
    >>> s.semaphore("builds", 3).resize(2)
    0
    """
    lease_ms = as_short_option_ms(ttl, "ttl")
    permits = as_integer(permits, "permits")
    label = encode_name(label, "label")
    shown = ffi.new("char[]", label)
    options = new_options("mcds_semaphore_options", permits=permits, lease_ms=lease_ms, label=shown)
    chosen = LockOptions(lease_ms or LEASE_DEFAULT_MS, as_wait(wait), bool(renew))
    return core.open("semaphore", encode_name(name), options, (permits, lease_ms, label, chosen),
                     chosen)


class Permit(ThreadTenure):
    """One tenure of a semaphore. Any thread may use it."""

    _calls = CALLS

    def __init__(self, opened: Opened, held: Any) -> None:
        super().__init__(opened, held)
        self._lease = held.lease

    @property
    def slot(self) -> int:
        """The number of the permit, from 0. No other holder has it."""
        return int(self._held.slot)


class AioPermit(AioTenure):
    """One tenure of a semaphore; renew and release are awaited."""

    _calls = CALLS

    def __init__(self, opened: Opened, runner: Any, held: Any) -> None:
        super().__init__(opened, runner, held)
        self._lease = held.lease

    @property
    def slot(self) -> int:
        """The number of the permit, from 0. No other holder has it."""
        return int(self._held.slot)


def take_holders(code: int, buffer: Any) -> List[PermitHolder]:
    if code not in (0, NOT_FOUND):
        raise error_of(code)
    found = []
    for _, _, _, value in records(buffer):
        holder = ffi.from_buffer("mcds_semaphore_holder *", value)
        remaining = holder.remaining_ms / 1000 if holder.remaining_ms >= 0 else None
        found.append(PermitHolder(holder.slot, holder.fence, remaining, text(holder.label),
                                  holder.permits))
    return found


def take_above(code: int, out: Any) -> int:
    if code != 0:
        raise error_of(code)
    return int(out[0])


class SemaphorePlans(Leased):
    _calls = CALLS
    _absent = "the semaphore does not exist; make it with permits=N"

    def _new(self, held: Any) -> Any:
        return Permit(self._opened, held)

    def _try_acquire(self) -> Plan[Optional[Permit]]:
        """Acquire a permit, or return None where others hold all. Nothing renews its lease.

        After Ambiguous the caller holds nothing: the call releases what it may have acquired.
        """
        return self._try_plan(Permit(self._opened, ffi.new("mcds_permit *")))

    def _holders(self) -> Plan[List[PermitHolder]]:
        """The holders, in the order of their slots."""
        buffer = new_buffer(PART)
        return Plan(lib.mcds_semaphore_holders, lib.mcds_semaphore_holders_start,
                    (self._opened.handle, collect_holder, buffer), take_holders, buffer)

    def _resize(self, permits: int) -> Plan[int]:
        """Change the number of permits. Returns the number of holders whose slot is above the new number."""
        out = ffi.new("uint32_t *")
        return Plan(lib.mcds_semaphore_resize, lib.mcds_semaphore_resize_start,
                    (self._opened.handle, as_integer(permits, "permits"), out), take_above, out)

    def _drop(self) -> Plan[bool]:
        """Erase the semaphore. False: there was none. Busy: a permit is held."""
        return Plan(lib.mcds_semaphore_drop, lib.mcds_semaphore_drop_start,
                    (self._opened.handle,), take_found)


class Semaphore(SemaphorePlans, Block):
    """A semaphore with leases. A with block holds a permit."""

    try_acquire = waiting(SemaphorePlans._try_acquire)
    holders = waiting(SemaphorePlans._holders)
    resize = waiting(SemaphorePlans._resize)
    drop = waiting(SemaphorePlans._drop)

    def acquire(self) -> Permit:
        """Wait for a permit as long as the option `wait` says, then Busy. Nothing renews its lease."""
        permit: Permit = self._acquire()
        return permit

    def __enter__(self) -> Permit:
        permit: Permit = self._enter()
        return permit


class PipelineSemaphore(SemaphorePlans):
    """A semaphore in a pipeline."""

    try_acquire = started(SemaphorePlans._try_acquire)
    holders = started(SemaphorePlans._holders)
    resize = started(SemaphorePlans._resize)
    drop = started(SemaphorePlans._drop)


class AioSemaphore(SemaphorePlans, AioBlock):
    """A semaphore with leases. An `async with` block holds a permit."""

    holders = awaited(SemaphorePlans._holders)
    resize = awaited(SemaphorePlans._resize)
    drop = awaited(SemaphorePlans._drop)

    def _new_aio(self) -> Any:
        return AioPermit(self._opened, self._runner, ffi.new("mcds_permit *"))

    async def try_acquire(self) -> Optional[AioPermit]:
        """Acquire a permit, or return None where others hold all. Nothing renews its lease.

        >>> async def main():
        ...     permit = await s.aio.semaphore("aio", 1).try_acquire()
        ...     print(permit.slot, await s.aio.semaphore("aio", 1).try_acquire())
        ...     await permit.release()
        >>> asyncio.run(main())
        0 None
        """
        permit: Optional[AioPermit] = await self._try_acquire_aio()
        return permit

    async def acquire(self) -> AioPermit:
        """Wait for a permit as long as the option `wait` says, then Busy. Nothing renews its lease."""
        permit: AioPermit = await self._acquire()
        return permit

    async def __aenter__(self) -> AioPermit:
        permit: AioPermit = await self._enter()
        return permit
