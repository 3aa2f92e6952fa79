/* Lock: drop, which erases the lease and the fence (core/lease/drop.c). */
#include "base/error.h"
#include "structures/lock/lock.h"

struct lock_drop {
    struct mcds__operation base;
    struct mcds__lease_drop drop;
};

static enum mcds__step lock_drop_step(struct mcds__operation *operation)
{
    return mcds__lease_drop_step(&((struct lock_drop *)operation)->drop, operation);
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
    struct lock_drop *drop = mcds__call_begin_zero(&own.base, &drop_kind, &lock->leased.handle,
                                                   start, &result);
    if (drop == NULL)
        return result;
    mcds__lock_prepare(lock, &drop->drop.lease, &drop->drop.call);
    mcds__lease_drop_begin(&drop->drop);
    return mcds__call_launch(&drop->base, start);
}

int mcds_lock_drop(mcds_lock *lock)
{
    return mcds_lock_drop_start(lock, MCDS__WAIT, 0);
}
