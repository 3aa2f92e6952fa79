/* The line of writers in front of LMDB's own lock. LMDB waits for a writer of another process
 * without end, even for one that has been stopped in the middle of a commit; here waiting has a
 * deadline. It is a mutex in a page of PATH-writer, shared by the processes that have the file
 * open and robust against their deaths. LMDB's lock goes on to protect the data, so a file
 * without a line is as safe, only not as patient with deadlines. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/environment.h"
#include "store/lmdb_file.h"

#define LINE_BYTES 4096
#define JOIN_TRIES_MAX 100
#define JOIN_PAUSE_NS NS_PER_MS
/* Programs built for another kind of mutex must not touch this one. */
#define LINE_MAGIC                                                                             \
    (UINT64_C(0x6d63647301000000) | sizeof(pthread_mutex_t) << 8 | sizeof(void *))

struct mcds__lmdb_line {
    _Atomic uint64_t magic;
    _Atomic int64_t holder; /* process that writes, or 0 */
    pthread_mutex_t mutex;
};

/* Begin anew: no other process has it open. */
static bool begin_line(struct mcds__lmdb_line *line)
{
    pthread_mutexattr_t attributes;
    memset(line, 0, sizeof *line);
    if (pthread_mutexattr_init(&attributes) != 0)
        return false;
    bool made = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
                pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
                pthread_mutex_init(&line->mutex, &attributes) == 0;
    (void)pthread_mutexattr_destroy(&attributes);
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
    return fallocate(descriptor, 0, 0, LINE_BYTES) == 0 ||
           (errno == EOPNOTSUPP && ftruncate(descriptor, LINE_BYTES) == 0);
#else
    return ftruncate(descriptor, LINE_BYTES) == 0;
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
        page = mmap(NULL, LINE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (page != MAP_FAILED && join_line(env, page, descriptor)) {
        file->line = page;
        file->line_descriptor = descriptor;
        return;
    }
    if (page != MAP_FAILED)
        (void)munmap(page, LINE_BYTES);
    (void)close(descriptor);
}

void mcds__lmdb_line_close(struct mcds__lmdb_file *file)
{
    if (file->line == NULL)
        return;
    (void)munmap(file->line, LINE_BYTES);
    (void)close(file->line_descriptor);
    file->line = NULL;
}

int mcds__lmdb_line_enter(struct mcds__lmdb_file *file, const mcds_env *env, int64_t until_ns)
{
    struct mcds__lmdb_line *line = file->line;
    if (line == NULL)
        return 0;
    int code = mcds__mutex_lock_until(env, &line->mutex, until_ns);
    if (code == ETIMEDOUT)
        return code;
    if (code == EOWNERDEAD)
        code = pthread_mutex_consistent(&line->mutex);
    file->in_line = code == 0;
    if (file->in_line)
        line->holder = getpid();
    return 0;
}

void mcds__lmdb_line_leave(struct mcds__lmdb_file *file)
{
    if (!file->in_line)
        return;
    file->in_line = false;
    file->line->holder = 0;
    (void)pthread_mutex_unlock(&file->line->mutex);
}

int64_t mcds__lmdb_line_stuck(struct mcds__lmdb_file *file, const mcds_env *env,
                              int64_t until_ns)
{
    struct mcds__lmdb_line *line = file->line;
    if (line == NULL)
        return 0;
    int code = mcds__mutex_lock_until(env, &line->mutex, until_ns);
    if (code == ETIMEDOUT)
        return line->holder;
    if (code == EOWNERDEAD)
        code = pthread_mutex_consistent(&line->mutex);
    if (code == 0)
        (void)pthread_mutex_unlock(&line->mutex);
    return 0;
}
