/* Combining of counts: how many requests a round of a pipeline sends, and the result of each
 * operation, also where a request is lost. */
#include <inttypes.h>

#include "support/push.h"

#define T0_MS INT64_C(1767225600000)
#define MINUTE_MS 60000

/* So many additions to one handle in a round show that they meet. */
#define DENSE 4

/* The pipeline asks for these. */
struct round {
    struct world world;
    int results[OPERATIONS_MAX];
    int64_t values[OPERATIONS_MAX];
    uint64_t count;
};

static void begin_round(struct round *round)
{
    memset(round, 0, sizeof *round);
    begin(&round->world);
    round->world.fake.wall_ns = T0_MS * NS_PER_MS;
}

static void arm(struct round *round, enum fault fault, uint64_t at)
{
    counting_backend_arm(&round->world.counting, fault, at, false);
}

static mcds_counter *open_counter(struct round *round, const char *name, uint32_t flags,
                                  uint64_t ttl_ms)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    options.flags = flags;
    options.ttl_ms = ttl_ms;
    assert_int_equal(mcds_counter_open(round->world.store, name, &options, &counter), MCDS_OK);
    return counter;
}

static void add(struct round *round, mcds_counter *counter, int64_t delta)
{
    uint64_t tag = round->count++;
    round->values[tag] = -1;
    assert_int_equal(
        mcds_counter_add_start(counter, delta, &round->values[tag], round->world.pipeline, tag),
        MCDS_OK);
}

static void drive_round(struct round *round)
{
    mcds_completion done;
    while (mcds_pipeline_next(round->world.pipeline, &done) == MCDS_OK)
        round->results[done.tag] = done.result;
}

static void expect(const struct round *round, uint64_t tag, int result, int64_t value)
{
    assert_int_equal(round->results[tag], result);
    if (result == MCDS_OK)
        assert_true(round->values[tag] == value);
}

static int64_t value_now(mcds_counter *counter)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int result = mcds_counter_get(counter, &value);
    assert_true(result == MCDS_OK || result == MCDS_NOT_FOUND);
    return result == MCDS_OK ? value.value : 0;
}

/* The next round's additions share from the first on. */
static void make_dense(struct round *round, mcds_counter *counter)
{
    for (int i = 0; i < DENSE; i++)
        add(round, counter, 1);
    drive_round(round);
    round->count = 0;
}

static void each_has_its_own_value(void **state)
{
    static struct round round;
    (void)state;
    begin_round(&round);
    mcds_counter *counter = open_counter(&round, "n", 0, 0);
    assert_int_equal(mcds_counter_add(counter, 10, NULL), MCDS_OK);
    for (int64_t n = 0; n < 2; n++) {
        arm(&round, FAULT_NONE, 0);
        round.count = 0;
        for (int64_t i = 1; i <= 100; i++)
            add(&round, counter, i);
        drive_round(&round);
        assert_int_equal(round.world.counting.requests, n == 0 ? DENSE + 1 : 1);
        for (int64_t i = 1; i <= 100; i++)
            expect(&round, (uint64_t)i - 1, MCDS_OK, 10 + n * 5050 + i * (i + 1) / 2);
    }
    mcds_counter_close(counter);
    end(&round.world);
}

/* Where few meet, nothing is looked for. */
static void what_meets_seldom_goes_alone(void **state)
{
    static struct round round;
    mcds_counter *counters[20];
    char name[8];
    (void)state;
    begin_round(&round);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        counters[i] = open_counter(&round, name, 0, 0);
        assert_int_equal(mcds_counter_add(counters[i], 1, NULL), MCDS_OK);
    }
    arm(&round, FAULT_NONE, 0);
    for (int i = 0; i < 60; i++)
        add(&round, counters[i % 20], 1);
    drive_round(&round);
    assert_int_equal(round.world.counting.requests, 60);
    for (int i = 0; i < 20; i++)
        mcds_counter_close(counters[i]);
    end(&round.world);
}

/* A missing key: all increments miss, and one of them makes it. */
static void one_makes_the_key_for_all(void **state)
{
    static struct round round;
    (void)state;
    begin_round(&round);
    mcds_counter *counter = open_counter(&round, "n", MCDS_COUNTER_SIGNED, 0);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_counter_drop(counter), MCDS_OK);
    assert_int_equal(value_now(counter), 0);
    arm(&round, FAULT_NONE, 0);
    for (int64_t i = 0; i < 10; i++)
        add(&round, counter, 1);
    drive_round(&round);
    assert_in_range(round.world.counting.requests, 2, 2 * DENSE + 3);
    for (int64_t i = 0; i < 10; i++)
        expect(&round, (uint64_t)i, MCDS_OK, i + 1);
    mcds_counter_close(counter);
    end(&round.world);
}

/* Requests of another kind for the same key keep their places. */
static void the_order_of_a_key_stays(void **state)
{
    static struct round round;
    (void)state;
    begin_round(&round);
    mcds_counter *counter = open_counter(&round, "n", MCDS_COUNTER_SIGNED, 0);
    mcds_counter *other = open_counter(&round, "m", 0, 0);
    mcds_counter_value seen = MCDS_COUNTER_VALUE_INIT;
    assert_int_equal(mcds_counter_add(counter, 100 - DENSE, NULL), MCDS_OK);
    assert_int_equal(mcds_counter_add(other, 1, NULL), MCDS_OK);
    make_dense(&round, counter);
    make_dense(&round, other);
    arm(&round, FAULT_NONE, 0);
    add(&round, counter, 1);
    add(&round, counter, 2);
    add(&round, other, 1);
    add(&round, counter, -50);
    add(&round, counter, 3);
    add(&round, counter, 4);
    assert_int_equal(
        mcds_counter_get_start(counter, &seen, round.world.pipeline, round.count++), MCDS_OK);
    add(&round, other, 1);
    add(&round, counter, 5);
    drive_round(&round);
    static const int64_t values[] = {101, 103, 2 + DENSE, 53, 56, 60, 0, 3 + DENSE, 65};
    for (uint64_t i = 0; i < 9; i++)
        if (i != 6)
            expect(&round, i, MCDS_OK, values[i]);
    assert_true(seen.value == 60);
    /* 1 + 2, -50, 3 + 4, the read, 5; and the other's two. */
    assert_int_equal(round.world.counting.requests, 6);
    mcds_counter_close(counter);
    mcds_counter_close(other);
    end(&round.world);
}

/* Keys that would be made otherwise are made by themselves. */
static void what_differs_is_not_shared(void **state)
{
    static struct round round;
    (void)state;
    begin_round(&round);
    mcds_counter *short_lived = open_counter(&round, "n", 0, MINUTE_MS);
    mcds_counter *longer = open_counter(&round, "n", 0, 2 * MINUTE_MS);
    (void)value_now(short_lived);
    (void)value_now(longer);
    for (uint64_t i = 0; i < 8; i++) {
        add(&round, short_lived, 1);
        add(&round, longer, 1);
    }
    arm(&round, FAULT_NONE, 0);
    drive_round(&round);
    uint64_t requests = round.world.counting.requests;
    int64_t most = 0;
    for (uint64_t i = 0; i < 16; i++) {
        assert_int_equal(round.results[i], MCDS_OK);
        most = round.values[i] > most ? round.values[i] : most;
    }
    assert_true(most == 16 && value_now(longer) == 16);
    /* All miss, most of them in one request; then each makes the key by itself. */
    assert_int_equal(requests, 2 * DENSE + 1 + 2 * 16);
    mcds_counter_close(short_lived);
    mcds_counter_close(longer);
    end(&round.world);
}

/* The same additions one after the other, each in its own pass of a pipeline. */
static void expect_as_alone(uint32_t flags, int64_t base, const int64_t *deltas, uint64_t count)
{
    static struct round apart, together;
    struct round *rounds[] = {&apart, &together};
    int64_t left[2];
    for (int r = 0; r < 2; r++) {
        struct round *round = rounds[r];
        begin_round(round);
        mcds_counter *counter = open_counter(round, "n", flags, 0);
        make_dense(round, counter);
        assert_int_equal(mcds_counter_add(counter, base - DENSE, NULL), MCDS_OK);
        for (uint64_t i = 0; i < count; i++) {
            add(round, counter, deltas[i]);
            if (round == &apart)
                drive_round(round);
        }
        drive_round(round);
        left[r] = value_now(counter);
        mcds_counter_close(counter);
        end(&round->world);
    }
    assert_true(left[0] == left[1]);
    for (uint64_t i = 0; i < count; i++)
        expect(&together, i, apart.results[i], apart.values[i]);
}

static void limits_are_as_alone(void **state)
{
    (void)state;
    const int64_t most = MCDS_COUNTER_MAX - 1;
    static const uint32_t flags[] = {0, MCDS_COUNTER_SIGNED};
    for (int i = 0; i < 2; i++) {
        expect_as_alone(flags[i], most - 3, (const int64_t[]){1, 1, 1}, 3);
        expect_as_alone(flags[i], 5, (const int64_t[]){most / 2, most / 2 - 9, 2}, 3);
        expect_as_alone(flags[i], most - 1, (const int64_t[]){most}, 1);
    }
    expect_as_alone(MCDS_COUNTER_SIGNED, -most + DENSE, (const int64_t[]){most, 1, most - 2},
                    3);
}

/* Those that leave the range are refused, each for itself, and nothing of them stays. */
static void what_is_too_much_is_taken_back(void **state)
{
    static struct round round;
    (void)state;
    begin_round(&round);
    mcds_counter *counter = open_counter(&round, "n", MCDS_COUNTER_SIGNED, 0);
    const int64_t most = MCDS_COUNTER_MAX - 1;
    make_dense(&round, counter);
    assert_int_equal(mcds_counter_add(counter, most - 2 - DENSE, NULL), MCDS_OK);
    add(&round, counter, 2);
    add(&round, counter, 3);
    add(&round, counter, 4);
    drive_round(&round);
    expect(&round, 0, MCDS_OK, most);
    expect(&round, 1, MCDS_OVERFLOW, 0);
    expect(&round, 2, MCDS_OVERFLOW, 0);
    assert_true(value_now(counter) == most);
    mcds_counter_close(counter);
    end(&round.world);
}

/* The ranges of the two forms are adjacent: what is far beyond the bound is a number of the other form. */
static void what_is_far_too_much_is_taken_back(void **state)
{
    static struct round round;
    (void)state;
    const int64_t most = MCDS_COUNTER_MAX - 1;
    for (int side = 0; side < 2; side++) {
        int64_t sign = side == 0 ? 1 : -1;
        begin_round(&round);
        mcds_counter *counter = open_counter(&round, "n", side == 0 ? 0 : MCDS_COUNTER_SIGNED,
                                             0);
        assert_int_equal(mcds_counter_add(counter, sign * (most - 3), NULL), MCDS_OK);
        for (int i = 0; i < 10; i++)
            add(&round, counter, sign);
        for (int i = 0; i < 3; i++)
            add(&round, counter, sign * (most / 8));
        drive_round(&round);
        for (uint64_t i = 0; i < 13; i++)
            expect(&round, i, i < 3 ? MCDS_OK : MCDS_OVERFLOW, sign * (most - 2 + (int64_t)i));
        assert_true(value_now(counter) == sign * most);
        assert_int_equal(mcds_counter_add(counter, sign, NULL), MCDS_OVERFLOW);
        mcds_counter_close(counter);
        end(&round.world);
    }
}

/* Additions, hits and beats of one round, while one of their requests meets a fault. */
struct counted {
    int64_t sure;
    int64_t doubtful;
};

static struct counted outcome_of(const struct round *round, uint64_t first, uint64_t last)
{
    struct counted counted = {0, 0};
    for (uint64_t i = first; i < last; i++) {
        int result = round->results[i];
        assert_true(result != MCDS_EXISTS);
        counted.sure += result == MCDS_OK;
        counted.doubtful += result == MCDS_AMBIGUOUS;
    }
    return counted;
}

static bool lose_additions(enum fault fault, uint64_t at, bool is_new)
{
    static struct round round;
    begin_round(&round);
    mcds_counter *counter = open_counter(&round, "n", 0, 0);
    (void)value_now(counter);
    if (!is_new)
        assert_int_equal(mcds_counter_add(counter, 7, NULL), MCDS_OK);
    arm(&round, fault, at);
    for (int i = 0; i < 20; i++)
        add(&round, counter, 1);
    drive_round(&round);
    bool has_come = round.world.counting.fault_came;
    arm(&round, FAULT_NONE, 0);
    struct counted counted = outcome_of(&round, 0, 20);
    int64_t added = value_now(counter) - (is_new ? 0 : 7);
    assert_in_range(added, counted.sure, counted.sure + counted.doubtful);
    bool is_lost = fault == FAULT_CUT_BEFORE || fault == FAULT_CUT_AFTER ||
                   fault == FAULT_CUT_BETWEEN;
    assert_true(is_lost || counted.doubtful == 0); /* in doubt only where a reply was lost */
    mcds_counter_close(counter);
    end(&round.world);
    return has_come;
}

static void a_fault_is_that_of_each(void **state)
{
    (void)state;
    for (int is_new = 0; is_new < 2; is_new++)
        for (int fault = FAULT_UNSENT; fault < FAULT_COUNT; fault++) {
            uint64_t at = 1;
            while (lose_additions((enum fault)fault, at, is_new != 0))
                at++;
            assert_in_range(at, 2, 8);
        }
}

#define VISITORS 3
#define BEATS 4

/* After the result `before` of a beat, the same beat once more: only what was certainly not counted
 * counts now, and no window counts anybody twice. */
static void beat_again(mcds_online *online, const char *visitor, int64_t at_ms, int before)
{
    int result = mcds_online_beat(online, visitor, at_ms);
    assert_true(result == MCDS_OK || result == MCDS_EXISTS);
    if (before != MCDS_AMBIGUOUS)
        assert_int_equal(result,
                         before == MCDS_OK || before == MCDS_EXISTS ? MCDS_EXISTS : MCDS_OK);
}

/* Whether a beat of this visitor was counted, or perhaps was. Its windows overlap those of the others. */
static bool is_any_counted(const struct round *round, int visitor)
{
    bool is_any = false;
    for (int beat = 0; beat < BEATS; beat++) {
        int result = round->results[beat * VISITORS + visitor];
        is_any = is_any || result == MCDS_OK || result == MCDS_AMBIGUOUS;
    }
    return is_any;
}

static uint64_t seen_at(mcds_online *online, int64_t at_ms)
{
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    assert_int_equal(mcds_online_get(online, at_ms, &value), MCDS_OK);
    return value.current + value.closed;
}

/* Each visitor beats in some minutes, all in one pass; then what each window has counted. */
static bool lose_beats(enum fault fault, uint64_t at, bool stays)
{
    static struct round round;
    mcds_online *online = NULL;
    bool doubts = false;
    uint32_t sure[BEATS] = {0}, most[BEATS] = {0};
    begin_round(&round);
    assert_int_equal(mcds_online_open(round.world.store, "o", NULL, &online), MCDS_OK);
    for (int64_t i = 0; i < 2; i++)
        assert_int_equal(mcds_online_beat(online, "zoe", T0_MS - (60 + i) * MINUTE_MS),
                         MCDS_OK);
    counting_backend_arm(&round.world.counting, fault, at, stays);
    for (int beat = 0; beat < BEATS; beat++)
        for (int v = 0; v < VISITORS; v++) {
            char name[2] = {(char)('a' + v), '\0'};
            assert_int_equal(mcds_online_beat_start(online, name,
                                                    T0_MS - (10 - beat) * MINUTE_MS,
                                                    round.world.pipeline, round.count++),
                             MCDS_OK);
        }
    drive_round(&round);
    bool has_come = round.world.counting.fault_came;
    /* An add and a read of each mark, and again for the beats that waited, and their cas and
     * read; 9 numbers, each found missing and made. */
    if (fault == FAULT_NONE)
        assert_int_equal(round.world.counting.requests, 6 * VISITORS + 18);
    arm(&round, FAULT_NONE, 0);
    for (int v = 0; v < VISITORS; v++) {
        bool is_sure = false, may_be = false;
        for (int beat = 0; beat < BEATS; beat++) {
            int result = round.results[beat * VISITORS + v];
            assert_int_not_equal(result, MCDS_TOO_OLD);
            assert_int_not_equal(result, MCDS_EXISTS); /* each is the first in its bucket */
            is_sure = is_sure || result == MCDS_OK;
            may_be = may_be || result == MCDS_OK || result == MCDS_AMBIGUOUS;
            doubts = doubts || result == MCDS_AMBIGUOUS;
            sure[beat] += is_sure;
            most[beat] += may_be;
        }
    }
    for (int beat = 0; beat < BEATS;
         beat++) /* a doubtful beat can leave a later one uncounted */
        assert_in_range(seen_at(online, T0_MS - (10 - beat) * MINUTE_MS),
                        doubts ? 0 : sure[beat], most[beat]);
    for (int beat = 0; beat < BEATS; beat++)
        for (int v = 0; v < VISITORS; v++) {
            char name[2] = {(char)('a' + v), '\0'};
            int before = round.results[beat * VISITORS + v];
            bool is_first = beat == 0 && !is_any_counted(&round, v);
            beat_again(online, name, T0_MS - (10 - beat) * MINUTE_MS,
                       before == MCDS_OK || is_first ? before : MCDS_AMBIGUOUS);
        }
    for (int beat = 0; beat < BEATS; beat++)
        assert_true(seen_at(online, T0_MS - (10 - beat) * MINUTE_MS) <= VISITORS);
    mcds_online_close(online);
    end(&round.world);
    return has_come;
}

static void beats_of_a_visitor_share_a_mark(void **state)
{
    (void)state;
    assert_false(lose_beats(FAULT_NONE, 0, false));
    for (int stays = 0; stays < 2; stays++)
        for (int fault = FAULT_UNSENT; fault < FAULT_COUNT; fault++) {
            uint64_t at = 1;
            while (lose_beats((enum fault)fault, at, stays != 0))
                at++;
            assert_in_range(at, 2 * VISITORS, 40);
        }
}

/* The fault ends with the first operation that fails. Returns whether it came. */
static bool drive_until_failure(struct round *round)
{
    mcds_completion done = {.result = MCDS_OK};
    while (done.result >= 0 && mcds_pipeline_next(round->world.pipeline, &done) == MCDS_OK)
        round->results[done.tag] = done.result;
    bool has_come = round->world.counting.fault_came;
    arm(round, FAULT_NONE, 0);
    return has_come;
}

/* A visitor in windows of two buckets, of which it was in the first and the third. Its beat in the
 * second changes one number, and so does that in the fourth, which waits with it. */
static bool lose_one_of_two(enum fault fault, uint64_t at, bool stays)
{
    static const int64_t minutes[] = {3, 2, 4};
    static struct round round;
    const int64_t first_ms = T0_MS - 20 * MINUTE_MS;
    mcds_online *online = NULL;
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    options.buckets = 1;
    begin_round(&round);
    assert_int_equal(mcds_online_open(round.world.store, "o", &options, &online), MCDS_OK);
    assert_int_equal(mcds_online_beat(online, "a", first_ms + MINUTE_MS), MCDS_OK);
    assert_int_equal(mcds_online_beat(online, "a", first_ms + 3 * MINUTE_MS), MCDS_OK);
    counting_backend_arm(&round.world.counting, fault, at, stays);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mcds_online_beat_start(online, "a", first_ms + minutes[i] * MINUTE_MS,
                                                round.world.pipeline, round.count++),
                         MCDS_OK);
    bool has_come = drive_until_failure(&round);
    drive_round(&round);
    for (int i = 1; i < 3; i++) {
        assert_int_not_equal(round.results[i], MCDS_EXISTS);
        beat_again(online, "a", first_ms + minutes[i] * MINUTE_MS, round.results[i]);
    }
    for (int64_t minute = 1; minute <= 5; minute++)
        assert_true(seen_at(online, first_ms + minute * MINUTE_MS) <= 1);
    mcds_online_close(online);
    end(&round.world);
    return has_come;
}

static void a_refused_beat_leaves_those_after_it(void **state)
{
    (void)state;
    for (int stays = 0; stays < 2; stays++)
        for (int fault = FAULT_UNSENT; fault < FAULT_COUNT; fault++) {
            uint64_t at = 1;
            while (lose_one_of_two((enum fault)fault, at, stays != 0))
                at++;
            assert_in_range(at, 6, 20);
        }
}

/* A refused allocation costs the sharing, and no addition. */
static void without_memory_nothing_is_lost(void **state)
{
    (void)state;
    for (int64_t allowed = 0; allowed < 6; allowed++) {
        static struct round round;
        begin_round(&round);
        mcds_counter *counter = open_counter(&round, "n", 0, 0);
        assert_int_equal(mcds_counter_add(counter, 10, NULL), MCDS_OK);
        for (int i = 0; i < 40; i++)
            add(&round, counter, 1);
        round.world.fake.allowed = allowed;
        mcds_completion done;
        int result = mcds_pipeline_next(round.world.pipeline, &done);
        round.world.fake.allowed = -1;
        assert_int_equal(result, MCDS_OK);
        round.results[done.tag] = done.result;
        drive_round(&round);
        struct counted counted = outcome_of(&round, 0, 40);
        assert_true(counted.sure == 40 && value_now(counter) == 50);
        mcds_counter_close(counter);
        end(&round.world);
    }
}

static void closing_forgets_the_sums(void **state)
{
    static struct round round;
    (void)state;
    begin_round(&round);
    mcds_counter *counter = open_counter(&round, "n", 0, 0);
    for (int i = 0; i < 40; i++)
        add(&round, counter, 1);
    mcds_counter_close(counter);
    end(&round.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_own_value),
        cmocka_unit_test(what_meets_seldom_goes_alone),
        cmocka_unit_test(one_makes_the_key_for_all),
        cmocka_unit_test(the_order_of_a_key_stays),
        cmocka_unit_test(what_differs_is_not_shared),
        cmocka_unit_test(limits_are_as_alone),
        cmocka_unit_test(what_is_too_much_is_taken_back),
        cmocka_unit_test(what_is_far_too_much_is_taken_back),
        cmocka_unit_test(a_fault_is_that_of_each),
        cmocka_unit_test(beats_of_a_visitor_share_a_mark),
        cmocka_unit_test(a_refused_beat_leaves_those_after_it),
        cmocka_unit_test(without_memory_nothing_is_lost),
        cmocka_unit_test(closing_forgets_the_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
