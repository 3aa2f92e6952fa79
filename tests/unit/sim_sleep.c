/* Clients of a simulated world that sleep for ever, or nearly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mcds/sim.h"

#define SECOND_NS INT64_C(1000000000)
#define LATEST_NS (INT64_C(1) << 62)
#define EVENTS_MAX 1000

enum { FIRST = 1, FOR_EVER, SOON, AFTERWARDS };

struct sleeper {
    mcds_sim *sim;
    uint64_t woke[4];
    int64_t at_ns[4];
    int count;
};

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct sleeper *sleeper = context;
    if (done == NULL) {
        assert_int_equal(mcds_sim_client_sleep(client, SECOND_NS, FIRST), MCDS_OK);
        return;
    }
    assert_int_equal(done->result, MCDS_OK);
    assert_true(sleeper->count < 4);
    sleeper->at_ns[sleeper->count] = mcds_sim_now_ns(sleeper->sim);
    sleeper->woke[sleeper->count++] = done->tag;
    if (done->tag == FIRST) {
        assert_int_equal(mcds_sim_client_sleep(client, INT64_MAX, FOR_EVER), MCDS_OK);
        assert_int_equal(mcds_sim_client_sleep(client, 5 * SECOND_NS, SOON), MCDS_OK);
    } else if (done->tag == FOR_EVER) {
        assert_int_equal(mcds_sim_client_sleep(client, INT64_MAX, AFTERWARDS), MCDS_OK);
    }
}

static void the_longest_sleep_is_the_last(void **state)
{
    (void)state;
    struct sleeper sleeper = {.count = 0};
    mcds_sim_options options = MCDS_SIM_OPTIONS_INIT;
    mcds_sim_client *client;
    assert_int_equal(mcds_sim_open(&options, &sleeper.sim), MCDS_OK);
    assert_int_equal(mcds_sim_client_add(sleeper.sim, program, &sleeper, &client), MCDS_OK);
    assert_int_equal(mcds_sim_run(sleeper.sim, EVENTS_MAX), MCDS_OK);
    assert_int_equal(sleeper.count, 4);
    assert_int_equal(sleeper.woke[0], FIRST);
    assert_int_equal(sleeper.woke[1], SOON);
    assert_int_equal(sleeper.woke[2], FOR_EVER);
    assert_int_equal(sleeper.woke[3], AFTERWARDS);
    assert_int_equal(sleeper.at_ns[1], sleeper.at_ns[0] + 5 * SECOND_NS);
    assert_int_equal(sleeper.at_ns[2], LATEST_NS);
    assert_int_equal(sleeper.at_ns[3], LATEST_NS);
    assert_true(mcds_sim_client_ns(client) > LATEST_NS);
    mcds_sim_close(sleeper.sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_sleep_is_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
