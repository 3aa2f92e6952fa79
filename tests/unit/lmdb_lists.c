/* The lmdb: backend and a list of batches whose first transaction fails. */
#include "support/lmdb_fixture.h"

#include "support/fake_env.h"

#define MIB ((size_t)1 << 20)
#define BIG (6 * MIB) /* two of them do not fit into the map that a file begins with */

static const char big_bytes[BIG];

static mcds_request get(const char *key)
{
    return (mcds_request){.command = MCDS_GET, .key = text(key)};
}

static mcds_request set_big(const char *key)
{
    return (mcds_request){.command = MCDS_SET, .key = text(key), .value = {big_bytes, BIG}};
}

/* All come back at once. */
static void submit(mcds_store *store, mcds_batch *batches, size_t count)
{
    struct mcds__session *session;
    size_t back = 0;
    for (size_t i = 0; i < count; i++)
        batches[i].next = i + 1 < count ? &batches[i + 1] : NULL;
    assert_int_equal(mcds__session_take(store, 0, &session), MCDS_OK);
    mcds__session_submit(session, batches);
    for (mcds_batch *list; (list = mcds__session_collect(session, 0)) != NULL;)
        for (; list != NULL; list = list->next)
            back++;
    assert_int_equal(back, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(batches[i].answered, batches[i].count);
    mcds__session_give(store, session);
}

static void assert_reply(const mcds_request *request, const mcds_buffer *values,
                         const char *expected)
{
    const mcds_reply *reply = &request->reply;
    assert_int_equal(reply->outcome, MCDS_OUT_OK);
    assert_int_equal(reply->value_length, strlen(expected));
    assert_true(reply->value_at + reply->value_length <= values->length);
    assert_memory_equal(values->data + reply->value_at, expected, reply->value_length);
}

/* What a transaction has appended is given up with it, and nothing else. */
static void values_stand_when_the_map_grows(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "", NULL);
    (void)put(store, MCDS_SET, "read", "one", 0);
    (void)put(store, MCDS_SET, "first", "three", 0);
    (void)put(store, MCDS_SET, "second", "seven", 0);
    mcds_request read = get("read");
    mcds_request first[] = {get("first"), set_big("a")};
    mcds_request second[] = {set_big("b"), get("second"), set_big("c")};
    mcds_buffer values;
    mcds__buffer_init(&values, mcds_env_system(), 4096);
    mcds_batch batches[] = {
        {.requests = first, .count = 2},
        {.requests = &read, .count = 1},
        {.requests = second, .count = 3},
    };
    for (size_t i = 0; i < 3; i++) {
        batches[i].values = &values;
        batches[i].deadline_ns = mcds__monotonic_ns(mcds_env_system()) + HOUR_NS;
    }
    submit(store, batches, 3);
    assert_reply(&read, &values, "one");
    assert_reply(&first[0], &values, "three");
    assert_reply(&second[1], &values, "seven");
    assert_int_equal(values.length, strlen("onethreeseven"));
    assert_int_equal(fetch(store, "c", NULL, 0).value_length, BIG);
    mcds__buffer_free(&values);
    mcds_close(store);
}

/* What came too late is told so, whatever becomes of the others of its list. */
static void what_is_late_stays_unsent(void **state)
{
    struct fixture *fixture = *state;
    mcds_store *store = open_store(fixture->file, "?map_max=8388608", NULL);
    mcds_request late = {.command = MCDS_SET, .key = text("late"), .value = text("v")};
    mcds_request small = {.command = MCDS_SET, .key = text("small"), .value = text("v")};
    mcds_request big[] = {set_big("a"), set_big("b")};
    mcds_batch batches[] = {
        {.requests = &late, .count = 1},
        {.requests = &small, .count = 1},
        {.requests = big, .count = 2},
    };
    for (size_t i = 1; i < 3; i++)
        batches[i].deadline_ns = mcds__monotonic_ns(mcds_env_system()) + HOUR_NS;
    submit(store, batches, 3);
    assert_int_equal(late.reply.outcome, MCDS_OUT_UNSENT);
    assert_int_equal(small.reply.outcome, MCDS_OUT_OK);
    assert_int_equal(big[0].reply.outcome, MCDS_OUT_OK);
    assert_int_equal(big[1].reply.outcome, MCDS_OUT_NO_MEMORY);
    assert_int_equal(fetch(store, "late", NULL, 0).outcome, MCDS_OUT_MISS);
    assert_value(store, "small", "v");
    mcds_close(store);
}

/* A clock that is one hour ahead after some readings. */
static mcds_env leaping;
static int readings_left;

static int64_t leaping_ns(void *context)
{
    (void)context;
    int64_t now_ns = mcds__monotonic_ns(mcds_env_system());
    return readings_left-- > 0 ? now_ns : now_ns + HOUR_NS;
}

/* The deadline of the first batch passes after so many readings of the clock. Returns its outcome. */
static mcds_outcome outcome_of_late(const struct fixture *fixture, int readings)
{
    readings_left = 0;
    mcds_store *store = open_store(fixture->file, "?sync=async", &leaping);
    int64_t now_ns = mcds__monotonic_ns(&leaping);
    mcds_request late = {.command = MCDS_SET, .key = text("late"), .value = text("v")};
    mcds_request big[] = {set_big("a"), set_big("b"), set_big("c")};
    mcds_batch batches[] = {
        {.requests = &late, .count = 1, .deadline_ns = now_ns - HOUR_NS / 2},
        {.requests = big, .count = 3, .deadline_ns = now_ns + HOUR_NS},
    };
    readings_left = readings;
    submit(store, batches, 2);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(big[i].reply.outcome, MCDS_OUT_OK);
    assert_int_equal(fetch(store, "late", NULL, 0).outcome,
                     late.reply.outcome == MCDS_OUT_OK ? MCDS_OUT_OK : MCDS_OUT_MISS);
    mcds_close(store);
    remove_files(fixture);
    return late.reply.outcome;
}

/* A batch that is late in a transaction stays so in the next one, for which the map has grown. */
static void what_is_late_stays_unsent_when_the_map_grows(void **state)
{
    int unsent = 0;
    leaping = *mcds_env_system();
    leaping.monotonic_ns = leaping_ns;
    for (int readings = 0; readings < 8; readings++) {
        mcds_outcome outcome = outcome_of_late(*state, readings);
        assert_true(outcome == MCDS_OUT_UNSENT || outcome == MCDS_OUT_OK);
        unsent += outcome == MCDS_OUT_UNSENT;
    }
    assert_in_range(unsent, 2, 7); /* before the transaction, in it, and not at all */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_stand_when_the_map_grows),
        TEST(what_is_late_stays_unsent),
        TEST(what_is_late_stays_unsent_when_the_map_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
