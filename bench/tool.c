/* The mcds side of the comparisons. */
#include <string.h>

#include "work/work.h"

#define WAIT_MS 3600000

static bool fail(const char *what)
{
    (void)fprintf(stderr, "bench: %s: %s\n", what, mcds_errmsg());
    return false;
}

bool tool_open(struct tool *tool, const char *uri, const char *name, uint32_t depth)
{
    memset(tool, 0, sizeof *tool);
    tool->depth = depth;
    mcds_options options = MCDS_OPTIONS_INIT;
    options.timeout_ms = 30000;
    mcds_pipeline_options in_flight = MCDS_PIPELINE_OPTIONS_INIT;
    in_flight.depth = depth;
    if (mcds_open(uri, &options, &tool->store) != MCDS_OK ||
        mcds_counter_open(tool->store, name, NULL, &tool->counter) != MCDS_OK ||
        mcds_pipeline_open(tool->store, &in_flight, &tool->pipeline) != MCDS_OK) {
        (void)fail(uri);
        tool_close(tool);
        return false;
    }
    return true;
}

void tool_close(struct tool *tool)
{
    mcds_pipeline_close(tool->pipeline);
    mcds_counter_close(tool->counter);
    mcds_close(tool->store);
    memset(tool, 0, sizeof *tool);
}

bool tool_add(void *state, uint64_t operations)
{
    struct tool *tool = state;
    for (uint64_t i = 0; i < operations; i++)
        if (mcds_counter_add(tool->counter, 1, NULL) != MCDS_OK)
            return fail("counter add");
    return true;
}

bool keep_in_flight(mcds_pipeline *pipeline, uint32_t depth, uint64_t operations,
                    bool (*start)(void *context, uint64_t tag), void *context)
{
    uint64_t started = 0;
    for (uint64_t finished = 0; finished < operations; finished++) {
        while (started < operations && started - finished < depth) {
            if (!start(context, started))
                return false;
            started++;
        }
        mcds_completion done;
        if (mcds_pipeline_next(pipeline, &done) != MCDS_OK || done.result != MCDS_OK)
            return false;
    }
    return true;
}

bool locker_open(struct locker *locker, const char *uri, const char *name)
{
    *locker = (struct locker){.lease = MCDS_LEASE_INIT};
    if (mcds_open(uri, NULL, &locker->store) == MCDS_OK &&
        mcds_lock_open(locker->store, name, NULL, &locker->lock) == MCDS_OK)
        return true;
    (void)fail(uri);
    locker_close(locker);
    return false;
}

void locker_close(struct locker *locker)
{
    mcds_lock_close(locker->lock);
    mcds_close(locker->store);
    *locker = (struct locker){0};
}

bool locker_lock(void *state, uint64_t operations)
{
    struct locker *locker = state;
    for (uint64_t i = 0; i < operations; i++)
        if (mcds_lock_acquire(locker->lock, WAIT_MS, &locker->lease) != MCDS_OK ||
            mcds_lock_release(locker->lock, &locker->lease) != MCDS_OK)
            return fail("lock");
    return true;
}
