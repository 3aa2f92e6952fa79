/* The keyspace with many items and little memory: growth, expiry, eviction. */
#include <stdio.h>

#include "support/table_world.h"

static void refused_memory_leaves_the_old_value(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
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
    assert_int_equal(get(&world, "k"), MCDS_OUT_NO_BUFFER);
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
    world_open(&world, (struct mcds__keyspace_options){0});
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(store(&world, MCDS_ADD, key, key), MCDS_OUT_OK);
        (void)snprintf(key, sizeof key, "key%d", i / 2);
        assert_value(&world, key, key);
    }
    assert_int_equal(mcds__keyspace_count(world.table), 20000);
    for (int i = 0; i < 20000; i += 2) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(run(&world, (mcds_request){.command = MCDS_DELETE, .key = text(key)}),
                         MCDS_OUT_OK);
    }
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(get(&world, key), i % 2 == 0 ? MCDS_OUT_MISS : MCDS_OUT_OK);
    }
    mcds__keyspace_flush(world.table);
    assert_int_equal(mcds__keyspace_count(world.table), 0);
    assert_int_equal(mcds__keyspace_bytes(world.table), 0);
    assert_int_equal(get(&world, "key1"), MCDS_OUT_MISS);
    assert_int_equal(store(&world, MCDS_ADD, "key1", ""), MCDS_OUT_OK);
    world_close(&world);
}

static void grows_on_without_memory_for_buckets(void **state)
{
    (void)state;
    struct world world;
    char key[32];
    world_open(&world, (struct mcds__keyspace_options){0});
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
    world_open(&world, (struct mcds__keyspace_options){0});
    for (int i = 0; i < 50000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        mcds_request set = {.command = MCDS_SET, .key = text(key), .ttl_ms = 1000};
        assert_int_equal(run(&world, set), MCDS_OUT_OK);
        world.context.now_ms += 1;
        assert_true(mcds__keyspace_count(world.table) <= 3000);
    }
    world_close(&world);
}

/* Whenever it was given its time, and whatever was moved, swept or given another time meanwhile:
 * as many writes as there are buckets remove all that is dead. */
static void none_of_the_dead_is_forgotten(void **state)
{
    (void)state;
    struct world world;
    char key[32];
    world_open(&world, (struct mcds__keyspace_options){0});
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t ttl_ms = 1 + (i * UINT32_C(2654435761) >> 8) % 5000;
        (void)snprintf(key, sizeof key, "key%u", i % 7 == 0 ? i / 2 : i);
        mcds_request set = {.command = MCDS_SET, .key = text(key), .ttl_ms = ttl_ms};
        if (i % 11 == 0)
            set.command = MCDS_TOUCH;
        (void)run(&world, set);
        world.context.now_ms += i % 3 == 0;
    }
    world.context.now_ms += 5000;
    assert_true(mcds__keyspace_count(world.table) > 1000);
    for (int i = 0; i < 16384; i++)
        assert_int_equal(store(&world, MCDS_SET, "living", "1"), MCDS_OUT_OK);
    assert_int_equal(mcds__keyspace_count(world.table), 1);
    world_close(&world);
}

/* Appending is not copying, and the room for it costs an eighth at most. */
static void appends_find_room(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){.value_max = 1 << 20});
    assert_int_equal(store(&world, MCDS_SET, "k", ""), MCDS_OUT_OK);
    uint64_t before = world.fake.allocations;
    for (uint64_t i = 1; i <= 1000; i++) {
        assert_int_equal(store(&world, MCDS_APPEND, "k", "12345678"), MCDS_OUT_OK);
        assert_int_equal(world.request.reply.value_length, 8 * i);
        assert_true(mcds__keyspace_bytes(world.table) <= 8 * i * 9 / 8 + 100);
    }
    assert_true(world.fake.allocations - before < 100);
    assert_int_equal(run(&world, (mcds_request){.command = MCDS_DELETE, .key = text("k")}),
                     MCDS_OUT_OK);
    assert_int_equal(mcds__keyspace_bytes(world.table), 0);
    world_close(&world);
}

static void evicts_the_least_recently_used(void **state)
{
    (void)state;
    struct world world;
    char key[32];
    world_open(&world, (struct mcds__keyspace_options){.bytes_max = 20000});
    assert_int_equal(store(&world, MCDS_SET, "used", "1"), MCDS_OUT_OK);
    assert_int_equal(store(&world, MCDS_SET, "idle", "1"), MCDS_OUT_OK);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(store(&world, MCDS_SET, key, key), MCDS_OUT_OK);
        assert_true(mcds__keyspace_bytes(world.table) <= 20000);
        assert_value(&world, key, key);
        assert_int_equal(get(&world, "used"), MCDS_OUT_OK);
    }
    assert_int_equal(get(&world, "idle"), MCDS_OUT_MISS);
    assert_true(mcds__keyspace_count(world.table) > 100);
    /* A value may push out all others, but not itself. */
    char large[901];
    memset(large, 'x', sizeof large);
    large[900] = '\0';
    assert_int_equal(store(&world, MCDS_SET, "grown", ""), MCDS_OUT_OK);
    for (int i = 0; i < 30; i++) {
        (void)snprintf(key, sizeof key, "large%d", i);
        assert_int_equal(store(&world, MCDS_SET, key, large), MCDS_OUT_OK);
        assert_int_equal(store(&world, MCDS_APPEND, "grown", "0123456789"), MCDS_OUT_OK);
        assert_true(mcds__keyspace_bytes(world.table) <= 20000);
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
    world_open(&world, (struct mcds__keyspace_options){.bytes_max = 5000, .no_evict = true});
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
    world_open(&world, (struct mcds__keyspace_options){0});
    assert_false(mcds__keyspace_evict_any(world.table, 3));
    for (int i = 0; i < 100; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(store(&world, MCDS_SET, key, key), MCDS_OUT_OK);
    }
    mcds_bytes key5 = text("key5");
    assert_true(mcds__keyspace_evict(world.table, key5, mcds__hash(SEED, key5)));
    assert_false(mcds__keyspace_evict(world.table, key5, mcds__hash(SEED, key5)));
    assert_int_equal(get(&world, "key5"), MCDS_OUT_MISS);
    for (uint64_t i = 0; i < 99; i++)
        assert_true(mcds__keyspace_evict_any(world.table, i * UINT64_C(0x9e3779b97f4a7c15)));
    assert_false(mcds__keyspace_evict_any(world.table, 0));
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
    world_open(&world, (struct mcds__keyspace_options){0});
    for (int i = 0; i < 100; i++) {
        (void)snprintf(key, sizeof key, "%s%d", i % 2 ? "odd" : "even", i);
        mcds_request set = {.command = MCDS_SET, .key = text(key), .ttl_ms = i < 10 ? 1000 : 0};
        assert_int_equal(run(&world, set), MCDS_OUT_OK);
    }
    int left = 1000;
    assert_true(mcds__keyspace_keys(world.table, 5000, text(""), count_key, &left));
    assert_int_equal(left, 900);
    left = 1000;
    assert_true(mcds__keyspace_keys(world.table, 6000, text("odd"), count_key, &left));
    assert_int_equal(left, 955);
    left = 3;
    assert_false(mcds__keyspace_keys(world.table, 6000, text("odd"), count_key, &left));
    assert_int_equal(left, 0);
    world_close(&world);
}

/* What nobody asks for is counted as a loss like what is deleted. */
static void every_loss_is_counted(void **state)
{
    (void)state;
    struct world world;
    char key[32];
    _Atomic uint64_t losses = 7;
    world_open(&world, (struct mcds__keyspace_options){.bytes_max = 4096, .losses = &losses});
    assert_int_equal(store(&world, MCDS_ADD, "old", "1"), MCDS_OUT_OK);
    assert_int_equal(store(&world, MCDS_APPEND, "old", "1"), MCDS_OUT_OK);
    assert_int_equal(losses, 7);
    for (int i = 0; losses == 7 && i < 1000; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(store(&world, MCDS_ADD, key, key), MCDS_OUT_OK);
    }
    uint64_t evicted = losses;
    assert_true(evicted > 7);
    assert_int_equal(get(&world, "old"), MCDS_OUT_MISS);
    assert_int_equal(losses, evicted);
    mcds_request add = {.command = MCDS_ADD, .key = text("short"), .ttl_ms = 1000};
    assert_int_equal(run(&world, add), MCDS_OUT_OK);
    world.context.now_ms += 1000;
    uint64_t living = losses;
    assert_int_equal(get(&world, "short"), MCDS_OUT_MISS);
    assert_true(losses > living);
    uint64_t expired = losses;
    mcds__keyspace_flush(world.table);
    assert_true(losses > expired);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_loss_is_counted),
        cmocka_unit_test(refused_memory_leaves_the_old_value),
        cmocka_unit_test(grows_to_many_and_finds_each),
        cmocka_unit_test(grows_on_without_memory_for_buckets),
        cmocka_unit_test(the_dead_do_not_pile_up),
        cmocka_unit_test(none_of_the_dead_is_forgotten),
        cmocka_unit_test(appends_find_room),
        cmocka_unit_test(evicts_the_least_recently_used),
        cmocka_unit_test(a_full_table_that_may_not_evict_says_so),
        cmocka_unit_test(eviction_by_name_and_by_chance),
        cmocka_unit_test(visits_living_keys_with_a_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
