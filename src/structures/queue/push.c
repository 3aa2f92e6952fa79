/* Queue: push jobs at the end.
 *
 *   PUSH     to the last part that the handle knows        taken: done
 *   READ     refused: read the numbers of the parts        MAKE them, if there are none
 *   PUSH     to the last part; if that is the one that refused, or is missing, open a part
 *   SKIP     the key of a part that was never made is lost: put a mark, and open the next one
 *   RAISE    a part was opened: raise the number of the last one
 *
 * A handle stays in a stripe for some jobs, and then changes to the next one.
 * A dead job is put at a place of its own instead, in a part that no push makes. */
#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "structures/queue/queue.h"

/* After so many refusals a push pauses before each further try, and one of a dead job fails. */
#define REFUSALS_MAX 64
#define ORDER_MAX ((size_t)1 << 24)

enum {
    PUSH_BEGIN,
    PUSH_READ,
    PUSH_MAKE,
    PUSH_JOBS,
    PUSH_WAIT,
    PUSH_SKIP,
    PUSH_DEAD,
    PUSH_RAISE
};

struct queue_push {
    struct mcds__operation base;
    struct mcds__queue_work work;
    const mcds_bytes *jobs;
    size_t count;
    size_t pushed;
    size_t *pushed_out;
    uint64_t delay_ms;
    uint8_t stage;
    bool is_fresh; /* this call has read the numbers */
    bool opens;
    bool was_closed; /* the last refusal was by a part that is closed or lost, not missing */
    bool may_skip;   /* the refusal was a loss */
    uint32_t skip_place;
    uint64_t stored_last; /* part of the stripe, as this call has read it */
    uint32_t refusals;
    uint32_t made; /* the number of stripes of a queue that this call makes */
    uint64_t incarnation;
    uint64_t part;
    size_t in_order; /* jobs of the record */
    bool is_single;  /* the record has a copy of the only job; the caller need not keep it */
    uint32_t dead_tries; /* of a dead job, of which `order` has the bytes; 0: it is not dead */
    mcds_buffer order;
};

static enum mcds__step push_step_on(struct queue_push *push);

static enum mcds__step push_fail_memory(struct queue_push *push)
{
    return mcds__operation_finish(&push->base, MCDS_NO_MEMORY);
}

static enum mcds__step push_ask_numbers(struct queue_push *push)
{
    push->stage = PUSH_READ;
    push->base.tries = 1;
    return mcds__queue_begin_get(&push->work, mcds__queue_numbers_element())
               ? push_step_on(push)
               : push_fail_memory(push);
}

/* The numbers are made if there are none. */
static enum mcds__step push_ask_make(struct queue_push *push)
{
    uint8_t order[MCDS__JOBS_ORDER_MAX];
    const mcds_queue *queue = push->work.queue;
    push->incarnation = mcds__random_u64(push->base.env) | 1;
    push->stage = PUSH_MAKE;
    push->base.tries = 1;
    push->made = queue->stripes > 0 ? queue->stripes : 1;
    size_t length = mcds__jobs_write_make(push->incarnation, push->made, order);
    return mcds__queue_begin_order(&push->work, mcds__queue_numbers_element(),
                                   (mcds_bytes){order, length}, true)
               ? push_step_on(push)
               : push_fail_memory(push);
}

/* This call has opened push->part. */
static enum mcds__step ask_raise(struct queue_push *push)
{
    uint8_t order[MCDS__JOBS_ORDER_MAX];
    const uint64_t last = push->part;
    push->stage = PUSH_RAISE;
    push->base.tries = 1;
    struct mcds__queue_range known = mcds__queue_range(push->work.queue,
                                                       mcds__jobs_stripe_of(last));
    bool is_later = known.incarnation == push->incarnation && known.first < last;
    size_t length = mcds__jobs_write_raise(push->incarnation, is_later ? known.first : last,
                                           last, order);
    if (!mcds__queue_begin_order(&push->work, mcds__queue_numbers_element(),
                                 (mcds_bytes){order, length}, false))
        return push_fail_memory(push);
    push->work.update.keeps_loss = true;
    return push_step_on(push);
}

/* Fill the next record with as many jobs as fit into a part. False: no memory. */
static bool fill_order(struct queue_push *push)
{
    if (push->is_single) {
        push->order.data[1] = push->opens;
        push->in_order = 1;
        return true;
    }
    push->order.length = 0;
    push->in_order = 0;
    if (!mcds__jobs_begin_push(&push->order, push->opens, push->delay_ms))
        return false;
    while (push->in_order < MCDS__JOBS_PUSH_MAX &&
           push->pushed + push->in_order < push->count) {
        mcds_bytes job = push->jobs[push->pushed + push->in_order];
        if (push->in_order > 0 && push->order.length + job.length > MCDS__JOBS_FULL_BYTES)
            break;
        if (!mcds__jobs_add(&push->order, job))
            return false;
        push->in_order++;
    }
    return true;
}

/* Put the dead job at a place that was drawn, so that no other job has it. */
static enum mcds__step ask_dead(struct queue_push *push)
{
    const uint64_t mask = (uint64_t)MCDS__JOBS_NUMBER_MAX - 1;
    const struct mcds__queue_spot spot = {
        push->incarnation,
        (uint64_t)MCDS__JOBS_NUMBER_MAX + (mcds__random_u64(push->base.env) & mask),
        mcds__random_u64(push->base.env) & mask,
    };
    assert(push->count == 1 && push->incarnation != 0);
    push->stage = PUSH_DEAD;
    push->base.tries = 1;
    if (!mcds__queue_begin_bury(&push->work, &spot, push->dead_tries,
                                (mcds_bytes){push->order.data, push->order.length}))
        return push_fail_memory(push);
    push->work.update.makes_room = false;
    return push_step_on(push);
}

static enum mcds__step ask_push(struct queue_push *push)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    if (push->dead_tries > 0)
        return ask_dead(push);
    push->stage = PUSH_JOBS;
    push->base.tries = 1;
    if (!fill_order(push))
        return push_fail_memory(push);
    assert(push->in_order > 0);
    mcds_bytes order = {push->order.data, push->order.length};
    if (!mcds__queue_begin_order(
            &push->work, mcds__queue_part_element(push->incarnation, push->part, element),
            order, false))
        return push_fail_memory(push);
    return push_step_on(push);
}

/* Push to the last part of a stripe that the handle knows, or read the numbers. */
static enum mcds__step begin_push(struct queue_push *push)
{
    mcds_queue *queue = push->work.queue;
    if (push->pushed == push->count)
        return mcds__operation_finish(&push->base, MCDS_OK);
    uint32_t stripe = mcds__queue_pick_stripe(queue, &queue->push, NULL);
    struct mcds__queue_range range = mcds__queue_range(queue, stripe);
    push->incarnation = range.incarnation;
    if (mcds__queue_is_list_lost(queue) && !push->is_fresh)
        push->incarnation = 0;
    if (push->incarnation == 0)
        return push_ask_numbers(push);
    push->part = range.last;
    push->opens = false;
    return ask_push(push);
}

static enum mcds__step ask_skip(struct queue_push *push)
{
    push->stage = PUSH_SKIP;
    push->base.tries = 1;
    return mcds__queue_begin_skip(&push->work, push->incarnation, push->part, push->skip_place)
               ? push_step_on(push)
               : push_fail_memory(push);
}

/* This call has read the numbers, and push->part has refused the jobs. */
static enum mcds__step go_on_after_read(struct queue_push *push)
{
    struct mcds__queue_range range = mcds__queue_range(push->work.queue,
                                                       mcds__jobs_stripe_of(push->part));
    bool is_known = push->incarnation == range.incarnation;
    bool skips = push->may_skip && is_known && push->part > push->stored_last;
    push->may_skip = false;
    push->skip_place = 0;
    if (skips)
        return ask_skip(push);
    assert(push->is_fresh); /* else no part may be opened */
    if (!is_known)
        return begin_push(push);
    push->opens = push->part >= range.last;
    if (!push->opens)
        push->part = range.last;
    else if (push->was_closed)
        push->part++;
    return ask_push(push);
}

/* A number that was read before a loss does not show whether the part was made. */
static enum mcds__step go_on_after_refusal(struct queue_push *push)
{
    if (push->is_fresh && !push->may_skip && push->incarnation != 0 &&
        mcds__jobs_is_part(push->part + 1))
        return go_on_after_read(push);
    return push_ask_numbers(push);
}

/* The part is closed, missing or lost, or another client has made the queue: try again. */
static enum mcds__step take_refusal(struct queue_push *push, bool was_closed)
{
    push->was_closed = was_closed;
    assert(push->refusals <= REFUSALS_MAX);
    if (push->refusals < REFUSALS_MAX) {
        push->refusals++;
        return go_on_after_refusal(push);
    }
    push->stage = PUSH_WAIT;
    return mcds__operation_wait(&push->base, 0)
               ? MCDS__SLEEP
               : mcds__operation_fail_waiting(&push->base, MCDS__WHY(PARTS_FILLED));
}

static enum mcds__step push_take_numbers(struct queue_push *push)
{
    enum mcds__step step = mcds__queue_step_numbers(&push->work, &push->base);
    if (step != MCDS__DONE)
        return step;
    if (push->base.result == MCDS_NOT_FOUND)
        return push_ask_make(push);
    if (push->base.result != MCDS_OK)
        return MCDS__DONE;
    push->is_fresh = true;
    push->stored_last = mcds__queue_stored_last(&push->work, mcds__jobs_stripe_of(push->part));
    return push->incarnation != 0 ? go_on_after_read(push) : begin_push(push);
}

/* The numbers were made, by this call or by another client. */
static enum mcds__step push_take_make(struct queue_push *push)
{
    enum mcds__step step = mcds__queue_step_update(&push->work, &push->base);
    if (step == MCDS__DONE && push->base.result == MCDS_AMBIGUOUS &&
        mcds__operation_wait(&push->base, 0)) {
        push->stage = PUSH_BEGIN; /* no job was sent with the numbers */
        return MCDS__SLEEP;
    }
    if (step != MCDS__DONE || push->base.result != MCDS_OK)
        return step;
    if (push->work.update.code == MCDS__MAP_CHANGED) {
        mcds_queue *queue = push->work.queue;
        struct mcds__jobs_numbers made;
        mcds__jobs_begin_numbers(push->incarnation, push->made, &made);
        mcds__queue_learn(queue, &made);
        push->is_fresh = true;
        uint32_t stripe = mcds__queue_pick_stripe(queue, &queue->push, NULL);
        push->part = made.list[stripe % made.stripes].first;
        push->opens = true;
        return ask_push(push);
    }
    push->incarnation = 0;
    return take_refusal(push, false);
}

static enum mcds__step note_pushed(struct queue_push *push)
{
    push->pushed += push->in_order;
    mcds__queue_note_use(push->work.queue, &push->work.queue->push,
                         mcds__jobs_stripe_of(push->part), push->in_order,
                         push->work.update.rewrite.is_outrun);
    assert(push->in_order > 0 && push->pushed <= push->count);
    push->refusals = 0;
    if (push->pushed_out != NULL)
        *push->pushed_out = push->pushed;
    mcds__operation_note_stored(&push->base);
    if (push->opens)
        return ask_raise(push);
    mcds__operation_renew(&push->base);
    return begin_push(push);
}

static enum mcds__step take_push(struct queue_push *push)
{
    enum mcds__step step = mcds__queue_step_update(&push->work, &push->base);
    if (step != MCDS__DONE || mcds__queue_has_vanished(&push->work, &push->base))
        return step;
    if (push->base.result == MCDS_LOST) {
        push->may_skip = true;
        return take_refusal(push, true);
    }
    if (push->base.result != MCDS_OK)
        return step;
    return push->work.update.code == MCDS__MAP_CHANGED
               ? note_pushed(push)
               : take_refusal(push, push->work.update.code == MCDS__MAP_REFUSED);
}

/* Without the mark, a worker reports a loss. */
static enum mcds__step push_take_skip(struct queue_push *push)
{
    enum mcds__step step = mcds__queue_step_update(&push->work, &push->base);
    assert(!push->may_skip);
    if (step != MCDS__DONE || mcds__queue_has_vanished(&push->work, &push->base))
        return step;
    bool is_lost = push->base.result == MCDS_LOST;
    return is_lost && ++push->skip_place < MCDS__QUEUE_SKIP_PLACES ? ask_skip(push)
                                                                   : go_on_after_read(push);
}

/* If the queue was dropped, it is made again. A place that is taken or lost is drawn again. */
static enum mcds__step take_dead(struct queue_push *push)
{
    struct mcds__operation *operation = &push->base;
    enum mcds__step step = mcds__queue_step_update(&push->work, operation);
    bool is_lost = step == MCDS__DONE && operation->result == MCDS_LOST;
    if (step != MCDS__DONE || (operation->result != MCDS_OK && !is_lost) ||
        mcds__queue_has_vanished(&push->work, operation))
        return step;
    if (!is_lost && push->work.update.code == MCDS__MAP_CHANGED)
        return step;
    if (push->refusals++ == REFUSALS_MAX)
        return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(JOBS_GONE));
    bool is_dropped = !is_lost && push->work.update.code == MCDS__MAP_ABSENT;
    return is_dropped ? push_ask_numbers(push) : ask_dead(push);
}

/* The jobs were pushed, even if the number could not be raised. If the store has lost the queue
 * since, the next request finds the loss. */
static enum mcds__step take_raise(struct queue_push *push)
{
    enum mcds__step step = mcds__queue_step_update(&push->work, &push->base);
    if (step != MCDS__DONE)
        return step;
    const struct mcds__queue_range opened = {push->incarnation, 0, push->part};
    if (push->base.result == MCDS_LOST)
        mcds__queue_lose_list(push->work.queue);
    if (push->base.result == MCDS_OK && push->work.update.code == MCDS__MAP_CHANGED)
        mcds__queue_raise(push->work.queue, &opened);
    assert(push->opens && push->incarnation != 0);
    push->opens = false;
    mcds__operation_renew(&push->base);
    return begin_push(push);
}

static enum mcds__step push_step_on(struct queue_push *push)
{
    switch (push->stage) {
    case PUSH_BEGIN:
        return begin_push(push);
    case PUSH_READ:
        return push_take_numbers(push);
    case PUSH_MAKE:
        return push_take_make(push);
    case PUSH_JOBS:
        return take_push(push);
    case PUSH_WAIT:
        return go_on_after_refusal(push);
    case PUSH_SKIP:
        return push_take_skip(push);
    case PUSH_DEAD:
        return take_dead(push);
    default:
        return take_raise(push);
    }
}

static enum mcds__step queue_step_push(struct mcds__operation *operation)
{
    return push_step_on((struct queue_push *)operation);
}

static void queue_release_push(struct mcds__operation *operation)
{
    struct queue_push *push = (struct queue_push *)operation;
    mcds__queue_end_work(&push->work);
    mcds__buffer_free(&push->order);
}

static const struct mcds__operation_kind push_kind = {
    "queue", "push", sizeof(struct queue_push), queue_step_push, queue_release_push};
static const struct mcds__operation_kind push_many_kind = {
    "queue", "push_many", sizeof(struct queue_push), queue_step_push, queue_release_push};
static const struct mcds__operation_kind push_dead_kind = {
    "queue", "push_dead", sizeof(struct queue_push), queue_step_push, queue_release_push};

static int check_jobs(const mcds_queue *queue, const struct mcds__operation_kind *kind,
                      const mcds_bytes *jobs, size_t count, uint64_t delay_ms)
{
    int result = mcds__queue_check_timed(queue, kind, delay_ms);
    if (result != MCDS_OK)
        return result;
    if (count > 0 && jobs == NULL)
        return mcds__fail_missing("queue", kind->verb, "jobs");
    return mcds__check_payloads(kind, queue->keyed.handle.name, "job", MCDS_QUEUE_JOB_MAX, jobs,
                                count);
}

/* Copy a single job, which the caller keeps only during this call. False: no memory. */
static bool copy_job(struct queue_push *push, mcds_bytes job)
{
    push->is_single = true;
    if (push->dead_tries > 0)
        return mcds_buffer_append(&push->order, job.data, job.length);
    return mcds__jobs_begin_push(&push->order, false, push->delay_ms) &&
           mcds__jobs_add(&push->order, job);
}

static int queue_launch_push(mcds_queue *queue, const struct mcds__operation_kind *kind,
                             const mcds_bytes *jobs, size_t count, uint64_t delay_ms,
                             uint32_t dead_tries, size_t *pushed_out,
                             const struct mcds__start *start)
{
    struct queue_push own;
    if (pushed_out != NULL)
        *pushed_out = 0;
    int result = check_jobs(queue, kind, jobs, count, delay_ms);
    if (result != MCDS_OK)
        return result;
    struct queue_push *push = mcds__call_begin_zero(&own.base, kind, &queue->keyed.handle,
                                                    start, &result);
    if (push == NULL)
        return result;
    push->work.queue = queue;
    push->jobs = jobs;
    push->count = count;
    push->pushed_out = pushed_out;
    push->delay_ms = delay_ms;
    push->dead_tries = dead_tries;
    mcds__buffer_init(&push->order, push->base.env, ORDER_MAX);
    if (kind != &push_many_kind && !copy_job(push, jobs[0])) {
        mcds__buffer_free(&push->order);
        mcds__call_forget(start, push);
        return mcds__fail_memory("queue", queue->keyed.handle.name, kind->verb);
    }
    return mcds__call_launch(&push->base, start);
}

int mcds_queue_push_start(mcds_queue *queue, mcds_bytes job, uint64_t delay_ms,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    return queue_launch_push(queue, &push_kind, &job, 1, delay_ms, 0, NULL,
                             MCDS__START(pipeline, tag));
}

int mcds_queue_push(mcds_queue *queue, mcds_bytes job, uint64_t delay_ms)
{
    return mcds_queue_push_start(queue, job, delay_ms, MCDS__WAIT, 0);
}

int mcds_queue_push_many_start(mcds_queue *queue, const mcds_bytes *jobs, size_t count,
                               uint64_t delay_ms, size_t *pushed_out, mcds_pipeline *pipeline,
                               uint64_t tag)
{
    return queue_launch_push(queue, &push_many_kind, jobs, count, delay_ms, 0, pushed_out,
                             MCDS__START(pipeline, tag));
}

int mcds_queue_push_many(mcds_queue *queue, const mcds_bytes *jobs, size_t count,
                         uint64_t delay_ms, size_t *pushed_out)
{
    return mcds_queue_push_many_start(queue, jobs, count, delay_ms, pushed_out, MCDS__WAIT, 0);
}

int mcds_queue_push_dead_start(mcds_queue *queue, mcds_bytes job, uint32_t tries,
                               mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__given given = {MCDS_CAUSE_OUT_OF_RANGE, "tries", tries, 1,
                                      MCDS__JOBS_TRIES_MAX};
    int result = mcds__queue_check_timed(queue, &push_dead_kind, 0);
    if (result == MCDS_OK)
        result = mcds__check_given("queue", queue->keyed.handle.name, push_dead_kind.verb,
                                   &given, 1);
    return result != MCDS_OK
               ? result
               : queue_launch_push(queue, &push_dead_kind, &job, 1, 0, tries > 0 ? tries : 1,
                                   NULL, MCDS__START(pipeline, tag));
}

int mcds_queue_push_dead(mcds_queue *queue, mcds_bytes job, uint32_t tries)
{
    return mcds_queue_push_dead_start(queue, job, tries, MCDS__WAIT, 0);
}
