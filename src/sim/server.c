/* The simulated server: one table with memcached's semantics, and what happens to servers. */
#include "base/environment.h"
#include "base/hash.h"
#include "sim/world.h"

#define TABLE_SEED 1

void mcds__sim_restart(mcds_sim *sim)
{
    mcds__table_flush(sim->table);
    sim->cas_next = 0;
    sim->incarnation++;
    sim->counts.restarted++;
    sim->phase_ns = (int64_t)mcds__sim_random(sim, NS_PER_S);
    mcds_sim_note(sim, NULL, "the server restarts empty");
    for (uint32_t i = 0; i < sim->client_count; i++)
        mcds__sim_disconnect(sim->clients[i]);
}

bool mcds__sim_evict(mcds_sim *sim, mcds_bytes key)
{
    mcds_sim_note(sim, NULL, "the server evicts %.*s", (int)key.length, (const char *)key.at);
    return mcds__table_evict(sim->table, key, mcds__hash(TABLE_SEED, key));
}

static void inject(mcds_sim *sim)
{
    if (mcds__sim_fault(sim, sim->options.evict_ppm) &&
        mcds__table_evict_any(sim->table, mcds__sim_random(sim, UINT64_MAX))) {
        sim->counts.evicted++;
        mcds_sim_note(sim, NULL, "the server evicts a key");
    }
    if (mcds__sim_fault(sim, sim->options.flush_ppm)) {
        mcds__table_flush(sim->table);
        sim->counts.flushed++;
        mcds_sim_note(sim, NULL, "flush_all");
    }
    if (mcds__sim_fault(sim, sim->options.restart_ppm))
        mcds__sim_restart(sim);
}

/* memcached's clock is a whole number of seconds that ticks in a phase of its own. */
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
    struct mcds__table_context context = {
        .now_ms = server_ms(sim),
        .ttl_unit_ms = sim->options.seconds ? 1000 : 1,
        .cas_next = &sim->cas_next,
        .connection = connection,
        .values = values,
    };
    mcds__table_execute(sim->table, request, mcds__hash(TABLE_SEED, request->key), &context);
    if (classic && request->command != MCDS_GET)
        request->reply.cas = (mcds_cas_token){0, 0};
    if ((request->options & MCDS_WANT_TTL) == 0)
        request->reply.ttl_ms = MCDS_TTL_UNKNOWN;
}

void mcds__sim_serve(mcds_sim *sim, mcds_request *request, mcds_buffer *values)
{
    inject(sim);
    mcds__sim_execute(sim, request, values);
}

bool mcds__sim_server_open(mcds_sim *sim)
{
    struct mcds__table_options options = {
        .value_max = 1048576 - 512,
        .no_flags_on_create = true,
        .no_create_on_append = sim->options.classic,
    };
    sim->cas_next = 0;
    sim->incarnation = 1;
    sim->phase_ns = (int64_t)mcds__sim_random(sim, NS_PER_S);
    sim->table = mcds__table_open(mcds_env_system(), &options);
    return sim->table != NULL;
}
