/* Checks requests, and answers batches that no backend may see. */
#include "store/batch_check.h"

#include <string.h>

#include "base/key.h"
#include "base/reason.h"

const mcds_reason *mcds__request_fault(const mcds_request *request, const mcds_request *before)
{
    if ((before == NULL || !mcds__replicas_key(before, request)) &&
        !mcds__key_is_legal(request->key))
        return MCDS__WHY(BAD_KEY);
    if (request->ttl_ms > MCDS__TTL_MS_MAX)
        return MCDS__WHY(LONG_TTL);
    if ((request->command == MCDS_INCR || request->command == MCDS_DECR) &&
        request->delta > INT64_MAX)
        return MCDS__WHY(LARGE_DELTA);
    return NULL;
}

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
