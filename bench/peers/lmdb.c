/* LMDB alone. */
#include "peers/peers.h"

#include <lmdb.h>
#include <string.h>

#include "thread_pool.h"

#define MAP_BYTES ((size_t)64 << 20)

static char names[COUNTERS][COUNTER_NAME_MAX];

static MDB_val key_of(uint32_t counter)
{
    return (MDB_val){strlen(names[counter]), names[counter]};
}

static bool put(const struct lmdb *lmdb, MDB_txn *txn, uint32_t counter, uint64_t number)
{
    MDB_val key = key_of(counter);
    MDB_val value = {sizeof number, &number};
    return mdb_put(txn, lmdb->table, &key, &value, 0) == 0;
}

static bool open_table(struct lmdb *lmdb)
{
    MDB_txn *txn;
    if (mdb_txn_begin(lmdb->env, NULL, 0, &txn) != 0)
        return false;
    bool fine = mdb_dbi_open(txn, NULL, 0, &lmdb->table) == 0;
    for (uint32_t i = 0; fine && i < COUNTERS; i++) {
        counter_name(i, names[i]);
        fine = put(lmdb, txn, i, 1);
    }
    if (!fine)
        mdb_txn_abort(txn);
    return fine && mdb_txn_commit(txn) == 0;
}

const char *lmdb_open(struct lmdb *lmdb, const char *path, uint32_t threads)
{
    *lmdb = (struct lmdb){.threads = threads};
    if (mdb_env_create(&lmdb->env) == 0 && mdb_env_set_mapsize(lmdb->env, MAP_BYTES) == 0 &&
        mdb_env_open(lmdb->env, path, MDB_NOSUBDIR, 0600) == 0 && open_table(lmdb) &&
        lmdb_add(lmdb, threads))
        return NULL;
    lmdb_close(lmdb);
    return "LMDB cannot make its file";
}

void lmdb_close(struct lmdb *lmdb)
{
    if (lmdb->env != NULL)
        mdb_env_close(lmdb->env);
    *lmdb = (struct lmdb){0};
}

static bool add(struct lmdb *lmdb)
{
    MDB_txn *txn;
    MDB_val key = key_of(0);
    MDB_val value;
    uint64_t number = 0;
    if (mdb_txn_begin(lmdb->env, NULL, 0, &txn) != 0)
        return false;
    if (mdb_get(txn, lmdb->table, &key, &value) == 0 && value.mv_size == sizeof number)
        memcpy(&number, value.mv_data, sizeof number);
    if (!put(lmdb, txn, 0, number + 1)) {
        mdb_txn_abort(txn);
        return false;
    }
    return mdb_txn_commit(txn) == 0;
}

static bool add_share(void *state, uint32_t thread, uint64_t operations)
{
    (void)thread;
    for (uint64_t i = 0; i < operations; i++)
        if (!add(state))
            return false;
    return true;
}

bool lmdb_add(void *state, uint64_t operations)
{
    struct lmdb *lmdb = state;
    return thread_pool_run(lmdb->threads, operations, add_share, lmdb);
}

bool lmdb_put_batches(void *state, uint64_t operations)
{
    struct lmdb *lmdb = state;
    uint32_t dice = 0;
    for (uint64_t i = 0; i < operations; i += BATCH) {
        MDB_txn *txn;
        if (mdb_txn_begin(lmdb->env, NULL, 0, &txn) != 0)
            return false;
        for (uint64_t number = i; number < i + BATCH; number++) {
            if (!put(lmdb, txn, throw_counter(&dice), number)) {
                mdb_txn_abort(txn);
                return false;
            }
        }
        if (mdb_txn_commit(txn) != 0)
            return false;
    }
    return true;
}

/* Each read has its own transaction, as it must to see what others have written. */
bool lmdb_get(void *state, uint64_t operations)
{
    struct lmdb *lmdb = state;
    MDB_txn *txn;
    if (mdb_txn_begin(lmdb->env, NULL, MDB_RDONLY, &txn) != 0)
        return false;
    bool fine = true;
    uint32_t dice = 0;
    for (uint64_t i = 0; fine && i < operations; i++) {
        MDB_val key = key_of(throw_counter(&dice));
        MDB_val value;
        mdb_txn_reset(txn);
        fine = mdb_txn_renew(txn) == 0 && mdb_get(txn, lmdb->table, &key, &value) == 0;
    }
    mdb_txn_abort(txn);
    return fine;
}
