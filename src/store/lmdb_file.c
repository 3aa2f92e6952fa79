/* Opening an lmdb: file, and the registry of what this process has open: LMDB must not open a
 * file twice in one process, nor be used through a file that a parent process has opened. */
#include "store/lmdb_file.h"

#include <errno.h>
#include <limits.h>
#include <lmdb.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"

#define MAP_BEGIN (UINT64_C(16) << 20)
#define MAP_UNIT (UINT64_C(1) << 16) /* a multiple of every page size */
#define DATABASES_MAX 4
#define OPEN_TRIES_MAX 10
#define OPEN_PAUSE_NS (5 * NS_PER_MS)

/* Files that a fork has made useless stay in the list, so that nobody frees them. */
static struct {
    pthread_mutex_t mutex;
    struct mcds__lmdb_file *first;
} registry = {PTHREAD_MUTEX_INITIALIZER, NULL};

static _Atomic uint64_t forks;

static void before_fork(void)
{
    (void)pthread_mutex_lock(&registry.mutex);
}

static void after_fork(void)
{
    (void)pthread_mutex_unlock(&registry.mutex);
}

static void after_fork_in_child(void)
{
    atomic_fetch_add(&forks, 1);
    (void)pthread_mutex_unlock(&registry.mutex);
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

uint64_t mcds__lmdb_forks(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

const char *mcds__lmdb_reason(int code)
{
    switch (code) {
    case MDB_MAP_FULL:
        return "the file is at its limit, map_max in the store's URI";
    case MDB_TXN_FULL:
        return "too many pages in one transaction";
    case MDB_READERS_FULL:
        return "all places for readers of the file are taken by other processes";
    case MDB_PANIC:
        return "a write to the file failed for good; close the store and open it again";
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
        return "the file is damaged";
    case MDB_MAP_RESIZED:
        return "the file grows faster than this process follows";
    case ETIMEDOUT:
        return "the deadline passed while waiting for the file";
    case ENOSPC:
        return "the disk is full";
    case EDQUOT:
        return "the disk quota is used up";
    case EFBIG:
        return "the file would pass the limit for file sizes";
    case ENOMEM:
        return "this process is out of memory";
    case EIO:
        return "the disk reports an error";
    case EACCES:
        return "the file may only be read";
    default:
        return "LMDB refused";
    }
}

/* Sentences for a file that cannot be opened. */
static int fail_open(const char *path, int code)
{
    switch (code) {
    case ENOENT:
        return mcds_fail(MCDS_IO, "lmdb: the directory of %s is not there; make it first",
                         path);
    case EACCES:
    case EPERM:
        return mcds_fail(MCDS_IO,
                         "lmdb: no permission for %s: this user must be able to write it and "
                         "%s-lock, or to make them",
                         path, path);
    case EROFS:
        return mcds_fail(MCDS_IO, "lmdb: %s is not there and its disk is read-only", path);
    case EISDIR:
        return mcds_fail(MCDS_IO, "lmdb: %s is no plain file; give a file, as in %s/mcds.lmdb",
                         path, path);
    case MDB_INVALID:
        return mcds_fail(MCDS_IO,
                         "lmdb: %s is no LMDB file; give another path, or move the file away",
                         path);
    case MDB_VERSION_MISMATCH:
        return mcds_fail(MCDS_IO,
                         "lmdb: %s was written by another version of LMDB; dump it there with "
                         "mdb_dump and load it here with mdb_load",
                         path);
    case ENOMEM:
        return mcds_fail(MCDS_NO_MEMORY, "lmdb: no memory, or no address space, for %s", path);
    default:
        return mcds_fail(MCDS_IO, "lmdb: %s: %s", path, mdb_strerror(code));
    }
}

static MDB_val format_key(void)
{
    static const char name[] = "mcds";
    return (MDB_val){sizeof name - 1, (void *)(uintptr_t)name};
}

/* Make an empty file ours. */
static int write_format(struct mcds__lmdb_file *file, const mcds_env *env, MDB_txn *txn)
{
    struct mcds__lmdb_format format = {MCDS__LMDB_VERSION, mcds__random_u64(env) | 1};
    struct mcds__lmdb_cas cas = {1, 1};
    uint8_t format_bytes[MCDS__LMDB_FORMAT_BYTES];
    uint8_t cas_bytes[MCDS__LMDB_CAS_BYTES];
    mcds__lmdb_format_write(&format, format_bytes);
    mcds__lmdb_cas_write(&cas, cas_bytes);
    MDB_val at = format_key();
    MDB_val data = {sizeof format_bytes, format_bytes};
    int code = mdb_put(txn, file->root, &at, &data, 0);
    at = (MDB_val){strlen("cas"), (void *)(uintptr_t) "cas"};
    data = (MDB_val){sizeof cas_bytes, cas_bytes};
    if (code == 0)
        code = mdb_put(txn, file->root, &at, &data, 0);
    if (code == 0)
        code = mdb_dbi_open(txn, "items", MDB_CREATE, &file->items);
    if (code == 0)
        code = mdb_dbi_open(txn, "expiry", MDB_CREATE, &file->expiry);
    file->identity = format.identity;
    return code;
}

enum content { EMPTY, OURS, FOREIGN };

/* What is in the file, with the handles of its databases if it is ours. */
static int read_format(struct mcds__lmdb_file *file, MDB_txn *txn, enum content *content,
                       uint32_t *version)
{
    MDB_stat stat;
    MDB_val at = format_key();
    MDB_val data;
    struct mcds__lmdb_format format;
    int code = mdb_dbi_open(txn, NULL, 0, &file->root);
    if (code == 0)
        code = mdb_stat(txn, file->root, &stat);
    if (code != 0)
        return code;
    file->page_size = stat.ms_psize;
    *content = stat.ms_entries == 0 ? EMPTY : FOREIGN;
    code = mdb_get(txn, file->root, &at, &data);
    if (code != 0)
        return code == MDB_NOTFOUND ? 0 : code;
    if (!mcds__lmdb_format_read((mcds_bytes){data.mv_data, data.mv_size}, &format))
        return 0;
    *content = OURS;
    *version = format.version;
    file->identity = format.identity;
    if (format.version != MCDS__LMDB_VERSION)
        return 0;
    code = mdb_dbi_open(txn, "items", 0, &file->items);
    return code == 0 ? mdb_dbi_open(txn, "expiry", 0, &file->expiry) : code;
}

/* Look at the file, or make it ours, in one transaction. */
static int settle_format(struct mcds__lmdb_file *file, const mcds_env *env, bool writing,
                         enum content *content, uint32_t *version)
{
    MDB_txn *txn;
    int code = mdb_txn_begin(file->env, NULL, writing ? 0 : MDB_RDONLY, &txn);
    if (code != 0)
        return code;
    code = read_format(file, txn, content, version);
    if (code == 0 && writing && *content == EMPTY) {
        code = write_format(file, env, txn);
        *content = OURS;
        *version = MCDS__LMDB_VERSION;
    }
    if (code == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return code;
}

static int check_format(struct mcds__lmdb_file *file, const mcds_env *env, bool *foreign)
{
    enum content content = EMPTY;
    uint32_t version = 0;
    *foreign = false;
    int code = settle_format(file, env, false, &content, &version);
    if (code == 0 && content == EMPTY && !file->read_only)
        code = settle_format(file, env, true, &content, &version);
    if (code != 0)
        return fail_open(file->path, code);
    if (content != OURS) {
        *foreign = true;
        return mcds_fail(MCDS_IO,
                         "lmdb: %s is an LMDB file that mcds did not make; give another path",
                         file->path);
    }
    if (version == MCDS__LMDB_VERSION)
        return MCDS_OK;
    return mcds_fail(MCDS_IO,
                     "lmdb: %s has format version %u and this mcds reads version %d; use the "
                     "mcds that wrote it, or give another path",
                     file->path, version, MCDS__LMDB_VERSION);
}

static int open_env_once(struct mcds__lmdb_file *file, unsigned flags)
{
    int code = mdb_env_create(&file->env);
    if (code != 0)
        return code;
    code = mdb_env_set_maxreaders(file->env, MCDS__LMDB_READERS);
    if (code == 0)
        code = mdb_env_set_maxdbs(file->env, DATABASES_MAX);
    if (code == 0)
        code = mdb_env_set_mapsize(file->env, (size_t)file->map_size);
    if (code == 0)
        code = mdb_env_open(file->env, file->path, MDB_NOSUBDIR | MDB_NOTLS | flags, 0666);
    if (code != 0) {
        mdb_env_close(file->env);
        file->env = NULL;
    }
    return code;
}

/* LMDB says that opening may fail while another process opens or closes the file. */
static int open_env(struct mcds__lmdb_file *file, const mcds_env *env)
{
    int code = 0;
    for (int i = 0; i < OPEN_TRIES_MAX; i++) {
        file->read_only = false;
        code = open_env_once(file, 0);
        if (code == EACCES || code == EROFS || code == EPERM) {
            int refused = code;
            file->read_only = true;
            code = open_env_once(file, MDB_RDONLY);
            code = code == 0 ? 0 : refused;
        }
        if (code != EAGAIN && code != EINTR && code != EBUSY && code != EINVAL)
            break;
        mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + OPEN_PAUSE_NS);
    }
    return code;
}

static bool init_locks(struct mcds__lmdb_file *file)
{
    if (pthread_mutex_init(&file->map_mutex, NULL) != 0)
        return false;
    if (pthread_mutex_init(&file->queue_mutex, NULL) == 0) {
        if (mcds__condition_init(&file->map_calm))
            return true;
        (void)pthread_mutex_destroy(&file->queue_mutex);
    }
    (void)pthread_mutex_destroy(&file->map_mutex);
    return false;
}

/* The memory of a file outlives the store that opened it, so it is the system's. */
static struct mcds__lmdb_file *make_file(const char *path)
{
    struct mcds__lmdb_file *file = mcds__allocate_zero(mcds_env_system(), sizeof *file);
    if (file == NULL)
        return NULL;
    file->path = mcds__copy_string(mcds_env_system(), path);
    if (file->path != NULL && init_locks(file)) {
        file->end = &file->first;
        file->synced = true;
        file->forks = mcds__lmdb_forks();
        return file;
    }
    mcds__free(mcds_env_system(), file->path);
    mcds__free(mcds_env_system(), file);
    return NULL;
}

static void free_file(struct mcds__lmdb_file *file)
{
    for (uint32_t i = 0; i < file->idle_count; i++)
        mdb_txn_abort(file->idle[i]);
    if (file->env != NULL)
        mdb_env_close(file->env);
    (void)pthread_cond_destroy(&file->map_calm);
    (void)pthread_mutex_destroy(&file->queue_mutex);
    (void)pthread_mutex_destroy(&file->map_mutex);
    mcds__free(mcds_env_system(), file->path);
    mcds__free(mcds_env_system(), file);
}

/* The lock file that a refused file has been given. */
static void remove_lock_file(const char *path)
{
    char lock[PATH_MAX + sizeof "-lock"];
    size_t length = strlen(path);
    memcpy(lock, path, length);
    memcpy(lock + length, "-lock", sizeof "-lock");
    (void)unlink(lock);
}

static bool has_lock_file(const char *path)
{
    char lock[PATH_MAX + sizeof "-lock"];
    size_t length = strlen(path);
    memcpy(lock, path, length);
    memcpy(lock + length, "-lock", sizeof "-lock");
    return access(lock, F_OK) == 0;
}

static uint64_t rounded(uint64_t size)
{
    return (size + MAP_UNIT - 1) / MAP_UNIT * MAP_UNIT;
}

/* Open a file that this process has not open. `size` is that of the file, 0 if there is none.
 */
static int open_file(const mcds_env *env, struct mcds__lmdb_file *file, uint64_t size)
{
    uint64_t map_size = size > MAP_BEGIN / 2 ? rounded(size * 2) : MAP_BEGIN;
    file->map_size = map_size < file->map_max ? map_size : file->map_max;
    bool had_lock_file = has_lock_file(file->path);
    int code = open_env(file, env);
    if (code != 0) {
        if (!had_lock_file && (code == MDB_INVALID || code == MDB_VERSION_MISMATCH))
            remove_lock_file(file->path);
        return fail_open(file->path, code);
    }
    MDB_envinfo info;
    if (mdb_env_info(file->env, &info) == 0)
        file->map_size = info.me_mapsize;
    (void)mdb_reader_check(file->env, &file->stale_readers);
    bool foreign;
    int result = check_format(file, env, &foreign);
    if (foreign && !had_lock_file)
        remove_lock_file(file->path);
    if (result != MCDS_OK)
        return result;
    mdb_filehandle_t descriptor;
    struct stat status;
    if (mdb_env_get_fd(file->env, &descriptor) != 0 || fstat(descriptor, &status) != 0)
        return mcds_fail(MCDS_IO, "lmdb: %s cannot be looked at", file->path);
    file->device = status.st_dev;
    file->inode = status.st_ino;
    return MCDS_OK;
}

static struct mcds__lmdb_file *find_file(const struct stat *status)
{
    struct mcds__lmdb_file *file = registry.first;
    while (file != NULL && (file->forks != mcds__lmdb_forks() ||
                            file->device != status->st_dev || file->inode != status->st_ino))
        file = file->next;
    return file;
}

static int open_new(const mcds_env *env, const char *path, uint64_t map_max, uint64_t size,
                    struct mcds__lmdb_file **file_out)
{
    struct mcds__lmdb_file *file = make_file(path);
    if (file == NULL)
        return mcds_fail(MCDS_NO_MEMORY, "lmdb: out of memory");
    file->map_max = map_max;
    int result = open_file(env, file, size);
    if (result != MCDS_OK) {
        free_file(file);
        return result;
    }
    file->next = registry.first;
    registry.first = file;
    *file_out = file;
    return MCDS_OK;
}

/* With the registry's mutex held. */
static int open_registered(const mcds_env *env, const char *path, uint64_t map_max,
                           struct mcds__lmdb_file **file_out)
{
    struct stat status;
    char real[PATH_MAX];
    bool there = stat(path, &status) == 0;
    if (there && !S_ISREG(status.st_mode))
        return fail_open(path, EISDIR);
    *file_out = there ? find_file(&status) : NULL;
    if (*file_out != NULL)
        return MCDS_OK;
    if (there && realpath(path, real) != NULL)
        path = real;
    if (strlen(path) >= PATH_MAX)
        return mcds_fail(MCDS_INVALID, "lmdb: the path has more than %d bytes", PATH_MAX - 1);
    return open_new(env, path, map_max, there ? (uint64_t)status.st_size : 0, file_out);
}

int mcds__lmdb_file_open(const mcds_env *env, const char *path, uint64_t map_max, bool full,
                         struct mcds__lmdb_file **file_out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
    struct mcds__lmdb_file *file;
    (void)pthread_mutex_lock(&registry.mutex);
    int result = open_registered(env, path, rounded(map_max), &file);
    if (result == MCDS_OK) {
        file->references++;
        (void)pthread_mutex_lock(&file->map_mutex);
        if (rounded(map_max) > file->map_max)
            file->map_max = rounded(map_max);
        (void)pthread_mutex_unlock(&file->map_mutex);
        (void)pthread_mutex_lock(&file->queue_mutex);
        file->full_handles += full;
        (void)pthread_mutex_unlock(&file->queue_mutex);
        *file_out = file;
    }
    (void)pthread_mutex_unlock(&registry.mutex);
    return result;
}

void mcds__lmdb_file_close(struct mcds__lmdb_file *file, bool full)
{
    (void)pthread_mutex_lock(&registry.mutex);
    (void)pthread_mutex_lock(&file->queue_mutex);
    file->full_handles -= full;
    (void)pthread_mutex_unlock(&file->queue_mutex);
    if (--file->references == 0) {
        struct mcds__lmdb_file **link = &registry.first;
        while (*link != file)
            link = &(*link)->next;
        *link = file->next;
        if (!file->read_only && !file->synced)
            (void)mdb_env_sync(file->env, 1);
        free_file(file);
    }
    (void)pthread_mutex_unlock(&registry.mutex);
}
