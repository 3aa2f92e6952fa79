/* Counters inside one process, against a hash table under a mutex, and two threads against one,
 * who count what is theirs or both the same. Each add goes to another of many counters. */
#include <stdlib.h>

#include "gang.h"
#include "peers.h"
#include "shelf.h"
#include "work.h"

#define UTHASH_GOAL 1.0
#define THREADS_GOAL 1.7 /* two to one */

/* Some threads before a shelf: each has a part of it, or all have all of it. */
struct crowd {
    uint32_t threads;
    uint32_t parts;
    struct shelf *shelf;
};

static bool add_share(void *state, uint32_t thread, uint64_t operations)
{
    const struct crowd *crowd = state;
    struct shelf_part part = {thread % crowd->parts, crowd->parts};
    gang_spread(thread);
    return shelf_add_some(crowd->shelf, part, dice_of_thread(thread), operations);
}

static bool add_to_shelf(void *state, uint64_t operations)
{
    struct crowd *crowd = state;
    return gang_run(crowd->threads, operations, add_share, crowd);
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
    if (!contest_is_wanted(bench, match->work))
        return;
    struct shelf *shelf = shelf_open("memory:", 1);
    if (shelf == NULL)
        abort();
    struct crowd crowd = {match->threads, match->parts, shelf};
    struct crowd alone = {1, match->parts, shelf};
    const char *no_uthash = uthash_open(&uthash, match->threads);
    struct contest contest = {.work = match->work,
                              .step = 1000,
                              .count = match->beside_own ? 3 : 2,
                              .list = {{.name = "mcds", .run = add_to_shelf, .state = &crowd},
                                       {.name = "uthash under a mutex",
                                        .skipped = no_uthash,
                                        .goal = match->uthash_goal,
                                        .run = uthash_add,
                                        .state = &uthash},
                                       {.name = "one thread of its own",
                                        .goal = match->alone_goal,
                                        .run = add_to_shelf,
                                        .state = &alone}}};
    contest_run(bench, &contest);
    uthash_close(&uthash);
    shelf_close(shelf);
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
