/* Lock: mutual exclusion with leases and fences (core/lease). */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/tally/tally.h"
#include "structures/lock/lock.h"

#define LEASE_MS_DEFAULT 15000
#define LEASE_MS_MAX 86400000
#define LEASE_MS_MIN 50
/* Shortest lease where ttls are whole seconds and may end early. */
#define LEASE_MS_MIN_COARSE 3000
#define WAIT_MS_MAX 86400000

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

/* The state in which a call requires the lease. */
enum need { NEED_EMPTY, NEED_HELD, NEED_ANY };

static int check_call(const mcds_lock *lock, const mcds_lease *lease,
                      const struct mcds__operation_kind *kind, enum need need)
{
    if (lock == NULL || lease == NULL)
        return mcds__fail_missing("lock", kind->verb, "a lock and a lease");
    bool held = (lease->state & MCDS__LEASE_HELD) != 0;
    if (need == NEED_EMPTY && held)
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(LEASE_HELD),
                              MCDS__CALL(kind, lock->handle.name));
    if (need != NEED_EMPTY && (lease->state & MCDS__LEASE_GONE) != 0)
        return mcds__fail_why(MCDS_LOST, MCDS__WHY(LEASE_LOST_BEFORE),
                              MCDS__CALL(kind, lock->handle.name));
    if ((need == NEED_HELD && !held) ||
        (need == NEED_ANY && (lease->state & (MCDS__LEASE_HELD | MCDS__LEASE_TOKEN)) == 0))
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(LEASE_EMPTY),
                              MCDS__CALL(kind, lock->handle.name));
    return MCDS_OK;
}

void mcds__lock_prepare(mcds_lock *lock, mcds_lease *lease, struct mcds__lease_call *call)
{
    memset(call, 0, offsetof(struct mcds__lease_call, seed_text));
    call->keys = &lock->keys;
    call->lease = lease;
    call->label = lock->label;
    /* The holder has all of lease_ms, also where the store may drop a key early. */
    call->lease_ms = lock->lease_ms + lock->ttl_early_ms;
    call->ttl_early_ms = lock->ttl_early_ms;
    call->fence_newest = &lock->fence_newest;
}

static int launch(const struct mcds__operation_kind *kind, mcds_lock *lock, bool waits,
                  uint32_t wait_ms, mcds_lease *lease, const struct mcds__start *start)
{
    assert(!waits || kind == &acquire_kind);
    assert(waits || wait_ms == 0);
    int result = MCDS_OK;
    struct lock_call own;
    struct lock_call *call = mcds__call_begin(&own.base, kind, &lock->handle, start, &result);
    if (call == NULL)
        return result;
    call->base.deadline_ns += (int64_t)wait_ms * NS_PER_MS;
    mcds__lock_prepare(lock, lease, &call->lease);
    if (waits)
        call->lease.wait_until_ns = call->base.deadline_ns -
                                    mcds__store_timeout_ns(lock->handle.store);
    return mcds__call_launch(&call->base, start);
}

static int launch_acquire(mcds_lock *lock, bool waits, uint32_t wait_ms, mcds_lease *lease,
                          const struct mcds__start *start)
{
    const struct mcds__given wait = {MCDS_CAUSE_OUT_OF_RANGE, "wait_ms", wait_ms, 0,
                                     WAIT_MS_MAX};
    int result = check_call(lock, lease, &acquire_kind, NEED_EMPTY);
    if (result == MCDS_OK)
        result = mcds__check_given("lock", lock->handle.name, "acquire", &wait, 1);
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
    int result = check_call(lock, lease, &renew_kind, NEED_HELD);
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
    int result = check_call(lock, lease, &release_kind, NEED_ANY);
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
    if (lock == NULL || lease == NULL || (lease->state & MCDS__LEASE_HELD) == 0)
        return 0;
    int64_t left_ns = lease->deadline_ns -
                      mcds__monotonic_ns(mcds__store_env(lock->handle.store));
    return left_ns > 0 ? left_ns / NS_PER_MS : 0;
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
    struct lock_get_holder *get = mcds__call_begin(&own.base, &holder_kind, &lock->handle,
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

static int check_lock_options(const char *name, const mcds_lock_options *options,
                              const mcds_capabilities *can)
{
    uint32_t least_ms = can->ttl_early_ms > 0 ? LEASE_MS_MIN_COARSE : LEASE_MS_MIN;
    const struct mcds__given lease = {MCDS_CAUSE_OUT_OF_RANGE, "lease_ms", options->lease_ms,
                                      least_ms, LEASE_MS_MAX};
    int result = mcds__check_given("lock", name, NULL, &lease, 1);
    if (result != MCDS_OK)
        return result;
    if (options->label != NULL &&
        strnlen(options->label, MCDS__LEASE_LABEL_MAX + 1) > MCDS__LEASE_LABEL_MAX)
        return mcds__fail(MCDS_INVALID, TOO_LONG, .noun = "lock", .name = name,
                          .option = "label", .wanted_max = MCDS__LEASE_LABEL_MAX);
    if (!can->expires)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(LOCK_WITHOUT_EXPIRY), .noun = "lock",
                              .name = name);
    if (!can->compare_and_set)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(LOCK_WITHOUT_CAS), .noun = "lock",
                              .name = name);
    return MCDS_OK;
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
    result = check_lock_options(name, &own, &can);
    if (result != MCDS_OK)
        return result;
    mcds_lock *lock = mcds__handle_open("lock", store, name, sizeof *lock, NULL);
    if (lock == NULL)
        return MCDS_NO_MEMORY;
    if (own.label != NULL)
        memcpy(lock->label, own.label, strlen(own.label));
    lock->lease_ms = own.lease_ms > 0 ? own.lease_ms : LEASE_MS_DEFAULT;
    lock->ttl_early_ms = can.ttl_early_ms;
    assert(lock->lease_ms >= LEASE_MS_MIN && lock->lease_ms <= LEASE_MS_MAX);
    mcds__key_begin(&lock->keys.lease, mcds__store_ns(store), MCDS__TAG_LOCK, name);
    mcds__key_begin(&lock->keys.fence, mcds__store_ns(store), MCDS__TAG_FENCE, name);
    *lock_out = lock;
    return MCDS_OK;
}

void mcds_lock_close(mcds_lock *lock)
{
    mcds__handle_release((struct mcds__handle *)lock);
}
