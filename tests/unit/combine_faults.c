/* Combining: refusals, lost replies and refused memory reach each operation as its own. */
#include "support/push.h"

#define ID_LENGTH 8

static void a_missing_key_is_told_to_all(void **state)
{
    static struct world world;
    (void)state;
    begin(&world);
    for (uint32_t i = 0; i < 5; i++)
        start(&world, &plain, "k", "x", 1);
    drive(&world);
    assert_int_equal(world.counting.requests, 2);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(world.told[i].appended, MCDS_OUT_NOT_STORED);
        assert_int_equal(world.told[i].read, MCDS_OUT_MISS);
    }
    end(&world);
}

/* Refused for the sum of the sizes: each goes alone, and is told what is true of it. */
static void what_is_too_much_goes_alone(void **state)
{
    static struct world world;
    static char value[1 << 20];
    mcds_capabilities can;
    (void)state;
    begin_on(&world, "memory:?strict=1", true);
    can = mcds__store_can(world.store);
    assert_true(can.value_max <= sizeof value);
    memset(value, 'x', sizeof value);
    store_value(&world, "k", value, (size_t)can.value_max - 150);
    counting_backend_arm(&world.counting, FAULT_NONE, 0, false);
    for (uint32_t i = 0; i < 3; i++)
        start(&world, &plain, "k", value, 60);
    drive(&world);
    assert_int_equal(world.counting.batches, 4);
    assert_int_equal(world.told[0].appended, MCDS_OUT_OK);
    assert_int_equal(world.told[1].appended, MCDS_OUT_OK);
    assert_int_equal(world.told[2].appended, MCDS_OUT_NOT_STORED);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(world.told[i].tries, 1);
    end(&world);
}

static void a_refusal_goes_to_those_it_is_meant_for(void **state)
{
    static const enum fault faults[] = {FAULT_TOO_BIG, FAULT_NO_MEMORY, FAULT_FAILED};
    (void)state;
    for (size_t f = 0; f < 3; f++) {
        static struct world world;
        begin(&world);
        store_value(&world, "k", "", 0);
        counting_backend_arm(&world.counting, faults[f], 1, false);
        for (uint32_t i = 0; i < 4; i++)
            start(&world, &plain, "k", "x", 1);
        drive(&world);
        bool of_all = faults[f] == FAULT_FAILED;
        assert_int_equal(world.counting.batches, of_all ? 1 : 5);
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(world.told[i].result, of_all ? MCDS_IO : MCDS_OK);
        end(&world);
    }
}

/* Append ids that are found again, while request `at` meets a fault. */
static void lose(enum fault fault, uint64_t at)
{
    static struct world world;
    static char ids[100][ID_LENGTH + 1];
    static uint8_t capacity[65536];
    mcds_buffer values = {.data = capacity, .capacity = sizeof capacity, .borrowed = true};
    struct push pushing = plain;
    uint32_t seen[100] = {0};
    uint32_t again = 0;
    pushing.repeats = true;
    begin(&world);
    store_value(&world, "k", "", 0);
    counting_backend_arm(&world.counting, fault, at, false);
    for (uint32_t i = 0; i < 100; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%08u", (unsigned)i);
        start(&world, &pushing, "k", ids[i], ID_LENGTH);
    }
    drive(&world);
    assert_true(world.counting.fault_came);
    mcds_bytes value = value_of(&world, "k", &values);
    assert_int_equal(value.length % ID_LENGTH, 0);
    for (size_t i = 0; i < value.length; i += ID_LENGTH) {
        char id[ID_LENGTH + 1] = {0};
        memcpy(id, (const char *)value.data + i, ID_LENGTH);
        unsigned long number = strtoul(id, NULL, 10);
        assert_true(number < 100);
        seen[number]++;
    }
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(world.told[i].result, MCDS_OK);
        assert_in_range(seen[i], 1, world.told[i].tries);
        again += world.told[i].tries - 1;
    }
    /* A lost append concerns all that it stood for; a lost read none of them here. */
    assert_int_equal(again, at == 1 ? 100 : 0);
    end(&world);
}

static void each_repeats_by_itself(void **state)
{
    static const enum fault faults[] = {FAULT_UNSENT, FAULT_CUT_BEFORE, FAULT_CUT_AFTER,
                                        FAULT_CUT_BETWEEN};
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (uint64_t at = 1; at <= 2; at++)
            lose(faults[i], at);
}

static void without_memory_each_goes_alone(void **state)
{
    static struct world world;
    (void)state;
    begin(&world);
    store_value(&world, "k", "", 0);
    for (uint32_t i = 0; i < 3; i++)
        start(&world, &plain, "k", "x", 1);
    counting_backend_arm(&world.counting, FAULT_NONE, 0, false);
    world.fake.allowed = 0;
    mcds_completion done;
    int result = mcds_pipeline_next(world.pipeline, &done);
    world.fake.allowed = -1;
    assert_int_equal(result, MCDS_OK);
    assert_int_equal(world.counting.batches, 3);
    world.told[done.tag].completions++;
    drive(&world);
    end(&world);
}

static void no_memory_for_the_value_is_none_lost(void **state)
{
    static struct world world;
    (void)state;
    begin(&world);
    store_value(&world, "k", "", 0);
    for (uint32_t i = 0; i < 3; i++)
        start(&world, &plain, "k", "x", 1);
    world.fake.allowed = 1;
    mcds_completion done;
    int result = mcds_pipeline_next(world.pipeline, &done);
    world.fake.allowed = -1;
    assert_int_equal(result, MCDS_OK);
    world.told[done.tag].completions++;
    drive(&world);
    end(&world);
}

static void closing_forgets_what_is_under_way(void **state)
{
    static struct world world;
    (void)state;
    begin(&world);
    for (uint32_t i = 0; i < 10; i++)
        start(&world, &plain, "k", "x", 1);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_key_is_told_to_all),
        cmocka_unit_test(what_is_too_much_goes_alone),
        cmocka_unit_test(a_refusal_goes_to_those_it_is_meant_for),
        cmocka_unit_test(each_repeats_by_itself),
        cmocka_unit_test(without_memory_each_goes_alone),
        cmocka_unit_test(no_memory_for_the_value_is_none_lost),
        cmocka_unit_test(closing_forgets_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
