/* A handle that does not know a map: it finds each key in one round trip, and a scan and a drop ask
 * for many keys in each, though keys of several depths lie side by side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/map/map.h"
#include "mcds.h"
#include "store/backends.h"
#include "support/counting_backend.h"
#include "support/fake_env.h"

#define CALLS 500
/* A key that is two levels above or below the first one that was seen takes one more round trip. */
#define PER_MISS 50
/* The first call of a handle reads the root, and then the keys of all depths. */
#define FIRST_TRIPS 2
/* A scan or drop: round trips to begin with, and requests in each after that, of 64. */
#define BEGIN_TRIPS 12
#define REQUESTS_PER_TRIP 40

struct world {
    struct fake_env fake;
    struct counting_backend counting;
    mcds_store *store;
    mcds_table *table;
    uint32_t rows;
    uint32_t seen;
    uint32_t keys;
};

static mcds_bytes row(uint32_t number)
{
    static char text[16];
    (void)snprintf(text, sizeof text, "row-%u", (unsigned)number);
    return mcds_text(text);
}

static void open_table(struct world *world)
{
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &world->table), MCDS_OK);
    counting_backend_arm(&world->counting, FAULT_NONE, 0, false);
}

/* A table of so many rows, and a handle that knows nothing of it. */
static void begin(struct world *world, uint32_t rows)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    world->rows = rows;
    fake_env_init(&world->fake, rows);
    options.env = &world->fake.env;
    assert_int_equal(counting_backend_open(&world->counting, "memory:", &world->fake.env,
                                           &options, &world->store),
                     MCDS_OK);
    open_table(world);
    for (uint32_t i = 0; i < rows; i++)
        assert_int_equal(mcds_table_put(world->table, row(i), mcds_text("a value"), 0),
                         MCDS_OK);
    mcds_table_close(world->table);
    open_table(world);
}

static void end(struct world *world)
{
    mcds_table_close(world->table);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static bool count_key(void *context, mcds_bytes key)
{
    struct world *world = context;
    (void)key;
    world->keys++;
    return true;
}

static bool count_row(void *context, mcds_bytes key, mcds_bytes value)
{
    struct world *world = context;
    (void)key;
    (void)value;
    world->seen++;
    return true;
}

static const uint32_t sizes[] = {10, 300, 3000, 20000};
#define SIZES (sizeof sizes / sizeof sizes[0])

static void a_read_takes_one_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZES; i++) {
        struct world world;
        begin(&world, sizes[i]);
        assert_int_equal(mcds_table_has(world.table, row(0)), MCDS_OK);
        assert_in_range(world.counting.submits, 1, FIRST_TRIPS);
        counting_backend_arm(&world.counting, FAULT_NONE, 0, false);
        for (uint32_t call = 0; call < CALLS; call++)
            assert_int_equal(mcds_table_has(world.table, row(call * 7919 % sizes[i])), MCDS_OK);
        assert_in_range(world.counting.submits, CALLS, CALLS + CALLS / PER_MISS);
        end(&world);
    }
}

/* Two to learn where the key is, and that the split above it has ended; one to append. */
static void a_change_takes_two_round_trips_at_most(void **state)
{
    (void)state;
    struct world world;
    begin(&world, 20000);
    assert_int_equal(mcds_table_put(world.table, row(0), mcds_text("another"), 0), MCDS_OK);
    for (uint32_t call = 1; call < CALLS; call++) {
        counting_backend_arm(&world.counting, FAULT_NONE, 0, false);
        assert_int_equal(mcds_table_compare_and_set(world.table, row(call),
                                                    mcds_text("no value"), mcds_text("other"),
                                                    0),
                         MCDS_EXISTS);
        assert_in_range(world.counting.submits, 1, 2 + 4); /* 4 rewrite a key that has grown */
    }
    end(&world);
}

static void check_cost(const struct world *world, uint64_t keys)
{
    uint64_t trips = world->counting.submits;
    assert_in_range(world->counting.requests, keys, 3 * keys + 64 * BEGIN_TRIPS);
    assert_in_range(trips, 1, BEGIN_TRIPS + world->counting.requests / REQUESTS_PER_TRIP);
}

static void a_scan_and_a_drop_ask_for_many_keys_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZES; i++) {
        struct world world;
        mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
        begin(&world, sizes[i]);
        assert_int_equal(mcds__backend_memory.keys(world.counting.inner_backend,
                                                   (mcds_bytes){"", 0}, count_key, &world),
                         MCDS_OK);
        assert_int_equal(mcds_table_scan(world.table, &cursor, 0, count_row, &world), MCDS_OK);
        assert_int_equal(world.seen, world.rows);
        check_cost(&world, world.keys / 2);
        counting_backend_arm(&world.counting, FAULT_NONE, 0, false);
        assert_int_equal(mcds_table_drop(world.table), MCDS_OK);
        check_cost(&world, world.keys);
        world.keys = 0;
        assert_int_equal(mcds__backend_memory.keys(world.counting.inner_backend,
                                                   (mcds_bytes){"", 0}, count_key, &world),
                         MCDS_OK);
        assert_int_equal(world.keys, 1); /* the end mark */
        end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_takes_one_round_trip),
        cmocka_unit_test(a_change_takes_two_round_trips_at_most),
        cmocka_unit_test(a_scan_and_a_drop_ask_for_many_keys_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
