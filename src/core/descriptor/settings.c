/* Descriptor: compare the settings that a structure was made with. */
#include "core/descriptor/settings.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"

/* The ttl of the settings in lives of the other keys; at least two are always left. */
#define LIVES 3

enum { AGREE_BEGIN, AGREE_LOOKING, AGREE_KEEPING, AGREE_UNDOING };

static void take_hash_key(struct mcds__settings *settings,
                          const struct mcds__descriptor *descriptor)
{
    for (int i = 0; i < 2; i++)
        atomic_store_explicit(&settings->hash_key[i],
                              mcds__get_u64(descriptor->hash_key + 8 * i),
                              memory_order_relaxed);
}

void mcds__settings_init(struct mcds__settings *settings, const mcds_env *env,
                         enum mcds__descriptor_kind kind, bool hashes,
                         const struct mcds__key *key, const struct mcds__setting *list,
                         uint32_t count, uint64_t data_ttl_ms)
{
    assert(count <= sizeof settings->list / sizeof settings->list[0]);
    settings->key = *key;
    settings->count = count;
    settings->ttl_ms = LIVES * data_ttl_ms;
    settings->foreign = NULL;
    atomic_init(&settings->seen_till_ns, count > 0 ? 0 : INT64_MAX);
    atomic_init(&settings->kept_till_ns, count > 0 ? 0 : INT64_MAX);
    if (count == 0)
        return;
    mcds__descriptor_draw(&settings->own, env, kind, 0, hashes);
    for (uint32_t i = 0; i < count; i++) {
        settings->list[i] = list[i];
        settings->own.settings[i] = list[i].number;
    }
    settings->own.count = (uint8_t)count;
    take_hash_key(settings, &settings->own);
}

void mcds__settings_forget(struct mcds__settings *settings)
{
    if (settings->count == 0)
        return;
    atomic_store_explicit(&settings->seen_till_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&settings->kept_till_ns, 0, memory_order_relaxed);
}

void mcds__settings_check_begin(struct mcds__settings_check *check,
                                struct mcds__settings *settings, bool makes,
                                const struct mcds__operation *operation)
{
    int64_t till_ns = atomic_load_explicit(
        makes ? &settings->kept_till_ns : &settings->seen_till_ns, memory_order_acquire);
    check->is_done = till_ns == INT64_MAX ||
                     (till_ns > 0 && mcds__monotonic_ns(operation->env) < till_ns);
    if (check->is_done)
        return;
    check->settings = settings;
    check->makes = makes;
    check->may_lack = check->needs_cas = false;
    check->stage = AGREE_BEGIN;
}

/* The descriptor to add: where the settings were lost, with the hash key that they had. */
static mcds_bytes seal_own(struct mcds__settings_check *check)
{
    const struct mcds__settings *settings = check->settings;
    struct mcds__descriptor descriptor = settings->own;
    for (int i = 0; i < 2; i++)
        mcds__put_u64(descriptor.hash_key + 8 * i,
                      atomic_load_explicit(&settings->hash_key[i], memory_order_relaxed));
    size_t length = mcds__descriptor_seal(&descriptor, mcds__key_bytes(&settings->key),
                                          check->frame);
    return (mcds_bytes){check->frame, length};
}

static enum mcds__step descriptor_settings_ask(struct mcds__settings_check *check,
                                               struct mcds__operation *operation, uint8_t stage)
{
    assert(stage == AGREE_LOOKING || stage == AGREE_KEEPING);
    const struct mcds__settings *settings = check->settings;
    mcds_request request = {
        .key = mcds__key_bytes(&settings->key),
        .ttl_ms = settings->ttl_ms,
    };
    check->count = 0;
    check->stage = stage;
    if (stage == AGREE_LOOKING && check->makes) {
        request.command = MCDS_ADD;
        request.flags = mcds__descriptor_flags(settings->own.life);
        request.value = seal_own(check);
        check->requests[check->count++] = request;
    }
    request.value = (mcds_bytes){NULL, 0};
    request.command = stage == AGREE_LOOKING ? MCDS_GET : MCDS_TOUCH;
    request.options = stage == AGREE_LOOKING && check->makes ? MCDS_WANT_TTL : 0;
    check->requests[check->count++] = request;
    assert(check->count <= sizeof check->requests / sizeof check->requests[0]);
    return mcds__operation_ask_repeatable(operation, check->requests, check->count);
}

/* Whether the numbers equal those of the handle. */
static bool descriptor_settings_is_same(struct mcds__settings_check *check,
                                        const struct mcds__descriptor *descriptor)
{
    assert(descriptor->count == check->settings->count);
    const struct mcds__settings *settings = check->settings;
    for (uint32_t i = 0; i < settings->count; i++) {
        if (descriptor->settings[i] == settings->list[i].number)
            continue;
        check->differs = i;
        check->found = descriptor->settings[i];
        return false;
    }
    return true;
}

static enum mcds__step descriptor_settings_refuse(const struct mcds__settings_check *check,
                                                  struct mcds__operation *operation)
{
    assert(check->differs < check->settings->count);
    const struct mcds__setting *setting = &check->settings->list[check->differs];
    struct mcds__difference difference = {setting->name, (int64_t)setting->number,
                                          (int64_t)check->found};
    return mcds__operation_differ(operation,
                                  check->found < setting->reason_count
                                      ? setting->reasons[check->found]
                                      : MCDS__WHY(OPTION_DIFFERS),
                                  difference);
}

/* The settings equal those of the handle: for ever, or as long as the key certainly exists. */
static enum mcds__step descriptor_settings_finish(struct mcds__settings_check *check,
                                                  struct mcds__operation *operation)
{
    struct mcds__settings *settings = check->settings;
    int64_t till_ns = INT64_MAX;
    if (settings->ttl_ms > 0)
        till_ns = mcds__monotonic_ns(operation->env) +
                  (int64_t)(settings->ttl_ms / LIVES) * NS_PER_MS;
    atomic_store_explicit(&settings->seen_till_ns, till_ns, memory_order_release);
    if (check->makes || settings->ttl_ms == 0)
        atomic_store_explicit(&settings->kept_till_ns, till_ns, memory_order_release);
    return mcds__operation_finish(operation, MCDS_OK);
}

/* Whether keys of other clients may live longer than the settings. */
static bool is_short(const struct mcds__settings *settings, const mcds_reply *look)
{
    int64_t least_ms = (int64_t)(settings->ttl_ms / LIVES) * (LIVES - 1);
    return settings->ttl_ms > 0 &&
           (look->ttl_ms == MCDS_TTL_UNKNOWN || (look->ttl_ms >= 0 && look->ttl_ms < least_ms));
}

/* Without settings, the first one is 0. */
static enum mcds__step refuse_foreign(const struct mcds__settings *settings,
                                      struct mcds__operation *operation)
{
    assert(settings->count > 0);
    struct mcds__difference difference = {NULL, (int64_t)settings->list[0].number, 0};
    return mcds__operation_differ(operation, settings->foreign, difference);
}

static enum mcds__step descriptor_settings_compare(struct mcds__settings_check *check,
                                                   struct mcds__operation *operation,
                                                   const mcds_request *look)
{
    struct mcds__settings *settings = check->settings;
    struct mcds__descriptor descriptor = {.count = 0};
    const mcds_reason *detail = NULL;
    int result = mcds__descriptor_open(&descriptor, mcds__operation_value(operation, look),
                                       look->reply.flags, look->key,
                                       (enum mcds__descriptor_kind)settings->own.kind, &detail);
    if (result == MCDS_UNSUPPORTED)
        return mcds__operation_explain(operation, result, detail);
    if (result != MCDS_OK || descriptor.count != settings->count)
        return settings->foreign != NULL ? refuse_foreign(settings, operation)
                                         : mcds__operation_explain(operation, MCDS_CORRUPT,
                                                                   MCDS__WHY(SETTINGS_FOREIGN));
    if (!descriptor_settings_is_same(check, &descriptor))
        return descriptor_settings_refuse(check, operation);
    take_hash_key(settings, &descriptor);
    bool is_new = check->makes && check->requests[0].reply.outcome == MCDS_OUT_OK;
    if (check->makes && !is_new && is_short(settings, &look->reply))
        return descriptor_settings_ask(check, operation, AGREE_KEEPING);
    return descriptor_settings_finish(check, operation);
}

/* The settings are missing, or could not be read. */
static enum mcds__step descriptor_settings_again(struct mcds__settings_check *check,
                                                 struct mcds__operation *operation,
                                                 const mcds_reply *reply)
{
    check->stage = AGREE_BEGIN;
    if (mcds__is_refusal(reply))
        return mcds__operation_fail_read(operation, reply);
    if (mcds__operation_again(operation))
        return MCDS__SLEEP;
    if (reply->outcome == MCDS_OUT_MISS)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(SETTINGS_VANISH));
    return mcds__operation_fail_read(operation, reply);
}

/* The settings that this operation has added are erased: no other client can use them. */
static enum mcds__step refuse_without_cas(struct mcds__settings_check *check,
                                          struct mcds__operation *operation)
{
    mcds_request *request = &check->requests[0];
    if (check->stage == AGREE_UNDOING || request->reply.outcome != MCDS_OUT_OK)
        return mcds__operation_explain(operation, MCDS_UNSUPPORTED,
                                       MCDS__WHY(GROWTH_WITHOUT_CAS));
    check->stage = AGREE_UNDOING;
    *request = (mcds_request){.command = MCDS_DELETE, .key = request->key};
    return mcds__operation_ask_repeatable(operation, request, 1);
}

static enum mcds__step descriptor_settings_take_look(struct mcds__settings_check *check,
                                                     struct mcds__operation *operation)
{
    assert(check->stage == AGREE_LOOKING && check->count >= 1);
    const mcds_request *look = &check->requests[check->count - 1];
    /* What the store can do is known once it has answered. */
    bool lacks_cas = check->needs_cas && !mcds__store_can(operation->store).compare_and_set;
    if (lacks_cas && !mcds__is_transport_trouble(&look->reply))
        return refuse_without_cas(check, operation);
    if (look->reply.outcome == MCDS_OUT_OK)
        return descriptor_settings_compare(check, operation, look);
    bool lacks = check->may_lack && check->requests[0].reply.outcome == MCDS_OUT_NO_MEMORY;
    if (check->makes && !lacks && mcds__is_refusal(&check->requests[0].reply))
        return mcds__operation_fail(operation, &check->requests[0].reply);
    if (look->reply.outcome == MCDS_OUT_MISS && (lacks || !check->makes))
        return mcds__operation_finish(operation, MCDS_OK);
    return descriptor_settings_again(check, operation, &look->reply);
}

static enum mcds__step take_keep(struct mcds__settings_check *check,
                                 struct mcds__operation *operation)
{
    assert(check->stage == AGREE_KEEPING);
    const mcds_reply *kept = &check->requests[0].reply;
    if (kept->outcome == MCDS_OUT_OK)
        return descriptor_settings_finish(check, operation);
    return descriptor_settings_again(check, operation, kept);
}

static enum mcds__step step_settings_check(struct mcds__settings_check *check,
                                           struct mcds__operation *operation)
{
    assert(check->stage <= AGREE_UNDOING);
    switch (check->stage) {
    case AGREE_BEGIN:
        return descriptor_settings_ask(check, operation, AGREE_LOOKING);
    case AGREE_LOOKING:
        return descriptor_settings_take_look(check, operation);
    case AGREE_UNDOING:
        return refuse_without_cas(check, operation);
    default:
        return take_keep(check, operation);
    }
}

bool mcds__settings_check_step_on(struct mcds__settings_check *check,
                                  struct mcds__operation *operation, enum mcds__step *step_out)
{
    *step_out = step_settings_check(check, operation);
    if (*step_out != MCDS__DONE || operation->result != MCDS_OK)
        return false;
    check->is_done = true;
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
    assert(drop->is_begun);
    enum mcds__step step = mcds__tally_drop_step(&drop->request, &settings->key, 1,
                                                 &drop->stage, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_NOT_FOUND && drop->found)
        operation->result = MCDS_OK;
    if (operation->result < 0 && drop->found)
        operation->result = MCDS_AMBIGUOUS;
    mcds__settings_forget(settings);
    return step;
}
