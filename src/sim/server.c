/* The simulated server: a keyspace with memcached's semantics, and the faults of servers. */
#include <assert.h>

#include "base/environment.h"
#include "base/hash/hash.h"
#include "sim/world.h"

#define KEYSPACE_SEED 1

void mcds__sim_server_restart(mcds_sim *sim)
{
    mcds__keyspace_flush(sim->keyspace);
    sim->cas_next = 0;
    sim->incarnation++;
    assert(mcds__keyspace_count(sim->keyspace) == 0);
    sim->counts.restarted++;
    sim->phase_ns = (int64_t)mcds__sim_random(sim, NS_PER_S);
    mcds_sim_note(sim, NULL, "the server restarts empty");
}

bool mcds__sim_evict(mcds_sim *sim, mcds_bytes key)
{
    mcds_sim_note(sim, NULL, "the server evicts %.*s", (int)key.length, (const char *)key.data);
    return mcds__keyspace_evict(sim->keyspace, key, mcds__hash(KEYSPACE_SEED, key));
}

/* True: the server has restarted. */
static bool inject(mcds_sim *sim)
{
    if (mcds__sim_fault(sim, sim->options.evict_ppm) &&
        mcds__keyspace_evict_any(sim->keyspace, mcds__sim_random(sim, UINT64_MAX))) {
        sim->counts.evicted++;
        mcds_sim_note(sim, NULL, "the server evicts a key");
    }
    if (mcds__sim_fault(sim, sim->options.flush_ppm)) {
        mcds__keyspace_flush(sim->keyspace);
        sim->counts.flushed++;
        mcds_sim_note(sim, NULL, "flush_all");
    }
    bool restarts = mcds__sim_fault(sim, sim->options.restart_ppm);
    if (restarts)
        mcds__sim_server_restart(sim);
    return restarts;
}

/* memcached's clock counts whole seconds and ticks in a phase of its own. */
static int64_t server_ms(const mcds_sim *sim)
{
    int64_t now_ns = sim->stalled ? sim->stalled_ns : sim->now_ns;
    if (!sim->options.seconds)
        return now_ns / NS_PER_MS;
    return (now_ns + sim->phase_ns) / NS_PER_S * MS_PER_S;
}

void mcds__sim_execute(mcds_sim *sim, mcds_request *request, mcds_buffer *values)
{
    bool classic = sim->options.classic;
    uint64_t connection = request->cas.connection;
    if (classic)
        request->options &= ~(uint32_t)(MCDS_CREATE | MCDS_WANT_TTL | MCDS_NO_VALUE);
    if (sim->timeless)
        request->ttl_ms = 0;
    struct mcds__keyspace_context context = {
        .now_ms = server_ms(sim),
        .ttl_unit_ms = sim->options.seconds ? 1000 : 1,
        .cas_next = &sim->cas_next,
        .connection = connection,
        .values = values,
    };
    mcds__keyspace_execute(sim->keyspace, request, mcds__hash(KEYSPACE_SEED, request->key),
                           &context);
    if (classic && request->command != MCDS_GET)
        request->reply.cas = (mcds_cas_token){0, 0};
    if ((request->options & MCDS_WANT_TTL) == 0)
        request->reply.ttl_ms = MCDS_TTL_UNKNOWN;
}

uint64_t mcds__sim_token_of(mcds_sim *sim, mcds_bytes key)
{
    mcds_request look = {.command = MCDS_GET, .key = key};
    mcds__sim_execute(sim, &look, NULL);
    return look.reply.cas.unique;
}

bool mcds__sim_serve(mcds_sim *sim, mcds_request *request, mcds_buffer *values)
{
    bool disconnects = inject(sim);
    mcds__sim_execute(sim, request, values);
    return disconnects;
}

bool mcds__sim_server_open(mcds_sim *sim)
{
    struct mcds__keyspace_options options = {
        .value_max = 1048576 - 512,
        .no_flags_on_create = true,
        .no_create_on_append = sim->options.classic,
    };
    sim->cas_next = 0;
    sim->incarnation = 1;
    sim->phase_ns = (int64_t)mcds__sim_random(sim, NS_PER_S);
    sim->keyspace = mcds__keyspace_open(mcds_env_system(), &options);
    return sim->keyspace != NULL;
}

void mcds__sim_capabilities(void *backend, mcds_capabilities *out)
{
    const mcds_sim *sim = ((mcds_sim_client *)backend)->sim;
    const mcds_sim_options *options = &sim->options;
    *out = (mcds_capabilities){
        .create_on_increment = !options->classic,
        .compare_and_delete = true,
        .compare_and_set = true,
        .cas_on_store = !options->classic,
        .value_suppressed = !options->classic,
        .ttl_readable = !options->classic,
        .ordered_batch = !options->unordered,
        .evicts = true,
        .expires = !sim->timeless,
        .places = 1,
        .ttl_unit_ms = options->seconds ? 1000 : 1,
        .ttl_early_ms = options->seconds ? 2000 : 0,
        .value_max = 1048576 - 512,
    };
}

#define FEATURES_MIX UINT64_C(0x9E3779B97F4A7C15)

/* Some clients set CAS numbers, others are of an older version. The seed chooses which. */
uint32_t mcds__sim_features(void *backend)
{
    const mcds_sim_client *client = backend;
    const mcds_sim *sim = client->sim;
    bool has_numbers = !sim->options.classic && !sim->options.unordered &&
                       (sim->options.seed * FEATURES_MIX >> (56 + client->number % 8) & 1) != 0;
    return has_numbers ? MCDS_CAS_NUMBERS : 0;
}
