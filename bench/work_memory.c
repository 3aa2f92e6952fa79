/* Counters inside one process, against a hash table under a mutex. Each add goes to another of
 * a thousand counters. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gang.h"
#include "work.h"

#ifdef BENCH_UTHASH
#include <uthash.h>
#endif

#define COUNTERS 1000
#define GOAL 1.0

static uint32_t next_counter(uint32_t *at)
{
    *at = (*at + 7) % COUNTERS; /* 7 and 1000 have no common factor: all get their turn */
    return *at;
}

struct shelf {
    uint32_t threads;
    mcds_store *store;
    mcds_counter *counters[COUNTERS];
};

static bool add_share(void *state, uint32_t thread, uint64_t operations)
{
    struct shelf *shelf = state;
    uint32_t at = thread * 499;
    for (uint64_t i = 0; i < operations; i++)
        if (mcds_counter_add(shelf->counters[next_counter(&at)], 1, NULL) != MCDS_OK)
            return false;
    return true;
}

static bool add_to_shelf(void *state, uint64_t operations)
{
    struct shelf *shelf = state;
    return gang_run(shelf->threads, operations, add_share, shelf);
}

static bool shelf_open(struct shelf *shelf)
{
    bool fine = mcds_open("memory:", NULL, &shelf->store) == MCDS_OK;
    for (uint32_t i = 0; i < COUNTERS && fine; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "counter%u", (unsigned)i);
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

#ifdef BENCH_UTHASH
struct cell {
    char name[16];
    uint64_t value;
    UT_hash_handle hh;
};

struct plain {
    uint32_t threads;
    pthread_mutex_t mutex; /* guards the table */
    struct cell *table;
    struct cell cells[COUNTERS];
};

static bool plain_add_share(void *state, uint32_t thread, uint64_t operations)
{
    struct plain *plain = state;
    uint32_t at = thread * 499;
    for (uint64_t i = 0; i < operations; i++) {
        struct cell *cell;
        const char *name = plain->cells[next_counter(&at)].name;
        (void)pthread_mutex_lock(&plain->mutex);
        HASH_FIND_STR(plain->table, name, cell);
        if (cell != NULL)
            cell->value++;
        (void)pthread_mutex_unlock(&plain->mutex);
        if (cell == NULL)
            return false;
    }
    return true;
}

static bool add_to_plain(void *state, uint64_t operations)
{
    struct plain *plain = state;
    return gang_run(plain->threads, operations, plain_add_share, plain);
}

static struct plain *plain_open(uint32_t threads)
{
    struct plain *plain = calloc(1, sizeof *plain);
    if (plain == NULL)
        return NULL;
    plain->threads = threads;
    (void)pthread_mutex_init(&plain->mutex, NULL);
    for (uint32_t i = 0; i < COUNTERS; i++) {
        struct cell *cell = &plain->cells[i];
        (void)snprintf(cell->name, sizeof cell->name, "counter%u", (unsigned)i);
        HASH_ADD_STR(plain->table, name, cell);
    }
    return plain;
}

static void plain_close(struct plain *plain)
{
    HASH_CLEAR(hh, plain->table);
    (void)pthread_mutex_destroy(&plain->mutex);
    free(plain);
}

static void compete(struct bench *bench, const char *work, uint32_t threads)
{
    struct shelf *shelf = calloc(1, sizeof *shelf);
    struct plain *plain = plain_open(threads);
    if (shelf == NULL || plain == NULL || !shelf_open(shelf))
        abort();
    shelf->threads = threads;
    struct contest contest = {.work = work,
                              .step = 1000,
                              .count = 2,
                              .list = {{.name = "mcds", .run = add_to_shelf, .state = shelf},
                                       {.name = "uthash under a mutex",
                                        .goal = GOAL,
                                        .run = add_to_plain,
                                        .state = plain}}};
    contest_run(bench, &contest);
    shelf_close(shelf);
    free(shelf);
    plain_close(plain);
}

#else

static void compete(struct bench *bench, const char *work, uint32_t threads)
{
    (void)threads, (void)add_to_shelf, (void)shelf_open, (void)shelf_close;
    contest_skip(bench, work, "built without uthash");
}
#endif

void work_memory(struct bench *bench)
{
    compete(bench, "counter add, memory:, 1 thread", 1);
    compete(bench, "counter add, memory:, 2 threads", 2);
}

void work_memory_threads(struct bench *bench, uint32_t threads)
{
    compete(bench, "counter add, memory:", threads);
}
