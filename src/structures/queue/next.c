/* Queue: claim the first job of a stripe that is due.
 *
 *   READ     the numbers, if the handle does not know them
 *   DONE     the previous job, if it is in another part than the claim
 *   CLAIM    append to the first part that may have a job, and read it     a job: done
 *   LOOK     the same without the append, if no job is expected
 *            closed: the next part; missing: READ, and then the next stripe
 *
 * If no part has a job that is due: the same in the next stripe. After the last stripe: wait.
 * A part whose key is lost: loss.c. A job that was claimed too often: bury.c, then the next round.
 * If the first part is finished: finish.c. */
#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/value.h"
#include "structures/queue/next.h"

enum {
    NEXT_BEGIN,
    NEXT_READ,
    NEXT_DONE,
    NEXT_CLAIM,
    NEXT_LOOK,
    NEXT_RECORD,
    NEXT_LOSS,
    NEXT_FETCH,
    NEXT_BURY,
    NEXT_FINISH
};

/* In the place of the code of a claim: the store has lost its part, or the whole queue. */
#define CLAIM_LOST (-1)

static enum mcds__step try_stripe(struct mcds__queue_next *next);

static enum mcds__step next_fail_memory(struct mcds__queue_next *next)
{
    return mcds__operation_finish(&next->base, MCDS_NO_MEMORY);
}

static enum mcds__step next_ask_numbers(struct mcds__queue_next *next)
{
    next->stage = NEXT_READ;
    next->has_read = true;
    next->base.tries = 1;
    if (!mcds__queue_begin_get(&next->work, mcds__queue_numbers_element()))
        return next_fail_memory(next);
    return mcds__queue_next_step(next);
}

static enum mcds__step ask_held_done(struct mcds__queue_next *next)
{
    const struct mcds__jobs_receipt receipt = {next->job->number, next->job->tries};
    next->stage = NEXT_DONE;
    next->base.tries = 1;
    return mcds__queue_begin_done(&next->work, next->job->incarnation, next->job->part,
                                  &receipt)
               ? mcds__queue_next_step(next)
               : next_fail_memory(next);
}

static enum mcds__step next_ask_claim(struct mcds__queue_next *next)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    uint8_t order[MCDS__JOBS_ORDER_MAX];
    const mcds_job *job = next->job;
    struct mcds__jobs_receipt ended = {0, 0};
    /* A handle that asks for other stripes than the queue of the job has must not end the job. */
    if (job->is_held && job->incarnation != next->incarnation && !next->has_read)
        return next_ask_numbers(next);
    if (job->is_held && (job->incarnation != next->incarnation || job->part != next->part))
        return ask_held_done(next);
    if (job->is_held)
        ended = (struct mcds__jobs_receipt){job->number, job->tries};
    next->stage = NEXT_CLAIM;
    next->base.tries = 1;
    next->claimed_ns = mcds__monotonic_ns(next->base.env);
    next->sight = (struct mcds__queue_sight){0};
    assert(next->incarnation != 0 && mcds__jobs_is_part(next->part));
    size_t length = mcds__jobs_write_claim(next->work.queue->visible_ms, &ended, order);
    if (!mcds__queue_begin_order(
            &next->work, mcds__queue_part_element(next->incarnation, next->part, element),
            (mcds_bytes){order, length}, false))
        return next_fail_memory(next);
    next->work.update.see = mcds__queue_see_claimed;
    return mcds__queue_next_step(next);
}

static enum mcds__step ask_part(struct mcds__queue_next *next, uint8_t stage)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    next->stage = stage;
    next->base.tries = 1;
    if (!mcds__queue_begin_get(
            &next->work, mcds__queue_part_element(next->incarnation, next->part, element)))
        return next_fail_memory(next);
    return mcds__queue_next_step(next);
}

/* No part has a job that is due: wait, or return, after the previous job is done. */
static enum mcds__step end_round(struct mcds__queue_next *next)
{
    struct mcds__operation *operation = &next->base;
    assert(next->wait_until_ns <= operation->deadline_ns || operation->ends_wait);
    assert(!operation->uses_line);
    if (next->job->is_held)
        return ask_held_done(next);
    int64_t now_ns = mcds__monotonic_ns(operation->env);
    int64_t left_ns = next->wait_until_ns - now_ns;
    int64_t hint_ns = 0;
    if (next->wake_ns != INT64_MAX)
        hint_ns = next->wake_ns - now_ns > NS_PER_MS ? next->wake_ns - now_ns : NS_PER_MS;
    if (left_ns > 0 && (hint_ns == 0 || hint_ns > left_ns))
        hint_ns = left_ns;
    operation->tries = 1;
    if (left_ns <= 0 || !mcds__operation_wait(operation, hint_ns))
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    next->stage = NEXT_BEGIN;
    return MCDS__SLEEP;
}

/* No part of the stripe has a job that is due until wake_ns. */
static enum mcds__step end_stripe(struct mcds__queue_next *next, int64_t wake_ns)
{
    mcds_queue *queue = next->work.queue;
    const uint32_t stripes = mcds__queue_stripes(queue);
    next->wake_ns = wake_ns < next->wake_ns ? wake_ns : next->wake_ns;
    mcds__queue_set_idle(queue, next->stripe, true);
    if (++next->passed >= stripes)
        return end_round(next);
    next->stripe = (next->stripe + 1) % stripes;
    next->from = 0;
    return next->has_read ? try_stripe(next) : next_ask_numbers(next);
}

/* The numbers are of another queue than in the last step, or this is the first step of a round.
 * True: the handle may not know the present parts of the stripe. */
static bool enter_queue(struct mcds__queue_next *next, uint64_t incarnation)
{
    mcds_queue *queue = next->work.queue;
    bool is_other;
    next->incarnation = incarnation;
    next->passed = 0;
    next->wake_ns = INT64_MAX;
    next->from = 0;
    next->stripe = mcds__queue_pick_stripe(queue, &queue->next, &is_other);
    return is_other;
}

/* Claim in the stripe, or in the next one. */
static enum mcds__step try_stripe(struct mcds__queue_next *next)
{
    mcds_queue *queue = next->work.queue;
    int64_t wake_ns;
    uint64_t incarnation = mcds__queue_incarnation(queue);
    if (incarnation == 0)
        return next->has_read ? end_round(next) : next_ask_numbers(next);
    if (incarnation != next->incarnation && enter_queue(next, incarnation) && !next->has_read)
        return next_ask_numbers(next);
    struct mcds__queue_range range = mcds__queue_range(queue, next->stripe);
    if (range.incarnation == 0) /* another thread has dropped it */
        return end_stripe(next, INT64_MAX);
    if (mcds__queue_unfinished(queue, next->stripe) > range.first && !next->leaves_finished) {
        next->stage = NEXT_FINISH;
        mcds__queue_finish_begin(&next->finish, next->stripe);
        return mcds__queue_next_step(next);
    }
    if (!mcds__queue_choose(queue, next->stripe, next->from, mcds__monotonic_ns(next->base.env),
                            &next->part, &wake_ns))
        return end_stripe(next, wake_ns);
    return mcds__queue_is_idle(queue, next->stripe) ? ask_part(next, NEXT_LOOK)
                                                    : next_ask_claim(next);
}

static enum mcds__step next_begin_round(struct mcds__queue_next *next)
{
    next->has_read = false;
    next->incarnation = 0;
    next->wake_ns = INT64_MAX;
    return try_stripe(next);
}

/* time_ms on the monotonic clock, at most MCDS__QUEUE_LOOK_MS from now; INT64_MAX for 0. */
static int64_t wake_at(const mcds_env *env, int64_t time_ms)
{
    int64_t left_ms = time_ms - mcds__wall_ms(env);
    if (time_ms == 0)
        return INT64_MAX;
    if (left_ms > MCDS__QUEUE_LOOK_MS)
        left_ms = MCDS__QUEUE_LOOK_MS;
    return mcds__monotonic_ns(env) + (left_ms > 0 ? left_ms * NS_PER_MS : 0);
}

/* The part had no job that was due before next_ms; 0: none at all. It is read each time while it is
 * open, and if the claim has read a part that others have filled since. */
static enum mcds__step pass_part(struct mcds__queue_next *next, bool is_finished,
                                 int64_t next_ms)
{
    mcds_queue *queue = next->work.queue;
    const int64_t wake_ns = wake_at(next->base.env, next_ms);
    const bool is_passed = is_finished ||
                           (next->sight.is_closed && !next->sight.is_due && next_ms > 0);
    if (is_passed && mcds__jobs_is_part(next->part + 1)) {
        const struct mcds__queue_range after = {next->incarnation, 0, next->part + 1};
        mcds__queue_raise(queue, &after);
    }
    const int64_t look_ns = is_passed ? wake_ns : 0;
    mcds__queue_note(queue, next->incarnation, next->part,
                     is_finished ? MCDS__QUEUE_FINISHED : look_ns);
    next->from = next->part + 1;
    return is_passed ? try_stripe(next) : end_stripe(next, wake_ns);
}

/* The part is not there: it was not made yet, or a day has passed since it was finished. */
static enum mcds__step next_take_missing(struct mcds__queue_next *next)
{
    next->from = 0;
    return next->has_read ? end_stripe(next, INT64_MAX) : next_ask_numbers(next);
}

/* The previous job was done without a claim of this worker: it may be a dead job. */
static enum mcds__step ask_done_record(struct mcds__queue_next *next)
{
    const mcds_job *job = next->job;
    const struct mcds__queue_spot spot = {job->incarnation, job->part, job->number};
    assert(job->is_held && job->was_lost);
    next->stage = NEXT_RECORD;
    next->base.tries = 1;
    return mcds__queue_begin_done_record(&next->work, &spot) ? mcds__queue_next_step(next)
                                                             : next_fail_memory(next);
}

/* The store has lost the part of the previous job: report the loss after its done record. */
static enum mcds__step lose_held(struct mcds__queue_next *next)
{
    assert(next->job->is_held && next->base.result == MCDS_LOST);
    mcds__queue_note(next->work.queue, next->job->incarnation, next->job->part,
                     MCDS__QUEUE_FINISHED);
    next->job->was_lost = true;
    next->claim_code = CLAIM_LOST;
    return ask_done_record(next);
}

/* The store has lost the part, which this worker passes over from now on. */
static enum mcds__step report_loss(struct mcds__queue_next *next)
{
    const mcds_job *job = next->job;
    if (job->is_held && job->incarnation == next->incarnation && job->part == next->part)
        return lose_held(next);
    assert(next->base.result == MCDS_LOST);
    mcds__queue_explain_loss(&next->base, MCDS__WHY(JOBS_GONE));
    mcds__queue_note(next->work.queue, next->incarnation, next->part, MCDS__QUEUE_FINISHED);
    return MCDS__DONE;
}

/* The key of the part is lost. If a job of this worker was in it, it was made. */
static enum mcds__step take_lost_part(struct mcds__queue_next *next)
{
    const mcds_job *job = next->job;
    bool was_in_it = job->is_held && job->incarnation == next->incarnation &&
                     job->part == next->part;
    if (was_in_it || next->base.detail != MCDS__WHY(PART_GONE))
        return report_loss(next);
    next->stage = NEXT_LOSS;
    mcds__queue_loss_begin(&next->loss, next->incarnation, next->part);
    return mcds__queue_next_step(next);
}

static enum mcds__step next_take_loss(struct mcds__queue_next *next)
{
    enum mcds__step step = mcds__queue_loss_step(&next->loss, &next->work, &next->base);
    if (step != MCDS__DONE)
        return step;
    next->has_read = true;
    switch (next->base.result) {
    case MCDS_OK:
        return pass_part(next, true, 0);
    case MCDS_NOT_FOUND:
        return next_take_missing(next);
    case MCDS_LOST:
        return report_loss(next);
    default:
        return step;
    }
}

static enum mcds__step give_job(struct mcds__queue_next *next)
{
    struct mcds__operation *operation = &next->base;
    mcds_queue *queue = next->work.queue;
    mcds_job *job = next->job;
    int64_t deadline_ns = mcds__queue_deadline_ns(queue, next->claimed_ns);
    assert(!job->is_held && next->receipt.tries > 0);
    if (mcds__monotonic_ns(operation->env) >= deadline_ns)
        return try_stripe(next);
    const mcds_bytes bytes = {next->bytes.data, next->bytes.length};
    assert(bytes.length <= MCDS__JOBS_BYTES_MAX);
    if (!mcds__value_set(next->value_out, operation->env, bytes))
        return next_fail_memory(next);
    job->incarnation = next->incarnation;
    job->part = next->part;
    job->number = next->receipt.number;
    job->tries = next->receipt.tries;
    job->queue = queue->id;
    job->deadline_ns = deadline_ns;
    job->is_held = true;
    return mcds__operation_finish(operation, MCDS_OK);
}

static int64_t timeout_of(const struct mcds__queue_next *next)
{
    return mcds__store_timeout_ns(next->base.store);
}

/* The requests for that are not repeated for as long as the caller waits for a job, because a done
 * record stays for a limited time. */
static enum mcds__step ask_bury(struct mcds__queue_next *next)
{
    next->stage = NEXT_BURY;
    int64_t latest_ns = mcds__monotonic_ns(next->base.env) + timeout_of(next);
    if (next->base.deadline_ns > latest_ns)
        next->base.deadline_ns = latest_ns;
    return mcds__queue_bury_begin(next) ? mcds__queue_next_step(next) : next_fail_memory(next);
}

static enum mcds__step use_job(struct mcds__queue_next *next)
{
    const mcds_queue *queue = next->work.queue;
    assert(next->sight.is_mine && next->receipt.tries > 0);
    mcds__queue_set_idle(next->work.queue, next->stripe, false);
    return queue->tries > 0 && next->receipt.tries > queue->tries ? ask_bury(next)
                                                                  : give_job(next);
}

static enum mcds__step use_claim(struct mcds__queue_next *next)
{
    int64_t number = next->claim_number;
    assert(next->claim_code > 0 && (number & MCDS__JOBS_WAS_LOST) == 0);
    next->job->is_held = false;
    if (next->claim_code == MCDS__MAP_ABSENT)
        return next_take_missing(next);
    if (next->claim_code == MCDS__MAP_REFUSED)
        return pass_part(next, true, 0);
    if (next->claim_code == MCDS__MAP_PRESENT)
        return pass_part(next, false, number);
    if (number < 0)
        return mcds__operation_finish(&next->base, MCDS_CORRUPT);
    if (next->sight.lacks_memory)
        return next_fail_memory(next);
    mcds__queue_set_receipt(next, number);
    return next->sight.is_mine ? use_job(next) : ask_part(next, NEXT_FETCH);
}

static enum mcds__step next_take_claim(struct mcds__queue_next *next)
{
    enum mcds__step step = mcds__queue_step_update(&next->work, &next->base);
    const struct mcds__map_update *update = &next->work.update;
    if (step != MCDS__DONE)
        return step;
    if (next->base.result == MCDS_LOST)
        return take_lost_part(next);
    if (next->base.result != MCDS_OK)
        return step;
    mcds__queue_note_use(next->work.queue, &next->work.queue->next, next->stripe, 1,
                         update->rewrite.is_outrun);
    next->claim_code = (int)update->code;
    next->claim_number = update->number & ~MCDS__JOBS_WAS_LOST;
    if (next->job->is_held)
        next->job->was_lost = update->code == MCDS__MAP_ABSENT ||
                              (update->number & MCDS__JOBS_WAS_LOST) != 0;
    return next->job->is_held && next->job->was_lost ? ask_done_record(next) : use_claim(next);
}

/* The previous job is done. Its done record is written before the claim is used, or one is made. */
static enum mcds__step next_take_record(struct mcds__queue_next *next)
{
    enum mcds__step step = mcds__queue_step_update(&next->work, &next->base);
    if (step != MCDS__DONE)
        return step;
    if (next->base.result != MCDS_OK && next->base.result != MCDS_LOST)
        return mcds__operation_doubt(&next->base);
    if (mcds__queue_has_vanished(&next->work, &next->base))
        next->claim_code = CLAIM_LOST;
    if (next->claim_code > 0)
        return use_claim(next);
    next->job->is_held = false;
    if (next->claim_code == CLAIM_LOST)
        return mcds__operation_explain(&next->base, MCDS_LOST, MCDS__WHY(JOBS_GONE));
    next->from = 0;
    return try_stripe(next);
}

static enum mcds__step next_take_look(struct mcds__queue_next *next)
{
    enum mcds__step step = mcds__queue_step_get(&next->work, &next->base);
    if (step != MCDS__DONE)
        return step;
    if (next->base.result == MCDS_NOT_FOUND)
        return next_take_missing(next);
    if (next->base.result == MCDS_LOST)
        return take_lost_part(next);
    if (next->base.result != MCDS_OK)
        return step;
    next->receipt.tries = 0;
    mcds__queue_see_part(next, next->work.get.value, mcds__wall_ms(next->base.env));
    if (!next->sight.is_part)
        return mcds__operation_explain(&next->base, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    if (next->sight.is_due)
        return next_ask_claim(next);
    return pass_part(next, next->sight.is_closed && !next->sight.has_jobs, next->sight.next_ms);
}

/* The claim got a job, but its bytes were not read with it. */
static enum mcds__step take_fetch(struct mcds__queue_next *next)
{
    enum mcds__step step = mcds__queue_step_get(&next->work, &next->base);
    if (step != MCDS__DONE ||
        (next->base.result != MCDS_OK && next->base.result != MCDS_NOT_FOUND))
        return step;
    next->sight = (struct mcds__queue_sight){0};
    if (next->base.result == MCDS_OK)
        mcds__queue_see_part(next, next->work.get.value, mcds__wall_ms(next->base.env));
    if (next->sight.lacks_memory)
        return next_fail_memory(next);
    return next->sight.is_mine ? use_job(next) : try_stripe(next);
}

/* The previous job, which is in another part, is done. */
static enum mcds__step take_done(struct mcds__queue_next *next)
{
    enum mcds__step step = mcds__queue_step_update(&next->work, &next->base);
    if (step != MCDS__DONE || (next->base.result != MCDS_OK && next->base.result != MCDS_LOST))
        return step;
    if (next->base.result == MCDS_LOST)
        return lose_held(next);
    assert(next->job->is_held);
    next->job->was_lost = next->work.update.code != MCDS__MAP_CHANGED;
    next->claim_code = 0;
    if (next->job->was_lost)
        return ask_done_record(next);
    next->job->is_held = false;
    next->from = 0;
    return try_stripe(next);
}

static enum mcds__step take_bury(struct mcds__queue_next *next)
{
    enum mcds__step step = mcds__queue_bury_step(next);
    if (step != MCDS__DONE || next->base.result != MCDS_OK)
        return step;
    next->base.deadline_ns = next->wait_until_ns + timeout_of(next);
    return try_stripe(next);
}

static enum mcds__step next_take_numbers(struct mcds__queue_next *next)
{
    enum mcds__step step = mcds__queue_step_numbers(&next->work, &next->base);
    if (step != MCDS__DONE ||
        (next->base.result != MCDS_OK && next->base.result != MCDS_NOT_FOUND))
        return step;
    return try_stripe(next);
}

static enum mcds__step take_finish(struct mcds__queue_next *next)
{
    enum mcds__step step = mcds__queue_finish_step(&next->finish, &next->work, &next->base);
    if (step != MCDS__DONE || next->base.result != MCDS_OK)
        return step;
    next->leaves_finished = next->finish.is_blocked;
    next->from = 0;
    return try_stripe(next);
}

enum mcds__step mcds__queue_next_step(struct mcds__queue_next *next)
{
    switch (next->stage) {
    case NEXT_BEGIN:
        return next_begin_round(next);
    case NEXT_READ:
        return next_take_numbers(next);
    case NEXT_DONE:
        return take_done(next);
    case NEXT_CLAIM:
        return next_take_claim(next);
    case NEXT_LOOK:
        return next_take_look(next);
    case NEXT_RECORD:
        return next_take_record(next);
    case NEXT_LOSS:
        return next_take_loss(next);
    case NEXT_FETCH:
        return take_fetch(next);
    case NEXT_BURY:
        return take_bury(next);
    default:
        return take_finish(next);
    }
}
