/* Online: number of visitors active in a sliding window of buckets, one key per window
 * (core/tally/window_hit.h).
 *
 * The window of a bucket is that bucket and the `buckets` before it. A visitor's key holds the
 * buckets in which it was active, so each window counts it once. */
#include "structures/online/online.h"

#include <assert.h>
#include <math.h>

#include "base/environment.h"
#include "base/error.h"

#define BUCKETS_DEFAULT 5
#define WIDTH_MS_MIN 1000
#define WIDTH_MS_MAX 86400000
#define WIDTH_MS_DEFAULT 60000
/* Allows for different clocks of machines, and for keys that expire a little early. */
#define SLACK_MS 9000

static struct mcds__tally_memory *online_memory_of(mcds_online *online, uint64_t tally)
{
    return &online->births[tally % MCDS__ONLINE_BIRTHS];
}

static struct mcds__key online_tally_key(const mcds_online *online, uint64_t tally)
{
    struct mcds__key key = online->counts;
    mcds__key_add_number(&key, tally);
    return key;
}

static uint64_t ttl_ms(const mcds_online *online)
{
    assert(online->buckets > 0 && online->buckets <= MCDS__BUCKETS_MAX);
    return (uint64_t)(online->buckets + 2) * online->width_ms + SLACK_MS;
}

struct online_beat {
    struct mcds__operation base;
    struct mcds__settings_check check;
    struct mcds__window_hit visit;
};

static enum mcds__step online_step_beat(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct online_beat *beat = (struct online_beat *)operation;
    if (!mcds__settings_check_step(&beat->check, operation, &step))
        return step;
    return mcds__window_hit_step(&beat->visit, operation);
}

static const struct mcds__operation_kind beat_kind = {
    "online", "beat", sizeof(struct online_beat), online_step_beat};

static int online_launch_beat(struct online_beat *beat, mcds_online *online,
                              const char *visitor, int64_t at_ms, mcds_pipeline *pipeline,
                              uint64_t tag)
{
    if (online == NULL)
        return mcds__fail_missing("online", "beat", "a handle");
    int result = mcds__check_text(&beat_kind, online->name, "visitor", visitor);
    if (result == MCDS_OK)
        result = mcds__check_at_ms(&beat_kind, online->name, at_ms);
    if (result != MCDS_OK)
        return result;
    if (online->members != NULL)
        return mcds__online_member_beat(online, visitor, at_ms, beat == NULL, pipeline, tag);
    if (beat == NULL)
        beat = mcds__pipeline_new(pipeline, &online->handle, &beat_kind, &result);
    if (beat == NULL)
        return result;
    mcds__operation_begin(&beat->base, &beat_kind, online->store, online->name, 0);
    mcds__settings_check_begin(&beat->check, &online->settings, true, &beat->base);
    struct mcds__window_hit *visit = &beat->visit;
    uint64_t bucket = mcds__tally_at(mcds__time_or_now_ms(online->store, at_ms),
                                     online->width_ms);
    mcds__window_hit_init(visit, bucket, online->buckets, ttl_ms(online));
    visit->counts = online->counts;
    visit->memories = online->births;
    visit->memory_count = MCDS__ONLINE_BIRTHS;
    visit->mark.key = online->seen;
    mcds__key_add_element(&visit->mark.key, visitor);
    return mcds__launch(&beat->base, pipeline, tag);
}

int mcds_online_beat(mcds_online *online, const char *visitor, int64_t at_ms)
{
    struct online_beat beat;
    return online_launch_beat(&beat, online, visitor, at_ms, NULL, 0);
}

int mcds_online_beat_start(mcds_online *online, const char *visitor, int64_t at_ms,
                           mcds_pipeline *pipeline, uint64_t tag)
{
    return online_launch_beat(NULL, online, visitor, at_ms, pipeline, tag);
}

/* The numbers of the window and of the next one; to drop the window, also those of all later ones
 * that its last bucket is in, and the settings. */
struct online_window {
    struct mcds__operation base;
    mcds_online *online;
    mcds_online_value *value_out;
    int64_t at_ms;
    uint64_t tally;
    uint32_t count;
    uint8_t stage;
    struct mcds__settings_check check;
    bool seen[2]; /* before the request: others may make one meanwhile */
    struct mcds__key keys[MCDS__BUCKETS_MAX + 2];
    mcds_request requests[MCDS__BUCKETS_MAX + 2];
};

/* The halves of the number of a window, see core/tally/beats.h. */
static uint64_t active_in(uint64_t number)
{
    return number / MCDS__WINDOW_ALL;
}

static uint64_t active_before(uint64_t number)
{
    return number % MCDS__WINDOW_ALL;
}

/* Each number is a lower bound where a reply or a key was lost. Those who were active before the
 * last bucket of the window, or before that of the next one, were active in the window. */
static enum mcds__step take_window(struct online_window *get)
{
    assert(get->count == 2);
    struct mcds__operation *operation = &get->base;
    mcds_online_value value = {0};
    uint64_t numbers[2];
    for (uint32_t i = 0; i < 2; i++)
        if (!mcds__unique_hit_read(operation, &get->requests[i],
                                   online_memory_of(get->online, get->tally + i),
                                   get->tally + i, get->seen[i], &numbers[i], &value.reborn))
            return mcds__operation_finish(operation, MCDS_CORRUPT);
    uint64_t stay = active_before(numbers[1]); /* not only in the oldest bucket */
    uint64_t all = active_in(numbers[0]);
    value.closed = active_before(numbers[0]);
    if (all < stay)
        all = stay;
    if (all < value.closed)
        all = value.closed;
    value.current = all - value.closed;
    double oldest = (double)(all - stay);
    double part = mcds__tally_part(get->at_ms, get->online->width_ms);
    value.estimate = (double)all - oldest * part;
    value.error = sqrt(oldest * part * (1 - part));
    mcds__sized_write(MCDS__SIZED_mcds_online_value, get->value_out, &value);
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step online_step_count(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct online_window *get = (struct online_window *)operation;
    if (!mcds__settings_check_step(&get->check, operation, &step))
        return step;
    step = mcds__tally_read_step(get->requests, get->keys, get->count, 0, &get->stage,
                                 operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    return take_window(get);
}

static enum mcds__step online_step_drop(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct online_window *drop = (struct online_window *)operation;
    assert(drop->count <= MCDS__BUCKETS_MAX + 2);
    if (!mcds__settings_check_step(&drop->check, operation, &step))
        return step;
    step = mcds__tally_drop_step(drop->requests, drop->keys, drop->count, &drop->stage,
                                 operation);
    if (step != MCDS__DONE || operation->result < 0)
        return step;
    for (int i = 0; i < MCDS__ONLINE_BIRTHS; i++)
        mcds__tally_forget(&drop->online->births[i]);
    mcds__settings_forget(&drop->online->settings);
    return step;
}

static const struct mcds__operation_kind count_kind = {
    "online", "get", sizeof(struct online_window), online_step_count};
static const struct mcds__operation_kind drop_kind = {
    "online", "drop", sizeof(struct online_window), online_step_drop};

static int online_launch_window(struct online_window *window,
                                const struct mcds__operation_kind *kind, mcds_online *online,
                                int64_t at_ms, mcds_online_value *value_out,
                                mcds_pipeline *pipeline, uint64_t tag)
{
    int result = MCDS_OK;
    if (window == NULL)
        window = mcds__pipeline_new(pipeline, &online->handle, kind, &result);
    if (window == NULL)
        return result;
    mcds__operation_begin(&window->base, kind, online->store, online->name, 0);
    mcds__settings_check_begin(&window->check, &online->settings, false, &window->base);
    window->online = online;
    window->value_out = value_out;
    window->at_ms = mcds__time_or_now_ms(online->store, at_ms);
    window->tally = mcds__tally_at(window->at_ms, online->width_ms);
    window->stage = 0;
    window->count = kind == &drop_kind ? online->buckets + 1 : 2;
    for (uint32_t i = 0; i < window->count; i++)
        window->keys[i] = online_tally_key(online, window->tally + i);
    for (uint32_t i = 0; i < 2; i++)
        window->seen[i] = mcds__tally_was_seen(online_memory_of(online, window->tally + i),
                                               window->tally + i);
    if (kind == &drop_kind &&
        mcds__tally_is_running(mcds__store_env(online->store), window->tally, online->width_ms))
        window->keys[window->count++] = online->settings.key;
    return mcds__launch(&window->base, pipeline, tag);
}

static int launch_count(struct online_window *window, mcds_online *online, int64_t at_ms,
                        mcds_online_value *value_out, mcds_pipeline *pipeline, uint64_t tag)
{
    if (online == NULL || value_out == NULL)
        return mcds__fail_missing("online", "get", "a handle and a place for the value");
    int result = mcds__sized_check(MCDS__SIZED_mcds_online_value, value_out);
    if (result == MCDS_OK)
        result = mcds__check_at_ms(&count_kind, online->name, at_ms);
    if (result != MCDS_OK)
        return result;
    if (online->members != NULL)
        return mcds__online_member_window(online, at_ms, value_out, window == NULL, pipeline,
                                          tag);
    return online_launch_window(window, &count_kind, online, at_ms, value_out, pipeline, tag);
}

int mcds_online_get(mcds_online *online, int64_t at_ms, mcds_online_value *value_out)
{
    struct online_window window;
    return launch_count(&window, online, at_ms, value_out, NULL, 0);
}

int mcds_online_get_start(mcds_online *online, int64_t at_ms, mcds_online_value *value_out,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_count(NULL, online, at_ms, value_out, pipeline, tag);
}

static int online_launch_drop(struct online_window *window, mcds_online *online, int64_t at_ms,
                              mcds_pipeline *pipeline, uint64_t tag)
{
    if (online == NULL)
        return mcds__fail_missing("online", "drop", "a handle");
    int result = mcds__check_at_ms(&drop_kind, online->name, at_ms);
    if (result != MCDS_OK)
        return result;
    if (online->members != NULL)
        return mcds__online_member_window(online, at_ms, NULL, window == NULL, pipeline, tag);
    return online_launch_window(window, &drop_kind, online, at_ms, NULL, pipeline, tag);
}

int mcds_online_drop(mcds_online *online, int64_t at_ms)
{
    struct online_window window;
    return online_launch_drop(&window, online, at_ms, NULL, 0);
}

int mcds_online_drop_start(mcds_online *online, int64_t at_ms, mcds_pipeline *pipeline,
                           uint64_t tag)
{
    return online_launch_drop(NULL, online, at_ms, pipeline, tag);
}

static int check_online_options(const char *name, const mcds_online_options *options)
{
    if (options->buckets > MCDS__BUCKETS_MAX)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "online", .name = name,
                          .option = "buckets", .wanted_max = MCDS__BUCKETS_MAX,
                          .found_number = options->buckets);
    if (options->members > MCDS_MEMBERS_ESTIMATED)
        return mcds__fail(MCDS_INVALID, UNKNOWN_VALUE, .noun = "online", .name = name,
                          .option = "members", .wanted_max = MCDS_MEMBERS_ESTIMATED,
                          .found_number = options->members);
    if (options->width_ms != 0 &&
        (options->width_ms < WIDTH_MS_MIN || options->width_ms > WIDTH_MS_MAX))
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "online", .name = name,
                          .option = "width_ms", .wanted_min = WIDTH_MS_MIN,
                          .wanted_max = WIDTH_MS_MAX, .found_number = options->width_ms);
    return MCDS_OK;
}

static void online_settle(mcds_online *online, uint32_t members)
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
    int result = mcds__check_open("online", NULL, store, name, online_out);
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
    mcds__key_add_number(&online->counts, online->buckets);
    mcds__key_begin(&online->seen, ns, MCDS__TAG_ONLINE_SEEN, name);
    mcds__key_add_number(&online->seen, online->width_ms);
    mcds__key_add_number(&online->seen, online->buckets);
    online_settle(online, own.members);
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
