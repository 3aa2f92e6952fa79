/* The write lock: a robust, process-shared mutex taken before LMDB's own lock, with a deadline.
 *
 * LMDB waits without a deadline for a writer of another process, even for one that was stopped
 * in the middle of a commit. The write lock is taken first, and waiting for it ends at the
 * deadline. It lies in the first page of PATH-writer, which every process that has the file
 * open maps; the publication list follows it. A process that cannot use the lock opens the
 * file read-only: others would have to wait for it without a deadline.
 *
 *     enter(until)    waits for the mutex; ETIMEDOUT at the deadline
 *       EOWNERDEAD    this process has the mutex, and the owner before it died: the caller
 *                     settles what that one left (mcds__lmdb_settle), then writes
 *     (write)         a transaction of LMDB, which takes LMDB's own lock
 *     leave           unlocks, then wakes the sender of one posted message
 *
 * Joining: each process holds a read lock on the first byte of PATH-writer, an open file
 * description lock, which ends with the process. A process that gets the exclusive lock
 * instead is the only user: it clears the page before it shares it. A user without the right
 * to write the file cannot take a lock that keeps a process out.
 *
 * The page also has a mark that PATH has contents. The mark is set when they are on the disk, so
 * an empty PATH with the mark was truncated. An empty PATH without the mark is new: it was made
 * on purpose, or its creation was not finished. A process that creates PATH clears the mark, which
 * may be that of a PATH that was removed. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "store/lmdb/commit/publications.h"
#include "store/lmdb/guard.h"

#define WRITE_LOCK_BYTES 4096
#define CACHE_LINE 64
/* Disk space kept in reserve for requests that free space on a full disk. */
#define BALLAST_BYTES ((off_t)256 * 1024)
#define BALLAST_STEP 4096
#define JOIN_TRIES_MAX 10000 /* the process that begins the page may be stopped or slow */
#define JOIN_PAUSE_NS NS_PER_MS
/* When a process exits, its locks on PATH and on PATH-writer end in either order. */
#define HELD_TRIES_MAX 100
/* Programs built for another layout of the mutex must not touch this one. */
#define WRITE_LOCK_MARK UINT64_C(0x6d636473)
#define WRITE_LOCK_VERSION UINT64_C(8)
#define WRITE_LOCK_MAGIC                                                                       \
    (WRITE_LOCK_MARK << 32 | WRITE_LOCK_VERSION << 24 | sizeof(pthread_mutex_t) << 8 |         \
     sizeof(void *))

#define CONTENTS_MARK UINT64_C(0x636f6e74656e7473)
#define EMPTY_TRIES_MAX 1000 /* the process that has just made PATH may be stopped or slow */

#define FILES_COUNT 4

struct mcds__lmdb_write_lock {
    _Atomic uint64_t magic;
    /* The pid namespace of the processes that have it open; 0: unknown. */
    _Atomic uint64_t namespace;
    _Atomic int64_t holder;      /* the process that owns the lock, or 0 */
    uint64_t files[FILES_COUNT]; /* devices and inodes of PATH and PATH-lock */
    pthread_mutex_t mutex;
    uint8_t apart[CACHE_LINE];
    /* A counter that each commit raises by two if it removes or replaces items. It is odd
     * while such a commit is under way. After a process died in one, it stays odd until the
     * next such commit ends. */
    _Atomic uint64_t losses;
    _Atomic uint64_t contents; /* CONTENTS_MARK; anything else: PATH may be empty */
};

static struct mcds__lmdb_publications *
publications_after(struct mcds__lmdb_write_lock *write_lock)
{
    return (struct mcds__lmdb_publications *)(void *)((uint8_t *)write_lock + WRITE_LOCK_BYTES);
}

static size_t shared_bytes(void)
{
    return WRITE_LOCK_BYTES + mcds__lmdb_publications_bytes();
}

static void list_files(const struct mcds__lmdb_file *file, uint64_t files[FILES_COUNT])
{
    files[0] = file->device;
    files[1] = file->inode;
    files[2] = file->lock_device;
    files[3] = file->lock_inode;
}

uint64_t mcds__lmdb_process_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* Initialize the page; no other process has it open. */
static bool begin_write_lock(const struct mcds__lmdb_file *file,
                             struct mcds__lmdb_write_lock *write_lock)
{
    uint64_t contents = write_lock->contents;
    write_lock->magic = 0;
    memset(write_lock, 0, sizeof *write_lock);
    write_lock->contents = contents;
    list_files(file, write_lock->files);
    bool made = mcds__mutex_init_shared(&write_lock->mutex) &&
                mcds__lmdb_publications_begin(publications_after(write_lock));
    write_lock->namespace = mcds__lmdb_process_namespace();
    if (made)
        write_lock->magic = WRITE_LOCK_MAGIC;
    return made;
}

#ifdef F_OFD_SETLK
static bool lock_page(int descriptor, bool alone)
{
    struct flock lock = {.l_type = alone ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
    return fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
}

static void unlock_page(int descriptor)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_len = 1};
    (void)fcntl(descriptor, F_OFD_SETLK, &lock);
}
#else
static bool lock_page(int descriptor, bool alone)
{
    return flock(descriptor, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0;
}

static void unlock_page(int descriptor)
{
    (void)flock(descriptor, LOCK_UN);
}
#endif

/* The exclusive lock on PATH-writer is held; take the one on PATH as well. False: another
 * process has PATH. */
static bool hold_alone(struct mcds__lmdb_file *file, int descriptor)
{
    if (mcds__lmdb_hold(file) && !mcds__lmdb_is_held(file))
        return true;
    mcds__lmdb_unhold(file);
    unlock_page(descriptor);
    return false;
}

static int fail_elsewhere(const char *path)
{
    return mcds__fail_at(
        MCDS_IO, FILE_REPLACED, path,
        "it is open in a program that has other files beside it: it was renamed, or its "
        "-writer was removed; end all programs that use it, then open it again");
}

/* *trouble is NULL if the lock was joined, otherwise the reason. A page without its magic
 * number belongs to a process that died while initializing it; the next exclusive process
 * initializes it again. */
static int join_write_lock(struct mcds__lmdb_file *file, const mcds_env *env,
                           struct mcds__lmdb_write_lock *write_lock, int descriptor,
                           const mcds_reason **trouble)
{
    int held = 0;
    *trouble = NULL;
    for (int i = 0; i < JOIN_TRIES_MAX; i++) {
        bool alone = lock_page(descriptor, true);
        if (alone && !hold_alone(file, descriptor)) {
            if (++held == HELD_TRIES_MAX)
                return fail_elsewhere(file->path);
        } else if (alone && !begin_write_lock(file, write_lock)) {
            *trouble = MCDS__WHY(NO_ROBUST_MUTEX);
            return MCDS_OK;
        } else if (lock_page(descriptor, false)) {
            uint64_t magic = write_lock->magic;
            if (magic != 0 && magic != WRITE_LOCK_MAGIC)
                *trouble = MCDS__WHY(OTHER_VERSION);
            if (magic != 0)
                return MCDS_OK;
            unlock_page(descriptor);
        }
        mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + JOIN_PAUSE_NS);
    }
    *trouble = MCDS__WHY(WRITER_LOCKED);
    return MCDS_OK;
}

/* Allocate the file's blocks: writing to a mapped page that the disk has no room for would
 * kill the process. 0 or an errno. */
static int lmdb_write_lock_make_room(int descriptor)
{
#ifdef __linux__
    if (fallocate(descriptor, 0, 0, (off_t)shared_bytes()) == 0)
        return 0;
    if (errno != EOPNOTSUPP)
        return errno;
#endif
    return ftruncate(descriptor, (off_t)shared_bytes()) == 0 ? 0 : errno;
}

/* A file that was made and not yet initialized is all zero. */
static enum mcds__guard_content judge_write_lock(const uint8_t *head, uint64_t size)
{
    uint64_t magic;
    memcpy(&magic, head, sizeof magic);
    bool whole = size == shared_bytes() || size == shared_bytes() + (uint64_t)BALLAST_BYTES;
    bool ours = magic >> 32 == WRITE_LOCK_MARK || (magic == 0 && whole);
    return ours ? MCDS__GUARD_OURS : MCDS__GUARD_FOREIGN;
}

/* Allocate the ballast again. What was lent may now be in use by the data file, so keep as
 * much as the disk still has. */
static void hold_ballast(int descriptor, off_t at)
{
#ifdef __linux__
    off_t held = 0;
    for (off_t step = BALLAST_BYTES; step >= BALLAST_STEP && held < BALLAST_BYTES;)
        if (fallocate(descriptor, 0, at + held, step) == 0)
            held += step;
        else
            step /= 2;
#else
    (void)descriptor;
    (void)at;
#endif
}

void mcds__lmdb_ballast(const struct mcds__lmdb_file *file, bool hold)
{
    if (file->write_lock == NULL)
        return;
    off_t at = (off_t)shared_bytes();
    if (hold)
        hold_ballast(file->write_lock_descriptor, at);
    else
        (void)!ftruncate(file->write_lock_descriptor, at);
}

bool mcds__lmdb_has_ballast(const struct mcds__lmdb_file *file, int quarters)
{
    struct stat status;
    return file->write_lock != NULL && fstat(file->write_lock_descriptor, &status) == 0 &&
           status.st_size >= (off_t)shared_bytes() + BALLAST_BYTES / 4 * quarters;
}

/* *trouble is NULL if the file has its write lock, otherwise the reason. */
static int map_write_lock(struct mcds__lmdb_file *file, const mcds_env *env, int descriptor,
                          const mcds_reason **trouble)
{
    int code = lmdb_write_lock_make_room(descriptor);
    *trouble = code == EFBIG ? MCDS__WHY(WRITER_LIMIT) : MCDS__WHY(WRITER_NO_CAPACITY);
    if (code != 0)
        return MCDS_OK;
    void *page = mmap(NULL, shared_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    *trouble = MCDS__WHY(WRITER_NO_MEMORY);
    if (page == MAP_FAILED)
        return MCDS_OK;
    int result = join_write_lock(file, env, page, descriptor, trouble);
    if (result != MCDS_OK || *trouble != NULL) {
        (void)munmap(page, shared_bytes());
        return result;
    }
    file->write_lock = page;
    file->publications = publications_after(file->write_lock);
    file->write_lock_descriptor = descriptor;
    mcds__lmdb_ballast(file, true);
    return MCDS_OK;
}

/* Check that the other processes have opened the same three files. */
static int check_files(struct mcds__lmdb_file *file)
{
    uint64_t files[FILES_COUNT];
    list_files(file, files);
    if (memcmp(files, file->write_lock->files, sizeof files) == 0 && mcds__lmdb_hold(file))
        return MCDS_OK;
    mcds__lmdb_write_lock_close(file);
    return mcds__lmdb_fail_replaced(file->path);
}

/* LMDB identifies processes by pid, which means nothing in another pid namespace. */
static int check_namespace(struct mcds__lmdb_file *file)
{
    uint64_t theirs = file->write_lock->namespace;
    uint64_t ours = mcds__lmdb_process_namespace();
    if (theirs == ours)
        return MCDS_OK;
    mcds__lmdb_write_lock_close(file);
    if (theirs == 0 || ours == 0)
        return mcds__fail_at(
            MCDS_IO, NO_PROC, file->path,
            "it is open in another process, and whether both are in one container (pid "
            "namespace) cannot be seen, since /proc is not mounted %s; mount it",
            ours == 0 ? "here" : "there");
    return mcds__fail_at(
        MCDS_IO, OTHER_CONTAINER, file->path,
        "it is open in another container (pid namespace %llu, here %llu), and their processes "
        "cannot share a file; let them share one (--pid), or use memcached://",
        (unsigned long long)theirs, (unsigned long long)ours);
}

static bool was_emptied(const struct mcds__lmdb_file *file)
{
    struct stat status;
    return file->write_lock->contents == CONTENTS_MARK && fstat(file->held, &status) == 0 &&
           status.st_size == 0;
}

/* Refuse a file that was truncated. If another process has just made it, that process clears the
 * mark or writes the contents. */
static int check_contents(struct mcds__lmdb_file *file, const mcds_env *env)
{
    if (file->made)
        file->write_lock->contents = 0;
    for (int i = 0; i < EMPTY_TRIES_MAX && was_emptied(file); i++)
        mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + JOIN_PAUSE_NS);
    if (!was_emptied(file))
        return MCDS_OK;
    mcds__lmdb_write_lock_close(file);
    return mcds__fail_at(MCDS_IO, DAMAGED, file->path,
                         "it is damaged: it has been cut short to 0 bytes, and its -writer "
                         "file shows that it was "
                         "a store; copy the backup again, or remove it to begin a new store");
}

void mcds__lmdb_note_contents(struct mcds__lmdb_file *file)
{
    if (file->write_lock != NULL)
        file->write_lock->contents = CONTENTS_MARK;
}

int mcds__lmdb_write_lock_open(struct mcds__lmdb_file *file, const mcds_env *env,
                               const struct stat *data)
{
    int descriptor;
    int result = mcds__lmdb_guard_beside(file, "-writer", data, judge_write_lock, &descriptor);
    if (result != MCDS_OK)
        return result;
    const mcds_reason *trouble = MCDS__WHY(WRITER_READ_ONLY);
    if (descriptor >= 0)
        result = map_write_lock(file, env, descriptor, &trouble);
    if (result == MCDS_OK && trouble == NULL) {
        result = check_namespace(file);
        if (result == MCDS_OK)
            result = check_files(file);
        return result == MCDS_OK ? check_contents(file, env) : result;
    }
    if (descriptor >= 0)
        (void)close(descriptor);
    file->read_only = true;
    file->no_write = trouble;
    return result;
}

void mcds__lmdb_write_lock_close(struct mcds__lmdb_file *file)
{
    if (file->write_lock == NULL)
        return;
    mcds__lmdb_unhold(file);
    (void)munmap(file->write_lock, shared_bytes());
    (void)close(file->write_lock_descriptor);
    file->write_lock = NULL;
    file->publications = NULL;
}

/* `code` is the result of locking the mutex. After EOWNERDEAD the caller settles what the owner
 * has left (mcds__lmdb_settle). Other codes than these show that the bytes of the mutex were
 * overwritten. */
static int keep_usable(struct mcds__lmdb_write_lock *write_lock, int code)
{
    if (code == EOWNERDEAD && pthread_mutex_consistent(&write_lock->mutex) == 0)
        return EOWNERDEAD;
    return code == 0 || code == EBUSY || code == ETIMEDOUT ? code : ENOTRECOVERABLE;
}

static void lead_writers(struct mcds__lmdb_file *file)
{
    assert(!file->holds_write_lock);
    file->holds_write_lock = true;
    file->write_lock->holder = getpid();
}

int mcds__lmdb_write_lock_enter(struct mcds__lmdb_file *file, const mcds_env *env,
                                int64_t until_ns)
{
    struct mcds__lmdb_write_lock *write_lock = file->write_lock;
    if (write_lock == NULL)
        return 0;
    assert(!file->holds_write_lock);
    int code = keep_usable(write_lock,
                           mcds__mutex_lock_until(env, &write_lock->mutex, until_ns));
    if (code == 0 || code == EOWNERDEAD)
        lead_writers(file);
    return code;
}

int mcds__lmdb_write_lock_try(struct mcds__lmdb_file *file)
{
    struct mcds__lmdb_write_lock *write_lock = file->write_lock;
    if (write_lock == NULL)
        return EBUSY;
    int code = keep_usable(write_lock, pthread_mutex_trylock(&write_lock->mutex));
    if (code == 0 || code == EOWNERDEAD)
        lead_writers(file);
    return code;
}

void mcds__lmdb_write_lock_leave(struct mcds__lmdb_file *file)
{
    if (!file->holds_write_lock)
        return;
    assert(file->write_lock->holder == getpid());
    file->holds_write_lock = false;
    file->write_lock->holder = 0;
    (void)pthread_mutex_unlock(&file->write_lock->mutex);
    mcds__lmdb_publications_pass(file);
}

void mcds__lmdb_begin_losses(struct mcds__lmdb_file *file)
{
    if (file->write_lock != NULL)
        atomic_fetch_or(&file->write_lock->losses, 1);
}

void mcds__lmdb_end_losses(struct mcds__lmdb_file *file)
{
    if (file->write_lock != NULL) {
        assert((atomic_load(&file->write_lock->losses) & 1) != 0);
        atomic_store(&file->write_lock->losses,
                     (atomic_load(&file->write_lock->losses) | 1) + 1);
    }
}

bool mcds__lmdb_remains(const struct mcds__lmdb_file *file, uint64_t *mark)
{
    uint64_t losses = file->write_lock != NULL ? atomic_load(&file->write_lock->losses) : 1;
    if ((losses & 1) != 0)
        return false;
    bool is_same = *mark == losses + 1;
    *mark = losses + 1;
    return is_same;
}

int mcds__lmdb_write_lock_visit(struct mcds__lmdb_file *file, const mcds_env *env,
                                int64_t until_ns, int64_t *holder_out)
{
    struct mcds__lmdb_write_lock *write_lock = file->write_lock;
    *holder_out = 0;
    if (write_lock == NULL)
        return ENOLCK;
    int code = keep_usable(write_lock,
                           mcds__mutex_lock_until(env, &write_lock->mutex, until_ns));
    if (code == ETIMEDOUT)
        *holder_out = write_lock->holder;
    return code;
}

void mcds__lmdb_write_lock_end_visit(struct mcds__lmdb_file *file)
{
    (void)pthread_mutex_unlock(&file->write_lock->mutex);
    mcds__lmdb_publications_pass(file);
}
