/* A program with a mistake, to show that the simulator finds and minimizes it: repeating an
 * increment whose reply was lost may count twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcds.h"
#include "sim/play.h"

#define CLIENTS_MAX 3
#define CLIENTS play_clients(CLIENTS_MAX)
#define ADDS 10

struct adder {
    mcds_counter *counter;
    uint32_t left;
    int64_t *added;
};

static void add(struct adder *adder, mcds_sim_client *client)
{
    assert_int_equal(
        mcds_counter_add_start(adder->counter, 1, NULL, mcds_sim_client_pipeline(client), 0),
        MCDS_OK);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct adder *adder = context;
    if (done != NULL && done->result == MCDS_AMBIGUOUS) {
        add(adder, client);
        return;
    }
    *adder->added += done != NULL && done->result == MCDS_OK;
    if (adder->left > 0) {
        adder->left--;
        add(adder, client);
    }
}

static bool run(mcds_sim_options options)
{
    struct adder adders[CLIENTS_MAX];
    mcds_sim *sim;
    mcds_sim_client *client;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t added = 0;
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        adders[i] = (struct adder){NULL, play_calls(ADDS), &added};
        assert_int_equal(mcds_sim_client_add(sim, program, &adders[i], &client), MCDS_OK);
        assert_int_equal(
            mcds_counter_open(mcds_sim_client_store(client), "hits", NULL, &adders[i].counter),
            MCDS_OK);
    }
    bool fine = mcds_sim_run(sim, 100000) == MCDS_OK;
    mcds_sim_calm(sim);
    (void)!mcds_counter_get(adders[0].counter, &value);
    fine = fine && value.value == added;
    if (!fine)
        (void)report(sim, options.seed, "counted twice");
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_counter_close(adders[i].counter);
    play_close(sim);
    return fine;
}

static void an_add_counts_once(void **state)
{
    (void)state;
    PLAY (seed, 1000)
        assert_true(run(network_faults(seed)));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_add_counts_once),
};

PLAY_MAIN("flawed")
