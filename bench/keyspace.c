/* A store with a thousand counters, for comparisons that alternate between them. */
#include "keyspace.h"

#include <stdio.h>
#include <stdlib.h>

static bool open_counters(struct keyspace *keyspace)
{
    for (uint32_t i = 0; i < COUNTERS; i++) {
        char name[COUNTER_NAME_MAX];
        counter_name(i, name);
        if (mcds_counter_open(keyspace->tool.store, name, NULL, &keyspace->counters[i]) !=
                MCDS_OK ||
            mcds_counter_add_start(keyspace->counters[i], 1, NULL, keyspace->tool.pipeline,
                                   i) != MCDS_OK)
            return false;
    }
    for (uint32_t i = 0; i < COUNTERS; i++) {
        mcds_completion done;
        if (mcds_pipeline_next(keyspace->tool.pipeline, &done) != MCDS_OK ||
            done.result != MCDS_OK)
            return false;
    }
    return true;
}

struct keyspace *keyspace_open(const char *uri, uint32_t depth)
{
    struct keyspace *keyspace = calloc(1, sizeof *keyspace);
    if (keyspace == NULL)
        return NULL;
    if (!tool_open(&keyspace->tool, uri, "bench", depth)) {
        free(keyspace);
        return NULL;
    }
    if (open_counters(keyspace))
        return keyspace;
    (void)fprintf(stderr, "bench: %s: %s\n", uri, mcds_errmsg());
    keyspace_close(keyspace);
    return NULL;
}

void keyspace_close(struct keyspace *keyspace)
{
    if (keyspace == NULL)
        return;
    /* Operations in flight must not outlive their counter. */
    mcds_pipeline_close(keyspace->tool.pipeline);
    keyspace->tool.pipeline = NULL;
    for (uint32_t i = 0; i < COUNTERS; i++)
        mcds_counter_close(keyspace->counters[i]);
    tool_close(&keyspace->tool);
    free(keyspace);
}

bool keyspace_add_some(struct keyspace *keyspace, struct keyspace_part part, uint32_t dice,
                       uint64_t operations)
{
    mcds_counter **counters = &keyspace->counters[COUNTERS / part.of * part.number];
    for (uint64_t i = 0; i < operations; i++)
        if (mcds_counter_add(counters[throw_counter(&dice) / part.of], 1, NULL) != MCDS_OK)
            return false;
    return true;
}

struct throws {
    const struct keyspace *keyspace;
    uint32_t dice;
};

static bool start_throw(void *context, uint64_t tag)
{
    struct throws *throws = context;
    mcds_counter *counter = throws->keyspace->counters[throw_counter(&throws->dice)];
    return mcds_counter_add_start(counter, 1, NULL, throws->keyspace->tool.pipeline, tag) ==
           MCDS_OK;
}

bool keyspace_add_pipelined(void *state, uint64_t operations)
{
    const struct tool *tool = &((const struct keyspace *)state)->tool;
    struct throws throws = {state, 0};
    return keep_in_flight(tool->pipeline, tool->depth, operations, start_throw, &throws);
}

bool keyspace_get(void *state, uint64_t operations)
{
    const struct keyspace *keyspace = state;
    uint32_t dice = 0;
    for (uint64_t i = 0; i < operations; i++) {
        mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
        if (mcds_counter_get(keyspace->counters[throw_counter(&dice)], &value) != MCDS_OK)
            return false;
    }
    return true;
}
