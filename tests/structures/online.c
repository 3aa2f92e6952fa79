/* Online: which visitors count in which window; reads; refusals. */
#include "structures/suite.h"

#define WIDTH 60000
#define BUCKETS 5
/* The beginning of a bucket long enough ago for a beat in any of the buckets after it. */
#define B_MS (T0_MS / WIDTH * WIDTH - 200 * WIDTH)
/* A moment in bucket `i`, counted from B_MS. */
#define IN(i) (B_MS + (int64_t)(i)*WIDTH + 7)

static mcds_online *open_online(mcds_store *store, const char *name, uint32_t buckets,
                                uint32_t width_ms)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    mcds_online *online = NULL;
    options.buckets = buckets;
    options.width_ms = width_ms;
    CHECK_RESULT(MCDS_OK, mcds_online_open(store, name, &options, &online));
    return online;
}

static mcds_online_value value_at(struct suite *suite, mcds_online *online, int64_t at_ms)
{
    mcds_online_value value = {.size = sizeof(mcds_online_value),
                               .closed = 77,
                               .current = 77,
                               .estimate = 77,
                               .error = 77,
                               .reborn = true};
    CHECK(MCDS_OK, suite, mcds_online_get, online, at_ms, &value);
    return value;
}

static void check_counts(struct suite *suite, mcds_online *online, int64_t at_ms,
                         uint64_t closed, uint64_t current)
{
    mcds_online_value value = value_at(suite, online, at_ms);
    assert_int_equal(value.closed, closed);
    assert_int_equal(value.current, current);
}

static void a_window_counts_once(struct suite *suite)
{
    const char *name = fresh_name(suite, "o");
    mcds_online *online = open_online(suite->store, name, 0, 0);
    mcds_online *other = open_online(suite->other, name, BUCKETS, WIDTH);
    check_counts(suite, online, IN(0), 0, 0);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(0));
    CHECK(MCDS_EXISTS, suite, mcds_online_beat, online, "ann", IN(0) + 1);
    CHECK_OTHER(MCDS_OK, suite, mcds_online_beat, other, "ann", IN(4));
    CHECK_OTHER(MCDS_EXISTS, suite, mcds_online_beat, other, "ann", IN(2));
    CHECK(MCDS_EXISTS, suite, mcds_online_beat, online, "ann", IN(4));
    check_counts(suite, online, IN(0), 0, 1);
    for (int i = 1; i <= 9; i++)
        check_counts(suite, online, IN(i), 1, 0);
    check_counts(suite, online, IN(10), 0, 0);
    mcds_online_close(online);
    mcds_online_close(other);
}

/* A visitor with a beat in every bucket is in every window exactly once, at any length of the window. */
static void who_stays_is_counted_exactly_once(struct suite *suite)
{
    static const uint32_t lengths[] = {1, 2, 5, 32};
    for (size_t n = 0; n < sizeof lengths / sizeof lengths[0]; n++) {
        mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), lengths[n],
                                          WIDTH);
        for (int i = 0; i < 20; i++) {
            CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(i));
            CHECK(MCDS_EXISTS, suite, mcds_online_beat, online, "ann", IN(i) + 1);
            check_counts(suite, online, IN(i), i > 0, i == 0);
            CHECK_NEAR(value_at(suite, online, IN(i)).estimate, 1);
        }
        for (int i = 1; i <= 20; i++)
            check_counts(suite, online, IN(i), 1, 0);
        mcds_online_close(online);
    }
}

/* Visitor n comes first in bucket n and stays, beating now in one bucket and now in another. */
static void many_come_and_stay(struct suite *suite)
{
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, WIDTH);
    char visitor[16];
    for (int i = 0; i < 20; i++) {
        for (int n = 0; n <= i && n < 10; n++) {
            (void)snprintf(visitor, sizeof visitor, "visitor %d", n);
            int result = CALL(suite, mcds_online_beat, online, visitor, IN(i) + n);
            assert_true(result == MCDS_OK || result == MCDS_EXISTS);
        }
        check_counts(suite, online, IN(i + 1), i < 10 ? (uint64_t)i + 1 : 10, 0);
    }
    mcds_online_close(online);
}

static void who_goes_leaves_the_window(struct suite *suite)
{
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, WIDTH);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(0));
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(3));
    check_counts(suite, online, IN(8), 1, 0);
    check_counts(suite, online, IN(9), 0, 0);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(10));
    check_counts(suite, online, IN(9), 0, 0);
    check_counts(suite, online, IN(10), 0, 1);
    check_counts(suite, online, IN(15), 1, 0);
    check_counts(suite, online, IN(16), 0, 0);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(100));
    check_counts(suite, online, IN(101), 1, 0);
    mcds_online_close(online);
}

/* Beats may arrive in any order: each bucket has its visitors, and no window counts one twice. */
static void late_beats_count_in_their_bucket(struct suite *suite)
{
    static const int order[] = {10, 9, 2, 4, 3};
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, WIDTH);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        CHECK(order[i] == 3 ? MCDS_EXISTS : MCDS_OK, suite, mcds_online_beat, online, "ann",
              IN(order[i]));
    for (int i = 2; i <= 16; i++)
        check_counts(suite, online, IN(i), i > 2 && i < 16, i == 2);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "bob", IN(8));
    check_counts(suite, online, IN(8), 1, 1);
    check_counts(suite, online, IN(11), 2, 0);
    mcds_online_close(online);
}

/* A mark holds the beats of a limited time. */
static void a_beat_that_is_too_late_is_said_to_be(struct suite *suite)
{
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, WIDTH);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(40));
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(9));
    CHECK(MCDS_TOO_OLD, suite, mcds_online_beat, online, "ann", IN(8));
    CHECK_SENTENCE("more than 31 buckets later");
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "bob", IN(8));
    check_counts(suite, online, IN(8), 0, 1);
    check_counts(suite, online, IN(9), 1, 1);
    mcds_online_close(online);
}

/* A new visitor counts in all windows of its bucket, by several batches where they are many. */
static void the_longest_window_counts_once(struct suite *suite)
{
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), 32, WIDTH);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(0));
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "bob", IN(32));
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "bob", IN(1));
    for (int i = 0; i <= 33; i++)
        check_counts(suite, online, IN(i), i == 0 ? 0 : i == 1 || i == 33 ? 1 : 2, i < 2);
    check_counts(suite, online, IN(64), 1, 0);
    check_counts(suite, online, IN(65), 0, 0);
    mcds_online_close(online);
}

static void the_estimate_is_smooth(struct suite *suite)
{
    static const int counts[] = {4, 6, 3};
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), 2, WIDTH);
    char visitor[16];
    for (int i = 0; i < 3; i++)
        for (int n = 0; n < counts[i]; n++) {
            (void)snprintf(visitor, sizeof visitor, "%d of %d", n, i);
            CHECK(MCDS_OK, suite, mcds_online_beat, online, visitor, IN(i));
        }
    mcds_online_value value = value_at(suite, online, B_MS + 2 * WIDTH + WIDTH / 4);
    assert_int_equal(value.closed, 10);
    assert_int_equal(value.current, 3);
    CHECK_NEAR(value.estimate, 3 + 6 + 4 * 0.75);
    CHECK_NEAR(value.error, 0.86602540378443864676); /* the root of 4 * 0.25 * 0.75 */
    assert_false(value.reborn);
    value = value_at(suite, online, B_MS + 2 * WIDTH);
    CHECK_NEAR(value.estimate, 3 + 6 + 4);
    CHECK_NEAR(value.error, 0);
    mcds_online_close(online);
}

static void drop_erases_the_window(struct suite *suite)
{
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, WIDTH);
    char visitor[16];
    CHECK(MCDS_NOT_FOUND, suite, mcds_online_drop, online, IN(9));
    for (int i = 0; i < 10; i++) {
        (void)snprintf(visitor, sizeof visitor, "%d", i);
        CHECK(MCDS_OK, suite, mcds_online_beat, online, visitor, IN(i));
    }
    CHECK(MCDS_OK, suite, mcds_online_drop, online, IN(9));
    mcds_online_value value = value_at(suite, online, IN(9));
    assert_int_equal(value.closed + value.current, 0);
    assert_false(value.reborn);
    check_counts(suite, online, IN(14), 0, 0);
    check_counts(suite, online, IN(8), 5, 1); /* earlier windows stay */
    CHECK(MCDS_NOT_FOUND, suite, mcds_online_drop, online, IN(9));
    mcds_online_close(online);
}

static void reborn_is_told(struct suite *suite)
{
    const char *name = fresh_name(suite, "o");
    mcds_online *online = open_online(suite->store, name, BUCKETS, WIDTH);
    mcds_online *other = open_online(suite->other, name, BUCKETS, WIDTH);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(0));
    assert_false(value_at(suite, online, IN(0)).reborn);
    CHECK_OTHER(MCDS_OK, suite, mcds_online_drop, other, IN(0));
    assert_true(value_at(suite, online, IN(1)).reborn);
    shift_wall_ms(suite, 2000);
    CHECK_OTHER(MCDS_OK, suite, mcds_online_beat, other, "bob", IN(0));
    mcds_online_value value = value_at(suite, online, IN(0));
    assert_true(value.reborn);
    assert_int_equal(value.current, 1);
    CHECK_OTHER(MCDS_OK, suite, mcds_online_get, other, IN(0), &value);
    assert_false(value.reborn);
    assert_false(value_at(suite, online, IN(10)).reborn);
    mcds_online_close(online);
    mcds_online_close(other);
}

static void foreign_values_are_corrupt(struct suite *suite)
{
    const char *name = fresh_name(suite, "o");
    mcds_online *online = open_online(suite->store, name, BUCKETS, WIDTH);
    struct raw_key bucket = raw_key(suite, MCDS__TAG_ONLINE, name, WIDTH);
    struct raw_key seen = raw_key(suite, MCDS__TAG_ONLINE_SEEN, name, WIDTH);
    mcds_online_value value = {.size = sizeof(mcds_online_value),
                               .closed = 77,
                               .current = 77,
                               .estimate = 77,
                               .error = 77,
                               .reborn = true};
    raw_add_number(&bucket, BUCKETS);
    raw_add_number(&bucket, B_MS / WIDTH);
    raw_add_number(&seen, BUCKETS);
    mcds__key_add_element(&seen.key, "ann");
    seen.route = seen.key;
    assert_int_equal(raw_set(suite, &seen, "words"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_online_beat, online, "ann", IN(0));
    CHECK_SENTENCE(name);
    check_counts(suite, online, IN(0), 0, 0);
    assert_int_equal(raw_set(suite, &bucket, "words"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_online_get, online, IN(0), &value);
    CHECK(MCDS_CORRUPT, suite, mcds_online_get, online, IN(-1), &value);
    assert_int_equal(value.closed, 77);
    CHECK(MCDS_OK, suite, mcds_online_get, online, IN(1), &value);
    int result = CALL(suite, mcds_online_beat, online, "bob", IN(0));
    assert_true(result == MCDS_CORRUPT || result == MCDS_AMBIGUOUS);
    mcds_online_close(online);
}

/* The store evicts the number of a window: it counts no more than were there, and says so; the
 * windows after it are as they were. */
static void a_lost_window_counts_less(struct suite *suite)
{
    const char *name = fresh_name(suite, "o");
    mcds_online *online = open_online(suite->store, name, BUCKETS, WIDTH);
    struct raw_key window = raw_key(suite, MCDS__TAG_ONLINE, name, WIDTH);
    raw_add_number(&window, BUCKETS);
    raw_add_number(&window, B_MS / WIDTH + 3);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(0));
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "bob", IN(2));
    check_counts(suite, online, IN(3), 2, 0);
    assert_int_equal(raw_delete(suite, &window), MCDS_OUT_OK);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "cid", IN(3));
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(3));
    mcds_online_value value = value_at(suite, online, IN(3));
    assert_int_equal(value.closed + value.current, 3); /* from the number of the next window */
    for (int i = 4; i <= 5; i++)
        check_counts(suite, online, IN(i), 3, 0);
    mcds_online_close(online);
}

static void names_are_apart(struct suite *suite)
{
    mcds_online *hosts[HARD_NAMES];
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, WIDTH);
    int64_t at_ms = IN(100 * ((int64_t)suite->case_serial - 1000));
    for (uint32_t i = 0; i < HARD_NAMES; i++) {
        hosts[i] = open_online(suite->store, hard_name(i), BUCKETS, WIDTH);
        CHECK(MCDS_OK, suite, mcds_online_beat, online, hard_name(i), at_ms);
        CHECK(MCDS_OK, suite, mcds_online_beat, hosts[i], "ann", at_ms);
        CHECK(MCDS_EXISTS, suite, mcds_online_beat, hosts[i], "ann", at_ms);
    }
    for (uint32_t i = 0; i < HARD_NAMES; i++) {
        check_counts(suite, hosts[i], at_ms, 0, 1);
        CHECK(MCDS_OK, suite, mcds_online_drop, hosts[i], at_ms);
        mcds_online_close(hosts[i]);
    }
    check_counts(suite, online, at_ms, 0, HARD_NAMES);
    mcds_online_close(online);
}

static void now_is_the_time(struct suite *suite)
{
    uint32_t width_ms = suite->own_clock ? 86400000 : WIDTH;
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, width_ms);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", 0);
    CHECK(MCDS_EXISTS, suite, mcds_online_beat, online, "ann", 0);
    for (int i = 0; !suite->own_clock && i < 20; i++) {
        mcds_online_value value = value_at(suite, online, 0);
        if (i > 0)
            assert_int_equal(value.closed, 1);
        CHECK(i > 0 ? MCDS_OK : MCDS_EXISTS, suite, mcds_online_beat, online, "ann", 0);
        pass_ms(suite, WIDTH);
    }
    mcds_online_value value = value_at(suite, online, 0);
    assert_int_equal(value.closed + value.current, 1);
    mcds_online_close(online);
}

/* In the first buckets since 1970 the window is shorter. */
static void time_begins(struct suite *suite)
{
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), 32, 1000);
    for (int64_t i = 0; i < 4; i++) {
        CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", i * 1000 + 1);
        check_counts(suite, online, i * 1000 + 1, i > 0, i == 0);
    }
    CHECK(MCDS_OK, suite, mcds_online_drop, online, 1);
    mcds_online_close(online);
}

static void times_before_1970_are_refused(struct suite *suite)
{
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, WIDTH);
    CHECK(MCDS_INVALID, suite, mcds_online_beat, online, "ann", -5);
    CHECK_SENTENCE("at_ms must be 0 or more, not -5");
    CHECK(MCDS_INVALID, suite, mcds_online_get, online, INT64_MIN, &value);
    CHECK_SENTENCE("at_ms");
    CHECK(MCDS_INVALID, suite, mcds_online_drop, online, -1);
    CHECK_SENTENCE("at_ms");
    check_counts(suite, online, 1, 0, 0);
    mcds_online_close(online);
}

/* A beat from a wrong clock would make every beat at the right time TOO_OLD, for ever. */
static void times_far_ahead_are_refused(struct suite *suite)
{
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, WIDTH);
    CHECK(MCDS_INVALID, suite, mcds_online_beat, online, "ann", INT64_MAX);
    CHECK_SENTENCE("ms after this machine's clock, not 9223372036854775807");
    CHECK(MCDS_INVALID, suite, mcds_online_beat, online, "ann", wall_ms(suite) + 31 * WIDTH);
    CHECK_SENTENCE("at_ms must be at most");
    if (!suite->own_clock) {
        int64_t latest_ms = wall_ms(suite) + WIDTH + 5000;
        CHECK(MCDS_INVALID, suite, mcds_online_beat, online, "ann", latest_ms + 1);
        CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", latest_ms);
    }
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", 0);
    CHECK(MCDS_OK, suite, mcds_online_get, online, INT64_MAX, &value);
    assert_int_equal(value.closed + value.current, 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_online_drop, online, INT64_MAX);
    mcds_online_close(online);
}

static void check_refused(struct suite *suite, const mcds_online_options *options,
                          const char *word)
{
    mcds_online *online = NULL;
    CHECK_RESULT(MCDS_INVALID, mcds_online_open(suite->store, "named", options, &online));
    CHECK_SENTENCE(word);
    assert_null(online);
}

static void options_are_checked(struct suite *suite)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    options.size = 1;
    check_refused(suite, &options, "its size is 1");
    options.size = sizeof options;
    options.buckets = 33;
    check_refused(suite, &options, "buckets must be 0 to 32, not 33");
    options.buckets = 32;
    options.width_ms = 999;
    check_refused(suite, &options, "width_ms must be 0 or 1000 to 86400000, not 999");
    options.width_ms = 86400001;
    check_refused(suite, &options, "width");
}

static void missing_arguments_are_refused(struct suite *suite)
{
    char name[1026];
    mcds_online *online = NULL;
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_RESULT(MCDS_INVALID, mcds_online_open(NULL, "n", NULL, &online));
    CHECK_SENTENCE("online");
    CHECK_RESULT(MCDS_INVALID, mcds_online_open(suite->store, NULL, NULL, &online));
    CHECK_RESULT(MCDS_INVALID, mcds_online_open(suite->store, "", NULL, &online));
    CHECK_RESULT(MCDS_INVALID, mcds_online_open(suite->store, name, NULL, &online));
    CHECK_RESULT(MCDS_INVALID, mcds_online_open(suite->store, "n", NULL, NULL));
    assert_null(online);
    CHECK(MCDS_INVALID, suite, mcds_online_beat, NULL, "ann", 0);
    CHECK(MCDS_INVALID, suite, mcds_online_get, NULL, 0, &value);
    CHECK(MCDS_INVALID, suite, mcds_online_drop, NULL, 0);
    online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, WIDTH);
    CHECK(MCDS_INVALID, suite, mcds_online_get, online, 0, NULL);
    CHECK(MCDS_INVALID, suite, mcds_online_beat, online, NULL, 0);
    CHECK(MCDS_INVALID, suite, mcds_online_beat, online, "", 0);
    CHECK_SENTENCE("empty");
    CHECK(MCDS_INVALID, suite, mcds_online_beat, online, name, 0);
    CHECK_SENTENCE("1024");
    CHECK_RESULT(MCDS_INVALID, mcds_online_beat_start(online, "ann", 0, NULL, 1));
    CHECK_RESULT(MCDS_INVALID, mcds_online_get_start(online, 0, &value, NULL, 1));
    CHECK_RESULT(MCDS_INVALID, mcds_online_drop_start(online, 0, NULL, 1));
    mcds_online_close(online);
    mcds_online_close(NULL);
}

static const struct suite_case cases[] = {
    CASE(a_window_counts_once),
    CASE(who_stays_is_counted_exactly_once),
    CASE(many_come_and_stay),
    CASE(who_goes_leaves_the_window),
    CASE(late_beats_count_in_their_bucket),
    CASE(a_beat_that_is_too_late_is_said_to_be),
    CASE(the_longest_window_counts_once),
    CASE(the_estimate_is_smooth),
    CASE(drop_erases_the_window),
    CASE(reborn_is_told),
    CASE(foreign_values_are_corrupt),
    CASE(a_lost_window_counts_less),
    CASE(names_are_apart),
    CASE(now_is_the_time),
    CASE(time_begins),
    CASE(times_before_1970_are_refused),
    CASE(times_far_ahead_are_refused),
    CASE(options_are_checked),
    CASE(missing_arguments_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
