/* Limit, form BUCKET: an entry of a flat map for each identity in debt (core/map/bucket/take.h). */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/limit/limit.h"

struct limit_take {
    struct mcds__operation base;
    const mcds_limit *limit;
    mcds_limit_value *value_out;
    bool has_begun;
    struct mcds__map_update update;
};

struct limit_get {
    struct mcds__operation base;
    const mcds_limit *limit;
    mcds_limit_value *value_out;
    struct mcds__map_get get;
};

static void copy_rates(const mcds_limit *limit, struct mcds__take *take)
{
    assert(limit->rate_count >= 1);
    take->rate_count = limit->rate_count;
    memcpy(take->rates, limit->rates, sizeof take->rates);
}

/* The latest time at which all rates are full: the longest burst from now. */
static int64_t latest_full_ns(const mcds_limit *limit)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < limit->rate_count; i++)
        if (limit->rates[i].burst_ns > longest)
            longest = limit->rates[i].burst_ns;
    return (int64_t)longest;
}

int mcds__limit_see(const mcds_limit *limit, const struct mcds__take_entry *entry,
                    int64_t own_ms, mcds_limit_value *value_out)
{
    struct mcds__take_entry after = *entry;
    struct mcds__take one = {.tokens = 1};
    int64_t number = 0;
    *value_out = (mcds_limit_value){
        .full_ms = mcds__limit_ms(mcds__take_full_ns(entry) - own_ms * NS_PER_MS)};
    if (limit->rate_count == 0)
        return MCDS_OK;
    if (!mcds__take_is_time(own_ms))
        return MCDS_TOO_OLD;
    assert(limit->rate_count <= MCDS_LIMIT_RATES_MAX);
    copy_rates(limit, &one);
    switch (mcds__take_decide(&one, own_ms, &after, &number)) {
    case MCDS__MAP_CHANGED:
        value_out->remaining = (uint64_t)number + 1;
        return MCDS_OK;
    case MCDS__MAP_REFUSED:
        value_out->retry_ms = mcds__limit_ms(number);
        return MCDS_OK;
    default:
        return MCDS_TOO_OLD;
    }
}

static void take_value(const struct limit_take *call)
{
    const struct mcds__map_update *update = &call->update;
    mcds_limit_value value = {0};
    mcds_limit_value seen;
    struct mcds__take_entry entry;
    int64_t number = update->number;
    assert(update->code == MCDS__MAP_CHANGED || update->code == MCDS__MAP_REFUSED);
    if (call->value_out == NULL)
        return;
    if (update->code == MCDS__MAP_REFUSED) {
        value.retry_ms = mcds__limit_ms(number);
    } else if (number < 0) {
        value.delay_ms = mcds__limit_ms(-number);
    } else {
        value.remaining = (uint64_t)number;
    }
    mcds_bytes bytes = {update->entry, update->entry_length};
    int64_t full_ns = latest_full_ns(call->limit) - (number < 0 ? number : 0);
    value.full_ms = mcds__limit_ms(full_ns);
    if (mcds__take_read_entry(bytes, &entry) &&
        mcds__limit_see(call->limit, &entry, update->time_ms, &seen) == MCDS_OK) {
        value.full_ms = seen.full_ms;
        value.remaining = seen.remaining;
    }
    mcds__sized_write(MCDS__SIZED_mcds_limit_value, call->value_out, &value);
}

static enum mcds__step limit_step_take(struct mcds__operation *operation)
{
    struct limit_take *call = (struct limit_take *)operation;
    if (!call->has_begun && !mcds__take_is_time(mcds__wall_ms(operation->env)))
        return mcds__operation_finish(operation, MCDS_TOO_OLD);
    call->has_begun = true;
    enum mcds__step step = mcds__map_update_step(&call->update, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_NOT_FOUND && call->update.must_exist)
        return mcds__operation_finish(operation, MCDS_OK); /* all buckets are full */
    if (operation->result != MCDS_OK)
        return step;
    assert(call->update.wants_code);
    switch (call->update.code) {
    case MCDS__MAP_CHANGED:
        take_value(call);
        return step;
    case MCDS__MAP_REFUSED:
        take_value(call);
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(LIMITED));
    case MCDS__MAP_TOO_OLD:
        return mcds__operation_finish(operation, MCDS_TOO_OLD);
    case MCDS__MAP_ABSENT:
        return step;
    default:
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    }
}

static void release_take(struct mcds__operation *operation)
{
    mcds__map_update_free(&((struct limit_take *)operation)->update);
}

const struct mcds__operation_kind mcds__limit_take_kind = {
    "limit", "take", sizeof(struct limit_take), limit_step_take, release_take};
const struct mcds__operation_kind mcds__limit_give_kind = {
    "limit", "give", sizeof(struct limit_take), limit_step_take, release_take};

int mcds__limit_take_bucket(mcds_limit *limit, const struct mcds__operation_kind *kind,
                            mcds_bytes identity, int64_t tokens, uint64_t patience_ns,
                            mcds_limit_value *value_out, const struct mcds__start *start)
{
    struct mcds__take take = {.tokens = tokens, .patience_ns = patience_ns};
    uint8_t part[MCDS__TAKE_PART_MAX];
    struct limit_take own;
    int result = mcds__check_cas(kind, &limit->keyed.handle, MCDS__WHY(GROWTH_WITHOUT_CAS));
    if (result != MCDS_OK)
        return result;
    struct limit_take *call = mcds__call_begin(&own.base, kind, &limit->keyed.handle, start,
                                               &result);
    if (call == NULL)
        return result;
    copy_rates(limit, &take);
    call->limit = limit;
    call->value_out = value_out;
    call->has_begun = false;
    const struct mcds__map_command command = {
        .verb = MCDS__MAP_TAKE,
        .element = identity,
        .value = {part, mcds__take_write(&take, part)},
        .delta = tokens,
    };
    if (!mcds__map_update_begin(&call->update, &limit->keyed.map, &command)) {
        mcds__call_forget(start, call);
        return mcds__fail_memory("limit", limit->keyed.handle.name, kind->verb);
    }
    call->update.must_exist = tokens < 0;
    call->update.wants_code = true;
    call->update.wants_entry = value_out != NULL;
    return mcds__call_launch(&call->base, start);
}

static enum mcds__step step_get(struct mcds__operation *operation)
{
    struct limit_get *call = (struct limit_get *)operation;
    enum mcds__step step = mcds__map_get_step(&call->get, operation);
    struct mcds__take_entry entry = {0};
    mcds_limit_value value;
    if (step != MCDS__DONE ||
        (operation->result != MCDS_OK && operation->result != MCDS_NOT_FOUND))
        return step;
    if (operation->result == MCDS_OK && !mcds__take_read_entry(call->get.value, &entry))
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    int result = mcds__limit_see(call->limit, &entry, mcds__wall_ms(operation->env), &value);
    if (result == MCDS_OK)
        mcds__sized_write(MCDS__SIZED_mcds_limit_value, call->value_out, &value);
    return mcds__operation_finish(operation, result);
}

static void release_get(struct mcds__operation *operation)
{
    mcds__map_get_free(&((struct limit_get *)operation)->get);
}

const struct mcds__operation_kind mcds__limit_get_kind = {
    "limit", "get", sizeof(struct limit_get), step_get, release_get};

int mcds__limit_get_bucket(mcds_limit *limit, mcds_bytes identity, mcds_limit_value *value_out,
                           const struct mcds__start *start)
{
    int result = MCDS_OK;
    struct limit_get own;
    struct limit_get *call = mcds__call_begin(&own.base, &mcds__limit_get_kind,
                                              &limit->keyed.handle, start, &result);
    if (call == NULL)
        return result;
    call->limit = limit;
    call->value_out = value_out;
    if (!mcds__map_get_begin(&call->get, &limit->keyed.map, identity)) {
        mcds__call_forget(start, call);
        return mcds__fail_memory("limit", limit->keyed.handle.name, "get");
    }
    return mcds__call_launch(&call->base, start);
}
