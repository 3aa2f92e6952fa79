/* Visitors: number of distinct visitors in each period (structures/intervals.h). */
#include <assert.h>
#include <math.h>

#include "base/error.h"
#include "structures/intervals.h"

#define PERIOD_MS_MIN 1000
#define PERIOD_MS_MAX UINT64_C(31622400000)
#define SETTLE_MS_DEFAULT 5000
#define SETTLE_MS_MAX 3600000
/* Added to the computed ttl, because some stores drop keys a little early. */
#define SLACK_MS 4000

struct mcds_visitors {
    struct mcds__intervals intervals; /* the periods */
    uint32_t settle_ms;
};

/* How long a key is needed that is read during `periods` periods; the rest is slack. */
static uint64_t visitors_ttl_ms(const mcds_visitors *visitors, uint64_t periods)
{
    if (visitors->intervals.width_ms == 0)
        return 0;
    return periods * visitors->intervals.width_ms + visitors->settle_ms + SLACK_MS;
}

/* A period is read until the end of the next one. */
#define TALLY_PERIODS 3
#define FIRST_SEEN_PERIODS 2

struct visitors_hit {
    struct mcds__operation base;
    mcds_visitors *visitors;
    uint64_t tally;
    struct mcds__settings_check check;
    struct mcds__unique_hit visit;
};

static enum mcds__step visitors_step_hit(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct visitors_hit *hit = (struct visitors_hit *)operation;
    if (!mcds__settings_check_step(&hit->check, operation, &step))
        return step;
    step = mcds__unique_hit_step(&hit->visit, operation);
    if (step == MCDS__DONE && operation->result == MCDS_OK)
        (void)mcds__tally_remember(
            mcds__intervals_memory(&hit->visitors->intervals, hit->tally), hit->tally,
            hit->visit.hit.incarnation);
    return step;
}

static const struct mcds__operation_kind hit_kind = {
    "visitors", "hit", sizeof(struct visitors_hit), visitors_step_hit, NULL};

static int check_hit(const mcds_visitors *visitors, const char *visitor, int64_t at_ms)
{
    if (visitors == NULL)
        return mcds__fail_missing("visitors", "hit", "a handle");
    int result = MCDS_OK;
    const char *name = visitors->intervals.handle.name;
    if (visitor != NULL)
        result = mcds__check_text(&hit_kind, name, "visitor", visitor);
    if (result == MCDS_OK)
        result = mcds__intervals_check_hit(&visitors->intervals, &hit_kind, at_ms);
    if (result == MCDS_OK && visitor == NULL && visitors->intervals.members != NULL)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, MCDS__CALL(&hit_kind, name),
                          .option = "visitor",
                          .wanted = "a visitor, because its members are kept");
    return result;
}

int mcds_visitors_hit_start(mcds_visitors *visitors, const char *visitor, int64_t at_ms,
                            mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    struct visitors_hit own;
    int result = check_hit(visitors, visitor, at_ms);
    if (result != MCDS_OK)
        return result;
    struct mcds__intervals *intervals = &visitors->intervals;
    if (intervals->members != NULL)
        return mcds__intervals_launch_hit(intervals, visitor, at_ms, start);
    struct visitors_hit *hit = mcds__call_begin(&own.base, &hit_kind, &intervals->handle, start,
                                                &result);
    if (hit == NULL)
        return result;
    mcds__settings_check_begin(&hit->check, &intervals->settings, true, &hit->base);
    hit->visitors = visitors;
    hit->tally = mcds__intervals_at(intervals, at_ms);
    struct mcds__unique_hit *visit = &hit->visit;
    mcds__unique_hit_init(visit, hit->tally, visitors_ttl_ms(visitors, FIRST_SEEN_PERIODS),
                          visitors_ttl_ms(visitors, TALLY_PERIODS));
    visit->anonymous = visitor == NULL;
    visit->key = mcds__intervals_key(intervals, hit->tally);
    if (visitor != NULL) {
        visit->first_seen.key = intervals->seen;
        mcds__key_add_number(&visit->first_seen.key, hit->tally);
        mcds__key_add_element(&visit->first_seen.key, visitor);
    }
    return mcds__call_launch(&hit->base, start);
}

int mcds_visitors_hit(mcds_visitors *visitors, const char *visitor, int64_t at_ms)
{
    return mcds_visitors_hit_start(visitors, visitor, at_ms, MCDS__WAIT, 0);
}

/* Whether the period of at_ms began so recently that the one before may still grow. */
static bool is_provisional(const mcds_visitors *visitors, int64_t at_ms)
{
    assert(at_ms >= 0);
    return visitors->intervals.width_ms > 0 &&
           (uint64_t)at_ms % visitors->intervals.width_ms < visitors->settle_ms;
}

static void visitors_take_numbers(struct mcds__intervals_read *get, const uint64_t numbers[2],
                                  bool reborn)
{
    double part = mcds__tally_part(get->at_ms, get->intervals->width_ms);
    mcds_visitors_value value = {.reborn = reborn};
    value.current = numbers[0];
    value.closed = numbers[1];
    value.estimate = (double)value.closed * (1 - part) + (double)value.current;
    value.error = sqrt((double)value.closed * part * (1 - part));
    value.provisional = is_provisional((const mcds_visitors *)get->intervals, get->at_ms);
    mcds__sized_write(MCDS__SIZED_mcds_visitors_value, get->value_out, &value);
}

enum { CURRENT = 1, CLOSED = 2 };

static void visitors_take_members(struct mcds__intervals_read *get)
{
    assert(get->members.count == 1 || get->members.count == 2);
    double part = mcds__tally_part(get->at_ms, get->intervals->width_ms);
    double current = mcds__members_count(&get->members, CURRENT);
    double closed = mcds__members_count(&get->members, CLOSED);
    double error = sqrt(closed * part * (1 - part));
    if (get->intervals->members->kind->estimated)
        error = sqrt(error * error + pow(MCDS__HLL_ERROR * closed * (1 - part), 2) +
                     pow(MCDS__HLL_ERROR * current, 2));
    mcds_visitors_value value = {
        .closed = (uint64_t)(closed + 0.5),
        .current = (uint64_t)(current + 0.5),
        .estimate = closed * (1 - part) + current,
        .error = error,
        .provisional = is_provisional((const mcds_visitors *)get->intervals, get->at_ms),
        .reborn = get->members.reborn,
    };
    mcds__sized_write(MCDS__SIZED_mcds_visitors_value, get->value_out, &value);
}

static const struct mcds__intervals_face face = {
    .counts_tag = MCDS__TAG_VISITORS,
    .seen_tag = MCDS__TAG_VISITOR_SEEN,
    .members_tag = MCDS__TAG_VISITOR_MEMBERS,
    .width_option = "period_ms",
    .kind = MCDS__KIND_VISITORS,
    .value_type = MCDS__SIZED_mcds_visitors_value,
    .hit_member = MCDS__INTERVALS_HIT("visitors", "hit"),
    .get = MCDS__INTERVALS_READ("visitors", "get"),
    .drop = MCDS__INTERVALS_READ("visitors", "drop"),
    .take_numbers = visitors_take_numbers,
    .take_members = visitors_take_members,
};

int mcds_visitors_get_start(mcds_visitors *visitors, int64_t at_ms,
                            mcds_visitors_value *value_out, mcds_pipeline *pipeline,
                            uint64_t tag)
{
    return mcds__intervals_launch_get((struct mcds__intervals *)visitors, &face, at_ms,
                                      value_out, MCDS__START(pipeline, tag));
}

int mcds_visitors_get(mcds_visitors *visitors, int64_t at_ms, mcds_visitors_value *value_out)
{
    return mcds_visitors_get_start(visitors, at_ms, value_out, MCDS__WAIT, 0);
}

int mcds_visitors_drop_start(mcds_visitors *visitors, int64_t at_ms, mcds_pipeline *pipeline,
                             uint64_t tag)
{
    return mcds__intervals_launch_drop((struct mcds__intervals *)visitors, &face, at_ms,
                                       MCDS__START(pipeline, tag));
}

int mcds_visitors_drop(mcds_visitors *visitors, int64_t at_ms)
{
    return mcds_visitors_drop_start(visitors, at_ms, MCDS__WAIT, 0);
}

static int check_visitors_options(const char *name, const mcds_visitors_options *options)
{
    const struct mcds__given list[] = {
        {MCDS_CAUSE_OUT_OF_RANGE, "period_ms", options->period_ms, PERIOD_MS_MIN,
         PERIOD_MS_MAX},
        {MCDS_CAUSE_UNKNOWN_VALUE, "members", options->members, 0, MCDS_MEMBERS_ESTIMATED},
        {MCDS_CAUSE_OUT_OF_RANGE, "settle_ms", options->settle_ms, 0, SETTLE_MS_MAX},
    };
    return mcds__check_given("visitors", name, NULL, list, sizeof list / sizeof list[0]);
}

int mcds_visitors_open(mcds_store *store, const char *name,
                       const mcds_visitors_options *options, mcds_visitors **visitors_out)
{
    mcds_visitors_options own;
    int result = mcds__read_options("visitors", store, name, visitors_out,
                                    MCDS__SIZED_mcds_visitors_options, options, &own);
    if (result == MCDS_OK)
        result = check_visitors_options(name, &own);
    if (result != MCDS_OK)
        return result;
    mcds_visitors *visitors = mcds__handle_open("visitors", store, name, sizeof *visitors,
                                                mcds__intervals_destroy);
    if (visitors == NULL)
        return MCDS_NO_MEMORY;
    visitors->settle_ms = own.settle_ms > 0 ? own.settle_ms : SETTLE_MS_DEFAULT;
    visitors->intervals.width_ms = own.period_ms;
    visitors->intervals.ahead_ms = own.period_ms + visitors->settle_ms;
    visitors->intervals.before = 1;
    visitors->intervals.memory_count = 2; /* the last even and the last odd period */
    result = mcds__intervals_init(&visitors->intervals, &face,
                                  visitors_ttl_ms(visitors, TALLY_PERIODS), own.members);
    if (result != MCDS_OK)
        mcds_visitors_close(visitors);
    else
        *visitors_out = visitors;
    return result;
}

void mcds_visitors_close(mcds_visitors *visitors)
{
    mcds__handle_release((struct mcds__handle *)visitors);
}
