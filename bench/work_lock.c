/* A lock: acquire and release, against the way that Redis recommends. Two round trips each. */
#include "peers.h"
#include "work.h"

struct locker {
    mcds_lock *lock;
    mcds_lease lease;
};

static bool acquire_and_release(void *state, uint64_t operations)
{
    struct locker *locker = state;
    for (uint64_t i = 0; i < operations; i++)
        if (mcds_lock_try_acquire(locker->lock, &locker->lease) != MCDS_OK ||
            mcds_lock_release(locker->lock, &locker->lease) != MCDS_OK) {
            (void)fprintf(stderr, "bench: lock: %s\n", mcds_errmsg());
            return false;
        }
    return true;
}

static void compete(struct bench *bench, const char *work, const struct server *memcached,
                    const struct server *redis_server, bool has_redis)
{
    struct locker locker = {.lease = MCDS_LEASE_INIT};
    struct redis redis = {0};
    mcds_store *store;
    if (!contest_is_wanted(bench, work))
        return;
    char uri[160];
    server_uri(memcached, uri, sizeof uri);
    if (mcds_open(uri, NULL, &store) != MCDS_OK) {
        (void)fprintf(stderr, "bench: %s\n", mcds_errmsg());
        bench->failed = true;
        return;
    }
    if (mcds_lock_open(store, "bench", NULL, &locker.lock) == MCDS_OK) {
        const char *no_redis = has_redis ? redis_open(&redis, redis_server, 1)
                                         : "no redis-server";
        struct contest contest = {
            .work = work,
            .count = 2,
            .list = {{.name = "mcds", .run = acquire_and_release, .state = &locker},
                     {.name = "Redis SET NX PX, EVALSHA",
                      .skipped = no_redis,
                      .run = redis_lock,
                      .state = &redis}}};
        contest_run(bench, &contest);
        redis_close(&redis);
        mcds_lock_close(locker.lock);
    }
    mcds_close(store);
}

void work_lock(struct bench *bench, const struct servers *servers)
{
    bool has_redis = servers->redis_tcp.pid > 0;
    if (servers->memcached_tcp.pid == 0 || servers->memcached_unix.pid == 0) {
        contest_skip(bench, "lock on memcached", "memcached did not start");
        return;
    }
    compete(bench, "lock, acquire and release, TCP", &servers->memcached_tcp,
            &servers->redis_tcp, has_redis);
    compete(bench, "lock, acquire and release, unix socket", &servers->memcached_unix,
            &servers->redis_unix, has_redis);
}
