/* Queue: judges a part that a call has read to claim a job. */
#include <assert.h>
#include <stddef.h>

#include "base/buffer.h"
#include "structures/queue/next.h"

void mcds__queue_see_part(struct mcds__queue_next *next, mcds_bytes value, int64_t now_ms)
{
    struct mcds__jobs_part part;
    struct mcds__job job;
    struct mcds__queue_sight *sight = &next->sight;
    *sight = (struct mcds__queue_sight){.is_read = true};
    if (!mcds__jobs_open(value, &part))
        return;
    sight->is_part = true;
    sight->is_closed = part.is_closed;
    while (mcds__jobs_next(&part, &job)) {
        sight->has_jobs = true;
        sight->is_due = sight->is_due || mcds__jobs_is_due(&job, now_ms);
        if (sight->next_ms == 0 || job.time_ms < sight->next_ms)
            sight->next_ms = job.time_ms;
        if (next->receipt.tries == 0 || job.number != next->receipt.number ||
            job.tries != next->receipt.tries || !job.is_claimed)
            continue;
        next->bytes.length = 0;
        sight->is_mine = mcds_buffer_append(&next->bytes, job.bytes.data, job.bytes.length);
        sight->lacks_memory = !sight->is_mine;
    }
}

void mcds__queue_set_receipt(struct mcds__queue_next *next, int64_t number)
{
    number &= INT64_MAX & ~MCDS__JOBS_WAS_LOST; /* a damaged one may be negative */
    next->receipt = (struct mcds__jobs_receipt){
        (uint64_t)number >> MCDS__JOBS_TRIES_BITS,
        (uint32_t)(number & ((1 << MCDS__JOBS_TRIES_BITS) - 1)),
    };
}

void mcds__queue_see_claimed(struct mcds__map_update *update, mcds_bytes value)
{
    struct mcds__queue_next *next =
        (struct mcds__queue_next *)(void *)((uint8_t *)update -
                                            offsetof(struct mcds__queue_next, work.update));
    next->receipt.tries = 0;
    if (update->code == MCDS__MAP_CHANGED && update->number >= 0)
        mcds__queue_set_receipt(next, update->number);
    mcds__queue_see_part(next, value, update->time_ms);
}
