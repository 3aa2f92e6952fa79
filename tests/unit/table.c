/* The table: memcached's semantics, growth, expiry and eviction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "store/table.h"
#include "support/fake_env.h"

#define SEED 7
#define CONNECTION 5

struct world {
    struct fake_env fake;
    struct mcds__table *table;
    mcds_buffer values;
    uint64_t cas_next;
    struct mcds__table_context context;
    mcds_request request; /* the last one, with its reply */
};

static void world_open(struct world *world, struct mcds__table_options options)
{
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, SEED);
    if (options.value_max == 0)
        options.value_max = 1000;
    world->table = mcds__table_open(&world->fake.env, &options);
    assert_non_null(world->table);
    mcds__buffer_init(&world->values, &world->fake.env, 1 << 20);
    world->context = (struct mcds__table_context){
        .now_ms = 5000,
        .cas_next = &world->cas_next,
        .connection = CONNECTION,
        .values = &world->values,
    };
}

static void world_close(struct world *world)
{
    mcds__buffer_free(&world->values);
    mcds__table_close(world->table);
    assert_int_equal(world->fake.blocks, 0);
}

static mcds_outcome run(struct world *world, mcds_request request)
{
    world->request = request;
    world->values.length = 0;
    mcds__table_execute(world->table, &world->request, mcds__table_hash(SEED, request.key),
                        &world->context);
    return world->request.reply.outcome;
}

static mcds_bytes text(const char *string)
{
    return (mcds_bytes){string, strlen(string)};
}

static mcds_outcome store(struct world *world, mcds_command command, const char *key,
                          const char *value)
{
    return run(world,
               (mcds_request){.command = command, .key = text(key), .value = text(value)});
}

static mcds_outcome get(struct world *world, const char *key)
{
    return run(world,
               (mcds_request){.command = MCDS_GET, .key = text(key), .options = MCDS_WANT_TTL});
}

static mcds_outcome count(struct world *world, mcds_command command, const char *key,
                          uint64_t delta)
{
    return run(world, (mcds_request){.command = command, .key = text(key), .delta = delta});
}

static void assert_value(struct world *world, const char *key, const char *value)
{
    assert_int_equal(get(world, key), MCDS_OUT_OK);
    assert_int_equal(world->request.reply.value_length, strlen(value));
    assert_int_equal(world->values.length, strlen(value));
    if (value[0] != '\0')
        assert_memory_equal(world->values.at, value, strlen(value));
}

static void conditions_of_stores(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__table_options){0});
    assert_int_equal(store(&world, MCDS_REPLACE, "k", "a"), MCDS_OUT_NOT_STORED);
    assert_int_equal(store(&world, MCDS_APPEND, "k", "a"), MCDS_OUT_NOT_STORED);
    assert_int_equal(store(&world, MCDS_PREPEND, "k", "a"), MCDS_OUT_NOT_STORED);
    assert_int_equal(get(&world, "k"), MCDS_OUT_MISS);
    assert_int_equal(store(&world, MCDS_ADD, "k", "a"), MCDS_OUT_OK);
    assert_int_equal(store(&world, MCDS_ADD, "k", "b"), MCDS_OUT_NOT_STORED);
    assert_value(&world, "k", "a");
    assert_int_equal(store(&world, MCDS_REPLACE, "k", "longer"), MCDS_OUT_OK);
    assert_int_equal(store(&world, MCDS_APPEND, "k", "Z"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.value_length, 7);
    assert_int_equal(store(&world, MCDS_PREPEND, "k", "12"), MCDS_OUT_OK);
    assert_value(&world, "k", "12longerZ");
    assert_int_equal(store(&world, MCDS_SET, "k", ""), MCDS_OUT_OK);
    assert_value(&world, "k", "");
    world_close(&world);
}

static void what_keeps_flags_and_ttl(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__table_options){0});
    mcds_request set = {
        .command = MCDS_SET, .key = text("k"), .value = text("1"), .flags = 77, .ttl_ms = 1000};
    assert_int_equal(run(&world, set), MCDS_OUT_OK);
    world.context.now_ms += 400;
    mcds_request keep[] = {
        {.command = MCDS_APPEND, .key = text("k"), .value = text("2"), .ttl_ms = 9, .flags = 1},
        {.command = MCDS_PREPEND,
         .key = text("k"),
         .value = text("3"),
         .ttl_ms = 9,
         .flags = 1},
        {.command = MCDS_INCR, .key = text("k"), .delta = 1, .ttl_ms = 9, .flags = 1},
        {.command = MCDS_DECR,
         .key = text("k"),
         .delta = 1,
         .ttl_ms = 9,
         .flags = 1,
         .options = MCDS_CREATE},
    };
    for (size_t i = 0; i < sizeof keep / sizeof keep[0]; i++) {
        assert_int_equal(run(&world, keep[i]), MCDS_OUT_OK);
        assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
        assert_int_equal(world.request.reply.flags, 77);
        assert_int_equal(world.request.reply.ttl_ms, 600);
    }
    mcds_request replace = {.command = MCDS_REPLACE, .key = text("k"), .value = text("v")};
    assert_int_equal(run(&world, replace), MCDS_OUT_OK);
    assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.flags, 0);
    assert_int_equal(world.request.reply.ttl_ms, MCDS_TTL_NEVER);
    mcds_request touch = {.command = MCDS_TOUCH, .key = text("k"), .ttl_ms = 50};
    uint64_t cas = world.request.reply.cas.unique;
    assert_int_equal(run(&world, touch), MCDS_OUT_OK);
    assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.ttl_ms, 50);
    assert_int_equal(world.request.reply.cas.unique, cas);
    world_close(&world);
}

static void an_item_lives_until_its_last_millisecond(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__table_options){0});
    mcds_request set = {.command = MCDS_SET, .key = text("k"), .ttl_ms = 1000};
    assert_int_equal(run(&world, set), MCDS_OUT_OK);
    world.context.now_ms += 999;
    assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.ttl_ms, 1);
    world.context.now_ms += 1;
    assert_int_equal(get(&world, "k"), MCDS_OUT_MISS);
    assert_int_equal(mcds__table_count(world.table), 0);

    world.context.ttl_unit_ms = 1000;
    world.context.ttl_early_ms = 1000;
    set.ttl_ms = 1001;
    assert_int_equal(run(&world, set), MCDS_OUT_OK);
    assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.ttl_ms, 1000);
    set.ttl_ms = 1000;
    assert_int_equal(run(&world, set), MCDS_OUT_OK);
    assert_int_equal(get(&world, "k"), MCDS_OUT_MISS);
    world_close(&world);
}

static void numbers_as_memcached_reads_them(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        mcds_command command;
        uint64_t delta;
        const char *after; /* NULL: not numeric */
        uint64_t number;
    } cases[] = {
        {"5", MCDS_INCR, 0, "5", 5},
        {"9", MCDS_INCR, 1, "10", 10},
        {"10", MCDS_DECR, 1, "9 ", 9},
        {"10", MCDS_DECR, 11, "0 ", 0},
        {"18446744073709551615", MCDS_INCR, 1, "0                   ", 0},
        {"18446744073709551615", MCDS_INCR, 3, "2                   ", 2},
        {"0018", MCDS_INCR, 1, "19  ", 19},
        {"000000000000000000000001", MCDS_INCR, 1, "2                       ", 2},
        {" \t5", MCDS_INCR, 1, "6  ", 6},
        {"+5", MCDS_INCR, 1, "6 ", 6},
        {"5 ab", MCDS_INCR, 1, "6   ", 6},
        {"1\n5", MCDS_INCR, 1, "2  ", 2},
        {"18446744073709551616", MCDS_INCR, 1, NULL, 0},
        {"99999999999999999999", MCDS_INCR, 1, NULL, 0},
        {"-1", MCDS_INCR, 1, NULL, 0},
        {"5ab", MCDS_INCR, 1, NULL, 0},
        {"", MCDS_INCR, 1, NULL, 0},
        {"  ", MCDS_DECR, 1, NULL, 0},
        {"+", MCDS_DECR, 1, NULL, 0},
        {"x", MCDS_DECR, 1, NULL, 0},
    };
    struct world world;
    world_open(&world, (struct mcds__table_options){0});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(store(&world, MCDS_SET, "k", cases[i].before), MCDS_OUT_OK);
        mcds_outcome outcome = count(&world, cases[i].command, "k", cases[i].delta);
        if (cases[i].after == NULL) {
            assert_int_equal(outcome, MCDS_OUT_NOT_NUMERIC);
            assert_value(&world, "k", cases[i].before);
            continue;
        }
        assert_int_equal(outcome, MCDS_OUT_OK);
        assert_int_equal(world.request.reply.number, cases[i].number);
        assert_value(&world, "k", cases[i].after);
    }
    assert_int_equal(store(&world, MCDS_SET, "n", ""), MCDS_OUT_OK);
    mcds_request zero = {.command = MCDS_SET, .key = text("n"), .value = {"5\0x", 3}};
    assert_int_equal(run(&world, zero), MCDS_OUT_OK);
    assert_int_equal(count(&world, MCDS_INCR, "n", 1), MCDS_OUT_OK);
    assert_value(&world, "n", "6  ");
    world_close(&world);
}

static void creation_on_increment_and_append(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__table_options){0});
    assert_int_equal(count(&world, MCDS_INCR, "k", 1), MCDS_OUT_MISS);
    mcds_request create = {.command = MCDS_INCR,
                           .options = MCDS_CREATE,
                           .key = text("k"),
                           .delta = 3,
                           .initial = 40,
                           .flags = 9,
                           .ttl_ms = 100};
    assert_int_equal(run(&world, create), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.number, 40);
    assert_int_equal(run(&world, create), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.number, 43);
    assert_value(&world, "k", "43");
    assert_int_equal(world.request.reply.flags, 9);
    assert_int_equal(world.request.reply.ttl_ms, 100);
    mcds_request append = {.command = MCDS_APPEND,
                           .options = MCDS_CREATE,
                           .key = text("a"),
                           .value = text("xy"),
                           .flags = 8};
    assert_int_equal(run(&world, append), MCDS_OUT_OK);
    assert_int_equal(run(&world, append), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.value_length, 4);
    assert_value(&world, "a", "xyxy");
    assert_int_equal(world.request.reply.flags, 8);
    append.command = MCDS_PREPEND;
    append.key = text("p");
    assert_int_equal(run(&world, append), MCDS_OUT_NOT_STORED);
    world_close(&world);

    world_open(&world, (struct mcds__table_options){.no_flags_on_create = true,
                                                    .no_create_on_append = true});
    assert_int_equal(run(&world, create), MCDS_OUT_OK);
    assert_value(&world, "k", "40");
    assert_int_equal(world.request.reply.flags, 0);
    append.command = MCDS_APPEND;
    assert_int_equal(run(&world, append), MCDS_OUT_NOT_STORED);
    world_close(&world);
}

static void a_token_is_good_once_and_on_its_connection(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__table_options){0});
    assert_int_equal(store(&world, MCDS_SET, "k", "a"), MCDS_OUT_OK);
    mcds_cas_token token = world.request.reply.cas;
    assert_int_equal(token.connection, CONNECTION);
    mcds_request cas = {
        .command = MCDS_CAS, .key = text("k"), .value = text("b"), .cas = token};
    cas.cas.connection++;
    assert_int_equal(run(&world, cas), MCDS_OUT_EXISTS);
    cas.cas.connection--;
    assert_int_equal(run(&world, cas), MCDS_OUT_OK);
    mcds_cas_token newer = world.request.reply.cas;
    assert_true(newer.unique != token.unique);
    assert_int_equal(run(&world, cas), MCDS_OUT_EXISTS);
    assert_value(&world, "k", "b");

    mcds_request erase = {.command = MCDS_DELETE, .key = text("k"), .cas = token};
    assert_int_equal(run(&world, erase), MCDS_OUT_EXISTS);
    erase.cas = newer;
    assert_int_equal(run(&world, erase), MCDS_OUT_OK);
    assert_int_equal(run(&world, erase), MCDS_OUT_MISS);
    assert_int_equal(run(&world, cas), MCDS_OUT_MISS);
    /* Born again, the key does not answer to tokens of its former life. */
    assert_int_equal(store(&world, MCDS_ADD, "k", "c"), MCDS_OUT_OK);
    cas.cas = newer;
    assert_int_equal(run(&world, cas), MCDS_OUT_EXISTS);
    erase.cas = (mcds_cas_token){0, 0};
    assert_int_equal(run(&world, erase), MCDS_OUT_OK);
    world_close(&world);
}

static void what_does_not_fit_leaves_the_old_value(void **state)
{
    (void)state;
    struct world world;
    char large[12] = "01234567890";
    world_open(&world, (struct mcds__table_options){.value_max = 10});
    static const mcds_command stores[] = {MCDS_SET,    MCDS_ADD,     MCDS_REPLACE,
                                          MCDS_APPEND, MCDS_PREPEND, MCDS_CAS};
    assert_int_equal(store(&world, MCDS_SET, "k", "12345"), MCDS_OUT_OK);
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++)
        assert_int_equal(store(&world, stores[i], "k", large), MCDS_OUT_TOO_BIG);
    assert_int_equal(store(&world, MCDS_APPEND, "k", "123456"), MCDS_OUT_NOT_STORED);
    assert_int_equal(store(&world, MCDS_PREPEND, "k", "123456"), MCDS_OUT_NOT_STORED);
    assert_value(&world, "k", "12345");
    assert_int_equal(store(&world, MCDS_APPEND, "k", "67890"), MCDS_OUT_OK);
    world_close(&world);
}

static void refused_memory_leaves_the_old_value(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__table_options){0});
    world.fake.allowed = 0;
    assert_int_equal(store(&world, MCDS_SET, "k", "1"), MCDS_OUT_NO_MEMORY);
    world.fake.allowed = 1;
    assert_int_equal(store(&world, MCDS_SET, "k", "1"), MCDS_OUT_NO_MEMORY);
    world.fake.allowed = -1;
    assert_int_equal(store(&world, MCDS_SET, "k", "9"), MCDS_OUT_OK);
    world.fake.allowed = 0;
    assert_int_equal(store(&world, MCDS_SET, "k", "longer"), MCDS_OUT_NO_MEMORY);
    assert_int_equal(store(&world, MCDS_APPEND, "k", "0"), MCDS_OUT_NO_MEMORY);
    assert_int_equal(count(&world, MCDS_INCR, "k", 1), MCDS_OUT_NO_MEMORY);
    mcds_request create = {.command = MCDS_INCR, .key = text("n"), .options = MCDS_CREATE};
    assert_int_equal(run(&world, create), MCDS_OUT_NO_MEMORY);
    assert_int_equal(get(&world, "k"), MCDS_OUT_NO_MEMORY);
    assert_non_null(world.request.reply.detail);
    world.fake.allowed = -1;
    assert_value(&world, "k", "9");
    world_close(&world);
}

static void grows_to_many_and_finds_each(void **state)
{
    (void)state;
    struct world world;
    char key[32];
    world_open(&world, (struct mcds__table_options){0});
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(store(&world, MCDS_ADD, key, key), MCDS_OUT_OK);
        (void)snprintf(key, sizeof key, "key%d", i / 2);
        assert_value(&world, key, key);
    }
    assert_int_equal(mcds__table_count(world.table), 20000);
    for (int i = 0; i < 20000; i += 2) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(run(&world, (mcds_request){.command = MCDS_DELETE, .key = text(key)}),
                         MCDS_OUT_OK);
    }
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(get(&world, key), i % 2 == 0 ? MCDS_OUT_MISS : MCDS_OUT_OK);
    }
    mcds__table_flush(world.table);
    assert_int_equal(mcds__table_count(world.table), 0);
    assert_int_equal(mcds__table_bytes(world.table), 0);
    assert_int_equal(get(&world, "key1"), MCDS_OUT_MISS);
    assert_int_equal(store(&world, MCDS_ADD, "key1", ""), MCDS_OUT_OK);
    world_close(&world);
}

static void grows_on_without_memory_for_buckets(void **state)
{
    (void)state;
    struct world world;
    char key[32];
    world_open(&world, (struct mcds__table_options){0});
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        world.fake.allowed = i == 0 ? 2 : 1; /* one for the item, none for more buckets */
        assert_int_equal(store(&world, MCDS_ADD, key, key), MCDS_OUT_OK);
    }
    world.fake.allowed = -1;
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_value(&world, key, key);
        assert_int_equal(store(&world, MCDS_SET, key, "x"), MCDS_OUT_OK);
    }
    world_close(&world);
}

/* Writes elsewhere drop what has expired, so that keys nobody asks for again do not pile up. */
static void the_dead_do_not_pile_up(void **state)
{
    (void)state;
    struct world world;
    char key[32];
    world_open(&world, (struct mcds__table_options){0});
    for (int i = 0; i < 50000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        mcds_request set = {.command = MCDS_SET, .key = text(key), .ttl_ms = 1000};
        assert_int_equal(run(&world, set), MCDS_OUT_OK);
        world.context.now_ms += 1;
        assert_true(mcds__table_count(world.table) <= 3000);
    }
    world_close(&world);
}

static void evicts_the_least_recently_used(void **state)
{
    (void)state;
    struct world world;
    char key[32];
    world_open(&world, (struct mcds__table_options){.bytes_max = 20000});
    assert_int_equal(store(&world, MCDS_SET, "used", "1"), MCDS_OUT_OK);
    assert_int_equal(store(&world, MCDS_SET, "idle", "1"), MCDS_OUT_OK);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(store(&world, MCDS_SET, key, key), MCDS_OUT_OK);
        assert_true(mcds__table_bytes(world.table) <= 20000);
        assert_value(&world, key, key);
        assert_int_equal(get(&world, "used"), MCDS_OUT_OK);
    }
    assert_int_equal(get(&world, "idle"), MCDS_OUT_MISS);
    assert_true(mcds__table_count(world.table) > 100);
    /* A value may push out all others, but not itself. */
    char large[901];
    memset(large, 'x', sizeof large);
    large[900] = '\0';
    assert_int_equal(store(&world, MCDS_SET, "grown", ""), MCDS_OUT_OK);
    for (int i = 0; i < 30; i++) {
        (void)snprintf(key, sizeof key, "large%d", i);
        assert_int_equal(store(&world, MCDS_SET, key, large), MCDS_OUT_OK);
        assert_int_equal(store(&world, MCDS_APPEND, "grown", "0123456789"), MCDS_OUT_OK);
        assert_true(mcds__table_bytes(world.table) <= 20000);
    }
    assert_int_equal(get(&world, "grown"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.value_length, 300);
    world_close(&world);
}

static void a_full_table_that_may_not_evict_says_so(void **state)
{
    (void)state;
    struct world world;
    char key[32];
    world_open(&world, (struct mcds__table_options){.bytes_max = 5000, .no_evict = true});
    int stored = 0;
    for (; stored < 1000; stored++) {
        (void)snprintf(key, sizeof key, "key%d", stored);
        if (store(&world, MCDS_SET, key, key) != MCDS_OUT_OK)
            break;
    }
    assert_in_range(stored, 20, 100);
    assert_int_equal(world.request.reply.outcome, MCDS_OUT_NO_MEMORY);
    for (int i = 0; i < stored; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_value(&world, key, key);
    }
    char large[901];
    memset(large, 'x', sizeof large);
    large[900] = '\0';
    assert_int_equal(store(&world, MCDS_SET, "key0", large), MCDS_OUT_NO_MEMORY);
    assert_int_equal(store(&world, MCDS_APPEND, "key0", large), MCDS_OUT_NO_MEMORY);
    assert_value(&world, "key0", "key0");
    world_close(&world);
}

static void eviction_by_name_and_by_chance(void **state)
{
    (void)state;
    struct world world;
    char key[32];
    world_open(&world, (struct mcds__table_options){0});
    assert_false(mcds__table_evict_any(world.table, 3));
    for (int i = 0; i < 100; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(store(&world, MCDS_SET, key, key), MCDS_OUT_OK);
    }
    mcds_bytes key5 = text("key5");
    assert_true(mcds__table_evict(world.table, key5, mcds__table_hash(SEED, key5)));
    assert_false(mcds__table_evict(world.table, key5, mcds__table_hash(SEED, key5)));
    assert_int_equal(get(&world, "key5"), MCDS_OUT_MISS);
    for (uint64_t i = 0; i < 99; i++)
        assert_true(mcds__table_evict_any(world.table, i * UINT64_C(0x9e3779b97f4a7c15)));
    assert_false(mcds__table_evict_any(world.table, 0));
    world_close(&world);
}

static bool count_key(void *context, mcds_bytes key)
{
    int *left = context;
    assert_true(key.length >= 1);
    return --*left > 0;
}

static void visits_living_keys_with_a_prefix(void **state)
{
    (void)state;
    struct world world;
    char key[32];
    world_open(&world, (struct mcds__table_options){0});
    for (int i = 0; i < 100; i++) {
        (void)snprintf(key, sizeof key, "%s%d", i % 2 ? "odd" : "even", i);
        mcds_request set = {.command = MCDS_SET, .key = text(key), .ttl_ms = i < 10 ? 1000 : 0};
        assert_int_equal(run(&world, set), MCDS_OUT_OK);
    }
    int left = 1000;
    assert_true(mcds__table_keys(world.table, 5000, text(""), count_key, &left));
    assert_int_equal(left, 900);
    left = 1000;
    assert_true(mcds__table_keys(world.table, 6000, text("odd"), count_key, &left));
    assert_int_equal(left, 955);
    left = 3;
    assert_false(mcds__table_keys(world.table, 6000, text("odd"), count_key, &left));
    assert_int_equal(left, 0);
    world_close(&world);
}

static void values_go_where_the_caller_wants_them(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__table_options){0});
    assert_int_equal(store(&world, MCDS_SET, "k", "abc"), MCDS_OUT_OK);
    mcds_request get_size = {.command = MCDS_GET, .key = text("k"), .options = MCDS_NO_VALUE};
    assert_int_equal(run(&world, get_size), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.value_length, 3);
    assert_int_equal(world.values.length, 0);
    world.context.values = NULL;
    assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.value_length, 3);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_of_stores),
        cmocka_unit_test(what_keeps_flags_and_ttl),
        cmocka_unit_test(an_item_lives_until_its_last_millisecond),
        cmocka_unit_test(numbers_as_memcached_reads_them),
        cmocka_unit_test(creation_on_increment_and_append),
        cmocka_unit_test(a_token_is_good_once_and_on_its_connection),
        cmocka_unit_test(what_does_not_fit_leaves_the_old_value),
        cmocka_unit_test(refused_memory_leaves_the_old_value),
        cmocka_unit_test(grows_to_many_and_finds_each),
        cmocka_unit_test(grows_on_without_memory_for_buckets),
        cmocka_unit_test(the_dead_do_not_pile_up),
        cmocka_unit_test(evicts_the_least_recently_used),
        cmocka_unit_test(a_full_table_that_may_not_evict_says_so),
        cmocka_unit_test(eviction_by_name_and_by_chance),
        cmocka_unit_test(visits_living_keys_with_a_prefix),
        cmocka_unit_test(values_go_where_the_caller_wants_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
