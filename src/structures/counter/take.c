/* Counter: read the value and set it to zero. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "structures/counter/counter.h"

/* Take sets every stripe that is not zero to zero by compare-and-set, so that only one of several
 * takers gets each part. It reads a stripe that changed meanwhile again, and retries.
 *
 * Each stripe is read twice in one batch, because a server may pair an old number with a new CAS
 * token (core/tally/tally.h). The requests that set it to zero overwrite the first reading. */
struct counter_take {
    struct mcds__operation base;
    mcds_counter *counter;
    int64_t *taken_out;
    int64_t taken;
    uint32_t seen;
    uint8_t stage;
    uint8_t read_stage;
    bool there;
    bool doubtful;  /* a compare-and-set went unanswered */
    bool unproven;  /* a stripe changed while it was read */
    uint32_t count; /* requests of the running compare-and-set */
    struct mcds__settings_check check;
    int64_t values[MCDS__STRIPES_MAX];
    mcds_request requests[2 * MCDS__STRIPES_MAX];
};

enum { TAKE_READING, TAKE_SETTING };

static const char zero_plain[] = "0";
static const char zero_signed[] = "4611686018427387904";

/* The second reading of stripe `i`. */
static const mcds_request *reading_of(const struct counter_take *take, uint32_t i)
{
    assert(i < take->counter->stripes);
    return &take->requests[take->counter->stripes + i];
}

static mcds_request set_zero_request(const struct counter_take *take, uint32_t i,
                                     enum mcds__counter_form form)
{
    assert(form == FORM_PLAIN || form == FORM_SIGNED);
    const mcds_reply *reply = &reading_of(take, i)->reply;
    const char *zero = form == FORM_SIGNED ? zero_signed : zero_plain;
    uint64_t ttl_ms = take->counter->ttl_ms;
    if (reply->ttl_ms != MCDS_TTL_UNKNOWN)
        ttl_ms = reply->ttl_ms > 0 ? (uint64_t)reply->ttl_ms : 0;
    return (mcds_request){
        .command = MCDS_CAS,
        .flags = reply->flags,
        .ttl_ms = ttl_ms,
        .key = mcds__key_bytes(&take->counter->keys[i]),
        .value = {zero, strlen(zero)},
        .cas = reply->cas,
    };
}

static enum mcds__step end_take(struct counter_take *take)
{
    struct mcds__operation *operation = &take->base;
    if (!take->there)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    *take->taken_out = take->taken;
    return mcds__operation_finish(operation, take->doubtful ? MCDS_AMBIGUOUS : MCDS_OK);
}

/* Reads all stripes again after a pause. */
static enum mcds__step counter_take_read_again(struct counter_take *take,
                                               const mcds_reply *unsent)
{
    struct mcds__operation *operation = &take->base;
    take->stage = TAKE_READING;
    take->read_stage = 0;
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    if (unsent != NULL)
        return mcds__operation_fail(operation, unsent);
    return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(OTHERS_KEPT_CHANGING));
}

/* Sets to zero each stripe in which the read found a number; when there is none, the take ends. */
static enum mcds__step ask_sets(struct counter_take *take)
{
    struct mcds__operation *operation = &take->base;
    int64_t most = 0; /* largest magnitude of the sum of the parts */
    take->count = 0;
    take->unproven = false;
    for (uint32_t i = 0; i < take->counter->stripes; i++) {
        struct mcds__stripe stripe;
        const mcds_request *reading = reading_of(take, i);
        if (!mcds__tally_is_proven(&operation->batch, &take->requests[i], reading)) {
            take->unproven = true;
            continue;
        }
        int result = mcds__counter_stripe(take->counter, operation, reading, i, take->seen,
                                          &stripe);
        if (result != MCDS_OK)
            return mcds__counter_refuse(operation, result);
        if (stripe.reborn && mcds__counter_is_strict(take->counter))
            return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(COUNTER_LOST));
        take->there = take->there || stripe.there;
        if (!stripe.there || stripe.value == 0)
            continue;
        most += stripe.value > 0 ? stripe.value : -stripe.value;
        if (most >= MCDS_COUNTER_MAX)
            return mcds__operation_finish(operation, MCDS_OVERFLOW);
        assert(take->count <= i);
        take->values[take->count] = stripe.value;
        take->requests[take->count++] = set_zero_request(take, i, stripe.form);
    }
    if (take->count == 0)
        return take->unproven ? counter_take_read_again(take, NULL) : end_take(take);
    operation->connection = take->requests[0].cas.connection;
    take->stage = TAKE_SETTING;
    return mcds__operation_ask_any_order(operation, take->requests, take->count);
}

static enum mcds__step take_sets(struct counter_take *take)
{
    assert(take->count > 0 && take->count <= take->counter->stripes);
    struct mcds__operation *operation = &take->base;
    const mcds_reply *refusal = NULL;
    const mcds_reply *unsent = NULL;
    bool contended = take->unproven;
    for (uint32_t i = 0; i < take->count; i++) {
        const mcds_reply *reply = &take->requests[i].reply;
        switch (reply->outcome) {
        case MCDS_OUT_UNKNOWN:
            take->doubtful = true;
            operation->peer = reply->peer;
            operation->detail = reply->detail;
            take->taken += take->values[i];
            break;
        case MCDS_OUT_OK:
            take->taken += take->values[i];
            break;
        case MCDS_OUT_EXISTS:
        case MCDS_OUT_MISS:
            contended = true;
            break;
        case MCDS_OUT_UNSENT:
            unsent = reply;
            break;
        default:
            refusal = reply;
        }
    }
    if (take->doubtful || take->taken != 0)
        return end_take(take);
    if (refusal != NULL)
        return mcds__operation_fail(operation, refusal);
    if (!contended && unsent == NULL)
        return end_take(take);
    return counter_take_read_again(take, unsent);
}

static enum mcds__step step_take(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct counter_take *take = (struct counter_take *)operation;
    if (!mcds__settings_check_step(&take->check, operation, &step))
        return step;
    assert(take->stage <= TAKE_SETTING);
    if (take->stage == TAKE_SETTING)
        return take_sets(take);
    step = mcds__tally_read_twice_step(take->requests, take->counter->keys,
                                       take->counter->stripes, MCDS_WANT_TTL | MCDS_NEEDS_CAS,
                                       &take->read_stage, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    return ask_sets(take);
}

static const struct mcds__operation_kind take_kind = {
    "counter", "take", sizeof(struct counter_take), step_take, NULL};

int mcds_counter_take_start(mcds_counter *counter, int64_t *taken_out, mcds_pipeline *pipeline,
                            uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = mcds__counter_check(counter, taken_out, "take");
    if (result != MCDS_OK)
        return result;
    if (counter->replica != NULL)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(TAKE_OF_EXACT),
                              MCDS__CALL(&take_kind, counter->handle.name));
    struct counter_take own;
    struct counter_take *take = mcds__call_begin_zero(&own.base, &take_kind, &counter->handle,
                                                      start, &result);
    if (take == NULL)
        return result;
    mcds__settings_check_begin(&take->check, &counter->settings, false, &take->base);
    take->counter = counter;
    take->taken_out = taken_out;
    take->seen = mcds__counter_seen(counter);
    return mcds__call_launch(&take->base, start);
}

int mcds_counter_take(mcds_counter *counter, int64_t *taken_out)
{
    return mcds_counter_take_start(counter, taken_out, MCDS__WAIT, 0);
}
