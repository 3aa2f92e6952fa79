/* Read transactions of one lmdb: file, and the changes of the map that they must not meet.
 *
 * LMDB may change the size of its map only while this process has no transaction. Readers take
 * one of a few places without a lock; whoever changes the map first says so and then waits
 * until all places are free, so that a reader either sees that or is seen. A place keeps its
 * transaction, reset, for the next reader: renewing it costs no lock in LMDB either. The
 * transactions belong to no thread (MDB_NOTLS), so any thread may take any. */
#include <errno.h>
#include <lmdb.h>

#include "base/environment.h"
#include "store/lmdb_file.h"

#define TRIES_MAX 100
#define PAUSE_NS (2 * NS_PER_MS)
#define THREAD_SHIFT 12 /* the memory of two threads differs above this bit */

static bool take_place(struct mcds__lmdb_file *file, struct mcds__lmdb_reader **reader_out)
{
    /* Threads begin at places of their own, and so keep off each other's cache lines. */
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

static void give_place(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader)
{
    reader->busy = false;
    if (!file->changing && file->waiting_readers == 0)
        return;
    (void)pthread_mutex_lock(&file->map_mutex);
    (void)pthread_cond_broadcast(&file->map_calm);
    (void)pthread_mutex_unlock(&file->map_mutex);
}

static int wait_for_place(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                          struct mcds__lmdb_reader **reader_out)
{
    (void)pthread_mutex_lock(&file->map_mutex);
    file->waiting_readers++;
    bool taken = false;
    bool in_time = true;
    while (!taken && in_time) {
        taken = !file->changing && take_place(file, reader_out);
        if (!taken)
            in_time = mcds__condition_wait(env, &file->map_calm, &file->map_mutex, until_ns);
    }
    file->waiting_readers--;
    (void)pthread_mutex_unlock(&file->map_mutex);
    return taken ? 0 : ETIMEDOUT;
}

static int enter(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                 struct mcds__lmdb_reader **reader_out)
{
    int code = 0;
    if (!take_place(file, reader_out)) {
        code = wait_for_place(file, env, until_ns, reader_out);
    } else if (file->changing) {
        give_place(file, *reader_out);
        code = wait_for_place(file, env, until_ns, reader_out);
    }
    if (code == 0 && file->broken) {
        give_place(file, *reader_out);
        code = MDB_PANIC;
    }
    return code;
}

static int begin_in_place(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader)
{
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
    int code = enter(file, env, until_ns, &reader);
    if (code != 0)
        return code;
    code = begin_in_place(file, reader);
    if (code != 0) {
        give_place(file, reader);
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
    if (!take_place(file, reader_out))
        return false;
    if (!file->changing && !file->broken && begin_in_place(file, *reader_out) == 0)
        return true;
    give_place(file, *reader_out);
    return false;
}

void mcds__lmdb_read_end(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader)
{
    mdb_txn_reset(reader->txn);
    give_place(file, reader);
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
    MDB_envinfo info;
    int code = mdb_env_set_mapsize(file->env, (size_t)size);
    /* A failed change leaves no map at all; the old size has fitted before. */
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
    file->changing = true;
    while (!is_calm(file) && in_time)
        in_time = mcds__condition_wait(env, &file->map_calm, &file->map_mutex, until_ns);
    int code = in_time ? set_map_size(file, size) : ETIMEDOUT;
    file->changing = false;
    (void)pthread_cond_broadcast(&file->map_calm);
    (void)pthread_mutex_unlock(&file->map_mutex);
    return code;
}
