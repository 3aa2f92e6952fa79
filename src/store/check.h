/* What holds for requests on every home, and batches that are answered without one. */
#ifndef MCDS_STORE_CHECK_H
#define MCDS_STORE_CHECK_H

#include "base/key.h"
#include "base/reason.h"
#include "mcds_store.h"

#define MCDS__TTL_MS_MAX (UINT64_C(10) * 366 * 24 * 3600 * 1000)

/* Whether the keys are the same bytes in memory, as those of an append and the look after it. */
static inline bool mcds__shares_key(const mcds_request *a, const mcds_request *b)
{
    return a->key.at == b->key.at && a->key.length == b->key.length;
}

/* Why no home takes this request; NULL: they do. `before`: one that they take, or NULL. */
static inline const mcds_reason *mcds__request_fault(const mcds_request *request,
                                                     const mcds_request *before)
{
    if ((before == NULL || !mcds__shares_key(before, request)) &&
        !mcds__key_is_legal(request->key))
        return MCDS__WHY(BAD_KEY);
    if (request->ttl_ms > MCDS__TTL_MS_MAX)
        return MCDS__WHY(LONG_TTL);
    if ((request->command == MCDS_INCR || request->command == MCDS_DECR) &&
        request->delta > INT64_MAX)
        return MCDS__WHY(LARGE_DELTA);
    if (request->command == MCDS_CAS && request->cas.connection == 0)
        return MCDS__WHY(NO_TOKEN);
    return NULL;
}
/* Answer a batch of which some requests have a detail: BAD_REQUEST to these, UNSENT to the others.
 */
void mcds__batch_refuse(mcds_batch *batch);
/* Answer UNSENT to all. */
void mcds__batch_unsent(mcds_batch *batch, const mcds_reason *detail);

#endif
