/* Tables in a store that is full from some request on: reads need no space, a refused change
 * was not made, and no call waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

#define ROWS 60
#define MANY_ROWS 500   /* so many that one key cannot take them */
#define VALUE_LENGTH 90 /* so that the table splits after some twenty rows */
#define ALLOWED_MAX 45
#define WRITERS 12 /* a key remembers eight, whatever their clocks */
#define BEHIND_NS (INT64_C(1500) * 1000000000)

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_table *table;
    int results[MANY_ROWS];
    uint32_t seen[MANY_ROWS];
    uint32_t rows;
    uint32_t allowed; /* requests of those below, until the store is full */
    uint32_t refused; /* commands that a full store refuses, as bits */
    uint32_t some;    /* of these it refuses one in so many */
    uint32_t turn;
    bool is_late; /* the next append gets no reply, and others seal the key after it */
    mcds_table *others[WRITERS];
};

#define BIT(command) (UINT32_C(1) << (command))
#define REWRITES (BIT(MCDS_CAS) | BIT(MCDS_REPLACE))

/* What a full store refuses: all that takes room, or, as the sizes of values differ, some of it. */
static const struct {
    uint32_t commands;
    uint32_t some;
} kinds[] = {
    {BIT(MCDS_ADD) | BIT(MCDS_APPEND) | REWRITES, 1},
    {BIT(MCDS_ADD) | REWRITES, 1},
    {BIT(MCDS_ADD), 1},
    {REWRITES, 1},
    {BIT(MCDS_ADD), 3},
    {BIT(MCDS_ADD) | BIT(MCDS_APPEND) | REWRITES, 2},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static void others_seal(struct world *world);

static bool refuse_when_full(void *context, mcds_request *request)
{
    struct world *world = context;
    if (world->is_late && request->command == MCDS_APPEND) {
        world->is_late = false;
        mcds__backend_memory.submit(world->backend.inner, world->backend.batch);
        assert_int_equal(request->reply.outcome, MCDS_OUT_OK);
        request->reply.outcome = MCDS_OUT_UNKNOWN;
        others_seal(world);
        return true;
    }
    if ((BIT(request->command) & world->refused) == 0)
        return false;
    if (world->allowed > 0) {
        world->allowed--;
        return false;
    }
    if (world->turn++ % world->some != 0)
        return false;
    request->reply.outcome = MCDS_OUT_NO_MEMORY;
    static const mcds_reason no_room = {.cause = MCDS_CAUSE_STORE_FULL,
                                        .text = "there is no room left"};
    request->reply.detail = &no_room;
    return true;
}

static void begin(struct world *world, size_t kind, uint32_t allowed)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, allowed);
    options.env = &world->fake.env;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = refuse_when_full;
    world->backend.context = world;
    world->rows = ROWS;
    world->allowed = allowed;
    world->refused = kinds[kind].commands;
    world->some = kinds[kind].some;
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &world->table), MCDS_OK);
}

static void end(struct world *world)
{
    mcds_table_close(world->table);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static mcds_bytes key_of(uint32_t number)
{
    static char key[16];
    (void)snprintf(key, sizeof key, "key-%u", (unsigned)number);
    return mcds_text(key);
}

static int put(struct world *world, uint32_t number)
{
    static const char value[VALUE_LENGTH];
    return mcds_table_put(world->table, key_of(number), (mcds_bytes){value, sizeof value}, 0);
}

static bool note_row(void *context, mcds_bytes key, mcds_bytes value)
{
    struct world *world = context;
    unsigned number = world->rows;
    char text[16] = "";
    assert_int_equal(value.length, VALUE_LENGTH);
    assert_true(key.length < sizeof text);
    memcpy(text, key.data, key.length);
    assert_int_equal(sscanf(text, "key-%u", &number), 1);
    assert_true(number < world->rows);
    world->seen[number]++;
    return true;
}

/* By the handle that has written, and by one that knows nothing. */
static void check_rows(struct world *world, mcds_table *table)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    bool is_there = false;
    memset(world->seen, 0, sizeof world->seen);
    for (uint32_t i = 0; i < world->rows; i++)
        is_there = is_there || world->results[i] == MCDS_OK;
    int result = mcds_table_scan(table, &cursor, 0, note_row, world);
    assert_true(result == MCDS_OK || (!is_there && result == MCDS_NOT_FOUND));
    for (uint32_t i = 0; i < world->rows; i++) {
        bool is_in = world->results[i] == MCDS_OK;
        assert_int_equal(world->seen[i], is_in);
        assert_int_equal(mcds_table_has(table, key_of(i)), is_in ? MCDS_OK : MCDS_NOT_FOUND);
    }
}

static void check_all_rows(struct world *world)
{
    mcds_table *other;
    check_rows(world, world->table);
    assert_int_equal(mcds_table_open(world->store, "t", NULL, &other), MCDS_OK);
    check_rows(world, other);
    mcds_table_close(other);
}

static void put_all(struct world *world)
{
    for (uint32_t i = 0; i < world->rows; i++)
        world->results[i] = put(world, i);
}

/* Returns how many changes have been refused. */
static uint32_t play_full(struct world *world)
{
    uint32_t refused = 0;
    int64_t begin_ns = world->fake.monotonic_ns;
    for (uint32_t i = 0; i < world->rows; i++) {
        world->results[i] = put(world, i);
        if (world->results[i] == MCDS_OK)
            continue;
        refused++;
        assert_int_equal(world->results[i], MCDS_FULL);
        assert_non_null(strstr(mcds_errmsg(), "no room left"));
    }
    check_all_rows(world);
    assert_int_equal(world->fake.monotonic_ns, begin_ns);
    return refused;
}

static void what_was_acknowledged_is_read_and_what_was_refused_is_not(void **state)
{
    static struct world world;
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        uint32_t refused = 0;
        for (uint32_t allowed = 0; allowed < ALLOWED_MAX; allowed++) {
            begin(&world, kind, allowed);
            refused += play_full(&world);
            end(&world);
        }
        assert_true(refused > 0 || kinds[kind].commands == REWRITES);
    }
}

/* Where nothing can be rewritten, keys take what fits into them. */
static void keys_that_cannot_be_rewritten_are_read(void **state)
{
    static struct world world;
    (void)state;
    for (size_t kind = 1; kind < KINDS; kind++) {
        begin(&world, kind, 1);
        world.rows = MANY_ROWS;
        (void)play_full(&world);
        end(&world);
    }
}

static void with_room_again_all_goes_on(void **state)
{
    static struct world world;
    (void)state;
    for (uint32_t i = 0; i < KINDS * ALLOWED_MAX; i++) {
        begin(&world, i % KINDS, i / KINDS);
        put_all(&world);
        world.allowed = UINT32_MAX;
        for (uint32_t row = 0; row < ROWS; row++)
            if (world.results[row] != MCDS_OK)
                world.results[row] = put(&world, row);
        for (uint32_t row = 0; row < ROWS; row++)
            assert_int_equal(world.results[row], MCDS_OK);
        check_all_rows(&world);
        end(&world);
    }
}

static void a_full_store_can_be_emptied(void **state)
{
    static struct world world;
    (void)state;
    for (uint32_t i = KINDS; i < KINDS * ALLOWED_MAX; i++) {
        begin(&world, i % KINDS, i / KINDS);
        put_all(&world);
        int result = mcds_table_drop(world.table);
        assert_true(result == MCDS_OK || result == MCDS_NOT_FOUND);
        for (uint32_t row = 0; row < ROWS; row++)
            assert_int_equal(mcds_table_has(world.table, key_of(row)), MCDS_NOT_FOUND);
        end(&world);
    }
}

/* Another handle has sealed the key and could not make its children. This handle appends to the
 * sealed key, makes the children, and is refused by the child: its record counts nowhere. */
static void what_a_split_has_voided_is_refused(void **state)
{
    static struct world world;
    mcds_table *late;
    uint32_t row = 1;
    (void)state;
    begin(&world, 2, 2);
    assert_int_equal(put(&world, 0), MCDS_OK);
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &late), MCDS_OK);
    assert_int_equal(mcds_table_put(late, key_of(0), mcds_text("known"), 0), MCDS_OK);
    while (put(&world, row) == MCDS_OK)
        row++;
    world.refused = BIT(MCDS_APPEND);
    world.allowed = 1;
    assert_int_equal(mcds_table_put(late, key_of(row), mcds_text("late"), 0), MCDS_FULL);
    assert_int_equal(world.allowed, 0);
    assert_non_null(strstr(mcds_errmsg(), "no room left"));
    assert_int_equal(mcds_table_has(late, key_of(row)), MCDS_NOT_FOUND);
    mcds_table_close(late);
    end(&world);
}

/* They put rows until the key is sealed, which cannot be split: its children find no room. */
static void others_seal(struct world *world)
{
    uint32_t row = 1;
    world->fake.wall_ns += BEHIND_NS;
    world->refused = BIT(MCDS_ADD);
    world->allowed = 0;
    for (uint32_t i = 0; i < WRITERS; i++) {
        int result = mcds_table_put(world->others[i], key_of(0), mcds_text("known"), 0);
        assert_true(result == MCDS_OK || i > 0);
    }
    while (put(world, row) == MCDS_OK)
        row++;
    world->refused = 0;
}

/* The reply to a change is lost. Then other writers seal the key, with its row, and forget the
 * writer, whose clock is slow. It cannot know that its change counts, nor that it does not. */
static void what_a_split_has_forgotten_is_ambiguous(void **state)
{
    static struct world world;
    mcds_table *late;
    (void)state;
    begin(&world, 2, 2);
    assert_int_equal(put(&world, 0), MCDS_OK);
    assert_int_equal(mcds_table_open(world.store, "t", NULL, &late), MCDS_OK);
    assert_int_equal(mcds_table_has(late, key_of(0)), MCDS_OK);
    for (uint32_t i = 0; i < WRITERS; i++)
        assert_int_equal(mcds_table_open(world.store, "t", NULL, &world.others[i]), MCDS_OK);
    world.fake.wall_ns -= BEHIND_NS;
    world.is_late = true;
    assert_int_equal(mcds_table_put(late, key_of(MANY_ROWS), mcds_text("late"), 0),
                     MCDS_AMBIGUOUS);
    assert_false(world.is_late);
    assert_int_equal(mcds_table_has(late, key_of(MANY_ROWS)), MCDS_OK);
    for (uint32_t i = 0; i < WRITERS; i++)
        mcds_table_close(world.others[i]);
    mcds_table_close(late);
    end(&world);
}

/* The store refuses the first key of a table and takes its root. Before the root is erased,
 * another handle drops the table and makes it again. */
struct meeting {
    struct world world;
    mcds_table *other;
    bool is_met;
    bool is_refused; /* the first key was */
};

static bool meet(void *context, mcds_request *request)
{
    static const mcds_reason no_room = {.cause = MCDS_CAUSE_STORE_FULL,
                                        .text = "there is no room left"};
    struct meeting *meeting = context;
    if (request->command == MCDS_ADD && !meeting->is_refused) {
        meeting->is_refused = true;
        request->reply.outcome = MCDS_OUT_NO_MEMORY;
        request->reply.detail = &no_room;
        return true;
    }
    if (request->command != MCDS_DELETE || meeting->is_met)
        return false;
    meeting->is_met = true;
    assert_int_equal(mcds_table_drop(meeting->other), MCDS_OK);
    assert_int_equal(mcds_table_put(meeting->other, key_of(1), mcds_text("new"), 0), MCDS_OK);
    return false;
}

static void a_refused_making_leaves_what_others_make(void **state)
{
    static struct meeting meeting;
    (void)state;
    begin(&meeting.world, 0, UINT32_MAX);
    meeting.world.backend.hook = meet;
    meeting.world.backend.context = &meeting;
    assert_int_equal(mcds_table_open(meeting.world.store, "t", NULL, &meeting.other), MCDS_OK);
    assert_int_equal(put(&meeting.world, 0), MCDS_FULL);
    assert_true(meeting.is_refused && meeting.is_met);
    assert_int_equal(mcds_table_has(meeting.other, key_of(1)), MCDS_OK);
    assert_int_equal(mcds_table_has(meeting.world.table, key_of(1)), MCDS_OK);
    assert_int_equal(put(&meeting.world, 0), MCDS_OK);
    mcds_table_close(meeting.other);
    end(&meeting.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_acknowledged_is_read_and_what_was_refused_is_not),
        cmocka_unit_test(keys_that_cannot_be_rewritten_are_read),
        cmocka_unit_test(with_room_again_all_goes_on),
        cmocka_unit_test(a_full_store_can_be_emptied),
        cmocka_unit_test(what_a_split_has_voided_is_refused),
        cmocka_unit_test(what_a_split_has_forgotten_is_ambiguous),
        cmocka_unit_test(a_refused_making_leaves_what_others_make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
