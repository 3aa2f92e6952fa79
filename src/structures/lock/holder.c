/* Lock: the holder, read once or watched until it changes.
 *
 * A look reads lease and fence in one round trip. The token in the lease identifies an
 * acquisition. The fence cannot: a caller that finds the lock held has incremented it too. */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/lease/readers.h"
#include "core/tally/tally.h"
#include "structures/lock/lock.h"

struct lock_look {
    struct mcds__operation base;
    mcds_lock *lock;
    mcds_lock_holder *holder_out;
    int64_t wait_until_ns;
    uint64_t tenure; /* watch: the holder that the caller has seen */
    uint64_t fence;
    uint8_t stage;
    struct mcds__key keys[2];
    mcds_request requests[2];
};

/* The number of an acquisition. The token itself stays private. */
static uint64_t tenure_of(const uint64_t token[2])
{
    uint64_t mixed = (token[0] ^ (token[1] << 31 | token[1] >> 33)) *
                     UINT64_C(0x9e3779b97f4a7c15);
    mixed ^= mixed >> 32;
    return mixed != 0 ? mixed : 1;
}

/* Lease and fence share a server, so both requests are routed by the lease's key. */
static enum mcds__step look_step(struct lock_look *look)
{
    assert(look->stage <= 1);
    return mcds__tally_read_step(look->requests, look->keys, 2, &look->keys[0], MCDS_WANT_TTL,
                                 &look->stage, &look->base);
}

/* Describes all that share the lock as one holder: the label and the time are those of the holder
 * that ends last. Its tenure is made of the tenures of all, and does not depend on their order. */
static int show_readers(const struct mcds__readers_seen *seen, bool is_ttl_known,
                        mcds_lock_holder *holder)
{
    struct mcds__reader reader;
    size_t at = 0;
    uint32_t most_ms = 0;
    mcds_bytes label = {"", 0};
    while (mcds__readers_next(seen, &at, &reader)) {
        if (reader.left_ms == 0)
            continue;
        holder->shared++;
        holder->tenure ^= tenure_of(reader.token);
        if (reader.left_ms <= most_ms)
            continue;
        most_ms = reader.left_ms;
        label = reader.label;
    }
    assert(holder->shared == seen->count);
    if (holder->shared == 0)
        return MCDS_NOT_FOUND;
    assert(most_ms > 0 && label.length < sizeof holder->label);
    memcpy(holder->label, label.data,
           label.length); /* which is empty, and so ends with a NUL */
    holder->tenure += holder->tenure == 0;
    holder->intended = seen->intended_ms > 0;
    holder->remaining_ms = is_ttl_known ? (int64_t)most_ms : -1;
    return MCDS_OK;
}

/* After both reads: MCDS_OK with the holder; MCDS_NOT_FOUND: free, with the fence alone; or another
 * result, with *detail_out. */
static int lock_look_judge(struct lock_look *look, mcds_lock_holder *holder,
                           const mcds_reason **detail_out)
{
    struct mcds__operation *operation = &look->base;
    const mcds_request *lease = &look->requests[0];
    const mcds_request *fence = &look->requests[1];
    struct mcds__lease_value value;
    *holder = (mcds_lock_holder)MCDS_LOCK_HOLDER_INIT;
    if (fence->reply.outcome == MCDS_OUT_OK)
        (void)mcds__tally_parse(mcds__operation_value(operation, fence), &holder->fence);
    if (lease->reply.outcome == MCDS_OUT_MISS)
        return MCDS_NOT_FOUND;
    assert(lease->reply.outcome == MCDS_OUT_OK);
    mcds_bytes held = mcds__operation_value(operation, lease);
    struct mcds__readers_seen seen;
    if (mcds__readers_open(held, lease->key, lease->reply.ttl_ms, &seen))
        return show_readers(&seen, lease->reply.ttl_ms >= 0, holder);
    if (!mcds__lease_decode(held, lease->key, &value))
        return mcds__lease_refuse(held, lease->key, detail_out);
    if (value.free)
        return MCDS_NOT_FOUND;
    holder->tenure = tenure_of(value.token);
    holder->remaining_ms = lease->reply.ttl_ms >= 0 ? lease->reply.ttl_ms : -1;
    assert(holder->tenure != 0);
    assert(value.label_length < sizeof holder->label);
    memcpy(holder->label, value.label, value.label_length + 1);
    return MCDS_OK;
}

static enum mcds__step step_holder_get(struct mcds__operation *operation)
{
    struct lock_look *look = (struct lock_look *)operation;
    const mcds_reason *detail = NULL;
    mcds_lock_holder holder;
    enum mcds__step step = look_step(look);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    int result = lock_look_judge(look, &holder, &detail);
    if (result < 0)
        return mcds__operation_explain(operation, result, detail);
    if (result == MCDS_OK)
        mcds__sized_write(MCDS__SIZED_mcds_lock_holder, look->holder_out, &holder);
    return mcds__operation_finish(operation, result);
}

static const struct mcds__operation_kind holder_kind = {
    "lock", "holder", sizeof(struct lock_look), step_holder_get, NULL};

int mcds_lock_get_holder_start(mcds_lock *lock, mcds_lock_holder *holder_out,
                               mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    if (lock == NULL || holder_out == NULL)
        return mcds__fail_missing("lock", "holder", "a lock and a place for the holder");
    int result = mcds__sized_check(MCDS__SIZED_mcds_lock_holder, holder_out);
    if (result != MCDS_OK)
        return result;
    struct lock_look own;
    struct lock_look *get = mcds__call_begin(&own.base, &holder_kind, &lock->leased.handle,
                                             start, &result);
    if (get == NULL)
        return result;
    get->lock = lock;
    get->holder_out = holder_out;
    get->stage = 0;
    get->keys[0] = lock->keys.lease;
    get->keys[1] = lock->keys.fence;
    return mcds__call_launch(&get->base, start);
}

int mcds_lock_get_holder(mcds_lock *lock, mcds_lock_holder *holder_out)
{
    return mcds_lock_get_holder_start(lock, holder_out, MCDS__WAIT, 0);
}

/* Whether to look again, and then at wake_ns. The last look is at the end of the wait. */
static bool watch_more(struct lock_look *watch, int64_t hint_ns)
{
    struct mcds__operation *operation = &watch->base;
    if (mcds__monotonic_ns(operation->env) >= watch->wait_until_ns)
        return false;
    operation->tries = 1;
    if (!mcds__operation_wait(operation, hint_ns))
        return false;
    if (operation->wake_ns > watch->wait_until_ns)
        operation->wake_ns = watch->wait_until_ns;
    assert(operation->wake_ns <= watch->wait_until_ns);
    watch->stage = 0;
    return true;
}

/* Reports the holder of the last look. A fence that the store does not have now is no smaller one:
 * the next acquisition takes it from the clock. */
static enum mcds__step watch_end(struct lock_look *watch, mcds_lock_holder *holder, int result,
                                 bool fell)
{
    struct mcds__operation *operation = &watch->base;
    assert(result == MCDS_OK || result == MCDS_NOT_FOUND || result == MCDS_BUSY);
    assert(!fell || holder->fence != 0);
    if (holder->fence == 0)
        holder->fence = watch->fence;
    mcds__sized_write(MCDS__SIZED_mcds_lock_holder, watch->holder_out, holder);
    if (fell)
        return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(FENCE_FELL));
    if (result == MCDS_BUSY)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(HOLDER_UNCHANGED));
    return mcds__operation_finish(operation, result);
}

static enum mcds__step step_watch(struct mcds__operation *operation)
{
    struct lock_look *watch = (struct lock_look *)operation;
    const mcds_reason *detail = NULL;
    mcds_lock_holder holder;
    enum mcds__step step = look_step(watch);
    if (step != MCDS__DONE)
        return step;
    bool is_silent = operation->result == MCDS_TIMEOUT || operation->result == MCDS_UNAVAILABLE;
    if (operation->result != MCDS_OK)
        return is_silent && watch_more(watch, 0) ? MCDS__SLEEP : MCDS__DONE;
    int result = lock_look_judge(watch, &holder, &detail);
    if (result < 0)
        return mcds__operation_explain(operation, result, detail);
    assert((holder.tenure != 0) == (result == MCDS_OK));
    bool fell = holder.fence != 0 && holder.fence < watch->fence;
    if (fell || holder.tenure != watch->tenure)
        return watch_end(watch, &holder, result, fell);
    int64_t hint_ns = holder.remaining_ms > 0 ? holder.remaining_ms * NS_PER_MS : 0;
    if (watch_more(watch, hint_ns))
        return MCDS__SLEEP;
    return watch_end(watch, &holder, MCDS_BUSY, false);
}

static const struct mcds__operation_kind watch_kind = {
    "lock", "watch", sizeof(struct lock_look), step_watch, NULL};

/* A watch reads the tenure that an earlier one has written. */
#define WATCH_LEAST (offsetof(mcds_lock_holder, tenure) + sizeof(uint64_t))

static int check_watch(const mcds_lock *lock, uint32_t wait_ms, const mcds_lock_holder *holder)
{
    const struct mcds__given wait = {MCDS_CAUSE_OUT_OF_RANGE, "wait_ms", wait_ms, 0,
                                     MCDS__LEASED_WAIT_MS_MAX};
    if (lock == NULL || holder == NULL)
        return mcds__fail_missing("lock", "watch", "a lock and a holder");
    int result = mcds__sized_check_least(MCDS__SIZED_mcds_lock_holder, holder, WATCH_LEAST);
    return result != MCDS_OK
               ? result
               : mcds__check_given("lock", lock->leased.handle.name, "watch", &wait, 1);
}

int mcds_lock_watch_start(mcds_lock *lock, uint32_t wait_ms, mcds_lock_holder *holder,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    mcds_lock_holder seen;
    int result = check_watch(lock, wait_ms, holder);
    if (result != MCDS_OK)
        return result;
    struct lock_look own;
    struct lock_look *watch = mcds__call_begin(&own.base, &watch_kind, &lock->leased.handle,
                                               start, &result);
    if (watch == NULL)
        return result;
    mcds__sized_take(MCDS__SIZED_mcds_lock_holder, holder, &seen);
    watch->lock = lock;
    watch->holder_out = holder;
    watch->tenure = seen.tenure;
    watch->fence = seen.fence;
    watch->stage = 0;
    watch->keys[0] = lock->keys.lease;
    watch->keys[1] = lock->keys.fence;
    watch->base.deadline_ns += (int64_t)wait_ms * NS_PER_MS;
    watch->wait_until_ns = watch->base.deadline_ns -
                           mcds__store_timeout_ns(lock->leased.handle.store);
    return mcds__call_launch(&watch->base, start);
}

int mcds_lock_watch(mcds_lock *lock, uint32_t wait_ms, mcds_lock_holder *holder)
{
    return mcds_lock_watch_start(lock, wait_ms, holder, MCDS__WAIT, 0);
}
