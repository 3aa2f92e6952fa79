/* The simulated world: its clients and their clocks, and which of them runs next. */
#include "sim/world.h"

#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/sized.h"

#define WALL_START_NS (INT64_C(1767225600) * NS_PER_S) /* 2026-01-01 */
#define PAUSE_MS_DEFAULT 30000
#define START_NS_MAX (50 * NS_PER_MS)
#define PPM_MAX 1000000
/* 146 years, which all clocks of the world can show. */
#define LATEST_NS (INT64_C(1) << 62)

static int64_t client_monotonic_ns(void *self)
{
    const mcds_sim_client *client = self;
    return client->sim->now_ns + client->monotonic_start_ns;
}

static int64_t client_wall_ns(void *self)
{
    const mcds_sim_client *client = self;
    return WALL_START_NS + client->sim->now_ns + client->skew_ns;
}

static void client_random(void *self, void *out, size_t length)
{
    mcds_sim_client *client = self;
    uint8_t *at = out;
    for (size_t i = 0; i < length; i++)
        at[i] = (uint8_t)(mcds__sim_next(client->sim) >> 32);
}

static void client_sleep_until_ns(void *self, int64_t monotonic_ns)
{
    mcds_sim_client *client = self;
    int64_t until_ns = monotonic_ns - client->monotonic_start_ns;
    while (client->sim->now_ns < until_ns)
        (void)mcds__sim_advance(client->sim, until_ns);
}

static void *client_reallocate(void *self, void *memory, size_t length)
{
    (void)self;
    return mcds_env_system()->reallocate(mcds_env_system()->self, memory, length);
}

static int world_check_options(const mcds_sim_options *options)
{
    const struct mcds__given list[] = {
        {MCDS_CAUSE_UNKNOWN_VALUE, "scheduler", options->scheduler, 0, MCDS_SIM_CHOICES},
        {MCDS_CAUSE_OUT_OF_RANGE, "changes", options->changes, 0, MCDS__SIM_CHANGES_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "cut_before_ppm", options->cut_before_ppm, 0, PPM_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "cut_after_ppm", options->cut_after_ppm, 0, PPM_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "late_ppm", options->late_ppm, 0, PPM_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "silent_ppm", options->silent_ppm, 0, PPM_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "evict_ppm", options->evict_ppm, 0, PPM_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "flush_ppm", options->flush_ppm, 0, PPM_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "restart_ppm", options->restart_ppm, 0, PPM_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "pause_ppm", options->pause_ppm, 0, PPM_MAX},
    };
    if (options->scheduler == MCDS_SIM_CHOICES && options->choose == NULL)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, .noun = "simulation",
                          .option = "choose", .wanted = "options.choose with MCDS_SIM_CHOICES");
    return mcds__check_given("simulation", NULL, NULL, list, sizeof list / sizeof list[0]);
}

int mcds_sim_open(const mcds_sim_options *options, mcds_sim **sim_out)
{
    mcds_sim_options own;
    if (sim_out == NULL)
        return mcds__fail_missing("simulation", NULL, "a place for the simulation");
    int result = mcds__sized_read(MCDS__SIZED_mcds_sim_options, options, &own);
    if (result == MCDS_OK)
        result = world_check_options(&own);
    if (result != MCDS_OK)
        return result;
    mcds_sim *sim = mcds__allocate_zero(mcds_env_system(), sizeof *sim);
    if (sim == NULL)
        return mcds__fail_memory("simulation", NULL, NULL);
    sim->options = own;
    sim->random_state = own.seed > 0 ? own.seed : 1;
    mcds__sim_schedule(sim);
    if (!mcds__sim_add_servers(sim, 1)) {
        mcds__free(mcds_env_system(), sim);
        return mcds__fail_memory("simulation", NULL, NULL);
    }
    *sim_out = sim;
    return MCDS_OK;
}

void mcds_sim_close(mcds_sim *sim)
{
    if (sim == NULL)
        return;
    for (uint32_t i = 0; i < sim->client_count; i++) {
        mcds_pipeline_close(sim->clients[i]->pipeline);
        mcds_close(sim->clients[i]->store);
        mcds__free(mcds_env_system(), sim->clients[i]);
    }
    assert(sim->messages == NULL);
    mcds__sim_close_servers(sim);
    mcds__free(mcds_env_system(), sim->events);
    mcds__free(mcds_env_system(), sim);
}

static void set_up_clocks(mcds_sim_client *client)
{
    mcds_sim *sim = client->sim;
    uint64_t skew_ms = sim->options.skew_ms_max;
    client->monotonic_start_ns = (int64_t)(1 + mcds__sim_random(sim, 1000000)) * NS_PER_S;
    client->skew_ns = ((int64_t)mcds__sim_random(sim, 2 * skew_ms + 1) - (int64_t)skew_ms) *
                      NS_PER_MS;
    client->paused_until_ns = sim->now_ns + 1 + mcds__sim_start_ns(client, START_NS_MAX);
    assert(client->paused_until_ns > sim->now_ns);
    client->env = (mcds_env){
        sizeof(mcds_env),  client,        client_monotonic_ns,
        client_wall_ns,    client_random, client_sleep_until_ns,
        client_reallocate,
    };
}

int mcds_sim_client_add(mcds_sim *sim, mcds_sim_program *program, void *context,
                        mcds_sim_client **client_out)
{
    if (sim == NULL || program == NULL)
        return mcds__fail_missing("simulation", "client_add", "a simulation and a program");
    if (sim->client_count == MCDS__SIM_CLIENTS_MAX)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "simulation",
                          .verb = "client_add", .option = "clients",
                          .wanted_max = MCDS__SIM_CLIENTS_MAX,
                          .found_number = MCDS__SIM_CLIENTS_MAX + 1);
    mcds_sim_client *client = mcds__allocate_zero(mcds_env_system(), sizeof *client);
    if (client == NULL)
        return mcds__fail_memory("simulation", NULL, NULL);
    client->sim = sim;
    client->number = sim->client_count + 1;
    client->program = program;
    client->context = context;
    set_up_clocks(client);
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = &client->env;
    int result = mcds_open_backend(&mcds__backend_sim, client, &options, &client->store);
    if (result == MCDS_OK)
        result = mcds_pipeline_open(client->store, NULL, &client->pipeline);
    if (result != MCDS_OK) {
        mcds_close(client->store);
        mcds__free(mcds_env_system(), client);
        return result;
    }
    sim->clients[sim->client_count++] = client;
    assert(client->number == sim->client_count);
    if (client_out != NULL)
        *client_out = client;
    return MCDS_OK;
}

mcds_store *mcds_sim_client_store(mcds_sim_client *client)
{
    return client != NULL ? client->store : NULL;
}

mcds_pipeline *mcds_sim_client_pipeline(mcds_sim_client *client)
{
    return client != NULL ? client->pipeline : NULL;
}

uint32_t mcds_sim_client_number(const mcds_sim_client *client)
{
    return client != NULL ? client->number : 0;
}

int64_t mcds_sim_client_ns(const mcds_sim_client *client)
{
    return client != NULL ? client->sim->now_ns + client->monotonic_start_ns : 0;
}

static void world_ring(mcds_sim *sim, void *subject, uint64_t number)
{
    mcds_sim_client *client = subject;
    if (client->paused_until_ns > sim->now_ns) {
        (void)mcds__sim_plan(sim, client->paused_until_ns, world_ring, subject, number);
        return;
    }
    mcds_completion done = {number, MCDS_OK};
    assert(client->alarms > 0);
    client->alarms--;
    client->program(client->context, client, &done);
}

/* The true time that is so much later, LATEST_NS at most. */
static int64_t true_time_after(const mcds_sim *sim, int64_t after_ns)
{
    assert(sim->now_ns >= 0);
    if (after_ns <= 0 || sim->now_ns >= LATEST_NS)
        return sim->now_ns;
    return after_ns < LATEST_NS - sim->now_ns ? sim->now_ns + after_ns : LATEST_NS;
}

int mcds_sim_client_sleep(mcds_sim_client *client, int64_t after_ns, uint64_t tag)
{
    if (client == NULL)
        return mcds__fail_missing("simulation", "client_sleep", "a client");
    mcds_sim *sim = client->sim;
    if (!mcds__sim_plan(sim, true_time_after(sim, after_ns), world_ring, client, tag))
        return mcds__fail_memory("simulation", NULL, NULL);
    client->alarms++;
    return MCDS_OK;
}

static bool world_is_due(const mcds_sim_client *client)
{
    if (client->paused_until_ns > client->sim->now_ns)
        return false;
    if (!client->begun)
        return true;
    for (const struct mcds__sim_session *session = client->sessions; session != NULL;
         session = session->next)
        if (session->done != NULL)
            return true;
    return mcds_pipeline_wake_ns(client->pipeline) <= mcds_sim_client_ns(client);
}

static void world_take_turn(mcds_sim_client *client)
{
    mcds_sim *sim = client->sim;
    if (mcds__sim_fault(sim, sim->options.pause_ppm)) {
        uint32_t most_ms = sim->options.pause_ms_max > 0 ? sim->options.pause_ms_max
                                                         : PAUSE_MS_DEFAULT;
        client->paused_until_ns = sim->now_ns +
                                  (int64_t)mcds__sim_random(sim, most_ms) * NS_PER_MS;
        sim->counts.paused++;
        mcds_sim_note(sim, client, "stops for %.3f s",
                      (double)(client->paused_until_ns - sim->now_ns) / (double)NS_PER_S);
        return;
    }
    assert(client->paused_until_ns <= sim->now_ns);
    mcds_completion done;
    mcds_wait wait = MCDS_WAIT_INIT;
    if (!client->begun) {
        client->begun = true;
        client->program(client->context, client, NULL);
    }
    /* Operations that the program starts now are sent now. */
    mcds_pipeline_prepare(client->pipeline, &wait);
    while (mcds_pipeline_poll(client->pipeline, &done) == MCDS_OK) {
        client->program(client->context, client, &done);
        mcds_pipeline_prepare(client->pipeline, &wait);
    }
}

static bool has_ended(mcds_sim_client *client)
{
    return client->begun && client->alarms == 0 &&
           client->paused_until_ns <= client->sim->now_ns &&
           mcds_pipeline_is_idle(client->pipeline);
}

/* The earliest time at which a client has something to do. */
static int64_t next_turn_ns(const mcds_sim *sim)
{
    int64_t at_ns = INT64_MAX;
    for (uint32_t i = 0; i < sim->client_count; i++) {
        const mcds_sim_client *client = sim->clients[i];
        int64_t wake_ns = mcds_pipeline_wake_ns(client->pipeline);
        if (wake_ns != INT64_MAX)
            wake_ns -= client->monotonic_start_ns;
        if (client->paused_until_ns > sim->now_ns)
            wake_ns = client->paused_until_ns;
        if (wake_ns < at_ns)
            at_ns = wake_ns;
    }
    return at_ns;
}

int mcds_sim_run(mcds_sim *sim, uint64_t event_max)
{
    if (sim == NULL)
        return mcds__fail_missing("simulation", "run", "a simulation");
    for (uint64_t events = 0; events < event_max; events++) {
        bool ended = true;
        for (uint32_t i = 0; i < sim->client_count; i++) {
            if (world_is_due(sim->clients[i]))
                world_take_turn(sim->clients[i]);
            ended = has_ended(sim->clients[i]) && ended;
        }
        if (ended)
            return MCDS_OK;
        (void)mcds__sim_advance(sim, next_turn_ns(sim));
    }
    return MCDS_PENDING;
}

void mcds_sim_calm(mcds_sim *sim)
{
    if (sim == NULL)
        return;
    sim->calm = true;
    while (sim->event_count > 0)
        (void)mcds__sim_advance(sim, INT64_MAX);
}

int64_t mcds_sim_now_ns(const mcds_sim *sim)
{
    return sim != NULL ? sim->now_ns : 0;
}

void mcds_sim_count(const mcds_sim *sim, mcds_sim_counts *counts_out)
{
    if (sim != NULL && counts_out != NULL)
        mcds__sized_write(MCDS__SIZED_mcds_sim_counts, counts_out, &sim->counts);
}
