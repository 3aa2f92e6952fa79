/* Read transactions of one lmdb: file, and the map changes that must not overlap them.
 *
 * LMDB can change the size of its map only while this process has no transaction. Readers claim
 * one of a few slots without a lock. A thread that changes the map first sets `changing` and
 * then waits until all slots are free. So a reader either sees the flag, or the thread sees the
 * reader. A slot keeps its transaction, reset, for the next reader: renewing it takes no lock
 * in LMDB either. The transactions belong to no thread (MDB_NOTLS), so any thread can use any
 * of them. */
#include <assert.h>
#include <errno.h>
#include <lmdb.h>

#include "base/environment.h"
#include "store/lmdb/file.h"

#define TRIES_MAX 100
#define PAUSE_NS (2 * NS_PER_MS)
#define THREAD_SHIFT 12 /* the addresses of two threads' variables differ above this bit */

static bool take_slot(struct mcds__lmdb_file *file, struct mcds__lmdb_reader **reader_out)
{
    /* Threads start at different slots, so that they do not share cache lines. */
    static _Thread_local bool here;
    uint32_t start = (uint32_t)((uintptr_t)&here >> THREAD_SHIFT) * UINT32_C(2654435761) >> 16;
    for (uint32_t i = 0; i < MCDS__LMDB_READERS_HERE; i++) {
        struct mcds__lmdb_reader *reader =
            &file->readers[(start + i) % MCDS__LMDB_READERS_HERE];
        bool expected = false;
        if (!atomic_load_explicit(&reader->busy, memory_order_relaxed) &&
            atomic_compare_exchange_strong(&reader->busy, &expected, true)) {
            *reader_out = reader;
            return true;
        }
    }
    return false;
}

static void release_slot(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader)
{
    assert(reader->busy);
    reader->busy = false;
    if (!file->changing && file->waiting_readers == 0)
        return;
    (void)pthread_mutex_lock(&file->map_mutex);
    (void)pthread_cond_broadcast(&file->map_calm);
    (void)pthread_mutex_unlock(&file->map_mutex);
}

static int lmdb_read_txn_wait_for_slot(struct mcds__lmdb_file *file, const mcds_env *env,
                                       int64_t until_ns, struct mcds__lmdb_reader **reader_out)
{
    (void)pthread_mutex_lock(&file->map_mutex);
    file->waiting_readers++;
    bool taken = false;
    bool in_time = true;
    while (!taken && in_time) {
        taken = !file->changing && take_slot(file, reader_out);
        if (!taken)
            in_time = mcds__condition_wait(env, &file->map_calm, &file->map_mutex, until_ns);
    }
    assert(file->waiting_readers > 0);
    file->waiting_readers--;
    (void)pthread_mutex_unlock(&file->map_mutex);
    return taken ? 0 : ETIMEDOUT;
}

static int lmdb_read_txn_enter(struct mcds__lmdb_file *file, const mcds_env *env,
                               int64_t until_ns, struct mcds__lmdb_reader **reader_out)
{
    int code = 0;
    if (!take_slot(file, reader_out)) {
        code = lmdb_read_txn_wait_for_slot(file, env, until_ns, reader_out);
    } else if (file->changing) {
        release_slot(file, *reader_out);
        code = lmdb_read_txn_wait_for_slot(file, env, until_ns, reader_out);
    }
    if (code == 0 && file->broken) {
        release_slot(file, *reader_out);
        code = MDB_PANIC;
    }
    return code;
}

static int begin_in_slot(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader)
{
    assert(reader->busy);
    if (reader->txn == NULL)
        return mdb_txn_begin(file->env, NULL, MDB_RDONLY, &reader->txn);
    int code = mdb_txn_renew(reader->txn);
    if (code != 0) {
        mdb_txn_abort(reader->txn);
        reader->txn = NULL;
    }
    return code;
}

static int read_begin_once(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                           struct mcds__lmdb_reader **reader_out)
{
    struct mcds__lmdb_reader *reader;
    int code = lmdb_read_txn_enter(file, env, until_ns, &reader);
    if (code != 0)
        return code;
    code = begin_in_slot(file, reader);
    if (code != 0) {
        release_slot(file, reader);
        return code;
    }
    *reader_out = reader;
    return 0;
}

int mcds__lmdb_read_begin(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                          struct mcds__lmdb_reader **reader_out)
{
    int code = 0;
    for (int i = 0; i < TRIES_MAX; i++) {
        code = read_begin_once(file, env, until_ns, reader_out);
        if (code == 0)
            return 0;
        int64_t now_ns = mcds__monotonic_ns(env);
        if (code == MDB_MAP_RESIZED) {
            code = mcds__lmdb_map_change(file, env, 0, until_ns);
            if (code != 0)
                return code;
        } else if (code == MDB_READERS_FULL && now_ns < until_ns) {
            int dead;
            (void)mdb_reader_check(file->env, &dead);
            if (dead == 0)
                mcds__sleep_until_ns(env, now_ns + PAUSE_NS);
        } else {
            return code;
        }
    }
    return code != 0 ? code : MDB_MAP_RESIZED;
}

bool mcds__lmdb_read_try(struct mcds__lmdb_file *file, struct mcds__lmdb_reader **reader_out)
{
    if (!take_slot(file, reader_out))
        return false;
    if (!file->changing && !file->broken && begin_in_slot(file, *reader_out) == 0)
        return true;
    release_slot(file, *reader_out);
    return false;
}

void mcds__lmdb_read_end(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader)
{
    assert(reader->busy && reader->txn != NULL);
    mdb_txn_reset(reader->txn);
    release_slot(file, reader);
}

static bool is_calm(const struct mcds__lmdb_file *file)
{
    bool calm = !file->writing;
    for (size_t i = 0; i < MCDS__LMDB_READERS_HERE; i++)
        calm = calm && !file->readers[i].busy;
    return calm;
}

static int set_map_size(struct mcds__lmdb_file *file, uint64_t size)
{
    assert(file->changing && !file->writing);
    MDB_envinfo info;
    for (size_t i = 0; i < MCDS__LMDB_READERS_HERE; i++)
        file->readers[i].view = (struct mcds__lmdb_view){0};
    int code = mdb_env_set_mapsize(file->env, (size_t)size);
    /* A failed change leaves no map; the old size fitted before. */
    if (code != 0 && mdb_env_set_mapsize(file->env, (size_t)file->map_size) != 0)
        file->broken = true;
    else if (mdb_env_info(file->env, &info) == 0)
        file->map_size = info.me_mapsize;
    return code;
}

int mcds__lmdb_map_change(struct mcds__lmdb_file *file, const mcds_env *env, uint64_t size,
                          int64_t until_ns)
{
    (void)pthread_mutex_lock(&file->map_mutex);
    bool in_time = true;
    while (file->changing && in_time)
        in_time = mcds__condition_wait(env, &file->map_calm, &file->map_mutex, until_ns);
    if (!in_time) {
        (void)pthread_mutex_unlock(&file->map_mutex);
        return ETIMEDOUT;
    }
    assert(!file->changing);
    file->changing = true;
    while (!is_calm(file) && in_time)
        in_time = mcds__condition_wait(env, &file->map_calm, &file->map_mutex, until_ns);
    int code = in_time ? set_map_size(file, size) : ETIMEDOUT;
    file->changing = false;
    (void)pthread_cond_broadcast(&file->map_calm);
    (void)pthread_mutex_unlock(&file->map_mutex);
    return code;
}
