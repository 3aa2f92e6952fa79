/* Limit, form BUCKET: an entry of a flat map for each identity in debt (core/map/bucket/take.h). */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/hash/hash.h"
#include "structures/limit/limit.h"

/* After so many losses or drops during one call, it does not begin again. */
#define LIVES_MAX 3
enum { TAKE_BEGIN, TAKE_READING, TAKE_APPENDING };

struct limit_take {
    struct mcds__operation base;
    mcds_limit *limit;
    mcds_limit_value *value_out;
    struct mcds__take take;
    uint8_t stage;
    uint8_t lives;    /* that were over when it had appended to them */
    bool reads;       /* it reads before it appends: `get` has the identity */
    bool appends;     /* `update` has begun */
    bool is_known;    /* `entry` comes from the memo */
    uint64_t changes; /* of the handle, when it began */
    uint64_t digest;  /* of the value of the key that was read */
    struct mcds__take_entry entry;
    struct mcds__map_get get;
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

/* NEXT: a take may be decided at this time of this machine's clock. */
static enum mcds__step check_clock(struct mcds__operation *operation, int64_t own_ms)
{
    if (own_ms > 0 && mcds__take_is_time(own_ms))
        return MCDS__NEXT;
    return own_ms <= 0
               ? mcds__operation_explain(operation, MCDS_TOO_OLD, MCDS__WHY(CLOCK_BEFORE_1970))
               : mcds__operation_explain(operation, MCDS_TOO_FUTURE,
                                         MCDS__WHY(CLOCK_AFTER_2190));
}

static enum mcds__step fail_slow(struct mcds__operation *operation, int64_t ahead_ns)
{
    return mcds__operation_mistime(operation, MCDS_TOO_OLD, MCDS__WHY(CLOCK_BEFORE_TAKE),
                                   ahead_ns / NS_PER_MS, MCDS__TAKE_BEHIND_MS);
}

bool mcds__limit_see(const mcds_limit *limit, const struct mcds__take_entry *entry,
                     int64_t own_ms, mcds_limit_value *value_out, int64_t *ahead_ns_out)
{
    struct mcds__take_entry after = *entry;
    struct mcds__take one = {.tokens = 1};
    int64_t number = 0;
    *value_out = (mcds_limit_value){
        .full_ms = mcds__limit_ms(mcds__take_full_ns(entry) - own_ms * NS_PER_MS)};
    if (limit->rate_count == 0)
        return true;
    *ahead_ns_out = 0;
    if (!mcds__take_is_time(own_ms))
        return false;
    assert(limit->rate_count <= MCDS_LIMIT_RATES_MAX);
    copy_rates(limit, &one);
    switch (mcds__take_decide(&one, own_ms, &after, &number)) {
    case MCDS__MAP_CHANGED:
        value_out->remaining = (uint64_t)number + 1;
        return true;
    case MCDS__MAP_REFUSED:
        value_out->retry_ms = mcds__limit_ms(number);
        return true;
    default:
        *ahead_ns_out = number;
        return false;
    }
}

/* How a take ended, at the time own_ms of the caller's clock. `entry` is the entry of the identity
 * after the take, or NULL if it was not read. */
struct limit_outcome {
    enum mcds__map_code code;
    int64_t number;
    int64_t own_ms;
    const struct mcds__take_entry *entry;
};

static mcds_limit_value take_value(const struct limit_take *call,
                                   const struct limit_outcome *outcome)
{
    mcds_limit_value value = {0};
    mcds_limit_value seen;
    int64_t number = outcome->number, ahead_ns;
    assert(outcome->code == MCDS__MAP_CHANGED || outcome->code == MCDS__MAP_REFUSED);
    if (outcome->code == MCDS__MAP_REFUSED) {
        value.retry_ms = mcds__limit_ms(number);
    } else if (number < 0) {
        value.delay_ms = mcds__limit_ms(-number);
    } else {
        value.remaining = (uint64_t)number;
    }
    int64_t full_ns = latest_full_ns(call->limit) - (number < 0 ? number : 0);
    value.full_ms = mcds__limit_ms(full_ns);
    if (outcome->entry != NULL &&
        mcds__limit_see(call->limit, outcome->entry, outcome->own_ms, &seen, &ahead_ns)) {
        value.full_ms = seen.full_ms;
        value.remaining = seen.remaining;
    }
    return value;
}

static void give_value(const struct limit_take *call, const struct limit_outcome *outcome)
{
    if (call->value_out == NULL)
        return;
    const mcds_limit_value value = take_value(call, outcome);
    mcds__sized_write(MCDS__SIZED_mcds_limit_value, call->value_out, &value);
}

static void note_refusal(struct limit_take *call, mcds_bytes identity,
                         const struct limit_outcome *outcome)
{
    const struct mcds__take *take = &call->take;
    mcds__refusals_note(&call->limit->refusals, identity,
                        outcome->own_ms + (int64_t)mcds__limit_ms(outcome->number),
                        !call->appends);
    if (call->limit->remembered == NULL) /* no value is computed in vain */
        return;
    const struct mcds__refusal refusal = {.tokens = (uint64_t)take->tokens,
                                          .patience_ms = take->patience_ns / NS_PER_MS,
                                          .own_ms = outcome->own_ms,
                                          .asked_ns = call->base.sent_ns,
                                          .changes = call->changes,
                                          .value = take_value(call, outcome)};
    mcds__remembered_note(call->limit->remembered, identity, &refusal);
}

static enum mcds__step take_outcome(struct limit_take *call, mcds_bytes identity,
                                    const struct limit_outcome *outcome)
{
    struct mcds__operation *operation = &call->base;
    switch (outcome->code) {
    case MCDS__MAP_CHANGED:
        give_value(call, outcome);
        mcds__refusals_forget(&call->limit->refusals, identity);
        mcds__remembered_forget(call->limit->remembered, identity);
        return mcds__operation_finish(operation, MCDS_OK);
    case MCDS__MAP_REFUSED:
        give_value(call, outcome);
        note_refusal(call, identity, outcome);
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(LIMITED));
    case MCDS__MAP_TOO_OLD:
        return fail_slow(operation, outcome->number);
    case MCDS__MAP_ABSENT:
        return mcds__operation_finish(operation, MCDS_OK);
    default:
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    }
}

static bool take_begin_append(struct limit_take *call, mcds_bytes identity)
{
    uint8_t part[MCDS__TAKE_PART_MAX];
    const struct mcds__map_command command = {
        .verb = MCDS__MAP_TAKE,
        .element = identity,
        .value = {part, mcds__take_write(&call->take, part)},
        .delta = call->take.tokens,
    };
    assert(!call->appends);
    if (!mcds__map_update_begin(&call->update, &call->limit->keyed.map, &command))
        return false;
    call->update.must_exist = call->take.tokens < 0;
    call->update.wants_code = true;
    call->update.has_rivals = true;
    call->update.wants_entry = call->value_out != NULL || call->limit->remembered != NULL;
    call->appends = true;
    return true;
}

static enum mcds__step step_append(struct limit_take *call);

/* The store has lost the limit, or another client has dropped it, so all buckets are full. Tokens are
 * taken from the limit that is there now; there is nothing to give back to. */
static enum mcds__step take_from_next_life(struct limit_take *call)
{
    struct mcds__operation *operation = &call->base;
    uint8_t identity[MCDS__NAME_GIVEN_MAX];
    size_t length = call->update.element.length;
    if (call->take.tokens < 0)
        return mcds__operation_finish(operation, MCDS_OK);
    if (call->lives++ == LIVES_MAX)
        return MCDS__DONE;
    assert(length > 0 && length <= sizeof identity);
    memcpy(identity, call->update.element.data, length);
    mcds__map_update_free(&call->update);
    call->appends = false;
    if (!take_begin_append(call, (mcds_bytes){identity, length}))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    return step_append(call);
}

static enum mcds__step step_append(struct limit_take *call)
{
    struct mcds__operation *operation = &call->base;
    const struct mcds__map_update *update = &call->update;
    struct mcds__take_entry entry;
    call->stage = TAKE_APPENDING;
    enum mcds__step step = mcds__map_update_step(&call->update, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_NOT_FOUND && update->must_exist)
        return mcds__operation_finish(operation, MCDS_OK); /* all buckets are full */
    if (operation->result == MCDS_AMBIGUOUS && !update->is_late &&
        operation->detail == MCDS__WHY(DROPPED_MEANWHILE))
        return take_from_next_life(call);
    if (operation->result != MCDS_OK)
        return step;
    assert(update->wants_code);
    mcds_bytes bytes = {update->entry, update->entry_length};
    const struct limit_outcome outcome = {
        .code = update->code,
        .number = update->number,
        .own_ms = update->time_ms,
        .entry = mcds__take_read_entry(bytes, &entry) ? &entry : NULL,
    };
    return take_outcome(call, update->element, &outcome);
}

static bool knows_entry(struct mcds__map_get *get, mcds_bytes key_value)
{
    struct limit_take *call = (struct limit_take *)((char *)get -
                                                    offsetof(struct limit_take, get));
    call->digest = mcds__hash(get->hash, key_value);
    call->is_known = mcds__memo_recall(&call->limit->memo, get->hash, call->digest,
                                       &call->entry);
    return call->is_known;
}

/* Puts the bucket that was read into `entry`. */
static int take_read_state(struct limit_take *call, int result)
{
    if (result == MCDS_NOT_FOUND)
        call->entry.rate_count = 0;
    if (result == MCDS_NOT_FOUND || call->is_known)
        return MCDS_OK;
    if (!mcds__take_read_entry(call->get.value, &call->entry))
        return MCDS_CORRUPT;
    mcds__memo_keep(&call->limit->memo, call->get.hash, call->digest, &call->entry);
    return MCDS_OK;
}

/* If the bucket that was read refuses the take, the take ends and writes nothing. If it lets the
 * take pass, the take is appended, and the bucket at that time decides. */
static enum mcds__step step_read(struct limit_take *call)
{
    struct mcds__operation *operation = &call->base;
    struct limit_outcome outcome = {.entry = &call->entry};
    call->stage = TAKE_READING;
    enum mcds__step step = mcds__map_get_step(&call->get, operation);
    if (step != MCDS__DONE ||
        (operation->result != MCDS_OK && operation->result != MCDS_NOT_FOUND))
        return step;
    int result = take_read_state(call, operation->result);
    outcome.own_ms = mcds__wall_ms(operation->env);
    if (result != MCDS_OK)
        return mcds__operation_finish(operation, result);
    if ((step = check_clock(operation, outcome.own_ms)) != MCDS__NEXT)
        return step;
    mcds_bytes identity = call->get.place.element;
    struct mcds__take_entry after = call->entry;
    outcome.code = mcds__take_decide(&call->take, outcome.own_ms, &after, &outcome.number);
    if (outcome.code != MCDS__MAP_CHANGED)
        return take_outcome(call, identity, &outcome);
    if (!take_begin_append(call, identity))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    return step_append(call);
}

static enum mcds__step limit_step_take(struct mcds__operation *operation)
{
    struct limit_take *call = (struct limit_take *)operation;
    enum mcds__step step;
    assert(call->reads || call->appends);
    switch (call->stage) {
    case TAKE_BEGIN:
        if ((step = check_clock(operation, mcds__wall_ms(operation->env))) != MCDS__NEXT)
            return step;
        return call->reads ? step_read(call) : step_append(call);
    case TAKE_READING:
        return step_read(call);
    default:
        return step_append(call);
    }
}

static void release_take(struct mcds__operation *operation)
{
    struct limit_take *call = (struct limit_take *)operation;
    if (call->take.tokens < 0 && call->appends)
        mcds__remembered_forget(call->limit->remembered, call->update.element);
    if (call->appends)
        mcds__map_update_free(&call->update);
    if (call->reads)
        mcds__map_get_free(&call->get);
}

const struct mcds__operation_kind mcds__limit_take_kind = {
    "limit", "take", sizeof(struct limit_take), limit_step_take, release_take};
const struct mcds__operation_kind mcds__limit_give_kind = {
    "limit", "give", sizeof(struct limit_take), limit_step_take, release_take};

int mcds__limit_take_bucket(mcds_limit *limit, const struct mcds__operation_kind *kind,
                            mcds_bytes identity, int64_t tokens, uint64_t patience_ns,
                            mcds_limit_value *value_out, const struct mcds__start *start)
{
    struct limit_take own;
    int result = mcds__check_cas(kind, &limit->keyed.handle, MCDS__WHY(GROWTH_WITHOUT_CAS));
    if (result != MCDS_OK)
        return result;
    struct limit_take *call = mcds__call_begin(&own.base, kind, &limit->keyed.handle, start,
                                               &result);
    if (call == NULL)
        return result;
    call->limit = limit;
    call->value_out = value_out;
    call->take = (struct mcds__take){.tokens = tokens, .patience_ns = patience_ns};
    copy_rates(limit, &call->take);
    call->stage = TAKE_BEGIN;
    call->lives = 0;
    call->changes = mcds__remembered_changes(limit->remembered);
    call->appends = false;
    call->is_known = false;
    call->reads = tokens > 0 &&
                  mcds__refusals_has(&limit->refusals, identity, mcds__wall_ms(call->base.env));
    bool has_begun = call->reads ? mcds__map_get_begin(&call->get, &limit->keyed.map, identity)
                                 : take_begin_append(call, identity);
    call->get.knows = knows_entry;
    if (has_begun)
        return mcds__call_launch(&call->base, start);
    mcds__call_forget(start, call);
    return mcds__fail_memory("limit", limit->keyed.handle.name, kind->verb);
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
    int64_t own_ms = mcds__wall_ms(operation->env), ahead_ns;
    if ((step = check_clock(operation, own_ms)) != MCDS__NEXT)
        return step;
    if (!mcds__limit_see(call->limit, &entry, own_ms, &value, &ahead_ns))
        return fail_slow(operation, ahead_ns);
    mcds__sized_write(MCDS__SIZED_mcds_limit_value, call->value_out, &value);
    return mcds__operation_finish(operation, MCDS_OK);
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
