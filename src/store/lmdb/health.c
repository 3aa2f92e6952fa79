/* Reports dangers to a store: other users that may write its files, their directory and file
 * system, a clock that can be set, and long readers. */
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif

#include "base/error.h"
#include "store/finding.h"
#include "store/lmdb/file.h"

#define DISK_LOW (UINT64_C(64) << 20)
#define READER_OLD 1000 /* transactions */
#define MIB (1024.0 * 1024.0)
#define SHARED_BITS (S_IWGRP | S_IWOTH)

static const char *const suffixes[] = {"", "-lock", "-writer"};
#define SUFFIXES (sizeof suffixes / sizeof suffixes[0])

/* Reports other users that may write a file: a problem, unless the store's URI lets the group write.
 * A mutex in memory shared by several users contains pointers, which the C library follows. */
static void tell_writers(const struct stat *status, uint32_t asked, struct mcds__report *report)
{
    unsigned mode = status->st_mode & 07777U;
    unsigned writers = mode & SHARED_BITS;
    if (writers == S_IWGRP && (asked & S_IWGRP) != 0)
        mcds__report(
            report, MCDS_ADVICE, "keep only users in that group who trust each other fully",
            "group %lu may write the file, as the URI asks with mode=%04o; its users can "
            "take over every program that uses the store",
            (unsigned long)status->st_gid, (unsigned)asked);
    else if (writers != 0)
        mcds__report(report, MCDS_PROBLEM,
                     writers == S_IWGRP
                         ? "chmod g-w all three files, or give mode=0660 in the URI, if the "
                           "users of the group trust each other fully"
                         : "chmod go-w all three files, unless those users trust each other "
                           "fully",
                     "other users may write the file (mode %04o); they can take over every "
                     "program that uses the store",
                     mode);
}

/* Reports a file without permissions that the URI asks for. Only a new file gets them. */
static void tell_asked(const struct stat *status, uint32_t asked, struct mcds__report *report)
{
    unsigned mode = status->st_mode & 07777U;
    char fix[64];
    if ((asked & ~mode) == 0)
        return;
    (void)snprintf(fix, sizeof fix, "chmod %04o it%s", (unsigned)asked,
                   (asked & SHARED_BITS) != 0 ? ", its -lock and its -writer file" : "");
    mcds__report(report, MCDS_ADVICE, fix,
                 "mode=%04o of the URI is for a new file, and this one exists with mode %04o",
                 (unsigned)asked, mode);
}

static void tell_owner(const struct stat *status, struct mcds__report *report)
{
    unsigned mode = status->st_mode & 07777U;
    unsigned long owner = status->st_uid;
    mcds__report(report, MCDS_FACT, "", "the file has mode %04o and belongs to user %lu", mode,
                 owner);
    if (status->st_uid != geteuid() && status->st_uid != 0)
        mcds__report(report, MCDS_PROBLEM,
                     "use a store of this user, unless both trust each other fully",
                     "the file belongs to user %lu, who can take over this program (user %lu)",
                     owner, (unsigned long)geteuid());
}

static void tell_owners(const struct mcds__lmdb_file *file, uint32_t mode,
                        struct mcds__report *report)
{
    struct stat status;
    char path[PATH_MAX + 16];
    const char *subject = report->subject;
    report->subject = path;
    for (size_t i = 0; i < SUFFIXES; i++) {
        (void)snprintf(path, sizeof path, "%s%s", file->path, suffixes[i]);
        if (stat(path, &status) != 0)
            continue;
        tell_owner(&status, report);
        if (i == 0)
            tell_asked(&status, mode, report);
        tell_writers(&status, mode, report);
    }
    report->subject = subject;
}

static void tell_directory(const struct mcds__lmdb_file *file, struct mcds__report *report)
{
    char directory[PATH_MAX];
    struct stat status;
    mcds__lmdb_directory(file->path, directory);
    if (stat(directory, &status) == 0 && (status.st_mode & S_IWOTH) != 0 &&
        (status.st_mode & S_ISVTX) == 0)
        mcds__report(report, MCDS_PROBLEM, "chmod o-w that directory",
                     "every user may remove and replace files in its directory (mode %04o)",
                     status.st_mode & 07777U);
}

static bool is_network(mdb_filehandle_t descriptor)
{
#ifdef __linux__
    static const uint32_t networks[] = {
        0x6969,     /* NFS */
        0x517B,     /* SMB */
        0xFF534D42, /* CIFS */
        0xFE534D42, /* SMB2 */
        0x01021997, /* 9P */
        0x5346414F, /* AFS */
        0x6B414653, /* the kernel's AFS */
        0x73757245, /* Coda */
        0x00C36400, /* Ceph */
        0x0BD00BD0, /* Lustre */
        0x47504653, /* GPFS */
        0x7461636F, /* OCFS2 */
        0x786F4256, /* folders of VirtualBox */
    };
    struct statfs status;
    if (fstatfs(descriptor, &status) != 0)
        return false;
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
        if ((uint32_t)status.f_type == networks[i])
            return true;
#else
    (void)descriptor;
#endif
    return false;
}

static void tell_disk_of(mdb_filehandle_t descriptor, struct mcds__report *report)
{
    struct statvfs disk;
    struct stat status;
    if (is_network(descriptor))
        mcds__report(report, MCDS_PROBLEM, "keep the file on a local disk, or use memcached://",
                     "it is on a network file system, where LMDB's locks and maps do not hold");
    if (fstatvfs(descriptor, &disk) == 0) {
        uint64_t left = (uint64_t)disk.f_bavail * disk.f_frsize;
        bool low = left < DISK_LOW;
        mcds__report(report, low ? MCDS_PROBLEM : MCDS_FACT,
                     low ? "make room; until then writes may be refused" : "",
                     "its disk has %.1f MiB left", (double)left / MIB);
    }
    if (fstat(descriptor, &status) == 0 && status.st_nlink > 1)
        mcds__report(report, MCDS_PROBLEM, "remove the other names; copy it with mcds backup",
                     "it has %llu names, and programs that use different ones do not see each "
                     "other's locks",
                     (unsigned long long)status.st_nlink);
}

/* The file's own disk, not that of the copy that is read in its place. */
static void tell_disk(struct mcds__lmdb_file *file, struct mcds__report *report)
{
    mdb_filehandle_t descriptor;
    if (file->snapshot >= 0) {
        descriptor = open(file->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (descriptor < 0)
            return;
        tell_disk_of(descriptor, report);
        (void)close(descriptor);
    } else if (mdb_env_get_fd(file->env, &descriptor) == 0) {
        tell_disk_of(descriptor, report);
    }
}

static void tell_line(const struct mcds__lmdb_file *file, struct mcds__report *report)
{
    uint64_t namespace = mcds__lmdb_process_namespace();
    if (!file->read_only && namespace == 0)
        mcds__report(report, MCDS_ADVICE, "mount /proc",
                     "without /proc it cannot be seen whether its processes are in one "
                     "container, and only such may share it");
    else if (!file->read_only)
        mcds__report(report, MCDS_FACT, "", "its processes are those of pid namespace %llu",
                     (unsigned long long)namespace);
    else if (file->snapshot >= 0)
        mcds__report(
            report, MCDS_PROBLEM,
            file->no_write == MCDS__WHY(READ_ONLY_DISK)
                ? "mount the disk for writing"
                : "let this process write it and its -lock file, to follow what others write",
            "%s; it is read from a copy in memory, as of the opening, and every write is "
            "refused",
            file->no_write->text);
    else
        mcds__report(report, MCDS_PROBLEM,
                     "remove the cause, or remove its -writer file while no program has the "
                     "store open",
                     "every write is refused: %s", file->no_write->text);
}

static void tell_removal(const struct mcds__lmdb_file *file, struct mcds__report *report)
{
    if (mcds__lmdb_is_removed(file))
        mcds__report(report, MCDS_PROBLEM,
                     "end all programs that use it, then start them again",
                     "it has been removed or replaced; every write is refused, and its content "
                     "may be gone when the last program that has it open ends");
}

static void tell_clock(const struct mcds__lmdb_file *file, struct mcds__report *report)
{
    if (file->clock.monotonic_ns == NULL)
        mcds__report(
            report, MCDS_PROBLEM, "mount /proc, or never set the clock back or ahead",
            "the system reports no boot id, so leases and ttls follow the wall clock: a "
            "step of it ends them early or late");
}

void mcds__lmdb_tell_files(struct mcds__lmdb_file *file, uint32_t mode,
                           struct mcds__report *report)
{
    tell_line(file, report);
    tell_clock(file, report);
    tell_owners(file, mode, report);
    tell_directory(file, report);
    tell_disk(file, report);
    tell_removal(file, report);
}

struct oldest {
    unsigned long long transaction;
    long process;
};

/* One line of LMDB's reader table: process, thread, transaction or "-". */
static int note_reader(const char *text, void *context)
{
    struct oldest *oldest = context;
    unsigned long long transaction;
    long process;
    if (sscanf(text, "%ld %*x %llu", &process, &transaction) == 2 &&
        transaction < oldest->transaction)
        *oldest = (struct oldest){transaction, process};
    return 0;
}

void mcds__lmdb_tell_readers(struct mcds__lmdb_file *file, uint64_t last_transaction,
                             struct mcds__report *report)
{
    struct oldest oldest = {ULLONG_MAX, 0};
    if (mdb_reader_list(file->env, note_reader, &oldest) < 0 ||
        oldest.transaction >= last_transaction)
        return;
    uint64_t lag = last_transaction - oldest.transaction;
    bool old = lag >= READER_OLD;
    mcds__report(report, old ? MCDS_PROBLEM : MCDS_FACT,
                 old ? "let that process end its read (kill -CONT), or end it" : "",
                 "process %ld still reads the state of %llu transactions ago; the space freed "
                 "since then is not used again until that read ends",
                 oldest.process, (unsigned long long)lag);
}
