/* Queue: end parts that are finished.
 *
 *   READ     the numbers: has another worker done it?
 *   OPEN     the part after them
 *   RAISE    both numbers to it
 *   FORGET   each finished part: its entry, closed and empty, expires in a day
 *
 * The order is that of models/queue.pml: the entry of a part may expire only when no client begins
 * at or below the part. If the worker dies after RAISE, the entries stay. */
#include <assert.h>

#include "base/error.h"
#include "structures/queue/next.h"

enum { FINISH_BEGIN, FINISH_READ, FINISH_OPEN, FINISH_RAISE, FINISH_FORGET };

static enum mcds__step finish_no_memory(struct mcds__operation *operation)
{
    return mcds__operation_finish(operation, MCDS_NO_MEMORY);
}

void mcds__queue_finish_begin(struct mcds__queue_finish *finish, uint32_t stripe)
{
    *finish = (struct mcds__queue_finish){.stripe = stripe};
}

static enum mcds__step finish_ask_part(struct mcds__queue_finish *finish,
                                       struct mcds__queue_work *work,
                                       struct mcds__operation *operation, uint64_t part,
                                       enum mcds__jobs_order order, uint8_t stage)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    const uint8_t byte = (uint8_t)order;
    assert(order == MCDS__JOBS_OPEN || order == MCDS__JOBS_FORGET);
    finish->stage = stage;
    operation->tries = 1;
    if (!mcds__queue_begin_order(work,
                                 mcds__queue_part_element(finish->incarnation, part, element),
                                 (mcds_bytes){&byte, 1}, false))
        return finish_no_memory(operation);
    return mcds__queue_finish_step(finish, work, operation);
}

static enum mcds__step take_finish_numbers(struct mcds__queue_finish *finish,
                                           struct mcds__queue_work *work,
                                           struct mcds__operation *operation)
{
    enum mcds__step step = mcds__queue_step_numbers(work, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_NOT_FOUND)
        return mcds__operation_finish(operation, MCDS_OK);
    if (operation->result != MCDS_OK)
        return step;
    struct mcds__queue_range range = mcds__queue_range(work->queue, finish->stripe);
    finish->incarnation = range.incarnation;
    finish->part = range.first;
    finish->first = mcds__queue_unfinished(work->queue, finish->stripe);
    if (range.incarnation == 0 || finish->first <= finish->part)
        return mcds__operation_finish(operation, MCDS_OK);
    return finish_ask_part(finish, work, operation, finish->first, MCDS__JOBS_OPEN,
                           FINISH_OPEN);
}

/* A worker that walks to a part that is lost finds out whether the part was ever made. */
static enum mcds__step take_opened(struct mcds__queue_finish *finish,
                                   struct mcds__queue_work *work,
                                   struct mcds__operation *operation)
{
    uint8_t order[MCDS__JOBS_ORDER_MAX];
    enum mcds__step step = mcds__queue_step_update(work, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result != MCDS_OK && operation->result != MCDS_LOST)
        return step;
    if (mcds__queue_has_vanished(work, operation))
        return step;
    finish->is_blocked = operation->result == MCDS_LOST;
    if (finish->is_blocked)
        return mcds__operation_finish(operation, MCDS_OK);
    assert(finish->part < finish->first && finish->incarnation != 0);
    finish->stage = FINISH_RAISE;
    operation->tries = 1;
    size_t length = mcds__jobs_write_raise(finish->incarnation, finish->first, finish->first,
                                           order);
    if (!mcds__queue_begin_order(work, mcds__queue_numbers_element(),
                                 (mcds_bytes){order, length}, false))
        return finish_no_memory(operation);
    return mcds__queue_finish_step(finish, work, operation);
}

static enum mcds__step forget_next(struct mcds__queue_finish *finish,
                                   struct mcds__queue_work *work,
                                   struct mcds__operation *operation)
{
    assert(finish->part <= finish->first);
    if (finish->part == finish->first)
        return mcds__operation_finish(operation, MCDS_OK);
    return finish_ask_part(finish, work, operation, finish->part++, MCDS__JOBS_FORGET,
                           FINISH_FORGET);
}

static enum mcds__step take_raised(struct mcds__queue_finish *finish,
                                   struct mcds__queue_work *work,
                                   struct mcds__operation *operation)
{
    enum mcds__step step = mcds__queue_step_update(work, operation);
    if (step == MCDS__DONE && operation->result == MCDS_LOST)
        mcds__queue_lose_list(work->queue);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    const struct mcds__queue_range raised = {finish->incarnation, finish->first, finish->first};
    if (work->update.code != MCDS__MAP_CHANGED)
        return mcds__operation_finish(operation, MCDS_OK);
    mcds__queue_raise(work->queue, &raised);
    return forget_next(finish, work, operation);
}

/* If FORGET fails, the entry stays, which does no harm. */
static enum mcds__step take_forgotten(struct mcds__queue_finish *finish,
                                      struct mcds__queue_work *work,
                                      struct mcds__operation *operation)
{
    enum mcds__step step = mcds__queue_step_update(work, operation);
    if (step != MCDS__DONE || mcds__queue_has_vanished(work, operation))
        return step;
    if (operation->result != MCDS_OK && operation->result != MCDS_LOST)
        return mcds__operation_finish(operation, MCDS_OK);
    return forget_next(finish, work, operation);
}

enum mcds__step mcds__queue_finish_step(struct mcds__queue_finish *finish,
                                        struct mcds__queue_work *work,
                                        struct mcds__operation *operation)
{
    switch (finish->stage) {
    case FINISH_BEGIN:
        finish->stage = FINISH_READ;
        operation->tries = 1;
        if (!mcds__queue_begin_get(work, mcds__queue_numbers_element()))
            return finish_no_memory(operation);
        return take_finish_numbers(finish, work, operation);
    case FINISH_READ:
        return take_finish_numbers(finish, work, operation);
    case FINISH_OPEN:
        return take_opened(finish, work, operation);
    case FINISH_RAISE:
        return take_raised(finish, work, operation);
    default:
        return take_forgotten(finish, work, operation);
    }
}
