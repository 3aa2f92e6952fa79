/* The registry of the files that this process has open. LMDB must not open a file twice in one
 * process, nor be used after a fork through a file that the parent opened. */
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

/* Guarded by the registry's lock. A file that a fork has made unusable stays, and is never freed. */
static struct mcds__lmdb_file *files;

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

static struct mcds__lmdb_file *find_file(const struct stat *status)
{
    struct mcds__lmdb_file *file = files;
    while (file != NULL && (file->forks != mcds__forks() || file->device != status->st_dev ||
                            file->inode != status->st_ino))
        file = file->next;
    return file;
}

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
    file->next = files;
    files = file;
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

/* The registry's mutex is held. */
static int open_registered(const mcds_env *env, const char *path,
                           const struct mcds__lmdb_terms *terms,
                           struct mcds__lmdb_file **file_out)
{
    struct stat status;
    char name[PATH_MAX];
    if (is_strange_link(path, &status))
        return mcds__fail_at(MCDS_IO, WRONG_FILE, path,
                             "it is a symbolic link that user %lu has made; give the path of "
                             "the file that it names",
                             (unsigned long)status.st_uid);
    bool there = stat(path, &status) == 0;
    if (there && !S_ISREG(status.st_mode))
        return mcds__fail_at(MCDS_IO, WRONG_FILE, path, "it is not a regular file; give %s",
                             S_ISDIR(status.st_mode) ? "a file in it, such as mcds.lmdb"
                                                     : "another path");
    *file_out = there ? find_file(&status) : NULL;
    if (*file_out != NULL)
        return MCDS_OK;
    if (!canonical(path, name))
        return mcds__fail_at(MCDS_INVALID, TOO_LONG, NULL, "the path has more than %d bytes",
                             PATH_MAX - 1);
    return open_new(env, name, terms, file_out);
}

int mcds__lmdb_file_open(const mcds_env *env, const char *path,
                         const struct mcds__lmdb_terms *terms,
                         struct mcds__lmdb_file **file_out)
{
    struct mcds__lmdb_file *file;
    mcds__registry_lock();
    uint64_t map_max = mcds__lmdb_rounded(terms->map_max);
    int result = open_registered(env, path, terms, &file);
    if (result == MCDS_OK) {
        assert(file != NULL);
        file->references++;
        assert(file->forks == mcds__forks());
        (void)pthread_mutex_lock(&file->map_mutex);
        if (map_max > file->map_max)
            file->map_max = map_max;
        (void)pthread_mutex_unlock(&file->map_mutex);
        (void)pthread_mutex_lock(&file->queue_mutex);
        file->full_handles += terms->full;
        (void)pthread_mutex_unlock(&file->queue_mutex);
        *file_out = file;
    }
    mcds__registry_unlock();
    return result;
}

void mcds__lmdb_file_close(struct mcds__lmdb_file *file, bool full)
{
    mcds__registry_lock();
    (void)pthread_mutex_lock(&file->queue_mutex);
    assert(file->references > 0 && file->full_handles >= full);
    file->full_handles -= full;
    (void)pthread_mutex_unlock(&file->queue_mutex);
    if (--file->references == 0) {
        struct mcds__lmdb_file **link = &files;
        while (*link != file)
            link = &(*link)->next;
        *link = file->next;
        if (!file->read_only && !file->synced)
            (void)mdb_env_sync(file->env, 1);
        free_file(file);
    }
    mcds__registry_unlock();
}
