/* The lmdb: backend overwrites no other file, does not trust other users, and is not blocked by
 * users who may not write. */
#include "support/lmdb_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/fake_env.h"

#define NOBODY 65534
#define CHILD_SKIPPED 77
#define PATH_CAPACITY 160
#define MUTEX_AT 56 /* in PATH-writer: commit/write_lock.c */

static const char *const suffixes[] = {"-lock", "-writer"};
#define SUFFIXES (sizeof suffixes / sizeof suffixes[0])

static void beside(const struct fixture *fixture, const char *suffix, char out[PATH_CAPACITY])
{
    (void)snprintf(out, PATH_CAPACITY, "%s%s", fixture->file, suffix);
}

static void write_text(const char *path, const char *string)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(string, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_text(const char *path, const char *expected)
{
    char found[256] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(found, 1, sizeof found - 1, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(length, strlen(expected));
    assert_string_equal(found, expected);
}

/* The store must not open, and the sentence has both words. */
static void assert_refused(const char *path, const char *options, const char *name,
                           const char *why)
{
    mcds_store *store = NULL;
    int result = try_open(path, options, NULL, &store);
    if (result != MCDS_IO || strstr(mcds_errmsg(), name) == NULL ||
        strstr(mcds_errmsg(), why) == NULL)
        fail_msg("%d: %s", result, result == MCDS_OK ? "opened" : mcds_errmsg());
}

static int code_of(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static void a_file_beside_that_is_not_ours_is_left_alone(void **state)
{
    const struct fixture *fixture = *state;
    char path[PATH_CAPACITY];
    for (size_t i = 0; i < SUFFIXES; i++) {
        beside(fixture, suffixes[i], path);
        write_text(path, "dear diary, today was a day of which much is to be said");
        assert_refused(fixture->file, "", path, "move it away");
        assert_text(path, "dear diary, today was a day of which much is to be said");
        assert_int_equal(unlink(path), 0);
    }
    mcds_store *store = open_store(fixture->file, "", NULL);
    assert_int_equal(add_number(store, "n", 1).number, 1);
    mcds_close(store);
}

static void a_link_beside_is_not_followed(void **state)
{
    const struct fixture *fixture = *state;
    char path[PATH_CAPACITY];
    char target[PATH_CAPACITY];
    beside(fixture, "-target", target);
    for (size_t i = 0; i < SUFFIXES; i++) {
        beside(fixture, suffixes[i], path);
        assert_int_equal(symlink(target, path), 0);
        /* To nothing, to an empty file, to one with words. */
        assert_refused(fixture->file, "", path, "symbolic link");
        assert_int_equal(access(target, F_OK), -1);
        write_text(target, "");
        assert_refused(fixture->file, "", path, "symbolic link");
        assert_text(target, "");
        write_text(target, "words");
        assert_refused(fixture->file, "", path, "symbolic link");
        assert_text(target, "words");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(unlink(target), 0);
    }
}

static void a_file_with_two_names_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    char path[PATH_CAPACITY];
    char other[PATH_CAPACITY];
    static const char *const all[] = {"", "-writer", "-lock"};
    mcds_close(open_store(fixture->file, "", NULL));
    beside(fixture, "-other", other);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        beside(fixture, all[i], path);
        assert_int_equal(link(path, other), 0);
        assert_refused(fixture->file, "", path, "2 names");
        assert_int_equal(unlink(other), 0);
    }
    mcds_close(open_store(fixture->file, "", NULL));
}

static void a_store_is_not_made_through_a_link(void **state)
{
    const struct fixture *fixture = *state;
    char target[PATH_CAPACITY];
    beside(fixture, "-target", target);
    assert_int_equal(symlink(target, fixture->file), 0);
    assert_refused(fixture->file, "", fixture->file,
                   "symbolic link to a file that does not exist");
    assert_int_equal(access(target, F_OK), -1);
}

/* Where the link of another user leads is that user's choice; our own may be followed. */
static void a_strangers_link_is_not_followed(void **state)
{
    const struct fixture *fixture = *state;
    char path[PATH_CAPACITY];
    beside(fixture, "-link", path);
    mcds_close(open_store(fixture->file, "", NULL));
    assert_int_equal(symlink(fixture->file, path), 0);
    mcds_close(open_store(path, "", NULL));
    bool given = lchown(path, NOBODY, NOBODY) == 0;
    if (given)
        assert_refused(path, "", path, "symbolic link that user 65534 has made");
    assert_int_equal(unlink(path), 0);
    if (!given) {
        print_message("skipped: only root can give a link away\n");
        skip();
    }
}

static void what_is_no_file_is_not_opened(void **state)
{
    const struct fixture *fixture = *state;
    char path[PATH_CAPACITY];
    for (size_t i = 0; i < SUFFIXES; i++) {
        beside(fixture, suffixes[i], path);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_refused(fixture->file, "", path, "not a regular file");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_refused(fixture->file, "", path, "not a regular file");
        assert_int_equal(rmdir(path), 0);
    }
}

/* As after a crash between making a file and writing it. */
static void a_file_beside_that_was_not_finished_is_taken(void **state)
{
    const struct fixture *fixture = *state;
    char path[PATH_CAPACITY];
    struct stat status;
    mcds_close(open_store(fixture->file, "", NULL));
    for (size_t i = 0; i < SUFFIXES; i++) {
        beside(fixture, suffixes[i], path);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(truncate(path, 0), 0);
        mcds_close(open_store(fixture->file, "", NULL));
        assert_int_equal(truncate(path, 0), 0);
        off_t size = strcmp(suffixes[i], "-lock") == 0 ? 80 * 1024 : status.st_size;
        assert_int_equal(truncate(path, size), 0);
        mcds_close(open_store(fixture->file, "", NULL));
    }
}

static mode_t mode_of(const struct fixture *fixture, const char *suffix)
{
    char path[PATH_CAPACITY];
    struct stat status;
    beside(fixture, suffix, path);
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void assert_modes(const struct fixture *fixture, const char *options, mode_t data,
                         mode_t others)
{
    mcds_close(open_store(fixture->file, options, NULL));
    assert_int_equal(mode_of(fixture, ""), data);
    assert_int_equal(mode_of(fixture, "-lock"), others);
    assert_int_equal(mode_of(fixture, "-writer"), others);
    char path[PATH_CAPACITY];
    static const char *const all[] = {"", "-writer", "-lock"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        beside(fixture, all[i], path);
        assert_int_equal(unlink(path), 0);
    }
}

static void files_are_the_owners_alone_unless_asked(void **state)
{
    const struct fixture *fixture = *state;
    mode_t before = umask(0);
    assert_modes(fixture, "", 0600, 0600);
    (void)umask(077);
    assert_modes(fixture, "?mode=0660", 0660, 0660);
    assert_modes(fixture, "?mode=644", 0644, 0600);
    assert_modes(fixture, "?mode=0664", 0664, 0660);
    (void)umask(before);
    static const char *const bad[] = {"?mode=",     "?mode=rw",   "?mode=0888", "?mode=0400",
                                      "?mode=0777", "?mode=1600", "?mode=-600", "?mode=060"};
    mcds_store *store;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(try_open(fixture->file, bad[i], NULL, &store), MCDS_INVALID);
        assert_non_null(strstr(mcds_errmsg(), "octal"));
    }
}

/* A stranger's file where everybody may make some. */
static void a_strangers_file_in_a_public_directory_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    char writer[PATH_CAPACITY];
    if (geteuid() != 0) {
        print_message("skipped: only root can make a file of another user\n");
        skip();
    }
    mcds_close(open_store(fixture->file, "?mode=0666", NULL));
    beside(fixture, "-writer", writer);
    assert_int_equal(chown(writer, NOBODY, NOBODY), 0);
    assert_refused(fixture->file, "", writer, "belongs to user 65534");
    assert_int_equal(chown(writer, 0, 0), 0);
    assert_int_equal(chown(fixture->file, NOBODY, NOBODY), 0);
    mcds_close(open_store(fixture->file, "", NULL));
    assert_int_equal(chmod(fixture->directory, 01777), 0);
    assert_refused(fixture->file, "", fixture->file, "belongs to user 65534");
}

/* flock(2), which needs no right to write, and a read lock keep nobody out. */
static int lock_as_nobody(const char *path, int ready, int go)
{
    char byte = 'r';
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        return CHILD_SKIPPED;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || flock(descriptor, LOCK_EX) != 0)
        return 1;
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    if (fcntl(descriptor, F_OFD_SETLK, &lock) != 0)
        return 2;
    if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
        return 3;
    return 0;
}

static void who_may_only_read_keeps_nobody_out(void **state)
{
    const struct fixture *fixture = *state;
    char path[PATH_CAPACITY];
    char byte = 'g';
    int ready[2];
    int go[2];
    mcds_close(open_store(fixture->file, "", NULL));
    beside(fixture, "-writer", path);
    assert_int_equal(mode_of(fixture, "-writer"), 0600);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(fixture->directory, 0755), 0);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)close(ready[0]);
        _exit(lock_as_nobody(path, ready[1], go[0]));
    }
    (void)close(ready[1]);
    bool locked = read(ready[0], &byte, 1) == 1;
    mcds_store *store = locked ? open_store(fixture->file, "", NULL) : NULL;
    if (locked) {
        assert_int_equal(add_number(store, "n", 1).number, 1);
        struct sought sought;
        assert_string_equal(find_finding(store, "every write is refused", &sought), "");
        mcds_close(store);
    }
    assert_int_equal(write(go[1], &byte, 1), 1);
    int code = code_of(child);
    (void)close(ready[0]);
    (void)close(go[0]);
    (void)close(go[1]);
    if (code == CHILD_SKIPPED) {
        print_message("skipped: this user cannot become another one\n");
        skip();
    }
    assert_int_equal(code, 0);
    assert_true(locked);
}

/* A process that cannot have the write lock must not write: others could not bound their wait. */
static void who_has_no_line_does_not_write(void **state)
{
    const struct fixture *fixture = *state;
    char path[PATH_CAPACITY];
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)add_number(store, "n", 7);
    mcds_close(store);
    beside(fixture, "-writer", path);
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert_int_equal(fcntl(descriptor, F_OFD_SETLK, &lock), 0);
    store = open_store(fixture->file, "", &fake.env);
    assert_value(store, "n", "7");
    mcds_reply reply = add_number(store, "n", 1);
    assert_int_equal(reply.outcome, MCDS_OUT_FAILED);
    assert_non_null(strstr(reply.detail->text, "-writer"));
    struct sought sought;
    assert_string_not_equal(find_finding(store, "every write is refused", &sought), "");
    mcds_close(store);
    assert_int_equal(close(descriptor), 0);
    store = open_store(fixture->file, "", NULL);
    assert_int_equal(add_number(store, "n", 1).number, 8);
    mcds_close(store);
}

/* The bytes of the lock are overwritten while the file is open: it cannot be taken, and nothing is
 * acknowledged without it. The next process that is alone with the file begins it again. */
static void a_damaged_lock_is_not_taken(void **state)
{
    const struct fixture *fixture = *state;
    char path[PATH_CAPACITY];
    uint8_t garbage[sizeof(pthread_mutex_t)];
    memset(garbage, 0xff, sizeof garbage);
    mcds_store *store = open_store(fixture->file, "", NULL);
    assert_int_equal(add_number(store, "n", 7).number, 7);
    beside(fixture, "-writer", path);
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(descriptor, garbage, sizeof garbage, MUTEX_AT), sizeof garbage);
    assert_int_equal(close(descriptor), 0);
    mcds_reply reply = add_number(store, "n", 1);
    assert_int_equal(reply.outcome, MCDS_OUT_FAILED);
    assert_int_equal(reply.detail->cause, MCDS_CAUSE_DAMAGED);
    assert_non_null(strstr(reply.detail->text, "-writer"));
    assert_value(store, "n", "7");
    mcds_close(store);
    store = open_store(fixture->file, "", NULL);
    assert_int_equal(add_number(store, "n", 1).number, 8);
    mcds_close(store);
}

/* In a namespace of its own: the first child of the one that has made it. */
static int open_in_other_namespace(const char *file, bool expects_refusal)
{
    if (unshare(CLONE_NEWPID) != 0)
        return CHILD_SKIPPED;
    pid_t child = fork();
    if (child != 0)
        return code_of(child);
    mcds_store *store;
    int result = try_open(file, "", NULL, &store);
    if (!expects_refusal)
        _exit(result == MCDS_OK && add_number(store, "n", 1).outcome == MCDS_OUT_OK ? 0 : 1);
    _exit(result == MCDS_IO && strstr(mcds_errmsg(), "pid namespace") != NULL ? 0 : 2);
}

static int try_other_namespace(const char *file, bool expects_refusal)
{
    pid_t child = fork();
    if (child == 0)
        _exit(open_in_other_namespace(file, expects_refusal));
    return code_of(child);
}

/* One after the other they may; two at once would take each other's living processes for dead. */
static void two_pid_namespaces_do_not_share_a_file(void **state)
{
    const struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)add_number(store, "n", 1);
    int code = try_other_namespace(fixture->file, true);
    if (code == CHILD_SKIPPED) {
        mcds_close(store);
        print_message("skipped: no pid namespace can be made here\n");
        skip();
    }
    assert_int_equal(code, 0);
    assert_int_equal(add_number(store, "n", 1).number, 2);
    mcds_close(store);
    assert_int_equal(try_other_namespace(fixture->file, false), 0);
    store = open_store(fixture->file, "", NULL);
    assert_value(store, "n", "3");
    mcds_close(store);
}

/* A child that does not see /proc opens the file, as another user if that is wanted. */
static int try_without_proc(const char *file, uid_t user, const char *why)
{
    mcds_store *store;
    pid_t child = fork();
    if (child != 0)
        return code_of(child);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) != 0 || setuid(user) != 0)
        _exit(CHILD_SKIPPED);
    if (try_open(file, "", NULL, &store) == MCDS_OK)
        _exit(why == NULL ? 0 : 1);
    _exit(why != NULL && strstr(mcds_errmsg(), why) != NULL ? 0 : 2);
}

static void what_cannot_be_seen_without_proc_is_said(void **state)
{
    const struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?mode=0644", NULL);
    (void)add_number(store, "n", 1);
    int code = try_without_proc(fixture->file, 0, "/proc is not mounted here");
    mcds_close(store);
    if (code == CHILD_SKIPPED) {
        print_message("skipped: no mount namespace can be made here\n");
        skip();
    }
    assert_int_equal(code, 0);
    assert_int_equal(try_without_proc(fixture->file, 0, NULL), 0);
    assert_int_equal(chmod(fixture->directory, 0755), 0);
    assert_int_equal(try_without_proc(fixture->file, NOBODY, "/proc is not mounted here"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_beside_that_is_not_ours_is_left_alone),
        TEST(a_link_beside_is_not_followed),
        TEST(a_file_with_two_names_is_refused),
        TEST(a_store_is_not_made_through_a_link),
        TEST(a_strangers_link_is_not_followed),
        TEST(what_is_no_file_is_not_opened),
        TEST(a_file_beside_that_was_not_finished_is_taken),
        TEST(files_are_the_owners_alone_unless_asked),
        TEST(a_strangers_file_in_a_public_directory_is_refused),
        TEST(who_may_only_read_keeps_nobody_out),
        TEST(who_has_no_line_does_not_write),
        TEST(a_damaged_lock_is_not_taken),
        TEST(two_pid_namespaces_do_not_share_a_file),
        TEST(what_cannot_be_seen_without_proc_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
