/* The timeline of a simulated world: its last events as lines of text, in a ring. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "sim/world.h"

void mcds_sim_note(mcds_sim *sim, const mcds_sim_client *client, const char *format, ...)
{
    if (sim == NULL || format == NULL)
        return;
    char *line = sim->lines[sim->line_count++ % MCDS__SIM_LINES];
    char who[16] = "  ";
    if (client != NULL)
        (void)snprintf(who, sizeof who, "c%u", client->number);
    int64_t now_us = (sim->now_ns + 500) / 1000; /* printing a double takes longer */
    int length = snprintf(line, MCDS__SIM_LINE_MAX, "%5lld.%06lld %s ",
                          (long long)(now_us / 1000000), (long long)(now_us % 1000000), who);
    assert(length > 0 && length < MCDS__SIM_LINE_MAX);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line + length, (size_t)(MCDS__SIM_LINE_MAX - length), format, arguments);
    va_end(arguments);
}

const char *mcds__sim_command_name(mcds_command command)
{
    static const char *const names[] = {"?",       "get", "set",    "add",  "replace", "append",
                                        "prepend", "cas", "delete", "incr", "decr",    "touch"};
    assert((size_t)command < sizeof names / sizeof names[0]);
    return names[command];
}

static const char *outcome_name(mcds_outcome outcome)
{
    static const char *const names[] = {
        "none",        "ok",        "miss",      "exists",      "not stored",
        "too big",     "no memory", "no buffer", "not numeric", "bad request",
        "unsupported", "failed",    "protocol",  "unsent",      "unknown"};
    assert((size_t)outcome < sizeof names / sizeof names[0]);
    return names[outcome];
}

void mcds__sim_note_request(const mcds_sim_client *client, uint32_t server,
                            const mcds_request *request, const char *what)
{
    mcds_sim *sim = client->sim;
    char where[16] = "";
    if (sim->server_count > 1)
        (void)snprintf(where, sizeof where, " s%u", server + 1);
    mcds_sim_note(sim, client, "%s %.*s%s -> %s%s", mcds__sim_command_name(request->command),
                  (int)request->key.length, (const char *)request->key.data, where,
                  outcome_name(request->reply.outcome), what);
}

/* The first of the newest lines that fit into `capacity` bytes, with their newlines and a NUL. */
static uint64_t first_that_fits(const mcds_sim *sim, size_t capacity)
{
    uint64_t first = sim->line_count;
    size_t length = 1;
    while (first > 0 && sim->line_count - first < MCDS__SIM_LINES) {
        length += strlen(sim->lines[(first - 1) % MCDS__SIM_LINES]) + 1;
        if (length > capacity)
            break;
        first--;
    }
    return first;
}

size_t mcds_sim_timeline(const mcds_sim *sim, char *out, size_t capacity)
{
    size_t length = 0;
    if (out == NULL || capacity == 0)
        return 0;
    uint64_t lines = sim != NULL ? sim->line_count : 0;
    for (uint64_t i = sim != NULL ? first_that_fits(sim, capacity) : 0; i < lines; i++) {
        const char *line = sim->lines[i % MCDS__SIM_LINES];
        size_t line_length = strlen(line);
        memcpy(out + length, line, line_length);
        length += line_length;
        out[length++] = '\n';
    }
    assert(length < capacity);
    out[length] = '\0';
    return length;
}
