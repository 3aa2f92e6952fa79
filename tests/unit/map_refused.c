/* A change is appended to a key that others split meanwhile, and then the store is full: reading
 * the key decides whether the change was made. The store refuses at a chosen request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define ROWS 40       /* so many split the first key */
#define MORE_ROWS 800 /* and its children */
#define VALUE_LENGTH 240
#define ITEM "the-element-that-one-handle-removes"

/* What becomes of the first append of the handle under test. */
enum first {
    BEFORE_SPLIT,  /* it is in the key that is split after it, so it counts */
    AFTER_SPLIT,   /* it is in a key that was split before, so it is void */
    LOST_REPLY,    /* as BEFORE_SPLIT, and its reply is lost */
    LOST_REQUEST,  /* it may still arrive, as far as its handle knows */
    LATE_IN_PLACE, /* its reply is lost, and nothing splits the key */
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
    bool splits_again; /* others split the child at the first refusal */
    bool is_armed;     /* the next append is the first */
    bool is_full;
    bool is_silent; /* it refuses as memcached does that says NOT_STORED */
};

static const mcds_reason no_room = {.cause = MCDS_CAUSE_STORE_FULL,
                                    .text = "there is no room left"};

static mcds_bytes name_of(uint32_t number)
{
    static char name[24];
    (void)snprintf(name, sizeof name, "row-%u", (unsigned)number);
    return mcds_text(name);
}

/* They add rows until the key that holds ITEM is split. */
static void others_split(struct world *world, uint32_t rows)
{
    char value[VALUE_LENGTH] = "";
    for (uint32_t i = 0; i < rows; i++) {
        mcds_bytes name = name_of(i);
        memcpy(value, name.data, name.length);
        mcds_bytes long_name = {value, sizeof value};
        assert_int_equal(mcds_table_put(world->others, name, long_name, 0), MCDS_OK);
        assert_int_equal(mcds_set_add(world->other_set, long_name, NULL), MCDS_OK);
    }
}

static void send(struct world *world, mcds_batch *batch, mcds_request *request)
{
    mcds__backend_memory.submit(world->backend.inner, batch);
    assert_int_equal(request->reply.outcome, MCDS_OUT_OK);
}

/* The first append, and what others do before or after it. */
static void play_first(struct world *world, mcds_request *request)
{
    mcds_batch batch = *world->backend.batch;
    world->is_armed = false;
    if (world->first == AFTER_SPLIT)
        others_split(world, ROWS);
    if (world->first != LOST_REQUEST)
        send(world, &batch, request);
    if (world->first != AFTER_SPLIT && world->first != LATE_IN_PLACE)
        others_split(world, ROWS);
    if (world->first >= LOST_REPLY)
        request->reply.outcome = MCDS_OUT_UNKNOWN;
    world->is_full = true;
}

static bool refuse(void *context, mcds_request *request)
{
    struct world *world = context;
    if (request->command != MCDS_APPEND)
        return false;
    if (world->is_armed) {
        play_first(world, request);
        return true;
    }
    if (!world->is_full)
        return false;
    if (world->splits_again) {
        world->splits_again = world->is_full = false;
        others_split(world, MORE_ROWS);
        world->is_full = true;
    }
    request->reply.outcome = world->is_silent ? MCDS_OUT_NOT_STORED : MCDS_OUT_NO_MEMORY;
    request->reply.detail = world->is_silent ? NULL : &no_room;
    return true;
}

static void begin(struct world *world, enum first first)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1 + (uint64_t)first);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = refuse;
    world->backend.context = world;
    world->first = first;
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &world->late), MCDS_OK);
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &world->others), MCDS_OK);
    assert_int_equal(mcds_set_open(world->store, "s", NULL, &world->late_set), MCDS_OK);
    assert_int_equal(mcds_set_open(world->store, "s", NULL, &world->other_set), MCDS_OK);
    assert_int_equal(mcds_table_put(world->late, mcds_text(ITEM), mcds_text("v"), 0), MCDS_OK);
    assert_int_equal(mcds_set_add(world->late_set, mcds_text(ITEM), NULL), MCDS_OK);
    assert_int_equal(mcds_table_has(world->others, mcds_text(ITEM)), MCDS_OK);
    assert_int_equal(mcds_set_has(world->other_set, mcds_text(ITEM)), MCDS_OK);
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

/* Only a record that may still arrive is in doubt. */
static int expected(enum first first)
{
    if (first == LOST_REQUEST)
        return MCDS_AMBIGUOUS;
    return first == AFTER_SPLIT ? MCDS_FULL : MCDS_OK;
}

static void check(struct world *world, bool is_set, int result, bool changed)
{
    bool is_made = expected(world->first) == MCDS_OK;
    assert_false(world->is_armed || world->splits_again);
    if (result != expected(world->first))
        fail_msg("first append %d: %s: %s", (int)world->first, mcds_result_name(result),
                 mcds_errmsg());
    if (result == MCDS_OK)
        assert_true(changed);
    if (result == MCDS_FULL && !world->is_silent)
        assert_non_null(strstr(mcds_errmsg(), "no room left"));
    int has = is_set ? mcds_set_has(world->other_set, mcds_text(ITEM))
                     : mcds_table_has(world->others, mcds_text(ITEM));
    assert_int_equal(has, is_made ? MCDS_NOT_FOUND : MCDS_OK);
}

/* Removes the element whose first append is as `first` says. Without a lost reply it never waits. */
static void play(enum first first, bool splits_again, bool is_silent, bool is_set)
{
    static struct world world;
    bool changed = false;
    begin(&world, first);
    world.is_armed = true;
    world.splits_again = splits_again;
    world.is_silent = is_silent;
    int64_t begin_ns = world.fake.monotonic_ns;
    int result = is_set ? mcds_set_remove(world.late_set, mcds_text(ITEM), &changed)
                        : mcds_table_remove(world.late, mcds_text(ITEM), &changed);
    check(&world, is_set, result, changed);
    assert_true(first >= LOST_REPLY || world.fake.monotonic_ns == begin_ns);
    end(&world);
}

static void play_all(bool splits_again, bool is_silent)
{
    for (int first = 0; first < FIRST_KINDS; first++) {
        play((enum first)first, splits_again, is_silent, false);
        play((enum first)first, splits_again, is_silent, true);
    }
}

static void what_is_refused_after_a_split_is_decided(void **state)
{
    (void)state;
    play_all(false, false);
}

/* The key that has refused the record is split before it is read: its child decides. */
static void what_is_refused_before_a_split_is_decided(void **state)
{
    (void)state;
    play_all(true, false);
}

/* memcached may answer NOT_STORED to an append for which it has no memory. */
static void what_is_not_stored_is_decided(void **state)
{
    (void)state;
    play_all(false, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused_after_a_split_is_decided),
        cmocka_unit_test(what_is_refused_before_a_split_is_decided),
        cmocka_unit_test(what_is_not_stored_is_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
