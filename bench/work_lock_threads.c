/* One lock that many threads want, on memcached and on Redis. Whoever gets it does one of the
 * operations that are left, so that all of them want it until the end; those who sleep then, because
 * another had it, are waited for off the clock. */
#include <stdatomic.h>

#include "gang.h"
#include "peers.h"
#include "work.h"

/* A connection of its own for each thread. */
struct throng {
    uint32_t threads;
    _Atomic int64_t left;
    double done_s; /* when none was left */
    struct locker lockers[GANG_MAX];
    struct redis redis[GANG_MAX];
};

static void count_one(struct throng *throng)
{
    if (atomic_fetch_sub(&throng->left, 1) == 1)
        throng->done_s = contest_now_s();
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
    return gang_run(throng->threads, operations, lock_ours, throng);
}

static bool run_theirs(void *state, uint64_t operations)
{
    struct throng *throng = state;
    atomic_store(&throng->left, (int64_t)operations);
    return gang_run(throng->threads, operations, lock_theirs, throng);
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

/* NULL, or why they cannot take part. */
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
    struct contest contest = {
        .work = "lock, acquire and release, by threads",
        .count = 2,
        .list = {{.name = "mcds", .run = run_ours, .state = &throng, .done_s = &throng.done_s},
                 {.name = "Redis SET NX PX and EVALSHA",
                  .skipped = no_redis,
                  .run = run_theirs,
                  .state = &throng,
                  .done_s = &throng.done_s}}};
    if (fine)
        contest_run(bench, &contest);
    else
        bench->failed = true;
    throng_close(&throng);
}
