/* Opening the files of one store without overwriting anything else. */
#include "store/lmdb_guard.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE_PRIVATE 0600
#define MODE_BITS 0777
#define META_MAGIC UINT32_C(0xBEEFC0DE)
#define META_VERSION 1
/* Of LMDB's first page: its header has a page number, 4 bytes, and the size of its free space. */
#define META_AT (sizeof(size_t) + 8)

/* Whether this user may do with `path` what a store needs; false with *status filled. */
static bool is_allowed(const char *path, struct stat *status)
{
    if (stat(path, status) != 0)
        return true;
    int needed = S_ISDIR(status->st_mode) ? W_OK | X_OK : R_OK | W_OK;
    return faccessat(AT_FDCWD, path, needed, AT_EACCESS) == 0;
}

/* Name the file that refuses this user, else the directory in which one must be made. */
static int fail_permission(const char *path)
{
    static const char *const endings[] = {"", "-lock", "-writer"};
    char name[PATH_MAX + 8];
    struct stat status;
    bool is_fine = true;
    for (size_t i = 0; is_fine && i < sizeof endings / sizeof endings[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, endings[i]);
        is_fine = is_allowed(name, &status);
    }
    if (is_fine) {
        const char *slash = strrchr(path, '/');
        (void)snprintf(name, sizeof name, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
                       slash != NULL ? path : ".");
        is_fine = is_allowed(name, &status);
    }
    if (is_fine)
        return mcds__fail_at(
            MCDS_IO, NO_PERMISSION, path,
            "lmdb: no permission for %s: this user must be able to write it and "
            "%s-lock, or to make them",
            path, path);
    return mcds__fail_at(
        MCDS_IO, NO_PERMISSION, name,
        "lmdb: no permission for %s: it belongs to user %lu and has mode %04o, and "
        "this is user %lu, who must be able to write it",
        name, (unsigned long)status.st_uid, (unsigned)(status.st_mode & 07777),
        (unsigned long)geteuid());
}

int mcds__lmdb_fail_open(const char *path, int code)
{
    switch (code) {
    case ENOENT:
        return mcds__fail_at(MCDS_IO, NO_DIRECTORY, path,
                             "lmdb: the directory of %s does not exist; make it first", path);
    case EACCES:
    case EPERM:
        return fail_permission(path);
    case EROFS:
        return mcds__fail_at(MCDS_IO, READ_ONLY, path,
                             "lmdb: %s does not exist and its disk is read-only", path);
    case MDB_INVALID:
        return mcds__fail_at(
            MCDS_IO, WRONG_FILE, path,
            "lmdb: %s is not an LMDB file; give another path, or move the file away", path);
    case MDB_VERSION_MISMATCH:
        return mcds__fail_at(
            MCDS_IO, OTHER_VERSION, path,
            "lmdb: %s was written by another version of LMDB; give another path, "
            "or use the mcds that wrote it",
            path);
    case ENOSPC:
    case EDQUOT:
        return mcds__fail_at(MCDS_IO, DISK_FULL, path,
                             "lmdb: no room on the disk for %s; make room", path);
    case EFBIG:
        return mcds__fail_at(
            MCDS_IO, FILE_LIMIT, path,
            "lmdb: %s would pass the limit for file sizes of this process (ulimit "
            "-f); raise it",
            path);
    case EMFILE:
    case ENFILE:
        return mcds__fail_at(
            MCDS_NO_MEMORY, FILE_LIMIT, path,
            "lmdb: %s cannot be opened: this %s has too many files open (ulimit "
            "-n); close some, or raise the limit",
            path, code == EMFILE ? "process" : "system");
    case ENOMEM:
        return mcds__fail_at(MCDS_NO_MEMORY, NO_MEMORY, path,
                             "lmdb: no memory, or no address space, for %s", path);
    default:
        return mcds_fail(MCDS_IO, "lmdb: %s: %s", path, mdb_strerror(code));
    }
}

/* The descriptor, or -1 with errno. Sets *made. */
static int open_or_make(const char *path, int how, bool *made)
{
    int flags = how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int descriptor = open(path, flags | O_CREAT | O_EXCL, MODE_PRIVATE);
    *made = descriptor >= 0;
    if (*made || errno != EEXIST)
        return descriptor;
    return open(path, flags);
}

/* Refuse what is no plain file before it is opened: opening a device or a pipe has effects. */
static int check_kind(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0 || S_ISREG(status.st_mode))
        return MCDS_OK;
    if (S_ISLNK(status.st_mode))
        return mcds__fail_at(
            MCDS_IO, WRONG_FILE, path,
            "lmdb: %s is a symbolic link, which is not followed here; remove it, or "
            "give the path of the file that it names",
            path);
    return mcds__fail_at(MCDS_IO, WRONG_FILE, path,
                         "lmdb: %s is not a regular file; move it away, or give another path",
                         path);
}

static int check_names(const char *path, const struct stat *status)
{
    if (status->st_nlink <= 1)
        return MCDS_OK;
    return mcds__fail_at(
        MCDS_IO, WRONG_FILE, path,
        "lmdb: %s has %llu names (hard links), and programs that use different ones "
        "do not see each other's locks; remove the others, and copy the file with "
        "mcds backup",
        path, (unsigned long long)status->st_nlink);
}

/* Whether others than its owner may make files in the directory of a path. */
static bool is_in_public(const char *path)
{
    char directory[PATH_MAX];
    struct stat status;
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 1;
    memcpy(directory, slash != NULL ? path : ".", length);
    directory[length] = '\0';
    return stat(directory, &status) == 0 && (status.st_mode & S_IWOTH) != 0;
}

/* The owner of the file could have put it there with harmful content. */
static int check_data_owner(const char *path, const struct stat *status)
{
    if (status->st_uid == geteuid() || status->st_uid == 0 || !is_in_public(path))
        return MCDS_OK;
    return mcds__fail_at(
        MCDS_IO, NO_DIRECTORY, path,
        "lmdb: %s belongs to user %lu and is in a directory where every user may "
        "make files; give a path in a directory of your own",
        path, (unsigned long)status->st_uid);
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
    if (content == MCDS__GUARD_OURS)
        return MCDS_OK;
    return mcds__lmdb_fail_open(path, content == MCDS__GUARD_FOREIGN ? MDB_INVALID
                                                                     : MDB_VERSION_MISMATCH);
}

int mcds__lmdb_guard_data(struct mcds__lmdb_file *file, uint32_t mode, struct stat *status_out)
{
    bool made;
    int result = check_kind(file->path);
    if (result != MCDS_OK)
        return result;
    int descriptor = open_or_make(file->path, O_RDWR, &made);
    file->read_only = descriptor < 0 && (errno == EACCES || errno == EPERM || errno == EROFS);
    if (file->read_only) {
        int refused = errno;
        file->no_write = refused == EROFS ? MCDS__WHY(READ_ONLY_DISK)
                                          : MCDS__WHY(READ_ONLY_USER);
        descriptor = open(file->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        errno = refused;
    }
    if (descriptor < 0)
        return mcds__lmdb_fail_open(file->path, errno);
    /* Exactly `mode`, whatever the umask is: it was asked for. */
    if (made)
        (void)fchmod(descriptor, (mode_t)mode);
    result = check_data(file->path, descriptor, status_out);
    file->held = descriptor;
    file->device = status_out->st_dev;
    file->inode = status_out->st_ino;
    return result;
}

/* Read and write for each class of users that may do both with PATH. */
static mode_t mode_beside(const struct stat *data)
{
    mode_t mode = 0;
    for (unsigned shift = 0; shift <= 6; shift += 3)
        if ((data->st_mode >> shift & 6) == 6)
            mode |= (mode_t)6 << shift;
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
        return mcds__fail_at(
            MCDS_IO, WRONG_FILE, path,
            "lmdb: %s belongs to user %lu, who is neither this user nor the owner of "
            "the store; remove it while no program has the store open",
            path, (unsigned long)status.st_uid);
    read_head(descriptor, head);
    if (status.st_size == 0 || judge(head, (uint64_t)status.st_size) == MCDS__GUARD_OURS)
        return MCDS_OK;
    return mcds__fail_at(
        MCDS_IO, WRONG_FILE, path,
        "lmdb: %s is not a file of mcds, and the store needs this name; move it away, "
        "or give another path for the store",
        path);
}

int mcds__lmdb_guard_beside(
    const struct mcds__lmdb_file *file, const char *suffix, const struct stat *data,
    enum mcds__guard_content (*judge)(const uint8_t *head, uint64_t size), int *descriptor_out)
{
    char path[PATH_MAX + 16];
    bool made;
    size_t length = strlen(file->path);
    memcpy(path, file->path, length);
    memcpy(path + length, suffix, strlen(suffix) + 1);
    *descriptor_out = -1;
    int result = check_kind(path);
    if (result != MCDS_OK)
        return result;
    int descriptor = open_or_make(path, O_RDWR, &made);
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
    *descriptor_out = descriptor;
    return MCDS_OK;
}
