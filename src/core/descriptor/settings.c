/* Descriptor: compare the settings that a structure was made with. */
#include "core/descriptor/settings.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"

/* The ttl of the settings in lives of the other keys; at least two are always left. */
#define LIVES 3

enum { CHECK_BEGIN, CHECK_LOOKING, CHECK_KEEPING, CHECK_UNDOING, CHECK_ADDING_LAST };

static void take_hash_key(struct mcds__settings *settings,
                          const struct mcds__descriptor *descriptor)
{
    for (int i = 0; i < 2; i++)
        atomic_store_explicit(&settings->hash_key[i],
                              mcds__get_u64(descriptor->hash_key + 8 * i),
                              memory_order_relaxed);
}

static void note_last(struct mcds__settings *settings,
                      const struct mcds__descriptor *descriptor)
{
    assert(settings->count > 0);
    atomic_store_explicit(&settings->last, descriptor->settings[settings->count - 1],
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
    settings->again_ms = 0;
    settings->foreign = NULL;
    settings->is_last_apart = 0;
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
    atomic_init(&settings->last, list[count - 1].number);
    atomic_init(&settings->lacks_last, false);
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
    check->needs_cas = check->leaves_last = false;
    check->stage = CHECK_BEGIN;
    check->look = (struct mcds__root_look){
        .key = &settings->key,
        .kind = (enum mcds__descriptor_kind)settings->own.kind,
        .ttl_ms = makes ? settings->ttl_ms : 0,
        .vanishes = MCDS__WHY(SETTINGS_VANISH),
    };
}

/* Read the settings, after adding those of this handle if the operation makes the structure: where
 * they were lost, with the hash key that they had. */
static enum mcds__step descriptor_settings_look(struct mcds__settings_check *check,
                                                struct mcds__operation *operation)
{
    const struct mcds__settings *settings = check->settings;
    check->stage = CHECK_LOOKING;
    if (!check->makes)
        return mcds__root_look_ask(&check->look, operation, NULL);
    struct mcds__descriptor descriptor = settings->own;
    if (check->leaves_last)
        descriptor.count = (uint8_t)(descriptor.count - settings->is_last_apart);
    for (int i = 0; i < 2; i++)
        mcds__put_u64(descriptor.hash_key + 8 * i,
                      atomic_load_explicit(&settings->hash_key[i], memory_order_relaxed));
    mcds_request add = mcds__root_look_write(&check->look, MCDS_ADD, &descriptor);
    return mcds__root_look_ask(&check->look, operation, &add);
}

static enum mcds__step descriptor_settings_refuse(const struct mcds__setting *setting,
                                                  uint64_t found,
                                                  struct mcds__operation *operation)
{
    assert(found != setting->number);
    struct mcds__difference difference = {setting->name, (int64_t)setting->number,
                                          (int64_t)found};
    return mcds__operation_differ(operation,
                                  found < setting->reason_count ? setting->reasons[found]
                                                                : MCDS__WHY(OPTION_DIFFERS),
                                  difference);
}

/* The settings equal those of the handle: for ever, until they are compared again, or as long as the
 * key certainly exists. */
static enum mcds__step descriptor_settings_finish(struct mcds__settings_check *check,
                                                  struct mcds__operation *operation)
{
    struct mcds__settings *settings = check->settings;
    int64_t till_ns = INT64_MAX;
    uint64_t known_ms = settings->ttl_ms > 0 ? settings->ttl_ms / LIVES : settings->again_ms;
    if (known_ms > 0)
        till_ns = mcds__monotonic_ns(operation->env) + (int64_t)known_ms * NS_PER_MS;
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

/* The value is not settings, or not as many. Where it has a reason, the first setting is 0. */
static enum mcds__step refuse_foreign(const struct mcds__settings *settings,
                                      struct mcds__operation *operation)
{
    assert(settings->count > 0);
    struct mcds__difference difference = {NULL, (int64_t)settings->list[0].number, 0};
    if (settings->foreign == NULL)
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(SETTINGS_FOREIGN));
    return mcds__operation_differ(operation, settings->foreign, difference);
}

static enum mcds__step ask_keep(struct mcds__settings_check *check,
                                struct mcds__operation *operation)
{
    mcds_request *request = &check->look.requests[0];
    check->stage = CHECK_KEEPING;
    *request = (mcds_request){
        .command = MCDS_TOUCH, .key = request->key, .ttl_ms = check->settings->ttl_ms};
    return mcds__operation_ask_repeatable(operation, request, 1);
}

/* Another operation has made the structure, and has left the last setting to this one. */
static enum mcds__step settings_ask_last(struct mcds__settings_check *check,
                                         struct mcds__operation *operation,
                                         const struct mcds__descriptor *found)
{
    const struct mcds__settings *settings = check->settings;
    struct mcds__descriptor whole = *found;
    mcds_cas_token token = mcds__root_look_read(&check->look)->reply.cas;
    assert(settings->is_last_apart == 1 && whole.count + 1U == settings->count);
    whole.settings[whole.count++] = settings->list[settings->count - 1].number;
    check->stage = CHECK_ADDING_LAST;
    check->look.requests[0] = mcds__root_look_write(&check->look, MCDS_CAS, &whole);
    check->look.requests[0].cas = token;
    operation->connection = token.connection;
    return mcds__operation_ask_repeatable(operation, check->look.requests, 1);
}

static enum mcds__step take_found(struct mcds__settings_check *check,
                                  struct mcds__operation *operation,
                                  const struct mcds__descriptor *found)
{
    struct mcds__settings *settings = check->settings;
    uint32_t compared = settings->count - settings->is_last_apart;
    if (found->count != settings->count && found->count != compared)
        return refuse_foreign(settings, operation);
    for (uint32_t i = 0; i < compared; i++) {
        if (found->settings[i] != settings->list[i].number)
            return descriptor_settings_refuse(&settings->list[i], found->settings[i],
                                              operation);
    }
    bool lacks_last = found->count < settings->count;
    if (lacks_last && check->makes && !check->leaves_last)
        return settings_ask_last(check, operation, found);
    note_last(settings, lacks_last ? &settings->own : found);
    atomic_store_explicit(&settings->lacks_last, lacks_last, memory_order_relaxed);
    take_hash_key(settings, found);
    bool is_new = check->makes && check->look.requests[0].reply.outcome == MCDS_OUT_OK;
    if (check->makes && !is_new &&
        is_short(settings, &mcds__root_look_read(&check->look)->reply))
        return ask_keep(check, operation);
    return descriptor_settings_finish(check, operation);
}

/* The settings that this operation has added are erased: no other client can use them. */
static enum mcds__step refuse_without_cas(struct mcds__settings_check *check,
                                          struct mcds__operation *operation)
{
    mcds_request *request = &check->look.requests[0];
    if (check->stage == CHECK_UNDOING || request->reply.outcome != MCDS_OUT_OK)
        return mcds__operation_explain(operation, MCDS_UNSUPPORTED,
                                       MCDS__WHY(GROWTH_WITHOUT_CAS));
    check->stage = CHECK_UNDOING;
    *request = (mcds_request){.command = MCDS_DELETE, .key = request->key};
    return mcds__operation_ask_repeatable(operation, request, 1);
}

static enum mcds__step descriptor_settings_take_look(struct mcds__settings_check *check,
                                                     struct mcds__operation *operation)
{
    assert(check->stage == CHECK_LOOKING);
    struct mcds__descriptor found;
    const mcds_reply *look = &mcds__root_look_read(&check->look)->reply;
    /* What the store can do is known once it has answered. */
    bool lacks_cas = check->needs_cas && !mcds__store_can(operation->store).compare_and_set;
    if (lacks_cas && !mcds__is_transport_trouble(look))
        return refuse_without_cas(check, operation);
    enum mcds__step step = mcds__root_look_take(&check->look, operation, &found);
    if (step == MCDS__SLEEP)
        check->stage = CHECK_BEGIN;
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_NOT_FOUND) {
        note_last(check->settings, &check->settings->own);
        return mcds__operation_finish(operation, MCDS_OK);
    }
    if (look->outcome == MCDS_OUT_OK && operation->result == MCDS_CORRUPT)
        return refuse_foreign(check->settings, operation);
    return operation->result == MCDS_OK ? take_found(check, operation, &found) : step;
}

static enum mcds__step descriptor_settings_take_keep(struct mcds__settings_check *check,
                                                     struct mcds__operation *operation)
{
    const mcds_reply *kept = &check->look.requests[0].reply;
    if (kept->outcome == MCDS_OUT_OK)
        return descriptor_settings_finish(check, operation);
    check->stage = CHECK_BEGIN;
    return mcds__root_look_again(&check->look, operation, kept);
}

/* The settings are read again: another client may have changed or dropped them. */
static enum mcds__step settings_take_last(struct mcds__settings_check *check,
                                          struct mcds__operation *operation)
{
    const mcds_reply *added = &check->look.requests[0].reply;
    assert(check->stage == CHECK_ADDING_LAST);
    check->stage = CHECK_BEGIN;
    operation->connection = 0;
    if (added->outcome == MCDS_OUT_OK || added->outcome == MCDS_OUT_EXISTS)
        return descriptor_settings_look(check, operation);
    return mcds__root_look_again(&check->look, operation, added);
}

static enum mcds__step step_settings_check(struct mcds__settings_check *check,
                                           struct mcds__operation *operation)
{
    assert(check->stage <= CHECK_ADDING_LAST);
    switch (check->stage) {
    case CHECK_BEGIN:
        return descriptor_settings_look(check, operation);
    case CHECK_LOOKING:
        return descriptor_settings_take_look(check, operation);
    case CHECK_UNDOING:
        return refuse_without_cas(check, operation);
    case CHECK_ADDING_LAST:
        return settings_take_last(check, operation);
    default:
        return descriptor_settings_take_keep(check, operation);
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

/* The next check reads the settings again: another client may have dropped the structure and made
 * it with those of this handle. `last` stays, because other calls may have passed their check. An
 * operation whose check was done before has no batch yet. */
bool mcds__settings_last_step(struct mcds__settings *settings,
                              struct mcds__operation *operation, enum mcds__step *step_out)
{
    assert(settings->is_last_apart == 1);
    const struct mcds__setting *setting = &settings->list[settings->count - 1];
    uint64_t last = atomic_load_explicit(&settings->last, memory_order_relaxed);
    if (last == setting->number)
        return true;
    mcds__settings_forget(settings);
    mcds__operation_forget_batch(operation);
    *step_out = descriptor_settings_refuse(setting, last, operation);
    return false;
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
    enum mcds__step step = mcds__tally_drop_step(&drop->request, &settings->key, 1, NULL,
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
