/* Visitors: which visits count, and when; reads; refusals. */
#include "structures/suite.h"

#define MINUTE 60000
/* The beginning of a period of a minute. */
/* The beginning of a minute long enough ago for a hit in any of the minutes after it. */
#define A_MS (T0_MS / MINUTE * MINUTE - 200 * MINUTE)

static mcds_visitors *open_visitors(mcds_store *store, const char *name, uint64_t period_ms,
                                    uint32_t settle_ms)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors = NULL;
    options.period_ms = period_ms;
    options.settle_ms = settle_ms;
    CHECK_RESULT(MCDS_OK, mcds_visitors_open(store, name, &options, &visitors));
    return visitors;
}

static mcds_visitors_value value_at(struct suite *suite, mcds_visitors *visitors, int64_t at_ms)
{
    mcds_visitors_value value = {.size = sizeof(mcds_visitors_value),
                                 .closed = 77,
                                 .current = 77,
                                 .estimate = 77,
                                 .error = 77,
                                 .provisional = true,
                                 .reborn = true};
    CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, at_ms, &value);
    return value;
}

static void check_counts(struct suite *suite, mcds_visitors *visitors, int64_t at_ms,
                         uint64_t closed, uint64_t current)
{
    mcds_visitors_value value = value_at(suite, visitors, at_ms);
    assert_int_equal(value.closed, closed);
    assert_int_equal(value.current, current);
}

static void every_nameless_hit_counts(struct suite *suite)
{
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"), MINUTE, 0);
    check_counts(suite, visitors, A_MS, 0, 0);
    for (int i = 0; i < 3; i++)
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, NULL, A_MS + i);
    check_counts(suite, visitors, A_MS + 10, 0, 3);
    check_counts(suite, visitors, A_MS + MINUTE, 3, 0);
    check_counts(suite, visitors, A_MS + 2 * MINUTE, 0, 0);
    check_counts(suite, visitors, A_MS - 1, 0, 0);
    mcds_visitors_close(visitors);
}

static void a_visitor_counts_once_a_period(struct suite *suite)
{
    const char *name = fresh_name(suite, "v");
    mcds_visitors *visitors = open_visitors(suite->store, name, MINUTE, 0);
    mcds_visitors *other = open_visitors(suite->other, name, MINUTE, 0);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS);
    CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, "ann", A_MS + 1);
    CHECK_OTHER(MCDS_EXISTS, suite, mcds_visitors_hit, other, "ann", A_MS + MINUTE - 1);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_hit, other, "bob", A_MS + 2);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS + MINUTE);
    CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, "ann", A_MS + MINUTE + 5);
    /* Late, and still in its own period. */
    CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, "bob", A_MS + 3);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "cid", A_MS + 4);
    check_counts(suite, visitors, A_MS + MINUTE, 3, 1);
    check_counts(suite, visitors, A_MS + 2 * MINUTE, 1, 0);
    mcds_visitors_close(visitors);
    mcds_visitors_close(other);
}

static void periods_begin_at_their_edge(struct suite *suite)
{
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"), MINUTE, 0);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, NULL, A_MS - 1);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, NULL, A_MS);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, NULL, A_MS + MINUTE - 1);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, NULL, A_MS + MINUTE);
    check_counts(suite, visitors, A_MS - 1, 0, 1);
    check_counts(suite, visitors, A_MS, 1, 2);
    check_counts(suite, visitors, A_MS + MINUTE - 1, 1, 2);
    check_counts(suite, visitors, A_MS + MINUTE, 2, 1);
    mcds_visitors_close(visitors);
}

static void the_estimate_is_smooth(struct suite *suite)
{
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"), MINUTE, 0);
    for (int i = 0; i < 12; i++)
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, NULL, A_MS + i);
    for (int i = 0; i < 4; i++)
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, NULL, A_MS + MINUTE + i);
    mcds_visitors_value value = value_at(suite, visitors, A_MS + MINUTE + MINUTE / 4);
    CHECK_NEAR(value.estimate, 12 * 0.75 + 4);
    CHECK_NEAR(value.error, 1.5); /* the root of 12 * 0.25 * 0.75 */
    value = value_at(suite, visitors, A_MS + MINUTE);
    CHECK_NEAR(value.estimate, 12 + 4);
    CHECK_NEAR(value.error, 0);
    value = value_at(suite, visitors, A_MS + MINUTE + MINUTE / 2);
    CHECK_NEAR(value.estimate, 6 + 4);
    mcds_visitors_close(visitors);
}

static void a_young_period_is_provisional(struct suite *suite)
{
    const char *name = fresh_name(suite, "v");
    mcds_visitors *usual = open_visitors(suite->store, name, MINUTE, 0);
    mcds_visitors *hasty = open_visitors(suite->store, name, MINUTE, 100);
    assert_true(value_at(suite, usual, A_MS).provisional);
    assert_true(value_at(suite, usual, A_MS + 4999).provisional);
    assert_false(value_at(suite, usual, A_MS + 5000).provisional);
    assert_false(value_at(suite, usual, A_MS + MINUTE - 1).provisional);
    assert_true(value_at(suite, hasty, A_MS + 99).provisional);
    assert_false(value_at(suite, hasty, A_MS + 100).provisional);
    mcds_visitors_close(usual);
    mcds_visitors_close(hasty);
}

static void one_period_for_all_time(struct suite *suite)
{
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"), 0, 0);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", 0);
    CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, "ann", A_MS);
    CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, "ann", 1);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, NULL, A_MS + 100 * (int64_t)MINUTE);
    mcds_visitors_value value = value_at(suite, visitors, 0);
    assert_int_equal(value.closed, 0);
    assert_int_equal(value.current, 2);
    CHECK_NEAR(value.estimate, 2);
    CHECK_NEAR(value.error, 0);
    assert_false(value.provisional);
    CHECK(MCDS_OK, suite, mcds_visitors_drop, visitors, 0);
    check_counts(suite, visitors, 0, 0, 0);
    mcds_visitors_close(visitors);
}

static void drop_erases_two_periods(struct suite *suite)
{
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"), MINUTE, 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_visitors_drop, visitors, A_MS);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS - MINUTE);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS + MINUTE);
    CHECK(MCDS_OK, suite, mcds_visitors_drop, visitors, A_MS + MINUTE);
    mcds_visitors_value value = value_at(suite, visitors, A_MS + MINUTE);
    assert_int_equal(value.closed + value.current, 0);
    assert_false(value.reborn);
    check_counts(suite, visitors, A_MS, 1, 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_visitors_drop, visitors, A_MS + MINUTE);
    /* A visitor that was counted stays known. */
    CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, "ann", A_MS);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "bob", A_MS);
    check_counts(suite, visitors, A_MS, 1, 1);
    mcds_visitors_close(visitors);
}

static void reborn_is_told(struct suite *suite)
{
    const char *name = fresh_name(suite, "v");
    mcds_visitors *visitors = open_visitors(suite->store, name, MINUTE, 0);
    mcds_visitors *other = open_visitors(suite->other, name, MINUTE, 0);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, NULL, A_MS);
    assert_false(value_at(suite, visitors, A_MS).reborn);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_drop, other, A_MS);
    assert_true(value_at(suite, visitors, A_MS).reborn);
    shift_wall_ms(suite, 2000);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_hit, other, NULL, A_MS);
    mcds_visitors_value value = value_at(suite, visitors, A_MS + 1);
    assert_true(value.reborn);
    assert_int_equal(value.current, 1);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_get, other, A_MS, &value);
    assert_false(value.reborn);
    assert_false(value_at(suite, visitors, A_MS + 2 * MINUTE).reborn);
    mcds_visitors_close(visitors);
    mcds_visitors_close(other);
}

static void foreign_values_are_corrupt(struct suite *suite)
{
    const char *name = fresh_name(suite, "v");
    mcds_visitors *visitors = open_visitors(suite->store, name, MINUTE, 0);
    struct raw_key key = raw_key(suite, MCDS__TAG_VISITORS, name, MINUTE);
    mcds_visitors_value value = {.size = sizeof(mcds_visitors_value),
                                 .closed = 77,
                                 .current = 77,
                                 .estimate = 77,
                                 .error = 77,
                                 .provisional = true,
                                 .reborn = true};
    raw_add_number(&key, A_MS / MINUTE);
    assert_int_equal(raw_set(suite, &key, "words"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_visitors_hit, visitors, NULL, A_MS);
    CHECK_SENTENCE(name);
    CHECK(MCDS_CORRUPT, suite, mcds_visitors_get, visitors, A_MS, &value);
    CHECK(MCDS_CORRUPT, suite, mcds_visitors_get, visitors, A_MS + MINUTE, &value);
    assert_int_equal(value.closed, 77);
    /* A visitor who could not be counted is not taken for counted. */
    int result = CALL(suite, mcds_visitors_hit, visitors, "ann", A_MS);
    if (suite->can.cas_on_store && suite->can.compare_and_delete)
        CHECK_RESULT(MCDS_CORRUPT, result);
    else
        assert_true(result == MCDS_CORRUPT || result == MCDS_AMBIGUOUS);
    CHECK(MCDS_OK, suite, mcds_visitors_drop, visitors, A_MS);
    if (result == MCDS_CORRUPT) {
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", A_MS);
        check_counts(suite, visitors, A_MS, 0, 1);
    }
    mcds_visitors_close(visitors);
}

static void names_are_apart(struct suite *suite)
{
    mcds_visitors *hosts[HARD_NAMES];
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"), MINUTE, 0);
    int64_t at_ms = A_MS - (int64_t)suite->case_serial * MINUTE;
    for (uint32_t i = 0; i < HARD_NAMES; i++) {
        hosts[i] = open_visitors(suite->store, hard_name(i), MINUTE, 0);
        for (uint32_t n = 0; n <= i; n++)
            CHECK(MCDS_OK, suite, mcds_visitors_hit, hosts[i], NULL, at_ms);
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, hard_name(i), at_ms);
    }
    for (uint32_t i = 0; i < HARD_NAMES; i++) {
        check_counts(suite, hosts[i], at_ms, 0, i + 1);
        CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, hard_name(i), at_ms);
        CHECK(MCDS_OK, suite, mcds_visitors_drop, hosts[i], at_ms);
        mcds_visitors_close(hosts[i]);
    }
    check_counts(suite, visitors, at_ms, 0, HARD_NAMES);
    mcds_visitors_close(visitors);
}

/* As time goes by itself: a period is there to be read until the next one has ended. */
static void times_before_1970_are_refused(struct suite *suite)
{
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"), 1000, 0);
    CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, "ann", INT64_MIN);
    CHECK_SENTENCE("at_ms");
    CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, NULL, -5);
    CHECK_SENTENCE("at_ms must be 0 or more, not -5");
    CHECK(MCDS_INVALID, suite, mcds_visitors_get, visitors, -1, &value);
    CHECK_SENTENCE("at_ms");
    CHECK(MCDS_INVALID, suite, mcds_visitors_drop, visitors, -1);
    CHECK_SENTENCE("at_ms");
    CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, 1, &value);
    assert_int_equal(value.current, 0);
    mcds_visitors_close(visitors);
}

static void now_is_the_time(struct suite *suite)
{
    uint64_t period_ms = suite->own_clock ? UINT64_C(31622400000) : MINUTE;
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"), period_ms, 0);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", 0);
    CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, "ann", 0);
    check_counts(suite, visitors, 0, 0, 1);
    if (!suite->own_clock) {
        int64_t part_ms = wall_ms(suite) % MINUTE;
        pass_ms(suite, MINUTE - part_ms);
        check_counts(suite, visitors, 0, 1, 0);
        pass_ms(suite, MINUTE - 1);
        check_counts(suite, visitors, 0, 1, 0);
        pass_ms(suite, 1);
        check_counts(suite, visitors, 0, 0, 0);
    }
    mcds_visitors_close(visitors);
}

/* The keys of a period far ahead would expire before it. */
static void times_far_ahead_are_refused(struct suite *suite)
{
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"), MINUTE, 7000);
    CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, "ann", INT64_MAX);
    CHECK_SENTENCE("ms after this machine's clock, not 9223372036854775807");
    CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, NULL, INT64_MAX);
    if (!suite->own_clock) {
        int64_t latest_ms = wall_ms(suite) + MINUTE + 7000;
        CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, "ann", latest_ms + 1);
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", latest_ms);
    }
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", 0);
    CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, INT64_MAX, &value);
    assert_int_equal(value.closed + value.current, 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_visitors_drop, visitors, INT64_MAX);
    mcds_visitors_close(visitors);
}

/* One period for all time has every moment. */
static void all_time_has_every_moment(struct suite *suite)
{
    mcds_visitors *visitors = open_visitors(suite->store, fresh_name(suite, "v"), 0, 0);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", INT64_MAX);
    CHECK(MCDS_EXISTS, suite, mcds_visitors_hit, visitors, "ann", 0);
    mcds_visitors_close(visitors);
}

static void check_refused(struct suite *suite, const mcds_visitors_options *options,
                          const char *word)
{
    mcds_visitors *visitors = NULL;
    CHECK_RESULT(MCDS_INVALID, mcds_visitors_open(suite->store, "named", options, &visitors));
    CHECK_SENTENCE(word);
    assert_null(visitors);
}

static void options_are_checked(struct suite *suite)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    options.size = 1;
    check_refused(suite, &options, "its size is 1");
    options.size = sizeof options;
    options.period_ms = 999;
    check_refused(suite, &options, "period_ms must be 0 or 1000 to 31622400000, not 999");
    options.period_ms = UINT64_C(31622400001);
    check_refused(suite, &options, "period");
    options.period_ms = 1000;
    options.settle_ms = 3600001;
    check_refused(suite, &options, "settle_ms");
}

static void missing_arguments_are_refused(struct suite *suite)
{
    char name[1026];
    mcds_visitors *visitors = NULL;
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_RESULT(MCDS_INVALID, mcds_visitors_open(NULL, "n", NULL, &visitors));
    CHECK_SENTENCE("visitors");
    CHECK_RESULT(MCDS_INVALID, mcds_visitors_open(suite->store, NULL, NULL, &visitors));
    CHECK_RESULT(MCDS_INVALID, mcds_visitors_open(suite->store, "", NULL, &visitors));
    CHECK_RESULT(MCDS_INVALID, mcds_visitors_open(suite->store, name, NULL, &visitors));
    CHECK_RESULT(MCDS_INVALID, mcds_visitors_open(suite->store, "n", NULL, NULL));
    assert_null(visitors);
    CHECK(MCDS_INVALID, suite, mcds_visitors_hit, NULL, "ann", 0);
    CHECK(MCDS_INVALID, suite, mcds_visitors_get, NULL, 0, &value);
    CHECK(MCDS_INVALID, suite, mcds_visitors_drop, NULL, 0);
    visitors = open_visitors(suite->store, fresh_name(suite, "v"), MINUTE, 0);
    CHECK(MCDS_INVALID, suite, mcds_visitors_get, visitors, 0, NULL);
    CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, "", 0);
    CHECK_SENTENCE("empty");
    CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, name, 0);
    CHECK_SENTENCE("1024");
    CHECK_RESULT(MCDS_INVALID, mcds_visitors_hit_start(visitors, "ann", 0, NULL, 1));
    CHECK_RESULT(MCDS_INVALID, mcds_visitors_get_start(visitors, 0, &value, NULL, 1));
    CHECK_RESULT(MCDS_INVALID, mcds_visitors_drop_start(visitors, 0, NULL, 1));
    check_counts(suite, visitors, 0, 0, 0);
    mcds_visitors_close(visitors);
    mcds_visitors_close(NULL);
}

static const struct suite_case cases[] = {
    CASE(every_nameless_hit_counts),     CASE(a_visitor_counts_once_a_period),
    CASE(periods_begin_at_their_edge),   CASE(the_estimate_is_smooth),
    CASE(a_young_period_is_provisional), CASE(one_period_for_all_time),
    CASE(drop_erases_two_periods),       CASE(reborn_is_told),
    CASE(foreign_values_are_corrupt),    CASE(names_are_apart),
    CASE(times_before_1970_are_refused), CASE(times_far_ahead_are_refused),
    CASE(all_time_has_every_moment),     CASE(now_is_the_time),
    CASE(options_are_checked),           CASE(missing_arguments_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
