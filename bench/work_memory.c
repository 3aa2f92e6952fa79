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

/* Some threads before a shelf. */
struct crowd {
    struct shelf *shelf;
    uint32_t threads;
};

static bool add_share(void *state, uint32_t thread, uint64_t operations)
{
    struct shelf *shelf = state;
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
    return gang_run(crowd->threads, operations, add_share, crowd->shelf);
}

static bool shelf_open(struct shelf *shelf)
{
    bool fine = mcds_open("memory:", NULL, &shelf->store) == MCDS_OK;
    for (uint32_t i = 0; i < COUNTERS && fine; i++) {
        char name[COUNTER_NAME_MAX];
        counter_name(i, name);
        fine = mcds_counter_open(shelf->store, name, NULL, &shelf->counters[i]) == MCDS_OK;
    }
    return fine;
}

static void shelf_close(struct shelf *shelf)
{
    for (uint32_t i = 0; i < COUNTERS; i++)
        mcds_counter_close(shelf->counters[i]);
    mcds_close(shelf->store);
}

/* `beside_one`: also against one thread of its own. */
static void compete(struct bench *bench, const char *work, uint32_t threads, double goal,
                    bool beside_one)
{
    struct uthash uthash = {0};
    if (!contest_is_wanted(bench, work))
        return;
    struct shelf *shelf = calloc(1, sizeof *shelf);
    if (shelf == NULL || !shelf_open(shelf))
        abort();
    struct crowd crowd = {shelf, threads};
    struct crowd alone = {shelf, 1};
    const char *no_uthash = uthash_open(&uthash, threads);
    struct contest contest = {.work = work,
                              .step = 1000,
                              .count = beside_one ? 3 : 2,
                              .list = {{.name = "mcds", .run = add_to_shelf, .state = &crowd},
                                       {.name = "uthash under a mutex",
                                        .skipped = no_uthash,
                                        .goal = goal,
                                        .run = uthash_add,
                                        .state = &uthash},
                                       {.name = "one thread of its own",
                                        .goal = THREADS_GOAL,
                                        .run = add_to_shelf,
                                        .state = &alone}}};
    contest_run(bench, &contest);
    uthash_close(&uthash);
    shelf_close(shelf);
    free(shelf);
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
