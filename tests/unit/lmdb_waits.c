/* The lmdb: backend: while a thread waits for another process to open a file, other threads open and
 * close stores and fork. */
#include "support/lmdb_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PATIENCE_S 20 /* a test that waits longer is killed */

/* A thread that opens the file; its environment does not return from the first sleep before the
 * test lets it. */
struct opener {
    const char *file;
    mcds_env env;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool sleeps;
    bool may_go_on;
    mcds_store *store;
    int result;
};

static void sleep_as_told(void *self, int64_t monotonic_ns)
{
    struct opener *opener = self;
    const mcds_env *system = mcds_env_system();
    (void)pthread_mutex_lock(&opener->mutex);
    opener->sleeps = true;
    (void)pthread_cond_broadcast(&opener->changed);
    while (!opener->may_go_on)
        (void)pthread_cond_wait(&opener->changed, &opener->mutex);
    (void)pthread_mutex_unlock(&opener->mutex);
    system->sleep_until_ns(system->self, monotonic_ns);
}

static void *open_in_thread(void *argument)
{
    struct opener *opener = argument;
    opener->result = try_open(opener->file, "", &opener->env, &opener->store);
    return NULL;
}

/* On return the thread waits. */
static pthread_t begin_to_open(struct opener *opener, const char *file)
{
    pthread_t thread;
    *opener = (struct opener){.file = file, .env = *mcds_env_system()};
    opener->env.self = opener;
    opener->env.sleep_until_ns = sleep_as_told;
    assert_int_equal(pthread_mutex_init(&opener->mutex, NULL), 0);
    assert_int_equal(pthread_cond_init(&opener->changed, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, open_in_thread, opener), 0);
    (void)pthread_mutex_lock(&opener->mutex);
    while (!opener->sleeps)
        (void)pthread_cond_wait(&opener->changed, &opener->mutex);
    (void)pthread_mutex_unlock(&opener->mutex);
    return thread;
}

static void finish_to_open(struct opener *opener, pthread_t thread)
{
    (void)pthread_mutex_lock(&opener->mutex);
    opener->may_go_on = true;
    (void)pthread_cond_broadcast(&opener->changed);
    (void)pthread_mutex_unlock(&opener->mutex);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(opener->result, MCDS_OK);
    (void)pthread_cond_destroy(&opener->changed);
    (void)pthread_mutex_destroy(&opener->mutex);
}

/* A process that has locked the first byte of a file, and is stopped. */
static pid_t stop_a_locker(const char *file, const char *ending, int command)
{
    char path[128];
    int status;
    (void)snprintf(path, sizeof path, "%s%s", file, ending);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        int descriptor = open(path, O_RDWR | O_CLOEXEC);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test is killed */
        if (descriptor < 0 || fcntl(descriptor, command, &lock) != 0)
            _exit(1);
        (void)raise(SIGSTOP);
        _exit(2);
    }
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    return child;
}

/* It has the lock of the first one to open the file. */
static pid_t stop_a_first_opener(const char *file)
{
    return stop_a_locker(file, "-writer", F_OFD_SETLK);
}

static void end_first_opener(pid_t child)
{
    int status;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static int count_up(const char *file)
{
    mcds_store *store;
    if (try_open(file, "", NULL, &store) != MCDS_OK) {
        print_error("%s\n", mcds_errmsg());
        return 1;
    }
    bool has_counted = add_number(store, "n", 1).outcome == MCDS_OUT_OK;
    mcds_close(store);
    return has_counted ? 0 : 2;
}

static void open_and_close_memory(void)
{
    mcds_store *named;
    mcds_store *own;
    assert_int_equal(mcds_open("memory:waits", NULL, &named), MCDS_OK);
    assert_int_equal(mcds_open("memory:", NULL, &own), MCDS_OK);
    mcds_close(own);
    mcds_close(named);
}

static void other_stores_do_not_wait_for_an_opener(void **state)
{
    struct fixture *fixture = *state;
    struct fixture *other;
    struct opener opener;
    mcds_store *second;
    (void)alarm(PATIENCE_S);
    assert_int_equal(fixture_make((void **)&other), 0);
    assert_int_equal(count_up(fixture->file), 0);
    mcds_store *first = open_store(other->file, "", NULL);
    pid_t stopped = stop_a_first_opener(fixture->file);
    pthread_t thread = begin_to_open(&opener, fixture->file);
    open_and_close_memory();
    second = open_store(other->file, "", NULL);
    mcds_close(first);
    mcds_close(second); /* the last one: the file is closed */
    end_first_opener(stopped);
    finish_to_open(&opener, thread);
    assert_int_equal(add_number(opener.store, "n", 1).number, 2);
    mcds_close(opener.store);
    assert_int_equal(fixture_remove((void **)&other), 0);
    (void)alarm(0);
}

/* The child works with each kind of store, also with the file that a thread of its parent opens. */
static void a_fork_does_not_wait_for_an_opener(void **state)
{
    struct fixture *fixture = *state;
    struct opener opener;
    int status;
    (void)alarm(PATIENCE_S);
    assert_int_equal(count_up(fixture->file), 0);
    pid_t stopped = stop_a_first_opener(fixture->file);
    pthread_t thread = begin_to_open(&opener, fixture->file);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(PATIENCE_S);
        open_and_close_memory();
        (void)kill(stopped, SIGKILL);
        int failed = count_up(fixture->file);
        _exit(failed != 0 ? failed : count_up(fixture->file));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    end_first_opener(stopped);
    finish_to_open(&opener, thread);
    assert_int_equal(add_number(opener.store, "n", 1).number, 4);
    mcds_close(opener.store);
    (void)alarm(0);
}

/* The sync of a last close, which waits for another thread to open the file. */
static struct {
    const char *file;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_armed;
    bool syncs;
    bool is_open;
    bool was_open; /* before the sync had ended */
} slow = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void note(bool *what)
{
    (void)pthread_mutex_lock(&slow.mutex);
    *what = true;
    (void)pthread_cond_broadcast(&slow.changed);
    (void)pthread_mutex_unlock(&slow.mutex);
}

/* LMDB calls this one. */
int fdatasync(int descriptor)
{
    struct timespec until;
    (void)pthread_mutex_lock(&slow.mutex);
    if (slow.is_armed) {
        slow.is_armed = false;
        slow.syncs = true;
        (void)pthread_cond_broadcast(&slow.changed);
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        while (!slow.is_open && pthread_cond_timedwait(&slow.changed, &slow.mutex, &until) == 0)
            continue;
        slow.was_open = slow.is_open;
    }
    (void)pthread_mutex_unlock(&slow.mutex);
    return (int)syscall(SYS_fdatasync, descriptor);
}

static void *open_while_it_closes(void *argument)
{
    mcds_store *store;
    (void)pthread_mutex_lock(&slow.mutex);
    while (!slow.syncs)
        (void)pthread_cond_wait(&slow.changed, &slow.mutex);
    (void)pthread_mutex_unlock(&slow.mutex);
    if (try_open(slow.file, "", NULL, &store) != MCDS_OK)
        return argument;
    note(&slow.is_open);
    mcds_close(store);
    return NULL;
}

/* LMDB must not have a file open twice in a process: its locks end when one of its descriptors is
 * closed. */
static void a_file_is_closed_before_it_is_opened_again(void **state)
{
    struct fixture *fixture = *state;
    pthread_t thread;
    void *failed;
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    assert_int_equal(add_number(store, "n", 1).number, 1);
    slow.file = fixture->file;
    assert_int_equal(pthread_create(&thread, NULL, open_while_it_closes, &slow), 0);
    note(&slow.is_armed);
    mcds_close(store);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_true(slow.syncs && slow.is_open);
    assert_false(slow.was_open);
}

/* Time that passes only in sleeps. */
static int64_t slept_ns;

static int64_t slept_monotonic_ns(void *self)
{
    (void)self;
    return slept_ns;
}

static void sleep_at_once(void *self, int64_t monotonic_ns)
{
    (void)self;
    if (monotonic_ns > slept_ns)
        slept_ns = monotonic_ns;
}

/* LMDB has locked the file in a process that opens it first or closes it last. */
static void a_stopped_process_ends_an_open(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store;
    mcds_env env = *mcds_env_system();
    env.monotonic_ns = slept_monotonic_ns;
    env.sleep_until_ns = sleep_at_once;
    (void)alarm(PATIENCE_S);
    assert_int_equal(count_up(fixture->file), 0);
    pid_t stopped = stop_a_locker(fixture->file, "-lock", F_SETLK);
    assert_int_equal(try_open(fixture->file, "", &env, &store), MCDS_IO);
    assert_non_null(strstr(mcds_errmsg(), "while another process had the file"));
    assert_true(slept_ns <= 20 * INT64_C(1000000000));
    end_first_opener(stopped);
    assert_int_equal(count_up(fixture->file), 0);
    (void)alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(other_stores_do_not_wait_for_an_opener),
        TEST(a_fork_does_not_wait_for_an_opener),
        TEST(a_file_is_closed_before_it_is_opened_again),
        TEST(a_stopped_process_ends_an_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
