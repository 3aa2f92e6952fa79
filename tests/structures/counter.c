/* Counter: values, forms, limits, taking. */
#include "structures/counter_cases.h"

#define MOST (MCDS_COUNTER_MAX - 1)

static const mcds_counter_value untouched = {
    .size = sizeof(mcds_counter_value), .value = 77, .since_s = 77, .reborn = true};

static void check_untouched(const mcds_counter_value *value)
{
    assert_int_equal(value->value, untouched.value);
    assert_int_equal(value->since_s, untouched.since_s);
    assert_int_equal(value->reborn, untouched.reborn);
}

static void adds_and_reads(struct suite *suite)
{
    mcds_counter *counter = open_counter(suite->store, fresh_name(suite, "n"), 0, 0, 0);
    mcds_counter_value value = untouched;
    int64_t after = 77;
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_get, counter, &value);
    check_untouched(&value);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 5, &after);
    assert_int_equal(after, 5);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 0, &after);
    assert_int_equal(after, 5);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 95, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_get, counter, &value);
    assert_int_equal(value.value, 100);
    assert_false(value.reborn);
    assert_in_range(value.since_s, wall_ms(suite) / 1000 - 20, wall_ms(suite) / 1000);
    CHECK(MCDS_OK, suite, mcds_counter_drop, counter);
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_drop, counter);
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_get, counter, &value);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 1, &after);
    assert_int_equal(after, 1);
    mcds_counter_close(counter);
}

static void adding_nothing_makes_it(struct suite *suite)
{
    mcds_counter *counter = open_counter(suite->store, fresh_name(suite, "n"), 0, 0, 0);
    int64_t after = 77;
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 0, &after);
    assert_int_equal(after, 0);
    CHECK_VALUE(suite, counter, 0);
    mcds_counter_close(counter);
}

static void signed_goes_down(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *counter = open_counter(suite->store, name, MCDS_COUNTER_SIGNED, 0, 0);
    int64_t after = 77;
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, -3, &after);
    assert_int_equal(after, -3);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 10, &after);
    assert_int_equal(after, 7);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, -20, &after);
    assert_int_equal(after, -13);
    CHECK_VALUE(suite, counter, -13);
    CHECK(MCDS_OK, suite, mcds_counter_take, counter, &after);
    assert_int_equal(after, -13);
    CHECK_VALUE(suite, counter, 0);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, -1, &after);
    assert_int_equal(after, -1);
    mcds_counter_close(counter);
}

static void plain_refuses_to_go_down(struct suite *suite)
{
    mcds_counter *counter = open_counter(suite->store, fresh_name(suite, "n"), 0, 0, 0);
    int64_t after = 77;
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 5, NULL);
    CHECK(MCDS_INVALID, suite, mcds_counter_add, counter, -1, &after);
    CHECK_SENTENCE("negative");
    assert_int_equal(after, 77);
    CHECK_VALUE(suite, counter, 5);
    mcds_counter_close(counter);
}

static void plain_handle_on_a_signed_counter(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *both = open_counter(suite->store, name, MCDS_COUNTER_SIGNED, 0, 0);
    mcds_counter *plain = open_counter(suite->other, name, 0, 0, 0);
    int64_t after = 77;
    CHECK(MCDS_OK, suite, mcds_counter_add, both, -3, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, plain, 1, &after);
    assert_int_equal(after, -2);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_take, plain, &after);
    assert_int_equal(after, -2);
    CHECK(MCDS_OK, suite, mcds_counter_add, both, -1, &after);
    assert_int_equal(after, -1);
    mcds_counter_close(both);
    mcds_counter_close(plain);
}

static void signed_handle_on_a_plain_counter(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *plain = open_counter(suite->store, name, 0, 0, 0);
    mcds_counter *both = open_counter(suite->other, name, MCDS_COUNTER_SIGNED, 0, 0);
    int64_t after = 77;
    CHECK(MCDS_OK, suite, mcds_counter_add, plain, 3, NULL);
    CHECK_OTHER(MCDS_INVALID, suite, mcds_counter_add, both, -1, &after);
    CHECK_SENTENCE("SIGNED");
    assert_int_equal(after, 77);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, both, 4, &after);
    assert_int_equal(after, 7);
    CHECK_OTHER(MCDS_INVALID, suite, mcds_counter_add, both, -1, &after);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_take, both, &after);
    assert_int_equal(after, 7);
    CHECK_VALUE(suite, plain, 0);
    mcds_counter_close(both);
    mcds_counter_close(plain);
}

/* A subtraction from a plain counter would stop at zero, and the handle remembers it as signed.
 */
static void signed_counter_begun_anew_as_plain(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *both = open_counter(suite->store, name, MCDS_COUNTER_SIGNED, 0, 0);
    mcds_counter *plain = open_counter(suite->other, name, 0, 0, 0);
    int64_t after = 77;
    CHECK(MCDS_OK, suite, mcds_counter_add, both, -3, NULL);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_drop, plain);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, plain, 2, NULL);
    CHECK(MCDS_LOST, suite, mcds_counter_add, both, -5, &after);
    assert_int_equal(after, 77);
    CHECK(MCDS_INVALID, suite, mcds_counter_add, both, -1, &after);
    CHECK_SENTENCE("SIGNED");
    mcds_counter_close(both);
    mcds_counter_close(plain);
}

static void striped_adds_up(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *one = open_counter(suite->store, name, 0, 8, 0);
    mcds_counter *two = open_counter(suite->other, name, 0, 8, 0);
    int64_t out = 77;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_get, one, &value);
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_take, one, &out);
    CHECK(MCDS_INVALID, suite, mcds_counter_add, one, 1, &out);
    CHECK_SENTENCE("striped");
    for (int i = 0; i < 10; i++) {
        CHECK(MCDS_OK, suite, mcds_counter_add, one, 3, NULL);
        CHECK_OTHER(MCDS_OK, suite, mcds_counter_add, two, 4, NULL);
    }
    CHECK_VALUE(suite, one, 70);
    CHECK(MCDS_OK, suite, mcds_counter_take, one, &out);
    assert_int_equal(out, 70);
    CHECK_VALUE(suite, one, 0);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_drop, two);
    CHECK(MCDS_LOST, suite, mcds_counter_get, one, &value);
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_drop, one);
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_get, one, &value);
    mcds_counter_close(one);
    mcds_counter_close(two);
}

/* Each stripe by itself, as other threads and processes would have left them. */
static void striped_reads_every_stripe(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *counter = open_counter(suite->store, name, MCDS_COUNTER_SIGNED, 32, 0);
    int64_t taken = 77;
    for (int i = 0; i < 32; i++) {
        struct raw_key key = raw_key(suite, MCDS__TAG_COUNTER, name, i);
        const char *number = i % 2 == 0 ? "4611686018427388004" : "4611686018427387894";
        assert_int_equal(raw_set(suite, &key, number), MCDS_OUT_OK);
    }
    CHECK_VALUE(suite, counter, 16 * 100 - 16 * 10);
    CHECK(MCDS_OK, suite, mcds_counter_take, counter, &taken);
    assert_int_equal(taken, 16 * 100 - 16 * 10);
    CHECK_VALUE(suite, counter, 0);
    CHECK(MCDS_OK, suite, mcds_counter_drop, counter);
    mcds_counter_close(counter);
}

static void deltas_have_a_range(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *counter = open_counter(suite->store, name, MCDS_COUNTER_SIGNED, 0, 0);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    static const int64_t refused[] = {MCDS_COUNTER_MAX, -MCDS_COUNTER_MAX, INT64_MAX,
                                      INT64_MIN};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        CHECK(MCDS_INVALID, suite, mcds_counter_add, counter, refused[i], NULL);
        CHECK_SENTENCE("delta");
        CHECK_SENTENCE(name);
    }
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_get, counter, &value);
    mcds_counter_close(counter);
}

/* Up to the limit all is well; what is beyond says so, however far, and is not counted. */
static void overflow_is_told(struct suite *suite)
{
    static const int64_t beyond[] = {1, 2, 1000, MOST};
    for (uint32_t flags = 0; flags <= MCDS_COUNTER_SIGNED; flags++)
        for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
            mcds_counter *counter = open_counter(suite->store, fresh_name(suite, "n"), flags, 0,
                                                 0);
            int64_t after = 77;
            CHECK(MCDS_OK, suite, mcds_counter_add, counter, MOST, &after);
            assert_int_equal(after, MOST);
            CHECK_VALUE(suite, counter, MOST);
            after = 77;
            CHECK(MCDS_OVERFLOW, suite, mcds_counter_add, counter, beyond[i], &after);
            assert_int_equal(after, 77);
            CHECK_VALUE(suite, counter, MOST);
            CHECK(MCDS_OK, suite, mcds_counter_drop, counter);
            mcds_counter_close(counter);
        }
}

static void underflow_is_told(struct suite *suite)
{
    static const int64_t beyond[] = {-1, -2, -1000, -MOST};
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        const char *name = fresh_name(suite, "n");
        mcds_counter *counter = open_counter(suite->store, name, MCDS_COUNTER_SIGNED, 0, 0);
        int64_t after = 77;
        CHECK(MCDS_OK, suite, mcds_counter_add, counter, -MOST, &after);
        assert_int_equal(after, -MOST);
        CHECK_VALUE(suite, counter, -MOST);
        after = 77;
        CHECK(MCDS_OVERFLOW, suite, mcds_counter_add, counter, beyond[i], &after);
        assert_int_equal(after, 77);
        CHECK_VALUE(suite, counter, -MOST);
        mcds_counter_close(counter);
    }
}

static void an_overflown_value_is_told(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    struct raw_key key = raw_key(suite, MCDS__TAG_COUNTER, name, -1);
    mcds_counter *counter = open_counter(suite->store, name, 0, 0, 0);
    mcds_counter_value value = untouched;
    int64_t taken = 77;
    static const char *const outside[] = {"2305843009213693952", "6917529027641081856",
                                          "18446744073709551615"};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        assert_int_equal(raw_set(suite, &key, outside[i]), MCDS_OUT_OK);
        CHECK(MCDS_OVERFLOW, suite, mcds_counter_get, counter, &value);
        CHECK(MCDS_OVERFLOW, suite, mcds_counter_take, counter, &taken);
    }
    check_untouched(&value);
    assert_int_equal(taken, 77);
    mcds_counter_close(counter);
}

static void striped_sum_overflows(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *counter = open_counter(suite->store, name, 0, 32, 0);
    mcds_counter_value value = untouched;
    for (int i = 0; i < 32; i++) {
        struct raw_key key = raw_key(suite, MCDS__TAG_COUNTER, name, i);
        assert_int_equal(raw_set(suite, &key, "2305843009213693951"), MCDS_OUT_OK);
    }
    CHECK(MCDS_OVERFLOW, suite, mcds_counter_get, counter, &value);
    int64_t taken = 77;
    CHECK(MCDS_OVERFLOW, suite, mcds_counter_take, counter, &taken);
    assert_int_equal(taken, 77);
    CHECK(MCDS_OVERFLOW, suite, mcds_counter_get, counter, &value);
    mcds_counter_close(counter);
}

static void take_leaves_zero(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    mcds_counter *counter = open_counter(suite->store, name, 0, 0, 0);
    mcds_counter *other = open_counter(suite->other, name, 0, 0, 0);
    mcds_counter_value before = MCDS_COUNTER_VALUE_INIT;
    mcds_counter_value now = MCDS_COUNTER_VALUE_INIT;
    int64_t taken = 77;
    CHECK(MCDS_NOT_FOUND, suite, mcds_counter_take, counter, &taken);
    assert_int_equal(taken, 77);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 9, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_get, counter, &before);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_take, other, &taken);
    assert_int_equal(taken, 9);
    CHECK(MCDS_OK, suite, mcds_counter_get, counter, &now);
    assert_int_equal(now.value, 0);
    assert_int_equal(now.since_s, before.since_s);
    assert_false(now.reborn);
    CHECK_OTHER(MCDS_OK, suite, mcds_counter_take, other, &taken);
    assert_int_equal(taken, 0);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 4, NULL);
    CHECK(MCDS_OK, suite, mcds_counter_take, counter, &taken);
    assert_int_equal(taken, 4);
    mcds_counter_close(counter);
    mcds_counter_close(other);
}

static void foreign_values_are_corrupt(struct suite *suite)
{
    static const char *const foreign[] = {"hello", "", "12x", "-5", "99999999999999999999",
                                          "1.5"};
    const char *name = fresh_name(suite, "n");
    struct raw_key key = raw_key(suite, MCDS__TAG_COUNTER, name, -1);
    mcds_counter *counter = open_counter(suite->store, name, 0, 0, 0);
    mcds_counter_value value = untouched;
    char text[64];
    int64_t out = 77;
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        assert_int_equal(raw_set(suite, &key, foreign[i]), MCDS_OUT_OK);
        CHECK(MCDS_CORRUPT, suite, mcds_counter_get, counter, &value);
        CHECK_SENTENCE(name);
        CHECK(MCDS_CORRUPT, suite, mcds_counter_take, counter, &out);
        if (strspn(foreign[i], "0123456789") == 0)
            CHECK(MCDS_CORRUPT, suite, mcds_counter_add, counter, 1, &out);
        assert_int_equal(out, 77);
        assert_true(raw_get(suite, &key, text, sizeof text));
        assert_string_equal(text, foreign[i]);
    }
    check_untouched(&value);
    CHECK(MCDS_OK, suite, mcds_counter_drop, counter);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 1, &out);
    assert_int_equal(out, 1);
    mcds_counter_close(counter);
}

/* memcached's decr fills a number that becomes shorter with blanks. */
static void blanks_around_a_number_do_not_count(struct suite *suite)
{
    const char *name = fresh_name(suite, "n");
    struct raw_key key = raw_key(suite, MCDS__TAG_COUNTER, name, -1);
    mcds_counter *counter = open_counter(suite->store, name, 0, 0, 0);
    int64_t out = 77;
    assert_int_equal(raw_set(suite, &key, "42   "), MCDS_OUT_OK);
    CHECK_VALUE(suite, counter, 42);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 1, &out);
    assert_int_equal(out, 43);
    CHECK_VALUE(suite, counter, 43);
    CHECK(MCDS_OK, suite, mcds_counter_take, counter, &out);
    assert_int_equal(out, 43);
    CHECK_VALUE(suite, counter, 0);
    mcds_counter_close(counter);
}

static const struct suite_case cases[] = {
    CASE(adds_and_reads),
    CASE(adding_nothing_makes_it),
    CASE(signed_goes_down),
    CASE(plain_refuses_to_go_down),
    CASE(plain_handle_on_a_signed_counter),
    CASE(signed_handle_on_a_plain_counter),
    CASE(signed_counter_begun_anew_as_plain),
    CASE(striped_adds_up),
    CASE(striped_reads_every_stripe),
    CASE(deltas_have_a_range),
    CASE(overflow_is_told),
    CASE(underflow_is_told),
    CASE(an_overflown_value_is_told),
    CASE(striped_sum_overflows),
    CASE(take_leaves_zero),
    CASE(foreign_values_are_corrupt),
    CASE(blanks_around_a_number_do_not_count),
    CASE(two_handles_count_one_counter),
    CASE(namespaces_are_apart),
    CASE(names_are_apart),
    CASE(names_have_a_length),
    CASE(options_are_checked),
    CASE(missing_arguments_are_refused),
    CASE(strict_says_lost),
    CASE(strict_says_lost_when_born_again),
    CASE(reborn_is_told),
    CASE(lives_for_its_ttl),
    CASE(reports_its_ttl),
    CASE_ONCE(takers_share),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
