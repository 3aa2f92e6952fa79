/* Costs of the calls on lists and logs, and of a flush of views; and the calls on sets, tables,
 * lists, logs and views that allocate no memory on a warm handle. */
#include "base/environment.h"
#include "structures/cost.h"
#include "support/no_database.h"
#include "support/pass_over.h"

#define LARGE 5000 /* a few of them fill a key */
#define PAGES 17

static mcds_list *open_list(mcds_store *store, const char *name)
{
    mcds_list *list = NULL;
    CHECK_RESULT(MCDS_OK, mcds_list_open(store, name, NULL, &list));
    return list;
}

/* With a chunk that began some time ago and does not end soon: near an edge there are two to look
 * at. */
static uint64_t choose_chunk(const mcds_store *store)
{
    uint64_t now_ms = (uint64_t)mcds__wall_ms(mcds__store_env(store));
    uint64_t chunk_ms = 604800;
    while (now_ms % chunk_ms < 150000 || now_ms % chunk_ms > chunk_ms - 60000)
        chunk_ms += 100;
    return chunk_ms;
}

static mcds_log *open_log(mcds_store *store, const char *name, uint64_t chunk_ms)
{
    mcds_log *log = NULL;
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    options.chunk_ms = chunk_ms;
    options.retention_ms = chunk_ms * 1000;
    CHECK_RESULT(MCDS_OK, mcds_log_open(store, name, &options, &log));
    return log;
}

void list_trips(struct suite *suite)
{
    static const char large[LARGE] = {0};
    struct counted c;
    open_counted(suite, &c);
    const char *name = fresh_name(suite, "l");
    mcds_list *list = open_list(c.store, name);
    mcds_list *cold = open_list(c.store, name);
    mcds_bytes a = mcds_text("a"), values[2] = {a, a}, filling = {large, sizeof large};
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_list_scan, list, 0, 0, pass_bytes, NULL);
    TRIPS(6, MCDS_OK, suite, &c, mcds_list_push, list, a); /* makes the list */
    TRIPS(1, MCDS_OK, suite, &c, mcds_list_push, list, a);
    TRIPS(1, MCDS_OK, suite, &c, mcds_list_push_many, list, values, 2, NULL);
    TRIPS(2, MCDS_OK, suite, &c, mcds_list_scan, list, 0, 0, pass_bytes, NULL);
    TRIPS(3, MCDS_OK, suite, &c, mcds_list_push, cold, a);
    for (int i = 0; i < 3; i++)
        TRIPS(1, MCDS_OK, suite, &c, mcds_list_push, cold, filling);
    TRIPS(2, MCDS_OK, suite, &c, mcds_list_push, cold, filling); /* begins a key */
    TRIPS(1, MCDS_OK, suite, &c, mcds_list_push, cold, a);
    if (suite->can.compare_and_set) {
        uint32_t trips = suite->can.evicts || suite->can.durable ? 6 : 7; /* may be full */
        TRIPS(trips, MCDS_OK, suite, &c, mcds_list_clear, list);
        TRIPS(6, MCDS_OK, suite, &c, mcds_list_drop, list);
    }
    mcds_list_close(cold);
    mcds_list_close(list);
    close_counted(&c);
}

void log_trips(struct suite *suite)
{
    static const char large[LARGE] = {0};
    struct counted c;
    open_counted(suite, &c);
    const char *name = fresh_name(suite, "e");
    uint64_t chunk_ms = choose_chunk(c.store);
    mcds_log *log = open_log(c.store, name, chunk_ms);
    mcds_log *cold = open_log(c.store, name, chunk_ms);
    mcds_bytes a = mcds_text("a"), events[2] = {a, a}, filling = {large, sizeof large};
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_log_scan, log, &range, pass_event, NULL, NULL);
    TRIPS(4, MCDS_OK, suite, &c, mcds_log_put, log, 0, a); /* makes the log */
    TRIPS(1, MCDS_OK, suite, &c, mcds_log_put, log, 0, a);
    TRIPS(1, MCDS_OK, suite, &c, mcds_log_put_many, log, 0, events, 2, NULL);
    TRIPS(3, MCDS_OK, suite, &c, mcds_log_put, cold, 0, a);
    for (int i = 0; i < 3; i++)
        TRIPS(1, MCDS_OK, suite, &c, mcds_log_put, cold, 0, filling);
    TRIPS(2, MCDS_OK, suite, &c, mcds_log_put, cold, 0, filling); /* begins a key */
    /* A new cursor looks for the end of a chunk of several keys. */
    TRIPS(3, MCDS_OK, suite, &c, mcds_log_tail, log, &cursor, pass_event, NULL, NULL);
    TRIPS(1, MCDS_OK, suite, &c, mcds_log_put, log, 0, a);
    TRIPS(2, MCDS_OK, suite, &c, mcds_log_tail, log, &cursor, pass_event, NULL, NULL);
    TRIPS(1, MCDS_OK, suite, &c, mcds_log_tail, log, &cursor, pass_event, NULL, NULL);
    TRIPS(38, MCDS_OK, suite, &c, mcds_log_scan, log, &range, pass_event, NULL, NULL);
    mcds_log_close(cold);
    mcds_log_close(log);
    close_counted(&c);
}

static mcds_views *open_views(struct suite *suite, mcds_store *store)
{
    mcds_views *views = NULL;
    mcds_views_options options = views_without_database();
    CHECK_RESULT(MCDS_OK, mcds_views_open(store, fresh_name(suite, "w"), &options, &views));
    return views;
}

#define FLUSH(least, verb)                                                                     \
    do {                                                                                       \
        counting_backend_arm(&c.counting, FAULT_NONE, 0, false);                               \
        check_result(CALL_IN(suite, c.pipeline, verb, views), MCDS_OK, __FILE__, __LINE__);    \
        assert_in_range(c.counting.batches, least, (least) + 1);                               \
    } while (0)

/* After another flush: the settings, the mark, two intervals that were saved before, the current one,
 * and in its first five seconds one more; then the list and the counts of 17 pages. */
void flush_trips(struct suite *suite)
{
    struct counted c;
    char page[24];
    open_counted(suite, &c);
    mcds_views *views = open_views(suite, c.store);
    CHECK_RESULT(MCDS_OK, mcds_views_flush(views));
    FLUSH(5, mcds_views_flush);
    for (uint32_t i = 0; i < PAGES; i++) {
        (void)snprintf(page, sizeof page, "/%u", i);
        CHECK_RESULT(MCDS_OK, mcds_views_hit(views, page, 1));
    }
    FLUSH(8, mcds_views_flush_final);
    mcds_views_close(views);
    close_counted(&c);
}

/* Calls that read what a key holds allocate where it is more than fits into their own room. */
void warm_sets_and_tables_take_no_memory(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_set *set = NULL;
    mcds_table *table = NULL;
    mcds_bytes a = mcds_text("a"), seven = mcds_text("7");
    bool changed;
    CHECK_RESULT(MCDS_OK, mcds_set_open(c.store, fresh_name(suite, "s"), NULL, &set));
    CHECK_RESULT(MCDS_OK, mcds_table_open(c.store, fresh_name(suite, "t"), NULL, &table));
    CHECK_RESULT(MCDS_OK, mcds_set_add(set, a, NULL));
    CHECK_RESULT(MCDS_OK, mcds_table_put(table, a, seven, 0));
    CHECK_RESULT(MCDS_OK, mcds_table_has(table, a));
    for (int i = 0; i < 2; i++) {
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_set_add, set, a, NULL);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_set_has, set, a);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_set_remove, set, a, &changed);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_table_put, table, a, seven, 0);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_table_has, table, a);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_table_remove, table, a, NULL);
    }
    mcds_set_close(set);
    mcds_table_close(table);
    close_counted(&c);
}

void warm_lists_and_logs_take_no_memory(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_list *list = open_list(c.store, fresh_name(suite, "l"));
    mcds_log *log = open_log(c.store, fresh_name(suite, "e"), choose_chunk(c.store));
    mcds_bytes a = mcds_text("a");
    CHECK_RESULT(MCDS_OK, mcds_list_push(list, a));
    CHECK_RESULT(MCDS_OK, mcds_log_put(log, 0, a));
    for (int i = 0; i < 2; i++) {
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_list_push, list, a);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_log_put, log, 0, a);
    }
    mcds_list_close(list);
    mcds_log_close(log);
    close_counted(&c);
}

void warm_views_take_no_memory(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_views *views = open_views(suite, c.store);
    int64_t value;
    CHECK_RESULT(MCDS_OK, mcds_views_flush(views));
    CHECK_RESULT(MCDS_OK, mcds_views_hit(views, "/", 1));
    CHECK_RESULT(MCDS_OK, mcds_views_get(views, "/", &value));
    for (int i = 0; i < 2; i++) {
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_views_hit, views, "/", 1);
        FREE_OF_MEMORY(MCDS_OK, suite, mcds_views_get, views, "/", &value);
    }
    mcds_views_close(views);
    close_counted(&c);
}
