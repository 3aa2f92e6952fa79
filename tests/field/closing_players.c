/* One player for each structure and form. The outputs of its reads are never freed. */
#include "field/closing.h"
#include "support/no_database.h"
#include "support/pass_over.h"

static int64_t number;
static mcds_counter_value counter_value;
static mcds_visitors_value visitors_value;
static mcds_online_value online_value;
static mcds_lock_holder holder;
static bool changed;
static mcds_lease leases[3];
static mcds_table_cursor table_cursor;
static mcds_log_cursor log_cursor;
static mcds_log_info log_info;

static void *open_counter(mcds_store *store, const char *name, uint32_t flags, uint32_t stripes,
                          uint32_t flush_ms)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    options.flags = flags;
    options.stripes = stripes;
    options.flush_ms = flush_ms;
    CHECK_OK(mcds_counter_open(store, name, &options, &counter));
    return counter;
}

static void *open_plain(mcds_store *store)
{
    return open_counter(store, "plain", 0, 0, 100);
}

static void *open_striped(mcds_store *store)
{
    return open_counter(store, "striped", MCDS_COUNTER_SIGNED, 4, 100);
}

static void *open_exact(mcds_store *store)
{
    return open_counter(store, "exact", MCDS_COUNTER_EXACT, 0, 3600000);
}

static void *open_exact_at_once(mcds_store *store)
{
    return open_counter(store, "exact at once", MCDS_COUNTER_EXACT, 0, MCDS_COUNTER_FLUSH_EACH);
}

static void start_counter(void *handle, mcds_pipeline *pipeline)
{
    CHECK_OK(mcds_counter_add_start(handle, 1, NULL, pipeline, 0));
    CHECK_OK(mcds_counter_get_start(handle, &counter_value, pipeline, 0));
    CHECK_OK(mcds_counter_take_start(handle, &number, pipeline, 0));
    CHECK_OK(mcds_counter_drop_start(handle, pipeline, 0));
}

static void start_exact(void *handle, mcds_pipeline *pipeline)
{
    CHECK_OK(mcds_counter_add_start(handle, 1, NULL, pipeline, 0));
    CHECK_OK(mcds_counter_flush_start(handle, pipeline, 0));
    CHECK_OK(mcds_counter_get_start(handle, &counter_value, pipeline, 0));
    CHECK_OK(mcds_counter_add_start(handle, 1, NULL, pipeline, 0));
}

static void close_counter(void *handle)
{
    mcds_counter_close(handle);
}

static void *open_lock(mcds_store *store)
{
    mcds_lock *lock = NULL;
    CHECK_OK(mcds_lock_open(store, "lock", NULL, &lock));
    for (size_t i = 0; i < 3; i++)
        leases[i] = (mcds_lease)MCDS_LEASE_INIT;
    return lock;
}

static void start_lock(void *handle, mcds_pipeline *pipeline)
{
    CHECK_OK(mcds_lock_try_acquire_start(handle, &leases[0], pipeline, 0));
    CHECK_OK(mcds_lock_acquire_start(handle, 50, &leases[1], pipeline, 0));
    CHECK_OK(mcds_lock_get_holder_start(handle, &holder, pipeline, 0));
    CHECK_OK(mcds_lock_break_start(handle, pipeline, 0));
}

static void close_lock(void *handle)
{
    mcds_lock_close(handle);
}

static void *open_visitors(mcds_store *store, const char *name, mcds_members members)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors = NULL;
    options.members = members;
    CHECK_OK(mcds_visitors_open(store, name, &options, &visitors));
    return visitors;
}

static void *open_visitors_plain(mcds_store *store)
{
    return open_visitors(store, "visitors", MCDS_MEMBERS_NONE);
}

static void *open_visitors_exact(mcds_store *store)
{
    return open_visitors(store, "exact visitors", MCDS_MEMBERS_EXACT);
}

static void *open_visitors_estimated(mcds_store *store)
{
    return open_visitors(store, "estimated visitors", MCDS_MEMBERS_ESTIMATED);
}

static void start_visitors(void *handle, mcds_pipeline *pipeline)
{
    CHECK_OK(mcds_visitors_hit_start(handle, "ann", 0, pipeline, 0));
    CHECK_OK(mcds_visitors_get_start(handle, 0, &visitors_value, pipeline, 0));
    CHECK_OK(mcds_visitors_drop_start(handle, 0, pipeline, 0));
}

static void close_visitors(void *handle)
{
    mcds_visitors_close(handle);
}

static void *open_online(mcds_store *store, const char *name, mcds_members members)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    mcds_online *online = NULL;
    options.members = members;
    CHECK_OK(mcds_online_open(store, name, &options, &online));
    return online;
}

static void *open_online_plain(mcds_store *store)
{
    return open_online(store, "online", MCDS_MEMBERS_NONE);
}

static void *open_online_exact(mcds_store *store)
{
    return open_online(store, "exact online", MCDS_MEMBERS_EXACT);
}

static void *open_online_estimated(mcds_store *store)
{
    return open_online(store, "estimated online", MCDS_MEMBERS_ESTIMATED);
}

static void start_online(void *handle, mcds_pipeline *pipeline)
{
    CHECK_OK(mcds_online_beat_start(handle, "ann", 0, pipeline, 0));
    CHECK_OK(mcds_online_get_start(handle, 0, &online_value, pipeline, 0));
    CHECK_OK(mcds_online_drop_start(handle, 0, pipeline, 0));
}

static void close_online(void *handle)
{
    mcds_online_close(handle);
}

static void *open_set(mcds_store *store, const char *name, mcds_set_form form)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    mcds_set *set = NULL;
    options.form = form;
    CHECK_OK(mcds_set_open(store, name, &options, &set));
    return set;
}

static void *open_set_plain(mcds_store *store)
{
    return open_set(store, "set", MCDS_SET_PLAIN);
}

static void *open_bag(mcds_store *store)
{
    return open_set(store, "bag", MCDS_SET_BAG);
}

static void *open_set_list(mcds_store *store)
{
    return open_set(store, "set of places", MCDS_SET_LIST);
}

static void start_set(void *handle, mcds_pipeline *pipeline)
{
    CHECK_OK(mcds_set_add_start(handle, mcds_text("a"), &changed, pipeline, 0));
    CHECK_OK(mcds_set_add_start(handle, mcds_text("b"), NULL, pipeline, 0));
    CHECK_OK(mcds_set_has_start(handle, mcds_text("a"), pipeline, 0));
    CHECK_OK(mcds_set_remove_start(handle, mcds_text("a"), &changed, pipeline, 0));
    CHECK_OK(mcds_set_scan_start(handle, pass_element, NULL, pipeline, 0));
    CHECK_OK(mcds_set_drop_start(handle, pipeline, 0));
}

static void close_set(void *handle)
{
    mcds_set_close(handle);
}

static void *open_table(mcds_store *store)
{
    mcds_table *table = NULL;
    CHECK_OK(mcds_table_open(store, "table", NULL, &table));
    table_cursor = (mcds_table_cursor)MCDS_TABLE_CURSOR_INIT;
    return table;
}

static void start_table(void *handle, mcds_pipeline *pipeline)
{
    static mcds_value value = MCDS_VALUE_INIT;
    mcds_bytes key = mcds_text("key");
    mcds_bytes one = mcds_text("1");
    mcds_value_free(&value);
    CHECK_OK(mcds_table_put_start(handle, key, one, 0, pipeline, 0));
    CHECK_OK(mcds_table_has_start(handle, key, pipeline, 0));
    CHECK_OK(mcds_table_put_if_absent_start(handle, key, one, 0, pipeline, 0));
    CHECK_OK(mcds_table_compare_and_set_start(handle, key, one, one, 0, pipeline, 0));
    CHECK_OK(mcds_table_incr_start(handle, key, 1, &number, pipeline, 0));
    CHECK_OK(mcds_table_remove_start(handle, key, &changed, pipeline, 0));
    CHECK_OK(mcds_table_scan_start(handle, &table_cursor, 0, pass_entry, NULL, pipeline, 0));
    CHECK_OK(mcds_table_drop_start(handle, pipeline, 0));
}

static void close_table(void *handle)
{
    mcds_table_close(handle);
}

static void *open_array(mcds_store *store)
{
    mcds_array *array = NULL;
    CHECK_OK(mcds_array_open(store, "array", NULL, &array));
    return array;
}

static void start_array(void *handle, mcds_pipeline *pipeline)
{
    mcds_bytes elements[] = {mcds_text("a"), mcds_text("b")};
    CHECK_OK(mcds_array_set_start(handle, elements, 2, pipeline, 0));
    CHECK_OK(mcds_array_change_start(handle, elements, 1, elements, 2, pipeline, 0));
    CHECK_OK(mcds_array_scan_start(handle, pass_bytes, NULL, pipeline, 0));
}

static void close_array(void *handle)
{
    mcds_array_close(handle);
}

static void *open_list(mcds_store *store)
{
    mcds_list *list = NULL;
    CHECK_OK(mcds_list_open(store, "list", NULL, &list));
    return list;
}

static void start_list(void *handle, mcds_pipeline *pipeline)
{
    static mcds_bytes values[2]; /* must live as long */
    values[0] = values[1] = mcds_text("a");
    CHECK_OK(mcds_list_push_start(handle, values[0], pipeline, 0));
    CHECK_OK(mcds_list_push_many_start(handle, values, 2, NULL, pipeline, 0));
    CHECK_OK(mcds_list_scan_start(handle, 0, 10, pass_bytes, NULL, pipeline, 0));
    CHECK_OK(mcds_list_clear_start(handle, pipeline, 0));
    CHECK_OK(mcds_list_drop_start(handle, pipeline, 0));
}

static void close_list(void *handle)
{
    mcds_list_close(handle);
}

static void *open_log(mcds_store *store)
{
    mcds_log *log = NULL;
    CHECK_OK(mcds_log_open(store, "log", NULL, &log));
    log_cursor = (mcds_log_cursor)MCDS_LOG_CURSOR_INIT;
    return log;
}

static void start_log(void *handle, mcds_pipeline *pipeline)
{
    static const mcds_log_range range = MCDS_LOG_RANGE_INIT;
    static mcds_bytes events[2]; /* must live as long */
    events[0] = events[1] = mcds_text("a");
    CHECK_OK(mcds_log_put_start(handle, 0, events[0], pipeline, 0));
    CHECK_OK(mcds_log_put_many_start(handle, 0, events, 2, NULL, pipeline, 0));
    CHECK_OK(mcds_log_scan_start(handle, &range, pass_event, NULL, &log_info, pipeline, 0));
    CHECK_OK(
        mcds_log_tail_start(handle, &log_cursor, pass_event, NULL, &log_info, pipeline, 0));
    CHECK_OK(mcds_log_drop_start(handle, pipeline, 0));
}

static void close_log(void *handle)
{
    mcds_log_close(handle);
}

static void *open_views(mcds_store *store)
{
    mcds_views_options options = views_without_database();
    mcds_views *views = NULL;
    CHECK_OK(mcds_views_open(store, "views", &options, &views));
    return views;
}

static void start_views(void *handle, mcds_pipeline *pipeline)
{
    CHECK_OK(mcds_views_hit_start(handle, "home", 1, pipeline, 0));
    CHECK_OK(mcds_views_get_start(handle, "home", &number, pipeline, 0));
    CHECK_OK(mcds_views_flush_start(handle, pipeline, 0));
}

static void close_views(void *handle)
{
    mcds_views_close(handle);
}

const struct player closing_players[] = {
    {"counter", open_plain, start_counter, close_counter},
    {"striped counter", open_striped, start_counter, close_counter},
    {"exact counter", open_exact, start_exact, close_counter},
    {"exact counter, at once", open_exact_at_once, start_exact, close_counter},
    {"lock", open_lock, start_lock, close_lock},
    {"visitors", open_visitors_plain, start_visitors, close_visitors},
    {"exact visitors", open_visitors_exact, start_visitors, close_visitors},
    {"estimated visitors", open_visitors_estimated, start_visitors, close_visitors},
    {"online", open_online_plain, start_online, close_online},
    {"exact online", open_online_exact, start_online, close_online},
    {"estimated online", open_online_estimated, start_online, close_online},
    {"set", open_set_plain, start_set, close_set},
    {"bag", open_bag, start_set, close_set},
    {"set of places", open_set_list, start_set, close_set},
    {"table", open_table, start_table, close_table},
    {"array", open_array, start_array, close_array},
    {"list", open_list, start_list, close_list},
    {"log", open_log, start_log, close_log},
    {"views", open_views, start_views, close_views},
};
const unsigned closing_player_count = sizeof closing_players / sizeof closing_players[0];
