"""Caches: values by key, each filled by one of all callers that miss it."""

from __future__ import annotations

import contextlib
import functools
from typing import (Any, Awaitable, Callable, Iterable, Iterator, Optional, ParamSpec, Tuple,
                    Type, TypeVar)

from ._binding import ffi, lib
from .arguments import as_integer, check_awaitable, check_function
from .block import to_its_end
from .core import Bound, Core, Opened
from .encoding import encode_returned
from .errors import Busy, Error, Invalid, Io, NoMemory, TooBig, change_reason, describe, error_of
from .plan import (NOT_FOUND, Bytes, Plan, Seconds, Structure, as_array, as_bytes, as_ms,
                   as_option_ms, as_required_ms, as_short_ms, as_short_option_ms, awaited, begun, checked, closed_of,
                   encode, encode_name, is_closed, keep_raised, new_options, new_value, read_value, started,
                   take_found, take_none, waiting)

P = ParamSpec("P")

#: fill(key) returns the value, or None where the source has nothing for the key.
Fill = Callable[[bytes], Optional[Bytes]]
AwaitedFill = Callable[[bytes], Awaitable[Optional[Bytes]]]
#: What the callback returns where the program's function has raised.
RAISED = 1 << 20
#: The default of C for `fill`, and what its default for `wait` adds to that: as on memcached, where a claim may end
#: 2 s late.
FILL_MS = 10_000
WAIT_MORE_MS = 4000


#: What C cannot store as a value or a sentence. It then gives the claim back.
TOO_LARGE = (ffi.from_buffer(b""), 1 << 62)


class Filling:
    """One call of fetch: the program's function, and the exception that it raised."""

    def __init__(self, fill: Fill, structure: Any) -> None:
        self.fill = fill
        self.structure = structure
        self.raised: Optional[BaseException] = None
        #: The value or the sentence, which C reads.
        self.kept: Optional[Tuple[Any, int]] = None

    def failed(self, error: BaseException) -> int:
        self.raised = error
        return RAISED


@ffi.def_extern(error=RAISED, onerror=keep_raised)  # type: ignore[misc]
def mcds_py_source(context: Any, key: Any, value_out: Any, said_out: Any) -> int:
    filling: Filling = ffi.from_handle(context)
    if is_closed(filling.structure):
        said_out[0] = TOO_LARGE
        return filling.failed(closed_of(filling.structure))
    try:
        value = filling.fill(bytes(ffi.buffer(key.data, key.length)))
        if value is None:
            return NOT_FOUND
        filling.kept = as_bytes(encode_returned(value, "fill"))
        value_out[0] = filling.kept
        return 0
    except BaseException as error:
        filling.raised = error
        filling.kept = as_bytes(describe(error))
        said_out[0] = filling.kept
        return RAISED


fill_with = ffi.addressof(lib, "mcds_py_fill")


def open_cache(core: Core, name: Bytes, *, ttl: Optional[Seconds] = None,
               stale: Optional[Seconds] = None, nothing: Optional[Seconds] = None,
               fill: Optional[Seconds] = None, wait: Optional[Seconds] = None,
               failed: Optional[Seconds] = None, jitter: int = 0) -> Opened:
    """Values by key. Of all callers that miss a key, one reads the source; the others wait for it.

    ttl      a value is fresh for so many seconds (60)
    stale    then every caller gets it for so many seconds more, while one reads the source (0)
    nothing  how long None is kept (ttl)
    fill     a fill takes no longer (10)
    wait     how long a caller waits for the fill of another (until that one has ended, or died)
    failed   after a failure no caller reads the source for so long, then twice as long (1)
    jitter   each ttl is shortened by up to so many per cent (10)

    >>> pages = s.cache("pages", ttl=60, stale=600)
    >>> pages.fetch("/home", lambda key: b"<html>", tags=["user:7"])
    b'<html>'
    >>> pages.fetch("/home", lambda key: b"never called")
    b'<html>'
    >>> pages.forget_tag("user:7")
    >>> pages.fetch("/home", lambda key: None) is None
    True
    """
    options = {"ttl_ms": as_option_ms(ttl, "ttl"), "stale_ms": as_ms(stale, "stale"),
               "nothing_ms": as_option_ms(nothing, "nothing"), "fill_ms": as_short_option_ms(fill, "fill"),
               "wait_ms": as_short_option_ms(wait, "wait"), "failed_ms": as_short_option_ms(failed, "failed"),
               "jitter": as_integer(jitter, "jitter")}
    return core.open("cache", encode_name(name), new_options("mcds_cache_options", **options),
                     tuple(options.values()))


def may_fill(error: Error) -> bool:
    """Whether the caller of a look that has failed may still read the source, as in mcds_cache_fetch. A caller that
    has waited for a fill may not: all would read it at once."""
    if isinstance(error, Busy):
        return error.option == "hold"
    if isinstance(error, Io):
        return error.cause != "CALLBACK_FAILED"
    return not isinstance(error, (Invalid, NoMemory))


class ClaimBase(Bound):
    """The right to fill a key, for a loop of one's own. The one that has it calls put, fail or
    release."""

    def __init__(self, plans: "CachePlans", claim: Any, value: Optional[bytes]) -> None:
        self._runner = plans._runner
        self._opened = plans._opened
        self._claim = claim
        #: The stale value; None: there is none.
        self.value = value

    @property
    def mine(self) -> bool:
        """Whether this caller fills the key. False: `value` is fresh, or others fill it. Raises Invalid in a
        child of the process that has the claim."""
        self._opened.check_process()
        return bool(self._claim.mine)

    @property
    def is_missing(self) -> bool:
        """Whether there is no value: not even that the source has nothing."""
        return bool(self._claim.state == lib.MCDS_CACHE_MISSING)

    def _put_plan(self, value: Optional[Bytes]) -> Plan[bool]:
        """Store the value; None: the source has nothing. False: not stored, the claim is over."""
        pair = None if value is None else as_bytes(value)
        held = ffi.NULL if pair is None else ffi.new("mcds_bytes *", pair)
        return Plan(lib.mcds_cache_put, lib.mcds_cache_put_start,
                    (self._opened.handle, self._claim, held), take_stored, (held, pair))

    def _fail_plan(self, sentence: Bytes = "") -> Plan[bool]:
        """Report that the source could not be read, to every caller until the rest is over."""
        return Plan(lib.mcds_cache_fail, lib.mcds_cache_fail_start,
                    (self._opened.handle, self._claim, as_bytes(sentence)), take_stored)

    def _renew_plan(self) -> Plan[bool]:
        """Keep the claim for a fill that takes longer. False: the claim is over."""
        return Plan(lib.mcds_cache_renew, lib.mcds_cache_renew_start,
                    (self._opened.handle, self._claim), take_stored)

    def _release_plan(self) -> Plan[bool]:
        """Give the claim back: the next caller fills the key."""
        return Plan(lib.mcds_cache_release, lib.mcds_cache_release_start,
                    (self._opened.handle, self._claim), take_stored)

    def __repr__(self) -> str:
        return f"<mcds.{type(self).__name__} {'mine' if self._claim.mine else 'not mine'}>"


class Claim(ClaimBase):
    """The right to fill a key, for a loop of one's own. The one that has it calls put, fail or
    release."""

    put = waiting(ClaimBase._put_plan)
    fail = waiting(ClaimBase._fail_plan)
    renew = waiting(ClaimBase._renew_plan)
    release = waiting(ClaimBase._release_plan)


class AioClaim(ClaimBase):
    """The same in an event loop: its operations are awaited.

    >>> async def main():
    ...     claim = await s.aio.cache("pages").look("/contact")
    ...     await claim.put("<html>")
    ...     return (await s.aio.cache("pages").look("/contact")).value
    >>> asyncio.run(main())
    b'<html>'
    """

    put = awaited(ClaimBase._put_plan)
    fail = awaited(ClaimBase._fail_plan)
    renew = awaited(ClaimBase._renew_plan)
    release = awaited(ClaimBase._release_plan)


def take_stored(code: int, out: Any) -> bool:
    if code == lib.MCDS_EXPIRED:
        return False
    if code != 0:
        raise error_of(code)
    return True


def failure_of(code: int, value: Any) -> BaseException:
    """That of a fill has the sentence which was stored with it."""
    error = error_of(code)
    said = read_value(value).decode(errors="replace")
    if isinstance(error, Io) and said:
        change_reason(error, f"{error.reason}: {said}")
    return error


C = TypeVar("C", bound=ClaimBase)


class CachePlans(Structure):
    def _fetch(self, key: Bytes, fill: Fill, tags: Iterable[Bytes] = ()) -> Plan[Optional[bytes]]:
        """The value of a key; reads the source with fill(key) if this is the caller that fills it.

        What `fill` raises is raised here. If it raises an Exception and there is a stale value, the call returns
        this value. Another caller gets Io, until it is time to try again. Busy: another caller has not ended its
        fill. An interrupt of the wait leaves at most a claim, which ends after `fill`; one inside `fill` is its
        failure.
        """
        check_function(fill, "fill")
        filling = Filling(fill, self)
        context = ffi.new_handle(filling)
        array, kept = as_array(tags, "tags")
        value = new_value()

        def take(code: int, out: Any) -> Optional[bytes]:
            raised, filling.raised = filling.raised, None
            try:
                if raised is not None and (code not in (0, NOT_FOUND) or not isinstance(raised, Exception)):
                    raise raised
            finally:
                del raised  # its traceback refers to this frame
            if code == NOT_FOUND:
                return None
            if code != 0:
                raise failure_of(code, value)
            return read_value(value)

        return Plan(lib.mcds_cache_fetch, lib.mcds_cache_fetch_start,
                    (self._opened.handle, as_bytes(key), array, len(kept), fill_with,
                     context, value, ffi.NULL), take, (filling, context, array, kept, value),
                    waits=True)

    def _look(self, key: Bytes, tags: Iterable[Bytes] = (),
              wait: Optional[Seconds] = None) -> Plan[Claim]:
        """The value of a key, and the claim to fill it, for a loop of one's own.

        wait  seconds to wait for the fill of another caller, then Busy. If the call is interrupted
              or cancelled, a claim of its request under way is given back. If the reply to that
              request is late, the claim ends after `fill`

        >>> s.cache("pages").forget("/about")
        >>> claim = s.cache("pages").look("/about")
        >>> claim.mine, claim.value
        (True, None)
        >>> claim.put("<html>")
        True
        >>> s.cache("pages").look("/about").value
        b'<html>'
        """
        return self._look_as(Claim, key, tags, wait)

    def _look_as(self, kind: Type[C], key: Bytes, tags: Iterable[Bytes],
                 wait: Optional[Seconds]) -> Plan[C]:
        array, kept = as_array(tags, "tags")
        value = new_value()
        claim = ffi.new("mcds_cache_claim *")

        def give_back(code: int, handle: Any) -> Iterator[Plan[Any]]:
            if claim.mine:
                yield ClaimBase(self._with(handle), claim, None)._release_plan()

        def take(code: int, out: Any) -> C:
            if code not in (0, NOT_FOUND):
                raise failure_of(code, value)
            return kind(self, claim, read_value(value) if code == 0 else None)

        return Plan(lib.mcds_cache_look, lib.mcds_cache_look_start,
                    (self._opened.handle, as_bytes(key), array, len(kept), as_short_ms(wait, "wait"), value, claim),
                    take, (array, kept, value, claim), waits=bool(wait), give_back=give_back)

    def _forget(self, key: Bytes) -> Plan[None]:
        """Forget the value of a key. A fill that is under way is not stored."""
        return Plan(lib.mcds_cache_forget, lib.mcds_cache_forget_start,
                    (self._opened.handle, as_bytes(key)), take_none)

    def _expire(self, key: Bytes) -> Plan[None]:
        """Make the value of a key stale."""
        return Plan(lib.mcds_cache_expire, lib.mcds_cache_expire_start,
                    (self._opened.handle, as_bytes(key)), take_none)

    def _forget_tag(self, tag: Bytes) -> Plan[None]:
        """Forget all values with this tag."""
        return Plan(lib.mcds_cache_forget_tag, lib.mcds_cache_forget_tag_start,
                    (self._opened.handle, as_bytes(tag)), take_none)

    def _clear(self) -> Plan[None]:
        """Forget all values."""
        return Plan(lib.mcds_cache_clear, lib.mcds_cache_clear_start, (self._opened.handle,),
                    take_none)

    def _hold(self, key: Bytes, seconds: Seconds) -> Plan[None]:
        """Store no fill of this key until it is forgotten, for so long at most.

        >>> pages = s.cache("pages")
        >>> pages.hold("/about", 30)
        >>> pages.forget("/about")  # after the change of the source
        """
        return Plan(lib.mcds_cache_hold, lib.mcds_cache_hold_start,
                    (self._opened.handle, as_bytes(key), as_required_ms(seconds, "seconds", 32)), take_none)

    def _hold_tag(self, tag: Bytes, seconds: Seconds) -> Plan[None]:
        """The same for all values with this tag."""
        return Plan(lib.mcds_cache_hold_tag, lib.mcds_cache_hold_tag_start,
                    (self._opened.handle, as_bytes(tag), as_required_ms(seconds, "seconds", 32)), take_none)

    def _drop(self) -> Plan[bool]:
        """Erase the cache. False: there was none."""
        return Plan(lib.mcds_cache_drop, lib.mcds_cache_drop_start, (self._opened.handle,),
                    take_found)


class Cache(CachePlans):
    """Values by key, each filled by one of all callers that miss it."""

    fetch = waiting(CachePlans._fetch)
    look = waiting(CachePlans._look)
    forget = waiting(CachePlans._forget)
    expire = waiting(CachePlans._expire)
    forget_tag = waiting(CachePlans._forget_tag)
    clear = waiting(CachePlans._clear)
    hold = waiting(CachePlans._hold)
    hold_tag = waiting(CachePlans._hold_tag)
    drop = waiting(CachePlans._drop)

    def cached(self, key: Callable[P, Bytes], tags: Optional[Callable[P, Iterable[Bytes]]] = None
               ) -> Callable[[Callable[P, Optional[Bytes]]], Callable[P, Optional[bytes]]]:
        """A decorator: the function's results are kept under key(*args), with the tags(*args).

        >>> pages = s.cache("pages")
        >>> @pages.cached(key=lambda user: f"/user/{user}", tags=lambda user: [f"user:{user}"])
        ... def render(user):
        ...     return f"<html>{user}"
        >>> render(7)
        b'<html>7'
        """
        checked(self, type(self).cached, check_function, key, "key")

        def decorate(function: Callable[P, Optional[Bytes]]) -> Callable[P, Optional[bytes]]:
            @functools.wraps(function)
            def fetch(*args: P.args, **kwargs: P.kwargs) -> Optional[bytes]:
                return self.fetch(key(*args, **kwargs), lambda _: function(*args, **kwargs),
                                  tags(*args, **kwargs) if tags is not None else ())
            return fetch
        return decorate


class PipelineCache(CachePlans):
    """A cache in a pipeline. A fill delays all of it: `look` in a loop of one's own does not."""

    fetch = started(CachePlans._fetch)
    look = started(CachePlans._look)
    forget = started(CachePlans._forget)
    expire = started(CachePlans._expire)
    forget_tag = started(CachePlans._forget_tag)
    clear = started(CachePlans._clear)
    hold = started(CachePlans._hold)
    hold_tag = started(CachePlans._hold_tag)
    drop = started(CachePlans._drop)


class AioCache(CachePlans):
    """A cache whose operations and fills are awaited."""

    def _look_plan(self, key: Bytes, tags: Iterable[Bytes] = (),
                   wait: Optional[Seconds] = None) -> Plan[AioClaim]:
        """The value of a key, and the claim to fill it, as Cache.look."""
        return self._look_as(AioClaim, key, tags, wait)

    look = awaited(_look_plan)
    forget = awaited(CachePlans._forget)
    expire = awaited(CachePlans._expire)
    forget_tag = awaited(CachePlans._forget_tag)
    clear = awaited(CachePlans._clear)
    hold = awaited(CachePlans._hold)
    hold_tag = awaited(CachePlans._hold_tag)
    drop = awaited(CachePlans._drop)

    async def fetch(self, key: Bytes, fill: AwaitedFill, tags: Iterable[Bytes] = (),
                    wait: Optional[Seconds] = None) -> Optional[bytes]:
        """The value of a key; awaits fill(key) if this is the caller that fills it, as Cache.fetch. If the store
        cannot be reached, or a writer holds the key, it awaits fill(key) too, and stores nothing.

        wait  seconds to wait for the fill of another; without it, the option `wait` of the cache
        """
        checked(self, AioCache.fetch, check_function, fill, "fill")
        claim: Optional[AioClaim] = None
        try:
            claim = await begun("fetch", AioCache._look_plan, self, key, tags, self._wait if wait is None else wait)
        except Error as error:
            if is_closed(self) or not may_fill(error):
                raise
        if claim is None:
            return await self._read_source(key, fill)
        if not claim.mine:
            return claim.value
        try:
            value = await self._read_source(key, fill)
        except Exception as error:
            with contextlib.suppress(Error):
                await to_its_end(begun("fetch", ClaimBase._fail_plan, claim, describe(error)))
            if claim.value is not None:
                return claim.value
            raise
        except BaseException:  # cancelled: the next caller fills the key
            with contextlib.suppress(Error):
                await to_its_end(begun("fetch", ClaimBase._release_plan, claim))
            raise
        await self._store(claim, value)
        return value

    @property
    def _wait(self) -> float:
        """How long a fetch waits for the fill of another caller, in seconds."""
        options = self._opened.options
        wait_ms: int = options.wait_ms or (options.fill_ms or FILL_MS) + WAIT_MORE_MS
        return wait_ms / 1000

    async def _read_source(self, key: Bytes, fill: AwaitedFill) -> Optional[bytes]:
        awaitable = fill(encode(key))
        checked(self, AioCache.fetch, check_awaitable, awaitable, "fill")
        filled = await awaitable
        return None if filled is None else checked(self, AioCache.fetch, encode_returned, filled, "fill")

    async def _store(self, claim: AioClaim, value: Optional[bytes]) -> None:
        """A value that the store does not take is the caller's all the same, unless it is larger than any cache
        accepts: C refuses this before a request, and the claim stays."""
        try:
            await to_its_end(begun("fetch", ClaimBase._put_plan, claim, value))
        except TooBig:
            if not claim._claim.mine:
                return
            with contextlib.suppress(Error):
                await to_its_end(begun("fetch", ClaimBase._release_plan, claim))
            raise
        except Error:
            pass

    def cached(self, key: Callable[P, Bytes], tags: Optional[Callable[P, Iterable[Bytes]]] = None
               ) -> Callable[[Callable[P, Awaitable[Optional[Bytes]]]],
                             Callable[P, Awaitable[Optional[bytes]]]]:
        """A decorator of a coroutine function, as Cache.cached.

        >>> @s.aio.cache("pages").cached(key=lambda user: f"/user/{user}")
        ... async def render(user):
        ...     return f"<html>{user}"
        >>> asyncio.run(render(8))
        b'<html>8'
        """
        checked(self, type(self).cached, check_function, key, "key")

        def decorate(function: Callable[P, Awaitable[Optional[Bytes]]]
                     ) -> Callable[P, Awaitable[Optional[bytes]]]:
            @functools.wraps(function)
            async def fetch(*args: P.args, **kwargs: P.kwargs) -> Optional[bytes]:
                return await self.fetch(key(*args, **kwargs), lambda _: function(*args, **kwargs),
                                        tags(*args, **kwargs) if tags is not None else ())
            return fetch
        return decorate
