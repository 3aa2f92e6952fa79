/* The memcached backend when connections break: which requests may still be sent, in which
 * order, and which tokens are still valid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/environment.h"
#include "base/hash/hash.h"
#include "mcds.h"
#include "store/store.h"
#include "support/fake_server.h"

/* LARGE_COUNT values of LARGE bytes are more than a link keeps ready to be sent. */
#define LARGE 1000000
#define LARGE_COUNT 8
#define PATIENCE_MS 10000
/* A call that has not ended by then never does: the program is killed. */
#define HANG_S 120

static int64_t in_ms(int64_t ms)
{
    return mcds__monotonic_ns(mcds_env_system()) + ms * NS_PER_MS;
}

static mcds_store *open_store(const struct fake_server *server)
{
    mcds_store *store = NULL;
    assert_int_equal(mcds_open(fake_server_uri(server), NULL, &store), MCDS_OK);
    return store;
}

static void close_store(mcds_store *store, struct fake_server *server)
{
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

static mcds_request request_of(mcds_command command, const char *key, const char *value)
{
    return (mcds_request){
        .command = command, .key = {key, strlen(key)}, .value = {value, strlen(value)}};
}

static mcds_outcome ask(mcds_store *store, mcds_request *requests, uint32_t count)
{
    mcds_batch batch = {
        .requests = requests, .count = count, .deadline_ns = in_ms(PATIENCE_MS)};
    mcds__store_execute(store, 0, &batch);
    return requests[0].reply.outcome;
}

#define PROXY_GREETING                                                                         \
    {FAKE_ACCEPT, NULL}, {FAKE_EXPECT, "mg "}, {FAKE_CLOSE, NULL}, {FAKE_ACCEPT, NULL},        \
    {                                                                                          \
        FAKE_EXPECT, "version\r\n"                                                             \
    }

/* After an error, the proxy may send requests to another server. */
static void no_token_outlives_trouble_behind_a_proxy(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        PROXY_GREETING,
        {FAKE_SEND, "VERSION 1.6.18\r\n"},
        {FAKE_EXPECT, "gets k\r\n"},
        {FAKE_SEND, "VALUE k 0 1 5\r\n1\r\nEND\r\n"},
        {FAKE_EXPECT, "set x 0 0 1\r\n1\r\n"},
        {FAKE_SEND, "SERVER_ERROR Connection refused\r\n"},
        {FAKE_QUIET, NULL}, /* the client does not send the cas */
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_request get = request_of(MCDS_GET, "k", "");
    mcds_request set = request_of(MCDS_SET, "x", "1");
    mcds_request cas = request_of(MCDS_CAS, "k", "2");
    assert_int_equal(ask(store, &get, 1), MCDS_OUT_OK);
    assert_int_equal(ask(store, &set, 1), MCDS_OUT_UNKNOWN);
    cas.cas = get.reply.cas;
    assert_int_equal(ask(store, &cas, 1), MCDS_OUT_EXISTS);
    close_store(store, server);
}

/* A server that refuses a value may not read it. It then takes the value for commands and answers
 * them. */
static void an_error_after_trouble_may_answer_something_else(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        PROXY_GREETING,
        {FAKE_SEND, "VERSION 1.6.18\r\n"},
        {FAKE_EXPECT, "set x 0 0 1\r\n1\r\n"},
        {FAKE_SEND, "SERVER_ERROR object too large for cache\r\n"},
        {FAKE_EXPECT, "incr n 1\r\n"},
        {FAKE_SEND, "ERROR\r\n5\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_request set = request_of(MCDS_SET, "x", "1");
    mcds_request incr = request_of(MCDS_INCR, "n", "");
    incr.delta = 1;
    assert_int_equal(ask(store, &set, 1), MCDS_OUT_TOO_BIG);
    assert_int_equal(ask(store, &incr, 1), MCDS_OUT_UNKNOWN);
    close_store(store, server);
}

/* The server sends a line too many at the beginning. It is not the answer to the first request. */
static void what_was_not_asked_answers_nothing(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        PROXY_GREETING,     {FAKE_SEND, "VERSION 1.6.18\r\nERROR\r\n"},
        {FAKE_QUIET, NULL}, {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_request incr = request_of(MCDS_INCR, "n", "");
    incr.delta = 1;
    assert_int_equal(ask(store, &incr, 1), MCDS_OUT_UNSENT);
    assert_string_equal(incr.reply.detail->text,
                        "the server sent a reply that was not requested");
    close_store(store, server);
}

/* A proxy does not say how large the items of its servers are. A reply has a bound nevertheless. */
static void a_reply_through_a_proxy_is_bounded(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        PROXY_GREETING,
        {FAKE_SEND, "VERSION 1.6.18\r\n"},
        {FAKE_EXPECT, "gets k\r\n"},
        {FAKE_SEND, "VALUE k 0 200000000 5\r\nabc"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_request get = request_of(MCDS_GET, "k", "");
    assert_int_equal(ask(store, &get, 1), MCDS_OUT_UNKNOWN);
    assert_string_equal(get.reply.detail->text,
                        "the server's reply is larger than its largest item");
    close_store(store, server);
}

/* The proxy asks one server for its version, and that server is down. The servers with the keys may
 * work. */
static void a_proxy_without_a_version_is_a_proxy(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        PROXY_GREETING,
        {FAKE_SEND, "SERVER_ERROR Connection refused\r\n"},
        {FAKE_EXPECT, "set a 0 0 1\r\n1\r\n"},
        {FAKE_SEND, "STORED\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_request set = request_of(MCDS_SET, "a", "1");
    assert_int_equal(ask(store, &set, 1), MCDS_OUT_OK);
    close_store(store, server);
}

/* A managed service may hide its settings, and may be many servers with one name. It may also be
 * full without evicting, so no value is stored by ms. */
static void who_tells_no_settings_is_asked_one_by_one(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "version\r\n"},
        {FAKE_SEND, "EN kmcds-probe Oq\r\nVERSION 1.6.22\r\n"},
        {FAKE_EXPECT, "stats settings\r\n"},
        {FAKE_SEND, "NS\r\nCLIENT_ERROR invalid flag\r\nEN\r\nEND\r\nCLIENT_ERROR stats "
                    "settings is not allowed\r\n"},
        {FAKE_EXPECT, "set a 0 0 1\r\n1\r\n"},
        {FAKE_QUIET, NULL},
        {FAKE_SEND, "STORED\r\n"},
        {FAKE_EXPECT, "mg a v f c O"},
        {FAKE_SEND, "VA 1 f0 c4 O#1\r\n1\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_capabilities can;
    mcds_request requests[] = {request_of(MCDS_SET, "a", "1"), request_of(MCDS_GET, "a", "")};
    assert_int_equal(ask(store, requests, 2), MCDS_OUT_OK);
    assert_int_equal(requests[1].reply.outcome, MCDS_OUT_OK);
    can = mcds__store_can(store);
    assert_false(can.ordered_batch);
    assert_true(can.create_on_increment);
    close_store(store, server);
}

#define WITHOUT_SETTINGS                                                                       \
    {FAKE_ACCEPT, NULL}, {FAKE_EXPECT, "version\r\n"},                                         \
        {FAKE_SEND, "EN kmcds-probe Oq\r\nVERSION 1.6.22\r\n"},                                \
        {FAKE_EXPECT, "stats settings\r\n"},                                                   \
    {                                                                                          \
        FAKE_SEND, "NS\r\nCLIENT_ERROR invalid flag\r\nEN\r\nEND\r\nCLIENT_ERROR stats "       \
                   "settings is not allowed\r\n"                                               \
    }

/* The server may still execute the first request. So the next one is not sent, also not on another
 * connection. */
static void after_a_loss_nothing_is_asked_one_by_one(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        WITHOUT_SETTINGS,          {FAKE_EXPECT, "set a 0 0 1\r\n1\r\n"},
        {FAKE_CLOSE, NULL},        WITHOUT_SETTINGS,
        {FAKE_EXPECT, "mg b"}, /* and no set before it */
        {FAKE_SEND, "EN O#1\r\n"}, {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_request requests[] = {request_of(MCDS_SET, "a", "1"), request_of(MCDS_SET, "a", "2")};
    assert_int_equal(ask(store, requests, 2), MCDS_OUT_UNKNOWN);
    assert_int_equal(requests[1].reply.outcome, MCDS_OUT_UNSENT);
    mcds_request get = request_of(MCDS_GET, "b", "");
    assert_int_equal(ask(store, &get, 1), MCDS_OUT_MISS);
    close_store(store, server);
}

/* A server had this address, and now a proxy has it. */
static void a_server_that_became_a_proxy_is_asked_one_by_one(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL},
        {FAKE_EXPECT, "mg a"},
        {FAKE_SEND, "EN O#1\r\n"},
        {FAKE_EXPECT, "mg b"},
        {FAKE_CLOSE, NULL},
        PROXY_GREETING,
        {FAKE_SEND, "VERSION 1.6.18\r\n"},
        {FAKE_EXPECT, "set a 0 0 1\r\n1\r\n"},
        {FAKE_QUIET, NULL},
        {FAKE_SEND, "STORED\r\n"},
        {FAKE_EXPECT, "gets a\r\n"},
        {FAKE_QUIET, NULL},
        {FAKE_SEND, "VALUE a 0 1 5\r\n1\r\nEND\r\n"},
        {FAKE_EXPECT, "delete a\r\n"},
        {FAKE_SEND, "DELETED\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_request first = request_of(MCDS_GET, "a", "");
    mcds_request lost = request_of(MCDS_GET, "b", "");
    assert_int_equal(ask(store, &first, 1), MCDS_OUT_MISS);
    assert_int_equal(ask(store, &lost, 1), MCDS_OUT_UNKNOWN);
    mcds_request requests[] = {request_of(MCDS_SET, "a", "1"), request_of(MCDS_GET, "a", ""),
                               request_of(MCDS_DELETE, "a", "")};
    assert_int_equal(ask(store, requests, 3), MCDS_OUT_OK);
    assert_int_equal(requests[1].reply.outcome, MCDS_OUT_OK);
    assert_int_equal(requests[2].reply.outcome, MCDS_OUT_OK);
    close_store(store, server);
}

/* A write of a batch is not sent while an earlier one of the batch may still arrive. */
static void nothing_of_a_batch_overtakes_what_is_unknown(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL},           {FAKE_EXPECT, "mg a"}, {FAKE_SEND, "EN O#1\r\n"},
        {FAKE_EXPECT, "ms a"},         {FAKE_CLOSE, NULL},    {FAKE_PROBED, NULL},
        {FAKE_EXPECT, "mg b v f c O"}, /* and no ms before it */
        {FAKE_SEND, "EN O#1\r\n"},     {FAKE_STALL, NULL},    {FAKE_END, NULL},
    };
    char *large = malloc(LARGE + 1);
    assert_non_null(large);
    memset(large, 'x', LARGE);
    large[LARGE] = '\0';
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_request requests[LARGE_COUNT];
    mcds_request first = request_of(MCDS_GET, "a", "");
    assert_int_equal(ask(store, &first, 1),
                     MCDS_OUT_MISS); /* it keeps the order from then on */
    for (int i = 0; i < LARGE_COUNT; i++)
        requests[i] = request_of(MCDS_SET, "a", large);
    assert_int_equal(ask(store, requests, LARGE_COUNT), MCDS_OUT_UNKNOWN);
    assert_int_equal(requests[LARGE_COUNT - 1].reply.outcome, MCDS_OUT_UNSENT);
    mcds_request get = request_of(MCDS_GET, "b", "");
    assert_int_equal(ask(store, &get, 1), MCDS_OUT_MISS);
    close_store(store, server);
    free(large);
}

/* One batch ends at its deadline, and its connection is closed. Another batch has time left and
 * continues. */
static void a_late_batch_takes_only_itself_along(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL},
        {FAKE_EXPECT, "mg a"},
        {FAKE_SEND, "EN O#1\r\n"},
        {FAKE_EXPECT, "ms a"},
        {FAKE_DEAF, NULL},
        {FAKE_PROBED, NULL},
        {FAKE_EXPECT, "mg b v f c O"},
        {FAKE_SEND, "EN O#1\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    char *large = malloc(LARGE + 1);
    assert_non_null(large);
    memset(large, 'x', LARGE);
    large[LARGE] = '\0';
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_request requests[LARGE_COUNT];
    mcds_request get = request_of(MCDS_GET, "b", "");
    mcds_request first = request_of(MCDS_GET, "a", "");
    assert_int_equal(ask(store, &first, 1), MCDS_OUT_MISS); /* connected, from then on */
    for (int i = 0; i < LARGE_COUNT; i++)
        requests[i] = request_of(MCDS_SET, "a", large);
    mcds_batch late = {.requests = requests, .count = LARGE_COUNT, .deadline_ns = in_ms(500)};
    mcds_batch early = {.requests = &get, .count = 1, .deadline_ns = in_ms(PATIENCE_MS)};
    struct mcds__session *session;
    late.next = &early;
    assert_int_equal(mcds__session_take(store, 0, &session), MCDS_OK);
    mcds__session_submit(session, &late);
    uint32_t back = 0;
    for (int turns = 0; turns < 10 && back < 2; turns++)
        for (mcds_batch *b = mcds__session_collect(session, in_ms(PATIENCE_MS)); b != NULL;
             b = b->next)
            back++;
    mcds__session_give(store, session);
    assert_int_equal(requests[0].reply.outcome, MCDS_OUT_UNKNOWN);
    assert_int_equal(get.reply.outcome, MCDS_OUT_MISS);
    close_store(store, server);
    free(large);
}

/* Two batches were sent. At the deadline of one the connection is closed, and the reply to the
 * other is lost. The reason of the other names this cause, not its own deadline. */
static void a_late_batch_ends_what_was_sent_with_it(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL},    {FAKE_EXPECT, "mg a"}, {FAKE_SEND, "EN O#1\r\n"},
        {FAKE_EXPECT, "ms b "}, {FAKE_STALL, NULL},    {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_request first = request_of(MCDS_GET, "a", "");
    assert_int_equal(ask(store, &first, 1), MCDS_OUT_MISS); /* connected, from then on */
    mcds_request sets[] = {request_of(MCDS_SET, "a", "1"), request_of(MCDS_SET, "b", "2")};
    mcds_batch other = {.requests = &sets[1], .count = 1, .deadline_ns = in_ms(PATIENCE_MS)};
    mcds_batch late = {
        .requests = &sets[0], .count = 1, .deadline_ns = in_ms(500), .next = &other};
    struct mcds__session *session;
    assert_int_equal(mcds__session_take(store, 0, &session), MCDS_OK);
    mcds__session_submit(session, &late);
    mcds_batch *done = mcds__session_collect(session, in_ms(PATIENCE_MS));
    mcds__session_give(store, session);
    assert_ptr_equal(done, &late);
    assert_ptr_equal(done->next, &other);
    assert_int_equal(sets[0].reply.outcome, MCDS_OUT_UNKNOWN);
    assert_string_equal(sets[0].reply.detail->text, "no answer before the deadline");
    assert_int_equal(sets[1].reply.outcome, MCDS_OUT_UNKNOWN);
    assert_string_equal(sets[1].reply.detail->text,
                        "the connection was closed: another operation had no answer in time");
    close_store(store, server);
}

/* The same in a pipeline. An add that was sent on the same connection is not repeated. So it is in
 * doubt before its own deadline. A get is sent again. */
static void a_late_operation_leaves_others_in_doubt(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL},  {FAKE_EXPECT, "ma "},      {FAKE_EXPECT, "ma "},
        {FAKE_EXPECT, "mg "}, {FAKE_STALL, NULL},        {FAKE_PROBED, NULL},
        {FAKE_EXPECT, "mg "}, {FAKE_SEND, "EN O#1\r\n"}, {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(server);
    mcds_counter *counters[3];
    mcds_pipeline *pipeline = NULL;
    mcds_completion done;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    assert_int_equal(mcds_pipeline_open(store, NULL, &pipeline), MCDS_OK);
    for (int i = 0; i < 3; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        assert_int_equal(mcds_counter_open(store, name, NULL, &counters[i]), MCDS_OK);
    }
    mcds_limit_timeout(store, 500);
    assert_int_equal(mcds_counter_add_start(counters[0], 1, NULL, pipeline, 0), MCDS_OK);
    mcds_limit_timeout(store, 0);
    assert_int_equal(mcds_counter_add_start(counters[1], 1, NULL, pipeline, 1), MCDS_OK);
    assert_int_equal(mcds_counter_get_start(counters[2], &value, pipeline, 2), MCDS_OK);
    for (uint64_t tag = 0; tag < 3; tag++) {
        assert_int_equal(mcds_pipeline_next(pipeline, &done), MCDS_OK);
        assert_int_equal(done.tag, tag);
        assert_int_equal(done.result, tag < 2 ? MCDS_AMBIGUOUS : MCDS_NOT_FOUND);
        if (tag == 1)
            assert_non_null(strstr(mcds_errmsg(), "another operation had no answer"));
    }
    mcds_pipeline_close(pipeline);
    for (int i = 0; i < 3; i++)
        mcds_counter_close(counters[i]);
    close_store(store, server);
}

static void no_random(void *self, void *out, size_t length)
{
    (void)self;
    memset(out, 0, length);
}

/* A name of one letter, whose requests use this link of two, with no_random(). */
static const char *letter_for(uint64_t link)
{
    static const char *const letters[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        if (mcds__hash(0, (mcds_bytes){letters[i], 1}) % 2 == link)
            return letters[i];
    fail();
    return NULL;
}

/* The requests are sent one by one, and the first gets no connection in time. The second is late
 * too, although its own connection is open and is served first. */
static void a_late_batch_is_late_on_every_connection(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        PROXY_GREETING,         {FAKE_SEND, "VERSION 1.6.18\r\n"},
        {FAKE_EXPECT, "gets "}, {FAKE_SEND, "END\r\n"},
        {FAKE_STALL, NULL},     {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    char uri[256];
    mcds_store *store = NULL;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_env env = *mcds_env_system();
    env.random = no_random;
    options.env = &env;
    (void)snprintf(uri, sizeof uri, "%s&connections=2", fake_server_uri(server));
    assert_int_equal(mcds_open(uri, &options, &store), MCDS_OK);
    mcds_request first = request_of(MCDS_GET, letter_for(0), "");
    assert_int_equal(ask(store, &first, 1), MCDS_OUT_MISS);
    mcds_request requests[] = {request_of(MCDS_GET, letter_for(1), ""),
                               request_of(MCDS_GET, letter_for(0), "")};
    mcds_batch batch = {.requests = requests, .count = 2, .deadline_ns = in_ms(50)};
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(requests[0].reply.outcome, MCDS_OUT_UNSENT);
    assert_int_equal(requests[1].reply.outcome, MCDS_OUT_UNSENT);
    close_store(store, server);
}

/* The requests are sent one by one. The first two are refused at once, because their servers are
 * gone. The last is sent nevertheless, although its connection is served before theirs. */
static void a_batch_goes_on_where_other_servers_are_gone(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        PROXY_GREETING,         {FAKE_SEND, "VERSION 1.6.18\r\n"},
        {FAKE_EXPECT, "gets "}, {FAKE_SEND, "END\r\n"},
        {FAKE_EXPECT, "gets "}, {FAKE_SEND, "END\r\n"},
        {FAKE_STALL, NULL},     {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    const char *path = strchr(fake_server_uri(server), '/') + 2;
    int length = (int)strcspn(path, "?");
    char uri[512];
    mcds_store *store = NULL;
    (void)snprintf(uri, sizeof uri, "memcached://%.*s,%.*s-gone,%.*s-gone-too%s", length, path,
                   length, path, length, path, path + length);
    assert_int_equal(mcds_open(uri, NULL, &store), MCDS_OK);
    mcds_request requests[3] = {request_of(MCDS_GET, "a", ""), request_of(MCDS_GET, "a", ""),
                                request_of(MCDS_GET, "a", "")};
    while (ask(store, &requests[2], 1) != MCDS_OUT_MISS)
        assert_true(++requests[2].copy < 3);
    requests[0].copy = (requests[2].copy + 2) % 3;
    requests[1].copy = (requests[2].copy + 1) % 3;
    mcds_batch batch = {.requests = requests, .count = 3, .deadline_ns = in_ms(3600000)};
    (void)alarm(HANG_S);
    mcds__store_execute(store, 0, &batch);
    (void)alarm(0);
    assert_int_equal(requests[0].reply.outcome, MCDS_OUT_UNSENT);
    assert_int_equal(requests[1].reply.outcome, MCDS_OUT_UNSENT);
    assert_int_equal(requests[2].reply.outcome, MCDS_OUT_MISS);
    close_store(store, server);
}

/* A clock that is 100 times slower. With it, a pause after a refusal takes more than a second. */
static int64_t slow_ns(void *self)
{
    (void)self;
    return mcds__monotonic_ns(mcds_env_system()) / 100;
}

/* The program that listens is not memcached. So the order of a batch is not known to be kept, and
 * its requests are refused one by one. A wait between them would last until the deadline. */
static void what_is_refused_one_by_one_waits_for_nothing(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "version\r\n"},
        {FAKE_SEND, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"},
        {FAKE_CLOSE, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = NULL;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_env env = *mcds_env_system();
    env.monotonic_ns = slow_ns;
    options.env = &env;
    (void)alarm(HANG_S);
    assert_int_equal(mcds_open(fake_server_uri(server), &options, &store), MCDS_OK);
    for (int i = 0; i < 2; i++) {
        mcds_request requests[] = {request_of(MCDS_SET, "a", "1"),
                                   request_of(MCDS_GET, "a", ""),
                                   request_of(MCDS_GET, "b", "")};
        mcds_batch batch = {
            .requests = requests, .count = 3, .deadline_ns = slow_ns(NULL) + 3600 * NS_PER_S};
        mcds__store_execute(store, 0, &batch);
        for (int j = 0; j < 3; j++)
            assert_int_equal(requests[j].reply.outcome, MCDS_OUT_PROTOCOL);
    }
    (void)alarm(0);
    close_store(store, server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_token_outlives_trouble_behind_a_proxy),
        cmocka_unit_test(an_error_after_trouble_may_answer_something_else),
        cmocka_unit_test(what_was_not_asked_answers_nothing),
        cmocka_unit_test(a_reply_through_a_proxy_is_bounded),
        cmocka_unit_test(a_proxy_without_a_version_is_a_proxy),
        cmocka_unit_test(who_tells_no_settings_is_asked_one_by_one),
        cmocka_unit_test(after_a_loss_nothing_is_asked_one_by_one),
        cmocka_unit_test(a_server_that_became_a_proxy_is_asked_one_by_one),
        cmocka_unit_test(nothing_of_a_batch_overtakes_what_is_unknown),
        cmocka_unit_test(a_late_batch_takes_only_itself_along),
        cmocka_unit_test(a_late_batch_ends_what_was_sent_with_it),
        cmocka_unit_test(a_late_operation_leaves_others_in_doubt),
        cmocka_unit_test(a_late_batch_is_late_on_every_connection),
        cmocka_unit_test(a_batch_goes_on_where_other_servers_are_gone),
        cmocka_unit_test(what_is_refused_one_by_one_waits_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
