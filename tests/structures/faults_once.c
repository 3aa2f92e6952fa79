/* Faults: the scenarios of once. Whatever fails, a result is stored as the call says, no two callers
 * have a claim, and a run in doubt is settled by the same call. */
#include "structures/faults.h"

static const mcds_bytes key = {"k", 1};
static const mcds_bytes none = {NULL, 0};

static mcds_once *open_once(mcds_store *store, const char *name, uint32_t run_ms)
{
    mcds_once_options options = MCDS_ONCE_OPTIONS_INIT;
    mcds_once *once = NULL;
    options.run_ms = run_ms;
    int result = mcds_once_open(store, name, &options, &once);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return once;
}

static void prepare_none(struct trial *trial)
{
    trial->once = open_once(trial->store, trial->name, 60000);
    trial->run = (mcds_once_run)MCDS_ONCE_RUN_INIT;
    trial->is_new = true;
}

static void prepare_claim(struct trial *trial)
{
    prepare_none(trial);
    trial->is_new = false;
    CHECK_RESULT(MCDS_OK,
                 mcds_once_begin(trial->once, key, none, 0, &trial->run, &trial->value, NULL));
    assert_true(trial->run.mine);
}

static void prepare_done(struct trial *trial)
{
    prepare_claim(trial);
    CHECK_RESULT(MCDS_OK, mcds_once_finish(trial->once, &trial->run, 3, mcds_text("three")));
}

static int act_begin(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_once_begin, trial->once, key, none, 0,
                   &trial->run, &trial->value, NULL);
}

static int act_renew(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_once_renew, trial->once, &trial->run);
}

static int act_finish(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_once_finish, trial->once, &trial->run, 3,
                   mcds_text("three"));
}

static int act_abandon(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_once_abandon, trial->once, &trial->run);
}

static int act_settle(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_once_settle, trial->once, key, 3,
                   mcds_text("three"));
}

static int act_forget(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_once_forget, trial->once, key);
}

/* What another caller finds. */
static uint32_t state_of(struct trial *trial)
{
    mcds_once_value value = MCDS_ONCE_VALUE_INIT;
    mcds_value bytes = MCDS_VALUE_INIT;
    int result = mcds_once_get(trial->once, key, &value, &bytes);
    HOLDS(trial, result == MCDS_OK || result == MCDS_NOT_FOUND);
    HOLDS(trial, value.state != MCDS_ONCE_DONE || (value.code == 3 && bytes.length == 5 &&
                                                   memcmp(bytes.data, "three", 5) == 0));
    mcds_value_free(&bytes);
    return value.state;
}

static void end(struct trial *trial)
{
    mcds_value_free(&trial->value);
    mcds_once_close(trial->once);
}

/* A claim is there if the caller has it, or is in doubt; in doubt, the same call settles it. */
static void judge_begin(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    HOLDS(trial, trial->run.mine == (result == MCDS_OK));
    HOLDS(trial, !was_lost_once(trial) || result == MCDS_OK);
    uint32_t state = state_of(trial);
    HOLDS(trial, result != MCDS_OK || state == MCDS_ONCE_RUNNING);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || state == 0);
    if (result != MCDS_OK)
        HOLDS(trial, mcds_once_begin(trial->once, key, none, 0, &trial->run, &trial->value,
                                     NULL) == MCDS_OK);
    HOLDS(trial, trial->run.mine);
    HOLDS(trial, mcds_once_finish(trial->once, &trial->run, 3, mcds_text("three")) == MCDS_OK);
    end(trial);
}

static void judge_replay(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    HOLDS(trial, !trial->run.mine && state_of(trial) == MCDS_ONCE_DONE);
    HOLDS(trial, result != MCDS_OK || trial->value.length == 5);
    end(trial);
}

static void judge_renew(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    HOLDS(trial, trial->run.mine && state_of(trial) == MCDS_ONCE_RUNNING);
    HOLDS(trial, mcds_once_finish(trial->once, &trial->run, 3, mcds_text("three")) == MCDS_OK);
    end(trial);
}

static void judge_finish(struct trial *trial, int result)
{
    uint32_t state = state_of(trial);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    HOLDS(trial, !was_lost_once(trial) || result == MCDS_OK);
    HOLDS(trial, result != MCDS_OK || state == MCDS_ONCE_DONE);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || state == MCDS_ONCE_RUNNING);
    if (result != MCDS_OK)
        HOLDS(trial,
              mcds_once_finish(trial->once, &trial->run, 3, mcds_text("three")) == MCDS_OK);
    HOLDS(trial, state_of(trial) == MCDS_ONCE_DONE);
    end(trial);
}

static void judge_abandon(struct trial *trial, int result)
{
    uint32_t state = state_of(trial);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    HOLDS(trial, result != MCDS_OK || state == 0);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || state == MCDS_ONCE_RUNNING);
    if (result != MCDS_OK)
        HOLDS(trial, mcds_once_abandon(trial->once, &trial->run) != MCDS_AMBIGUOUS);
    HOLDS(trial, state_of(trial) == 0);
    end(trial);
}

static void judge_settle(struct trial *trial, int result)
{
    uint32_t state = state_of(trial);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    HOLDS(trial, result != MCDS_OK || state == MCDS_ONCE_DONE);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || state == 0);
    end(trial);
}

static void judge_forget(struct trial *trial, int result)
{
    uint32_t state = state_of(trial);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    HOLDS(trial, result != MCDS_OK || state == 0);
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || state == MCDS_ONCE_DONE);
    end(trial);
}

static const struct scenario scenarios[] = {
    {"once begin", prepare_none, act_begin, judge_begin},
    {"once begin, a result", prepare_done, act_begin, judge_replay},
    {"once renew", prepare_claim, act_renew, judge_renew},
    {"once finish", prepare_claim, act_finish, judge_finish},
    {"once abandon", prepare_claim, act_abandon, judge_abandon},
    {"once settle", prepare_none, act_settle, judge_settle},
    {"once forget", prepare_done, act_forget, judge_forget},
};

FAULT_CASES(once_faults);
