/* Processes that share operations among them. */
#ifndef BENCH_PROCESS_POOL_H
#define BENCH_PROCESS_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_POOL_MAX 64

/* What each process opens and runs. */
struct process_pool_job {
    /* The state for run(); NULL: it cannot be opened. */
    void *(*open)(const void *where);
    bool (*run)(void *state, uint64_t operations);
    void (*close)(void *state);
    const void *where;
};

struct process_pool {
    uint32_t count;
    struct {
        pid_t pid;
        int line; /* a socket for orders to it and for its answers */
    } members[PROCESS_POOL_MAX];
};

/* Start `count` processes, each with its job open. False: one could not be started; close the
 * pool. */
bool process_pool_open(struct process_pool *process_pool, uint32_t count,
                       const struct process_pool_job *job);
void process_pool_close(struct process_pool *process_pool);
/* contestant.run: the processes' job, a part of the operations in each. */
bool process_pool_run(void *process_pool, uint64_t operations);

#endif
