/* mcds/pipeline.h: many operations in flight at once. mcds.h has the rules of all calls. These
 * also apply to this header:
 *
 * Threads:     the thread of the pipeline. Another thread may take the pipeline over while no
 *              call uses it. */
#ifndef MCDS_PIPELINE_H
#define MCDS_PIPELINE_H

#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps many operations of any structures of one store in flight at once. Their requests travel
 * together: one write per server carries all of them. Operations are unordered, like the
 * operations of different threads. To order two operations, take the completion of the first
 * before you start the second. Operations that change the same key of a table or a set, or the
 * same array, run one after another. The timeout of an operation begins at its start. If an
 * operation cannot run in time, it returns MCDS_TIMEOUT and has changed nothing.
 *
 * The operations of a pipeline share the connections to a memcached server. If one of them has no
 * reply at its deadline, its connection is closed, because the server may be gone. The same
 * happens after half of the timeout of an operation that may be sent again: the other half is for
 * its second try. The replies to other operations that were sent on this connection are then lost,
 * although these operations still have time. Reads, and changes that are safe to repeat, are sent
 * again until their own timeout. Other changes, such as mcds_counter_add, end with MCDS_AMBIGUOUS,
 * and the sentence of mcds_errmsg names this cause.
 *
 * Drive each pipeline that has operations in flight: call mcds_pipeline_next or _poll until it is
 * idle. Calls, and operations of other pipelines, may wait for these operations if they use the
 * same handle of a table, a set or a queue, or the same exact counter. If nobody drives the
 * pipeline, a call that waits continues after a quarter of its timeout, and later calls usually do
 * not wait. A flush of an exact counter waits for its whole timeout, and returns MCDS_BUSY. Calls
 * that the visitor of a scan makes on the handle of this scan may wait in the same way.
 *
 *   for (uint64_t i = 0; i < count; i++) {
 *       result = mcds_counter_add_start(counter, 1, NULL, pipeline, i);
 *       ...
 *       while (mcds_pipeline_poll(pipeline, &done) == MCDS_OK)
 *           take(done.tag, done.result);
 *   }
 *   while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
 *       take(done.tag, done.result);
 *
 * The polling loop may be left out. The pipeline then keeps the results until the end.
 * examples/tally is a complete program. */
typedef struct mcds_pipeline mcds_pipeline;

typedef struct mcds_pipeline_options {
    size_t size;       /* sizeof(mcds_pipeline_options) */
    uint32_t depth;    /* most operations in flight, 1..65536; 0 = 128 */
    uint32_t reserved; /* 0 */
} mcds_pipeline_options;
#define MCDS_PIPELINE_OPTIONS_INIT                                                             \
    {                                                                                          \
        sizeof(mcds_pipeline_options), 0, 0                                                    \
    }

typedef struct mcds_completion {
    uint64_t tag;
    int result;
} mcds_completion;

/* Called by mcds/uv.h and mcds/event.h in the event loop for each finished operation. */
typedef void (*mcds_done_cb)(void *context, const mcds_completion *done);

/* Opens a pipeline.
 * Arguments:   pipeline_out  the pipeline
 * Returns:     MCDS_OK; MCDS_INVALID: `depth` is more than 65 536; MCDS_NO_MEMORY
 * Cost:        none
 * Threads:     any */
MCDS_API MCDS_CHECKED int mcds_pipeline_open(mcds_store *store,
                                             const mcds_pipeline_options *options,
                                             mcds_pipeline **pipeline_out);
/* Closes the pipeline. Operations in flight may or may not be applied; their completions are not
 * returned. Must not be called from a callback of an operation of this pipeline.
 * Arguments:   pipeline  NULL is allowed
 * Cost:        none; that of mcds_close if nothing else has the store open
 * Lifetime:    afterwards the library uses no output and no context of an operation */
MCDS_API void mcds_pipeline_close(mcds_pipeline *pipeline);

/* Waits for the next finished operation. X_start collects requests. This call sends them; X_start
 * sends them when it has collected about half of `depth` (on memory: and lmdb:, all of `depth`).
 * X_start waits while `depth` operations are unfinished. If the operation has failed,
 * mcds_errmsg() returns the reason after this call.
 *
 * While a server refuses connections or does not answer, an operation on it ends with
 * MCDS_UNAVAILABLE or MCDS_TIMEOUT after its whole timeout: mcds tries again until then, because
 * a restarted server may accept it. Operations that are in flight together wait together, so N of
 * them take about N / `depth` timeouts. A caller that must not wait stops at the first such
 * result, or shortens the timeout with mcds_limit_timeout.
 * Arguments:   done  the tag and the result of the operation
 * Returns:     MCDS_OK; MCDS_IDLE: nothing is in flight, and *done is untouched; MCDS_INVALID
 * Cost:        none of its own; it waits for the round trips of the operations */
MCDS_API MCDS_CHECKED int mcds_pipeline_next(mcds_pipeline *pipeline, mcds_completion *done);

/* Takes a finished operation without waiting. While a caller starts operations between its polls,
 * collected requests are kept for up to 1 ms, so that they travel together. The second of two
 * polls in a row sends them, and so does mcds_pipeline_prepare.
 * Arguments:   done  as of mcds_pipeline_next
 * Returns:     MCDS_OK; MCDS_PENDING: no operation has finished yet; MCDS_IDLE: nothing is in
 *              flight; MCDS_INVALID. *done is filled only after MCDS_OK.
 * Cost:        none of its own; it sends and receives, and does not wait. On memory: and lmdb: it
 *              does the work of the operations, and on lmdb: it waits for the disk and for
 *              writers of other processes. */
MCDS_API MCDS_CHECKED int mcds_pipeline_poll(mcds_pipeline *pipeline, mcds_completion *done);

/* Ends the wait of an operation whose result is no longer needed, for instance
 * mcds_queue_next_start with a long wait_ms. After this call the operation neither polls nor
 * tries again. Its requests that were sent or collected before are still answered, and their
 * changes may be made. If the server has answered a change, the operation may still read whether it
 * counts. Take its completion as usual. After MCDS_OK the operation has claimed what
 * it waited for: release the claim, or give it back. A wait for a job, a lock or a permit ends with
 * MCDS_TIMEOUT, and the sentence of mcds_errmsg says that the wait was ended. But if wait_ms had
 * already passed, or if the last reply was `no job` or `held`, the result is MCDS_NOT_FOUND or
 * MCDS_BUSY. Other operations end as when the timeout has passed, for instance with MCDS_TIMEOUT
 * or MCDS_BUSY.
 * Arguments:   tag  of the operation; if several operations have it, the wait of each ends
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no operation in flight has the tag, for instance because
 *              the operation has finished; MCDS_INVALID
 * Cost:        none; the call reads each operation of the pipeline */
MCDS_API MCDS_CHECKED int mcds_pipeline_end_wait(mcds_pipeline *pipeline, uint64_t tag);

/* Reports whether the pipeline has nothing to wait for.
 * Returns:     true if no operation is in flight and no completion is left to take, and for NULL
 * Cost:        none */
MCDS_API bool mcds_pipeline_is_idle(const mcds_pipeline *pipeline);

/* Returns the time at which the pipeline must run again even if no reply comes.
 * Returns:     the time of mcds_env.monotonic_ns at which the next sleeping operation resumes; 0:
 *              now, because there are unsent requests or completions to take; INT64_MAX: never,
 *              and for NULL
 * Cost:        none */
MCDS_API int64_t mcds_pipeline_wake_ns(const mcds_pipeline *pipeline);

/* X_start calls this function. The function must not use the pipeline. */
typedef void (*mcds_start_cb)(void *context);

/* Sets a function that wakes an event loop, so that the loop calls mcds_pipeline_prepare soon.
 * X_start calls the function for the first operation that is started after any of these:
 * mcds_pipeline_on_start, mcds_pipeline_prepare, or a mcds_pipeline_poll that returned no
 * completion. mcds/uv.h and mcds/event.h set it.
 * Arguments:   started  NULL: X_start calls nothing
 *              context  passed to `started`
 * Cost:        none */
MCDS_API void mcds_pipeline_on_start(mcds_pipeline *pipeline, mcds_start_cb started,
                                     void *context);

/* The events for which an event loop waits before it calls mcds_pipeline_poll again. */
typedef struct mcds_wait {
    size_t size;     /* sizeof(mcds_wait) */
    int fd;          /* readable when there is something to do. -1: poll does all the work; or
                        this process had no file descriptor left, and timeout_ms is short. A
                        number that is not -1 never changes while the pipeline is open */
    int timeout_ms;  /* wait at most this time; -1: wait for fd alone */
    int64_t wake_ns; /* timeout_ms as a time of the monotonic clock; INT64_MAX: no timeout */
} mcds_wait;
#define MCDS_WAIT_INIT                                                                         \
    {                                                                                          \
        sizeof(mcds_wait), -1, -1, 0                                                           \
    }
/* Sends the collected requests and returns the events to wait for. Call it before each wait.
 * mcds/poll.h, mcds/uv.h and mcds/event.h do this for poll(), libuv and libevent.
 * Arguments:   wait_out  NULL is allowed. After fork, in the child: fd -1, timeout_ms -1.
 * Cost:        none of its own. On memory: and lmdb: it does the work of the operations, as
 *              mcds_pipeline_poll does */
MCDS_API void mcds_pipeline_prepare(mcds_pipeline *pipeline, mcds_wait *wait_out);

#ifdef __cplusplus
}
#endif
#endif
