/* The article's client in a simulated world. */
#include "article/simulated.h"

#include <string.h>

#include "base/buffer.h"

#define OPERATIONS_MAX 100000

static void forget(struct memcache *mc, const char *key)
{
    (void)mcds__sim_evict(mc->actor->world->sim, (mcds_bytes){key, strlen(key)});
}

static uint64_t connection(struct memcache *mc)
{
    const struct mcds__sim_session *session = mc->actor->client->sessions;
    return session != NULL ? session->links[0].connection : 0;
}

struct memcache memcache_of(struct actor *actor)
{
    return (struct memcache){.store = actor->store,
                             .epoch_s = world_unix_ms(0) / 1000,
                             .operation_max = OPERATIONS_MAX,
                             .actor = actor,
                             .forget = forget,
                             .connection = connection};
}

static mcds_outcome peek(struct world *world, const char *key, struct text *value_out)
{
    mcds_buffer values;
    mcds__buffer_init(&values, mcds_env_system(), (size_t)1 << 21);
    mcds_request request = {.command = MCDS_GET, .key = {key, strlen(key)}};
    mcds__sim_serve(world->sim, 0, &request, &values);
    text_set(value_out, "");
    if (request.reply.outcome == MCDS_OUT_OK && request.reply.value_length > 0)
        text_fill(value_out, values.data + request.reply.value_at, request.reply.value_length);
    mcds__buffer_free(&values);
    return request.reply.outcome;
}

uint64_t memcache_peek_number(struct world *world, const char *key)
{
    struct text text = {NULL, 0, 0};
    (void)peek(world, key, &text);
    uint64_t number = text_number(&text);
    text_free(&text);
    return number;
}

bool memcache_peek_is(struct world *world, const char *key, const char *value)
{
    struct text text = {NULL, 0, 0};
    bool is = peek(world, key, &text) == MCDS_OUT_OK && text_is(&text, value);
    text_free(&text);
    return is;
}

bool memcache_is_missing(struct world *world, const char *key)
{
    struct text text = {NULL, 0, 0};
    mcds_outcome outcome = peek(world, key, &text);
    text_free(&text);
    return outcome == MCDS_OUT_MISS;
}
