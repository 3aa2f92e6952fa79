/* Online: number of visitors active in a sliding window of buckets (structures/intervals.h), one
 * key per window (core/tally/window_hit.h), or with members one map per bucket.
 *
 * The window of a bucket is that bucket and the `buckets` before it. A visitor's key holds the
 * buckets in which it was active, so each window counts it once. With members, a visitor that
 * stays active is in many buckets; the window is the union of its buckets. */
#include <assert.h>
#include <math.h>

#include "base/error.h"
#include "structures/intervals.h"

#define BUCKETS_DEFAULT 5
#define BUCKETS_MAX MCDS__INTERVALS_BEFORE_MAX
#define WIDTH_MS_MIN 1000
#define WIDTH_MS_MAX 86400000
#define WIDTH_MS_DEFAULT 60000
/* Allows for different clocks of machines, and for keys that expire a little early. */
#define SLACK_MS 9000
/* The difference of clocks that a beat may have. */
#define SETTLE_MS 5000

struct mcds_online {
    struct mcds__intervals intervals; /* the buckets */
};

static uint64_t ttl_ms(const struct mcds__intervals *buckets)
{
    assert(buckets->before > 0 && buckets->before <= BUCKETS_MAX);
    return (uint64_t)(buckets->before + 2) * buckets->width_ms + SLACK_MS;
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
    "online", "beat", sizeof(struct online_beat), online_step_beat, NULL};

int mcds_online_beat_start(mcds_online *online, const char *visitor, int64_t at_ms,
                           mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    if (online == NULL)
        return mcds__fail_missing("online", "beat", "a handle");
    struct online_beat own;
    struct mcds__intervals *buckets = &online->intervals;
    int result = mcds__check_text(&beat_kind, buckets->handle.name, "visitor", visitor);
    if (result == MCDS_OK)
        result = mcds__intervals_check_hit(buckets, &beat_kind, at_ms);
    if (result != MCDS_OK)
        return result;
    if (buckets->members != NULL)
        return mcds__intervals_launch_hit(buckets, visitor, at_ms, start);
    struct online_beat *beat = mcds__call_begin(&own.base, &beat_kind, &buckets->handle, start,
                                                &result);
    if (beat == NULL)
        return result;
    mcds__settings_check_begin(&beat->check, &buckets->settings, true, &beat->base);
    beat->check.needs_cas = true;
    struct mcds__window_hit *visit = &beat->visit;
    mcds__window_hit_init(visit, mcds__intervals_at(buckets, at_ms), buckets->before,
                          ttl_ms(buckets));
    visit->counts = buckets->counts;
    visit->memories = buckets->memories;
    visit->memory_count = buckets->memory_count;
    visit->mark.mark.key = buckets->seen;
    mcds__key_add_element(&visit->mark.mark.key, visitor);
    return mcds__call_launch(&beat->base, start);
}

int mcds_online_beat(mcds_online *online, const char *visitor, int64_t at_ms)
{
    return mcds_online_beat_start(online, visitor, at_ms, MCDS__WAIT, 0);
}

/* The halves of the number of a window, see core/tally/beats.h. */
static uint64_t active_in(uint64_t number)
{
    return number / MCDS__WINDOW_ALL;
}

static uint64_t active_before(uint64_t number)
{
    return number % MCDS__WINDOW_ALL;
}

/* The numbers are those of the window and of the next one. Each is a lower bound where a reply or a
 * key was lost. Visitors that were active before the last bucket of the window, or before that of the
 * next one, were active in the window. */
static void online_take_numbers(struct mcds__intervals_read *get, const uint64_t numbers[2],
                                bool reborn)
{
    mcds_online_value value = {.reborn = reborn};
    uint64_t stay = active_before(numbers[1]); /* not only in the oldest bucket */
    uint64_t all = active_in(numbers[0]);
    value.closed = active_before(numbers[0]);
    if (all < stay)
        all = stay;
    if (all < value.closed)
        all = value.closed;
    value.current = all - value.closed;
    double oldest = (double)(all - stay);
    double part = mcds__tally_part(get->at_ms, get->intervals->width_ms);
    value.estimate = (double)all - oldest * part;
    value.error = sqrt(oldest * part * (1 - part));
    mcds__sized_write(MCDS__SIZED_mcds_online_value, get->value_out, &value);
}

/* A visitor of several buckets counts once in the window: in the current bucket only if it is in
 * none of the closed ones. */
static void online_take_members(struct mcds__intervals_read *get)
{
    uint32_t count = get->members.count;
    assert(count > 0 && count <= get->intervals->before + 1);
    uint64_t all_tallies = (UINT64_C(1) << count) - 1;
    double part = mcds__tally_part(get->at_ms, get->intervals->width_ms);
    double all = mcds__members_count(&get->members, all_tallies);
    double closed = mcds__members_count(&get->members, all_tallies & ~UINT64_C(1));
    double oldest = 0; /* visitors seen only in the oldest bucket */
    if (count == get->intervals->before + 1)
        oldest = all - mcds__members_count(&get->members, all_tallies >> 1);
    double error = sqrt(oldest > 0 ? oldest * part * (1 - part) : 0);
    if (get->intervals->members->kind->estimated)
        error = sqrt(error * error + pow(MCDS__HLL_ERROR * all, 2));
    mcds_online_value value = {
        .closed = (uint64_t)(closed + 0.5),
        .estimate = all - oldest * part,
        .error = error,
        .reborn = get->members.reborn,
    };
    if (all > closed)
        value.current = (uint64_t)(all + 0.5) - value.closed;
    mcds__sized_write(MCDS__SIZED_mcds_online_value, get->value_out, &value);
}

static const struct mcds__intervals_face face = {
    .counts_tag = MCDS__TAG_ONLINE,
    .seen_tag = MCDS__TAG_ONLINE_SEEN,
    .members_tag = MCDS__TAG_ONLINE_MEMBERS,
    .width_option = "width_ms",
    .kind = MCDS__KIND_ONLINE,
    .value_type = MCDS__SIZED_mcds_online_value,
    .is_window = true,
    .hit_member = MCDS__INTERVALS_HIT("online", "beat"),
    .get = MCDS__INTERVALS_READ("online", "get"),
    .drop = MCDS__INTERVALS_READ("online", "drop"),
    .take_numbers = online_take_numbers,
    .take_members = online_take_members,
};

int mcds_online_get_start(mcds_online *online, int64_t at_ms, mcds_online_value *value_out,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds__intervals_launch_get((struct mcds__intervals *)online, &face, at_ms, value_out,
                                      MCDS__START(pipeline, tag));
}

int mcds_online_get(mcds_online *online, int64_t at_ms, mcds_online_value *value_out)
{
    return mcds_online_get_start(online, at_ms, value_out, MCDS__WAIT, 0);
}

int mcds_online_drop_start(mcds_online *online, int64_t at_ms, mcds_pipeline *pipeline,
                           uint64_t tag)
{
    return mcds__intervals_launch_drop((struct mcds__intervals *)online, &face, at_ms,
                                       MCDS__START(pipeline, tag));
}

int mcds_online_drop(mcds_online *online, int64_t at_ms)
{
    return mcds_online_drop_start(online, at_ms, MCDS__WAIT, 0);
}

static int check_online_options(const char *name, const mcds_online_options *options)
{
    const struct mcds__given list[] = {
        {MCDS_CAUSE_OUT_OF_RANGE, "buckets", options->buckets, 0, BUCKETS_MAX},
        {MCDS_CAUSE_UNKNOWN_VALUE, "members", options->members, 0, MCDS_MEMBERS_ESTIMATED},
        {MCDS_CAUSE_OUT_OF_RANGE, "width_ms", options->width_ms, WIDTH_MS_MIN, WIDTH_MS_MAX},
    };
    return mcds__check_given("online", name, NULL, list, sizeof list / sizeof list[0]);
}

int mcds_online_open(mcds_store *store, const char *name, const mcds_online_options *options,
                     mcds_online **online_out)
{
    mcds_online_options own;
    int result = mcds__read_options("online", store, name, online_out,
                                    MCDS__SIZED_mcds_online_options, options, &own);
    if (result == MCDS_OK)
        result = check_online_options(name, &own);
    if (result != MCDS_OK)
        return result;
    mcds_online *online = mcds__handle_open("online", store, name, sizeof *online,
                                            mcds__intervals_destroy);
    if (online == NULL)
        return MCDS_NO_MEMORY;
    struct mcds__intervals *buckets = &online->intervals;
    buckets->before = own.buckets > 0 ? own.buckets : BUCKETS_DEFAULT;
    buckets->width_ms = own.width_ms > 0 ? own.width_ms : WIDTH_MS_DEFAULT;
    buckets->ahead_ms = buckets->width_ms + SETTLE_MS;
    buckets->memory_count = MCDS__INTERVALS_MEMORIES;
    result = mcds__intervals_init(buckets, &face, ttl_ms(buckets), own.members);
    if (result != MCDS_OK)
        mcds_online_close(online);
    else
        *online_out = online;
    return result;
}

void mcds_online_close(mcds_online *online)
{
    mcds__handle_release((struct mcds__handle *)online);
}
