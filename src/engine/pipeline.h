/* Many operations of one store at once, their requests merged into one batch list per round. */
#ifndef MCDS_ENGINE_PIPELINE_H
#define MCDS_ENGINE_PIPELINE_H

#include "engine/handle.h"
#include "engine/operation.h"

/* Room for one operation of this kind, to be prepared by the caller and then launched. It holds
 * `handle` until its completion is taken, for the completion's sentence has the name. When the
 * pipeline is at its depth, operations are driven until one ends. NULL: *result is
 * MCDS_NO_MEMORY, or MCDS_INVALID for a pipeline of another store, and the sentence is set. */
void *mcds__pipeline_new(mcds_pipeline *pipeline, struct mcds__handle *handle,
                         const struct mcds__operation_kind *kind, int *result);

/* Give back the room of an operation that could not be prepared. A pipeline of NULL: nothing. */
void mcds__pipeline_forget(mcds_pipeline *pipeline, void *operation);

/* Begin a prepared operation: in the pipeline, from which its room came, or, when that is NULL,
 * here and now to its end. Returns MCDS_OK, or the operation's result. */
int mcds__launch(struct mcds__operation *operation, mcds_pipeline *pipeline, uint64_t tag);

#endif
