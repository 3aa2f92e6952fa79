/* Faults: the scenarios of the exact counter. */
#include "structures/faults.h"

#define NEVER_MS 3600000
#define BEFORE 10
#define DELTA 5

static mcds_counter *open_that_flushes(struct trial *trial, uint32_t flush_ms)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    options.flags = MCDS_COUNTER_EXACT;
    options.flush_ms = flush_ms;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(trial->store, trial->name, &options, &counter));
    return counter;
}

static mcds_counter *open_exact(struct trial *trial)
{
    return open_that_flushes(trial, NEVER_MS);
}

/* What the store holds, as another sees it. */
static int64_t value_of(struct trial *trial)
{
    mcds_counter *probe = open_exact(trial);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int result = mcds_counter_get(probe, &value);
    HOLDS(trial, result == MCDS_OK || result == MCDS_NOT_FOUND);
    HOLDS(trial, !value.reborn);
    mcds_counter_close(probe);
    return value.value;
}

static void prepare_new(struct trial *trial)
{
    trial->counter = open_exact(trial);
    trial->before = 0;
    trial->out = -1;
    CHECK_RESULT(MCDS_OK, mcds_counter_add(trial->counter, DELTA, NULL));
}

static void prepare_warm(struct trial *trial)
{
    trial->counter = open_exact(trial);
    trial->before = BEFORE;
    trial->out = -1;
    CHECK_RESULT(MCDS_OK, mcds_counter_add(trial->counter, BEFORE, NULL));
    CHECK_RESULT(MCDS_OK, mcds_counter_flush(trial->counter));
    CHECK_RESULT(MCDS_OK, mcds_counter_add(trial->counter, DELTA, NULL));
}

/* Another has left its slot to the next writer. */
static void prepare_heir(struct trial *trial)
{
    mcds_counter *first = NULL;
    trial->counter = NULL;
    first = open_exact(trial);
    CHECK_RESULT(MCDS_OK, mcds_counter_add(first, BEFORE, NULL));
    CHECK_RESULT(MCDS_OK, mcds_counter_flush(first));
    mcds_counter_close(first);
    prepare_new(trial);
    trial->before = BEFORE;
}

static int act_flush(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_counter_flush, trial->counter);
}

/* Whatever became of it, the next flush brings all of it once. */
static void judge_flush(struct trial *trial, int result)
{
    int64_t before = (int64_t)trial->before;
    int64_t value = value_of(trial);
    mcds_counter_value own = MCDS_COUNTER_VALUE_INIT;
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (was_lost_once(trial)) /* a look is repeated */
        HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS);
    if (result == MCDS_OK)
        HOLDS(trial, value == before + DELTA);
    else
        HOLDS(trial, value == before || (result == MCDS_AMBIGUOUS && value == before + DELTA));
    HOLDS(trial, mcds_counter_get(trial->counter, &own) == MCDS_OK);
    HOLDS(trial, own.value == before + DELTA);
    HOLDS(trial, mcds_counter_flush(trial->counter) == MCDS_OK);
    HOLDS(trial, value_of(trial) == before + DELTA);
    HOLDS(trial, mcds_counter_add(trial->counter, 100, NULL) == MCDS_OK);
    HOLDS(trial, mcds_counter_flush(trial->counter) == MCDS_OK);
    HOLDS(trial, value_of(trial) == before + DELTA + 100);
}

static void prepare_add_new(struct trial *trial)
{
    trial->counter = open_that_flushes(trial, MCDS_COUNTER_FLUSH_EACH);
    trial->before = 0;
}

static void prepare_add_warm(struct trial *trial)
{
    trial->counter = open_that_flushes(trial, MCDS_COUNTER_FLUSH_EACH);
    trial->before = BEFORE;
    CHECK_RESULT(MCDS_OK, mcds_counter_add(trial->counter, BEFORE, NULL));
}

static int act_add(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_counter_add, trial->counter, DELTA,
                   NULL);
}

/* OK: counted. AMBIGUOUS: counted in the handle, and the next flush brings it. Others: not counted,
 * now and later. */
static void judge_add(struct trial *trial, int result)
{
    int64_t before = (int64_t)trial->before;
    int64_t after = before;
    int64_t value = value_of(trial);
    if (result == MCDS_OK || result == MCDS_AMBIGUOUS)
        after += DELTA;
    else
        HOLDS(trial, is_definite(result));
    HOLDS(trial, value == after || (result == MCDS_AMBIGUOUS && value == before));
    HOLDS(trial, mcds_counter_flush(trial->counter) == MCDS_OK);
    HOLDS(trial, value_of(trial) == after);
    HOLDS(trial, mcds_counter_add(trial->counter, 100, NULL) == MCDS_OK);
    HOLDS(trial, value_of(trial) == after + 100);
    mcds_counter_close(trial->counter);
    trial->counter = NULL;
    HOLDS(trial, value_of(trial) == after + 100);
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
    HOLDS(trial, trial->out == (result == MCDS_OK ? (int64_t)trial->before + DELTA : -1));
    HOLDS(trial, mcds_counter_flush(trial->counter) == MCDS_OK);
    HOLDS(trial, value_of(trial) == (int64_t)trial->before + DELTA);
}

/* What closing does not bring is lost, and nothing comes twice. */
static int act_close(struct trial *trial)
{
    mcds_counter_close(trial->counter);
    trial->counter = NULL;
    return MCDS_OK;
}

static void judge_close(struct trial *trial, int result)
{
    int64_t before = (int64_t)trial->before;
    int64_t value = value_of(trial);
    (void)result;
    HOLDS(trial, value == before || value == before + DELTA);
    prepare_new(trial);
    HOLDS(trial, mcds_counter_flush(trial->counter) == MCDS_OK);
    HOLDS(trial, value_of(trial) == value + DELTA);
}

static void exact_faults(struct suite *suite)
{
    static const struct scenario scenarios[] = {
        {"exact counter flush", prepare_warm, act_flush, judge_flush},
        {"exact counter close", prepare_warm, act_close, judge_close},
        {"exact counter add", prepare_add_warm, act_add, judge_add},
        {"the first exact counter add", prepare_add_new, act_add, judge_add},
        {"the first exact counter flush", prepare_new, act_flush, judge_flush},
        {"exact counter flush of an heir", prepare_heir, act_flush, judge_flush},
        {"exact counter get", prepare_warm, act_get, judge_get},
    };
    /* A look at all slots is 64 requests, which fail alike everywhere; and over a network each
     * such trial takes its time. */
    size_t count = suite->own_clock ? 3 : sizeof scenarios / sizeof scenarios[0];
    for (size_t i = 0; i < count; i++)
        try_all_faults(suite, &scenarios[i]);
}

static const struct suite_case cases[] = {
    CASE_TWICE(exact_faults),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
