/* Durable adds on one file, against LMDB itself with one commit for each. */
#include <lmdb.h>
#include <string.h>
#include <unistd.h>

#include "gang.h"
#include "work.h"

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

static void compete(struct bench *bench, const char *work, uint32_t threads)
{
    struct file file = {.threads = threads};
    struct plain plain = {.threads = threads};
    char path[300];
    if (!contest_is_wanted(bench, work))
        return;
    (void)snprintf(path, sizeof path, "lmdb:%s/ours.mdb", bench->place);
    bool fine = tool_open(&file.tool, path, "bench", 0);
    (void)snprintf(path, sizeof path, "%s/plain.mdb", bench->place);
    if (fine && plain_open(&plain, path)) {
        struct contest contest = {
            .work = work,
            .step = threads,
            .count = 2,
            .list = {{"mcds", NULL, 0, add_to_file, &file},
                     {"LMDB, a commit for each", NULL, 0, add_to_plain, &plain}}};
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
    compete(bench, "counter add, durable, lmdb:, 1 thread", 1);
    compete(bench, "counter add, durable, lmdb:, 32 threads", 32);
}
