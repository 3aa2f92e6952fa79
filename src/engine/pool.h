/* A pool of memory for the operations of one pipeline, reused when they end. */
#ifndef MCDS_ENGINE_POOL_H
#define MCDS_ENGINE_POOL_H

#include "engine/handle.h"
#include "mcds.h"

/* Sizes are powers of two, so that kinds of similar size share memory. */
#define MCDS__POOL_CLASSES 8

struct mcds__operation;
struct mcds__pool_block;
struct mcds__pool_values;

/* Zero at the start, except for `env`. */
struct mcds__pool {
    const mcds_env *env;
    struct mcds__pool_block *all;
    struct mcds__pool_block *spare[MCDS__POOL_CLASSES];
    struct mcds__pool_values *values; /* memory for values, `values_count` times */
    uint32_t values_count;
    /* One reference to `held` counts for `holds` operations, which saves the atomic operations of
     * the others: operations in a row mostly have the same handle. */
    struct mcds__handle *held;
    uint32_t holds;
};

/* Memory for an operation of `size` bytes, which refers to `handle`. NULL: no memory. */
void *mcds__pool_take(struct mcds__pool *pool, struct mcds__handle *handle, size_t size);
/* The operation has ended. The caller takes over its reference to the handle, which ends with
 * mcds__pool_release. */
struct mcds__handle *mcds__pool_give(struct mcds__pool *pool, void *operation);
void mcds__pool_release(struct mcds__pool *pool, struct mcds__handle *handle);
/* mcds__pool_give for an operation that owns memory, which is freed or kept. */
struct mcds__handle *mcds__pool_end(struct mcds__pool *pool, struct mcds__operation *operation);
/* End the sleep of the operation with this tag. It still gets the replies to its requests.
 * False: none has the tag. */
bool mcds__pool_end_wait(struct mcds__pool *pool, uint64_t tag);
/* An operation that ends leaves the memory of its values to later ones, because an allocator
 * would have to search for a block of this size. lend: `values` is empty. */
void mcds__pool_lend_values(struct mcds__pool *pool, struct mcds_buffer *values);
void mcds__pool_keep_values(struct mcds__pool *pool, struct mcds_buffer *values);
/* Free all, and the operations that have not ended; in a child, not what these own. */
void mcds__pool_free(struct mcds__pool *pool);

#endif
