/* Counters in the simulated world: every acknowledged change exists, and none counts twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcds.h"
#include "sim/play.h"

#define CLIENTS_MAX 4
#define CLIENTS play_clients(CLIENTS_MAX)
#define ADDS 12
#define BIAS (UINT64_C(1) << 62)

#define READS 20
#define REST_NS 700000
#define TAG_RESTED 2
#define STRICT_REST_NS 400000000 /* so that lives begin in different seconds */
#define LIVES_MAX 64

/* Sums of deltas by what became of them. */
struct ledger {
    int64_t acknowledged;
    int64_t doubtful_up; /* ambiguous adds upwards */
    int64_t doubtful_down;
    int64_t under_way_up;
    int64_t under_way_down;
    int64_t begun_up;
    int64_t begun_down;
    int64_t acknowledged_up;
    int64_t acknowledged_down;
    uint64_t lost;
    uint64_t reads;
    const char *wrong;
    mcds_sim *sim;
    bool is_there; /* the counter, after the last event */
    uint64_t stored;
    uint32_t births[LIVES_MAX];
    uint32_t lives;
    bool has_twins; /* two lives began in one second: they cannot be distinguished */
};

struct adder {
    struct ledger *ledger;
    mcds_counter *counter;
    uint32_t adds_left;
    bool is_signed;
    bool retries; /* asks again what went unanswered: the article's way */
    bool takes;
    bool is_strict;
    int64_t delta;
    int64_t taken;
    int64_t value; /* told by the add under way, and by the last one that was acknowledged */
    int64_t last_value;
};

/* Nobody subtracts from a strict counter here, so one that has less than this handle knows of has
 * begun again. */
static void book_value(struct adder *adder)
{
    if (adder->is_strict && adder->value < adder->last_value && !adder->ledger->has_twins)
        adder->ledger->wrong = "a strict counter has begun again in silence";
    adder->last_value = adder->value;
}

static void book(struct adder *adder, int64_t delta, int result)
{
    struct ledger *ledger = adder->ledger;
    *(delta > 0 ? &ledger->under_way_up : &ledger->under_way_down) -= delta;
    switch (result) {
    case MCDS_OK:
        ledger->acknowledged += delta;
        *(delta > 0 ? &ledger->acknowledged_up : &ledger->acknowledged_down) += delta;
        book_value(adder);
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
        adder->last_value = 0;
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
    struct ledger *ledger = adder->ledger;
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
    *(adder->delta > 0 ? &ledger->under_way_up : &ledger->under_way_down) += adder->delta;
    *(adder->delta > 0 ? &ledger->begun_up : &ledger->begun_down) += adder->delta;
    assert_int_equal(mcds_counter_add_start(adder->counter, adder->delta,
                                            adder->is_strict ? &adder->value : NULL, pipeline,
                                            1),
                     MCDS_OK);
}

static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct adder *adder = context;
    bool has_rested = done != NULL && done->tag == TAG_RESTED;
    if (done != NULL && !has_rested)
        book(adder, adder->delta != 0 ? adder->delta : -adder->taken, done->result);
    if (adder->is_strict && !has_rested)
        assert_int_equal(mcds_sim_client_sleep(client, STRICT_REST_NS, TAG_RESTED), MCDS_OK);
    else
        begin(adder, client, done != NULL && done->result == MCDS_AMBIGUOUS && adder->retries);
}

/* A concurrent reader: the sum of all stripes is one that the counter may have had between the
 * begin and the end of the call. */
struct reader {
    struct ledger *ledger;
    mcds_counter *counter;
    mcds_counter_value value;
    uint32_t left;
    int64_t up;
    int64_t down;
};

static void read_on(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct reader *reader = context;
    struct ledger *ledger = reader->ledger;
    if (done != NULL && done->tag != TAG_RESTED && done->result == MCDS_OK) {
        ledger->reads++;
        if (reader->value.value < reader->up + ledger->begun_down ||
            reader->value.value > ledger->begun_up + reader->down)
            ledger->wrong = "a sum that the counter has not had";
    }
    if (reader->left == 0)
        return;
    if (done == NULL || done->tag != TAG_RESTED) {
        assert_int_equal(mcds_sim_client_sleep(client, REST_NS, TAG_RESTED), MCDS_OK);
        return;
    }
    reader->left--;
    reader->up = ledger->acknowledged_up;
    reader->down = ledger->acknowledged_down;
    assert_int_equal(mcds_counter_get_start(reader->counter, &reader->value,
                                            mcds_sim_client_pipeline(client), 1),
                     MCDS_OK);
}

/* At every moment the server has what was acknowledged, and no more than was begun. */
static const char *check_number(void *context)
{
    const struct ledger *ledger = context;
    uint64_t stored = play_peek(ledger->sim, "mcds:c1:hits", 0);
    int64_t value = (int64_t)(stored > BIAS / 2 ? stored - BIAS : stored);
    if (stored != 0 &&
        value < ledger->acknowledged + ledger->doubtful_down + ledger->under_way_down)
        return "at this moment less than was acknowledged";
    if (value > ledger->acknowledged + ledger->doubtful_up + ledger->under_way_up)
        return "at this moment more than was begun";
    if (ledger->wrong != NULL)
        return ledger->wrong;
    return stored == 0 && ledger->acknowledged != 0 ? "it is gone" : NULL;
}

static const char *check_reads(void *context)
{
    return ((const struct ledger *)context)->wrong;
}

/* Each life of the counter has a birth. */
static void watch_lives(struct ledger *ledger)
{
    uint32_t birth = 0;
    uint64_t stored = play_peek_flags(ledger->sim, "mcds:c1:hits", UINT64_MAX, &birth);
    bool is_there = stored != UINT64_MAX;
    bool is_new = is_there && (!ledger->is_there || stored < ledger->stored ||
                               birth != ledger->births[ledger->lives - 1]);
    for (uint32_t i = 0; is_new && i < ledger->lives; i++)
        ledger->has_twins = ledger->has_twins || ledger->births[i] == birth;
    if (is_new && ledger->lives < LIVES_MAX)
        ledger->births[ledger->lives++] = birth;
    ledger->is_there = is_there;
    ledger->stored = stored;
}

static const char *check_lives(void *context)
{
    watch_lives(context);
    return check_reads(context);
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
    struct reader reader = {.ledger = &ledger};
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
                                   .takes = setting.takes,
                                   .is_strict = (setting.flags & MCDS_COUNTER_STRICT) != 0};
        assert_int_equal(mcds_sim_client_add(sim, program, &adders[i], &client), MCDS_OK);
        assert_int_equal(mcds_counter_open(mcds_sim_client_store(client), "hits",
                                           &counter_options, &adders[i].counter),
                         MCDS_OK);
    }
    ledger.sim = sim;
    reader.left = setting.takes || setting.retries || loses ? 0 : play_calls(READS);
    assert_int_equal(mcds_sim_client_add(sim, read_on, &reader, &client), MCDS_OK);
    assert_int_equal(mcds_counter_open(mcds_sim_client_store(client), "hits", &counter_options,
                                       &reader.counter),
                     MCDS_OK);
    bool is_bare = setting.stripes == 1 && !setting.takes && !setting.retries && !loses;
    bool is_strict = (setting.flags & MCDS_COUNTER_STRICT) != 0;
    const char *wrong = play_run(sim, 100000,
                                 is_bare     ? check_number
                                 : is_strict ? check_lives
                                             : check_reads,
                                 &ledger);
    bool fine = wrong == NULL;
    if (!fine && !setting.quiet)
        (void)report(sim, options.seed, wrong);
    mcds_sim_calm(sim);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int result = mcds_counter_get(adders[0].counter, &value);
    fine = fine && (result == MCDS_OK || result == MCDS_NOT_FOUND || result == MCDS_LOST);
    if (is_strict && result != MCDS_LOST && value.value < adders[0].last_value &&
        !ledger.has_twins)
        fine = false;
    int64_t least = ledger.acknowledged + ledger.doubtful_down;
    int64_t most = ledger.acknowledged + ledger.doubtful_up;
    if (loses) /* an add that learns of the loss may have gone into the new life */
        fine = fine && value.value <= most + (int64_t)ledger.lost * 5;
    else
        fine = fine && result != MCDS_LOST && value.value >= least && value.value <= most;
    if (!fine && wrong == NULL && !setting.quiet) {
        mcds_sim_note(sim, NULL, "value %lld, allowed %lld to %lld", (long long)value.value,
                      (long long)least, (long long)most);
        (void)report(sim, options.seed, "the value is not what was acknowledged");
    }
    for (uint32_t i = 0; i < CLIENTS; i++)
        mcds_counter_close(adders[i].counter);
    mcds_counter_close(reader.counter);
    play_close(sim);
    totals->acknowledged += ledger.acknowledged;
    totals->doubtful_up += ledger.doubtful_up;
    totals->lost += ledger.lost;
    totals->reads += ledger.reads;
    return fine;
}

static void run_many(uint64_t seeds, bool loses, struct setting setting, struct ledger *totals)
{
    PLAY (seed, seeds)
        assert_true(
            run(loses ? all_faults(seed) : network_faults(seed), loses, setting, totals));
    SEEN(totals->acknowledged != 0);
}

static void plain_counts_once(void **state)
{
    (void)state;
    struct ledger totals = {0};
    run_many(2000, false, (struct setting){.stripes = 1}, &totals);
    SEEN(totals.doubtful_up > 0 && totals.reads > 0);
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

/* A client that repeats an increment whose reply was lost counts twice. The same check must catch it. */
static void a_repeated_increment_is_caught(void **state)
{
    (void)state;
    struct ledger totals = {0};
    struct setting setting = {.stripes = 1, .retries = true, .quiet = true};
    skip_unless_whole();
    uint64_t seed = 1;
    while (seed < 2000 && run(network_faults(seed), false, setting, &totals))
        seed++;
    assert_true(seed < 2000);
    print_message("caught at seed %llu\n", (unsigned long long)seed);
}

static void the_same_seed_gives_the_same_run(void **state)
{
    (void)state;
    skip_unless_whole();
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
