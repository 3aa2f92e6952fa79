/* The line of writers in front of LMDB's own lock. LMDB waits for a writer of another process
 * without end, even for one that has been stopped in the middle of a commit; here waiting has a
 * deadline. It is a mutex in a page of PATH-writer, shared by the processes that have the file
 * open and robust against their deaths; the board lies behind it. LMDB's lock goes on to protect
 * the data, so a file without a line is as safe, only slower and not as patient with deadlines.
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
#include "store/lmdb_board.h"

#define LINE_BYTES 4096
#define JOIN_TRIES_MAX 100
#define JOIN_PAUSE_NS NS_PER_MS
/* Programs built for another kind of mutex must not touch this one. */
#define LINE_MAGIC                                                                             \
    (UINT64_C(0x6d63647302000000) | sizeof(pthread_mutex_t) << 8 | sizeof(void *))

struct mcds__lmdb_line {
    _Atomic uint64_t magic;
    _Atomic int64_t holder; /* process that writes, or 0 */
    pthread_mutex_t mutex;
};

static struct mcds__lmdb_board *board_behind(struct mcds__lmdb_line *line)
{
    return (struct mcds__lmdb_board *)(void *)((uint8_t *)line + LINE_BYTES);
}

static size_t shared_bytes(void)
{
    return LINE_BYTES + mcds__lmdb_board_bytes();
}

/* Begin anew: no other process has it open. */
static bool begin_line(struct mcds__lmdb_line *line)
{
    memset(line, 0, sizeof *line);
    bool made = mcds__mutex_init_shared(&line->mutex) &&
                mcds__lmdb_board_begin(board_behind(line));
    if (made)
        line->magic = LINE_MAGIC;
    return made;
}

/* Whoever finds nobody else there begins the line; all then stay on with a shared lock, and the
 * mutex is used by none that does not hold it. */
static bool join_line(const mcds_env *env, struct mcds__lmdb_line *line, int descriptor)
{
    bool alone = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (alone && !begin_line(line))
        return false;
    for (int i = 0; i < JOIN_TRIES_MAX; i++) {
        if (flock(descriptor, LOCK_SH | LOCK_NB) == 0)
            return line->magic == LINE_MAGIC;
        mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + JOIN_PAUSE_NS);
    }
    return false;
}

/* A page of a map that the disk has no room for would kill the process. */
static bool has_room(int descriptor)
{
#ifdef __linux__
    return fallocate(descriptor, 0, 0, (off_t)shared_bytes()) == 0 ||
           (errno == EOPNOTSUPP && ftruncate(descriptor, (off_t)shared_bytes()) == 0);
#else
    return ftruncate(descriptor, (off_t)shared_bytes()) == 0;
#endif
}

void mcds__lmdb_line_open(struct mcds__lmdb_file *file, const mcds_env *env)
{
    char path[PATH_MAX + sizeof "-writer"];
    size_t length = strlen(file->path);
    memcpy(path, file->path, length);
    memcpy(path + length, "-writer", sizeof "-writer");
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return;
    void *page = MAP_FAILED;
    if (has_room(descriptor))
        page = mmap(NULL, shared_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (page != MAP_FAILED && join_line(env, page, descriptor)) {
        file->line = page;
        file->board = board_behind(file->line);
        file->line_descriptor = descriptor;
        return;
    }
    if (page != MAP_FAILED)
        (void)munmap(page, shared_bytes());
    (void)close(descriptor);
}

void mcds__lmdb_line_close(struct mcds__lmdb_file *file)
{
    if (file->line == NULL)
        return;
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
