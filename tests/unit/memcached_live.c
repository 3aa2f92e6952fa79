/* The memcached backend against servers of its own, started for each case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "store/store.h"
#include "support/no_database.h"
#include "support/server.h"

#define FILL_VALUE 100000
#define FILL_MAX 2000
#define FILL_TWICE 400 /* several times what 8 MB hold */

struct live {
    struct server server;
    char uri[480];
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
    size_t used = strlen(live->uri);
    (void)snprintf(live->uri + used, sizeof live->uri - used, "?connect_timeout=10000");
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
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + 10 * NS_PER_S;
    mcds__store_execute(store, request->cas.connection, &batch);
    return request->reply.outcome;
}

static mcds_request request_of(mcds_command command, const char *key, const char *value)
{
    return (mcds_request){
        .command = command, .key = {key, strlen(key)}, .value = {value, strlen(value)}};
}

/* Between two calls the server can have been restarted; that is seen before anything is
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

static void without_cas_nothing_about_it_is_claimed(void **state)
{
    struct live *live = *state;
    char *const options[] = {"-C", NULL};
    run(live, options);
    mcds_store *store = open_store(live);
    mcds_capabilities can;
    mcds_request set = request_of(MCDS_SET, "k", "v");
    mcds_request get = request_of(MCDS_GET, "k", "");
    assert_int_equal(ask(store, &set), MCDS_OUT_OK);
    assert_int_equal(ask(store, &get), MCDS_OUT_OK);
    assert_int_equal(get.reply.cas.connection, 0);
    can = mcds__store_can(store);
    assert_false(can.compare_and_set);
    assert_false(can.compare_and_delete);
    assert_false(can.cas_on_store);
    mcds_close(store);
}

static void check_nothing_is_made(mcds_store *store, mcds_bytes name)
{
    mcds_request get = {.command = MCDS_GET, .key = name};
    assert_int_equal(ask(store, &get), MCDS_OUT_MISS);
}

static int hit_exact_visitors(mcds_store *store)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors;
    options.members = MCDS_MEMBERS_EXACT;
    assert_int_equal(mcds_visitors_open(store, "v", &options, &visitors), MCDS_OK);
    int result = mcds_visitors_hit(visitors, "ann", 0);
    mcds_visitors_close(visitors);
    return result;
}

static int beat_online(mcds_store *store, uint32_t members)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    mcds_online *online;
    options.members = members;
    assert_int_equal(mcds_online_open(store, "o", &options, &online), MCDS_OK);
    int result = mcds_online_beat(online, "ann", 0);
    mcds_online_close(online);
    return result;
}

static int beat_plain_online(mcds_store *store)
{
    return beat_online(store, MCDS_MEMBERS_NONE);
}

static int beat_estimated_online(mcds_store *store)
{
    return beat_online(store, MCDS_MEMBERS_ESTIMATED);
}

static int hit_views(mcds_store *store)
{
    mcds_views_options options = views_without_database();
    mcds_views *views;
    assert_int_equal(mcds_views_open(store, "w", &options, &views), MCDS_OK);
    int result = mcds_views_hit(views, "page", 1);
    mcds_views_close(views);
    return result;
}

static bool is_none(void *context, const mcds_listed *listed)
{
    (void)context;
    fail_msg("%s '%s' is left", listed->noun, listed->name);
    return false;
}

/* Not even the settings, with which other clients would compare theirs. */
static void without_cas_a_refused_hit_leaves_nothing(void **state)
{
    static int (*const calls[])(mcds_store *) = {hit_exact_visitors, beat_plain_online,
                                                 beat_estimated_online, hit_views};
    struct live *live = *state;
    char *const options[] = {"-C", NULL};
    run(live, options);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        mcds_store *store = open_store(live);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(calls[i](store), MCDS_UNSUPPORTED);
            assert_non_null(strstr(mcds_errmsg(), "which keys need to grow"));
            if (mcds_scan(store, is_none, NULL) != MCDS_OK)
                fail_msg("%s", mcds_errmsg());
        }
        mcds_close(store);
    }
}

/* Also the first change, before which nothing is known of the server: what it made could not grow or
 * be changed. */
static void without_cas_nothing_is_made(void **state)
{
    struct live *live = *state;
    char *const options[] = {"-C", NULL};
    run(live, options);
    for (int i = 0; i < 3; i++) {
        mcds_store *store = open_store(live);
        mcds_set *set;
        mcds_table *table;
        mcds_array *array;
        mcds_bytes element = mcds_text("e");
        assert_int_equal(mcds_set_open(store, "s", NULL, &set), MCDS_OK);
        assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
        assert_int_equal(mcds_array_open(store, "a", NULL, &array), MCDS_OK);
        int result = i == 0   ? mcds_set_add(set, element, NULL)
                     : i == 1 ? mcds_table_put(table, element, element, 0)
                              : mcds_array_set(array, &element, 1);
        assert_int_equal(result, MCDS_UNSUPPORTED);
        assert_non_null(strstr(mcds_errmsg(), "compare-and-set"));
        mcds_set_close(set);
        mcds_table_close(table);
        mcds_array_close(array);
        static const char *const roots[] = {"mcds:s2:s", "mcds:t2:t", "mcds:a1:a"};
        check_nothing_is_made(store, mcds_text(roots[i]));
        mcds_close(store);
    }
}

#define LOG_ROOT "mcds:e1:x"

/* Reads the root with its value into `values`, and erases it. */
static mcds_request take_root(mcds_store *store, mcds_buffer *values)
{
    mcds_request root = request_of(MCDS_GET, LOG_ROOT, "");
    mcds_request loss = request_of(MCDS_DELETE, LOG_ROOT, "");
    mcds_batch batch = {.requests = &root, .count = 1, .values = values};
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + 10 * NS_PER_S;
    values->length = 0;
    mcds__store_execute(store, 0, &batch);
    assert_int_equal(root.reply.outcome, MCDS_OUT_OK);
    assert_int_equal(ask(store, &loss), MCDS_OUT_OK);
    return (mcds_request){.command = MCDS_ADD,
                          .flags = root.reply.flags,
                          .key = root.key,
                          .value = {values->data, values->length}};
}

static bool pass_event(void *context, const mcds_log_event *event)
{
    (void)context;
    return event != NULL;
}

static int scan_log(mcds_store *store)
{
    mcds_log *reader;
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    assert_int_equal(mcds_log_open(store, "x", NULL, &reader), MCDS_OK);
    int result = mcds_log_scan(reader, &range, pass_event, NULL, &info);
    mcds_log_close(reader);
    return result;
}

/* Without cas the root that the store has lost is added again as one that proves its life, so the late
 * `add` makes a dropped log again. */
static void without_cas_a_lost_root_is_added_with_its_proof(void **state)
{
    struct live *live = *state;
    char *const options[] = {"-C", NULL};
    run(live, options);
    mcds_store *store = open_store(live);
    mcds_log *log;
    mcds_buffer values;
    mcds__buffer_init(&values, mcds_env_system(), 1024);
    assert_int_equal(mcds_log_open(store, "x", NULL, &log), MCDS_OK);
    assert_int_equal(mcds_log_put(log, 0, mcds_text("before")), MCDS_OK);
    mcds_request first = take_root(store, &values);
    assert_int_equal(mcds_log_put(log, 0, mcds_text("after")), MCDS_OK);
    mcds_request again = take_root(store, &values);
    assert_int_equal(again.flags, first.flags);
    assert_int_equal(again.flags & 3, 2);
    assert_int_equal(ask(store, &again), MCDS_OUT_OK);
    assert_int_equal(mcds_log_drop(log), MCDS_OK);
    assert_int_equal(scan_log(store), MCDS_NOT_FOUND);
    assert_int_equal(ask(store, &again), MCDS_OUT_OK);
    assert_int_equal(scan_log(store), MCDS_OK);
    assert_int_equal(mcds_log_drop(log), MCDS_OK);
    assert_int_equal(scan_log(store), MCDS_NOT_FOUND);
    mcds_log_close(log);
    mcds_close(store);
    mcds__buffer_free(&values);
}

/* Handles of each structure that compares. */
struct comparing {
    mcds_set *set;
    mcds_table *table;
    mcds_array *array;
    mcds_once *once;
    mcds_once_run run;
    mcds_ids *ids;
    mcds_counter *counter;
    mcds_lock *lock;
    mcds_lease lease;
    mcds_value value;
};

static void open_comparing(mcds_store *store, struct comparing *all)
{
    mcds_counter_options exact = MCDS_COUNTER_OPTIONS_INIT;
    exact.flags = MCDS_COUNTER_EXACT;
    exact.flush_ms = MCDS_COUNTER_FLUSH_EACH;
    *all = (struct comparing){
        .run = MCDS_ONCE_RUN_INIT, .lease = MCDS_LEASE_INIT, .value = MCDS_VALUE_INIT};
    assert_int_equal(mcds_set_open(store, "s", NULL, &all->set), MCDS_OK);
    assert_int_equal(mcds_table_open(store, "t", NULL, &all->table), MCDS_OK);
    assert_int_equal(mcds_array_open(store, "a", NULL, &all->array), MCDS_OK);
    assert_int_equal(mcds_once_open(store, "o", NULL, &all->once), MCDS_OK);
    assert_int_equal(mcds_ids_open(store, "i", NULL, &all->ids), MCDS_OK);
    assert_int_equal(mcds_counter_open(store, "c", &exact, &all->counter), MCDS_OK);
    assert_int_equal(mcds_lock_open(store, "l", NULL, &all->lock), MCDS_OK);
}

static void close_comparing(struct comparing *all)
{
    mcds_set_close(all->set);
    mcds_table_close(all->table);
    mcds_array_close(all->array);
    mcds_once_close(all->once);
    mcds_ids_close(all->ids);
    mcds_counter_close(all->counter);
    mcds_lock_close(all->lock);
    mcds_value_free(&all->value);
}

/* Returns how many calls have succeeded. */
static int compare_all(struct comparing *all)
{
    mcds_bytes e = mcds_text("e");
    int32_t code;
    uint64_t id;
    const int results[] = {
        mcds_set_add(all->set, e, NULL),
        mcds_table_put(all->table, e, e, 0),
        mcds_array_set(all->array, &e, 1),
        mcds_once_begin(all->once, e, e, 0, &all->run, &all->value, &code),
        mcds_once_finish(all->once, &all->run, 0, e),
        mcds_once_settle(all->once, e, 0, e),
        mcds_ids_take(all->ids, MCDS_IDS_TAKE_MAX, &id),
        mcds_counter_add(all->counter, 1, NULL),
        mcds_lock_try_acquire(all->lock, &all->lease),
        mcds_lock_release(all->lock, &all->lease),
    };
    int successes = 0;
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        successes += results[i] == MCDS_OK;
    return successes;
}

/* The server was restarted without cas while handles are open: each call ends. */
static void a_server_that_loses_cas_is_borne(void **state)
{
    struct live *live = *state;
    char *const options[] = {"-C", NULL};
    struct comparing all;
    run(live, NULL);
    mcds_store *store = open_store(live);
    open_comparing(store, &all);
    assert_int_equal(compare_all(&all), 9); /* what has a result is not settled */
    live->server.options = options;
    assert_true(server_restart(&live->server));
    for (int i = 0; i < 3; i++)
        assert_int_equal(compare_all(&all), 0);
    live->server.options = NULL;
    assert_true(server_restart(&live->server));
    (void)compare_all(&all);
    close_comparing(&all);
    mcds_close(store);
}

/* Without eviction a full server refuses, and must not lose what it holds by refusing: a lock
 * would be erased by the next client that tries to take it. */
static void a_full_server_keeps_what_it_holds(void **state)
{
    static const mcds_command refused[] = {MCDS_ADD, MCDS_REPLACE, MCDS_APPEND, MCDS_PREPEND,
                                           MCDS_CAS};
    struct live *live = *state;
    static char value[FILL_VALUE + 1];
    char *const options[] = {"-M", "-m", "8", NULL};
    memset(value, 'v', FILL_VALUE);
    run(live, options);
    mcds_store *store = open_store(live);
    mcds_request held = request_of(MCDS_SET, "held", value);
    assert_int_equal(ask(store, &held), MCDS_OUT_OK);
    mcds_outcome outcome = MCDS_OUT_OK;
    for (int i = 0; i < FILL_MAX && outcome == MCDS_OUT_OK; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "fill%d", i);
        mcds_request fill = request_of(MCDS_ADD, key, value);
        outcome = ask(store, &fill);
    }
    assert_int_equal(outcome, MCDS_OUT_NO_MEMORY);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        mcds_request get = request_of(MCDS_GET, "held", "");
        assert_int_equal(ask(store, &get), MCDS_OUT_OK);
        mcds_request request = request_of(refused[i], "held", value);
        request.cas = refused[i] == MCDS_CAS ? get.reply.cas : (mcds_cas_token){0, 0};
        outcome = ask(store, &request);
        if (outcome != MCDS_OUT_NO_MEMORY)
            fail_msg("command %d: outcome %d", refused[i], outcome);
        assert_int_equal(ask(store, &get), MCDS_OUT_OK);
        assert_int_equal(get.reply.value_length, FILL_VALUE);
    }
    mcds_close(store);
}

static bool note_advice(void *context, const mcds_finding *finding)
{
    bool *found = context;
    *found = *found || strstr(finding->fix, "temporary_ttl") != NULL;
    return true;
}

/* 1.6.18 reports a temporary_ttl of 61 also when it keeps none. */
static void who_may_evict_leases_is_told_so(void **state)
{
    struct live *live = *state;
    bool advised = false;
    char *const options[] = {"-o", "temporary_ttl=600", NULL};
    run(live, NULL);
    mcds_store *store = open_store(live);
    assert_int_equal(mcds_inspect(store, note_advice, &advised), MCDS_OK);
    assert_true(advised);
    mcds_close(store);
    server_stop(&live->server);
    run(live, options);
    store = open_store(live);
    advised = false;
    assert_int_equal(mcds_inspect(store, note_advice, &advised), MCDS_OK);
    assert_false(advised);
    mcds_close(store);
}

static bool note_eviction(void *context, const mcds_finding *finding)
{
    bool *found = context;
    *found = *found || (finding->severity == MCDS_PROBLEM && finding->fix[0] != '\0' &&
                        strstr(finding->what, "it has evicted ") != NULL);
    return true;
}

static void who_has_evicted_is_told_so(void **state)
{
    struct live *live = *state;
    static char value[FILL_VALUE + 1];
    char *const options[] = {"-m", "8", NULL};
    bool found = false;
    memset(value, 'v', FILL_VALUE);
    run(live, options);
    mcds_store *store = open_store(live);
    assert_int_equal(mcds_inspect(store, note_eviction, &found), MCDS_OK);
    assert_false(found);
    for (int i = 0; i < FILL_TWICE; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "fill%d", i);
        mcds_request fill = request_of(MCDS_SET, key, value);
        assert_int_equal(ask(store, &fill), MCDS_OUT_OK);
    }
    assert_int_equal(mcds_inspect(store, note_eviction, &found), MCDS_OK);
    assert_true(found);
    mcds_close(store);
}

/* The figure of this name, added over all findings. */
static bool add_commands(void *context, const mcds_finding *finding)
{
    uint64_t *sum = context;
    if (finding->figure != NULL && strcmp(finding->figure, "commands") == 0) {
        assert_int_equal(finding->severity, MCDS_FACT);
        *sum += finding->number;
    }
    return true;
}

static void commands_are_counted(void **state)
{
    struct live *live = *state;
    char *const options[] = {NULL};
    uint64_t before = 0;
    uint64_t after = 0;
    run(live, options);
    mcds_store *store = open_store(live);
    assert_int_equal(mcds_inspect(store, add_commands, &before), MCDS_OK);
    for (int i = 0; i < 5; i++) {
        mcds_request put = request_of(MCDS_SET, "key", "value");
        assert_int_equal(ask(store, &put), MCDS_OUT_OK);
    }
    assert_int_equal(mcds_inspect(store, add_commands, &after), MCDS_OK);
    assert_true(after >= before + 5);
    mcds_close(store);
}

/* Connections over which so many keys were read; the same key or route takes the same one. */
static uint32_t count_connections(mcds_store *store, const char *route)
{
    uint64_t seen[4];
    uint32_t count = 0;
    for (int i = 0; i < 64; i++) {
        char key[16];
        uint64_t first = 0;
        (void)snprintf(key, sizeof key, "k%d", i % 32);
        for (int again = 0; again < 2; again++) {
            mcds_request set = request_of(MCDS_SET, key, "v");
            mcds_request get = request_of(MCDS_GET, key, "");
            set.route = get.route = (mcds_bytes){route, strlen(route)};
            assert_int_equal(ask(store, &set), MCDS_OUT_OK);
            assert_int_equal(ask(store, &get), MCDS_OUT_OK);
            assert_true(again == 0 || get.reply.cas.connection == first);
            first = get.reply.cas.connection;
        }
        uint32_t at = 0;
        while (at < count && seen[at] != first)
            at++;
        assert_true(at < 4);
        seen[at] = first;
        count += at == count;
    }
    return count;
}

/* A bit for each key that has the connection of the first one. */
static uint32_t keys_beside_first(mcds_store *store)
{
    uint64_t first = 0;
    uint32_t beside = 0;
    for (uint32_t i = 0; i < 32; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%u", i);
        mcds_request set = request_of(MCDS_SET, key, "v");
        mcds_request get = request_of(MCDS_GET, key, "");
        assert_int_equal(ask(store, &set), MCDS_OUT_OK);
        assert_int_equal(ask(store, &get), MCDS_OUT_OK);
        if (i == 0)
            first = get.reply.cas.connection;
        beside |= (uint32_t)(get.reply.cas.connection == first) << i;
    }
    return beside;
}

static void keys_are_spread_over_connections(void **state)
{
    struct live *live = *state;
    run(live, NULL);
    mcds_store *store = open_store(live);
    assert_int_equal(count_connections(store, ""), 1);
    mcds_close(store);
    size_t used = strlen(live->uri);
    (void)snprintf(live->uri + used, sizeof live->uri - used, "&connections=3");
    store = open_store(live);
    assert_int_equal(count_connections(store, ""), 3);
    mcds_close(store);
    store = open_store(live);
    assert_int_equal(count_connections(store, "route"), 1);
    /* Nobody can choose keys that share a connection: each store spreads them in another way. */
    uint32_t beside = keys_beside_first(store);
    assert_int_equal(keys_beside_first(store), beside);
    mcds_close(store);
    store = open_store(live);
    assert_int_not_equal(keys_beside_first(store), beside);
    mcds_close(store);
    live->uri[used] = '\0';
    (void)snprintf(live->uri + used, sizeof live->uri - used, "&connections=5");
    assert_int_equal(mcds_open(live->uri, NULL, &store), MCDS_INVALID);
}

#define SERVERS 3
#define KEYS 40

/* No other server takes over its keys: what is there could not be told from what is gone, and
 * two programs that see it differently would hold the same lock. */
static bool count_key(void *context, mcds_bytes key)
{
    uint32_t *count = context;
    *count += key.length > 0;
    return true;
}

static void keys_of_a_dead_server_are_unavailable(void **state)
{
    struct live others[SERVERS - 1] = {0};
    struct live *live = *state;
    uint32_t dead = 0;
    char key[16];
    run(live, NULL);
    for (uint32_t i = 0; i < SERVERS - 1; i++) {
        run(&others[i], NULL);
        size_t used = strcspn(live->uri, "?");
        (void)snprintf(live->uri + used, sizeof live->uri - used, ",%.*s",
                       (int)strcspn(others[i].uri, "?") - (int)strlen("memcached://"),
                       others[i].uri + strlen("memcached://"));
    }
    mcds_store *store = open_store(live);
    for (uint32_t i = 0; i < KEYS; i++) {
        (void)snprintf(key, sizeof key, "k%u", i);
        mcds_request set = request_of(MCDS_SET, key, "v");
        assert_int_equal(ask(store, &set), MCDS_OUT_OK);
    }
    server_kill(&live->server);
    for (uint32_t i = 0; i < KEYS; i++) {
        (void)snprintf(key, sizeof key, "k%u", i);
        mcds_request get = request_of(MCDS_GET, key, "");
        mcds_request add = request_of(MCDS_ADD, key, "w");
        mcds_outcome outcome = ask(store, &get);
        assert_true(outcome == MCDS_OUT_OK || outcome == MCDS_OUT_UNSENT ||
                    outcome == MCDS_OUT_UNKNOWN);
        assert_int_equal(ask(store, &add),
                         outcome == MCDS_OUT_OK ? MCDS_OUT_NOT_STORED : MCDS_OUT_UNSENT);
        dead += outcome != MCDS_OUT_OK;
    }
    assert_in_range(dead, 1, KEYS - 1);
    uint32_t listed = 0;
    assert_int_equal(mcds__store_keys(store, mcds_text("k"), count_key, &listed),
                     MCDS_UNAVAILABLE);
    assert_non_null(strstr(mcds_errmsg(), "; the keys of 1 of 3 servers are missing"));
    assert_int_equal(listed, KEYS - dead);
    mcds_close(store);
    for (uint32_t i = 0; i < SERVERS - 1; i++)
        server_stop(&others[i].server);
}

struct twins {
    char name[128];
    uint32_t count;
};

static bool count_twins(void *context, const mcds_finding *finding)
{
    struct twins *twins = context;
    if (strstr(finding->what, "the same server as") == NULL)
        return true;
    twins->count++;
    assert_int_equal(finding->severity, MCDS_PROBLEM);
    assert_non_null(strstr(finding->what, twins->name));
    return true;
}

/* Another server, which may have begun in the same second, is no twin. */
static void one_server_under_two_names_is_a_problem(void **state)
{
    struct live other = {0};
    struct live *live = *state;
    struct twins twins = {"", 0};
    char uri[512];
    run(live, NULL);
    run(&other, NULL);
    (void)snprintf(twins.name, sizeof twins.name, " %s:", live->server.path);
    (void)snprintf(uri, sizeof uri, "memcached://%s,%s,/.%s?connect_timeout=10000",
                   live->server.path, other.server.path, live->server.path);
    mcds_store *store = NULL;
    assert_int_equal(mcds_open(uri, NULL, &store), MCDS_OK);
    assert_int_equal(mcds_inspect(store, count_twins, &twins), MCDS_OK);
    assert_int_equal(twins.count, 1);
    mcds_close(store);
    server_stop(&other.server);
}

/* Each answer there is; one without its opaque would be UNKNOWN. */
static void every_answer_brings_its_opaque_back(void **state)
{
    struct live *live = *state;
    static const struct {
        mcds_command command;
        mcds_outcome outcome;
        uint32_t options;
        const char *value;
        const char *key;
    } asked[] = {
        {MCDS_GET, MCDS_OUT_MISS, 0, "", "k"},
        {MCDS_TOUCH, MCDS_OUT_MISS, 0, "", "k"},
        {MCDS_DELETE, MCDS_OUT_MISS, 0, "", "k"},
        {MCDS_INCR, MCDS_OUT_MISS, 0, "", "k"},
        {MCDS_REPLACE, MCDS_OUT_NOT_STORED, 0, "1", "k"},
        {MCDS_APPEND, MCDS_OUT_NOT_STORED, 0, "1", "k"},
        {MCDS_PREPEND, MCDS_OUT_NOT_STORED, 0, "1", "k"},
        {MCDS_ADD, MCDS_OUT_OK, 0, "1", "k"},
        {MCDS_ADD, MCDS_OUT_NOT_STORED, 0, "1", "k"},
        {MCDS_SET, MCDS_OUT_OK, 0, "1", "k"},
        {MCDS_APPEND, MCDS_OUT_OK, 0, "1", "k"},
        {MCDS_GET, MCDS_OUT_OK, MCDS_WANT_TTL, "", "k"},
        {MCDS_GET, MCDS_OUT_OK, MCDS_NO_VALUE, "", "k"},
        {MCDS_TOUCH, MCDS_OUT_OK, 0, "", "k"},
        {MCDS_INCR, MCDS_OUT_OK, 0, "", "k"},
        {MCDS_DECR, MCDS_OUT_OK, 0, "", "k"},
        {MCDS_INCR, MCDS_OUT_OK, MCDS_CREATE, "", "n"},
        {MCDS_SET, MCDS_OUT_OK, 0, "x", "k"},
        {MCDS_INCR, MCDS_OUT_NOT_NUMERIC, 0, "", "k"},
        {MCDS_DELETE, MCDS_OUT_OK, 0, "", "k"},
    };
    enum { COUNT = sizeof asked / sizeof asked[0] };
    mcds_request requests[COUNT];
    run(live, NULL);
    mcds_store *store = open_store(live);
    mcds_batch batch = {.requests = requests, .count = COUNT};
    batch.deadline_ns = mcds__monotonic_ns(mcds_env_system()) + 10 * NS_PER_S;
    for (size_t i = 0; i < COUNT; i++)
        requests[i] = (mcds_request){.command = asked[i].command,
                                     .options = asked[i].options,
                                     .delta = 1,
                                     .ttl_ms = asked[i].command == MCDS_TOUCH ? 9000 : 0,
                                     .key = {asked[i].key, 1},
                                     .value = {asked[i].value, strlen(asked[i].value)},
                                     .route = {"k", 1}};
    mcds__store_execute(store, 0, &batch);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(requests[i].reply.outcome, asked[i].outcome);
    mcds_close(store);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_answer_brings_its_opaque_back),
        TEST(keys_are_spread_over_connections),
        TEST(a_restart_between_two_calls_costs_nothing),
        TEST(a_token_of_another_store_is_refused),
        TEST(without_cas_nothing_about_it_is_claimed),
        TEST(without_cas_nothing_is_made),
        TEST(without_cas_a_refused_hit_leaves_nothing),
        TEST(without_cas_a_lost_root_is_added_with_its_proof),
        TEST(a_server_that_loses_cas_is_borne),
        TEST(a_full_server_keeps_what_it_holds),
        TEST(keys_of_a_dead_server_are_unavailable),
        TEST(one_server_under_two_names_is_a_problem),
        TEST(who_may_evict_leases_is_told_so),
        TEST(who_has_evicted_is_told_so),
        TEST(commands_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
