/* Faults: the scenarios of queues. Whatever fails, no job is lost or added twice, none is claimed by two,
 * and the same call again ends what is in doubt. */
#include "structures/faults.h"

#define CLAIM_MS 60000

struct dead_id {
    uint8_t bytes[32];
    size_t length;
};
static struct dead_id tried_id; /* of the dead job that a trial discards */

static mcds_queue *open_queue(struct trial *trial)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue = NULL;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    int result = mcds_queue_open(trial->store, trial->name, &options, &queue);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    return queue;
}

static void prepare_none(struct trial *trial)
{
    trial->queue = open_queue(trial);
    trial->job = (mcds_job)MCDS_JOB_INIT;
    trial->is_new = true;
    trial->before = 0;
}

static void prepare_job(struct trial *trial)
{
    prepare_none(trial);
    trial->is_new = false;
    trial->before = 1;
    int result = mcds_queue_push(trial->queue, mcds_text("a"), 0);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
}

/* The handle that is tried knows nothing yet. */
static void prepare_cold(struct trial *trial)
{
    prepare_job(trial);
    mcds_queue_close(trial->queue);
    trial->queue = open_queue(trial);
}

static void prepare_claim(struct trial *trial)
{
    prepare_job(trial);
    CHECK_RESULT(MCDS_OK, mcds_queue_next(trial->queue, 0, &trial->job, &trial->value));
}

static void prepare_claim_of_two(struct trial *trial)
{
    prepare_claim(trial);
    trial->before = 2;
    CHECK_RESULT(MCDS_OK, mcds_queue_push(trial->queue, mcds_text("b"), 0));
}

static void set_tries(struct trial *trial, uint32_t tries)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    options.tries = tries;
    mcds_queue_close(trial->queue);
    CHECK_RESULT(MCDS_OK, mcds_queue_open(trial->store, trial->name, &options, &trial->queue));
}

static void prepare_last_try(struct trial *trial)
{
    prepare_claim(trial);
    set_tries(trial, 1);
}

/* The next claim finds that the job was claimed too often. */
static void prepare_claimed_too_often(struct trial *trial)
{
    prepare_claim(trial);
    CHECK_RESULT(MCDS_OK, mcds_queue_again(trial->queue, &trial->job, 0));
    set_tries(trial, 1);
}

/* A dead job, and the receipt of its last claim. */
static void prepare_dead(struct trial *trial)
{
    prepare_last_try(trial);
    mcds_job job = trial->job;
    CHECK_RESULT(MCDS_OK, mcds_queue_again(trial->queue, &job, 0));
}

static int act_push(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_queue_push, trial->queue, mcds_text("c"),
                   0);
}

static int act_next(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_queue_next, trial->queue, 0, &trial->job,
                   &trial->value);
}

static int act_done(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_queue_done, trial->queue, &trial->job);
}

static int act_give_back(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_queue_again, trial->queue, &trial->job,
                   0);
}

static int act_longer(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_queue_longer, trial->queue, &trial->job);
}

static bool see_id(void *context, const mcds_queue_entry *entry)
{
    struct dead_id *id = context;
    assert_true(entry->id.length > 0 && entry->id.length <= sizeof id->bytes);
    memcpy(id->bytes, entry->id.data, id->length = entry->id.length);
    return true;
}

/* The length is 0 if there is no dead job. */
static struct dead_id find_dead(struct trial *trial)
{
    struct dead_id id = {.length = 0};
    mcds_queue *probe = open_queue(trial);
    HOLDS(trial, mcds_queue_dead(probe, 0, see_id, &id) == MCDS_OK);
    mcds_queue_close(probe);
    return id;
}

static void prepare_discard(struct trial *trial)
{
    prepare_dead(trial);
    tried_id = find_dead(trial);
}

static int act_discard(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_queue_discard, trial->queue,
                   (mcds_bytes){tried_id.bytes, tried_id.length});
}

static int act_drop(struct trial *trial)
{
    return CALL_IN(trial->suite, trial->pipeline, mcds_queue_drop, trial->queue);
}

/* As another handle sees it. */
static mcds_queue_counts count_jobs(struct trial *trial)
{
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    mcds_queue *probe = open_queue(trial);
    int result = mcds_queue_count(probe, &counts);
    skip_if_unsupported(result);
    HOLDS(trial, result == MCDS_OK || result == MCDS_NOT_FOUND);
    HOLDS(trial, counts.delayed == 0);
    mcds_queue_close(probe);
    return counts;
}

static void end(struct trial *trial)
{
    mcds_value_free(&trial->value);
    mcds_queue_close(trial->queue);
}

static bool is_told(int result)
{
    return result == MCDS_OK || result == MCDS_AMBIGUOUS || is_definite(result);
}

static void judge_push(struct trial *trial, int result)
{
    mcds_queue_counts counts = count_jobs(trial);
    uint64_t there = counts.waiting - trial->before;
    if (!is_definite(result))
        skip_if_unsupported(result);
    HOLDS(trial, is_told(result) && result != MCDS_LOST);
    /* The root of a new queue, if its reply was lost, may be that of another caller. */
    HOLDS(trial, !was_lost_once(trial) || result == MCDS_OK || trial->is_new);
    HOLDS(trial, there <= 1 && counts.claimed == 0);
    HOLDS(trial, result == MCDS_AMBIGUOUS || there == (result == MCDS_OK));
    end(trial);
}

/* A claim for nobody, where memory for the job was refused or a reply was lost, ends by itself. */
static void judge_next(struct trial *trial, int result)
{
    mcds_queue_counts counts = count_jobs(trial);
    bool may_be_claimed = result == MCDS_AMBIGUOUS || result == MCDS_NO_MEMORY;
    HOLDS(trial, is_told(result));
    HOLDS(trial, !was_lost_once(trial) || result == MCDS_OK);
    HOLDS(trial, trial->job.is_held == (result == MCDS_OK));
    HOLDS(trial, counts.waiting + counts.claimed == 1);
    HOLDS(trial, may_be_claimed || counts.claimed == (result == MCDS_OK));
    HOLDS(trial,
          result != MCDS_OK || (trial->value.length == 1 && trial->value.data[0] == 'a'));
    end(trial);
}

/* The job before is done with the claim, or it is held as before. */
static void judge_next_after(struct trial *trial, int result)
{
    mcds_queue_counts counts = count_jobs(trial);
    uint64_t all = counts.waiting + counts.claimed;
    HOLDS(trial, is_told(result) && !trial->job.was_lost);
    HOLDS(trial, !was_lost_once(trial) || result == MCDS_OK);
    HOLDS(trial, all == 1 || all == 2);
    HOLDS(trial, result != MCDS_OK || (all == 1 && counts.claimed == 1));
    HOLDS(trial, result != MCDS_OK || trial->value.data[0] == 'b');
    HOLDS(trial, trial->job.is_held || all == 1);
    HOLDS(trial,
          all == 2 || result == MCDS_AMBIGUOUS || result == MCDS_OK || !trial->job.is_held);
    end(trial);
}

static void judge_none(struct trial *trial, int result)
{
    mcds_queue_counts counts = count_jobs(trial);
    HOLDS(trial, result == MCDS_NOT_FOUND || is_told(result));
    HOLDS(trial, result != MCDS_OK && !trial->job.is_held);
    HOLDS(trial, counts.waiting + counts.claimed == 0);
    end(trial);
}

static void judge_done(struct trial *trial, int result)
{
    mcds_queue_counts counts = count_jobs(trial);
    HOLDS(trial, is_told(result) && result != MCDS_LOST);
    HOLDS(trial, !was_lost_once(trial) || result == MCDS_OK);
    HOLDS(trial, trial->job.is_held == (result != MCDS_OK));
    HOLDS(trial, counts.waiting == 0 && counts.claimed <= 1);
    HOLDS(trial, result == MCDS_AMBIGUOUS || counts.claimed == (result != MCDS_OK));
    if (trial->job.is_held)
        HOLDS(trial, mcds_queue_done(trial->queue, &trial->job) >=
                         (result == MCDS_AMBIGUOUS ? MCDS_LOST : MCDS_OK));
    HOLDS(trial, count_jobs(trial).claimed == 0);
    end(trial);
}

static void judge_give_back(struct trial *trial, int result)
{
    mcds_queue_counts counts = count_jobs(trial);
    HOLDS(trial, is_told(result) && result != MCDS_LOST);
    HOLDS(trial, !was_lost_once(trial) || result == MCDS_OK);
    HOLDS(trial, trial->job.is_held == (result != MCDS_OK));
    HOLDS(trial, counts.waiting + counts.claimed == 1);
    HOLDS(trial, result == MCDS_AMBIGUOUS || counts.waiting == (result == MCDS_OK));
    end(trial);
}

/* At every time the job is claimed or dead. A second call ends what the first has begun. */
static void judge_give_back_last(struct trial *trial, int result)
{
    mcds_queue_counts counts = count_jobs(trial);
    HOLDS(trial, is_told(result) && result != MCDS_LOST);
    HOLDS(trial, !was_lost_once(trial) || result == MCDS_OK);
    HOLDS(trial, trial->job.is_held == (result != MCDS_OK));
    HOLDS(trial, counts.waiting == 0 && counts.claimed + counts.dead >= 1);
    HOLDS(trial, result != MCDS_OK || (counts.claimed == 0 && counts.dead == 1));
    if (trial->job.is_held)
        HOLDS(trial, mcds_queue_again(trial->queue, &trial->job, 0) >= MCDS_LOST);
    counts = count_jobs(trial);
    HOLDS(trial, counts.waiting == 0 && counts.claimed == 0 && counts.dead == 1);
    end(trial);
}

/* Whatever the again has done, a done ends the job, and leaves no dead one. */
static void judge_done_after_again(struct trial *trial, int result)
{
    HOLDS(trial, is_told(result) && result != MCDS_LOST);
    HOLDS(trial, trial->job.is_held == (result != MCDS_OK));
    if (trial->job.is_held)
        HOLDS(trial, mcds_queue_done(trial->queue, &trial->job) >= MCDS_LOST);
    mcds_queue_counts counts = count_jobs(trial);
    HOLDS(trial, counts.waiting == 0 && counts.claimed == 0);
    HOLDS(trial, counts.dead == (result == MCDS_OK));
    end(trial);
}

/* The same of a next that ends the job. */
static void judge_next_after_again(struct trial *trial, int result)
{
    HOLDS(trial, is_told(result) && result != MCDS_LOST);
    HOLDS(trial,
          mcds_queue_next(trial->queue, 0, &trial->job, &trial->value) == MCDS_NOT_FOUND);
    mcds_queue_counts counts = count_jobs(trial);
    HOLDS(trial, counts.waiting == 0 && counts.claimed == 0);
    HOLDS(trial, counts.dead == (result == MCDS_OK));
    end(trial);
}

/* A worker with more tries gets the job if the burial has not ended. After its done the job is not a
 * dead one. */
static void judge_done_after_bury(struct trial *trial, int result)
{
    mcds_job job = MCDS_JOB_INIT;
    HOLDS(trial, result == MCDS_NOT_FOUND || is_told(result));
    HOLDS(trial, result != MCDS_OK && !trial->job.is_held);
    set_tries(trial, 0);
    shift_wall_ms(trial->suite, CLAIM_MS);
    int claimed = mcds_queue_next(trial->queue, 0, &job, &trial->value);
    HOLDS(trial, claimed == MCDS_OK || claimed == MCDS_NOT_FOUND);
    HOLDS(trial, result != MCDS_NOT_FOUND || claimed == MCDS_NOT_FOUND);
    if (claimed == MCDS_OK)
        HOLDS(trial, mcds_queue_done(trial->queue, &job) >= MCDS_LOST);
    mcds_queue_counts counts = count_jobs(trial);
    HOLDS(trial, counts.waiting == 0 && counts.claimed == 0);
    HOLDS(trial, counts.dead == (claimed == MCDS_NOT_FOUND));
    end(trial);
}

/* Whatever the again has done: if the job is dead and is discarded, no claim finds it, and it is not
 * dead again. */
static void judge_discard_after_again(struct trial *trial, int result)
{
    HOLDS(trial, is_told(result) && result != MCDS_LOST);
    struct dead_id id = find_dead(trial);
    if (id.length > 0) {
        HOLDS(trial,
              mcds_queue_discard(trial->queue, (mcds_bytes){id.bytes, id.length}) == MCDS_OK);
        trial->job = (mcds_job)MCDS_JOB_INIT;
        set_tries(trial, 0);
        shift_wall_ms(trial->suite, CLAIM_MS);
        HOLDS(trial,
              mcds_queue_next(trial->queue, 0, &trial->job, &trial->value) == MCDS_NOT_FOUND);
        mcds_queue_counts counts = count_jobs(trial);
        HOLDS(trial, counts.waiting == 0 && counts.claimed == 0 && counts.dead == 0);
    }
    HOLDS(trial, result != MCDS_OK || id.length > 0);
    end(trial);
}

static void judge_discard(struct trial *trial, int result)
{
    HOLDS(trial, is_told(result) && result != MCDS_LOST);
    HOLDS(trial, !was_lost_once(trial) || result == MCDS_OK);
    uint64_t dead = count_jobs(trial).dead;
    HOLDS(trial, result == MCDS_AMBIGUOUS ? dead <= 1 : dead == (result != MCDS_OK));
    if (result != MCDS_OK)
        HOLDS(trial, act_discard(trial) == (dead > 0 ? MCDS_OK : MCDS_NOT_FOUND));
    HOLDS(trial, act_discard(trial) == MCDS_NOT_FOUND && count_jobs(trial).dead == 0);
    end(trial);
}

static void judge_done_late(struct trial *trial, int result)
{
    HOLDS(trial, result == MCDS_LOST || (is_told(result) && result != MCDS_OK));
    HOLDS(trial, !was_lost_once(trial) || result == MCDS_LOST);
    HOLDS(trial, trial->job.is_held == (result != MCDS_LOST));
    HOLDS(trial, count_jobs(trial).dead <= (result != MCDS_LOST));
    if (trial->job.is_held)
        HOLDS(trial, mcds_queue_done(trial->queue, &trial->job) == MCDS_LOST);
    HOLDS(trial, act_discard(trial) == MCDS_NOT_FOUND && count_jobs(trial).dead == 0);
    end(trial);
}

static void judge_longer(struct trial *trial, int result)
{
    mcds_queue_counts counts = count_jobs(trial);
    HOLDS(trial, is_told(result) && result != MCDS_LOST);
    HOLDS(trial, !was_lost_once(trial) || result == MCDS_OK);
    HOLDS(trial, trial->job.is_held && counts.claimed == 1);
    HOLDS(trial, mcds_queue_done(trial->queue, &trial->job) == MCDS_OK);
    end(trial);
}

static void judge_drop(struct trial *trial, int result)
{
    mcds_queue_counts counts = count_jobs(trial);
    HOLDS(trial, result == MCDS_NOT_FOUND || is_told(result));
    HOLDS(trial, result != (trial->is_new ? MCDS_OK : MCDS_NOT_FOUND));
    HOLDS(trial, result == MCDS_AMBIGUOUS ||
                     counts.waiting == (result == MCDS_OK ? 0 : trial->before));
    end(trial);
}

static const struct scenario scenarios[] = {
    {"queue push", prepare_job, act_push, judge_push},
    {"queue push, a new handle", prepare_cold, act_push, judge_push},
    {"queue push, the first", prepare_none, act_push, judge_push},
    {"queue next", prepare_job, act_next, judge_next},
    {"queue next, a new handle", prepare_cold, act_next, judge_next},
    {"queue next, after a job", prepare_claim_of_two, act_next, judge_next_after},
    {"queue next, no queue", prepare_none, act_next, judge_none},
    {"queue done", prepare_claim, act_done, judge_done},
    {"queue again", prepare_claim, act_give_back, judge_give_back},
    {"queue again, at the last try", prepare_last_try, act_give_back, judge_give_back_last},
    {"queue done, after an again at the last try", prepare_last_try, act_give_back,
     judge_done_after_again},
    {"queue next, after an again at the last try", prepare_last_try, act_give_back,
     judge_next_after_again},
    {"queue next, of a job claimed too often", prepare_claimed_too_often, act_next,
     judge_done_after_bury},
    {"queue done, of a dead job", prepare_discard, act_done, judge_done_late},
    {"queue discard, after an again at the last try", prepare_last_try, act_give_back,
     judge_discard_after_again},
    {"queue discard", prepare_discard, act_discard, judge_discard},
    {"queue longer", prepare_claim, act_longer, judge_longer},
    {"queue drop", prepare_job, act_drop, judge_drop},
    {"queue drop, no queue", prepare_none, act_drop, judge_drop},
};

FAULT_CASES(queue_faults);
