/* An exact counter on several servers, which are killed and come back empty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "core/replica/tombstone.h"
#include "mcds.h"
#include "store/store.h"
#include "support/server.h"

#define SERVERS_MAX 5
#define NEVER_MS 3600000
#define HANDLES 1200

struct cluster {
    struct server servers[SERVERS_MAX];
    uint32_t count;
    char uri[1024];
};

static void run(struct cluster *cluster, uint32_t count)
{
    size_t length = (size_t)snprintf(cluster->uri, sizeof cluster->uri, "memcached://");
    for (uint32_t i = 0; i < count; i++) {
        char one[160];
        cluster->count++;
        if (!server_start_memcached_unix(&cluster->servers[i])) {
            print_message("skipped: memcached does not start\n");
            skip();
        }
        server_uri(&cluster->servers[i], one, sizeof one);
        length += (size_t)snprintf(cluster->uri + length, sizeof cluster->uri - length, "%s%s",
                                   i > 0 ? "," : "", one + strlen("memcached://"));
    }
}

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct cluster));
    return *state != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    struct cluster *cluster = *state;
    for (uint32_t i = 0; i < cluster->count; i++)
        server_stop(&cluster->servers[i]);
    free(cluster);
    return 0;
}

#define TIMEOUT_MS 5000
#define LONG_MS                                                                                \
    20000 /* where no server is paused: a get that fills servers, on a busy machine */

static mcds_store *open_patient(const struct cluster *cluster, uint32_t timeout_ms)
{
    mcds_store *store = NULL;
    mcds_options options = MCDS_OPTIONS_INIT;
    options.timeout_ms = timeout_ms;
    assert_int_equal(mcds_open(cluster->uri, &options, &store), MCDS_OK);
    return store;
}

static mcds_store *open_store(const struct cluster *cluster)
{
    return open_patient(cluster, TIMEOUT_MS);
}

static mcds_counter *open_counter(mcds_store *store, uint32_t copies)
{
    mcds_counter *counter = NULL;
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.copies = copies;
    options.flush_ms = NEVER_MS;
    assert_int_equal(mcds_counter_open(store, "orders", &options, &counter), MCDS_OK);
    return counter;
}

static void check(int result, int expected, int line)
{
    if (result == expected)
        return;
    print_error("line %d: expected %s, got %s: %s\n", line, mcds_result_name(expected),
                mcds_result_name(result), result < 0 ? mcds_errmsg() : "");
    fail();
}
#define CHECK(expected, call) check(call, expected, __LINE__)

/* Too few servers have answered: the others are away, or, on a busy machine, too late. */
static bool is_unanswered(int result)
{
    return result == MCDS_UNAVAILABLE || result == MCDS_TIMEOUT;
}

/* A store does not try for a while to reach a server that was down, though it be up again; so
 * more than one may seem to be away. Each call waits a little. */
#define TRIES_MAX 1000

static void add(mcds_counter *counter, int64_t delta)
{
    int result = MCDS_UNAVAILABLE;
    CHECK(MCDS_OK, mcds_counter_add(counter, delta, NULL));
    for (int i = 0; i < TRIES_MAX && result != MCDS_OK; i++) {
        result = mcds_counter_flush(counter);
        assert_true(result == MCDS_OK || result == MCDS_UNAVAILABLE ||
                    result == MCDS_AMBIGUOUS);
    }
    CHECK(MCDS_OK, result);
}

static void check_value(mcds_counter *counter, int64_t expected, int line)
{
    mcds_counter_value value = {.size = sizeof(mcds_counter_value), .reborn = true};
    check(mcds_counter_get(counter, &value), MCDS_OK, line);
    if (value.value == expected && !value.reborn)
        return;
    print_error("line %d: expected %lld, got %lld%s\n", line, (long long)expected,
                (long long)value.value, value.reborn ? ", reborn" : "");
    fail();
}
#define CHECK_VALUE(counter, expected) check_value(counter, expected, __LINE__)

/* The view of a new handle, to which all servers that are up seem up. */
static void check_afresh(const struct cluster *cluster, uint32_t copies, int64_t expected,
                         int line)
{
    mcds_store *store = open_patient(cluster, LONG_MS);
    mcds_counter *counter = open_counter(store, copies);
    check_value(counter, expected, line);
    mcds_counter_close(counter);
    mcds_close(store);
}
#define CHECK_AFRESH(cluster, copies, expected)                                                \
    check_afresh(cluster, copies, expected, __LINE__)

/* What was counted by somebody who is no more. */
static void count_and_leave(const struct cluster *cluster, uint32_t copies, int64_t delta)
{
    mcds_store *store = open_store(cluster);
    mcds_counter *counter = open_counter(store, copies);
    add(counter, delta);
    mcds_counter_close(counter);
    mcds_close(store);
}

static void one_after_the_other_comes_back_empty(void **state)
{
    struct cluster *cluster = *state;
    run(cluster, 3);
    count_and_leave(cluster, 3, 1000);
    mcds_store *store = open_store(cluster);
    mcds_counter *writer = open_counter(store, 3);
    int64_t expected = 1000;
    for (int round = 0; round < 6; round++) {
        add(writer, 1);
        expected++;
        CHECK_AFRESH(cluster, 3, expected);
        assert_true(server_restart(&cluster->servers[round % 3]));
        CHECK_AFRESH(cluster, 3, expected);
    }
    mcds_counter_close(writer);
    mcds_close(store);
}

/* All additions are on both servers, so half of the servers may come back empty. */
static void one_of_two_comes_back_empty(void **state)
{
    struct cluster *cluster = *state;
    run(cluster, 2);
    count_and_leave(cluster, 2, 1000);
    mcds_store *store = open_patient(cluster, LONG_MS);
    mcds_counter *writer = open_counter(store, 2);
    int64_t expected = 1000;
    for (int round = 0; round < 4; round++) {
        add(writer, 1);
        count_and_leave(cluster, 2, 10);
        expected += 11;
        assert_true(server_restart(&cluster->servers[round % 2]));
        CHECK_AFRESH(cluster, 2, expected);
        CHECK_VALUE(writer, expected);
    }
    mcds_counter_close(writer);
    mcds_close(store);
}

/* Both have lost it: what the open handle knows is a part. */
static void two_of_two_come_back_empty(void **state)
{
    struct cluster *cluster = *state;
    mcds_counter_value value = {.size = sizeof(mcds_counter_value)};
    run(cluster, 2);
    count_and_leave(cluster, 2, 1000);
    mcds_store *store = open_patient(cluster, LONG_MS);
    mcds_counter *writer = open_counter(store, 2);
    add(writer, 1);
    CHECK_VALUE(writer, 1001);
    assert_true(server_restart(&cluster->servers[0]));
    assert_true(server_restart(&cluster->servers[1]));
    int result = MCDS_UNAVAILABLE;
    for (int i = 0; i < TRIES_MAX && is_unanswered(result); i++)
        result = mcds_counter_get(writer, &value);
    CHECK(MCDS_OK, result);
    assert_true(value.reborn && value.value == 1);
    mcds_counter_close(writer);
    mcds_close(store);
}

static void a_server_that_is_down_is_not_missed(void **state)
{
    struct cluster *cluster = *state;
    run(cluster, 3);
    count_and_leave(cluster, 3, 1000);
    mcds_store *store = open_store(cluster);
    mcds_counter *writer = open_counter(store, 3);
    int64_t expected = 1000;
    for (int i = 0; i < 3; i++) {
        server_kill(&cluster->servers[i]);
        add(writer, 1);
        expected++;
        CHECK_AFRESH(cluster, 3, expected);
        count_and_leave(cluster, 3, 10);
        expected += 10;
        assert_true(server_restart(&cluster->servers[i]));
        CHECK_AFRESH(cluster, 3, expected);
    }
    mcds_counter_close(writer);
    mcds_close(store);
}

/* Writers that have left keep their entries while a server is away: a command is a handle for one
 * addition. */
static void many_come_and_go_while_a_server_is_down(void **state)
{
    struct cluster *cluster = *state;
    run(cluster, 3);
    count_and_leave(cluster, 3, 1000);
    server_kill(&cluster->servers[1]);
    mcds_store *store = open_store(cluster);
    for (int i = 0; i < HANDLES; i++) {
        mcds_counter *writer = open_counter(store, 3);
        add(writer, 1);
        mcds_counter_close(writer);
    }
    CHECK_AFRESH(cluster, 3, 1000 + HANDLES);
    assert_true(server_restart(&cluster->servers[1]));
    CHECK_AFRESH(cluster, 3, 1000 + HANDLES);
    server_kill(&cluster->servers[2]);
    CHECK_AFRESH(cluster, 3, 1000 + HANDLES);
    mcds_close(store);
}

static void without_a_majority_nothing_is_claimed(void **state)
{
    struct cluster *cluster = *state;
    mcds_counter_value value = {.size = sizeof(mcds_counter_value), .value = -1};
    run(cluster, 3);
    mcds_store *store = open_store(cluster);
    mcds_counter *writer = open_counter(store, 3);
    mcds_counter *reader = open_counter(store, 3);
    add(writer, 5);
    server_kill(&cluster->servers[0]);
    server_kill(&cluster->servers[1]);
    assert_true(is_unanswered(mcds_counter_get(reader, &value)));
    assert_int_equal(value.value, -1);
    CHECK(MCDS_OK, mcds_counter_add(writer, 7, NULL));
    /* The third server may have it. */
    CHECK(MCDS_AMBIGUOUS, mcds_counter_flush(writer));
    assert_true(server_restart(&cluster->servers[0]));
    /* One server of three is whole, one is empty, one is away: still no majority. */
    assert_true(is_unanswered(mcds_counter_get(reader, &value)));
    assert_int_equal(value.value, -1);
    assert_true(server_restart(&cluster->servers[1]));
    add(writer, 0);
    /* Two of three have lost all; the last one knows, but whether that is all is not known. */
    int result = MCDS_UNAVAILABLE;
    for (int i = 0; i < TRIES_MAX && is_unanswered(result); i++)
        result = mcds_counter_get(reader, &value);
    CHECK(MCDS_OK, result);
    assert_int_equal(value.value, 12);
    assert_true(value.reborn);
    CHECK_VALUE(writer, 12);
    mcds_counter_close(writer);
    mcds_counter_close(reader);
    mcds_close(store);
}

static void two_of_five_die_at_once(void **state)
{
    struct cluster *cluster = *state;
    run(cluster, 5);
    count_and_leave(cluster, 5, 1000);
    CHECK_AFRESH(cluster, 5, 1000);
    for (int i = 0; i < 5; i++) {
        server_kill(&cluster->servers[i]);
        server_kill(&cluster->servers[(i + 2) % 5]);
        CHECK_AFRESH(cluster, 5, 1000);
        assert_true(server_restart(&cluster->servers[i]));
        assert_true(server_restart(&cluster->servers[(i + 2) % 5]));
        CHECK_AFRESH(cluster, 5, 1000);
    }
}

/* A server that does not answer costs time, not correctness. */
static void a_server_that_is_paused_is_not_missed(void **state)
{
    struct cluster *cluster = *state;
    run(cluster, 3);
    mcds_store *store = open_store(cluster);
    mcds_counter *writer = open_counter(store, 3);
    mcds_counter *reader = open_counter(store, 3);
    add(writer, 5);
    assert_true(server_pause(&cluster->servers[1]));
    add(writer, 7);
    CHECK_VALUE(reader, 12);
    assert_true(server_resume(&cluster->servers[1]));
    add(writer, 1);
    CHECK_VALUE(reader, 13);
    mcds_counter_close(writer);
    mcds_counter_close(reader);
    mcds_close(store);
}

static void a_counter_keeps_its_copies(void **state)
{
    struct cluster *cluster = *state;
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t sum = 5;
    run(cluster, 3);
    count_and_leave(cluster, 3, sum);
    mcds_store *store = open_store(cluster);
    for (uint32_t copies = 1; copies <= 2; copies++) {
        mcds_counter *counter = NULL;
        options.flags = MCDS_COUNTER_EXACT;
        options.copies = copies;
        CHECK(MCDS_OK, mcds_counter_open(store, "orders", &options, &counter));
        int result = mcds_counter_get(counter, &value);
        for (int i = 0; i < TRIES_MAX && result == MCDS_NOT_FOUND; i++, sum++) {
            /* A server that is slow misses additions that the others have. */
            count_and_leave(cluster, 3, 1);
            result = mcds_counter_get(counter, &value);
        }
        CHECK(MCDS_INVALID, result);
        assert_non_null(strstr(mcds_errmsg(), "copies 3, not "));
        CHECK(MCDS_INVALID, mcds_counter_drop(counter));
        assert_non_null(strstr(mcds_errmsg(), "copies 3, not "));
        mcds_counter_close(counter);
    }
    mcds_counter *counter = NULL;
    options.copies = 3;
    CHECK(MCDS_OK, mcds_counter_open(store, "orders", &options, &counter));
    CHECK(MCDS_OK, mcds_counter_get(counter, &value));
    assert_int_equal(value.value, sum);
    mcds_counter_close(counter);
    options.copies = 4;
    CHECK(MCDS_UNSUPPORTED, mcds_counter_open(store, "orders", &options, &counter));
    assert_non_null(strstr(mcds_errmsg(), "this store has 3"));
    mcds_close(store);
}

static int read_made(const struct cluster *cluster, uint32_t *copies_out)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_store *store = open_store(cluster);
    int result = mcds_counter_made_with(store, "orders", &options);
    *copies_out = options.copies;
    mcds_close(store);
    return result;
}

/* The root is read without a number of copies: each server may be the one that lacks it. */
static void its_root_is_found_in_each_place(void **state)
{
    struct cluster *cluster = *state;
    uint32_t copies = 0;
    run(cluster, 3);
    CHECK(MCDS_NOT_FOUND, read_made(cluster, &copies));
    count_and_leave(cluster, 3, 5);
    for (int i = 0; i < 3; i++) {
        CHECK_AFRESH(cluster, 3, 5);
        server_kill(&cluster->servers[i]);
        CHECK(MCDS_OK, read_made(cluster, &copies));
        assert_int_equal(copies, 3);
        assert_true(server_restart(&cluster->servers[i]));
        CHECK(MCDS_OK, read_made(cluster, &copies));
        assert_int_equal(copies, 3);
    }
}

/* A majority of the places may hold a counter that this server has lost. */
static void without_a_majority_none_is_denied(void **state)
{
    struct cluster *cluster = *state;
    uint32_t copies = 0;
    run(cluster, 3);
    for (int i = 0; i < 3; i++) {
        server_kill(&cluster->servers[i]);
        server_kill(&cluster->servers[(i + 1) % 3]);
        assert_true(is_unanswered(read_made(cluster, &copies)));
        assert_true(server_restart(&cluster->servers[i]));
        assert_true(server_restart(&cluster->servers[(i + 1) % 3]));
    }
    CHECK(MCDS_NOT_FOUND, read_made(cluster, &copies));
}

static mcds_store *open_server(const struct cluster *cluster, uint32_t i)
{
    char uri[160];
    mcds_store *store = NULL;
    server_uri(&cluster->servers[i], uri, sizeof uri);
    CHECK(MCDS_OK, mcds_open(uri, NULL, &store));
    return store;
}

static void ask(mcds_store *store, mcds_request request)
{
    mcds_batch batch = {.requests = &request, .count = 1};
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + 10 * NS_PER_S;
    request.route = (mcds_bytes){NULL, 0};
    request.copy = 0;
    mcds__store_execute(store, 0, &batch);
    assert_true(request.reply.outcome == MCDS_OUT_OK || request.reply.outcome == MCDS_OUT_MISS);
}

/* The steps of a drop that takes its time: first the tombstone on each server, then the erasures. */
static void begin_drop(const struct cluster *cluster, const struct mcds__replica *replica)
{
    uint8_t value[MCDS__REPLICA_TOMBSTONE_MAX];
    for (uint32_t i = 0; i < cluster->count; i++) {
        mcds_store *store = open_server(cluster, i);
        ask(store, mcds__replica_tombstone_set(replica, i, 77, value));
        mcds_close(store);
    }
}

static void erase_on(const struct cluster *cluster, const struct mcds__replica *replica,
                     uint32_t i)
{
    mcds_store *store = open_server(cluster, i);
    ask(store, (mcds_request){.command = MCDS_DELETE, .key = mcds__key_bytes(&replica->head)});
    for (uint32_t slot = 0; slot < replica->slots; slot++)
        ask(store, (mcds_request){.command = MCDS_DELETE,
                                  .key = mcds__key_bytes(&replica->keys[slot])});
    mcds_close(store);
}

/* Put a slot with entries of `count` writers that have left, each of 1, on server `i`. */
static void put_slot(const struct cluster *cluster, const struct mcds__replica *replica,
                     uint32_t slot, uint32_t count, uint32_t i)
{
    static struct mcds__replica_state state;
    static uint8_t bytes[MCDS__REPLICA_VALUE_MAX];
    mcds_bytes key = mcds__key_bytes(&replica->keys[slot]);
    mcds__replica_clear_state(&state);
    for (uint32_t owner = 1; owner <= count; owner++) {
        struct mcds__replica_entry *entry = mcds__replica_insert(&state, owner);
        assert_non_null(entry);
        entry->version = 1;
        entry->mine = 1;
        entry->seen_s = mcds__wall_s(mcds_env_system());
        entry->flags = MCDS__REPLICA_LEFT;
    }
    mcds_store *store = open_server(cluster, i);
    size_t length = mcds__replica_encode(&state, key, bytes);
    ask(store, (mcds_request){.command = MCDS_SET, .key = key, .value = {bytes, length}});
    mcds_close(store);
}

static void open_replica(struct mcds__replica *replica)
{
    memset(replica, 0, sizeof *replica);
    assert_true(mcds__replica_open(replica, mcds_env_system(), "mcds", "orders", 3));
}

/* While a server was away, all slots have become full. When it is back, they are settled. */
static void full_slots_are_settled(void **state)
{
    struct cluster *cluster = *state;
    static struct mcds__replica replica;
    run(cluster, 3);
    count_and_leave(cluster, 3, 1000);
    open_replica(&replica);
    int64_t expected = 0;
    for (uint32_t slot = 0; slot < replica.slots; slot++) {
        for (uint32_t i = 0; i < 3; i++)
            put_slot(cluster, &replica, slot, MCDS__REPLICA_ENTRIES_USUAL, i);
        expected += MCDS__REPLICA_ENTRIES_USUAL;
    }
    CHECK_AFRESH(cluster, 3, expected);
    mcds_store *store = open_store(cluster);
    for (int i = 0; i < HANDLES; i++) {
        mcds_counter *writer = open_counter(store, 3);
        add(writer, 1);
        mcds_counter_close(writer);
    }
    CHECK_AFRESH(cluster, 3, expected + HANDLES);
    mcds_close(store);
    mcds__replica_close(&replica);
}

/* Another client is making the counter: its head is on one server, and there is no slot. */
static void a_counter_that_is_being_made_is_not_lost(void **state)
{
    struct cluster *cluster = *state;
    static struct mcds__replica replica;
    uint8_t head[MCDS__REPLICA_HEAD_MAX];
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    run(cluster, 3);
    open_replica(&replica);
    mcds_store *server = open_server(cluster, 0);
    ask(server, mcds__replica_head_add(&replica, 0, head));
    mcds_close(server);
    mcds_store *store = open_patient(cluster, LONG_MS);
    mcds_counter *counter = open_counter(store, 3);
    CHECK(MCDS_NOT_FOUND, mcds_counter_get(counter, &value));
    add(counter, 5);
    CHECK_VALUE(counter, 5);
    mcds_counter_close(counter);
    mcds_close(store);
    CHECK_AFRESH(cluster, 3, 5);
    mcds__replica_close(&replica);
}

/* A writer has died after it had reached one server: what a get has shown is kept. */
static void what_a_get_shows_stays(void **state)
{
    struct cluster *cluster = *state;
    static struct mcds__replica replica;
    run(cluster, 3);
    count_and_leave(cluster, 3, 1000);
    open_replica(&replica);
    for (uint32_t slot = 0; slot < replica.slots; slot++)
        put_slot(cluster, &replica, slot, 3, 0);
    mcds_store *store = open_store(cluster);
    mcds_counter *reader = open_counter(store, 3);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    CHECK(MCDS_OK, mcds_counter_get(reader, &value));
    assert_in_range(value.value, 3 * (replica.slots - 1), 1000 + 3 * replica.slots);
    server_kill(&cluster->servers[0]);
    CHECK_AFRESH(cluster, 3, value.value);
    mcds_counter_close(reader);
    mcds_close(store);
    mcds__replica_close(&replica);
}

/* What a new handle reads; 0 where there is no counter. */
static int64_t read_afresh(const struct cluster *cluster)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_store *store = open_store(cluster);
    mcds_counter *counter = open_counter(store, 3);
    int result = mcds_counter_get(counter, &value);
    assert_true(result == MCDS_OK || result == MCDS_NOT_FOUND);
    mcds_counter_close(counter);
    mcds_close(store);
    return value.value;
}

/* One server is erased, and the others are not yet: neither a get nor a flush brings back there what
 * the drop erases. */
static void beside_a_drop_nothing_comes_back(void **state)
{
    struct cluster *cluster = *state;
    static struct mcds__replica replica;
    run(cluster, 3);
    open_replica(&replica);
    count_and_leave(cluster, 3, 1000);
    mcds_store *store = open_store(cluster);
    mcds_counter *counter = open_counter(store, 3);
    add(counter, 100);
    begin_drop(cluster, &replica);
    erase_on(cluster, &replica, 0);
    (void)read_afresh(cluster);
    add(counter, 1); /* stored on the other servers, and erased there */
    add(counter, 1); /* finds that the counter was dropped */
    erase_on(cluster, &replica, 1);
    erase_on(cluster, &replica, 2);
    assert_in_range(read_afresh(cluster), 0, 1);
    add(counter, 5);
    assert_int_equal(read_afresh(cluster), 6);
    mcds_counter_close(counter);
    mcds_close(store);
    mcds__replica_close(&replica);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_after_the_other_comes_back_empty, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_of_two_comes_back_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_of_two_come_back_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_server_that_is_down_is_not_missed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_come_and_go_while_a_server_is_down, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_a_majority_nothing_is_claimed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(two_of_five_die_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_server_that_is_paused_is_not_missed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_counter_keeps_its_copies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(its_root_is_found_in_each_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_majority_none_is_denied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_slots_are_settled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_counter_that_is_being_made_is_not_lost, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_a_get_shows_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(beside_a_drop_nothing_comes_back, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
