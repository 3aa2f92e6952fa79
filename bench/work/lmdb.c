/* One file: durable adds to one counter, against LMDB and SQLite with one commit each;
 * pipelined adds to a thousand counters, against one transaction; and reads. */
#include <unistd.h>

#include "keyspace.h"
#include "peers/peers.h"
#include "thread_pool.h"
#include "work/work.h"

struct file {
    uint32_t threads;
    struct keyspace *keyspace;
};

static bool add_share(void *state, uint32_t thread, uint64_t operations)
{
    const struct file *file = state;
    (void)thread;
    for (uint64_t i = 0; i < operations; i++)
        if (mcds_counter_add(file->keyspace->counters[0], 1, NULL) != MCDS_OK)
            return false;
    return true;
}

static bool add_to_file(void *state, uint64_t operations)
{
    struct file *file = state;
    return thread_pool_run(file->threads, operations, add_share, file);
}

static bool pipeline_to_file(void *state, uint64_t operations)
{
    return keyspace_add_pipelined(((struct file *)state)->keyspace, operations);
}

static bool get_from_file(void *state, uint64_t operations)
{
    return keyspace_get(((struct file *)state)->keyspace, operations);
}

void forget_file(const struct bench *bench, const char *name)
{
    static const char *const ends[] = {"", "-lock", "-writer", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char path[300];
        (void)snprintf(path, sizeof path, "%s/%s%s", bench->place, name, ends[i]);
        (void)unlink(path);
    }
}

struct match {
    const char *work;
    uint32_t threads;
    uint32_t step;
    bool (*ours)(void *state, uint64_t operations);
    struct {
        const char *name;
        double goal;
        bool (*run)(void *state, uint64_t operations);
    } lmdb, sqlite;
};

static void compete_with(struct bench *bench, const struct match *match, struct file *file)
{
    struct lmdb lmdb = {0};
    struct sqlite sqlite = {0};
    char path[300];
    (void)snprintf(path, sizeof path, "%s/lmdb.mdb", bench->place);
    const char *no_lmdb = lmdb_open(&lmdb, path, match->threads);
    (void)snprintf(path, sizeof path, "%s/sqlite.db", bench->place);
    const char *no_sqlite = sqlite_open(&sqlite, path, match->threads);
    struct comparison comparison = {
        .work = match->work,
        .step = match->step,
        .count = 3,
        .list = {{.name = "mcds", .run = match->ours, .state = file},
                 {.name = match->lmdb.name,
                  .skipped = no_lmdb,
                  .goal = match->lmdb.goal,
                  .run = match->lmdb.run,
                  .state = &lmdb},
                 {.name = match->sqlite.name,
                  .skipped = no_sqlite,
                  .goal = match->sqlite.goal,
                  .run = match->sqlite.run,
                  .state = &sqlite}}};
    comparison_run(bench, &comparison);
    lmdb_close(&lmdb);
    sqlite_close(&sqlite);
    forget_file(bench, "lmdb.mdb");
    forget_file(bench, "sqlite.db");
}

static void compete(struct bench *bench, const struct match *match)
{
    struct file file = {.threads = match->threads};
    char uri[300];
    if (!comparison_is_wanted(bench, match->work))
        return;
    (void)snprintf(uri, sizeof uri, "lmdb:%s/ours.mdb", bench->place);
    file.keyspace = keyspace_open(uri, BATCH);
    if (file.keyspace != NULL)
        compete_with(bench, match, &file);
    else
        bench->failed = true;
    keyspace_close(file.keyspace);
    forget_file(bench, "ours.mdb");
}

void work_lmdb(struct bench *bench)
{
    static const struct match matches[] = {
        {.work = "counter add, durable, lmdb:, 1 thread",
         .threads = 1,
         .step = 1,
         .ours = add_to_file,
         .lmdb = {"LMDB, a commit for each", 0, lmdb_add},
         .sqlite = {"SQLite WAL, a commit for each", 0, sqlite_add}},
        {.work = "counter add, durable, lmdb:, 32 threads",
         .threads = 32,
         .step = 32,
         .ours = add_to_file,
         .lmdb = {"LMDB, a commit for each", 8, lmdb_add},
         .sqlite = {"SQLite WAL, a commit for each", 0, sqlite_add}},
        {.work = "counter add, 1000 in flight, lmdb:",
         .threads = 1,
         .step = BATCH,
         .ours = pipeline_to_file,
         .lmdb = {"LMDB, 1000 puts a commit", 0.7, lmdb_put_batches},
         .sqlite = {"SQLite WAL, 1000 adds a commit", 0, sqlite_add_batches}},
        {.work = "counter get, lmdb:",
         .threads = 1,
         .step = 1,
         .ours = get_from_file,
         .lmdb = {"LMDB, mdb_get", 0.5, lmdb_get},
         .sqlite = {"SQLite WAL, SELECT", 0, sqlite_get}},
    };
    for (size_t i = 0; i < sizeof matches / sizeof matches[0]; i++)
        compete(bench, &matches[i]);
}
