/* Lock: the handle. */
#ifndef MCDS_STRUCTURES_LOCK_LOCK_H
#define MCDS_STRUCTURES_LOCK_LOCK_H

#include "core/lease/lease.h"
#include "mcds.h"
#include "structures/structure.h"

struct mcds_lock {
    struct mcds__handle handle;
    char label[MCDS__LEASE_LABEL_MAX + 1];
    uint32_t lease_ms;
    uint32_t ttl_early_ms;
    _Atomic uint64_t fence_newest;
    struct mcds__lease_keys keys;
};

/* Begins a call of core/lease on this lock and lease, without waiting for another holder. */
void mcds__lock_prepare(mcds_lock *lock, mcds_lease *lease, struct mcds__lease_call *call);

#endif
