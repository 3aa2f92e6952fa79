/* A counter on memcached: waiting and pipelined, against the least that any client can do with
 * the same bytes, against libmemcached, and against Redis. */
#include <stdlib.h>
#include <unistd.h>

#include "peers.h"
#include "raw.h"
#include "recorder.h"
#include "work.h"

#define WARM_UP 8

/* One way to reach the servers. */
struct way {
    const char *name;
    const struct server *memcached;
    const struct server *redis;
    bool has_redis;
};

/* The bytes that mcds sends for `depth` adds and how many line feeds come back. */
static bool record(const struct bench *bench, const struct way *way, const char *name,
                   struct raw *raw)
{
    struct recorder recorder;
    struct tool tool;
    char uri[160];
    if (!recorder_start(&recorder, bench->place, way->memcached))
        return false;
    (void)snprintf(uri, sizeof uri, "memcached://%s", recorder.path);
    bool fine = tool_open(&tool, uri, name, raw->depth);
    bool (*const run)(void *, uint64_t) = raw->depth == 1 ? tool_add : tool_add_pipelined;
    if (fine) {
        fine = run(&tool, (uint64_t)WARM_UP * raw->depth);
        recorder_begin(&recorder);
        fine = fine && run(&tool, raw->depth);
        raw->requests = recorder_end(&recorder, &raw->length, &raw->feeds);
        fine = fine && raw->requests != NULL && raw->length > 0;
        tool_close(&tool);
    }
    recorder_stop(&recorder);
    return fine;
}

static void compete(struct bench *bench, const struct way *way, uint32_t depth)
{
    char work[80];
    if (depth == 1)
        (void)snprintf(work, sizeof work, "counter add, waiting, %s", way->name);
    else
        (void)snprintf(work, sizeof work, "counter add, %u in flight, %s", (unsigned)depth,
                       way->name);
    if (!contest_is_wanted(bench, work))
        return;
    char uri[160];
    server_uri(way->memcached, uri, sizeof uri);
    struct tool tool;
    struct raw raw = {.depth = depth};
    struct old_client old_client = {0};
    struct redis redis = {0};
    if (!tool_open(&tool, uri, "bench", depth) || !record(bench, way, "bench", &raw)) {
        bench->failed = true;
        return;
    }
    raw.fd = server_connect(way->memcached);
    const char *no_old_client = old_client_open(&old_client, way->memcached);
    const char *no_redis = way->has_redis ? redis_open(&redis, way->redis, depth)
                                          : "no redis-server";
    struct contest contest = {
        .work = work,
        .step = depth,
        .count = 4,
        .list = {{"mcds", NULL, 0, depth == 1 ? tool_add : tool_add_pipelined, &tool},
                 {depth == 1 ? "raw loop, same bytes" : "raw pipelined loop, same bytes", NULL,
                  depth == 1     ? 0.95
                  : depth == 128 ? 0.7
                                 : 0,
                  raw_add, &raw},
                 {"libmemcached, waiting", no_old_client, depth == 128 ? 40 : 0, old_client_add,
                  &old_client},
                 {depth == 1 ? "Redis INCR, waiting" : "Redis INCR, same depth", no_redis, 0,
                  redis_add, &redis}}};
    contest_run(bench, &contest);
    old_client_close(&old_client);
    redis_close(&redis);
    if (raw.fd >= 0)
        (void)close(raw.fd);
    free(raw.requests);
    tool_close(&tool);
}

void work_memcached(struct bench *bench, const struct servers *servers)
{
    bool has_redis = servers->redis_tcp.pid > 0;
    const struct way tcp = {"TCP", &servers->memcached_tcp, &servers->redis_tcp, has_redis};
    const struct way local = {"unix socket", &servers->memcached_unix, &servers->redis_unix,
                              has_redis};
    if (servers->memcached_tcp.pid == 0 || servers->memcached_unix.pid == 0) {
        contest_skip(bench, "counter add on memcached", "memcached did not start");
        return;
    }
    static const uint32_t depths[] = {1, 128, 1024};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        compete(bench, &tcp, depths[i]);
        compete(bench, &local, depths[i]);
    }
}
