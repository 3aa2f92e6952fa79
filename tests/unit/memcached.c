/* The memcached backend against servers that misbehave, and against real ones that come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "store/store.h"
#include "support/fake_server.h"
#include "support/server.h"

static mcds_store *open_store(const char *uri)
{
    mcds_store *store = NULL;
    assert_int_equal(mcds_open(uri, NULL, &store), MCDS_OK);
    return store;
}

static mcds_request get_request(const char *key)
{
    return (mcds_request){.command = MCDS_GET, .key = {key, strlen(key)}};
}

static mcds_request set_request(const char *key, const char *value)
{
    return (mcds_request){
        .command = MCDS_SET, .key = {key, strlen(key)}, .value = {value, strlen(value)}};
}

/* Send the requests as one batch and wait `wait_ns` at most. */
static void ask_within(mcds_store *store, mcds_request *requests, uint32_t count,
                       int64_t wait_ns)
{
    mcds_batch batch = {.requests = requests, .count = count};
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + wait_ns;
    mcds__store_execute(store, 0, &batch);
}

static void ask(mcds_store *store, mcds_request *requests, uint32_t count)
{
    ask_within(store, requests, count, mcds__store_timeout_ns(store));
}

/* Start a script, send one get and see what comes of it. */
static void expect_get(const struct fake_step *steps, mcds_outcome outcome, const char *detail)
{
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(fake_server_uri(server));
    mcds_request request = get_request("k");
    ask(store, &request, 1);
    assert_int_equal(request.reply.outcome, outcome);
    if (detail != NULL) {
        assert_non_null(request.reply.detail);
        assert_non_null(strstr(request.reply.detail->text, detail));
        assert_non_null(request.reply.peer);
    }
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

static void a_server_of_another_kind_is_named_so(void **state)
{
    (void)state;
    static const struct fake_step http[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "mg "},
        {FAKE_SEND, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    static const struct fake_step page[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "mg "},
        {FAKE_SEND, "<!DOCTYPE HTML>\n<html lang=\"en\">\n    <head>\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    static const struct fake_step ssh[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_SEND, "SSH-2.0-OpenSSH_9.2\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    expect_get(http, MCDS_OUT_PROTOCOL, "an HTTP server");
    expect_get(page, MCDS_OUT_PROTOCOL, "an HTTP server");
    expect_get(ssh, MCDS_OUT_PROTOCOL, "an SSH server");
}

static void a_server_that_says_nothing_does_not_hold_the_caller(void **state)
{
    (void)state;
    static const struct fake_step at_once[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(at_once);
    const char *uri = fake_server_uri(server);
    char hasty[256];
    (void)snprintf(hasty, sizeof hasty, "%.*s?timeout=20000&connect_timeout=100",
                   (int)strcspn(uri, "?"), uri);
    mcds_store *store = open_store(hasty);
    mcds_request request = get_request("k");
    int64_t until_ns = mcds__monotonic_ns(mcds_env_system()) + mcds__store_timeout_ns(store);
    ask(store, &request, 1);
    assert_true(mcds__monotonic_ns(mcds_env_system()) < until_ns);
    assert_int_equal(request.reply.outcome, MCDS_OUT_UNSENT);
    assert_string_equal(
        request.reply.detail->text,
        "connected, but it does not answer: it is stopped or overloaded, or is not memcached");
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

static void a_server_that_falls_silent_does_not_hold_the_caller(void **state)
{
    (void)state;
    static const struct fake_step later[] = {
        {FAKE_PROBED, NULL},   {FAKE_EXPECT, "mg j"}, {FAKE_SEND, "EN O#1\r\n"},
        {FAKE_EXPECT, "mg k"}, {FAKE_STALL, NULL},    {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(later);
    mcds_store *store = open_store(fake_server_uri(server));
    mcds_request first = get_request("j");
    mcds_request request = get_request("k");
    ask(store, &first, 1);
    assert_int_equal(first.reply.outcome, MCDS_OUT_MISS);
    ask_within(store, &request, 1, NS_PER_S / 2);
    assert_int_equal(request.reply.outcome, MCDS_OUT_UNKNOWN);
    assert_string_equal(request.reply.detail->text, "no answer before the deadline");
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

static void a_hang_up_in_mid_reply_is_unknown(void **state)
{
    (void)state;
    static const struct fake_step in_line[] = {
        {FAKE_PROBED, NULL}, {FAKE_EXPECT, "mg k"}, {FAKE_SEND, "VA 5 f0 c"},
        {FAKE_CLOSE, NULL},  {FAKE_END, NULL},
    };
    static const struct fake_step in_value[] = {
        {FAKE_PROBED, NULL}, {FAKE_EXPECT, "mg k"}, {FAKE_SEND, "VA 5 f0 c1 O#1\r\nabc"},
        {FAKE_CLOSE, NULL},  {FAKE_END, NULL},
    };
    expect_get(in_line, MCDS_OUT_UNKNOWN, "closed the connection");
    expect_get(in_value, MCDS_OUT_UNKNOWN, "closed the connection");
}

static void nonsense_in_place_of_a_reply_is_unknown(void **state)
{
    (void)state;
    static const struct fake_step garbage[] = {
        {FAKE_PROBED, NULL}, {FAKE_EXPECT, "mg k"}, {FAKE_SEND, "wrong\r\n"},
        {FAKE_STALL, NULL},  {FAKE_END, NULL},
    };
    static const struct fake_step too_long[] = {
        {FAKE_PROBED, NULL},
        {FAKE_EXPECT, "mg k"},
        {FAKE_SEND, "VA 99999999999999999999 f0 O#1\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    expect_get(garbage, MCDS_OUT_UNKNOWN, "not memcached's protocol");
    expect_get(too_long, MCDS_OUT_UNKNOWN, "not memcached's protocol");
}

/* Memory is not reserved for what such a server cannot have. */
static void a_reply_larger_than_any_item_is_refused(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL}, {FAKE_EXPECT, "mg k"}, {FAKE_SEND, "VA 5000000 f0 c1 O#1\r\nabc"},
        {FAKE_STALL, NULL},  {FAKE_END, NULL},
    };
    expect_get(steps, MCDS_OUT_UNKNOWN, "larger than its largest item");
}

/* memcached's own proxy speaks the meta protocol and has settings. */
static void a_proxy_that_says_so_is_asked_one_by_one(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "version\r\n"},
        {FAKE_SEND, "EN kmcds-probe Oq\r\nVERSION 1.6.40\r\n"},
        {FAKE_EXPECT, "stats settings\r\n"},
        {FAKE_SEND, "NS\r\nCLIENT_ERROR invalid flag\r\nEN\r\nEND\r\nSTAT evictions on\r\nSTAT "
                    "proxy_enabled yes\r\nEND\r\n"},
        {FAKE_EXPECT, "mg k"},
        {FAKE_SEND, "EN O#1\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(fake_server_uri(server));
    mcds_request request = get_request("k");
    mcds_capabilities can;
    ask(store, &request, 1);
    assert_int_equal(request.reply.outcome, MCDS_OUT_MISS);
    can = mcds__store_can(store);
    assert_false(can.ordered_batch);
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

static void a_reply_may_come_byte_by_byte(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL},
        {FAKE_EXPECT, "mg k"},
        {FAKE_DRIP, "VA 7 f3 c9 O#1\r\nab\r\ncd\n\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    expect_get(steps, MCDS_OUT_OK, NULL);
}

/* The first answer is definite, the second was on its way, the third as well. */
static void answers_before_a_cut_stay_definite(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL}, {FAKE_EXPECT, "mg c"}, {FAKE_SEND, "HD c7 O#1\r\n"},
        {FAKE_CLOSE, NULL},  {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(fake_server_uri(server));
    mcds_request requests[] = {set_request("a", "1"), set_request("b", "2"), get_request("c")};
    for (int i = 0; i < 3; i++)
        requests[i].route = (mcds_bytes){"a", 1};
    mcds_batch batch = {.requests = requests, .count = 3, .independent = true};
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + mcds__store_timeout_ns(store);
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(requests[0].reply.outcome, MCDS_OUT_OK);
    assert_int_equal(requests[0].reply.cas.unique, 7);
    assert_int_equal(requests[1].reply.outcome, MCDS_OUT_UNKNOWN);
    assert_int_equal(requests[2].reply.outcome, MCDS_OUT_UNKNOWN);
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

static void a_peer_that_hangs_up_on_meta_is_asked_one_by_one(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "mg "},
        {FAKE_CLOSE, NULL},
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "version\r\n"},
        {FAKE_SEND, "VERSION 1.6.18\r\n"},
        {FAKE_EXPECT, "set a 0 0 1\r\n1\r\n"},
        {FAKE_SEND, "STORED\r\n"},
        {FAKE_EXPECT, "gets a\r\n"},
        {FAKE_SEND, "VALUE a 0 1 5\r\n1\r\nEND\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(fake_server_uri(server));
    mcds_request requests[] = {set_request("a", "1"), get_request("a")};
    mcds_capabilities can;
    ask(store, requests, 2);
    assert_int_equal(requests[0].reply.outcome, MCDS_OUT_OK);
    assert_int_equal(requests[1].reply.outcome, MCDS_OUT_OK);
    assert_int_equal(requests[1].reply.cas.unique, 5);
    can = mcds__store_can(store);
    assert_false(can.ordered_batch);
    assert_false(can.create_on_increment);
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

/* MemcacheDB: neither gets nor cas, and a ttl that nobody keeps. */
static void a_server_without_cas_carries_what_it_can(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "version\r\n"},
        {FAKE_SEND, "ERROR\r\nVERSION 1.2.1\r\n"},
        {FAKE_EXPECT, "stats settings\r\n"},
        {FAKE_SEND, "ERROR\r\nSTAT pid 1\r\nEND\r\n"},
        {FAKE_EXPECT, "get k\r\n"},
        {FAKE_SEND, "VALUE k 0 2\r\nab\r\nEND\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(fake_server_uri(server));
    mcds_request request = get_request("k");
    mcds_lock *lock = NULL;
    ask(store, &request, 1);
    assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
    assert_int_equal(mcds_lock_open(store, "job", NULL, &lock), MCDS_UNSUPPORTED);
    assert_non_null(strstr(mcds_errmsg(), "a lease beyond its time (use memcached 1.6.18"));
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

static void what_must_not_be_sent_is_not_sent(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL},       {FAKE_EXPECT, "mg k v f c O"}, /* nothing before it */
        {FAKE_SEND, "EN O#1\r\n"}, {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    static char big[1048577];
    memset(big, 'x', sizeof big - 1);
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(fake_server_uri(server));
    mcds_request requests[] = {set_request("k", big), set_request("k", "1"), get_request("k")};
    requests[1].command = MCDS_CAS;
    requests[1].cas = (mcds_cas_token){5, 1000000};
    ask(store, requests, 3);
    assert_int_equal(requests[0].reply.outcome, MCDS_OUT_TOO_BIG);
    assert_int_equal(requests[1].reply.outcome, MCDS_OUT_EXISTS);
    assert_int_equal(requests[2].reply.outcome, MCDS_OUT_MISS);
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

static void nobody_there_is_unavailable(void **state)
{
    (void)state;
    mcds_store *store = open_store("memcached:///nowhere/at/all.sock");
    mcds_counter *counter;
    assert_int_equal(mcds_counter_open(store, "hits", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_UNAVAILABLE);
    assert_string_equal(mcds_errmsg(),
                        "counter 'hits': add: /nowhere/at/all.sock: no such socket "
                        "file: no server listens there");
    mcds_counter_close(counter);
    mcds_close(store);
}

static void bad_uris_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *uri;
        const char *sentence;
    } bad[] = {
        {"memcached://", "write memcached://HOST[:PORT]"},
        {"memcached://a/path", "a unix socket is memcached:///PATH"},
        {"memcached://a#frag", "a host has only letters"},
        {"memcached://a b", "a host has only letters"},
        {"memcached://a;b", "a comma separates servers"},
        {"memcached://a&ns=x", "? begins the options"},
        {"memcached://a:0", "the port must be"},
        {"memcached://a:99999", "the port must be"},
        {"memcached://a*0", "the weight after *"},
        {"memcached://a,a", "it is named twice"},
        {"memcached://a:1:", "write an IPv6 address as"},
        {"memcached://::1", "write an IPv6 address as"},
        {"memcached://user:pw@host:11211", "leave out USER:PASSWORD@"},
        {"memcached://[::1", "the bracket of the IPv6 address is not closed"},
        {"memcached://[/a]", "only an IPv6 address may be in brackets"},
        {"memcached://a?protocol=binary", "must be auto, meta or classic"},
        {"memcached://a?connect_timeout=0", "connect_timeout=0 is not a whole number"},
        {"memcached://a?strict=1", "has no option 'strict'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        mcds_store *store = NULL;
        assert_int_equal(mcds_open(bad[i].uri, NULL, &store), MCDS_INVALID);
        if (strstr(mcds_errmsg(), bad[i].sentence) == NULL)
            fail_msg("%s: %s", bad[i].uri, mcds_errmsg());
    }
    mcds_close(open_store("memcached://a:1,b_2.x-y:2,[fe80::1%25eth0]:3,\xc3\xa4.test"));
}

static bool find_clock(void *context, const mcds_finding *finding)
{
    bool *found = context;
    *found = *found || strstr(finding->what, "differ by 92233720") != NULL;
    return true;
}

static void a_clock_beyond_all_clocks_is_told(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_PROBED, NULL},
        {FAKE_EXPECT, "mg mcds-probe-inspect"},
        {FAKE_SEND, "EN O#1\r\n"},
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "stats\r\n"},
        {FAKE_SEND, "STAT version 1.6.18\r\nSTAT time 9223372036854775808\r\nEND\r\n"},
        {FAKE_EXPECT, "stats settings\r\n"},
        {FAKE_SEND, "END\r\n"},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(fake_server_uri(server));
    bool found = false;
    assert_int_equal(mcds_inspect(store, find_clock, &found), MCDS_OK);
    assert_true(found);
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

struct findings {
    bool is_old;
    bool expires_nothing;
    bool is_wrong; /* what is true of proxies, or of newer servers */
};

static bool note_finding(void *context, const mcds_finding *finding)
{
    struct findings *found = context;
    const char *what = finding->what;
    found->is_old = found->is_old || strstr(what, "of version 1.2.1: it has no meta") != NULL;
    found->expires_nothing = found->expires_nothing ||
                             strstr(what, "beyond their time") != NULL;
    found->is_wrong = found->is_wrong || strstr(what, "proxy") != NULL ||
                      strstr(what, "evict leases") != NULL ||
                      strstr(finding->fix, "temporary_ttl") != NULL;
    return true;
}

/* MemcacheDB has statistics, of which a proxy has none, and none about evictions. */
static void an_old_server_is_not_called_a_proxy(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "version\r\n"},
        {FAKE_SEND, "ERROR\r\nVERSION 1.2.1\r\n"},
        {FAKE_EXPECT, "stats settings\r\n"},
        {FAKE_SEND, "ERROR\r\nERROR\r\n"},
        {FAKE_EXPECT, "get mcds-probe-inspect\r\n"},
        {FAKE_SEND, "END\r\n"},
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "stats\r\n"},
        {FAKE_SEND, "STAT pid 7\r\nSTAT version 1.2.1\r\nSTAT curr_connections 2\r\nEND\r\n"},
        {FAKE_EXPECT, "stats settings\r\n"},
        {FAKE_SEND, "ERROR\r\n"},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(steps);
    mcds_store *store = open_store(fake_server_uri(server));
    struct findings found = {false, false, false};
    assert_int_equal(mcds_inspect(store, note_finding, &found), MCDS_OK);
    assert_true(found.is_old && found.expires_nothing);
    assert_false(found.is_wrong);
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

static bool find_port(void *context, const mcds_finding *finding)
{
    bool *found = context;
    *found = *found || (strstr(finding->what, "an HTTP server") != NULL &&
                        strstr(finding->fix, "Name the port of a memcached server") != NULL);
    return true;
}

static void the_port_of_another_server_has_its_own_advice(void **state)
{
    (void)state;
    static const struct fake_step http[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "mg "},
        {FAKE_SEND, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"},
        {FAKE_STALL, NULL},
        {FAKE_END, NULL},
    };
    struct fake_server *server = fake_server_start(http);
    mcds_store *store = open_store(fake_server_uri(server));
    bool found = false;
    assert_int_equal(mcds_inspect(store, find_port, &found), MCDS_OK);
    assert_true(found);
    mcds_close(store);
    assert_int_equal(fake_server_stop(server), -1);
}

static bool count_key(void *context, mcds_bytes key)
{
    int *count = context;
    assert_int_equal(key.length, 1);
    (*count)++;
    return true;
}

static void check_keys_after(const char *command, const char *refusal, const char *next)
{
    static const struct {
        const char *listed;
        int count;
    } cases[] = {
        {"key=a exp=-1 la=0 cas=1 fetch=no cls=1 size=60\n"
         "key=b exp=-1 la=0 cas=2 fetch=no cls=1 size=60\nEND\r\n",
         2},
        {"END\r\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct fake_step steps[] = {
            {FAKE_ACCEPT, NULL}, {FAKE_EXPECT, command},       {FAKE_SEND, refusal},
            {FAKE_EXPECT, next}, {FAKE_SEND, cases[i].listed}, {FAKE_STALL, NULL},
            {FAKE_END, NULL},
        };
        struct fake_server *server = fake_server_start(steps);
        mcds_store *store = open_store(fake_server_uri(server));
        int count = 0;
        assert_int_equal(mcds__store_keys(store, (mcds_bytes){"", 0}, count_key, &count),
                         MCDS_OK);
        assert_int_equal(count, cases[i].count);
        mcds_close(store);
        assert_int_equal(fake_server_stop(server), -1);
    }
}

/* memcached lists its keys for one at a time, and now and then for itself. */
static void a_server_that_is_busy_is_asked_again_for_its_keys(void **state)
{
    (void)state;
    check_keys_after("lru_crawler metadump hash\r\n",
                     "BUSY currently processing crawler request\r\n",
                     "lru_crawler metadump hash\r\n");
}

static void an_old_server_is_asked_for_its_lists(void **state)
{
    (void)state;
    check_keys_after("lru_crawler metadump hash\r\n", "BADCLASS invalid class id\r\n",
                     "lru_crawler metadump all\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_is_busy_is_asked_again_for_its_keys),
        cmocka_unit_test(an_old_server_is_asked_for_its_lists),
        cmocka_unit_test(a_server_of_another_kind_is_named_so),
        cmocka_unit_test(a_server_that_says_nothing_does_not_hold_the_caller),
        cmocka_unit_test(a_server_that_falls_silent_does_not_hold_the_caller),
        cmocka_unit_test(a_hang_up_in_mid_reply_is_unknown),
        cmocka_unit_test(nonsense_in_place_of_a_reply_is_unknown),
        cmocka_unit_test(a_reply_larger_than_any_item_is_refused),
        cmocka_unit_test(a_proxy_that_says_so_is_asked_one_by_one),
        cmocka_unit_test(a_reply_may_come_byte_by_byte),
        cmocka_unit_test(answers_before_a_cut_stay_definite),
        cmocka_unit_test(a_peer_that_hangs_up_on_meta_is_asked_one_by_one),
        cmocka_unit_test(a_server_without_cas_carries_what_it_can),
        cmocka_unit_test(what_must_not_be_sent_is_not_sent),
        cmocka_unit_test(nobody_there_is_unavailable),
        cmocka_unit_test(bad_uris_are_told_apart),
        cmocka_unit_test(a_clock_beyond_all_clocks_is_told),
        cmocka_unit_test(an_old_server_is_not_called_a_proxy),
        cmocka_unit_test(the_port_of_another_server_has_its_own_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
