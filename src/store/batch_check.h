/* Checks of requests that hold for every backend, and answers to batches that fail them. */
#ifndef MCDS_STORE_BATCH_CHECK_H
#define MCDS_STORE_BATCH_CHECK_H

#include "base/key.h"
#include "base/reason.h"
#include "mcds/backend.h"

#define MCDS__TTL_MS_MAX (UINT64_C(10) * 366 * 24 * 3600 * 1000)

/* Whether both keys are the same bytes in memory, as for an append and the GET after it. */
static inline bool mcds__replicas_key(const mcds_request *a, const mcds_request *b)
{
    return a->key.data == b->key.data && a->key.length == b->key.length;
}

/* Why this request must not be sent to any store, or NULL. `before` is a request of the same
 * batch that may be sent, or NULL. */
static inline const mcds_reason *mcds__request_fault(const mcds_request *request,
                                                     const mcds_request *before)
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
/* Answer a batch in which some requests have a detail: those BAD_REQUEST, the others UNSENT. */
void mcds__batch_refuse(mcds_batch *batch);
/* Answer all requests UNSENT. */
void mcds__batch_unsent(mcds_batch *batch, const mcds_reason *detail);

#endif
