/* The parts of the shell that need no terminal: what comes next in a line, the text of a completion, and the file of
 * the history. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "editor/history.h"
#include "shell/complete.h"
#include "table/commands.h"

/* The word that is typed last in `line` begins at `begin` and is `typed`. */
static struct line_end read_end(const char *line, size_t begin, const char *typed)
{
    size_t begin_seen = SIZE_MAX;
    char *typed_seen = NULL;
    struct line_end end = read_line_end(all_nouns, line, strlen(line), &begin_seen,
                                        &typed_seen);
    assert_int_equal(begin_seen, begin);
    assert_non_null(typed_seen);
    assert_string_equal(typed_seen, typed);
    free(typed_seen);
    return end;
}

static void finds_the_last_word(void **state)
{
    (void)state;
    (void)read_end("", 0, "");
    (void)read_end("cou", 0, "cou");
    (void)read_end("counter ", 8, "");
    (void)read_end("counter add 'a b", 12, "a b");
    (void)read_end("counter add \"a 'b", 12, "a 'b");
    (void)read_end("counter add a\\ b", 12, "a b");
    (void)read_end("counter add 'a b' c", 18, "c");
    (void)read_end("counter add $'a\\'b c", 12, "a'b c");
    (void)read_end("counter add 'a\\' b", 17, "b");
    (void)read_end("counter add \"a\\\" b", 12, "a\" b");
    (void)read_end("counter add a#b'", 12, "a#b");
    (void)read_end("counter add '' ", 15, "");
    (void)read_end("counter add '", 12, "");
}

static void refuses_what_is_no_line(void **state)
{
    (void)state;
    static const char *const lines[] = {"a \\", "a $'\\q", "$'\\q' b", "a # b", "#"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        size_t begin = 0;
        char *typed = NULL;
        (void)read_line_end(all_nouns, lines[i], strlen(lines[i]), &begin, &typed);
        assert_null(typed);
    }
}

static void knows_what_is_typed(void **state)
{
    (void)state;
    struct line_end end = read_end("counter add -s lmdb:x page ", 27, "");
    assert_string_equal(end.noun->word, "counter");
    assert_string_equal(end.verb->word, "add");
    assert_int_equal(end.arguments, 1);
    end = read_end("mcds lock release na", 18, "na");
    assert_string_equal(end.verb->word, "release");
    end = read_end("lock release --info ", 20, "");
    assert_string_equal(end.verb->word, "release");
    end = read_end("lock name re", 10, "re");
    assert_string_equal(end.verb->word, "");
    assert_int_equal(end.arguments, 1);
    end = read_end("ls --color ", 11, "");
    assert_string_equal(end.option->word, "color");
    assert_true(read_end("lock job -- sl", 12, "sl").is_over);
    assert_true(read_end("nonsense counter ", 17, "").is_over);
    assert_true(read_end("nonsense add ", 13, "").is_over);
    assert_true(read_end("counter nonsense ", 17, "").is_over);
    assert_null(read_end("ls --json ", 10, "").option);
}

/* What is typed last is an argument, the one of this index, and not an option or a COMMAND. */
static void expect_argument(const char *line, size_t begin, const char *typed, size_t index)
{
    struct line_end end = read_end(line, begin, typed);
    assert_false(end.is_over);
    assert_true(end.options_over);
    assert_int_equal(end.arguments, index);
}

static void knows_what_follows_two_dashes(void **state)
{
    (void)state;
    expect_argument("set scan -- -le", 12, "-le", 0);
    expect_argument("set add -- -lead -", 17, "-", 1);
    expect_argument("set add -- -- ", 14, "", 1);
    expect_argument("-- counter get -x", 15, "-x", 0);
    expect_argument("lock acquire -- -L", 16, "-L", 0);
    expect_argument("lock -- -L", 8, "-L", 0);
    expect_argument("lock -- release re", 16, "re", 1);
    expect_argument("cache get -- -k", 13, "-k", 0);
    expect_argument("cache get pages -- -k", 19, "-k", 1);
    assert_false(read_end("set scan -le", 9, "-le").options_over);
    assert_true(read_end("cache get pages / -- ca", 21, "ca").is_over);
    assert_true(read_end("cache get -- -k / -- ca", 21, "ca").is_over);
    assert_true(read_end("lock -- -L -- ca", 14, "ca").is_over);
    assert_true(read_end("leader run chief -- ca", 20, "ca").is_over);
    assert_true(read_end("leader chief -- ca", 16, "ca").is_over);
}

/* The text for the words, of which `typed` is there, is `text`; NULL: there is none. */
static void expect_text(const char *typed, const char *const *words, const char *text)
{
    struct completion completion = {.word_length = strlen(typed)};
    for (size_t i = 0; words[i] != NULL; i++)
        (void)completion_add(&completion, typed, words[i]);
    char *seen = completion_text(&completion);
    if (text == NULL)
        assert_null(seen);
    else
        assert_string_equal(seen, text);
    free(seen);
    completion_free(&completion);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void completes(void **state)
{
    (void)state;
    expect_text("", WORDS("page"), "page ");
    expect_text("page", WORDS("page"), "page ");
    expect_text("pa", WORDS("page:1", "page:2", "other"), "page:");
    expect_text("page:", WORDS("page:1", "page:2"), NULL);
    expect_text("x", WORDS("page"), NULL);
    expect_text("p", WORDS("page", "page"), "page ");
    expect_text("a", WORDS("a b"), "'a b' ");
    expect_text("a", WORDS("a b1", "a b2"), "'a b");
    expect_text("a", WORDS("a'b"), "'a'\\''b' ");
    expect_text("a", WORDS("a\nb"), "$'a\\nb' ");
    expect_text("", WORDS("#x"), "'#x' ");
    expect_text("", WORDS("日本", "日曜"), "日");
    expect_text("", WORDS("é", "è"), NULL); /* they share a byte, and no character */
}

static void has_a_bound(void **state)
{
    (void)state;
    struct completion completion = {.count = 0};
    for (int i = 0; i < 2 * COMPLETIONS_MAX; i++) {
        char word[24];
        (void)snprintf(word, sizeof word, "w%d", i);
        assert_int_equal(completion_add(&completion, "w", word), i < COMPLETIONS_MAX);
    }
    assert_true(completion.is_cut);
    assert_int_equal(completion.count, COMPLETIONS_MAX);
    completion_free(&completion);
}

struct home {
    char path[64];
    char file[256];
    struct history history;
    size_t count;
    char first[64];
    char last[64];
};

static void take(void *context, const char *line)
{
    struct home *home = context;
    if (home->count++ == 0)
        (void)snprintf(home->first, sizeof home->first, "%s", line);
    (void)snprintf(home->last, sizeof home->last, "%s", line);
}

static void open_home(struct home *home, const char *uri)
{
    memset(home, 0, sizeof *home);
    (void)snprintf(home->path, sizeof home->path, "/tmp/mcds-history-XXXXXX");
    assert_non_null(mkdtemp(home->path));
    assert_int_equal(setenv("XDG_STATE_HOME", home->path, 1), 0);
    (void)snprintf(home->file, sizeof home->file, "%s/mcds/history", home->path);
    history_open(&home->history, uri);
    assert_string_equal(home->history.path, home->file);
}

static void close_home(struct home *home)
{
    char folder[80];
    (void)snprintf(folder, sizeof folder, "%s/mcds", home->path);
    history_close(&home->history);
    (void)unlink(home->file);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(rmdir(home->path), 0);
}

static void load(struct home *home)
{
    home->count = 0;
    history_load(&home->history, take, home);
}

static void keeps_lines(void **state)
{
    (void)state;
    struct home home;
    struct stat status;
    open_home(&home, "memory:");
    load(&home);
    assert_int_equal(home.count, 0);
    history_append(&home.history, "counter add x");
    history_append(&home.history, "ls");
    assert_int_equal(chmod(home.file, 0644), 0);
    load(&home);
    assert_int_equal(home.count, 2);
    assert_string_equal(home.first, "counter add x");
    assert_string_equal(home.last, "ls");
    assert_int_equal(stat(home.file, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    close_home(&home);
}

static void shortens_the_file(void **state)
{
    (void)state;
    struct home home;
    open_home(&home, "memory:");
    for (int i = 0; i < 2 * HISTORY_LINES + 2; i++) {
        char line[24];
        (void)snprintf(line, sizeof line, "line %d", i);
        history_append(&home.history, line);
    }
    for (int time = 0; time < 2; time++) { /* before and after it is shortened */
        load(&home);
        assert_int_equal(home.count, HISTORY_LINES);
        assert_string_equal(home.first, "line 1002");
        assert_string_equal(home.last, "line 2001");
    }
    struct stat status;
    assert_int_equal(stat(home.file, &status), 0);
    assert_int_equal(status.st_size, HISTORY_LINES * (sizeof "line 1002" - 1 + 1));
    close_home(&home);
}

static void keeps_no_link(void **state)
{
    (void)state;
    struct home home;
    open_home(&home, "memory:");
    assert_int_equal(symlink("/dev/null", home.file), 0);
    history_append(&home.history, "ls");
    load(&home);
    assert_int_equal(home.count, 0);
    close_home(&home);
}

static void keeps_no_password(void **state)
{
    (void)state;
    struct home home;
    char file[] = "/tmp/mcds-pass%20XXXXXX";
    char uri[128];
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "ann:s3cret\n", 11), 11);
    assert_int_equal(close(fd), 0);
    /* "%20" in the name is "%2520" in the URI */
    (void)snprintf(uri, sizeof uri,
                   "memcached://h?timeout=5&auth_file=/tmp/mcds-pass%%2520%s&x=y",
                   file + strlen("/tmp/mcds-pass%20"));
    open_home(&home, uri);
    assert_false(history_may_keep(&home.history, "table put t k s3cret"));
    assert_true(history_may_keep(&home.history, "table put t k secret"));
    assert_false(history_may_keep(&home.history, "table put t k 's3'cret"));
    assert_false(
        history_may_keep(&home.history, "table put t k 'a=s3\"cret' \"a=s3\"$'\\x63'ret"));
    assert_false(history_may_keep(&home.history, "table put t k \"s3\\\ncret\" 'open"));
    assert_true(history_may_keep(&home.history, "table put t k \"it's\" # a comment"));
    assert_false(history_may_keep(&home.history, " ls"));
    assert_false(history_may_keep(&home.history, ""));
    close_home(&home);
    assert_int_equal(home.history.password[0], '\0');
    assert_int_equal(unlink(file), 0);
}

static void does_without_a_home(void **state)
{
    (void)state;
    struct history history;
    struct home home = {.count = 0};
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    history_open(&history, "memory:");
    assert_string_equal(history.path, "");
    history_append(&history, "ls");
    history_load(&history, take, &home);
    assert_int_equal(home.count, 0);
    history_close(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_last_word), cmocka_unit_test(refuses_what_is_no_line),
        cmocka_unit_test(knows_what_is_typed), cmocka_unit_test(knows_what_follows_two_dashes),
        cmocka_unit_test(completes),           cmocka_unit_test(has_a_bound),
        cmocka_unit_test(keeps_lines),         cmocka_unit_test(shortens_the_file),
        cmocka_unit_test(keeps_no_link),       cmocka_unit_test(keeps_no_password),
        cmocka_unit_test(does_without_a_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
