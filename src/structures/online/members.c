/* Online: with members, exact or estimated, in each bucket (core/members).
 *
 * A visitor that stays active is in many buckets; the window is the union of its buckets. */
#include <assert.h>
#include <math.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/online/online.h"

int mcds__online_open_members(mcds_online *online, bool estimated, uint64_t ttl_ms)
{
    struct mcds__key roots;
    mcds__key_begin(&roots, mcds__store_ns(online->store), MCDS__TAG_ONLINE_MEMBERS,
                    online->name);
    mcds__key_add_number(&roots, online->width_ms);
    online->members = mcds__members_open(online->store, &roots, estimated, ttl_ms);
    if (online->members != NULL)
        return MCDS_OK;
    return mcds__fail_memory("online", online->name, NULL);
}

struct member_beat {
    struct mcds__operation base;
    struct mcds__settings_check check;
    struct mcds__members_hit visit;
};

static enum mcds__step online_members_step_beat(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct member_beat *beat = (struct member_beat *)operation;
    if (!mcds__settings_check_step(&beat->check, operation, &step))
        return step;
    return mcds__members_hit_step(&beat->visit, operation);
}

static void release_beat(struct mcds__operation *operation)
{
    mcds__members_hit_end(&((struct member_beat *)operation)->visit);
}

static const struct mcds__operation_kind beat_kind = {
    "online", "beat", sizeof(struct member_beat), online_members_step_beat};

static int online_members_launch_beat(struct member_beat *beat, mcds_online *online,
                                      const char *visitor, int64_t at_ms,
                                      mcds_pipeline *pipeline, uint64_t tag)
{
    int result = MCDS_OK;
    if (beat == NULL)
        beat = mcds__pipeline_new(pipeline, &online->handle, &beat_kind, &result);
    if (beat == NULL)
        return result;
    mcds__operation_begin(&beat->base, &beat_kind, online->store, online->name, 0);
    beat->base.release = release_beat;
    mcds__settings_check_begin(&beat->check, &online->settings, true, &beat->base);
    uint64_t tally = mcds__tally_at(mcds__time_or_now_ms(online->store, at_ms),
                                    online->width_ms);
    mcds__members_hit_begin(&beat->visit, online->members, tally, visitor);
    return mcds__launch(&beat->base, pipeline, tag);
}

int mcds__online_member_beat(mcds_online *online, const char *visitor, int64_t at_ms,
                             bool piped, mcds_pipeline *pipeline, uint64_t tag)
{
    struct member_beat beat;
    return online_members_launch_beat(piped ? NULL : &beat, online, visitor, at_ms, pipeline,
                                      tag);
}

struct member_window {
    struct mcds__operation base;
    mcds_online *online;
    mcds_online_value *value_out;
    int64_t at_ms;
    struct mcds__settings_check check;
    struct mcds__members_read read;
    bool ends; /* drop: also the settings */
    struct mcds__settings_drop settings;
};

/* A visitor of several buckets counts once in the window: in the current bucket only if it is in
 * none of the closed ones. */
static void online_members_take_value(struct member_window *window)
{
    const mcds_online *online = window->online;
    uint32_t count = window->read.count;
    assert(count > 0 && count <= online->buckets + 1);
    uint64_t all_tallies = (UINT64_C(1) << count) - 1;
    double part = mcds__tally_part(window->at_ms, online->width_ms);
    double all = mcds__members_count(&window->read, all_tallies);
    double closed = mcds__members_count(&window->read, all_tallies & ~UINT64_C(1));
    double oldest = 0; /* visitors seen only in the oldest bucket */
    if (count == online->buckets + 1)
        oldest = all - mcds__members_count(&window->read, all_tallies >> 1);
    double error = sqrt(oldest > 0 ? oldest * part * (1 - part) : 0);
    if (online->members->estimated)
        error = sqrt(error * error + pow(MCDS__HLL_ERROR * all, 2));
    mcds_online_value value = {
        .closed = (uint64_t)(closed + 0.5),
        .estimate = all - oldest * part,
        .error = error,
        .reborn = window->read.reborn,
    };
    if (all > closed)
        value.current = (uint64_t)(all + 0.5) - value.closed;
    mcds__sized_write(MCDS__SIZED_mcds_online_value, window->value_out, &value);
}

static enum mcds__step online_members_end_drop(struct member_window *window)
{
    return mcds__settings_drop_step(&window->settings, &window->online->settings,
                                    &window->base);
}

static enum mcds__step step_window(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct member_window *window = (struct member_window *)operation;
    if (!mcds__settings_check_step(&window->check, operation, &step))
        return step;
    assert(!window->settings.is_begun || window->value_out == NULL);
    if (window->settings.is_begun)
        return online_members_end_drop(window);
    step = mcds__members_read_step(&window->read, operation);
    if (step != MCDS__DONE || operation->result < 0)
        return step;
    if (window->value_out != NULL)
        online_members_take_value(window);
    else if (window->ends) {
        mcds__settings_drop_begin(&window->settings, operation->result == MCDS_OK);
        return online_members_end_drop(window);
    }
    return step;
}

static void release_window(struct mcds__operation *operation)
{
    mcds__members_read_end(&((struct member_window *)operation)->read);
}

static const struct mcds__operation_kind count_kind = {
    "online", "get", sizeof(struct member_window), step_window};
static const struct mcds__operation_kind drop_kind = {
    "online", "drop", sizeof(struct member_window), step_window};

static int online_members_launch_window(struct member_window *window, mcds_online *online,
                                        int64_t at_ms, mcds_online_value *value_out,
                                        mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__operation_kind *kind = value_out != NULL ? &count_kind : &drop_kind;
    int result = MCDS_OK;
    if (window == NULL)
        window = mcds__pipeline_new(pipeline, &online->handle, kind, &result);
    if (window == NULL)
        return result;
    mcds__operation_begin(&window->base, kind, online->store, online->name, 0);
    window->base.release = release_window;
    mcds__settings_check_begin(&window->check, &online->settings, false, &window->base);
    window->online = online;
    window->value_out = value_out;
    window->settings.is_begun = false;
    window->at_ms = mcds__time_or_now_ms(online->store, at_ms);
    uint64_t tally = mcds__tally_at(window->at_ms, online->width_ms);
    uint32_t before = tally < online->buckets ? (uint32_t)tally : online->buckets;
    assert(before <= MCDS__BUCKETS_MAX);
    window->ends = mcds__tally_is_running(mcds__store_env(online->store), tally,
                                          online->width_ms);
    mcds__members_read_begin(&window->read, online->members, tally, before + 1,
                             value_out == NULL);
    return mcds__launch(&window->base, pipeline, tag);
}

int mcds__online_member_window(mcds_online *online, int64_t at_ms, mcds_online_value *value_out,
                               bool piped, mcds_pipeline *pipeline, uint64_t tag)
{
    struct member_window window;
    return online_members_launch_window(piped ? NULL : &window, online, at_ms, value_out,
                                        pipeline, tag);
}
