/* STORE: the wall clock of a process is set before 1970, to 1970, and centuries ahead, while stores
 * are open; the monotonic clock continues. Every verb of every structure that uses the wall clock
 * is right or names the clock. What was stored before is there when the clock is right again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "field/field.h"
#include "mcds.h"
#include "support/fake_env.h"
#include "support/fixture.h"
#include "support/no_database.h"
#include "support/pass_over.h"

#define HANG_S 300
#define HOUR_S 3600
#define NS_PER_MS INT64_C(1000000)
#define YEAR_MS (INT64_C(31556952) * 1000)
#define FORTY_DAYS_MS (UINT64_C(40) * 86400000)

#define OK(call) assert_int_equal(MCDS_OK, call)

static struct fixture *fixture;
static const mcds_bytes word = {"word", 4};

struct handles {
    mcds_store *store;
    mcds_counter *counter;
    mcds_counter *striped;
    mcds_counter *exact;
    mcds_lock *lock;
    mcds_semaphore *semaphore;
    mcds_visitors *visitors[3];
    mcds_online *online[3];
    mcds_views *views;
    mcds_set *set;
    mcds_table *table;
    mcds_array *array;
    mcds_list *list;
    mcds_log *log;
    mcds_log *arrivals;
    mcds_log_cursor cursor;
    mcds_limit *bucket;
    mcds_limit *window;
    mcds_ids *ids;
    mcds_once *once;
    mcds_queue *queue;
    mcds_cache *cache;
};

static int fill_word(void *context, mcds_bytes key, mcds_fill *fill)
{
    (void)context, (void)key;
    return mcds_fill_add(fill, word);
}

static int change_to_word(void *context, const mcds_bytes *old, size_t old_count,
                          mcds_elements *fresh)
{
    (void)context, (void)old, (void)old_count;
    return mcds_elements_add(fresh, word);
}

#define VERB(name, call)                                                                       \
    static int name(struct handles *on)                                                        \
    {                                                                                          \
        return call;                                                                           \
    }

static int64_t number;
static bool changed;
static uint64_t id;
static size_t put;
static mcds_counter_value counted;
static mcds_visitors_value visited;
static mcds_online_value active;
static mcds_limit_value taken;
static mcds_queue_counts counts;
static mcds_log_info info;

VERB(counter_add, mcds_counter_add(on->counter, 1, &number))
VERB(counter_get, mcds_counter_get(on->counter, &counted))
VERB(striped_add, mcds_counter_add(on->striped, 1, NULL))
VERB(striped_get, mcds_counter_get(on->striped, &counted))
VERB(exact_add, mcds_counter_add(on->exact, 1, NULL))
VERB(exact_get, mcds_counter_get(on->exact, &counted))
VERB(visitors_hit, mcds_visitors_hit(on->visitors[0], "ann", 0))
VERB(visitors_get, mcds_visitors_get(on->visitors[0], 0, &visited))
VERB(visitors_drop, mcds_visitors_drop(on->visitors[0], 0))
VERB(exact_visitors_hit, mcds_visitors_hit(on->visitors[1], "ann", 0))
VERB(exact_visitors_get, mcds_visitors_get(on->visitors[1], 0, &visited))
VERB(estimated_visitors_hit, mcds_visitors_hit(on->visitors[2], "ann", 0))
VERB(estimated_visitors_get, mcds_visitors_get(on->visitors[2], 0, &visited))
VERB(online_beat, mcds_online_beat(on->online[0], "ann", 0))
VERB(online_get, mcds_online_get(on->online[0], 0, &active))
VERB(online_drop, mcds_online_drop(on->online[0], 0))
VERB(exact_online_beat, mcds_online_beat(on->online[1], "ann", 0))
VERB(exact_online_get, mcds_online_get(on->online[1], 0, &active))
VERB(estimated_online_beat, mcds_online_beat(on->online[2], "ann", 0))
VERB(estimated_online_get, mcds_online_get(on->online[2], 0, &active))
VERB(views_hit, mcds_views_hit(on->views, "page", 1))
VERB(views_get, mcds_views_get(on->views, "page", &number))
VERB(views_flush, mcds_views_flush(on->views))
VERB(views_flush_final, mcds_views_flush_final(on->views))
VERB(set_add, mcds_set_add(on->set, word, &changed))
VERB(set_has, mcds_set_has(on->set, word))
VERB(set_scan, mcds_set_scan(on->set, pass_element, NULL))
VERB(table_put, mcds_table_put(on->table, word, word, 0))
VERB(table_put_ttl, mcds_table_put(on->table, (mcds_bytes){"t", 1}, word, 60000))
VERB(table_put_long, mcds_table_put(on->table, (mcds_bytes){"l", 1}, word, FORTY_DAYS_MS))
VERB(table_has, mcds_table_has(on->table, word))
VERB(table_has_ttl, mcds_table_has(on->table, (mcds_bytes){"t", 1}))
VERB(table_incr, mcds_table_incr(on->table, (mcds_bytes){"n", 1}, 1, &number))
VERB(array_change, mcds_array_change_by(on->array, change_to_word, NULL))
VERB(list_push, mcds_list_push(on->list, word))
VERB(log_put, mcds_log_put(on->log, 0, word))
VERB(log_put_many, mcds_log_put_many(on->log, 0, &word, 1, &put))
VERB(log_scan, mcds_log_scan(on->log, NULL, pass_event, NULL, &info))
VERB(log_tail, mcds_log_tail(on->log, &on->cursor, pass_event, NULL, &info))
VERB(arrivals_put, mcds_log_put(on->arrivals, 0, word))
VERB(arrivals_scan, mcds_log_scan(on->arrivals, NULL, pass_event, NULL, &info))
VERB(bucket_take, mcds_limit_take(on->bucket, word, 1, 0, &taken))
VERB(bucket_get, mcds_limit_get(on->bucket, word, &taken))
VERB(bucket_give, mcds_limit_give(on->bucket, word, 1))
VERB(window_take, mcds_limit_take(on->window, word, 1, 0, &taken))
VERB(window_get, mcds_limit_get(on->window, word, &taken))
VERB(ids_next, mcds_ids_next(on->ids, &id))
VERB(ids_take, mcds_ids_take(on->ids, 5000, &id))
VERB(queue_push, mcds_queue_push(on->queue, word, 0))
VERB(queue_push_delayed, mcds_queue_push(on->queue, word, 1000))
VERB(queue_push_dead, mcds_queue_push_dead(on->queue, word, 1))
VERB(queue_count, mcds_queue_count(on->queue, &counts))
VERB(queue_scan, mcds_queue_scan(on->queue, 0, pass_job, NULL))
VERB(queue_dead, mcds_queue_dead(on->queue, 0, pass_job, NULL))
VERB(semaphore_cycle, field_use_permit(on->semaphore))
VERB(cache_expire, mcds_cache_expire(on->cache, word))
VERB(cache_forget, mcds_cache_forget(on->cache, word))
VERB(cache_forget_tag, mcds_cache_forget_tag(on->cache, word))
VERB(cache_clear, mcds_cache_clear(on->cache))
VERB(cache_hold, mcds_cache_hold(on->cache, word, 3000))
VERB(once_settle, mcds_once_settle(on->once, word, 0, word))
VERB(once_forget, mcds_once_forget(on->once, word))

static int table_scan(struct handles *on)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    return mcds_table_scan(on->table, &cursor, 0, pass_entry, NULL);
}

static int limit_scan(struct handles *on)
{
    mcds_limit_cursor cursor = MCDS_LIMIT_CURSOR_INIT;
    return mcds_limit_scan(on->bucket, &cursor, 0, pass_take, NULL);
}

static int lock_cycle(struct handles *on)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    int result = mcds_lock_try_acquire(on->lock, &lease);
    if (result == MCDS_OK)
        result = mcds_lock_renew(on->lock, &lease);
    return result == MCDS_OK ? mcds_lock_release(on->lock, &lease) : result;
}

static int queue_cycle(struct handles *on)
{
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_queue_next(on->queue, 0, &job, &value);
    mcds_value_free(&value);
    if (result == MCDS_OK)
        result = mcds_queue_longer(on->queue, &job);
    return result == MCDS_OK ? mcds_queue_done(on->queue, &job) : result;
}

static int cache_fetch(struct handles *on)
{
    mcds_value value = MCDS_VALUE_INIT;
    mcds_cache_state state;
    int result = mcds_cache_fetch(on->cache, word, &word, 1, fill_word, NULL, &value, &state);
    mcds_value_free(&value);
    return result;
}

static int cache_cycle(struct handles *on)
{
    mcds_value value = MCDS_VALUE_INIT;
    mcds_cache_claim claim = MCDS_CACHE_CLAIM_INIT;
    int result = mcds_cache_look(on->cache, (mcds_bytes){"k", 1}, NULL, 0, 0, &value, &claim);
    mcds_value_free(&value);
    return result == MCDS_NOT_FOUND ? mcds_cache_put(on->cache, &claim, &word) : result;
}

static int once_cycle(struct handles *on)
{
    mcds_once_run run = MCDS_ONCE_RUN_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int32_t code = 0;
    int result = mcds_once_begin(on->once, word, (mcds_bytes){NULL, 0}, 0, &run, &value, &code);
    mcds_value_free(&value);
    if (run.mine)
        result = mcds_once_renew(on->once, &run);
    return run.mine ? mcds_once_finish(on->once, &run, 0, word) : result;
}

static int once_get(struct handles *on)
{
    mcds_once_value value = MCDS_ONCE_VALUE_INIT;
    mcds_value result = MCDS_VALUE_INIT;
    int got = mcds_once_get(on->once, word, &value, &result);
    mcds_value_free(&result);
    return got;
}

struct verb {
    const char *name;
    int (*call)(struct handles *on);
    bool is_timed; /* it stores a wall time, or compares one */
};
#define ROW(name)                                                                              \
    {                                                                                          \
#name, name, false                                                                     \
    }
#define TIMED(name)                                                                            \
    {                                                                                          \
#name, name, true                                                                      \
    }
static const struct verb verbs[] = {
    ROW(counter_add),
    ROW(counter_get),
    ROW(striped_add),
    ROW(striped_get),
    ROW(exact_add),
    ROW(exact_get),
    ROW(set_add),
    ROW(set_has),
    ROW(set_scan),
    ROW(table_put),
    ROW(table_has),
    ROW(table_incr),
    ROW(table_scan),
    ROW(array_change),
    ROW(list_push),
    ROW(lock_cycle),
    ROW(semaphore_cycle),
    ROW(cache_clear),
    ROW(table_has_ttl),
    TIMED(visitors_hit),
    TIMED(visitors_get),
    TIMED(exact_visitors_hit),
    TIMED(exact_visitors_get),
    TIMED(estimated_visitors_hit),
    TIMED(estimated_visitors_get),
    TIMED(online_beat),
    TIMED(online_get),
    TIMED(exact_online_beat),
    TIMED(exact_online_get),
    TIMED(estimated_online_beat),
    TIMED(estimated_online_get),
    TIMED(views_hit),
    TIMED(views_get),
    TIMED(views_flush),
    TIMED(views_flush_final),
    TIMED(table_put_ttl),
    TIMED(table_put_long),
    TIMED(log_put),
    TIMED(log_put_many),
    TIMED(log_scan),
    TIMED(log_tail),
    TIMED(arrivals_put),
    TIMED(arrivals_scan),
    TIMED(bucket_take),
    TIMED(bucket_get),
    TIMED(bucket_give),
    TIMED(limit_scan),
    TIMED(window_take),
    TIMED(window_get),
    TIMED(ids_next),
    TIMED(ids_take),
    TIMED(queue_push),
    TIMED(queue_push_delayed),
    TIMED(queue_push_dead),
    TIMED(queue_cycle),
    TIMED(queue_count),
    TIMED(queue_scan),
    TIMED(queue_dead),
    TIMED(cache_fetch),
    TIMED(cache_cycle),
    TIMED(cache_expire),
    TIMED(cache_forget),
    TIMED(cache_forget_tag),
    TIMED(cache_hold),
    TIMED(once_cycle),
    TIMED(once_get),
    TIMED(once_forget),
    TIMED(once_settle),
    TIMED(visitors_drop),
    TIMED(online_drop),
};

static void open_people(struct handles *on, const char *name)
{
    char own[64];
    for (uint32_t members = 0; members < 3; members++) {
        mcds_visitors_options of_visitors = MCDS_VISITORS_OPTIONS_INIT;
        mcds_online_options of_online = MCDS_ONLINE_OPTIONS_INIT;
        (void)snprintf(own, sizeof own, "%s%u", name, (unsigned)members);
        of_visitors.period_ms = 3600000;
        of_visitors.members = of_online.members = members;
        OK(mcds_visitors_open(on->store, own, &of_visitors, &on->visitors[members]));
        OK(mcds_online_open(on->store, own, &of_online, &on->online[members]));
    }
}

static void open_counters(struct handles *on, const char *name)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    char own[64];
    OK(mcds_counter_open(on->store, name, NULL, &on->counter));
    options.stripes = 4;
    (void)snprintf(own, sizeof own, "%s-striped", name);
    OK(mcds_counter_open(on->store, own, &options, &on->striped));
    options.stripes = 0;
    options.flags = MCDS_COUNTER_EXACT;
    (void)snprintf(own, sizeof own, "%s-exact", name);
    OK(mcds_counter_open(on->store, own, &options, &on->exact));
}

static void open_limits(struct handles *on, const char *name)
{
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    char own[64];
    options.rate_count = 1;
    options.rates[0] = (mcds_rate){1000, 60000, 0};
    OK(mcds_limit_open(on->store, name, &options, &on->bucket));
    options.form = MCDS_LIMIT_WINDOW;
    (void)snprintf(own, sizeof own, "%s-window", name);
    OK(mcds_limit_open(on->store, own, &options, &on->window));
}

static void open_all(struct handles *on, mcds_store *store, const char *name)
{
    mcds_views_options of_views = MCDS_VIEWS_OPTIONS_INIT;
    mcds_log_options of_log = MCDS_LOG_OPTIONS_INIT;
    mcds_semaphore_options of_semaphore = MCDS_SEMAPHORE_OPTIONS_INIT;
    mcds_once_options of_once = MCDS_ONCE_OPTIONS_INIT;
    mcds_queue_options of_queue = MCDS_QUEUE_OPTIONS_INIT;
    mcds_cache_options of_cache = MCDS_CACHE_OPTIONS_INIT;
    char own[64];
    memset(on, 0, sizeof *on);
    on->store = store;
    open_counters(on, name);
    open_people(on, name);
    open_limits(on, name);
    OK(mcds_lock_open(store, name, NULL, &on->lock));
    of_semaphore.permits = 3;
    OK(mcds_semaphore_open(store, name, &of_semaphore, &on->semaphore));
    of_views.load = load_nothing;
    of_views.save = save_nothing;
    OK(mcds_views_open(store, name, &of_views, &on->views));
    OK(mcds_set_open(store, name, NULL, &on->set));
    OK(mcds_table_open(store, name, NULL, &on->table));
    OK(mcds_array_open(store, name, NULL, &on->array));
    OK(mcds_list_open(store, name, NULL, &on->list));
    OK(mcds_log_open(store, name, &of_log, &on->log));
    of_log.flags = MCDS_LOG_BY_ARRIVAL;
    (void)snprintf(own, sizeof own, "%s-arrivals", name);
    OK(mcds_log_open(store, own, &of_log, &on->arrivals));
    on->cursor = (mcds_log_cursor)MCDS_LOG_CURSOR_INIT;
    OK(mcds_ids_open(store, name, NULL, &on->ids));
    OK(mcds_once_open(store, name, &of_once, &on->once));
    of_queue.flags = MCDS_QUEUE_MAY_LOSE;
    OK(mcds_queue_open(store, name, &of_queue, &on->queue));
    of_cache.ttl_ms = 60000;
    OK(mcds_cache_open(store, name, &of_cache, &on->cache));
}

static void close_all(struct handles *on)
{
    mcds_counter_close(on->counter);
    mcds_counter_close(on->striped);
    mcds_counter_close(on->exact);
    for (int i = 0; i < 3; i++) {
        mcds_visitors_close(on->visitors[i]);
        mcds_online_close(on->online[i]);
    }
    mcds_limit_close(on->bucket);
    mcds_limit_close(on->window);
    mcds_lock_close(on->lock);
    mcds_semaphore_close(on->semaphore);
    mcds_views_close(on->views);
    mcds_set_close(on->set);
    mcds_table_close(on->table);
    mcds_array_close(on->array);
    mcds_list_close(on->list);
    mcds_log_close(on->log);
    mcds_log_close(on->arrivals);
    mcds_ids_close(on->ids);
    mcds_once_close(on->once);
    mcds_queue_close(on->queue);
    mcds_cache_close(on->cache);
}

struct step {
    const char *name;
    int64_t ms;
};
static const struct step steps[] = {
    {"1870", -100 * YEAR_MS},
    {"1969", -YEAR_MS / 2},
    {"a ms before 1970", -1},
    {"1970", 0},
    {"a ms after 1970", 1},
    {"2107", 137 * YEAR_MS}, /* seconds have 33 bits */
    {"2200", 230 * YEAR_MS},
    {"2262", INT64_MAX / NS_PER_MS - YEAR_MS / 100}, /* nanoseconds have 63 bits */
};

/* Every verb is OK, or a refusal that names the clock, which those that need it have before 1970. */
static void use_all(struct handles *on, const char *when, bool may_refuse, bool must_refuse)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        int result = verbs[i].call(on);
        bool has_reason = result < 0 || result == MCDS_TOO_OLD || result == MCDS_TOO_FUTURE;
        bool is_refused = has_reason && mcds_last_error()->cause == MCDS_CAUSE_CLOCK &&
                          strstr(mcds_errmsg(), "this machine's clock") != NULL;
        bool is_right = must_refuse && verbs[i].is_timed ? is_refused
                                                         : result >= 0 && !is_refused;
        if (!is_right && !(may_refuse && is_refused))
            fail_msg("%s, %s: %d: %s", when, verbs[i].name, result, mcds_errmsg());
    }
}

/* What was stored at the true time, and at the wrong one without the need of a time. */
static void check_content(struct handles *on, int64_t adds)
{
    OK(mcds_counter_get(on->counter, &counted));
    assert_int_equal(adds, counted.value);
    OK(mcds_counter_get(on->striped, &counted));
    assert_int_equal(adds, counted.value);
    OK(mcds_counter_get(on->exact, &counted));
    assert_int_equal(adds, counted.value);
    OK(mcds_set_has(on->set, word));
    OK(mcds_table_has(on->table, word));
    OK(mcds_visitors_get(on->visitors[1], 0, &visited));
    assert_int_equal(1, visited.current);
    OK(mcds_online_get(on->online[1], 0, &active));
    assert_int_equal(1, active.current);
    OK(once_get(on));
}

static void every_verb_is_right_or_names_the_clock(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct fake_env fake;
        struct handles on, fresh;
        mcds_options options = MCDS_OPTIONS_INIT;
        mcds_store *store;
        char uri[1024];
        char name[64];
        const bool is_before = steps[i].ms <= 0;
        (void)snprintf(name, sizeof name, "s%u", (unsigned)i);
        fixture_uri_of(fixture, name, uri, sizeof uri);
        fake_env_init(&fake, i + 1);
        /* The first moment of a bucket: a server forgets it when it ends there. */
        fake.wall_ns = (int64_t)time(NULL) / HOUR_S * HOUR_S * 1000 * NS_PER_MS;
        options.env = &fake.env;
        OK(mcds_open(uri, &options, &store));
        open_all(&on, store, name);
        use_all(&on, "the true time", false, false);

        const int64_t apart_ns = steps[i].ms * NS_PER_MS - fake.wall_ns;
        fake.wall_ns += apart_ns;
        use_all(&on, steps[i].name, true, is_before);
        (void)snprintf(name, sizeof name, "f%u", (unsigned)i);
        open_all(&fresh, store, name);
        use_all(&fresh, steps[i].name, true, is_before);

        fake.wall_ns -= apart_ns;
        use_all(&on, "the true time again", !is_before, false);
        use_all(&fresh, "the true time after a wrong one", !is_before, false);
        check_content(&on, 3);
        check_content(&fresh, 2);
        close_all(&on);
        close_all(&fresh);
        mcds_close(store);
        assert_int_equal(fake.blocks, 0);
    }
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_is_right_or_names_the_clock),
    };
    (void)alarm(HANG_S);
    fixture = fixture_or_exit(count, words);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_stop(fixture);
    return failed;
}
