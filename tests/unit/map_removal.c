/* Removals append records too, so a key grows by them and is rewritten. The rewriting after a
 * removal does not split a key whose entries alone are below its soft size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/map/map.h"
#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define ROWS 16 /* of 30 bytes: more than a quarter of the soft size, and less than all of it */
#define REMOVALS 500

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    uint32_t seals;
    uint32_t rewrites;
};

static bool note_rewrite(void *context, mcds_request *request)
{
    struct world *world = context;
    if (request->command != MCDS_CAS)
        return false;
    world->rewrites++;
    world->seals += mcds__map_state_of(request->flags) == MCDS__MAP_SEALED;
    return false;
}

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = note_rewrite;
    world->backend.context = world;
    world->seals = world->rewrites = 0;
}

static void end(struct world *world)
{
    assert_true(world->rewrites > 2);
    assert_int_equal(world->seals, 0);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static mcds_bytes row(uint32_t number)
{
    static char text[32];
    (void)snprintf(text, sizeof text, "a row of thirty bytes, no. %03u", (unsigned)number);
    return mcds_text(text);
}

static void removals_split_no_small_table(void **state)
{
    static struct world world;
    mcds_table *table;
    (void)state;
    begin(&world);
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &table), MCDS_OK);
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(mcds_table_put(table, row(i), mcds_text(""), 0), MCDS_OK);
    for (uint32_t i = 0; i < REMOVALS; i++)
        assert_int_equal(mcds_table_remove(table, row(ROWS), NULL), MCDS_OK);
    mcds_table_close(table);
    end(&world);
}

static void remove_from_set(mcds_set_form form, int expected)
{
    static struct world world;
    mcds_set *set;
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    begin(&world);
    options.form = form;
    assert_int_equal(mcds_set_open(world.store, "s", &options, &set), MCDS_OK);
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(mcds_set_add(set, row(i), NULL), MCDS_OK);
    for (uint32_t i = 0; i < REMOVALS; i++)
        assert_int_equal(mcds_set_remove(set, row(ROWS), NULL), expected);
    mcds_set_close(set);
    end(&world);
}

static void removals_split_no_small_set(void **state)
{
    (void)state;
    remove_from_set(MCDS_SET_PLAIN, MCDS_OK);
    remove_from_set(MCDS_SET_BAG, MCDS_OK);
    remove_from_set(MCDS_SET_LIST, MCDS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removals_split_no_small_table),
        cmocka_unit_test(removals_split_no_small_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
