/* Faults: the scenarios of the semaphore. Whatever fails, no slot has two holders, and no permit is
 * given back twice. */
#include "base/environment.h"
#include "structures/faults.h"

#define PERMITS 2
/* Longer than a call that meets a fault may take. */
#define LEASE_MS 60000

static mcds_semaphore *open_semaphore(struct trial *trial)
{
    mcds_semaphore_options options = MCDS_SEMAPHORE_OPTIONS_INIT;
    mcds_semaphore *semaphore = NULL;
    options.permits = PERMITS;
    options.lease_ms = LEASE_MS;
    int result = mcds_semaphore_open(trial->store, trial->name, &options, &semaphore);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return semaphore;
}

static void prepare_none(struct trial *trial)
{
    trial->semaphore = open_semaphore(trial);
    trial->other_semaphore = open_semaphore(trial);
    trial->permit = trial->other_permit = (mcds_permit)MCDS_PERMIT_INIT;
}

/* The other one holds a permit, so that the slot of the other permit is known. */
static void prepare_half(struct trial *trial)
{
    prepare_none(trial);
    CHECK_RESULT(MCDS_OK,
                 mcds_semaphore_try_acquire(trial->other_semaphore, &trial->other_permit));
}

static void prepare_mine(struct trial *trial)
{
    prepare_half(trial);
    CHECK_RESULT(MCDS_OK, mcds_semaphore_try_acquire(trial->semaphore, &trial->permit));
    trial->before = trial->permit.lease.fence;
    trial->out = trial->permit.lease.deadline_ns;
}

/* How many permits can be acquired at this moment; all are given back. */
static uint32_t count_free(struct trial *trial)
{
    mcds_permit permits[PERMITS + 1];
    uint32_t count = 0;
    for (; count <= PERMITS; count++) {
        permits[count] = (mcds_permit)MCDS_PERMIT_INIT;
        int result = mcds_semaphore_try_acquire(trial->other_semaphore, &permits[count]);
        HOLDS(trial, result == MCDS_OK || result == MCDS_BUSY);
        if (result != MCDS_OK)
            break;
    }
    HOLDS(trial, count <= PERMITS);
    for (uint32_t i = 0; i < count; i++)
        HOLDS(trial, mcds_semaphore_release(trial->other_semaphore, &permits[i]) == MCDS_OK);
    return count;
}

static bool is_held(struct trial *trial)
{
    return mcds_semaphore_renew(trial->semaphore, &trial->permit) == MCDS_OK;
}

static int act_acquire(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_semaphore_try_acquire, trial->semaphore,
                   &trial->permit);
}

/* The other holder has PERMITS - free_before of them. */
static void judge_acquired(struct trial *trial, int result, uint32_t free_before)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (result == MCDS_AMBIGUOUS)
        result = mcds_semaphore_try_acquire(trial->semaphore, &trial->permit);
    if (result == MCDS_OK) {
        HOLDS(trial, trial->permit.slot < PERMITS && is_held(trial));
        HOLDS(trial, free_before == PERMITS || trial->permit.slot != trial->other_permit.slot);
        HOLDS(trial, count_free(trial) == free_before - 1);
        HOLDS(trial, mcds_semaphore_release(trial->semaphore, &trial->permit) == MCDS_OK);
        HOLDS(trial, count_free(trial) == free_before);
    } else {
        HOLDS(trial, is_definite(result) && trial->permit.lease.fence == 0);
        /* What was stored before the server refused all cannot be taken back; nor can a claim that a
         * call gives back without a reply. */
        HOLDS(trial, count_free(trial) <= free_before);
    }
}

static void judge_first_acquire(struct trial *trial, int result)
{
    judge_acquired(trial, result, PERMITS);
}

static void judge_acquire(struct trial *trial, int result)
{
    judge_acquired(trial, result, PERMITS - 1);
}

/* After AMBIGUOUS one may also release. */
static void judge_acquire_and_release(struct trial *trial, int result)
{
    if (result != MCDS_AMBIGUOUS) {
        judge_acquire(trial, result);
        return;
    }
    HOLDS(trial, mcds_semaphore_release(trial->semaphore, &trial->permit) == MCDS_AMBIGUOUS);
    HOLDS(trial, count_free(trial) == PERMITS - 1);
}

static int act_renew(struct trial *trial)
{
    pass_ms(trial->suite, 2);
    return CALL_IN(trial->suite, trial->pipeline, mcds_semaphore_renew, trial->semaphore,
                   &trial->permit);
}

static void judge_renew(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (result == MCDS_OK)
        HOLDS(trial, trial->permit.lease.deadline_ns >= trial->out + NS_PER_MS);
    else
        HOLDS(trial, trial->permit.lease.deadline_ns == trial->out);
    HOLDS(trial, trial->permit.lease.fence == trial->before && is_held(trial));
}

static int act_release(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_semaphore_release, trial->semaphore,
                   &trial->permit);
}

/* One permit is back, whatever the number of releases; the other holder keeps its own. */
static void judge_release(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (is_definite(result))
        HOLDS(trial, is_held(trial));
    if (result != MCDS_OK && trial->permit.lease.fence != 0) {
        result = mcds_semaphore_release(trial->semaphore, &trial->permit);
        HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS);
    }
    HOLDS(trial, trial->permit.lease.fence == 0);
    HOLDS(trial, count_free(trial) == 1);
    HOLDS(trial, mcds_semaphore_renew(trial->other_semaphore, &trial->other_permit) == MCDS_OK);
}

static bool count_holder(void *context, const mcds_semaphore_holder *holder)
{
    struct trial *trial = context;
    HOLDS(trial, holder->permits == PERMITS && holder->fence > 0);
    trial->id++;
    return true;
}

static int act_holders(struct trial *trial)
{
    trial->id = 0;
    return CALL_IN(trial->suite, trial->pipeline, mcds_semaphore_holders, trial->semaphore,
                   count_holder, trial);
}

static void judge_holders(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || is_definite(result));
    HOLDS(trial, trial->id == (result == MCDS_OK ? PERMITS : 0));
    HOLDS(trial, is_held(trial));
}

static int act_resize(struct trial *trial)
{
    trial->above = 77;
    return CALL_IN(trial->suite, trial->pipeline, mcds_semaphore_resize, trial->semaphore, 1,
                   &trial->above);
}

/* Of the two holders one is left above. Both keep their permits. */
static void judge_resize(struct trial *trial, int result)
{
    mcds_semaphore_options made = MCDS_SEMAPHORE_OPTIONS_INIT;
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    HOLDS(trial, trial->above == (result == MCDS_OK ? 1 : 77));
    HOLDS(trial, mcds_semaphore_made_with(trial->store, trial->name, &made) == MCDS_OK);
    HOLDS(trial, result == MCDS_AMBIGUOUS || made.permits == (result == MCDS_OK ? 1 : PERMITS));
    HOLDS(trial, is_held(trial));
    HOLDS(trial, mcds_semaphore_resize(trial->other_semaphore, 1, &trial->above) == MCDS_OK);
    HOLDS(trial, trial->above == 1);
}

static void prepare_free(struct trial *trial)
{
    prepare_half(trial);
    CHECK_RESULT(MCDS_OK, mcds_semaphore_release(trial->other_semaphore, &trial->other_permit));
}

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_semaphore_drop, trial->semaphore);
}

/* A drop whose reply was lost may hold a permit. */
static void judge_drop(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    uint32_t count = count_free(trial);
    HOLDS(trial, count == PERMITS ||
                     (count == PERMITS - 1 && (result == MCDS_AMBIGUOUS || trial->stays)));
}

static void judge_drop_refused(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_BUSY || is_definite(result));
    HOLDS(trial, is_held(trial) && count_free(trial) == 0);
}

static void semaphore_faults(struct suite *suite)
{
    static const struct scenario scenarios[] = {
        {"the first semaphore acquire", prepare_none, act_acquire, judge_first_acquire},
        {"semaphore acquire", prepare_half, act_acquire, judge_acquire},
        {"semaphore acquire, release", prepare_half, act_acquire, judge_acquire_and_release},
        {"semaphore renew", prepare_mine, act_renew, judge_renew},
        {"semaphore release", prepare_mine, act_release, judge_release},
        {"semaphore holders", prepare_mine, act_holders, judge_holders},
        {"semaphore resize", prepare_mine, act_resize, judge_resize},
        {"semaphore drop", prepare_free, act_drop, judge_drop},
        {"semaphore drop while held", prepare_mine, act_drop, judge_drop_refused},
    };
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        try_all_faults(suite, &scenarios[i]);
}

static const struct suite_case cases[] = {
    CASE_TWICE(semaphore_faults),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
