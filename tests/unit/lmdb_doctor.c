/* The findings of the lmdb: backend about its files. This program intercepts the system call
 * that reports the kind of file system. */
#include "support/lmdb_fixture.h"

#include <lmdb.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#define NOBODY 65534
#define OLD_READER 1200
#define NFS 0x6969
#define OVERLAY 0x794c7630

static long kind; /* 0: as the system says */

int fstatfs(int descriptor, struct statfs *status)
{
    int result = (int)syscall(SYS_fstatfs, descriptor, status);
    if (result == 0 && kind != 0)
        status->f_type = (__typeof__(status->f_type))kind;
    return result;
}

static bool problem_with(void *context, const mcds_finding *finding)
{
    struct sought *sought = context;
    if (finding->severity != MCDS_PROBLEM || strstr(finding->what, sought->word) == NULL)
        return true;
    assert_string_not_equal(finding->fix, "");
    (void)snprintf(sought->sentence, sizeof sought->sentence, "%s: %s", finding->subject,
                   finding->what);
    return false;
}

/* The problem with `word` in it, or "". */
static const char *find_problem(mcds_store *store, const char *word, struct sought *sought)
{
    *sought = (struct sought){.word = word};
    assert_int_equal(mcds_inspect(store, problem_with, sought), MCDS_OK);
    return sought->sentence;
}

static void a_sound_store_has_no_problem(void **state)
{
    const struct fixture *fixture = *state;
    struct sought sought;
    mcds_store *store = open_store(fixture->file, "", NULL);
    assert_string_equal(find_problem(store, "", &sought), "");
    assert_string_not_equal(find_finding(store, "sync=full", &sought), "");
    assert_string_not_equal(find_finding(store, "mode 0600", &sought), "");
    assert_string_not_equal(find_finding(store, "pid namespace", &sought), "");
    assert_string_not_equal(find_finding(store, "MiB left", &sought), "");
    mcds_close(store);
    store = open_store(fixture->file, "?sync=async", NULL);
    assert_string_not_equal(find_finding(store, "sync=async", &sought), "");
    mcds_close(store);
}

/* The figure of this name, added over all findings. */
static bool add_commits(void *context, const mcds_finding *finding)
{
    uint64_t *sum = context;
    if (finding->figure != NULL && strcmp(finding->figure, "commits") == 0) {
        assert_int_equal(finding->severity, MCDS_FACT);
        *sum += finding->number;
    }
    return true;
}

static void commits_are_counted(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t before = 0;
    uint64_t after = 0;
    int64_t value;
    mcds_counter *counter;
    mcds_store *store = open_store(fixture->file, "", NULL);
    assert_int_equal(mcds_counter_open(store, "hits", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_inspect(store, add_commits, &before), MCDS_OK);
    for (int i = 0; i < 5; i++)
        assert_int_equal(mcds_counter_add(counter, 1, &value), MCDS_OK);
    assert_int_equal(mcds_inspect(store, add_commits, &after), MCDS_OK);
    assert_true(after >= before + 5);
    mcds_counter_close(counter);
    mcds_close(store);
}

static void files_that_others_may_write_are_a_problem(void **state)
{
    const struct fixture *fixture = *state;
    struct sought sought;
    char lock[128];
    mcds_store *store = open_store(fixture->file, "?mode=0660", NULL);
    mcds_close(store);
    store = open_store(fixture->file, "", NULL);
    assert_non_null(strstr(find_problem(store, "may write", &sought), "0660"));
    assert_int_equal(chmod(fixture->file, 0600), 0);
    (void)snprintf(lock, sizeof lock, "%s-lock", fixture->file);
    assert_int_equal(chmod(lock, 0606), 0);
    (void)strncat(lock, ": other users", sizeof lock - strlen(lock) - 1);
    assert_non_null(strstr(find_problem(store, "0606", &sought), lock));
    assert_int_equal(chmod(fixture->directory, 0777), 0);
    assert_string_not_equal(find_problem(store, "directory", &sought), "");
    mcds_close(store);
}

static void a_group_that_the_uri_asks_for_is_advice(void **state)
{
    const struct fixture *fixture = *state;
    struct sought sought;
    mcds_store *store = open_store(fixture->file, "?mode=0660", NULL);
    assert_string_equal(find_problem(store, "", &sought), "");
    assert_string_not_equal(find_finding(store, "asks with mode=0660", &sought), "");
    assert_int_equal(chmod(fixture->file, 0662), 0);
    assert_non_null(strstr(find_problem(store, "may write", &sought), "0662"));
    mcds_close(store);
    assert_int_equal(chmod(fixture->file, 0660), 0);
    store = open_store(fixture->file, "?mode=0660&create=0", NULL);
    assert_string_equal(find_problem(store, "", &sought), "");
    mcds_close(store);
    store = open_store(fixture->file, "?mode=0666", NULL);
    assert_int_equal(chmod(fixture->file, 0666), 0);
    assert_non_null(strstr(find_problem(store, "may write", &sought), "0666"));
    mcds_close(store);
}

static void a_mode_of_a_file_that_exists_is_advice(void **state)
{
    const struct fixture *fixture = *state;
    struct sought sought;
    mcds_close(open_store(fixture->file, "", NULL));
    mcds_store *store = open_store(fixture->file, "?mode=0660", NULL);
    assert_non_null(strstr(find_finding(store, "is for a new file", &sought), "mode 0600"));
    assert_int_equal(chmod(fixture->file, 0660), 0);
    assert_string_equal(find_finding(store, "is for a new file", &sought), "");
    mcds_close(store);
}

static void a_file_of_another_user_is_a_problem(void **state)
{
    const struct fixture *fixture = *state;
    struct sought sought;
    mcds_store *store = open_store(fixture->file, "", NULL);
    if (chown(fixture->file, NOBODY, NOBODY) != 0) {
        mcds_close(store);
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    assert_string_not_equal(find_problem(store, "belongs to user 65534", &sought), "");
    mcds_close(store);
}

static void a_network_file_system_is_a_problem(void **state)
{
    const struct fixture *fixture = *state;
    struct sought sought;
    mcds_store *store = open_store(fixture->file, "", NULL);
    kind = OVERLAY;
    assert_string_equal(find_problem(store, "network", &sought), "");
    kind = NFS;
    assert_string_not_equal(find_problem(store, "network", &sought), "");
    kind = 0;
    mcds_close(store);
}

/* A program that reads through LMDB until it is killed. */
static void read_in_child(const char *file, int ready)
{
    MDB_env *env;
    MDB_txn *txn;
    if (mdb_env_create(&env) == 0 && mdb_env_set_maxreaders(env, 1024) == 0 &&
        mdb_env_open(env, file, MDB_NOSUBDIR, 0600) == 0 &&
        mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0 && write(ready, "r", 1) == 1)
        (void)pause();
    _exit(1);
}

static void who_reads_for_long_is_a_problem(void **state)
{
    const struct fixture *fixture = *state;
    struct sought sought;
    int ready[2];
    char byte;
    char process[32];
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    (void)add_number(store, "n", 1);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        read_in_child(fixture->file, ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)snprintf(process, sizeof process, "process %d ", (int)child);
    for (int i = 0; i < OLD_READER; i++) {
        if (i == 10) {
            assert_string_not_equal(find_finding(store, process, &sought), "");
            assert_string_equal(find_problem(store, process, &sought), "");
        }
        assert_int_equal(add_number(store, "n", 1).outcome, MCDS_OUT_OK);
    }
    assert_non_null(strstr(find_problem(store, process, &sought), "1200 transactions"));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_string_equal(find_problem(store, process, &sought), "");
    (void)close(ready[0]);
    (void)close(ready[1]);
    mcds_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sound_store_has_no_problem),
        TEST(commits_are_counted),
        TEST(files_that_others_may_write_are_a_problem),
        TEST(a_mode_of_a_file_that_exists_is_advice),
        TEST(a_group_that_the_uri_asks_for_is_advice),
        TEST(a_file_of_another_user_is_a_problem),
        TEST(a_network_file_system_is_a_problem),
        TEST(who_reads_for_long_is_a_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
