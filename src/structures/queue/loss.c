/* Queue: find out whether a part whose key is lost was ever made: models/skip.pml.
 *
 *   LAST   read the numbers: a later part was not made
 *   SKIP   read the mark of a push that has passed over the part
 *
 * The mark is put before the number of a later part is raised, so it is read after the number. */
#include <assert.h>

#include "base/error.h"
#include "structures/queue/queue.h"

enum { LOSS_BEGIN, LOSS_LAST, LOSS_SKIP };

void mcds__queue_loss_begin(struct mcds__queue_loss *loss, uint64_t incarnation, uint64_t part)
{
    *loss = (struct mcds__queue_loss){.incarnation = incarnation, .part = part};
}

static enum mcds__step loss_ask_skip(struct mcds__queue_loss *loss,
                                     struct mcds__queue_work *work,
                                     struct mcds__operation *operation, uint32_t place)
{
    loss->stage = LOSS_SKIP;
    loss->place = place;
    operation->tries = 1;
    if (!mcds__queue_begin_get_skip(work, loss->incarnation, loss->part, place))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    return mcds__queue_loss_step(loss, work, operation);
}

static enum mcds__step loss_take_last(struct mcds__queue_loss *loss,
                                      struct mcds__queue_work *work,
                                      struct mcds__operation *operation)
{
    enum mcds__step step = mcds__queue_step_numbers(work, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    if (loss->part > mcds__queue_stored_last(work, mcds__jobs_stripe_of(loss->part)))
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    return loss_ask_skip(loss, work, operation, 0);
}

static enum mcds__step loss_take_skip(struct mcds__queue_loss *loss,
                                      struct mcds__queue_work *work,
                                      struct mcds__operation *operation)
{
    enum mcds__step step = mcds__queue_step_get(work, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_LOST && loss->place + 1 < MCDS__QUEUE_SKIP_PLACES)
        return loss_ask_skip(loss, work, operation, loss->place + 1);
    if (operation->result != MCDS_NOT_FOUND && operation->result != MCDS_LOST)
        return step;
    return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(PART_GONE));
}

enum mcds__step mcds__queue_loss_step(struct mcds__queue_loss *loss,
                                      struct mcds__queue_work *work,
                                      struct mcds__operation *operation)
{
    switch (loss->stage) {
    case LOSS_BEGIN:
        loss->stage = LOSS_LAST;
        operation->tries = 1;
        if (!mcds__queue_begin_get(work, mcds__queue_numbers_element()))
            return mcds__operation_finish(operation, MCDS_NO_MEMORY);
        return loss_take_last(loss, work, operation);
    case LOSS_LAST:
        return loss_take_last(loss, work, operation);
    default:
        return loss_take_skip(loss, work, operation);
    }
}
