/* Servers that hold no part of a row give no answer. A handle that does not know the depth of the
 * row's key reads and changes the row: the keys of other depths do not matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/map/map.h"
#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define ROWS 4000
#define STEP 97 /* some of the rows are read */
#define VALUE_LENGTH 100

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_options options;
    mcds_store *store;
    bool some_are_down;
    uint32_t unanswered;
};

static mcds_bytes name_of(uint32_t number)
{
    static char name[24];
    (void)snprintf(name, sizeof name, "row-%u", (unsigned)number);
    return mcds_text(name);
}

/* Keys are NS:TAG:NAME, the root; NS:TAG:NAME:LIFE, the first key; NS:TAG:NAME:LIFE:DIGITS; and
 * NS:TAG:NAME:LIFE:LIFE, the tombstone, which is on the server of the root. */
static bool is_with_root(mcds_bytes key)
{
    const char *bytes = key.data;
    size_t last = key.length;
    uint32_t colons = 0;
    for (size_t i = 0; i < key.length; i++)
        if (bytes[i] == ':') {
            last = i;
            colons++;
        }
    return colons <= 3 || key.length - last - 1 == 16;
}

static bool matters(const mcds_request *request)
{
    enum mcds__map_state state = mcds__map_state_of(request->reply.flags);
    return is_with_root(request->key) ||
           (request->reply.outcome == MCDS_OUT_OK && state != MCDS__MAP_SEALED);
}

/* The servers of the keys that do not exist are down, but not that of the root. */
static bool answer_some(void *context, mcds_request *request)
{
    struct world *world = context;
    mcds_batch batch = *world->backend.batch;
    mcds__backend_memory.submit(world->backend.inner, &batch);
    if (world->some_are_down && request->command == MCDS_GET && !matters(request)) {
        request->reply.outcome = MCDS_OUT_UNSENT;
        world->unanswered++;
    }
    return true;
}

static void world_open(struct world *world)
{
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1);
    world->options = (mcds_options)MCDS_OPTIONS_INIT;
    world->options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &world->options, &world->store),
                     MCDS_OK);
    world->backend.hook = answer_some;
    world->backend.context = world;
}

static void world_close(struct world *world)
{
    assert_true(world->unanswered > 0);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static void fill(struct world *world)
{
    mcds_table *table;
    char value[VALUE_LENGTH] = "";
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &table), MCDS_OK);
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(
            mcds_table_put(table, name_of(i), (mcds_bytes){value, sizeof value}, 0), MCDS_OK);
    mcds_table_close(table);
    world->some_are_down = true;
}

static void a_new_handle_reads(void **state)
{
    struct world world;
    (void)state;
    world_open(&world);
    fill(&world);
    for (uint32_t i = 0; i < ROWS; i += STEP) {
        mcds_table *table;
        assert_int_equal(mcds_table_open(world.store, "t", NULL, &table), MCDS_OK);
        assert_int_equal(mcds_table_has(table, name_of(i)), MCDS_OK);
        mcds_table_close(table);
    }
    world_close(&world);
}

/* It assumes the depth of the rows that it has not seen. */
static void a_handle_that_has_seen_some_reads_all(void **state)
{
    struct world world;
    mcds_table *table;
    (void)state;
    world_open(&world);
    fill(&world);
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &table), MCDS_OK);
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(mcds_table_has(table, name_of(i)), MCDS_OK);
    mcds_table_close(table);
    world_close(&world);
}

static void a_new_handle_changes(void **state)
{
    struct world world;
    (void)state;
    world_open(&world);
    fill(&world);
    for (uint32_t i = 0; i < ROWS; i += STEP) {
        mcds_table *table;
        assert_int_equal(mcds_table_open(world.store, "t", NULL, &table), MCDS_OK);
        assert_int_equal(mcds_table_put(table, name_of(i), mcds_text("new"), 0), MCDS_OK);
        mcds_table_close(table);
    }
    world_close(&world);
}

static void a_handle_that_has_seen_some_changes_all(void **state)
{
    struct world world;
    mcds_table *table;
    (void)state;
    world_open(&world);
    fill(&world);
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &table), MCDS_OK);
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(mcds_table_put(table, name_of(i), mcds_text("new"), 0), MCDS_OK);
    mcds_table_close(table);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_handle_reads),
        cmocka_unit_test(a_handle_that_has_seen_some_reads_all),
        cmocka_unit_test(a_new_handle_changes),
        cmocka_unit_test(a_handle_that_has_seen_some_changes_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
