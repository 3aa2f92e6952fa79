/* Each call that compares and sets, at a memcached that was started with -C: as the first call, before which
 * nothing is known of the server, and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/no_database.h"
#include "support/server.h"

#define HOLD_MS 5000

static mcds_bytes e(void)
{
    return mcds_text("e");
}

static int begin_lock(mcds_store *store, int (*call)(mcds_lock *lock, mcds_lease *lease))
{
    mcds_lock *lock = NULL;
    mcds_lease lease = MCDS_LEASE_INIT;
    int result = mcds_lock_open(store, "l", NULL, &lock);
    if (result == MCDS_OK)
        result = call(lock, &lease);
    mcds_lock_close(lock);
    return result;
}

static int break_lock(mcds_lock *lock, mcds_lease *lease)
{
    (void)lease;
    return mcds_lock_break(lock);
}

static int lock_acquire(mcds_store *store)
{
    return begin_lock(store, mcds_lock_try_acquire);
}

static int lock_acquire_shared(mcds_store *store)
{
    return begin_lock(store, mcds_lock_try_acquire_shared);
}

static int lock_break(mcds_store *store)
{
    return begin_lock(store, break_lock);
}

static int semaphore_acquire(mcds_store *store)
{
    mcds_semaphore_options options = MCDS_SEMAPHORE_OPTIONS_INIT;
    mcds_semaphore *semaphore = NULL;
    mcds_permit permit = MCDS_PERMIT_INIT;
    options.permits = 2;
    int result = mcds_semaphore_open(store, "s", &options, &semaphore);
    if (result == MCDS_OK)
        result = mcds_semaphore_try_acquire(semaphore, &permit);
    mcds_semaphore_close(semaphore);
    return result;
}

static int once_begin(mcds_store *store)
{
    mcds_once *once = NULL;
    mcds_once_run run = MCDS_ONCE_RUN_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_once_open(store, "o", NULL, &once);
    if (result == MCDS_OK)
        result = mcds_once_begin(once, e(), e(), 0, &run, &value, NULL);
    assert_false(run.mine);
    mcds_value_free(&value);
    mcds_once_close(once);
    return result;
}

static int once_settle(mcds_store *store)
{
    mcds_once *once = NULL;
    int result = mcds_once_open(store, "o", NULL, &once);
    if (result == MCDS_OK)
        result = mcds_once_settle(once, e(), 0, e());
    mcds_once_close(once);
    return result;
}

static int begin_cache(mcds_store *store,
                       int (*call)(mcds_cache *cache, mcds_bytes key, uint32_t hold_ms))
{
    mcds_cache *cache = NULL;
    int result = mcds_cache_open(store, "c", NULL, &cache);
    if (result == MCDS_OK)
        result = call(cache, e(), HOLD_MS);
    mcds_cache_close(cache);
    return result;
}

static int look_up(mcds_cache *cache, mcds_bytes key, uint32_t hold_ms)
{
    mcds_value value = MCDS_VALUE_INIT;
    mcds_cache_claim claim = MCDS_CACHE_CLAIM_INIT;
    (void)hold_ms;
    int result = mcds_cache_look(cache, key, NULL, 0, 0, &value, &claim);
    assert_false(claim.mine);
    mcds_value_free(&value);
    return result;
}

static int cache_look(mcds_store *store)
{
    return begin_cache(store, look_up);
}

static int cache_hold(mcds_store *store)
{
    return begin_cache(store, mcds_cache_hold);
}

static int cache_hold_tag(mcds_store *store)
{
    return begin_cache(store, mcds_cache_hold_tag);
}

static int counter_take(mcds_store *store)
{
    mcds_counter *counter;
    int64_t taken;
    assert_int_equal(mcds_counter_open(store, "c", NULL, &counter), MCDS_OK);
    int result = mcds_counter_take(counter, &taken);
    mcds_counter_close(counter);
    return result;
}

static int counter_add_exactly(mcds_store *store)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter;
    options.flags = MCDS_COUNTER_EXACT;
    options.flush_ms = MCDS_COUNTER_FLUSH_EACH;
    assert_int_equal(mcds_counter_open(store, "c", &options, &counter), MCDS_OK);
    int result = mcds_counter_add(counter, 1, NULL);
    mcds_counter_close(counter);
    return result;
}

static int begin_views(mcds_store *store, int (*call)(mcds_views *views))
{
    mcds_views_options options = views_without_database();
    mcds_views *views;
    assert_int_equal(mcds_views_open(store, "w", &options, &views), MCDS_OK);
    int result = call(views);
    mcds_views_close(views);
    return result;
}

static int hit_page(mcds_views *views)
{
    return mcds_views_hit(views, "page", 1);
}

static int views_hit(mcds_store *store)
{
    return begin_views(store, hit_page);
}

static int views_flush(mcds_store *store)
{
    return begin_views(store, mcds_views_flush);
}

static int views_flush_final(mcds_store *store)
{
    return begin_views(store, mcds_views_flush_final);
}

static int array_set(mcds_store *store)
{
    const mcds_bytes element = e();
    mcds_array *array;
    assert_int_equal(mcds_array_open(store, "a", NULL, &array), MCDS_OK);
    int result = mcds_array_set(array, &element, 1);
    mcds_array_close(array);
    return result;
}

static int begin_table(mcds_store *store, int (*call)(mcds_table *table))
{
    mcds_table *table;
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    int result = call(table);
    mcds_table_close(table);
    return result;
}

static int put_value(mcds_table *table)
{
    return mcds_table_put(table, e(), e(), 0);
}

static int add_to_value(mcds_table *table)
{
    return mcds_table_incr(table, e(), 1, NULL);
}

static int table_put(mcds_store *store)
{
    return begin_table(store, put_value);
}

static int table_incr(mcds_store *store)
{
    return begin_table(store, add_to_value);
}

static int set_add(mcds_store *store)
{
    mcds_set *set;
    assert_int_equal(mcds_set_open(store, "s", NULL, &set), MCDS_OK);
    int result = mcds_set_add(set, e(), NULL);
    mcds_set_close(set);
    return result;
}

static int limit_take(mcds_store *store)
{
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    mcds_limit *limit;
    options.rate_count = 1;
    options.rates[0] = (mcds_rate){3, 60000, 3};
    assert_int_equal(mcds_limit_open(store, "r", &options, &limit), MCDS_OK);
    int result = mcds_limit_take(limit, e(), 1, 0, NULL);
    mcds_limit_close(limit);
    return result;
}

static int queue_push(mcds_store *store)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    assert_int_equal(mcds_queue_open(store, "q", &options, &queue), MCDS_OK);
    int result = mcds_queue_push(queue, e(), 0);
    mcds_queue_close(queue);
    return result;
}

static int ids_next(mcds_store *store)
{
    mcds_ids *ids;
    uint64_t id;
    assert_int_equal(mcds_ids_open(store, "i", NULL, &ids), MCDS_OK);
    int result = mcds_ids_next(ids, &id);
    mcds_ids_close(ids);
    return result;
}

static int online_beat(mcds_store *store)
{
    mcds_online *online;
    assert_int_equal(mcds_online_open(store, "n", NULL, &online), MCDS_OK);
    int result = mcds_online_beat(online, "ann", 0);
    mcds_online_close(online);
    return result;
}

/* A call that names the server: it has asked one that cannot compare. The others say what the store lacks. */
static const struct verb {
    const char *name;
    int (*call)(mcds_store *store);
    bool names_server;
} verbs[] = {
    {"lock acquire", lock_acquire, true},
    {"lock acquire_shared", lock_acquire_shared, true},
    {"lock break", lock_break, true},
    {"semaphore acquire", semaphore_acquire, true},
    {"once begin", once_begin, true},
    {"once settle", once_settle, true},
    {"cache look", cache_look, true},
    {"cache hold", cache_hold, true},
    {"cache hold_tag", cache_hold_tag, true},
    {"counter take", counter_take, true},
    {"counter add, exact", counter_add_exactly, false},
    {"views hit", views_hit, false},
    {"views flush", views_flush, false},
    {"views flush_final", views_flush_final, false},
    {"array set", array_set, false},
    {"table put", table_put, false},
    {"table incr", table_incr, false},
    {"set add", set_add, false},
    {"limit take", limit_take, false},
    {"queue push", queue_push, false},
    {"ids next", ids_next, false},
    {"online beat", online_beat, false},
};

static bool is_left(void *context, const mcds_listed *listed)
{
    print_error("%s: %s '%s' is left\n", (const char *)context, listed->noun, listed->name);
    fail();
    return false;
}

static void check_verb(const struct verb *verb, mcds_store *store, const char *path)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%s", verb->name);
    int result = verb->call(store);
    const char *sentence = mcds_errmsg();
    bool names_server = strstr(sentence, path) != NULL;
    if (result != MCDS_UNSUPPORTED ||
        mcds_last_error()->cause != MCDS_CAUSE_NO_COMPARE_AND_SET ||
        strstr(sentence, "no compare-and-set") == NULL ||
        strstr(sentence, "start it without -C)") == NULL || (path[0] != '\0' && !names_server))
        fail_msg("%s: %s, and not a sentence that explains it: %s", verb->name,
                 mcds_result_name(result), sentence);
    assert_int_equal(mcds_scan(store, is_left, name), MCDS_OK);
}

static int set_up(void **state)
{
    static char without[] = "-C";
    static char *const options[] = {without, NULL};
    static struct server server;
    server.options = options;
    *state = &server;
    return 0;
}

static void each_verb_is_refused_and_leaves_nothing(void **state)
{
    struct server *server = *state;
    if (!server_start_memcached_unix(server)) {
        print_message("skipped: memcached does not start\n");
        skip();
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        char uri[480];
        mcds_store *store;
        server_uri(server, uri, sizeof uri);
        size_t used = strlen(uri);
        (void)snprintf(uri + used, sizeof uri - used, "?connect_timeout=10000&timeout=10000");
        assert_int_equal(mcds_open(uri, NULL, &store), MCDS_OK);
        check_verb(&verbs[i], store, verbs[i].names_server ? server->path : "");
        check_verb(&verbs[i], store, "");
        mcds_close(store);
    }
}

/* The server was started again, with -C, while the handles are in use. The get connects again, so that
 * the next call is not in doubt. */
static void an_open_handle_is_refused_too(void **state)
{
    struct server *server = *state;
    char *const *options = server->options;
    char uri[480];
    mcds_store *store;
    mcds_online *online;
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    mcds_views *views;
    mcds_views_options views_options = views_without_database();
    server_stop(server);
    server->options = NULL;
    if (!server_start_memcached_unix(server)) {
        print_message("skipped: memcached does not start\n");
        skip();
    }
    server_uri(server, uri, sizeof uri);
    size_t used = strlen(uri);
    (void)snprintf(uri + used, sizeof uri - used, "?connect_timeout=10000&timeout=10000");
    assert_int_equal(mcds_open(uri, NULL, &store), MCDS_OK);
    assert_int_equal(mcds_online_open(store, "n", NULL, &online), MCDS_OK);
    assert_int_equal(mcds_views_open(store, "w", &views_options, &views), MCDS_OK);
    assert_int_equal(mcds_online_beat(online, "ann", 0), MCDS_OK);
    assert_int_equal(hit_page(views), MCDS_OK);
    server->options = options;
    assert_true(server_restart(server));
    assert_int_equal(mcds_online_get(online, 0, &value), MCDS_OK);
    assert_int_equal(mcds_online_beat(online, "bob", 0), MCDS_UNSUPPORTED);
    assert_non_null(strstr(mcds_errmsg(), "start it without -C)"));
    assert_int_equal(hit_page(views), MCDS_UNSUPPORTED);
    assert_non_null(strstr(mcds_errmsg(), "start it without -C)"));
    char what[] = "an open handle";
    assert_int_equal(mcds_scan(store, is_left, what), MCDS_OK);
    mcds_views_close(views);
    mcds_online_close(online);
    mcds_close(store);
}

static int tear_down(void **state)
{
    server_stop(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_verb_is_refused_and_leaves_nothing),
        cmocka_unit_test(an_open_handle_is_refused_too),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
