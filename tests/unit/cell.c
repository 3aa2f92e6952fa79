/* Cells: numbers in memory that are added to without a lock, while other threads use the same
 * keys under the lock. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/environment.h"
#include "store/cell.h"
#include "store/store.h"
#include "support/table_world.h"

#define BIG "18446744073709551000"

static struct mcds__cell *open_cell(struct world *world, const char *key,
                                    const struct mcds__cell *cell)
{
    return mcds__keyspace_open_cell(world->table, text(key), mcds__hash(SEED, text(key)), cell,
                                    &world->cas_next);
}

static void release(struct world *world, const char *key)
{
    mcds__keyspace_release_cell(world->table, text(key), mcds__hash(SEED, text(key)),
                                &world->cas_next);
}

/* Add to an open cell. */
static void add(struct mcds__cell *cell, uint64_t delta, uint64_t after)
{
    uint64_t number;
    assert_true(mcds__cell_add(cell, delta, &number));
    assert_int_equal(number, after);
}

static void assert_closed(struct mcds__cell *cell)
{
    uint64_t number;
    uint32_t flags;
    assert_false(mcds__cell_add(cell, 1, &number));
    assert_false(mcds__cell_subtract(cell, 1, &number));
    assert_false(mcds__cell_read(cell, &number, &flags));
}

static void every_command_sees_what_was_added(void **state)
{
    (void)state;
    static const struct {
        mcds_command command;
        mcds_outcome outcome;
        const char *value;
    } rows[] = {
        {MCDS_GET, MCDS_OUT_OK, "105"},         {MCDS_SET, MCDS_OUT_OK, "3"},
        {MCDS_ADD, MCDS_OUT_NOT_STORED, "105"}, {MCDS_REPLACE, MCDS_OUT_OK, "3"},
        {MCDS_CAS, MCDS_OUT_EXISTS, "105"},     {MCDS_APPEND, MCDS_OUT_OK, "1053"},
        {MCDS_PREPEND, MCDS_OUT_OK, "3105"},    {MCDS_INCR, MCDS_OUT_OK, "107"},
        {MCDS_DECR, MCDS_OUT_OK, "103"},        {MCDS_TOUCH, MCDS_OUT_OK, "105"},
        {MCDS_DELETE, MCDS_OUT_OK, NULL},
    };
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(store(&world, MCDS_SET, "n", "98"), MCDS_OUT_OK);
        mcds_cas_token before = world.request.reply.cas;
        struct mcds__cell *cell = open_cell(&world, "n", NULL);
        add(cell, 7, 105);
        assert_int_equal(run(&world, (mcds_request){.command = rows[i].command,
                                                    .key = text("n"),
                                                    .value = text("3"),
                                                    .delta = 2,
                                                    .ttl_ms = 9,
                                                    .cas = rows[i].command == MCDS_CAS
                                                               ? before
                                                               : (mcds_cas_token){0}}),
                         rows[i].outcome);
        assert_closed(cell);
        if (rows[i].value != NULL)
            assert_value(&world, "n", rows[i].value);
        else
            assert_int_equal(get(&world, "n"), MCDS_OUT_MISS);
        release(&world, "n");
        if (rows[i].value != NULL)
            assert_value(&world, "n", rows[i].value);
    }
    world_close(&world);
}

static void counts_as_the_commands_do(void **state)
{
    (void)state;
    uint64_t number;
    uint32_t flags;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    mcds_request set = {
        .command = MCDS_SET, .key = text("n"), .value = text("1000"), .flags = 77};
    assert_int_equal(run(&world, set), MCDS_OUT_OK);
    struct mcds__cell *cell = open_cell(&world, "n", NULL);
    assert_true(mcds__cell_read(cell, &number, &flags));
    assert_int_equal(number, 1000);
    assert_int_equal(flags, 77);
    assert_true(mcds__cell_subtract(cell, 1, &number));
    assert_int_equal(number, 999);
    /* DECR leaves a value as long as it was. */
    assert_value(&world, "n", "999 ");
    cell = open_cell(&world, "n", cell);
    assert_false(mcds__cell_subtract(cell, 1000, &number));
    add(cell, 1, 1000);
    mcds_reply reply;
    mcds_bytes value;
    assert_true(mcds__keyspace_peek(world.table, text("n"), mcds__hash(SEED, text("n")),
                                    &world.context, &reply, &value));
    assert_int_equal(value.length, 4);
    assert_memory_equal(value.data, "1000", 4);
    assert_int_equal(reply.cas.unique, world.cas_next);
    cell = open_cell(&world, "n", cell);
    add(cell, MCDS__CELL_DELTA_MAX, MCDS__CELL_DELTA_MAX + 1000);
    assert_value(&world, "n", "2147484648");
    assert_int_equal(world.request.reply.flags, 77);
    release(&world, "n");
    world_close(&world);
}

static void only_numbers_that_stay_are_opened(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    assert_null(open_cell(&world, "n", NULL));
    assert_int_equal(store(&world, MCDS_SET, "n", "12x"), MCDS_OUT_OK);
    assert_null(open_cell(&world, "n", NULL));
    assert_int_equal(store(&world, MCDS_SET, "n", BIG), MCDS_OUT_OK);
    assert_null(open_cell(&world, "n", NULL));
    mcds_request set = {
        .command = MCDS_SET, .key = text("n"), .value = text("5"), .ttl_ms = 1000};
    assert_int_equal(run(&world, set), MCDS_OUT_OK);
    assert_null(open_cell(&world, "n", NULL));
    /* One that is held as well. */
    assert_int_equal(store(&world, MCDS_SET, "n", "5"), MCDS_OUT_OK);
    struct mcds__cell *cell = open_cell(&world, "n", NULL);
    assert_non_null(cell);
    assert_int_equal(run(&world, set), MCDS_OUT_OK);
    assert_null(open_cell(&world, "n", cell));
    assert_int_equal(store(&world, MCDS_SET, "n", BIG), MCDS_OUT_OK);
    assert_null(open_cell(&world, "n", cell));
    assert_int_equal(store(&world, MCDS_SET, "n", "x"), MCDS_OUT_OK);
    assert_null(open_cell(&world, "n", cell));
    assert_closed(cell);
    assert_int_equal(store(&world, MCDS_SET, "n", "6"), MCDS_OUT_OK);
    assert_ptr_equal(open_cell(&world, "n", cell), cell);
    add(cell, 1, 7);
    release(&world, "n");
    world_close(&world);
}

/* A number that would pass 2^63 is added to by the lock, which knows what then happens. */
static void closes_before_the_number_is_too_large(void **state)
{
    (void)state;
    struct world world;
    char digits[24];
    world_open(&world, (struct mcds__keyspace_options){0});
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)MCDS__CELL_OPEN_MAX);
    assert_int_equal(store(&world, MCDS_SET, "n", digits), MCDS_OUT_OK);
    struct mcds__cell *cell = open_cell(&world, "n", NULL);
    add(cell, 1, MCDS__CELL_OPEN_MAX + 1);
    assert_null(open_cell(&world, "n", cell));
    assert_closed(cell);
    assert_int_equal(count(&world, MCDS_INCR, "n", 1), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.number, MCDS__CELL_OPEN_MAX + 2);
    release(&world, "n");
    world_close(&world);
}

/* What falls on a closed cell does not add up to an open one. */
static void a_closed_cell_stays_closed(void **state)
{
    (void)state;
    uint64_t number;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    assert_int_equal(store(&world, MCDS_SET, "n", "1"), MCDS_OUT_OK);
    struct mcds__cell *cell = open_cell(&world, "n", NULL);
    assert_int_equal(store(&world, MCDS_SET, "n", "x"), MCDS_OUT_OK);
    for (int i = 0; i < 100000; i++)
        assert_false(mcds__cell_add(cell, MCDS__CELL_DELTA_MAX, &number));
    assert_null(open_cell(&world, "n", cell));
    assert_true(atomic_load(&cell->number) == MCDS__CELL_CLOSED ||
                atomic_load(&cell->number) < MCDS__CELL_CLOSED + MCDS__CELL_DELTA_MAX);
    assert_value(&world, "n", "x");
    release(&world, "n");
    world_close(&world);
}

/* The same cell for all holders of the key, in all its items. */
static void a_key_keeps_its_cell(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    assert_int_equal(store(&world, MCDS_SET, "n", "1"), MCDS_OUT_OK);
    struct mcds__cell *cell = open_cell(&world, "n", NULL);
    assert_ptr_equal(open_cell(&world, "n", NULL), cell);
    for (int i = 0; i < 3; i++) {
        add(cell, 1, 2);
        assert_int_equal(run(&world, (mcds_request){.command = MCDS_DELETE, .key = text("n")}),
                         MCDS_OUT_OK);
        assert_int_equal(run(&world, (mcds_request){.command = MCDS_DELETE, .key = text("n")}),
                         MCDS_OUT_MISS);
        assert_closed(cell);
        assert_null(open_cell(&world, "n", cell));
        assert_null(open_cell(&world, "n", NULL));
        assert_int_equal(get(&world, "n"), MCDS_OUT_MISS);
        assert_int_equal(count(&world, MCDS_INCR, "n", 1), MCDS_OUT_MISS);
        assert_int_equal(mcds__keyspace_count(world.table), 0);
        assert_int_equal(
            store(&world, MCDS_ADD, "n", i == 1 ? "000000000000000000000001" : "1"),
            MCDS_OUT_OK);
        assert_int_equal(world.request.reply.cas.unique, world.cas_next);
        assert_int_equal(get(&world, "n"), MCDS_OUT_OK);
        assert_int_equal(world.request.reply.ttl_ms, MCDS_TTL_NEVER);
        assert_int_equal(mcds__keyspace_count(world.table), 1);
        if (i == 1)
            assert_int_equal(store(&world, MCDS_SET, "n", "1"), MCDS_OUT_OK);
        assert_ptr_equal(open_cell(&world, "n", cell), cell);
    }
    release(&world, "n");
    add(cell, 1, 2);
    assert_true(mcds__keyspace_evict(world.table, text("n"), mcds__hash(SEED, text("n"))));
    assert_closed(cell);
    assert_int_equal(store(&world, MCDS_SET, "n", "2"), MCDS_OUT_OK);
    release(&world, "n");
    assert_value(&world, "n", "2");
    /* An item that nobody holds is as it was before. */
    uint64_t bytes = mcds__keyspace_bytes(world.table);
    assert_int_equal(run(&world, (mcds_request){.command = MCDS_DELETE, .key = text("n")}),
                     MCDS_OUT_OK);
    assert_int_equal(mcds__keyspace_bytes(world.table), 0);
    assert_int_equal(store(&world, MCDS_SET, "n", "2"), MCDS_OUT_OK);
    assert_int_equal(mcds__keyspace_bytes(world.table), bytes);
    world_close(&world);
}

static void what_is_held_may_be_gone_when_it_is_released(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    assert_int_equal(store(&world, MCDS_SET, "n", "1"), MCDS_OUT_OK);
    assert_int_equal(store(&world, MCDS_SET, "other", "1"), MCDS_OUT_OK);
    (void)open_cell(&world, "n", NULL);
    assert_int_equal(
        run(&world, (mcds_request){.command = MCDS_TOUCH, .key = text("n"), .ttl_ms = 10}),
        MCDS_OUT_OK);
    world.context.now_ms += 10;
    /* Writes sweep what has expired. */
    for (int i = 0; i < 64; i++)
        assert_int_equal(store(&world, MCDS_SET, "other", "2"), MCDS_OUT_OK);
    assert_int_equal(mcds__keyspace_count(world.table), 1);
    release(&world, "n");
    assert_int_equal(get(&world, "n"), MCDS_OUT_MISS);
    assert_int_equal(mcds__keyspace_count(world.table), 1);
    mcds_request drop = {.command = MCDS_DELETE, .key = text("other")};
    assert_int_equal(run(&world, drop), MCDS_OUT_OK);
    assert_int_equal(mcds__keyspace_bytes(world.table), 0);
    world_close(&world);
}

static void without_memory_there_is_no_cell(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    assert_int_equal(store(&world, MCDS_SET, "n", "1"), MCDS_OUT_OK);
    uint64_t bytes = mcds__keyspace_bytes(world.table);
    for (int allowed = 0; allowed < 2; allowed++) {
        world.fake.allowed = allowed;
        assert_null(open_cell(&world, "n", NULL));
        assert_int_equal(mcds__keyspace_bytes(world.table), bytes);
    }
    world.fake.allowed = -1;
    struct mcds__cell *cell = open_cell(&world, "n", NULL);
    /* The sum is reported even where there is no memory. */
    for (int i = 0; i < 8; i++)
        add(cell, MCDS__CELL_DELTA_MAX, 1 + (uint64_t)(i + 1) * MCDS__CELL_DELTA_MAX);
    world.fake.allowed = 0;
    mcds_request look = {.command = MCDS_INCR, .key = text("n"), .delta = 0};
    assert_int_equal(run(&world, look), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.number, 1 + 8 * MCDS__CELL_DELTA_MAX);
    release(&world, "n");
    world.fake.allowed = -1;
    assert_value(&world, "n", "17179869185");
    world_close(&world);
}

#define ROUNDS 60000

/* Two threads add, and one takes the number and puts back one more: each number from 1 on is the
 * answer to one of them. */
struct crowd {
    mcds_store *store;
    atomic_uint running;
    uint32_t limit;
    atomic_uchar *seen; /* by number */
};

static void note(struct crowd *crowd, uint64_t number)
{
    assert_true(number < crowd->limit);
    assert_int_equal(atomic_fetch_add(&crowd->seen[number], 1), 0);
}

static void *adder(void *context)
{
    struct crowd *crowd = context;
    uint64_t number;
    struct mcds__cell *cell = NULL;
    while ((cell = mcds__store_open_cell(crowd->store, text("n"), NULL)) == NULL)
        continue;
    for (uint32_t i = 0; i < ROUNDS;) {
        if (mcds__cell_add(cell, 1, &number)) {
            note(crowd, number);
            i++;
        } else {
            assert_non_null(mcds__store_open_cell(crowd->store, text("n"), cell));
        }
    }
    mcds__store_release_cell(crowd->store, text("n"));
    atomic_fetch_sub(&crowd->running, 1);
    return NULL;
}

static void put_back_one_more(struct crowd *crowd, mcds_buffer *values)
{
    char digits[24];
    mcds_request request = {.command = MCDS_GET, .key = text("n")};
    mcds_batch batch = {
        .requests = &request, .count = 1, .deadline_ns = INT64_MAX, .values = values};
    values->length = 0;
    mcds__store_execute(crowd->store, 0, &batch);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
    (void)snprintf(digits, sizeof digits, "%.*s", (int)values->length,
                   (const char *)values->data);
    uint64_t number = strtoull(digits, NULL, 10) + 1;
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    request = (mcds_request){
        .command = MCDS_CAS, .key = text("n"), .value = text(digits), .cas = request.reply.cas};
    mcds__store_execute(crowd->store, 0, &batch);
    if (request.reply.outcome == MCDS_OUT_OK)
        note(crowd, number);
    else
        assert_int_equal(request.reply.outcome, MCDS_OUT_EXISTS);
}

static void *meddler(void *context)
{
    struct crowd *crowd = context;
    mcds_buffer values;
    mcds__buffer_init(&values, mcds_env_system(), 1000);
    for (uint32_t i = 0; i < ROUNDS && atomic_load(&crowd->running) > 0; i++)
        put_back_one_more(crowd, &values);
    mcds__buffer_free(&values);
    return NULL;
}

static void no_addition_is_lost_or_counted_twice(void **state)
{
    (void)state;
    pthread_t threads[3];
    struct crowd crowd = {.running = 2, .limit = 3 * ROUNDS + 1};
    crowd.seen = calloc(crowd.limit, sizeof crowd.seen[0]);
    assert_non_null(crowd.seen);
    assert_int_equal(mcds_open("memory:", NULL, &crowd.store), MCDS_OK);
    mcds_request set = {.command = MCDS_SET, .key = text("n"), .value = text("0")};
    mcds_batch batch = {.requests = &set, .count = 1, .deadline_ns = INT64_MAX};
    mcds__store_execute(crowd.store, 0, &batch);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < 2 ? adder : meddler, &crowd), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    uint32_t last = crowd.limit - 1;
    while (last > 0 && atomic_load(&crowd.seen[last]) == 0)
        last--;
    assert_true(last >= 2 * ROUNDS);
    for (uint32_t i = 1; i <= last; i++)
        assert_int_equal(atomic_load(&crowd.seen[i]), 1);
    mcds_close(crowd.store);
    free(crowd.seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_sees_what_was_added),
        cmocka_unit_test(counts_as_the_commands_do),
        cmocka_unit_test(only_numbers_that_stay_are_opened),
        cmocka_unit_test(closes_before_the_number_is_too_large),
        cmocka_unit_test(a_closed_cell_stays_closed),
        cmocka_unit_test(a_key_keeps_its_cell),
        cmocka_unit_test(what_is_held_may_be_gone_when_it_is_released),
        cmocka_unit_test(without_memory_there_is_no_cell),
        cmocka_unit_test(no_addition_is_lost_or_counted_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
