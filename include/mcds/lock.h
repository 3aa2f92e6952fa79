/* mcds/lock.h: locks with leases and fences. mcds.h has the rules of all calls. */
#ifndef MCDS_LOCK_H
#define MCDS_LOCK_H

#include "pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most holders that share a lock. */
#define MCDS_LOCK_SHARED_MAX 64

/* A lock with leases. In the store, either one holder has the lock alone, or up to
 * MCDS_LOCK_SHARED_MAX holders share it. A holder has the lock until it releases the lock or its
 * lease expires.
 *
 * No lock with a time limit can stop a suspended process from resuming too late. Therefore every
 * acquisition gets a fence: a number that is larger than every earlier fence of the lock. Pass
 * the fence to the resource that the lock protects, and let that resource refuse smaller fences.
 * A server that evicts or restarts can lose a lease. The next holder still gets a larger fence,
 * and the old holder gets MCDS_LOST. The holder may use the lock for lease_ms, less a margin for
 * clocks. memcached may expire a key up to 2 s early and counts whole seconds. Therefore a
 * memcached server keeps the lease 2 s longer, rounded up to whole seconds. If the holder crashes,
 * other callers wait up to 3 s longer. Source: leases, Gray and Cheriton, SOSP 1989.
 *
 * Callers that only read the protected resource share the lock (mcds_lock_acquire_shared). A caller
 * that changes the resource acquires the lock alone (mcds_lock_acquire). The store counts the time
 * of each lease of a shared lock, so clocks of callers may differ by any amount. Each holder has a
 * different fence. The fence of a shared holder is larger than the fences of all earlier holders
 * that had the lock alone. The resource must refuse a reader whose fence is smaller than that of a
 * writer that it has seen, and a writer whose fence is smaller than any that it has seen. While a
 * caller waits to have the lock alone, no other caller begins to share it. While a lock is shared,
 * a version of mcds without shared locks does not change it, and returns MCDS_UNSUPPORTED. */
typedef struct mcds_lock mcds_lock;

typedef struct mcds_lock_options {
    size_t size;       /* sizeof(mcds_lock_options) */
    uint32_t lease_ms; /* 3 000 (memcached) or 50 (others) to 86 400 000; 0 = 15 000 */
    const char *label; /* describes the holder to other callers; 0..200 bytes; NULL = "" */
} mcds_lock_options;
#define MCDS_LOCK_OPTIONS_INIT                                                                 \
    {                                                                                          \
        sizeof(mcds_lock_options), 0, NULL                                                     \
    }

/* One acquisition of the lock. The caller owns the lease and initializes it with MCDS_LEASE_INIT.
 * Only one thread may use a lease at a time. A lease that was passed to X_start must live until
 * the tag is returned. */
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
    /* The newest fence of the lock: the holder's, or that of a later attempt; 0: the store has
     * lost it. */
    uint64_t fence;
    /* The lease ends within this time unless it is renewed; -1: the store does not report the
     * time. */
    int64_t remaining_ms;
    char label[208]; /* with a terminating NUL */
    /* A random number of this acquisition; 0: nobody holds the lock. A renewal keeps it. Unlike
     * the fence, it does not change when others try to acquire. A request that arrives late can
     * show an acquisition again that has ended, until its lease expires. While holders share the
     * lock, the number changes whenever a holder begins or ends. */
    uint64_t tenure;
    /* How many holders share the lock; 0: one holder has it alone, or nobody has it. If holders
     * share it, label and remaining_ms are those of the holder whose lease ends last. */
    uint32_t shared;
    /* 1: the lock is shared, and a caller waits to have it alone, or has ended its wait less than
     * 3 s ago (on memcached 4 s). This caller can be the one that asks */
    uint32_t intended;
} mcds_lock_holder;
#define MCDS_LOCK_HOLDER_INIT                                                                  \
    {                                                                                          \
        sizeof(mcds_lock_holder), 0, 0, "", 0, 0, 0                                            \
    }

/* Opens a lock.
 * Arguments:   lock_out  the handle
 * Returns:     MCDS_OK; MCDS_INVALID: an option is out of its range; MCDS_UNSUPPORTED: the store
 *              has no expiry or no compare-and-set; MCDS_NO_MEMORY
 * Cost:        none */
MCDS_API MCDS_CHECKED int mcds_lock_open(mcds_store *store, const char *name,
                                         const mcds_lock_options *options,
                                         mcds_lock **lock_out);
/* Closes the handle. Releases no lease: a lease that is held ends at its deadline.
 * Arguments:   lock  NULL is allowed
 * Cost:        none
 * Lifetime:    a lease may be used with another handle of the same lock */
MCDS_API void mcds_lock_close(mcds_lock *lock);

/* Tries once to acquire the lock. If a reply is lost, the call retries with the same token until
 * the timeout, so that a lost reply cannot lock the caller out.
 * Arguments:   lease  in and out; empty, or the lease of an acquisition that returned
 *                     MCDS_AMBIGUOUS
 * Returns:     MCDS_OK         the caller holds the lock until lease->deadline_ns
 *              MCDS_BUSY       another holder has the lock
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    also: the lease is held
 *              MCDS_IO         also: this machine's clock is after 2190
 *              After any other failure the caller does not hold the lock, and never will.
 * Cost:        1. One more for the first acquisition of this name ever, and for an acquisition
 *              soon after a release if the store cannot compare and delete (classic servers)
 * Lost reply:  MCDS_AMBIGUOUS: the caller may hold the lock, or may get it later. Call again with
 *              the same lease, or release it
 * Threads:     any; only one thread may use a lease at a time */
MCDS_API MCDS_CHECKED int mcds_lock_try_acquire(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_try_acquire_start(mcds_lock *lock, mcds_lease *lease,
                                                      mcds_pipeline *pipeline, uint64_t tag);

/* Tries until the caller holds the lock or wait_ms have passed, even while the server is down or
 * does not answer. While another holder has the lock, the call polls the lock with one small read
 * at intervals with jitter. While others share the lock, the call also records about every 2 s that
 * a caller waits. Until 3 s after the last record (on memcached up to 4 s), no further caller
 * begins to share the lock. Nothing is recorded while another holder has the lock alone: after its
 * release, callers of either mode get the lock in any order. A caller that acquires the lock alone
 * erases the records of all callers. Callers that still wait record that again once the lock is
 * shared. The call takes at most wait_ms plus the store's timeout.
 * Arguments:   wait_ms  0 to 86 400 000
 *              lease    as for mcds_lock_try_acquire
 * Returns:     as mcds_lock_try_acquire; MCDS_BUSY: wait_ms have passed
 * Cost:        as mcds_lock_try_acquire, and 1 for each poll; while others share the lock, 1 more
 *              about every 2 s
 * Lost reply:  as mcds_lock_try_acquire
 * Threads:     as mcds_lock_try_acquire */
MCDS_API MCDS_CHECKED int mcds_lock_acquire(mcds_lock *lock, uint32_t wait_ms,
                                            mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_acquire_start(mcds_lock *lock, uint32_t wait_ms,
                                                  mcds_lease *lease, mcds_pipeline *pipeline,
                                                  uint64_t tag);

/* Tries once to share the lock with other holders, at most MCDS_LOCK_SHARED_MAX in total. Apart
 * from that, as mcds_lock_try_acquire. mcds_lock_renew, mcds_lock_release and all other calls
 * take the lease of either mode.
 * Arguments:   lease  as for mcds_lock_try_acquire. The lease of an acquisition that returned
 *                     MCDS_AMBIGUOUS must be acquired again in the same mode, shared or alone
 * Returns:     MCDS_OK           the caller shares the lock until lease->deadline_ns
 *              MCDS_BUSY         a holder has the lock alone; a caller waits, or has just ended
 *                                its wait, to have it alone; or the most holders that may share
 *                                it do
 *              MCDS_INVALID      also: the lease belongs to an acquisition in the other mode
 *              MCDS_UNSUPPORTED  also: the server does not report the ttl of a key (classic
 *                                servers)
 *              otherwise as mcds_lock_try_acquire
 * Cost:        1 for a free lock; 2 if others share it; 1 more for each holder that begins, renews
 *              or ends at the same time. A renewal or a release of the lease costs 2, and also 1
 *              more for each of these
 * Lost reply:  as mcds_lock_try_acquire
 * Threads:     as mcds_lock_try_acquire */
MCDS_API MCDS_CHECKED int mcds_lock_try_acquire_shared(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_try_acquire_shared_start(mcds_lock *lock, mcds_lease *lease,
                                                             mcds_pipeline *pipeline,
                                                             uint64_t tag);

/* Tries until the caller shares the lock or wait_ms have passed, as mcds_lock_acquire does. A caller
 * that shares the lock already must not call this to share it once more: if another caller has
 * begun to wait to have the lock alone, each of the two waits for the other until wait_ms have
 * passed.
 * Arguments:   wait_ms  0 to 86 400 000
 *              lease    as for mcds_lock_try_acquire_shared
 * Returns:     as mcds_lock_try_acquire_shared; MCDS_BUSY: wait_ms have passed
 * Cost:        as mcds_lock_try_acquire_shared, and 1 for each poll
 * Lost reply:  as mcds_lock_try_acquire
 * Threads:     as mcds_lock_try_acquire */
MCDS_API MCDS_CHECKED int mcds_lock_acquire_shared(mcds_lock *lock, uint32_t wait_ms,
                                                   mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_acquire_shared_start(mcds_lock *lock, uint32_t wait_ms,
                                                         mcds_lease *lease,
                                                         mcds_pipeline *pipeline, uint64_t tag);

/* Extends the lease by lease_ms from now.
 * Arguments:   lease  in and out; held
 * Returns:     MCDS_OK         lease->deadline_ns is the new deadline
 *              MCDS_LOST       the lease had ended, and another holder may have had the lock
 *                              since; or an earlier call reported the lease as lost. The lease is
 *                              now empty
 *              MCDS_EXPIRED    the deadline has passed on this machine; the call did not access
 *                              the store
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the lease is empty
 *              After any other failure the lease is not renewed, and the old deadline applies.
 * Cost:        1; 2 if the connection has changed since the last call with this lease. If the lock
 *              is shared, as mcds_lock_try_acquire_shared says
 * Lost reply:  MCDS_AMBIGUOUS: the lease was renewed or not; the caller must keep to the old
 *              deadline
 * Threads:     as mcds_lock_try_acquire */
MCDS_API MCDS_CHECKED int mcds_lock_renew(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_renew_start(mcds_lock *lock, mcds_lease *lease,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Releases the lock. Never touches the lease of another holder.
 * Arguments:   lease  in and out; held, or the lease of an acquisition or release that returned
 *                     MCDS_AMBIGUOUS
 * Returns:     MCDS_OK         released; the lease had not ended before. The lease is now empty
 *              MCDS_LOST       the lease had ended before, or an earlier renew or release
 *                              returned MCDS_LOST for it. The caller's work may have overlapped
 *                              with that of another holder. The lease is now empty
 *              MCDS_AMBIGUOUS  see below
 *              MCDS_INVALID    the lease is empty
 *              After any other failure the lease is still held: call again, or let the lease
 *              expire.
 * Cost:        1; 2 if the connection has changed since the last call with this lease. If the lock
 *              is shared, as mcds_lock_try_acquire_shared says
 * Lost reply:  MCDS_AMBIGUOUS: the lock was released or will be, or the lease had ended before.
 *              The caller must not use the lock any more. Call again until the result is
 *              different, or let the lease expire. MCDS_LOST then means that nothing is left to
 *              release
 * Threads:     as mcds_lock_try_acquire */
MCDS_API MCDS_CHECKED int mcds_lock_release(mcds_lock *lock, mcds_lease *lease);
MCDS_API MCDS_CHECKED int mcds_lock_release_start(mcds_lock *lock, mcds_lease *lease,
                                                  mcds_pipeline *pipeline, uint64_t tag);

/* More than the longest text of a lease, with a terminating NUL. */
#define MCDS_LEASE_TEXT 1024
/* Writes a lease as text, so that another process can renew and release it with mcds_lock_import.
 * From this call on, the processes share the lease: each of them may renew or release it, also at
 * the same time. A renewal extends the deadline of its own caller only. The text is a line
 * without blanks. It stays valid until the lease ends, also after renewals. A process that has
 * the text and access to the store can release the lock, so keep the text as secret as that
 * access.
 * Arguments:   lock      the handle that acquired the lease, or another one with the same
 *                        lease_ms
 *              lease     in and out; held
 *              text_out  terminated by NUL; "" after a failure
 * Returns:     MCDS_OK; MCDS_LOST: an earlier call reported the lease as lost; MCDS_INVALID: the
 *              lease is not held, or a release of it was ambiguous
 * Cost:        none
 * Lifetime:    From this call on, a renewal after lease->deadline_ns accesses the store, because
 *              another process may have renewed the lease. For the same reason, a release after
 *              the deadline returns MCDS_OK if the store still has the lease
 * Threads:     as mcds_lock_try_acquire */
MCDS_API MCDS_CHECKED int mcds_lock_export(const mcds_lock *lock, mcds_lease *lease,
                                           char text_out[MCDS_LEASE_TEXT]);
/* Opens a lock with the lease_ms and the label of the handle that has exported a lease, and reads
 * that lease from the text. Its fence is known at once. Its deadline is not:
 * lease_out->deadline_ns is 0 until mcds_lock_renew has returned MCDS_OK. That result also shows
 * that the lease has not ended, and only after it may the caller use the protected resource.
 * mcds_lock_release needs no earlier renewal.
 * Arguments:   name       the name of the lock whose lease was exported
 *              text       the text that mcds_lock_export has written, terminated by NUL
 *              lock_out   the handle; close it with mcds_lock_close
 *              lease_out  the lease
 * Returns:     MCDS_OK
 *              MCDS_INVALID      the text is damaged; the lease belongs to another lock,
 *                                namespace or store; this URI names the same store in different
 *                                words; or this store accepts only longer leases
 *              MCDS_UNSUPPORTED  also: a newer version of mcds has written the text
 *              MCDS_NO_MEMORY
 *              After a failure *lock_out and *lease_out are untouched.
 * Cost:        none. The first renewal or release of the lease costs 2
 * Lifetime:    as mcds_lock_open
 * Threads:     as mcds_lock_try_acquire */
MCDS_API MCDS_CHECKED int mcds_lock_import(mcds_store *store, const char *name,
                                           const char *text, mcds_lock **lock_out,
                                           mcds_lease *lease_out);

/* Returns the remaining time of a lease.
 * Arguments:   lease  of this lock
 * Returns:     milliseconds until lease->deadline_ns; 0 if the deadline has passed, if the lease
 *              is empty, and for NULL
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

/* Waits until the lock has another holder than `holder` names, or becomes free, or wait_ms have
 * passed, even while the server is down or does not answer. The call polls the lock with one small
 * read at intervals with jitter, at most 100 ms apart; it misses an acquisition that begins and
 * ends between two polls. The call takes at most wait_ms plus the store's timeout. To follow the
 * holders of a lock, begin with MCDS_LOCK_HOLDER_INIT and call again with the same struct.
 *
 * `tenure` decides, not the fence: each attempt of another caller increments the fence, although
 * the holder stays. The fence shows one thing only: if it becomes smaller, the store has lost the
 * lock. A resource that has seen a larger fence then refuses the new ones.
 * Arguments:   wait_ms  0 to 86 400 000; 0: one look
 *              holder   in: its tenure and fence, as an earlier call has filled them, or
 *                       MCDS_LOCK_HOLDER_INIT: nobody, and any fence. Out: the holder that the last
 *                       look has found. If it found none, the tenure is 0, and the fence is kept.
 *                       A struct whose size does not include the tenure is MCDS_INVALID
 * Returns:     MCDS_OK         the lock has another holder than before
 *              MCDS_NOT_FOUND  the lock had a holder, and is free
 *              MCDS_BUSY       wait_ms have passed: the same holder, or free as before
 *              MCDS_LOST       the fence is smaller than holder->fence was. holder->fence is now
 *                              the smaller one, so that the next call does not report it again
 *              After a failure `holder` is as it was.
 * Cost:        1 for each poll
 * Threads:     any; only one thread may use a holder at a time */
MCDS_API MCDS_CHECKED int mcds_lock_watch(mcds_lock *lock, uint32_t wait_ms,
                                          mcds_lock_holder *holder);
MCDS_API MCDS_CHECKED int mcds_lock_watch_start(mcds_lock *lock, uint32_t wait_ms,
                                                mcds_lock_holder *holder,
                                                mcds_pipeline *pipeline, uint64_t tag);

/* Takes the lock from its holder, which gets MCDS_LOST. The lock keeps its fence, and later
 * fences are larger. The call erases bytes under the lock's key that mcds did not write.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  the lock is free
 *              MCDS_BUSY       other callers kept changing the key until the timeout; not broken
 *              MCDS_AMBIGUOUS  see below
 * Cost:        2; 3 if the store cannot compare and delete (classic servers); 1 for a free lock
 * Lost reply:  the call reads the lock again. It returns MCDS_AMBIGUOUS only if the replies to
 *              these reads, up to five in all, are lost as well, or if the timeout passes first:
 *              broken, not broken, or not yet. The call never takes the lock from a holder that
 *              acquires it after the call */
MCDS_API int mcds_lock_break(mcds_lock *lock);
MCDS_API MCDS_CHECKED int mcds_lock_break_start(mcds_lock *lock, mcds_pipeline *pipeline,
                                                uint64_t tag);

/* Erases a free lock and its fence, which the store otherwise keeps for ever. The next
 * acquisition takes its fence from the clock of its machine. That fence is larger than every
 * earlier one if the clocks of the machines differ by less than a minute. For that reason, a
 * fence that is less than a minute old is erased when it is a minute old, even if the lock has
 * been acquired since the drop. If the fence is a number with which
 * acquisitions return MCDS_CORRUPT, it is erased at once.
 * Returns:     MCDS_OK
 *              MCDS_NOT_FOUND  no such lock
 *              MCDS_BUSY       it is held
 *              MCDS_INVALID    its fence is far ahead of this machine's clock, so the next fence
 *                              would be smaller
 *              MCDS_AMBIGUOUS  see below
 * Cost:        4; 5 if the store cannot compare and delete (classic servers)
 * Lost reply:  MCDS_AMBIGUOUS: erased, or not, or not yet. Call again. This call may hold the
 *              lock until a lease ends */
MCDS_API int mcds_lock_drop(mcds_lock *lock);
MCDS_API MCDS_CHECKED int mcds_lock_drop_start(mcds_lock *lock, mcds_pipeline *pipeline,
                                               uint64_t tag);

#ifdef __cplusplus
}
#endif
#endif
