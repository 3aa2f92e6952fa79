/* A simulated memcached server and its clients, under the control of the test. */
#include "article/world.h"

#include <string.h>

#include "base/environment.h"

#define WALL_START_MS (INT64_C(1767225600) * MS_PER_S)
#define BEGIN_S 1000.0
/* Longer than the pauses of the timelines, so that they show the algorithms and not our
 * deadlines. */
#define TIMEOUT_MS 20000

static bool applies(struct twist *twist, enum twist_kind kind, mcds_command command)
{
    if (twist->kind != kind || (twist->command != 0 && twist->command != command))
        return false;
    twist->seen++;
    return twist->nth == 0 || twist->nth == twist->seen;
}

static bool leaves(void *context, const mcds_batch *batch)
{
    struct actor *actor = context;
    if (actor->unreachable || actor->crashed)
        return false;
    for (uint32_t i = 0; i < batch->count; i++)
        for (size_t j = 0; j < TWISTS_MAX; j++)
            if (applies(&actor->twists[j], TWIST_BEFORE, batch->requests[i].command))
                actor->twists[j].act(actor->twists[j].context);
    actor->batches++;
    actor->requests += batch->count;
    return !actor->crashed;
}

static enum mcds__sim_fate arrives(void *context, const mcds_request *request,
                                   int64_t *late_ns_out)
{
    struct actor *actor = context;
    enum mcds__sim_fate fate = MCDS__SIM_PASS;
    for (size_t j = 0; j < TWISTS_MAX; j++) {
        struct twist *twist = &actor->twists[j];
        if (applies(twist, TWIST_ARRIVAL, request->command))
            twist->act(twist->context);
        if (!applies(twist, TWIST_FATE, request->command))
            continue;
        fate = twist->fate;
        *late_ns_out = twist->late_ns;
    }
    return fate;
}

bool world_open_as(struct world *world, enum world_kind kind)
{
    mcds_sim_options options = MCDS_SIM_OPTIONS_INIT;
    options.delay_us_max = 1;
    options.seconds = true;
    options.classic = kind != WORLD_META;
    options.unordered = kind == WORLD_PROXY;
    memset(world, 0, sizeof *world);
    if (mcds_sim_open(&options, &world->sim) != MCDS_OK)
        return false;
    world_phase(world, 0);
    world_at(world, BEGIN_S);
    return true;
}

bool world_open(struct world *world)
{
    return world_open_as(world, WORLD_META);
}

void world_close(struct world *world)
{
    while (world->handle_count > 0) {
        world->handle_count--;
        world->handles[world->handle_count].close(world->handles[world->handle_count].handle);
    }
    for (uint32_t i = 0; i < world->actor_count; i++)
        mcds_close(world->actors[i].store);
    mcds_sim_close(world->sim);
}

void world_keep(struct world *world, void (*close)(void *handle), void *handle)
{
    if (world->handle_count == WORLD_HANDLES_MAX) {
        close(handle);
        return;
    }
    world->handles[world->handle_count].close = close;
    world->handles[world->handle_count].handle = handle;
    world->handle_count++;
}

void world_at(struct world *world, double second)
{
    int64_t until_ns = (int64_t)(second * (double)NS_PER_S + 0.5);
    while (world->sim->now_ns < until_ns)
        (void)mcds__sim_advance(world->sim, until_ns);
}

void world_pass(struct world *world, double seconds)
{
    world_at(world, world_now(world) + seconds);
}

double world_now(const struct world *world)
{
    return (double)world->sim->now_ns / (double)NS_PER_S;
}

int64_t world_unix_ms(double second)
{
    return WALL_START_MS + (int64_t)(second * (double)MS_PER_S + 0.5);
}

void world_phase(struct world *world, double seconds)
{
    world->sim->servers[0].phase_ns = (int64_t)((1.0 - seconds) * (double)NS_PER_S) % NS_PER_S;
}

void world_stall(struct world *world)
{
    world->sim->servers[0].stalled = true;
    world->sim->servers[0].stalled_ns = world->sim->now_ns;
}

void world_resume(struct world *world)
{
    world->sim->servers[0].stalled = false;
}

void world_restart(struct world *world)
{
    int64_t phase_ns = world->sim->servers[0].phase_ns;
    mcds__sim_restart(world->sim, 0);
    world->sim->servers[0].phase_ns = phase_ns;
}

struct found {
    char key[250];
    size_t length;
    uint32_t count;
};

static bool find(void *context, mcds_bytes key)
{
    struct found *found = context;
    memcpy(found->key, key.data, key.length);
    found->length = key.length;
    found->count++;
    return true;
}

static struct found look(struct world *world, const char *prefix)
{
    struct found found = {.count = 0};
    mcds_bytes bytes = {prefix, strlen(prefix)};
    (void)mcds__keyspace_keys(world->sim->servers[0].keyspace, world->sim->now_ns / NS_PER_MS,
                              bytes, find, &found);
    return found;
}

uint32_t world_evict(struct world *world, const char *prefix)
{
    uint32_t evicted = 0;
    for (struct found found = look(world, prefix); found.count > 0; found = look(world, prefix))
        evicted += mcds__sim_evict(world->sim, (mcds_bytes){found.key, found.length});
    return evicted;
}

bool world_evict_one(struct world *world, const char *prefix)
{
    struct found found = look(world, prefix);
    return found.count > 0 &&
           mcds__sim_evict(world->sim, (mcds_bytes){found.key, found.length});
}

uint32_t world_keys(struct world *world, const char *prefix)
{
    return look(world, prefix).count;
}

/* The rows call for the actors; the world has nothing to run by itself. */
static void do_nothing(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    (void)context;
    (void)client;
    (void)done;
}

struct actor *world_actor(struct world *world)
{
    if (world->actor_count == WORLD_ACTORS_MAX)
        return NULL;
    struct actor *actor = &world->actors[world->actor_count];
    actor->world = world;
    if (mcds_sim_client_add(world->sim, do_nothing, NULL, &actor->client) != MCDS_OK)
        return NULL;
    actor->client->skew_ns = 0;
    actor->script = (struct mcds__sim_script){actor, leaves, arrives};
    actor->client->script = &actor->script;
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = &actor->client->env;
    options.timeout_ms = TIMEOUT_MS;
    if (mcds_open_backend(&mcds__backend_sim, actor->client, &options, &actor->store) !=
        MCDS_OK)
        return NULL;
    world->actor_count++;
    return actor;
}

void actor_is_fast(struct actor *actor, double seconds)
{
    actor->client->skew_ns = (int64_t)(seconds * (double)NS_PER_S);
}

static void add_twist(struct actor *actor, struct twist twist)
{
    for (size_t i = 0; i < TWISTS_MAX; i++)
        if (actor->twists[i].kind == TWIST_NONE) {
            actor->twists[i] = twist;
            return;
        }
}

static void add_fate(struct actor *actor, mcds_command command, uint32_t nth,
                     enum mcds__sim_fate fate, int64_t late_ns)
{
    add_twist(actor, (struct twist){.kind = TWIST_FATE,
                                    .command = command,
                                    .nth = nth,
                                    .fate = fate,
                                    .late_ns = late_ns});
}

void actor_loses(struct actor *actor, mcds_command command, uint32_t nth)
{
    add_fate(actor, command, nth, MCDS__SIM_CUT_BEFORE, 0);
}

void actor_loses_reply(struct actor *actor, mcds_command command, uint32_t nth)
{
    add_fate(actor, command, nth, MCDS__SIM_CUT_AFTER, 0);
}

void actor_is_late(struct actor *actor, mcds_command command, uint32_t nth, double seconds)
{
    add_fate(actor, command, nth, MCDS__SIM_LATE, (int64_t)(seconds * (double)NS_PER_S));
}

void actor_pauses(struct actor *actor, mcds_command command, uint32_t nth,
                  void (*act)(void *context), void *context)
{
    add_twist(actor, (struct twist){.kind = TWIST_BEFORE,
                                    .command = command,
                                    .nth = nth,
                                    .act = act,
                                    .context = context});
}

void actor_is_met(struct actor *actor, mcds_command command, uint32_t nth,
                  void (*act)(void *context), void *context)
{
    add_twist(actor, (struct twist){.kind = TWIST_ARRIVAL,
                                    .command = command,
                                    .nth = nth,
                                    .act = act,
                                    .context = context});
}
