/* The simulated world: time, chance, the plan of what will happen, clients and their turns. */
#include "sim/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/sized.h"

#define WALL_START_NS (INT64_C(1767225600) * NS_PER_S) /* 2026-01-01 */
#define PAUSE_MS_DEFAULT 30000
#define START_NS_MAX (50 * NS_PER_MS)
#define EVENTS_MAX ((size_t)1 << 24)

static bool is_before(const struct mcds__sim_event *a, const struct mcds__sim_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->serial < b->serial;
}

static bool reserve_event(mcds_sim *sim)
{
    if (sim->event_count < sim->event_room)
        return true;
    size_t room = sim->event_room > 0 ? sim->event_room * 2 : 256;
    if (room > EVENTS_MAX)
        return false;
    const mcds_env *env = mcds_env_system();
    void *moved = env->reallocate(env->self, sim->events, room * sizeof sim->events[0]);
    if (moved == NULL)
        return false;
    sim->events = moved;
    sim->event_room = room;
    return true;
}

static void sift_up(mcds_sim *sim, size_t i, struct mcds__sim_event event)
{
    while (i > 0 && is_before(&event, &sim->events[(i - 1) / 2])) {
        sim->events[i] = sim->events[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    sim->events[i] = event;
}

bool mcds__sim_plan(mcds_sim *sim, int64_t at_ns,
                    void (*happen)(mcds_sim *sim, void *subject, uint64_t number),
                    void *subject, uint64_t number)
{
    if (!reserve_event(sim))
        return false;
    struct mcds__sim_event event = {at_ns, sim->serial++, happen, subject, number};
    sift_up(sim, sim->event_count++, event);
    return true;
}

static struct mcds__sim_event take_first(mcds_sim *sim)
{
    struct mcds__sim_event first = sim->events[0];
    struct mcds__sim_event last = sim->events[--sim->event_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < sim->event_count; i = child) {
        if (child + 1 < sim->event_count &&
            is_before(&sim->events[child + 1], &sim->events[child]))
            child++;
        if (is_before(&last, &sim->events[child]))
            break;
        sim->events[i] = sim->events[child];
    }
    sim->events[i] = last;
    return first;
}

bool mcds__sim_is_due(const mcds_sim *sim, int64_t until_ns)
{
    return sim->event_count > 0 && sim->events[0].at_ns <= until_ns;
}

bool mcds__sim_advance(mcds_sim *sim, int64_t until_ns)
{
    if (!mcds__sim_is_due(sim, until_ns)) {
        if (until_ns == INT64_MAX)
            return false;
        if (sim->now_ns < until_ns)
            sim->now_ns = until_ns;
        return true;
    }
    struct mcds__sim_event event = take_first(sim);
    if (sim->now_ns < event.at_ns)
        sim->now_ns = event.at_ns;
    event.happen(sim, event.subject, event.number);
    return true;
}

void mcds__sim_cancel(mcds_sim *sim, const struct mcds__sim_lane *lane)
{
    size_t kept = 0;
    size_t count = sim->event_count;
    for (size_t i = 0; i < count; i++) {
        struct mcds__sim_event event = sim->events[i];
        if (!mcds__sim_is_of_lane(&event, lane))
            sift_up(sim, kept++, event);
    }
    sim->event_count = kept;
}

void mcds_sim_note(mcds_sim *sim, const mcds_sim_client *client, const char *format, ...)
{
    char *line = sim->lines[sim->line_count++ % MCDS__SIM_LINES];
    char who[16] = "  ";
    if (client != NULL)
        (void)snprintf(who, sizeof who, "c%u", client->number);
    int length = snprintf(line, MCDS__SIM_LINE_MAX, "%12.6f %s ",
                          (double)sim->now_ns / (double)NS_PER_S, who);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line + length, (size_t)(MCDS__SIM_LINE_MAX - length), format, arguments);
    va_end(arguments);
}

size_t mcds_sim_timeline(const mcds_sim *sim, char *out, size_t room)
{
    size_t length = 0;
    uint64_t first = sim->line_count > MCDS__SIM_LINES ? sim->line_count - MCDS__SIM_LINES : 0;
    if (room == 0)
        return 0;
    for (uint64_t i = first; i < sim->line_count; i++) {
        const char *line = sim->lines[i % MCDS__SIM_LINES];
        size_t line_length = strlen(line);
        if (length + line_length + 2 > room)
            break;
        memcpy(out + length, line, line_length);
        length += line_length;
        out[length++] = '\n';
    }
    out[length] = '\0';
    return length;
}

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

int mcds_sim_open(const mcds_sim_options *options, mcds_sim **sim_out)
{
    mcds_sim_options own;
    int result = mcds__sized_read(MCDS__SIZED_mcds_sim_options, options, &own);
    if (result != MCDS_OK)
        return result;
    mcds_sim *sim = mcds__allocate_zero(mcds_env_system(), sizeof *sim);
    if (sim == NULL)
        return mcds__fail_memory("simulation", NULL, NULL);
    sim->options = own;
    sim->random_state = own.seed > 0 ? own.seed : 1;
    mcds__sim_schedule(sim);
    if (!mcds__sim_server_open(sim)) {
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
    mcds__table_close(sim->table);
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
    client->env = (mcds_env){
        sizeof(mcds_env),  client,        client_monotonic_ns,
        client_wall_ns,    client_random, client_sleep_until_ns,
        client_reallocate,
    };
}

int mcds_sim_client_add(mcds_sim *sim, mcds_sim_program *program, void *context,
                        mcds_sim_client **client_out)
{
    if (sim->client_count == MCDS__SIM_CLIENTS_MAX)
        return mcds_fail(MCDS_INVALID, "simulation: at most %d clients", MCDS__SIM_CLIENTS_MAX);
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
    int result = mcds_open_home(&mcds__home_sim, client, &options, &client->store);
    if (result == MCDS_OK)
        result = mcds_pipeline_open(client->store, NULL, &client->pipeline);
    if (result != MCDS_OK) {
        mcds_close(client->store);
        mcds__free(mcds_env_system(), client);
        return result;
    }
    sim->clients[sim->client_count++] = client;
    if (client_out != NULL)
        *client_out = client;
    return MCDS_OK;
}

mcds_store *mcds_sim_client_store(mcds_sim_client *client)
{
    return client->store;
}

mcds_pipeline *mcds_sim_client_pipeline(mcds_sim_client *client)
{
    return client->pipeline;
}

uint32_t mcds_sim_client_number(const mcds_sim_client *client)
{
    return client->number;
}

int64_t mcds_sim_client_ns(const mcds_sim_client *client)
{
    return client->sim->now_ns + client->monotonic_start_ns;
}

static void ring(mcds_sim *sim, void *subject, uint64_t number)
{
    mcds_sim_client *client = subject;
    if (client->paused_until_ns > sim->now_ns) {
        (void)mcds__sim_plan(sim, client->paused_until_ns, ring, subject, number);
        return;
    }
    mcds_completion done = {number, MCDS_OK};
    client->alarms--;
    client->program(client->context, client, &done);
}

int mcds_sim_client_sleep(mcds_sim_client *client, int64_t after_ns, uint64_t tag)
{
    mcds_sim *sim = client->sim;
    if (!mcds__sim_plan(sim, sim->now_ns + (after_ns > 0 ? after_ns : 0), ring, client, tag))
        return mcds__fail_memory("simulation", NULL, NULL);
    client->alarms++;
    return MCDS_OK;
}

static bool is_due(const mcds_sim_client *client)
{
    if (client->paused_until_ns > client->sim->now_ns)
        return false;
    if (!client->begun)
        return true;
    for (const struct mcds__sim_lane *lane = client->lanes; lane != NULL; lane = lane->next)
        if (lane->done != NULL)
            return true;
    return mcds_pipeline_wake_ns(client->pipeline) <= mcds_sim_client_ns(client);
}

static void take_turn(mcds_sim_client *client)
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
    mcds_completion done;
    mcds_wait wait;
    if (!client->begun) {
        client->begun = true;
        client->program(client->context, client, NULL);
    }
    /* What a program starts is sent at this moment. */
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

/* When the first client has something to do of its own accord. */
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
    for (uint64_t events = 0; events < event_max; events++) {
        bool ended = true;
        for (uint32_t i = 0; i < sim->client_count; i++) {
            if (is_due(sim->clients[i]))
                take_turn(sim->clients[i]);
            ended = has_ended(sim->clients[i]) && ended;
        }
        if (ended)
            return MCDS_OK;
        (void)mcds__sim_advance(sim, next_turn_ns(sim));
    }
    return mcds_fail(MCDS_BUSY, "simulation: not at its end after %llu events",
                     (unsigned long long)event_max);
}

void mcds_sim_calm(mcds_sim *sim)
{
    sim->calm = true;
    while (sim->event_count > 0)
        (void)mcds__sim_advance(sim, INT64_MAX);
}

int64_t mcds_sim_now_ns(const mcds_sim *sim)
{
    return sim->now_ns;
}

void mcds_sim_count(const mcds_sim *sim, mcds_sim_counts *counts_out)
{
    mcds__sized_write(MCDS__SIZED_mcds_sim_counts, counts_out, &sim->counts);
}
