/* One of the two stores that execute a stream. */
#include "stream/side.h"

#include <stdio.h>

#include "base/buffer.h"
#include "sim/world.h"

#define VALUES_MAX ((size_t)64 << 20)

bool side_open(struct side *side, const char *name, const char *uri, const mcds_env *env)
{
    side->name = name;
    side->env = env;
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = env;
    if (mcds_open(uri, &options, &side->store) != MCDS_OK) {
        (void)fprintf(stderr, "%s: %s\n", uri, mcds_errmsg());
        return false;
    }
    for (int i = 0; i < STREAM_BATCHES_MAX; i++)
        mcds__buffer_init(&side->values[i], env, VALUES_MAX);
    return true;
}

static void do_nothing(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    (void)context;
    (void)client;
    (void)done;
}

bool side_open_simulated(struct side *side, const char *name, bool is_classic)
{
    mcds_sim_options options = MCDS_SIM_OPTIONS_INIT;
    mcds_sim_client *client;
    options.seconds = true;
    options.classic = is_classic;
    side->name = name;
    if (mcds_sim_open(&options, &side->sim) != MCDS_OK)
        return false;
    if (mcds_sim_client_add(side->sim, do_nothing, NULL, &client) != MCDS_OK) {
        mcds_sim_close(side->sim);
        return false;
    }
    side->env = &client->env;
    side->store = mcds_sim_client_store(client);
    for (int i = 0; i < STREAM_BATCHES_MAX; i++)
        mcds__buffer_init(&side->values[i], side->env, VALUES_MAX);
    return true;
}

void side_close(struct side *side)
{
    for (int i = 0; i < STREAM_BATCHES_MAX; i++)
        mcds__buffer_free(&side->values[i]);
    if (side->sim != NULL)
        mcds_sim_close(side->sim);
    else
        mcds_close(side->store);
}
bool side_run(struct side *side, int which, const struct stream *stream)
{
    uint32_t count = stream->batch_count;
    for (uint32_t b = 0; b < count; b++) {
        const struct stream_batch *made = &stream->batches[b];
        for (uint32_t i = 0; i < made->count; i++) {
            side->requests[b][i] = made->requests[i].request;
            side->requests[b][i].cas = made->requests[i].tokens[which];
        }
        side->values[b].length = 0;
        side->batches[b] = (mcds_batch){
            .requests = side->requests[b],
            .count = made->count,
            .independent = made->independent,
            .deadline_ns = mcds__monotonic_ns(side->env) + PATIENCE_NS,
            .values = &side->values[b],
            .next = b + 1 < count ? &side->batches[b + 1] : NULL,
        };
    }
    struct mcds__session *session;
    if (mcds__session_take(side->store, 0, &session) != MCDS_OK)
        return false;
    mcds__session_submit(session, &side->batches[0]);
    uint32_t back = 0;
    for (uint32_t turn = 0; turn < count && back < count; turn++)
        for (mcds_batch *batch =
                 mcds__session_collect(session, mcds__monotonic_ns(side->env) + PATIENCE_NS);
             batch != NULL; batch = batch->next)
            back++;
    mcds__session_give(side->store, session);
    return back == count;
}
