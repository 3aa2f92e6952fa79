/* Lock: mutual exclusion with leases and fences (core/lease). */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
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
