/* Opens the files of one store without overwriting anything else. */
#include "store/lmdb/guard.h"

#include "base/error.h"
#include "store/lmdb/check/pages.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE_PRIVATE 0600
#define META_MAGIC UINT32_C(0xBEEFC0DE)
#define META_VERSION 1
/* Offsets in LMDB's first page, whose header has a page number, 4 bytes, and the free space. */
#define META_AT (sizeof(size_t) + 8)

/* Returns the descriptor, or -1 with errno set. Sets *made. */
static int open_or_make(const char *path, bool may_make, bool *made)
{
    int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int descriptor = may_make ? open(path, flags | O_CREAT | O_EXCL, MODE_PRIVATE) : -1;
    *made = descriptor >= 0;
    assert(may_make || !*made);
    if (*made || (may_make && errno != EEXIST))
        return descriptor;
    return open(path, flags);
}

/* Refuse a file that is not regular before opening it: to open a device or a pipe has effects. */
static int check_kind(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0 || S_ISREG(status.st_mode))
        return MCDS_OK;
    if (S_ISLNK(status.st_mode) && access(path, F_OK) != 0 && errno == ENOENT)
        return mcds__fail_at(
            MCDS_IO, WRONG_FILE, path,
            "it is a symbolic link to a file that does not exist; remove it, or "
            "give the path of that file");
    if (S_ISLNK(status.st_mode))
        return mcds__fail_at(MCDS_IO, WRONG_FILE, path,
                             "it is a symbolic link, which is not followed here; remove it, or "
                             "give the path of the file that it names");
    return mcds__fail_at(MCDS_IO, WRONG_FILE, path,
                         "it is not a regular file; move it away, or give another path");
}

static int check_names(const char *path, const struct stat *status)
{
    if (status->st_nlink <= 1)
        return MCDS_OK;
    return mcds__fail_at(
        MCDS_IO, WRONG_FILE, path,
        "it has %llu names (hard links), and programs that use different ones do not see each "
        "other's locks; remove the others, and copy the file with mcds backup",
        (unsigned long long)status->st_nlink);
}

/* Whether users other than the owner may create files in the directory of `path`. */
static bool is_in_public(const char *path)
{
    char directory[PATH_MAX];
    struct stat status;
    mcds__lmdb_directory(path, directory);
    return stat(directory, &status) == 0 && (status.st_mode & S_IWOTH) != 0;
}

/* The owner of the file could have created it there with harmful content. */
static int check_data_owner(const char *path, const struct stat *status)
{
    if (status->st_uid == geteuid() || status->st_uid == 0 || !is_in_public(path))
        return MCDS_OK;
    return mcds__fail_at(MCDS_IO, WRONG_FILE, path,
                         "it belongs to user %lu and is in a directory where every user may "
                         "make files; give a path in a directory of your own",
                         (unsigned long)status->st_uid);
}

static uint32_t number_at(const uint8_t *head, size_t at)
{
    uint32_t number;
    memcpy(&number, head + at, sizeof number);
    return number;
}

static enum mcds__guard_content judge_data(const uint8_t *head)
{
    if (number_at(head, META_AT) != META_MAGIC)
        return MCDS__GUARD_FOREIGN;
    return number_at(head, META_AT + 4) == META_VERSION ? MCDS__GUARD_OURS
                                                        : MCDS__GUARD_OTHER_VERSION;
}

static void read_head(int descriptor, uint8_t head[MCDS__GUARD_HEAD])
{
    memset(head, 0, MCDS__GUARD_HEAD);
    (void)!pread(descriptor, head, MCDS__GUARD_HEAD, 0);
}

static int check_data(const char *path, int descriptor, struct stat *status)
{
    uint8_t head[MCDS__GUARD_HEAD];
    if (fstat(descriptor, status) != 0)
        return mcds__lmdb_fail_open(path, errno);
    if (!S_ISREG(status->st_mode) || status->st_nlink == 0)
        return mcds__lmdb_fail_replaced(path);
    int result = check_names(path, status);
    if (result == MCDS_OK)
        result = check_data_owner(path, status);
    if (result != MCDS_OK || status->st_size == 0)
        return result;
    read_head(descriptor, head);
    enum mcds__guard_content content = judge_data(head);
    struct mcds__lmdb_meta meta;
    if (content == MCDS__GUARD_OURS ||
        mcds__lmdb_read_header(descriptor, &meta) == MCDS__LMDB_HEADER_DAMAGED)
        return MCDS_OK; /* mcds__lmdb_check_open refuses the damage */
    return mcds__lmdb_fail_open(path, content == MCDS__GUARD_FOREIGN ? MDB_INVALID
                                                                     : MDB_VERSION_MISMATCH);
}

int mcds__lmdb_guard_data(struct mcds__lmdb_file *file, uint32_t mode, struct stat *status_out)
{
    int result = check_kind(file->path);
    if (result != MCDS_OK)
        return result;
    int descriptor = open_or_make(file->path, mode != 0, &file->made);
    file->read_only = descriptor < 0 && (errno == EACCES || errno == EPERM || errno == EROFS);
    if (file->read_only) {
        int refused = errno;
        file->no_write = refused == EROFS ? MCDS__WHY(READ_ONLY_DISK)
                                          : MCDS__WHY(READ_ONLY_USER);
        descriptor = open(file->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        errno = refused;
    }
    if (descriptor < 0 && mode == 0 && errno == ENOENT)
        return mcds__lmdb_fail_absent(file->path);
    if (descriptor < 0)
        return mcds__lmdb_fail_open(file->path, errno);
    /* Exactly the requested `mode`, whatever the umask is. */
    if (file->made)
        (void)fchmod(descriptor, (mode_t)mode);
    result = check_data(file->path, descriptor, status_out);
    assert(file->held < 0);
    file->held = descriptor;
    file->device = status_out->st_dev;
    file->inode = status_out->st_ino;
    return result;
}

void mcds__lmdb_guard_undo(const struct mcds__lmdb_file *file)
{
    struct stat status;
    if (stat(file->path, &status) == 0 && status.st_dev == file->device &&
        status.st_ino == file->inode && status.st_size == 0)
        (void)unlink(file->path);
}

/* Read and write permission for each class of users that has both on PATH. */
static mode_t mode_beside(const struct stat *data)
{
    mode_t mode = 0;
    for (unsigned shift = 0; shift <= 6; shift += 3)
        if ((data->st_mode >> shift & 6) == 6)
            mode |= (mode_t)6 << shift;
    assert((mode & ~(mode_t)0666) == 0);
    return mode | MODE_PRIVATE;
}

static int check_beside(const char *path, int descriptor, const struct stat *data,
                        enum mcds__guard_content (*judge)(const uint8_t *head, uint64_t size))
{
    struct stat status;
    uint8_t head[MCDS__GUARD_HEAD];
    if (fstat(descriptor, &status) != 0)
        return mcds__lmdb_fail_open(path, errno);
    if (!S_ISREG(status.st_mode) || status.st_nlink == 0)
        return mcds__lmdb_fail_replaced(path);
    int result = check_names(path, &status);
    if (result != MCDS_OK)
        return result;
    if (status.st_uid != geteuid() && status.st_uid != data->st_uid && status.st_uid != 0)
        return mcds__fail_at(MCDS_IO, WRONG_FILE, path,
                             "it belongs to user %lu, who is neither this user nor the owner "
                             "of the store; remove it while no program has the store open",
                             (unsigned long)status.st_uid);
    read_head(descriptor, head);
    if (status.st_size == 0 || judge(head, (uint64_t)status.st_size) == MCDS__GUARD_OURS)
        return MCDS_OK;
    return mcds__fail_at(MCDS_IO, WRONG_FILE, path,
                         "it is not a file of mcds, and the store needs this name; move it "
                         "away, or give another path for the store");
}

int mcds__lmdb_guard_beside(
    const struct mcds__lmdb_file *file, const char *suffix, const struct stat *data,
    enum mcds__guard_content (*judge)(const uint8_t *head, uint64_t size), int *descriptor_out)
{
    char path[PATH_MAX + 16];
    bool made;
    size_t length = strlen(file->path);
    assert(length + strlen(suffix) < sizeof path);
    memcpy(path, file->path, length);
    memcpy(path + length, suffix, strlen(suffix) + 1);
    *descriptor_out = -1;
    int result = check_kind(path);
    if (result != MCDS_OK)
        return result;
    int descriptor = open_or_make(path, true, &made);
    if (descriptor < 0 && (errno == EMFILE || errno == ENFILE))
        return mcds__lmdb_fail_open(file->path, errno);
    if (descriptor < 0)
        return errno == ELOOP ? check_kind(path) : MCDS_OK;
    if (made) {
        if (geteuid() == 0)
            (void)!fchown(descriptor, data->st_uid, data->st_gid);
        else
            (void)!fchown(descriptor, (uid_t)-1, data->st_gid);
        (void)fchmod(descriptor, mode_beside(data));
    } else {
        result = check_beside(path, descriptor, data, judge);
    }
    if (result != MCDS_OK) {
        (void)close(descriptor);
        return result;
    }
    assert(descriptor >= 0);
    *descriptor_out = descriptor;
    return MCDS_OK;
}
