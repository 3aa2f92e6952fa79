/* The keyspace: memcached's semantics, command by command. */
#include "support/table_world.h"

static void conditions_of_stores(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    assert_int_equal(store(&world, MCDS_REPLACE, "k", "a"), MCDS_OUT_NOT_STORED);
    assert_int_equal(store(&world, MCDS_APPEND, "k", "a"), MCDS_OUT_NOT_STORED);
    assert_int_equal(store(&world, MCDS_PREPEND, "k", "a"), MCDS_OUT_NOT_STORED);
    assert_int_equal(get(&world, "k"), MCDS_OUT_MISS);
    assert_int_equal(store(&world, MCDS_ADD, "k", "a"), MCDS_OUT_OK);
    assert_int_equal(store(&world, MCDS_ADD, "k", "b"), MCDS_OUT_NOT_STORED);
    assert_value(&world, "k", "a");
    assert_int_equal(store(&world, MCDS_REPLACE, "k", "longer"), MCDS_OUT_OK);
    assert_int_equal(store(&world, MCDS_APPEND, "k", "Z"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.value_length, 7);
    assert_int_equal(store(&world, MCDS_PREPEND, "k", "12"), MCDS_OUT_OK);
    assert_value(&world, "k", "12longerZ");
    assert_int_equal(store(&world, MCDS_SET, "k", ""), MCDS_OUT_OK);
    assert_value(&world, "k", "");
    world_close(&world);
}

static void what_keeps_flags_and_ttl(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    mcds_request set = {
        .command = MCDS_SET, .key = text("k"), .value = text("1"), .flags = 77, .ttl_ms = 1000};
    assert_int_equal(run(&world, set), MCDS_OUT_OK);
    world.context.now_ms += 400;
    mcds_request keep[] = {
        {.command = MCDS_APPEND, .key = text("k"), .value = text("2"), .ttl_ms = 9, .flags = 1},
        {.command = MCDS_PREPEND,
         .key = text("k"),
         .value = text("3"),
         .ttl_ms = 9,
         .flags = 1},
        {.command = MCDS_INCR, .key = text("k"), .delta = 1, .ttl_ms = 9, .flags = 1},
        {.command = MCDS_DECR,
         .key = text("k"),
         .delta = 1,
         .ttl_ms = 9,
         .flags = 1,
         .options = MCDS_CREATE},
    };
    for (size_t i = 0; i < sizeof keep / sizeof keep[0]; i++) {
        assert_int_equal(run(&world, keep[i]), MCDS_OUT_OK);
        assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
        assert_int_equal(world.request.reply.flags, 77);
        assert_int_equal(world.request.reply.ttl_ms, 600);
    }
    mcds_request replace = {.command = MCDS_REPLACE, .key = text("k"), .value = text("v")};
    assert_int_equal(run(&world, replace), MCDS_OUT_OK);
    assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.flags, 0);
    assert_int_equal(world.request.reply.ttl_ms, MCDS_TTL_NEVER);
    mcds_request touch = {.command = MCDS_TOUCH, .key = text("k"), .ttl_ms = 50};
    uint64_t cas = world.request.reply.cas.unique;
    assert_int_equal(run(&world, touch), MCDS_OUT_OK);
    assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.ttl_ms, 50);
    assert_int_equal(world.request.reply.cas.unique, cas);
    world_close(&world);
}

static void an_item_lives_until_its_last_millisecond(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    mcds_request set = {.command = MCDS_SET, .key = text("k"), .ttl_ms = 1000};
    assert_int_equal(run(&world, set), MCDS_OUT_OK);
    world.context.now_ms += 999;
    assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.ttl_ms, 1);
    world.context.now_ms += 1;
    assert_int_equal(get(&world, "k"), MCDS_OUT_MISS);
    assert_int_equal(mcds__keyspace_count(world.table), 0);

    world.context.ttl_unit_ms = 1000;
    world.context.lag_ms = 1000;
    set.ttl_ms = 2001;
    assert_int_equal(run(&world, set), MCDS_OUT_OK);
    assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.ttl_ms, 3000);
    world.context.lag_ms = 0;
    assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.ttl_ms, 2000);
    world.context.lag_ms = 1000;
    set.ttl_ms = 1000;
    assert_int_equal(run(&world, set), MCDS_OUT_OK);
    assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.ttl_ms, 1000);
    world.context.now_ms += 1000;
    assert_int_equal(get(&world, "k"), MCDS_OUT_MISS);
    world_close(&world);
}

static void numbers_as_memcached_reads_them(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        mcds_command command;
        uint64_t delta;
        const char *after; /* NULL: not numeric */
        uint64_t number;
    } cases[] = {
        {"5", MCDS_INCR, 0, "5", 5},
        {"9", MCDS_INCR, 1, "10", 10},
        {"10", MCDS_DECR, 1, "9 ", 9},
        {"10", MCDS_DECR, 11, "0 ", 0},
        {"18446744073709551615", MCDS_INCR, 1, "0                   ", 0},
        {"18446744073709551615", MCDS_INCR, 3, "2                   ", 2},
        {"0018", MCDS_INCR, 1, "19  ", 19},
        {"000000000000000000000001", MCDS_INCR, 1, "2                       ", 2},
        {" \t5", MCDS_INCR, 1, "6  ", 6},
        {"+5", MCDS_INCR, 1, "6 ", 6},
        {"5 ab", MCDS_INCR, 1, "6   ", 6},
        {"1\n5", MCDS_INCR, 1, "2  ", 2},
        {"18446744073709551616", MCDS_INCR, 1, NULL, 0},
        {"99999999999999999999", MCDS_INCR, 1, NULL, 0},
        {"-1", MCDS_INCR, 1, NULL, 0},
        {"5ab", MCDS_INCR, 1, NULL, 0},
        {"", MCDS_INCR, 1, NULL, 0},
        {"  ", MCDS_DECR, 1, NULL, 0},
        {"+", MCDS_DECR, 1, NULL, 0},
        {"x", MCDS_DECR, 1, NULL, 0},
    };
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(store(&world, MCDS_SET, "k", cases[i].before), MCDS_OUT_OK);
        mcds_outcome outcome = count(&world, cases[i].command, "k", cases[i].delta);
        if (cases[i].after == NULL) {
            assert_int_equal(outcome, MCDS_OUT_NOT_NUMERIC);
            assert_value(&world, "k", cases[i].before);
            continue;
        }
        assert_int_equal(outcome, MCDS_OUT_OK);
        assert_int_equal(world.request.reply.number, cases[i].number);
        assert_value(&world, "k", cases[i].after);
    }
    assert_int_equal(store(&world, MCDS_SET, "n", ""), MCDS_OUT_OK);
    mcds_request zero = {.command = MCDS_SET, .key = text("n"), .value = {"5\0x", 3}};
    assert_int_equal(run(&world, zero), MCDS_OUT_OK);
    assert_int_equal(count(&world, MCDS_INCR, "n", 1), MCDS_OUT_OK);
    assert_value(&world, "n", "6  ");
    world_close(&world);
}

static void creation_on_increment_and_append(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    assert_int_equal(count(&world, MCDS_INCR, "k", 1), MCDS_OUT_MISS);
    mcds_request create = {.command = MCDS_INCR,
                           .options = MCDS_CREATE,
                           .key = text("k"),
                           .delta = 3,
                           .initial = 40,
                           .flags = 9,
                           .ttl_ms = 100};
    assert_int_equal(run(&world, create), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.number, 40);
    assert_int_equal(run(&world, create), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.number, 43);
    assert_value(&world, "k", "43");
    assert_int_equal(world.request.reply.flags, 9);
    assert_int_equal(world.request.reply.ttl_ms, 100);
    mcds_request append = {.command = MCDS_APPEND,
                           .options = MCDS_CREATE,
                           .key = text("a"),
                           .value = text("xy"),
                           .flags = 8};
    assert_int_equal(run(&world, append), MCDS_OUT_OK);
    assert_int_equal(run(&world, append), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.value_length, 4);
    assert_value(&world, "a", "xyxy");
    assert_int_equal(world.request.reply.flags, 8);
    append.command = MCDS_PREPEND;
    append.key = text("p");
    assert_int_equal(run(&world, append), MCDS_OUT_NOT_STORED);
    world_close(&world);

    world_open(&world, (struct mcds__keyspace_options){.no_flags_on_create = true,
                                                       .no_create_on_append = true});
    assert_int_equal(run(&world, create), MCDS_OUT_OK);
    assert_value(&world, "k", "40");
    assert_int_equal(world.request.reply.flags, 0);
    append.command = MCDS_APPEND;
    assert_int_equal(run(&world, append), MCDS_OUT_NOT_STORED);
    world_close(&world);
}

static void a_token_is_good_once_and_on_its_connection(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    assert_int_equal(store(&world, MCDS_SET, "k", "a"), MCDS_OUT_OK);
    mcds_cas_token token = world.request.reply.cas;
    assert_int_equal(token.connection, CONNECTION);
    mcds_request cas = {
        .command = MCDS_CAS, .key = text("k"), .value = text("b"), .cas = token};
    cas.cas.connection++;
    assert_int_equal(run(&world, cas), MCDS_OUT_EXISTS);
    cas.cas.connection--;
    assert_int_equal(run(&world, cas), MCDS_OUT_OK);
    mcds_cas_token newer = world.request.reply.cas;
    assert_true(newer.unique != token.unique);
    assert_int_equal(run(&world, cas), MCDS_OUT_EXISTS);
    assert_value(&world, "k", "b");

    mcds_request erase = {.command = MCDS_DELETE, .key = text("k"), .cas = token};
    assert_int_equal(run(&world, erase), MCDS_OUT_EXISTS);
    erase.cas = newer;
    assert_int_equal(run(&world, erase), MCDS_OUT_OK);
    assert_int_equal(run(&world, erase), MCDS_OUT_MISS);
    assert_int_equal(run(&world, cas), MCDS_OUT_MISS);
    /* Made again, the key refuses tokens of its former life. */
    assert_int_equal(store(&world, MCDS_ADD, "k", "c"), MCDS_OUT_OK);
    cas.cas = newer;
    assert_int_equal(run(&world, cas), MCDS_OUT_EXISTS);
    erase.cas = (mcds_cas_token){0, 0};
    assert_int_equal(run(&world, erase), MCDS_OUT_OK);
    world_close(&world);
}

static void what_does_not_fit_leaves_the_old_value(void **state)
{
    (void)state;
    struct world world;
    char large[12] = "01234567890";
    world_open(&world, (struct mcds__keyspace_options){.value_max = 10});
    static const mcds_command stores[] = {MCDS_SET,    MCDS_ADD,     MCDS_REPLACE,
                                          MCDS_APPEND, MCDS_PREPEND, MCDS_CAS};
    assert_int_equal(store(&world, MCDS_SET, "k", "12345"), MCDS_OUT_OK);
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++)
        assert_int_equal(store(&world, stores[i], "k", large), MCDS_OUT_TOO_BIG);
    assert_int_equal(store(&world, MCDS_APPEND, "k", "123456"), MCDS_OUT_NOT_STORED);
    assert_int_equal(store(&world, MCDS_PREPEND, "k", "123456"), MCDS_OUT_NOT_STORED);
    assert_value(&world, "k", "12345");
    assert_int_equal(store(&world, MCDS_APPEND, "k", "67890"), MCDS_OUT_OK);
    world_close(&world);
}

static void values_go_where_the_caller_wants_them(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, (struct mcds__keyspace_options){0});
    assert_int_equal(store(&world, MCDS_SET, "k", "abc"), MCDS_OUT_OK);
    mcds_request get_size = {.command = MCDS_GET, .key = text("k"), .options = MCDS_NO_VALUE};
    assert_int_equal(run(&world, get_size), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.value_length, 3);
    assert_int_equal(world.values.length, 0);
    world.context.values = NULL;
    assert_int_equal(get(&world, "k"), MCDS_OUT_OK);
    assert_int_equal(world.request.reply.value_length, 3);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_of_stores),
        cmocka_unit_test(what_keeps_flags_and_ttl),
        cmocka_unit_test(an_item_lives_until_its_last_millisecond),
        cmocka_unit_test(numbers_as_memcached_reads_them),
        cmocka_unit_test(creation_on_increment_and_append),
        cmocka_unit_test(a_token_is_good_once_and_on_its_connection),
        cmocka_unit_test(what_does_not_fit_leaves_the_old_value),
        cmocka_unit_test(values_go_where_the_caller_wants_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
