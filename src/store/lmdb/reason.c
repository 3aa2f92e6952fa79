/* The reasons for codes of LMDB and the system, and sentences for a file that does not open. */
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
    static const struct mcds__code_reason list[] = {
        {MDB_MAP_FULL, MCDS__WHY(MAP_FULL)},
        {MDB_TXN_FULL, MCDS__WHY(LONG_TRANSACTION)},
        {MDB_READERS_FULL, MCDS__WHY(READERS_FULL)},
        {MDB_PANIC, MCDS__WHY(WRITE_FAILED)},
        {MDB_CORRUPTED, MCDS__WHY(FILE_DAMAGED)},
        {MDB_PAGE_NOTFOUND, MCDS__WHY(FILE_DAMAGED)},
        {MDB_CURSOR_FULL, MCDS__WHY(FILE_DAMAGED)},
        {MDB_INCOMPATIBLE, MCDS__WHY(FILE_DAMAGED)},
        {MDB_BAD_DBI, MCDS__WHY(FILE_DAMAGED)},
        {MDB_NOTFOUND, MCDS__WHY(FILE_DAMAGED)}, /* of a key that was found before */
        {MDB_MAP_RESIZED, MCDS__WHY(FILE_GROWS)},
        {ETIMEDOUT, MCDS__WHY(FILE_TIMEOUT)},
        {ENOSPC, MCDS__WHY(DISK_FULL)},
        {EDQUOT, MCDS__WHY(QUOTA_FULL)},
        {EFBIG, MCDS__WHY(FILE_LIMIT)},
        {ENOMEM, MCDS__WHY(NO_MEMORY)},
        {EIO, MCDS__WHY(DISK_ERROR)},
        {EACCES, MCDS__WHY(FILE_READ_ONLY)},
        {EMFILE, MCDS__WHY(NO_DESCRIPTORS)},
        {ENFILE, MCDS__WHY(NO_DESCRIPTORS)},
        {ESTALE, MCDS__WHY(FILE_REMOVED)},
        {ENOTRECOVERABLE, MCDS__WHY(WRITER_DAMAGED)},
        {0, MCDS__WHY(LMDB_REFUSED)},
    };
    return mcds__reason_of(code, list, sizeof list / sizeof list[0]);
}

mcds_outcome mcds__lmdb_unread(int code)
{
    mcds_cause cause = mcds__lmdb_reason(code)->cause;
    bool is_final = cause == MCDS_CAUSE_DAMAGED || cause == MCDS_CAUSE_FILE_REPLACED;
    return is_final ? MCDS_OUT_FAILED : MCDS_OUT_UNSENT;
}

void mcds__lmdb_directory(const char *path, char *out)
{
    const char *slash = strrchr(path, '/');
    (void)snprintf(out, PATH_MAX, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
                   slash != NULL ? path : ".");
}

int mcds__lmdb_fail_replaced(const char *path)
{
    return mcds__fail_at(MCDS_IO, FILE_REPLACED, path,
                         "it was removed or replaced while programs have it open; end all that "
                         "use it, then open it again");
}

/* Whether this user has the access to `path` that a store needs. False: *status is filled. */
static bool is_allowed(const char *path, struct stat *status, int needed)
{
    return stat(path, status) != 0 || faccessat(AT_FDCWD, path, needed, AT_EACCESS) == 0;
}

static int fail_access(const char *path, const struct stat *status, const char *needed,
                       int code)
{
    return mcds__fail_file(MCDS_IO, NO_PERMISSION, path, code,
                           "no permission: it belongs to user %lu and has mode %04o, and this "
                           "is user %lu, who must be able to %s",
                           (unsigned long)status->st_uid, (unsigned)(status->st_mode & 07777),
                           (unsigned long)geteuid(), needed);
}

/* The directory of `name`, without the slash at its end. False: `name` has no other directory. */
static bool ascend(char *name)
{
    char *slash = strrchr(name, '/');
    if (slash == NULL || slash[1] == '\0')
        return false;
    slash[slash == name ? 1 : 0] = '\0';
    return true;
}

/* Find the directory of `path` that this user may not enter, so can neither read nor make files there.
 * Returns false if there is no such directory. */
static bool find_closed(const char *path, char name[PATH_MAX], struct stat *status)
{
    (void)snprintf(name, PATH_MAX, "%s", path);
    while (ascend(name))
        if (stat(name, status) == 0)
            return faccessat(AT_FDCWD, name, X_OK, AT_EACCESS) != 0;
    return false;
}

/* Name the file that refuses this user, or the directory that must be entered, or written to make the
 * files. */
static int fail_permission(const char *path, int code)
{
    static const char *const endings[] = {"", "-lock", "-writer"};
    char name[PATH_MAX + 8];
    struct stat status;
    if (find_closed(path, name, &status))
        return fail_access(name, &status, "enter it (x)", code);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, endings[i]);
        if (!is_allowed(name, &status, i == 0 ? R_OK : R_OK | W_OK))
            return fail_access(name, &status, i == 0 ? "read it" : "write it", code);
    }
    mcds__lmdb_directory(path, name);
    if (!is_allowed(name, &status, W_OK))
        return fail_access(name, &status, "write it", code);
    return mcds__fail_file(
        MCDS_IO, NO_PERMISSION, path, code,
        "no permission: this user must be able to write it and its -lock, or to make them");
}

#define ABSENT 0 /* instead of ENOENT: create=0 */

/* The directory does not exist, is a file or is not of a disk, or the name is missing. */
static int fail_directory(const char *path, int code)
{
    if (code == EISDIR)
        return mcds__fail_file(MCDS_IO, WRONG_FILE, path, code,
                               "it ends with a slash; give the path of a file");
    if (code == ENOTDIR)
        return mcds__fail_file(MCDS_IO, NO_DIRECTORY, path, code,
                               "a part of the path before a slash is a file; give a path in a "
                               "directory");
    char directory[PATH_MAX];
    struct stat status; /* of a symbolic link that leads nowhere */
    mcds__lmdb_directory(path, directory);
    bool is_there = access(directory, F_OK) == 0;
    if (is_there && code == ABSENT)
        return mcds__fail_file(MCDS_IO, NO_FILE, path, ENOENT,
                               "no store exists at this path: correct the path; a command that "
                               "writes, or create=1 in the URI, creates the store");
    if (is_there && lstat(path, &status) != 0)
        return mcds__fail_file(MCDS_IO, NO_DIRECTORY, path, code,
                               "its directory takes no files; give a path on a disk");
    return mcds__fail_file(MCDS_IO, NO_DIRECTORY, path, ENOENT,
                           "its directory does not exist; make it first");
}

int mcds__lmdb_fail_absent(const char *path)
{
    return fail_directory(path, ABSENT);
}

/* The codes that fail an opening, with the remedy; other codes fail a transaction likewise. */
static const struct opening_failure {
    int code;
    mcds_cause cause;
    const char *text;
} opening_failures[] = {
    {EROFS, MCDS_CAUSE_READ_ONLY,
     "it does not exist and its disk is read-only; give a path on another disk"},
    {MDB_INVALID, MCDS_CAUSE_WRONG_FILE,
     "it is not an LMDB file; give another path, or move the file away"},
    {MDB_VERSION_MISMATCH, MCDS_CAUSE_OTHER_VERSION,
     "it was written by another version of LMDB; give another path, or use the mcds that wrote "
     "it"},
    {ENOSPC, MCDS_CAUSE_DISK_FULL, "no room on the disk for it; make room"},
    {EDQUOT, MCDS_CAUSE_DISK_FULL, "no room on the disk for it; make room"},
    {EFBIG, MCDS_CAUSE_FILE_LIMIT,
     "it would pass the limit for file sizes of this process (ulimit -f); raise it"},
    {EAGAIN, MCDS_CAUSE_FILE_IN_USE,
     "a program was killed while it opened it, and others have it open; end all that use it, "
     "then open it again"},
    {EMFILE, MCDS_CAUSE_NO_DESCRIPTORS,
     "it cannot be opened: this process has too many files open (ulimit -n); close some, or "
     "raise the limit"},
    {ENFILE, MCDS_CAUSE_NO_DESCRIPTORS,
     "it cannot be opened: this system has too many files open (ulimit -n); close some, or "
     "raise the limit"},
    {ENOMEM, MCDS_CAUSE_NO_MEMORY,
     "no memory, or no address space (ulimit -v), for it; raise the limit"},
};

int mcds__lmdb_fail_open(const char *path, int code)
{
    if (code == ENOENT || code == ENOTDIR || code == EISDIR)
        return fail_directory(path, code);
    if (code == EACCES || code == EPERM)
        return fail_permission(path, code);
    const mcds_reason *why = mcds__lmdb_reason(code);
    bool is_other = why->cause == MCDS_CAUSE_OTHER;
    struct opening_failure failure = {code, why->cause,
                                      is_other ? mdb_strerror(code) : why->text};
    for (size_t i = 0; i < sizeof opening_failures / sizeof opening_failures[0]; i++)
        if (opening_failures[i].code == code)
            failure = opening_failures[i];
    bool is_limit = code == EMFILE || code == ENFILE || code == ENOMEM;
    const mcds_error error = {.result = is_limit ? MCDS_NO_MEMORY : MCDS_IO,
                              .cause = failure.cause,
                              .os_error = code > 0 ? code : 0,
                              .noun = "store",
                              .peer = path};
    return mcds__fail_saying(&error, "%s", failure.text);
}
