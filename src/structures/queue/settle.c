/* Queue: the calls that end or extend one claim.
 *
 *   ORDER    done, again or longer                           changed: done
 *   RECORD   a done found no claim of its own: the job is, or becomes, a dead job (dead.c)
 *
 * An again of the last try makes the job a dead job:
 *
 *   ORDER    die: each later done also erases the copy
 *   READ     the bytes of the job
 *   BURY     copy them to a dead job
 *   REMOVE   the job */
#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "structures/queue/queue.h"

enum { SETTLE_ORDER, SETTLE_RECORD, SETTLE_READ, SETTLE_BURY, SETTLE_REMOVE };

struct queue_settle {
    struct mcds__operation base;
    struct mcds__queue_work work;
    mcds_job *job;
    enum mcds__jobs_order order; /* that the caller has asked for */
    uint8_t stage;
    bool buries;
    bool is_part_lost;
    uint64_t known; /* the incarnation that the handle knew at the start; 0: none */
    int64_t begun_ns;
};

static enum mcds__step settle_step_on(struct queue_settle *settle);

static enum mcds__step settle_fail_memory(struct queue_settle *settle)
{
    return mcds__operation_finish(&settle->base, MCDS_NO_MEMORY);
}

static struct mcds__queue_spot spot_of(const mcds_job *job)
{
    assert(mcds__queue_is_receipt(job));
    return (struct mcds__queue_spot){job->incarnation, job->part, job->number};
}

static bool begin_order(struct queue_settle *settle, enum mcds__jobs_order order, uint64_t ms)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    uint8_t bytes[MCDS__JOBS_ORDER_MAX];
    const mcds_job *job = settle->job;
    const struct mcds__jobs_receipt receipt = {job->number, job->tries};
    size_t length = mcds__jobs_write_receipt(order, &receipt, ms, bytes);
    return mcds__queue_begin_order(
        &settle->work, mcds__queue_part_element(job->incarnation, job->part, element),
        (mcds_bytes){bytes, length}, false);
}

/* Continue with the request if it was begun; otherwise there was no memory for it. */
static enum mcds__step settle_ask(struct queue_settle *settle, uint8_t stage, bool is_begun)
{
    settle->stage = stage;
    settle->base.tries = 1;
    return is_begun ? settle_step_on(settle) : settle_fail_memory(settle);
}

/* The claim has ended, or the store has lost the part. */
static enum mcds__step settle_lose(struct queue_settle *settle)
{
    settle->job->is_held = false;
    return mcds__operation_explain(&settle->base, MCDS_LOST,
                                   settle->is_part_lost ? MCDS__WHY(JOBS_GONE)
                                                        : MCDS__WHY(CLAIM_ENDED));
}

/* Whether the call has found that the store has lost an earlier queue, and the job is of the
 * queue that was made since. The order has not changed this job. */
static bool is_of_later_queue(const struct queue_settle *settle)
{
    return mcds__queue_has_vanished(&settle->work, &settle->base) &&
           settle->job->incarnation != settle->known;
}

/* A longer with a shorter visible_ms does not end the claim earlier. */
static void extend(mcds_job *job, int64_t deadline_ns)
{
    if (job->deadline_ns < deadline_ns)
        job->deadline_ns = deadline_ns;
}

static enum mcds__step take_order(struct queue_settle *settle)
{
    struct mcds__operation *operation = &settle->base;
    mcds_queue *queue = settle->work.queue;
    mcds_job *job = settle->job;
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    enum mcds__step step = mcds__queue_step_update(&settle->work, operation);
    if (step != MCDS__DONE || (operation->result != MCDS_OK && operation->result != MCDS_LOST))
        return step;
    if (is_of_later_queue(settle))
        return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(JOBS_GONE));
    settle->is_part_lost = operation->result == MCDS_LOST;
    bool is_mine = !settle->is_part_lost && settle->work.update.code == MCDS__MAP_CHANGED;
    if (!is_mine && settle->order == MCDS__JOBS_DONE) {
        const struct mcds__queue_spot spot = spot_of(job);
        return settle_ask(settle, SETTLE_RECORD,
                          mcds__queue_begin_done_record(&settle->work, &spot));
    }
    if (!is_mine)
        return settle_lose(settle);
    if (settle->buries)
        return settle_ask(
            settle, SETTLE_READ,
            mcds__queue_begin_get(
                &settle->work, mcds__queue_part_element(job->incarnation, job->part, element)));
    job->is_held = settle->order == MCDS__JOBS_LONGER;
    if (job->is_held)
        extend(job, mcds__queue_deadline_ns(queue, settle->begun_ns));
    if (settle->order == MCDS__JOBS_AGAIN)
        mcds__queue_note(queue, job->incarnation, job->part, 0);
    return step;
}

/* After a failure it is not known whether the job is removed. If the store has lost the place of
 * the dead job, there is no dead job. */
static enum mcds__step settle_take_record(struct queue_settle *settle)
{
    enum mcds__step step = mcds__queue_step_update(&settle->work, &settle->base);
    if (step != MCDS__DONE)
        return step;
    assert(settle->order == MCDS__JOBS_DONE && settle->job->is_held);
    if (settle->base.result == MCDS_OK || settle->base.result == MCDS_LOST)
        return settle_lose(settle);
    settle->base.result = MCDS_AMBIGUOUS;
    return step;
}

/* Find the bytes of the job. False: the claim has ended, and another one has followed. */
static bool find_bytes(const mcds_job *mine, mcds_bytes value, mcds_bytes *bytes_out)
{
    struct mcds__jobs_part part;
    struct mcds__job job;
    if (!mcds__jobs_open(value, &part))
        return false;
    while (mcds__jobs_next(&part, &job)) {
        *bytes_out = job.bytes;
        if (job.number == mine->number)
            return job.is_claimed && job.tries == mine->tries;
    }
    return false;
}

static enum mcds__step take_job_bytes(struct queue_settle *settle)
{
    mcds_bytes bytes;
    struct mcds__operation *operation = &settle->base;
    enum mcds__step step = mcds__queue_step_get(&settle->work, operation);
    if (step != MCDS__DONE)
        return step;
    settle->is_part_lost = operation->result == MCDS_LOST;
    if (settle->is_part_lost || operation->result == MCDS_NOT_FOUND)
        return settle_lose(settle);
    if (operation->result != MCDS_OK)
        return step;
    if (!find_bytes(settle->job, settle->work.get.value, &bytes))
        return settle_lose(settle);
    const struct mcds__queue_spot spot = spot_of(settle->job);
    mcds_buffer copy;
    mcds__buffer_init(&copy, operation->env, MCDS__JOBS_BYTES_MAX);
    bool is_begun = mcds_buffer_append(&copy, bytes.data, bytes.length) &&
                    mcds__queue_begin_bury(&settle->work, &spot, settle->job->tries,
                                           (mcds_bytes){copy.data, copy.length});
    mcds__buffer_free(&copy);
    return settle_ask(settle, SETTLE_BURY, is_begun);
}

static enum mcds__step settle_take_bury(struct queue_settle *settle)
{
    enum mcds__step step = mcds__queue_step_update(&settle->work, &settle->base);
    if (step != MCDS__DONE)
        return step;
    assert(settle->buries && settle->job->is_held);
    settle->is_part_lost = settle->base.result == MCDS_LOST;
    if (settle->is_part_lost)
        return settle_lose(settle);
    if (settle->base.result != MCDS_OK)
        return step;
    return settle_ask(settle, SETTLE_REMOVE, begin_order(settle, MCDS__JOBS_DONE, 0));
}

/* The job was copied to a dead job, and is now removed. If the removal has failed, the job is
 * both a dead job and claimed: its done erases both. */
static enum mcds__step take_remove(struct queue_settle *settle)
{
    enum mcds__step step = mcds__queue_step_update(&settle->work, &settle->base);
    if (step != MCDS__DONE)
        return step;
    assert(settle->buries && settle->job->is_held);
    if (settle->base.result != MCDS_OK && settle->base.result != MCDS_LOST) {
        settle->base.result = MCDS_AMBIGUOUS;
        return step;
    }
    settle->job->is_held = false;
    return mcds__queue_has_vanished(&settle->work, &settle->base)
               ? step
               : mcds__operation_finish(&settle->base, MCDS_OK);
}

static enum mcds__step settle_step_on(struct queue_settle *settle)
{
    switch (settle->stage) {
    case SETTLE_ORDER:
        return take_order(settle);
    case SETTLE_RECORD:
        return settle_take_record(settle);
    case SETTLE_READ:
        return take_job_bytes(settle);
    case SETTLE_BURY:
        return settle_take_bury(settle);
    default:
        return take_remove(settle);
    }
}

static enum mcds__step step_settle(struct mcds__operation *operation)
{
    return settle_step_on((struct queue_settle *)operation);
}

static void release_settle(struct mcds__operation *operation)
{
    mcds__queue_end_work(&((struct queue_settle *)operation)->work);
}

static const struct mcds__operation_kind done_kind = {
    "queue", "done", sizeof(struct queue_settle), step_settle, release_settle};
static const struct mcds__operation_kind again_kind = {
    "queue", "again", sizeof(struct queue_settle), step_settle, release_settle};
static const struct mcds__operation_kind longer_kind = {
    "queue", "longer", sizeof(struct queue_settle), step_settle, release_settle};

static int launch_settle(mcds_queue *queue, const struct mcds__operation_kind *kind,
                         enum mcds__jobs_order order, mcds_job *job, uint64_t ms,
                         const struct mcds__start *start)
{
    int result = order == MCDS__JOBS_DONE ? mcds__queue_check(queue, kind, ms)
                                          : mcds__queue_check_timed(queue, kind, ms);
    if (result != MCDS_OK)
        return result;
    if (!mcds__queue_is_receipt(job))
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                          MCDS__CALL(kind, queue->keyed.handle.name),
                          .wanted = "a job that is held", .option = "job");
    result = mcds__queue_check_receipt(queue, kind, job);
    if (result != MCDS_OK)
        return result;
    struct queue_settle own;
    struct queue_settle *settle = mcds__call_begin_zero(&own.base, kind, &queue->keyed.handle,
                                                        start, &result);
    if (settle == NULL)
        return result;
    settle->work.queue = queue;
    settle->job = job;
    settle->order = order;
    settle->known = mcds__queue_incarnation(queue);
    settle->buries = order == MCDS__JOBS_AGAIN && queue->tries > 0 &&
                     job->tries >= queue->tries;
    settle->begun_ns = mcds__monotonic_ns(settle->base.env);
    bool is_begun = settle->buries ? begin_order(settle, MCDS__JOBS_DIE, queue->visible_ms)
                                   : begin_order(settle, order, ms);
    if (!is_begun) {
        mcds__call_forget(start, settle);
        return mcds__fail_memory("queue", queue->keyed.handle.name, kind->verb);
    }
    return mcds__call_launch(&settle->base, start);
}

int mcds_queue_done_start(mcds_queue *queue, mcds_job *job, mcds_pipeline *pipeline,
                          uint64_t tag)
{
    return launch_settle(queue, &done_kind, MCDS__JOBS_DONE, job, 0,
                         MCDS__START(pipeline, tag));
}

int mcds_queue_done(mcds_queue *queue, mcds_job *job)
{
    return mcds_queue_done_start(queue, job, MCDS__WAIT, 0);
}

int mcds_queue_again_start(mcds_queue *queue, mcds_job *job, uint64_t delay_ms,
                           mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_settle(queue, &again_kind, MCDS__JOBS_AGAIN, job, delay_ms,
                         MCDS__START(pipeline, tag));
}

int mcds_queue_again(mcds_queue *queue, mcds_job *job, uint64_t delay_ms)
{
    return mcds_queue_again_start(queue, job, delay_ms, MCDS__WAIT, 0);
}

int mcds_queue_longer_start(mcds_queue *queue, mcds_job *job, mcds_pipeline *pipeline,
                            uint64_t tag)
{
    return launch_settle(queue, &longer_kind, MCDS__JOBS_LONGER, job,
                         queue != NULL ? queue->visible_ms : 0, MCDS__START(pipeline, tag));
}

int mcds_queue_longer(mcds_queue *queue, mcds_job *job)
{
    return mcds_queue_longer_start(queue, job, MCDS__WAIT, 0);
}
