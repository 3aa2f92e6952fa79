/* Lock: drop, which erases the lease and the fence (kept for ever otherwise).
 *
 * The drop holds the lock while it erases the fence, so no holder loses its lease. The next
 * acquisition takes its fence from the clock of its machine, which must be later than every earlier
 * fence. Therefore a fence of the last minute is not deleted but gets a ttl. When it expires, every
 * clock that differs by less than a minute is past the fence, also if the lock is used meanwhile. A
 * fence that is far ahead of this machine's clock is not erased. */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/lease/value.h"
#include "core/tally/tally.h"
#include "structures/lock/lock.h"

/* Largest difference between the clocks of machines. */
#define SKEW_NS (60 * NS_PER_S)
#define AHEAD_MAX_NS (3600 * NS_PER_S)
/* A ttl may end early, on memcached by a second. */
#define TTL_SLACK_MS 2000

enum { DROP_LOOK, DROP_ACQUIRE, DROP_ERASE, DROP_ERASING, DROP_RELEASE };

struct lock_drop {
    struct mcds__operation base;
    mcds_lock *lock;
    uint8_t stage;
    uint8_t look_stage;
    bool has_erased; /* the fence is gone, or may be */
    uint64_t ttl_ms; /* ttl given to the fence; 0: the fence is deleted */
    int result;      /* result of the operation after the release */
    const mcds_reason *detail;
    mcds_lease lease;
    struct mcds__lease_call call;
    struct mcds__key keys[2];
    mcds_request requests[2];
};

static enum mcds__step lock_drop_step(struct mcds__operation *operation);

/* Lease and fence share a server, so both requests are routed by the lease's key. */
static enum mcds__step step_look(struct lock_drop *drop)
{
    assert(drop->stage == DROP_LOOK);
    struct mcds__lease_value value;
    bool asking = drop->look_stage == 0;
    enum mcds__step step = mcds__tally_read_step(drop->requests, drop->keys, 2, 0,
                                                 &drop->look_stage, &drop->base);
    if (asking)
        drop->requests[0].route = drop->requests[1].route = drop->requests[0].key;
    if (step != MCDS__DONE || drop->base.result != MCDS_OK)
        return step;
    mcds__lock_prepare(drop->lock, &drop->lease, &drop->call);
    enum mcds__lease_sight sight = mcds__lease_read(&drop->call, &drop->base.batch,
                                                    &drop->requests[0], &value);
    bool is_free = sight == LEASE_MISSING || sight == LEASE_FREE;
    if (is_free && drop->requests[1].reply.outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(&drop->base, MCDS_NOT_FOUND);
    drop->stage = DROP_ACQUIRE;
    return lock_drop_step(&drop->base);
}

/* Releases the lock and then ends with `result`. */
static enum mcds__step lock_drop_release(struct lock_drop *drop, int result,
                                         const mcds_reason *detail)
{
    assert(drop->stage == DROP_ACQUIRE || drop->stage == DROP_ERASING);
    drop->result = result;
    drop->detail = detail;
    drop->base.tries = 1;
    mcds__lock_prepare(drop->lock, &drop->lease, &drop->call);
    drop->stage = DROP_RELEASE;
    return lock_drop_step(&drop->base);
}

static enum mcds__step lock_drop_ask_fence(struct lock_drop *drop)
{
    assert(drop->stage == DROP_ACQUIRE || drop->stage == DROP_ERASE);
    drop->stage = DROP_ERASING;
    drop->requests[0] = (mcds_request){
        .command = drop->ttl_ms == 0 ? MCDS_DELETE : MCDS_TOUCH,
        .ttl_ms = drop->ttl_ms,
        .key = mcds__key_bytes(&drop->lock->keys.fence),
        .route = mcds__key_bytes(&drop->lock->keys.lease),
    };
    drop->base.connection = 0;
    return mcds__operation_ask_repeatable(&drop->base, drop->requests, 1);
}

static enum mcds__step take_acquire(struct lock_drop *drop, enum mcds__step step)
{
    assert(drop->stage == DROP_ACQUIRE);
    struct mcds__operation *operation = &drop->base;
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_BUSY && operation->detail == MCDS__WHY(HELD_BY_ANOTHER))
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(HELD));
    if (operation->result != MCDS_OK)
        return step;
    int64_t left_ns = (int64_t)drop->lease.fence + SKEW_NS - mcds__wall_ns(operation->env);
    if (drop->lease.fence > INT64_MAX / 2 || left_ns > AHEAD_MAX_NS)
        return lock_drop_release(drop, MCDS_INVALID, MCDS__WHY(FENCE_AHEAD));
    drop->ttl_ms = left_ns > 0 ? (uint64_t)(left_ns / NS_PER_MS) + TTL_SLACK_MS : 0;
    return lock_drop_ask_fence(drop);
}

static enum mcds__step take_fence(struct lock_drop *drop)
{
    assert(drop->stage == DROP_ERASING);
    struct mcds__operation *operation = &drop->base;
    const mcds_reply *reply = &drop->requests[0].reply;
    drop->has_erased = drop->has_erased || reply->outcome == MCDS_OUT_OK ||
                       reply->outcome == MCDS_OUT_UNKNOWN;
    if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
        return lock_drop_release(drop, MCDS_OK, NULL);
    if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation)) {
        drop->stage = DROP_ERASE;
        return MCDS__SLEEP;
    }
    (void)mcds__operation_fail(operation, reply);
    return lock_drop_release(drop, operation->result, operation->detail);
}

/* A lock that was not erased is unchanged, except that its fence has grown by one. */
static enum mcds__step take_release(struct lock_drop *drop, enum mcds__step step)
{
    assert(drop->stage == DROP_RELEASE);
    struct mcds__operation *operation = &drop->base;
    if (step != MCDS__DONE)
        return step;
    int released = operation->result;
    if (drop->result != MCDS_OK && drop->has_erased)
        return mcds__operation_explain(operation, MCDS_AMBIGUOUS, drop->detail);
    if (drop->result != MCDS_OK)
        return mcds__operation_explain(operation, drop->result, drop->detail);
    if (released == MCDS_OK ||
        released == MCDS_LOST) /* another has it, or the lease had ended */
        return mcds__operation_finish(operation, MCDS_OK);
    return mcds__operation_explain(operation, MCDS_AMBIGUOUS, MCDS__WHY(FENCE_GONE));
}

static enum mcds__step lock_drop_step(struct mcds__operation *operation)
{
    struct lock_drop *drop = (struct lock_drop *)operation;
    switch (drop->stage) {
    case DROP_LOOK:
        return step_look(drop);
    case DROP_ACQUIRE:
        return take_acquire(drop, mcds__lease_acquire_step(&drop->call, operation));
    case DROP_ERASE:
        return lock_drop_ask_fence(drop);
    case DROP_ERASING:
        return take_fence(drop);
    default:
        return take_release(drop, mcds__lease_release_step(&drop->call, operation));
    }
}

static const struct mcds__operation_kind drop_kind = {"lock", "drop", sizeof(struct lock_drop),
                                                      lock_drop_step, NULL};

int mcds_lock_drop_start(mcds_lock *lock, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = MCDS_OK;
    if (lock == NULL)
        return mcds__fail_missing("lock", "drop", "a lock");
    struct lock_drop own;
    struct lock_drop *drop = mcds__call_begin_zero(&own.base, &drop_kind, &lock->handle, start,
                                                   &result);
    if (drop == NULL)
        return result;
    drop->lock = lock;
    drop->lease = (mcds_lease)MCDS_LEASE_INIT;
    drop->keys[0] = lock->keys.lease;
    drop->keys[1] = lock->keys.fence;
    return mcds__call_launch(&drop->base, start);
}

int mcds_lock_drop(mcds_lock *lock)
{
    return mcds_lock_drop_start(lock, MCDS__WAIT, 0);
}
