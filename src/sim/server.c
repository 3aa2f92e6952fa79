/* The simulated server: a keyspace with memcached's semantics, and the faults of servers. */
#include <assert.h>

#include "base/environment.h"
#include "base/hash/hash.h"
#include "sim/world.h"

#define KEYSPACE_SEED 1

#define DOWN_MS_MAX 4000
#define HOLD_MS_MAX 3000
/* No other event is at this part of a millisecond, so requests that waited keep their order. */
#define HOLD_ODD_NS 500

uint32_t mcds__sim_server_of(const mcds_sim *sim, const mcds_request *request)
{
    if (sim->server_count == 1)
        return 0;
    mcds_bytes route = request->route.length > 0 ? request->route : request->key;
    return (uint32_t)((mcds__hash(KEYSPACE_SEED, route) + request->copy) % sim->server_count);
}

/* Add a line to the timeline about this server. */
static void note_server(mcds_sim *sim, uint32_t server, const char *what)
{
    if (sim->server_count == 1)
        mcds_sim_note(sim, NULL, "%s", what);
    else
        mcds_sim_note(sim, NULL, "%s (s%u)", what, server + 1);
}

void mcds__sim_server_restart(mcds_sim *sim, uint32_t server)
{
    struct mcds__sim_server *own = &sim->servers[server];
    assert(server < sim->server_count);
    mcds__keyspace_flush(own->keyspace);
    own->cas_next = 0;
    own->incarnation++;
    own->held_until_ns = 0;
    assert(mcds__keyspace_count(own->keyspace) == 0);
    sim->counts.restarted++;
    own->phase_ns = (int64_t)mcds__sim_random(sim, NS_PER_S);
    note_server(sim, server, "the server restarts empty");
}

bool mcds__sim_evict(mcds_sim *sim, mcds_bytes key)
{
    mcds_sim_note(sim, NULL, "the server evicts %.*s", (int)key.length, (const char *)key.data);
    return mcds__keyspace_evict(sim->servers[0].keyspace, key, mcds__hash(KEYSPACE_SEED, key));
}

/* The server restarts empty, or loses its connections where it must keep its keys. If there are
 * several servers, it then cannot be reached for a while. */
static void go_down(mcds_sim *sim, uint32_t server)
{
    struct mcds__sim_server *own = &sim->servers[server];
    if (sim->may_forget == NULL || sim->may_forget(sim->may_forget_context, server))
        mcds__sim_server_restart(sim, server);
    else
        note_server(sim, server, "the server is cut off");
    if (sim->server_count > 1)
        own->down_until_ns = sim->now_ns +
                             (int64_t)mcds__sim_random(sim, DOWN_MS_MAX) * NS_PER_MS;
}

/* True: every connection to the server breaks. */
static bool inject(mcds_sim *sim, uint32_t server)
{
    struct mcds__sim_server *own = &sim->servers[server];
    if (mcds__sim_fault(sim, sim->options.evict_ppm) &&
        mcds__keyspace_evict_any(own->keyspace, mcds__sim_random(sim, UINT64_MAX))) {
        sim->counts.evicted++;
        note_server(sim, server, "the server evicts a key");
    }
    if (mcds__sim_fault(sim, sim->options.flush_ppm)) {
        mcds__keyspace_flush(own->keyspace);
        sim->counts.flushed++;
        note_server(sim, server, "flush_all");
    }
    if (sim->hold_ppm > 0 && mcds__sim_fault(sim, sim->hold_ppm)) {
        own->held_until_ns = sim->now_ns + HOLD_ODD_NS +
                             (int64_t)mcds__sim_random(sim, HOLD_MS_MAX) * NS_PER_MS;
        sim->counts.paused++;
        note_server(sim, server, "the server stops for a while");
    }
    bool restarts = mcds__sim_fault(sim, sim->options.restart_ppm);
    if (restarts)
        go_down(sim, server);
    return restarts;
}

/* The clock of memcached counts whole seconds. Its ticks have another phase than the true time. */
static int64_t server_ms(const mcds_sim *sim, const struct mcds__sim_server *server)
{
    int64_t now_ns = server->stalled ? server->stalled_ns : sim->now_ns;
    if (!sim->options.seconds)
        return now_ns / NS_PER_MS;
    return (now_ns + server->phase_ns) / NS_PER_S * MS_PER_S;
}

void mcds__sim_execute(mcds_sim *sim, uint32_t server, mcds_request *request,
                       mcds_buffer *values)
{
    struct mcds__sim_server *own = &sim->servers[server];
    assert(server < sim->server_count);
    bool classic = sim->options.classic;
    uint64_t connection = request->cas.connection;
    if (classic)
        request->options &= ~(uint32_t)(MCDS_CREATE | MCDS_WANT_TTL | MCDS_NO_VALUE);
    if (sim->timeless)
        request->ttl_ms = 0;
    struct mcds__keyspace_context context = {
        .now_ms = server_ms(sim, own),
        .ttl_unit_ms = sim->options.seconds ? 1000 : 1,
        .cas_next = &own->cas_next,
        .connection = connection,
        .values = values,
    };
    mcds__keyspace_execute(own->keyspace, request, mcds__hash(KEYSPACE_SEED, request->key),
                           &context);
    if (classic && request->command != MCDS_GET)
        request->reply.cas = (mcds_cas_token){0, 0};
    if ((request->options & MCDS_WANT_TTL) == 0)
        request->reply.ttl_ms = MCDS_TTL_UNKNOWN;
}

uint64_t mcds__sim_token_of(mcds_sim *sim, uint32_t server, mcds_bytes key)
{
    mcds_request look = {.command = MCDS_GET, .key = key};
    mcds__sim_execute(sim, server, &look, NULL);
    return look.reply.cas.unique;
}

bool mcds__sim_serve(mcds_sim *sim, uint32_t server, mcds_request *request, mcds_buffer *values)
{
    bool disconnects = inject(sim, server);
    /* The request was in flight, and does not reach the server that has restarted. */
    if (disconnects && sim->server_count > 1)
        request->reply.outcome = MCDS_OUT_UNKNOWN;
    else
        mcds__sim_execute(sim, server, request, values);
    return disconnects;
}

bool mcds__sim_add_servers(mcds_sim *sim, uint32_t count)
{
    assert(count <= MCDS__SIM_SERVERS_MAX && sim->client_count == 0);
    struct mcds__keyspace_options options = {
        .value_max = 1048576 - 512,
        .no_flags_on_create = true,
        .no_create_on_append = sim->options.classic,
    };
    while (sim->server_count < count) {
        struct mcds__sim_server *server = &sim->servers[sim->server_count];
        server->incarnation = 1;
        server->phase_ns = (int64_t)mcds__sim_random(sim, NS_PER_S);
        server->keyspace = mcds__keyspace_open(mcds_env_system(), &options);
        if (server->keyspace == NULL)
            return false;
        sim->server_count++;
    }
    return true;
}

void mcds__sim_close_servers(mcds_sim *sim)
{
    for (uint32_t i = 0; i < sim->server_count; i++)
        mcds__keyspace_close(sim->servers[i].keyspace);
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
        .places = sim->server_count,
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
