/* A scan remembers each structure that it visits: at most 1 000 000, and as many as fit in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define LISTED_MAX 1000000

static struct world {
    struct fake_env fake;
    struct hooked_backend memory, listing; /* the second one has the items of the first */
    mcds_store *memory_store;
    mcds_store *store;
    uint32_t count; /* of the counters that the backend lists */
    uint32_t visited;
} world;

static int list_counters(void *backend, mcds_bytes prefix,
                         bool (*visit)(void *context, mcds_bytes key), void *context)
{
    char key[64];
    (void)backend;
    for (uint32_t i = 0; i < world.count; i++) {
        int length = snprintf(key, sizeof key, "%.*sc1:%u", (int)prefix.length,
                              (const char *)prefix.data, i);
        if (!visit(context, (mcds_bytes){key, (size_t)length}))
            break;
    }
    return MCDS_OK;
}

static int set_up(void **state)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    (void)state;
    memset(&world, 0, sizeof world);
    fake_env_init(&world.fake, 1);
    options.env = &world.fake.env;
    if (hooked_backend_open(&world.memory, &options, &world.memory_store) != MCDS_OK)
        return -1;
    world.listing = world.memory;
    world.listing.table.close = hooked_leave_open;
    world.listing.table.keys = list_counters;
    return mcds_open_backend(&world.listing.table, &world.listing, &options, &world.store);
}

static int tear_down(void **state)
{
    (void)state;
    mcds_close(world.store);
    mcds_close(world.memory_store);
    return world.fake.blocks == 0 ? 0 : -1;
}

static bool count_visit(void *context, const mcds_listed *listed)
{
    (void)context;
    assert_string_equal(listed->noun, "counter");
    world.visited++;
    return true;
}

static void a_million_structures_are_listed(void **state)
{
    (void)state;
    world.count = LISTED_MAX;
    assert_int_equal(mcds_scan(world.store, count_visit, NULL), MCDS_OK);
    assert_int_equal(world.visited, LISTED_MAX);
    world.visited = 0;
    world.count = LISTED_MAX + 1;
    assert_int_equal(mcds_scan(world.store, count_visit, NULL), MCDS_NO_MEMORY);
    assert_int_equal(world.visited, LISTED_MAX);
    assert_non_null(strstr(mcds_errmsg(), "more than 1 000 000 structures"));
}

/* Wherever the memory ends, the sentence says so. */
static void a_scan_without_memory_says_so(void **state)
{
    bool is_refused = true;
    (void)state;
    world.count = 2;
    for (int64_t allowed = 0; is_refused; allowed++) {
        fake_env_refuse(&world.fake, allowed, true);
        int result = mcds_scan(world.store, count_visit, NULL);
        is_refused = fake_env_grant(&world.fake);
        assert_int_equal(result, is_refused ? MCDS_NO_MEMORY : MCDS_OK);
        if (is_refused)
            assert_string_equal(mcds_errmsg(), "store: scan: out of memory");
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_million_structures_are_listed),
        TEST(a_scan_without_memory_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
