/* The memory backend: names, options, stripes under threads, strict mode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "store/store.h"
#include "support/fake_env.h"

#define MANY 4096
#define KEYS 64
#define VALUE_CAPACITY (1 << 22)

static mcds_bytes text(const char *string)
{
    return (mcds_bytes){string, strlen(string)};
}

static mcds_store *open_store(struct fake_env *fake, const char *uri)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = fake != NULL ? &fake->env : NULL;
    mcds_store *store;
    int result = mcds_open(uri, &options, &store);
    if (result != MCDS_OK)
        print_message("%s\n", mcds_errmsg());
    assert_int_equal(result, MCDS_OK);
    return store;
}

static mcds_outcome run(mcds_store *store, mcds_request *request)
{
    mcds_batch batch = {.requests = request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(batch.answered, 1);
    return request->reply.outcome;
}

static mcds_outcome set(mcds_store *store, const char *key, const char *value, uint64_t ttl_ms)
{
    mcds_request request = {
        .command = MCDS_SET, .key = text(key), .value = text(value), .ttl_ms = ttl_ms};
    return run(store, &request);
}

static mcds_outcome get(mcds_store *store, const char *key)
{
    mcds_request request = {.command = MCDS_GET, .key = text(key)};
    return run(store, &request);
}

static void a_name_is_shared_and_no_name_is_private(void **state)
{
    (void)state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *one = open_store(&fake, "memory:shared");
    mcds_store *two = open_store(&fake, "memory:shared");
    mcds_store *other = open_store(&fake, "memory:other");
    mcds_store *alone = open_store(&fake, "memory:");
    mcds_store *alone_too = open_store(&fake, "memory:");
    assert_int_equal(set(one, "k", "v", 0), MCDS_OUT_OK);
    assert_int_equal(set(alone, "a", "v", 0), MCDS_OUT_OK);
    assert_int_equal(get(two, "k"), MCDS_OUT_OK);
    assert_int_equal(get(other, "k"), MCDS_OUT_MISS);
    assert_int_equal(get(alone, "k"), MCDS_OUT_MISS);
    assert_int_equal(get(alone_too, "a"), MCDS_OUT_MISS);
    mcds_close(one);
    assert_int_equal(get(two, "k"), MCDS_OUT_OK);
    mcds_close(two);
    one = open_store(&fake, "memory:shared");
    assert_int_equal(get(one, "k"), MCDS_OUT_MISS);
    mcds_close(one);
    mcds_close(other);
    mcds_close(alone);
    mcds_close(alone_too);
    assert_int_equal(fake.blocks, 0);
}

static void a_token_is_good_on_every_handle_of_its_memory_only(void **state)
{
    (void)state;
    mcds_store *one = open_store(NULL, "memory:tokens");
    mcds_store *two = open_store(NULL, "memory:tokens");
    mcds_store *other = open_store(NULL, "memory:");
    assert_int_equal(set(one, "k", "v", 0), MCDS_OUT_OK);
    assert_int_equal(set(other, "k", "v", 0), MCDS_OUT_OK);
    mcds_request look = {.command = MCDS_GET, .key = text("k")};
    assert_int_equal(run(one, &look), MCDS_OUT_OK);
    mcds_request cas = {.command = MCDS_CAS, .key = text("k"), .cas = look.reply.cas};
    assert_int_equal(run(other, &cas), MCDS_OUT_EXISTS);
    assert_int_equal(run(two, &cas), MCDS_OUT_OK);
    mcds_close(one);
    mcds_close(two);
    mcds_close(other);
}

static void assert_refused(const char *uri, struct fake_env *fake, const char *sentence)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = fake != NULL ? &fake->env : NULL;
    mcds_store *store;
    assert_int_equal(mcds_open(uri, &options, &store), MCDS_INVALID);
    if (strstr(mcds_errmsg(), sentence) == NULL)
        print_message("%s\n", mcds_errmsg());
    assert_non_null(strstr(mcds_errmsg(), sentence));
}

static void options_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    assert_refused("memory:?strict=2", NULL, "strict=2");
    assert_refused("memory:?bytes=1000", NULL, "bytes=1000");
    assert_refused("memory:?sync=full", NULL, "no option 'sync'");
    char uri[300] = "memory:";
    memset(uri + 7, 'n', 201);
    uri[208] = '\0';
    assert_refused(uri, NULL, "bytes; at most 200");
    mcds_store *store = open_store(NULL, "memory:one");
    assert_refused("memory:one?strict=1", NULL, "strict=0 bytes=0");
    assert_refused("memory:one?bytes=1000000", NULL, "strict=0 bytes=0");
    assert_refused("memory:one", &fake, "another mcds_env");
    mcds_close(store);
    mcds_close(open_store(NULL, "memory:one?strict=1"));
    assert_int_equal(fake.blocks, 0);
}

static void every_refused_allocation_of_open_is_survived(void **state)
{
    (void)state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = &fake.env;
    for (int64_t granted = 0; granted < 1000; granted++) {
        mcds_store *store;
        fake.allowed = granted;
        int result = mcds_open("memory:x", &options, &store);
        if (result == MCDS_OK) {
            mcds_close(store);
            assert_int_equal(fake.blocks, 0);
            return;
        }
        assert_int_equal(result, MCDS_NO_MEMORY);
        assert_int_equal(fake.blocks, 0);
    }
    fail();
}

static void ttl_is_exact_to_the_millisecond(void **state)
{
    (void)state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(&fake, "memory:");
    mcds_capabilities can;
    can = mcds__store_can(store);
    assert_int_equal(can.ttl_early_ms, 0);
    assert_int_equal(set(store, "k", "v", 1), MCDS_OUT_OK);
    assert_int_equal(set(store, "l", "v", 2), MCDS_OUT_OK);
    fake_env_advance_ms(&fake, 1);
    assert_int_equal(get(store, "k"), MCDS_OUT_MISS);
    assert_int_equal(get(store, "l"), MCDS_OUT_OK);
    mcds_close(store);
}

/* Life in (T - 1 s, T], now and then a second less, in whole seconds of a clock whose phase
 * nobody knows. */
static void strict_lives_as_short_as_memcached(void **state)
{
    (void)state;
    int64_t life_max_ms = 0;
    int early = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct fake_env fake;
        fake_env_init(&fake, seed);
        mcds_store *store = open_store(&fake, "memory:?strict=1");
        int64_t life_ms = 0;
        assert_int_equal(set(store, "k", "v", 2500), MCDS_OUT_OK); /* rounded up to 3 s */
        for (; get(store, "k") == MCDS_OUT_OK; life_ms += 10)
            fake_env_advance_ms(&fake, 10);
        assert_in_range(life_ms, 1010, 3000);
        early += life_ms <= 2000;
        if (life_ms > life_max_ms)
            life_max_ms = life_ms;
        mcds_close(store);
    }
    assert_in_range(life_max_ms, 2950, 3000);
    assert_in_range(early, 20, 100);
}

/* Reads the key with its ttl. */
static mcds_reply look_at(mcds_store *store)
{
    mcds_request look = {.command = MCDS_GET, .key = text("k"), .options = MCDS_WANT_TTL};
    assert_int_equal(run(store, &look), MCDS_OUT_OK);
    return look.reply;
}

/* Replaces the key by cas. Returns its ttl then. */
static int64_t ttl_after_cas(mcds_store *store, uint64_t ttl_ms)
{
    mcds_request cas = {
        .command = MCDS_CAS, .key = text("k"), .cas = look_at(store).cas, .ttl_ms = ttl_ms};
    assert_int_equal(run(store, &cas), MCDS_OUT_OK);
    return look_at(store).ttl_ms;
}

/* A key that is replaced by cas may end a second early, as after every write, and never earlier than
 * before, if its ttl is the one that was read. */
static void strict_cas_is_early_too(void **state)
{
    (void)state;
    int early = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct fake_env fake;
        int64_t life_ms = 0;
        fake_env_init(&fake, seed);
        mcds_store *store = open_store(&fake, "memory:?strict=1");
        assert_int_equal(set(store, "k", "v", 60000), MCDS_OUT_OK);
        for (int i = 0; i < 20; i++) {
            int64_t ttl_ms = look_at(store).ttl_ms;
            assert_in_range(ttl_ms, 57000, 62000);
            fake_env_advance_ms(&fake, 150 * i % 1000);
            assert_true(ttl_after_cas(store, (uint64_t)ttl_ms) >= ttl_ms);
        }
        (void)ttl_after_cas(store, 3000);
        for (; get(store, "k") == MCDS_OUT_OK; life_ms += 10)
            fake_env_advance_ms(&fake, 10);
        assert_in_range(life_ms, 1010, 3000);
        early += life_ms <= 2000;
        mcds_close(store);
    }
    assert_in_range(early, 20, 100);
}

static void strict_takes_what_memcached_takes(void **state)
{
    (void)state;
    mcds_store *store = open_store(NULL, "memory:?strict=1");
    mcds_capabilities can;
    can = mcds__store_can(store);
    assert_int_equal(can.value_max, (1 << 20) - 512);
    assert_int_equal(can.ttl_unit_ms, 1000);
    assert_int_equal(can.ttl_early_ms, 2000);
    assert_true(can.evicts);
    size_t value_max = (size_t)can.value_max;
    char *value = calloc(1, value_max + 1);
    assert_non_null(value);
    mcds_request big = {.command = MCDS_SET, .key = text("k")};
    big.value = (mcds_bytes){value, value_max + 1};
    assert_int_equal(run(store, &big), MCDS_OUT_TOO_BIG);
    assert_int_equal(get(store, "k"), MCDS_OUT_MISS);
    big.value.length = value_max;
    assert_int_equal(run(store, &big), MCDS_OUT_OK);
    mcds_request append = {.command = MCDS_APPEND, .key = text("k"), .value = text("x")};
    assert_int_equal(run(store, &append), MCDS_OUT_NOT_STORED);
    char key[16];
    for (int i = 0; i < 128; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        big.key = text(key);
        assert_int_equal(run(store, &big), MCDS_OUT_OK);
    }
    int living = 0;
    for (int i = 0; i < 128; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        living += get(store, key) == MCDS_OUT_OK;
    }
    assert_in_range(living, 16, 64);
    free(value);
    mcds_close(store);
}

static void same_seed_same_strict_store(void **state)
{
    (void)state;
    uint32_t lives[2][50];
    for (int round = 0; round < 2; round++) {
        struct fake_env fake;
        fake_env_init(&fake, 42);
        mcds_store *store = open_store(&fake, "memory:?strict=1");
        char key[16];
        for (int i = 0; i < 50; i++) {
            (void)snprintf(key, sizeof key, "k%d", i);
            assert_int_equal(set(store, key, "v", 3000), MCDS_OUT_OK);
            lives[round][i] = 0;
        }
        for (uint32_t at = 0; at < 3500; at += 50) {
            fake_env_advance_ms(&fake, 50);
            for (int i = 0; i < 50; i++) {
                (void)snprintf(key, sizeof key, "k%d", i);
                lives[round][i] += get(store, key) == MCDS_OUT_OK;
            }
        }
        mcds_close(store);
    }
    assert_memory_equal(lives[0], lives[1], sizeof lives[0]);
}

struct worker {
    mcds_store *store;
    uint64_t number_max;
    pthread_t thread;
};

/* Counts on shared keys and on keys of its own, reads, erases. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    mcds_buffer values;
    uint8_t capacity[256];
    mcds__buffer_init_in(&values, mcds_env_system(), VALUE_CAPACITY, capacity, sizeof capacity);
    for (int i = 0; i < MANY; i++) {
        char own[32];
        (void)snprintf(own, sizeof own, "own%p-%d", argument, i % 100);
        mcds_request requests[] = {
            {.command = MCDS_INCR,
             .options = MCDS_CREATE,
             .key = text("shared"),
             .delta = 1,
             .initial = 1},
            {.command = MCDS_SET, .key = text(own), .value = text(own), .ttl_ms = 60000},
            {.command = MCDS_GET, .key = text(own)},
            {.command = i % 3 == 0 ? MCDS_DELETE : MCDS_TOUCH, .key = text(own)},
        };
        mcds_batch batch = {
            .requests = requests, .count = 4, .deadline_ns = INT64_MAX, .values = &values};
        values.length = 0;
        mcds__store_execute(worker->store, 0, &batch);
        if (requests[2].reply.value_length == strlen(own) &&
            memcmp(values.data, own, strlen(own)) == 0 &&
            requests[3].reply.outcome == MCDS_OUT_OK)
            worker->number_max = requests[0].reply.number;
    }
    mcds__buffer_free(&values);
    return NULL;
}

static void threads_share_it_exactly(void **state)
{
    (void)state;
    struct worker workers[4] = {0};
    uint64_t number_max = 0;
    for (int i = 0; i < 4; i++) {
        workers[i].store = open_store(NULL, "memory:threads");
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        if (workers[i].number_max > number_max)
            number_max = workers[i].number_max;
    }
    assert_int_equal(number_max, 4 * MANY);
    for (int i = 0; i < 4; i++)
        mcds_close(workers[i].store);
}

static bool note_finding(void *context, const mcds_finding *finding)
{
    char *noted = context;
    (void)snprintf(noted + strlen(noted), 512 - strlen(noted), "%s|%s\n", finding->subject,
                   finding->what);
    return true;
}

static void see(void *context, const mcds_reply *reply, mcds_bytes value)
{
    mcds_buffer *seen = context;
    assert_int_equal(reply->value_length, value.length);
    assert_true(mcds_buffer_append(seen, value.data, value.length));
    assert_true(mcds_buffer_append(seen, reply->outcome == MCDS_OUT_OK ? "." : "!", 1));
}

static int64_t no_clock(void *self)
{
    (void)self;
    fail_msg("somebody has looked at a clock");
    return 0;
}

static void a_look_needs_no_clock_and_no_memory(void **state)
{
    (void)state;
    struct fake_env fake;
    static char large[10001];
    static char capacity[3 * sizeof large];
    mcds_buffer seen;
    memset(large, 'v', sizeof large - 1);
    fake_env_init(&fake, 1);
    mcds_store *store = open_store(&fake, "memory:");
    assert_int_equal(set(store, "small", "value", 0), MCDS_OUT_OK);
    assert_int_equal(set(store, "empty", "", 0), MCDS_OUT_OK);
    assert_int_equal(set(store, "large", large, 0), MCDS_OUT_OK);
    assert_int_equal(set(store, "brief", "v", 1000), MCDS_OUT_OK);
    mcds__buffer_init_in(&seen, &fake.env, sizeof capacity, capacity, sizeof capacity);
    fake.env.monotonic_ns = fake.env.wall_ns = no_clock;
    fake.allowed = 0;
    assert_true(mcds__store_peek(store, text("small"), see, &seen));
    assert_true(mcds__store_peek(store, text("empty"), see, &seen));
    assert_true(mcds__store_peek(store, text("none"), see, &seen));
    assert_false(mcds__store_peek(store, text("brief"), see, &seen));
    assert_int_equal(seen.length, 8);
    assert_memory_equal(seen.data, "value..!", 8);
    assert_true(mcds__store_peek(store, text("large"), see, &seen));
    assert_int_equal(seen.length, 8 + sizeof large);
    mcds_close(store);
    assert_int_equal(fake.blocks, 0);
}

static void strict_shows_nothing_in_place(void **state)
{
    (void)state;
    mcds_buffer seen;
    mcds_store *store = open_store(NULL, "memory:?strict=1");
    mcds__buffer_init(&seen, mcds_env_system(), 64);
    assert_int_equal(set(store, "k", "v", 0), MCDS_OUT_OK);
    assert_false(mcds__store_peek(store, text("k"), see, &seen));
    assert_int_equal(seen.length, 0);
    mcds_close(store);
}

static void inspection_tells_contents_and_risk(void **state)
{
    (void)state;
    char noted[512] = "";
    mcds_store *store = open_store(NULL, "memory:seen?strict=1");
    assert_int_equal(set(store, "k", "v", 0), MCDS_OUT_OK);
    assert_int_equal(mcds_inspect(store, note_finding, noted), MCDS_OK);
    assert_non_null(strstr(noted, "memory:seen|1 items in "));
    assert_non_null(strstr(noted, "|strict: "));
    assert_non_null(strstr(noted, "beyond 67108864 bytes"));
    mcds_close(store);
}

struct listing {
    mcds_store *store;
    int found;
    int wanted;
};

/* The store may be used from within the visit. */
static bool erase_key(void *context, mcds_bytes key)
{
    struct listing *listing = context;
    mcds_request request = {.command = MCDS_DELETE, .key = key};
    assert_int_equal(run(listing->store, &request), MCDS_OUT_OK);
    return ++listing->found < listing->wanted;
}

static void keys_are_listed_by_prefix(void **state)
{
    (void)state;
    struct listing listing = {.store = open_store(NULL, "memory:"), .wanted = 1000};
    char key[16];
    for (int i = 0; i < 500; i++) {
        (void)snprintf(key, sizeof key, "%c:%d", i % 2 ? 'a' : 'b', i);
        assert_int_equal(set(listing.store, key, "v", 0), MCDS_OUT_OK);
    }
    assert_int_equal(mcds__store_keys(listing.store, text("a:"), erase_key, &listing), MCDS_OK);
    assert_int_equal(listing.found, 250);
    listing.wanted = listing.found + 3;
    assert_int_equal(mcds__store_keys(listing.store, text(""), erase_key, &listing), MCDS_OK);
    assert_int_equal(listing.found, 253);
    mcds_close(listing.store);
}

static void a_list_without_memory_is_not_taken_for_whole(void **state)
{
    (void)state;
    struct fake_env fake;
    fake_env_init(&fake, 1);
    struct listing listing = {.store = open_store(&fake, "memory:"), .wanted = 1000};
    assert_int_equal(set(listing.store, "a:1", "v", 0), MCDS_OUT_OK);
    fake.allowed = 0;
    assert_int_equal(mcds__store_keys(listing.store, text("a:"), erase_key, &listing),
                     MCDS_NO_MEMORY);
    assert_int_equal(listing.found, 0);
    fake.allowed = -1;
    assert_int_equal(mcds__store_keys(listing.store, text("a:"), erase_key, &listing), MCDS_OK);
    assert_int_equal(listing.found, 1);
    mcds_close(listing.store);
    assert_int_equal(fake.blocks, 0);
}

struct order {
    char keys[KEYS][8];
    int count;
};

static bool note_key(void *context, mcds_bytes key)
{
    struct order *order = context;
    assert_true(order->count < KEYS && key.length < sizeof order->keys[0]);
    memcpy(order->keys[order->count++], key.data, key.length);
    return true;
}

/* A listing is in the order of the hashes, and nobody knows the hash of another memory. */
static void each_memory_hashes_differently(void **state)
{
    static struct order orders[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fake_env fake;
        fake_env_init(&fake, (uint64_t)i + 1);
        mcds_store *store = open_store(&fake, "memory:");
        orders[i].count = 0;
        for (int k = 0; k < KEYS; k++) {
            char key[8];
            (void)snprintf(key, sizeof key, "k%d", k);
            mcds_request add = {.command = MCDS_ADD, .key = text(key), .value = text("1")};
            assert_int_equal(run(store, &add), MCDS_OUT_OK);
        }
        assert_int_equal(mcds__store_keys(store, text("k"), note_key, &orders[i]), MCDS_OK);
        assert_int_equal(orders[i].count, KEYS);
        mcds_close(store);
    }
    assert_memory_not_equal(orders[0].keys, orders[1].keys, sizeof orders[0].keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_memory_hashes_differently),
        cmocka_unit_test(a_name_is_shared_and_no_name_is_private),
        cmocka_unit_test(a_token_is_good_on_every_handle_of_its_memory_only),
        cmocka_unit_test(options_that_cannot_be_are_refused),
        cmocka_unit_test(every_refused_allocation_of_open_is_survived),
        cmocka_unit_test(ttl_is_exact_to_the_millisecond),
        cmocka_unit_test(strict_lives_as_short_as_memcached),
        cmocka_unit_test(strict_cas_is_early_too),
        cmocka_unit_test(strict_takes_what_memcached_takes),
        cmocka_unit_test(same_seed_same_strict_store),
        cmocka_unit_test(a_look_needs_no_clock_and_no_memory),
        cmocka_unit_test(strict_shows_nothing_in_place),
        cmocka_unit_test(inspection_tells_contents_and_risk),
        cmocka_unit_test(keys_are_listed_by_prefix),
        cmocka_unit_test(a_list_without_memory_is_not_taken_for_whole),
        cmocka_unit_test(threads_share_it_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
