/* The reasons for codes of LMDB and of the system, and the sentences for a file that cannot be
 * opened. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "store/lmdb/file.h"

const mcds_reason *mcds__lmdb_reason(int code)
{
    switch (code) {
    case MDB_MAP_FULL:
        return MCDS__WHY(MAP_FULL);
    case MDB_TXN_FULL:
        return MCDS__WHY(LONG_TRANSACTION);
    case MDB_READERS_FULL:
        return MCDS__WHY(READERS_FULL);
    case MDB_PANIC:
        return MCDS__WHY(WRITE_FAILED);
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
        return MCDS__WHY(FILE_DAMAGED);
    case MDB_MAP_RESIZED:
        return MCDS__WHY(FILE_GROWS);
    case ETIMEDOUT:
        return MCDS__WHY(FILE_TIMEOUT);
    case ENOSPC:
        return MCDS__WHY(DISK_FULL);
    case EDQUOT:
        return MCDS__WHY(QUOTA_FULL);
    case EFBIG:
        return MCDS__WHY(FILE_LIMIT);
    case ENOMEM:
        return MCDS__WHY(NO_MEMORY);
    case EIO:
        return MCDS__WHY(DISK_ERROR);
    case EACCES:
        return MCDS__WHY(FILE_READ_ONLY);
    case ESTALE:
        return MCDS__WHY(FILE_REMOVED);
    default:
        return MCDS__WHY(LMDB_REFUSED);
    }
}

int mcds__lmdb_fail_replaced(const char *path)
{
    return mcds__fail_at(MCDS_IO, FILE_REPLACED, path,
                         "it was removed or replaced while programs have it open; end all that "
                         "use it, then open it again");
}

/* Whether this user has the access to `path` that a store needs. False: *status is filled. */
static bool is_allowed(const char *path, struct stat *status)
{
    if (stat(path, status) != 0)
        return true;
    int needed = S_ISDIR(status->st_mode) ? W_OK | X_OK : R_OK | W_OK;
    return faccessat(AT_FDCWD, path, needed, AT_EACCESS) == 0;
}

/* Name the file that refuses this user, or the directory in which one must be created. */
static int fail_permission(const char *path, int code)
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
        return mcds__fail_file(
            MCDS_IO, NO_PERMISSION, path, code,
            "no permission: this user must be able to write it and its -lock, or to make them");
    return mcds__fail_file(MCDS_IO, NO_PERMISSION, name, code,
                           "no permission: it belongs to user %lu and has mode %04o, and this "
                           "is user %lu, who must be able to write it",
                           (unsigned long)status.st_uid, (unsigned)(status.st_mode & 07777),
                           (unsigned long)geteuid());
}

/* For the reasons that a transaction fails for too. */
static int fail_otherwise(const char *path, int code)
{
    const mcds_reason *why = mcds__lmdb_reason(code);
    const mcds_error error = {.result = MCDS_IO,
                              .cause = why->cause,
                              .os_error = code > 0 ? code : 0,
                              .noun = "store",
                              .peer = path};
    return mcds__fail_saying(&error, "%s",
                             why->cause == MCDS_CAUSE_OTHER ? mdb_strerror(code) : why->text);
}

int mcds__lmdb_fail_open(const char *path, int code)
{
    switch (code) {
    case ENOENT:
        return mcds__fail_file(MCDS_IO, NO_DIRECTORY, path, code,
                               "its directory does not exist; make it first");
    case EACCES:
    case EPERM:
        return fail_permission(path, code);
    case EROFS:
        return mcds__fail_file(MCDS_IO, READ_ONLY, path, code,
                               "it does not exist and its disk is read-only; give a path on "
                               "another disk");
    case MDB_INVALID:
        return mcds__fail_file(
            MCDS_IO, WRONG_FILE, path, code,
            "it is not an LMDB file; give another path, or move the file away");
    case MDB_VERSION_MISMATCH:
        return mcds__fail_file(MCDS_IO, OTHER_VERSION, path, code,
                               "it was written by another version of LMDB; give another path, "
                               "or use the mcds that wrote it");
    case ENOSPC:
    case EDQUOT:
        return mcds__fail_file(MCDS_IO, DISK_FULL, path, code,
                               "no room on the disk for it; make room");
    case EFBIG:
        return mcds__fail_file(
            MCDS_IO, FILE_LIMIT, path, code,
            "it would pass the limit for file sizes of this process (ulimit -f); raise it");
    case EMFILE:
    case ENFILE:
        return mcds__fail_file(MCDS_NO_MEMORY, NO_DESCRIPTORS, path, code,
                               "it cannot be opened: this %s has too many files open (ulimit "
                               "-n); close some, or raise the limit",
                               code == EMFILE ? "process" : "system");
    case ENOMEM:
        return mcds__fail_file(MCDS_NO_MEMORY, NO_MEMORY, path, code,
                               "no memory, or no address space, for it");
    default:
        return fail_otherwise(path, code);
    }
}
