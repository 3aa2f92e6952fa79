/* Many processes that add to one counter: each backend against its alternatives. */
#include <stdlib.h>

#include "peers/peers.h"
#include "process_pool.h"
#include "work/work.h"

static void *open_tool(const void *where)
{
    struct tool *tool = calloc(1, sizeof *tool);
    if (tool == NULL || tool_open(tool, where, "bench", 1))
        return tool;
    free(tool);
    return NULL;
}

static void close_tool(void *state)
{
    tool_close(state);
    free(state);
}

static void *open_redis(const void *where)
{
    struct redis *redis = calloc(1, sizeof *redis);
    if (redis == NULL || redis_open(redis, where, 1) == NULL)
        return redis;
    free(redis);
    return NULL;
}

static void close_redis(void *state)
{
    redis_close(state);
    free(state);
}

static void *open_lmdb(const void *where)
{
    struct lmdb *lmdb = calloc(1, sizeof *lmdb);
    if (lmdb == NULL || lmdb_open(lmdb, where, 1) == NULL)
        return lmdb;
    free(lmdb);
    return NULL;
}

static void close_lmdb(void *state)
{
    lmdb_close(state);
    free(state);
}

struct side {
    const char *name;
    const char *skipped; /* as of a contestant */
    struct process_pool_job job;
};

static void compete(struct bench *bench, const char *work, uint32_t processes,
                    const struct side *sides, uint32_t count)
{
    static struct process_pool process_pools[CONTESTANTS_MAX];
    struct comparison comparison = {.work = work, .step = processes, .count = count};
    bool fine = true;
    for (uint32_t i = 0; i < count; i++) {
        process_pools[i].count = 0;
        fine = fine && (sides[i].skipped != NULL ||
                        process_pool_open(&process_pools[i], processes, &sides[i].job));
        comparison.list[i] = (struct contestant){.name = sides[i].name,
                                                 .skipped = sides[i].skipped,
                                                 .run = process_pool_run,
                                                 .state = &process_pools[i]};
    }
    if (fine)
        comparison_run(bench, &comparison);
    else
        bench->failed = true;
    for (uint32_t i = 0; i < count; i++)
        process_pool_close(&process_pools[i]);
}

void work_processes(struct bench *bench, const struct servers *servers, uint32_t processes)
{
    char memcached[160], async[300], durable[300], lmdb[300];
    server_uri(&servers->memcached_unix, memcached, sizeof memcached);
    (void)snprintf(async, sizeof async, "lmdb:%s/async.mdb?sync=async", bench->place);
    (void)snprintf(durable, sizeof durable, "lmdb:%s/durable.mdb", bench->place);
    (void)snprintf(lmdb, sizeof lmdb, "%s/lmdb.mdb", bench->place);
    const struct side sides[] = {
        {"mcds on memcached", NULL, {open_tool, tool_add, close_tool, memcached}},
        {"Redis INCR",
         servers_no_redis(servers),
         {open_redis, redis_add, close_redis, &servers->redis_unix}},
        {"mcds on lmdb: async", NULL, {open_tool, tool_add, close_tool, async}},
        {"mcds on lmdb: durable", NULL, {open_tool, tool_add, close_tool, durable}},
        {"LMDB with a commit for each", NULL, {open_lmdb, lmdb_add, close_lmdb, lmdb}},
    };
    compete(bench, "counter add, by processes", processes, sides,
            sizeof sides / sizeof sides[0]);
    forget_file(bench, "async.mdb");
    forget_file(bench, "durable.mdb");
    forget_file(bench, "lmdb.mdb");
}

void work_lmdb_processes(struct bench *bench)
{
    static const char work[] = "counter add, durable, lmdb:, 16 processes";
    char ours[300], lmdb[300];
    (void)snprintf(ours, sizeof ours, "lmdb:%s/ours.mdb", bench->place);
    (void)snprintf(lmdb, sizeof lmdb, "%s/lmdb.mdb", bench->place);
    const struct side sides[] = {
        {"mcds", NULL, {open_tool, tool_add, close_tool, ours}},
        {"LMDB, a commit for each", NULL, {open_lmdb, lmdb_add, close_lmdb, lmdb}},
    };
    if (comparison_is_wanted(bench, work))
        compete(bench, work, 16, sides, sizeof sides / sizeof sides[0]);
    forget_file(bench, "ours.mdb");
    forget_file(bench, "lmdb.mdb");
}
