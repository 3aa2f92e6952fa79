/* Two pipelines of one thread on one handle, of which only one is driven: its operations end well,
 * although some of the other use the place for which they wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"

#define COUNT 40 /* fewer than an undriven pipeline sends by itself */
#define DEPTH 60
#define TIMEOUT_MS 8000
#define LENGTH 700 /* so that the other pipeline has much under way, and no key splits */

struct world {
    struct fake_env fake;
    mcds_store *store;
    mcds_pipeline *driven;
    mcds_pipeline *other;
};

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_pipeline_options depth = MCDS_PIPELINE_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 3);
    options.env = &world->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    depth.depth = DEPTH;
    assert_int_equal(mcds_open("memory:", &options, &world->store), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, &depth, &world->driven), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, &depth, &world->other), MCDS_OK);
}

static void end(struct world *world)
{
    mcds_pipeline_close(world->driven);
    mcds_pipeline_close(world->other);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static void take_all(struct world *world, mcds_pipeline *pipeline)
{
    mcds_completion done;
    uint32_t count = 0;
    int64_t began_ns = world->fake.monotonic_ns;
    for (; mcds_pipeline_next(pipeline, &done) == MCDS_OK; count++)
        if (done.result != MCDS_OK)
            fail_msg("%u: %s", count, mcds_errmsg());
    assert_int_equal(count, COUNT);
    assert_true(world->fake.monotonic_ns - began_ns < TIMEOUT_MS * INT64_C(1000000) / 2);
}

static mcds_bytes value(void)
{
    static char bytes[LENGTH];
    memset(bytes, 'v', sizeof bytes);
    return (mcds_bytes){bytes, sizeof bytes};
}

static void put(mcds_table *table, mcds_pipeline *pipeline)
{
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(
            mcds_table_put_start(table, mcds_text("same"), value(), 0, pipeline, i), MCDS_OK);
}

static void play_table(bool is_known)
{
    struct world world;
    mcds_table *table;
    begin(&world);
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &table), MCDS_OK);
    if (is_known)
        assert_int_equal(mcds_table_put(table, mcds_text("same"), value(), 0), MCDS_OK);
    put(table, world.other);
    put(table, world.driven);
    take_all(&world, world.driven);
    take_all(&world, world.other);
    mcds_table_close(table);
    end(&world);
}

/* An operation of the other pipeline would make the table. */
static void the_first_use_of_a_handle(void **state)
{
    (void)state;
    play_table(false);
}

/* The other pipeline has as many bytes under way as a key takes. */
static void many_bytes_to_one_key(void **state)
{
    (void)state;
    play_table(true);
}

static void elements_of_a_set(void **state)
{
    (void)state;
    struct world world;
    mcds_set *set;
    bool added[2 * COUNT];
    begin(&world);
    assert_int_equal(mcds_set_open(world.store, "s", NULL, &set), MCDS_OK);
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        char element[16];
        (void)snprintf(element, sizeof element, "e%u", i);
        assert_int_equal(mcds_set_add_start(set, mcds_text(element), &added[i],
                                            i % 2 == 0 ? world.other : world.driven, i),
                         MCDS_OK);
    }
    take_all(&world, world.driven);
    take_all(&world, world.other);
    for (uint32_t i = 0; i < 2 * COUNT; i++)
        assert_true(added[i]);
    mcds_set_close(set);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_use_of_a_handle),
        cmocka_unit_test(many_bytes_to_one_key),
        cmocka_unit_test(elements_of_a_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
