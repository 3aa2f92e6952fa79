/* Faults: the scenarios of the counter. */
#include "structures/faults.h"

#define BEFORE 10
#define DELTA 5

static void open_counter(struct trial *trial, uint32_t flags, uint32_t stripes)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.flags = flags;
    options.stripes = stripes;
    CHECK_RESULT(MCDS_OK,
                 mcds_counter_open(trial->store, trial->name, &options, &trial->counter));
    trial->stripes = stripes;
    trial->out = -1;
}

static void prepare_plain(struct trial *trial)
{
    open_counter(trial, 0, 0);
    trial->before = BEFORE;
    CHECK_RESULT(MCDS_OK, mcds_counter_add(trial->counter, BEFORE, NULL));
}

static void prepare_none(struct trial *trial)
{
    open_counter(trial, 0, 0);
    trial->before = 0;
}

static void prepare_strict(struct trial *trial)
{
    open_counter(trial, MCDS_COUNTER_STRICT, 0);
    trial->before = BEFORE;
    CHECK_RESULT(MCDS_OK, mcds_counter_add(trial->counter, BEFORE, NULL));
}

/* Seen as signed by nobody yet, so that the first subtraction looks before it. */
static void prepare_signed(struct trial *trial)
{
    open_counter(trial, MCDS_COUNTER_SIGNED, 0);
    trial->before = BEFORE;
    CHECK_RESULT(MCDS_OK, mcds_counter_add(trial->counter, BEFORE, NULL));
    mcds_counter_close(trial->counter);
    open_counter(trial, MCDS_COUNTER_SIGNED, 0);
}

static void prepare_striped(struct trial *trial)
{
    open_counter(trial, 0, 4);
    trial->before = 0;
    for (uint64_t i = 0; i < 4; i++) {
        struct raw_key raw = raw_key(trial->suite, MCDS__TAG_COUNTER, trial->name, (int64_t)i);
        char text[2] = {(char)('1' + i), '\0'};
        mcds_request request = {.command = MCDS_SET,
                                .flags = 1,
                                .key = mcds__key_bytes(&raw.key),
                                .value = {text, 1}};
        mcds_batch batch = {.requests = &request, .count = 1, .deadline_ns = INT64_MAX};
        mcds__store_execute(trial->store, 0, &batch);
        assert_int_equal(request.reply.outcome, MCDS_OUT_OK);
        trial->before += i + 1;
    }
}

static int64_t value_of(struct trial *trial)
{
    mcds_counter *probe = NULL;
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    options.stripes = trial->stripes;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(trial->store, trial->name, &options, &probe));
    int result = mcds_counter_get(probe, &value);
    HOLDS(trial, result == MCDS_OK || result == MCDS_NOT_FOUND);
    mcds_counter_close(probe);
    return value.value;
}

static int act_add(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_counter_add, trial->counter, DELTA,
                   &trial->out);
}

static int act_subtract(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_counter_add, trial->counter, -DELTA,
                   &trial->out);
}

static void judge_delta(struct trial *trial, int result, int64_t delta)
{
    int64_t before = (int64_t)trial->before;
    int64_t value = value_of(trial);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (result == MCDS_OK) {
        HOLDS(trial, value == before + delta);
        HOLDS(trial, trial->out == before + delta);
    } else {
        HOLDS(trial, trial->out == -1);
        HOLDS(trial, value == before || (result == MCDS_AMBIGUOUS && value == before + delta));
    }
}

static void judge_add(struct trial *trial, int result)
{
    judge_delta(trial, result, DELTA);
}

static void judge_subtract(struct trial *trial, int result)
{
    judge_delta(trial, result, -DELTA);
}

static int act_get(struct trial *trial)
{
    mcds_counter_value value = {.size = sizeof(mcds_counter_value), .value = -1};
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_counter_get, trial->counter,
                         &value);
    trial->out = value.value;
    return result;
}

static void judge_get(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || is_definite(result));
    HOLDS(trial, trial->out == (result == MCDS_OK ? (int64_t)trial->before : -1));
}

static int act_take(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_counter_take, trial->counter,
                   &trial->out);
}

/* What is taken and what is left make up the whole. */
static void judge_take(struct trial *trial, int result)
{
    int64_t before = (int64_t)trial->before;
    int64_t left = value_of(trial);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (result == MCDS_OK)
        HOLDS(trial, left + trial->out == before && trial->out > 0);
    else if (result == MCDS_AMBIGUOUS)
        HOLDS(trial, left <= before && left + trial->out >= before);
    else
        HOLDS(trial, left == before && trial->out == -1);
}

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_counter_drop, trial->counter);
}

static void judge_drop(struct trial *trial, int result)
{
    int64_t value = value_of(trial);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (result == MCDS_OK)
        HOLDS(trial, value == 0);
    else
        HOLDS(trial, value == BEFORE || (result == MCDS_AMBIGUOUS && value == 0));
}

static void counter_faults(struct suite *suite)
{
    static const struct scenario scenarios[] = {
        {"counter add", prepare_plain, act_add, judge_add},
        {"the first counter add", prepare_none, act_add, judge_add},
        {"strict counter add", prepare_strict, act_add, judge_add},
        {"counter subtract", prepare_signed, act_subtract, judge_subtract},
        {"counter get", prepare_plain, act_get, judge_get},
        {"striped counter get", prepare_striped, act_get, judge_get},
        {"counter take", prepare_plain, act_take, judge_take},
        {"striped counter take", prepare_striped, act_take, judge_take},
        {"counter drop", prepare_plain, act_drop, judge_drop},
    };
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        try_all_faults(suite, &scenarios[i]);
}

static const struct suite_case cases[] = {
    CASE_TWICE(counter_faults),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
