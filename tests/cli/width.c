/* The columns of a terminal that a text takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "terminal/width.h"

static size_t width(const char *text)
{
    return text_width(text, strlen(text));
}

static void test_width(void **state)
{
    (void)state;
    assert_int_equal(width(""), 0);
    assert_int_equal(width("plain"), 5);
    assert_int_equal(width("\xc3\xbc"), 1);                 /* u with two dots */
    assert_int_equal(width("u\xcc\x88"), 1);                /* the same of two characters */
    assert_int_equal(width("\xe6\x97\xa5\xe6\x9c\xac"), 4); /* Japan */
    assert_int_equal(width("\xf0\x9f\x98\x80!"), 3);        /* a face */
    assert_int_equal(width("\xe2\x86\x92"), 1);             /* an arrow */
    assert_int_equal(width("\xff\xfe"), 2);                 /* no UTF-8 */
    assert_int_equal(width("\xe6\x97"), 2);                 /* cut off */
}

static void test_fit(void **state)
{
    (void)state;
    assert_int_equal(text_fit("plain", 5, 3), 3);
    assert_int_equal(text_fit("plain", 5, 9), 5);
    assert_int_equal(text_fit("plain", 5, 0), 0);
    assert_int_equal(text_fit("\xe6\x97\xa5\xe6\x9c\xac", 6, 3), 3); /* no half character */
    assert_int_equal(text_fit("\xe6\x97\xa5\xe6\x9c\xac", 6, 1), 0);
    assert_int_equal(text_fit("u\xcc\x88x", 4, 1), 3); /* with what combines */
}

/* As much as fits of the text, which is quoted. */
static void check_escape(const char *text, const char *begin)
{
    for (size_t columns = strlen(begin); columns < strlen(text); columns++) {
        size_t length = text_fit(text, strlen(text), columns);
        const char *escape = strchr(begin, '\0') - begin + text;
        size_t whole = escape[1] == 'x' ? 4 : 2;
        size_t wanted = columns - strlen(begin) < whole ? strlen(begin) : columns;
        assert_int_equal(length, wanted);
    }
}

static void test_escapes(void **state)
{
    (void)state;
    check_escape("$'a\\x1bz'", "$'a");
    check_escape("$'a\\nxyz'", "$'a");
    check_escape("$'a\\\\x1bz'", "$'a"); /* a backslash, then x1b */
    check_escape("\\x1bz", "");
    assert_int_equal(text_fit("$'a\\x1b\\x1b'", 12, 10), 7);
    assert_int_equal(text_fit("\\", 1, 1), 1);
}

/* A character of several bytes is several escapes where a terminal shows only ASCII. */
static void test_characters_of_escapes(void **state)
{
    (void)state;
    const char two[] = "$'\\xe6\\x97\\xa5\\xc3\\xb6'";
    for (size_t columns = 2; columns < sizeof two - 1; columns++)
        assert_int_equal(text_fit(two, sizeof two - 1, columns), columns < 14   ? 2
                                                                 : columns < 22 ? 14
                                                                                : columns);
    const char broken[] = "$'\\xb6\\xb6\\xb6'";
    assert_int_equal(text_fit(broken, sizeof broken - 1, 10), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_characters_of_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
