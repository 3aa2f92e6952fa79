/* Lock: the handle. */
#ifndef MCDS_STRUCTURES_LOCK_LOCK_H
#define MCDS_STRUCTURES_LOCK_LOCK_H

#include "structures/leased.h"

struct mcds_lock {
    struct mcds__leased leased;
    _Atomic uint64_t fence_newest;
    struct mcds__lease_keys keys;
};

/* Begins a call of core/lease on this lock and lease, without waiting for another holder. */
static inline void mcds__lock_prepare(mcds_lock *lock, mcds_lease *lease,
                                      struct mcds__lease_call *call)
{
    mcds__leased_prepare(&lock->leased, &lock->keys, &lock->fence_newest, lease, call);
}

#endif
