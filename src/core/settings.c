/* Core settings: what a structure was made with. */
#include "core/settings.h"

#include <stdatomic.h>

#include "base/environment.h"

/* How many lives of the other keys the settings have, at least two of them ahead. */
#define LIVES 3

enum { AGREE_BEGIN, AGREE_LOOKING, AGREE_KEEPING };

void mcds__settings_init(struct mcds__settings *settings, const mcds_env *env,
                         enum mcds__descriptor_kind kind, const struct mcds__key *key,
                         const struct mcds__setting *list, uint32_t count, uint64_t data_ttl_ms)
{
    struct mcds__descriptor descriptor;
    settings->key = *key;
    settings->kind = kind;
    settings->count = count;
    settings->ttl_ms = LIVES * data_ttl_ms;
    settings->foreign = NULL;
    atomic_init(&settings->seen_till_ns, count > 0 ? 0 : INT64_MAX);
    atomic_init(&settings->kept_till_ns, count > 0 ? 0 : INT64_MAX);
    if (count == 0)
        return;
    mcds__descriptor_draw(&descriptor, env, kind, 0, false);
    for (uint32_t i = 0; i < count; i++) {
        settings->list[i] = list[i];
        descriptor.settings[i] = list[i].number;
    }
    descriptor.count = (uint8_t)count;
    settings->flags = mcds__descriptor_flags(descriptor.life);
    settings->frame_length = mcds__descriptor_seal(&descriptor, mcds__key_bytes(&settings->key),
                                                   settings->frame);
}

void mcds__settings_forget(struct mcds__settings *settings)
{
    if (settings->count == 0)
        return;
    atomic_store_explicit(&settings->seen_till_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&settings->kept_till_ns, 0, memory_order_relaxed);
}

void mcds__agree_begin(struct mcds__agree *agree, struct mcds__settings *settings, bool makes,
                       const struct mcds__operation *operation)
{
    int64_t till_ns = atomic_load_explicit(
        makes ? &settings->kept_till_ns : &settings->seen_till_ns, memory_order_relaxed);
    agree->is_done = till_ns == INT64_MAX ||
                     (till_ns > 0 && mcds__monotonic_ns(operation->env) < till_ns);
    if (agree->is_done)
        return;
    agree->settings = settings;
    agree->makes = makes;
    agree->may_lack = false;
    agree->stage = AGREE_BEGIN;
}

static enum mcds__step ask(struct mcds__agree *agree, struct mcds__operation *operation,
                           uint8_t stage)
{
    const struct mcds__settings *settings = agree->settings;
    mcds_request request = {
        .key = mcds__key_bytes(&settings->key),
        .ttl_ms = settings->ttl_ms,
        .value = {settings->frame, settings->frame_length},
    };
    agree->count = 0;
    agree->stage = stage;
    if (stage == AGREE_LOOKING && agree->makes) {
        request.command = MCDS_ADD;
        request.flags = settings->flags;
        agree->requests[agree->count++] = request;
    }
    request.command = stage == AGREE_LOOKING ? MCDS_GET : MCDS_TOUCH;
    request.options = stage == AGREE_LOOKING && agree->makes ? MCDS_WANT_TTL : 0;
    agree->requests[agree->count++] = request;
    return mcds__operation_ask_repeatable(operation, agree->requests, agree->count);
}

/* Whether the numbers are those of the handle. */
static bool is_same(struct mcds__agree *agree, const struct mcds__descriptor *descriptor)
{
    const struct mcds__settings *settings = agree->settings;
    for (uint32_t i = 0; i < settings->count; i++) {
        if (descriptor->settings[i] == settings->list[i].number)
            continue;
        agree->differs = i;
        agree->found = descriptor->settings[i];
        return false;
    }
    return true;
}

static enum mcds__step refuse(const struct mcds__agree *agree,
                              struct mcds__operation *operation)
{
    const struct mcds__setting *setting = &agree->settings->list[agree->differs];
    struct mcds__difference difference = {setting->name, (int64_t)setting->number,
                                          (int64_t)agree->found};
    return mcds__operation_differ(operation,
                                  agree->found < setting->reason_count
                                      ? setting->reasons[agree->found]
                                      : MCDS__WHY(OPTION_DIFFERS),
                                  difference);
}

/* They are ours: for ever, or for as long as they are sure to stay. */
static enum mcds__step finish(struct mcds__agree *agree, struct mcds__operation *operation)
{
    struct mcds__settings *settings = agree->settings;
    int64_t till_ns = INT64_MAX;
    if (settings->ttl_ms > 0)
        till_ns = mcds__monotonic_ns(operation->env) +
                  (int64_t)(settings->ttl_ms / LIVES) * NS_PER_MS;
    atomic_store_explicit(&settings->seen_till_ns, till_ns, memory_order_relaxed);
    if (agree->makes || settings->ttl_ms == 0)
        atomic_store_explicit(&settings->kept_till_ns, till_ns, memory_order_relaxed);
    return mcds__operation_finish(operation, MCDS_OK);
}

/* Whether the others' keys may outlive them. */
static bool is_short(const struct mcds__settings *settings, const mcds_reply *look)
{
    int64_t least_ms = (int64_t)(settings->ttl_ms / LIVES) * (LIVES - 1);
    return settings->ttl_ms > 0 &&
           (look->ttl_ms == MCDS_TTL_UNKNOWN || (look->ttl_ms >= 0 && look->ttl_ms < least_ms));
}

/* Without settings, the first of them is 0. */
static enum mcds__step refuse_foreign(const struct mcds__settings *settings,
                                      struct mcds__operation *operation)
{
    struct mcds__difference difference = {NULL, (int64_t)settings->list[0].number, 0};
    return mcds__operation_differ(operation, settings->foreign, difference);
}

static enum mcds__step compare(struct mcds__agree *agree, struct mcds__operation *operation,
                               const mcds_request *look)
{
    const struct mcds__settings *settings = agree->settings;
    struct mcds__descriptor descriptor = {.count = 0};
    const mcds_reason *detail = NULL;
    int result = mcds__descriptor_open(&descriptor, mcds__reply_value(&operation->batch, look),
                                       look->key, settings->kind, &detail);
    if (result == MCDS_UNSUPPORTED)
        return mcds__operation_explain(operation, result, detail);
    if (result != MCDS_OK || descriptor.count != settings->count)
        return settings->foreign != NULL ? refuse_foreign(settings, operation)
                                         : mcds__operation_explain(operation, MCDS_CORRUPT,
                                                                   MCDS__WHY(SETTINGS_FOREIGN));
    if (!is_same(agree, &descriptor))
        return refuse(agree, operation);
    bool is_new = agree->makes && agree->requests[0].reply.outcome == MCDS_OUT_OK;
    if (agree->makes && !is_new && is_short(settings, &look->reply))
        return ask(agree, operation, AGREE_KEEPING);
    return finish(agree, operation);
}

/* They are missing, or unknown. */
static enum mcds__step again(struct mcds__agree *agree, struct mcds__operation *operation,
                             const mcds_reply *reply)
{
    agree->stage = AGREE_BEGIN;
    if (mcds__is_refusal(reply))
        return mcds__operation_fail_read(operation, reply);
    if (mcds__operation_again(operation))
        return MCDS__SLEEP;
    if (reply->outcome == MCDS_OUT_MISS)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(SETTINGS_VANISH));
    return mcds__operation_fail_read(operation, reply);
}

static enum mcds__step take_look(struct mcds__agree *agree, struct mcds__operation *operation)
{
    const mcds_request *look = &agree->requests[agree->count - 1];
    if (look->reply.outcome == MCDS_OUT_OK)
        return compare(agree, operation, look);
    bool lacks = agree->may_lack && agree->requests[0].reply.outcome == MCDS_OUT_NO_MEMORY;
    if (agree->makes && !lacks && mcds__is_refusal(&agree->requests[0].reply))
        return mcds__operation_fail(operation, &agree->requests[0].reply);
    if (look->reply.outcome == MCDS_OUT_MISS && (lacks || !agree->makes))
        return mcds__operation_finish(operation, MCDS_OK);
    return again(agree, operation, &look->reply);
}

static enum mcds__step take_keep(struct mcds__agree *agree, struct mcds__operation *operation)
{
    const mcds_reply *kept = &agree->requests[0].reply;
    if (kept->outcome == MCDS_OUT_OK)
        return finish(agree, operation);
    return again(agree, operation, kept);
}

static enum mcds__step step_agree(struct mcds__agree *agree, struct mcds__operation *operation)
{
    switch (agree->stage) {
    case AGREE_BEGIN:
        return ask(agree, operation, AGREE_LOOKING);
    case AGREE_LOOKING:
        return take_look(agree, operation);
    default:
        return take_keep(agree, operation);
    }
}

bool mcds__agree_step_on(struct mcds__agree *agree, struct mcds__operation *operation,
                         enum mcds__step *step_out)
{
    *step_out = step_agree(agree, operation);
    if (*step_out != MCDS__DONE || operation->result != MCDS_OK)
        return false;
    agree->is_done = true;
    operation->tries = 1;
    return true;
}

void mcds__settings_drop_begin(struct mcds__settings_drop *drop, bool found)
{
    drop->is_begun = true;
    drop->found = found;
    drop->stage = 0;
}

enum mcds__step mcds__settings_drop_step(struct mcds__settings_drop *drop,
                                         struct mcds__settings *settings,
                                         struct mcds__operation *operation)
{
    enum mcds__step step = mcds__slot_drop_step(&drop->request, &settings->key, 1, &drop->stage,
                                                operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_NOT_FOUND && drop->found)
        operation->result = MCDS_OK;
    if (operation->result < 0 && drop->found)
        operation->result = MCDS_AMBIGUOUS;
    mcds__settings_forget(settings);
    return step;
}
