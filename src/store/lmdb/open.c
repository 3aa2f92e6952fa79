/* Opens one file with LMDB: its lock file and its format. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "store/lmdb/guard.h"

#define MAP_BEGIN (UINT64_C(16) << 20)
#define DATABASES_MAX 4
#define OPEN_TRIES_MAX 10
#define EMPTY_PAGES_MAX 8 /* of a file whose creation was not finished; a longer one is torn */
#define TORN_LOOKS 20
#define OPEN_PAUSE_NS (5 * NS_PER_MS)
#define MAKE_WAIT_NS (10 * NS_PER_S) /* for other processes that create the file */
#define LOCK_FILE_BYTES (80 * 1024)  /* a little more than MCDS__LMDB_READERS need */
#define LOCK_FILE_MARK UINT32_C(0xBEEFC0DE)

/* Compare `length` bytes. The last eight may overlap those before, which are equal. */
static int order_bytes(const uint8_t *left, const uint8_t *right, size_t length)
{
    size_t at = 0;
    if (length < 8) {
        while (at < length && left[at] == right[at])
            at++;
        return at < length ? left[at] - right[at] : 0;
    }
    for (;;) {
        uint64_t a = mcds__eight_bytes(left + at);
        uint64_t b = mcds__eight_bytes(right + at);
        if (a != b)
            return a < b ? -1 : 1;
        if (at == length - 8)
            return 0;
        at = at + 8 < length - 8 ? at + 8 : length - 8;
    }
}

/* LMDB's own order, which other programs use: bytewise, and a prefix sorts first. Most keys of
 * a page begin alike, and a search makes so many comparisons that calling memcmp costs more
 * than the comparison itself. */
static int order_keys(const MDB_val *left, const MDB_val *right)
{
    size_t length = left->mv_size < right->mv_size ? left->mv_size : right->mv_size;
    int order = order_bytes(left->mv_data, right->mv_data, length);
    if (order != 0 || left->mv_size == right->mv_size)
        return order;
    return left->mv_size < right->mv_size ? -1 : 1;
}

static int open_databases(struct mcds__lmdb_file *file, MDB_txn *txn, unsigned flags)
{
    int code = mdb_dbi_open(txn, "items", flags, &file->items);
    if (code == 0)
        code = mdb_dbi_open(txn, "expiry", flags, &file->expiry);
    if (code == 0)
        code = mdb_set_compare(txn, file->items, order_keys);
    if (code == 0)
        code = mdb_set_compare(txn, file->expiry, order_keys);
    return code;
}

/* Write the format into an empty file. */
static int write_format(struct mcds__lmdb_file *file, const mcds_env *env, MDB_txn *txn)
{
    struct mcds__lmdb_format format = {MCDS__LMDB_VERSION, mcds__random_u64(env) | 1};
    struct mcds__lmdb_cas cas = {1, 1, mdb_txn_id(txn), 0};
    uint8_t format_bytes[MCDS__LMDB_FORMAT_BYTES];
    uint8_t cas_bytes[MCDS__LMDB_CAS_BYTES];
    mcds__lmdb_format_write(&format, format_bytes);
    mcds__lmdb_cas_write(&cas, cas_bytes);
    int code = mcds__lmdb_entry_put(txn, file->root, "mcds", format_bytes, sizeof format_bytes);
    if (code == 0)
        code = mcds__lmdb_entry_put(txn, file->root, "cas", cas_bytes, sizeof cas_bytes);
    file->identity = format.identity;
    if (code == 0)
        code = mcds__lmdb_clock_begin(file, env, txn);
    return code == 0 ? open_databases(file, txn, MDB_CREATE) : code;
}

enum content { EMPTY, OURS, FOREIGN, REPLACED, TORN };

/* Read the format, and open the databases if it is of mcds. */
static int read_format(struct mcds__lmdb_file *file, const mcds_env *env, MDB_txn *txn,
                       enum content *content, uint32_t *version)
{
    MDB_stat stat;
    mcds_bytes bytes;
    struct mcds__lmdb_format format;
    int code = mdb_dbi_open(txn, NULL, 0, &file->root);
    if (code == 0)
        code = mdb_stat(txn, file->root, &stat);
    if (code != 0)
        return code;
    file->page_size = stat.ms_psize;
    *content = stat.ms_entries == 0 ? EMPTY : FOREIGN;
    code = mcds__lmdb_entry_get(txn, file->root, "mcds", &bytes);
    if (code != 0 || !mcds__lmdb_format_read(bytes, &format))
        return code;
    *content = OURS;
    *version = format.version;
    file->identity = format.identity;
    if (format.version != MCDS__LMDB_VERSION)
        return 0;
    code = mcds__lmdb_clock_begin(file, env, txn);
    return code == 0 ? open_databases(file, txn, 0) : code;
}

/* Whether the lock file reports later transactions than the file has. Then it belongs to a file
 * that was removed or replaced while a program has it open. This check is for a process without
 * the write lock; the others compare the files that the lock's page lists. */
static bool is_replaced(struct mcds__lmdb_file *file, MDB_txn *txn)
{
    assert(file->snapshot < 0 || file->read_only);
    MDB_envinfo info;
    return mdb_env_info(file->env, &info) == 0 && mdb_txn_id(txn) > info.me_last_txnid;
}

/* Whether this is a copy that was made, by other means than LMDB's, during a commit: then its
 * meta pages do not fit its other pages. Every commit of mcds stores its number under "cas";
 * other programs that write the file leave "cas" unchanged. mdb_copy -c numbers its only
 * transaction 1. */
static bool is_torn(const struct mcds__lmdb_file *file, MDB_txn *txn, enum content content)
{
    mcds_bytes bytes;
    struct mcds__lmdb_cas cas;
    if (content == EMPTY)
        return file->size > EMPTY_PAGES_MAX * (uint64_t)file->page_size;
    if (content != OURS)
        return false;
    return mcds__lmdb_entry_get(txn, file->root, "cas", &bytes) != 0 ||
           !mcds__lmdb_cas_read(bytes, &cas) ||
           (cas.transaction > mdb_txn_id(txn) && mdb_txn_id(txn) != 1);
}

/* Check the format of the file, or write it, in one transaction. */
static int settle_format(struct mcds__lmdb_file *file, const mcds_env *env, bool writing,
                         enum content *content, uint32_t *version)
{
    MDB_txn *txn;
    int code = mdb_txn_begin(file->env, NULL, writing ? 0 : MDB_RDONLY, &txn);
    if (code != 0)
        return code;
    code = read_format(file, env, txn, content, version);
    if (code == 0 && !writing && is_replaced(file, txn)) {
        *content = REPLACED;
    } else if (code == 0 && !writing && *version == MCDS__LMDB_VERSION &&
               is_torn(file, txn, *content)) {
        *content = TORN;
    } else if (code == 0 && writing && *content == EMPTY) {
        code = write_format(file, env, txn);
        *content = OURS;
        *version = MCDS__LMDB_VERSION;
    }
    if (code == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return code;
}

/* Check the format of the file without writing. If a reader is paused while its transaction begins,
 * and two commits are made meanwhile, it has the number of the earlier transaction and the pages of
 * the later one. That passes on the next try; a torn copy looks so each time. */
static int look_at_format(struct mcds__lmdb_file *file, const mcds_env *env,
                          enum content *content, uint32_t *version)
{
    int code = settle_format(file, env, false, content, version);
    for (int i = 1; i < TORN_LOOKS && code == 0 && *content == TORN; i++) {
        mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + NS_PER_MS);
        code = settle_format(file, env, false, content, version);
    }
    return code;
}

/* The write lock is taken first: LMDB's own lock has no deadline. */
static int make_format(struct mcds__lmdb_file *file, const mcds_env *env, enum content *content,
                       uint32_t *version)
{
    assert(*content == EMPTY && !file->read_only);
    int code = mcds__lmdb_settle(
        file, mcds__lmdb_write_lock_enter(file, env, mcds__monotonic_ns(env) + MAKE_WAIT_NS));
    if (code != 0)
        return code;
    code = settle_format(file, env, true, content, version);
    mcds__lmdb_write_lock_leave(file);
    return code;
}

static int fail_empty(const struct mcds__lmdb_file *file)
{
    assert(file->read_only && file->no_write != NULL);
    return mcds__fail_saying(&(const mcds_error){.result = MCDS_IO,
                                                 .cause = file->no_write->cause,
                                                 .os_error = file->no_write->os_error,
                                                 .noun = "store",
                                                 .peer = file->path},
                             "it has no data, and none can be written: %s",
                             file->no_write->text);
}

static int check_format(struct mcds__lmdb_file *file, const mcds_env *env)
{
    enum content content = EMPTY;
    uint32_t version = MCDS__LMDB_VERSION;
    int code = look_at_format(file, env, &content, &version);
    if (code == 0 && content == EMPTY && !file->read_only)
        code = make_format(file, env, &content, &version);
    if (code != 0)
        return mcds__lmdb_fail_open(file->path, code);
    if (content == REPLACED)
        return mcds__lmdb_fail_replaced(file->path);
    if (content == TORN)
        return mcds__fail_at(
            MCDS_IO, DAMAGED, file->path,
            "it is damaged: its parts are of different times, as in a copy made while it was "
            "written; make copies with mcds backup, and move this file away");
    if (content == EMPTY)
        return fail_empty(file);
    if (content != OURS)
        return mcds__fail_at(MCDS_IO, WRONG_FILE, file->path,
                             "it is an LMDB file that mcds did not make; give another path");
    if (version == MCDS__LMDB_VERSION)
        return MCDS_OK;
    return mcds__fail_at(MCDS_IO, OTHER_VERSION, file->path,
                         "it has format version %u and this mcds reads version %d; use the "
                         "mcds that wrote it, or give another path",
                         version, MCDS__LMDB_VERSION);
}

/* Whether the lock file counts no transactions of a file that has some: the first process sets
 * the number while others wait, and if it is killed before that, they use the lock file as it
 * is. Only a process that opens the file alone sets the number again. */
static bool has_unfinished_lock(MDB_env *env)
{
    MDB_txn *txn;
    MDB_envinfo info;
    if (mdb_env_info(env, &info) != 0 || mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) != 0)
        return false; /* the next transaction reports it */
    bool counts_none = info.me_last_txnid > 0 && mdb_txn_id(txn) == 0;
    mdb_txn_abort(txn);
    return counts_none;
}

/* LMDB calls this before it prints its assertion and aborts: the program's handler of SIGABRT can
 * read what is wrong, and where. */
static void note_assertion(MDB_env *env, const char *assertion)
{
    const struct mcds__lmdb_file *file = mdb_env_get_userctx(env);
    (void)assertion;
    (void)mcds__fail_why(MCDS_IO, MCDS__WHY(FILE_DAMAGED), .noun = "store", .peer = file->path);
}

static int open_env_once(struct mcds__lmdb_file *file, unsigned flags)
{
    assert(file->env == NULL);
    char snapshot[64];
    (void)snprintf(snapshot, sizeof snapshot, "/proc/self/fd/%d", file->snapshot);
    if (file->snapshot >= 0)
        flags |= MDB_NOLOCK;
    int code = mdb_env_create(&file->env);
    if (code != 0)
        return code;
    code = mdb_env_set_userctx(file->env, file);
    if (code == 0)
        code = mdb_env_set_assert(file->env, note_assertion);
    if (code == 0)
        code = mdb_env_set_maxreaders(file->env, MCDS__LMDB_READERS);
    if (code == 0)
        code = mdb_env_set_maxdbs(file->env, DATABASES_MAX);
    if (code == 0)
        code = mdb_env_set_mapsize(file->env, (size_t)file->map_size);
    if (code == 0)
        code = mdb_env_open(file->env, file->snapshot >= 0 ? snapshot : file->path,
                            MDB_NOSUBDIR | MDB_NOTLS | flags, 0600);
    if (code == 0 && has_unfinished_lock(file->env))
        code = EAGAIN;
    if (code != 0) {
        mdb_env_close(file->env);
        file->env = NULL;
    }
    return code;
}

static void lock_path(const struct mcds__lmdb_file *file, char out[PATH_MAX + 16])
{
    (void)snprintf(out, PATH_MAX + 16, "%s-lock", file->path);
}

/* 0, or ETIMEDOUT. LMDB waits without a limit for a process that opens the file first or closes it last, even if
 * it is stopped. This process holds no lock of LMDB yet, which closing the descriptor would release. */
static int await_lock_file(const struct mcds__lmdb_file *file, const mcds_env *env)
{
    char path[PATH_MAX + 16];
    int64_t until_ns = mcds__monotonic_ns(env) + MAKE_WAIT_NS;
    lock_path(file, path);
    int descriptor = file->snapshot < 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (descriptor < 0)
        return 0; /* LMDB makes it, or reports why it cannot be opened */
    bool is_held = true;
    while (is_held && mcds__monotonic_ns(env) < until_ns) {
        struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
        is_held = fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
        if (is_held)
            mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + OPEN_PAUSE_NS);
    }
    (void)close(descriptor);
    return is_held ? ETIMEDOUT : 0;
}

/* LMDB documents that opening may fail while another process opens or closes the file. The
 * pauses are random and become longer, so that one of many processes is alone in the end. */
static int open_env(struct mcds__lmdb_file *file, const mcds_env *env)
{
    for (uint64_t i = 1;; i++) {
        int code = await_lock_file(file, env);
        if (code == 0)
            code = open_env_once(file, file->read_only ? MDB_RDONLY : 0);
        bool may_pass = code == EAGAIN || code == EINTR || code == EBUSY || code == EINVAL;
        if (!may_pass || i == OPEN_TRIES_MAX)
            return code;
        uint64_t pause_ns = mcds__random_u64(env) % (i * 2 * OPEN_PAUSE_NS);
        mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + (int64_t)pause_ns);
    }
}

/* LMDB's magic number comes first; a file that was allocated and not yet opened is all zero. */
static enum mcds__guard_content judge_lock(const uint8_t *head, uint64_t size)
{
    uint32_t mark;
    memcpy(&mark, head, sizeof mark);
    bool ours = mark == LOCK_FILE_MARK || (mark == 0 && size == LOCK_FILE_BYTES);
    return ours ? MCDS__GUARD_OURS : MCDS__GUARD_FOREIGN;
}

/* Create the lock file and allocate its blocks. LMDB writes it through a map; if the disk has
 * no room for a page of a map, the system kills the writer. LMDB reports any other trouble. */
static int prepare_lock_file(struct mcds__lmdb_file *file, const struct stat *data)
{
    int descriptor;
    struct stat status;
    int result = mcds__lmdb_guard_beside(file, "-lock", data, judge_lock, &descriptor);
    if (result != MCDS_OK || descriptor < 0)
        return result;
    if (fstat(descriptor, &status) == 0) {
        file->lock_device = status.st_dev;
        file->lock_inode = status.st_ino;
    }
#ifdef __linux__
    if (fallocate(descriptor, 0, 0, LOCK_FILE_BYTES) != 0 &&
        (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        result = mcds__lmdb_fail_open(file->path, errno);
#endif
    (void)close(descriptor);
    return result;
}

void mcds__lmdb_sync_directory(const char *path)
{
    char directory[PATH_MAX];
    mcds__lmdb_directory(path, directory);
    int descriptor = open(directory, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    (void)fsync(descriptor);
    (void)close(descriptor);
}

/* Whether PATH-lock is the file that was checked before LMDB opened it. This process must not
 * open it again: closing it would release LMDB's locks. */
static bool is_lock_file(const struct mcds__lmdb_file *file)
{
    char path[PATH_MAX + 16];
    struct stat status;
    lock_path(file, path);
    return file->lock_inode == 0 ||
           (stat(path, &status) == 0 && status.st_dev == file->lock_device &&
            status.st_ino == file->lock_inode);
}

/* Check that these are the files that were checked before, and that no program started from
 * here inherits them. */
static int look_at_file(struct mcds__lmdb_file *file)
{
    mdb_filehandle_t descriptor;
    struct stat status;
    if (mdb_env_get_fd(file->env, &descriptor) != 0 || fstat(descriptor, &status) != 0 ||
        fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0)
        return mcds__fail_at(MCDS_IO, UNSUPPORTED, file->path, "it cannot be inspected");
    if (file->snapshot < 0 && (file->device != status.st_dev || file->inode != status.st_ino))
        return mcds__lmdb_fail_replaced(file->path);
    return is_lock_file(file) ? MCDS_OK : mcds__lmdb_fail_replaced(file->path);
}

/* Open the files with LMDB and check their format. */
static int open_files(struct mcds__lmdb_file *file, const mcds_env *env,
                      const struct stat *data)
{
    int result = prepare_lock_file(file, data);
    if (result == MCDS_OK && !file->read_only)
        result = mcds__lmdb_write_lock_open(file, env, data);
    if (result == MCDS_OK && file->read_only && data->st_size == 0)
        return fail_empty(file);
    if (result == MCDS_OK && file->read_only && file->lock_inode == 0)
        result = mcds__lmdb_snapshot(file, env);
    if (result != MCDS_OK)
        return result;
    int code = open_env(file, env);
    return code == 0 ? look_at_file(file) : mcds__lmdb_fail_open(file->path, code);
}

static int open_limited(struct mcds__lmdb_file *file, const mcds_env *env, uint32_t mode)
{
    struct stat data;
    int result = mcds__lmdb_guard_data(file, mode, &data);
    if (result == MCDS_OK && data.st_size > 0)
        result = mcds__lmdb_check_open(file);
    if (result != MCDS_OK)
        return result;
    uint64_t size = file->size = (uint64_t)data.st_size;
    uint64_t map_size = size > MAP_BEGIN / 2 ? mcds__lmdb_rounded(size * 2) : MAP_BEGIN;
    file->map_size = map_size < file->map_max ? map_size : file->map_max;
    result = open_files(file, env, &data);
    if (result != MCDS_OK)
        return result;
    MDB_envinfo info;
    if (mdb_env_info(file->env, &info) == 0)
        file->map_size = info.me_mapsize;
    (void)mdb_reader_check(file->env, &file->stale_readers);
    result = check_format(file, env);
    if (result == MCDS_OK && size == 0)
        mcds__lmdb_sync_directory(file->path);
    if (result == MCDS_OK)
        mcds__lmdb_note_contents(file);
    return result;
}

int mcds__lmdb_open(struct mcds__lmdb_file *file, const mcds_env *env, uint32_t mode)
{
    struct mcds__lmdb_limit limit;
    mcds__lmdb_limit_hold(&limit);
    int result = open_limited(file, env, mode);
    if (result != MCDS_OK && file->made)
        mcds__lmdb_guard_undo(file);
    mcds__lmdb_limit_release(&limit);
    return result;
}
