/* Table: a hash table of values by key (core/map). */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "core/map/bucket/apply.h"
#include "structures/keyed.h"

#define TTL_MS_MAX (UINT64_C(366) * 24 * 3600 * 1000)

struct mcds_table {
    struct mcds__keyed keyed;
};

static const mcds_reason *const other_forms[] = {
    MCDS__WHY(TABLE),
    MCDS__WHY(UNKNOWN_FORM),
    MCDS__WHY(UNKNOWN_FORM),
    MCDS__WHY(UNKNOWN_FORM),
};

static const struct mcds__operation_kind get_kind = MCDS__KEYED_GET("table", "get");
static const struct mcds__operation_kind has_kind = MCDS__KEYED_GET("table", "has");
static const struct mcds__operation_kind put_kind = MCDS__KEYED_UPDATE("table", "put");
static const struct mcds__operation_kind put_new_kind = MCDS__KEYED_UPDATE("table",
                                                                           "put_if_absent");
static const struct mcds__operation_kind swap_kind = MCDS__KEYED_UPDATE("table",
                                                                        "compare_and_set");
static const struct mcds__operation_kind remove_kind = MCDS__KEYED_UPDATE("table", "remove");
static const struct mcds__operation_kind incr_kind = MCDS__KEYED_UPDATE("table", "incr");
static const struct mcds__operation_kind drop_kind = MCDS__KEYED_DROP("table");

static int table_check(const mcds_table *table, const struct mcds__operation_kind *kind,
                       mcds_bytes key)
{
    if (table == NULL)
        return mcds__fail_missing("table", kind->verb, "a table");
    return mcds__check_bytes(kind, table->keyed.handle.name, "key", key);
}

static int table_launch_get(mcds_table *table, const struct mcds__operation_kind *kind,
                            mcds_bytes key, mcds_value *value_out,
                            const struct mcds__start *start)
{
    int result = table_check(table, kind, key);
    if (result != MCDS_OK)
        return result;
    if (kind == &get_kind && value_out == NULL)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                          MCDS__CALL(kind, table->keyed.handle.name),
                          .wanted = "a place for the value");
    return mcds__keyed_launch_get(&table->keyed, kind, key, value_out, start);
}

int mcds_table_get_start(mcds_table *table, mcds_bytes key, mcds_value *value_out,
                         mcds_pipeline *pipeline, uint64_t tag)
{
    return table_launch_get(table, &get_kind, key, value_out, MCDS__START(pipeline, tag));
}

int mcds_table_get(mcds_table *table, mcds_bytes key, mcds_value *value_out)
{
    return mcds_table_get_start(table, key, value_out, MCDS__WAIT, 0);
}

int mcds_table_has_start(mcds_table *table, mcds_bytes key, mcds_pipeline *pipeline,
                         uint64_t tag)
{
    return table_launch_get(table, &has_kind, key, NULL, MCDS__START(pipeline, tag));
}

int mcds_table_has(mcds_table *table, mcds_bytes key)
{
    return mcds_table_has_start(table, key, MCDS__WAIT, 0);
}

static int table_take_nothing(const struct mcds__map_update *change, void *out)
{
    (void)change;
    (void)out;
    return MCDS_OK;
}

static int take_put_new(const struct mcds__map_update *change, void *out)
{
    (void)out;
    assert(change->wants_code);
    return change->code == MCDS__MAP_CHANGED ? MCDS_OK : MCDS_EXISTS;
}

static int take_swap(const struct mcds__map_update *change, void *out)
{
    (void)out;
    assert(change->must_exist && change->wants_code);
    if (change->code == MCDS__MAP_CHANGED)
        return MCDS_OK;
    return change->code == MCDS__MAP_ABSENT ? MCDS_NOT_FOUND : MCDS_EXISTS;
}

static int take_incr(const struct mcds__map_update *change, void *out)
{
    assert(change->wants_code);
    if (change->code == MCDS__MAP_NO_NUMBER)
        return MCDS_CORRUPT;
    if (change->code == MCDS__MAP_RANGE)
        return MCDS_OVERFLOW;
    if (out != NULL)
        *(int64_t *)out = change->number;
    return MCDS_OK;
}

static int table_launch_change(mcds_table *table, const struct mcds__operation_kind *kind,
                               struct mcds__keyed_command *order, uint64_t ttl_ms,
                               const struct mcds__start *start)
{
    int result = table_check(table, kind, order->command.element);
    if (result != MCDS_OK)
        return result;
    const struct mcds__map_command *command = &order->command;
    if ((command->value.data == NULL && command->value.length > 0) ||
        (command->expected.data == NULL && command->expected.length > 0))
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                          MCDS__CALL(kind, table->keyed.handle.name), .option = "value");
    const struct mcds__given ttl = {MCDS_CAUSE_OUT_OF_RANGE, "ttl_ms", ttl_ms, 0, TTL_MS_MAX};
    result = mcds__check_given("table", table->keyed.handle.name, kind->verb, &ttl, 1);
    if (result == MCDS_OK && ttl_ms > 0)
        result = mcds__check_wall(kind, &table->keyed.handle);
    if (result != MCDS_OK)
        return result;
    assert(order->command.expires_ms == 0);
    if (ttl_ms > 0)
        order->command.expires_ms = mcds__wall_ms(table->keyed.map.env) + (int64_t)ttl_ms;
    return mcds__keyed_launch_update(&table->keyed, kind, order, start);
}

int mcds_table_put_start(mcds_table *table, mcds_bytes key, mcds_bytes value, uint64_t ttl_ms,
                         mcds_pipeline *pipeline, uint64_t tag)
{
    struct mcds__keyed_command order = {
        .command = {.verb = MCDS__MAP_PUT, .element = key, .value = value},
        .take = table_take_nothing,
    };
    return table_launch_change(table, &put_kind, &order, ttl_ms, MCDS__START(pipeline, tag));
}

int mcds_table_put(mcds_table *table, mcds_bytes key, mcds_bytes value, uint64_t ttl_ms)
{
    return mcds_table_put_start(table, key, value, ttl_ms, MCDS__WAIT, 0);
}

int mcds_table_put_if_absent_start(mcds_table *table, mcds_bytes key, mcds_bytes value,
                                   uint64_t ttl_ms, mcds_pipeline *pipeline, uint64_t tag)
{
    struct mcds__keyed_command order = {
        .command = {.verb = MCDS__MAP_PUT_NEW, .element = key, .value = value},
        .wants_code = true,
        .take = take_put_new,
    };
    return table_launch_change(table, &put_new_kind, &order, ttl_ms,
                               MCDS__START(pipeline, tag));
}

int mcds_table_put_if_absent(mcds_table *table, mcds_bytes key, mcds_bytes value,
                             uint64_t ttl_ms)
{
    return mcds_table_put_if_absent_start(table, key, value, ttl_ms, MCDS__WAIT, 0);
}

int mcds_table_compare_and_set_start(mcds_table *table, mcds_bytes key, mcds_bytes expected,
                                     mcds_bytes value, uint64_t ttl_ms, mcds_pipeline *pipeline,
                                     uint64_t tag)
{
    struct mcds__keyed_command order = {
        .command = {.verb = MCDS__MAP_SWAP,
                    .element = key,
                    .value = value,
                    .expected = expected},
        .must_exist = true,
        .wants_code = true,
        .take = take_swap,
    };
    return table_launch_change(table, &swap_kind, &order, ttl_ms, MCDS__START(pipeline, tag));
}

int mcds_table_compare_and_set(mcds_table *table, mcds_bytes key, mcds_bytes expected,
                               mcds_bytes value, uint64_t ttl_ms)
{
    return mcds_table_compare_and_set_start(table, key, expected, value, ttl_ms, MCDS__WAIT, 0);
}

int mcds_table_remove_start(mcds_table *table, mcds_bytes key, bool *changed_out,
                            mcds_pipeline *pipeline, uint64_t tag)
{
    struct mcds__keyed_command order = {
        .command = {.verb = MCDS__MAP_REMOVE, .element = key},
        .must_exist = true,
        .wants_code = changed_out != NULL,
        .take = mcds__keyed_take_changed,
        .out = changed_out,
    };
    return table_launch_change(table, &remove_kind, &order, 0, MCDS__START(pipeline, tag));
}

int mcds_table_remove(mcds_table *table, mcds_bytes key, bool *changed_out)
{
    return mcds_table_remove_start(table, key, changed_out, MCDS__WAIT, 0);
}

int mcds_table_incr_start(mcds_table *table, mcds_bytes key, int64_t delta, int64_t *value_out,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    struct mcds__keyed_command order = {
        .command = {.verb = MCDS__MAP_COUNT, .element = key, .delta = delta},
        .wants_code = true,
        .take = take_incr,
        .out = value_out,
    };
    return table_launch_change(table, &incr_kind, &order, 0, MCDS__START(pipeline, tag));
}

int mcds_table_incr(mcds_table *table, mcds_bytes key, int64_t delta, int64_t *value_out)
{
    return mcds_table_incr_start(table, key, delta, value_out, MCDS__WAIT, 0);
}

struct table_scan {
    struct mcds__keyed_scan keyed;
    mcds_table_scan_cb visit;
    void *context;
};

static bool visit_entry(void *context, const struct mcds__map_entry *entry)
{
    struct table_scan *scan = context;
    return mcds__keyed_count_visit(&scan->keyed,
                                   scan->visit(scan->context, entry->element, entry->value));
}

static const struct mcds__operation_kind scan_kind = {
    "table", "scan", sizeof(struct table_scan), mcds__keyed_step_scan,
    mcds__keyed_release_scan};

int mcds_table_scan_start(mcds_table *table, mcds_table_cursor *cursor, uint64_t limit,
                          mcds_table_scan_cb visit, void *context, mcds_pipeline *pipeline,
                          uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = MCDS_OK;
    if (table == NULL || cursor == NULL || visit == NULL)
        return mcds__fail_missing("table", "scan", "a table, a cursor and a visitor");
    struct table_scan own;
    struct table_scan *scan = mcds__call_begin(&own.keyed.base, &scan_kind,
                                               &table->keyed.handle, start, &result);
    if (scan == NULL)
        return result;
    scan->visit = visit;
    scan->context = context;
    return mcds__keyed_launch_scan(&scan->keyed, &table->keyed, &cursor->position,
                                   &cursor->done, limit, visit_entry, start);
}

int mcds_table_scan(mcds_table *table, mcds_table_cursor *cursor, uint64_t limit,
                    mcds_table_scan_cb visit, void *context)
{
    return mcds_table_scan_start(table, cursor, limit, visit, context, MCDS__WAIT, 0);
}

int mcds_table_drop_start(mcds_table *table, mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds__keyed_launch_drop((struct mcds__keyed *)table, &drop_kind,
                                   MCDS__START(pipeline, tag));
}

int mcds_table_drop(mcds_table *table)
{
    return mcds_table_drop_start(table, MCDS__WAIT, 0);
}

int mcds_table_open(mcds_store *store, const char *name, const mcds_table_options *options,
                    mcds_table **table_out)
{
    mcds_table_options own;
    int result = mcds__read_options("table", store, name, table_out,
                                    MCDS__SIZED_mcds_table_options, options, &own);
    if (result != MCDS_OK)
        return result;
    struct mcds__keyed *keyed = mcds__keyed_open("table", store, name, MCDS__TAG_TABLE,
                                                 MCDS__KIND_TABLE, 0, other_forms);
    if (keyed == NULL)
        return MCDS_NO_MEMORY;
    *table_out = (mcds_table *)keyed;
    return MCDS_OK;
}

void mcds_table_close(mcds_table *table)
{
    mcds__handle_release((struct mcds__handle *)table);
}
