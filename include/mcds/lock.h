/* mcds/lock.h: locks with leases and fences. mcds.h has the rules of all calls. */
#ifndef MCDS_LOCK_H
#define MCDS_LOCK_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A lock with leases: one holder at a time in the store, until it releases or its lease expires.
 *
 * No lock with a time limit stops a suspended process from resuming too late. Therefore every
 * acquisition gets a fence, a number larger than every earlier fence of the lock. Pass it to the
 * resource that the lock protects, and let that resource refuse smaller fences. A server that
 * evicts or restarts can forget a lease; the next holder still gets a larger fence, and the old
 * holder gets MCDS_LOST.
 * The holder has all of lease_ms, less a margin for clocks. memcached may forget a key up to 2 s
 * early, so there the server keeps the lease 2 s longer: after a crash others wait up to 2 s more.
 * Source: leases, Gray and Cheriton, SOSP 1989. */
typedef struct mcds_lock mcds_lock;

typedef struct mcds_lock_options {
    size_t size;       /* sizeof(mcds_lock_options) */
    uint32_t lease_ms; /* 3 000 (memcached) or 50 (others) to 86 400 000; 0 = 15 000 */
    const char *label; /* names the holder to others; 0..200 bytes; NULL = "" */
} mcds_lock_options;
#define MCDS_LOCK_OPTIONS_INIT                                                                 \
    {                                                                                          \
        sizeof(mcds_lock_options), 0, NULL                                                     \
    }

/* One tenure of the lock. The caller owns it and begins with MCDS_LEASE_INIT. Used by one thread
 * at a time. Passed to X_start, it must live until the tag is returned. */
typedef struct mcds_lease {
    uint64_t fence;
    int64_t deadline_ns; /* monotonic clock: stop before this */
    /* private */
    uint64_t token[2];
    uint64_t extension;
    uint64_t cas_unique;
    uint64_t cas_connection;
    int64_t asked_ns;
    uint32_t state;
    uint32_t reserved[5];
} mcds_lease;
#define MCDS_LEASE_INIT                                                                        \
    {                                                                                          \
        0, 0, {0, 0}, 0, 0, 0, 0, 0,                                                           \
        {                                                                                      \
            0, 0, 0, 0, 0                                                                      \
        }                                                                                      \
    }

typedef struct mcds_lock_holder {
    size_t size; /* sizeof(mcds_lock_holder) */
    /* Newest fence drawn: the holder's, or that of a later attempt; 0: the store has lost it. */
    uint64_t fence;
    /* The lease ends within this time unless it is renewed; -1: the store does not report it. */
    int64_t remaining_ms;
    char label[208]; /* with a terminating NUL */
} mcds_lock_holder;
#define MCDS_LOCK_HOLDER_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_lock_holder), 0, 0, ""                                                     \
    }

/* Opens a lock.
 * Arguments:   lock_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: an option is out of its range; MCDS_UNSUPPORTED: the store
 *              has no expiry or no compare-and-set; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_lock_open(mcds_store *store, const char *name,
                                         const mcds_lock_options *options,
                                         mcds_lock **lock_out);
/* Closes the handle. Releases nothing: a lease that is held ends at its deadline.
 * Arguments:   lock  NULL is allowed
 * Cost:        none
 * Lifetime:    a lease may be used with another handle of the same lock */
MCDS_API void mcds_lock_close(mcds_lock *lock);

/* Tries once to acquire the lock. When a reply is lost, the call retries with the same token until
 * the timeout, so that a lost reply cannot lock the caller out.
 * Arguments:   lease  in and out; empty, or that of an acquisition that was MCDS_AMBIGUOUS
 * Returns:     MCDS_OK         the caller holds the lock until lease->deadline_ns
 *              MCDS_BUSY       another holder has it
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    also: the lease is held
 *              After any other failure the caller does not hold the lock, and never will.
 * Cost:        1; one more for the first acquisition of this name ever, and for one soon after a
 *              release where the store cannot compare and delete (classic servers)
 * Lost reply:  MCDS_AMBIGUOUS: the caller may hold the lock, or may get it later. Call again with
 *              the same lease, or release it
 * Threads:     any; a lease is used by one at a time */
MCDS_API MCDS_CHECKED int mcds_lock_try_acquire(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_try_acquire_start(mcds_lock *lock, mcds_lease *lease,
                                                      mcds_pipeline *pipeline, uint64_t tag);

/* Tries until the caller holds the lock or wait_ms have passed, also while the
 * server does not answer or is down. While another holder has the lock, the call polls it with one
 * small read at intervals with jitter. It takes at most wait_ms and the store's timeout.
 * Arguments:   wait_ms  0 to 86 400 000
 *              lease    as for mcds_lock_try_acquire
 * Returns:     as mcds_lock_try_acquire; MCDS_BUSY: wait_ms have passed
 * Cost:        as mcds_lock_try_acquire, and 1 for each of these reads
 * Lost reply:  as mcds_lock_try_acquire
 * Threads:     as mcds_lock_try_acquire */
MCDS_API MCDS_CHECKED int mcds_lock_acquire(mcds_lock *lock, uint32_t wait_ms,
                                            mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_acquire_start(mcds_lock *lock, uint32_t wait_ms,
                                                  mcds_lease *lease, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* Extends the lease by lease_ms from now.
 * Arguments:   lease  in and out; held
 * Returns:     MCDS_OK         lease->deadline_ns is the new deadline
 *              MCDS_LOST       the lease had ended and another may have held the lock since, or it
 *                              was reported lost before; the lease is now empty
 *              MCDS_EXPIRED    the deadline has passed on this machine; the store was not asked
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the lease is empty
 *              After any other failure it is not renewed, and the old deadline holds.
 * Cost:        1; 2 when the connection has changed since
 * Lost reply:  MCDS_AMBIGUOUS: renewed or not; the old deadline holds for the caller
 * Threads:     as mcds_lock_try_acquire */
MCDS_API MCDS_CHECKED int mcds_lock_renew(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_renew_start(mcds_lock *lock, mcds_lease *lease,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Releases the lock. Never touches the lease of another holder.
 * Arguments:   lease  in and out; held, or that of an acquisition or release that was
 *                     MCDS_AMBIGUOUS
 * Returns:     MCDS_OK         released; the lease had not ended before, and is empty
 *              MCDS_LOST       the lease had ended before, also where renew or release returned
 *                              MCDS_LOST for it already; the caller's work may have overlapped with
 *                              another holder's. The lease is empty.
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the lease is empty
 *              After any other failure it is still held: call again, or let the lease expire.
 * Cost:        1; 2 when the connection has changed since
 * Lost reply:  MCDS_AMBIGUOUS: the lock was released, will be, or the lease had ended before. The
 *              caller must not use the lock any more. Call again until the result is another one,
 *              or let the lease expire; MCDS_LOST then means that nothing is left to release
 * Threads:     as mcds_lock_try_acquire */
MCDS_API MCDS_CHECKED int mcds_lock_release(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_release_start(mcds_lock *lock, mcds_lease *lease,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* The time that is left of a lease.
 * Arguments:   lease  of this lock
 * Returns:     milliseconds until lease->deadline_ns; 0 when it has passed or the lease is empty,
 *              and for NULL
 * Cost:        none
 * Threads:     as mcds_lock_try_acquire */
MCDS_API int64_t mcds_lock_remaining_ms(const mcds_lock *lock, const mcds_lease *lease);

/* Reads the current holder.
 * Arguments:   holder_out  filled
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: the lock is free
 * Cost:        1 */
MCDS_API MCDS_CHECKED int mcds_lock_get_holder(mcds_lock *lock, mcds_lock_holder *holder_out);
MCDS_API MCDS_CHECKED int mcds_lock_get_holder_start(mcds_lock *lock,
                                                     mcds_lock_holder *holder_out,
                                                     mcds_pipeline *pipeline, uint64_t tag);

/* Takes the lock from its holder, which gets MCDS_LOST. The fence is kept and keeps growing.
 * Bytes under its key that mcds did not write are erased.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  the lock is free
 *              MCDS_BUSY       others kept changing the key; not broken
 *              MCDS_AMBIGUOUS  see below
 * Cost:        2; 3 where the store cannot compare and delete (classic servers); 1 for a free lock
 * Lost reply:  looks again. MCDS_AMBIGUOUS only when the deadline passes before that look is
 *              answered: broken, not broken, or not yet. It never takes the lock from a holder
 *              that acquires it after the call */
MCDS_API int mcds_lock_break(mcds_lock *lock);
MCDS_API MCDS_CHECKED int mcds_lock_break_start(mcds_lock *lock, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Erases a free lock with its fence, which is otherwise kept for ever. The next acquisition takes
 * its fence from the clock of its machine: that fence is larger than every earlier one where clocks
 * differ by less than a minute. For that reason a fence that is younger than a minute is erased
 * when it is a minute old, also if the lock is used meanwhile.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  no such lock
 *              MCDS_BUSY       it is held
 *              MCDS_INVALID    its fence is far ahead of this machine's clock, so the next one would
 *                              be smaller
 *              MCDS_AMBIGUOUS  see below
 * Cost:        4; 5 where the store cannot compare and delete (classic servers)
 * Lost reply:  MCDS_AMBIGUOUS: erased or not. Call again; this call may hold the lock until a lease
 *              is over */
MCDS_API int mcds_lock_drop(mcds_lock *lock);
MCDS_API MCDS_CHECKED int mcds_lock_drop_start(mcds_lock *lock, mcds_pipeline *pipeline,
                                               uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
