/* TLS to a real memcached (-Z): whom it trusts, and what it says where it does not. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "chaos/relay.h"
#include "tls/world.h"

#define TRUSTING "tls=1&ca=@/ca.pem&" PATIENT
#define BIG_BYTES 1000000
#define BIG_VALUES 8
#define THREADS 6
#define ADDITIONS 100
#define LOSSES 120

static struct world world;

static void a_server_is_used_through_tls(void **state)
{
    (void)state;
    world_run_tls(&world, NULL, NULL);
    world_expect(&world, TRUSTING, MCDS_OK, NULL);
    world_expect(&world, TRUSTING "&protocol=meta", MCDS_OK, NULL);
    world_expect(&world, TRUSTING "&protocol=classic", MCDS_OK, NULL);
    world_expect(&world, TRUSTING "&connections=3", MCDS_OK, NULL);
    world_expect(&world, TRUSTING "&tls_name=localhost", MCDS_OK, NULL);
    world_expect(&world, TRUSTING "&cert=@/client.pem", MCDS_OK, NULL);
}

/* A pipeline of values, each of many records, in both directions at once. */
static void large_values_go_through(void **state)
{
    static char values[BIG_VALUES][BIG_BYTES];
    static char keys[BIG_VALUES][16];
    mcds_request requests[2 * BIG_VALUES];
    mcds_buffer read;
    (void)state;
    world_run_tls(&world, NULL, NULL);
    mcds_store *store = world_open(&world, world.server.port, TRUSTING, NULL);
    mcds__buffer_init(&read, mcds_env_system(), SIZE_MAX / 2);
    for (uint32_t i = 0; i < BIG_VALUES; i++) {
        mcds_bytes key = {keys[i], (size_t)snprintf(keys[i], sizeof keys[i], "big%u", i)};
        for (size_t at = 0; at < BIG_BYTES; at++)
            values[i][at] = (char)((at + i) * 2654435761u >> 13);
        requests[2 * i] = (mcds_request){
            .command = MCDS_SET, .key = key, .value = {values[i], BIG_BYTES}};
        requests[2 * i + 1] = (mcds_request){.command = MCDS_GET, .key = key};
    }
    world_ask(store, requests, 2 * BIG_VALUES, 60 * NS_PER_S, &read);
    for (uint32_t i = 0; i < BIG_VALUES; i++) {
        const mcds_reply *reply = &requests[2 * i + 1].reply;
        if (requests[2 * i].reply.outcome != MCDS_OUT_OK)
            fail_msg("value %u: %s", i, requests[2 * i].reply.detail->text);
        assert_int_equal(reply->outcome, MCDS_OUT_OK);
        assert_int_equal(reply->value_length, BIG_BYTES);
        assert_memory_equal(read.data + reply->value_at, values[i], BIG_BYTES);
    }
    mcds__buffer_free(&read);
    mcds_close(store);
}

static void a_certificate_is_verified(void **state)
{
    (void)state;
    world_run_tls(&world, NULL, NULL);
    world_expect(&world, "tls=1&" PATIENT, MCDS_PROTOCOL, "no trusted authority");
    world_expect(&world, "tls=1&ca=@/other-ca.pem&" PATIENT, MCDS_PROTOCOL,
                 "no trusted authority has signed the server's certificate");
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_CERTIFICATE);
    world_expect(&world, TRUSTING "&tls_name=other.test", MCDS_PROTOCOL,
                 "the server's certificate is for another name");
    world_run_tls(&world, "name", NULL);
    world_expect(&world, TRUSTING, MCDS_PROTOCOL, "for another name");
    world_expect(&world, TRUSTING "&tls_name=localhost", MCDS_PROTOCOL, "for another name");
    world_expect(&world, TRUSTING "&tls_name=other.test", MCDS_OK, NULL);
    world_run_tls(&world, "old", NULL);
    world_expect(&world, TRUSTING, MCDS_PROTOCOL,
                 "the server's certificate, or one that signed it, has expired");
}

static int64_t shift_ns;

static int64_t shifted_wall_ns(void *self)
{
    (void)self;
    return mcds__wall_ns(mcds_env_system()) + shift_ns;
}

/* The clock is that of the environment, as everywhere. */
static void a_certificate_has_its_time(void **state)
{
    static const struct {
        int64_t days;
        const char *words;
    } clocks[] = {{31, "has expired"}, {-2, "is not valid yet"}, {29, NULL}};
    (void)state;
    world_run_tls(&world, NULL, NULL);
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        mcds_env env = *mcds_env_system();
        env.wall_ns = shifted_wall_ns;
        shift_ns = clocks[i].days * 86400 * NS_PER_S;
        mcds_store *store = world_open(&world, world.server.port, TRUSTING, &env);
        int result = world_add(store);
        assert_int_equal(result, clocks[i].words == NULL ? MCDS_OK : MCDS_PROTOCOL);
        if (clocks[i].words != NULL)
            assert_non_null(strstr(mcds_errmsg(), clocks[i].words));
        mcds_close(store);
    }
}

static void a_server_without_tls_is_told(void **state)
{
    static char *plain[] = {NULL};
    (void)state;
    world_run(&world, plain);
    for (int i = 0; i < 5; i++) { /* it answers where the handshake happens to have a line */
        mcds_store *store = world_open(&world, world.server.port,
                                       "tls=1&timeout=600&connect_timeout=300", NULL);
        int result = world_add(store);
        assert_true(result == MCDS_PROTOCOL || result == MCDS_TIMEOUT ||
                    result == MCDS_UNAVAILABLE);
        assert_non_null(strstr(mcds_errmsg(), "does not use TLS"));
        assert_non_null(strstr(mcds_errmsg(), "leave out tls=1"));
        mcds_close(store);
    }
}

static void a_server_of_tls_alone_is_told(void **state)
{
    (void)state;
    world_run_tls(&world, NULL, NULL);
    mcds_store *store = world_open(&world, world.server.port, PATIENT, NULL);
    world_expect_unsent(store, "it uses TLS (add tls=1 to the URI)");
    mcds_close(store);
}

static void a_server_may_want_certificates_of_clients(void **state)
{
    static char option[192];
    static char *wants[] = {"-o", option, NULL};
    (void)state;
    (void)snprintf(option, sizeof option, "ssl_verify_mode=2,ssl_ca_cert=%s",
                   world.certificates.ca);
    world_run_tls(&world, NULL, wants);
    world_expect(&world, TRUSTING "&cert=@/client.pem", MCDS_OK, NULL);
    world_expect(&world, TRUSTING "&cert=@/client.pem&key=@/client.pem", MCDS_OK, NULL);
    static const char *const refused[] = {TRUSTING, TRUSTING "&cert=@/stranger.pem"};
    for (size_t i = 0; i < 2; i++) {
        mcds_store *store = world_open(&world, world.server.port, refused[i], NULL);
        int result = world_add(store);
        /* Its reset may overtake its reason. */
        assert_true(result == MCDS_PROTOCOL || result == MCDS_UNAVAILABLE);
        assert_non_null(strstr(mcds_errmsg(), "requires a client certificate"));
        mcds_close(store);
    }
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    world_expect(&world, "tls=1&ca=@/none.pem", MCDS_IO,
                 "the URI's ca= must name a PEM file with the certificates of authorities: it "
                 "does not exist");
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_NO_FILE);
    world_write(&world, "empty", "", 0600);
    world_expect(&world, "tls=1&ca=@/empty", MCDS_IO, "it holds none");
    world_expect(&world, "tls=1&cert=@/empty", MCDS_IO, "the URI's cert= must name");
    world_expect(&world, "tls=1&cert=@/ca.pem", MCDS_IO, "the URI's key= must name");
    world_expect(&world, "tls=1&cert=@/client.pem&key=@/server.pem", MCDS_IO,
                 "the URI's key= must name");
    /* It would ask a terminal for the passphrase. */
    world_expect(&world, "tls=1&cert=@/ca.pem&key=@/locked.key", MCDS_IO,
                 "without a passphrase");
}

static void a_restart_between_two_calls_costs_nothing(void **state)
{
    (void)state;
    world_run_tls(&world, NULL, NULL);
    mcds_store *store = world_open(&world, world.server.port, TRUSTING, NULL);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(world_add(store), MCDS_OK);
        assert_true(server_restart(&world.server));
    }
    server_kill(&world.server);
    world_expect_unsent(store, "connection refused");
    mcds_close(store);
}

struct adder {
    pthread_t thread;
    mcds_store *store;
    int failed;
};

static void *add_often(void *context)
{
    struct adder *adder = context;
    for (int i = 0; i < ADDITIONS; i++)
        adder->failed += world_add(adder->store) != MCDS_OK;
    return NULL;
}

static int64_t value_of(mcds_store *store)
{
    mcds_counter *counter = NULL;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    assert_int_equal(mcds_counter_open(store, "n", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_get(counter, &value), MCDS_OK);
    mcds_counter_close(counter);
    return value.value;
}

static void threads_share_a_store(void **state)
{
    struct adder adders[THREADS];
    (void)state;
    world_run_tls(&world, NULL, NULL);
    mcds_store *store = world_open(&world, world.server.port, TRUSTING, NULL);
    for (int i = 0; i < THREADS; i++) {
        adders[i] = (struct adder){.store = store};
        assert_int_equal(pthread_create(&adders[i].thread, NULL, add_often, &adders[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(adders[i].thread, NULL), 0);
        assert_int_equal(adders[i].failed, 0);
    }
    assert_int_equal(value_of(store), THREADS * ADDITIONS);
    mcds_close(store);
}

/* A connection with TLS is lost as any other: the counter has what was answered, and of what is in
 * doubt some. */
static void cuts_lose_and_double_nothing(void **state)
{
    struct relay relay;
    int64_t answered = 0;
    int64_t doubtful = 0;
    (void)state;
    world_run_tls(&world, NULL, NULL);
    assert_true(relay_start(&relay, &world.server, 5));
    mcds_store *store = world_open(&world, relay.place.port, TRUSTING, NULL);
    assert_int_equal(world_add(store), MCDS_OK);
    relay_set_faults(&relay, 1u << RELAY_CUT_BEFORE | 1u << RELAY_CUT_AFTER, 50000);
    for (int i = 0; i < LOSSES; i++) {
        int result = world_add(store);
        answered += result == MCDS_OK;
        doubtful += result == MCDS_AMBIGUOUS;
        if (result != MCDS_OK && result != MCDS_AMBIGUOUS)
            assert_int_equal(result, MCDS_UNAVAILABLE);
    }
    relay_set_faults(&relay, 0, 0);
    assert_true(relay.counts[RELAY_CUT_BEFORE] > 0 && relay.counts[RELAY_CUT_AFTER] > 0);
    mcds_close(store);
    store = world_open(&world, world.server.port, TRUSTING, NULL);
    int64_t value = value_of(store);
    mcds_close(store);
    assert_in_range(value, 1 + answered, 1 + answered + doubtful);
    relay_stop(&relay);
}

int main(void)
{
    world_make(&world);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_is_used_through_tls),
        cmocka_unit_test(large_values_go_through),
        cmocka_unit_test(a_certificate_is_verified),
        cmocka_unit_test(a_certificate_has_its_time),
        cmocka_unit_test(a_server_without_tls_is_told),
        cmocka_unit_test(a_server_of_tls_alone_is_told),
        cmocka_unit_test(a_server_may_want_certificates_of_clients),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(a_restart_between_two_calls_costs_nothing),
        cmocka_unit_test(threads_share_a_store),
        cmocka_unit_test(cuts_lose_and_double_nothing),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    world_remove(&world);
    return result;
}
