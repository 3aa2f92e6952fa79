/* A URI that is refused: mcds_last_error() has the option, what was given and what is allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"

#define SCHEMES "memory:, lmdb: or memcached://"
#define OF_MEMORY "strict, bytes, ns, timeout"
#define OF_LMDB "sync, map_max, mode, create, ns, timeout"
#define OF_MEMCACHED                                                                           \
    "protocol, connect_timeout, connections, placement, hash, tls, ca, cert, key, tls_name, "  \
    "auth_file, ns, timeout"
#if SIZE_MAX > UINT32_MAX
#define MAP_MAX "1048576 to 70368744177664"
#else
#define MAP_MAX "1048576 to 1073741824"
#endif
#define HEX "two hexadecimal digits after each %, not 00"

struct refused {
    const char *uri;
    const char *option;
    const char *found;
    const char *wanted;
};

static void check(const struct refused *refused)
{
    const mcds_error *error = mcds_last_error();
    mcds_store *store = NULL;
    if (mcds_open(refused->uri, NULL, &store) == MCDS_INVALID &&
        strcmp(error->noun, "store") == 0 && strcmp(error->option, refused->option) == 0 &&
        strcmp(error->found, refused->found) == 0 &&
        strcmp(error->wanted, refused->wanted) == 0)
        return;
    fail_msg("%s: option '%s', found '%s', wanted '%s': %s", refused->uri, error->option,
             error->found, error->wanted, mcds_errmsg());
}

static void check_all(const struct refused *refused, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&refused[i]);
}

#define CHECK_ALL(table) check_all(table, sizeof(table) / sizeof(table)[0])

static void schemes_and_places(void **state)
{
    static const struct refused table[] = {
        {"", "uri", "", SCHEMES},
        {"x", "uri", "x", SCHEMES},
        {":x", "uri", ":x", SCHEMES},
        {"http://host", "uri", "http", SCHEMES},
        {"lmdb:", "uri", "lmdb:", "lmdb:PATH"},
        {"lmdb://host/path", "uri", "lmdb://host/path", "lmdb:///PATH or lmdb:PATH"},
        {"lmdb:a%2", "uri", "lmdb:a%2", HEX},
        {"lmdb:%41%00", "uri", "lmdb:%41%00", HEX},
    };
    (void)state;
    CHECK_ALL(table);
}

static void unknown_options(void **state)
{
    static const struct refused table[] = {
        {"memory:?sync=full", "sync", "full", OF_MEMORY},
        {"memory:?Strict=1", "Strict", "1", OF_MEMORY},
        {"lmdb:x?bytes=5", "bytes", "5", OF_LMDB},
        {"memcached://h?mode=0600", "mode", "0600", OF_MEMCACHED},
    };
    (void)state;
    CHECK_ALL(table);
}

static void numbers(void **state)
{
    static const struct refused table[] = {
        {"memory:?timeout=x", "timeout", "x", "1 to 3600000"},
        {"memory:?timeout=0", "timeout", "0", "1 to 3600000"},
        {"lmdb:x?timeout=3600001", "timeout", "3600001", "1 to 3600000"},
        {"memcached://h?timeout=-1", "timeout", "-1", "1 to 3600000"},
        {"memory:?strict=2", "strict", "2", "0 to 1"},
        {"memory:?bytes=", "bytes", "", "65536 to 18446744073709551615"},
        {"memory:?bytes=65535", "bytes", "65535", "65536 to 18446744073709551615"},
        {"memory:?bytes=18446744073709551616", "bytes", "18446744073709551616",
         "65536 to 18446744073709551615"},
        {"lmdb:x?map_max=64k", "map_max", "64k", MAP_MAX},
        {"lmdb:x?map_max=1", "map_max", "1", MAP_MAX},
        {"lmdb:x?create=2", "create", "2", "0 to 1"},
        {"memcached://h?connect_timeout=60001", "connect_timeout", "60001", "1 to 60000"},
        {"memcached://h?connections=0", "connections", "0", "1 to 4"},
    };
    (void)state;
    CHECK_ALL(table);
    check(&(const struct refused){"memory:?timeout=3600001", "timeout", "3600001",
                                  "1 to 3600000"});
    assert_int_equal(mcds_last_error()->wanted_min, 1);
    assert_int_equal(mcds_last_error()->wanted_max, 3600000);
    assert_int_equal(mcds_last_error()->found_number, 3600001);
}

static void words(void **state)
{
    static const struct refused table[] = {
        {"lmdb:x?sync=no", "sync", "no", "full or async"},
        {"lmdb:x?mode=0777", "mode", "0777", "0600 to 0666"},
        {"lmdb:x?mode=600x", "mode", "600x", "0600 to 0666"},
        {"memcached://h?protocol=binary", "protocol", "binary", "auto, meta or classic"},
        {"memcached://h?placement=random", "placement", "random",
         "ketama_weighted, ketama or modula"},
        {"memcached://h?placement=ketama&hash=crc", "hash", "crc", "one_at_a_time or md5"},
        {"memcached://h?hash=md5", "hash", "md5", "placement=ketama or placement=modula"},
        {"memory:?ns=a/b", "ns", "a/b", "a-z A-Z 0-9 _ - ."},
    };
    (void)state;
    CHECK_ALL(table);
}

static void forms(void **state)
{
    static const struct refused table[] = {
        {"memory:?strict", "strict", "strict", "NAME=VALUE"},
        {"memory:?=1", "", "=1", "NAME=VALUE"},
        {"memory:?ns=a&&bytes=1", "", "", "NAME=VALUE"},
    };
    (void)state;
    CHECK_ALL(table);
}

/* Each option of each scheme. */
static void each_option_repeated_or_not_decoded(void **state)
{
    static const struct {
        const char *uri;
        const char *option;
    } options[] = {
        {"memory:", "strict"},
        {"memory:", "bytes"},
        {"memory:", "ns"},
        {"memory:", "timeout"},
        {"lmdb:x", "sync"},
        {"lmdb:x", "map_max"},
        {"lmdb:x", "mode"},
        {"lmdb:x", "create"},
        {"memcached://h", "protocol"},
        {"memcached://h", "connect_timeout"},
        {"memcached://h", "connections"},
        {"memcached://h", "placement"},
        {"memcached://h", "hash"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char uri[128];
        const char *option = options[i].option;
        (void)snprintf(uri, sizeof uri, "%s?%s=1&%s=2", options[i].uri, option, option);
        check(&(const struct refused){uri, option, "2", "one value"});
        (void)snprintf(uri, sizeof uri, "%s?%s=%%41%%4", options[i].uri, option);
        check(&(const struct refused){uri, option, "%41%4", HEX});
    }
}

static void lengths(void **state)
{
    static char uri[5000];
    (void)state;
    memset(uri, 'x', sizeof uri - 1);
    memcpy(uri, "memory:", 7);
    check(&(const struct refused){uri, "uri", "4999", "at most 4095 bytes"});
    uri[7 + 201] = '\0';
    check(&(const struct refused){uri, "name", "201", "200"});
    size_t length = (size_t)snprintf(uri, sizeof uri, "memory:?");
    for (int i = 0; i <= 16; i++)
        length += (size_t)snprintf(uri + length, sizeof uri - length, "o%d=%d&", i, i);
    check(&(const struct refused){uri, "o16", "16", "16 options"});
}

static void check_call(const char *uri, mcds_options options, const struct refused *refused)
{
    const mcds_error *error = mcds_last_error();
    mcds_store *store = NULL;
    if (mcds_open(uri, &options, &store) == MCDS_INVALID && strcmp(error->noun, "store") == 0 &&
        strcmp(error->option, refused->option) == 0 &&
        strcmp(error->found, refused->found) == 0 &&
        strcmp(error->wanted, refused->wanted) == 0)
        return;
    fail_msg("%s: noun '%s', option '%s', found '%s', wanted '%s': %s", uri, error->noun,
             error->option, error->found, error->wanted, mcds_errmsg());
}

/* Each option of mcds_open(), on each kind of store. */
static void options_of_the_call(void **state)
{
    static const char *const uris[] = {"memory:", "memory:mine", "lmdb:/nowhere/x",
                                       "memcached://127.0.0.1:1"};
    static const mcds_options init = MCDS_OPTIONS_INIT;
    char ns[200];
    char size[8];
    mcds_env env = {.size = 1};
    char env_size[8];
    (void)state;
    memset(ns, 'n', sizeof ns - 1);
    ns[sizeof ns - 1] = '\0';
    (void)snprintf(size, sizeof size, "%zu", sizeof init);
    (void)snprintf(env_size, sizeof env_size, "%zu", sizeof env);
    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        mcds_options options = init;
        options.size = 1;
        check_call(uris[i], options, &(const struct refused){NULL, "size", "1", size});
        options = init;
        options.timeout_ms = 3600001;
        check_call(uris[i], options,
                   &(const struct refused){NULL, "timeout_ms", "3600001", "0 to 3600000"});
        options = init;
        options.ns = "a/b";
        check_call(uris[i], options,
                   &(const struct refused){NULL, "ns", "a/b", "a-z A-Z 0-9 _ - ."});
        options.ns = ns;
        check_call(uris[i], options, &(const struct refused){NULL, "ns", "199", "32"});
        options = init;
        options.env = &env;
        check_call(uris[i], options, &(const struct refused){NULL, "size", "1", env_size});
    }
}

/* Each allocation of an opening is refused once: what fails is the store. */
static void no_memory(void **state)
{
    static const char *const uris[] = {"memory:", "memory:mine", "lmdb:%s/x",
                                       "memcached://127.0.0.1:1"};
    char folder[] = "/tmp/mcds-uri-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        int result = MCDS_NO_MEMORY;
        for (int64_t allowed = 0; result != MCDS_OK; allowed++) {
            mcds_options options = MCDS_OPTIONS_INIT;
            struct fake_env fake;
            char uri[64];
            mcds_store *store = NULL;
            fake_env_init(&fake, 1);
            fake.allowed = allowed;
            options.env = &fake.env;
            (void)snprintf(uri, sizeof uri, uris[i], folder);
            result = mcds_open(uri, &options, &store);
            mcds_close(store);
            if (result == MCDS_OK)
                continue;
            assert_int_equal(result, MCDS_NO_MEMORY);
            assert_string_equal(mcds_last_error()->noun, "store");
        }
    }
    static const char *const files[] = {"x", "x-lock", "x-writer"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemes_and_places),
        cmocka_unit_test(unknown_options),
        cmocka_unit_test(numbers),
        cmocka_unit_test(words),
        cmocka_unit_test(forms),
        cmocka_unit_test(each_option_repeated_or_not_decoded),
        cmocka_unit_test(lengths),
        cmocka_unit_test(options_of_the_call),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
