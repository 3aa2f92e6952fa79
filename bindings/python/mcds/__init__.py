"""mcds: data structures on memcached's commands, shared by processes and machines.

    with mcds.open("memcached://cache1,cache2") as s:
        s.counter("page:home").add(1)

Objects that one Store makes with the same name and options share a handle, and what the handle knows: a new object may
report that the store has lost what another one has used.
"""

from .aio import Aio
from .aio_lock import AioLease, AioLock
from .array import AioArray, Array, PipelineArray
from .cache import AioCache, AioClaim, Cache, Claim, PipelineCache
from .counter import (AioCounter, AioSumCounter, Counter, CounterValue, PipelineCounter,
                      PipelineSumCounter, SumCounter)
from .errors import (Ambiguous, Busy, Corrupt, Error, Exists, Expired, Full, Invalid, Io, Lost,
                     NoMemory, NotFound, Overflow, Protocol, Timeout, TooBig, TooFuture, TooOld,
                     Unavailable, Unsupported)
from .ids import AioIds, Ids, PipelineIds
from .limit import AioLimit, Limit, LimitForm, LimitValue, PipelineLimit, Take
from .list import AioList, List, PipelineList
from .lock import Holder, Lease, Lock, PipelineLock
from .log import AioLog, Event, Log, LogCursor, PipelineLog
from .once import AioOnce, AioRun, Once, OnceState, PipelineOnce, Run
from .pipeline import Pipeline, Result
from .queue import AioJob, AioQueue, Job, JobEntry, JobState, PipelineQueue, Queue, QueueCounts
from .semaphore import (AioPermit, AioSemaphore, Permit, PermitHolder, PipelineSemaphore,
                        Semaphore)
from .set import AioBag, AioSet, Bag, PipelineSet, Sequence, Set
from .store import Finding, Store, open, version
from .table import AioTable, Cursor, PipelineTable, Table
from .views import AioViews, PipelineViews, Views
from .visitors import (AioOnline, AioVisitors, Members, Online, OnlineValue, PipelineOnline,
                       PipelineVisitors, Visitors, VisitorsValue)

__version__ = version()

__all__ = [
    "Aio", "AioArray", "AioBag", "AioCache", "AioClaim", "AioCounter", "AioIds", "AioJob", "AioLease",
    "AioLimit", "AioList", "AioLock", "AioLog", "AioOnce", "AioOnline", "AioPermit", "AioQueue",
    "AioRun", "AioSemaphore", "AioSet", "AioSumCounter", "AioTable", "AioViews", "AioVisitors",
    "Ambiguous", "Array", "Bag", "Busy", "Cache", "Claim", "Corrupt", "Counter", "CounterValue",
    "Cursor", "Error", "Event", "Exists", "Expired", "Finding", "Full", "Holder", "Ids",
    "Invalid", "Io", "Job", "JobEntry", "JobState", "Lease", "Limit", "LimitForm", "LimitValue",
    "List", "Lock", "Log", "LogCursor", "Lost", "Members", "NoMemory", "NotFound", "Once",
    "OnceState", "Online", "OnlineValue", "Overflow", "Permit", "PermitHolder", "Pipeline",
    "PipelineArray", "PipelineCache", "PipelineCounter", "PipelineIds", "PipelineLimit",
    "PipelineList", "PipelineLock", "PipelineLog", "PipelineOnce", "PipelineOnline",
    "PipelineQueue", "PipelineSemaphore", "PipelineSet", "PipelineSumCounter", "PipelineTable",
    "PipelineViews", "PipelineVisitors", "Protocol", "Queue", "QueueCounts", "Result", "Run",
    "Semaphore", "Sequence", "Set", "Store", "SumCounter", "Table", "Take", "Timeout", "TooBig",
    "TooFuture", "TooOld", "Unavailable", "Unsupported", "Views", "Visitors", "VisitorsValue",
    "open", "version",
]
