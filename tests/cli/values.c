/* Numbers and durations as typed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "values.h"

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
}

static void refuses_durations(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "s",
        "-1s",
        "+1s",
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
        char text[DURATION_ROOM];
        format_duration(cases[i].ms, text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(duration(text), cases[i].ms);
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
    assert_false(parse_whole("1x", &whole));
    assert_int_equal(whole, UNTOUCHED);
    assert_true(parse_signed("-9223372036854775807", &number));
    assert_true(number == -INT64_MAX);
    assert_true(parse_signed("+12", &number));
    assert_int_equal(number, 12);
    assert_false(parse_signed("9223372036854775808", &number));
    assert_false(parse_signed("--1", &number));
    assert_false(parse_signed("-", &number));
    assert_int_equal(number, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_durations),
        cmocka_unit_test(refuses_durations),
        cmocka_unit_test(writes_durations),
        cmocka_unit_test(reads_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
