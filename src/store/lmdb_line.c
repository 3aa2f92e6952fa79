/* The line of writers in front of LMDB's own lock. LMDB waits for a writer of another process
 * without end, even for one that has been stopped in the middle of a commit; here waiting has a
 * deadline. It is a mutex in a page of PATH-writer, shared by the processes that have the file
 * open and robust against their deaths; the board comes after it. A process that cannot use the
 * line does not write: others would wait for it without a deadline.
 *
 * Each process holds a read lock on PATH-writer (of the open file, so that it ends with the process
 * alone). One that gets the write lock instead is alone, and clears the page before it shares.
 * Others cannot take a lock that keeps a process out without the right to write the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "store/lmdb_board.h"
#include "store/lmdb_guard.h"

#define LINE_BYTES 4096
#define CACHE_LINE 64
#define BALLAST_BYTES                                                                          \
    ((off_t)256 * 1024) /* kept on the disk for what frees space on a full one */
#define BALLAST_STEP 4096
#define JOIN_TRIES_MAX 10000 /* the process that begins the page may be stopped or slow */
#define JOIN_PAUSE_NS NS_PER_MS
/* A process that ends gives up its lock on PATH a moment before that on PATH-writer, or after. */
#define HELD_TRIES_MAX 100
/* Programs built for another kind of mutex must not touch this one. */
#define LINE_MARK UINT64_C(0x6d636473)
#define LINE_VERSION UINT64_C(5)
#define LINE_MAGIC                                                                             \
    (LINE_MARK << 32 | LINE_VERSION << 24 | sizeof(pthread_mutex_t) << 8 | sizeof(void *))

#define FILES_COUNT 4

struct mcds__lmdb_line {
    _Atomic uint64_t magic;
    _Atomic uint64_t namespace;  /* of the processes that have it open; 0: not known */
    _Atomic int64_t holder;      /* process that writes, or 0 */
    uint64_t files[FILES_COUNT]; /* devices and inodes of PATH and PATH-lock */
    pthread_mutex_t mutex;
    uint8_t apart[CACHE_LINE];
    /* Two for each commit in which items are removed or replaced; odd while one is under way, and
     * after its process has died in it until the next one ends. */
    _Atomic uint64_t losses;
};

static struct mcds__lmdb_board *board_behind(struct mcds__lmdb_line *line)
{
    return (struct mcds__lmdb_board *)(void *)((uint8_t *)line + LINE_BYTES);
}

static size_t shared_bytes(void)
{
    return LINE_BYTES + mcds__lmdb_board_bytes();
}

static void list_files(const struct mcds__lmdb_file *file, uint64_t files[FILES_COUNT])
{
    files[0] = file->device;
    files[1] = file->inode;
    files[2] = file->lock_device;
    files[3] = file->lock_inode;
}

/* Clear it: no other process has it open. */
static bool begin_line(const struct mcds__lmdb_file *file, struct mcds__lmdb_line *line)
{
    line->magic = 0;
    memset(line, 0, sizeof *line);
    list_files(file, line->files);
    bool made = mcds__mutex_init_shared(&line->mutex) &&
                mcds__lmdb_board_begin(board_behind(line));
    line->namespace = mcds__lmdb_process_namespace();
    if (made)
        line->magic = LINE_MAGIC;
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

/* This process alone has PATH-writer. False: another has PATH. */
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
    return mcds_fail(
        MCDS_IO,
        "lmdb: %s is open in a program that has other files beside it: it was "
        "renamed, or %s-writer was removed; end all programs that use it, then open "
        "it again",
        path, path);
}

/* *trouble is NULL: joined; otherwise the reason why not. A page without its mark belongs to a
 * process that died while it began the page: the next process that is alone begins it again. */
static int join_line(struct mcds__lmdb_file *file, const mcds_env *env,
                     struct mcds__lmdb_line *line, int descriptor, const mcds_reason **trouble)
{
    int held = 0;
    *trouble = NULL;
    for (int i = 0; i < JOIN_TRIES_MAX; i++) {
        bool alone = lock_page(descriptor, true);
        if (alone && !hold_alone(file, descriptor)) {
            if (++held == HELD_TRIES_MAX)
                return fail_elsewhere(file->path);
        } else if (alone && !begin_line(file, line)) {
            *trouble = MCDS__WHY(NO_ROBUST_MUTEX);
            return MCDS_OK;
        } else if (lock_page(descriptor, false)) {
            uint64_t magic = line->magic;
            if (magic != 0 && magic != LINE_MAGIC)
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

/* A page of a map that the disk has no room for would kill the process. 0 or an errno. */
static int make_room(int descriptor)
{
#ifdef __linux__
    if (fallocate(descriptor, 0, 0, (off_t)shared_bytes()) == 0)
        return 0;
    if (errno != EOPNOTSUPP)
        return errno;
#endif
    return ftruncate(descriptor, (off_t)shared_bytes()) == 0 ? 0 : errno;
}

/* What was made and not begun is zero. */
static enum mcds__guard_content judge_line(const uint8_t *head, uint64_t size)
{
    uint64_t magic;
    memcpy(&magic, head, sizeof magic);
    bool whole = size == shared_bytes() || size == shared_bytes() + (uint64_t)BALLAST_BYTES;
    bool ours = magic >> 32 == LINE_MARK || (magic == 0 && whole);
    return ours ? MCDS__GUARD_OURS : MCDS__GUARD_FOREIGN;
}

/* What was lent may have gone into the file: as much is held as there is. */
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
    if (file->line == NULL)
        return;
    off_t at = (off_t)shared_bytes();
    if (hold)
        hold_ballast(file->line_descriptor, at);
    else
        (void)!ftruncate(file->line_descriptor, at);
}

/* *trouble is NULL: the file has its line; else why not. */
static int map_line(struct mcds__lmdb_file *file, const mcds_env *env, int descriptor,
                    const mcds_reason **trouble)
{
    int code = make_room(descriptor);
    *trouble = code == EFBIG ? MCDS__WHY(WRITER_LIMIT) : MCDS__WHY(WRITER_NO_ROOM);
    if (code != 0)
        return MCDS_OK;
    void *page = mmap(NULL, shared_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    *trouble = MCDS__WHY(WRITER_NO_MEMORY);
    if (page == MAP_FAILED)
        return MCDS_OK;
    int result = join_line(file, env, page, descriptor, trouble);
    if (result != MCDS_OK || *trouble != NULL) {
        (void)munmap(page, shared_bytes());
        return result;
    }
    file->line = page;
    file->board = board_behind(file->line);
    file->line_descriptor = descriptor;
    mcds__lmdb_ballast(file, true);
    return MCDS_OK;
}

/* The others have opened the same three files. */
static int check_files(struct mcds__lmdb_file *file)
{
    uint64_t files[FILES_COUNT];
    list_files(file, files);
    if (memcmp(files, file->line->files, sizeof files) == 0 && mcds__lmdb_hold(file))
        return MCDS_OK;
    mcds__lmdb_line_close(file);
    return mcds__lmdb_fail_replaced(file->path);
}

/* LMDB knows processes by their numbers, which mean nothing in another namespace. */
static int check_namespace(struct mcds__lmdb_file *file)
{
    uint64_t theirs = file->line->namespace;
    uint64_t ours = mcds__lmdb_process_namespace();
    if (theirs == ours)
        return MCDS_OK;
    mcds__lmdb_line_close(file);
    if (theirs == 0 || ours == 0)
        return mcds__fail_at(
            MCDS_IO, NO_PROC, file->path,
            "lmdb: %s is open in another process, and whether both are in one "
            "container (pid namespace) cannot be seen, since /proc is not mounted "
            "%s; mount it",
            file->path, ours == 0 ? "here" : "there");
    return mcds__fail_at(
        MCDS_IO, OTHER_CONTAINER, file->path,
        "lmdb: %s is open in another container (pid namespace %llu, here %llu), and "
        "their processes cannot share a file; let them share one (--pid), or use "
        "memcached://",
        file->path, (unsigned long long)theirs, (unsigned long long)ours);
}

int mcds__lmdb_line_open(struct mcds__lmdb_file *file, const mcds_env *env,
                         const struct stat *data)
{
    int descriptor;
    int result = mcds__lmdb_guard_beside(file, "-writer", data, judge_line, &descriptor);
    if (result != MCDS_OK)
        return result;
    const mcds_reason *trouble = MCDS__WHY(WRITER_READ_ONLY);
    if (descriptor >= 0)
        result = map_line(file, env, descriptor, &trouble);
    if (result == MCDS_OK && trouble == NULL) {
        result = check_namespace(file);
        return result == MCDS_OK ? check_files(file) : result;
    }
    if (descriptor >= 0)
        (void)close(descriptor);
    file->read_only = true;
    file->no_write = trouble;
    return result;
}

void mcds__lmdb_line_close(struct mcds__lmdb_file *file)
{
    if (file->line == NULL)
        return;
    mcds__lmdb_unhold(file);
    (void)munmap(file->line, shared_bytes());
    (void)close(file->line_descriptor);
    file->line = NULL;
    file->board = NULL;
}

/* The mutex has been locked, or not. */
static int take_over(struct mcds__lmdb_file *file, int code)
{
    if (code == EOWNERDEAD) {
        code = pthread_mutex_consistent(&file->line->mutex);
        if (code == 0)
            mcds__lmdb_take_over(file);
    }
    return code;
}

int mcds__lmdb_line_enter(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns)
{
    struct mcds__lmdb_line *line = file->line;
    if (line == NULL || file->in_line)
        return 0;
    int code = take_over(file, mcds__mutex_lock_until(env, &line->mutex, until_ns));
    if (code == ETIMEDOUT)
        return code;
    file->in_line = code == 0;
    if (file->in_line)
        line->holder = getpid();
    return 0;
}

bool mcds__lmdb_line_try(struct mcds__lmdb_file *file)
{
    struct mcds__lmdb_line *line = file->line;
    if (line == NULL || take_over(file, pthread_mutex_trylock(&line->mutex)) != 0)
        return false;
    file->in_line = true;
    line->holder = getpid();
    return true;
}

void mcds__lmdb_line_leave(struct mcds__lmdb_file *file)
{
    if (!file->in_line)
        return;
    file->in_line = false;
    file->line->holder = 0;
    (void)pthread_mutex_unlock(&file->line->mutex);
    mcds__lmdb_board_pass(file);
}

void mcds__lmdb_begin_losses(struct mcds__lmdb_file *file)
{
    if (file->line != NULL)
        atomic_fetch_or(&file->line->losses, 1);
}

void mcds__lmdb_end_losses(struct mcds__lmdb_file *file)
{
    if (file->line != NULL)
        atomic_store(&file->line->losses, (atomic_load(&file->line->losses) | 1) + 1);
}

bool mcds__lmdb_remains(const struct mcds__lmdb_file *file, uint64_t *mark)
{
    uint64_t losses = file->line != NULL ? atomic_load(&file->line->losses) : 1;
    if ((losses & 1) != 0)
        return false;
    bool is_same = *mark == losses + 1;
    *mark = losses + 1;
    return is_same;
}

int64_t mcds__lmdb_line_stuck(struct mcds__lmdb_file *file, const mcds_env *env,
                              int64_t until_ns)
{
    struct mcds__lmdb_line *line = file->line;
    if (line == NULL)
        return 0;
    int code = take_over(file, mcds__mutex_lock_until(env, &line->mutex, until_ns));
    if (code == ETIMEDOUT)
        return line->holder;
    if (code != 0)
        return 0;
    (void)pthread_mutex_unlock(&line->mutex);
    mcds__lmdb_board_pass(file);
    return 0;
}
