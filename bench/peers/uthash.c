/* Counters in a hash table of uthash, under one mutex. */
#include "peers/peers.h"

#include <stddef.h>

#ifdef BENCH_UTHASH
#include <pthread.h>
#include <stdlib.h>
#include <uthash.h>

#include "thread_pool.h"

struct counter {
    char name[COUNTER_NAME_MAX];
    uint64_t value;
    UT_hash_handle hh;
};

struct uthash_counters {
    pthread_mutex_t mutex; /* guards the table */
    struct counter *table;
    struct counter all[COUNTERS];
};

const char *uthash_open(struct uthash *uthash, uint32_t threads)
{
    struct uthash_counters *counters = calloc(1, sizeof *counters);
    *uthash = (struct uthash){.threads = threads, .counters = counters};
    if (counters == NULL)
        return "uthash: out of memory";
    (void)pthread_mutex_init(&counters->mutex, NULL);
    for (uint32_t i = 0; i < COUNTERS; i++) {
        struct counter *counter = &counters->all[i];
        counter_name(i, counter->name);
        HASH_ADD_STR(counters->table, name, counter);
    }
    return NULL;
}

void uthash_close(struct uthash *uthash)
{
    if (uthash->counters == NULL)
        return;
    HASH_CLEAR(hh, uthash->counters->table);
    (void)pthread_mutex_destroy(&uthash->counters->mutex);
    free(uthash->counters);
    uthash->counters = NULL;
}

static bool add(struct uthash_counters *counters, const char *name)
{
    struct counter *counter;
    (void)pthread_mutex_lock(&counters->mutex);
    HASH_FIND_STR(counters->table, name, counter);
    if (counter != NULL)
        counter->value++;
    (void)pthread_mutex_unlock(&counters->mutex);
    return counter != NULL;
}

static bool add_share(void *state, uint32_t thread, uint64_t operations)
{
    struct uthash_counters *counters = state;
    uint32_t dice = dice_of_thread(thread);
    thread_pool_spread(thread);
    for (uint64_t i = 0; i < operations; i++)
        if (!add(counters, counters->all[throw_counter(&dice)].name))
            return false;
    return true;
}

bool uthash_add(void *state, uint64_t operations)
{
    struct uthash *uthash = state;
    return thread_pool_run(uthash->threads, operations, add_share, uthash->counters);
}

bool uthash_fill(uint32_t count)
{
    static struct counter *table;
    for (uint32_t i = 0; i < count; i++) {
        struct counter *counter = calloc(1, sizeof *counter);
        if (counter == NULL)
            return false;
        counter_name(i, counter->name);
        HASH_ADD_STR(table, name, counter);
    }
    return true;
}

#else

const char *uthash_open(struct uthash *uthash, uint32_t threads)
{
    (void)uthash, (void)threads;
    return "built without uthash";
}

void uthash_close(struct uthash *uthash)
{
    (void)uthash;
}

bool uthash_add(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}

bool uthash_fill(uint32_t count)
{
    (void)count;
    return false;
}
#endif
