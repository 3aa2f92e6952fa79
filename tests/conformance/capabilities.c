/* Capabilities are true: a claimed one works, and a missing one is refused without effect. */
#include "conformance/world.h"

static void create_on_increment_is_honest(struct world *world)
{
    mcds_bytes k = key(world, "k");
    mcds_request create = {.command = MCDS_INCR,
                           .options = MCDS_CREATE,
                           .key = k,
                           .delta = 1,
                           .initial = 12,
                           .flags = 34};
    if (!world->can.create_on_increment) {
        assert_int_equal(run(world, &create), MCDS_OUT_MISS);
        EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
        assert_false(world->can.flags_on_create);
        return;
    }
    assert_int_equal(run(world, &create), MCDS_OUT_OK);
    assert_int_equal(create.reply.number, 12);
    assert_int_equal(get_reply(world, k).flags, world->can.flags_on_create ? 34 : 0);
}

static void create_on_append_is_honest(struct world *world)
{
    mcds_bytes k = key(world, "k");
    mcds_request create = {.command = MCDS_APPEND,
                           .options = MCDS_CREATE,
                           .key = k,
                           .value = text("value"),
                           .flags = 56};
    if (!world->can.create_on_append) {
        assert_int_equal(run(world, &create), MCDS_OUT_NOT_STORED);
        EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
        return;
    }
    assert_int_equal(run(world, &create), MCDS_OUT_OK);
    assert_int_equal(run(world, &create), MCDS_OUT_OK);
    EXPECT_VALUE(world, k, text("valuevalue"));
    assert_int_equal(get_reply(world, k).flags, 56);
}

static void compare_and_set_is_honest(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("old"));
    mcds_cas_token token = get_reply(world, k).cas;
    assert_int_equal(token.connection != 0, world->can.compare_and_set);
    if (!world->can.compare_and_set) {
        token = (mcds_cas_token){1, 1};
        mcds_request cas = {.command = MCDS_CAS, .key = k, .cas = token};
        mcds_outcome outcome = run(world, &cas);
        assert_true(outcome == MCDS_OUT_UNSUPPORTED || outcome == MCDS_OUT_EXISTS);
        EXPECT_VALUE(world, k, text("old"));
        return;
    }
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_CAS, .key = k, .cas = token);
    EXPECT(world, MCDS_OUT_EXISTS, .command = MCDS_CAS, .key = k, .cas = token);
}

static void compare_and_delete_is_honest(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("old"));
    mcds_cas_token token = get_reply(world, k).cas;
    if (world->can.compare_and_delete) {
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_DELETE, .key = k, .cas = token);
        EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
        return;
    }
    if (token.connection == 0)
        token = (mcds_cas_token){1, 1};
    mcds_request erase = {.command = MCDS_DELETE, .key = k, .cas = token};
    mcds_outcome outcome = run(world, &erase);
    assert_true(outcome == MCDS_OUT_UNSUPPORTED || outcome == MCDS_OUT_EXISTS);
    EXPECT_VALUE(world, k, text("old"));
}

static void cas_on_store_is_honest(struct world *world)
{
    mcds_bytes k = key(world, "k");
    mcds_request writes[] = {
        {.command = MCDS_SET, .key = k, .value = text("1")},
        {.command = MCDS_REPLACE, .key = k, .value = text("1")},
        {.command = MCDS_APPEND, .key = k, .value = text("1")},
        {.command = MCDS_INCR, .key = k, .delta = 1},
    };
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        assert_int_equal(run(world, &writes[i]), MCDS_OUT_OK);
        mcds_cas_token told = writes[i].reply.cas;
        mcds_cas_token seen = get_reply(world, k).cas;
        bool may_omit = writes[i].command == MCDS_INCR || writes[i].command == MCDS_APPEND;
        if (!may_omit)
            assert_int_equal(told.connection != 0, world->can.cas_on_store);
        if (told.connection == 0)
            continue;
        assert_int_equal(told.connection, seen.connection);
        assert_int_equal(told.unique, seen.unique);
    }
}

static void size_after_write_is_honest(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("abc"));
    mcds_request append = {.command = MCDS_APPEND, .key = k, .value = text("de")};
    assert_int_equal(run(world, &append), MCDS_OUT_OK);
    assert_int_equal(append.reply.value_length, world->can.size_after_write ? 5 : 0);
}

static void state_after_append_is_honest(struct world *world)
{
    mcds_bytes k = key(world, "k");
    bool shows = mcds__store_has(world->store, MCDS_STATE_AFTER_APPEND);
    mcds_request append = {.command = MCDS_APPEND, .key = k, .value = text("cde")};
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("ab"), .flags = 77);
    assert_int_equal(run(world, &append), MCDS_OUT_OK);
    assert_int_equal(append.reply.flags, shows ? 77 : 0);
    assert_true(!shows || append.reply.value_length == 5);
}

static void value_suppressed_is_honest(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("abc"));
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_GET, .key = k, .options = MCDS_NO_VALUE);
    if (world->can.value_suppressed)
        assert_int_equal(world->values.length, 0);
}

static void ttl_readable_is_honest(struct world *world)
{
    mcds_bytes k = key(world, "k");
    mcds_bytes forever = key(world, "forever");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .ttl_ms = 600000);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = forever);
    int64_t ttl_ms = get_reply(world, k).ttl_ms;
    int64_t forever_ms = get_reply(world, forever).ttl_ms;
    if (!world->can.ttl_readable) {
        assert_int_equal(ttl_ms, MCDS_TTL_UNKNOWN);
        assert_int_equal(forever_ms, MCDS_TTL_UNKNOWN);
        return;
    }
    assert_in_range(ttl_ms, 600000 - 60000 - world->can.ttl_early_ms, 600000);
    assert_int_equal(forever_ms, MCDS_TTL_NEVER);
}

static void expires_is_honest(struct world *world)
{
    if (world->can.expires)
        return; /* the cases of expiry have shown it */
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .ttl_ms = 1);
    (void)get_reply(world, k);
}

/* Only a store with a name or a file can be looked at again by its own URI. */
static void durable_is_honest(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("kept"));
    if (strncmp(world->uri, "memcached:", strlen("memcached:")) == 0) {
        assert_false(world->can.durable);
        return;
    }
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = world->env;
    mcds_close(world->store);
    assert_int_equal(mcds_open(world->uri, &options, &world->store), MCDS_OK);
    if (world->can.durable)
        EXPECT_VALUE(world, k, text("kept"));
    else if (strncmp(world->uri, "memory:", strlen("memory:")) == 0)
        EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
}

static void limits_make_sense(struct world *world)
{
    assert_true(world->can.value_max >= 1000);
    assert_true(!world->can.expires || world->can.ttl_unit_ms >= 1);
    assert_true(world->can.ttl_unit_ms <= 1000);
    assert_true(world->can.ttl_early_ms <= 2000);
    assert_true(!world->can.flags_on_create || world->can.create_on_increment);
    assert_true(!world->can.cas_on_store || world->can.compare_and_set);
}

static mcds_outcome run_copy(struct world *world, mcds_command command, mcds_bytes k,
                             uint32_t copy, mcds_bytes value)
{
    mcds_request request = {.command = command, .key = k, .copy = copy, .value = value};
    return run(world, &request);
}

static void copies_are_kept_apart(struct world *world)
{
    mcds_bytes k = key(world, "k");
    uint32_t places = world->can.places;
    assert_true(places >= 1);
    for (uint32_t i = 0; i < places; i++) {
        char digit = (char)('0' + i % 10);
        check_outcome(run_copy(world, MCDS_GET, k, i, text("")), MCDS_OUT_MISS, __FILE__,
                      __LINE__);
        check_outcome(run_copy(world, MCDS_SET, k, i, (mcds_bytes){&digit, 1}), MCDS_OUT_OK,
                      __FILE__, __LINE__);
    }
    for (uint32_t i = 0; i < places; i++) {
        check_outcome(run_copy(world, MCDS_GET, k, i, text("")), MCDS_OUT_OK, __FILE__,
                      __LINE__);
        assert_int_equal(world->values.length, 1);
        assert_int_equal(world->values.data[0], '0' + i % 10);
    }
    check_outcome(run_copy(world, MCDS_SET, k, places, text("x")), MCDS_OUT_BAD_REQUEST,
                  __FILE__, __LINE__);
}

static const struct conformance_case cases[] = {
    CASE(copies_are_kept_apart),
    CASE(create_on_increment_is_honest),
    CASE(create_on_append_is_honest),
    CASE(compare_and_set_is_honest),
    CASE(compare_and_delete_is_honest),
    CASE(cas_on_store_is_honest),
    CASE(size_after_write_is_honest),
    CASE(state_after_append_is_honest),
    CASE(value_suppressed_is_honest),
    CASE(ttl_readable_is_honest),
    CASE(expires_is_honest),
    CASE(limits_make_sense),
    CASE(durable_is_honest),
};
const struct conformance_suite suite_capabilities = {cases, sizeof cases / sizeof cases[0]};
