/* Copies a file in use: the state of one moment, while other processes write. cp cannot do
 * that, because it reads the pages at one moment and the root that refers to them at another.
 *
 * The copy has a temporary name until it is complete. It is a store of its own with a new
 * identity, so a cas token of one store is never valid for the other. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <lmdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "store/lmdb/check/pages.h"
#include "store/lmdb/file.h"

#define WAIT_NS (10 * NS_PER_S)
#define TRIES_MAX 10
#define ROOM_BYTES (UINT64_C(1) << 20) /* space for the new identity if the file is full */

/* 0 or a code. While the read transaction lasts, the map keeps its size. */
static int lmdb_backup_copy_once(struct mcds__lmdb_file *file, const mcds_env *env,
                                 int descriptor)
{
    struct mcds__lmdb_reader *reader;
    int code = mcds__lmdb_read_begin(file, env, mcds__monotonic_ns(env) + WAIT_NS, &reader);
    if (code != 0)
        return code;
    code = mdb_env_copyfd2(file->env, descriptor, 0);
    mcds__lmdb_read_end(file, reader);
    return code;
}

static int copy_pages(struct mcds__lmdb_file *file, const mcds_env *env, int descriptor)
{
    int code = lmdb_backup_copy_once(file, env, descriptor);
    for (int i = 1; i < TRIES_MAX && code == MDB_MAP_RESIZED; i++) {
        if (ftruncate(descriptor, 0) != 0 || lseek(descriptor, 0, SEEK_SET) != 0)
            return errno;
        code = lmdb_backup_copy_once(file, env, descriptor);
    }
    return code == 0 && fsync(descriptor) != 0 ? errno : code;
}

static int put_identity(MDB_txn *txn, const mcds_env *env)
{
    struct mcds__lmdb_format format = {MCDS__LMDB_VERSION, mcds__random_u64(env) | 1};
    uint8_t bytes[MCDS__LMDB_FORMAT_BYTES];
    mcds__lmdb_format_write(&format, bytes);
    MDB_dbi root;
    int code = mdb_dbi_open(txn, NULL, 0, &root);
    return code == 0 ? mcds__lmdb_entry_put(txn, root, "mcds", bytes, sizeof bytes) : code;
}

/* No other process knows of the copy yet, so it needs no lock file. */
static int give_identity(const char *path, const mcds_env *env, uint64_t map_size)
{
    MDB_env *copy;
    MDB_txn *txn;
    int code = mdb_env_create(&copy);
    if (code != 0)
        return code;
    code = mdb_env_set_mapsize(copy, (size_t)map_size);
    if (code == 0)
        code = mdb_env_open(copy, path, MDB_NOSUBDIR | MDB_NOLOCK, 0600);
    if (code == 0)
        code = mdb_txn_begin(copy, NULL, 0, &txn);
    if (code == 0) {
        code = put_identity(txn, env);
        if (code == 0)
            code = mdb_txn_commit(txn);
        else
            mdb_txn_abort(txn);
    }
    mdb_env_close(copy);
    return code;
}

/* `place` is the path of the store's file or of the copy. */
#define fail_backup_at(code, why, place, ...)                                                  \
    mcds__fail_saying(&(const mcds_error){.result = (code),                                    \
                                          .cause = MCDS_CAUSE_##why,                           \
                                          .noun = "store",                                     \
                                          .verb = "backup",                                    \
                                          .peer = (place)},                                    \
                      __VA_ARGS__)

static const char *lmdb_backup_text_of(int code)
{
    const mcds_reason *why = mcds__lmdb_reason(code);
    bool is_own = code <= 0 || why->cause == MCDS_CAUSE_NO_DESCRIPTORS;
    return is_own ? why->text : strerror(code);
}

static int fail_backup(const struct mcds__lmdb_file *file, const char *path, int code)
{
    assert(code != 0);
    if (code == ENOSPC || code == EDQUOT)
        return fail_backup_at(MCDS_FULL, DISK_FULL, path,
                              "no room on the disk for the copy; make room");
    return mcds__fail_saying(
        &(const mcds_error){.result = code == ETIMEDOUT ? MCDS_TIMEOUT : MCDS_IO,
                            .cause = code == ETIMEDOUT ? MCDS_CAUSE_TIMEOUT
                                                       : mcds__lmdb_reason(code)->cause,
                            .os_error = code > 0 ? code : 0,
                            .noun = "store",
                            .verb = "backup",
                            .peer = file->path},
        "it could not be copied to '%s': %s", path, lmdb_backup_text_of(code));
}

/* 0 or a code. */
static int make_copy(struct mcds__lmdb_file *file, const mcds_env *env, const char *path,
                     int descriptor)
{
    assert(descriptor >= 0);
    MDB_envinfo info;
    int code = mdb_env_info(file->env, &info);
    if (code == 0)
        code = copy_pages(file, env, descriptor);
    if (code == 0)
        code = give_identity(path, env, mcds__lmdb_rounded(info.me_mapsize + ROOM_BYTES));
    return code;
}

/* A copy of damaged pages would take the place of a sound one. */
static int refuse_damaged(struct mcds__lmdb_file *file, const mcds_env *env, const char *path)
{
    struct mcds__lmdb_walk walk = {.env = NULL};
    int code = mcds__lmdb_check(file, env, &walk);
    if (code != 0)
        return fail_backup(file, path, code);
    if (walk.damaged == 0)
        return MCDS_OK;
    return fail_backup_at(MCDS_IO, DAMAGED, file->path,
                          "it is damaged: its page %llu has been overwritten, and %llu of %llu "
                          "items can be read; nothing was copied; " MCDS__LMDB_DAMAGE_FIX,
                          (unsigned long long)walk.damaged, (unsigned long long)walk.entries,
                          (unsigned long long)walk.expected);
}

static int fail_exists(const char *path)
{
    return fail_backup_at(
        MCDS_IO, FILE_EXISTS, path,
        "it exists already, and a copy overwrites nothing; give another path");
}

static mcds_cause lmdb_backup_cause_of(int code)
{
    static const struct {
        int code;
        mcds_cause cause;
    } list[] = {
        {ENOENT, MCDS_CAUSE_NO_DIRECTORY},   {EROFS, MCDS_CAUSE_READ_ONLY},
        {EACCES, MCDS_CAUSE_NO_PERMISSION},  {EPERM, MCDS_CAUSE_NO_PERMISSION},
        {ENOSPC, MCDS_CAUSE_DISK_FULL},      {EDQUOT, MCDS_CAUSE_DISK_FULL},
        {EMFILE, MCDS_CAUSE_NO_DESCRIPTORS}, {ENFILE, MCDS_CAUSE_NO_DESCRIPTORS},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (list[i].code == code)
            return list[i].cause;
    return MCDS_CAUSE_OTHER;
}

static int fail_making(const char *path, int code)
{
    return mcds__fail_saying(&(const mcds_error){.result = MCDS_IO,
                                                 .cause = lmdb_backup_cause_of(code),
                                                 .os_error = code,
                                                 .noun = "store",
                                                 .verb = "backup",
                                                 .peer = path},
                             "it cannot be made: %s", lmdb_backup_text_of(code));
}

/* Give the complete copy its name. On a file system without hard links only rename is left,
 * which overwrites a file that another program makes at the same moment. */
static int publish(const char *partial, const char *path)
{
    struct stat status;
    int code = link(partial, path) == 0 ? 0 : errno;
    bool has_links = code != EPERM && code != EOPNOTSUPP && code != ENOSYS;
    if (!has_links && lstat(path, &status) == 0)
        code = EEXIST;
    else if (!has_links)
        code = rename(partial, path) == 0 ? 0 : errno;
    if (code == EEXIST)
        return fail_exists(path);
    if (code != 0)
        return fail_making(path, code);
    mcds__lmdb_sync_directory(path);
    return MCDS_OK;
}

int mcds__lmdb_backup(struct mcds__lmdb_file *file, const mcds_env *env, const char *path)
{
    char partial[PATH_MAX + 32];
    struct stat status;
    if (strlen(path) == 0 || strlen(path) >= PATH_MAX)
        return fail_backup_at(MCDS_INVALID, TOO_LONG, NULL,
                              "the path of a copy has 1 to %d bytes", PATH_MAX - 1);
    /* LMDB waits for a writer without a deadline; this waits for the write lock with one. */
    int64_t stuck = mcds__lmdb_stuck_writer(file, env, mcds__monotonic_ns(env) + WAIT_NS);
    if (stuck != 0)
        return fail_backup_at(MCDS_TIMEOUT, TIMEOUT, file->path,
                              "it could not be copied: process %lld has been writing it for "
                              "more than 10 s; let it continue (kill -CONT), or end it",
                              (long long)stuck);
    if (lstat(path, &status) == 0)
        return fail_exists(path);
    int result = refuse_damaged(file, env, path);
    if (result != MCDS_OK)
        return result;
    (void)snprintf(partial, sizeof partial, "%s.%016" PRIx64, path, mcds__random_u64(env));
    int descriptor = open(partial, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return fail_making(path, errno);
    (void)fchmod(descriptor, 0600); /* whatever the umask is */
    struct mcds__lmdb_limit limit;
    mcds__lmdb_limit_hold(&limit);
    int code = make_copy(file, env, partial, descriptor);
    mcds__lmdb_limit_release(&limit);
    (void)close(descriptor);
    result = code == 0 ? publish(partial, path) : fail_backup(file, path, code);
    (void)unlink(partial);
    return result;
}
