/* What holds for requests on every home, and batches that are answered without one. */
#ifndef MCDS_STORE_CHECK_H
#define MCDS_STORE_CHECK_H

#include "mcds_store.h"

/* Why no home takes this request; NULL: they do. */
const char *mcds__request_fault(const mcds_request *request);
/* Answer a batch of which some requests have a detail: BAD_REQUEST to these, UNSENT to the others.
 */
void mcds__batch_refuse(mcds_batch *batch);
/* Answer UNSENT to all. */
void mcds__batch_unsent(mcds_batch *batch, const char *detail);

#endif
