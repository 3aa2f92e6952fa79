/* Histories of the simulated world: whatever is lost, there is an order of the calls on one
 * object in which each takes effect at one moment between its start and its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "sim/play.h"
#include "support/history.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define IN_FLIGHT 3
/* Of a value; a number of these is also the number of digits of an element of an array. */
#define LENGTH 9000
/* With many calls that nobody heard of, a search may have too many ways to go. */
#define UNDECIDED_ONE_IN 50

struct totals {
    uint64_t longest; /* history that was judged, in calls */
    uint64_t undecided;
};

static int64_t true_ns(void *clock)
{
    return mcds_sim_now_ns(clock);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct history_actor *actor = context;
    (void)client;
    if (done != NULL)
        history_book(actor, done);
    for (int i = done == NULL ? IN_FLIGHT : 1; i > 0; i--)
        if (actor->next < play_calls(HISTORY_CALLS))
            (void)history_call(actor);
}

static void note_history(mcds_sim *sim, const struct history_subject *subject,
                         const struct linear_op *ops, uint32_t count)
{
    char line[HISTORY_LINE];
    for (uint32_t i = 0; i < count; i++) {
        history_describe(subject, &ops[i], line);
        mcds_sim_note(sim, NULL, "history: %s", line);
    }
}

/* `losses` may be NULL: the server has forgotten nothing. */
static const char *judge(mcds_sim *sim, const struct history_subject *subject,
                         const struct history_actor *actors,
                         const struct history_losses *losses, struct totals *totals)
{
    struct linear_op ops[LINEAR_OPS_MAX];
    for (uint32_t i = 0; i < CLIENTS; i++)
        if (actors[i].impossible[0] != '\0')
            return actors[i].impossible;
    for (uint32_t object = 0; object < HISTORY_OBJECTS; object++) {
        uint32_t count = history_gather(actors, CLIENTS, object, losses, ops);
        enum linear_verdict verdict = linear_check(ops, count, subject->initial,
                                                   subject->apply);
        if (verdict == NOT_LINEAR) {
            note_history(sim, subject, ops, count);
            return "a history that no order explains";
        }
        totals->undecided += verdict == LINEAR_TOO_LONG;
        if (verdict == LINEAR && count > totals->longest)
            totals->longest = count;
    }
    return NULL;
}

static bool run(const struct history_subject *subject, mcds_sim_options options,
                const struct history_losses *losses, struct totals *totals)
{
    static struct history_actor actors[CLIENTS_MAX];
    struct lengths lengths;
    struct lengths keys;
    mcds_sim *sim;
    mcds_sim_client *client;
    play_lengths(&lengths, options.seed, HISTORY_ARGUMENTS, 0, LENGTH, HISTORY_VALUE_MAX);
    lengths_begin(&keys, ~options.seed, 1, 1, HISTORY_KEY_MAX);
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    for (uint64_t i = 0; i < CLIENTS; i++) {
        struct history_actor *actor = &actors[i];
        assert_int_equal(mcds_sim_client_add(sim, program, actor, &client), MCDS_OK);
        assert_int_equal(history_open(actor, subject, mcds_sim_client_store(client),
                                      mcds_sim_client_pipeline(client), "play",
                                      options.seed * 31 + i),
                         MCDS_OK);
        actor->now_ns = true_ns;
        actor->lengths = lengths;
        actor->key_length = (int)keys.of[0];
        actor->may_lose = losses != NULL;
        actor->clock = sim;
    }
    bool ended = mcds_sim_run(sim, 200000) == MCDS_OK;
    const char *wrong = ended ? judge(sim, subject, actors, losses, totals) : "it does not end";
    if (wrong != NULL) {
        (void)report_lengths(sim, options.seed, wrong, &lengths);
        lengths_print(&keys);
    }
    for (uint32_t i = 0; i < CLIENTS; i++)
        history_close(&actors[i]);
    play_close(sim);
    return wrong == NULL;
}

static void run_many(const struct history_subject *subject,
                     mcds_sim_options (*faults)(uint64_t seed),
                     const struct history_losses *losses, uint64_t usual)
{
    struct totals totals = {0, 0};
    PLAY (seed, usual)
        assert_true(run(subject, faults(seed), losses, &totals));
    SEEN(totals.longest >= HISTORY_CALLS);
    assert_true(totals.undecided * UNDECIDED_ONE_IN <= play_count() * HISTORY_OBJECTS);
    print_message("%s: %llu histories, the longest of %llu calls, %llu undecided\n",
                  subject->name, (unsigned long long)play_count() * HISTORY_OBJECTS,
                  (unsigned long long)totals.longest, (unsigned long long)totals.undecided);
}

static void calls_on_a_table_entry(void **state)
{
    (void)state;
    run_many(&history_table, network_faults, NULL, 1500);
}

static void calls_on_a_table_entry_with_any_value(void **state)
{
    (void)state;
    run_many(&history_values, network_faults, NULL, 1500);
}

static void calls_on_an_element_of_a_set(void **state)
{
    (void)state;
    run_many(&history_set, network_faults, NULL, 1500);
}

static void calls_on_an_array(void **state)
{
    (void)state;
    run_many(&history_array, network_faults, NULL, 1500);
}

/* A change counts in one life only, whenever the server forgets the array. */
static void calls_on_an_array_that_is_lost(void **state)
{
    (void)state;
    struct history_losses losses = {0};
    history_lose(&losses, LINEAR_LOSSES, INT64_MIN, INT64_MAX);
    run_many(&history_array, all_faults, &losses, 400);
}

static void calls_on_a_counter(void **state)
{
    (void)state;
    run_many(&history_counter, network_faults, NULL, 1500);
}

/* It may become empty at any time; its earlier contents do not return. */
static void calls_on_a_counter_that_is_lost(void **state)
{
    (void)state;
    struct history_losses losses = {0};
    history_lose(&losses, LINEAR_LOSSES, INT64_MIN, INT64_MAX);
    run_many(&history_counter, all_faults, &losses, 1500);
}

static void calls_on_a_lock(void **state)
{
    (void)state;
    run_many(&history_lock, network_faults, NULL, 400);
}

/* Leases run out on the server's clock, and no owner relies on one that has. */
static void calls_on_a_lock_whose_leases_run_out(void **state)
{
    (void)state;
    run_many(&history_lease, network_faults, NULL, 400);
}

/* Whatever the server forgets. */
static void calls_on_a_lock_that_is_lost(void **state)
{
    (void)state;
    struct history_losses losses = {0};
    history_lose(&losses, LINEAR_LOSSES, INT64_MIN, INT64_MAX);
    run_many(&history_lease, all_faults, &losses, 400);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(calls_on_a_table_entry),
    cmocka_unit_test(calls_on_a_table_entry_with_any_value),
    cmocka_unit_test(calls_on_an_element_of_a_set),
    cmocka_unit_test(calls_on_an_array),
    cmocka_unit_test(calls_on_an_array_that_is_lost),
    cmocka_unit_test(calls_on_a_counter),
    cmocka_unit_test(calls_on_a_counter_that_is_lost),
    cmocka_unit_test(calls_on_a_lock),
    cmocka_unit_test(calls_on_a_lock_whose_leases_run_out),
    cmocka_unit_test(calls_on_a_lock_that_is_lost),
};

PLAY_MAIN("linear")
