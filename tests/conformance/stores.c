/* SET, ADD, REPLACE, APPEND, PREPEND, GET, DELETE, TOUCH: conditions, flags, values. */
#include "conformance/world.h"

#include <stdio.h>

static void set_stores_and_replaces(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("one"));
    EXPECT_VALUE(world, k, text("one"));
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("number two"));
    EXPECT_VALUE(world, k, text("number two"));
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("3"));
    EXPECT_VALUE(world, k, text("3"));
}

static void add_stores_only_what_is_missing(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_ADD, .key = k, .value = text("1"), .flags = 7);
    EXPECT(world, MCDS_OUT_NOT_STORED, .command = MCDS_ADD, .key = k, .value = text("2"));
    EXPECT_VALUE(world, k, text("1"));
    assert_int_equal(get_reply(world, k).flags, 7);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_DELETE, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_ADD, .key = k, .value = text("2"));
    EXPECT_VALUE(world, k, text("2"));
    assert_int_equal(get_reply(world, k).flags, 0);
}

static void replace_stores_only_what_is_there(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_NOT_STORED, .command = MCDS_REPLACE, .key = k, .value = text("1"));
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .flags = 5);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_REPLACE, .key = k, .value = text("2"));
    EXPECT_VALUE(world, k, text("2"));
    assert_int_equal(get_reply(world, k).flags, 0);
}

static void append_and_prepend_extend_what_is_there(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_NOT_STORED, .command = MCDS_APPEND, .key = k, .value = text("1"));
    EXPECT(world, MCDS_OUT_NOT_STORED, .command = MCDS_PREPEND, .key = k, .value = text("1"));
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("mid"),
           .flags = 0x12345678);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_APPEND, .key = k, .value = text("dle"),
           .flags = 1);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_PREPEND, .key = k, .value = text("the "),
           .flags = 2);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_APPEND, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_PREPEND, .key = k);
    EXPECT_VALUE(world, k, text("the middle"));
    assert_int_equal(get_reply(world, k).flags, 0x12345678);
}

static void delete_erases_once(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_DELETE, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_DELETE, .key = k);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_DELETE, .key = k);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
}

static void touch_finds_or_misses(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_TOUCH, .key = k, .ttl_ms = 60000);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("v"), .flags = 3);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_TOUCH, .key = k, .ttl_ms = 60000);
    EXPECT_VALUE(world, k, text("v"));
    assert_int_equal(get_reply(world, k).flags, 3);
}

static void an_empty_value_is_a_value(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .flags = 9);
    mcds_reply reply = get_reply(world, k);
    assert_int_equal(reply.value_length, 0);
    assert_int_equal(reply.flags, 9);
    EXPECT(world, MCDS_OUT_NOT_STORED, .command = MCDS_ADD, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_APPEND, .key = k, .value = text("x"));
    EXPECT_VALUE(world, k, text("x"));
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_REPLACE, .key = k);
    EXPECT_VALUE(world, k, text(""));
}

static void any_byte_may_stand_in_a_value(struct world *world)
{
    static const char nasty[] = "\r\nEND\r\nVALUE x 0 1\r\nHD\0\xff\x80 \r";
    mcds_bytes k = key(world, "k");
    mcds_bytes value = {nasty, sizeof nasty - 1};
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = value);
    EXPECT_VALUE(world, k, value);
    char all[512];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)i;
    value = (mcds_bytes){all, sizeof all};
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = value);
    EXPECT_VALUE(world, k, value);
    value.length = 256;
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_REPLACE, .key = k, .value = value);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_APPEND, .key = k, .value = value);
    value.length = 512;
    EXPECT_VALUE(world, k, value);
}

static void flags_are_32_bits(struct world *world)
{
    static const uint32_t flags[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff};
    mcds_bytes k = key(world, "k");
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .flags = flags[i]);
        assert_int_equal(get_reply(world, k).flags, flags[i]);
    }
}

static void the_longest_key_is_a_key(struct world *world)
{
    char longest[MCDS__KEY_MAX];
    char other[MCDS__KEY_MAX];
    memset(longest, '~', sizeof longest);
    memcpy(other, longest, sizeof other);
    other[MCDS__KEY_MAX - 1] = '!';
    mcds_bytes k = {longest, sizeof longest};
    mcds_bytes l = {other, sizeof other};
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("v"));
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = l);
    EXPECT_VALUE(world, k, text("v"));
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_INCR, .key = l, .options = MCDS_CREATE,
           .initial = 4);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_DELETE, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_DELETE, .key = l);
}

static void what_is_too_big_leaves_the_old_value(struct world *world)
{
    static const mcds_command stores[] = {MCDS_SET,    MCDS_ADD,     MCDS_REPLACE,
                                          MCDS_APPEND, MCDS_PREPEND, MCDS_SET};
    size_t length = (size_t)world->can.value_max + 1;
    char *large = calloc(1, length);
    assert_non_null(large);
    mcds_bytes k = key(world, "k");
    mcds_bytes missing = key(world, "missing");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("old"));
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        EXPECT(world, MCDS_OUT_TOO_BIG, .command = stores[i], .key = k,
               .value = {large, length});
        EXPECT(world, MCDS_OUT_TOO_BIG, .command = stores[i], .key = missing,
               .value = {large, length});
    }
    EXPECT_VALUE(world, k, text("old"));
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = missing);
    free(large);
}

static void the_largest_value_is_taken_and_no_more(struct world *world)
{
    size_t length = (size_t)world->can.value_max;
    char *large = malloc(length);
    assert_non_null(large);
    for (size_t i = 0; i < length; i++)
        large[i] = (char)(i * 31 >> 3);
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = {large, length});
    /* A kilobyte more, as the limit of a server lies a little above what we give it. */
    EXPECT(world, MCDS_OUT_NOT_STORED, .command = MCDS_APPEND, .key = k,
           .value = {large, 1024});
    EXPECT(world, MCDS_OUT_NOT_STORED, .command = MCDS_PREPEND, .key = k,
           .value = {large, 1024});
    mcds_request get = {.command = MCDS_GET, .key = k};
    assert_int_equal(run(world, &get), MCDS_OUT_OK);
    assert_int_equal(get.reply.value_length, length);
    assert_int_equal(memcmp(world->values.data + get.reply.value_at, large, length), 0);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_DELETE, .key = k);
    free(large);
}

static void values_may_be_left_behind(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("abc"), .flags = 6);
    mcds_request get = {.command = MCDS_GET, .key = k, .options = MCDS_NO_VALUE};
    assert_int_equal(run(world, &get), MCDS_OUT_OK);
    assert_int_equal(get.reply.flags, 6);
    assert_int_equal(get.reply.value_length, 3);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = key(world, "missing"),
           .options = MCDS_NO_VALUE);

    get = (mcds_request){.command = MCDS_GET, .key = k};
    mcds_batch batch = {.requests = &get, .count = 1};
    batch.deadline_ns = mcds__monotonic_ns(world->env) + 20 * NS_PER_S;
    mcds__store_execute(world->store, 0, &batch);
    assert_int_equal(get.reply.outcome, MCDS_OUT_OK);
    assert_int_equal(get.reply.value_length, 3);
}

static void stores_keep_to_their_own_key(struct world *world)
{
    mcds_bytes keys[100];
    char name[16];
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        keys[i] = key(world, name);
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = keys[i], .value = keys[i]);
    }
    for (int i = 0; i < 100; i += 2)
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_DELETE, .key = keys[i]);
    for (int i = 1; i < 100; i += 2)
        EXPECT_VALUE(world, keys[i], keys[i]);
}

static const struct conformance_case cases[] = {
    CASE(set_stores_and_replaces),
    CASE(add_stores_only_what_is_missing),
    CASE(replace_stores_only_what_is_there),
    CASE(append_and_prepend_extend_what_is_there),
    CASE(delete_erases_once),
    CASE(touch_finds_or_misses),
    CASE(an_empty_value_is_a_value),
    CASE(any_byte_may_stand_in_a_value),
    CASE(flags_are_32_bits),
    CASE_NEEDS(the_longest_key_is_a_key, create_on_increment),
    CASE(what_is_too_big_leaves_the_old_value),
    CASE(the_largest_value_is_taken_and_no_more),
    CASE(values_may_be_left_behind),
    CASE(stores_keep_to_their_own_key),
};
const struct conformance_suite suite_stores = {cases, sizeof cases / sizeof cases[0]};
