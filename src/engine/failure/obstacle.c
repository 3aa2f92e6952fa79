/* Obstacles: what last kept a request of a call from being sent or answered. */
#include "engine/failure/obstacle.h"

void mcds__obstacle_forget(struct mcds__obstacle *obstacle, const mcds_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->requests[i].reply.outcome < MCDS_OUT_UNSENT &&
            batch->requests[i].reply.peer == obstacle->peer)
            obstacle->reason = NULL;
}

bool mcds__obstacle_note(struct mcds__obstacle *obstacle, const mcds_batch *batch, bool is_late)
{
    mcds__obstacle_forget(obstacle, batch);
    if (is_late && obstacle->reason != NULL)
        return false;
    for (uint32_t i = 0; i < batch->count; i++) {
        const mcds_reply *reply = &batch->requests[i].reply;
        if (reply->outcome < MCDS_OUT_UNSENT || reply->detail == NULL)
            continue;
        bool is_timeout = reply->detail->cause == MCDS_CAUSE_TIMEOUT;
        if (is_timeout && (reply->outcome == MCDS_OUT_UNSENT || obstacle->reason != NULL))
            continue;
        *obstacle = (struct mcds__obstacle){reply->detail, reply->peer};
        if (!is_timeout)
            break;
    }
    return true;
}
