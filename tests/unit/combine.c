/* Combining: the request that is sent instead, and the result of each operation. */
#include "support/fixture.h"
#include "support/push.h"

#define VALUE_MAX 4000

static const struct push without_read = {.reads = false};

static void one_key_is_asked_once(void **state)
{
    static struct world world;
    (void)state;
    begin(&world);
    store_value(&world, "k", "0", 1);
    counting_backend_arm(&world.counting, FAULT_NONE, 0, false);
    start(&world, &plain, "k", "one", 3);
    start(&world, &without_read, "k", "two", 3);
    start(&world, &plain, "k", "three", 5);
    start(&world, &plain, "k", "", 0);
    drive(&world);
    assert_int_equal(world.counting.batches, 1);
    assert_int_equal(world.counting.requests, 2);
    expect_stored(&world, "k", "0onetwothree");
    /* Each is told how long the value had become with its own part. */
    static const size_t sizes[] = {4, 7, 12, 12};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(world.told[i].result, MCDS_OK);
        assert_int_equal(world.told[i].size, sizes[i]);
    }
    end(&world);
}

static void other_keys_are_asked_for_themselves(void **state)
{
    static struct world world;
    static char keys[OPERATIONS_MAX][8];
    (void)state;
    begin(&world);
    for (uint32_t i = 0; i < OPERATIONS_MAX; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "k%u", (unsigned)(i % 500));
        store_value(&world, keys[i], "", 0);
    }
    counting_backend_arm(&world.counting, FAULT_NONE, 0, false);
    for (uint32_t i = 0; i < OPERATIONS_MAX; i++)
        start(&world, &plain, keys[i], i < 500 ? "a" : "b", 1);
    drive(&world);
    /* More keys than the table has slots: what is not joined goes alone. */
    assert_true(world.counting.requests <= 2 * OPERATIONS_MAX);
    assert_true(world.counting.requests >= OPERATIONS_MAX);
    for (uint32_t i = 0; i < 500; i++)
        expect_stored(&world, keys[i], "ab");
    for (uint32_t i = 0; i < OPERATIONS_MAX; i++) {
        assert_int_equal(world.told[i].appended, MCDS_OUT_OK);
        assert_true(world.told[i].size == (i < 500 ? 1 : 2));
    }
    end(&world);
}

static void a_few_keys_share_a_round(void **state)
{
    static struct world world;
    static const char *const keys[] = {"a", "b", "c"};
    (void)state;
    begin(&world);
    for (uint32_t i = 0; i < 3; i++)
        store_value(&world, keys[i], "", 0);
    counting_backend_arm(&world.counting, FAULT_NONE, 0, false);
    for (uint32_t i = 0; i < 30; i++)
        start(&world, &plain, keys[i % 3], &"0123456789"[i / 3], 1);
    drive(&world);
    assert_int_equal(world.counting.requests, 6);
    for (uint32_t i = 0; i < 3; i++)
        expect_stored(&world, keys[i], "0123456789");
    end(&world);
}

static void sizes_are_bounded(void **state)
{
    static struct world world;
    static const char value[VALUE_MAX] = {'x'};
    (void)state;
    begin(&world);
    store_value(&world, "k", "", 0);
    counting_backend_arm(&world.counting, FAULT_NONE, 0, false);
    for (uint32_t i = 0; i < 5; i++)
        start(&world, &plain, "k", value, VALUE_MAX);
    drive(&world);
    assert_int_equal(world.counting.batches, 3);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(world.told[i].size, (i + 1) * VALUE_MAX);
    end(&world);
}

/* Two batches with one key that must not become one. */
static void expect_apart(const struct push *left, const struct push *right)
{
    static struct world world;
    begin(&world);
    store_value(&world, "k", "", 0);
    counting_backend_arm(&world.counting, FAULT_NONE, 0, false);
    start(&world, left, "k", "l", 1);
    start(&world, right, "k", "r", 1);
    drive(&world);
    assert_int_equal(world.counting.batches, 2);
    assert_int_equal(world.told[0].result, MCDS_OK);
    assert_int_equal(world.told[1].result, MCDS_OK);
    end(&world);
}

static void what_differs_stays_apart(void **state)
{
    (void)state;
    struct push other = plain;
    other.alone = true;
    expect_apart(&plain, &other);
    other = plain;
    other.options = MCDS_CREATE;
    expect_apart(&plain, &other);
    struct push third = other;
    third.ttl_ms = 1000;
    expect_apart(&third, &other);
    third = other;
    third.flags = 1;
    expect_apart(&third, &other);
    other = plain;
    /* The first try may take half of the store's timeout of a second; this one has less. */
    other.sooner_ns = 700 * NS_PER_MS;
    expect_apart(&plain, &other);
    expect_apart(&other, &plain);
}

static void the_first_add_makes_the_key(void **state)
{
    static struct world world;
    struct push adding = plain;
    (void)state;
    begin(&world);
    adding.adds = true;
    start(&world, &plain, "k", "1", 1);
    start(&world, &adding, "k", "2", 1);
    start(&world, &adding, "k", "3", 1);
    drive(&world);
    assert_int_equal(world.counting.requests, 3);
    expect_stored(&world, "k", "^123");
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(world.told[i].size, 2 + i);
    assert_int_equal(world.told[1].added, MCDS_OUT_OK);
    assert_int_equal(world.told[2].added, MCDS_OUT_NOT_STORED);
    start(&world, &adding, "k", "4", 1);
    start(&world, &adding, "k", "5", 1);
    for (uint32_t i = 0; i < 3; i++)
        world.told[i].completions = 0;
    mcds_completion done;
    while (mcds_pipeline_next(world.pipeline, &done) == MCDS_OK)
        world.told[done.tag].completions++;
    assert_int_equal(world.told[3].added, MCDS_OUT_NOT_STORED);
    assert_int_equal(world.told[4].added, MCDS_OUT_NOT_STORED);
    expect_stored(&world, "k", "^12345");
    end(&world);
}

/* Backends that answer at once, without the counting one between. */
static void backends_without_sessions_combine_too(void **state)
{
    static struct world world;
    struct push adding = plain;
    const char *missing = NULL;
    struct fixture *fixture = fixture_start("lmdb", &missing);
    (void)state;
    assert_non_null(fixture);
    adding.adds = true;
    const char *const uris[] = {"memory:", fixture_uri(fixture)};
    for (size_t u = 0; u < 2; u++) {
        begin_on(&world, uris[u], false);
        for (uint32_t i = 0; i < 10; i++)
            start(&world, &adding, "k", &"0123456789"[i], 1);
        drive(&world);
        expect_stored(&world, "k", "^0123456789");
        for (uint32_t i = 0; i < 10; i++)
            assert_int_equal(world.told[i].size, 2 + i);
        end(&world);
    }
    fixture_stop(fixture);
}

static void the_waiting_call_goes_alone(void **state)
{
    static struct world world;
    struct push push = plain;
    (void)state;
    begin(&world);
    store_value(&world, "k", "", 0);
    mcds__operation_begin(&push.base, &push_kind, world.store, "x", 0);
    push.told = &world.told[0];
    push.key = "k";
    push.value = (mcds_bytes){"x", 1};
    assert_int_equal(mcds__call_launch(&push.base, NULL), MCDS_OK);
    assert_int_equal(world.told[0].size, 1);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_key_is_asked_once),
        cmocka_unit_test(other_keys_are_asked_for_themselves),
        cmocka_unit_test(a_few_keys_share_a_round),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(what_differs_stays_apart),
        cmocka_unit_test(the_first_add_makes_the_key),
        cmocka_unit_test(backends_without_sessions_combine_too),
        cmocka_unit_test(the_waiting_call_goes_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
