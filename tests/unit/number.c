/* Converts integers from and to text. */
#include "base/number.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool stored(const char *text, uint64_t *number)
{
    return mcds__parse_stored_u64((const uint8_t *)text, strlen(text), number);
}

static void check(uint64_t number)
{
    char expected[32];
    char text[32];
    uint64_t read = ~number;
    int length = snprintf(expected, sizeof expected, "%" PRIu64, number);
    memset(text, '#', sizeof text);
    assert_int_equal(mcds__u64_digits(number), length);
    assert_int_equal(mcds__format_u64(number, text), length);
    assert_int_equal(text[length], '#');
    text[length] = '\0';
    assert_string_equal(text, expected);
    assert_true(stored(text, &read));
    assert_int_equal(read, number);
    read = ~number;
    assert_true(mcds__parse_u64(text, (size_t)length, &read));
    assert_int_equal(read, number);
}

static void numbers_come_back(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 20000; number++)
        check(number);
    uint64_t power = 1;
    for (int i = 0; i < 20; i++, power *= 10)
        for (uint64_t more = 0; more < 3; more++)
            check(power - 1 + more);
    for (unsigned bit = 0; bit < 64; bit++)
        for (uint64_t more = 0; more < 3; more++)
            check((UINT64_C(1) << bit) - 1 + more);
    for (uint64_t i = 0, number = 1; i < 20000; i++, number *= UINT64_C(6364136223846793005))
        check(number >> i % 64);
}

/* Every byte at every place among the digits that are read at once. */
static void a_number_ends_with_its_digits(void **state)
{
    (void)state;
    for (int at = 0; at < 10; at++)
        for (int byte = 1; byte < 256; byte++) {
            char text[] = "1234567890";
            uint64_t number = 0;
            text[at] = (char)byte;
            bool is_digit = byte >= '0' && byte <= '9';
            bool is_space = byte == ' ' || (byte >= '\t' && byte <= '\r');
            bool is_front = at == 0 && (is_space || byte == '+');
            assert_int_equal(stored(text, &number),
                             is_digit || is_front || (is_space && at > 0));
            uint64_t expected = 0;
            for (int i = is_front; i < 10 && text[i] >= '0' && text[i] <= '9'; i++)
                expected = expected * 10 + (uint64_t)(text[i] - '0');
            if (is_digit || is_space || is_front)
                assert_int_equal(number, expected);
        }
}

static void what_is_too_large_is_no_number(void **state)
{
    (void)state;
    uint64_t number = 7;
    assert_false(stored("18446744073709551616", &number));
    assert_false(stored("99999999999999999999", &number));
    assert_false(stored("100000000000000000000", &number));
    assert_int_equal(number, 7);
    assert_true(stored("00000000000018446744073709551615", &number));
    assert_int_equal(number, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(a_number_ends_with_its_digits),
        cmocka_unit_test(what_is_too_large_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
