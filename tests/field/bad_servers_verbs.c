/* Every verb of every structure, on handles of its own. */
#include <stdio.h>
#include <string.h>

#include "bad_servers.h"
#include "field/field.h"
#include "support/no_database.h"
#include "support/pass_over.h"

static const mcds_bytes word = {"word", 4};
static const mcds_bytes number = {"number", 6};

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

static _Thread_local mcds_counter_value counted;
static _Thread_local int64_t taken;
static _Thread_local mcds_lock_holder holder;
static _Thread_local mcds_visitors_value visited;
static _Thread_local mcds_online_value active;
static _Thread_local bool changed;

VERB(counter_add, mcds_counter_add(on->counter, 1, &taken))
VERB(counter_get, mcds_counter_get(on->counter, &counted))
VERB(counter_take, mcds_counter_take(on->counter, &taken))
VERB(counter_drop, mcds_counter_drop(on->counter))
VERB(signed_subtract, mcds_counter_add(on->is_signed, -1, &taken))
VERB(signed_get, mcds_counter_get(on->is_signed, &counted))
VERB(striped_add, mcds_counter_add(on->striped, 1, NULL))
VERB(striped_get, mcds_counter_get(on->striped, &counted))
VERB(striped_take, mcds_counter_take(on->striped, &taken))
VERB(striped_drop, mcds_counter_drop(on->striped))
VERB(exact_add, mcds_counter_add(on->exact, 1, NULL))
VERB(exact_get, mcds_counter_get(on->exact, &counted))
VERB(exact_drop, mcds_counter_drop(on->exact))
VERB(signed_take, mcds_counter_take(on->is_signed, &taken))
VERB(signed_drop, mcds_counter_drop(on->is_signed))
VERB(lock_get_holder, mcds_lock_get_holder(on->lock, &holder))
VERB(lock_watch, mcds_lock_watch(on->lock, 0, &holder))
VERB(lock_break, mcds_lock_break(on->lock))
VERB(lock_drop, mcds_lock_drop(on->lock))
VERB(lock_renew, mcds_lock_renew(on->other_lock, &on->lease))
VERB(lock_release, mcds_lock_release(on->other_lock, &on->lease))
VERB(visitors_hit, mcds_visitors_hit(on->visitors, "ann", 0))
VERB(visitors_hit_nobody, mcds_visitors_hit(on->visitors, NULL, 0))
VERB(visitors_get, mcds_visitors_get(on->visitors, 0, &visited))
VERB(visitors_drop, mcds_visitors_drop(on->visitors, 0))
VERB(members_hit, mcds_visitors_hit(on->members, "ann", 0))
VERB(members_get, mcds_visitors_get(on->members, 0, &visited))
VERB(members_drop, mcds_visitors_drop(on->members, 0))
VERB(estimated_hit, mcds_visitors_hit(on->estimated, "ann", 0))
VERB(estimated_get, mcds_visitors_get(on->estimated, 0, &visited))
VERB(estimated_drop, mcds_visitors_drop(on->estimated, 0))
VERB(online_beat, mcds_online_beat(on->online, "ann", 0))
VERB(online_get, mcds_online_get(on->online, 0, &active))
VERB(online_drop, mcds_online_drop(on->online, 0))
VERB(online_members_beat, mcds_online_beat(on->online_members, "ann", 0))
VERB(online_members_get, mcds_online_get(on->online_members, 0, &active))
VERB(online_members_drop, mcds_online_drop(on->online_members, 0))
VERB(set_add, mcds_set_add(on->set, word, &changed))
VERB(set_add_blindly, mcds_set_add(on->set, word, NULL))
VERB(set_has, mcds_set_has(on->set, word))
VERB(set_remove, mcds_set_remove(on->set, word, &changed))
VERB(set_scan, mcds_set_scan(on->set, pass_element, NULL))
VERB(set_drop, mcds_set_drop(on->set))
VERB(bag_add, mcds_set_add(on->bag, word, NULL))
VERB(ordered_add, mcds_set_add(on->ordered, word, NULL))
VERB(ordered_fetch, mcds_set_scan(on->ordered, pass_element, NULL))
VERB(bag_remove, mcds_set_remove(on->bag, word, &changed))
VERB(bag_drop, mcds_set_drop(on->bag))
VERB(ordered_remove, mcds_set_remove(on->ordered, word, &changed))
VERB(ordered_drop, mcds_set_drop(on->ordered))
VERB(table_put, mcds_table_put(on->table, word, word, 0))
VERB(table_put_if_absent, mcds_table_put_if_absent(on->table, word, word, 0))
VERB(table_compare_and_set, mcds_table_compare_and_set(on->table, word, word, word, 0))
VERB(table_has, mcds_table_has(on->table, word))
VERB(table_remove, mcds_table_remove(on->table, word, &changed))
VERB(table_incr, mcds_table_incr(on->table, number, 1, &taken))
VERB(table_drop, mcds_table_drop(on->table))
VERB(views_hit, mcds_views_hit(on->views, "page", 1))
VERB(views_get, mcds_views_get(on->views, "page", &taken))
VERB(views_flush, mcds_views_flush(on->views))
VERB(views_flush_final, mcds_views_flush_final(on->views))
VERB(views_drop, mcds_views_drop(on->views))
VERB(array_scan, mcds_array_scan(on->array, pass_bytes, NULL))
VERB(array_set, mcds_array_set(on->array, &word, 1))
VERB(array_change, mcds_array_change(on->array, &word, 1, &word, 1))
VERB(array_change_by, mcds_array_change_by(on->array, change_to_word, NULL))
VERB(array_drop, mcds_array_drop(on->array))
VERB(list_push, mcds_list_push(on->list, word))
VERB(list_push_many, mcds_list_push_many(on->list, &word, 1, NULL))
VERB(list_scan, mcds_list_scan(on->list, 0, 0, pass_bytes, NULL))
VERB(list_clear, mcds_list_clear(on->list))
VERB(list_drop, mcds_list_drop(on->list))
VERB(log_put, mcds_log_put(on->log, 0, word))
VERB(log_put_many, mcds_log_put_many(on->log, 0, &word, 1, NULL))
VERB(log_tail, mcds_log_tail(on->log, &on->cursor, pass_event, NULL, NULL))
VERB(log_drop, mcds_log_drop(on->log))
VERB(catalogue, mcds_scan(on->store, pass_listed, NULL))

/* Without an add of its own it would have nothing to flush. */
static int exact_flush(struct handles *on)
{
    int result = mcds_counter_add(on->exact, 1, NULL);
    return result < 0 ? result : mcds_counter_flush(on->exact);
}

static int lock_try_acquire(struct handles *on)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    return mcds_lock_try_acquire(on->lock, &lease);
}

static int lock_acquire(struct handles *on)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    return mcds_lock_acquire(on->lock, 10, &lease);
}

static int table_get(struct handles *on)
{
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_table_get(on->table, word, &value);
    mcds_value_free(&value);
    return result;
}

static int table_scan(struct handles *on)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    return mcds_table_scan(on->table, &cursor, 0, pass_entry, NULL);
}

static int log_scan(struct handles *on)
{
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    return mcds_log_scan(on->log, &range, pass_event, NULL, NULL);
}

static int take_from(mcds_limit *limit)
{
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    return mcds_limit_take(limit, word, 1, 0, &value);
}

static int once_run(struct handles *on)
{
    mcds_once_run run = MCDS_ONCE_RUN_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int32_t code;
    int result = mcds_once_begin(on->once, word, word, 0, &run, &value, &code);
    mcds_value_free(&value);
    if (result == MCDS_OK && run.mine)
        result = mcds_once_renew(on->once, &run);
    return result == MCDS_OK && run.mine ? mcds_once_finish(on->once, &run, 0, word) : result;
}

static int once_give_up(struct handles *on)
{
    mcds_once_run run = MCDS_ONCE_RUN_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int32_t code;
    int result = mcds_once_begin(on->once, number, number, 0, &run, &value, &code);
    mcds_value_free(&value);
    return result == MCDS_OK && run.mine ? mcds_once_abandon(on->once, &run) : result;
}

static int queue_work(struct handles *on)
{
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_queue_next(on->queue, 0, &job, &value);
    mcds_value_free(&value);
    if (result == MCDS_OK)
        result = mcds_queue_longer(on->queue, &job);
    if (result == MCDS_OK)
        result = mcds_queue_again(on->queue, &job, 0);
    return result;
}

static int queue_finish(struct handles *on)
{
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_queue_next(on->queue, 0, &job, &value);
    mcds_value_free(&value);
    return result == MCDS_OK ? mcds_queue_done(on->queue, &job) : result;
}

static int queue_count(struct handles *on)
{
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    return mcds_queue_count(on->queue, &counts);
}

static int cache_fill(struct handles *on)
{
    mcds_cache_claim claim = MCDS_CACHE_CLAIM_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    int result = mcds_cache_look(on->cache, word, NULL, 0, 0, &value, &claim);
    mcds_value_free(&value);
    return claim.mine ? mcds_cache_put(on->cache, &claim, &word) : result;
}

VERB(limit_take, take_from(on->limit))
VERB(limit_give, mcds_limit_give(on->limit, word, 1))
VERB(limit_drop, mcds_limit_drop(on->limit))
VERB(window_take, take_from(on->window))
VERB(ids_take, mcds_ids_take(on->ids, 2000, &(uint64_t){0}))
VERB(ids_drop, mcds_ids_drop(on->ids))
VERB(once_settle, mcds_once_settle(on->once, word, 0, word))
VERB(once_forget, mcds_once_forget(on->once, word))
VERB(queue_push, mcds_queue_push(on->queue, word, 0))
VERB(queue_push_dead, mcds_queue_push_dead(on->queue, word, 1))
VERB(queue_drop, mcds_queue_drop(on->queue))
VERB(semaphore_hold, field_use_permit(on->semaphore))
VERB(semaphore_resize, mcds_semaphore_resize(on->semaphore, 60, NULL))
VERB(semaphore_drop, mcds_semaphore_drop(on->semaphore))
VERB(cache_forget, mcds_cache_forget(on->cache, word))
VERB(cache_expire, mcds_cache_expire(on->cache, word))
VERB(cache_forget_tag, mcds_cache_forget_tag(on->cache, word))
VERB(cache_clear, mcds_cache_clear(on->cache))
VERB(cache_hold, mcds_cache_hold(on->cache, number, 3000))
VERB(cache_drop, mcds_cache_drop(on->cache))

#define ROW(verb)                                                                              \
    {                                                                                          \
        .name = #verb, .call = verb                                                            \
    }
const struct verb verbs[] = {
    ROW(counter_add),
    ROW(counter_get),
    ROW(counter_take),
    ROW(signed_subtract),
    ROW(signed_get),
    ROW(signed_take),
    ROW(striped_add),
    ROW(striped_get),
    ROW(striped_take),
    {.name = "exact_add", .call = exact_add, .needs_no_server = true},
    ROW(exact_flush),
    ROW(exact_get),
    {.name = "lock_renew", .call = lock_renew, .needs_lease = true},
    {.name = "lock_release", .call = lock_release, .needs_lease = true},
    ROW(lock_try_acquire),
    ROW(lock_acquire),
    ROW(lock_get_holder),
    ROW(lock_watch),
    ROW(visitors_hit),
    ROW(visitors_hit_nobody),
    ROW(visitors_get),
    ROW(members_hit),
    ROW(members_get),
    {.name = "estimated_hit", .call = estimated_hit, .needs_no_server = true},
    ROW(estimated_get),
    ROW(online_beat),
    ROW(online_get),
    ROW(online_members_beat),
    ROW(online_members_get),
    ROW(set_add),
    ROW(set_add_blindly),
    ROW(set_has),
    ROW(set_remove),
    ROW(set_scan),
    ROW(bag_add),
    ROW(ordered_add),
    ROW(bag_remove),
    ROW(ordered_fetch),
    ROW(ordered_remove),
    ROW(table_put),
    ROW(table_get),
    ROW(table_put_if_absent),
    ROW(table_compare_and_set),
    ROW(table_has),
    ROW(table_remove),
    ROW(table_incr),
    ROW(table_scan),
    ROW(views_hit),
    ROW(views_get),
    ROW(views_flush),
    ROW(views_flush_final),
    ROW(array_set),
    ROW(array_scan),
    ROW(array_change),
    ROW(array_change_by),
    ROW(list_push),
    ROW(list_push_many),
    ROW(list_scan),
    ROW(log_put),
    ROW(log_put_many),
    ROW(log_scan),
    ROW(log_tail),
    ROW(limit_take),
    ROW(limit_give),
    ROW(window_take),
    ROW(ids_take),
    ROW(once_run),
    ROW(once_give_up),
    ROW(once_settle),
    ROW(once_forget),
    ROW(queue_push),
    ROW(queue_push_dead),
    ROW(queue_work),
    ROW(queue_finish),
    ROW(queue_count),
    ROW(semaphore_hold),
    ROW(semaphore_resize),
    ROW(cache_fill),
    ROW(cache_forget),
    ROW(cache_expire),
    ROW(cache_forget_tag),
    ROW(cache_hold),
    ROW(catalogue),
    ROW(counter_drop),
    ROW(signed_drop),
    ROW(striped_drop),
    ROW(exact_drop),
    ROW(lock_break),
    ROW(lock_drop),
    ROW(visitors_drop),
    ROW(members_drop),
    ROW(estimated_drop),
    ROW(online_drop),
    ROW(online_members_drop),
    ROW(set_drop),
    ROW(bag_drop),
    ROW(ordered_drop),
    ROW(table_drop),
    ROW(views_drop),
    ROW(array_drop),
    ROW(list_clear),
    ROW(list_drop),
    ROW(log_drop),
    ROW(limit_drop),
    ROW(ids_drop),
    ROW(queue_drop),
    ROW(semaphore_drop),
    ROW(cache_clear),
    ROW(cache_drop),
};
const size_t verb_count = sizeof verbs / sizeof verbs[0];

static void open_counters(struct handles *on, const char *name)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    char other[64];
    OK(mcds_counter_open(on->store, name, NULL, &on->counter));
    options.flags = MCDS_COUNTER_SIGNED;
    (void)snprintf(other, sizeof other, "%s signed", name);
    OK(mcds_counter_open(on->store, other, &options, &on->is_signed));
    options.flags = 0;
    options.stripes = 4;
    (void)snprintf(other, sizeof other, "%s striped", name);
    OK(mcds_counter_open(on->store, other, &options, &on->striped));
    options.flags = MCDS_COUNTER_EXACT;
    options.stripes = 0;
    (void)snprintf(other, sizeof other, "%s exact", name);
    OK(mcds_counter_open(on->store, other, &options, &on->exact));
}

static void open_people(struct handles *on, const char *name)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_online_options of_online = MCDS_ONLINE_OPTIONS_INIT;
    char other[64];
    options.period_ms = 3600000;
    OK(mcds_visitors_open(on->store, name, &options, &on->visitors));
    options.members = of_online.members = MCDS_MEMBERS_EXACT;
    (void)snprintf(other, sizeof other, "%s members", name);
    OK(mcds_visitors_open(on->store, other, &options, &on->members));
    OK(mcds_online_open(on->store, other, &of_online, &on->online_members));
    options.members = MCDS_MEMBERS_ESTIMATED;
    (void)snprintf(other, sizeof other, "%s estimated", name);
    OK(mcds_visitors_open(on->store, other, &options, &on->estimated));
    OK(mcds_online_open(on->store, name, NULL, &on->online));
}

static void open_jobs(struct handles *on, const char *name)
{
    mcds_limit_options of_limit = MCDS_LIMIT_OPTIONS_INIT;
    mcds_ids_options of_ids = MCDS_IDS_OPTIONS_INIT;
    mcds_queue_options of_queue = MCDS_QUEUE_OPTIONS_INIT;
    mcds_semaphore_options of_semaphore = MCDS_SEMAPHORE_OPTIONS_INIT;
    of_limit.rate_count = 1;
    of_limit.rates[0] = (mcds_rate){.count = 1000000, .per_ms = 1000};
    of_ids.spread_ms = 1;
    of_queue.flags = MCDS_QUEUE_MAY_LOSE;
    of_semaphore.permits = 60;
    OK(mcds_cache_open(on->store, name, NULL, &on->cache));
    OK(mcds_limit_open(on->store, name, &of_limit, &on->limit));
    of_limit.form = MCDS_LIMIT_WINDOW;
    OK(mcds_limit_open(on->store, name, &of_limit, &on->window));
    OK(mcds_ids_open(on->store, name, &of_ids, &on->ids));
    OK(mcds_once_open(on->store, name, NULL, &on->once));
    OK(mcds_queue_open(on->store, name, &of_queue, &on->queue));
    OK(mcds_semaphore_open(on->store, name, &of_semaphore, &on->semaphore));
}

void open_all(struct handles *on, const char *uri, const char *name)
{
    mcds_store *store = NULL;
    OK(mcds_open(uri, NULL, &store));
    open_on(on, store, name);
}

void open_on(struct handles *on, mcds_store *store, const char *name)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    mcds_views_options of_views = MCDS_VIEWS_OPTIONS_INIT;
    char other[64];
    memset(on, 0, sizeof *on);
    on->lease = (mcds_lease)MCDS_LEASE_INIT;
    on->cursor = (mcds_log_cursor)MCDS_LOG_CURSOR_INIT;
    on->store = store;
    open_counters(on, name);
    open_people(on, name);
    open_jobs(on, name);
    OK(mcds_lock_open(on->store, name, NULL, &on->lock));
    (void)snprintf(other, sizeof other, "%s other", name);
    OK(mcds_lock_open(on->store, other, NULL, &on->other_lock));
    OK(mcds_set_open(on->store, name, NULL, &on->set));
    options.form = MCDS_SET_BAG;
    OK(mcds_set_open(on->store, other, &options, &on->bag));
    options.form = MCDS_SET_LIST;
    (void)snprintf(other, sizeof other, "%s ordered", name);
    OK(mcds_set_open(on->store, other, &options, &on->ordered));
    OK(mcds_table_open(on->store, name, NULL, &on->table));
    of_views.load = load_nothing;
    of_views.save = save_nothing;
    OK(mcds_views_open(on->store, name, &of_views, &on->views));
    OK(mcds_array_open(on->store, name, NULL, &on->array));
    OK(mcds_list_open(on->store, name, NULL, &on->list));
    OK(mcds_log_open(on->store, name, NULL, &on->log));
}

void close_all(struct handles *on)
{
    mcds_counter_close(on->counter);
    mcds_counter_close(on->is_signed);
    mcds_counter_close(on->striped);
    mcds_counter_close(on->exact);
    mcds_lock_close(on->lock);
    mcds_lock_close(on->other_lock);
    mcds_visitors_close(on->visitors);
    mcds_visitors_close(on->members);
    mcds_visitors_close(on->estimated);
    mcds_online_close(on->online);
    mcds_online_close(on->online_members);
    mcds_set_close(on->set);
    mcds_set_close(on->bag);
    mcds_set_close(on->ordered);
    mcds_table_close(on->table);
    mcds_views_close(on->views);
    mcds_array_close(on->array);
    mcds_list_close(on->list);
    mcds_log_close(on->log);
    mcds_cache_close(on->cache);
    mcds_limit_close(on->limit);
    mcds_limit_close(on->window);
    mcds_ids_close(on->ids);
    mcds_once_close(on->once);
    mcds_queue_close(on->queue);
    mcds_semaphore_close(on->semaphore);
    mcds_close(on->store);
}

/* All verbs once, on a server that works. On a loaded machine short timeouts are over soon. */
void use_all(struct handles *on)
{
    for (int tries = 1; mcds_lock_try_acquire(on->other_lock, &on->lease) != MCDS_OK; tries++)
        assert_true(tries < 100);
    for (size_t i = 0; i < verb_count; i++) {
        int result = verbs[i].call == lock_release ? MCDS_OK : verbs[i].call(on);
        for (int tries = 1; result < 0 && tries < 100; tries++)
            result = verbs[i].call(on);
        if (result < 0)
            fail_msg("%s on a server that works: %s", verbs[i].name, mcds_errmsg());
    }
}

const struct verb *verb_of(const char *name)
{
    size_t i = 0;
    while (i < verb_count && strcmp(verbs[i].name, name) != 0)
        i++;
    assert_true(i < verb_count);
    return &verbs[i];
}
