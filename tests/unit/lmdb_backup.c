/* A copy of a store while others write it. */
#include "support/lmdb_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/fake_env.h"

#define KEYS 50
#define COPIES 20
#define LARGE (512 << 10)
#define LARGE_COUNT 64

static char copy[128];

static int make(void **state)
{
    int result = fixture_make(state);
    const struct fixture *fixture = *state;
    (void)snprintf(copy, sizeof copy, "%s-copy", fixture->file);
    return result;
}

static void remove_copy(void)
{
    static const char *const suffixes[] = {"", "-lock", "-writer"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char path[160];
        (void)snprintf(path, sizeof path, "%s%s", copy, suffixes[i]);
        (void)unlink(path);
    }
}

static int finish(void **state)
{
    remove_copy();
    return fixture_remove(state);
}

struct writing {
    mcds_store *store;
    _Atomic bool over;
};

/* All keys in one batch, which is one commit: a copy has the same number under each. */
static void *write_until_over(void *context)
{
    struct writing *writing = context;
    mcds_request requests[KEYS];
    char keys[KEYS][8];
    while (!writing->over) {
        for (int i = 0; i < KEYS; i++) {
            (void)snprintf(keys[i], sizeof keys[i], "k%d", i);
            requests[i] = (mcds_request){.command = MCDS_INCR,
                                         .options = MCDS_CREATE,
                                         .key = text(keys[i]),
                                         .delta = 1,
                                         .initial = 1};
        }
        run(writing->store, requests, KEYS, NULL);
    }
    return NULL;
}

static void assert_of_one_moment(uint64_t at_least)
{
    mcds_store *store = open_store(copy, "", NULL);
    uint64_t number = add_number(store, "k0", 0).number;
    assert_true(number >= at_least);
    for (int i = 1; i < KEYS; i++) {
        char key[8];
        (void)snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(add_number(store, key, 0).number, number);
    }
    mcds_close(store);
}

static void a_copy_is_of_one_moment(void **state)
{
    const struct fixture *fixture = *state;
    pthread_t thread;
    struct writing writing = {.store = open_store(fixture->file, "?sync=async", NULL)};
    mcds_store *reader = open_store(fixture->file, "?sync=async", NULL);
    assert_int_equal(pthread_create(&thread, NULL, write_until_over, &writing), 0);
    while (fetch(reader, "k0", NULL, 0).outcome != MCDS_OUT_OK)
        (void)sched_yield();
    for (int i = 0; i < COPIES; i++) {
        char number[32];
        assert_int_equal(fetch(reader, "k0", number, sizeof number).outcome, MCDS_OUT_OK);
        assert_int_equal(mcds_backup(reader, copy), MCDS_OK);
        assert_of_one_moment(strtoull(number, NULL, 10));
        remove_copy();
    }
    writing.over = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    mcds_close(reader);
    mcds_close(writing.store);
}

static void a_copy_is_a_store_of_its_own(void **state)
{
    const struct fixture *fixture = *state;
    struct stat status;
    mcds_store *store = open_store(fixture->file, "?mode=0660", NULL);
    mcds_cas_token token = put(store, MCDS_SET, "k", "v", 0).cas;
    mode_t mask = umask(0777);
    assert_int_equal(mcds_backup(store, copy), MCDS_OK);
    (void)umask(mask);
    assert_int_equal(stat(copy, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    mcds_store *other = open_store(copy, "", NULL);
    assert_value(other, "k", "v");
    mcds_request cas = {
        .command = MCDS_CAS, .key = text("k"), .value = text("w"), .cas = token};
    assert_int_equal(run_one(other, cas).outcome, MCDS_OUT_EXISTS);
    assert_value(other, "k", "v");
    mcds_close(other);
    mcds_close(store);
}

static void a_copy_overwrites_nothing(void **state)
{
    const struct fixture *fixture = *state;
    mcds_store *memory;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "k", "v", 0);
    assert_int_equal(mcds_backup(store, copy), MCDS_OK);
    assert_int_equal(mcds_backup(store, copy), MCDS_IO);
    assert_non_null(strstr(mcds_errmsg(), "exists already"));
    assert_int_equal(mcds_backup(store, fixture->file), MCDS_IO);
    assert_int_equal(mcds_backup(store, ""), MCDS_INVALID);
    assert_int_equal(mcds_backup(NULL, copy), MCDS_INVALID);
    assert_value(store, "k", "v");
    mcds_close(store);
    assert_int_equal(mcds_open("memory:", NULL, &memory), MCDS_OK);
    assert_int_equal(mcds_backup(memory, copy), MCDS_UNSUPPORTED);
    mcds_close(memory);
}

/* Private memory of this process, as the limit counts it. */
static rlim_t data_bytes(void)
{
    char line[256];
    unsigned long kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        (void)sscanf(line, "VmData: %lu kB", &kilobytes);
    if (status != NULL)
        (void)fclose(status);
    return (rlim_t)kilobytes << 10;
}

static int copy_within(const char *path, rlim_t more)
{
    mcds_store *store;
    if (try_open(path, "", NULL, &store) != MCDS_OK)
        return 1;
    struct rlimit limit = {data_bytes() + more, data_bytes() + more};
    if (setrlimit(RLIMIT_DATA, &limit) != 0 || malloc(2 * more) != NULL)
        return 77;
    return mcds_backup(store, copy) == MCDS_OK ? 0 : 2;
}

/* What it reads is mapped: the system takes that memory back whenever it needs it. */
static void a_copy_takes_no_memory_by_its_length(void **state)
{
    static char value[LARGE];
    const struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    char key[16];
    int status;
    memset(value, 'v', sizeof value - 1);
    for (int i = 0; i < LARGE_COUNT; i++) {
        (void)snprintf(key, sizeof key, "large%d", i);
        assert_int_equal(put(store, MCDS_SET, key, value, 0).outcome, MCDS_OUT_OK);
    }
    mcds_close(store);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("skipped: a sanitizer takes more memory than is allowed here\n");
    skip();
#endif
    pid_t child = fork();
    if (child == 0)
        _exit(copy_within(fixture->file, LARGE * LARGE_COUNT / 8));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skipped: memory cannot be limited here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int draws_left; /* in the child, until it dies */

static void draw_and_die(void *self, void *out, size_t length)
{
    if (draws_left > 0 && --draws_left == 0)
        (void)raise(SIGKILL);
    fake_env_random(self, out, length);
}

/* Of a file of the directory that is no part of the store: the partial copy. */
static void remove_partial(const struct fixture *fixture)
{
    DIR *directory = opendir(fixture->directory);
    assert_non_null(directory);
    int count = 0;
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory))
        if (strncmp(entry->d_name, "store-copy.", 11) == 0) {
            assert_int_equal(unlinkat(dirfd(directory), entry->d_name, 0), 0);
            count++;
        }
    assert_int_equal(closedir(directory), 0);
    assert_int_equal(count, 1);
}

/* A copy draws its partial name first, and its identity when its pages are complete. */
static void a_copy_that_was_interrupted_has_no_name(void **state)
{
    const struct fixture *fixture = *state;
    struct fake_env fake;
    mcds_store *store;
    int status;
    fake_env_init(&fake, 1);
    fake.env.random = draw_and_die;
    store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "k", "v", 0);
    mcds_close(store);
    pid_t child = fork();
    if (child == 0) {
        if (try_open(fixture->file, "", &fake.env, &store) != MCDS_OK)
            _exit(1);
        draws_left = 2;
        _exit(mcds_backup(store, copy) == MCDS_OK ? 2 : 3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(access(copy, F_OK), -1);
    remove_partial(fixture);
    store = open_store(fixture->file, "", NULL);
    assert_int_equal(mcds_backup(store, copy), MCDS_OK);
    mcds_close(store);
}

static void a_full_store_can_be_copied(void **state)
{
    const struct fixture *fixture = *state;
    static char large[100000];
    memset(large, 'x', sizeof large - 1);
    mcds_store *store = open_store(fixture->file, "?sync=async&map_max=1048576", NULL);
    mcds_outcome outcome = MCDS_OUT_OK;
    int count = 0;
    for (; outcome == MCDS_OUT_OK; count++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%d", count);
        outcome = put(store, MCDS_SET, key, large, 0).outcome;
    }
    assert_int_equal(outcome, MCDS_OUT_NO_MEMORY);
    assert_int_equal(mcds_backup(store, copy), MCDS_OK);
    mcds_close(store);
    store = open_store(copy, "", NULL);
    assert_int_equal(fetch(store, "k0", NULL, 0).value_length, sizeof large - 1);
    mcds_close(store);
}

/* In a child whose files may not pass a size, as on a full disk. */
static int copy_within_a_limit(const char *file)
{
    mcds_store *store;
    struct rlimit limit = {16384, 16384};
    if (try_open(file, "", NULL, &store) != MCDS_OK || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    if (mcds_backup(store, copy) == MCDS_OK)
        return 2;
    return access(copy, F_OK) != 0 ? 0 : 3;
}

static void what_does_not_fit_leaves_no_copy(void **state)
{
    const struct fixture *fixture = *state;
    static char large[100000];
    memset(large, 'x', sizeof large - 1);
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "k", large, 0);
    mcds_close(store);
    pid_t child = fork();
    if (child == 0)
        _exit(copy_within_a_limit(fixture->file));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define BACKUP_TEST(name) cmocka_unit_test_setup_teardown(name, make, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BACKUP_TEST(a_copy_is_of_one_moment),
        BACKUP_TEST(a_copy_is_a_store_of_its_own),
        BACKUP_TEST(a_copy_overwrites_nothing),
        BACKUP_TEST(a_copy_takes_no_memory_by_its_length),
        BACKUP_TEST(a_copy_that_was_interrupted_has_no_name),
        BACKUP_TEST(a_full_store_can_be_copied),
        BACKUP_TEST(what_does_not_fit_leaves_no_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
