/* What holds for requests on every home, and batches that are answered without one. */
#include "store/check.h"

#include <string.h>

#include "base/key.h"

#define TTL_MS_MAX (UINT64_C(10) * 366 * 24 * 3600 * 1000)

const char *mcds__request_fault(const mcds_request *request)
{
    if (!mcds__key_is_legal(request->key))
        return "a key must be 1 to 250 bytes of 0x21 to 0x7e";
    if (request->ttl_ms > TTL_MS_MAX)
        return "a ttl must be at most ten years";
    if ((request->command == MCDS_INCR || request->command == MCDS_DECR) &&
        request->delta > INT64_MAX)
        return "a delta must be at most 2^63 - 1";
    if (request->command == MCDS_CAS && request->cas.connection == 0)
        return "CAS needs a token";
    return NULL;
}

void mcds__batch_refuse(mcds_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        mcds_reply *reply = &batch->requests[i].reply;
        reply->outcome = reply->detail != NULL ? MCDS_OUT_BAD_REQUEST : MCDS_OUT_UNSENT;
    }
    batch->answered = batch->count;
}

void mcds__batch_unsent(mcds_batch *batch, const char *detail)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        memset(&batch->requests[i].reply, 0, sizeof batch->requests[i].reply);
        batch->requests[i].reply.outcome = MCDS_OUT_UNSENT;
        batch->requests[i].reply.detail = detail;
    }
    batch->answered = batch->count;
}
