/* A wrapper around the memory: backend whose requests a test sees first, and may answer
 * itself. */
#ifndef MCDS_TESTS_HOOKED_BACKEND_H
#define MCDS_TESTS_HOOKED_BACKEND_H

#include <string.h>

#include "mcds/backend.h"
#include "store/backends.h"
#include "store/uri.h"

struct hooked_backend {
    mcds_backend table;
    void *inner;
    /* True: request->reply is the answer, and the request goes no further. */
    bool (*hook)(void *context, mcds_request *request);
    void *context;
    mcds_batch *batch; /* of that request alone, while the hook sees it */
    uint64_t batches;
    uint64_t value_max; /* 0: that of memory: */
    uint32_t ttl_early_ms;
    bool lacks_cas;   /* as a server behind a proxy */
    bool lacks_sizes; /* the reply to an append does not contain the size */
    uint32_t features;
};

static void hooked_submit(void *session, mcds_batch *first)
{
    struct hooked_backend *backend = session;
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next) {
        backend->batches++;
        for (uint32_t i = 0; i < batch->count; i++) {
            mcds_batch one = *batch;
            one.requests = &batch->requests[i];
            one.count = 1;
            one.next = NULL;
            memset(&one.requests->reply, 0, sizeof one.requests->reply);
            backend->batch = &one;
            if (backend->hook == NULL || !backend->hook(backend->context, one.requests))
                mcds__backend_memory.submit(backend->inner, &one);
        }
        batch->answered = batch->count;
    }
}

static void hooked_capabilities(void *state, mcds_capabilities *out)
{
    struct hooked_backend *backend = state;
    mcds__backend_memory.capabilities(backend->inner, out);
    if (backend->value_max != 0)
        out->value_max = backend->value_max;
    out->ttl_early_ms = backend->ttl_early_ms;
    out->compare_and_set = out->compare_and_set && !backend->lacks_cas;
    out->size_after_write = out->size_after_write && !backend->lacks_sizes;
}

static uint32_t hooked_features(void *state)
{
    const struct hooked_backend *backend = state;
    return backend->features;
}

static void hooked_close(void *state)
{
    struct hooked_backend *backend = state;
    mcds__backend_memory.close(backend->inner);
}

static inline int hooked_backend_open(struct hooked_backend *backend,
                                      const mcds_options *options, mcds_store **store_out)
{
    static struct mcds_uri uri;
    memset(backend, 0, sizeof *backend);
    backend->table = (mcds_backend){
        .size = sizeof(mcds_backend),
        .version = MCDS_BACKEND_VERSION,
        .scheme = "hooked",
        .close = hooked_close,
        .capabilities = hooked_capabilities,
        .submit = hooked_submit,
        .features = hooked_features,
    };
    int result = mcds__uri_parse("memory:", &uri);
    if (result == MCDS_OK)
        result = mcds__backend_memory.open(&uri, options->env, &backend->inner);
    if (result == MCDS_OK)
        result = mcds_open_backend(&backend->table, backend, options, store_out);
    return result;
}

static void hooked_leave_open(void *state)
{
    (void)state;
}

/* Another store with the items of `backend`, and without a hook. It is closed first. */
static inline int hooked_backend_open_beside(struct hooked_backend *beside,
                                             const struct hooked_backend *backend,
                                             const mcds_options *options,
                                             mcds_store **store_out)
{
    *beside = *backend;
    beside->table.close = hooked_leave_open;
    beside->hook = NULL;
    return mcds_open_backend(&beside->table, beside, options, store_out);
}

#endif
