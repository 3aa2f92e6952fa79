/* Write transactions of one lmdb: file, and the growth of its map. */
#include <assert.h>
#include <errno.h>
#include <lmdb.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/environment.h"
#include "store/lmdb/commit/publications.h"

#define RESERVE_BYTES (UINT64_C(1) << 20)
#define DISK_FULL_BLOCKS 16
#define TRIES_MAX 100
#define LONG_NS (60 * NS_PER_S)
#define REMOVED_LOOK_NS (100 * NS_PER_MS) /* between checks whether PATH still names the file */

static void write_leave(struct mcds__lmdb_file *file)
{
    (void)pthread_mutex_lock(&file->map_mutex);
    assert(file->writing);
    file->writing = false;
    if (file->changing)
        (void)pthread_cond_broadcast(&file->map_calm);
    (void)pthread_mutex_unlock(&file->map_mutex);
}

static int write_enter(struct mcds__lmdb_file *file)
{
    (void)pthread_mutex_lock(&file->map_mutex);
    while (file->changing)
        (void)pthread_cond_wait(&file->map_calm, &file->map_mutex);
    assert(!file->writing);
    file->writing = !file->broken;
    (void)pthread_mutex_unlock(&file->map_mutex);
    return file->writing ? 0 : MDB_PANIC;
}

static int write_begin(struct mcds__lmdb_file *file, const mcds_env *env, MDB_txn **txn_out)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        int code = write_enter(file);
        if (code != 0)
            return code;
        code = mdb_txn_begin(file->env, NULL, 0, txn_out);
        if (code == 0)
            return 0;
        write_leave(file);
        if (code == MDB_MAP_RESIZED)
            code = mcds__lmdb_map_change(file, env, 0, mcds__monotonic_ns(env) + LONG_NS);
        if (code != 0)
            return code;
    }
    return MDB_MAP_RESIZED;
}

static void recover_dead_owner(struct mcds__lmdb_file *file)
{
    MDB_txn *txn;
    bool begun = write_begin(file, mcds_env_system(), &txn) == 0;
    mcds__lmdb_publications_recover(file, begun ? txn : NULL);
    if (!begun)
        return;
    mdb_txn_abort(txn);
    write_leave(file);
}

int mcds__lmdb_settle(struct mcds__lmdb_file *file, int code)
{
    if (code != EOWNERDEAD)
        return code;
    recover_dead_owner(file);
    return 0;
}

int64_t mcds__lmdb_stuck_writer(struct mcds__lmdb_file *file, const mcds_env *env,
                                int64_t until_ns)
{
    int64_t holder;
    int code = mcds__lmdb_settle(file,
                                 mcds__lmdb_write_lock_visit(file, env, until_ns, &holder));
    if (code == 0)
        mcds__lmdb_write_lock_end_visit(file);
    return holder;
}

bool mcds__lmdb_is_removed(const struct mcds__lmdb_file *file)
{
    struct stat status;
    return (fstat(file->held, &status) == 0 && status.st_nlink == 0) ||
           (stat(file->path, &status) == 0 &&
            (status.st_dev != file->device || status.st_ino != file->inode));
}

bool mcds__lmdb_was_removed(struct mcds__lmdb_file *file, int64_t now_ns)
{
    if (!file->removed && now_ns - file->named_ns >= REMOVED_LOOK_NS) {
        file->removed = mcds__lmdb_is_removed(file);
        file->named_ns = now_ns;
    }
    return file->removed;
}

int mcds__lmdb_write_begin(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns,
                           struct MDB_txn **txn_out)
{
    if (mcds__lmdb_was_removed(file, mcds__monotonic_ns(env))) {
        mcds__lmdb_write_lock_leave(file); /* which the attempt to delegate may have got */
        return ESTALE;
    }
    int code = 0;
    if (!file->holds_write_lock)
        code = mcds__lmdb_settle(file, mcds__lmdb_write_lock_enter(file, env, until_ns));
    if (code != 0)
        return code;
    mcds__lmdb_limit_hold(&file->limit);
    code = write_begin(file, env, txn_out);
    if (code != 0) {
        mcds__lmdb_limit_release(&file->limit);
        mcds__lmdb_write_lock_leave(file);
    }
    return code;
}

/* Whether LMDB has given the file up because it could not write the page that makes a commit
 * valid. That commit may still have become valid. */
static bool has_panicked(struct mcds__lmdb_file *file)
{
    MDB_txn *txn;
    int code = mdb_txn_begin(file->env, NULL, MDB_RDONLY, &txn);
    if (code == 0)
        mdb_txn_abort(txn);
    return code == MDB_PANIC;
}

/* LMDB reports a short write as EIO. The usual cause is a full disk. */
static int explain_eio(const struct mcds__lmdb_file *file)
{
    mdb_filehandle_t descriptor;
    struct statvfs disk;
    struct stat status;
    struct rlimit limit;
    if (mdb_env_get_fd(file->env, &descriptor) != 0)
        return EIO;
    if (fstatvfs(descriptor, &disk) == 0 && disk.f_bavail < DISK_FULL_BLOCKS)
        return ENOSPC;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        fstat(descriptor, &status) == 0 && (rlim_t)status.st_size >= limit.rlim_cur)
        return EFBIG;
    return EIO;
}

int mcds__lmdb_write_commit(struct mcds__lmdb_file *file, struct MDB_txn *txn, bool sync,
                            bool *uncertain)
{
    assert(file->writing && (file->holds_write_lock || file->write_lock == NULL));
    if (file->loses)
        mcds__lmdb_begin_losses(file);
    int code = mdb_txn_commit(txn);
    *uncertain = code != 0 && has_panicked(file);
    if (file->loses && !*uncertain)
        mcds__lmdb_end_losses(file);
    file->loses = false;
    if (code == 0 && sync) {
        code = mdb_env_sync(file->env, 1);
        *uncertain = code != 0;
    }
    mcds__lmdb_limit_release(&file->limit);
    enum mcds__lmdb_end failed = *uncertain ? MCDS__LMDB_DOUBT : MCDS__LMDB_NOTHING;
    mcds__lmdb_publications_end(file, code == 0 ? MCDS__LMDB_DONE : failed);
    write_leave(file);
    mcds__lmdb_write_lock_leave(file);
    return code == EIO ? explain_eio(file) : code;
}

void mcds__lmdb_write_abort(struct mcds__lmdb_file *file, struct MDB_txn *txn)
{
    assert(file->writing);
    mdb_txn_abort(txn);
    file->loses = false;
    mcds__lmdb_limit_release(&file->limit);
    mcds__lmdb_publications_end(file, MCDS__LMDB_NOTHING);
    write_leave(file);
    mcds__lmdb_write_lock_leave(file);
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
    assert(size <= size_max);
    return mcds__lmdb_map_change(file, env, size, mcds__monotonic_ns(env) + LONG_NS);
}

int mcds__lmdb_map_reserve(struct mcds__lmdb_file *file, const mcds_env *env, bool passing)
{
    (void)pthread_mutex_lock(&file->map_mutex);
    uint64_t size = file->map_max;
    if (passing)
        size = (file->map_size > size ? file->map_size : size) + RESERVE_BYTES;
    (void)pthread_mutex_unlock(&file->map_mutex);
    return mcds__lmdb_map_change(file, env, size, mcds__monotonic_ns(env) + LONG_NS);
}

bool mcds__lmdb_map_has_reserve(struct mcds__lmdb_file *file, size_t length)
{
    MDB_envinfo info;
    MDB_stat status;
    (void)pthread_mutex_lock(&file->map_mutex);
    uint64_t size_max = file->map_max;
    (void)pthread_mutex_unlock(&file->map_mutex);
    return mdb_env_info(file->env, &info) == 0 && mdb_env_stat(file->env, &status) == 0 &&
           (uint64_t)info.me_last_pgno * status.ms_psize + length <
               size_max + RESERVE_BYTES / 2;
}
