/* Numbers and durations as typed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parse/values.h"

#define UNTOUCHED 4711

static uint64_t duration(const char *text)
{
    uint64_t ms = UNTOUCHED;
    assert_true(parse_duration(text, &ms));
    return ms;
}

static void refuse_duration(const char *text)
{
    uint64_t ms = UNTOUCHED;
    assert_false(parse_duration(text, &ms));
    assert_int_equal(ms, UNTOUCHED);
}

static void reads_durations(void **state)
{
    (void)state;
    assert_int_equal(duration("500ms"), 500);
    assert_int_equal(duration("30s"), 30000);
    assert_int_equal(duration("30"), 30000);
    assert_int_equal(duration("0"), 0);
    assert_int_equal(duration("5m"), 300000);
    assert_int_equal(duration("1h"), 3600000);
    assert_int_equal(duration("2d"), 172800000);
    assert_int_equal(duration("1.5s"), 1500);
    assert_int_equal(duration("0.25"), 250);
    assert_int_equal(duration("1.005s"), 1005);
    assert_int_equal(duration("0.5h"), 1800000);
    assert_int_equal(duration("18446744073709551614ms"), UINT64_MAX - 1);
    assert_int_equal(duration("+5s"), 5000);
}

static void refuses_durations(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "s",
        "-1s",
        "+-1s",
        "++1s",
        "+",
        "1 s",
        "1S",
        "1sec",
        "1.s",
        ".5s",
        "1.0005s",
        "1,5s",
        "0x1s",
        "1w",
        "1.5ms",
        "1s ",
        "1.5.5s",
        "99999999999999999999s",
        "18446744073709551614s",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuse_duration(wrong[i]);
}

static void writes_durations(void **state)
{
    (void)state;
    static const struct {
        uint64_t ms;
        const char *text;
    } cases[] = {
        {0, "0ms"},     {1, "1ms"},      {1000, "1s"},     {1500, "1500ms"},   {60000, "1m"},
        {90000, "90s"}, {3600000, "1h"}, {86400000, "1d"}, {129600000, "36h"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[DURATION_CAPACITY];
        format_duration(cases[i].ms, text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(duration(text), cases[i].ms);
    }
}

static void rounds_durations(void **state)
{
    (void)state;
    static const struct {
        uint64_t ms;
        const char *text;
    } cases[] = {
        {0, "0ms"},        {1999, "1999ms"}, {2999, "2s"},       {60000, "1m"},
        {7199999, "119m"}, {7200001, "2h"},  {172799999, "47h"}, {UINT64_MAX, "213503982334d"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[DURATION_CAPACITY];
        format_rough(cases[i].ms, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void reads_numbers(void **state)
{
    (void)state;
    uint64_t whole = UNTOUCHED;
    int64_t number = UNTOUCHED;
    assert_true(parse_whole("18446744073709551615", &whole));
    assert_true(whole == UINT64_MAX);
    whole = UNTOUCHED;
    assert_false(parse_whole("18446744073709551616", &whole));
    assert_false(parse_whole("", &whole));
    assert_false(parse_whole("-1", &whole));
    assert_true(parse_whole("+7", &whole));
    assert_int_equal(whole, 7);
    whole = UNTOUCHED;
    assert_false(parse_whole("+", &whole));
    assert_false(parse_whole("++1", &whole));
    assert_false(parse_whole("+-1", &whole));
    assert_false(parse_whole("1x", &whole));
    assert_int_equal(whole, UNTOUCHED);
    assert_true(parse_signed("-9223372036854775807", &number));
    assert_true(number == -INT64_MAX);
    assert_true(parse_signed("-9223372036854775808", &number));
    assert_int_equal(number, INT64_MIN);
    assert_false(parse_signed("-9223372036854775809", &number));
    assert_true(parse_signed("+12", &number));
    assert_int_equal(number, 12);
    assert_false(parse_signed("9223372036854775808", &number));
    assert_false(parse_signed("--1", &number));
    assert_false(parse_signed("-", &number));
    assert_int_equal(number, 12);
}

#define NOW INT64_C(1795257033250) /* 2026-11-21T10:30:33.250Z */

static int64_t moment(const char *text)
{
    int64_t ms = UNTOUCHED;
    assert_true(parse_moment(text, NOW, &ms));
    return ms;
}

static void refuse_moment(const char *text)
{
    int64_t ms = UNTOUCHED;
    assert_false(parse_moment(text, NOW, &ms));
    assert_int_equal(ms, UNTOUCHED);
}

static void reads_moments(void **state)
{
    (void)state;
    assert_int_equal(moment("now"), NOW);
    assert_int_equal(moment("10m"), NOW - 600000);
    assert_int_equal(moment("0s"), NOW);
    assert_int_equal(moment("@1795257033.25"), NOW);
    assert_int_equal(moment("@0"), 0);
    assert_int_equal(moment("2026-11-21T10:30:33.250Z"), NOW);
    assert_int_equal(moment("2026-11-21 10:30:33.25"), NOW);
    assert_int_equal(moment("2026-11-21T11:30:33.250+01:00"), NOW);
    assert_int_equal(moment("2026-11-21T06:00:33.250-04:30"), NOW);
    assert_int_equal(moment("2026-11-21T10:30"), NOW - 33250);
    assert_int_equal(moment("2026-11-21"), NOW - 33250 - 37800000);
    assert_int_equal(moment("1970-01-01T00:00:00Z"), 0);
    assert_int_equal(moment("2024-02-29"), INT64_C(1709164800000));
    refuse_moment("");
    refuse_moment("1795257033");
    refuse_moment("30");
    refuse_moment("+10m");
    refuse_moment("@+1");
    refuse_moment("@");
    refuse_moment("@-1");
    refuse_moment("@99999999999999999999");
    refuse_moment("99999d");
    refuse_moment("yesterday");
    refuse_moment("2026-02-29");
    refuse_moment("2026-13-01");
    refuse_moment("2026-11-21T24:00");
    refuse_moment("2026-11-21T10");
    refuse_moment("2026-11-21T10:30:61");
    refuse_moment("2026-11-21T10:30:33.2500");
    refuse_moment("2026-11-21T10:30Zulu");
    refuse_moment("2026-11-21T10:30+1");
    refuse_moment("26-11-21");
}

static void writes_moments(void **state)
{
    (void)state;
    char out[MOMENT_CAPACITY];
    format_moment(NOW, out);
    assert_string_equal(out, "2026-11-21T10:30:33.250Z");
    format_moment(0, out);
    assert_string_equal(out, "1970-01-01T00:00:00.000Z");
    format_moment(-1, out);
    assert_string_equal(out, "1969-12-31T23:59:59.999Z");
    format_moment(INT64_MAX, out);
    assert_string_equal(out, "@9223372036854775.807");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_durations),  cmocka_unit_test(refuses_durations),
        cmocka_unit_test(writes_durations), cmocka_unit_test(rounds_durations),
        cmocka_unit_test(reads_numbers),    cmocka_unit_test(reads_moments),
        cmocka_unit_test(writes_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
