/* The registry of the files that this process has open. LMDB must not open a file twice in one
 * process, nor be used after a fork through a file that the parent opened.
 *
 * Opening a file may wait for seconds for another process, and closing it waits for the disk. The
 * registry's mutex is not held meanwhile: memory: stores need it, and so does a fork.
 *
 *     opening    held while a thread opens a file that is not in the registry
 *     closing    held while a thread takes a file out of the registry and closes it. A thread that
 *                has not found a file in the registry takes it once, and then LMDB has closed the file
 *
 * A fork takes neither. A file that a thread of the parent was opening is not in the registry of the
 * child, and the child opens it as another process would. */
#include "store/lmdb/file.h"

#include <assert.h>
#include <limits.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"

/* Guarded by the registry's mutex. A file that a fork has made unusable stays, and is never freed. */
static struct mcds__lmdb_file *files;

static struct {
    uint64_t
        forks; /* mcds__forks() of the process that uses the mutexes; the registry's guards it */
    pthread_mutex_t opening;
    pthread_mutex_t closing;
} turns = {0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

/* Waits. A thread of the parent may have held the mutexes at the fork; nobody in the child unlocks
 * them, so the child begins with new ones. */
static void take_turn(pthread_mutex_t *mutex)
{
    mcds__registry_lock();
    if (turns.forks != mcds__forks()) {
        (void)pthread_mutex_init(&turns.opening, NULL);
        (void)pthread_mutex_init(&turns.closing, NULL);
        turns.forks = mcds__forks();
    }
    mcds__registry_unlock();
    (void)pthread_mutex_lock(mutex);
}

static void end_turn(pthread_mutex_t *mutex)
{
    (void)pthread_mutex_unlock(mutex);
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

/* A file may outlive the store that opened it, so its memory comes from the system. */
static struct mcds__lmdb_file *make_file(const char *path)
{
    struct mcds__lmdb_file *file = mcds__allocate_zero(mcds_env_system(), sizeof *file);
    if (file == NULL)
        return NULL;
    file->path = mcds__copy_string(mcds_env_system(), path);
    if (file->path != NULL && init_locks(file)) {
        file->end = &file->first;
        file->synced = true;
        file->snapshot = -1;
        file->held = -1;
        file->clock.shared = mcds_env_system();
        file->forks = mcds__watch_forks();
        return file;
    }
    mcds__free(mcds_env_system(), file->path);
    mcds__free(mcds_env_system(), file);
    return NULL;
}

static void free_file(struct mcds__lmdb_file *file)
{
    assert(!file->writing && file->first == NULL);
    for (size_t i = 0; i < MCDS__LMDB_READERS_HERE; i++) {
        assert(!file->readers[i].busy);
        mdb_txn_abort(file->readers[i].txn);
    }
    mcds__lmdb_write_lock_close(file);
    if (file->env != NULL)
        mdb_env_close(file->env);
    if (file->snapshot >= 0)
        (void)close(file->snapshot);
    if (file->held >= 0)
        (void)close(file->held);
    (void)pthread_cond_destroy(&file->map_calm);
    (void)pthread_mutex_destroy(&file->queue_mutex);
    (void)pthread_mutex_destroy(&file->map_mutex);
    mcds__free(mcds_env_system(), file->path);
    mcds__free(mcds_env_system(), file);
}

/* A reference to the file, or NULL: this process does not have it open. */
static struct mcds__lmdb_file *join_file(const struct stat *status)
{
    mcds__registry_lock();
    struct mcds__lmdb_file *file = files;
    while (file != NULL && (file->forks != mcds__forks() || file->device != status->st_dev ||
                            file->inode != status->st_ino))
        file = file->next;
    if (file != NULL)
        file->references++;
    mcds__registry_unlock();
    return file;
}

/* The caller has its turn to open. */
static int open_new(const mcds_env *env, const char *path, const struct mcds__lmdb_terms *terms,
                    struct mcds__lmdb_file **file_out)
{
    struct mcds__lmdb_file *file = make_file(path);
    if (file == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    file->map_max = mcds__lmdb_rounded(terms->map_max);
    int result = mcds__lmdb_open(file, env, terms->mode);
    if (result != MCDS_OK) {
        free_file(file);
        return result;
    }
    file->references = 1;
    mcds__registry_lock();
    file->next = files;
    files = file;
    mcds__registry_unlock();
    *file_out = file;
    return MCDS_OK;
}

/* The canonical name of a file, whether it exists or not: absolute, without symbolic links.
 * False: it is too long. If the directory does not exist, opening the file fails later. */
static bool canonical(const char *path, char out[PATH_MAX])
{
    char directory[PATH_MAX + 1];
    size_t length = strlen(path);
    if (length >= PATH_MAX)
        return false;
    if (realpath(path, out) != NULL)
        return true;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    assert((size_t)(name - path) <= length);
    memcpy(directory, path, (size_t)(name - path));
    memcpy(directory + (name - path), ".", 2);
    if (realpath(directory, out) == NULL) {
        memcpy(out, path, length + 1);
        return true;
    }
    size_t at = strcmp(out, "/") == 0 ? 0 : strlen(out);
    if (at + 1 + strlen(name) >= PATH_MAX)
        return false;
    out[at] = '/';
    memcpy(out + at + 1, name, strlen(name) + 1);
    return true;
}

/* A symbolic link of another user: that user decides where it leads. */
static bool is_strange_link(const char *path, struct stat *status)
{
    return lstat(path, status) == 0 && S_ISLNK(status->st_mode) && status->st_uid != 0 &&
           status->st_uid != geteuid();
}

/* Take a reference to a file that this process has open; *file_out is NULL: it has not. */
static int join_open(const char *path, struct mcds__lmdb_file **file_out)
{
    struct stat status;
    *file_out = NULL;
    if (is_strange_link(path, &status))
        return mcds__fail_at(MCDS_IO, WRONG_FILE, path,
                             "it is a symbolic link that user %lu has made; give the path of "
                             "the file that it names",
                             (unsigned long)status.st_uid);
    if (stat(path, &status) != 0)
        return MCDS_OK;
    if (!S_ISREG(status.st_mode))
        return mcds__fail_at(MCDS_IO, WRONG_FILE, path, "it is not a regular file; give %s",
                             S_ISDIR(status.st_mode) ? "a file in it, such as mcds.lmdb"
                                                     : "another path");
    *file_out = join_file(&status);
    return MCDS_OK;
}

/* The caller has its turn to open. */
static int open_or_join(const mcds_env *env, const char *path,
                        const struct mcds__lmdb_terms *terms, struct mcds__lmdb_file **file_out)
{
    char name[PATH_MAX];
    int result = join_open(path, file_out);
    if (result != MCDS_OK || *file_out != NULL)
        return result;
    if (!canonical(path, name))
        return mcds__fail_at(MCDS_INVALID, TOO_LONG, NULL, "the path has more than %d bytes",
                             PATH_MAX - 1);
    take_turn(&turns.closing);
    end_turn(&turns.closing);
    return open_new(env, name, terms, file_out);
}

static void add_terms(struct mcds__lmdb_file *file, const struct mcds__lmdb_terms *terms)
{
    uint64_t map_max = mcds__lmdb_rounded(terms->map_max);
    assert(file->forks == mcds__forks());
    (void)pthread_mutex_lock(&file->map_mutex);
    if (map_max > file->map_max)
        file->map_max = map_max;
    (void)pthread_mutex_unlock(&file->map_mutex);
    (void)pthread_mutex_lock(&file->queue_mutex);
    file->full_handles += terms->full;
    (void)pthread_mutex_unlock(&file->queue_mutex);
}

int mcds__lmdb_file_open(const mcds_env *env, const char *path,
                         const struct mcds__lmdb_terms *terms,
                         struct mcds__lmdb_file **file_out)
{
    int result = join_open(path, file_out);
    if (result == MCDS_OK && *file_out == NULL) {
        take_turn(&turns.opening);
        result = open_or_join(env, path, terms, file_out);
        end_turn(&turns.opening);
    }
    if (result == MCDS_OK)
        add_terms(*file_out, terms);
    return result;
}

/* True: it was the last reference, and the file is no longer in the registry. */
static bool leave_file(struct mcds__lmdb_file *file)
{
    mcds__registry_lock();
    assert(file->references > 0 && file->forks == mcds__forks());
    bool is_last = --file->references == 0;
    struct mcds__lmdb_file **link = &files;
    while (is_last && *link != file)
        link = &(*link)->next;
    if (is_last)
        *link = file->next;
    mcds__registry_unlock();
    return is_last;
}

void mcds__lmdb_file_close(struct mcds__lmdb_file *file, bool full)
{
    (void)pthread_mutex_lock(&file->queue_mutex);
    assert(file->full_handles >= full);
    file->full_handles -= full;
    (void)pthread_mutex_unlock(&file->queue_mutex);
    take_turn(&turns.closing);
    if (leave_file(file)) {
        if (!file->read_only && !file->synced)
            (void)mdb_env_sync(file->env, 1);
        free_file(file);
    }
    end_turn(&turns.closing);
}
