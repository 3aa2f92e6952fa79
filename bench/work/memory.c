/* Counters in one process: against a hash table under a mutex, and two threads against one,
 * with separate counters or the same. Each add goes to another counter. */
#include <stdlib.h>

#include "keyspace.h"
#include "peers/peers.h"
#include "thread_pool.h"
#include "work/work.h"

#define UTHASH_GOAL 1.0
#define THREADS_GOAL 1.7 /* two threads to one */

/* Threads on one keyspace: each has a part of it, or all share all of it. */
struct crowd {
    uint32_t threads;
    uint32_t parts;
    struct keyspace *keyspace;
};

static bool add_share(void *state, uint32_t thread, uint64_t operations)
{
    const struct crowd *crowd = state;
    struct keyspace_part part = {thread % crowd->parts, crowd->parts};
    thread_pool_spread(thread);
    return keyspace_add_some(crowd->keyspace, part, dice_of_thread(thread), operations);
}

static bool add_to_keyspace(void *state, uint64_t operations)
{
    struct crowd *crowd = state;
    return thread_pool_run(crowd->threads, operations, add_share, crowd);
}

struct match {
    const char *work;
    uint32_t threads;
    uint32_t parts;
    double uthash_goal;
    double alone_goal;
    bool beside_own; /* also against one of these threads alone */
};

static void compete(struct bench *bench, const struct match *match)
{
    struct uthash uthash = {0};
    if (!comparison_is_wanted(bench, match->work))
        return;
    struct keyspace *keyspace = keyspace_open("memory:", 1);
    if (keyspace == NULL)
        abort();
    struct crowd crowd = {match->threads, match->parts, keyspace};
    struct crowd alone = {1, match->parts, keyspace};
    const char *no_uthash = uthash_open(&uthash, match->threads);
    struct comparison comparison = {
        .work = match->work,
        .step = 1000,
        .count = match->beside_own ? 3 : 2,
        .list = {{.name = "mcds", .run = add_to_keyspace, .state = &crowd},
                 {.name = "uthash under a mutex",
                  .skipped = no_uthash,
                  .goal = match->uthash_goal,
                  .run = uthash_add,
                  .state = &uthash},
                 {.name = "one thread of its own",
                  .goal = match->alone_goal,
                  .run = add_to_keyspace,
                  .state = &alone}}};
    comparison_run(bench, &comparison);
    uthash_close(&uthash);
    keyspace_close(keyspace);
}

void work_memory(struct bench *bench)
{
    static const struct match matches[] = {
        {.work = "counter add, memory:, 1 thread",
         .threads = 1,
         .parts = 1,
         .uthash_goal = UTHASH_GOAL},
        {.work = "counter add, memory:, 2 threads",
         .threads = 2,
         .parts = 2,
         .alone_goal = THREADS_GOAL,
         .beside_own = true},
        {.work = "counter add, memory:, 2 threads, the same counters",
         .threads = 2,
         .parts = 1,
         .beside_own = true},
    };
    for (size_t i = 0; i < sizeof matches / sizeof matches[0]; i++)
        compete(bench, &matches[i]);
}

void work_memory_threads(struct bench *bench, const struct servers *servers, uint32_t threads)
{
    (void)servers;
    compete(bench,
            &(struct match){.work = "counter add, memory:", .threads = threads, .parts = 1});
}
