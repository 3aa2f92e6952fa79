/* URIs: parts, options, and a sentence for every mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/uri.h"

static struct mcds_uri uri;

static void parse(const char *text)
{
    int result = mcds__uri_parse(text, &uri);
    if (result != MCDS_OK)
        print_error("%s: %s\n", text, mcds_errmsg());
    assert_int_equal(result, MCDS_OK);
}

static void assert_refused(const char *text, const char *sentence)
{
    assert_int_equal(mcds__uri_parse(text, &uri), MCDS_INVALID);
    assert_string_equal(mcds_errmsg(), sentence);
}

static void scheme_and_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *scheme;
        const char *place;
    } cases[] = {
        {"memory:", "memory", ""},
        {"memory:name", "memory", "name"},
        {"memory://name", "memory", "name"},
        {"lmdb:relative/path", "lmdb", "relative/path"},
        {"lmdb:/var/lib/x", "lmdb", "/var/lib/x"},
        {"lmdb:///var/lib/x", "lmdb", "/var/lib/x"},
        {"lmdb:a%20b%3Fc", "lmdb", "a b?c"},
        {"lmdb:100%25", "lmdb", "100%"},
        {"memcached://[::1]:11211,b:2*3", "memcached", "[::1]:11211,b:2*3"},
        {"memcached:///run/m.sock", "memcached", "/run/m.sock"},
        {"x:y:z", "x", "y:z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        parse(cases[i].text);
        assert_string_equal(uri.scheme, cases[i].scheme);
        assert_string_equal(mcds_uri_place(&uri), cases[i].place);
        assert_int_equal(uri.option_count, 0);
    }
}

static void options_by_name(void **state)
{
    (void)state;
    parse("memory:name?ns=app&empty=&path=%2Fa%26b%3D&twice=a=b");
    assert_string_equal(mcds_uri_place(&uri), "name");
    assert_string_equal(mcds_uri_option(&uri, "ns"), "app");
    assert_string_equal(mcds_uri_option(&uri, "empty"), "");
    assert_string_equal(mcds_uri_option(&uri, "path"), "/a&b=");
    assert_string_equal(mcds_uri_option(&uri, "twice"), "a=b");
    assert_null(mcds_uri_option(&uri, "other"));
    assert_null(mcds_uri_option(&uri, "n"));
    parse("memory:?");
    assert_int_equal(uri.option_count, 0);
    parse("memory:?a=1&");
    assert_int_equal(uri.option_count, 1);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    assert_refused("", "store: the URI '' must begin with memory:, lmdb: or memcached://");
    assert_refused("localhost",
                   "store: the URI 'localhost' must begin with memory:, lmdb: or memcached://");
    assert_refused(":x", "store: the URI ':x' must begin with memory:, lmdb: or memcached://");
    assert_refused(
        "lmdb://a/b",
        "store: 'lmdb://a/b' has a host, and an lmdb: file has none; write lmdb:///PATH for an "
        "absolute path, lmdb:PATH for a relative one");
    assert_refused("lmdb:a%2", "store: 'a%2' has a bad %XX; write % as %25");
    assert_refused("lmdb:a%", "store: 'a%' has a bad %XX; write % as %25");
    assert_refused("lmdb:a%zz", "store: 'a%zz' has a bad %XX; write % as %25");
    assert_refused("lmdb:a%00", "store: 'a%00' has a bad %XX; write % as %25");
    assert_refused("memory:?strict", "store: the URI's option 'strict' is not NAME=VALUE");
    assert_refused("memory:?=1", "store: the URI's option '=1' is not NAME=VALUE");
    assert_refused("memory:?a=1&&b=2", "store: the URI's option '' is not NAME=VALUE");
    assert_refused("memory:?a=%4", "store: the URI's option 'a' has a bad %XX; write % as %25");
    assert_refused("memory:?a=1&a=1", "store: the URI's option 'a' is given twice");
}

static void too_long_and_too_many(void **state)
{
    (void)state;
    static char text[MCDS__URI_MAX + 1];
    memset(text, 'x', MCDS__URI_MAX);
    memcpy(text, "lmdb:", 5);
    assert_refused(text, "store: the URI is longer than 4095 bytes");
    text[MCDS__URI_MAX - 1] = '\0';
    parse(text);
    assert_int_equal(strlen(mcds_uri_place(&uri)), MCDS__URI_MAX - 1 - 5);

    size_t length = (size_t)snprintf(text, sizeof text, "memory:?");
    for (int i = 0; i < MCDS__URI_OPTIONS_MAX; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "o%d=%d&", i, i);
    parse(text);
    assert_int_equal(uri.option_count, MCDS__URI_OPTIONS_MAX);
    (void)snprintf(text + length, sizeof text - length, "more=1");
    assert_refused(text, "store: the URI has more than 16 options");
}

static void numbers_have_bounds(void **state)
{
    (void)state;
    static const char *const bad[] = {"0",  "11", "-1",  "+5",  "",
                                      "5x", " 5", "0x5", "1e1", "18446744073709551621"};
    uint64_t number;
    parse("memory:?n=10&m=1");
    assert_true(mcds__uri_number(&uri, "n", 1, 10, 3, &number));
    assert_int_equal(number, 10);
    assert_true(mcds__uri_number(&uri, "m", 1, 10, 3, &number));
    assert_int_equal(number, 1);
    assert_true(mcds__uri_number(&uri, "absent", 1, 10, 99, &number));
    assert_int_equal(number, 99);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "memory:?n=%s", bad[i]);
        parse(text);
        assert_false(mcds__uri_number(&uri, "n", 1, 10, 3, &number));
        (void)snprintf(text, sizeof text,
                       "store: the URI's n=%s is not a whole number from 1 to 10", bad[i]);
        assert_string_equal(mcds_errmsg(), text);
    }
}

static void strange_options_are_refused(void **state)
{
    (void)state;
    static const char *const known[] = {"strict", NULL};
    static const char *const none[] = {NULL};
    parse("memory:?ns=a&timeout=5&strict=1");
    assert_true(mcds__uri_knows(&uri, known));
    assert_false(mcds__uri_knows(&uri, none));
    assert_string_equal(mcds_errmsg(),
                        "store: memory: has no option 'strict'; it has ns, timeout");
    parse("memory:?Strict=1");
    assert_false(mcds__uri_knows(&uri, known));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scheme_and_place),    cmocka_unit_test(options_by_name),
        cmocka_unit_test(mistakes_are_named),  cmocka_unit_test(too_long_and_too_many),
        cmocka_unit_test(numbers_have_bounds), cmocka_unit_test(strange_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
