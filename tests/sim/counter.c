/* Counters in the simulated world: what was acknowledged is there, nothing twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "sim/play.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define ADDS 12

/* Sums of deltas by what became of them. */
struct ledger {
    int64_t acknowledged;
    int64_t doubtful_up; /* ambiguous adds upwards */
    int64_t doubtful_down;
    int64_t taken;
    uint64_t lost;
};

struct adder {
    struct ledger *ledger;
    mcds_counter *counter;
    uint32_t adds_left;
    bool is_signed;
    bool retries; /* asks again what went unanswered: the article's way */
    bool takes;
    int64_t delta;
    int64_t taken;
};

static void book(struct adder *adder, int64_t delta, int result)
{
    struct ledger *ledger = adder->ledger;
    switch (result) {
    case MCDS_OK:
        ledger->acknowledged += delta;
        break;
    case MCDS_AMBIGUOUS:
        if (adder->retries)
            break;
        if (delta > 0)
            ledger->doubtful_up += delta;
        else
            ledger->doubtful_down += delta;
        break;
    case MCDS_LOST:
        ledger->lost++;
        break;
    case MCDS_NOT_FOUND:
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        break;
    default:
        fail_msg("result %d: %s", result, mcds_errmsg());
    }
}

static void begin(struct adder *adder, mcds_sim_client *client, bool again)
{
    mcds_pipeline *pipeline = mcds_sim_client_pipeline(client);
    if (!again && adder->adds_left-- == 0)
        return;
    if (adder->takes && adder->adds_left % 5 == 4) {
        adder->delta = 0;
        adder->taken = 0;
        assert_int_equal(mcds_counter_take_start(adder->counter, &adder->taken, pipeline, 1),
                         MCDS_OK);
        return;
    }
    if (!again)
        adder->delta = adder->is_signed && adder->adds_left % 3 == 0 ? -7 : 5;
    assert_int_equal(mcds_counter_add_start(adder->counter, adder->delta, NULL, pipeline, 1),
                     MCDS_OK);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct adder *adder = context;
    if (done != NULL)
        book(adder, adder->delta != 0 ? adder->delta : -adder->taken, done->result);
    begin(adder, client, done != NULL && done->result == MCDS_AMBIGUOUS && adder->retries);
}

struct setting {
    uint32_t flags;
    uint32_t stripes;
    bool retries;
    bool takes;
    bool quiet;
};

/* One seed. Returns whether the final value is one that the ledger allows. */
static bool run(mcds_sim_options options, bool loses, struct setting setting,
                struct ledger *totals)
{
    struct ledger ledger = {0};
    struct adder adders[CLIENTS_MAX];
    mcds_sim *sim;
    mcds_sim_client *client;
    mcds_counter_options counter_options = MCDS_COUNTER_OPTIONS_INIT;
    counter_options.flags = setting.flags;
    counter_options.stripes = setting.stripes;
    assert_int_equal(play_open(&options, &sim), MCDS_OK);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        adders[i] = (struct adder){.ledger = &ledger,
                                   .adds_left = play_calls(ADDS),
                                   .is_signed = (setting.flags & MCDS_COUNTER_SIGNED) != 0,
                                   .retries = setting.retries,
                                   .takes = setting.takes};
        assert_int_equal(mcds_sim_client_add(sim, program, &adders[i], &client), MCDS_OK);
        assert_int_equal(mcds_counter_open(mcds_sim_client_store(client), "hits",
                                           &counter_options, &adders[i].counter),
                         MCDS_OK);
    }
    bool fine = mcds_sim_run(sim, 100000) == MCDS_OK;
    mcds_sim_calm(sim);
    mcds_counter_value value = {0, 0, false};
    int result = mcds_counter_get(adders[0].counter, &value);
    fine = fine && (result == MCDS_OK || result == MCDS_NOT_FOUND || result == MCDS_LOST);
    int64_t least = ledger.acknowledged + ledger.doubtful_down;
    int64_t most = ledger.acknowledged + ledger.doubtful_up;
    if (loses) /* an add that learns of the loss may have gone into the new life */
        fine = fine && value.value <= most + (int64_t)ledger.lost * 5;
    else
        fine = fine && result != MCDS_LOST && value.value >= least && value.value <= most;
    if (!fine && !setting.quiet) {
        mcds_sim_note(sim, NULL, "value %lld, allowed %lld to %lld", (long long)value.value,
                      (long long)least, (long long)most);
        (void)report(sim, options.seed, "the value is not what was acknowledged");
    }
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_counter_close(adders[i].counter);
    play_close(sim);
    totals->acknowledged += ledger.acknowledged;
    totals->doubtful_up += ledger.doubtful_up;
    totals->lost += ledger.lost;
    return fine;
}

static void run_many(uint64_t seeds, bool loses, struct setting setting, struct ledger *totals)
{
    PLAY(seed, seeds)
    assert_true(run(loses ? all_faults(seed) : network_faults(seed), loses, setting, totals));
    SEEN(totals->acknowledged != 0);
}

static void plain_counts_once(void **state)
{
    (void)state;
    struct ledger totals = {0};
    run_many(2000, false, (struct setting){.stripes = 1}, &totals);
    SEEN(totals.doubtful_up > 0);
}

static void signed_counts_once(void **state)
{
    (void)state;
    struct ledger totals = {0};
    run_many(2000, false, (struct setting){.flags = MCDS_COUNTER_SIGNED, .stripes = 1},
             &totals);
}

static void striped_counts_once(void **state)
{
    (void)state;
    struct ledger totals = {0};
    run_many(1000, false, (struct setting){.flags = MCDS_COUNTER_SIGNED, .stripes = 4},
             &totals);
}

static void what_is_taken_is_taken_once(void **state)
{
    (void)state;
    struct ledger totals = {0};
    run_many(2000, false,
             (struct setting){.flags = MCDS_COUNTER_SIGNED, .stripes = 1, .takes = true},
             &totals);
}

static void a_strict_counter_tells_of_loss(void **state)
{
    (void)state;
    struct ledger totals = {0};
    run_many(1000, true, (struct setting){.flags = MCDS_COUNTER_STRICT, .stripes = 1}, &totals);
    SEEN(totals.lost > 0);
    totals = (struct ledger){0};
    run_many(1000, false, (struct setting){.flags = MCDS_COUNTER_STRICT, .stripes = 1},
             &totals);
    assert_int_equal(totals.lost, 0);
}

/* Who repeats an increment whose reply was lost counts twice. The same check must catch it. */
static void a_repeated_increment_is_caught(void **state)
{
    (void)state;
    struct ledger totals = {0};
    struct setting setting = {.stripes = 1, .retries = true, .quiet = true};
    if (!play_is_whole())
        skip();
    uint64_t seed = 1;
    while (seed < 2000 && run(network_faults(seed), false, setting, &totals))
        seed++;
    assert_true(seed < 2000);
    print_message("caught at seed %llu\n", (unsigned long long)seed);
}

static void the_same_seed_gives_the_same_run(void **state)
{
    (void)state;
    if (!play_is_whole())
        skip();
    struct ledger once = {0};
    struct ledger twice = {0};
    struct setting setting = {.stripes = 1};
    for (uint64_t seed = 1; seed <= 50; seed++) {
        assert_true(run(network_faults(seed), false, setting, &once));
        assert_true(run(network_faults(seed), false, setting, &twice));
        assert_memory_equal(&once, &twice, sizeof once);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(plain_counts_once),
    cmocka_unit_test(signed_counts_once),
    cmocka_unit_test(striped_counts_once),
    cmocka_unit_test(what_is_taken_is_taken_once),
    cmocka_unit_test(a_strict_counter_tells_of_loss),
    cmocka_unit_test(a_repeated_increment_is_caught),
    cmocka_unit_test(the_same_seed_gives_the_same_run),
};

PLAY_MAIN("counter")
