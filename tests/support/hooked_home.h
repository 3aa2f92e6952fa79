/* A home around `memory:` whose requests a test sees first, and may answer itself. */
#ifndef MCDS_TESTS_HOOKED_HOME_H
#define MCDS_TESTS_HOOKED_HOME_H

#include <string.h>

#include "mcds_store.h"
#include "store/homes.h"
#include "store/uri.h"

struct hooked_home {
    mcds_home table;
    void *inner;
    /* True: request->reply is the answer, and the request goes no further. */
    bool (*hook)(void *context, mcds_request *request);
    void *context;
    mcds_batch *batch; /* of that request alone, while the hook sees it */
    uint64_t batches;
};

static void hooked_submit(void *lane, mcds_batch *first)
{
    struct hooked_home *home = lane;
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next) {
        home->batches++;
        for (uint32_t i = 0; i < batch->count; i++) {
            mcds_batch one = *batch;
            one.requests = &batch->requests[i];
            one.count = 1;
            one.next = NULL;
            memset(&one.requests->reply, 0, sizeof one.requests->reply);
            home->batch = &one;
            if (home->hook == NULL || !home->hook(home->context, one.requests))
                mcds__home_memory.submit(home->inner, &one);
        }
        batch->answered = batch->count;
    }
}

static void hooked_capabilities(void *state, mcds_capabilities *out)
{
    struct hooked_home *home = state;
    mcds__home_memory.capabilities(home->inner, out);
}

static void hooked_close(void *state)
{
    struct hooked_home *home = state;
    mcds__home_memory.close(home->inner);
}

static inline int hooked_home_open(struct hooked_home *home, const mcds_options *options,
                                   mcds_store **store_out)
{
    static struct mcds_uri uri;
    memset(home, 0, sizeof *home);
    home->table = (mcds_home){
        .version = MCDS_HOME_VERSION,
        .scheme = "hooked",
        .close = hooked_close,
        .capabilities = hooked_capabilities,
        .submit = hooked_submit,
    };
    int result = mcds__uri_parse("memory:", &uri);
    if (result == MCDS_OK)
        result = mcds__home_memory.open(&uri, options->env, &home->inner);
    if (result == MCDS_OK)
        result = mcds_open_home(&home->table, home, options, store_out);
    return result;
}

#endif
