/* A worker of a queue of mcds. */
#ifndef BENCH_QUEUE_WORKER_H
#define BENCH_QUEUE_WORKER_H

#include "mcds.h"

struct queue_worker {
    mcds_store *store;
    mcds_queue *queue;
    mcds_job job;
    mcds_value bytes;
};

/* False: an error was printed on stderr. */
bool queue_worker_open(struct queue_worker *worker, const char *uri, const char *name,
                       uint32_t stripes);
/* Ends the job that it holds. */
void queue_worker_close(struct queue_worker *worker);
bool queue_worker_fill(struct queue_worker *worker, uint32_t jobs);
/* contestant.run: push a job; end the previous job, and claim one. */
bool queue_worker_run(void *worker, uint64_t operations);

#endif
