/* A lock: acquire and release, against the way that Redis recommends and the article's. Each
 * takes two round trips. */
#include "peers/peers.h"
#include "work/work.h"

static void compete(struct bench *bench, const struct servers *servers, const char *way,
                    const struct server *memcached, const struct server *redis_server)
{
    char work[80];
    struct locker locker;
    struct redis redis = {0};
    struct old_client old_client = {0};
    char uri[160];
    (void)snprintf(work, sizeof work, "lock, acquire and release, %s%s", way, servers->where);
    if (!comparison_is_wanted(bench, work))
        return;
    server_uri(memcached, uri, sizeof uri);
    if (!locker_open(&locker, uri, "bench")) {
        bench->failed = true;
        return;
    }
    const char *no_redis = servers_no_redis(servers);
    if (no_redis == NULL)
        no_redis = redis_open(&redis, redis_server, 1);
    const char *no_old_client = old_client_open(&old_client, memcached);
    struct comparison comparison = {
        .work = work,
        .count = 3,
        .list = {{.name = "mcds", .run = locker_lock, .state = &locker},
                 {.name = "Redis SET NX PX, EVALSHA",
                  .skipped = no_redis,
                  .goal = servers->where[0] != '\0' ? 1.2 : 0,
                  .run = redis_lock,
                  .state = &redis},
                 {.name = "the article, libmemcached",
                  .skipped = no_old_client,
                  .run = article_lock,
                  .state = &old_client}}};
    comparison_run(bench, &comparison);
    redis_close(&redis);
    old_client_close(&old_client);
    locker_close(&locker);
}

void work_lock(struct bench *bench, const struct servers *servers)
{
    if (servers->memcached_tcp.pid == 0 || servers->memcached_unix.pid == 0) {
        comparison_skip(bench, "lock on memcached", "memcached did not start");
        return;
    }
    compete(bench, servers, "TCP", &servers->memcached_tcp, &servers->redis_tcp);
    compete(bench, servers, "unix socket", &servers->memcached_unix, &servers->redis_unix);
}
