/* Visitors: with members, exact or estimated, in each period (core/members). */
#include <assert.h>
#include <math.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/visitors/visitors.h"

bool mcds__visitors_is_provisional(const mcds_visitors *visitors, int64_t at_ms)
{
    assert(at_ms >= 0);
    return visitors->period_ms > 0 &&
           (uint64_t)at_ms % visitors->period_ms < visitors->settle_ms;
}

int mcds__visitors_open_members(mcds_visitors *visitors, bool estimated, uint64_t ttl_ms)
{
    struct mcds__key roots;
    mcds__key_begin(&roots, mcds__store_ns(visitors->store), MCDS__TAG_VISITOR_MEMBERS,
                    visitors->name);
    mcds__key_add_number(&roots, visitors->period_ms);
    visitors->members = mcds__members_open(visitors->store, &roots, estimated, ttl_ms);
    if (visitors->members != NULL)
        return MCDS_OK;
    return mcds__fail_memory("visitors", visitors->name, NULL);
}

struct member_hit {
    struct mcds__operation base;
    struct mcds__settings_check check;
    struct mcds__members_hit visit;
};

static enum mcds__step visitors_members_step_hit(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct member_hit *hit = (struct member_hit *)operation;
    if (!mcds__settings_check_step(&hit->check, operation, &step))
        return step;
    return mcds__members_hit_step(&hit->visit, operation);
}

static void visitors_members_release_hit(struct mcds__operation *operation)
{
    mcds__members_hit_end(&((struct member_hit *)operation)->visit);
}

static const struct mcds__operation_kind hit_kind = {
    "visitors", "hit", sizeof(struct member_hit), visitors_members_step_hit};

static int visitors_members_launch_hit(struct member_hit *hit, mcds_visitors *visitors,
                                       const char *visitor, int64_t at_ms,
                                       mcds_pipeline *pipeline, uint64_t tag)
{
    int result = MCDS_OK;
    if (visitor == NULL)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, .noun = "visitors",
                          .name = visitors->name, .verb = "hit", .option = "visitor",
                          .wanted = "a visitor, because its members are kept");
    if (hit == NULL)
        hit = mcds__pipeline_new(pipeline, &visitors->handle, &hit_kind, &result);
    if (hit == NULL)
        return result;
    mcds__operation_begin(&hit->base, &hit_kind, visitors->store, visitors->name, 0);
    hit->base.release = visitors_members_release_hit;
    mcds__settings_check_begin(&hit->check, &visitors->settings, true, &hit->base);
    uint64_t tally = mcds__tally_at(mcds__time_or_now_ms(visitors->store, at_ms),
                                    visitors->period_ms);
    mcds__members_hit_begin(&hit->visit, visitors->members, tally, visitor);
    return mcds__launch(&hit->base, pipeline, tag);
}

int mcds__visitors_member_hit(mcds_visitors *visitors, const char *visitor, int64_t at_ms,
                              bool piped, mcds_pipeline *pipeline, uint64_t tag)
{
    struct member_hit hit;
    return visitors_members_launch_hit(piped ? NULL : &hit, visitors, visitor, at_ms, pipeline,
                                       tag);
}

struct member_pair {
    struct mcds__operation base;
    mcds_visitors *visitors;
    mcds_visitors_value *value_out;
    int64_t at_ms;
    struct mcds__settings_check check;
    struct mcds__members_read read;
    bool ends; /* drop: also the settings */
    struct mcds__settings_drop settings;
};

enum { CURRENT = 1, CLOSED = 2 };

static void visitors_members_take_value(struct member_pair *pair)
{
    const mcds_visitors *visitors = pair->visitors;
    assert(pair->read.count == 1 || pair->read.count == 2);
    double part = mcds__tally_part(pair->at_ms, visitors->period_ms);
    double current = mcds__members_count(&pair->read, CURRENT);
    double closed = mcds__members_count(&pair->read, CLOSED);
    double error = sqrt(closed * part * (1 - part));
    if (visitors->members->estimated)
        error = sqrt(error * error + pow(MCDS__HLL_ERROR * closed * (1 - part), 2) +
                     pow(MCDS__HLL_ERROR * current, 2));
    mcds_visitors_value value = {
        .closed = (uint64_t)(closed + 0.5),
        .current = (uint64_t)(current + 0.5),
        .estimate = closed * (1 - part) + current,
        .error = error,
        .provisional = mcds__visitors_is_provisional(visitors, pair->at_ms),
        .reborn = pair->read.reborn,
    };
    mcds__sized_write(MCDS__SIZED_mcds_visitors_value, pair->value_out, &value);
}

static enum mcds__step visitors_members_end_drop(struct member_pair *pair)
{
    return mcds__settings_drop_step(&pair->settings, &pair->visitors->settings, &pair->base);
}

static enum mcds__step step_pair(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct member_pair *pair = (struct member_pair *)operation;
    if (!mcds__settings_check_step(&pair->check, operation, &step))
        return step;
    assert(!pair->settings.is_begun || pair->value_out == NULL);
    if (pair->settings.is_begun)
        return visitors_members_end_drop(pair);
    step = mcds__members_read_step(&pair->read, operation);
    if (step != MCDS__DONE || operation->result < 0)
        return step;
    if (pair->value_out != NULL)
        visitors_members_take_value(pair);
    else if (pair->ends) {
        mcds__settings_drop_begin(&pair->settings, operation->result == MCDS_OK);
        return visitors_members_end_drop(pair);
    }
    return step;
}

static void release_pair(struct mcds__operation *operation)
{
    mcds__members_read_end(&((struct member_pair *)operation)->read);
}

static const struct mcds__operation_kind get_kind = {"visitors", "get",
                                                     sizeof(struct member_pair), step_pair};
static const struct mcds__operation_kind drop_kind = {"visitors", "drop",
                                                      sizeof(struct member_pair), step_pair};

static int visitors_members_launch_pair(struct member_pair *pair, mcds_visitors *visitors,
                                        int64_t at_ms, mcds_visitors_value *value_out,
                                        mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__operation_kind *kind = value_out != NULL ? &get_kind : &drop_kind;
    int result = MCDS_OK;
    if (pair == NULL)
        pair = mcds__pipeline_new(pipeline, &visitors->handle, kind, &result);
    if (pair == NULL)
        return result;
    mcds__operation_begin(&pair->base, kind, visitors->store, visitors->name, 0);
    pair->base.release = release_pair;
    mcds__settings_check_begin(&pair->check, &visitors->settings, false, &pair->base);
    pair->visitors = visitors;
    pair->value_out = value_out;
    pair->settings.is_begun = false;
    pair->at_ms = mcds__time_or_now_ms(visitors->store, at_ms);
    uint64_t tally = mcds__tally_at(pair->at_ms, visitors->period_ms);
    pair->ends = mcds__tally_is_running(mcds__store_env(visitors->store), tally,
                                        visitors->period_ms);
    mcds__members_read_begin(&pair->read, visitors->members, tally, tally > 0 ? 2 : 1,
                             value_out == NULL);
    return mcds__launch(&pair->base, pipeline, tag);
}

int mcds__visitors_member_pair(mcds_visitors *visitors, int64_t at_ms,
                               mcds_visitors_value *value_out, bool piped,
                               mcds_pipeline *pipeline, uint64_t tag)
{
    struct member_pair pair;
    return visitors_members_launch_pair(piped ? NULL : &pair, visitors, at_ms, value_out,
                                        pipeline, tag);
}
