/* Checks requests, and answers batches that no backend may see. */
#include "store/batch_check.h"

#include <string.h>

#include "base/reason.h"

void mcds__batch_refuse(mcds_batch *batch)
{
    bool is_beyond = false;
    for (uint32_t i = 0; i < batch->count; i++)
        is_beyond = is_beyond ||
                    batch->requests[i].reply.detail == MCDS__WHY(SERVER_WITHOUT_CAS);
    for (uint32_t i = 0; i < batch->count; i++) {
        mcds_reply *reply = &batch->requests[i].reply;
        if (is_beyond) /* also the read that the caller looks at first */
            reply->detail = MCDS__WHY(SERVER_WITHOUT_CAS);
        reply->outcome = reply->detail == NULL ? MCDS_OUT_UNSENT
                         : is_beyond           ? MCDS_OUT_UNSUPPORTED
                                               : MCDS_OUT_BAD_REQUEST;
    }
    batch->answered = batch->count;
}

void mcds__batch_unsent(mcds_batch *batch, const mcds_reason *detail)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        memset(&batch->requests[i].reply, 0, sizeof batch->requests[i].reply);
        batch->requests[i].reply.outcome = MCDS_OUT_UNSENT;
        batch->requests[i].reply.detail = detail;
    }
    batch->answered = batch->count;
}
