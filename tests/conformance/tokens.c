/* CAS and compare-and-delete: what changes a token, and which tokens are refused. */
#include "conformance/world.h"

static mcds_cas_token token_of(struct world *world, mcds_bytes which)
{
    mcds_reply reply = get_reply(world, which);
    assert_true(reply.cas.connection != 0);
    return reply.cas;
}

static void cas_stores_over_what_was_read(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("1"), .flags = 5);
    mcds_cas_token token = token_of(world, k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_CAS, .key = k, .value = text("two"), .flags = 6,
           .cas = token);
    EXPECT_VALUE(world, k, text("two"));
    assert_int_equal(get_reply(world, k).flags, 6);
    EXPECT(world, MCDS_OUT_EXISTS, .command = MCDS_CAS, .key = k, .value = text("three"),
           .cas = token);
    EXPECT_VALUE(world, k, text("two"));
    token = token_of(world, k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_CAS, .key = k, .cas = token);
    EXPECT_VALUE(world, k, text(""));
}

static void cas_on_a_missing_key_misses(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k);
    mcds_cas_token token = token_of(world, k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_DELETE, .key = k);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_CAS, .key = k, .value = text("v"),
           .cas = token);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_ADD, .key = k, .value = text("again"));
    EXPECT(world, MCDS_OUT_EXISTS, .command = MCDS_CAS, .key = k, .value = text("v"),
           .cas = token);
    EXPECT_VALUE(world, k, text("again"));
}

static void writes_change_the_token_and_reads_do_not(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("1"));
    mcds_request writes[] = {
        {.command = MCDS_SET, .key = k, .value = text("1")},
        {.command = MCDS_REPLACE, .key = k, .value = text("1")},
        {.command = MCDS_APPEND, .key = k, .value = text("1")},
        {.command = MCDS_PREPEND, .key = k, .value = text("1")},
        {.command = MCDS_INCR, .key = k, .delta = 0},
        {.command = MCDS_DECR, .key = k, .delta = 1},
    };
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        mcds_cas_token before = token_of(world, k);
        assert_int_equal(run(world, &writes[i]), MCDS_OUT_OK);
        EXPECT(world, MCDS_OUT_EXISTS, .command = MCDS_CAS, .key = k, .value = text("lost"),
               .cas = before);
    }
    mcds_request others[] = {
        {.command = MCDS_TOUCH, .key = k, .ttl_ms = 600000},
        {.command = MCDS_ADD, .key = k, .value = text("no")},
        {.command = MCDS_GET, .key = k},
        {.command = MCDS_GET, .key = k, .options = MCDS_NO_VALUE},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        mcds_cas_token before = token_of(world, k);
        (void)run(world, &others[i]);
        EXPECT(world, MCDS_OUT_OK, .command = MCDS_CAS, .key = k, .value = text("7"),
               .cas = before);
    }
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("text"));
    mcds_cas_token before = token_of(world, k);
    EXPECT(world, MCDS_OUT_NOT_NUMERIC, .command = MCDS_INCR, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_CAS, .key = k, .cas = before);
}

static void a_token_of_another_connection_is_refused(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("v"));
    mcds_cas_token foreign = token_of(world, k);
    foreign.connection ^= UINT64_C(1) << 40;
    EXPECT(world, MCDS_OUT_EXISTS, .command = MCDS_CAS, .key = k, .value = text("w"),
           .cas = foreign);
    if (world->can.compare_and_delete)
        EXPECT(world, MCDS_OUT_EXISTS, .command = MCDS_DELETE, .key = k, .cas = foreign);
    EXPECT_VALUE(world, k, text("v"));
}

/* Two sessions at once: either they are one connection, or the token of one is foreign to the
 * other; and back on its own session it is good. */
static void a_token_belongs_to_its_session(struct world *world)
{
    struct mcds__session *sessions[2];
    mcds_cas_token tokens[2];
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("v"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mcds__session_take(world->store, 0, &sessions[i]), MCDS_OK);
        mcds_request get = {.command = MCDS_GET, .key = k};
        mcds_batch batch = {.requests = &get, .count = 1};
        batch.deadline_ns = mcds__monotonic_ns(world->env) + 20 * NS_PER_S;
        mcds__session_submit(sessions[i], &batch);
        assert_ptr_equal(mcds__session_collect(sessions[i], batch.deadline_ns), &batch);
        assert_int_equal(get.reply.outcome, MCDS_OUT_OK);
        tokens[i] = get.reply.cas;
    }
    mcds_request cas = {.command = MCDS_CAS, .key = k, .value = text("w"), .cas = tokens[0]};
    mcds_batch batch = {.requests = &cas, .count = 1};
    batch.deadline_ns = mcds__monotonic_ns(world->env) + 20 * NS_PER_S;
    bool is_same = tokens[0].connection == tokens[1].connection;
    mcds__session_submit(sessions[1], &batch);
    assert_ptr_equal(mcds__session_collect(sessions[1], batch.deadline_ns), &batch);
    assert_int_equal(cas.reply.outcome, is_same ? MCDS_OUT_OK : MCDS_OUT_EXISTS);
    mcds__session_give(world->store, sessions[0]);
    mcds__session_give(world->store, sessions[1]);
    /* The store finds the session that holds the connection, though another was idle last. */
    EXPECT(world, is_same ? MCDS_OUT_EXISTS : MCDS_OUT_OK, .command = MCDS_CAS, .key = k,
           .value = text("x"), .cas = tokens[0]);
}

#define NUMBER (UINT64_C(1) << 63)

static bool has_numbers(const struct world *world)
{
    return mcds__store_has(world->store, MCDS_CAS_NUMBERS);
}

static void stores_set_the_number(struct world *world)
{
    mcds_bytes k = key(world, "k");
    mcds_command stores[] = {MCDS_ADD, MCDS_SET, MCDS_REPLACE, MCDS_APPEND, MCDS_PREPEND};
    for (uint64_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        EXPECT(world, MCDS_OUT_OK, .command = stores[i], .key = k, .value = text("v"),
               .options = MCDS_SETS_CAS, .initial = NUMBER + i);
        uint64_t number = token_of(world, k).unique;
        assert_true(has_numbers(world) ? number == NUMBER + i : number < NUMBER);
    }
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_CAS, .key = k, .value = text("w"),
           .options = MCDS_SETS_CAS, .initial = NUMBER, .cas = token_of(world, k));
    uint64_t number = token_of(world, k).unique;
    assert_true(has_numbers(world) ? number == NUMBER : number < NUMBER);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_APPEND, .key = k);
    assert_true(token_of(world, k).unique < NUMBER);
}

static void append_compares_the_number(struct world *world)
{
    mcds_bytes k = key(world, "k");
    const mcds_cas_token open = {NUMBER + 5, MCDS_ANY_CONNECTION};
    mcds_request append = {.command = MCDS_APPEND,
                           .options = MCDS_SETS_CAS,
                           .key = k,
                           .value = text("cd"),
                           .initial = open.unique,
                           .cas = open};
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("ab"), .flags = 9,
           .options = MCDS_SETS_CAS, .initial = open.unique);
    if (!has_numbers(world)) { /* not even with the number that it has */
        append.cas = token_of(world, k);
        assert_int_equal(run(world, &append), MCDS_OUT_EXISTS);
        append.cas = open;
        assert_int_equal(run(world, &append), MCDS_OUT_EXISTS);
        EXPECT_VALUE(world, k, text("ab"));
        return;
    }
    for (size_t i = 2; i < 4; i++) { /* it leaves the number as it is */
        assert_int_equal(run(world, &append), MCDS_OUT_OK);
        assert_int_equal(append.reply.value_length, 2 * i);
    }
    append.cas.unique++;
    assert_int_equal(run(world, &append), MCDS_OUT_EXISTS);
    append.cas = open;
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_APPEND, .key = k); /* the store assigns one */
    assert_int_equal(run(world, &append), MCDS_OUT_EXISTS);
    append.cas = token_of(world, k);
    assert_int_equal(run(world, &append), MCDS_OUT_OK);
    assert_int_equal(run(world, &append), MCDS_OUT_EXISTS);
    EXPECT_VALUE(world, k, text("abcdcdcd"));
    assert_int_equal(get_reply(world, k).flags, 9);
    append.key = key(world, "missing");
    append.cas = open;
    assert_int_equal(run(world, &append), MCDS_OUT_NOT_STORED);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = append.key);
}

static void compare_and_delete(struct world *world)
{
    mcds_bytes k = key(world, "k");
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("1"));
    mcds_cas_token first = token_of(world, k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("2"));
    mcds_cas_token second = token_of(world, k);
    EXPECT(world, MCDS_OUT_EXISTS, .command = MCDS_DELETE, .key = k, .cas = first);
    EXPECT_VALUE(world, k, text("2"));
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_DELETE, .key = k, .cas = second);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_DELETE, .key = k, .cas = second);
    EXPECT(world, MCDS_OUT_MISS, .command = MCDS_GET, .key = k);
    /* Gone at once: the next ADD finds the place free. */
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_ADD, .key = k, .value = text("3"));
    EXPECT(world, MCDS_OUT_EXISTS, .command = MCDS_DELETE, .key = k, .cas = second);
    EXPECT_VALUE(world, k, text("3"));
}

static const struct conformance_case cases[] = {
    CASE_NEEDS(cas_stores_over_what_was_read, compare_and_set),
    CASE_NEEDS(cas_on_a_missing_key_misses, compare_and_set),
    CASE_NEEDS(writes_change_the_token_and_reads_do_not, compare_and_set),
    CASE_NEEDS(a_token_of_another_connection_is_refused, compare_and_set),
    CASE_NEEDS(a_token_belongs_to_its_session, compare_and_set),
    CASE_NEEDS(stores_set_the_number, compare_and_set),
    CASE_NEEDS(append_compares_the_number, compare_and_set),
    CASE_NEEDS(compare_and_delete, compare_and_delete),
};
const struct conformance_suite suite_tokens = {cases, sizeof cases / sizeof cases[0]};
