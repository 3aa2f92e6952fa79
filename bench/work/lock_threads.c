/* One lock that many threads contend for, on memcached and on Redis. The holder does one of the
 * remaining operations, so that all threads contend until the end. Threads that sleep at the
 * end are waited for after the time was taken. */
#include <stdatomic.h>

#include "peers/peers.h"
#include "thread_pool.h"
#include "work/work.h"

/* A connection for each thread. */
struct throng {
    uint32_t threads;
    _Atomic int64_t left;
    double done_s; /* when no operation was left */
    struct locker lockers[THREAD_POOL_MAX];
    struct redis redis[THREAD_POOL_MAX];
};

static void count_one(struct throng *throng)
{
    if (atomic_fetch_sub(&throng->left, 1) == 1)
        throng->done_s = comparison_now_s();
}

static bool lock_ours(void *state, uint32_t thread, uint64_t operations)
{
    struct throng *throng = state;
    (void)operations;
    for (; throng->left > 0; count_one(throng))
        if (!locker_lock(&throng->lockers[thread], 1))
            return false;
    return true;
}

static bool lock_theirs(void *state, uint32_t thread, uint64_t operations)
{
    struct throng *throng = state;
    (void)operations;
    for (; throng->left > 0; count_one(throng))
        if (!redis_lock(&throng->redis[thread], 1))
            return false;
    return true;
}

static bool run_ours(void *state, uint64_t operations)
{
    struct throng *throng = state;
    atomic_store(&throng->left, (int64_t)operations);
    return thread_pool_run(throng->threads, operations, lock_ours, throng);
}

static bool run_theirs(void *state, uint64_t operations)
{
    struct throng *throng = state;
    atomic_store(&throng->left, (int64_t)operations);
    return thread_pool_run(throng->threads, operations, lock_theirs, throng);
}

static bool open_ours(struct throng *throng, const struct server *memcached)
{
    char uri[160];
    bool fine = true;
    server_uri(memcached, uri, sizeof uri);
    for (uint32_t i = 0; i < throng->threads; i++)
        fine = locker_open(&throng->lockers[i], uri, "throng") && fine;
    return fine;
}

/* Returns NULL, or why they cannot take part. */
static const char *open_theirs(struct throng *throng, const struct servers *servers)
{
    const char *no_redis = servers_no_redis(servers);
    for (uint32_t i = 0; i < throng->threads && no_redis == NULL; i++)
        no_redis = redis_open(&throng->redis[i], &servers->redis_unix, 1);
    return no_redis;
}

static void throng_close(struct throng *throng)
{
    for (uint32_t i = 0; i < throng->threads; i++) {
        locker_close(&throng->lockers[i]);
        redis_close(&throng->redis[i]);
    }
}

void work_lock_threads(struct bench *bench, const struct servers *servers, uint32_t threads)
{
    static struct throng throng;
    throng = (struct throng){.threads = threads};
    bool fine = open_ours(&throng, &servers->memcached_unix);
    const char *no_redis = open_theirs(&throng, servers);
    struct comparison comparison = {
        .work = "lock, acquire and release, by threads",
        .count = 2,
        .list = {{.name = "mcds", .run = run_ours, .state = &throng, .done_s = &throng.done_s},
                 {.name = "Redis SET NX PX and EVALSHA",
                  .skipped = no_redis,
                  .run = run_theirs,
                  .state = &throng,
                  .done_s = &throng.done_s}}};
    if (fine)
        comparison_run(bench, &comparison);
    else
        bench->failed = true;
    throng_close(&throng);
}
