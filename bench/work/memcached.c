/* Counters on memcached, against a raw loop with the same bytes, libmemcached, the article's
 * algorithm over it, and Redis. Waiting calls add to one counter. Those of a pipeline add to a
 * thousand, because operations on the same number would share a request. */
#include <stdlib.h>
#include <unistd.h>

#include "keyspace.h"
#include "peers/peers.h"
#include "raw.h"
#include "relay.h"
#include "work/work.h"

#define WARM_UP 8
#define DISTANCE_NS INT64_C(250000)

/* For client and servers on one processor. */
#define RAW_GOAL_WAITING 0.95
#define RAW_GOAL_PIPELINED 0.88
#define PEER_GOAL_WAITING 1.0
#define PEER_GOAL_PIPELINED 2.0
#define CPU_GOAL (1 / 0.7) /* 0.7 of libmemcached's */
#define USUAL_DEPTH 128
#define GREAT_DEPTH 1024

/* One way to reach the servers. */
struct way {
    const char *name;
    const char *where; /* as of the servers */
    const struct server *memcached;
    const struct server *redis;
    const char *no_redis; /* why there is none, or NULL */
    bool is_near;         /* waiting calls also compete with the article */
};

struct ours {
    struct tool tool;          /* for waiting calls */
    struct keyspace *keyspace; /* NULL: they wait */
};

static bool open_ours(struct ours *ours, const char *uri, uint32_t depth)
{
    *ours = (struct ours){.keyspace = NULL};
    if (depth == 1)
        return tool_open(&ours->tool, uri, "bench", depth);
    ours->keyspace = keyspace_open(uri, depth);
    return ours->keyspace != NULL;
}

static void close_ours(struct ours *ours)
{
    keyspace_close(ours->keyspace);
    if (ours->keyspace == NULL)
        tool_close(&ours->tool);
}

static bool run_ours(void *state, uint64_t operations)
{
    struct ours *ours = state;
    return ours->keyspace == NULL ? tool_add(&ours->tool, operations)
                                  : keyspace_add_pipelined(ours->keyspace, operations);
}

/* Record the bytes that mcds sends for raw->depth adds, and count the line feeds of the
 * replies. */
static bool record(const struct bench *bench, const struct way *way, struct raw *raw)
{
    struct relay relay;
    struct ours ours;
    char uri[160];
    if (!relay_start(&relay, bench->place, "record.sock", way->memcached, 0))
        return false;
    server_uri(&relay.server, uri, sizeof uri);
    bool fine = open_ours(&ours, uri, raw->depth);
    if (fine) {
        fine = run_ours(&ours, (uint64_t)WARM_UP * raw->depth);
        relay_begin(&relay);
        fine = fine && run_ours(&ours, raw->depth);
        raw->requests = relay_end(&relay, &raw->length, &raw->feeds);
        fine = fine && raw->requests != NULL && raw->length > 0;
        close_ours(&ours);
    }
    relay_stop(&relay);
    return fine;
}

static void compete_with(struct bench *bench, const struct way *way, const char *work,
                         struct ours *ours, struct raw *raw)
{
    struct old_client old_client = {0};
    struct redis redis = {0};
    bool waits = raw->depth == 1;
    bool is_judged = way->is_near && way->where[0] != '\0';
    double raw_goal = waits ? RAW_GOAL_WAITING : RAW_GOAL_PIPELINED;
    const char *no_old_client = old_client_open(&old_client, way->memcached);
    const char *no_redis = way->no_redis != NULL ? way->no_redis
                                                 : redis_open(&redis, way->redis, raw->depth);
    struct comparison comparison = {
        .work = work,
        .step = raw->depth,
        .count = waits && way->is_near ? 5 : 4,
        .list = {{.name = "mcds", .run = run_ours, .state = ours},
                 {.name = waits ? "raw loop, same bytes" : "raw pipelined loop, same bytes",
                  .goal = is_judged ? raw_goal : 0,
                  .run = raw_add,
                  .state = raw},
                 {.name = "libmemcached, waiting",
                  .skipped = no_old_client,
                  .goal = waits && is_judged ? PEER_GOAL_WAITING : 0,
                  .cpu_goal = waits && is_judged ? CPU_GOAL : 0,
                  .run = old_client_add,
                  .state = &old_client},
                 {.name = waits ? "Redis INCR, waiting" : "Redis INCR, same depth",
                  .skipped = no_redis,
                  .goal = !waits && is_judged ? PEER_GOAL_PIPELINED : 0,
                  .run = redis_add,
                  .state = &redis},
                 {.name = "the article, libmemcached",
                  .skipped = no_old_client,
                  .run = article_add,
                  .state = &old_client}}};
    comparison_run(bench, &comparison);
    old_client_close(&old_client);
    redis_close(&redis);
}

static void compete(struct bench *bench, const struct way *way, uint32_t depth)
{
    char work[80];
    char uri[160];
    struct ours ours;
    struct raw raw = {.depth = depth};
    if (depth == 1)
        (void)snprintf(work, sizeof work, "counter add, waiting, %s%s", way->name, way->where);
    else
        (void)snprintf(work, sizeof work, "counter add, %u in flight, %s%s", (unsigned)depth,
                       way->name, way->where);
    if (!comparison_is_wanted(bench, work))
        return;
    server_uri(way->memcached, uri, sizeof uri);
    if (!record(bench, way, &raw) || !open_ours(&ours, uri, depth)) {
        bench->failed = true;
        free(raw.requests);
        return;
    }
    raw.fd = server_connect(way->memcached);
    compete_with(bench, way, work, &ours, &raw);
    if (raw.fd >= 0)
        (void)close(raw.fd);
    free(raw.requests);
    close_ours(&ours);
}

/* The same servers through a relay with the latency of a network. */
static void compete_afar(struct bench *bench, const struct servers *servers)
{
    struct relay to_memcached;
    struct relay to_redis;
    const struct way far = {.name = "0.5 ms away",
                            .where = servers->where,
                            .memcached = &to_memcached.server,
                            .redis = &to_redis.server,
                            .no_redis = servers_no_redis(servers)};
    if (!relay_start(&to_memcached, bench->place, "far-m.sock", &servers->memcached_unix,
                     DISTANCE_NS) ||
        !relay_start(&to_redis, bench->place, "far-r.sock", &servers->redis_unix,
                     DISTANCE_NS)) {
        bench->failed = true;
        return;
    }
    compete(bench, &far, USUAL_DEPTH);
    relay_stop(&to_memcached);
    relay_stop(&to_redis);
}

static struct way unix_way(const struct servers *servers, bool is_near)
{
    return (struct way){.name = "unix socket",
                        .where = servers->where,
                        .memcached = &servers->memcached_unix,
                        .redis = &servers->redis_unix,
                        .no_redis = servers_no_redis(servers),
                        .is_near = is_near};
}

static void compete_nearby(struct bench *bench, const struct servers *servers, uint32_t depth)
{
    const struct way tcp = {.name = "TCP",
                            .where = servers->where,
                            .memcached = &servers->memcached_tcp,
                            .redis = &servers->redis_tcp,
                            .no_redis = servers_no_redis(servers),
                            .is_near = true};
    const struct way local = unix_way(servers, true);
    compete(bench, &tcp, depth);
    compete(bench, &local, depth);
}

void work_memcached_nearby(struct bench *bench, const struct servers *servers)
{
    compete_nearby(bench, servers, 1);
    compete_nearby(bench, servers, USUAL_DEPTH);
    compete_nearby(bench, servers, GREAT_DEPTH);
}

void work_memcached(struct bench *bench, const struct servers *servers)
{
    if (servers->memcached_tcp.pid == 0 || servers->memcached_unix.pid == 0) {
        comparison_skip(bench, "counter add on memcached", "memcached did not start");
        return;
    }
    work_memcached_nearby(bench, servers);
    compete_afar(bench, servers);
}

void work_memcached_depth(struct bench *bench, const struct servers *servers, uint32_t depth)
{
    const struct way local = unix_way(servers, false);
    compete(bench, &local, depth);
}
