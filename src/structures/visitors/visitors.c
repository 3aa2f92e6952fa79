/* Visitors: number of distinct visitors in each period, one key per period (core/tally). */
#include "structures/visitors/visitors.h"

#include <assert.h>
#include <math.h>

#include "base/environment.h"
#include "base/error.h"

#define PERIOD_MS_MIN 1000
#define PERIOD_MS_MAX UINT64_C(31622400000)
#define SETTLE_MS_DEFAULT 5000
#define SETTLE_MS_MAX 3600000
/* Added to the computed ttl, because some stores drop keys a little early. */
#define SLACK_MS 4000

static struct mcds__key visitors_tally_key(const mcds_visitors *visitors, uint64_t tally)
{
    struct mcds__key key = visitors->counts;
    mcds__key_add_number(&key, tally);
    return key;
}

/* A period is read until the end of the next one; the rest is slack. */
static uint64_t tally_ttl_ms(const mcds_visitors *visitors)
{
    if (visitors->period_ms == 0)
        return 0;
    return 3 * visitors->period_ms + visitors->settle_ms + SLACK_MS;
}

static uint64_t first_seen_ttl_ms(const mcds_visitors *visitors)
{
    if (visitors->period_ms == 0)
        return 0;
    return 2 * visitors->period_ms + visitors->settle_ms + SLACK_MS;
}

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
        (void)mcds__tally_remember(&hit->visitors->incarnations[hit->tally & 1], hit->tally,
                                   hit->visit.hit.incarnation);
    return step;
}

static const struct mcds__operation_kind hit_kind = {
    "visitors", "hit", sizeof(struct visitors_hit), visitors_step_hit};

static int check_hit(const mcds_visitors *visitors, const char *visitor, int64_t at_ms)
{
    if (visitors == NULL)
        return mcds__fail_missing("visitors", "hit", "a handle");
    int result = MCDS_OK;
    if (visitor != NULL)
        result = mcds__check_text(&hit_kind, visitors->name, "visitor", visitor);
    if (result == MCDS_OK)
        result = mcds__check_at_ms(&hit_kind, visitors->name, at_ms);
    return result;
}

static int visitors_launch_hit(struct visitors_hit *hit, mcds_visitors *visitors,
                               const char *visitor, int64_t at_ms, mcds_pipeline *pipeline,
                               uint64_t tag)
{
    int result = check_hit(visitors, visitor, at_ms);
    if (result != MCDS_OK)
        return result;
    if (visitors->members != NULL)
        return mcds__visitors_member_hit(visitors, visitor, at_ms, hit == NULL, pipeline, tag);
    if (hit == NULL)
        hit = mcds__pipeline_new(pipeline, &visitors->handle, &hit_kind, &result);
    if (hit == NULL)
        return result;
    mcds__operation_begin(&hit->base, &hit_kind, visitors->store, visitors->name, 0);
    mcds__settings_check_begin(&hit->check, &visitors->settings, true, &hit->base);
    hit->visitors = visitors;
    hit->tally = mcds__tally_at(mcds__time_or_now_ms(visitors->store, at_ms),
                                visitors->period_ms);
    struct mcds__unique_hit *visit = &hit->visit;
    mcds__unique_hit_init(visit, hit->tally, first_seen_ttl_ms(visitors),
                          tally_ttl_ms(visitors));
    visit->anonymous = visitor == NULL;
    visit->key = visitors_tally_key(visitors, hit->tally);
    if (visitor != NULL) {
        visit->first_seen.key = visitors->seen;
        mcds__key_add_number(&visit->first_seen.key, hit->tally);
        mcds__key_add_element(&visit->first_seen.key, visitor);
    }
    return mcds__launch(&hit->base, pipeline, tag);
}

int mcds_visitors_hit(mcds_visitors *visitors, const char *visitor, int64_t at_ms)
{
    struct visitors_hit hit;
    return visitors_launch_hit(&hit, visitors, visitor, at_ms, NULL, 0);
}

int mcds_visitors_hit_start(mcds_visitors *visitors, const char *visitor, int64_t at_ms,
                            mcds_pipeline *pipeline, uint64_t tag)
{
    return visitors_launch_hit(NULL, visitors, visitor, at_ms, pipeline, tag);
}

/* The current period and the one before it; for a drop, also the settings. */
struct visitors_pair {
    struct mcds__operation base;
    mcds_visitors *visitors;
    mcds_visitors_value *value_out;
    int64_t at_ms;
    uint64_t tally;
    uint32_t count; /* of keys: 1 where there is no period before */
    uint8_t stage;
    struct mcds__settings_check check;
    bool seen[2]; /* before the request: another thread may make one meanwhile */
    struct mcds__key keys[3];
    mcds_request requests[3];
};

static enum mcds__step take_pair(struct visitors_pair *get)
{
    mcds_visitors *visitors = get->visitors;
    assert(get->count == 1 || get->count == 2);
    struct mcds__operation *operation = &get->base;
    mcds_visitors_value value = {0};
    uint64_t counts[2] = {0, 0};
    for (uint32_t i = 0; i < get->count; i++) {
        uint64_t tally = get->tally - i;
        if (!mcds__unique_hit_read(operation, &get->requests[i],
                                   &visitors->incarnations[tally & 1], tally, get->seen[i],
                                   &counts[i], &value.reborn))
            return mcds__operation_finish(operation, MCDS_CORRUPT);
    }
    double part = mcds__tally_part(get->at_ms, visitors->period_ms);
    value.current = counts[0];
    value.closed = counts[1];
    value.estimate = (double)value.closed * (1 - part) + (double)value.current;
    value.error = sqrt((double)value.closed * part * (1 - part));
    value.provisional = mcds__visitors_is_provisional(visitors, get->at_ms);
    mcds__sized_write(MCDS__SIZED_mcds_visitors_value, get->value_out, &value);
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step visitors_step_get(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct visitors_pair *get = (struct visitors_pair *)operation;
    if (!mcds__settings_check_step(&get->check, operation, &step))
        return step;
    step = mcds__tally_read_step(get->requests, get->keys, get->count, 0, &get->stage,
                                 operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    return take_pair(get);
}

static enum mcds__step visitors_step_drop(struct mcds__operation *operation)
{
    enum mcds__step step;
    struct visitors_pair *drop = (struct visitors_pair *)operation;
    if (!mcds__settings_check_step(&drop->check, operation, &step))
        return step;
    step = mcds__tally_drop_step(drop->requests, drop->keys, drop->count, &drop->stage,
                                 operation);
    if (step != MCDS__DONE || operation->result < 0)
        return step;
    for (int i = 0; i < 2; i++)
        mcds__tally_forget(&drop->visitors->incarnations[i]);
    mcds__settings_forget(&drop->visitors->settings);
    return step;
}

static const struct mcds__operation_kind get_kind = {
    "visitors", "get", sizeof(struct visitors_pair), visitors_step_get};
static const struct mcds__operation_kind drop_kind = {
    "visitors", "drop", sizeof(struct visitors_pair), visitors_step_drop};

static int visitors_launch_pair(struct visitors_pair *pair,
                                const struct mcds__operation_kind *kind,
                                mcds_visitors *visitors, int64_t at_ms,
                                mcds_visitors_value *value_out, mcds_pipeline *pipeline,
                                uint64_t tag)
{
    int result = MCDS_OK;
    if (pair == NULL)
        pair = mcds__pipeline_new(pipeline, &visitors->handle, kind, &result);
    if (pair == NULL)
        return result;
    mcds__operation_begin(&pair->base, kind, visitors->store, visitors->name, 0);
    mcds__settings_check_begin(&pair->check, &visitors->settings, false, &pair->base);
    pair->visitors = visitors;
    pair->value_out = value_out;
    pair->at_ms = mcds__time_or_now_ms(visitors->store, at_ms);
    pair->tally = mcds__tally_at(pair->at_ms, visitors->period_ms);
    pair->count = pair->tally > 0 ? 2 : 1;
    pair->stage = 0;
    for (uint32_t i = 0; i < pair->count; i++) {
        uint64_t tally = pair->tally - i;
        pair->keys[i] = visitors_tally_key(visitors, tally);
        pair->seen[i] = mcds__tally_was_seen(&visitors->incarnations[tally & 1], tally);
    }
    if (kind == &drop_kind && mcds__tally_is_running(mcds__store_env(visitors->store),
                                                     pair->tally, visitors->period_ms))
        pair->keys[pair->count++] = visitors->settings.key;
    assert(pair->count <= sizeof pair->keys / sizeof pair->keys[0]);
    return mcds__launch(&pair->base, pipeline, tag);
}

static int visitors_launch_get(struct visitors_pair *get, mcds_visitors *visitors,
                               int64_t at_ms, mcds_visitors_value *value_out,
                               mcds_pipeline *pipeline, uint64_t tag)
{
    if (visitors == NULL || value_out == NULL)
        return mcds__fail_missing("visitors", "get", "a handle and a place for the value");
    int result = mcds__sized_check(MCDS__SIZED_mcds_visitors_value, value_out);
    if (result == MCDS_OK)
        result = mcds__check_at_ms(&get_kind, visitors->name, at_ms);
    if (result != MCDS_OK)
        return result;
    if (visitors->members != NULL)
        return mcds__visitors_member_pair(visitors, at_ms, value_out, get == NULL, pipeline,
                                          tag);
    return visitors_launch_pair(get, &get_kind, visitors, at_ms, value_out, pipeline, tag);
}

int mcds_visitors_get(mcds_visitors *visitors, int64_t at_ms, mcds_visitors_value *value_out)
{
    struct visitors_pair get;
    return visitors_launch_get(&get, visitors, at_ms, value_out, NULL, 0);
}

int mcds_visitors_get_start(mcds_visitors *visitors, int64_t at_ms,
                            mcds_visitors_value *value_out, mcds_pipeline *pipeline,
                            uint64_t tag)
{
    return visitors_launch_get(NULL, visitors, at_ms, value_out, pipeline, tag);
}

static int visitors_launch_drop(struct visitors_pair *drop, mcds_visitors *visitors,
                                int64_t at_ms, mcds_pipeline *pipeline, uint64_t tag)
{
    if (visitors == NULL)
        return mcds__fail_missing("visitors", "drop", "a handle");
    int result = mcds__check_at_ms(&drop_kind, visitors->name, at_ms);
    if (result != MCDS_OK)
        return result;
    if (visitors->members != NULL)
        return mcds__visitors_member_pair(visitors, at_ms, NULL, drop == NULL, pipeline, tag);
    return visitors_launch_pair(drop, &drop_kind, visitors, at_ms, NULL, pipeline, tag);
}

int mcds_visitors_drop(mcds_visitors *visitors, int64_t at_ms)
{
    struct visitors_pair drop;
    return visitors_launch_drop(&drop, visitors, at_ms, NULL, 0);
}

int mcds_visitors_drop_start(mcds_visitors *visitors, int64_t at_ms, mcds_pipeline *pipeline,
                             uint64_t tag)
{
    return visitors_launch_drop(NULL, visitors, at_ms, pipeline, tag);
}

static int check_visitors_options(const char *name, const mcds_visitors_options *options)
{
    if (options->period_ms != 0 &&
        (options->period_ms < PERIOD_MS_MIN || options->period_ms > PERIOD_MS_MAX))
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "visitors", .name = name,
                          .option = "period_ms", .wanted_min = PERIOD_MS_MIN,
                          .wanted_max = (int64_t)PERIOD_MS_MAX,
                          MCDS__FOUND(options->period_ms));
    if (options->members > MCDS_MEMBERS_ESTIMATED)
        return mcds__fail(MCDS_INVALID, UNKNOWN_VALUE, .noun = "visitors", .name = name,
                          .option = "members", .wanted_max = MCDS_MEMBERS_ESTIMATED,
                          .found_number = options->members);
    if (options->settle_ms > SETTLE_MS_MAX)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "visitors", .name = name,
                          .option = "settle_ms", .wanted_max = SETTLE_MS_MAX,
                          .found_number = options->settle_ms);
    return MCDS_OK;
}

static void visitors_settle(mcds_visitors *visitors, uint32_t members)
{
    assert(members <= MCDS_MEMBERS_ESTIMATED);
    struct mcds__key key;
    const struct mcds__setting settings[] = {
        {.name = "period_ms", .number = visitors->period_ms},
        {"members", members, mcds__members_reasons, MCDS__MEMBERS_REASONS},
    };
    mcds__key_begin(&key, mcds__store_ns(visitors->store), MCDS__TAG_VISITORS, visitors->name);
    mcds__settings_init(&visitors->settings, mcds__store_env(visitors->store),
                        MCDS__KIND_VISITORS, &key, settings, 2, tally_ttl_ms(visitors));
}

static void destroy_visitors(struct mcds__handle *handle)
{
    mcds_visitors *visitors = (mcds_visitors *)handle;
    const mcds_env *env = mcds__store_env(visitors->store);
    mcds__members_close(visitors->members);
    mcds__free(env, visitors->name);
    mcds__free(env, visitors);
}

int mcds_visitors_open(mcds_store *store, const char *name,
                       const mcds_visitors_options *options, mcds_visitors **visitors_out)
{
    mcds_visitors_options own;
    int result = mcds__check_open("visitors", NULL, store, name, visitors_out);
    if (result == MCDS_OK)
        result = mcds__sized_read(MCDS__SIZED_mcds_visitors_options, options, &own);
    if (result == MCDS_OK)
        result = check_visitors_options(name, &own);
    if (result != MCDS_OK)
        return result;
    const mcds_env *env = mcds__store_env(store);
    mcds_visitors *visitors = mcds__allocate_zero(env, sizeof *visitors);
    char *own_name = mcds__copy_string(env, name);
    if (visitors == NULL || own_name == NULL) {
        mcds__free(env, visitors);
        mcds__free(env, own_name);
        return mcds__fail_memory("visitors", name, NULL);
    }
    mcds__handle_begin(&visitors->handle, store, destroy_visitors);
    visitors->store = store;
    visitors->name = own_name;
    visitors->period_ms = own.period_ms;
    visitors->settle_ms = own.settle_ms > 0 ? own.settle_ms : SETTLE_MS_DEFAULT;
    const char *ns = mcds__store_ns(store);
    mcds__key_begin(&visitors->counts, ns, MCDS__TAG_VISITORS, name);
    mcds__key_add_number(&visitors->counts, visitors->period_ms);
    mcds__key_begin(&visitors->seen, ns, MCDS__TAG_VISITOR_SEEN, name);
    mcds__key_add_number(&visitors->seen, visitors->period_ms);
    visitors_settle(visitors, own.members);
    if (own.members != MCDS_MEMBERS_NONE)
        result = mcds__visitors_open_members(visitors, own.members == MCDS_MEMBERS_ESTIMATED,
                                             tally_ttl_ms(visitors));
    if (result != MCDS_OK)
        mcds_visitors_close(visitors);
    else
        *visitors_out = visitors;
    return result;
}

void mcds_visitors_close(mcds_visitors *visitors)
{
    if (visitors != NULL)
        mcds__handle_release(&visitors->handle);
}
