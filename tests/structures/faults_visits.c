/* Faults: the scenarios of visitors and online. */
#include "structures/faults.h"

#define PERIOD 60000
#define MINUTE 60000

static void open_visitors(struct trial *trial)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    options.period_ms = PERIOD;
    CHECK_RESULT(MCDS_OK,
                 mcds_visitors_open(trial->store, trial->name, &options, &trial->visitors));
}

static void prepare_period(struct trial *trial)
{
    open_visitors(trial);
    CHECK_RESULT(MCDS_OK, mcds_visitors_hit(trial->visitors, "ann", T0_MS));
    trial->before = 1;
}

static int act_hit_new(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_visitors_hit, trial->visitors, "bob",
                   T0_MS);
}

static int act_hit_known(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_visitors_hit, trial->visitors, "ann",
                   T0_MS);
}

static int act_hit_nameless(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_visitors_hit, trial->visitors, NULL,
                   T0_MS);
}

static uint64_t visited(struct trial *trial)
{
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    HOLDS(trial, mcds_visitors_get(trial->visitors, T0_MS, &value) == MCDS_OK);
    return value.current;
}

static void judge_hit(struct trial *trial, int result)
{
    uint64_t count = visited(trial);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (result == MCDS_OK)
        HOLDS(trial, count == trial->before + 1);
    else if (result == MCDS_AMBIGUOUS)
        HOLDS(trial, count == trial->before || count == trial->before + 1);
    else
        HOLDS(trial, count == trial->before);
}

/* A visitor that was not counted can be counted; one that was is not counted again. */
static void judge_hit_new(struct trial *trial, int result)
{
    judge_hit(trial, result);
    uint64_t count = visited(trial);
    int again = mcds_visitors_hit(trial->visitors, "bob", T0_MS);
    if (result == MCDS_OK)
        HOLDS(trial, again == MCDS_EXISTS);
    else if (is_definite(result))
        HOLDS(trial, again == MCDS_OK);
    HOLDS(trial, again == MCDS_OK || again == MCDS_EXISTS);
    HOLDS(trial, visited(trial) == count + (again == MCDS_OK));
    HOLDS(trial, visited(trial) <= trial->before + 1);
}

static void judge_hit_known(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_EXISTS || result == MCDS_AMBIGUOUS || is_definite(result));
    HOLDS(trial, visited(trial) == trial->before);
}

static int act_get(struct trial *trial)
{
    mcds_visitors_value value = {.size = sizeof(mcds_visitors_value),
                                 .closed = 77,
                                 .current = 77,
                                 .estimate = 77,
                                 .error = 77,
                                 .provisional = true,
                                 .reborn = true};
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_visitors_get, trial->visitors,
                         T0_MS, &value);
    trial->out = (int64_t)value.current;
    return result;
}

static void judge_count(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || is_definite(result));
    HOLDS(trial, trial->out == (result == MCDS_OK ? (int64_t)trial->before : 77));
}

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_visitors_drop, trial->visitors, T0_MS);
}

static void judge_drop(struct trial *trial, int result)
{
    uint64_t count = visited(trial);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (result == MCDS_OK)
        HOLDS(trial, count == 0);
    else
        HOLDS(trial, count == trial->before || (result == MCDS_AMBIGUOUS && count == 0));
}

static void visitors_faults(struct suite *suite)
{
    static const struct scenario scenarios[] = {
        {"visitors hit", prepare_period, act_hit_new, judge_hit_new},
        {"visitors hit, first of a period", open_visitors, act_hit_new, judge_hit_new},
        {"visitors hit, known", prepare_period, act_hit_known, judge_hit_known},
        {"nameless hit", prepare_period, act_hit_nameless, judge_hit},
        {"nameless hit, first of a period", open_visitors, act_hit_nameless, judge_hit},
        {"visitors get", prepare_period, act_get, judge_count},
        {"visitors drop", prepare_period, act_drop, judge_drop},
    };
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        try_all_faults(suite, &scenarios[i]);
}

static void open_online(struct trial *trial)
{
    CHECK_RESULT(MCDS_OK, mcds_online_open(trial->store, trial->name, NULL, &trial->online));
}

static void prepare_bucket(struct trial *trial)
{
    open_online(trial);
    CHECK_RESULT(MCDS_OK, mcds_online_beat(trial->online, "ann", T0_MS));
    trial->before = 1;
}

/* Bob was counted before, and the last window that counts him is the one of the bucket before. */
static void prepare_due(struct trial *trial)
{
    prepare_bucket(trial);
    CHECK_RESULT(MCDS_OK, mcds_online_beat(trial->online, "bob", T0_MS - 6 * MINUTE));
}

static uint64_t present(struct trial *trial)
{
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    HOLDS(trial, mcds_online_get(trial->online, T0_MS, &value) == MCDS_OK);
    return value.closed + value.current;
}

static int act_beat(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_online_beat, trial->online, "bob",
                   T0_MS);
}

static int act_beat_known(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_online_beat, trial->online, "ann",
                   T0_MS);
}

static void judge_beat(struct trial *trial, int result)
{
    uint64_t count = present(trial);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (result == MCDS_OK)
        HOLDS(trial, count == trial->before + 1);
    else if (result == MCDS_AMBIGUOUS)
        HOLDS(trial, count == trial->before || count == trial->before + 1);
    else
        HOLDS(trial, count == trial->before);
    int again = mcds_online_beat(trial->online, "bob", T0_MS);
    HOLDS(trial, again == (is_definite(result) ? MCDS_OK : MCDS_EXISTS) ||
                     (result == MCDS_AMBIGUOUS && again == MCDS_OK));
    HOLDS(trial, present(trial) == count + (again == MCDS_OK));
    HOLDS(trial, present(trial) <= trial->before + 1);
}

static void judge_beat_known(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_EXISTS || result == MCDS_AMBIGUOUS || is_definite(result));
    HOLDS(trial, present(trial) == trial->before);
}

static int act_count(struct trial *trial)
{
    mcds_online_value value = {.size = sizeof(mcds_online_value),
                               .closed = 77,
                               .current = 77,
                               .estimate = 77,
                               .error = 77,
                               .reborn = true};
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_online_get, trial->online, T0_MS,
                         &value);
    trial->out = (int64_t)value.current;
    return result;
}

static int act_online_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_online_drop, trial->online, T0_MS);
}

static void judge_online_drop(struct trial *trial, int result)
{
    uint64_t count = present(trial);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (result == MCDS_OK)
        HOLDS(trial, count == 0);
    else
        HOLDS(trial, count == trial->before || (result == MCDS_AMBIGUOUS && count == 0));
}

static void online_faults(struct suite *suite)
{
    static const struct scenario scenarios[] = {
        {"online beat", prepare_bucket, act_beat, judge_beat},
        {"online beat, first of a bucket", open_online, act_beat, judge_beat},
        {"online beat, due again", prepare_due, act_beat, judge_beat},
        {"online beat, known", prepare_bucket, act_beat_known, judge_beat_known},
        {"online get", prepare_bucket, act_count, judge_count},
        {"online drop", prepare_bucket, act_online_drop, judge_online_drop},
    };
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        try_all_faults(suite, &scenarios[i]);
}

static const struct suite_case cases[] = {
    CASE_TWICE(visitors_faults),
    CASE_TWICE(online_faults),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
