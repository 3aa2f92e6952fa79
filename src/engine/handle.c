/* Reference counts that keep a structure in memory. */
#include "engine/handle.h"

#include <assert.h>

void mcds__handle_begin(struct mcds__handle *handle, mcds_store *store,
                        void (*destroy)(struct mcds__handle *handle))
{
    mcds__store_hold(store);
    handle->store = store;
    handle->destroy = destroy;
    atomic_init(&handle->references, 1);
}

void mcds__handle_hold(struct mcds__handle *handle)
{
    uint32_t before = atomic_fetch_add_explicit(&handle->references, 1, memory_order_relaxed);
    assert(before > 0 && before < UINT32_MAX);
    (void)before;
}

void mcds__handle_release(struct mcds__handle *handle)
{
    if (handle == NULL)
        return;
    mcds_store *store = handle->store;
    /* The thread that destroys it sees everything that other threads did with it. */
    uint32_t before = atomic_fetch_sub_explicit(&handle->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    handle->destroy(handle);
    mcds__store_release(store);
}
