/* Counters inside one process, against a hash table under a mutex, and two threads against one.
 * Each add goes to another of a thousand counters. */
#include <stdlib.h>

#include "gang.h"
#include "peers.h"
#include "work.h"

#define UTHASH_GOAL 1.0
#define THREADS_GOAL 1.7 /* two to one */

struct shelf {
    mcds_store *store;
    mcds_counter *counters[COUNTERS];
};

/* Some threads before a shelf, or by turns before two. */
struct crowd {
    uint32_t threads;
    struct shelf *shelves[2];
};

static bool add_share(void *state, uint32_t thread, uint64_t operations)
{
    const struct crowd *crowd = state;
    const struct shelf *shelf = crowd->shelves[thread % 2];
    uint32_t dice = dice_of_thread(thread);
    gang_spread(thread);
    for (uint64_t i = 0; i < operations; i++)
        if (mcds_counter_add(shelf->counters[throw_counter(&dice)], 1, NULL) != MCDS_OK)
            return false;
    return true;
}

static bool add_to_shelf(void *state, uint64_t operations)
{
    struct crowd *crowd = state;
    return gang_run(crowd->threads, operations, add_share, crowd);
}

static struct shelf *shelf_open(void)
{
    struct shelf *shelf = calloc(1, sizeof *shelf);
    if (shelf == NULL || mcds_open("memory:", NULL, &shelf->store) != MCDS_OK)
        abort();
    for (uint32_t i = 0; i < COUNTERS; i++) {
        char name[COUNTER_NAME_MAX];
        counter_name(i, name);
        if (mcds_counter_open(shelf->store, name, NULL, &shelf->counters[i]) != MCDS_OK)
            abort();
    }
    return shelf;
}

static void shelf_close(struct shelf *shelf)
{
    for (uint32_t i = 0; i < COUNTERS; i++)
        mcds_counter_close(shelf->counters[i]);
    mcds_close(shelf->store);
    free(shelf);
}

/* `beside_own`: also against one thread of its own, and against as many threads that share nothing:
 * what the machine makes of a second thread. */
static void compete(struct bench *bench, const char *work, uint32_t threads, double goal,
                    bool beside_own)
{
    struct uthash uthash = {0};
    if (!contest_is_wanted(bench, work))
        return;
    struct shelf *shelf = shelf_open();
    struct shelf *other = shelf_open();
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
