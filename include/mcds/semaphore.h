/* mcds/semaphore.h: semaphores with leases and fences. mcds.h has the rules of all calls. */
#ifndef MCDS_SEMAPHORE_H
#define MCDS_SEMAPHORE_H

#include "lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A semaphore with leases: at most `permits` holders at a time in the store, each until it
 * releases its permit or its lease expires.
 *
 * Each permit is a lease, like that of a lock, in a slot from 0 to permits - 1. A holder
 * that dies costs its permit for one lease, and no release can give back a permit twice. The slots
 * of live holders differ, so a slot can also serve as the number of a worker. Every acquisition of
 * a slot gets a fence that is larger than every earlier fence of that slot. Pass slot and fence to
 * the resource, and let it refuse a smaller fence of the same slot.
 *
 * The store keeps the number of permits. An acquisition reads that number after it has its lease,
 * in the same round trip, and returns a lease in a slot that no longer exists. So an acquisition
 * that begins after a resize uses the new number, on all machines. Holders in slots at or above
 * the new number keep their permits until they release them.
 *
 * All keys of a semaphore are on one server. A server that evicts or restarts can lose leases; the
 * holder is told MCDS_LOST. If it loses the number of permits, the holders keep their permits, and
 * the next acquisition makes the semaphore again.
 *
 *     mcds_semaphore_options options = MCDS_SEMAPHORE_OPTIONS_INIT;
 *     mcds_permit permit = MCDS_PERMIT_INIT;
 *     options.permits = 4;
 *     mcds_semaphore_open(store, "builds", &options, &semaphore);
 *     if (mcds_semaphore_acquire(semaphore, 60000, &permit) == MCDS_OK) {
 *         build(permit.slot, permit.lease.fence);       renew it if this takes longer
 *         mcds_semaphore_release(semaphore, &permit);
 *     }
 *
 * Source: leases, Gray and Cheriton, SOSP 1989. */
typedef struct mcds_semaphore mcds_semaphore;

#define MCDS_SEMAPHORE_PERMITS_MAX 60

typedef struct mcds_semaphore_options {
    size_t size; /* sizeof(mcds_semaphore_options) */
    /* 1 to 60: the first acquisition makes the semaphore with this number, and one that was made
     * with another number is refused, unless it was resized to this one. 0: any number; an
     * acquisition does not make the semaphore. */
    uint32_t permits;
    uint32_t lease_ms; /* as in mcds_lock_options */
    const char *label; /* as in mcds_lock_options */
} mcds_semaphore_options;
#define MCDS_SEMAPHORE_OPTIONS_INIT                                                            \
    {                                                                                          \
        sizeof(mcds_semaphore_options), 0, 0, NULL                                             \
    }

/* One acquisition. The caller owns the permit and initializes it with MCDS_PERMIT_INIT. Only one
 * thread may use a permit at a time. A permit that was passed to X_start must live until the tag
 * is returned. A program that holds several permits has one mcds_permit for each, and may use one
 * handle for all of them. */
typedef struct mcds_permit {
    mcds_lease lease; /* its fence is one of this slot */
    uint32_t slot;
    uint32_t reserved;
} mcds_permit;
#define MCDS_PERMIT_INIT                                                                       \
    {                                                                                          \
        MCDS_LEASE_INIT, 0, 0                                                                  \
    }

typedef struct mcds_semaphore_holder {
    uint64_t fence;       /* the newest fence of the slot; 0: the store has lost it */
    int64_t remaining_ms; /* as in mcds_lock_holder */
    uint32_t slot;
    uint32_t permits; /* of the semaphore; a slot at or above it ends with its holder */
    char label[208];  /* with a terminating NUL */
} mcds_semaphore_holder;

/* Opens a semaphore.
 * Arguments:   semaphore_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: an option is out of its range; MCDS_UNSUPPORTED: the store
 *              has no expiry or no compare-and-set; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_semaphore_open(mcds_store *store, const char *name,
                                              const mcds_semaphore_options *options,
                                              mcds_semaphore **semaphore_out);
/* Closes the handle. Releases no permit: a permit that is held ends at its deadline.
 * Arguments:   semaphore  NULL is allowed
 * Cost:        none
 * Lifetime:    a permit may be used with another handle of the same semaphore */
MCDS_API void mcds_semaphore_close(mcds_semaphore *semaphore);

/* Reads the options of a semaphore. permits is the present number, after all resizes; lease_ms and
 * label belong to each handle, and stay as they are.
 * Returns:     MCDS_OK; MCDS_NOT_FOUND: no such semaphore
 * Cost:        1 */
MCDS_API MCDS_CHECKED int mcds_semaphore_made_with(mcds_store *store, const char *name,
                                                   mcds_semaphore_options *options);

/* Tries once to acquire a permit. The call looks at the slots and claims one that is free,
 * beginning with a random one, so that callers seldom claim the same slot. If another caller was
 * faster, the call looks again. It passes over a slot whose lease or fence holds bytes that mcds
 * did not write.
 * Arguments:   permit  in and out; empty, or the permit of an acquisition that returned
 *                      MCDS_AMBIGUOUS
 * Returns:     MCDS_OK         the caller holds permit->slot until permit->lease.deadline_ns
 *              MCDS_BUSY       a look has found all permits held. The look is no snapshot: one
 *                              may have become free meanwhile. Or other callers were faster at 17
 *                              slots that looks had found free
 *              MCDS_NOT_FOUND  no such semaphore, and the handle has no number of permits
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_CORRUPT    the number of permits, or the lease or the fence of a slot, holds
 *                              bytes that mcds did not write, and all other slots are held
 *              MCDS_IO         also: this machine's clock is after 2190
 *              MCDS_INVALID    also: the permit is held, or the semaphore was made with another
 *                              number of permits
 *              After any other failure the caller holds no permit, and never will.
 * Cost:        2, or 1 if the slot that this handle released last is free. One more for the
 *              first acquisition of the semaphore, and of the slot; 2 more each time that another
 *              caller takes the slot first, and 3 more for each slot whose fence holds other bytes
 * Lost reply:  MCDS_AMBIGUOUS: the caller may hold the slot, or may get it later. Call again with
 *              the same permit: the call then tries this slot only, even if another one is free.
 *              Or release the permit, and acquire with an empty one
 * Threads:     any; only one thread may use a permit at a time */
MCDS_API MCDS_CHECKED int mcds_semaphore_try_acquire(mcds_semaphore *semaphore,
                                                     mcds_permit *permit);
MCDS_API MCDS_CHECKED int mcds_semaphore_try_acquire_start(mcds_semaphore *semaphore,
                                                           mcds_permit *permit,
                                                           mcds_pipeline *pipeline,
                                                           uint64_t tag);

/* Tries until the caller holds a permit or wait_ms have passed, even while the server is down or
 * does not answer. While all permits are held, the call polls their leases at intervals with
 * jitter. The call takes at most wait_ms plus the store's timeout. Waiting callers get no turns:
 * any of them may be the next.
 * Arguments:   wait_ms  0 to 86 400 000
 *              permit   as for mcds_semaphore_try_acquire
 * Returns:     as mcds_semaphore_try_acquire; MCDS_BUSY: wait_ms have passed
 * Cost:        as mcds_semaphore_try_acquire, and 1 for each poll, which reads the number of
 *              permits and each lease
 * Lost reply:  as mcds_semaphore_try_acquire
 * Threads:     as mcds_semaphore_try_acquire */
MCDS_API MCDS_CHECKED int mcds_semaphore_acquire(mcds_semaphore *semaphore, uint32_t wait_ms,
                                                 mcds_permit *permit);
MCDS_API MCDS_CHECKED int mcds_semaphore_acquire_start(mcds_semaphore *semaphore,
                                                       uint32_t wait_ms, mcds_permit *permit,
                                                       mcds_pipeline *pipeline, uint64_t tag);

/* Extends the lease of a permit by lease_ms from now. The call does not read the number of
 * permits: after a resize, a holder in a slot at or above the new number can renew as before.
 * Arguments:   permit  in and out; held
 * Returns:     MCDS_OK         permit->lease.deadline_ns is the new deadline
 *              MCDS_LOST       the lease had ended, and another holder may have had the slot
 *                              since; or an earlier call reported it as lost. The permit is now
 *                              empty
 *              MCDS_EXPIRED    the deadline has passed on this machine; the call did not access
 *                              the store
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the permit is empty
 *              After any other failure the lease is not renewed, and the old deadline applies.
 * Cost:        1; 2 if the connection has changed since the last call with this permit. The number
 *              of permits and of holders does not matter
 * Lost reply:  MCDS_AMBIGUOUS: the lease was renewed or not; the caller must keep to the old
 *              deadline, and may call again before it
 * Threads:     any; only one thread may use a permit at a time. A thread that renews the permit of
 *              another one needs a mutex that covers release too */
MCDS_API MCDS_CHECKED int mcds_semaphore_renew(mcds_semaphore *semaphore, mcds_permit *permit);
MCDS_API MCDS_CHECKED int mcds_semaphore_renew_start(mcds_semaphore *semaphore,
                                                     mcds_permit *permit,
                                                     mcds_pipeline *pipeline, uint64_t tag);

/* Releases a permit. Never touches the permit of another holder, so a release that is repeated, or
 * that arrives late, gives back nothing twice. The next acquisition with this handle tries this
 * slot first, at the cost of one round trip.
 * Arguments:   permit  in and out; held, or the permit of an acquisition or release that returned
 *                      MCDS_AMBIGUOUS
 * Returns:     MCDS_OK         released; the lease had not ended before. The permit is now empty
 *              MCDS_LOST       the lease had ended before, or an earlier renew or release
 *                              returned MCDS_LOST for it. More holders than permits may have
 *                              worked at once. The permit is now empty
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the permit is empty
 *              After any other failure the permit is still held: call again, or let the lease
 *              expire.
 * Cost:        1; 2 if the connection has changed since the last call with this permit
 * Lost reply:  MCDS_AMBIGUOUS: the permit was released or will be, or the lease had ended before.
 *              The caller must not use the permit any more. Call again until the result is
 *              different, or let the lease expire. MCDS_LOST then means that nothing is left to
 *              release
 * Threads:     as mcds_semaphore_try_acquire */
MCDS_API MCDS_CHECKED int mcds_semaphore_release(mcds_semaphore *semaphore,
                                                 mcds_permit *permit);
MCDS_API MCDS_CHECKED int mcds_semaphore_release_start(mcds_semaphore *semaphore,
                                                       mcds_permit *permit,
                                                       mcds_pipeline *pipeline, uint64_t tag);

/* Returns the remaining time of a permit.
 * Arguments:   permit  of this semaphore
 * Returns:     milliseconds until permit->lease.deadline_ns; 0 if the deadline has passed, if the
 *              permit is empty, and for NULL. Renew before that time; the holder must stop when
 *              it has passed, because another caller can get the slot
 * Cost:        none
 * Threads:     as mcds_semaphore_try_acquire */
MCDS_API int64_t mcds_semaphore_remaining_ms(const mcds_semaphore *semaphore,
                                             const mcds_permit *permit);

/* Called by mcds_semaphore_holders for each permit that is held. `holder` is valid only during the
 * call. Returns false to end the visit after this holder. */
typedef bool (*mcds_semaphore_holders_cb)(void *context, const mcds_semaphore_holder *holder);

/* Visits the holders, in the order of their slots, also those in slots at or above the number
 * of permits. The call reads all leases and then the fences, and makes its visits after that.
 * The visits are no snapshot. A permit that moves meanwhile may be visited twice or not at all. A
 * fence may be newer than its holder.
 * Arguments:   visit  as above
 * Returns:     MCDS_OK           also if nobody holds a permit: then there was no visit
 *              MCDS_NOT_FOUND    no such semaphore
 *              MCDS_CORRUPT      a slot contains bytes that mcds did not write
 *              MCDS_UNSUPPORTED  a slot contains bytes that a newer version has written
 *              After a failure there was no visit.
 * Cost:        2; 1 if no permit is held. The first reads 61 keys, whatever the number of permits
 * Threads:     any; `visit` is called by the thread that calls, or that owns the pipeline */
MCDS_API MCDS_CHECKED int mcds_semaphore_holders(mcds_semaphore *semaphore,
                                                 mcds_semaphore_holders_cb visit,
                                                 void *context);
MCDS_API MCDS_CHECKED int mcds_semaphore_holders_start(mcds_semaphore *semaphore,
                                                       mcds_semaphore_holders_cb visit,
                                                       void *context, mcds_pipeline *pipeline,
                                                       uint64_t tag);

/* Changes the number of permits. No acquisition that begins after the call uses the old number, on
 * any machine. Holders in slots at or above the new number keep their permits; to wait for them,
 * call again until above_out is 0. Handles that were opened with the number that the semaphore was
 * made with, or with 0, remain usable.
 * Arguments:   permits    1 to 60
 *              above_out  the number of those holders, read after the change; NULL is allowed
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  no such semaphore
 *              MCDS_BUSY       other callers kept changing the semaphore until the timeout; not
 *                              resized
 *              MCDS_AMBIGUOUS  see below
 * Cost:        2; 1 if the number is the same already. One more for above_out. 2 more each time
 *              that another caller changes the number first
 * Lost reply:  MCDS_AMBIGUOUS: resized, not resized, or not yet, or the holders could not be
 *              read. Call again. A request that arrives late changes nothing after a later
 *              resize */
MCDS_API MCDS_CHECKED int mcds_semaphore_resize(mcds_semaphore *semaphore, uint32_t permits,
                                                uint32_t *above_out);
MCDS_API MCDS_CHECKED int mcds_semaphore_resize_start(mcds_semaphore *semaphore,
                                                      uint32_t permits, uint32_t *above_out,
                                                      mcds_pipeline *pipeline, uint64_t tag);

/* Erases a semaphore that nobody holds, and the fences of its slots, as mcds_lock_drop does: a
 * fence that is less than a minute old is erased when it is a minute old. If another caller
 * acquires a permit meanwhile, that permit stays valid. The next acquisition makes the
 * semaphore with the number of its handle.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  no such semaphore
 *              MCDS_BUSY       a permit is held; the number of permits is kept
 *              MCDS_CORRUPT    a lease or a fence holds bytes that mcds did not write. The sentence
 *                              names the key: erase it, then call again
 *              MCDS_INVALID    a fence is far ahead of this machine's clock
 *              MCDS_AMBIGUOUS  see below
 *              The call reads all leases and fences before it erases the first. So after CORRUPT
 *              and INVALID nothing is erased.
 * Cost:        3, and 4 for each slot that was ever held; 5 if the store cannot compare and delete
 *              (classic servers). The timeout applies to each slot
 * Lost reply:  MCDS_AMBIGUOUS: erased, or not, or not yet. Call again. This call may hold a
 *              permit until a lease ends
 * Threads:     any; a thread that acquires meanwhile may get MCDS_NOT_FOUND, or makes the
 *              semaphore */
MCDS_API int mcds_semaphore_drop(mcds_semaphore *semaphore);
MCDS_API MCDS_CHECKED int mcds_semaphore_drop_start(mcds_semaphore *semaphore,
                                                    mcds_pipeline *pipeline, uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
