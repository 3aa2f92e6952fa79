/* Online: who was active within the last buckets, one key per bucket (core slot).
 *
 * A visitor's key holds the bucket that last counted it. A visitor who stays is counted again
 * exactly `buckets` buckets later, so every window of that many buckets holds it once. */
#include "structures/online.h"

#include <math.h>

#include "base/environment.h"
#include "base/error.h"

#define BUCKETS_DEFAULT 5
#define WIDTH_MS_MIN 1000
#define WIDTH_MS_MAX 86400000
#define WIDTH_MS_DEFAULT 60000
/* Clock difference between machines, and keys that die a little early. */
#define SLACK_MS 9000

static struct mcds__slot_memory *memory_of(mcds_online *online, uint64_t slot)
{
    return &online->births[slot % (MCDS__BUCKETS_MAX + 1)];
}

static struct mcds__key slot_key(const mcds_online *online, uint64_t slot)
{
    struct mcds__key key = online->counts;
    mcds__key_add_number(&key, slot);
    return key;
}

static uint64_t ttl_ms(const mcds_online *online)
{
    return (uint64_t)(online->buckets + 2) * online->width_ms + SLACK_MS;
}

struct online_beat {
    struct mcds__operation base;
    mcds_online *online;
    uint64_t slot;
    struct mcds__agree agree;
    struct mcds__visit visit;
};

static enum mcds__step step_beat(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct online_beat *beat = (struct online_beat *)operation;
    if (!mcds__agree_step(&beat->agree, operation, &step))
        return step;
    step = mcds__visit_step(&beat->visit, operation);
    if (step == MCDS__DONE && operation->result == MCDS_OK)
        (void)mcds__slot_remember(memory_of(beat->online, beat->slot), beat->slot,
                                  beat->visit.hit.birth);
    return step;
}

static const struct mcds__operation_kind beat_kind = {"online", "beat",
                                                      sizeof(struct online_beat), step_beat};

static int launch_beat(struct online_beat *beat, mcds_online *online, const char *visitor,
                       int64_t at_ms, mcds_pipeline *pipeline, uint64_t tag)
{
    if (online == NULL)
        return mcds__fail_missing("online", "beat", "a handle");
    int result = mcds__check_element("online", online->name, visitor);
    if (result != MCDS_OK)
        return result;
    if (online->members != NULL)
        return mcds__online_member_beat(online, visitor, at_ms, beat == NULL, pipeline, tag);
    if (beat == NULL)
        beat = mcds__pipeline_new(pipeline, &online->handle, &beat_kind, &result);
    if (beat == NULL)
        return result;
    mcds__operation_begin(&beat->base, &beat_kind, online->store, online->name, 0);
    mcds__agree_begin(&beat->agree, &online->settings, true, &beat->base);
    beat->online = online;
    beat->slot = mcds__slot_at(mcds__time_or_now_ms(online->store, at_ms), online->width_ms);
    struct mcds__visit *visit = &beat->visit;
    mcds__visit_init(visit, beat->slot, online->buckets, ttl_ms(online), ttl_ms(online));
    visit->anonymous = false;
    visit->key = slot_key(online, beat->slot);
    visit->claim.key = online->seen;
    mcds__key_add_element(&visit->claim.key, visitor);
    return mcds__launch(&beat->base, pipeline, tag);
}

int mcds_online_beat(mcds_online *online, const char *visitor, int64_t at_ms)
{
    struct online_beat beat;
    return launch_beat(&beat, online, visitor, at_ms, NULL, 0);
}

int mcds_online_beat_start(mcds_online *online, const char *visitor, int64_t at_ms,
                           mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_beat(NULL, online, visitor, at_ms, pipeline, tag);
}

bool mcds__online_is_running(const mcds_online *online, uint64_t slot)
{
    return slot >= mcds__slot_at(mcds__time_or_now_ms(online->store, 0), online->width_ms);
}

/* The running bucket and those of the window before it, newest first; where they are dropped,
 * the settings behind them. */
struct online_window {
    struct mcds__operation base;
    mcds_online *online;
    mcds_online_value *value_out;
    int64_t at_ms;
    uint64_t slot;
    uint32_t count;
    uint8_t stage;
    struct mcds__agree agree;
    bool seen[MCDS__BUCKETS_MAX + 1]; /* before they were asked for: others may make one */
    struct mcds__key keys[MCDS__BUCKETS_MAX + 2];
    mcds_request requests[MCDS__BUCKETS_MAX + 2];
};

static enum mcds__step take_window(struct online_window *get)
{
    mcds_online *online = get->online;
    struct mcds__operation *operation = &get->base;
    mcds_online_value value = {0};
    uint64_t oldest = 0;
    for (uint32_t i = 0; i < get->count; i++) {
        uint64_t slot = get->slot - i;
        uint64_t count;
        if (!mcds__visit_read(&operation->batch, &get->requests[i], memory_of(online, slot),
                              slot, get->seen[i], &count, &value.reborn))
            return mcds__operation_finish(operation, MCDS_CORRUPT);
        if (i == 0)
            value.current = count;
        else
            value.closed += count;
        oldest = i == online->buckets ? count : 0;
    }
    double part = mcds__slot_part(get->at_ms, online->width_ms);
    value.estimate = (double)value.current + (double)value.closed - (double)oldest * part;
    value.error = sqrt((double)oldest * part * (1 - part));
    mcds__sized_write(MCDS__SIZED_mcds_online_value, get->value_out, &value);
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step step_count(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct online_window *get = (struct online_window *)operation;
    if (!mcds__agree_step(&get->agree, operation, &step))
        return step;
    step = mcds__slot_read_step(get->requests, get->keys, get->count, 0, &get->stage,
                                operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    return take_window(get);
}

static enum mcds__step step_drop(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct online_window *drop = (struct online_window *)operation;
    if (!mcds__agree_step(&drop->agree, operation, &step))
        return step;
    step = mcds__slot_drop_step(drop->requests, drop->keys, drop->count, &drop->stage,
                                operation);
    if (step != MCDS__DONE || operation->result < 0)
        return step;
    for (int i = 0; i <= MCDS__BUCKETS_MAX; i++)
        mcds__slot_forget(&drop->online->births[i]);
    mcds__settings_forget(&drop->online->settings);
    return step;
}

static const struct mcds__operation_kind count_kind = {
    "online", "count", sizeof(struct online_window), step_count};
static const struct mcds__operation_kind drop_kind = {"online", "drop",
                                                      sizeof(struct online_window), step_drop};

static int launch_window(struct online_window *window, const struct mcds__operation_kind *kind,
                         mcds_online *online, int64_t at_ms, mcds_online_value *value_out,
                         mcds_pipeline *pipeline, uint64_t tag)
{
    int result = MCDS_OK;
    if (window == NULL)
        window = mcds__pipeline_new(pipeline, &online->handle, kind, &result);
    if (window == NULL)
        return result;
    mcds__operation_begin(&window->base, kind, online->store, online->name, 0);
    mcds__agree_begin(&window->agree, &online->settings, false, &window->base);
    window->online = online;
    window->value_out = value_out;
    window->at_ms = mcds__time_or_now_ms(online->store, at_ms);
    window->slot = mcds__slot_at(window->at_ms, online->width_ms);
    uint64_t count = window->slot < online->buckets ? window->slot : online->buckets;
    window->count = (uint32_t)count + 1;
    window->stage = 0;
    for (uint32_t i = 0; i < window->count; i++) {
        uint64_t slot = window->slot - i;
        window->keys[i] = slot_key(online, slot);
        window->seen[i] = mcds__slot_was_seen(memory_of(online, slot), slot);
    }
    if (kind == &drop_kind && mcds__online_is_running(online, window->slot))
        window->keys[window->count++] = online->settings.key;
    return mcds__launch(&window->base, pipeline, tag);
}

static int launch_count(struct online_window *window, mcds_online *online, int64_t at_ms,
                        mcds_online_value *value_out, mcds_pipeline *pipeline, uint64_t tag)
{
    if (online == NULL || value_out == NULL)
        return mcds__fail_missing("online", "count", "a handle and a place for the value");
    int result = mcds__sized_check(MCDS__SIZED_mcds_online_value, value_out);
    if (result != MCDS_OK)
        return result;
    if (online->members != NULL)
        return mcds__online_member_window(online, at_ms, value_out, window == NULL, pipeline,
                                          tag);
    return launch_window(window, &count_kind, online, at_ms, value_out, pipeline, tag);
}

int mcds_online_count(mcds_online *online, int64_t at_ms, mcds_online_value *value_out)
{
    struct online_window window;
    return launch_count(&window, online, at_ms, value_out, NULL, 0);
}

int mcds_online_count_start(mcds_online *online, int64_t at_ms, mcds_online_value *value_out,
                            mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_count(NULL, online, at_ms, value_out, pipeline, tag);
}

static int launch_drop(struct online_window *window, mcds_online *online, int64_t at_ms,
                       mcds_pipeline *pipeline, uint64_t tag)
{
    if (online == NULL)
        return mcds__fail_missing("online", "drop", "a handle");
    if (online->members != NULL)
        return mcds__online_member_window(online, at_ms, NULL, window == NULL, pipeline, tag);
    return launch_window(window, &drop_kind, online, at_ms, NULL, pipeline, tag);
}

int mcds_online_drop(mcds_online *online, int64_t at_ms)
{
    struct online_window window;
    return launch_drop(&window, online, at_ms, NULL, 0);
}

int mcds_online_drop_start(mcds_online *online, int64_t at_ms, mcds_pipeline *pipeline,
                           uint64_t tag)
{
    return launch_drop(NULL, online, at_ms, pipeline, tag);
}

static int check_online_options(const char *name, const mcds_online_options *options)
{
    if (options->buckets > MCDS__BUCKETS_MAX)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "online", .name = name,
                          .option = "buckets", .wanted_max = MCDS__BUCKETS_MAX,
                          .found_number = options->buckets);
    if (options->members > MCDS_MEMBERS_ESTIMATED)
        return mcds__fail(MCDS_INVALID, UNKNOWN_VALUE, .noun = "online", .name = name,
                          .option = "members", .found_number = options->members);
    if (options->width_ms != 0 &&
        (options->width_ms < WIDTH_MS_MIN || options->width_ms > WIDTH_MS_MAX))
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "online", .name = name,
                          .option = "width_ms", .wanted_min = WIDTH_MS_MIN,
                          .wanted_max = WIDTH_MS_MAX, .found_number = options->width_ms);
    return MCDS_OK;
}

static void settle(mcds_online *online, uint32_t members)
{
    struct mcds__key key;
    const struct mcds__setting settings[] = {
        {.name = "width_ms", .number = online->width_ms},
        {.name = "buckets", .number = online->buckets},
        {"members", members, mcds__members_reasons, MCDS__MEMBERS_REASONS},
    };
    mcds__key_begin(&key, mcds__store_ns(online->store), MCDS__TAG_ONLINE, online->name);
    mcds__settings_init(&online->settings, mcds__store_env(online->store), MCDS__KIND_ONLINE,
                        &key, settings, 3, ttl_ms(online));
}

static void destroy_online(struct mcds__handle *handle)
{
    mcds_online *online = (mcds_online *)handle;
    const mcds_env *env = mcds__store_env(online->store);
    mcds__members_close(online->members);
    mcds__free(env, online->name);
    mcds__free(env, online);
}

int mcds_online_open(mcds_store *store, const char *name, const mcds_online_options *options,
                     mcds_online **online_out)
{
    mcds_online_options own;
    int result = mcds__check_open("online", store, name, online_out);
    if (result == MCDS_OK)
        result = mcds__sized_read(MCDS__SIZED_mcds_online_options, options, &own);
    if (result == MCDS_OK)
        result = check_online_options(name, &own);
    if (result != MCDS_OK)
        return result;
    const mcds_env *env = mcds__store_env(store);
    mcds_online *online = mcds__allocate_zero(env, sizeof *online);
    char *own_name = mcds__copy_string(env, name);
    if (online == NULL || own_name == NULL) {
        mcds__free(env, online);
        mcds__free(env, own_name);
        return mcds__fail_memory("online", name, NULL);
    }
    mcds__handle_begin(&online->handle, store, destroy_online);
    online->store = store;
    online->name = own_name;
    online->buckets = own.buckets > 0 ? own.buckets : BUCKETS_DEFAULT;
    online->width_ms = own.width_ms > 0 ? own.width_ms : WIDTH_MS_DEFAULT;
    const char *ns = mcds__store_ns(store);
    mcds__key_begin(&online->counts, ns, MCDS__TAG_ONLINE, name);
    mcds__key_add_number(&online->counts, online->width_ms);
    mcds__key_begin(&online->seen, ns, MCDS__TAG_ONLINE_SEEN, name);
    mcds__key_add_number(&online->seen, online->width_ms);
    mcds__key_add_number(&online->seen, online->buckets);
    settle(online, own.members);
    if (own.members != MCDS_MEMBERS_NONE)
        result = mcds__online_open_members(online, own.members == MCDS_MEMBERS_ESTIMATED,
                                           ttl_ms(online));
    if (result != MCDS_OK)
        mcds_online_close(online);
    else
        *online_out = online;
    return result;
}

void mcds_online_close(mcds_online *online)
{
    if (online != NULL)
        mcds__handle_release(&online->handle);
}
