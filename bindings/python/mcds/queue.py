"""Jobs that workers take in turn."""

from __future__ import annotations

import enum
import time
from typing import Any, AsyncIterator, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from ._binding import ffi, lib
from .arguments import as_integer, check_type
from .block import surely, to_its_end
from .core import Bound, Core, Opened
from .encoding import encode_text
from .errors import Error, Lost, brief, error_of, locate, needing, note, of_another, shown_name
from .helping import named
from .plan import (NOT_FOUND, Bytes, Plan, Seconds, Structure, as_array, as_bytes, as_ms, as_short_ms,
                   as_short_option_ms, awaited, begun, called, checked, encode_name, new_options, new_sized,
                   new_value, planned, read_value, started, take_found, take_none, waiting)
from .stream import collect_job, read_all


class JobState(enum.IntEnum):
    """What becomes of a job next."""

    WAITING = lib.MCDS_JOB_WAITING  #: a worker may claim it
    DELAYED = lib.MCDS_JOB_DELAYED
    CLAIMED = lib.MCDS_JOB_CLAIMED
    DEAD = lib.MCDS_JOB_DEAD  #: claimed too often


class DeadId(bytes):
    """The id of a dead job. It knows its queue, also in another process that has got it by pickle."""

    _queue: bytes


class JobEntry(NamedTuple):
    """A job as a scan sees it.

    data   its bytes
    state  waiting, delayed, claimed or dead
    tries  claims so far
    time   seconds until a delayed job is due, or a claim ends; else 0
    id     of a dead job, for `discard` of the same queue; else empty
    """

    data: bytes
    state: JobState
    tries: int
    time: float
    id: bytes


class QueueCounts(NamedTuple):
    """How many jobs there are.

    waiting  jobs that a worker may claim now
    delayed  jobs that a worker may claim later
    claimed  jobs that a worker has
    dead     jobs that were claimed too often
    """

    waiting: int
    delayed: int
    claimed: int
    dead: int


def open_queue(core: Core, name: Bytes, *, visible: Optional[Seconds] = None, tries: int = 0,
               may_lose: bool = False, stripes: int = 0) -> Opened:
    """Jobs that workers take in turn, each until one is done with it.

    visible   how long a claim lasts (60 seconds)
    tries     after this many claims without a done, a job is kept among the dead (0: no limit)
    may_lose  needed on memcached, which may evict jobs
    stripes   1 to 32, for many workers: about one for eight. Jobs of different stripes come in any
              order. 0: the number of the queue, or 1 if this handle makes it. push, next and scan of
              a handle with another number raise Invalid, and change nothing

    >>> thumbs = s.queue("thumbs", visible=300, tries=3)
    >>> thumbs.push("cat.jpg")
    >>> with thumbs.next() as job:
    ...     job.data
    b'cat.jpg'
    >>> thumbs.count()
    QueueCounts(waiting=0, delayed=0, claimed=0, dead=0)

    `next` returns None if no job is due, and a with statement needs a job: use it only where one must
    be there. A worker loops over `jobs`, or tests what `next` returns.
    """
    options = {"visible_ms": as_short_option_ms(visible, "visible"), "tries": as_integer(tries, "tries"),
               "flags": lib.MCDS_QUEUE_MAY_LOSE if may_lose else 0, "stripes": as_integer(stripes, "stripes")}
    return core.open("queue", encode_name(name), new_options("mcds_queue_options", **options),
                     tuple(options.values()), options["tries"])


class JobBase(Bound):
    """A claim of one job. Only one thread may use it at a time."""

    def __init__(self, plans: "QueuePlans", job: Any, data: bytes) -> None:
        self._plans = plans
        self._job = job
        self.data = data
        self.tries = int(job.tries)  #: claims of the job so far, this one included

    @property
    def held(self) -> bool:
        """Whether nothing was said about the job yet. Raises Invalid in a child of the process that has
        claimed the job; there, use `queue.job(job.receipt)` of a store that the child has opened."""
        self._plans._opened.check_process()
        return bool(self._job.is_held)

    def _check_held(self, verb: str) -> None:
        if not self.held:
            raise needing(self._plans._opened, verb, "a job that is held")

    @property
    def was_lost(self) -> bool:
        """Whether the claim had ended before `next(after=job)` reported that the job is done."""
        return bool(self._job.was_lost)

    @property
    def deadline(self) -> Optional[float]:
        """When the claim ends: seconds of `time.clock_gettime(time.CLOCK_BOOTTIME)`. None: nothing is
        held, or the claim comes from a receipt and `longer` was not called. Raises Invalid in a child, as
        `held`."""
        ns = int(self._job.deadline_ns)
        return ns / 1e9 if self.held and ns > 0 else None

    @property
    def remaining(self) -> Optional[float]:
        """Seconds until the claim ends, 0 after its end; None and Invalid as for `deadline`."""
        deadline = self.deadline
        if deadline is None:
            return None
        return max(0.0, deadline - time.clock_gettime(time.CLOCK_BOOTTIME))

    @property
    def receipt(self) -> str:
        """Text with which another process can end or extend the claim: `queue.job(receipt)`. It is
        empty when something was said about the job."""
        out = ffi.new("char[]", lib.MCDS_QUEUE_JOB_TEXT)
        lib.mcds_queue_job_save(self._job, out)
        return str(ffi.string(out).decode())

    def __repr__(self) -> str:
        return f"<mcds.{type(self).__name__} {brief(self.data)}>"


class QueuePlans(Structure):
    #: What next returns.
    _job_type: Any = JobBase

    def _push(self, job: Bytes, delay: Optional[Seconds] = None) -> Plan[None]:
        """Add a job at the end, due after the delay by the clock of this machine; without a delay, at once
        for each worker, whatever its clock shows. Exactly once, also where a reply is lost."""
        return Plan(lib.mcds_queue_push, lib.mcds_queue_push_start,
                    (self._opened.handle, as_bytes(job), as_ms(delay, "delay")), take_none)

    def _push_many(self, jobs: Iterable[Bytes], delay: Optional[Seconds] = None) -> Plan[None]:
        """Add jobs in their order; those of others may come between them."""
        array, kept = as_array(jobs, "jobs")
        return Plan(lib.mcds_queue_push_many, lib.mcds_queue_push_many_start,
                    (self._opened.handle, array, len(kept), as_ms(delay, "delay"), ffi.NULL), take_none,
                    (array, kept))

    def _push_dead(self, job: Bytes, tries: int = 1) -> Plan[None]:
        """Add a dead job that was claimed `tries` times, for instance one of another queue."""
        return Plan(lib.mcds_queue_push_dead, lib.mcds_queue_push_dead_start,
                    (self._opened.handle, as_bytes(job), as_integer(tries, "tries")), take_none)

    def _next(self, wait: Optional[Seconds] = None, after: Optional[JobBase] = None) -> Plan[Any]:
        """The first job that is due, claimed; None: there was none within `wait` seconds. So `with
        queue.next() as job` fails where no job is due; `jobs` ends there.

        If the call is interrupted or cancelled, a job that its request under way claims is given
        back. The job loses a try. At its last try, it is pushed again. If the reply to that
        request is late, the job is due again after `visible`.

        after  a job of this queue that this worker has done: the same request ends it. Its
               `was_lost` is then true if its claim had ended before
        """
        if after is not None:
            check_type(after, JobBase, "after")
            if after._plans._opened.name != self._opened.name:
                raise of_another(self._opened, "next", "job", after._plans._opened.name)
        value = new_value()
        job = ffi.new("mcds_job *", after._job[0] if after is not None else {})

        def give_back(code: int, handle: Any) -> Iterator[Plan[Any]]:
            if not job.is_held or after is not None and is_same(job, after._job):
                return
            queue: QueuePlans = self._with(handle)
            claimed = JobBase(queue, job, read_value(value))
            if claimed.tries != self._opened.kept:
                yield queue._again(claimed)
                return
            yield queue._push(claimed.data)
            yield queue._done(claimed)

        def take(code: int, out: Any) -> Optional[JobBase]:
            if after is not None and (code in (0, NOT_FOUND) or not job.is_held):
                after._job.is_held = False
                after._job.was_lost, job.was_lost = job.was_lost, False
            if code == NOT_FOUND:
                return None
            if code != 0:
                raise error_of(code)
            found: JobBase = self._job_type(self, job, read_value(value))
            return found

        return Plan(lib.mcds_queue_next, lib.mcds_queue_next_start,
                    (self._opened.handle, as_short_ms(wait, "wait"), job, value), take, (job, value),
                    waits=bool(wait), give_back=give_back, repeats=True)

    def job(self, receipt: Bytes) -> Any:
        """The claim of another process, to end or to extend it. It has no data. The receipt must be of a job of
        this queue: else `done`, `again`, `longer` and `next(after=)` raise Invalid, and change nothing."""
        job = ffi.new("mcds_job *")
        text = checked(self, QueuePlans.job, encode_text, receipt, "receipt")
        code = lib.mcds_queue_job_load(job, text)
        if code != 0:
            error = error_of(code)
            locate(error, "queue", shown_name(self._opened.name), "job", error.reason)
            raise error
        return self._job_type(self, job, b"")

    def _done(self, job: JobBase) -> Plan[None]:
        """Report that the job is done. Lost: it is done, but the claim had ended before. If it has
        become a dead job, it is erased. Invalid: nothing is held, or the job is of another queue."""
        check_type(job, JobBase, "job")
        return Plan(lib.mcds_queue_done, lib.mcds_queue_done_start,
                    (self._opened.handle, job._job), take_none, job)

    def _again(self, job: JobBase, delay: Optional[Seconds] = None) -> Plan[None]:
        """Give the job back; it is due after the delay, or dead after its last try. Lost: the claim
        had ended. Invalid: nothing is held, or the job is of another queue."""
        check_type(job, JobBase, "job")
        return Plan(lib.mcds_queue_again, lib.mcds_queue_again_start,
                    (self._opened.handle, job._job, as_ms(delay, "delay")), take_none, job)

    def _longer(self, job: JobBase) -> Plan[None]:
        """Extend the claim to `visible` from now, unless it already lasts longer. Lost: the claim had
        ended. Invalid: nothing is held, or the job is of another queue."""
        check_type(job, JobBase, "job")
        return Plan(lib.mcds_queue_longer, lib.mcds_queue_longer_start,
                    (self._opened.handle, job._job), take_none, job)

    def _count(self) -> Plan[QueueCounts]:
        """How many jobs there are."""
        out = new_sized("mcds_queue_counts")

        def take(code: int, counts: Any) -> QueueCounts:
            if code not in (0, NOT_FOUND):
                raise error_of(code)
            return QueueCounts(int(counts.waiting), int(counts.delayed), int(counts.claimed),
                               int(counts.dead))

        return Plan(lib.mcds_queue_count, lib.mcds_queue_count_start, (self._opened.handle, out),
                    take, out)

    def _scan(self, limit: int = 0) -> Plan[List[JobEntry]]:
        """The jobs in the order of their pushes, at most `limit` (0: all). Claims none.

        Of a queue with several stripes, the jobs of one stripe come after those of another.
        """
        return read_all(self, lib.mcds_queue_scan, lib.mcds_queue_scan_start,
                        (as_integer(limit, "limit"),), collect_job, self._read_entry)

    def _dead(self, limit: int = 0) -> Plan[List[JobEntry]]:
        """The dead jobs, in no order, at most `limit` (0: all)."""
        return read_all(self, lib.mcds_queue_dead, lib.mcds_queue_dead_start,
                        (as_integer(limit, "limit"),), collect_job, self._read_entry)

    def _discard(self, id: bytes) -> Plan[bool]:
        """Erase a dead job by the `id` of its entry. False: there is no such job. `retry` pushes the job first.
        Invalid: the id is of another queue."""
        self._check_own(id, "discard")
        return Plan(lib.mcds_queue_discard, lib.mcds_queue_discard_start,
                    (self._opened.handle, as_bytes(id)), take_found)

    def _read_entry(self, record: Tuple[int, int, bytes, bytes]) -> JobEntry:
        first, ms, id_, data = record
        dead = DeadId(id_)
        dead._queue = self._opened.name
        return JobEntry(data, JobState(first >> 32), first & 0xFFFFFFFF, ms / 1000, dead if id_ else id_)

    def _check_own(self, id: bytes, verb: str) -> None:
        """Refuse the id of a dead job of another queue."""
        queue = getattr(id, "_queue", self._opened.name)
        if queue != self._opened.name:
            raise of_another(self._opened, verb, "dead job", queue)

    def _check_entry(self, dead: JobEntry) -> None:
        """For retry: nothing is pushed for a job that is not dead, or is of another queue."""
        checked(self, Queue.retry, check_type, dead, JobEntry, "dead")
        if not dead.id:
            raise needing(self._opened, "retry", "a dead job")
        self._check_own(dead.id, "retry")

    def _drop(self) -> Plan[bool]:
        """Erase the queue with all its jobs. False: there was none."""
        return Plan(lib.mcds_queue_drop, lib.mcds_queue_drop_start, (self._opened.handle,),
                    take_found)


def is_same(job: Any, other: Any) -> bool:
    """Whether both are the same claim."""
    return bool((job.incarnation, job.part, job.number, job.tries)
                == (other.incarnation, other.part, other.number, other.tries))


class Job(JobBase):
    """A claim of one job. The end of a with block reports the job done or, after an exception, gives it back.

    If `done`, `again` or `longer` raises Lost and the job is still held, nothing was changed: the call has reported
    that the store had lost an earlier queue of this name. Repeat the call. The end of a with block repeats it by
    itself."""

    def done(self) -> None:
        """Report that the job is done. Lost: it is done, but the claim had ended before. If it has
        become a dead job, it is erased. Invalid: nothing is held, or the job is of another queue."""
        planned(QueuePlans._done, self._plans, (self,), {}).wait()

    def again(self, delay: Optional[Seconds] = None) -> None:
        """Give the job back; it is due after the delay, or dead after its last try. Lost: the claim
        had ended. Invalid: nothing is held, or the job is of another queue."""
        planned(QueuePlans._again, self._plans, (self, delay), {}).wait()

    def longer(self) -> None:
        """Extend the claim to `visible` from now, unless it already lasts longer. Lost: the claim had
        ended. Invalid: nothing is held, or the job is of another queue."""
        planned(QueuePlans._longer, self._plans, (self,), {}).wait()

    def __enter__(self) -> "Job":
        self._check_held("__enter__")
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            self._end(kind)
        except Error as failure:
            if error is None:
                raise
            note(error, [failure])
        except BaseException:  # of a signal handler
            surely(lambda: self._end(kind))
            raise

    def _end(self, kind: Any) -> None:
        if self.held:
            try:
                self._say(kind)
            except Lost:
                if self.held:
                    self._say(kind)
                raise

    def _say(self, kind: Any) -> None:
        self.done() if kind is None else self.again()


class AioJob(JobBase):
    """A claim of one job, whose operations are awaited."""

    def done(self) -> Any:
        """Report that the job is done. Lost: it is done, but the claim had ended before. If it has
        become a dead job, it is erased. Invalid: nothing is held, or the job is of another queue."""
        return self._plans._runner._start(planned(QueuePlans._done, self._plans, (self,), {}))

    def again(self, delay: Optional[Seconds] = None) -> Any:
        """Give the job back; it is due after the delay, or dead after its last try. Lost: the claim
        had ended. Invalid: nothing is held, or the job is of another queue."""
        return self._plans._runner._start(planned(QueuePlans._again, self._plans, (self, delay), {}))

    def longer(self) -> Any:
        """Extend the claim to `visible` from now, unless it already lasts longer. Lost: the claim had
        ended. Invalid: nothing is held, or the job is of another queue."""
        return self._plans._runner._start(planned(QueuePlans._longer, self._plans, (self,), {}))

    async def __aenter__(self) -> "AioJob":
        self._check_held("__aenter__")
        return self

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            await self._end(kind)
        except Error as failure:
            if error is None:
                raise
            note(error, [failure])

    async def _end(self, kind: Any) -> None:
        if self.held:
            try:
                await to_its_end(self._say(kind))
            except Lost:
                if self.held:
                    await to_its_end(self._say(kind))
                raise

    def _say(self, kind: Any) -> Any:
        return self.done() if kind is None else self.again()


class Queue(QueuePlans):
    """Jobs that workers take in turn."""

    _job_type = Job
    push = waiting(QueuePlans._push)
    push_many = waiting(QueuePlans._push_many)
    push_dead = waiting(QueuePlans._push_dead)
    next = waiting(QueuePlans._next)
    count = waiting(QueuePlans._count)
    scan = waiting(QueuePlans._scan)
    dead = waiting(QueuePlans._dead)
    discard = waiting(QueuePlans._discard)
    drop = waiting(QueuePlans._drop)

    def retry(self, dead: JobEntry) -> bool:
        """Push a dead job again, and then erase the dead one. False: it was erased before, perhaps by
        another retry, so the job may be in the queue twice. Invalid, and nothing is pushed: the job is
        not dead, or is of another queue.

        >>> mails = s.queue("mails", tries=1)
        >>> mails.push("a")
        >>> mails.next().again()
        >>> [mails.retry(dead) for dead in mails.dead()]
        [True]
        >>> mails.count().waiting
        1
        """
        self._check_entry(dead)
        called("retry", QueuePlans._push, self, dead.data)
        return called("retry", QueuePlans._discard, self, dead.id)

    def jobs(self, wait: Optional[Seconds] = None) -> Iterator[Job]:
        """One job after the other, until none is due within `wait` seconds. The next round says that
        the job is done, with the same request that claims another. A job that the loop leaves by an
        exception or a break is due again when its claim ends.

        >>> mails = s.queue("mails")
        >>> mails.push_many(["a", "b"])
        >>> [job.data for job in mails.jobs()]
        [b'a', b'b']
        """
        checked(self, Queue.jobs, as_short_ms, wait, "wait")
        return self._jobs(wait)

    def _jobs(self, wait: Optional[Seconds]) -> Iterator[Job]:
        job: Optional[Job] = self._next_of_jobs(wait)
        while job is not None:
            yield job
            job = self._next_of_jobs(wait, job if job.held else None)

    _next_of_jobs: Any = waiting(named("jobs", QueuePlans._next))


class PipelineQueue(QueuePlans):
    """A queue in a pipeline. Operations of a pipeline have no order among each other."""

    _job_type = Job
    push = started(QueuePlans._push)
    push_many = started(QueuePlans._push_many)
    push_dead = started(QueuePlans._push_dead)
    next = started(QueuePlans._next)
    done = started(QueuePlans._done)
    again = started(QueuePlans._again)
    longer = started(QueuePlans._longer)
    count = started(QueuePlans._count)
    scan = started(QueuePlans._scan)
    dead = started(QueuePlans._dead)
    discard = started(QueuePlans._discard)
    drop = started(QueuePlans._drop)


class AioQueue(QueuePlans):
    """A queue whose operations are awaited."""

    _job_type = AioJob
    push = awaited(QueuePlans._push)
    push_many = awaited(QueuePlans._push_many)
    push_dead = awaited(QueuePlans._push_dead)
    next = awaited(QueuePlans._next)
    count = awaited(QueuePlans._count)
    scan = awaited(QueuePlans._scan)
    dead = awaited(QueuePlans._dead)
    discard = awaited(QueuePlans._discard)
    drop = awaited(QueuePlans._drop)

    async def retry(self, dead: JobEntry) -> bool:
        """Push a dead job again, and then erase the dead one; as of a Queue."""
        self._check_entry(dead)
        await begun("retry", QueuePlans._push, self, dead.data)
        erased: bool = await begun("retry", QueuePlans._discard, self, dead.id)
        return erased

    def jobs(self, wait: Optional[Seconds] = None) -> AsyncIterator[AioJob]:
        """One job after the other, until none is due within `wait` seconds; as of a Queue."""
        checked(self, AioQueue.jobs, as_short_ms, wait, "wait")
        return self._jobs(wait)

    async def _jobs(self, wait: Optional[Seconds]) -> AsyncIterator[AioJob]:
        job: Optional[AioJob] = await begun("jobs", QueuePlans._next, self, wait)
        while job is not None:
            yield job
            job = await begun("jobs", QueuePlans._next, self, wait, job if job.held else None)
