/* Queue: make a job that was claimed too often a dead job.
 *
 *   BURY   copy it to a dead job
 *   DONE   the job itself
 *
 * If this client dies before the DONE, the next worker that claims the job does the same. */
#include <assert.h>

#include "structures/queue/next.h"

bool mcds__queue_bury_begin(struct mcds__queue_next *next)
{
    const struct mcds__queue_spot spot = {next->incarnation, next->part, next->receipt.number};
    assert(next->receipt.tries > next->work.queue->tries && !next->job->is_held);
    next->is_buried = false;
    next->base.tries = 1;
    return mcds__queue_begin_bury(&next->work, &spot, next->receipt.tries - 1,
                                  (mcds_bytes){next->bytes.data, next->bytes.length});
}

static enum mcds__step take_copied(struct mcds__queue_next *next)
{
    enum mcds__step step = mcds__queue_step_update(&next->work, &next->base);
    if (step == MCDS__DONE)
        mcds__queue_explain_loss(&next->base, MCDS__WHY(JOBS_GONE));
    if (step != MCDS__DONE || next->base.result != MCDS_OK)
        return step;
    next->is_buried = true;
    next->base.tries = 1;
    return mcds__queue_begin_done(&next->work, next->incarnation, next->part, &next->receipt)
               ? mcds__queue_bury_step(next)
               : mcds__operation_finish(&next->base, MCDS_NO_MEMORY);
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
    return next->is_buried ? take_ended(next) : take_copied(next);
}
