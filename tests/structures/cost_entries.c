/* The cost of calls on sets, tables, ids, once, arrays and views. */
#include "structures/cost.h"
#include "support/no_database.h"
#include "support/pass_over.h"

#define SIZES 3

static mcds_set *open_set(struct counted *c, const char *name)
{
    mcds_set *set = NULL;
    CHECK_RESULT(MCDS_OK, mcds_set_open(c->store, name, NULL, &set));
    return set;
}

void set_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    const char *name = fresh_name(suite, "s");
    mcds_set *set = open_set(&c, name);
    mcds_set *cold = open_set(&c, name);
    mcds_set *late = open_set(&c, name);
    mcds_bytes a = mcds_text("a");
    bool changed;
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_set_has, set, a);
    TRIPS(2, MCDS_OK, suite, &c, mcds_set_add, set, a, NULL); /* looks for it, makes it */
    TRIPS(1, MCDS_OK, suite, &c, mcds_set_add, set, a, NULL); /* knows what it made */
    TRIPS(1, MCDS_OK, suite, &c, mcds_set_add, set, mcds_text("b"), NULL);
    TRIPS(1, MCDS_OK, suite, &c, mcds_set_add, set, mcds_text("c"), &changed);
    TRIPS(1, MCDS_OK, suite, &c, mcds_set_remove, set, a, &changed);
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_set_has, set, a);
    TRIPS(1, MCDS_OK, suite, &c, mcds_set_scan, set, pass_element, NULL);
    TRIPS(2, MCDS_OK, suite, &c, mcds_set_has, cold, mcds_text("b"));
    TRIPS(1, MCDS_OK, suite, &c, mcds_set_has, cold, mcds_text("c"));
    TRIPS(3, MCDS_OK, suite, &c, mcds_set_add, late, a, NULL);
    TRIPS(1, MCDS_OK, suite, &c, mcds_set_add, late, a, NULL);
    TRIPS(4, MCDS_OK, suite, &c, mcds_set_drop, set);
    mcds_set_close(late);
    mcds_set_close(set);
    mcds_set_close(cold);
    close_counted(&c);
}

static mcds_table *open_table(struct counted *c, const char *name)
{
    mcds_table *table = NULL;
    CHECK_RESULT(MCDS_OK, mcds_table_open(c->store, name, NULL, &table));
    return table;
}

void table_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    const char *name = fresh_name(suite, "t");
    mcds_table *table = open_table(&c, name);
    mcds_table *cold = open_table(&c, name);
    mcds_table *late = open_table(&c, name);
    mcds_value value = MCDS_VALUE_INIT;
    mcds_bytes k = mcds_text("k");
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    int64_t after;
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_table_get, table, k, &value);
    TRIPS(2, MCDS_OK, suite, &c, mcds_table_put, table, k, mcds_text("1"), 0);
    TRIPS(2, MCDS_OK, suite, &c, mcds_table_get, cold, k, &value);
    TRIPS(1, MCDS_OK, suite, &c, mcds_table_get, cold, k, &value);
    TRIPS(3, MCDS_OK, suite, &c, mcds_table_put, late, k, mcds_text("1"), 0);
    TRIPS(1, MCDS_OK, suite, &c, mcds_table_put, table, k, mcds_text("2"), 0);
    TRIPS(1, MCDS_OK, suite, &c, mcds_table_get, table, k, &value);
    TRIPS(1, MCDS_OK, suite, &c, mcds_table_has, table, k);
    TRIPS(1, MCDS_OK, suite, &c, mcds_table_incr, table, k, 5, &after);
    TRIPS(1, MCDS_EXISTS, suite, &c, mcds_table_put_if_absent, table, k, k, 0);
    TRIPS(1, MCDS_OK, suite, &c, mcds_table_compare_and_set, table, k, mcds_text("7"), k, 0);
    TRIPS(1, MCDS_OK, suite, &c, mcds_table_scan, table, &cursor, 0, pass_entry, NULL);
    TRIPS(1, MCDS_OK, suite, &c, mcds_table_remove, table, k, NULL);
    TRIPS(4, MCDS_OK, suite, &c, mcds_table_drop, table);
    mcds_value_free(&value);
    mcds_table_close(late);
    mcds_table_close(cold);
    mcds_table_close(table);
    close_counted(&c);
}

/* The first ids of a name come after its spread. */
void ids_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_ids *ids = NULL;
    mcds_ids_options options = MCDS_IDS_OPTIONS_INIT;
    const char *name = fresh_name(suite, "i");
    uint64_t id = 0;
    options.spread_ms = 1;
    CHECK_RESULT(MCDS_OK, mcds_ids_open(c.store, name, &options, &ids));
    counting_backend_arm(&c.counting, FAULT_NONE, 0, false);
    CHECK_RESULT(MCDS_OK, mcds_ids_next(ids, &id));
    check_trips(&c, 5, "the first mcds_ids_next", __LINE__);
    if (!suite->own_clock) { /* a range lasts a second */
        TRIPS(0, MCDS_OK, suite, &c, mcds_ids_next, ids, &id);
        TRIPS(0, MCDS_OK, suite, &c, mcds_ids_take, ids, 1022, &id);
        TRIPS(2, MCDS_OK, suite, &c, mcds_ids_next, ids, &id);
    }
    TRIPS(1, MCDS_OK, suite, &c, mcds_ids_drop, ids);
    mcds_ids_close(ids);
    close_counted(&c);
}

/* Twice around one key: the second time over what the first has left. */
void once_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_once *once = NULL;
    mcds_once_run run = MCDS_ONCE_RUN_INIT;
    mcds_once_run late = MCDS_ONCE_RUN_INIT;
    mcds_once_value known = MCDS_ONCE_VALUE_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    mcds_bytes key = mcds_text("order:4711");
    mcds_bytes body = mcds_text("9 EUR");
    uint64_t renew = suite->can.cas_on_store ? 1 : 2;
    CHECK_RESULT(MCDS_OK, mcds_once_open(c.store, fresh_name(suite, "o"), NULL, &once));
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_once_get, once, key, &known, &value);
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_once_forget, once, key);
    TRIPS(1, MCDS_OK, suite, &c, mcds_once_begin, once, key, body, 0, &run, &value, NULL);
    TRIPS(1, MCDS_BUSY, suite, &c, mcds_once_begin, once, key, body, 0, &late, &value, NULL);
    TRIPS(renew, MCDS_OK, suite, &c, mcds_once_renew, once, &run);
    TRIPS(1, MCDS_OK, suite, &c, mcds_once_abandon, once, &run);
    TRIPS(2, MCDS_OK, suite, &c, mcds_once_begin, once, key, body, 0, &run, &value, NULL);
    TRIPS(1, MCDS_OK, suite, &c, mcds_once_finish, once, &run, 0, mcds_text("paid"));
    TRIPS(1, MCDS_OK, suite, &c, mcds_once_begin, once, key, body, 0, &late, &value, NULL);
    TRIPS(1, MCDS_OK, suite, &c, mcds_once_get, once, key, &known, &value);
    TRIPS(2, MCDS_OK, suite, &c, mcds_once_forget, once, key);
    TRIPS(4, MCDS_OK, suite, &c, mcds_once_settle, once, mcds_text("k"), 0, mcds_text("paid"));
    mcds_value_free(&value);
    mcds_once_close(once);
    close_counted(&c);
}

void array_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_array *array = NULL;
    mcds_bytes a = mcds_text("a");
    CHECK_RESULT(MCDS_OK, mcds_array_open(c.store, fresh_name(suite, "a"), NULL, &array));
    TRIPS(1, MCDS_NOT_FOUND, suite, &c, mcds_array_scan, array, pass_bytes, NULL);
    TRIPS(2, MCDS_OK, suite, &c, mcds_array_set, array, &a, 1);
    TRIPS(1, MCDS_OK, suite, &c, mcds_array_scan, array, pass_bytes, NULL);
    TRIPS(2, MCDS_OK, suite, &c, mcds_array_change, array, &a, 1, NULL, 0);
    TRIPS(1, MCDS_OK, suite, &c, mcds_array_change, array, NULL, 0, NULL, 0);
    TRIPS(2, MCDS_OK, suite, &c, mcds_array_drop, array);
    mcds_array_close(array);
    close_counted(&c);
}

void views_trips(struct suite *suite)
{
    struct counted c;
    open_counted(suite, &c);
    mcds_views *views = NULL;
    mcds_views_options options = views_without_database();
    int64_t value;
    options.flush_ms = 86400000; /* for which a drop reads 13 intervals */
    CHECK_RESULT(MCDS_OK, mcds_views_open(c.store, fresh_name(suite, "w"), &options, &views));
    CHECK_RESULT(MCDS_OK, mcds_views_flush(views));
    CHECK_RESULT(MCDS_OK, mcds_views_hit(views, "/", 1));
    CHECK_RESULT(MCDS_OK, mcds_views_get(views, "/", &value));
    TRIPS(1, MCDS_OK, suite, &c, mcds_views_hit, views, "/", 1);
    TRIPS(1, MCDS_OK, suite, &c, mcds_views_get, views, "/", &value);
    TRIPS(17, MCDS_OK, suite, &c, mcds_views_drop, views);
    mcds_views_close(views);
    close_counted(&c);
}

static mcds_bytes member(uint32_t number)
{
    static char text[24];
    (void)snprintf(text, sizeof text, "member-%09u", number);
    return mcds_text(text);
}

/* Round trips of as many looks by a handle that has never seen the set. */
static uint64_t look_cold(struct counted *c, const char *name, uint32_t looks)
{
    mcds_set *set = open_set(c, name);
    counting_backend_arm(&c->counting, FAULT_NONE, 0, false);
    for (uint32_t n = 0; n < looks; n++)
        CHECK_RESULT(MCDS_OK, mcds_set_has(set, member(1000000 + n)));
    mcds_set_close(set);
    return c->counting.batches;
}

/* Round trips for `more` additions, on a handle that knows the set of this size, and for as many
 * looks of new handles. Rewriting what has grown is part of it. */
static void count_trips(struct suite *suite, struct counted *c, uint32_t size, uint32_t more,
                        uint64_t *trips_out, uint64_t *cold_out)
{
    mcds_pipeline *pipeline = NULL;
    mcds_completion done;
    const char *name = fresh_name(suite, "s");
    mcds_set *set = open_set(c, name);
    CHECK_RESULT(MCDS_OK, mcds_pipeline_open(c->store, NULL, &pipeline));
    for (uint32_t n = 0; n < size; n++)
        CHECK_RESULT(MCDS_OK, mcds_set_add_start(set, member(n), NULL, pipeline, n));
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        CHECK_RESULT(MCDS_OK, done.result);
    mcds_pipeline_close(pipeline);
    counting_backend_arm(&c->counting, FAULT_NONE, 0, false);
    for (uint32_t n = 0; n < more; n++)
        CHECK_RESULT(MCDS_OK, mcds_set_add(set, member(1000000 + n), NULL));
    *trips_out = c->counting.batches;
    *cold_out = look_cold(c, name, more);
    mcds_set_close(set);
}

/* Where elements are is drawn with each set, and a handle that guesses their depth may be wrong:
 * the least of a few sets is judged. */
void a_change_costs_one_trip_at_any_size(struct suite *suite)
{
    static const uint32_t sizes[SIZES] = {100, 1000, 5000};
    static const uint32_t more = 400;
    uint64_t trips[SIZES], cold[SIZES];
    struct counted c;
    if (suite->can.durable) {
        skip_because("too slow where each addition goes to the disk");
    }
    open_counted(suite, &c);
    for (int i = 0; i < SIZES; i++) {
        trips[i] = cold[i] = UINT64_MAX;
        for (int play = 0;
             play < 5 && (trips[i] > more + more / 2 || cold[i] > more + more / 4); play++) {
            uint64_t warm_trips, cold_trips;
            count_trips(suite, &c, sizes[i], more, &warm_trips, &cold_trips);
            trips[i] = warm_trips < trips[i] ? warm_trips : trips[i];
            cold[i] = cold_trips < cold[i] ? cold_trips : cold[i];
        }
    }
    close_counted(&c);
    for (int i = 0; i < SIZES; i++) {
        assert_in_range(trips[i], more, more + more / 2);
        assert_in_range(cold[i], more, more + more / 4);
    }
}
