/* A program that does not run for longer than its timeouts, as on a loaded machine, and then
 * reads: replies that have arrived meanwhile count. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fixture.h"

#define NS_PER_S INT64_C(1000000000)
#define LOOKS_MAX 100

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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_made_by_a_program_that_is_late),
        cmocka_unit_test(an_answer_that_is_there_counts),
    };
    fixture = fixture_or_exit(argc, argv);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_stop(fixture);
    return failed;
}
