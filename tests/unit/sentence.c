/* Sentences are for a terminal: whatever bytes a name, a path, a URI or a server has, a sentence
 * shows those that a terminal would act on as \xHH. The fields keep them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "store/finding.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/pass_over.h"

#define SENTENCE_MAX 1280

static bool refuse(void *context, mcds_request *request)
{
    (void)context;
    request->reply.outcome = MCDS_OUT_NO_MEMORY;
    request->reply.detail = MCDS__WHY(SERVER_FULL);
    request->reply.peer = "server-1";
    return true;
}

static mcds_store *refusing_store(struct hooked_backend *backend, struct fake_env *fake)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    fake_env_init(fake, 7);
    options.env = &fake->env;
    assert_int_equal(hooked_backend_open(backend, &options, &store), MCDS_OK);
    backend->hook = refuse;
    return store;
}

static void fail_with_name(mcds_store *store, const char *name)
{
    mcds_counter *counter;
    assert_int_equal(mcds_counter_open(store, name, NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_FULL);
    mcds_counter_close(counter);
    assert_string_equal(mcds_last_error()->name, name);
}

/* The sentence and the reason are of visible characters, but for those of UTF-8. */
static void check_visible(const char *text)
{
    assert_true(strlen(text) < SENTENCE_MAX);
    for (const char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e)
            fail_msg("byte %02x in %s", (unsigned char)*at, text);
}

static void check_last_visible(void)
{
    check_visible(mcds_errmsg());
    check_visible(mcds_last_error()->reason);
    assert_true(mcds_errmsg()[0] != '\0');
}

static void each_byte_of_a_name_is_visible(void **state)
{
    (void)state;
    struct hooked_backend backend;
    struct fake_env fake;
    mcds_store *store = refusing_store(&backend, &fake);
    for (int byte = 1; byte < 256; byte++) {
        const char name[] = {'a', (char)byte, 'z', '\0'};
        char wanted[160];
        bool is_plain = byte >= 0x20 && byte < 0x7f;
        (void)snprintf(wanted, sizeof wanted,
                       is_plain ? "counter 'a%cz': add: server-1: %s"
                                : "counter 'a\\x%02xz': add: server-1: %s",
                       byte, MCDS__WHY(SERVER_FULL)->text);
        fail_with_name(store, name);
        assert_string_equal(mcds_errmsg(), wanted);
        check_last_visible();
    }
    mcds_close(store);
}

/* What a terminal shows, and what it acts on or cannot decode. */
static void characters_of_several_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *shown;
    } rows[] = {
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"\xc2\xa0\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf",
         "\xc2\xa0\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"},
        {"\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf", "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m"},
        {"\xc2\x80\xc2\x9f", "\\xc2\\x80\\xc2\\x9f"},
        {"\xd8\x9c", "\\xd8\\x9c"},
        {"\xe2\x80\x8e\xe2\x80\x8f", "\\xe2\\x80\\x8e\\xe2\\x80\\x8f"},
        {"\xe2\x80\xa8\xe2\x80\xae", "\\xe2\\x80\\xa8\\xe2\\x80\\xae"},
        {"\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9"},
        {"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa",
         "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa"},
        {"\xc3", "\\xc3"},
        {"\xe2\x82", "\\xe2\\x82"},
        {"\xf0\x9f\x98x", "\\xf0\\x9f\\x98x"},
        {"\xc0\x80\xc1\xbf", "\\xc0\\x80\\xc1\\xbf"},
        {"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
        {"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xf8\x88\x80\x80\x80\xfe\xff", "\\xf8\\x88\\x80\\x80\\x80\\xfe\\xff"},
        {"\\x1b", "\\x1b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char shown[80], again[80];
        assert_int_equal(mcds__show(shown, sizeof shown, rows[i].text), strlen(rows[i].shown));
        assert_string_equal(shown, rows[i].shown);
        (void)mcds__show(again, sizeof again, shown);
        assert_string_equal(again, shown);
    }
}

static void no_character_is_cut(void **state)
{
    (void)state;
    char out[8];
    for (size_t capacity = 1; capacity <= sizeof out; capacity++) {
        assert_int_equal(mcds__show(out, capacity, "\x1b\x1b\x1b"), (capacity - 1) / 4 * 4);
        assert_int_equal(mcds__show(out, capacity, "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"),
                         (capacity - 1) / 3 * 3);
        assert_int_equal(strlen(out), (capacity - 1) / 3 * 3);
    }
}

/* However long a name is, the sentence ends with its reason. */
static void a_long_name_leaves_the_reason(void **state)
{
    (void)state;
    char end[160];
    (void)snprintf(end, sizeof end, "': add: server-1: %s", MCDS__WHY(SERVER_FULL)->text);
    struct hooked_backend backend;
    struct fake_env fake;
    mcds_store *store = refusing_store(&backend, &fake);
    for (int i = 0; i < 2; i++) {
        char name[MCDS__NAME_GIVEN_MAX + 1];
        memset(name, i == 0 ? '\x1b' : 'x', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        fail_with_name(store, name);
        check_last_visible();
        const char *sentence = mcds_errmsg();
        assert_int_equal(strlen(sentence), strlen("counter '") + 200 + strlen(end));
        assert_string_equal(sentence + strlen(sentence) - strlen(end), end);
    }
    mcds_close(store);
}

/* A path of 255 bytes, as long as a store's may be, is named, and so is the reason. */
static void a_long_place_leaves_the_reason(void **state)
{
    (void)state;
    char uri[300] = "lmdb:/";
    mcds_store *store;
    memset(uri + strlen(uri), '\x1b', 240);
    strcat(uri, "/file");
    assert_true(mcds_open(uri, NULL, &store) < 0);
    check_last_visible();
    assert_non_null(strstr(mcds_errmsg(), "\\x1b: its directory does not exist"));
    assert_non_null(strstr(mcds_last_error()->peer, "\x1b/file"));
}

/* Each place of a URI that a sentence repeats. */
static void no_byte_of_a_uri_acts_on_a_terminal(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "n%co:",
        "n%co",
        "lmdb://h%cost/x",
        "lmdb:/no%cwhere/x",
        "lmdb:/no/where/x?o%cption",
        "lmdb:/no/where/x?o%cption=%%zz",
        "lmdb:/no/where/x?o%cption=1",
        "lmdb:/no/where/x?sync=a%cb",
        "lmdb:/no/where/x?mode=a%cb",
        "lmdb:/no/where/x?map_max=a%cb",
        "lmdb:/no/where/x?timeout=a%cb",
        "lmdb:/no/where/x?ns=a%cb",
        "lmdb:/nowhere%c/x%%zz",
        "memory:?bytes=a%cb",
        "memory:?o%cption=1",
        "memcached://h%cost",
        "memcached://h:1%c",
        "memcached://h*1%c",
        "memcached://[%c]",
        "memcached://[::1]%c",
        "memcached://h/%c",
        "memcached://u:%c@h",
        "memcached://h?hash=%c",
        "memcached://h?protocol=%c",
        "memcached://h?distribution=%c",
        "memcached://h?timeout=%c",
        "memcached://h,h%c,h%c",
    };
    unsigned refused = 0;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        for (int byte = 1; byte < 256; byte++) {
            char uri[80];
            mcds_store *store = NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            (void)snprintf(uri, sizeof uri, forms[i], byte, byte);
#pragma GCC diagnostic pop
            if (mcds_open(uri, NULL, &store) != MCDS_OK) {
                check_last_visible();
                refused++;
            }
            mcds_close(store);
        }
    assert_true(refused > 200 * sizeof forms / sizeof forms[0]);
}

static void no_byte_of_a_namespace_or_cursor_acts_on_a_terminal(void **state)
{
    (void)state;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    assert_int_equal(mcds_open("memory:", NULL, &store), MCDS_OK);
    for (int byte = 1; byte < 256; byte++) {
        const char name[] = {'a', (char)byte, '\0'};
        mcds_store *other = NULL;
        options.ns = name;
        if (mcds_open("memory:", &options, &other) != MCDS_OK)
            check_last_visible();
        mcds_close(other);

        mcds_log *log, *second;
        mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
        assert_int_equal(mcds_log_open(store, name, NULL, &log), MCDS_OK);
        assert_int_equal(mcds_log_open(store, "b", NULL, &second), MCDS_OK);
        assert_int_equal(mcds_log_put(log, 0, mcds_text("e")), MCDS_OK);
        assert_int_equal(mcds_log_tail(log, &cursor, pass_event, NULL, NULL), MCDS_OK);
        assert_int_equal(mcds_log_tail(second, &cursor, pass_event, NULL, NULL), MCDS_INVALID);
        check_last_visible();
        mcds_log_close(second);
        mcds_log_close(log);
    }
    mcds_close(store);
}

static bool see(void *context, const mcds_finding *finding)
{
    check_visible(finding->subject);
    check_visible(finding->what);
    check_visible(finding->fix);
    ++*(int *)context;
    return true;
}

/* A server's version and a path are in findings. */
static void findings_are_visible(void **state)
{
    (void)state;
    int seen = 0;
    struct mcds__report report = {"/tmp/\x1b]0;x\a/\xff", see, &seen, false};
    mcds__report(&report, MCDS_FACT, "see \x9b\xc2\x9b", "memcached %s", "1.6\x1b[2J\r\n");
    assert_int_equal(seen, 1);
}

/* What a program says with mcds_fail is a sentence like the others. */
static void what_a_program_says_is_visible(void **state)
{
    (void)state;
    assert_int_equal(mcds_fail(MCDS_IO, "the key '%s'", "a\nb"), MCDS_IO);
    assert_string_equal(mcds_errmsg(), "the key 'a\\x0ab'");
    assert_int_equal(mcds_fail(MCDS_IO, "%s again", mcds_errmsg()), MCDS_IO);
    assert_string_equal(mcds_errmsg(), "the key 'a\\x0ab' again");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_of_a_name_is_visible),
        cmocka_unit_test(characters_of_several_bytes),
        cmocka_unit_test(no_character_is_cut),
        cmocka_unit_test(a_long_name_leaves_the_reason),
        cmocka_unit_test(a_long_place_leaves_the_reason),
        cmocka_unit_test(no_byte_of_a_uri_acts_on_a_terminal),
        cmocka_unit_test(no_byte_of_a_namespace_or_cursor_acts_on_a_terminal),
        cmocka_unit_test(findings_are_visible),
        cmocka_unit_test(what_a_program_says_is_visible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
