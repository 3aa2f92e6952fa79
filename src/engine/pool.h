/* A pool of memory for the operations of one pipeline, reused when they end. */
#ifndef MCDS_ENGINE_POOL_H
#define MCDS_ENGINE_POOL_H

#include "engine/handle.h"
#include "mcds.h"

/* Sizes are powers of two, so that kinds of similar size share memory. */
#define MCDS__POOL_CLASSES 8

struct mcds__pool_block;

/* Zero at the start, except for `env`. */
struct mcds__pool {
    const mcds_env *env;
    struct mcds__pool_block *all;
    struct mcds__pool_block *spare[MCDS__POOL_CLASSES];
    /* One reference to `held` is for so many, which are counted here without the cost of an atomic
     * operation. Of operations in a row most have the same handle. */
    struct mcds__handle *held;
    uint32_t holds;
};

/* Memory for an operation of `size` bytes, which refers to `handle`. NULL: no memory. */
void *mcds__pool_take(struct mcds__pool *pool, struct mcds__handle *handle, size_t size);
/* The operation has ended. The caller takes over its reference to the handle, which ends with
 * mcds__pool_release. */
struct mcds__handle *mcds__pool_give(struct mcds__pool *pool, void *operation);
void mcds__pool_release(struct mcds__pool *pool, struct mcds__handle *handle);
/* Free all, and the operations that have not ended. */
void mcds__pool_free(struct mcds__pool *pool);

#endif
