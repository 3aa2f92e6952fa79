/* The memcached backend and a peer whose replies are out of step with the requests: one too
 * many, one too few, two exchanged. No caller gets the reply to another request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "store/store.h"
#include "support/fake_server.h"

#define PATIENCE_MS 10000
#define OUT_OF_STEP "the server's replies do not match the requests"

static mcds_request request_of(mcds_command command, const char *key, const char *value)
{
    return (mcds_request){.command = command,
                          .delta = 1,
                          .key = {key, strlen(key)},
                          .value = {value, strlen(value)}};
}

static mcds_store *open_store(const struct fake_server *server)
{
    mcds_store *store = NULL;
    assert_int_equal(mcds_open(fake_server_uri(server), NULL, &store), MCDS_OK);
    return store;
}

/* Send the requests at once, in this order, over one connection. */
static void ask(mcds_store *store, mcds_request *requests, uint32_t count)
{
    mcds_batch batch = {.requests = requests, .count = count, .independent = true};
    for (uint32_t i = 0; i < count; i++)
        requests[i].route = (mcds_bytes){"r", 1};
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + PATIENCE_MS * NS_PER_MS;
    mcds__store_execute(store, 0, &batch);
}

/* Three requests of one command for a, b and c, answered by the script; outcomes as given. */
static void play(mcds_command command, const struct fake_step *steps,
                 const mcds_outcome outcomes[3])
{
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_request requests[] = {request_of(command, "a", "1"), request_of(command, "b", "2"),
                               request_of(command, "c", "3")};
    ask(store, requests, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(requests[i].reply.outcome, outcomes[i]);
        if (outcomes[i] == MCDS_OUT_UNKNOWN)
            assert_non_null(strstr(requests[i].reply.detail->text, "repl"));
    }
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

#define SCRIPT(command, replies)                                                               \
    {                                                                                          \
        {FAKE_PROBED, NULL}, {FAKE_EXPECT, command " c"}, {FAKE_SEND, replies},                \
            {FAKE_STALL, NULL}, {FAKE_END, NULL},                                              \
    }

static void a_reply_too_many(void **state)
{
    (void)state;
    static const mcds_outcome one[] = {MCDS_OUT_OK, MCDS_OUT_UNKNOWN, MCDS_OUT_UNKNOWN};
    static const mcds_outcome none[] = {MCDS_OUT_UNKNOWN, MCDS_OUT_UNKNOWN, MCDS_OUT_UNKNOWN};
    static const mcds_outcome all[] = {MCDS_OUT_OK, MCDS_OUT_OK, MCDS_OUT_OK};
    static const struct fake_step repeated[] = SCRIPT("mg", "VA 1 f0 c1 O#1\r\na\r\n"
                                                            "VA 1 f0 c1 O#1\r\na\r\n"
                                                            "VA 1 f0 c1 O#2\r\nb\r\n"
                                                            "VA 1 f0 c1 O#3\r\nc\r\n");
    static const struct fake_step foreign[] = SCRIPT("ma", "VA 1 Oxy\r\n9\r\n"
                                                           "VA 1 O#1\r\n5\r\n"
                                                           "VA 1 O#2\r\n5\r\n"
                                                           "VA 1 O#3\r\n5\r\n");
    static const struct fake_step bare[] = SCRIPT("mg", "EN\r\nEN O#1\r\nEN O#2\r\nEN O#3\r\n");
    static const struct fake_step right[] = SCRIPT("ms",
                                                   "HD c1 O#1\r\nHD c2 O#2\r\nHD c3 O#3\r\n");
    play(MCDS_GET, repeated, one);
    play(MCDS_INCR, foreign, none);
    play(MCDS_GET, bare, none);
    play(MCDS_SET, right, all);
}

static void a_reply_too_few(void **state)
{
    (void)state;
    static const mcds_outcome one[] = {MCDS_OUT_OK, MCDS_OUT_UNKNOWN, MCDS_OUT_UNKNOWN};
    static const struct fake_step steps[] = SCRIPT("ms", "HD c1 O#1\r\nHD c3 O#3\r\n");
    play(MCDS_ADD, steps, one);
}

static void two_replies_exchanged(void **state)
{
    (void)state;
    static const mcds_outcome one[] = {MCDS_OUT_OK, MCDS_OUT_UNKNOWN, MCDS_OUT_UNKNOWN};
    static const struct fake_step steps[] = SCRIPT("md", "HD O#1\r\nNF O#3\r\nHD O#2\r\n");
    play(MCDS_DELETE, steps, one);
}

static void a_reply_of_another_connection(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL}, {FAKE_EXPECT, "mg a"}, {FAKE_CLOSE, NULL},
        {FAKE_PROBED, NULL}, {FAKE_EXPECT, "mg a"}, {FAKE_SEND, "EN O@\r\n"},
        {FAKE_STALL, NULL},  {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_request cut = request_of(MCDS_GET, "a", "");
    mcds_request request = request_of(MCDS_GET, "a", "");
    ask(store, &cut, 1);
    ask(store, &request, 1);
    assert_int_equal(cut.reply.outcome, MCDS_OUT_UNKNOWN);
    assert_int_equal(request.reply.outcome, MCDS_OUT_UNKNOWN);
    assert_string_equal(request.reply.detail->text, OUT_OF_STEP);
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

/* What a caller of a structure sees of it: a change is in doubt, a read is asked again over a new
 * connection. */
static void a_caller_is_given_no_wrong_answer(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL},
        {FAKE_EXPECT, "ma "},
        {FAKE_SEND, "VA 1 O#1\r\n5\r\n"},
        {FAKE_EXPECT, "ma "},
        {FAKE_SEND, "VA 1 O#1\r\n5\r\n"}, /* once more, and not this one's */
        {FAKE_PROBED, NULL},
        {FAKE_EXPECT, "mg "},
        {FAKE_SEND, "VA 1 f0 c1 Oxy\r\n5\r\n"},
        {FAKE_PROBED, NULL},
        {FAKE_EXPECT, "mg "},
        {FAKE_SEND, "VA 1 f0 c2 O#1\r\n6\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_counter *counter = NULL;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t after = 0;
    assert_int_equal(mcds_counter_open(store, "hits", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, &after), MCDS_OK);
    assert_int_equal(after, 5);
    assert_int_equal(mcds_counter_add(counter, 1, &after), MCDS_AMBIGUOUS);
    assert_non_null(strstr(mcds_errmsg(), OUT_OF_STEP));
    assert_int_equal(mcds_counter_get(counter, &value), MCDS_OK);
    assert_int_equal(value.value, 6);
    mcds_counter_close(counter);
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

/* Errors carry no opaque. What one of them denies is denied only if the next answer fits. */
static void an_error_too_many(void **state)
{
    (void)state;
    static const mcds_outcome none[] = {MCDS_OUT_UNKNOWN, MCDS_OUT_UNKNOWN, MCDS_OUT_UNKNOWN};
    static const struct fake_step first[] = SCRIPT(
        "ma",
        "SERVER_ERROR out of memory\r\nVA 1 O#1\r\n5\r\nVA 1 O#2\r\n5\r\nVA 1 O#3\r\n5\r\n");
    static const struct fake_step all[] = SCRIPT(
        "ma", "SERVER_ERROR out of memory\r\nSERVER_ERROR out of memory\r\n"
              "SERVER_ERROR out of memory\r\nVA 1 O#1\r\n5\r\n");
    play(MCDS_INCR, first, none);
    play(MCDS_INCR, all, none);
}

static void an_error_that_is_one(void **state)
{
    (void)state;
    static const mcds_outcome second[] = {MCDS_OUT_OK, MCDS_OUT_NO_MEMORY, MCDS_OUT_OK};
    static const mcds_outcome all[] = {MCDS_OUT_NO_MEMORY, MCDS_OUT_NOT_NUMERIC,
                                       MCDS_OUT_NO_MEMORY};
    static const struct fake_step between[] = SCRIPT(
        "ma", "VA 1 O#1\r\n5\r\nSERVER_ERROR out of memory\r\nVA 1 O#3\r\n5\r\n");
    static const struct fake_step nothing_else[] = {
        {FAKE_PROBED, NULL},
        {FAKE_EXPECT, "ma c"},
        {FAKE_SEND, "SERVER_ERROR out of memory\r\n"
                    "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"
                    "SERVER_ERROR out of memory\r\n"},
        {FAKE_EXPECT, "mg a s f c O"}, /* its answer proves those before it */
        {FAKE_SEND, "EN O#4\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    play(MCDS_INCR, between, second);
    play(MCDS_INCR, nothing_else, all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_too_many),
        cmocka_unit_test(a_reply_too_few),
        cmocka_unit_test(two_replies_exchanged),
        cmocka_unit_test(a_reply_of_another_connection),
        cmocka_unit_test(a_caller_is_given_no_wrong_answer),
        cmocka_unit_test(an_error_too_many),
        cmocka_unit_test(an_error_that_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
