/* Faults: how a scenario is tried, and those of the counter. */
#include "structures/faults.h"

#define REQUESTS_MAX 100
/* Nobody waits that long but for a server that is slow. */
#define TIMEOUT_MS 5000

static struct {
    const struct scenario *scenario;
    enum fault fault;
    uint64_t at;
    int result;
} running;

bool is_definite(int result)
{
    switch (result) {
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
    case MCDS_FULL:
    case MCDS_IO:
    case MCDS_TOO_BIG:
    case MCDS_PROTOCOL:
        return true;
    default:
        return false;
    }
}

void holds(const struct trial *trial, bool fact, const char *words, const char *file, int line)
{
    if (fact)
        return;
    print_error("%s, request %llu %s%s: %s, and not: %s\n", running.scenario->name,
                (unsigned long long)running.at, fault_name(running.fault),
                trial->stays ? " and all later ones" : "", mcds_result_name(running.result),
                words);
    _fail(file, line);
}

static void open_trial(struct suite *suite, struct trial *trial)
{
    char uri[1024];
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(trial, 0, sizeof *trial);
    trial->suite = suite;
    trial->lease = trial->other = (mcds_lease)MCDS_LEASE_INIT;
    options.env = &suite->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    place_uri_of(suite->place, "faults", uri, sizeof uri);
    CHECK_RESULT(MCDS_OK, counting_home_open(&trial->counting, uri, &suite->fake.env, &options,
                                             &trial->store));
    if (suite->mode != WAITING)
        CHECK_RESULT(MCDS_OK, mcds_pipeline_open(trial->store, NULL, &trial->pipeline));
}

static void close_trial(struct trial *trial)
{
    mcds_counter_close(trial->counter);
    mcds_lock_close(trial->lock);
    mcds_lock_close(trial->rival);
    mcds_visitors_close(trial->visitors);
    mcds_online_close(trial->online);
    mcds_pipeline_close(trial->pipeline);
    mcds_close(trial->store);
}

/* False: the call made fewer than `at` requests. */
static bool try_fault(struct suite *suite, const struct scenario *scenario, enum fault fault,
                      uint64_t at, bool stays)
{
    struct trial trial;
    open_trial(suite, &trial);
    running.scenario = scenario;
    running.fault = fault;
    running.at = at;
    running.result = MCDS_IDLE;
    trial.name = fresh_name(suite, "fault");
    scenario->prepare(&trial);
    trial.stays = stays;
    counting_home_arm(&trial.counting, fault, at, stays);
    running.result = scenario->act(&trial);
    bool came = trial.counting.fault_came;
    counting_home_arm(&trial.counting, FAULT_NONE, 0, false);
    scenario->judge(&trial, running.result);
    close_trial(&trial);
    return came;
}

void try_all_faults(struct suite *suite, const struct scenario *scenario)
{
    if (suite->mode != WAITING && (suite->own_clock || suite->can.durable))
        skip(); /* the engine is the same, and these take long */
    suite->skips_sleep = true;
    HOLDS((&(struct trial){.suite = suite}), !try_fault(suite, scenario, FAULT_NONE, 0, false));
    for (enum fault fault = FAULT_UNSENT; fault < FAULT_COUNT; fault++)
        for (int stays = 0; stays <= 1; stays++) {
            uint64_t at = 1;
            while (at <= REQUESTS_MAX && try_fault(suite, scenario, fault, at, stays == 1))
                at++;
            assert_in_range(at, 2, REQUESTS_MAX);
        }
}

/* The scenarios of the counter. */
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
    mcds_counter_value value = {0, 0, false};
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

static void judge_change(struct trial *trial, int result, int64_t delta)
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
    judge_change(trial, result, DELTA);
}

static void judge_subtract(struct trial *trial, int result)
{
    judge_change(trial, result, -DELTA);
}

static int act_get(struct trial *trial)
{
    mcds_counter_value value = {-1, 0, false};
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
    CASE_TWICE(counter_faults),  CASE_TWICE(exact_faults),  CASE_TWICE(lock_faults),
    CASE_TWICE(visitors_faults), CASE_TWICE(online_faults),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
