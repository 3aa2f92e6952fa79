/* Reference counts that keep a structure in memory. */
#include "engine/handle.h"

#include <assert.h>

#include "base/environment.h"
#include "base/error.h"

void *mcds__handle_open(const char *noun, mcds_store *store, const char *name, size_t size,
                        void (*destroy)(struct mcds__handle *handle))
{
    assert(size >= sizeof(struct mcds__handle));
    const mcds_env *env = mcds__store_env(store);
    struct mcds__handle *handle = mcds__allocate_zero(env, size);
    char *own_name = mcds__copy_string(env, name);
    if (handle == NULL || own_name == NULL) {
        mcds__free(env, handle);
        mcds__free(env, own_name);
        (void)mcds__fail_memory(noun, name, NULL);
        return NULL;
    }
    mcds__store_hold(store);
    handle->store = store;
    handle->name = own_name;
    handle->forks = mcds__forks();
    handle->destroy = destroy;
    atomic_init(&handle->references, 1);
    return handle;
}

void mcds__handle_hold(struct mcds__handle *handle)
{
    uint32_t before = atomic_fetch_add_explicit(&handle->references, 1, memory_order_relaxed);
    assert(before > 0 && before < UINT32_MAX);
    (void)before;
}

void *mcds__handle_refuse(const struct mcds__handle *handle, const char *noun, const char *verb,
                          int *result)
{
    *result = mcds__fail_why(MCDS_INVALID, MCDS__WHY(FORKED), .noun = noun,
                             .name = handle->name, .verb = verb);
    return NULL;
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
    if (handle->destroy != NULL)
        handle->destroy(handle);
    mcds__free(mcds__store_env(store), handle->name);
    mcds__free(mcds__store_env(store), handle);
    mcds__store_release(store);
}
