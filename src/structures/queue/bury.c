/* Queue: make a job that was claimed too often a dead job.
 *
 *   MARK   the job as dying: a done of any later claim then erases the copy too. If another
 *          claim has followed, or the job is done, stop here
 *   COPY   the job to a dead job
 *   DONE   remove the job
 *
 * If this client dies before the DONE, the next worker that claims the job does the same. */
#include <assert.h>

#include "structures/queue/next.h"

enum { BURY_MARK, BURY_COPY, BURY_DONE };

static enum mcds__step ask_bury_stage(struct mcds__queue_next *next, uint8_t stage,
                                      bool is_begun)
{
    next->bury_stage = stage;
    next->base.tries = 1;
    return is_begun ? mcds__queue_bury_step(next)
                    : mcds__operation_finish(&next->base, MCDS_NO_MEMORY);
}

bool mcds__queue_bury_begin(struct mcds__queue_next *next)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    uint8_t order[MCDS__JOBS_ORDER_MAX];
    assert(next->receipt.tries > next->work.queue->tries && !next->job->is_held);
    next->bury_stage = BURY_MARK;
    next->base.tries = 1;
    size_t length = mcds__jobs_write_receipt(MCDS__JOBS_DIE, &next->receipt,
                                             next->work.queue->visible_ms, order);
    return mcds__queue_begin_order(
        &next->work, mcds__queue_part_element(next->incarnation, next->part, element),
        (mcds_bytes){order, length}, false);
}

static enum mcds__step take_marked(struct mcds__queue_next *next)
{
    const struct mcds__queue_spot spot = {next->incarnation, next->part, next->receipt.number};
    enum mcds__step step = mcds__queue_step_update(&next->work, &next->base);
    if (step == MCDS__DONE)
        mcds__queue_explain_loss(&next->base, MCDS__WHY(JOBS_GONE));
    if (step != MCDS__DONE || next->base.result != MCDS_OK ||
        next->work.update.code != MCDS__MAP_CHANGED)
        return step;
    return ask_bury_stage(
        next, BURY_COPY,
        mcds__queue_begin_bury(&next->work, &spot, next->receipt.tries - 1,
                               (mcds_bytes){next->bytes.data, next->bytes.length}));
}

static enum mcds__step take_copied(struct mcds__queue_next *next)
{
    enum mcds__step step = mcds__queue_step_update(&next->work, &next->base);
    if (step == MCDS__DONE)
        mcds__queue_explain_loss(&next->base, MCDS__WHY(JOBS_GONE));
    if (step != MCDS__DONE || next->base.result != MCDS_OK)
        return step;
    return ask_bury_stage(
        next, BURY_DONE,
        mcds__queue_begin_done(&next->work, next->incarnation, next->part, &next->receipt));
}

static enum mcds__step take_ended(struct mcds__queue_next *next)
{
    enum mcds__step step = mcds__queue_step_update(&next->work, &next->base);
    if (step == MCDS__DONE && next->base.result == MCDS_OK)
        mcds__operation_note_stored(&next->base);
    return step;
}

enum mcds__step mcds__queue_bury_step(struct mcds__queue_next *next)
{
    switch (next->bury_stage) {
    case BURY_MARK:
        return take_marked(next);
    case BURY_COPY:
        return take_copied(next);
    default:
        return take_ended(next);
    }
}
