/* What the operations of a lock share. */
#ifndef MCDS_STRUCTURES_LOCK_H
#define MCDS_STRUCTURES_LOCK_H

#include "core/lease.h"
#include "structures/structure.h"

struct mcds_lock {
    struct mcds__handle handle;
    mcds_store *store;
    char *name;
    char *label;
    uint32_t lease_ms;
    uint32_t ttl_early_ms;
    _Atomic uint64_t fence_newest;
    struct mcds__lease_keys keys;
};

/* Begin a call of the core on this lock and lease; it does not wait for others. */
void mcds__lock_prepare(mcds_lock *lock, mcds_lease *lease, struct mcds__lease_call *call);

#endif
