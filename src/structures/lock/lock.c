/* Lock: mutual exclusion with leases and fences (core/lease). */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/lease/readers.h"
#include "structures/lock/lock.h"

struct lock_call {
    struct mcds__operation base;
    struct mcds__lease_call lease;
};

/* One step of core/lease. The value of a shared lock needs memory. */
static enum mcds__step step_lease(struct mcds__operation *operation,
                                  enum mcds__step (*step)(struct mcds__lease_call *call,
                                                          struct mcds__operation *operation))
{
    struct lock_call *call = (struct lock_call *)operation;
    if (call->lease.is_reader && !mcds__readers_make_room(&call->lease))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    return step(&call->lease, operation);
}

static enum mcds__step step_acquire(struct mcds__operation *operation)
{
    return step_lease(operation, mcds__lease_acquire_step);
}

static enum mcds__step step_renew(struct mcds__operation *operation)
{
    return step_lease(operation, mcds__lease_renew_step);
}

static enum mcds__step step_release(struct mcds__operation *operation)
{
    return step_lease(operation, mcds__lease_release_step);
}

static void free_room(struct mcds__operation *operation)
{
    struct lock_call *call = (struct lock_call *)operation;
    mcds__free(call->lease.env, call->lease.room);
}

static const struct mcds__operation_kind acquire_kind = {
    "lock", "acquire", sizeof(struct lock_call), step_acquire, free_room};
static const struct mcds__operation_kind renew_kind = {
    "lock", "renew", sizeof(struct lock_call), step_renew, free_room};
static const struct mcds__operation_kind release_kind = {
    "lock", "release", sizeof(struct lock_call), step_release, free_room};

/* Whether the lock is acquired alone or shared. */
enum mode { EXCLUSIVE, SHARED };

static enum mode mode_of_lease(const mcds_lease *lease)
{
    return mcds__lease_is_reader(lease) ? SHARED : EXCLUSIVE;
}

static int check_call(const mcds_lock *lock, const mcds_lease *lease,
                      const struct mcds__operation_kind *kind, enum mcds__leased_need need)
{
    if (lock == NULL || lease == NULL)
        return mcds__fail_missing("lock", kind->verb, "a lock and a lease");
    return mcds__leased_check(&lock->leased, lease, kind, need);
}

static int launch(const struct mcds__operation_kind *kind, mcds_lock *lock, enum mode mode,
                  bool waits, uint32_t wait_ms, mcds_lease *lease,
                  const struct mcds__start *start)
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
    call->lease.is_reader = mode == SHARED;
    if (waits)
        call->lease.wait_until_ns = call->base.deadline_ns -
                                    mcds__store_timeout_ns(lock->leased.handle.store);
    return mcds__call_launch(&call->base, start);
}

/* A lease whose acquisition is in doubt must be acquired again in the same mode. */
static int check_mode(const mcds_lock *lock, const mcds_lease *lease, enum mode mode)
{
    if ((lease->state & MCDS__LEASE_TOKEN) == 0 ||
        mcds__lease_is_reader(lease) == (mode == SHARED))
        return MCDS_OK;
    return mcds__fail_why(MCDS_INVALID, MCDS__WHY(LEASE_OF_OTHER_MODE),
                          MCDS__CALL(&acquire_kind, lock->leased.handle.name));
}

static int launch_acquire(mcds_lock *lock, enum mode mode, bool waits, uint32_t wait_ms,
                          mcds_lease *lease, const struct mcds__start *start)
{
    const struct mcds__given wait = {MCDS_CAUSE_OUT_OF_RANGE, "wait_ms", wait_ms, 0,
                                     MCDS__LEASED_WAIT_MS_MAX};
    int result = check_call(lock, lease, &acquire_kind, MCDS__NEED_EMPTY);
    if (result == MCDS_OK)
        result = mcds__check_given("lock", lock->leased.handle.name, "acquire", &wait, 1);
    if (result == MCDS_OK)
        result = check_mode(lock, lease, mode);
    if (result != MCDS_OK)
        return result;
    return launch(&acquire_kind, lock, mode, waits, wait_ms, lease, start);
}

int mcds_lock_try_acquire_start(mcds_lock *lock, mcds_lease *lease, mcds_pipeline *pipeline,
                                uint64_t tag)
{
    return launch_acquire(lock, EXCLUSIVE, false, 0, lease, MCDS__START(pipeline, tag));
}

int mcds_lock_try_acquire(mcds_lock *lock, mcds_lease *lease)
{
    return mcds_lock_try_acquire_start(lock, lease, MCDS__WAIT, 0);
}

int mcds_lock_acquire_start(mcds_lock *lock, uint32_t wait_ms, mcds_lease *lease,
                            mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_acquire(lock, EXCLUSIVE, true, wait_ms, lease, MCDS__START(pipeline, tag));
}

int mcds_lock_acquire(mcds_lock *lock, uint32_t wait_ms, mcds_lease *lease)
{
    return mcds_lock_acquire_start(lock, wait_ms, lease, MCDS__WAIT, 0);
}

int mcds_lock_try_acquire_shared_start(mcds_lock *lock, mcds_lease *lease,
                                       mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_acquire(lock, SHARED, false, 0, lease, MCDS__START(pipeline, tag));
}

int mcds_lock_try_acquire_shared(mcds_lock *lock, mcds_lease *lease)
{
    return mcds_lock_try_acquire_shared_start(lock, lease, MCDS__WAIT, 0);
}

int mcds_lock_acquire_shared_start(mcds_lock *lock, uint32_t wait_ms, mcds_lease *lease,
                                   mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_acquire(lock, SHARED, true, wait_ms, lease, MCDS__START(pipeline, tag));
}

int mcds_lock_acquire_shared(mcds_lock *lock, uint32_t wait_ms, mcds_lease *lease)
{
    return mcds_lock_acquire_shared_start(lock, wait_ms, lease, MCDS__WAIT, 0);
}

int mcds_lock_renew_start(mcds_lock *lock, mcds_lease *lease, mcds_pipeline *pipeline,
                          uint64_t tag)
{
    int result = check_call(lock, lease, &renew_kind, MCDS__NEED_HELD);
    if (result != MCDS_OK)
        return result;
    return launch(&renew_kind, lock, mode_of_lease(lease), false, 0, lease,
                  MCDS__START(pipeline, tag));
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
    return launch(&release_kind, lock, mode_of_lease(lease), false, 0, lease,
                  MCDS__START(pipeline, tag));
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
