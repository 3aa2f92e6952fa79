/* Replies: what the outcomes of requests mean for a call. */
#ifndef MCDS_ENGINE_REPLY_H
#define MCDS_ENGINE_REPLY_H

#include <assert.h>

#include "base/reason.h"
#include "mcds/backend.h"

/* The result for a request that was not sent, for this reason or none. */
static inline int mcds__result_of_unsent(const mcds_reason *reason)
{
    bool is_for_memory = reason != NULL && reason->cause == MCDS_CAUSE_NO_MEMORY;
    return is_for_memory ? MCDS_NO_MEMORY : MCDS_UNAVAILABLE;
}

/* The result for a reply: BAD_REQUEST is INVALID, UNKNOWN is AMBIGUOUS, ...; MISS is
 * NOT_FOUND, EXISTS and NOT_STORED are EXISTS. */
int mcds__result_of(const mcds_reply *reply);
/* Neither an answer of the store nor a refusal: UNSENT or UNKNOWN. */
bool mcds__is_transport_trouble(const mcds_reply *reply);
/* A refusal by the store: full, too big, not supported, ... */
bool mcds__is_refusal(const mcds_reply *reply);

/* The first of these replies that is neither OK nor MISS, or NULL. */
const mcds_reply *mcds__first_trouble(const mcds_request *requests, uint32_t count);
/* Whether one of these changes was applied, or may have been. */
bool mcds__may_be_applied(const mcds_request *requests, uint32_t count);

/* Whether every request of the batch was sent and answered. */
static inline bool mcds__batch_is_answered(const mcds_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->requests[i].reply.outcome >= MCDS_OUT_UNSENT)
            return false;
    return true;
}

/* The server that has answered all of it, or NULL. */
static inline const char *mcds__batch_peer(const mcds_batch *batch)
{
    assert(batch->count > 0);
    const char *peer = batch->requests[0].reply.peer;
    for (uint32_t i = 1; i < batch->count; i++)
        if (batch->requests[i].reply.peer != peer)
            return NULL;
    return peer;
}

#endif
