/* Changes of a part that the store has lost: LOST, unless the record may have counted before the
 * loss. Then the change is AMBIGUOUS. */
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

#define ROWS 60 /* so many split the first key */
#define MORE_ROWS 100
#define LATER_ROWS 1500 /* so many split all keys that MORE_ROWS make */
#define VALUE_LENGTH 240
#define ITEM "the-element-of-a-lost-part"

/* What becomes of the first append of the handle under test. Then others split the key and the
 * store loses the children. */
enum first {
    AFTER_SPLIT,        /* it is in the mark */
    TWICE_AFTER_SPLIT,  /* the same, and its reply is lost */
    BEFORE_SPLIT,       /* it counts */
    TWICE_BEFORE_SPLIT, /* the same, and its reply is lost */
    MAY_ARRIVE,         /* the request is lost, as far as its handle knows */
    FIRST_KINDS
};

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_table *late; /* under test */
    mcds_table *others;
    mcds_set *late_set;
    mcds_set *other_set;
    enum first first;
    bool is_armed; /* the next append is the first */
    uint32_t rows;
};

static mcds_bytes name_of(uint32_t number)
{
    static char name[24];
    (void)snprintf(name, sizeof name, "row-%u", (unsigned)number);
    return mcds_text(name);
}

static void others_put(struct world *world, uint32_t count)
{
    char value[VALUE_LENGTH] = "";
    for (uint32_t end = world->rows + count; world->rows < end; world->rows++) {
        mcds_bytes name = name_of(world->rows);
        memcpy(value, name.data, name.length);
        mcds_bytes long_name = {value, sizeof value};
        assert_int_equal(mcds_table_put(world->others, name, long_name, 0), MCDS_OK);
        assert_int_equal(mcds_set_add(world->other_set, long_name, NULL), MCDS_OK);
    }
}

/* Lose each key that takes records. Keys that have been split stay. */
static bool lose(void *context, mcds_bytes key)
{
    struct world *world = context;
    mcds_request request = {.command = MCDS_GET, .options = MCDS_NO_VALUE, .key = key};
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    mcds__backend_memory.submit(world->backend.inner, &batch);
    if (mcds__map_state_of(request.reply.flags) != MCDS__MAP_OPEN)
        return true;
    request.command = MCDS_DELETE;
    mcds__backend_memory.submit(world->backend.inner, &batch);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
    return true;
}

static void lose_parts(struct world *world)
{
    assert_int_equal(
        mcds__backend_memory.keys(world->backend.inner, (mcds_bytes){"", 0}, lose, world),
        MCDS_OK);
}

static bool play_first(void *context, mcds_request *request)
{
    struct world *world = context;
    if (request->command != MCDS_APPEND || !world->is_armed)
        return false;
    mcds_batch batch = *world->backend.batch;
    world->is_armed = false;
    bool is_before = world->first == BEFORE_SPLIT || world->first == TWICE_BEFORE_SPLIT;
    if (!is_before)
        others_put(world, world->rows == 0 ? ROWS : LATER_ROWS);
    if (world->first != MAY_ARRIVE)
        mcds__backend_memory.submit(world->backend.inner, &batch);
    if (is_before)
        others_put(world, world->rows == 0 ? ROWS : LATER_ROWS);
    if (world->first != AFTER_SPLIT && world->first != BEFORE_SPLIT)
        request->reply.outcome = MCDS_OUT_UNKNOWN;
    lose_parts(world);
    return true;
}

static void begin(struct world *world, uint32_t features, enum first first, uint32_t rows)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1 + (uint64_t)first);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = play_first;
    world->backend.context = world;
    world->backend.features = features;
    world->first = first;
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &world->late), MCDS_OK);
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &world->others), MCDS_OK);
    assert_int_equal(mcds_set_open(world->store, "s", NULL, &world->late_set), MCDS_OK);
    assert_int_equal(mcds_set_open(world->store, "s", NULL, &world->other_set), MCDS_OK);
    others_put(world, rows);
    assert_int_equal(mcds_table_put(world->late, mcds_text(ITEM), mcds_text("v"), 0), MCDS_OK);
    assert_int_equal(mcds_set_add(world->late_set, mcds_text(ITEM), NULL), MCDS_OK);
}

static void end(struct world *world)
{
    mcds_table_close(world->late);
    mcds_table_close(world->others);
    mcds_set_close(world->late_set);
    mcds_set_close(world->other_set);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

/* Only a record that is certainly void is LOST. Where the append shows the state, the key was open. */
static bool is_expected(int result, uint32_t features, enum first first)
{
    if (first == AFTER_SPLIT || first == TWICE_AFTER_SPLIT)
        return result == MCDS_LOST;
    return result == MCDS_AMBIGUOUS ||
           (result == MCDS_OK && first == BEFORE_SPLIT && features != 0);
}

static void play(uint32_t features, enum first first, uint32_t rows, bool is_set)
{
    static struct world world;
    begin(&world, features, first, rows);
    world.is_armed = true;
    int result = is_set ? mcds_set_remove(world.late_set, mcds_text(ITEM), NULL)
                        : mcds_table_put(world.late, mcds_text(ITEM), mcds_text("w"), 0);
    assert_false(world.is_armed);
    if (!is_expected(result, features, first))
        fail_msg("first append %d, %u rows: %s: %s", (int)first, (unsigned)rows,
                 mcds_result_name(result), mcds_errmsg());
    end(&world);
}

static void play_all(uint32_t features, uint32_t rows)
{
    for (int first = 0; first < FIRST_KINDS; first++) {
        play(features, (enum first)first, rows, false);
        play(features, (enum first)first, rows, true);
    }
}

static void of_the_first_key(void **state)
{
    (void)state;
    play_all(0, 0);
    play_all(MCDS_STATE_AFTER_APPEND, 0);
}

static void of_a_key_that_was_split_off(void **state)
{
    (void)state;
    play_all(0, MORE_ROWS);
    play_all(MCDS_STATE_AFTER_APPEND, MORE_ROWS);
}

/* A handle that knows nothing of the splits appends to the first key at most once. */
static void no_change_of_a_new_handle_is_in_doubt(void **state)
{
    static struct world world;
    (void)state;
    begin(&world, 0, AFTER_SPLIT, MORE_ROWS);
    lose_parts(&world);
    for (uint32_t i = 0; i < MORE_ROWS; i++) {
        assert_int_equal(mcds_table_put(world.late, name_of(i), mcds_text("w"), 0), MCDS_LOST);
        assert_int_equal(mcds_set_add(world.late_set, name_of(i), NULL), MCDS_LOST);
    }
    mcds_table_close(world.late);
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &world.late), MCDS_OK);
    for (uint32_t i = 0; i < MORE_ROWS; i++)
        assert_int_equal(mcds_table_put(world.late, name_of(i), mcds_text("w"), 0), MCDS_LOST);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_first_key),
        cmocka_unit_test(of_a_key_that_was_split_off),
        cmocka_unit_test(no_change_of_a_new_handle_is_in_doubt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
