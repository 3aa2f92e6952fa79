/* Thousands of operations of one pipeline that change the same key: they do not contend with each
 * other. Each is done, with no more requests than one after another, and the clock, which moves only
 * where something sleeps, hardly moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "support/counting_backend.h"
#include "support/fake_env.h"

#define TIMEOUT_MS 1000 /* of a store, by default */
#define OPERATIONS 8000
#define CHANGES 1000
/* So many bytes in flight to a key let nothing more be sent to it. */
#define KEY_MOST 16384
/* A reply that each operation reads for itself would take some memory for each record in it. */
#define MEMORY_EACH 10
#define NAMES 200

struct world {
    struct fake_env fake;
    struct fake_env inner;
    struct counting_backend counting;
    mcds_store *store;
    mcds_table *table;
    mcds_set *set;
    mcds_set *list;
    mcds_array *array;
    int64_t *numbers;
    bool *changed;
};

typedef int (*starter)(struct world *world, mcds_pipeline *pipeline, uint32_t i);

static mcds_bytes name_of(uint32_t i)
{
    static char name[16];
    (void)snprintf(name, sizeof name, "%u", (unsigned)(i % NAMES));
    return mcds_text(name);
}

static int start_incr(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_table_incr_start(world->table, mcds_text("n"), 1, &world->numbers[i], pipeline,
                                 i);
}

static int start_put(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_table_put_start(world->table, mcds_text("n"), mcds_text("v"), 0, pipeline, i);
}

static int start_put_if_absent(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_table_put_if_absent_start(world->table, mcds_text("n"), mcds_text("v"), 0,
                                          pipeline, i);
}

static int start_set_to_same(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_table_compare_and_set_start(world->table, mcds_text("n"), mcds_text("v"),
                                            mcds_text("v"), 0, pipeline, i);
}

static int start_table_remove(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_table_remove_start(world->table, mcds_text("n"), &world->changed[i], pipeline,
                                   i);
}

static int start_add(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_set_add_start(world->set, name_of(i), &world->changed[i], pipeline, i);
}

static int start_remove(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    return mcds_set_remove_start(world->set, name_of(i), &world->changed[i], pipeline, i);
}

static int start_change(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    mcds_bytes element = {"e", 1};
    return mcds_array_change_start(world->array, &element, 1, NULL, 0, pipeline, i);
}

static int start_set(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    mcds_bytes element = {"e", 1};
    return mcds_array_set_start(world->array, &element, 1, pipeline, i);
}

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_set_options list = MCDS_SET_OPTIONS_INIT;
    list.form = MCDS_SET_LIST;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 5);
    fake_env_init(&world->inner, 6);
    options.env = &world->fake.env;
    assert_int_equal(counting_backend_open(&world->counting, "memory:", &world->inner.env,
                                           &options, &world->store),
                     MCDS_OK);
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &world->table), MCDS_OK);
    assert_int_equal(mcds_set_open(world->store, "s", NULL, &world->set), MCDS_OK);
    assert_int_equal(mcds_set_open(world->store, "l", &list, &world->list), MCDS_OK);
    assert_int_equal(mcds_array_open(world->store, "a", NULL, &world->array), MCDS_OK);
    world->numbers = calloc(OPERATIONS, sizeof world->numbers[0]);
    world->changed = calloc(OPERATIONS, sizeof world->changed[0]);
    assert_true(world->numbers != NULL && world->changed != NULL);
}

static void end(struct world *world)
{
    mcds_table_close(world->table);
    mcds_set_close(world->set);
    mcds_set_close(world->list);
    mcds_array_close(world->array);
    mcds_close(world->store);
    free(world->numbers);
    free(world->changed);
    assert_int_equal(world->fake.blocks, 0);
}

/* What a run of operations has cost. */
struct cost {
    uint64_t requests;
    uint64_t allocations;
    int64_t slept_ns;
    uint32_t ok;
    uint32_t exists;
    uint32_t failed; /* BUSY too */
};

static struct cost run(struct world *world, starter start, uint32_t count, uint32_t depth)
{
    struct cost cost = {0};
    mcds_pipeline *pipeline;
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    mcds_completion done;
    options.depth = depth;
    counting_backend_arm(&world->counting, FAULT_NONE, 0, false);
    int64_t began_ns = world->fake.monotonic_ns;
    uint64_t allocations = world->fake.allocations;
    assert_int_equal(mcds_pipeline_open(world->store, &options, &pipeline), MCDS_OK);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(start(world, pipeline, i), MCDS_OK);
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK) {
        cost.ok += done.result == MCDS_OK;
        cost.exists += done.result == MCDS_EXISTS;
        cost.failed += done.result != MCDS_OK && done.result != MCDS_EXISTS;
    }
    mcds_pipeline_close(pipeline);
    cost.requests = world->counting.requests;
    cost.allocations = world->fake.allocations - allocations;
    cost.slept_ns = world->fake.monotonic_ns - began_ns;
    return cost;
}

static const uint32_t depths[] = {128, 1024, 4096, 65536};
#define DEPTHS (sizeof depths / sizeof depths[0])

/* At each depth it is done, and is not dearer than a request and a piece of memory for each. */
static void check(starter start, uint32_t count, uint64_t requests_each, const char *first)
{
    for (size_t i = 0; i < DEPTHS; i++) {
        struct world world;
        begin(&world);
        if (first != NULL)
            assert_int_equal(mcds_table_put(world.table, mcds_text("n"), mcds_text(first), 0),
                             MCDS_OK);
        struct cost cost = run(&world, start, count, depths[i]);
        uint32_t in_flight = depths[i] < count ? depths[i] : count;
        if (cost.failed > 0 || cost.requests > requests_each * count)
            print_message("depth %u: %u failed, %llu requests, %llu pieces of memory\n",
                          (unsigned)depths[i], (unsigned)cost.failed,
                          (unsigned long long)cost.requests,
                          (unsigned long long)cost.allocations);
        assert_int_equal(cost.failed, 0);
        assert_int_equal(cost.ok + cost.exists, count);
        assert_true(cost.requests <= requests_each * count);
        assert_in_range(cost.allocations, 0, in_flight + MEMORY_EACH * count);
        assert_in_range(cost.slept_ns, 0, 100 * NS_PER_MS);
        end(&world);
    }
}

static void increments_each_have_their_number(void **state)
{
    (void)state;
    for (size_t i = 0; i < DEPTHS; i++) {
        struct world world;
        begin(&world);
        struct cost cost = run(&world, start_incr, OPERATIONS, depths[i]);
        assert_int_equal(cost.ok, OPERATIONS);
        uint8_t *seen = calloc(OPERATIONS + 1, 1);
        assert_non_null(seen);
        for (uint32_t n = 0; n < OPERATIONS; n++) {
            assert_in_range(world.numbers[n], 1, OPERATIONS);
            assert_int_equal(seen[world.numbers[n]]++, 0);
        }
        free(seen);
        end(&world);
    }
}

static void increments_of_a_key(void **state)
{
    (void)state;
    check(start_incr, OPERATIONS, 1, NULL);
}

static void puts_of_a_key(void **state)
{
    (void)state;
    check(start_put, OPERATIONS, 1, NULL);
}

static void puts_where_there_is_one(void **state)
{
    (void)state;
    check(start_put_if_absent, OPERATIONS, 1, NULL);
}

static void compare_and_set_of_a_key(void **state)
{
    (void)state;
    check(start_set_to_same, OPERATIONS, 1, "v");
}

static void removals_of_a_key(void **state)
{
    (void)state;
    check(start_table_remove, OPERATIONS, 1, "v");
}

static void additions_to_a_set(void **state)
{
    (void)state;
    check(start_add, OPERATIONS, 1, NULL);
}

static int start_list_add(struct world *world, mcds_pipeline *pipeline, uint32_t i)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u", (unsigned)i);
    return mcds_set_add_start(world->list, mcds_text(text), NULL, pipeline, i);
}

struct order {
    uint32_t next;
    uint32_t wrong;
};

static bool check_next(void *context, mcds_bytes element, uint64_t count)
{
    struct order *order = context;
    char text[16];
    int length = snprintf(text, sizeof text, "%u", (unsigned)order->next++);
    order->wrong += count != 1 || element.length != (size_t)length ||
                    memcmp(element.data, text, element.length) != 0;
    return true;
}

/* A new handle does not know the list. Those that wait until one has read it, or until there is
 * room in their key, come before those that are started later. */
static void additions_to_a_list_keep_their_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < DEPTHS; i++) {
        struct world world;
        struct order order = {0};
        begin(&world);
        struct cost cost = run(&world, start_list_add, OPERATIONS, depths[i]);
        assert_int_equal(cost.ok, OPERATIONS);
        assert_int_equal(mcds_set_scan(world.list, check_next, &order), MCDS_OK);
        assert_int_equal(order.next, OPERATIONS);
        assert_int_equal(order.wrong, 0);
        end(&world);
    }
}

static void removals_from_a_set(void **state)
{
    (void)state;
    for (size_t i = 0; i < DEPTHS; i++) {
        struct world world;
        begin(&world);
        assert_int_equal(run(&world, start_add, NAMES, 128).ok, NAMES);
        struct cost cost = run(&world, start_remove, OPERATIONS, depths[i]);
        assert_int_equal(cost.ok, OPERATIONS);
        assert_true(cost.requests <= OPERATIONS);
        uint32_t changed = 0;
        for (uint32_t n = 0; n < OPERATIONS; n++)
            changed += world.changed[n];
        assert_int_equal(changed, NAMES);
        end(&world);
    }
}

static bool count_element(void *context, mcds_bytes element)
{
    (void)element;
    ++*(uint32_t *)context;
    return true;
}

/* Each change of an array reads it and writes it; none has to read again. */
static void changes_of_an_array(void **state)
{
    (void)state;
    for (size_t i = 0; i < DEPTHS; i++) {
        struct world world;
        uint32_t elements = 0;
        begin(&world);
        struct cost cost = run(&world, start_change, CHANGES, depths[i]);
        assert_int_equal(cost.ok, CHANGES);
        assert_int_equal(cost.requests, 2 * CHANGES);
        assert_int_equal(cost.slept_ns, 0);
        assert_int_equal(mcds_array_scan(world.array, count_element, &elements), MCDS_OK);
        assert_int_equal(elements, CHANGES);
        cost = run(&world, start_set, CHANGES, depths[i]);
        assert_int_equal(cost.ok, CHANGES);
        assert_int_equal(cost.requests, 2 * CHANGES);
        end(&world);
    }
}

/* Operations of a pipeline that nobody drives fill the key; one of another pipeline waits for them.
 * The other is driven from `from_ms` after its start on. */
static void check_waiting(int64_t from_ms, int expected)
{
    struct world world;
    mcds_pipeline *pipeline;
    mcds_completion done;
    char large[KEY_MOST] = {0};
    begin(&world);
    assert_int_equal(mcds_table_put(world.table, mcds_text("n"), mcds_text("1"), 0), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world.store, NULL, &pipeline), MCDS_OK);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(mcds_table_put_start(world.table, mcds_text("n"),
                                              (mcds_bytes){large, sizeof large}, 0, pipeline,
                                              i),
                         MCDS_OK);
    mcds_pipeline *other;
    assert_int_equal(mcds_pipeline_open(world.store, NULL, &other), MCDS_OK);
    counting_backend_arm(&world.counting, FAULT_NONE, 0, false);
    assert_int_equal(start_incr(&world, other, 0), MCDS_OK);
    fake_env_advance_ms(&world.fake, from_ms);
    assert_int_equal(mcds_pipeline_next(other, &done), MCDS_OK);
    assert_int_equal(done.result, expected);
    assert_int_equal(world.counting.requests > 0, expected == MCDS_OK);
    mcds_pipeline_close(other);
    mcds_pipeline_close(pipeline);
    end(&world);
}

static void one_that_waits_too_long_is_unsent(void **state)
{
    (void)state;
    check_waiting(0, MCDS_OK);
    check_waiting(TIMEOUT_MS - 1, MCDS_OK);
    check_waiting(TIMEOUT_MS, MCDS_TIMEOUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(increments_each_have_their_number),
        cmocka_unit_test(increments_of_a_key),
        cmocka_unit_test(puts_of_a_key),
        cmocka_unit_test(puts_where_there_is_one),
        cmocka_unit_test(compare_and_set_of_a_key),
        cmocka_unit_test(removals_of_a_key),
        cmocka_unit_test(additions_to_a_set),
        cmocka_unit_test(additions_to_a_list_keep_their_order),
        cmocka_unit_test(removals_from_a_set),
        cmocka_unit_test(changes_of_an_array),
        cmocka_unit_test(one_that_waits_too_long_is_unsent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
