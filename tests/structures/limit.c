/* Limit: bursts, refills, several rates, patience, giving back, clocks, scans, loss, windows. */
#include <stdlib.h>

#include "structures/suite.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)
#define MANY 40

static mcds_limit *open_rates(mcds_store *store, const char *name, const mcds_rate *rates,
                              uint32_t count)
{
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    mcds_limit *limit = NULL;
    options.rate_count = count;
    for (uint32_t i = 0; i < count; i++)
        options.rates[i] = rates[i];
    CHECK_RESULT(MCDS_OK, mcds_limit_open(store, name, &options, &limit));
    return limit;
}

static mcds_limit *open_limit(mcds_store *store, const char *name, uint64_t count,
                              uint64_t per_ms, uint64_t burst)
{
    const mcds_rate rate = {count, per_ms, burst};
    return open_rates(store, name, &rate, 1);
}

static mcds_limit *open_window(mcds_store *store, const char *name, uint64_t count,
                               uint64_t per_ms)
{
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    mcds_limit *limit = NULL;
    options.form = MCDS_LIMIT_WINDOW;
    options.rate_count = 1;
    options.rates[0] = (mcds_rate){count, per_ms, 0};
    CHECK_RESULT(MCDS_OK, mcds_limit_open(store, name, &options, &limit));
    return limit;
}

static int take(struct suite *suite, mcds_limit *limit, const char *identity, uint64_t n,
                uint32_t patience_ms, mcds_limit_value *value)
{
    *value = (mcds_limit_value)MCDS_LIMIT_VALUE_INIT;
    int result = CALL(suite, mcds_limit_take, limit, mcds_text(identity), n, patience_ms,
                      value);
    skip_if_unsupported(result);
    return result;
}

static void check_take(struct suite *suite, mcds_limit *limit, const char *identity,
                       int expected)
{
    mcds_limit_value value;
    CHECK_RESULT(expected, take(suite, limit, identity, 1, 0, &value));
}

static void check_left(struct suite *suite, mcds_limit *limit, const char *identity,
                       uint64_t left)
{
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_limit_get, limit, mcds_text(identity), &value);
    assert_int_equal(value.remaining, left);
}

/* The test stops its clock, a server does not. */
static void check_time(uint64_t ms, int64_t expected_ms)
{
    assert_true(ms <= (uint64_t)expected_ms + 1);
    assert_true(ms + 120000 >= (uint64_t)expected_ms);
}

static void a_burst_passes_and_no_more(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    mcds_limit *limit = open_limit(suite->store, name, 5, HOUR_MS, 0);
    mcds_limit *other = open_limit(suite->other, name, 5, HOUR_MS, 0);
    mcds_limit_value value;
    for (uint64_t i = 0; i < 5; i++) {
        CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 1, 0, &value));
        assert_int_equal(value.remaining, 4 - i);
        assert_int_equal(value.retry_ms, 0);
        assert_int_equal(value.delay_ms, 0);
        check_time(value.full_ms, (int64_t)(i + 1) * HOUR_MS / 5);
    }
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 1, 0, &value));
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_LIMITED);
    assert_int_equal(value.remaining, 0);
    check_time(value.retry_ms, HOUR_MS / 5);
    CHECK_OTHER(MCDS_BUSY, suite, mcds_limit_take, other, mcds_text("a"), 1, 0, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_limit_take, other, mcds_text("b"), 5, 0, NULL);
    check_take(suite, limit, "b", MCDS_BUSY);
    mcds_limit_close(limit);
    mcds_limit_close(other);
}

/* A refusal reports the tokens that are left, in both forms. */
static void a_refused_take_reports_the_rest(struct suite *suite)
{
    mcds_limit *limit = open_limit(suite->store, fresh_name(suite, "l"), 5, HOUR_MS, 0);
    mcds_limit *window = open_window(suite->store, fresh_name(suite, "l"), 5, HOUR_MS);
    mcds_limit_value value;
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 3, 0, &value));
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 3, 0, &value));
    assert_int_equal(value.remaining, 2);
    CHECK_RESULT(MCDS_OK, take(suite, window, "a", 3, 0, &value));
    CHECK_RESULT(MCDS_BUSY, take(suite, window, "a", 3, 0, &value));
    assert_int_equal(value.remaining, 2);
    mcds_limit_close(limit);
    mcds_limit_close(window);
}

static void a_bucket_refills(struct suite *suite)
{
    mcds_limit *limit = open_limit(suite->store, fresh_name(suite, "l"), 5, HOUR_MS, 0);
    mcds_limit_value value;
    check_left(suite, limit, "a", 5);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 5, 0, &value));
    check_left(suite, limit, "a", 0);
    check_take(suite, limit, "a", MCDS_BUSY);
    shift_wall_ms(suite, HOUR_MS / 5);
    check_left(suite, limit, "a", 1);
    check_take(suite, limit, "a", MCDS_OK);
    check_take(suite, limit, "a", MCDS_BUSY);
    shift_wall_ms(suite, 2 * HOUR_MS);
    check_left(suite, limit, "a", 5);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 5, 0, &value));
    mcds_limit_close(limit);
}

static void all_rates_pay_or_none(struct suite *suite)
{
    static const mcds_rate rates[] = {{100, DAY_MS, 0}, {3, HOUR_MS, 0}, {50, DAY_MS, 40}};
    const char *name = fresh_name(suite, "l");
    mcds_limit *limit = open_rates(suite->store, name, rates, 3);
    mcds_limit *first = open_rates(suite->store, name, rates, 1);
    mcds_limit_value value;
    for (int i = 0; i < 3; i++)
        check_take(suite, limit, "a", MCDS_OK);
    for (int i = 0; i < 4; i++)
        CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 1, 0, &value));
    check_time(value.retry_ms, HOUR_MS / 3);
    check_left(suite, first, "a", 97);
    /* A handle with one rate leaves the others alone. */
    CHECK_RESULT(MCDS_OK, take(suite, first, "a", 90, 0, &value));
    check_take(suite, limit, "a", MCDS_BUSY);
    shift_wall_ms(suite, HOUR_MS);
    check_left(suite, limit, "a", 3);
    mcds_limit_close(limit);
    mcds_limit_close(first);
}

static void patience_reserves_a_turn(struct suite *suite)
{
    mcds_limit *limit = open_limit(suite->store, fresh_name(suite, "l"), 2, HOUR_MS, 1);
    mcds_limit_value value;
    check_take(suite, limit, "a", MCDS_OK);
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 1, HOUR_MS / 4, &value));
    check_time(value.retry_ms, HOUR_MS / 4);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 1, HOUR_MS, &value));
    check_time(value.delay_ms, HOUR_MS / 2);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 1, HOUR_MS, &value));
    check_time(value.delay_ms, HOUR_MS);
    assert_int_equal(value.remaining, 0);
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 1, HOUR_MS, &value));
    check_take(suite, limit, "a", MCDS_BUSY);
    mcds_limit_close(limit);
}

static void patience_has_a_bound(struct suite *suite)
{
    const uint32_t most_ms = 49 * (uint32_t)DAY_MS;
    mcds_limit *limit = open_limit(suite->store, fresh_name(suite, "l"), 1, most_ms, 0);
    mcds_limit_value value;
    CHECK_RESULT(MCDS_INVALID, take(suite, limit, "a", 1, most_ms + 1, &value));
    CHECK_SENTENCE("patience_ms");
    CHECK_RESULT(MCDS_INVALID, take(suite, limit, "a", 1, UINT32_MAX, &value));
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 1, most_ms, &value));
    check_time(value.delay_ms, 0);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 1, most_ms, &value));
    check_time(value.delay_ms, most_ms);
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 1, most_ms, &value));
    mcds_limit_close(limit);
}

static void what_is_given_back_can_be_taken(struct suite *suite)
{
    mcds_limit *limit = open_limit(suite->store, fresh_name(suite, "l"), 5, DAY_MS, 0);
    mcds_limit_value value;
    CHECK(MCDS_OK, suite, mcds_limit_give, limit, mcds_text("a"), 2);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 4, 0, &value));
    CHECK(MCDS_OK, suite, mcds_limit_give, limit, mcds_text("a"), 2);
    check_left(suite, limit, "a", 3);
    CHECK(MCDS_OK, suite, mcds_limit_give, limit, mcds_text("a"), 5);
    check_left(suite, limit, "a", 5);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 5, 0, &value));
    check_take(suite, limit, "a", MCDS_BUSY);
    mcds_limit_close(limit);
}

static void a_changed_rate_keeps_what_was_used(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    mcds_limit *old = open_limit(suite->store, name, 100, DAY_MS, 0);
    mcds_limit *raised = open_limit(suite->store, name, 1000, DAY_MS, 0);
    mcds_limit *lowered = open_limit(suite->store, name, 10, DAY_MS, 0);
    mcds_limit_value value;
    CHECK_RESULT(MCDS_OK, take(suite, old, "a", 100, 0, &value));
    check_take(suite, old, "a", MCDS_BUSY);
    check_left(suite, raised, "a", 900);
    CHECK_RESULT(MCDS_OK, take(suite, raised, "a", 800, 0, &value));
    check_take(suite, old, "a", MCDS_BUSY);
    check_left(suite, raised, "a", 100);
    CHECK_RESULT(MCDS_BUSY, take(suite, lowered, "a", 1, 0, &value));
    check_time(value.retry_ms, DAY_MS / 1000 * 891);
    mcds_limit_close(old);
    mcds_limit_close(raised);
    mcds_limit_close(lowered);
}

/* The last call says which clock is wrong, and by how much. */
static void check_slow_clock(const char *verb)
{
    const mcds_error *error = mcds_last_error();
    CHECK_SENTENCE("this machine's clock is more than 5 s before that of the last take");
    CHECK_SENTENCE("; the difference is ");
    CHECK_SENTENCE(" ms, and at most 5000 ms is accepted");
    CHECK_SENTENCE("correct the one that is wrong");
    assert_string_equal(error->verb, verb);
    assert_true(error->cause == MCDS_CAUSE_CLOCK && error->found_number >= 5900 &&
                error->found_number <= 6100);
}

/* R9, R11: a slow clock takes no time back, and one that is very slow is reported. */
static void a_slow_clock_refills_nothing(struct suite *suite)
{
    mcds_limit *limit = open_limit(suite->store, fresh_name(suite, "l"), 10, 10000, 0);
    mcds_limit_value value;
    shift_wall_ms(suite, HOUR_MS);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 10, 0, &value));
    CHECK_RESULT(MCDS_OK, take(suite, limit, "fair", 4, 0, &value));
    shift_wall_ms(suite, -4000);
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 6, 0, &value));
    assert_true(value.retry_ms > 5000 && value.retry_ms <= 10000);
    CHECK_RESULT(MCDS_OK,
                 take(suite, limit, "fair", 6, 0, &value)); /* judged at the later time */
    shift_wall_ms(suite, 4000 - 6000);
    CHECK(MCDS_TOO_OLD, suite, mcds_limit_take, limit, mcds_text("a"), 1, 0, NULL);
    check_slow_clock("take");
    CHECK(MCDS_TOO_OLD, suite, mcds_limit_get, limit, mcds_text("a"), &value);
    check_slow_clock("get");
    CHECK(MCDS_TOO_OLD, suite, mcds_limit_give, limit, mcds_text("a"), 1);
    check_slow_clock("give");
    shift_wall_ms(suite, 6000 - HOUR_MS);
    CHECK(MCDS_TOO_OLD, suite, mcds_limit_take, limit, mcds_text("a"), 1, 0, NULL);
    check_take(suite, limit, "b", MCDS_OK);
    shift_wall_ms(suite, HOUR_MS);
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 10, 0, &value));
    mcds_limit_close(limit);
}

/* Their keys live on all servers of the store, and the root of the limit on one: some reads of a
 * pipeline are answered before the root. */
static void refused_takes_of_a_pipeline_are_refused(struct suite *suite)
{
    enum { IDENTITIES = 12, ROUNDS = 4 };
    char identity[IDENTITIES][16];
    for (int round = 0; round < ROUNDS; round++) {
        mcds_limit *limit = open_limit(suite->store, fresh_name(suite, "piped"), 1, HOUR_MS, 0);
        mcds_pipeline *pipeline = NULL;
        mcds_completion completion;
        for (size_t i = 0; i < IDENTITIES; i++) {
            (void)snprintf(identity[i], sizeof identity[i], "id%d.%zu", round, i);
            check_take(suite, limit, identity[i], MCDS_OK);
            check_take(suite, limit, identity[i], MCDS_BUSY);
            check_take(suite, limit, identity[i], MCDS_BUSY);
        }
        CHECK_RESULT(MCDS_OK, mcds_pipeline_open(suite->store, NULL, &pipeline));
        for (size_t i = 0; i < IDENTITIES; i++)
            CHECK_RESULT(MCDS_OK, mcds_limit_take_start(limit, mcds_text(identity[i]), 1, 0,
                                                        NULL, pipeline, i));
        for (size_t i = 0; i < IDENTITIES; i++) {
            CHECK_RESULT(MCDS_OK, mcds_pipeline_next(pipeline, &completion));
            CHECK_RESULT(MCDS_BUSY, completion.result);
        }
        mcds_pipeline_close(pipeline);
        mcds_limit_close(limit);
    }
}

/* The clock is before 1970, or after 2190. */
static void a_clock_that_is_none_is_refused(struct suite *suite)
{
    static const int64_t clocks_ms[] = {-1, INT64_C(7000000000001)};
    static const int too[] = {MCDS_TOO_OLD, MCDS_TOO_FUTURE};
    mcds_limit *limit = open_limit(suite->store, fresh_name(suite, "l"), 2, 366 * DAY_MS, 0);
    mcds_limit_value value;
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 1, 0, &value));
    for (size_t i = 0; i < sizeof clocks_ms / sizeof clocks_ms[0]; i++) {
        int64_t shift_ms = clocks_ms[i] - wall_ms(suite);
        shift_wall_ms(suite, shift_ms);
        CHECK(too[i], suite, mcds_limit_take, limit, mcds_text("a"), 1, 0, NULL);
        CHECK_SENTENCE(i == 0 ? "before 1970" : "after 2190");
        CHECK(too[i], suite, mcds_limit_take, limit, mcds_text("new"), 1, 0, NULL);
        CHECK(too[i], suite, mcds_limit_give, limit, mcds_text("a"), 1);
        CHECK(too[i], suite, mcds_limit_get, limit, mcds_text("a"), &value);
        shift_wall_ms(suite, -shift_ms);
    }
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 1, 0, &value));
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 1, 0, &value));
    mcds_limit_close(limit);
}

/* Its key is rewritten many times. */
static void a_busy_identity_counts_each_take_once(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    mcds_limit *limit = open_limit(suite->store, name, 150, 366 * DAY_MS, 0);
    mcds_limit *other = open_limit(suite->other, name, 150, 366 * DAY_MS, 0);
    int passed = 0;
    for (int i = 0; i < 100; i++) {
        mcds_limit_value value;
        int result = take(suite, limit, "a", 1, 0, &value);
        int second = mcds_limit_take(other, mcds_text("a"), 1, 0, NULL);
        passed += (result == MCDS_OK) + (second == MCDS_OK);
    }
    assert_int_equal(passed, 150);
    check_left(suite, limit, "a", 0);
    mcds_limit_close(limit);
    mcds_limit_close(other);
}

struct seen {
    int times[MANY];
    uint64_t limit_count;
};

static bool see(void *context, mcds_bytes identity, const mcds_limit_value *value)
{
    struct seen *seen = context;
    char name[16] = "";
    assert_true(identity.length < sizeof name);
    memcpy(name, identity.data, identity.length);
    int number = atoi(name);
    assert_true(number >= 0 && number < MANY);
    assert_true(value->full_ms > 0);
    seen->times[number]++;
    return true;
}

static void scans_see_each_identity_once(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    mcds_limit *limit = open_limit(suite->store, name, 5, DAY_MS, 0);
    mcds_limit *bare = open_rates(suite->store, name, NULL, 0);
    mcds_limit_cursor cursor = MCDS_LIMIT_CURSOR_INIT;
    struct seen seen = {.limit_count = 7};
    char identity[16];
    CHECK(MCDS_NOT_FOUND, suite, mcds_limit_scan, bare, &cursor, 0, see, &seen);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(identity, sizeof identity, "%d", i);
        check_take(suite, limit, identity, MCDS_OK);
    }
    cursor = (mcds_limit_cursor)MCDS_LIMIT_CURSOR_INIT;
    for (int calls = 0; !cursor.done; calls++) {
        assert_true(calls < MANY);
        CHECK(MCDS_OK, suite, mcds_limit_scan, bare, &cursor, seen.limit_count, see, &seen);
    }
    for (int i = 0; i < MANY; i++)
        assert_int_equal(seen.times[i], 1);
    CHECK(MCDS_INVALID, suite, mcds_limit_take, bare, mcds_text("1"), 1, 0, NULL);
    CHECK_SENTENCE("rate");
    /* Full buckets are not there. */
    shift_wall_ms(suite, 2 * DAY_MS);
    cursor = (mcds_limit_cursor)MCDS_LIMIT_CURSOR_INIT;
    CHECK(MCDS_OK, suite, mcds_limit_scan, bare, &cursor, 0, see, &seen);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(seen.times[i], 1);
    mcds_limit_close(limit);
    mcds_limit_close(bare);
}

static void drop_fills_all(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    mcds_limit *limit = open_limit(suite->store, name, 2, DAY_MS, 0);
    mcds_limit *other = open_limit(suite->other, name, 2, DAY_MS, 0);
    mcds_limit_cursor cursor = MCDS_LIMIT_CURSOR_INIT;
    struct seen seen = {.limit_count = 0};
    mcds_limit_value value;
    CHECK(MCDS_NOT_FOUND, suite, mcds_limit_drop, limit);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "1", 2, 0, &value));
    CHECK_OTHER(MCDS_BUSY, suite, mcds_limit_take, other, mcds_text("1"), 1, 0, NULL);
    CHECK(MCDS_OK, suite, mcds_limit_drop, limit);
    CHECK(MCDS_NOT_FOUND, suite, mcds_limit_scan, limit, &cursor, 0, see, &seen);
    check_left(suite, limit, "1", 2);
    /* The other handle knows the life that is over: its record there does not count. */
    int result = CALL_IN(suite, suite->other_pipeline, mcds_limit_take, other, mcds_text("1"),
                         2, 0, NULL);
    assert_true(result == MCDS_OK || result == MCDS_AMBIGUOUS);
    if (result == MCDS_AMBIGUOUS)
        CHECK_OTHER(MCDS_OK, suite, mcds_limit_take, other, mcds_text("1"), 2, 0, NULL);
    check_take(suite, limit, "1", MCDS_BUSY);
    mcds_limit_close(limit);
    mcds_limit_close(other);
}

/* G-LIMIT-1: what the store forgets is full again, and no call reports a loss. */
static void a_lost_root_fills_all(struct suite *suite)
{
    const char *name = fresh_name(suite, "l");
    mcds_limit *limit = open_limit(suite->store, name, 2, DAY_MS, 0);
    mcds_limit_value value;
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 2, 0, &value));
    struct raw_key root = raw_key(suite, MCDS__TAG_LIMIT, name, -1);
    assert_int_equal(raw_delete(suite, &root), MCDS_OUT_OK);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 2, 0, &value));
    check_take(suite, limit, "a", MCDS_BUSY);
    assert_int_equal(raw_delete(suite, &root), MCDS_OUT_OK);
    CHECK(MCDS_OK, suite, mcds_limit_give, limit, mcds_text("a"), 1);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 2, 0, &value));
    check_take(suite, limit, "a", MCDS_BUSY);
    mcds_limit_close(limit);
}

static void a_window_holds_its_count(struct suite *suite)
{
    const char *name = fresh_name(suite, "w");
    mcds_limit *limit = open_window(suite->store, name, 10, 8 * HOUR_MS);
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_limit_get, limit, mcds_text("a"), &value);
    assert_int_equal(value.remaining, 10);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 4, 0, &value));
    assert_int_equal(value.remaining, 6);
    shift_wall_ms(suite, 2 * HOUR_MS);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 6, 0, &value));
    assert_int_equal(value.remaining, 0);
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 1, 0, &value));
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_LIMITED);
    assert_true(value.retry_ms > 6 * HOUR_MS && value.retry_ms <= 7 * HOUR_MS);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "b", 10, 0, &value));
    /* The refusal was taken back, so the retry time holds: the first slot is out of the window. */
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 1, 0, &value));
    shift_wall_ms(suite, (int64_t)value.retry_ms + 1);
    CHECK(MCDS_OK, suite, mcds_limit_get, limit, mcds_text("a"), &value);
    assert_int_equal(value.remaining, 4);
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 5, 0, &value));
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 4, 0, &value));
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 1, 0, &value));
    mcds_limit_close(limit);
}

/* The slot of a take counts until nine later ones have begun. */
static void a_window_counts_nine_slots(struct suite *suite)
{
    mcds_limit *limit = open_window(suite->store, fresh_name(suite, "w"), 10, 8 * HOUR_MS);
    mcds_limit_value value;
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 10, 0, &value));
    shift_wall_ms(suite, 8 * HOUR_MS);
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 1, 0, &value));
    CHECK(MCDS_BUSY, suite, mcds_limit_take, limit, mcds_text("a"), 1, 0, NULL);
    shift_wall_ms(suite, HOUR_MS);
    CHECK(MCDS_OK, suite, mcds_limit_take, limit, mcds_text("a"), 10, 0, NULL);
    CHECK(MCDS_BUSY, suite, mcds_limit_take, limit, mcds_text("a"), 1, 0, NULL);
    mcds_limit_close(limit);
}

/* R5: a take in an earlier slot, by a slow clock, sees those in the later ones. */
static void a_window_sees_later_slots(struct suite *suite)
{
    mcds_limit *limit = open_window(suite->store, fresh_name(suite, "w"), 3, 8 * HOUR_MS);
    mcds_limit_value value;
    shift_wall_ms(suite, 8 * HOUR_MS);
    CHECK_RESULT(MCDS_OK, take(suite, limit, "a", 3, 0, &value));
    shift_wall_ms(suite, -8 * HOUR_MS);
    CHECK_RESULT(MCDS_BUSY, take(suite, limit, "a", 1, 0, &value));
    mcds_limit_close(limit);
}

static void a_window_refuses_other_verbs(struct suite *suite)
{
    mcds_limit *limit = open_window(suite->store, fresh_name(suite, "w"), 3, 8 * HOUR_MS);
    mcds_limit_cursor cursor = MCDS_LIMIT_CURSOR_INIT;
    struct seen seen = {.limit_count = 0};
    CHECK(MCDS_UNSUPPORTED, suite, mcds_limit_give, limit, mcds_text("a"), 1);
    CHECK_SENTENCE("windows");
    CHECK(MCDS_UNSUPPORTED, suite, mcds_limit_scan, limit, &cursor, 0, see, &seen);
    CHECK(MCDS_UNSUPPORTED, suite, mcds_limit_drop, limit);
    CHECK(MCDS_INVALID, suite, mcds_limit_take, limit, mcds_text("a"), 1, 1, NULL);
    CHECK_SENTENCE("patience_ms");
    CHECK(MCDS_INVALID, suite, mcds_limit_take, limit, ((mcds_bytes){"a\0b", 3}), 1, 0, NULL);
    CHECK_SENTENCE("a byte that is not allowed");
    mcds_limit_close(limit);
}

static void bad_options_are_refused(struct suite *suite)
{
    static const struct {
        mcds_limit_form form;
        uint32_t rate_count;
        mcds_rate rate;
        const char *word;
    } bad[] = {
        {(mcds_limit_form)2, 1, {1, 1000, 0}, "form"},
        {MCDS_LIMIT_BUCKET, 5, {1, 1000, 0}, "rate_count must be 0 to 4, not 5"},
        {MCDS_LIMIT_WINDOW, 0, {1, 1000, 0}, "rate_count must be 1, not 0"},
        {MCDS_LIMIT_WINDOW, 2, {1, 1000, 0}, "rate_count must be 1, not 2"},
        {MCDS_LIMIT_BUCKET, 1, {0, 1000, 0}, "count must be 1 to 1000000000, not 0"},
        {MCDS_LIMIT_BUCKET, 1, {1, 0, 0}, "per_ms"},
        {MCDS_LIMIT_BUCKET, 1, {1, 367 * DAY_MS, 0}, "per_ms"},
        {MCDS_LIMIT_BUCKET, 1, {1000001, 1, 0}, "count"},
        {MCDS_LIMIT_BUCKET, 1, {1, DAY_MS, 3661}, "burst must be 0 to 3660, not 3661"},
        {MCDS_LIMIT_WINDOW, 1, {10, 999, 0}, "per_ms"},
        {MCDS_LIMIT_WINDOW, 1, {10, 1000, 11}, "burst must be 0 or 10, not 11"},
    };
    mcds_limit *limit = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
        options.form = bad[i].form;
        options.rate_count = bad[i].rate_count;
        options.rates[0] = bad[i].rate;
        CHECK_RESULT(MCDS_INVALID, mcds_limit_open(suite->store, "l", &options, &limit));
        CHECK_SENTENCE(bad[i].word);
    }
    CHECK_RESULT(MCDS_INVALID, mcds_limit_open(NULL, "l", NULL, &limit));
    CHECK_RESULT(MCDS_INVALID, mcds_limit_open(suite->store, "l", NULL, NULL));
}

static void the_value_may_be_discarded(struct suite *suite)
{
    mcds_limit *limit = open_limit(suite->store, fresh_name(suite, "l"), 5, HOUR_MS, 3);
    int result = CALL(suite, mcds_limit_take, limit, mcds_text("a"), 3, 0, NULL);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    CHECK(MCDS_BUSY, suite, mcds_limit_take, limit, mcds_text("a"), 1, 0, NULL);
    mcds_limit_close(limit);
}

static void bad_arguments_are_refused(struct suite *suite)
{
    mcds_limit *limit = open_limit(suite->store, fresh_name(suite, "l"), 5, HOUR_MS, 3);
    mcds_limit_cursor cursor = MCDS_LIMIT_CURSOR_INIT;
    CHECK(MCDS_INVALID, suite, mcds_limit_take, limit, mcds_text(""), 1, 0, NULL);
    CHECK(MCDS_INVALID, suite, mcds_limit_take, limit, mcds_text("a"), 0, 0, NULL);
    CHECK(MCDS_INVALID, suite, mcds_limit_take, limit, mcds_text("a"), 4, 0, NULL);
    CHECK_SENTENCE("n must be 1 to 3, not 4");
    CHECK(MCDS_INVALID, suite, mcds_limit_give, limit, mcds_text("a"), 4);
    CHECK(MCDS_INVALID, suite, mcds_limit_take, NULL, mcds_text("a"), 1, 0, NULL);
    CHECK(MCDS_INVALID, suite, mcds_limit_get, limit, mcds_text("a"), NULL);
    CHECK(MCDS_INVALID, suite, mcds_limit_scan, limit, NULL, 0, see, NULL);
    CHECK(MCDS_INVALID, suite, mcds_limit_scan, limit, &cursor, 0, NULL, NULL);
    CHECK(MCDS_INVALID, suite, mcds_limit_drop, NULL);
    mcds_limit_close(limit);
    mcds_limit_close(NULL);
}

static const struct suite_case cases[] = {
    CASE(a_burst_passes_and_no_more),
    CASE(a_bucket_refills),
    CASE(a_refused_take_reports_the_rest),
    CASE(all_rates_pay_or_none),
    CASE(patience_reserves_a_turn),
    CASE(patience_has_a_bound),
    CASE(what_is_given_back_can_be_taken),
    CASE(a_changed_rate_keeps_what_was_used),
    CASE_TWICE(a_slow_clock_refills_nothing),
    CASE_ONCE(refused_takes_of_a_pipeline_are_refused),
    CASE_TWICE(a_clock_that_is_none_is_refused),
    CASE_TWICE(a_busy_identity_counts_each_take_once),
    CASE_TWICE(scans_see_each_identity_once),
    CASE_TWICE(drop_fills_all),
    CASE_TWICE(a_lost_root_fills_all),
    CASE(a_window_holds_its_count),
    CASE(a_window_counts_nine_slots),
    CASE(a_window_sees_later_slots),
    CASE_TWICE(a_window_refuses_other_verbs),
    CASE_ONCE(bad_options_are_refused),
    CASE(the_value_may_be_discarded),
    CASE_TWICE(bad_arguments_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
