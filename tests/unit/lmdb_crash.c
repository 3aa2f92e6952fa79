/* lmdb: after a crash of the system or of a process that opened the file, and copies that cp has
 * made while the file was in use. The simulated disk has the content of the last sync: this
 * program intercepts LMDB's system calls. */
#include "support/lmdb_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "store/lmdb/guard.h"
#include "support/fake_env.h"

#define FILE_MAX ((size_t)4 << 20)
#define PAGE 4096
#define COMMITS 24

static uint8_t disk[FILE_MAX];
static size_t disk_length;

static size_t read_descriptor(int descriptor, uint8_t *out)
{
    size_t length = 0;
    ssize_t got;
    while ((got = pread(descriptor, out + length, FILE_MAX - length, (off_t)length)) > 0)
        length += (size_t)got;
    return length;
}

int fdatasync(int descriptor)
{
    disk_length = read_descriptor(descriptor, disk);
    return 0;
}

static size_t read_whole(const char *path, uint8_t *out)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(descriptor >= 0);
    size_t length = read_descriptor(descriptor, out);
    assert_int_equal(close(descriptor), 0);
    return length;
}

static void write_whole(const char *path, const uint8_t *bytes, size_t length)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes, length), length);
    assert_int_equal(close(descriptor), 0);
}

static void remove_store(const char *file)
{
    static const char *const suffixes[] = {"", "-lock", "-writer"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char path[160];
        (void)snprintf(path, sizeof path, "%s%s", file, suffixes[i]);
        (void)unlink(path);
    }
}

/* Each number is told once, though the newest writes are lost with the system. */
static void numbers_are_not_told_again_after_a_crash(void **state)
{
    const struct fixture *fixture = *state;
    char copy[128];
    (void)snprintf(copy, sizeof copy, "%s-copy", fixture->file);
    for (int round = 0; round < 3; round++) {
        uint64_t told = 0;
        mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
        for (int i = 0; i < 10; i++)
            told = put(store, MCDS_SET, "k", "v", 0).cas.unique;
        write_whole(copy, disk, disk_length);
        mcds_store *after = open_store(copy, "?sync=async", NULL);
        assert_true(put(after, MCDS_SET, "k", "v", 0).cas.unique > told);
        mcds_close(after);
        mcds_close(store);
        remove_store(copy);
    }
}

static void fill_keys(mcds_store *store, int round)
{
    char key[16];
    char value[32];
    for (int i = 0; i < 40; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        (void)snprintf(value, sizeof value, "%d", round);
        assert_int_equal(put(store, MCDS_SET, key, value, 0).outcome, MCDS_OUT_OK);
    }
}

/* cp has read the first pages, and then the others after so many commits more: refused, or what was
 * there at first, but never empty. */
static void a_torn_copy_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    static uint8_t first[FILE_MAX];
    static uint8_t later[FILE_MAX];
    char copy[128];
    int refused = 0;
    (void)snprintf(copy, sizeof copy, "%s-copy", fixture->file);
    for (int commits = 0; commits < COMMITS; commits++) {
        mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
        fill_keys(store, commits);
        size_t length = read_whole(fixture->file, first);
        for (int i = 0; i < commits; i++)
            (void)add_number(store, "n", 1);
        size_t later_length = read_whole(fixture->file, later);
        assert_true(later_length >= length);
        memcpy(later, first, 2 * (size_t)PAGE);
        write_whole(copy, later, later_length);
        mcds_close(store);
        mcds_store *torn = NULL;
        int result = try_open(copy, "", NULL, &torn);
        if (result == MCDS_OK) {
            assert_true(commits < 8);
            mcds_close(torn);
        } else {
            assert_int_equal(result, MCDS_IO);
            assert_non_null(strstr(mcds_errmsg(), "mcds backup"));
            refused++;
        }
        remove_store(copy);
    }
    assert_true(refused >= COMMITS - 8);
}

/* As when the disk of the copy was full. What was lost is damage, not emptiness or death. */
static void a_copy_cut_short_does_no_harm(void **state)
{
    const struct fixture *fixture = *state;
    static uint8_t bytes[FILE_MAX];
    static char large[20000];
    memset(large, 'x', sizeof large - 1);
    mcds_store *store = open_store(fixture->file, "", NULL);
    fill_keys(store, 7);
    for (int i = 0; i < 30; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "large%d", i);
        assert_int_equal(put(store, MCDS_SET, key, large, 0).outcome, MCDS_OUT_OK);
    }
    mcds_close(store);
    size_t length = read_whole(fixture->file, bytes);
    int refused = 0;
    for (size_t cut = length - 1; cut > 2 * (size_t)PAGE; cut -= PAGE / 2) {
        struct stat status;
        write_whole(fixture->file, bytes, cut);
        if (try_open(fixture->file, "", NULL, &store) != MCDS_OK) {
            assert_non_null(strstr(mcds_errmsg(), "cut short"));
            assert_int_equal(stat(fixture->file, &status), 0);
            assert_int_equal(status.st_size, cut);
            refused++;
            continue;
        }
        /* What is missing is in use by nothing. */
        for (int i = 0; i < 30; i++) {
            char key[16];
            (void)snprintf(key, sizeof key, "large%d", i);
            assert_int_equal(fetch(store, key, NULL, 0).outcome, MCDS_OUT_OK);
            assert_int_equal(drop(store, key).outcome, MCDS_OUT_OK);
        }
        mcds_close(store);
    }
    assert_in_range(refused, length / PAGE, length / PAGE * 2);
    for (size_t cut = 2 * (size_t)PAGE; cut > 0; cut -= PAGE / 2) {
        write_whole(fixture->file, bytes, cut);
        assert_int_equal(try_open(fixture->file, "", NULL, &store), MCDS_IO);
        assert_non_null(strstr(mcds_errmsg(), "cut short"));
    }
}

static void assert_emptied_is_refused(const char *file)
{
    struct fake_env fake;
    struct stat status;
    mcds_store *store;
    fake_env_init(&fake, 1);
    assert_int_equal(truncate(file, 0), 0);
    assert_int_equal(try_open(file, "", &fake.env, &store), MCDS_IO);
    assert_non_null(strstr(mcds_errmsg(), "cut short to 0 bytes"));
    assert_int_equal(stat(file, &status), 0);
    assert_int_equal(status.st_size, 0);
}

/* Also after others were refused, and after PATH was removed and made again. */
static void an_emptied_file_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    for (int round = 0; round < 2; round++) {
        mcds_store *store = open_store(fixture->file, "", NULL);
        assert_int_equal(fetch(store, "k0", NULL, 0).outcome, MCDS_OUT_MISS);
        fill_keys(store, round);
        mcds_close(store);
        assert_emptied_is_refused(fixture->file);
        assert_emptied_is_refused(fixture->file);
        assert_int_equal(unlink(fixture->file), 0);
    }
}

static uint8_t copied[FILE_MAX];
static size_t copied_length;
static const char *copied_to;

static void copy_while_others_sleep(void *self, int64_t monotonic_ns)
{
    write_whole(copied_to, copied, copied_length);
    fake_env_sleep_until_ns(self, monotonic_ns);
}

/* The file that an opening finds empty is one that another process has just made. */
static void a_file_that_is_being_made_is_awaited(void **state)
{
    const struct fixture *fixture = *state;
    struct fake_env fake;
    mcds_store *store = open_store(fixture->file, "", NULL);
    fill_keys(store, 7);
    mcds_close(store);
    copied_length = read_whole(fixture->file, copied);
    copied_to = fixture->file;
    assert_int_equal(truncate(fixture->file, 0), 0);
    fake_env_init(&fake, 1);
    fake.env.sleep_until_ns = copy_while_others_sleep;
    store = open_store(fixture->file, "", &fake.env);
    assert_value(store, "k39", "7");
    mcds_close(store);
}

static bool dies_at_write;

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t at)
{
    if (dies_at_write)
        _exit(0);
    struct iovec part = {.iov_len = length};
    memcpy(&part.iov_base, &bytes, sizeof bytes);
    return pwritev(descriptor, &part, 1, at);
}

/* A process is killed before LMDB writes the first byte of a new file. */
static void a_creation_that_was_killed_is_done_again(void **state)
{
    const struct fixture *fixture = *state;
    struct stat status;
    int ended;
    write_whole(fixture->file, (const uint8_t *)"", 0);
    pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        mcds_store *store;
        dies_at_write = true;
        (void)try_open(fixture->file, "", NULL, &store);
        _exit(1);
    }
    assert_int_equal(waitpid(process, &ended, 0), process);
    assert_int_equal(ended, 0);
    assert_int_equal(stat(fixture->file, &status), 0);
    assert_int_equal(status.st_size, 0);
    mcds_store *store = open_store(fixture->file, "", NULL);
    fill_keys(store, 7);
    mcds_close(store);
}

/* Another process, with a pipe to it and one from it. */
struct other {
    pid_t process;
    int to;
    int from;
};

static struct other start_other(void (*live)(const char *file, int from, int to),
                                const char *file)
{
    int there[2];
    int back[2];
    assert_int_equal(pipe(there), 0);
    assert_int_equal(pipe(back), 0);
    struct other other = {fork(), there[1], back[0]};
    assert_true(other.process >= 0);
    if (other.process == 0) {
        (void)close(there[1]);
        (void)close(back[0]);
        live(file, there[0], back[1]);
        _exit(0);
    }
    (void)close(there[0]);
    (void)close(back[1]);
    return other;
}

/* Wait until it has done its next part. */
static void await_other(const struct other *other)
{
    char byte;
    assert_int_equal(read(other->from, &byte, 1), 1);
}

static void end_other(struct other *other)
{
    int status;
    if (other->process == 0)
        return;
    (void)close(other->to);
    (void)close(other->from);
    assert_int_equal(waitpid(other->process, &status, 0), other->process);
    assert_int_equal(status, 0);
    other->process = 0;
}

static struct other other;

/* A process that used the lock file while the first one, which made it ready, was killed: it
 * shares LMDB's lock, and the lock file counts no transactions. */
static void share_unfinished_lock(const char *file, int from, int to)
{
    char path[128];
    char byte;
    const size_t none = 0;
    struct flock shared = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    (void)snprintf(path, sizeof path, "%s-lock", file);
    int lock = open(path, O_RDWR | O_CLOEXEC);
    if (lock < 0 || fcntl(lock, F_SETLK, &shared) != 0 ||
        pwrite(lock, &none, sizeof none, (off_t)LAST_TXNID_AT) != sizeof none ||
        write(to, "r", 1) != 1)
        _exit(1);
    (void)read(from, &byte, 1);
}

static void sleep_until_other_ends(void *self, int64_t monotonic_ns)
{
    end_other(&other);
    fake_env_sleep_until_ns(self, monotonic_ns);
}

static void fill_and_share(const char *file)
{
    mcds_store *store = open_store(file, "?sync=async", NULL);
    fill_keys(store, 7);
    mcds_close(store);
    other = start_other(share_unfinished_lock, file);
    await_other(&other);
}

static void a_lock_file_that_a_killed_process_left_unfinished(void **state)
{
    const struct fixture *fixture = *state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    fill_and_share(fixture->file);
    fake.env.sleep_until_ns = sleep_until_other_ends;
    mcds_store *store = open_store(fixture->file, "?sync=async", &fake.env);
    assert_value(store, "k39", "7");
    fill_keys(store, 8);
    mcds_close(store);
    store = open_store(fixture->file, "?sync=async", NULL);
    assert_value(store, "k0", "8");
    mcds_close(store);
}

static void an_unfinished_lock_file_that_stays_in_use(void **state)
{
    const struct fixture *fixture = *state;
    struct fake_env fake;
    mcds_store *store;
    fake_env_init(&fake, 1);
    fill_and_share(fixture->file);
    assert_int_equal(try_open(fixture->file, "?sync=async", &fake.env, &store), MCDS_IO);
    assert_non_null(strstr(mcds_errmsg(), "end all that use it"));
    end_other(&other);
    store = open_store(fixture->file, "?sync=async", NULL);
    assert_value(store, "k39", "7");
    mcds_close(store);
}

static void grow_once(const char *file, int from, int to)
{
    static char large[20000];
    char byte;
    memset(large, 'x', sizeof large - 1);
    mcds_store *store = open_store(file, "?sync=async", NULL);
    fill_keys(store, 7);
    if (write(to, "r", 1) != 1 || read(from, &byte, 1) != 1)
        _exit(1);
    for (int i = 0; i < 30; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "large%d", i);
        (void)put(store, MCDS_SET, key, large, 0);
    }
    if (write(to, "g", 1) != 1)
        _exit(1);
    (void)read(from, &byte, 1);
    mcds_close(store);
}

static bool grows_at_read;

/* The other process extends the file before its meta page is read. */
ssize_t pread(int descriptor, void *out, size_t length, off_t at)
{
    if (grows_at_read && length > MCDS__GUARD_HEAD) {
        grows_at_read = false;
        assert_int_equal(write(other.to, "g", 1), 1);
        await_other(&other);
    }
    return preadv(descriptor, &(struct iovec){out, length}, 1, at);
}

static void a_file_that_grows_while_it_is_opened_is_whole(void **state)
{
    const struct fixture *fixture = *state;
    mcds_store *store;
    other = start_other(grow_once, fixture->file);
    await_other(&other);
    grows_at_read = true;
    store = open_store(fixture->file, "?sync=async", NULL);
    assert_false(grows_at_read);
    assert_value(store, "k39", "7");
    assert_int_equal(fetch(store, "large29", NULL, 0).outcome, MCDS_OUT_OK);
    mcds_close(store);
    end_other(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_are_not_told_again_after_a_crash),
        TEST(a_torn_copy_is_refused),
        TEST(a_copy_cut_short_does_no_harm),
        TEST(an_emptied_file_is_refused),
        TEST(a_file_that_is_being_made_is_awaited),
        TEST(a_creation_that_was_killed_is_done_again),
        TEST(a_lock_file_that_a_killed_process_left_unfinished),
        TEST(an_unfinished_lock_file_that_stays_in_use),
        TEST(a_file_that_grows_while_it_is_opened_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
