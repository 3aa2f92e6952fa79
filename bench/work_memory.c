/* Counters inside one process, against a hash table under a mutex, and two threads against one.
 * Each add goes to another of a thousand counters. */
#include <stdlib.h>

#include "gang.h"
#include "peers.h"
#include "shelf.h"
#include "work.h"

#define UTHASH_GOAL 1.0
#define THREADS_GOAL 1.7 /* two to one */

/* Some threads before a shelf, or by turns before two. */
struct crowd {
    uint32_t threads;
    struct shelf *shelves[2];
};

static bool add_share(void *state, uint32_t thread, uint64_t operations)
{
    const struct crowd *crowd = state;
    gang_spread(thread);
    return shelf_add_some(crowd->shelves[thread % 2], dice_of_thread(thread), operations);
}

static bool add_to_shelf(void *state, uint64_t operations)
{
    struct crowd *crowd = state;
    return gang_run(crowd->threads, operations, add_share, crowd);
}

/* `beside_own`: also against one thread of its own, and against as many threads that share nothing:
 * what the machine makes of a second thread. */
static void compete(struct bench *bench, const char *work, uint32_t threads, double goal,
                    bool beside_own)
{
    struct uthash uthash = {0};
    if (!contest_is_wanted(bench, work))
        return;
    struct shelf *shelf = shelf_open("memory:", 1);
    struct shelf *other = shelf_open("memory:", 1);
    if (shelf == NULL || other == NULL)
        abort();
    struct crowd crowd = {threads, {shelf, shelf}};
    struct crowd alone = {1, {shelf, shelf}};
    struct crowd apart = {threads, {shelf, other}};
    const char *no_uthash = uthash_open(&uthash, threads);
    struct contest contest = {
        .work = work,
        .step = 1000,
        .count = beside_own ? 4 : 2,
        .list = {{.name = "mcds", .run = add_to_shelf, .state = &crowd},
                 {.name = "uthash under a mutex",
                  .skipped = no_uthash,
                  .goal = goal,
                  .run = uthash_add,
                  .state = &uthash},
                 {.name = "one thread of its own",
                  .goal = THREADS_GOAL,
                  .run = add_to_shelf,
                  .state = &alone},
                 {.name = "a store for each thread", .run = add_to_shelf, .state = &apart}}};
    contest_run(bench, &contest);
    uthash_close(&uthash);
    shelf_close(other);
    shelf_close(shelf);
}

void work_memory(struct bench *bench)
{
    compete(bench, "counter add, memory:, 1 thread", 1, UTHASH_GOAL, false);
    compete(bench, "counter add, memory:, 2 threads", 2, 0, true);
}

void work_memory_threads(struct bench *bench, const struct servers *servers, uint32_t threads)
{
    (void)servers;
    compete(bench, "counter add, memory:", threads, 0, false);
}
