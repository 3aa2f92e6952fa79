/* Limit: a handle, its options, and the calls that both forms have. */
#include <assert.h>
#include <stdio.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/limit/limit.h"

#define DAY_MS (UINT64_C(24) * 3600 * 1000)
#define PER_MS_MAX (366 * DAY_MS)
#define PATIENCE_MS_MAX (49 * DAY_MS) /* so many whole days fit into 32 bits */
#define WINDOW_MS_MIN 1000
#define REMEMBER_MS_MAX 60000

static const mcds_reason *const other_forms[] = {
    MCDS__WHY(UNKNOWN_FORM),
    MCDS__WHY(UNKNOWN_FORM),
    MCDS__WHY(UNKNOWN_FORM),
    MCDS__WHY(UNKNOWN_FORM),
};

static void release_drop(struct mcds__operation *operation)
{
    struct mcds__map *map = ((struct mcds__keyed_drop *)operation)->scan.map;
    mcds_limit *limit = (mcds_limit *)((char *)map - offsetof(mcds_limit, keyed.map));
    mcds__remembered_clear(limit->remembered);
    mcds__keyed_release_drop(operation);
}

static const struct mcds__operation_kind drop_kind = {
    "limit", "drop", sizeof(struct mcds__keyed_drop), mcds__keyed_step_drop, release_drop};

/* A number that has no default, and its range. */
static int check_number(const char *name, const char *option, uint64_t number, uint64_t min,
                        uint64_t max)
{
    assert(min >= 1);
    if (number >= min && number <= max)
        return MCDS_OK;
    return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "limit", .name = name,
                      .option = option, .wanted_min = (int64_t)min, .wanted_max = (int64_t)max,
                      MCDS__FOUND(number));
}

static int limit_set_rate(mcds_limit *limit, const char *name, const mcds_rate *rate)
{
    uint64_t burst = rate->burst > 0 ? rate->burst : rate->count;
    bool is_window = limit->form == MCDS_LIMIT_WINDOW;
    int result = check_number(name, "per_ms", rate->per_ms, is_window ? WINDOW_MS_MIN : 1,
                              PER_MS_MAX);
    if (result == MCDS_OK)
        result = check_number(name, "count", rate->count, 1, rate->per_ms * NS_PER_MS);
    if (result != MCDS_OK)
        return result;
    uint64_t interval = (rate->per_ms * NS_PER_MS + rate->count - 1) / rate->count;
    const struct mcds__given given = {MCDS_CAUSE_OUT_OF_RANGE, "burst", rate->burst,
                                      is_window ? rate->count : 1,
                                      is_window ? rate->count : MCDS__TAKE_NS_MAX / interval};
    result = mcds__check_given("limit", name, NULL, &given, 1);
    if (result != MCDS_OK)
        return result;
    assert(interval >= 1 && burst <= MCDS__TAKE_NS_MAX);
    limit->rates[limit->rate_count++] = (struct mcds__take_rate){interval, burst * interval};
    if (limit->rate_count == 1 || burst < limit->burst_min)
        limit->burst_min = burst;
    limit->count = rate->count;
    limit->width_ms = (rate->per_ms + MCDS__LIMIT_SLOTS - 1) / MCDS__LIMIT_SLOTS;
    return MCDS_OK;
}

static int limit_set_options(mcds_limit *limit, const char *name,
                             const mcds_limit_options *options)
{
    bool is_window = options->form == MCDS_LIMIT_WINDOW;
    if (options->form < MCDS_LIMIT_BUCKET || options->form > MCDS_LIMIT_WINDOW)
        return mcds__fail(MCDS_INVALID, UNKNOWN_VALUE, .noun = "limit", .name = name,
                          .option = "form", .wanted_max = MCDS_LIMIT_WINDOW,
                          .found_number = (int)options->form);
    limit->form = options->form;
    const struct mcds__given given[] = {
        {MCDS_CAUSE_OUT_OF_RANGE, "remember_ms", options->remember_ms, 0, REMEMBER_MS_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "rate_count", options->rate_count, 1, MCDS_LIMIT_RATES_MAX}};
    int result = mcds__check_given("limit", name, NULL, given, is_window ? 1 : 2);
    if (result == MCDS_OK && is_window)
        result = check_number(name, "rate_count", options->rate_count, 1, 1);
    for (uint32_t i = 0; result == MCDS_OK && i < options->rate_count; i++)
        result = limit_set_rate(limit, name, &options->rates[i]);
    return result;
}

static int limit_check(const mcds_limit *limit, const struct mcds__operation_kind *kind,
                       mcds_bytes identity)
{
    if (limit == NULL)
        return mcds__fail_missing("limit", kind->verb, "a limit");
    if (limit->rate_count == 0)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                          MCDS__CALL(kind, limit->keyed.handle.name), .wanted = "a rate",
                          .option = "rates");
    return mcds__check_bytes(kind, limit->keyed.handle.name, "identity", identity);
}

static int check_tokens(const mcds_limit *limit, const struct mcds__operation_kind *kind,
                        uint64_t n, uint64_t patience_ms)
{
    assert(limit->burst_min >= 1);
    if (n == 0 || n > limit->burst_min)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE,
                          MCDS__CALL(kind, limit->keyed.handle.name), .option = "n",
                          .wanted_min = 1, .wanted_max = (int64_t)limit->burst_min,
                          MCDS__FOUND(n));
    if (limit->form == MCDS_LIMIT_WINDOW && patience_ms > 0)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE,
                          MCDS__CALL(kind, limit->keyed.handle.name), .option = "patience_ms",
                          .wanted = "0 for a limit of windows", MCDS__FOUND(patience_ms));
    const struct mcds__given patience = {MCDS_CAUSE_OUT_OF_RANGE, "patience_ms", patience_ms, 0,
                                         PATIENCE_MS_MAX};
    return mcds__check_given("limit", limit->keyed.handle.name, kind->verb, &patience, 1);
}

/* The slots of a window expire by themselves, and no key lists their identities. */
static int check_bucket(const mcds_limit *limit, const char *verb)
{
    if (limit->form == MCDS_LIMIT_BUCKET)
        return MCDS_OK;
    return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(ONLY_BUCKETS), .noun = "limit",
                          .name = limit->keyed.handle.name, .verb = verb);
}

/* A take that was refused a short time ago, and is refused again without a round trip. */
struct limit_refusal {
    struct mcds__operation base;
    mcds_limit_value *value_out;
    mcds_limit_value value;
};

static enum mcds__step step_refusal(struct mcds__operation *operation)
{
    const struct limit_refusal *call = (struct limit_refusal *)operation;
    if (call->value_out != NULL)
        mcds__sized_write(MCDS__SIZED_mcds_limit_value, call->value_out, &call->value);
    return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(LIMITED));
}

static const struct mcds__operation_kind refusal_kind = {
    "limit", "take", sizeof(struct limit_refusal), step_refusal, NULL};

/* False: the store must be asked. */
static bool refuse_from_memory(mcds_limit *limit, mcds_bytes identity, uint64_t n,
                               uint32_t patience_ms, mcds_limit_value *value_out,
                               const struct mcds__start *start, int *result_out)
{
    mcds_store *store = limit->keyed.handle.store;
    struct limit_refusal own;
    mcds_limit_value value;
    if (limit->remembered == NULL || mcds__store_check_process(store) != MCDS_OK ||
        !mcds__remembered_has(limit->remembered, identity, n, patience_ms, &value))
        return false;
    struct limit_refusal *call = mcds__call_begin(&own.base, &refusal_kind,
                                                  &limit->keyed.handle, start, result_out);
    if (call == NULL)
        return true;
    call->value_out = value_out;
    call->value = value;
    *result_out = mcds__call_launch(&call->base, start);
    return true;
}

int mcds_limit_take_start(mcds_limit *limit, mcds_bytes identity, uint64_t n,
                          uint32_t patience_ms, mcds_limit_value *value_out,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__operation_kind *kind = &mcds__limit_take_kind;
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = limit_check(limit, kind, identity);
    if (result == MCDS_OK)
        result = check_tokens(limit, kind, n, patience_ms);
    if (result == MCDS_OK && value_out != NULL)
        result = mcds__sized_check(MCDS__SIZED_mcds_limit_value, value_out);
    if (result != MCDS_OK ||
        refuse_from_memory(limit, identity, n, patience_ms, value_out, start, &result))
        return result;
    if (limit->form == MCDS_LIMIT_WINDOW)
        return mcds__limit_take_window(limit, identity, n, value_out, start);
    return mcds__limit_take_bucket(limit, kind, identity, (int64_t)n,
                                   (uint64_t)patience_ms * NS_PER_MS, value_out, start);
}

int mcds_limit_take(mcds_limit *limit, mcds_bytes identity, uint64_t n, uint32_t patience_ms,
                    mcds_limit_value *value_out)
{
    return mcds_limit_take_start(limit, identity, n, patience_ms, value_out, MCDS__WAIT, 0);
}

int mcds_limit_get_start(mcds_limit *limit, mcds_bytes identity, mcds_limit_value *value_out,
                         mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = limit_check(limit, &mcds__limit_get_kind, identity);
    if (result == MCDS_OK && value_out == NULL)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                          MCDS__CALL(&mcds__limit_get_kind, limit->keyed.handle.name),
                          .wanted = "a place for the value");
    if (result == MCDS_OK)
        result = mcds__sized_check(MCDS__SIZED_mcds_limit_value, value_out);
    if (result != MCDS_OK)
        return result;
    if (limit->form == MCDS_LIMIT_WINDOW)
        return mcds__limit_take_window(limit, identity, 0, value_out, start);
    return mcds__limit_get_bucket(limit, identity, value_out, start);
}

int mcds_limit_get(mcds_limit *limit, mcds_bytes identity, mcds_limit_value *value_out)
{
    return mcds_limit_get_start(limit, identity, value_out, MCDS__WAIT, 0);
}

int mcds_limit_give_start(mcds_limit *limit, mcds_bytes identity, uint64_t n,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__operation_kind *kind = &mcds__limit_give_kind;
    int result = limit_check(limit, kind, identity);
    if (result == MCDS_OK)
        result = check_bucket(limit, kind->verb);
    if (result == MCDS_OK)
        result = check_tokens(limit, kind, n, 0);
    if (result != MCDS_OK)
        return result;
    return mcds__limit_take_bucket(limit, kind, identity, -(int64_t)n, 0, NULL,
                                   MCDS__START(pipeline, tag));
}

int mcds_limit_give(mcds_limit *limit, mcds_bytes identity, uint64_t n)
{
    return mcds_limit_give_start(limit, identity, n, MCDS__WAIT, 0);
}

struct limit_scan {
    struct mcds__keyed_scan keyed;
    const mcds_limit *limit;
    mcds_limit_scan_cb visit;
    void *context;
};

/* Entries that cannot be read are no buckets. If the clock of one is far ahead, only full_ms is set. */
static bool visit_identity(void *context, const struct mcds__map_entry *entry)
{
    struct limit_scan *scan = context;
    struct mcds__take_entry state;
    mcds_limit_value value;
    int64_t ahead_ns;
    if (!mcds__take_read_entry(entry->value, &state))
        return true;
    (void)mcds__limit_see(scan->limit, &state, mcds__wall_ms(scan->keyed.base.env), &value,
                          &ahead_ns);
    value.size = sizeof value;
    return mcds__keyed_count_visit(&scan->keyed,
                                   scan->visit(scan->context, entry->element, &value));
}

static const struct mcds__operation_kind scan_kind = {
    "limit", "scan", sizeof(struct limit_scan), mcds__keyed_step_scan,
    mcds__keyed_release_scan};

int mcds_limit_scan_start(mcds_limit *limit, mcds_limit_cursor *cursor, uint64_t limit_count,
                          mcds_limit_scan_cb visit, void *context, mcds_pipeline *pipeline,
                          uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    if (limit == NULL || cursor == NULL || visit == NULL)
        return mcds__fail_missing("limit", "scan", "a limit, a cursor and a visitor");
    int result = check_bucket(limit, "scan");
    if (result == MCDS_OK)
        result = mcds__check_wall(&scan_kind, &limit->keyed.handle);
    if (result != MCDS_OK)
        return result;
    struct limit_scan own;
    struct limit_scan *scan = mcds__call_begin(&own.keyed.base, &scan_kind,
                                               &limit->keyed.handle, start, &result);
    if (scan == NULL)
        return result;
    scan->limit = limit;
    scan->visit = visit;
    scan->context = context;
    return mcds__keyed_launch_scan(&scan->keyed, &limit->keyed, &cursor->position,
                                   &cursor->done, limit_count, visit_identity, start);
}

int mcds_limit_scan(mcds_limit *limit, mcds_limit_cursor *cursor, uint64_t limit_count,
                    mcds_limit_scan_cb visit, void *context)
{
    return mcds_limit_scan_start(limit, cursor, limit_count, visit, context, MCDS__WAIT, 0);
}

int mcds_limit_drop_start(mcds_limit *limit, mcds_pipeline *pipeline, uint64_t tag)
{
    if (limit == NULL)
        return mcds__fail_missing("limit", "drop", "a limit");
    int result = check_bucket(limit, "drop");
    if (result != MCDS_OK)
        return result;
    return mcds__keyed_launch_drop(&limit->keyed, &drop_kind, MCDS__START(pipeline, tag));
}

int mcds_limit_drop(mcds_limit *limit)
{
    return mcds_limit_drop_start(limit, MCDS__WAIT, 0);
}

static void destroy_limit(struct mcds__handle *handle)
{
    mcds_limit *limit = (mcds_limit *)handle;
    mcds__remembered_destroy(limit->remembered);
    mcds__keyed_destroy(handle);
}

int mcds_limit_open(mcds_store *store, const char *name, const mcds_limit_options *options,
                    mcds_limit **limit_out)
{
    mcds_limit_options own;
    mcds_limit checked = {.rate_count = 0};
    struct mcds__key root;
    int result = mcds__read_options("limit", store, name, limit_out,
                                    MCDS__SIZED_mcds_limit_options, options, &own);
    if (result == MCDS_OK)
        result = limit_set_options(&checked, name, &own);
    if (result != MCDS_OK)
        return result;
    bool remembers = own.remember_ms > 0;
    size_t size = sizeof(mcds_limit) + (remembers ? sizeof(struct mcds__remembered) : 0);
    mcds_limit *limit = mcds__handle_open("limit", store, name, size, destroy_limit);
    if (limit == NULL)
        return MCDS_NO_MEMORY;
    limit->form = checked.form;
    limit->burst_min = checked.burst_min;
    limit->rate_count = checked.rate_count;
    limit->count = checked.count;
    limit->width_ms = checked.width_ms;
    memcpy(limit->rates, checked.rates, sizeof limit->rates);
    mcds__key_begin(&root, mcds__store_ns(store), MCDS__TAG_LIMIT, name);
    mcds__key_begin(&limit->slots, mcds__store_ns(store), MCDS__TAG_LIMIT_SLOT, name);
    mcds__key_begin(&limit->blocks, mcds__store_ns(store), MCDS__TAG_LIMIT_BLOCK, name);
    mcds__map_init(&limit->keyed.map, store, &root, MCDS__KIND_LIMIT, 0, other_forms, 0);
    limit->keyed.map.flat = MCDS__LIMIT_DEPTH;
    mcds__refusals_init(&limit->refusals, mcds__store_env(store));
    if (remembers) {
        limit->remembered = (struct mcds__remembered *)(void *)(limit + 1);
        mcds__remembered_init(limit->remembered, mcds__store_env(store), own.remember_ms);
    }
    *limit_out = limit;
    return MCDS_OK;
}

void mcds_limit_close(mcds_limit *limit)
{
    mcds__handle_release((struct mcds__handle *)limit);
}
