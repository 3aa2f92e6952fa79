/* Causes that lie in files and disks. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "causes/causes.h"

#define NOBODY 65534

static int try_file(struct world *world)
{
    char uri[160];
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&world->fake, 7);
    options.env = &world->fake.env;
    (void)snprintf(uri, sizeof uri, "lmdb:%s", world->file);
    return mcds_open(uri, &options, &world->store);
}

static int fill_file(struct world *world)
{
    static const char element[4096];
    mcds_list *list;
    int result = MCDS_OK;
    open_file(world, "?sync=async&map_max=1048576");
    MUST_DO(mcds_list_open(world->store, "l", NULL, &list));
    for (int i = 0; i < 10000 && result == MCDS_OK; i++)
        result = mcds_list_push(list, (mcds_bytes){element, sizeof element});
    mcds_list_close(list);
    return result;
}

static int add_to_a_full_disk(struct world *world)
{
    open_file(world, "");
    faults.sync_error = ENOSPC;
    return add_to_counter(world);
}

static int open_on_a_full_disk(struct world *world)
{
    faults.room_error = ENOSPC;
    return try_file(world);
}

static int open_over_the_limit(struct world *world)
{
    struct rlimit before;
    MUST(getrlimit(RLIMIT_FSIZE, &before) == 0);
    struct rlimit none = {0, before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    MUST(setrlimit(RLIMIT_FSIZE, &none) == 0);
    int result = try_file(world);
    MUST(setrlimit(RLIMIT_FSIZE, &before) == 0); /* for what is printed */
    return result;
}

static int add_to_a_broken_disk(struct world *world)
{
    open_file(world, "");
    faults.sync_error = EIO;
    return add_to_counter(world);
}

static int open_on_a_broken_disk(struct world *world)
{
    faults.sync_error = EIO;
    return try_file(world);
}

static void become_nobody(void)
{
    if (geteuid() == 0)
        MUST(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

static int open_without_permission(struct world *world)
{
    MUST(chmod(world->folder, geteuid() == 0 ? 0755 : 0555) == 0);
    become_nobody();
    return try_file(world);
}

static int open_on_a_read_only_disk(struct world *world)
{
    faults.make_error = EROFS;
    return try_file(world);
}

static int open_without_a_directory(struct world *world)
{
    (void)snprintf(world->file, sizeof world->file, "%s/none/store", world->folder);
    return try_file(world);
}

static void write_file(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "we");
    MUST(file != NULL && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

static int open_what_is_not_there(struct world *world)
{
    (void)strncat(world->file, "?create=0", sizeof world->file - strlen(world->file) - 1);
    int result = try_file(world);
    *strchr(world->file, '?') = '\0';
    MUST(access(world->file, F_OK) != 0);
    return result;
}

/* It exists, and accepts no files. */
static int open_in_a_strange_directory(struct world *world)
{
    (void)snprintf(world->file, sizeof world->file, "/proc/mcds-causes");
    return try_file(world);
}

static int open_with_a_slash(struct world *world)
{
    (void)snprintf(world->file, sizeof world->file, "%s/none/", world->folder);
    return try_file(world);
}

static int open_below_a_file(struct world *world)
{
    write_file(world->file, "", 0);
    (void)strncat(world->file, "/store", sizeof world->file - strlen(world->file) - 1);
    return try_file(world);
}

static int open_a_directory(struct world *world)
{
    (void)snprintf(world->file, sizeof world->file, "%s", world->folder);
    return try_file(world);
}

static int open_another_file(struct world *world)
{
    write_file(world->file, "dear diary", 10);
    return try_file(world);
}

/* A file of another user where everybody may make files. */
static int open_a_strangers_file(struct world *world)
{
    write_file(world->file, "", 0);
    MUST(chmod(world->folder, 01777) == 0);
    if (chown(world->file, NOBODY, NOBODY) != 0)
        skip_row("only root can give a file away");
    return try_file(world);
}

/* The begin of a file of LMDB: after the head of the page, its magic number and its version. */
static int open_a_file_of_another_lmdb(struct world *world)
{
    uint32_t head[1024] = {0};
    size_t at = (sizeof(size_t) + 8) / sizeof head[0];
    head[at] = UINT32_C(0xBEEFC0DE);
    head[at + 1] = 2;
    write_file(world->file, head, sizeof head);
    return try_file(world);
}

static int open_what_was_cut_short(struct world *world)
{
    open_file(world, "");
    MUST_DO(add_to_counter(world));
    mcds_close(world->store);
    world->store = NULL;
    MUST(truncate(world->file, 3 * 4096) == 0);
    return try_file(world);
}

/* Even its first page is not whole. Nothing is made beside it. */
static int open_what_was_cut_to_100_bytes(struct world *world)
{
    char beside[sizeof world->file + 8];
    open_file(world, "");
    MUST_DO(add_to_counter(world));
    mcds_close(world->store);
    world->store = NULL;
    MUST(truncate(world->file, 100) == 0);
    (void)snprintf(beside, sizeof beside, "%s-lock", world->file);
    (void)unlink(beside);
    int result = try_file(world);
    MUST(access(beside, F_OK) != 0);
    return result;
}

static const char *copy_of(const struct world *world, const char *end)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s-copy%s", world->file, end);
    return path;
}

static int back_up_twice(struct world *world)
{
    open_file(world, "");
    MUST_DO(mcds_backup(world->store, copy_of(world, "")));
    return mcds_backup(world->store, copy_of(world, ""));
}

static int back_up_to_a_long_name(struct world *world)
{
    char end[240];
    memset(end, 'n', sizeof end - 1);
    end[sizeof end - 1] = '\0';
    open_file(world, "");
    return mcds_backup(world->store, copy_of(world, end));
}

static int open_after_a_replacement(struct world *world)
{
    mcds_store *before;
    open_file(world, "");
    before = world->store;
    world->store = NULL;
    MUST(unlink(world->file) == 0);
    int result = try_file(world);
    mcds_close(before);
    return result;
}

/* The rest of the row is played in a child, while this process keeps the file open. */
static void open_and_fork(struct world *world)
{
    int status;
    open_file(world, "");
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        world->parents = world->store;
        world->store = NULL;
        return;
    }
    MUST(waitpid(child, &status, 0) == child && WIFEXITED(status));
    _exit(WEXITSTATUS(status));
}

static int open_in_another_container(struct world *world)
{
    open_and_fork(world);
    faults.is_elsewhere = true;
    return try_file(world);
}

static int open_without_proc(struct world *world)
{
    open_and_fork(world);
    faults.has_no_proc = true;
    return try_file(world);
}

/* A user who may read the file, and may not write beside it. */
static int read_without_proc(struct world *world)
{
    if (geteuid() != 0)
        skip_row("only root can become another user");
    open_file(world, "?mode=0644");
    mcds_close(world->store);
    world->store = NULL;
    MUST(chmod(world->folder, 0755) == 0);
    become_nobody();
    faults.has_no_proc = true;
    return try_file(world);
}

/* Another program locks PATH-writer, and does not use it. */
static int open_what_is_locked(struct world *world)
{
    char writer[128];
    open_file(world, "");
    mcds_close(world->store);
    world->store = NULL;
    (void)snprintf(writer, sizeof writer, "%s-writer", world->file);
    int descriptor = open(writer, O_RDWR | O_CLOEXEC);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    MUST(descriptor >= 0 && fcntl(descriptor, F_OFD_SETLK, &lock) == 0);
    MUST_DO(try_file(world));
    return add_to_counter(world);
}

static const struct row rows[] = {
    {fill_file,
     {.result = MCDS_FULL,
      .cause = MCDS_CAUSE_STORE_FULL,
      .noun = "list",
      .name = "l",
      .verb = "push",
      .peer = "/tmp/mcds-causes-*/store"},
     "list 'l': push: /tmp/mcds-causes-*/store: the file is at its limit, map_max in the "
     "store's URI; raise it, or drop something"},
    {add_to_a_full_disk,
     {.result = MCDS_FULL,
      .cause = MCDS_CAUSE_DISK_FULL,
      .os_error = ENOSPC,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .peer = "/tmp/mcds-causes-*/store"},
     "counter 'x': add: /tmp/mcds-causes-*/store: the disk is full; make room on it"},
    {open_on_a_full_disk,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_DISK_FULL,
      .os_error = ENOSPC,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: no room on the disk for it; make room"},
    {open_over_the_limit,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_FILE_LIMIT,
      .os_error = EFBIG,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: it would pass the limit for file sizes of this process "
     "(ulimit -f); raise it"},
    {add_to_a_broken_disk,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_DISK_ERROR,
      .os_error = EIO,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .peer = "/tmp/mcds-causes-*/store"},
     "counter 'x': add: /tmp/mcds-causes-*/store: the disk reports an error"},
    {open_on_a_broken_disk,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_DISK_ERROR,
      .os_error = EIO,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: the disk reports an error"},
    {open_without_permission,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_NO_PERMISSION,
      .os_error = EACCES,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/"},
     "store: /tmp/mcds-causes-*/: no permission: it belongs to user 0 and has mode 0755, and "
     "this is user 65534, who must be able to write it"},
    {open_on_a_read_only_disk,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_READ_ONLY,
      .os_error = EROFS,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: it does not exist and its disk is read-only; give a "
     "path on another disk"},
    {open_without_a_directory,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_NO_DIRECTORY,
      .os_error = ENOENT,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/none/store"},
     "store: /tmp/mcds-causes-*/none/store: its directory does not exist; make it first"},
    {open_what_is_not_there,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_NO_FILE,
      .os_error = ENOENT,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: no store exists at this path: correct the path; a "
     "command that writes, or create=1 in the URI, creates the store"},
    {open_in_a_strange_directory,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_NO_DIRECTORY,
      .os_error = ENOENT,
      .noun = "store",
      .peer = "/proc/mcds-causes"},
     "store: /proc/mcds-causes: its directory takes no files; give a path on a disk"},
    {open_with_a_slash,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_WRONG_FILE,
      .os_error = EISDIR,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/none/"},
     "store: /tmp/mcds-causes-*/none/: it ends with a slash; give the path of a file"},
    {open_below_a_file,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_NO_DIRECTORY,
      .os_error = ENOTDIR,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store/store"},
     "store: /tmp/mcds-causes-*/store/store: a part of the path before a slash is a file; give "
     "a path in a directory"},
    {open_a_directory,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_WRONG_FILE,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*"},
     "store: /tmp/mcds-causes-*: it is not a regular file; give a file in it, such as "
     "mcds.lmdb"},
    {open_another_file,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_WRONG_FILE,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: it is not an LMDB file; give another path, or move the "
     "file away"},
    {open_a_strangers_file,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_WRONG_FILE,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: it belongs to user 65534 and is in a directory where "
     "every user may make files; give a path in a directory of your own"},
    {open_a_file_of_another_lmdb,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_OTHER_VERSION,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: it was written by another version of LMDB; give another "
     "path, or use the mcds that wrote it"},
    {open_what_was_cut_short,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_DAMAGED,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: it is damaged: it has been cut short, as by a copy that "
     "was interrupted, and has 12288 of 24576 bytes; move it away, and copy the backup again"},
    {open_what_was_cut_to_100_bytes,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_DAMAGED,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: it is damaged: it has been cut short, as by a copy that "
     "was interrupted, and has only 100 bytes; move it away, and copy the backup again"},
    {back_up_twice,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_FILE_EXISTS,
      .noun = "store",
      .verb = "backup",
      .peer = "/tmp/mcds-causes-*/store-copy"},
     "store: backup: /tmp/mcds-causes-*/store-copy: it exists already, and a copy overwrites "
     "nothing; give another path"},
    {back_up_to_a_long_name,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_OTHER,
      .os_error = ENAMETOOLONG,
      .noun = "store",
      .verb = "backup",
      .peer = "/tmp/mcds-causes-*/store-copyn*"},
     "store: backup: /tmp/mcds-causes-*/store-copyn*: it cannot be made: File name too long"},
    {open_after_a_replacement,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_FILE_REPLACED,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: it was removed or replaced while programs have it open; "
     "end all that use it, then open it again"},
    {open_in_another_container,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_OTHER_CONTAINER,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: it is open in another container (pid namespace *, here "
     "*), and their processes cannot share a file; let them share one (--pid), or use "
     "memcached://"},
    {open_without_proc,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_NO_PROC,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: it is open in another process, and whether both are in "
     "one container (pid namespace) cannot be seen, since /proc is not mounted here; mount it"},
    {read_without_proc,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_NO_PROC,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: it cannot be read without the right to write its -lock: "
     "/proc is not mounted here, and the copy is opened by it"},
    {open_what_is_locked,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_FILE_IN_USE,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .peer = "/tmp/mcds-causes-*/store"},
     "counter 'x': add: /tmp/mcds-causes-*/store: another process has locked its -writer "
     "file; end it, and open the store again"},
};

const struct table causes_of_files = {rows, sizeof rows / sizeof rows[0]};
