/* Processes that share out operations. */
#ifndef BENCH_CREW_H
#define BENCH_CREW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CREW_MAX 64

/* What each process does for itself. */
struct crew_job {
    /* What run() gets; NULL when it cannot be opened. */
    void *(*open)(const void *where);
    bool (*run)(void *state, uint64_t operations);
    void (*close)(void *state);
    const void *where;
};

struct crew {
    uint32_t count;
    struct {
        pid_t pid;
        int line; /* orders to it, and its answers */
    } members[CREW_MAX];
};

/* Start so many processes, each with its job open. False: one of them could not; close it. */
bool crew_open(struct crew *crew, uint32_t count, const struct crew_job *job);
void crew_close(struct crew *crew);
/* contestant.run: the processes' job, a part of the operations in each. */
bool crew_run(void *crew, uint64_t operations);

#endif
