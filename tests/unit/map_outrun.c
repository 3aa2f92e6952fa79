/* A key has no room for a change, and other clients let the rewrites of it fail. The change is not
 * appended again before the key has been rewritten: each append would make their rewrites fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define REFUSED 3
#define PUTS_MAX 2000

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_table *table;
    uint32_t appends;  /* of one call, as all that follow */
    uint32_t rewrites; /* tries */
};

/* As if another client had changed the key since the read: the first rewrites of a call fail. */
static bool refuse_rewrites(void *context, mcds_request *request)
{
    struct world *world = context;
    world->appends += request->command == MCDS_APPEND;
    if (request->command != MCDS_CAS || world->rewrites++ >= REFUSED)
        return false;
    request->reply.outcome = MCDS_OUT_EXISTS;
    return true;
}

static void put(struct world *world)
{
    static const char value[200];
    world->appends = world->rewrites = 0;
    assert_int_equal(
        mcds_table_put(world->table, mcds_text("row"), (mcds_bytes){value, sizeof value}, 0),
        MCDS_OK);
}

static void a_change_without_room_is_not_repeated_in_vain(void **state)
{
    (void)state;
    struct world world = {0};
    mcds_options options = MCDS_OPTIONS_INIT;
    fake_env_init(&world.fake, 1);
    options.env = &world.fake.env;
    assert_int_equal(hooked_backend_open(&world.backend, &options, &world.store), MCDS_OK);
    world.backend.hook = refuse_rewrites;
    world.backend.context = &world;
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &world.table), MCDS_OK);
    uint32_t puts = 0;
    do
        put(&world);
    while (world.rewrites <= REFUSED && ++puts < PUTS_MAX);
    assert_int_equal(world.rewrites, REFUSED + 1);
    assert_int_equal(world.appends, 2); /* before and after them */
    put(&world);
    assert_int_equal(world.appends, 1);
    mcds_table_close(world.table);
    mcds_close(world.store);
    assert_int_equal(world.fake.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_without_room_is_not_repeated_in_vain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
