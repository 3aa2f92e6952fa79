/* Tables of which a store has lost keys: a scan reports each loss at once, visits the rest and
 * returns LOST; so does a read of a lost key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/map/map.h"
#include "mcds.h"
#include "structures/structure.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define ROWS 6000
#define KEYS_MAX 8192
/* Round trips for each key that a table has, in a scan of one with losses, and some to begin. */
#define KEYS_PER_TRIP 4
#define TRIPS_MORE 20
#define LOST_TRIPS 2 /* for each key that is lost */

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_table *table;
    uint32_t key_count;
    char keys[KEYS_MAX][251];
    uint8_t seen[ROWS];
};

static mcds_bytes row(uint32_t number)
{
    static char key[16];
    (void)snprintf(key, sizeof key, "row-%u", (unsigned)number);
    return mcds_text(key);
}

static bool note_key(void *context, mcds_bytes key)
{
    struct world *world = context;
    assert_true(world->key_count < KEYS_MAX && key.length <= 250);
    memcpy(world->keys[world->key_count++], key.data, key.length);
    return true;
}

static void begin(struct world *world, uint64_t seed)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, seed);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &world->table), MCDS_OK);
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(
            mcds_table_put(world->table, row(i), mcds_text("a value of some length"), 0),
            MCDS_OK);
    assert_int_equal(
        mcds__backend_memory.keys(world->backend.inner, (mcds_bytes){"", 0}, note_key, world),
        MCDS_OK);
}

static void end(struct world *world)
{
    mcds_table_close(world->table);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static mcds_reply ask(struct world *world, mcds_command command, const char *key)
{
    mcds_request request = {
        .command = command, .options = MCDS_NO_VALUE, .key = mcds_text(key)};
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    return request.reply;
}

/* Lose every third key that holds rows, or one of those that rows have moved out of; without them
 * nobody sees which keys are below. Returns how many. */
static uint32_t lose(struct world *world, enum mcds__map_state state)
{
    uint32_t lost = 0;
    uint32_t leaves = state == MCDS__MAP_OPEN ? 0 : 1; /* not the first, which holds all */
    for (uint32_t i = 0; i < world->key_count; i++) {
        mcds_reply reply = ask(world, MCDS_GET, world->keys[i]);
        if (mcds__map_state_of(reply.flags) != state || leaves++ % 3 != 0)
            continue;
        assert_int_equal(ask(world, MCDS_DELETE, world->keys[i]).outcome, MCDS_OUT_OK);
        lost++;
    }
    return lost;
}

static bool note_row(void *context, mcds_bytes key, mcds_bytes value)
{
    struct world *world = context;
    char text[16] = "";
    unsigned number = ROWS;
    (void)value;
    memcpy(text, key.data, key.length);
    assert_int_equal(sscanf(text, "row-%u", &number), 1);
    assert_true(number < ROWS);
    world->seen[number]++;
    return true;
}

static void check_scan(struct world *world, mcds_table *table, uint32_t lost)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    int64_t begin_ns = world->fake.monotonic_ns;
    memset(world->seen, 0, sizeof world->seen);
    world->backend.batches = 0;
    assert_int_equal(mcds_table_scan(table, &cursor, 0, note_row, world), MCDS_LOST);
    assert_true(cursor.done);
    assert_true(world->backend.batches <
                world->key_count / KEYS_PER_TRIP + LOST_TRIPS * lost + TRIPS_MORE);
    for (uint32_t i = 0; i < ROWS; i++) {
        int has = mcds_table_has(table, row(i));
        assert_true(has == MCDS_OK || has == MCDS_LOST);
        assert_int_equal(world->seen[i], has == MCDS_OK);
    }
    assert_int_equal(world->fake.monotonic_ns, begin_ns);
}

static void a_scan_decides_losses_at_once(void **state)
{
    static struct world world;
    mcds_table *other;
    (void)state;
    begin(&world, 1);
    uint32_t lost = lose(&world, MCDS__MAP_OPEN);
    assert_true(lost > 50);
    check_scan(&world, world.table, lost);
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &other), MCDS_OK);
    check_scan(&world, other, lost);
    mcds_table_close(other);
    end(&world);
}

static void what_moved_out_of_a_lost_key_is_visited(void **state)
{
    static struct world world;
    mcds_table *other;
    (void)state;
    begin(&world, 3);
    uint32_t lost = lose(&world, MCDS__MAP_MOVED);
    assert_true(lost > 3);
    check_scan(&world, world.table, lost);
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &other), MCDS_OK);
    check_scan(&world, other, lost);
    lost += lose(&world, MCDS__MAP_OPEN);
    check_scan(&world, other, lost);
    mcds_table_close(other);
    end(&world);
}

#define PART 7 /* rows of one call */

/* How many calls of a scan in parts are LOST; all rows that are left are visited. */
static uint32_t count_lost_calls(struct world *world, mcds_table *table)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    uint32_t lost = 0;
    memset(world->seen, 0, sizeof world->seen);
    while (!cursor.done) {
        int result = mcds_table_scan(table, &cursor, PART, note_row, world);
        assert_true(result == MCDS_OK || result == MCDS_LOST);
        lost += result == MCDS_LOST;
    }
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(world->seen[i], mcds_table_has(table, row(i)) == MCDS_OK);
    return lost;
}

/* Of a scan in parts, the call is LOST that meets the lost key, and no other. */
static void one_call_reports_a_lost_key(void **state)
{
    static struct world world;
    mcds_table *other;
    (void)state;
    begin(&world, 5);
    for (uint32_t i = 0, lost = 0; lost < 1 && i < world.key_count; i++) {
        mcds_reply reply = ask(&world, MCDS_GET, world.keys[i]);
        if (mcds__map_state_of(reply.flags) != MCDS__MAP_OPEN)
            continue;
        assert_int_equal(ask(&world, MCDS_DELETE, world.keys[i]).outcome, MCDS_OUT_OK);
        lost++;
    }
    assert_int_equal(count_lost_calls(&world, world.table), 1);
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &other), MCDS_OK);
    assert_int_equal(count_lost_calls(&world, other), 1);
    mcds_table_close(other);
    end(&world);
}

/* A scan from a cursor at its end visits nothing. */
static void a_scan_that_has_ended_visits_nothing(void **state)
{
    static struct world world;
    mcds_pipeline *pipeline;
    mcds_completion done;
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    (void)state;
    begin(&world, 6);
    cursor.done = true;
    assert_int_equal(mcds_table_scan(world.table, &cursor, 0, note_row, &world), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world.store, NULL, &pipeline), MCDS_OK);
    assert_int_equal(
        mcds_table_scan_start(world.table, &cursor, 0, note_row, &world, pipeline, 7), MCDS_OK);
    assert_int_equal(mcds_pipeline_next(pipeline, &done), MCDS_OK);
    assert_int_equal(done.result, MCDS_OK);
    assert_true(cursor.done);
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(world.seen[i], 0);
    mcds_pipeline_close(pipeline);
    end(&world);
}

static void what_is_left_can_be_dropped(void **state)
{
    static struct world world;
    (void)state;
    begin(&world, 2);
    (void)lose(&world, MCDS__MAP_OPEN);
    int64_t begin_ns = world.fake.monotonic_ns;
    assert_int_equal(mcds_table_drop(world.table), MCDS_OK);
    assert_int_equal(world.fake.monotonic_ns, begin_ns);
    world.key_count = 0;
    assert_int_equal(
        mcds__backend_memory.keys(world.backend.inner, (mcds_bytes){"", 0}, note_key, &world),
        MCDS_OK);
    assert_int_equal(world.key_count, 1); /* the end mark */
    end(&world);
}

#define FIRST_ROWS 1500 /* so many that keys of the first depth are split */
#define MORE_ROWS 40
#define HANDLES 8 /* that put more rows */
#define ALL_ROWS (FIRST_ROWS + HANDLES * MORE_ROWS)

struct stall {
    struct world world;
    bool acknowledged[ROWS];
};

/* A client that makes children and then says no more: every second split does not end. */
static bool stop_marks(void *context, mcds_request *request)
{
    const char *end = (const char *)request->key.data + request->key.length;
    bool is_odd = end[-2] == ':' && strchr("13579bdf", end[-1]) != NULL;
    (void)context;
    if (!is_odd || request->command != MCDS_REPLACE)
        return false;
    assert_int_equal(mcds__map_state_of(request->flags), MCDS__MAP_MOVED);
    request->reply.outcome = MCDS_OUT_UNSENT;
    return true;
}

static void put_more(struct stall *stall, mcds_table *table, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        stall->acknowledged[i] = mcds_table_put(table, row(i),
                                                mcds_text("a value of some length"),
                                                0) == MCDS_OK;
}

/* A table with splits that have not ended, and rows that others have put since. Each of these
 * handles expects that all keys are as deep as the first that it has found. */
static void begin_stall(struct stall *stall)
{
    struct world *world = &stall->world;
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(stall, 0, sizeof *stall);
    fake_env_init(&world->fake, 7);
    options.timeout_ms = 4;
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = stop_marks;
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &world->table), MCDS_OK);
    put_more(stall, world->table, 0, FIRST_ROWS);
    for (uint32_t i = 0; i < HANDLES; i++) {
        mcds_table *other;
        assert_int_equal(mcds_table_open(world->store, "t", NULL, &other), MCDS_OK);
        assert_int_equal(mcds_table_has(other, row(i)), MCDS_OK);
        put_more(stall, other, FIRST_ROWS + i * MORE_ROWS, MORE_ROWS);
        mcds_table_close(other);
    }
    assert_int_equal(
        mcds__backend_memory.keys(world->backend.inner, (mcds_bytes){"", 0}, note_key, world),
        MCDS_OK);
}

/* A read of a row that was acknowledged finds it, or reports the loss. */
static void a_key_lost_before_its_split_has_ended_is_lost(void **state)
{
    static struct stall stall;
    struct world *world = &stall.world;
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    uint32_t gone = 0;
    (void)state;
    begin_stall(&stall);
    for (uint32_t i = 0; i < ALL_ROWS; i++)
        if (stall.acknowledged[i])
            assert_int_equal(mcds_table_has(world->table, row(i)), MCDS_OK);
    assert_true(lose(world, MCDS__MAP_OPEN) > 0);
    int scanned = mcds_table_scan(world->table, &cursor, 0, note_row, world);
    for (uint32_t i = 0; i < ALL_ROWS; i++) {
        int has = mcds_table_has(world->table, row(i));
        assert_int_equal(world->seen[i], has == MCDS_OK);
        if (!stall.acknowledged[i] || has == MCDS_OK)
            continue;
        assert_int_equal(has, MCDS_LOST);
        assert_int_equal(scanned, MCDS_LOST);
        gone++;
    }
    assert_true(gone > 0);
    end(world);
}

#define LATE_ROWS 100
#define LATE_FIRST (ROWS - LATE_ROWS)

/* A read of the key of a split that has not ended arrives before the key was made: it is missing.
 * Reads that follow find it. */
struct early {
    struct world *world;
    bool has_hidden;
};

static bool hide_once(void *context, mcds_request *request)
{
    struct early *early = context;
    char key[251] = "";
    if (request->command != MCDS_GET || early->has_hidden)
        return false;
    memcpy(key, request->key.data, request->key.length);
    mcds_reply reply = ask(early->world, MCDS_GET, key);
    if (reply.outcome != MCDS_OUT_OK || mcds__map_state_of(reply.flags) != MCDS__MAP_SEALED)
        return false;
    early->has_hidden = true;
    request->reply.outcome = MCDS_OUT_MISS;
    return true;
}

static uint32_t put_late(struct stall *stall)
{
    struct world *world = &stall->world;
    struct early early = {.world = world};
    uint32_t hidden = 0;
    world->backend.context = &early;
    world->backend.hook = hide_once;
    for (uint32_t i = LATE_FIRST; i < ROWS; i++) {
        mcds_table *other;
        early.has_hidden = false;
        assert_int_equal(mcds_table_open(world->store, "t", NULL, &other), MCDS_OK);
        put_more(stall, other, i, 1);
        mcds_table_close(other);
        hidden += early.has_hidden;
    }
    world->backend.hook = NULL;
    return hidden;
}

/* A writer that misses the key above appends to its child only after another read. */
static void a_key_read_before_it_was_made_is_no_ended_split(void **state)
{
    static struct stall stall;
    struct world *world = &stall.world;
    uint32_t gone = 0;
    (void)state;
    begin_stall(&stall);
    assert_true(put_late(&stall) > 0);
    assert_true(lose(world, MCDS__MAP_OPEN) > 0);
    for (uint32_t i = LATE_FIRST; i < ROWS; i++) {
        int has = mcds_table_has(world->table, row(i));
        assert_true(!stall.acknowledged[i] || has == MCDS_OK || has == MCDS_LOST);
        gone += has == MCDS_LOST;
    }
    assert_true(gone > 0);
    end(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_lost_before_its_split_has_ended_is_lost),
        cmocka_unit_test(a_key_read_before_it_was_made_is_no_ended_split),
        cmocka_unit_test(a_scan_decides_losses_at_once),
        cmocka_unit_test(what_moved_out_of_a_lost_key_is_visited),
        cmocka_unit_test(what_is_left_can_be_dropped),
        cmocka_unit_test(one_call_reports_a_lost_key),
        cmocka_unit_test(a_scan_that_has_ended_visits_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
