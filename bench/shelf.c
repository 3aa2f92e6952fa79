/* A store with a thousand counters, where a contest is to go from one to the other. */
#include "shelf.h"

#include <stdio.h>
#include <stdlib.h>

static bool open_counters(struct shelf *shelf)
{
    for (uint32_t i = 0; i < COUNTERS; i++) {
        char name[COUNTER_NAME_MAX];
        counter_name(i, name);
        if (mcds_counter_open(shelf->tool.store, name, NULL, &shelf->counters[i]) != MCDS_OK ||
            mcds_counter_add_start(shelf->counters[i], 1, NULL, shelf->tool.pipeline, i) !=
                MCDS_OK)
            return false;
    }
    for (uint32_t i = 0; i < COUNTERS; i++) {
        mcds_completion done;
        if (mcds_pipeline_next(shelf->tool.pipeline, &done) != MCDS_OK ||
            done.result != MCDS_OK)
            return false;
    }
    return true;
}

struct shelf *shelf_open(const char *uri, uint32_t depth)
{
    struct shelf *shelf = calloc(1, sizeof *shelf);
    if (shelf == NULL)
        return NULL;
    if (!tool_open(&shelf->tool, uri, "bench", depth)) {
        free(shelf);
        return NULL;
    }
    if (open_counters(shelf))
        return shelf;
    (void)fprintf(stderr, "bench: %s: %s\n", uri, mcds_errmsg());
    shelf_close(shelf);
    return NULL;
}

void shelf_close(struct shelf *shelf)
{
    if (shelf == NULL)
        return;
    /* What is still in flight must not outlive its counter. */
    mcds_pipeline_close(shelf->tool.pipeline);
    shelf->tool.pipeline = NULL;
    for (uint32_t i = 0; i < COUNTERS; i++)
        mcds_counter_close(shelf->counters[i]);
    tool_close(&shelf->tool);
    free(shelf);
}

bool shelf_add_some(struct shelf *shelf, struct shelf_part part, uint32_t dice,
                    uint64_t operations)
{
    mcds_counter **counters = &shelf->counters[COUNTERS / part.of * part.number];
    for (uint64_t i = 0; i < operations; i++)
        if (mcds_counter_add(counters[throw_counter(&dice) / part.of], 1, NULL) != MCDS_OK)
            return false;
    return true;
}

struct throws {
    const struct shelf *shelf;
    uint32_t dice;
};

static bool start_throw(void *context, uint64_t tag)
{
    struct throws *throws = context;
    mcds_counter *counter = throws->shelf->counters[throw_counter(&throws->dice)];
    return mcds_counter_add_start(counter, 1, NULL, throws->shelf->tool.pipeline, tag) ==
           MCDS_OK;
}

bool shelf_add_pipelined(void *state, uint64_t operations)
{
    const struct tool *tool = &((const struct shelf *)state)->tool;
    struct throws throws = {state, 0};
    return keep_in_flight(tool->pipeline, tool->depth, operations, start_throw, &throws);
}

bool shelf_get(void *state, uint64_t operations)
{
    const struct shelf *shelf = state;
    uint32_t dice = 0;
    for (uint64_t i = 0; i < operations; i++) {
        mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
        if (mcds_counter_get(shelf->counters[throw_counter(&dice)], &value) != MCDS_OK)
            return false;
    }
    return true;
}
