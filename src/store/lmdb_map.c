/* Transactions of one lmdb: file and the map under them.
 *
 * LMDB may change the size of its map only while this process has no transaction, so everybody
 * who begins one passes here. Read transactions are kept, reset, for the next reader: renewing
 * one costs no lock in LMDB. They belong to no thread (MDB_NOTLS), so any thread may take any.
 */
#include <errno.h>
#include <lmdb.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/environment.h"
#include "store/lmdb_file.h"

#define RESERVE_BYTES (UINT64_C(1) << 20)
#define DISK_FULL_BLOCKS 16
#define TRIES_MAX 100
#define PAUSE_NS (2 * NS_PER_MS)
#define LONG_NS (60 * NS_PER_S)

static void signal_calm(struct mcds__lmdb_file *file)
{
    (void)pthread_cond_broadcast(&file->map_calm);
}

/* Give the map `size` bytes, or what other processes have given it when size is 0. Waits until
 * no transaction of this process is under way. */
static int change_map(struct mcds__lmdb_file *file, const mcds_env *env, uint64_t size,
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
    while ((file->reading > 0 || file->writing) && in_time)
        in_time = mcds__condition_wait(env, &file->map_calm, &file->map_mutex, until_ns);
    int code = in_time ? 0 : ETIMEDOUT;
    if (in_time) {
        code = mdb_env_set_mapsize(file->env, (size_t)size);
        /* A failed change leaves no map at all; the old size has fitted before. */
        if (code != 0)
            file->broken = mdb_env_set_mapsize(file->env, (size_t)file->map_size) != 0;
        MDB_envinfo info;
        if (mdb_env_info(file->env, &info) == 0)
            file->map_size = info.me_mapsize;
    }
    file->changing = false;
    signal_calm(file);
    (void)pthread_mutex_unlock(&file->map_mutex);
    return code;
}

static void leave(struct mcds__lmdb_file *file, MDB_txn *idle)
{
    (void)pthread_mutex_lock(&file->map_mutex);
    if (idle != NULL)
        file->idle[file->idle_count++] = idle;
    bool full = file->reading-- == MCDS__LMDB_READERS_HERE;
    if (full || file->changing)
        signal_calm(file);
    (void)pthread_mutex_unlock(&file->map_mutex);
}

static int enter(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                 MDB_txn **idle_out)
{
    (void)pthread_mutex_lock(&file->map_mutex);
    bool in_time = true;
    while ((file->changing || file->reading == MCDS__LMDB_READERS_HERE) && in_time)
        in_time = mcds__condition_wait(env, &file->map_calm, &file->map_mutex, until_ns);
    int code = file->broken ? MDB_PANIC : in_time ? 0 : ETIMEDOUT;
    if (code == 0) {
        file->reading++;
        *idle_out = file->idle_count > 0 ? file->idle[--file->idle_count] : NULL;
    }
    (void)pthread_mutex_unlock(&file->map_mutex);
    return code;
}

static int read_begin_once(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                           MDB_txn **txn_out)
{
    MDB_txn *txn;
    int code = enter(file, env, until_ns, &txn);
    if (code != 0)
        return code;
    if (txn == NULL) {
        code = mdb_txn_begin(file->env, NULL, MDB_RDONLY, &txn);
    } else {
        code = mdb_txn_renew(txn);
        if (code != 0)
            mdb_txn_abort(txn);
    }
    if (code != 0)
        leave(file, NULL);
    *txn_out = txn;
    return code;
}

int mcds__lmdb_read_begin(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                          struct MDB_txn **txn_out)
{
    int code = 0;
    for (int i = 0; i < TRIES_MAX; i++) {
        code = read_begin_once(file, env, until_ns, txn_out);
        int64_t now_ns = mcds__monotonic_ns(env);
        if (code == MDB_MAP_RESIZED) {
            code = change_map(file, env, 0, until_ns);
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
    return code;
}

void mcds__lmdb_read_end(struct mcds__lmdb_file *file, struct MDB_txn *txn)
{
    mdb_txn_reset(txn);
    leave(file, txn);
}

static void write_leave(struct mcds__lmdb_file *file)
{
    (void)pthread_mutex_lock(&file->map_mutex);
    file->writing = false;
    if (file->changing)
        signal_calm(file);
    (void)pthread_mutex_unlock(&file->map_mutex);
}

static int write_enter(struct mcds__lmdb_file *file)
{
    (void)pthread_mutex_lock(&file->map_mutex);
    while (file->changing)
        (void)pthread_cond_wait(&file->map_calm, &file->map_mutex);
    file->writing = !file->broken;
    (void)pthread_mutex_unlock(&file->map_mutex);
    return file->writing ? 0 : MDB_PANIC;
}

static int write_begin_once(struct mcds__lmdb_file *file, MDB_txn **txn_out)
{
    int code = write_enter(file);
    if (code != 0)
        return code;
    code = mdb_txn_begin(file->env, NULL, 0, txn_out);
    if (code != 0)
        write_leave(file);
    return code;
}

int mcds__lmdb_write_begin(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                           struct MDB_txn **txn_out)
{
    int code = mcds__lmdb_line_enter(file, env, until_ns);
    if (code != 0)
        return code;
    for (int i = 0; i < TRIES_MAX; i++) {
        code = write_begin_once(file, txn_out);
        if (code == 0)
            return 0;
        if (code == MDB_MAP_RESIZED)
            code = change_map(file, env, 0, mcds__monotonic_ns(env) + LONG_NS);
        if (code != 0)
            break;
    }
    mcds__lmdb_line_leave(file);
    return code != 0 ? code : MDB_MAP_RESIZED;
}

/* Whether LMDB has given the file up because the page that makes a commit valid could not be
 * written; then that commit may have become valid all the same. */
static bool has_panicked(struct mcds__lmdb_file *file)
{
    MDB_txn *txn;
    int code = mdb_txn_begin(file->env, NULL, MDB_RDONLY, &txn);
    if (code == 0)
        mdb_txn_abort(txn);
    return code == MDB_PANIC;
}

/* LMDB tells of a write that was cut short as EIO. Mostly the disk has become full under it. */
static int explain(const struct mcds__lmdb_file *file, int code)
{
    mdb_filehandle_t descriptor;
    struct statvfs disk;
    struct stat status;
    struct rlimit limit;
    if (code != EIO || mdb_env_get_fd(file->env, &descriptor) != 0)
        return code;
    if (fstatvfs(descriptor, &disk) == 0 && disk.f_bavail < DISK_FULL_BLOCKS)
        return ENOSPC;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        fstat(descriptor, &status) == 0 && (rlim_t)status.st_size >= limit.rlim_cur)
        return EFBIG;
    return code;
}

int mcds__lmdb_write_commit(struct mcds__lmdb_file *file, struct MDB_txn *txn, bool *uncertain)
{
    int code = mdb_txn_commit(txn);
    *uncertain = code != 0 && has_panicked(file);
    write_leave(file);
    mcds__lmdb_line_leave(file);
    return explain(file, code);
}

void mcds__lmdb_write_abort(struct mcds__lmdb_file *file, struct MDB_txn *txn)
{
    mdb_txn_abort(txn);
    write_leave(file);
    mcds__lmdb_line_leave(file);
}

int mcds__lmdb_map_grow(struct mcds__lmdb_file *file, const mcds_env *env)
{
    int dead = 0;
    (void)mdb_reader_check(file->env, &dead);
    if (dead > 0)
        return 0;
    (void)pthread_mutex_lock(&file->map_mutex);
    uint64_t size = file->map_size;
    uint64_t size_max = file->map_max;
    (void)pthread_mutex_unlock(&file->map_mutex);
    if (size >= size_max)
        return MDB_MAP_FULL;
    size = size > size_max / 2 ? size_max : size * 2;
    return change_map(file, env, size, mcds__monotonic_ns(env) + LONG_NS);
}

int mcds__lmdb_map_reserve(struct mcds__lmdb_file *file, const mcds_env *env, bool passing)
{
    (void)pthread_mutex_lock(&file->map_mutex);
    uint64_t size = file->map_max;
    if (passing)
        size = (file->map_size > size ? file->map_size : size) + RESERVE_BYTES;
    (void)pthread_mutex_unlock(&file->map_mutex);
    return change_map(file, env, size, mcds__monotonic_ns(env) + LONG_NS);
}
