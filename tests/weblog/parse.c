/* The parser of weblog, and JSON strings of any bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json.h"
#include "parse.h"

static const char *parse(const char *line, struct entry *entry)
{
    return parse_line(line, strlen(line), entry);
}

static void assert_text(struct text text, const char *wanted)
{
    assert_int_equal(text.length, strlen(wanted));
    assert_memory_equal(text.at, wanted, text.length);
}

static void takes_both_formats(void **state)
{
    (void)state;
    struct entry entry;
    assert_null(parse("::1 - frank [10/Oct/2000:13:55:36 -0700] "
                      "\"GET /apache_pb.gif HTTP/1.0\" 200 2326",
                      &entry));
    assert_text(entry.host, "::1");
    assert_text(entry.page, "/apache_pb.gif");
    assert_int_equal(entry.at_ms, INT64_C(971211336000));
    assert_int_equal(entry.status, 200);
    assert_null(
        parse("h - - [29/Feb/2016:00:00:00 +0000] \"HEAD /\" 404 - \"-\" \"x\"\r", &entry));
    assert_text(entry.page, "/");
    assert_int_equal(entry.at_ms, INT64_C(1456704000000));
    assert_int_equal(entry.status, 404);
    assert_int_equal(entry.size, 0);
}

static void takes_size_and_referrer(void **state)
{
    (void)state;
    static const struct {
        const char *end; /* of the line, from the size on */
        uint64_t size;
        const char *referrer;
    } cases[] = {
        {"2326", 2326, ""},
        {"18446744073709551615 \"http://a/\" \"x\"", UINT64_MAX, "http://a/"},
        {"18446744073709551616 \"b\"", 0, "b"},
        {"- \"-\" \"x\"", 0, ""},
        {"0 \"\"", 0, ""},
        {"1 \"a\\\"b\" \"x\"", 1, "a\\\"b"},
        {"1 \"open", 1, ""},
        {"1 a \"b\"", 1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct entry entry;
        char line[200];
        (void)snprintf(line, sizeof line,
                       "h - - [29/Feb/2016:00:00:00 +0000] \"GET / HTTP/1.1\" 200 %s",
                       cases[i].end);
        assert_null(parse(line, &entry));
        assert_true(entry.size == cases[i].size);
        assert_text(entry.referrer, cases[i].referrer);
    }
}

static void keeps_escapes_of_the_target(void **state)
{
    (void)state;
    struct entry entry;
    assert_null(
        parse("h - - [01/Jan/1970:01:00:00 +0100] \"GET /a\\\"b\\\\ HTTP/1.1\" 200 1", &entry));
    assert_text(entry.page, "/a\\\"b\\\\");
    assert_int_equal(entry.at_ms, 1);
}

/* Each line has one thing wrong, named by the reason. */
static void says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *reason;
    } cases[] = {
        {"", "empty"},
        {"\r", "empty"},
        {"garbage", "no host"},
        {" h - - [", "no host"},
        {"h - [01/Jan/2000:00:00:00 +0000] \"GET / X\" 200 1", "no [dd/Mon"},
        {"h -  - [01/Jan/2000:00:00:00 +0000] \"GET / X\" 200 1", "no ident and user"},
        {"h - - [32/Jan/2000:00:00:00 +0000] \"GET / X\" 200 1", "no [dd/Mon"},
        {"h - - [01/Jan/2000:00:00:00 +000] \"GET / X\" 200 1", "no [dd/Mon"},
        {"h - - [01/Jan/2000:00:00:00 +0000] GET / X 200 1", "no quoted request"},
        {"h - - [01/Jan/2000:00:00:00 +0000] \"GET / X\\\" 200 1", "no quoted request"},
        {"h - - [01/Jan/2000:00:00:00 +0000] \"GET / X\\", "no quoted request"},
        {"h - - [01/Jan/2000:00:00:00 +0000] \"-\" 408 -", "the request is not"},
        {"h - - [01/Jan/2000:00:00:00 +0000] \"GET /a b X\" 200 1", "the request is not"},
        {"h - - [01/Jan/2000:00:00:00 +0000] \"GET  / X\" 200 1", "the request is not"},
        {"h - - [01/Jan/2000:00:00:00 +0000] \"GET / \" 200 1", "the request is not"},
        {"h - - [01/Jan/2000:00:00:00 +0000] \"GET / X\" 2000 1", "no three-digit status"},
        {"h - - [01/Jan/2000:00:00:00 +0000] \"GET / X\" 200", "no three-digit status"},
        {"h - - [01/Jan/2000:00:00:00 +0000] \"GET / X\" 200 1k", "no size"},
        {"h - - [01/Jan/2000:00:00:00 +0000] \"GET / X\" 200 ", "no size"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct entry entry;
        const char *reason = parse(cases[i].line, &entry);
        if (reason == NULL || strncmp(reason, cases[i].reason, strlen(cases[i].reason)) != 0)
            fail_msg("'%s': %s", cases[i].line, reason != NULL ? reason : "taken");
    }
}

static void refuses_nul_and_endless_lines(void **state)
{
    (void)state;
    struct entry entry;
    static const char nul[] = "h - - [01/Jan/2000:00:00:00 +0000] \"GET /\0 X\" 200 1";
    assert_non_null(parse_line(nul, sizeof nul - 1, &entry));
    static const char later[] = "h - - [01/Jan/2000:00:00:00 +0000] \"GET / X\" 200 1 \0";
    assert_null(parse_line(later, sizeof later - 1, &entry));
    char *endless = malloc(PARSE_LINE_MAX + 1);
    assert_non_null(endless);
    memset(endless, 'x', PARSE_LINE_MAX + 1);
    memcpy(endless, later, sizeof later - 1);
    assert_null(parse_line(endless, PARSE_LINE_MAX, &entry));
    assert_non_null(parse_line(endless, PARSE_LINE_MAX + 1, &entry));
    free(endless);
}

/* No byte is read after the end: the sanitizers watch the copy. */
static void stays_inside_the_line(void **state)
{
    (void)state;
    static const char whole[] =
        "h - - [01/Jan/2000:00:00:00 +0000] \"GET /a\\\"b HTTP/1.1\" 200 12 \"-\"";
    for (size_t length = 0; length < sizeof whole; length++) {
        char *copy = malloc(length > 0 ? length : 1);
        assert_non_null(copy);
        memcpy(copy, whole, length);
        struct entry entry;
        const char *reason = parse_line(copy, length, &entry);
        assert_true((reason == NULL) == (length >= strlen(whole) - strlen("2 \"-\"")));
        free(copy);
    }
}

static void assert_json(const char *bytes, size_t length, const char *wanted)
{
    char *made = NULL;
    size_t made_length = 0;
    FILE *out = open_memstream(&made, &made_length);
    assert_non_null(out);
    json_string(out, (struct text){bytes, length});
    assert_int_equal(fclose(out), 0);
    assert_string_equal(made, wanted);
    free(made);
}

static void writes_any_bytes_as_json(void **state)
{
    (void)state;
    assert_json("", 0, "\"\"");
    assert_json("a\"b\\c\n\0\x7f", 8, "\"a\\\"b\\\\c\\u000a\\u0000\\u007f\"");
    assert_json("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
                "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    assert_json("\xff", 1, "\"\\udcff\"");
    assert_json("\xc3", 1, "\"\\udcc3\"");
    assert_json("\xe2\x82", 2, "\"\\udce2\\udc82\"");
    /* longer than needed, a surrogate, past the last code point */
    assert_json("\xc0\xaf", 2, "\"\\udcc0\\udcaf\"");
    assert_json("\xe0\x80\xaf", 3, "\"\\udce0\\udc80\\udcaf\"");
    assert_json("\xed\xa0\x80", 3, "\"\\udced\\udca0\\udc80\"");
    assert_json("\xf4\x90\x80\x80", 4, "\"\\udcf4\\udc90\\udc80\\udc80\"");
    assert_json("\xf0\x8f\x80\x80", 4, "\"\\udcf0\\udc8f\\udc80\\udc80\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_both_formats),
        cmocka_unit_test(takes_size_and_referrer),
        cmocka_unit_test(keeps_escapes_of_the_target),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(refuses_nul_and_endless_lines),
        cmocka_unit_test(stays_inside_the_line),
        cmocka_unit_test(writes_any_bytes_as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
