/* Lease: drop, which erases the lease and the fence (kept for ever otherwise).
 *
 * The drop holds the lease while it erases the fence, so no holder loses its lease. The next
 * acquisition takes its fence from the clock of its machine, which must be later than every earlier
 * fence. Therefore a fence of the last minute is not deleted but gets a ttl. When it expires, every
 * clock that differs by less than a minute is past the fence, even if the lease is used
 * meanwhile. A fence that is far ahead of this machine's clock is not erased. A number that no
 * lock draws was no holder's fence, and is erased at once. */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/lease/value.h"
#include "core/tally/tally.h"

/* Largest difference between the clocks of machines. */
#define SKEW_NS (60 * NS_PER_S)
#define AHEAD_MAX_NS (3600 * NS_PER_S)
/* A ttl may end early, on memcached by a second. */
#define TTL_SLACK_MS 2000

enum { DROP_LOOK, DROP_ACQUIRE, DROP_ERASE, DROP_ERASING, DROP_RELEASE };

static enum mcds__step lease_drop_step_on(struct mcds__lease_drop *drop,
                                          struct mcds__operation *operation);

static int64_t fence_ahead_ns(uint64_t fence, const mcds_env *env)
{
    int64_t now_ns = mcds__wall_ns(env);
    assert(fence <= INT64_MAX);
    return (int64_t)fence - (now_ns > 0 ? now_ns : 0);
}

bool mcds__lease_is_fence_ahead(uint64_t number, const mcds_env *env)
{
    return mcds__lease_is_fence(number) && fence_ahead_ns(number, env) > AHEAD_MAX_NS - SKEW_NS;
}

static enum mcds__step step_look(struct mcds__lease_drop *drop,
                                 struct mcds__operation *operation)
{
    assert(drop->stage == DROP_LOOK);
    struct mcds__lease_value value;
    enum mcds__step step = mcds__tally_read_step(drop->requests, drop->keys, 2,
                                                 mcds__lease_route_key(&drop->call),
                                                 MCDS_WANT_TTL, &drop->look_stage, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    mcds__lease_call_begin(&drop->call);
    enum mcds__lease_sight sight = mcds__lease_read(&drop->call, &operation->batch,
                                                    &drop->requests[0], &value);
    bool is_free = sight == LEASE_MISSING || sight == LEASE_FREE;
    if (is_free && drop->requests[1].reply.outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    drop->stage = DROP_ACQUIRE;
    return lease_drop_step_on(drop, operation);
}

/* Releases the lease and then ends with `result`. */
static enum mcds__step lease_drop_release(struct mcds__lease_drop *drop,
                                          struct mcds__operation *operation, int result,
                                          const mcds_reason *detail)
{
    assert(drop->stage == DROP_ACQUIRE || drop->stage == DROP_ERASING);
    drop->result = result;
    drop->detail = detail;
    operation->tries = 1;
    mcds__lease_call_begin(&drop->call);
    drop->stage = DROP_RELEASE;
    return lease_drop_step_on(drop, operation);
}

static enum mcds__step lease_drop_ask_fence(struct mcds__lease_drop *drop,
                                            struct mcds__operation *operation)
{
    assert(drop->stage == DROP_ACQUIRE || drop->stage == DROP_ERASE);
    drop->stage = DROP_ERASING;
    drop->requests[0] = (mcds_request){
        .command = drop->ttl_ms == 0 ? MCDS_DELETE : MCDS_TOUCH,
        .ttl_ms = drop->ttl_ms,
        .key = mcds__key_bytes(&drop->call.keys->fence),
        .route = mcds__lease_route(&drop->call),
    };
    operation->connection = 0;
    return mcds__operation_ask_repeatable(operation, drop->requests, 1);
}

static enum mcds__step take_acquire(struct mcds__lease_drop *drop,
                                    struct mcds__operation *operation, enum mcds__step step)
{
    assert(drop->stage == DROP_ACQUIRE);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_BUSY && operation->detail == MCDS__WHY(HELD_BY_ANOTHER))
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(HELD));
    if (operation->result != MCDS_OK)
        return step;
    int64_t ahead_ns = fence_ahead_ns(drop->lease.fence, operation->env);
    if (ahead_ns > AHEAD_MAX_NS - SKEW_NS)
        return lease_drop_release(drop, operation, MCDS_INVALID, MCDS__WHY(FENCE_AHEAD));
    int64_t left_ns = ahead_ns + SKEW_NS; /* of a number that is no fence, the lease has 0 */
    drop->ttl_ms = left_ns > 0 ? (uint64_t)(left_ns / NS_PER_MS) + TTL_SLACK_MS : 0;
    return lease_drop_ask_fence(drop, operation);
}

static enum mcds__step take_fence(struct mcds__lease_drop *drop,
                                  struct mcds__operation *operation)
{
    assert(drop->stage == DROP_ERASING);
    const mcds_reply *reply = &drop->requests[0].reply;
    drop->has_erased = drop->has_erased || reply->outcome == MCDS_OUT_OK ||
                       reply->outcome == MCDS_OUT_UNKNOWN;
    if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
        return lease_drop_release(drop, operation, MCDS_OK, NULL);
    if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation)) {
        drop->stage = DROP_ERASE;
        return MCDS__SLEEP;
    }
    (void)mcds__operation_fail(operation, reply);
    return lease_drop_release(drop, operation, operation->result, operation->detail);
}

/* A lease that was not erased is unchanged, except that its fence has grown by one. */
static enum mcds__step take_release(struct mcds__lease_drop *drop,
                                    struct mcds__operation *operation, enum mcds__step step)
{
    assert(drop->stage == DROP_RELEASE);
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

static enum mcds__step lease_drop_step_on(struct mcds__lease_drop *drop,
                                          struct mcds__operation *operation)
{
    switch (drop->stage) {
    case DROP_LOOK:
        return step_look(drop, operation);
    case DROP_ACQUIRE:
        return take_acquire(drop, operation, mcds__lease_acquire_step(&drop->call, operation));
    case DROP_ERASE:
        return lease_drop_ask_fence(drop, operation);
    case DROP_ERASING:
        return take_fence(drop, operation);
    default:
        return take_release(drop, operation, mcds__lease_release_step(&drop->call, operation));
    }
}

void mcds__lease_drop_begin(struct mcds__lease_drop *drop)
{
    assert(drop->call.keys != NULL);
    drop->stage = DROP_LOOK;
    drop->look_stage = 0;
    drop->has_erased = false;
    drop->lease = (mcds_lease)MCDS_LEASE_INIT;
    drop->call.lease = &drop->lease;
    drop->call.takes_any_fence = true;
    drop->keys[0] = drop->call.keys->lease;
    drop->keys[1] = drop->call.keys->fence;
}

enum mcds__step mcds__lease_drop_step(struct mcds__lease_drop *drop,
                                      struct mcds__operation *operation)
{
    return lease_drop_step_on(drop, operation);
}
