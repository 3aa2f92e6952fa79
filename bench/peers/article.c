/* The article's counter and lock of 2009, over libmemcached. */
#include "peers/peers.h"

#include <string.h>

#ifdef BENCH_LIBMEMCACHED
#include <libmemcached/memcached.h>

#define LOCK_TIMEOUT_S 15

static const char counter_key[] = "counterarticle";
static const char lock_key[] = "lock_article";

/* A failed add has lost to another client, so there is a number to increment. */
static bool increment(memcached_st *handle)
{
    for (;;) {
        uint64_t value;
        memcached_return_t result = memcached_increment(handle, counter_key,
                                                        strlen(counter_key), 1, &value);
        if (result == MEMCACHED_NOTFOUND)
            result = memcached_add(handle, counter_key, strlen(counter_key), "1", 1, 0, 0);
        if (result != MEMCACHED_NOTSTORED)
            return result == MEMCACHED_SUCCESS;
    }
}

bool article_add(void *state, uint64_t operations)
{
    struct old_client *client = state;
    for (uint64_t i = 0; i < operations; i++)
        if (!increment(client->handle))
            return false;
    return true;
}

bool article_lock(void *state, uint64_t operations)
{
    struct old_client *client = state;
    for (uint64_t i = 0; i < operations; i++)
        if (memcached_add(client->handle, lock_key, strlen(lock_key), "1", 1, LOCK_TIMEOUT_S,
                          0) != MEMCACHED_SUCCESS ||
            memcached_delete(client->handle, lock_key, strlen(lock_key), 0) !=
                MEMCACHED_SUCCESS)
            return false;
    return true;
}

#else

bool article_add(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}

bool article_lock(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}
#endif
