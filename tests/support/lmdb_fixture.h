/* The common part of the lmdb: tests: a directory of their own, a clock to set, and requests
 * without an engine. */
#ifndef MCDS_TESTS_LMDB_FIXTURE_H
#define MCDS_TESTS_LMDB_FIXTURE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "store/store.h"

#define HOUR_NS (3600 * NS_PER_S)
#define LAST_TXNID_AT (8 + sizeof(pthread_mutex_t)) /* in the lock file of LMDB 0.9 */

/* A directory that belongs to one test, and a file in it. */
struct fixture {
    char directory[64];
    char file[96];
};

static inline int fixture_make(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    if (fixture == NULL)
        return -1;
    (void)snprintf(fixture->directory, sizeof fixture->directory, "/tmp/mcds-lmdb-XXXXXX");
    if (mkdtemp(fixture->directory) == NULL) {
        free(fixture);
        return -1;
    }
    (void)snprintf(fixture->file, sizeof fixture->file, "%s/store", fixture->directory);
    *state = fixture;
    return 0;
}

static inline void remove_files(const struct fixture *fixture)
{
    static const char *const suffixes[] = {"", "-lock", "-writer"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s%s", fixture->file, suffixes[i]);
        (void)unlink(path);
    }
}

static inline int fixture_remove(void **state)
{
    struct fixture *fixture = *state;
    remove_files(fixture);
    int result = rmdir(fixture->directory);
    free(fixture);
    return result;
}

/* Open lmdb:FILE with the options, which may be "". */
static inline int try_open(const char *file, const char *options, const mcds_env *env,
                           mcds_store **store)
{
    char uri[256];
    (void)snprintf(uri, sizeof uri, "lmdb:%s%s", file, options);
    mcds_options given = MCDS_OPTIONS_INIT;
    given.env = env;
    given.timeout_ms = 60000; /* on a busy machine */
    return mcds_open(uri, &given, store);
}

static inline mcds_store *open_store(const char *file, const char *options, const mcds_env *env)
{
    mcds_store *store;
    int result = try_open(file, options, env, &store);
    if (result != MCDS_OK)
        print_error("%s\n", mcds_errmsg());
    assert_int_equal(result, MCDS_OK);
    return store;
}

static inline mcds_bytes text(const char *string)
{
    return (mcds_bytes){string, strlen(string)};
}

/* Carry out requests as one batch; values go to `values`, which may be NULL. */
static inline void run(mcds_store *store, mcds_request *requests, uint32_t count,
                       mcds_buffer *values)
{
    mcds_batch batch = {.requests = requests, .count = count, .values = values};
    batch.deadline_ns = mcds__monotonic_ns(mcds__store_env(store)) + HOUR_NS;
    mcds__store_execute(store, 0, &batch);
    if (batch.answered != count)
        abort();
}

static inline mcds_reply run_one(mcds_store *store, mcds_request request)
{
    run(store, &request, 1, NULL);
    return request.reply;
}

static inline mcds_reply put(mcds_store *store, mcds_command command, const char *key,
                             const char *value, uint64_t ttl_ms)
{
    return run_one(store, (mcds_request){.command = command,
                                         .key = text(key),
                                         .value = text(value),
                                         .ttl_ms = ttl_ms});
}

static inline mcds_reply add_number(mcds_store *store, const char *key, uint64_t delta)
{
    return run_one(store, (mcds_request){.command = MCDS_INCR,
                                         .options = MCDS_CREATE,
                                         .key = text(key),
                                         .delta = delta,
                                         .initial = delta});
}

static inline mcds_reply drop(mcds_store *store, const char *key)
{
    return run_one(store, (mcds_request){.command = MCDS_DELETE, .key = text(key)});
}

/* The reply to a GET; the value as a C string in `value` when it is not NULL. */
static inline mcds_reply fetch(mcds_store *store, const char *key, char *value, size_t capacity)
{
    mcds_request request = {.command = MCDS_GET, .options = MCDS_WANT_TTL, .key = text(key)};
    mcds_buffer values;
    mcds__buffer_init(&values, mcds_env_system(), (size_t)1 << 30);
    run(store, &request, 1, &values);
    if (value != NULL && request.reply.outcome == MCDS_OUT_OK) {
        assert_true(request.reply.value_length < capacity);
        if (request.reply.value_length > 0)
            memcpy(value, values.data + request.reply.value_at, request.reply.value_length);
        value[request.reply.value_length] = '\0';
    }
    mcds__buffer_free(&values);
    return request.reply;
}

static inline void see_reply(void *context, const mcds_reply *reply, mcds_bytes value)
{
    (void)value;
    *(mcds_reply *)context = *reply;
}

/* What a look shows: NONE when it shows nothing. */
static inline mcds_reply look(mcds_store *store, const char *key)
{
    mcds_reply reply = {.outcome = MCDS_OUT_NONE};
    (void)mcds__store_peek(store, text(key), see_reply, &reply);
    return reply;
}

struct sought {
    const char *word;
    char sentence[512];
};

static inline bool find_sentence(void *context, const mcds_finding *finding)
{
    struct sought *sought = context;
    if (strstr(finding->what, sought->word) == NULL)
        return true;
    (void)snprintf(sought->sentence, sizeof sought->sentence, "%s", finding->what);
    return false;
}

/* The finding with `word` in it, or "". */
static inline const char *find_finding(mcds_store *store, const char *word,
                                       struct sought *sought)
{
    *sought = (struct sought){.word = word};
    if (mcds_inspect(store, find_sentence, sought) != MCDS_OK)
        abort();
    return sought->sentence;
}

static inline void assert_value(mcds_store *store, const char *key, const char *expected)
{
    char value[512];
    assert_int_equal(fetch(store, key, value, sizeof value).outcome, MCDS_OUT_OK);
    assert_string_equal(value, expected);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make, fixture_remove)

#endif
