/* Online: who is counted in which window; what is read; what is refused. */
#include "structures/suite.h"

#define WIDTH 60000
#define BUCKETS 5
#define B_MS (T0_MS / WIDTH * WIDTH)
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
    CHECK(MCDS_OK, suite, mcds_online_count, online, at_ms, &value);
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
    CHECK_OTHER(MCDS_EXISTS, suite, mcds_online_beat, other, "ann", IN(4));
    CHECK_OTHER(MCDS_OK, suite, mcds_online_beat, other, "ann", IN(5));
    CHECK(MCDS_EXISTS, suite, mcds_online_beat, online, "ann", IN(5));
    check_counts(suite, online, IN(0), 0, 1);
    for (int i = 1; i <= 4; i++)
        check_counts(suite, online, IN(i), 1, 0);
    check_counts(suite, online, IN(5), 1, 1);
    for (int i = 6; i <= 10; i++)
        check_counts(suite, online, IN(i), 1, 0);
    check_counts(suite, online, IN(11), 0, 0);
    mcds_online_close(online);
    mcds_online_close(other);
}

/* Who beats in every bucket is in every window exactly once, whatever the window's length. */
static void who_stays_is_counted_exactly_once(struct suite *suite)
{
    static const uint32_t lengths[] = {1, 2, 5, 32};
    for (size_t n = 0; n < sizeof lengths / sizeof lengths[0]; n++) {
        mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), lengths[n],
                                          WIDTH);
        for (int i = 0; i < 20; i++) {
            int result = CALL(suite, mcds_online_beat, online, "ann", IN(i));
            CHECK_RESULT((uint32_t)i % lengths[n] == 0 ? MCDS_OK : MCDS_EXISTS, result);
            CHECK(MCDS_EXISTS, suite, mcds_online_beat, online, "ann", IN(i) + 1);
            assert_int_equal(value_at(suite, online, IN(i + 1)).closed, 1);
        }
        for (int i = 1; i <= 20; i++)
            assert_int_equal(value_at(suite, online, IN(i)).closed, 1);
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
    CHECK(MCDS_EXISTS, suite, mcds_online_beat, online, "ann", IN(3));
    check_counts(suite, online, IN(5), 1, 0);
    check_counts(suite, online, IN(6), 0, 0);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(7));
    check_counts(suite, online, IN(7), 0, 1);
    check_counts(suite, online, IN(12), 1, 0);
    check_counts(suite, online, IN(13), 0, 0);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(100));
    check_counts(suite, online, IN(101), 1, 0);
    mcds_online_close(online);
}

/* A beat that comes late does not count a visitor whom a later bucket has counted. */
static void late_beats_do_not_count_twice(struct suite *suite)
{
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, WIDTH);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", IN(10));
    for (int i = 9; i >= 6; i--)
        CHECK(MCDS_EXISTS, suite, mcds_online_beat, online, "ann", IN(i));
    CHECK(MCDS_EXISTS, suite, mcds_online_beat, online, "ann", IN(2));
    for (int i = 11; i <= 15; i++)
        check_counts(suite, online, IN(i), 1, 0);
    CHECK(MCDS_OK, suite, mcds_online_beat, online, "bob", IN(8));
    check_counts(suite, online, IN(11), 2, 0);
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
    check_counts(suite, online, IN(4), 4, 0); /* the bucket of IN(4) was the window's oldest */
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
    CHECK_OTHER(MCDS_OK, suite, mcds_online_count, other, IN(0), &value);
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
    raw_add_number(&bucket, B_MS / WIDTH);
    raw_add_number(&seen, BUCKETS);
    mcds__key_add_element(&seen.key, "ann");
    seen.route = seen.key;
    assert_int_equal(raw_set(suite, &seen, "words"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_online_beat, online, "ann", IN(0));
    CHECK_SENTENCE(name);
    check_counts(suite, online, IN(0), 0, 0);
    assert_int_equal(raw_set(suite, &bucket, "words"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_online_count, online, IN(0), &value);
    CHECK(MCDS_CORRUPT, suite, mcds_online_count, online, IN(5), &value);
    assert_int_equal(value.closed, 77);
    CHECK(MCDS_OK, suite, mcds_online_count, online, IN(6), &value);
    int result = CALL(suite, mcds_online_beat, online, "bob", IN(0));
    assert_true(result == MCDS_CORRUPT || result == MCDS_AMBIGUOUS);
    mcds_online_close(online);
}

static void names_are_apart(struct suite *suite)
{
    mcds_online *hosts[HARD_NAMES];
    mcds_online *online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, WIDTH);
    int64_t at_ms = IN(100 * suite->case_serial);
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
        int result = CALL(suite, mcds_online_beat, online, "ann", 0);
        CHECK_RESULT(i > 0 && i % BUCKETS == 0 ? MCDS_OK : MCDS_EXISTS, result);
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
        CHECK(i == 0 ? MCDS_OK : MCDS_EXISTS, suite, mcds_online_beat, online, "ann",
              i * 1000 + 1);
        check_counts(suite, online, i * 1000 + 1, i > 0, i == 0);
    }
    CHECK(MCDS_OK, suite, mcds_online_drop, online, 1);
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
    check_refused(suite, &options, "width");
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
    CHECK(MCDS_INVALID, suite, mcds_online_count, NULL, 0, &value);
    CHECK(MCDS_INVALID, suite, mcds_online_drop, NULL, 0);
    online = open_online(suite->store, fresh_name(suite, "o"), BUCKETS, WIDTH);
    CHECK(MCDS_INVALID, suite, mcds_online_count, online, 0, NULL);
    CHECK(MCDS_INVALID, suite, mcds_online_beat, online, NULL, 0);
    CHECK(MCDS_INVALID, suite, mcds_online_beat, online, "", 0);
    CHECK_SENTENCE("empty");
    CHECK(MCDS_INVALID, suite, mcds_online_beat, online, name, 0);
    CHECK_SENTENCE("1024");
    CHECK_RESULT(MCDS_INVALID, mcds_online_beat_start(online, "ann", 0, NULL, 1));
    CHECK_RESULT(MCDS_INVALID, mcds_online_count_start(online, 0, &value, NULL, 1));
    CHECK_RESULT(MCDS_INVALID, mcds_online_drop_start(online, 0, NULL, 1));
    mcds_online_close(online);
    mcds_online_close(NULL);
}

static const struct suite_case cases[] = {
    CASE(a_window_counts_once),
    CASE(who_stays_is_counted_exactly_once),
    CASE(many_come_and_stay),
    CASE(who_goes_leaves_the_window),
    CASE(late_beats_do_not_count_twice),
    CASE(the_estimate_is_smooth),
    CASE(drop_erases_the_window),
    CASE(reborn_is_told),
    CASE(foreign_values_are_corrupt),
    CASE(names_are_apart),
    CASE(now_is_the_time),
    CASE(time_begins),
    CASE(options_are_checked),
    CASE(missing_arguments_are_refused),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
