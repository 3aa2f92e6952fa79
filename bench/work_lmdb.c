/* One file: durable adds against LMDB itself with one commit for each, a pipeline against one
 * transaction, and reading. */
#include <lmdb.h>
#include <string.h>
#include <unistd.h>

#include "gang.h"
#include "work.h"

#define BATCH 1000

struct file {
    uint32_t threads;
    struct tool tool;
};

static bool add_share(void *state, uint32_t thread, uint64_t operations)
{
    struct file *file = state;
    (void)thread;
    return tool_add(&file->tool, operations);
}

static bool add_to_file(void *state, uint64_t operations)
{
    struct file *file = state;
    return gang_run(file->threads, operations, add_share, file);
}

struct plain {
    uint32_t threads;
    MDB_env *env;
    MDB_dbi table;
};

static bool plain_add(struct plain *plain)
{
    MDB_txn *txn;
    MDB_val key = {5, "bench"};
    MDB_val value;
    uint64_t number = 0;
    if (mdb_txn_begin(plain->env, NULL, 0, &txn) != 0)
        return false;
    if (mdb_get(txn, plain->table, &key, &value) == 0 && value.mv_size == sizeof number)
        memcpy(&number, value.mv_data, sizeof number);
    number++;
    value = (MDB_val){sizeof number, &number};
    if (mdb_put(txn, plain->table, &key, &value, 0) != 0) {
        mdb_txn_abort(txn);
        return false;
    }
    return mdb_txn_commit(txn) == 0;
}

static bool plain_add_share(void *state, uint32_t thread, uint64_t operations)
{
    (void)thread;
    for (uint64_t i = 0; i < operations; i++)
        if (!plain_add(state))
            return false;
    return true;
}

static bool add_to_plain(void *state, uint64_t operations)
{
    struct plain *plain = state;
    return gang_run(plain->threads, operations, plain_add_share, plain);
}

static bool plain_open(struct plain *plain, const char *path)
{
    MDB_txn *txn;
    return mdb_env_create(&plain->env) == 0 &&
           mdb_env_set_mapsize(plain->env, (size_t)64 << 20) == 0 &&
           mdb_env_open(plain->env, path, MDB_NOSUBDIR, 0600) == 0 &&
           mdb_txn_begin(plain->env, NULL, 0, &txn) == 0 &&
           mdb_dbi_open(txn, NULL, 0, &plain->table) == 0 && mdb_txn_commit(txn) == 0;
}

void forget_file(const struct bench *bench, const char *name)
{
    static const char *const ends[] = {"", "-lock", "-writer"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char path[300];
        (void)snprintf(path, sizeof path, "%s/%s%s", bench->place, name, ends[i]);
        (void)unlink(path);
    }
}

static bool pipeline_to_file(void *state, uint64_t operations)
{
    return tool_add_pipelined(&((struct file *)state)->tool, operations);
}

/* Puts of numbers in one transaction after the other. */
static bool transact_in_plain(void *state, uint64_t operations)
{
    struct plain *plain = state;
    for (uint64_t i = 0; i < operations; i += BATCH) {
        MDB_txn *txn;
        MDB_val key = {5, "bench"};
        if (mdb_txn_begin(plain->env, NULL, 0, &txn) != 0)
            return false;
        for (uint64_t number = i; number < i + BATCH; number++) {
            MDB_val value = {sizeof number, &number};
            if (mdb_put(txn, plain->table, &key, &value, 0) != 0) {
                mdb_txn_abort(txn);
                return false;
            }
        }
        if (mdb_txn_commit(txn) != 0)
            return false;
    }
    return true;
}

static bool get_from_file(void *state, uint64_t operations)
{
    struct file *file = state;
    mcds_counter_value value;
    for (uint64_t i = 0; i < operations; i++)
        if (mcds_counter_get(file->tool.counter, &value) != MCDS_OK)
            return false;
    return true;
}

/* Each in a transaction of its own, as it must be to see what others have written. */
static bool get_from_plain(void *state, uint64_t operations)
{
    struct plain *plain = state;
    MDB_txn *txn;
    bool fine = mdb_txn_begin(plain->env, NULL, MDB_RDONLY, &txn) == 0;
    for (uint64_t i = 0; fine && i < operations; i++) {
        MDB_val key = {5, "bench"};
        MDB_val value;
        mdb_txn_reset(txn);
        fine = mdb_txn_renew(txn) == 0 && mdb_get(txn, plain->table, &key, &value) == 0;
    }
    mdb_txn_abort(txn);
    return fine;
}

struct match {
    const char *work;
    const char *against;
    double goal;
    uint32_t threads;
    uint32_t step;
    bool (*ours)(void *state, uint64_t operations);
    bool (*theirs)(void *state, uint64_t operations);
};

static void compete(struct bench *bench, const struct match *match)
{
    struct file file = {.threads = match->threads};
    struct plain plain = {.threads = match->threads};
    char path[300];
    if (!contest_is_wanted(bench, match->work))
        return;
    (void)snprintf(path, sizeof path, "lmdb:%s/ours.mdb", bench->place);
    bool fine = tool_open(&file.tool, path, "bench", BATCH);
    (void)snprintf(path, sizeof path, "%s/plain.mdb", bench->place);
    if (fine && plain_open(&plain, path) && tool_add(&file.tool, 1) && plain_add(&plain)) {
        struct contest contest = {.work = match->work,
                                  .step = match->step,
                                  .count = 2,
                                  .list = {{.name = "mcds", .run = match->ours, .state = &file},
                                           {.name = match->against,
                                            .goal = match->goal,
                                            .run = match->theirs,
                                            .state = &plain}}};
        contest_run(bench, &contest);
    } else {
        bench->failed = true;
    }
    tool_close(&file.tool);
    mdb_env_close(plain.env);
    forget_file(bench, "ours.mdb");
    forget_file(bench, "plain.mdb");
}

void work_lmdb(struct bench *bench)
{
    static const struct match matches[] = {
        {"counter add, durable, lmdb:, 1 thread", "LMDB, a commit for each", 0, 1, 1,
         add_to_file, add_to_plain},
        {"counter add, durable, lmdb:, 32 threads", "LMDB, a commit for each", 8, 32, 32,
         add_to_file, add_to_plain},
        {"counter add, 1000 in flight, lmdb:", "LMDB, 1000 puts a commit", 0.7, 1, BATCH,
         pipeline_to_file, transact_in_plain},
        {"counter get, lmdb:", "LMDB, mdb_get", 0.5, 1, 1, get_from_file, get_from_plain},
    };
    for (size_t i = 0; i < sizeof matches / sizeof matches[0]; i++)
        compete(bench, &matches[i]);
}
