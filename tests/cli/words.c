/* Shell quoting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "parse/shell_words.h"

#define MAX 8

/* Split a copy of `line` and compare with the expected words, which end with NULL. */
static void expect(const char *line, const char *const *expected)
{
    char copy[200];
    char *words[MAX];
    const char *error = NULL;
    (void)snprintf(copy, sizeof copy, "%s", line);
    int count = split_words(copy, words, MAX, &error);
    int wanted = 0;
    while (expected[wanted] != NULL)
        wanted++;
    assert_int_equal(count, wanted);
    for (int i = 0; i < wanted; i++)
        assert_string_equal(words[i], expected[i]);
}

#define EXPECT(line, ...) expect(line, (const char *const[]){__VA_ARGS__, NULL})

/* `place` is the index of what is wrong. */
static void refuse_at(const char *line, size_t place, const char *sentence)
{
    char copy[200];
    char *words[MAX];
    const char *error = NULL;
    (void)snprintf(copy, sizeof copy, "%s", line);
    size_t place_seen = SIZE_MAX;
    assert_int_equal(split_typed_words(copy, words, MAX, &error, &place_seen), -1);
    assert_non_null(strstr(error, sentence));
    assert_int_equal(place_seen, place);
}

static void cuts_at_blanks(void **state)
{
    (void)state;
    EXPECT("a", "a");
    EXPECT("  a \t b  ", "a", "b");
    EXPECT("1 2 3 4 5 6 7 8", "1", "2", "3", "4", "5", "6", "7", "8");
    refuse_at("1 2 3 4 5 6 7 8 9", 16, "too many words");
    expect("", (const char *const[]){NULL});
    expect(" \t", (const char *const[]){NULL});
}

static void refuses_operators_of_a_line_that_is_typed(void **state)
{
    (void)state;
    refuse_at("set add s a | wc", 12, "quote this word");
    refuse_at("ls >> x", 3, "quote this word");
    refuse_at("counter get a>file", 13, "quote this word");
    refuse_at("ls|wc", 2, "quote this word");
    refuse_at("'a'|b", 3, "quote this word");
    refuse_at("a \"b\"& 'open", 5, "quote this word");
    for (const char *c = "|&;<>()"; *c != '\0'; c++) {
        char text[] = {'a', *c, 'b', '\0'};
        refuse_at(text, 1, "quote this word");
    }
    char line[] = "a '|' \\> \"&&\" '<b>' a\\|b x$';' 'f(x)' # | c";
    static const char *const expected[] = {"a", "|", ">", "&&", "<b>", "a|b", "x;", "f(x)"};
    char *words[MAX];
    const char *error = NULL;
    size_t place = 0;
    assert_int_equal(split_typed_words(line, words, MAX, &error, &place), MAX);
    for (int i = 0; i < MAX; i++)
        assert_string_equal(words[i], expected[i]);
    EXPECT("a | b>c", "a", "|", "b>c"); /* of a batch */
}

static void knows_comments(void **state)
{
    (void)state;
    expect("# nothing 'here", (const char *const[]){NULL});
    EXPECT("a # b", "a");
    EXPECT("a#b #c", "a#b");
    EXPECT("'#' \\# \"#\"", "#", "#", "#");
}

static void knows_quotes(void **state)
{
    (void)state;
    EXPECT("'a  b' \"c  d\" e\\ f", "a  b", "c  d", "e f");
    EXPECT("'' \"\" $''", "", "", "");
    EXPECT("a'b'\"c\"$'d'\\e", "abcde");
    EXPECT("'\\n\"' \"\\n\\\"\\\\\\$\\`'\"", "\\n\"", "\\n\"\\$`'");
    EXPECT("$'\\n\\r\\t\\e\\\\\\'\\\"\\x41\\x7F\\xff'", "\n\r\t\033\\'\"A\177\377");
    EXPECT("$x $\"y\"", "$x", "$y");
    EXPECT("| > < ; & * ?", "|", ">", "<", ";", "&", "*", "?");
}

static void refuses_what_is_open(void **state)
{
    (void)state;
    refuse_at("'a", 0, "not closed");
    refuse_at("a \"b", 2, "not closed");
    refuse_at("\"b\\\"", 0, "not closed");
    refuse_at("$'a\\'", 0, "not closed");
    refuse_at("a\\", 1, "backslash");
    refuse_at("a \\", 2, "backslash");
    refuse_at("$'\\q'", 2, "knows only");
    refuse_at("$'\\x4'", 2, "knows only");
    refuse_at("$'\\", 2, "knows only");
    refuse_at("$'\\x00'", 2, "NUL");
}

/* Unquote a copy of `field`, whose length is given since it may hold NUL bytes. */
static void expect_field(const char *field, size_t length, const char *expected,
                         size_t expected_length)
{
    char copy[200];
    memcpy(copy, field, length);
    copy[length] = '\0';
    assert_true(unquote_field(copy, &length));
    assert_int_equal(length, expected_length);
    assert_memory_equal(copy, expected, expected_length);
}

#define FIELD(field, expected)                                                                 \
    expect_field(field, sizeof(field) - 1, expected, sizeof(expected) - 1)

/* What is never printed so is its own bytes. */
static void keep_field(const char *field)
{
    expect_field(field, strlen(field), field, strlen(field));
}

static void reads_fields(void **state)
{
    (void)state;
    FIELD("", "");
    FIELD("$", "$");
    FIELD("plain 'as' it \\n is", "plain 'as' it \\n is");
    FIELD("nul\0here", "nul\0here");
    FIELD("a$'b'", "a$'b'");
    FIELD("$'a\\n\\x00\xff\\'\\\\'", "a\n\0\xff'\\");
    FIELD("$'$\\'\\\\n\\''", "$'\\n'");
    FIELD("$'\\xc2\\x9b\\x9b\\xe2\\x80\\xae'", "\xc2\x9b\x9b\xe2\x80\xae");
    keep_field("$'");
    keep_field("$''");
    keep_field("$'plain'");
    keep_field("$'a\\");
    keep_field("$'a\\n' b");
    keep_field("$'\\q\\n'");
    keep_field("$'\\x0\\n'");
    keep_field("$'\\x41\\n'");
    keep_field("$'\\x0a'");
    keep_field("$'\n'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_operators_of_a_line_that_is_typed),
        cmocka_unit_test(cuts_at_blanks),
        cmocka_unit_test(knows_comments),
        cmocka_unit_test(knows_quotes),
        cmocka_unit_test(refuses_what_is_open),
        cmocka_unit_test(reads_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
