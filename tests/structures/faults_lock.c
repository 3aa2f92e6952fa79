/* Faults: the scenarios of the lock. */
#include "base/environment.h"
#include "structures/faults.h"

/* Longer than a call that meets a fault may take. */
#define LEASE_MS 60000

static void open_locks(struct trial *trial)
{
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    options.lease_ms = LEASE_MS;
    options.label = "mine";
    int result = mcds_lock_open(trial->store, trial->name, &options, &trial->lock);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    options.label = NULL;
    CHECK_RESULT(MCDS_OK, mcds_lock_open(trial->store, trial->name, &options, &trial->rival));
}

static void prepare_free(struct trial *trial)
{
    open_locks(trial);
    CHECK_RESULT(MCDS_OK, mcds_lock_try_acquire(trial->rival, &trial->other));
    trial->before = trial->other.fence;
    CHECK_RESULT(MCDS_OK, mcds_lock_release(trial->rival, &trial->other));
}

static void prepare_taken(struct trial *trial)
{
    open_locks(trial);
    CHECK_RESULT(MCDS_OK, mcds_lock_try_acquire(trial->rival, &trial->other));
}

static void prepare_mine(struct trial *trial)
{
    open_locks(trial);
    CHECK_RESULT(MCDS_OK, mcds_lock_try_acquire(trial->lock, &trial->lease));
    trial->before = trial->lease.fence;
    trial->out = trial->lease.deadline_ns;
}

/* The rival can have it, and give it back. */
static bool is_free(struct trial *trial)
{
    int result = mcds_lock_try_acquire(trial->rival, &trial->other);
    return result == MCDS_OK && mcds_lock_release(trial->rival, &trial->other) == MCDS_OK;
}

static bool is_mine(struct trial *trial)
{
    return mcds_lock_try_acquire(trial->rival, &trial->other) == MCDS_BUSY &&
           mcds_lock_renew(trial->lock, &trial->lease) == MCDS_OK;
}

static int act_acquire(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_lock_try_acquire, trial->lock,
                   &trial->lease);
}

static void judge_acquire(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (result == MCDS_AMBIGUOUS)
        result = mcds_lock_try_acquire(trial->lock, &trial->lease);
    if (result == MCDS_OK) {
        HOLDS(trial, trial->lease.fence > trial->before);
        HOLDS(trial, is_mine(trial));
        HOLDS(trial, mcds_lock_release(trial->lock, &trial->lease) == MCDS_OK);
        HOLDS(trial, is_free(trial));
        return;
    }
    HOLDS(trial, is_definite(result));
    HOLDS(trial, trial->lease.fence == 0 && trial->lease.deadline_ns == 0);
    /* When the server refuses all that comes, what was stored before cannot be taken back. */
    if (!trial->stays)
        HOLDS(trial, is_free(trial));
}

/* After AMBIGUOUS one may also let go. */
static void judge_acquire_and_let_go(struct trial *trial, int result)
{
    if (result == MCDS_AMBIGUOUS) {
        int released = mcds_lock_release(trial->lock, &trial->lease);
        HOLDS(trial, released == MCDS_AMBIGUOUS);
        HOLDS(trial, is_free(trial));
    } else {
        judge_acquire(trial, result);
    }
}

static void judge_refused(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_BUSY || result == MCDS_AMBIGUOUS || is_definite(result));
    if (result == MCDS_AMBIGUOUS)
        HOLDS(trial, mcds_lock_release(trial->lock, &trial->lease) == MCDS_AMBIGUOUS);
    HOLDS(trial, trial->lease.fence == 0);
    HOLDS(trial, mcds_lock_renew(trial->rival, &trial->other) == MCDS_OK);
    HOLDS(trial, mcds_lock_release(trial->rival, &trial->other) == MCDS_OK);
}

static int act_renew(struct trial *trial)
{
    pass_ms(trial->suite, 2);
    return CALL_IN(trial->suite, trial->pipeline, mcds_lock_renew, trial->lock, &trial->lease);
}

static void judge_renew(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (result == MCDS_OK)
        HOLDS(trial, trial->lease.deadline_ns >= trial->out + NS_PER_MS);
    else
        HOLDS(trial, trial->lease.deadline_ns == trial->out);
    HOLDS(trial, trial->lease.fence == trial->before);
    HOLDS(trial, is_mine(trial));
    HOLDS(trial, mcds_lock_release(trial->lock, &trial->lease) == MCDS_OK);
}

static int act_release(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_lock_release, trial->lock,
                   &trial->lease);
}

static void judge_release(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (is_definite(result)) {
        HOLDS(trial, trial->lease.fence == trial->before);
        HOLDS(trial, is_mine(trial));
        HOLDS(trial, mcds_lock_release(trial->lock, &trial->lease) == MCDS_OK);
    }
    HOLDS(trial, mcds_lock_remaining_ms(trial->lock, &trial->lease) == 0);
    if (result == MCDS_AMBIGUOUS && trial->lease.fence != 0) {
        result = mcds_lock_release(trial->lock, &trial->lease);
        HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS);
    }
    HOLDS(trial, trial->lease.fence == 0);
    HOLDS(trial, is_free(trial));
}

static int act_holder(struct trial *trial)
{
    mcds_lock_holder holder = {.size = sizeof(mcds_lock_holder), .label = "none"};
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_lock_get_holder, trial->lock,
                         &holder);
    HOLDS(trial, strcmp(holder.label, result == MCDS_OK ? "mine" : "none") == 0);
    return result;
}

static void judge_holder(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || is_definite(result));
    HOLDS(trial, is_mine(trial));
}

static int act_watch(struct trial *trial)
{
    mcds_lock_holder holder = {.size = sizeof(mcds_lock_holder), .label = "none"};
    int result = CALL_IN(trial->suite, trial->pipeline, mcds_lock_watch, trial->lock, 0,
                         &holder);
    HOLDS(trial, strcmp(holder.label, result == MCDS_OK ? "mine" : "none") == 0);
    HOLDS(trial, (holder.tenure != 0) == (result == MCDS_OK));
    return result;
}

static int act_break(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_lock_break, trial->rival);
}

static void judge_break(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    if (is_definite(result))
        HOLDS(trial, is_mine(trial));
    if (result == MCDS_OK)
        HOLDS(trial, is_free(trial));
}

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_lock_drop, trial->lock);
}

/* A lease that a lost reply has left in the store is broken here. */
static void judge_drop(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result));
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    bool is_held = mcds_lock_get_holder(trial->rival, &holder) == MCDS_OK;
    HOLDS(trial, !is_held || result == MCDS_AMBIGUOUS || trial->stays);
    if (is_held)
        HOLDS(trial, mcds_lock_break(trial->rival) == MCDS_OK);
    HOLDS(trial, mcds_lock_try_acquire(trial->rival, &trial->other) == MCDS_OK);
    HOLDS(trial, trial->other.fence > trial->before);
    HOLDS(trial, mcds_lock_release(trial->rival, &trial->other) == MCDS_OK);
}

static void judge_drop_refused(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_BUSY || result == MCDS_AMBIGUOUS || is_definite(result));
    HOLDS(trial, mcds_lock_renew(trial->rival, &trial->other) == MCDS_OK);
    HOLDS(trial, mcds_lock_release(trial->rival, &trial->other) == MCDS_OK);
}

static void lock_faults(struct suite *suite)
{
    static const struct scenario scenarios[] = {
        {"lock acquire", prepare_free, act_acquire, judge_acquire},
        {"lock acquire, let go", prepare_free, act_acquire, judge_acquire_and_let_go},
        {"the first lock acquire", open_locks, act_acquire, judge_acquire},
        {"the first lock acquire, let go", open_locks, act_acquire, judge_acquire_and_let_go},
        {"lock acquire while held", prepare_taken, act_acquire, judge_refused},
        {"lock renew", prepare_mine, act_renew, judge_renew},
        {"lock release", prepare_mine, act_release, judge_release},
        {"lock holder", prepare_mine, act_holder, judge_holder},
        {"lock watch", prepare_mine, act_watch, judge_holder},
        {"lock break", prepare_mine, act_break, judge_break},
        {"lock drop", prepare_free, act_drop, judge_drop},
        {"lock drop while held", prepare_taken, act_drop, judge_drop_refused},
    };
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        try_all_faults(suite, &scenarios[i]);
}

static const struct suite_case cases[] = {
    CASE_TWICE(lock_faults),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
