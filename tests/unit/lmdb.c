/* The lmdb: backend in one process: memcached's meaning, expiry, tokens, restart, threads. */
#include "support/lmdb_fixture.h"

#include <pthread.h>

#include "support/fake_env.h"

static void stores_follow_what_is_there(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    assert_int_equal(put(store, MCDS_REPLACE, "k", "x", 0).outcome, MCDS_OUT_NOT_STORED);
    assert_int_equal(put(store, MCDS_APPEND, "k", "x", 0).outcome, MCDS_OUT_NOT_STORED);
    assert_int_equal(put(store, MCDS_PREPEND, "k", "x", 0).outcome, MCDS_OUT_NOT_STORED);
    assert_int_equal(put(store, MCDS_TOUCH, "k", "", 0).outcome, MCDS_OUT_MISS);
    assert_int_equal(fetch(store, "k", NULL, 0).outcome, MCDS_OUT_MISS);
    assert_int_equal(put(store, MCDS_ADD, "k", "one", 0).outcome, MCDS_OUT_OK);
    assert_int_equal(put(store, MCDS_ADD, "k", "two", 0).outcome, MCDS_OUT_NOT_STORED);
    assert_value(store, "k", "one");
    assert_int_equal(put(store, MCDS_REPLACE, "k", "two", 0).outcome, MCDS_OUT_OK);
    assert_int_equal(put(store, MCDS_APPEND, "k", ">", 0).value_length, 4);
    assert_int_equal(put(store, MCDS_PREPEND, "k", "<", 0).value_length, 5);
    assert_value(store, "k", "<two>");
    assert_int_equal(put(store, MCDS_SET, "k", "", 0).outcome, MCDS_OUT_OK);
    assert_value(store, "k", "");
    assert_int_equal(drop(store, "k").outcome, MCDS_OUT_OK);
    assert_int_equal(drop(store, "k").outcome, MCDS_OUT_MISS);
    mcds_close(store);
}

static void append_and_incr_create_when_asked(void **state)
{
    struct fixture *fixture = *state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "", &fake.env);
    mcds_request append = {.command = MCDS_APPEND,
                           .options = MCDS_CREATE,
                           .flags = 7,
                           .ttl_ms = 5000,
                           .key = text("log"),
                           .value = text("ab")};
    assert_int_equal(run_one(store, append).value_length, 2);
    mcds_request incr = {.command = MCDS_INCR,
                         .options = MCDS_CREATE,
                         .flags = 9,
                         .ttl_ms = 6000,
                         .delta = 3,
                         .initial = 40,
                         .key = text("n")};
    assert_int_equal(run_one(store, incr).number, 40);
    fake_env_advance_ms(&fake, 1000);
    append.flags = incr.flags = 1;
    append.ttl_ms = incr.ttl_ms = 0;
    assert_int_equal(run_one(store, append).value_length, 4);
    assert_int_equal(run_one(store, incr).number, 43);
    /* What is there keeps its flags and its time. */
    mcds_reply reply = fetch(store, "log", NULL, 0);
    assert_int_equal(reply.flags, 7);
    assert_int_equal(reply.ttl_ms, 4000);
    reply = fetch(store, "n", NULL, 0);
    assert_int_equal(reply.flags, 9);
    assert_int_equal(reply.ttl_ms, 5000);
    mcds_close(store);
}

static mcds_reply count(mcds_store *store, mcds_command command, const char *key,
                        uint64_t delta)
{
    return run_one(store, (mcds_request){.command = command, .key = text(key), .delta = delta});
}

static void numbers_are_memcached_s(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    assert_int_equal(count(store, MCDS_INCR, "n", 1).outcome, MCDS_OUT_MISS);
    (void)put(store, MCDS_SET, "n", "18446744073709551615", 0);
    assert_int_equal(count(store, MCDS_INCR, "n", 1).number, 0);
    assert_int_equal(count(store, MCDS_INCR, "n", 10).number, 10);
    assert_int_equal(count(store, MCDS_DECR, "n", 3).number, 7);
    assert_int_equal(count(store, MCDS_DECR, "n", 8).number, 0);
    static const char *const no_numbers[] = {"", "abc", "5x", "-1", "18446744073709551616"};
    for (size_t i = 0; i < sizeof no_numbers / sizeof no_numbers[0]; i++) {
        (void)put(store, MCDS_SET, "x", no_numbers[i], 0);
        assert_int_equal(count(store, MCDS_INCR, "x", 1).outcome, MCDS_OUT_NOT_NUMERIC);
        assert_value(store, "x", no_numbers[i]);
    }
    (void)put(store, MCDS_SET, "x", " +5 ab", 0);
    assert_int_equal(count(store, MCDS_INCR, "x", 1).number, 6);
    assert_value(store, "x", "6     ");
    (void)put(store, MCDS_SET, "x", "99", 0);
    assert_int_equal(count(store, MCDS_INCR, "x", 1).number, 100);
    assert_value(store, "x", "100");
    mcds_close(store);
}

static void tokens_compare(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    mcds_cas_token first = put(store, MCDS_SET, "k", "a", 0).cas;
    assert_true(first.connection != 0 && first.unique != 0);
    assert_int_equal(fetch(store, "k", NULL, 0).cas.unique, first.unique);
    /* Touching leaves the token good. */
    assert_int_equal(put(store, MCDS_TOUCH, "k", "", 100000).outcome, MCDS_OUT_OK);
    mcds_request cas = {
        .command = MCDS_CAS, .key = text("k"), .value = text("b"), .cas = first};
    mcds_reply reply = run_one(store, cas);
    assert_int_equal(reply.outcome, MCDS_OUT_OK);
    assert_true(reply.cas.unique > first.unique);
    assert_int_equal(fetch(store, "k", NULL, 0).ttl_ms, MCDS_TTL_NEVER);
    assert_int_equal(run_one(store, cas).outcome, MCDS_OUT_EXISTS);
    mcds_request erase = {.command = MCDS_DELETE, .key = text("k"), .cas = first};
    assert_int_equal(run_one(store, erase).outcome, MCDS_OUT_EXISTS);
    erase.cas = reply.cas;
    erase.cas.connection ^= 2;
    assert_int_equal(run_one(store, erase).outcome, MCDS_OUT_EXISTS);
    erase.cas = reply.cas;
    assert_int_equal(run_one(store, erase).outcome, MCDS_OUT_OK);
    assert_int_equal(run_one(store, erase).outcome, MCDS_OUT_MISS);
    assert_int_equal(run_one(store, cas).outcome, MCDS_OUT_MISS);
    mcds_close(store);
}

static void items_expire_to_the_millisecond(void **state)
{
    struct fixture *fixture = *state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "", &fake.env);
    (void)put(store, MCDS_SET, "k", "v", 250);
    (void)put(store, MCDS_SET, "long", "v", 250);
    (void)put(store, MCDS_TOUCH, "long", "", 1000);
    assert_int_equal(fetch(store, "k", NULL, 0).ttl_ms, 250);
    fake_env_advance_ms(&fake, 249);
    assert_int_equal(fetch(store, "k", NULL, 0).ttl_ms, 1);
    assert_int_equal(put(store, MCDS_ADD, "k", "w", 0).outcome, MCDS_OUT_NOT_STORED);
    fake_env_advance_ms(&fake, 1);
    assert_int_equal(fetch(store, "k", NULL, 0).outcome, MCDS_OUT_MISS);
    assert_int_equal(drop(store, "k").outcome, MCDS_OUT_MISS);
    assert_int_equal(put(store, MCDS_APPEND, "k", "w", 0).outcome, MCDS_OUT_NOT_STORED);
    assert_int_equal(put(store, MCDS_ADD, "k", "w", 0).outcome, MCDS_OUT_OK);
    assert_int_equal(fetch(store, "k", NULL, 0).ttl_ms, MCDS_TTL_NEVER);
    fake_env_advance_ms(&fake, 500);
    assert_int_equal(fetch(store, "long", NULL, 0).ttl_ms, 250);
    mcds_close(store);
}

/* The dead go although nobody asks for them, and without a scan. */
static void expired_items_are_swept(void **state)
{
    struct fixture *fixture = *state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "?sync=async", &fake.env);
    for (int i = 0; i < 1000; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "old%d", i);
        (void)put(store, MCDS_SET, key, "v", 1000);
    }
    /* Written again without expiry: the sweep must leave it alone. */
    (void)put(store, MCDS_SET, "old7", "kept", 0);
    fake_env_advance_ms(&fake, 1000);
    for (int i = 0; i < 60; i++)
        (void)put(store, MCDS_SET, "new", "v", 0);
    struct sought sought;
    const char *sentence = find_finding(store, "items", &sought);
    assert_int_equal(strncmp(sentence, "2 items, 0 of them expire", 25), 0);
    assert_value(store, "old7", "kept");
    mcds_close(store);
}

static void batch_runs_in_order(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    mcds_buffer values;
    mcds__buffer_init(&values, mcds_env_system(), 4096);
    mcds_request requests[] = {
        {.command = MCDS_SET, .key = text("k"), .value = text("5")},
        {.command = MCDS_GET, .key = text("k")},
        {.command = MCDS_INCR, .key = text("k"), .delta = 2},
        {.command = MCDS_DELETE, .key = text("no")},
        {.command = MCDS_GET, .key = text("k"), .options = MCDS_NO_VALUE},
        {.command = MCDS_GET, .key = text("k")},
    };
    run(store, requests, 6, &values);
    assert_int_equal(requests[1].reply.value_at, 0);
    assert_int_equal(requests[2].reply.number, 7);
    assert_int_equal(requests[3].reply.outcome, MCDS_OUT_MISS);
    assert_int_equal(requests[4].reply.value_length, 1);
    assert_int_equal(requests[5].reply.value_at, 1);
    assert_memory_equal(values.data, "57", 2);
    assert_non_null(strstr(requests[0].reply.peer, fixture->file));
    mcds__buffer_free(&values);
    mcds_close(store);
}

/* A list mixes batches that read, that write and that are refused; the backend keeps its order. */
static void lists_come_back_whole(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "k", "v", 0);
    struct mcds__session *session;
    assert_int_equal(mcds__session_take(store, 0, &session), MCDS_OK);
    mcds_request requests[] = {
        {.command = MCDS_GET, .key = text("k")},
        {.command = MCDS_INCR, .options = MCDS_CREATE, .key = text("n"), .initial = 1},
        {.command = MCDS_GET, .key = text("bad key")},
        {.command = MCDS_GET, .key = text("k")},
        {.command = MCDS_INCR, .options = MCDS_CREATE, .key = text("n"), .delta = 1},
        {.command = MCDS_SET, .key = text("late"), .value = text("v")},
    };
    mcds_batch batches[6];
    for (size_t i = 0; i < 6; i++) {
        batches[i] = (mcds_batch){.requests = &requests[i], .count = 1};
        batches[i].next = i < 5 ? &batches[i + 1] : NULL;
        batches[i].deadline_ns = i < 5 ? mcds__monotonic_ns(mcds_env_system()) + HOUR_NS : 0;
    }
    mcds__session_submit(session, batches);
    size_t back = 0;
    for (mcds_batch *list; (list = mcds__session_collect(session, 0)) != NULL;)
        for (; list != NULL; list = list->next)
            back++;
    assert_int_equal(back, 6);
    static const mcds_outcome expected[] = {MCDS_OUT_OK, MCDS_OUT_OK, MCDS_OUT_BAD_REQUEST,
                                            MCDS_OUT_OK, MCDS_OUT_OK, MCDS_OUT_UNSENT};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(requests[i].reply.outcome, expected[i]);
    assert_int_equal(requests[4].reply.number, 2);
    assert_int_equal(fetch(store, "late", NULL, 0).outcome, MCDS_OUT_MISS);
    mcds__session_give(store, session);
    mcds_close(store);
}

static void everything_survives_closing(void **state)
{
    struct fixture *fixture = *state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "", &fake.env);
    mcds_cas_token token = put(store, MCDS_SET, "k", "v", 5000).cas;
    (void)put(store, MCDS_SET, "gone", "v", 3000);
    mcds_close(store);
    fake_env_advance_ms(&fake, 4000);
    store = open_store(fixture->file, "", &fake.env);
    assert_int_equal(fetch(store, "gone", NULL, 0).outcome, MCDS_OUT_MISS);
    assert_int_equal(fetch(store, "k", NULL, 0).ttl_ms, 1000);
    assert_value(store, "k", "v");
    mcds_cas_token later = put(store, MCDS_SET, "other", "v", 0).cas;
    assert_true(later.unique > token.unique);
    mcds_request cas = {
        .command = MCDS_CAS, .key = text("k"), .value = text("w"), .cas = token};
    assert_int_equal(run_one(store, cas).outcome, MCDS_OUT_OK);
    mcds_close(store);
}

/* After sync=async the counter begins after everything that may have been answered, since the
 * newest numbers may have been lost with the writes that carried them. */
static void async_numbers_are_never_told_twice(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    uint64_t told = put(store, MCDS_SET, "k", "v", 0).cas.unique;
    mcds_close(store);
    store = open_store(fixture->file, "", NULL);
    uint64_t next = put(store, MCDS_SET, "k", "v", 0).cas.unique;
    assert_true(next > told + 100000);
    assert_int_equal(put(store, MCDS_SET, "k", "v", 0).cas.unique, next + 1);
    mcds_close(store);
}

static void two_handles_share_one_file(void **state)
{
    struct fixture *fixture = *state;
    char link_path[160];
    (void)snprintf(link_path, sizeof link_path, "%s/link", fixture->directory);
    mcds_store *one = open_store(fixture->file, "", NULL);
    assert_int_equal(symlink(fixture->file, link_path), 0);
    mcds_store *two = open_store(link_path, "?sync=async", NULL);
    mcds_cas_token token = put(one, MCDS_SET, "k", "v", 0).cas;
    assert_value(two, "k", "v");
    mcds_request cas = {
        .command = MCDS_CAS, .key = text("k"), .value = text("w"), .cas = token};
    assert_int_equal(run_one(two, cas).outcome, MCDS_OUT_OK);
    mcds_close(one);
    assert_value(two, "k", "w");
    assert_int_equal(add_number(two, "n", 1).outcome, MCDS_OUT_OK);
    mcds_close(two);
    assert_int_equal(unlink(link_path), 0);
}

static void values_have_a_limit(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?sync=async", NULL);
    mcds_capabilities capabilities;
    capabilities = mcds__store_can(store);
    assert_false(capabilities.durable);
    size_t length = (size_t)capabilities.value_max;
    char *bytes = calloc(1, length + 1);
    assert_non_null(bytes);
    (void)put(store, MCDS_SET, "k", "old", 0);
    mcds_request set = {.command = MCDS_SET, .key = text("k"), .value = {bytes, length + 1}};
    assert_int_equal(run_one(store, set).outcome, MCDS_OUT_TOO_BIG);
    assert_value(store, "k", "old");
    set.value.length = length;
    assert_int_equal(run_one(store, set).outcome, MCDS_OUT_OK);
    assert_int_equal(put(store, MCDS_APPEND, "k", "x", 0).outcome, MCDS_OUT_NOT_STORED);
    assert_int_equal(fetch(store, "k", NULL, 0).value_length, length);
    /* A buffer that is too small is not the store's failure. */
    mcds_request get = {.command = MCDS_GET, .key = text("k")};
    mcds_buffer values;
    mcds__buffer_init(&values, mcds_env_system(), 1000);
    run(store, &get, 1, &values);
    assert_int_equal(get.reply.outcome, MCDS_OUT_NO_BUFFER);
    assert_non_null(get.reply.detail);
    mcds__buffer_free(&values);
    free(bytes);
    mcds_close(store);
}

struct seen {
    uint32_t count;
    uint32_t limit;
    char last[300];
};

static bool see(void *context, mcds_bytes key)
{
    struct seen *seen = context;
    seen->count++;
    (void)snprintf(seen->last, sizeof seen->last, "%.*s", (int)key.length,
                   (const char *)key.data);
    return seen->count < seen->limit;
}

static void keys_are_listed_by_prefix(void **state)
{
    struct fixture *fixture = *state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "?sync=async", &fake.env);
    for (int i = 0; i < 150; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "b%03d", i);
        (void)put(store, MCDS_SET, key, "v", i % 2 == 0 ? 0 : 10);
    }
    (void)put(store, MCDS_SET, "a", "v", 0);
    (void)put(store, MCDS_SET, "c", "v", 0);
    struct seen seen = {.limit = 1000};
    assert_int_equal(mcds__store_keys(store, text("b"), see, &seen), MCDS_OK);
    assert_int_equal(seen.count, 150);
    fake_env_advance_ms(&fake, 10);
    seen = (struct seen){.limit = 1000};
    assert_int_equal(mcds__store_keys(store, text("b"), see, &seen), MCDS_OK);
    assert_int_equal(seen.count, 75);
    assert_string_equal(seen.last, "b148");
    seen = (struct seen){.limit = 1000};
    assert_int_equal(mcds__store_keys(store, text(""), see, &seen), MCDS_OK);
    assert_int_equal(seen.count, 77);
    seen = (struct seen){.limit = 70};
    assert_int_equal(mcds__store_keys(store, text("b"), see, &seen), MCDS_OK);
    assert_int_equal(seen.count, 70);
    mcds_close(store);
}

/* Returns false when memory was refused anywhere. */
static bool use_with_little_memory(const char *file, const mcds_env *env)
{
    static char bytes[2000];
    mcds_store *store = NULL;
    int result = try_open(file, "?sync=async", env, &store);
    if (result != MCDS_OK) {
        assert_int_equal(result, MCDS_NO_MEMORY);
        return false;
    }
    mcds_request set = {.command = MCDS_SET, .key = text("k"), .value = {bytes, sizeof bytes}};
    assert_int_equal(run_one(store, set).outcome, MCDS_OUT_OK);
    mcds_outcome outcome = put(store, MCDS_APPEND, "k", "x", 0).outcome;
    size_t length = sizeof bytes + (outcome == MCDS_OUT_OK);
    assert_int_equal(fetch(store, "k", NULL, 0).value_length, length);
    struct seen seen = {.limit = 10};
    int listed = mcds__store_keys(store, text(""), see, &seen);
    mcds_close(store);
    if (outcome == MCDS_OUT_OK && listed == MCDS_OK)
        return true;
    assert_true(outcome == MCDS_OUT_OK || outcome == MCDS_OUT_NO_BUFFER);
    assert_true(listed == MCDS_OK || listed == MCDS_NO_MEMORY);
    return false;
}

static void memory_may_be_refused_anywhere(void **state)
{
    struct fixture *fixture = *state;
    struct fake_env fake;
    int refused = 0;
    for (bool whole = false; !whole; refused++) {
        fake_env_init(&fake, 1);
        fake.allowed = refused;
        whole = use_with_little_memory(fixture->file, &fake.env);
        assert_int_equal(fake.blocks, 0);
        assert_true(refused < 100);
    }
    assert_true(refused > 4);
}

/* What a look has shown, and where. */
struct sight {
    mcds_reply reply;
    const uint8_t *at;
    uint8_t last;
};

static void note_sight(void *context, const mcds_reply *reply, mcds_bytes value)
{
    struct sight *sight = context;
    sight->reply = *reply;
    sight->at = value.data;
    if (value.length > 0)
        sight->last = sight->at[value.length - 1];
}

static int64_t no_clock(void *self)
{
    (void)self;
    fail_msg("somebody has looked at a clock");
    return 0;
}

/* Twice at the same place, without memory and without a clock. */
static void a_look_shows_the_value_in_the_map(void **state)
{
    struct fixture *fixture = *state;
    struct fake_env fake;
    struct sight first = {.at = NULL};
    struct sight second = {.at = NULL};
    static char value[100001];
    memset(value, 'v', sizeof value - 1);
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(fixture->file, "", &fake.env);
    (void)put(store, MCDS_SET, "large", value, 0);
    (void)put(store, MCDS_SET, "brief", "v", 1000);
    fake.env.monotonic_ns = fake.env.wall_ns = no_clock;
    fake.allowed = 0;
    assert_true(mcds__store_peek(store, text("large"), note_sight, &first));
    assert_true(mcds__store_peek(store, text("large"), note_sight, &second));
    assert_int_equal(first.reply.value_length, sizeof value - 1);
    assert_int_equal(first.last, 'v');
    assert_ptr_equal(first.at, second.at);
    assert_false(mcds__store_peek(store, text("brief"), note_sight, &second));
    assert_ptr_equal(first.at, second.at);
    assert_true(mcds__store_peek(store, text("none"), note_sight, &second));
    assert_int_equal(second.reply.outcome, MCDS_OUT_MISS);
    mcds_close(store);
    assert_int_equal(fake.blocks, 0);
}

#define THREADS 8
#define ADDS 250

struct worker {
    mcds_store *store;
    pthread_t thread;
    pthread_barrier_t *barrier;
    uint64_t seen_max;
};

static void *add_and_read(void *context)
{
    struct worker *worker = context;
    (void)pthread_barrier_wait(worker->barrier);
    for (int i = 0; i < ADDS; i++) {
        uint64_t number = add_number(worker->store, "shared", 1).number;
        char value[32];
        /* What this thread was told, and more, is what it reads. */
        if (fetch(worker->store, "shared", value, sizeof value).outcome != MCDS_OUT_OK ||
            strtoull(value, NULL, 10) < number || number <= worker->seen_max)
            return worker;
        worker->seen_max = number;
    }
    return NULL;
}

/* Every add counts, and the threads share commits. */
static void threads_share_commits(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.store = store, .barrier = &barrier};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, add_and_read, &workers[i]),
                         0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(workers[i].thread, &failed), 0);
        assert_null(failed);
    }
    (void)pthread_barrier_destroy(&barrier);
    assert_int_equal(add_number(store, "shared", 0).number, THREADS * ADDS);
    struct sought sought;
    (void)find_finding(store, "this process has written", &sought);
    unsigned long long batches = 0;
    unsigned long long commits = 0;
    assert_int_equal(sscanf(sought.sentence, "this process has written %llu batches in %llu",
                            &batches, &commits),
                     2);
    assert_int_equal(batches, THREADS * ADDS + 1);
    assert_true(commits < batches);
    mcds_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stores_follow_what_is_there),
        TEST(append_and_incr_create_when_asked),
        TEST(numbers_are_memcached_s),
        TEST(tokens_compare),
        TEST(items_expire_to_the_millisecond),
        TEST(expired_items_are_swept),
        TEST(batch_runs_in_order),
        TEST(lists_come_back_whole),
        TEST(everything_survives_closing),
        TEST(async_numbers_are_never_told_twice),
        TEST(two_handles_share_one_file),
        TEST(values_have_a_limit),
        TEST(keys_are_listed_by_prefix),
        TEST(memory_may_be_refused_anywhere),
        TEST(a_look_shows_the_value_in_the_map),
        TEST(threads_share_commits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
