/* A pipeline: many operations of one store at once, sent together in rounds. */
#ifndef MCDS_ENGINE_PIPELINE_H
#define MCDS_ENGINE_PIPELINE_H

#include "engine/handle.h"
#include "engine/operation.h"
#include "mcds.h"

/* The pipeline in which a call starts an operation. A call that waits has NULL in its place. */
struct mcds__start {
    mcds_pipeline *pipeline;
    uint64_t tag;
};
/* Each call that waits is its twin with MCDS__WAIT instead of a pipeline. */
#define MCDS__WAIT ((mcds_pipeline *)(uintptr_t)&mcds__wait)
#define MCDS__START(pipeline, tag)                                                             \
    mcds__start_or_wait(&(const struct mcds__start){pipeline, tag})
static inline const struct mcds__start *mcds__start_or_wait(const struct mcds__start *start)
{
    return start->pipeline != MCDS__WAIT ? start : NULL;
}

/* Memory for one operation of this kind. It holds a reference to `handle` until its completion is
 * taken, because the sentence of a failure contains the name. If the pipeline is full, operations
 * are driven until one ends. NULL: *result is MCDS_NO_MEMORY, or MCDS_INVALID for a pipeline of
 * another store, and the sentence is set. */
void *mcds__pipeline_new(mcds_pipeline *pipeline, struct mcds__handle *handle,
                         const struct mcds__operation_kind *kind, int *result);

/* The operation of a call on a structure, begun: `own` where the call waits, else memory of the
 * pipeline. NULL: as above. */
static inline void *mcds__call_begin(struct mcds__operation *own,
                                     const struct mcds__operation_kind *kind,
                                     struct mcds__handle *handle,
                                     const struct mcds__start *start, int *result)
{
    struct mcds__operation *operation = own;
    if (start != NULL)
        operation = mcds__pipeline_new(start->pipeline, handle, kind, result);
    else if (handle->forks != mcds__forks())
        operation = mcds__handle_refuse(handle, kind->noun, kind->verb, result);
    if (operation != NULL)
        mcds__operation_begin(operation, kind, handle->store, handle->name, 0);
    return operation;
}

/* mcds__call_begin, with the other members zero, which takes time: for calls that are rare, or of many
 * round trips. */
static inline void *mcds__call_begin_zero(struct mcds__operation *own,
                                          const struct mcds__operation_kind *kind,
                                          struct mcds__handle *handle,
                                          const struct mcds__start *start, int *result)
{
    struct mcds__operation *operation = mcds__call_begin(own, kind, handle, start, result);
    if (operation != NULL)
        mcds__operation_clear(operation);
    return operation;
}

/* Free an operation that could not be prepared, but not the memory that it holds. */
void mcds__call_forget(const struct mcds__start *start, void *operation);

/* Start a prepared operation in its pipeline, or, where the call waits, run it to its end.
 * Returns MCDS_OK, or the operation's result. */
int mcds__call_launch(struct mcds__operation *operation, const struct mcds__start *start);

#endif
