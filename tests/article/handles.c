/* Our structures, opened for a row and closed with its world. */
#include "article/handles.h"

static void close_lock(void *handle)
{
    mcds_lock_close(handle);
}

mcds_lock *open_lock(struct actor *actor, const char *name, uint32_t lease_ms)
{
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    mcds_lock *lock = NULL;
    options.lease_ms = lease_ms;
    if (mcds_lock_open(actor->store, name, &options, &lock) != MCDS_OK)
        return NULL;
    world_keep(actor->world, close_lock, lock);
    return lock;
}
