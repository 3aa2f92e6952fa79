/* Lock: mutual exclusion with leases and fences (core/lease). */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/tally/tally.h"
#include "structures/lock/lock.h"

struct lock_call {
    struct mcds__operation base;
    struct mcds__lease_call lease;
};

static enum mcds__step step_acquire(struct mcds__operation *operation)
{
    return mcds__lease_acquire_step(&((struct lock_call *)operation)->lease, operation);
}

static enum mcds__step step_renew(struct mcds__operation *operation)
{
    return mcds__lease_renew_step(&((struct lock_call *)operation)->lease, operation);
}

static enum mcds__step step_release(struct mcds__operation *operation)
{
    return mcds__lease_release_step(&((struct lock_call *)operation)->lease, operation);
}

static const struct mcds__operation_kind acquire_kind = {
    "lock", "acquire", sizeof(struct lock_call), step_acquire, NULL};
static const struct mcds__operation_kind renew_kind = {
    "lock", "renew", sizeof(struct lock_call), step_renew, NULL};
static const struct mcds__operation_kind release_kind = {
    "lock", "release", sizeof(struct lock_call), step_release, NULL};

static int check_call(const mcds_lock *lock, const mcds_lease *lease,
                      const struct mcds__operation_kind *kind, enum mcds__leased_need need)
{
    if (lock == NULL || lease == NULL)
        return mcds__fail_missing("lock", kind->verb, "a lock and a lease");
    return mcds__leased_check(&lock->leased, lease, kind, need);
}

static int launch(const struct mcds__operation_kind *kind, mcds_lock *lock, bool waits,
                  uint32_t wait_ms, mcds_lease *lease, const struct mcds__start *start)
{
    assert(!waits || kind == &acquire_kind);
    assert(waits || wait_ms == 0);
    int result = MCDS_OK;
    struct lock_call own;
    struct lock_call *call = mcds__call_begin(&own.base, kind, &lock->leased.handle, start,
                                              &result);
    if (call == NULL)
        return result;
    call->base.deadline_ns += (int64_t)wait_ms * NS_PER_MS;
    mcds__lock_prepare(lock, lease, &call->lease);
    if (waits)
        call->lease.wait_until_ns = call->base.deadline_ns -
                                    mcds__store_timeout_ns(lock->leased.handle.store);
    return mcds__call_launch(&call->base, start);
}

static int launch_acquire(mcds_lock *lock, bool waits, uint32_t wait_ms, mcds_lease *lease,
                          const struct mcds__start *start)
{
    const struct mcds__given wait = {MCDS_CAUSE_OUT_OF_RANGE, "wait_ms", wait_ms, 0,
                                     MCDS__LEASED_WAIT_MS_MAX};
    int result = check_call(lock, lease, &acquire_kind, MCDS__NEED_EMPTY);
    if (result == MCDS_OK)
        result = mcds__check_given("lock", lock->leased.handle.name, "acquire", &wait, 1);
    if (result != MCDS_OK)
        return result;
    return launch(&acquire_kind, lock, waits, wait_ms, lease, start);
}

int mcds_lock_try_acquire_start(mcds_lock *lock, mcds_lease *lease, mcds_pipeline *pipeline,
                                uint64_t tag)
{
    return launch_acquire(lock, false, 0, lease, MCDS__START(pipeline, tag));
}

int mcds_lock_try_acquire(mcds_lock *lock, mcds_lease *lease)
{
    return mcds_lock_try_acquire_start(lock, lease, MCDS__WAIT, 0);
}

int mcds_lock_acquire_start(mcds_lock *lock, uint32_t wait_ms, mcds_lease *lease,
                            mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_acquire(lock, true, wait_ms, lease, MCDS__START(pipeline, tag));
}

int mcds_lock_acquire(mcds_lock *lock, uint32_t wait_ms, mcds_lease *lease)
{
    return mcds_lock_acquire_start(lock, wait_ms, lease, MCDS__WAIT, 0);
}

int mcds_lock_renew_start(mcds_lock *lock, mcds_lease *lease, mcds_pipeline *pipeline,
                          uint64_t tag)
{
    int result = check_call(lock, lease, &renew_kind, MCDS__NEED_HELD);
    if (result != MCDS_OK)
        return result;
    return launch(&renew_kind, lock, false, 0, lease, MCDS__START(pipeline, tag));
}

int mcds_lock_renew(mcds_lock *lock, mcds_lease *lease)
{
    return mcds_lock_renew_start(lock, lease, MCDS__WAIT, 0);
}

int mcds_lock_release_start(mcds_lock *lock, mcds_lease *lease, mcds_pipeline *pipeline,
                            uint64_t tag)
{
    int result = check_call(lock, lease, &release_kind, MCDS__NEED_ANY);
    if (result != MCDS_OK)
        return result;
    return launch(&release_kind, lock, false, 0, lease, MCDS__START(pipeline, tag));
}

int mcds_lock_release(mcds_lock *lock, mcds_lease *lease)
{
    return mcds_lock_release_start(lock, lease, MCDS__WAIT, 0);
}

int64_t mcds_lock_remaining_ms(const mcds_lock *lock, const mcds_lease *lease)
{
    return lock == NULL || lease == NULL ? 0 : mcds__leased_remaining_ms(&lock->leased, lease);
}

struct lock_get_holder {
    struct mcds__operation base;
    mcds_lock *lock;
    mcds_lock_holder *holder_out;
    uint8_t stage;
    struct mcds__key keys[2];
    mcds_request requests[2];
};

static enum mcds__step take_holder(struct lock_get_holder *get)
{
    struct mcds__operation *operation = &get->base;
    const mcds_request *lease = &get->requests[0];
    const mcds_request *fence = &get->requests[1];
    struct mcds__lease_value value;
    mcds_lock_holder holder = {0};
    uint64_t number = 0;
    if (lease->reply.outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    assert(lease->reply.outcome == MCDS_OUT_OK);
    mcds_bytes held = mcds__operation_value(operation, lease);
    if (!mcds__lease_decode(held, lease->key, &value)) {
        const mcds_reason *detail;
        int result = mcds__lease_refuse(held, lease->key, &detail);
        return mcds__operation_explain(operation, result, detail);
    }
    if (value.free)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    if (fence->reply.outcome == MCDS_OUT_OK)
        (void)mcds__tally_parse(mcds__operation_value(operation, fence), &number);
    holder.fence = number;
    holder.remaining_ms = lease->reply.ttl_ms >= 0 ? lease->reply.ttl_ms : -1;
    assert(value.label_length < sizeof holder.label);
    memcpy(holder.label, value.label, value.label_length + 1);
    mcds__sized_write(MCDS__SIZED_mcds_lock_holder, get->holder_out, &holder);
    return mcds__operation_finish(operation, MCDS_OK);
}

/* Lease and fence share a server, so both requests are routed by the lease's key. */
static enum mcds__step step_holder_get(struct mcds__operation *operation)
{
    struct lock_get_holder *get = (struct lock_get_holder *)operation;
    bool asking = get->stage == 0;
    assert(get->stage <= 1);
    enum mcds__step step = mcds__tally_read_step(get->requests, get->keys, 2, MCDS_WANT_TTL,
                                                 &get->stage, operation);
    if (asking)
        get->requests[0].route = get->requests[1].route = get->requests[0].key;
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    return take_holder(get);
}

static const struct mcds__operation_kind holder_kind = {
    "lock", "holder", sizeof(struct lock_get_holder), step_holder_get, NULL};

int mcds_lock_get_holder_start(mcds_lock *lock, mcds_lock_holder *holder_out,
                               mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    if (lock == NULL || holder_out == NULL)
        return mcds__fail_missing("lock", "holder", "a lock and a place for the holder");
    int result = mcds__sized_check(MCDS__SIZED_mcds_lock_holder, holder_out);
    if (result != MCDS_OK)
        return result;
    struct lock_get_holder own;
    struct lock_get_holder *get = mcds__call_begin(&own.base, &holder_kind,
                                                   &lock->leased.handle, start, &result);
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

int mcds_lock_open(mcds_store *store, const char *name, const mcds_lock_options *options,
                   mcds_lock **lock_out)
{
    mcds_lock_options own;
    int result = mcds__read_options("lock", store, name, lock_out,
                                    MCDS__SIZED_mcds_lock_options, options, &own);
    if (result != MCDS_OK)
        return result;
    const mcds_capabilities can = mcds__store_can(store);
    result = mcds__leased_check_options("lock", name, own.lease_ms, own.label, &can);
    if (result != MCDS_OK)
        return result;
    mcds_lock *lock = mcds__handle_open("lock", store, name, sizeof *lock, NULL);
    if (lock == NULL)
        return MCDS_NO_MEMORY;
    mcds__leased_init(&lock->leased, own.lease_ms, own.label, &can);
    mcds__key_begin(&lock->keys.lease, mcds__store_ns(store), MCDS__TAG_LOCK, name);
    mcds__key_begin(&lock->keys.fence, mcds__store_ns(store), MCDS__TAG_FENCE, name);
    *lock_out = lock;
    return MCDS_OK;
}

void mcds_lock_close(mcds_lock *lock)
{
    mcds__handle_release((struct mcds__handle *)lock);
}
