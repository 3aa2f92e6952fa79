/* The memcached home against servers of its own, started for each case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "store/store.h"
#include "support/server.h"

struct live {
    struct server server;
    char uri[160];
};

/* With `options` besides those of every server that tests start. */
static void run(struct live *live, char *const *options)
{
    live->server.options = options;
    if (!server_start_memcached_unix(&live->server)) {
        print_message("skipped: memcached does not start\n");
        skip();
    }
    server_uri(&live->server, live->uri, sizeof live->uri);
}

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct live));
    return *state != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    struct live *live = *state;
    server_stop(&live->server);
    free(live);
    return 0;
}

static mcds_store *open_store(const struct live *live)
{
    mcds_store *store = NULL;
    assert_int_equal(mcds_open(live->uri, NULL, &store), MCDS_OK);
    return store;
}

static mcds_outcome ask(mcds_store *store, mcds_request *request)
{
    mcds_batch batch = {.requests = request, .count = 1};
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + 5 * NS_PER_S;
    mcds__store_execute(store, request->cas.connection, &batch);
    return request->reply.outcome;
}

static mcds_request request_of(mcds_command command, const char *key, const char *value)
{
    return (mcds_request){
        .command = command, .key = {key, strlen(key)}, .value = {value, strlen(value)}};
}

/* Between two calls the server can have been started anew; that is seen before anything is
 * lost, however short the time. */
static void a_restart_between_two_calls_costs_nothing(void **state)
{
    struct live *live = *state;
    run(live, NULL);
    mcds_store *store = open_store(live);
    for (int i = 0; i < 3; i++) {
        mcds_request set = request_of(MCDS_SET, "k", "v");
        mcds_request incr = request_of(MCDS_INCR, "n", "");
        incr.options = MCDS_CREATE;
        assert_int_equal(ask(store, &set), MCDS_OUT_OK);
        assert_true(server_restart(&live->server));
        assert_int_equal(ask(store, &incr), MCDS_OUT_OK);
    }
    mcds_close(store);
}

static void a_token_of_another_store_is_refused(void **state)
{
    struct live *live = *state;
    run(live, NULL);
    mcds_store *one = open_store(live);
    mcds_store *two = open_store(live);
    mcds_request set = request_of(MCDS_SET, "k", "v");
    mcds_request get = request_of(MCDS_GET, "k", "");
    mcds_request cas = request_of(MCDS_CAS, "k", "w");
    assert_int_equal(ask(one, &set), MCDS_OUT_OK);
    assert_int_equal(ask(two, &get), MCDS_OUT_OK);
    assert_int_equal(ask(one, &get), MCDS_OUT_OK);
    cas.cas = get.reply.cas;
    assert_int_equal(ask(two, &cas), MCDS_OUT_EXISTS);
    assert_int_equal(ask(one, &cas), MCDS_OUT_OK);
    mcds_close(one);
    mcds_close(two);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_restart_between_two_calls_costs_nothing),
        TEST(a_token_of_another_store_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
