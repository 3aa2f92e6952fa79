/* Event loops and the clock. A program does not run for longer than its timeouts, as on a loaded
 * machine, and then reads: replies that have arrived meanwhile count. A program that sleeps until it
 * is told to look has something to do when it looks. */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fixture.h"
#include "support/server.h"

#define NS_PER_S INT64_C(1000000000)
#define LOOKS_MAX 100
/* Longer than an operation sleeps between two tries, and shorter than a server may take. */
#define SLEEP_NS (NS_PER_S / 5)

static struct fixture *fixture;
static mcds_env env;
static int64_t skipped_ns; /* of the monotonic clock */

static int64_t shifted_ns(void *self)
{
    (void)self;
    return mcds_env_system()->monotonic_ns(NULL) + skipped_ns;
}

static mcds_store *open_store(const char *options)
{
    char uri[1024];
    mcds_store *store = NULL;
    mcds_options given = MCDS_OPTIONS_INIT;
    env = *mcds_env_system();
    env.monotonic_ns = shifted_ns;
    given.env = &env;
    const char *servers = fixture_uri(fixture);
    (void)snprintf(uri, sizeof uri, "%.*s?%s", (int)strcspn(servers, "?"), servers, options);
    assert_int_equal(MCDS_OK, mcds_open(uri, &given, &store));
    return store;
}

/* Send what was started, wait for the server to answer, be away for so long, and look, until it has
 * ended. */
static int look_rarely(mcds_pipeline *pipeline, int64_t away_ns)
{
    mcds_completion done;
    for (int i = 0; i < LOOKS_MAX; i++) {
        mcds_wait wait = MCDS_WAIT_INIT;
        mcds_pipeline_prepare(pipeline, &wait);
        struct pollfd polled = {.fd = wait.fd, .events = POLLIN};
        assert_true(poll(&polled, 1, wait.timeout_ms) >= 0);
        skipped_ns += away_ns;
        int result = mcds_pipeline_poll(pipeline, &done);
        if (result != MCDS_PENDING)
            return result == MCDS_OK ? done.result : result;
    }
    return MCDS_PENDING;
}

static void a_connection_is_made_by_a_program_that_is_late(void **state)
{
    mcds_store *store = open_store("connect_timeout=10000&timeout=3600000");
    mcds_pipeline *pipeline;
    mcds_counter *counter;
    (void)state;
    assert_int_equal(MCDS_OK, mcds_pipeline_open(store, NULL, &pipeline));
    assert_int_equal(MCDS_OK, mcds_counter_open(store, "late connection", NULL, &counter));
    assert_int_equal(MCDS_OK, mcds_counter_add_start(counter, 1, NULL, pipeline, 0));
    int result = look_rarely(pipeline, 20 * NS_PER_S);
    if (result != MCDS_OK)
        fail_msg("%s", mcds_errmsg());
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
    mcds_close(store);
}

static void an_answer_that_is_there_counts(void **state)
{
    mcds_store *store = open_store("connect_timeout=10000&timeout=10000");
    mcds_pipeline *pipeline;
    mcds_counter *counter;
    (void)state;
    assert_int_equal(MCDS_OK, mcds_pipeline_open(store, NULL, &pipeline));
    assert_int_equal(MCDS_OK, mcds_counter_open(store, "late answer", NULL, &counter));
    for (int64_t away_ns = 0; away_ns <= 20 * NS_PER_S; away_ns += 20 * NS_PER_S) {
        assert_int_equal(MCDS_OK, mcds_counter_add_start(counter, 1, NULL, pipeline, 0));
        int result = look_rarely(pipeline, away_ns);
        if (result != MCDS_OK)
            fail_msg("%s", mcds_errmsg());
    }
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
    mcds_close(store);
}

/* Run the loop of mcds/poll.h until the operation has ended. A short sleep takes no time: the clock
 * advances. Returns the turns that began with a time which had passed, as the turn before. */
static uint32_t count_idle_turns(mcds_pipeline *pipeline, int *result)
{
    mcds_completion done;
    uint32_t idle = 0;
    int64_t passed_ns = 0;
    while ((*result = mcds_pipeline_poll(pipeline, &done)) == MCDS_PENDING) {
        mcds_wait wait = MCDS_WAIT_INIT;
        mcds_pipeline_prepare(pipeline, &wait);
        int64_t left_ns = wait.wake_ns - shifted_ns(NULL);
        idle += wait.wake_ns > 0 && wait.wake_ns == passed_ns;
        passed_ns = left_ns <= 0 ? wait.wake_ns : 0;
        struct pollfd polled = {.fd = wait.fd, .events = POLLIN};
        if (left_ns > SLEEP_NS)
            assert_true(poll(&polled, 1, wait.timeout_ms) >= 0);
        else if (left_ns > 0)
            skipped_ns += left_ns;
    }
    *result = *result == MCDS_OK ? done.result : *result;
    return idle;
}

static void a_loop_sleeps_while_its_operation_sleeps(void **state)
{
    mcds_store *store = open_store("connect_timeout=1000&timeout=5000");
    mcds_pipeline *pipeline;
    mcds_lock *lock;
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    mcds_lease held = MCDS_LEASE_INIT;
    mcds_lease wanted = MCDS_LEASE_INIT;
    int result;
    (void)state;
    assert_int_equal(MCDS_OK, mcds_pipeline_open(store, NULL, &pipeline));
    options.lease_ms = 60000;
    assert_int_equal(MCDS_OK, mcds_lock_open(store, "a loop", &options, &lock));
    assert_int_equal(MCDS_OK, mcds_lock_try_acquire(lock, &held));
    assert_int_equal(MCDS_OK, mcds_lock_acquire_start(lock, 20000, &wanted, pipeline, 0));
    uint32_t idle = count_idle_turns(pipeline, &result);
    assert_int_equal(MCDS_BUSY, result);
    assert_int_equal(0, idle);
    mcds_pipeline_close(pipeline);
    assert_int_equal(MCDS_OK, mcds_lock_release(lock, &held));
    mcds_lock_close(lock);
    mcds_close(store);
}

/* The child has the connection open that the parent closes. */
static void a_loop_sleeps_while_the_server_of_a_forked_program_is_down(void **state)
{
    struct server server = {0};
    char servers[256];
    char uri[300];
    mcds_store *store = NULL;
    mcds_pipeline *pipeline;
    mcds_counter *counter;
    mcds_completion done;
    (void)state;
    assert_true(server_start_memcached_unix(&server));
    server_uri(&server, servers, sizeof servers);
    (void)snprintf(uri, sizeof uri, "%s?connect_timeout=500&timeout=500", servers);
    assert_int_equal(MCDS_OK, mcds_open(uri, NULL, &store));
    assert_int_equal(MCDS_OK, mcds_pipeline_open(store, NULL, &pipeline));
    assert_int_equal(MCDS_OK, mcds_counter_open(store, "forked", NULL, &counter));
    assert_int_equal(MCDS_OK, mcds_counter_add(counter, 1, NULL));
    assert_true(server_pause(&server));
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    assert_int_equal(MCDS_OK, mcds_counter_get_start(counter, &value, pipeline, 0));
    mcds_wait wait = MCDS_WAIT_INIT;
    mcds_pipeline_prepare(pipeline, &wait); /* which watches the connection */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    server_kill(&server);
    uint32_t readable = 0;
    while (mcds_pipeline_poll(pipeline, &done) == MCDS_PENDING) {
        mcds_pipeline_prepare(pipeline, &wait);
        struct pollfd polled = {.fd = wait.fd, .events = POLLIN};
        readable += poll(&polled, 1, wait.timeout_ms) > 0;
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(done.result < 0);
    if (readable > LOOKS_MAX)
        fail_msg("the file descriptor was readable %u times", readable);
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
    mcds_close(store);
    server_stop(&server);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_made_by_a_program_that_is_late),
        cmocka_unit_test(an_answer_that_is_there_counts),
        cmocka_unit_test(a_loop_sleeps_while_its_operation_sleeps),
        cmocka_unit_test(a_loop_sleeps_while_the_server_of_a_forked_program_is_down),
    };
    fixture = fixture_or_exit(argc, argv);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_stop(fixture);
    return failed;
}
