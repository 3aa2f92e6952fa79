/* TLS through a relay that does what no real server does: records of one byte, handshakes that are cut
 * anywhere, renegotiation, new keys, garbage, silence. */
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "tls/relay.h"
#include "tls/world.h"

#define TRUSTING "tls=1&ca=@/ca.pem&" PATIENT
#define WAIT_NS (60 * NS_PER_S)
#define CUTS 1200
#define EACH_BYTE 150 /* beyond these, each seventh */
#define FLOOD 24
#define FLOOD_BYTES 1000000
#define TICK_US 2000

static struct world world;
static struct tls_relay *relay;
static char certificate[128];

/* both.test has two addresses; all other names are numbers. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **list_out)
{
    static struct sockaddr_in v4;
    static struct sockaddr_in6 v6;
    static struct addrinfo second;
    static struct addrinfo first;
    (void)hints;
    v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = v4.sin_port};
    v6.sin6_addr = in6addr_loopback;
    second = (struct addrinfo){.ai_family = AF_INET,
                               .ai_socktype = SOCK_STREAM,
                               .ai_addr = (struct sockaddr *)&v4,
                               .ai_addrlen = sizeof v4};
    first = (struct addrinfo){.ai_family = AF_INET6,
                              .ai_socktype = SOCK_STREAM,
                              .ai_addr = (struct sockaddr *)&v6,
                              .ai_addrlen = sizeof v6,
                              .ai_next = &second};
    *list_out = strcmp(host, "both.test") == 0 ? &first : &second;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    (void)list;
}

static int set_up(void **state)
{
    static char *plain[] = {NULL};
    (void)state;
    relay = calloc(1, sizeof *relay);
    if (relay == NULL)
        return -1;
    world_run(&world, plain);
    (void)snprintf(certificate, sizeof certificate, "%s/server.pem", world.folder);
    relay->target = &world.server;
    relay->certificate = certificate;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tls_relay_stop(relay);
    free(relay);
    return 0;
}

static mcds_store *start(void)
{
    assert_true(tls_relay_start(relay));
    return world_open(&world, relay->place.port, TRUSTING, NULL);
}

static mcds_request get_request(const char *key)
{
    return (mcds_request){.command = MCDS_GET, .key = {key, strlen(key)}};
}

static void records_may_be_of_one_byte(void **state)
{
    static char value[3000];
    mcds_buffer read;
    (void)state;
    relay->piece = 1;
    mcds_store *store = start();
    mcds__buffer_init(&read, mcds_env_system(), SIZE_MAX / 2);
    memset(value, 'v', sizeof value);
    mcds_request requests[] = {
        {.command = MCDS_SET, .key = {"k", 1}, .value = {value, sizeof value}},
        get_request("k"),
        get_request("none")};
    world_ask(store, requests, 3, WAIT_NS, &read);
    assert_int_equal(requests[0].reply.outcome, MCDS_OUT_OK);
    assert_int_equal(requests[1].reply.outcome, MCDS_OUT_OK);
    assert_int_equal(requests[2].reply.outcome, MCDS_OUT_MISS);
    assert_int_equal(requests[1].reply.value_length, sizeof value);
    assert_memory_equal(read.data + requests[1].reply.value_at, value, sizeof value);
    for (int i = 0; i < 10; i++)
        assert_int_equal(world_add(store), MCDS_OK);
    mcds__buffer_free(&read);
    mcds_close(store);
}

static void tls_1_2_is_enough(void **state)
{
    (void)state;
    relay->max_version = TLS1_2_VERSION;
    mcds_store *store = start();
    assert_int_equal(world_add(store), MCDS_OK);
    mcds_close(store);
}

static void tls_1_1_is_too_old(void **state)
{
    (void)state;
    relay->max_version = TLS1_1_VERSION;
    mcds_store *store = start();
    assert_int_equal(world_add(store), MCDS_PROTOCOL);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_TLS);
    assert_non_null(strstr(mcds_errmsg(), "does not support TLS 1.2"));
    mcds_close(store);
}

/* A server that asks for a second handshake may end the connection, and gets none. */
static void nothing_is_negotiated_again(void **state)
{
    (void)state;
    relay->max_version = TLS1_2_VERSION;
    mcds_store *store = start();
    assert_int_equal(world_add(store), MCDS_OK);
    relay->event = EVENT_RENEGOTIATE;
    int result = MCDS_UNAVAILABLE;
    for (int i = 0; i < 3 || result != MCDS_OK; i++) {
        result = world_add(store);
        assert_true(i < 10);
        assert_true(result == MCDS_OK || result == MCDS_AMBIGUOUS);
    }
    assert_int_equal(relay->handshakes, relay->connections + 1); /* that is its request */
    mcds_close(store);
}

static void new_keys_are_taken(void **state)
{
    (void)state;
    mcds_store *store = start();
    for (int i = 0; i < 5; i++) {
        assert_int_equal(world_add(store), MCDS_OK);
        relay->event = EVENT_UPDATE_KEYS;
    }
    assert_int_equal(world_add(store), MCDS_OK);
    assert_int_equal(relay->connections, 1);
    mcds_close(store);
}

/* True within a minute. */
static bool is_soon(_Atomic uint32_t *number, uint32_t wanted)
{
    int64_t end_ns = mcds__monotonic_ns(mcds_env_system()) + WAIT_NS;
    while (*number != wanted && mcds__monotonic_ns(mcds_env_system()) < end_ns)
        (void)usleep(TICK_US);
    return *number == wanted;
}

static void the_end_is_said(void **state)
{
    (void)state;
    mcds_store *store = start();
    assert_int_equal(world_add(store), MCDS_OK);
    assert_int_equal(relay->goodbyes, 0);
    mcds_close(store);
    assert_true(is_soon(&relay->goodbyes, 1));
    assert_int_equal(relay->connections, 1);
}

/* The child has the keys of the connection, and one record of it would end its parent's. */
static void a_child_leaves_the_connection_alone(void **state)
{
    int status = -1;
    (void)state;
    mcds_store *store = start();
    assert_int_equal(world_add(store), MCDS_OK);
    pid_t child = fork();
    if (child == 0) {
        mcds_counter *counter = NULL;
        int result = mcds_counter_open(store, "n", NULL, &counter);
        mcds_close(store);
        _exit(result == MCDS_INVALID ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(world_add(store), MCDS_OK);
    assert_int_equal(relay->connections, 1);
    assert_int_equal(relay->goodbyes, 0);
    mcds_close(store);
}

static void a_lost_reply_is_in_doubt(void **state)
{
    static const enum tls_event events[] = {EVENT_CUT_BEFORE_REPLY, EVENT_GARBAGE};
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_counter *counter = NULL;
    (void)state;
    mcds_store *store = start();
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        assert_int_equal(world_add(store), MCDS_OK);
        relay->event = (int)events[i];
        assert_int_equal(world_add(store), MCDS_AMBIGUOUS);
    }
    assert_non_null(strstr(mcds_errmsg(), "not valid TLS"));
    assert_int_equal(mcds_counter_open(store, "n", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_get(counter, &value), MCDS_OK);
    assert_int_equal(value.value, 3); /* the one before the cut has come */
    mcds_counter_close(counter);
    mcds_close(store);
}

/* What may have come is in doubt. What was not sent, or in a record without its end, was not. */
static void a_server_that_reads_nothing_gets_no_more(void **state)
{
    static char keys[FLOOD][8];
    static char value[FLOOD_BYTES];
    mcds_request requests[FLOOD];
    mcds_request gets[FLOOD];
    uint32_t unknown = 0;
    (void)state;
    mcds_store *store = start();
    assert_int_equal(world_add(store), MCDS_OK);
    for (uint32_t i = 0; i < FLOOD; i++) {
        mcds_bytes key = {keys[i], (size_t)snprintf(keys[i], sizeof keys[i], "f%u", i)};
        requests[i] = (mcds_request){
            .command = MCDS_SET, .key = key, .value = {value, sizeof value}};
        gets[i] = (mcds_request){.command = MCDS_GET, .key = key};
    }
    relay->event = EVENT_DEAF;
    world_ask(store, requests, FLOOD, NS_PER_S / 2, NULL);
    for (uint32_t i = 0; i < FLOOD; i++) {
        if (requests[i].reply.outcome == MCDS_OUT_UNKNOWN)
            assert_int_equal(unknown++, i); /* none after one that was not sent */
        else
            assert_int_equal(requests[i].reply.outcome, MCDS_OUT_UNSENT);
    }
    assert_in_range(unknown, 1, FLOOD - 1);
    world_ask(store, gets, FLOOD, WAIT_NS, NULL);
    for (uint32_t i = unknown; i < FLOOD; i++)
        assert_int_equal(gets[i].reply.outcome, MCDS_OUT_MISS);
    mcds_close(store);
}

static void start_raw(void)
{
    world_run_tls(&world, NULL, NULL);
    relay->is_raw = true;
    assert_true(tls_relay_start(relay));
}

static void a_handshake_may_come_byte_by_byte(void **state)
{
    (void)state;
    relay->piece = 1;
    start_raw();
    mcds_store *store = world_open(&world, relay->place.port, TRUSTING, NULL);
    assert_int_equal(world_add(store), MCDS_OK);
    assert_int_equal(world_add(store), MCDS_OK);
    mcds_close(store);
}

/* Nothing was sent, whatever the byte: no answer is UNKNOWN, and none takes the time of its
 * deadline. */
static void a_handshake_may_be_cut_anywhere(void **state)
{
    (void)state;
    start_raw();
    mcds_store *whole = world_open(&world, relay->place.port, TRUSTING, NULL);
    assert_int_equal(world_add(whole), MCDS_OK);
    size_t last = relay->raw_passed;
    mcds_close(whole);
    assert_in_range(last, 500, 10000);
    for (size_t limit = 1; limit <= last && limit <= CUTS; limit += limit < EACH_BYTE ? 1 : 7) {
        mcds_request get = get_request("k");
        relay->raw_limit = limit;
        mcds_store *store = world_open(&world, relay->place.port, TRUSTING, NULL);
        world_ask(store, &get, 1, WAIT_NS, NULL);
        if (get.reply.outcome != MCDS_OUT_UNSENT && get.reply.outcome != MCDS_OUT_MISS)
            fail_msg("cut after %zu bytes: outcome %d", limit, (int)get.reply.outcome);
        mcds_close(store);
    }
}

static void a_silent_handshake_is_told(void **state)
{
    (void)state;
    start_raw();
    relay->event = EVENT_DEAF;
    mcds_store *store = world_open(&world, relay->place.port,
                                   "tls=1&ca=@/ca.pem&timeout=20000&connect_timeout=200", NULL);
    mcds_request get = get_request("k");
    world_ask(store, &get, 1, WAIT_NS, NULL);
    assert_int_equal(get.reply.outcome, MCDS_OUT_UNSENT);
    assert_non_null(strstr(get.reply.detail->text, "does not answer the TLS handshake"));
    mcds_close(store);
}

/* One address takes the connection and is silent, the other has the server. */
static void a_silent_handshake_hides_no_other_address(void **state)
{
    char uri[512];
    mcds_store *store = NULL;
    struct sockaddr_in6 address = {.sin6_family = AF_INET6};
    int yes = 1;
    (void)state;
    assert_true(tls_relay_start(relay));
    address.sin6_addr = in6addr_loopback;
    address.sin6_port = htons(relay->place.port);
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 16) != 0) {
        print_message("skipped: no IPv6 on loopback\n");
        skip();
    }
    (void)snprintf(uri, sizeof uri,
                   "memcached://both.test:%u?tls=1&ca=%s/ca.pem&tls_name=localhost"
                   "&connect_timeout=10000&timeout=20000",
                   (unsigned)relay->place.port, world.folder);
    assert_int_equal(mcds_open(uri, NULL, &store), MCDS_OK);
    mcds_request get = get_request("k");
    world_ask(store, &get, 1, WAIT_NS, NULL);
    assert_int_equal(get.reply.outcome, MCDS_OUT_MISS);
    assert_int_equal(relay->connections, 1);
    mcds_close(store);
    (void)close(fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    world_make(&world);
    const struct CMUnitTest tests[] = {
        CASE(records_may_be_of_one_byte),
        CASE(tls_1_2_is_enough),
        CASE(tls_1_1_is_too_old),
        CASE(nothing_is_negotiated_again),
        CASE(new_keys_are_taken),
        CASE(the_end_is_said),
        CASE(a_child_leaves_the_connection_alone),
        CASE(a_lost_reply_is_in_doubt),
        CASE(a_server_that_reads_nothing_gets_no_more),
        CASE(a_handshake_may_come_byte_by_byte),
        CASE(a_handshake_may_be_cut_anywhere),
        CASE(a_silent_handshake_is_told),
        CASE(a_silent_handshake_hides_no_other_address),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    world_remove(&world);
    return result;
}
