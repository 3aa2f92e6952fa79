/* Checks requests, and answers batches that no backend may see. */
#include "store/batch_check.h"

#include <string.h>

#include "base/reason.h"

void mcds__batch_refuse(mcds_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        mcds_reply *reply = &batch->requests[i].reply;
        bool is_beyond = reply->detail == MCDS__WHY(SERVER_WITHOUT_CAS);
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
