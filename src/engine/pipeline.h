/* A pipeline: many operations of one store at once, sent together in rounds. */
#ifndef MCDS_ENGINE_PIPELINE_H
#define MCDS_ENGINE_PIPELINE_H

#include "engine/handle.h"
#include "engine/operation.h"
#include "mcds.h"

/* Memory for one operation of this kind, which the caller prepares and launches. It holds a
 * reference to `handle` until its completion is taken, because the sentence of a failure
 * contains the name. If the pipeline is full, operations are driven until one ends. NULL:
 * *result is MCDS_NO_MEMORY, or MCDS_INVALID for a pipeline of another store, and the sentence
 * is set. */
void *mcds__pipeline_new(mcds_pipeline *pipeline, struct mcds__handle *handle,
                         const struct mcds__operation_kind *kind, int *result);

/* Free an operation that could not be prepared. `pipeline` may be NULL. */
void mcds__pipeline_forget(mcds_pipeline *pipeline, void *operation);

/* Begin a prepared operation: in the pipeline that its memory came from, or, if that is NULL,
 * run it to its end. Returns MCDS_OK, or the operation's result. */
int mcds__launch(struct mcds__operation *operation, mcds_pipeline *pipeline, uint64_t tag);

#endif
