/* Faults: the scenarios of ids. Whatever fails, no id is returned twice, and none falls. */
#include "structures/faults.h"

static mcds_ids *open_ids(struct trial *trial)
{
    mcds_ids_options options = MCDS_IDS_OPTIONS_INIT;
    mcds_ids *ids = NULL;
    options.spread_ms = 1;
    CHECK_RESULT(MCDS_OK, mcds_ids_open(trial->store, trial->name, &options, &ids));
    return ids;
}

static void prepare_none(struct trial *trial)
{
    trial->ids = open_ids(trial);
    trial->is_new = true;
    trial->before = 0;
}

/* The handle that is tried has no range, and the key is there. */
static void prepare_key(struct trial *trial)
{
    mcds_ids *maker = open_ids(trial);
    int result = mcds_ids_next(maker, &trial->before);
    mcds_ids_close(maker);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    trial->ids = open_ids(trial);
    trial->is_new = false;
}

static int act_take(struct trial *trial)
{
    trial->id = 0;
    return CALL_IN(trial->suite, trial->pipeline, mcds_ids_take, trial->ids, 5, &trial->id);
}

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_ids_drop, trial->ids);
}

/* The next ids are above those before the call and those that it has returned. */
static void judge_next(struct trial *trial, uint64_t last)
{
    uint64_t next = 0;
    mcds_ids *fresh = open_ids(trial);
    int result = mcds_ids_next(fresh, &next);
    mcds_ids_close(fresh);
    mcds_ids_close(trial->ids);
    skip_if_unsupported(result);
    HOLDS(trial, result == MCDS_OK);
    HOLDS(trial, next > last);
}

/* A take is never in doubt, and one whose reply was lost once succeeds. */
static void judge_take(struct trial *trial, int result)
{
    if (!is_definite(result))
        skip_if_unsupported(result);
    HOLDS(trial, result == MCDS_OK || is_definite(result));
    HOLDS(trial, result != MCDS_LOST && result != MCDS_NOT_FOUND);
    HOLDS(trial, !was_lost_once(trial) || result == MCDS_OK);
    HOLDS(trial, (result == MCDS_OK) == (trial->id > trial->before));
    HOLDS(trial, result == MCDS_OK || trial->id == 0);
    judge_next(trial, result == MCDS_OK ? trial->id + 4 : trial->before);
}

static void judge_drop(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_NOT_FOUND || result == MCDS_AMBIGUOUS ||
                     is_definite(result));
    HOLDS(trial, result != (trial->is_new ? MCDS_OK : MCDS_NOT_FOUND));
    judge_next(trial, trial->before);
}

static const struct scenario scenarios[] = {
    {"ids take", prepare_key, act_take, judge_take},
    {"ids take, the first", prepare_none, act_take, judge_take},
    {"ids drop", prepare_key, act_drop, judge_drop},
    {"ids drop, no key", prepare_none, act_drop, judge_drop},
};

FAULT_CASES(ids_faults);
