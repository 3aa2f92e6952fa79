/* mcds/counter.h: a number that many handles add to. mcds.h has the rules of all calls. */
#ifndef MCDS_COUNTER_H
#define MCDS_COUNTER_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A number that many handles add to. It takes one key, or `stripes` keys. The value of a key is a
 * number in the text form of memcached's incr command. The client flags of the key hold the
 * second in which the key was made.
 *
 * Promise: each add counts at most once. An add whose reply was lost returns MCDS_AMBIGUOUS and
 * is not repeated.
 *
 * With MCDS_COUNTER_EXACT, each add counts exactly once, even if replies are lost, connections
 * break and writers die. The handle sums its adds and writes the sum to the store in one round
 * trip (a flush). The value may go up and down.
 *  - An add is as durable as the store when a flush that began after it has returned MCDS_OK. An
 *    add flushes when `flush_ms` have passed since the last flush; mcds_counter_flush flushes at
 *    any time. No background thread flushes.
 *  - Adds that were not flushed are lost when the process ends. After a failed flush, the handle
 *    keeps the adds, and the next flush writes them once: do not add them again.
 *  - When a server has lost the counter, each open handle restores the adds that it made since it
 *    was opened, or since it was last idle for a minute. The adds of closed handles are lost, and
 *    `reborn` is set for each handle that had seen them. A handle that first reads the counter
 *    after the loss usually cannot detect the loss. It gets `reborn` only if the counter's first
 *    key is lost and other keys remain.
 *  - Each handle that flushes is a writer. Up to 63 writers have a key of their own. Further
 *    writers share keys and need more round trips.
 * With `copies` = R the counter is kept on R servers. A flush succeeds when a majority of them
 * has stored it. A read succeeds when a majority has answered. Any minority of the servers may be
 * killed and may restart empty without loss. The next get fills a server that restarted empty;
 * until then it counts as unavailable. While one of these servers does not answer, each handle that
 * adds and is then closed leaves an entry. After 4 000 such handles with three copies, 2 200 with
 * five and 1 600 with seven, the adds of new handles return MCDS_UNAVAILABLE or MCDS_TIMEOUT until
 * the server answers or has restarted. */
typedef struct mcds_counter mcds_counter;

typedef enum mcds_counter_flag {
    /* Deltas and the value may be negative. Plain counters only grow: a negative delta is
     * MCDS_INVALID. Handles with and without SIGNED can read and add to the same counter. */
    MCDS_COUNTER_SIGNED = 1,
    /* A call returns MCDS_LOST if the key of a counter that this handle has seen is gone or was
     * made again. A counter that was made, lost and made again within one second of the clocks
     * looks like the first one. Costs one more request in the same round trip. */
    MCDS_COUNTER_STRICT = 2,
    /* Each add counts exactly once; see above. */
    MCDS_COUNTER_EXACT = 4
} mcds_counter_flag;

typedef struct mcds_counter_options {
    size_t size;    /* sizeof(mcds_counter_options) */
    uint32_t flags; /* mcds_counter_flag */
    /* 1..32 keys that share the load; 0 = 1. Stored with the counter. The first call on a handle
     * with another number returns MCDS_INVALID. A handle with 1 stripe does not read the stored
     * options. It finds no number under its key and returns MCDS_CORRUPT. */
    uint32_t stripes;
    /* The counter expires when this time has passed since it was made; at most 366 days; 0 =
     * never. */
    uint64_t ttl_ms;
    /* Only for EXACT, which has no stripes and no ttl; other counters ignore flush_ms: */
    uint32_t copies; /* 1..7 servers; 0 = 1. More than 1 implies EXACT. */
    /* An add flushes if this time has passed since the last flush; at most 3 600 000; 0 = 100;
     * MCDS_COUNTER_FLUSH_EACH: each add flushes. */
    uint32_t flush_ms;
} mcds_counter_options;
#define MCDS_COUNTER_FLUSH_EACH UINT32_MAX
#define MCDS_COUNTER_OPTIONS_INIT                                                              \
    {                                                                                          \
        sizeof(mcds_counter_options), 0, 0, 0, 0, 0                                            \
    }

#define MCDS_COUNTER_MAX (INT64_C(1) << 61) /* |value| and |delta| stay below */

typedef struct mcds_counter_value {
    size_t size; /* sizeof(mcds_counter_value) */
    int64_t value;
    uint32_t since_s; /* second (Unix time) in which the oldest stripe was made; EXACT: 0 */
    /* The counter was lost since this handle saw it, and made again in another second. Counts are
     * lost. */
    bool reborn;
    bool reserved[3];
    /* Milliseconds until the counter expires, or until the first of its stripes does; -1: it does
     * not expire; -2: the store does not report the time. */
    int64_t ttl_ms;
} mcds_counter_value;
#define MCDS_COUNTER_VALUE_INIT                                                                \
    {                                                                                          \
        sizeof(mcds_counter_value), 0, 0, false, {false, false, false}, 0                      \
    }

/* Opens a counter.
 * Arguments:   counter_out  the handle
 * Returns:     MCDS_OK
 *              MCDS_INVALID      an option is out of its range, or two exclude each other
 *              MCDS_UNSUPPORTED  EXACT: the store has fewer servers than `copies`
 *              MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_counter_open(mcds_store *store, const char *name,
                                            const mcds_counter_options *options,
                                            mcds_counter **counter_out);
/* Closes the handle. EXACT: tries to flush the adds that are left and to free the writer's key
 * for other handles. It does not report a failure of this: call mcds_counter_flush first. If
 * an add or a flush in a pipeline is flushing this handle, the call does not wait: that operation
 * then flushes all adds that are left. If the operation fails or its pipeline is
 * closed, these adds are lost.
 * Arguments:   counter  NULL is allowed
 * Cost:        none; EXACT: that of a flush, at most the store's timeout
 * Lost reply:  EXACT: the adds since the last flush count once or not at all */
MCDS_API void mcds_counter_close(mcds_counter *counter);

/* Reads the options that a counter was made with: stripes, copies and the flag EXACT. Sets the flag
 * SIGNED for a counter with 1 stripe that is signed. Nothing else is changed. The counter can be
 * opened with the result.
 * Arguments:   options  in and out; not NULL
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such counter. With copies, a minority of the servers
 *              may be away or have returned empty
 * Cost:        1; on several servers 2 if the server that the name selects has no such counter
 *              or does not answer */
MCDS_API MCDS_CHECKED int mcds_counter_made_with(mcds_store *store, const char *name,
                                                 mcds_counter_options *options);

/* Adds `delta`. Makes the counter if it does not exist.
 * Arguments:   delta      |delta| < MCDS_COUNTER_MAX; negative only with SIGNED or EXACT
 *              value_out  the value directly after this add; NULL is allowed. It must be NULL for
 *                         striped and EXACT counters
 * Returns:     MCDS_OK         counted once; EXACT: counted in the handle; EXACT with FLUSH_EACH:
 *                              counted in the handle and in the store
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_OVERFLOW   the value would leave its range; not counted. Also if the handle
 *                              is without SIGNED, and the counter is signed and below -2^60
 *              MCDS_CORRUPT    the key does not hold a number; not counted
 *              MCDS_LOST       STRICT: the counter was lost since this handle saw it. The result
 *                              stays MCDS_LOST until this handle drops the counter. SIGNED: the
 *                              counter was lost and then made again without SIGNED; the
 *                              subtraction stopped at zero
 *              MCDS_BUSY       the key kept vanishing; not counted
 *              EXACT: the range applies to the sum of one handle. If the total of several handles
 *              leaves the range, mcds_counter_get returns MCDS_OVERFLOW until an add brings the
 *              total back. With FLUSH_EACH, an add that returns a failure is not counted. Without
 *              FLUSH_EACH, an add that returns MCDS_INVALID, MCDS_UNSUPPORTED or MCDS_CORRUPT is
 *              counted in the handle; its flush found that this counter cannot be used with these
 *              options.
 * Cost:        1. One more for the add that makes the counter, for the first subtraction of a
 *              handle that has not seen the counter, and for a handle's first add to stripes.
 *              EXACT: 0, or that of a flush
 * Lost reply:  MCDS_AMBIGUOUS: counted once or not at all. Not repeated. In a pipeline, the reply
 *              may also be lost at the deadline of another operation: mcds/pipeline.h. EXACT with
 *              FLUSH_EACH: counted in the handle; the next flush writes it once */
MCDS_API MCDS_CHECKED int mcds_counter_add(mcds_counter *counter, int64_t delta,
                                           int64_t *value_out);
MCDS_API MCDS_CHECKED int mcds_counter_add_start(mcds_counter *counter, int64_t delta,
                                                 int64_t *value_out, mcds_pipeline *pipeline,
                                                 uint64_t tag);

/* EXACT: writes to the store everything that any thread added before this call.
 * Returns:     MCDS_OK           all of it is in the store; also for counters that are not EXACT
 *              MCDS_AMBIGUOUS    see below
 *              MCDS_BUSY         other callers kept changing the key
 *              MCDS_UNAVAILABLE  also: too few servers
 *              MCDS_INVALID      the counter was made without EXACT, or with other copies
 *              MCDS_UNSUPPORTED  also: there are fewer servers than copies
 *              After a failure the handle keeps the adds that were not written.
 * Cost:        1; 2 for a handle's first flush, 3 for the first flush of the counter; 0 when
 *              there is nothing to write. More while other handles write to the same key
 * Lost reply:  MCDS_AMBIGUOUS: a part of the adds may be in the store; the handle keeps the rest.
 *              Call again: nothing counts twice */
MCDS_API MCDS_CHECKED int mcds_counter_flush(mcds_counter *counter);
MCDS_API MCDS_CHECKED int mcds_counter_flush_start(mcds_counter *counter,
                                                   mcds_pipeline *pipeline, uint64_t tag);

/* Reads the value. Striped and EXACT: the result lies between the true values at the beginning
 * and at the end of the call. EXACT: the result includes adds that this handle has not flushed,
 * and excludes adds that other handles have not flushed.
 * Arguments:   value_out  filled
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  never made, or lost before this handle saw it
 *              MCDS_LOST       this handle saw the counter, and it is gone; STRICT: or it was
 *                              made again
 *              MCDS_OVERFLOW   the sum leaves its range
 *              MCDS_CORRUPT    a key does not hold a number
 * Cost:        1; 2 for a handle's first get with stripes */
MCDS_API MCDS_CHECKED int mcds_counter_get(mcds_counter *counter,
                                           mcds_counter_value *value_out);
MCDS_API MCDS_CHECKED int mcds_counter_get_start(mcds_counter *counter,
                                                 mcds_counter_value *value_out,
                                                 mcds_pipeline *pipeline, uint64_t tag);

/* Reads the value and sets it to zero by compare-and-set, so that no add is lost. Concurrent
 * calls take different parts. EXACT counters return MCDS_UNSUPPORTED, because two calls could
 * take the same part: hold a lock, get the value, add its negative and flush.
 * Arguments:   taken_out  the value that was taken; after MCDS_AMBIGUOUS, the value that may have
 *                         been taken
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND    no such counter
 *              MCDS_AMBIGUOUS    see below
 *              MCDS_BUSY         other callers kept changing it until the timeout
 *              MCDS_LOST, MCDS_OVERFLOW, MCDS_CORRUPT  as for mcds_counter_add
 *              MCDS_UNSUPPORTED  EXACT, or a store without compare-and-set
 * Cost:        2; 1 if there is nothing to take
 * Lost reply:  MCDS_AMBIGUOUS: each key of the counter is zero, or unchanged */
MCDS_API MCDS_CHECKED int mcds_counter_take(mcds_counter *counter, int64_t *taken_out);
MCDS_API MCDS_CHECKED int mcds_counter_take_start(mcds_counter *counter, int64_t *taken_out,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* Erases the counter. EXACT: what other open handles had flushed is gone for good. The adds that they
 * had not flushed count afterwards, with the next flush. This holds for a handle that calls within
 * a day after the drop; a later call takes the drop for a loss.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  no such counter
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the counter was made in another form; a handle with one stripe
 *                              returns MCDS_CORRUPT. Nothing is erased
 * Cost:        1 to 3
 * Lost reply:  MCDS_AMBIGUOUS: all of it is erased, a part, nothing, or not yet; call again */
MCDS_API int mcds_counter_drop(mcds_counter *counter);
MCDS_API MCDS_CHECKED int mcds_counter_drop_start(mcds_counter *counter,
                                                  mcds_pipeline *pipeline, uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
