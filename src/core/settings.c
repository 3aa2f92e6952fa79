/* Core settings: what a structure was made with. */
#include "core/settings.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"

#define TYPE 'S'
#define VERSION 1
/* How many lives of the other keys the settings have, at least two of them ahead. */
#define LIVES 3

enum { AGREE_BEGIN, AGREE_LOOKING, AGREE_KEEPING };

void mcds__settings_init(struct mcds__settings *settings, const struct mcds__key *key,
                         const struct mcds__setting *list, uint32_t count, uint64_t data_ttl_ms)
{
    settings->key = *key;
    settings->count = count;
    settings->ttl_ms = LIVES * data_ttl_ms;
    settings->foreign = NULL;
    for (uint32_t i = 0; i < count; i++) {
        settings->list[i] = list[i];
        mcds__put_u64(settings->frame + MCDS__FRAME_HEAD + 8 * i, list[i].number);
    }
    settings->frame_length = mcds__frame_seal(settings->frame, TYPE, VERSION,
                                              mcds__key_bytes(&settings->key), 8 * count);
    atomic_init(&settings->seen_till_ns, count > 0 ? 0 : INT64_MAX);
    atomic_init(&settings->kept_till_ns, count > 0 ? 0 : INT64_MAX);
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
        agree->requests[agree->count++] = request;
    }
    request.command = stage == AGREE_LOOKING ? MCDS_GET : MCDS_TOUCH;
    request.options = stage == AGREE_LOOKING && agree->makes ? MCDS_WANT_TTL : 0;
    agree->requests[agree->count++] = request;
    return mcds__operation_ask_repeatable(operation, agree->requests, agree->count);
}

/* Where the numbers differ, say so. False: they do not differ, or these are none. */
static bool tell(struct mcds__agree *agree, mcds_bytes value, mcds_bytes key)
{
    mcds_bytes payload;
    const struct mcds__settings *settings = agree->settings;
    if (!mcds__frame_open(value, TYPE, VERSION, key, &payload) ||
        payload.length != 8 * (size_t)settings->count)
        return false;
    for (uint32_t i = 0; i < settings->count; i++) {
        const struct mcds__setting *setting = &settings->list[i];
        uint64_t number = mcds__get_u64((const uint8_t *)payload.at + 8 * i);
        if (number == setting->number)
            continue;
        if (number < setting->saying_count)
            (void)snprintf(agree->sentence, sizeof agree->sentence, "%s",
                           setting->sayings[number]);
        else
            (void)snprintf(agree->sentence, sizeof agree->sentence,
                           "it was made with %s %llu, not %llu; open it so", setting->name,
                           (unsigned long long)number, (unsigned long long)setting->number);
        return true;
    }
    return false;
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

static enum mcds__step compare(struct mcds__agree *agree, struct mcds__operation *operation,
                               const mcds_request *look)
{
    const struct mcds__settings *settings = agree->settings;
    mcds_bytes value = mcds__reply_value(&operation->batch, look);
    if (value.at != NULL && value.length == settings->frame_length &&
        memcmp(value.at, settings->frame, value.length) == 0) {
        bool is_new = agree->makes && agree->requests[0].reply.outcome == MCDS_OUT_OK;
        if (agree->makes && !is_new && is_short(settings, &look->reply))
            return ask(agree, operation, AGREE_KEEPING);
        return finish(agree, operation);
    }
    if (tell(agree, value, look->key))
        return mcds__operation_explain(operation, MCDS_INVALID, agree->sentence);
    if (settings->foreign != NULL)
        return mcds__operation_explain(operation, MCDS_INVALID, settings->foreign);
    return mcds__operation_explain(operation, MCDS_CORRUPT,
                                   "its settings are something that mcds did not write");
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
        return mcds__operation_explain(operation, MCDS_BUSY,
                                       "its settings vanish again and again");
    return mcds__operation_fail_read(operation, reply);
}

static enum mcds__step take_look(struct mcds__agree *agree, struct mcds__operation *operation)
{
    const mcds_request *look = &agree->requests[agree->count - 1];
    if (look->reply.outcome == MCDS_OUT_OK)
        return compare(agree, operation, look);
    if (agree->makes && mcds__is_refusal(&agree->requests[0].reply))
        return mcds__operation_fail(operation, &agree->requests[0].reply);
    if (look->reply.outcome == MCDS_OUT_MISS && !agree->makes)
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
