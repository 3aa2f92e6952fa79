/* A lock: acquire and release, against the way that Redis recommends. Two round
 * trips each. */
#include "peers.h"
#include "work.h"

static void compete(struct bench *bench, const char *work, const struct server *memcached,
                    const struct server *redis_server, bool has_redis)
{
    struct locker locker;
    struct redis redis = {0};
    char uri[160];
    if (!contest_is_wanted(bench, work))
        return;
    server_uri(memcached, uri, sizeof uri);
    if (!locker_open(&locker, uri, "bench")) {
        bench->failed = true;
        return;
    }
    const char *no_redis = has_redis ? redis_open(&redis, redis_server, 1) : "no redis-server";
    struct contest contest = {.work = work,
                              .count = 2,
                              .list = {{.name = "mcds", .run = locker_lock, .state = &locker},
                                       {.name = "Redis SET NX PX, EVALSHA",
                                        .skipped = no_redis,
                                        .run = redis_lock,
                                        .state = &redis}}};
    contest_run(bench, &contest);
    redis_close(&redis);
    locker_close(&locker);
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
