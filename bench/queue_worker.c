/* A worker of a queue of mcds. */
#include "queue_worker.h"

#include <stdio.h>

#include "verbs.h"

#define TIMEOUT_MS 60000
#define WAIT_MS 10000
#define VISIBLE_MS 3600000 /* a job that is held does not become due during a measurement */
#define FILL_AT_ONCE 6400

static const mcds_bytes job_bytes = {event_bytes, EVENT_LENGTH};

static bool fail(void)
{
    (void)fprintf(stderr, "bench: queue: %s\n", mcds_errmsg());
    return false;
}

bool queue_worker_open(struct queue_worker *worker, const char *uri, const char *name,
                       uint32_t stripes)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_queue_options queue_options = MCDS_QUEUE_OPTIONS_INIT;
    *worker = (struct queue_worker){.job = MCDS_JOB_INIT, .bytes = MCDS_VALUE_INIT};
    options.timeout_ms = TIMEOUT_MS;
    queue_options.visible_ms = VISIBLE_MS;
    queue_options.flags = MCDS_QUEUE_MAY_LOSE;
    queue_options.stripes = stripes;
    if (mcds_open(uri, &options, &worker->store) == MCDS_OK &&
        mcds_queue_open(worker->store, name, &queue_options, &worker->queue) == MCDS_OK)
        return true;
    (void)fail();
    queue_worker_close(worker);
    return false;
}

void queue_worker_close(struct queue_worker *worker)
{
    if (worker->job.is_held && mcds_queue_done(worker->queue, &worker->job) != MCDS_OK)
        (void)fail();
    mcds_value_free(&worker->bytes);
    mcds_queue_close(worker->queue);
    mcds_close(worker->store);
}

bool queue_worker_fill(struct queue_worker *worker, uint32_t jobs)
{
    static mcds_bytes many[FILL_AT_ONCE];
    for (size_t i = 0; i < FILL_AT_ONCE; i++)
        many[i] = job_bytes;
    while (jobs > 0) {
        uint32_t part = jobs < FILL_AT_ONCE ? jobs : FILL_AT_ONCE;
        if (mcds_queue_push_many(worker->queue, many, part, 0, NULL) != MCDS_OK)
            return fail();
        jobs -= part;
    }
    return true;
}

bool queue_worker_run(void *state, uint64_t operations)
{
    struct queue_worker *worker = state;
    for (uint64_t i = 0; i < operations; i++)
        if (mcds_queue_push(worker->queue, job_bytes, 0) != MCDS_OK ||
            mcds_queue_next(worker->queue, WAIT_MS, &worker->job, &worker->bytes) != MCDS_OK)
            return fail();
    return true;
}
