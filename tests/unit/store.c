/* The store layer over a test backend: options, checks, the pool of sessions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "store/store.h"
#include "support/fake_env.h"

#define SESSIONS_IDLE_MAX 64
#define SESSIONS (SESSIONS_IDLE_MAX + 6)

/* A backend that answers OK to all and records its callers. */
struct toy {
    bool is_without_cas;
    uint32_t opened;
    uint32_t closed;
    bool refuses_sessions;
    bool is_closed;
    uint32_t batches;
    struct toy_session {
        struct toy *toy;
        uint64_t connection;
        mcds_batch *done;
    } sessions[SESSIONS];
};

static void toy_close(void *backend)
{
    struct toy *toy = backend;
    toy->is_closed = true;
}

static void toy_capabilities(void *backend, mcds_capabilities *out)
{
    const struct toy *toy = backend;
    memset(out, 0, sizeof *out);
    out->value_max = 123;
    out->compare_and_set = !toy->is_without_cas;
}

static int toy_session_open(void *backend, void **session_out)
{
    struct toy *toy = backend;
    if (toy->refuses_sessions)
        return mcds_fail(MCDS_NO_MEMORY, "toy: no lane");
    assert_true(toy->opened < SESSIONS);
    struct toy_session *session = &toy->sessions[toy->opened++];
    *session = (struct toy_session){toy, toy->opened, NULL};
    *session_out = session;
    return MCDS_OK;
}

static void toy_session_close(void *state)
{
    struct toy_session *session = state;
    assert_true(session->connection != 0);
    session->connection = 0;
    session->toy->closed++;
}

static bool toy_session_holds(void *state, uint64_t connection)
{
    const struct toy_session *session = state;
    return session->connection == connection;
}

static void answer(struct toy *toy, mcds_batch *first, const char *peer)
{
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next) {
        for (uint32_t i = 0; i < batch->count; i++) {
            assert_int_equal(batch->requests[i].reply.outcome, MCDS_OUT_NONE);
            batch->requests[i].reply.outcome = MCDS_OUT_OK;
            batch->requests[i].reply.peer = peer;
        }
        batch->answered = batch->count;
        toy->batches++;
    }
}

static void toy_submit(void *state, mcds_batch *first)
{
    struct toy_session *session = state;
    answer(session->toy, first, "lane");
    session->done = first;
}

static mcds_batch *toy_collect(void *state, int64_t until_ns)
{
    struct toy_session *session = state;
    (void)until_ns;
    mcds_batch *done = session->done;
    session->done = NULL;
    return done;
}

static void toy_submit_at_once(void *backend, mcds_batch *first)
{
    answer(backend, first, "home");
}

static const mcds_backend toy_backend = {
    .version = MCDS_BACKEND_VERSION,
    .scheme = "toy",
    .close = toy_close,
    .capabilities = toy_capabilities,
    .session_open = toy_session_open,
    .session_close = toy_session_close,
    .session_holds = toy_session_holds,
    .submit = toy_submit,
    .collect = toy_collect,
};

static const mcds_backend laneless_backend = {
    .version = MCDS_BACKEND_VERSION,
    .scheme = "laneless",
    .capabilities = toy_capabilities,
    .submit = toy_submit_at_once,
};

static mcds_store *open_toy(const mcds_backend *backend, struct toy *toy, struct fake_env *fake)
{
    memset(toy, 0, sizeof *toy);
    fake_env_init(fake, 1);
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = &fake->env;
    mcds_store *store;
    assert_int_equal(mcds_open_backend(backend, toy, &options, &store), MCDS_OK);
    return store;
}

static mcds_request get_request(const char *key)
{
    return (mcds_request){.command = MCDS_GET, .key = {key, strlen(key)}};
}

static void assert_open_fails(const char *uri, const mcds_options *options, int result,
                              const char *sentence)
{
    mcds_store *store = NULL;
    assert_int_equal(mcds_open(uri, options, &store), result);
    assert_string_equal(mcds_errmsg(), sentence);
    assert_null(store);
}

static void open_names_each_mistake(void **state)
{
    (void)state;
    mcds_options options = MCDS_OPTIONS_INIT;
    assert_int_equal(mcds_open("memory:", NULL, NULL), MCDS_INVALID);
    assert_open_fails(NULL, NULL, MCDS_INVALID, "store: needs a URI and a place for the store");
    assert_open_fails("redis:x", NULL, MCDS_INVALID,
                      "store: there is no 'redis:'; use memory:, lmdb: or memcached://");
    assert_open_fails("memory:?timeout=0", NULL, MCDS_INVALID,
                      "store: the URI's timeout=0 is not a whole number from 1 to 3600000");
    assert_open_fails(
        "memory:?timeout=3600001", NULL, MCDS_INVALID,
        "store: the URI's timeout=3600001 is not a whole number from 1 to 3600000");
    assert_open_fails("memory:?ns=a%3Ab", NULL, MCDS_INVALID,
                      "store: ns 'a:b' has a byte that is none of a-z A-Z 0-9 _ - .");
    assert_open_fails("memory:?ns=nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn", NULL, MCDS_INVALID,
                      "store: the ns has 33 bytes; at most 32");
    options.timeout_ms = 3600001;
    assert_open_fails("memory:", &options, MCDS_INVALID,
                      "store: timeout_ms must be 0 to 3600000, not 3600001");
    options.timeout_ms = 0;
    options.ns = "two words";
    assert_open_fails("memory:", &options, MCDS_INVALID,
                      "store: ns 'two words' has a byte that is none of a-z A-Z 0-9 _ - .");
}

/* The size is the machine's. */
static void assert_size_fails(const mcds_options *options, const char *type, size_t size)
{
    char sentence[128];
    (void)snprintf(
        sentence, sizeof sentence,
        "store: %s: its size is 1; set it to sizeof(%s), %zu in this version, or to 0", type,
        type, size);
    assert_open_fails("memory:", options, MCDS_INVALID, sentence);
}

static void open_names_each_size(void **state)
{
    (void)state;
    mcds_env env = *mcds_env_system();
    mcds_options options = MCDS_OPTIONS_INIT;
    options.size = 1;
    assert_size_fails(&options, "mcds_options", sizeof options);
    options = (mcds_options)MCDS_OPTIONS_INIT;
    env.size = 1;
    options.env = &env;
    assert_size_fails(&options, "mcds_env", sizeof env);
}

/* On every kind of store; else deadlines would be in the past, and keys would not expire. */
static void a_clock_below_0_is_refused(void **state)
{
    (void)state;
    static const char *const uris[] = {"memory:", "lmdb:/nonexistent/x",
                                       "memcached://127.0.0.1:1"};
    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        struct fake_env fake;
        mcds_options options = MCDS_OPTIONS_INIT;
        fake_env_init(&fake, 1);
        options.env = &fake.env;
        fake.monotonic_ns = -1;
        assert_open_fails(
            uris[i], &options, MCDS_IO,
            "store: the monotonic clock is below 0, as with a faked time: fake only the "
            "wall clock (faketime: FAKETIME_DONT_FAKE_MONOTONIC=1)");
        assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_CLOCK);
        fake.wall_ns = -1;
        assert_open_fails(uris[i], &options, MCDS_IO,
                          "store: this machine's clock is before 1970: set it");
        assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_CLOCK);
    }
}

static void the_uri_wins_over_the_options(void **state)
{
    (void)state;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    assert_int_equal(mcds_open("memory:", NULL, &store), MCDS_OK);
    assert_string_equal(mcds__store_ns(store), "mcds");
    assert_int_equal(mcds__store_timeout_ns(store), NS_PER_S);
    assert_ptr_equal(mcds__store_env(store), mcds_env_system());
    mcds_close(store);
    options.ns = "given";
    options.timeout_ms = 250;
    assert_int_equal(mcds_open("memory:", &options, &store), MCDS_OK);
    assert_string_equal(mcds__store_ns(store), "given");
    assert_int_equal(mcds__store_timeout_ns(store), 250 * NS_PER_MS);
    mcds_close(store);
    assert_int_equal(mcds_open("memory:?ns=other&timeout=7", &options, &store), MCDS_OK);
    assert_string_equal(mcds__store_ns(store), "other");
    assert_int_equal(mcds__store_timeout_ns(store), 7 * NS_PER_MS);
    mcds_close(store);
    mcds_close(NULL);
}

static void an_empty_namespace_is_refused(void **state)
{
    (void)state;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store = NULL;
    options.ns = "";
    assert_int_equal(mcds_open("memory:", &options, &store), MCDS_INVALID);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_EMPTY);
    assert_int_equal(mcds_open("memory:?ns=", NULL, &store), MCDS_INVALID);
    assert_string_equal(mcds_last_error()->option, "ns");
    assert_null(store);
}

static void a_limit_only_shortens_the_timeout(void **state)
{
    (void)state;
    mcds_store *store;
    assert_int_equal(mcds_open("memory:?timeout=70", NULL, &store), MCDS_OK);
    mcds_limit_timeout(store, 30);
    assert_int_equal(mcds__store_timeout_ns(store), 30 * NS_PER_MS);
    mcds_limit_timeout(store, 90);
    assert_int_equal(mcds__store_timeout_ns(store), 70 * NS_PER_MS);
    mcds_limit_timeout(store, 30);
    mcds_limit_timeout(store, 0);
    assert_int_equal(mcds__store_timeout_ns(store), 70 * NS_PER_MS);
    mcds_close(store);
}

static void a_backend_of_another_version_is_refused(void **state)
{
    (void)state;
    mcds_backend backend = laneless_backend;
    backend.version = MCDS_BACKEND_VERSION + 1;
    mcds_store *store = NULL;
    assert_int_equal(mcds_open_backend(&backend, NULL, NULL, &store), MCDS_UNSUPPORTED);
    assert_string_equal(mcds_errmsg(),
                        "store: the backend was compiled with another mcds/backend.h");
    assert_null(store);
}

static void sessions_are_kept_and_taken_newest_first(void **state)
{
    (void)state;
    struct toy toy;
    struct fake_env fake;
    mcds_store *store = open_toy(&toy_backend, &toy, &fake);
    struct mcds__session *sessions[3];
    struct mcds__session *session;
    for (int i = 0; i < 3; i++)
        assert_int_equal(mcds__session_take(store, 0, &sessions[i]), MCDS_OK);
    assert_int_equal(toy.opened, 3);
    for (int i = 0; i < 3; i++)
        mcds__session_give(store, sessions[i]);
    assert_int_equal(mcds__session_take(store, 0, &session), MCDS_OK);
    assert_ptr_equal(session, sessions[2]);
    mcds__session_give(store, session);
    /* By the connection it holds, else the newest. */
    assert_int_equal(mcds__session_take(store, 1, &session), MCDS_OK);
    assert_ptr_equal(session, sessions[0]);
    mcds__session_give(store, session);
    assert_int_equal(mcds__session_take(store, 99, &session), MCDS_OK);
    assert_ptr_equal(session, sessions[0]);
    assert_int_equal(mcds__session_take(store, 2, &session), MCDS_OK);
    assert_ptr_equal(session, sessions[1]);
    mcds__session_give(store, sessions[0]);
    mcds__session_give(store, sessions[1]);
    assert_int_equal(toy.opened, 3);
    mcds_close(store);
    assert_int_equal(toy.closed, 3);
    assert_true(toy.is_closed);
    assert_int_equal(fake.blocks, 0);
}

static void more_idle_sessions_than_allowed_are_closed(void **state)
{
    (void)state;
    struct toy toy;
    struct fake_env fake;
    mcds_store *store = open_toy(&toy_backend, &toy, &fake);
    struct mcds__session *sessions[SESSIONS];
    for (int i = 0; i < SESSIONS; i++)
        assert_int_equal(mcds__session_take(store, 0, &sessions[i]), MCDS_OK);
    mcds__session_drop(sessions[0]);
    assert_int_equal(toy.closed, 1);
    for (int i = 1; i < SESSIONS; i++)
        mcds__session_give(store, sessions[i]);
    assert_int_equal(toy.closed, SESSIONS - SESSIONS_IDLE_MAX);
    mcds_close(store);
    assert_int_equal(toy.closed, SESSIONS);
    assert_int_equal(fake.blocks, 0);
}

static void a_store_without_a_session_answers_unsent(void **state)
{
    (void)state;
    struct toy toy;
    struct fake_env fake;
    mcds_store *store = open_toy(&toy_backend, &toy, &fake);
    mcds_request request = get_request("k");
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
    struct mcds__session *session;
    toy.refuses_sessions = true;
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(batch.answered, 1);
    assert_int_equal(request.reply.outcome, MCDS_OUT_UNSENT);
    assert_non_null(request.reply.detail);
    assert_int_equal(mcds__session_take(store, 0, &session), MCDS_NO_MEMORY);
    toy.refuses_sessions = false;
    fake.allowed = 0;
    assert_int_equal(mcds__session_take(store, 0, &session), MCDS_NO_MEMORY);
    fake.allowed = -1;
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
    mcds_close(store);
    assert_int_equal(fake.blocks, 0);
}

/* Sound and refused batches in one list: each comes back once, the backend sees the sound ones. */
static void check_mixed_list(const mcds_backend *backend)
{
    struct toy toy;
    struct fake_env fake;
    mcds_store *store = open_toy(backend, &toy, &fake);
    mcds_request requests[6];
    mcds_batch batches[6];
    for (int i = 0; i < 6; i++) {
        requests[i] = get_request(i % 2 == 0 ? "fine" : "not fine");
        requests[i].reply.outcome = MCDS_OUT_UNKNOWN;
        batches[i] = (mcds_batch){.requests = &requests[i],
                                  .count = 1,
                                  .deadline_ns = INT64_MAX,
                                  .next = i < 5 ? &batches[i + 1] : NULL};
    }
    struct mcds__session *session;
    assert_int_equal(mcds__session_take(store, 0, &session), MCDS_OK);
    mcds__session_submit(session, &batches[0]);
    int seen[6] = {0};
    for (int turn = 0; turn < 6; turn++)
        for (mcds_batch *batch = mcds__session_collect(session, 0); batch != NULL;
             batch = batch->next)
            seen[batch - batches]++;
    mcds__session_give(store, session);
    assert_int_equal(toy.batches, 3);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(seen[i], 1);
        assert_int_equal(batches[i].answered, 1);
        assert_int_equal(requests[i].reply.outcome,
                         i % 2 == 0 ? MCDS_OUT_OK : MCDS_OUT_BAD_REQUEST);
        assert_int_equal(requests[i].reply.detail != NULL, i % 2 != 0);
    }
    mcds_close(store);
    assert_int_equal(fake.blocks, 0);
}

static void sound_and_refused_batches_both_come_back(void **state)
{
    (void)state;
    check_mixed_list(&toy_backend);
    check_mixed_list(&laneless_backend);
}

static void one_bad_request_stops_its_batch(void **state)
{
    (void)state;
    static const char *const sentences[] = {
        "a key must be 1 to 250 bytes of 0x21 to 0x7e",
        "a ttl must be at most ten years",
        "a delta must be at most 2^63 - 1",
    };
    struct toy toy;
    struct fake_env fake;
    mcds_store *store = open_toy(&laneless_backend, &toy, &fake);
    mcds_request bad[3] = {get_request(""), get_request("k"), get_request("k")};
    bad[1].command = MCDS_TOUCH;
    bad[1].ttl_ms = UINT64_C(3660) * 24 * 3600 * 1000 + 1;
    bad[2].command = MCDS_DECR;
    bad[2].delta = UINT64_C(1) << 63;
    for (int i = 0; i < 3; i++) {
        mcds_request requests[] = {get_request("fine"), bad[i], get_request("fine")};
        mcds_batch batch = {.requests = requests, .count = 3, .deadline_ns = INT64_MAX};
        mcds__store_execute(store, 0, &batch);
        assert_int_equal(requests[0].reply.outcome, MCDS_OUT_UNSENT);
        assert_int_equal(requests[1].reply.outcome, MCDS_OUT_BAD_REQUEST);
        assert_string_equal(requests[1].reply.detail->text, sentences[i]);
        assert_int_equal(requests[2].reply.outcome, MCDS_OUT_UNSENT);
    }
    assert_int_equal(toy.batches, 0);
    bad[1].ttl_ms--;
    bad[2].delta--;
    for (int i = 1; i < 3; i++) {
        mcds_batch batch = {.requests = &bad[i], .count = 1, .deadline_ns = INT64_MAX};
        mcds__store_execute(store, 0, &batch);
        assert_int_equal(bad[i].reply.outcome, MCDS_OUT_OK);
    }
    mcds_close(store);
}

/* Where no read gives a token, the lack is not the caller's: a proxy can have compare-and-set and one of
 * its servers none. The read of such a batch says so too. */
static void a_batch_without_a_token_is_beyond_the_store(void **state)
{
    (void)state;
    struct toy toy;
    struct fake_env fake;
    mcds_store *store = open_toy(&laneless_backend, &toy, &fake);
    for (int i = 0; i < 2; i++) {
        mcds_request requests[] = {get_request("k"), get_request("k")};
        mcds_batch batch = {.requests = requests, .count = 2, .deadline_ns = INT64_MAX};
        requests[0].command = MCDS_CAS;
        toy.is_without_cas = i == 1;
        mcds__store_execute(store, 0, &batch);
        for (int j = 0; j < 2; j++) {
            assert_int_equal(requests[j].reply.outcome, MCDS_OUT_UNSUPPORTED);
            assert_int_equal(requests[j].reply.detail->cause, MCDS_CAUSE_NO_COMPARE_AND_SET);
        }
    }
    assert_int_equal(toy.batches, 0);
    mcds_close(store);
}

static void a_batch_past_its_deadline_is_not_sent(void **state)
{
    (void)state;
    struct toy toy;
    struct fake_env fake;
    mcds_store *store = open_toy(&toy_backend, &toy, &fake);
    mcds_request request = get_request("k");
    mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = fake.monotonic_ns};
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(batch.answered, 1);
    assert_int_equal(request.reply.outcome, MCDS_OUT_UNSENT);
    assert_int_equal(toy.batches, 0);
    batch.deadline_ns++;
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
    mcds_close(store);
}

static bool no_visit(void *context, const mcds_finding *finding)
{
    (void)context;
    (void)finding;
    return false;
}

static bool no_key(void *context, mcds_bytes key)
{
    (void)context;
    (void)key;
    return false;
}

static void what_a_backend_cannot_tell_is_said(void **state)
{
    (void)state;
    struct toy toy;
    struct fake_env fake;
    mcds_store *store = open_toy(&laneless_backend, &toy, &fake);
    mcds_capabilities can;
    can = mcds__store_can(store);
    assert_int_equal(can.value_max, 123);
    assert_int_equal(mcds_inspect(store, no_visit, NULL), MCDS_UNSUPPORTED);
    assert_int_equal(mcds_inspect(store, NULL, NULL), MCDS_INVALID);
    assert_int_equal(mcds_inspect(NULL, no_visit, NULL), MCDS_INVALID);
    assert_int_equal(mcds__store_keys(store, (mcds_bytes){"", 0}, no_key, NULL),
                     MCDS_UNSUPPORTED);
    mcds_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_names_each_mistake),
        cmocka_unit_test(open_names_each_size),
        cmocka_unit_test(a_clock_below_0_is_refused),
        cmocka_unit_test(the_uri_wins_over_the_options),
        cmocka_unit_test(an_empty_namespace_is_refused),
        cmocka_unit_test(a_limit_only_shortens_the_timeout),
        cmocka_unit_test(a_backend_of_another_version_is_refused),
        cmocka_unit_test(sessions_are_kept_and_taken_newest_first),
        cmocka_unit_test(more_idle_sessions_than_allowed_are_closed),
        cmocka_unit_test(a_store_without_a_session_answers_unsent),
        cmocka_unit_test(sound_and_refused_batches_both_come_back),
        cmocka_unit_test(one_bad_request_stops_its_batch),
        cmocka_unit_test(a_batch_without_a_token_is_beyond_the_store),
        cmocka_unit_test(a_batch_past_its_deadline_is_not_sent),
        cmocka_unit_test(what_a_backend_cannot_tell_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
