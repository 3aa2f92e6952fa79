/* The finished operations of a pipeline, until the caller takes their completions. */
#ifndef MCDS_ENGINE_COMPLETIONS_H
#define MCDS_ENGINE_COMPLETIONS_H

#include "engine/handle.h"
#include "engine/operation.h"
#include "engine/pool.h"
#include "mcds.h"

struct mcds__completion;

/* A ring, in the order in which they finished. All zero at the start, except for `pool`. */
struct mcds__completions {
    struct mcds__pool *pool; /* of the operations, and of the references to their handles */
    struct mcds__completion *ring;
    uint32_t capacity; /* a power of two */
    uint32_t first;
    uint32_t count;
};

/* Reserve space for so many more. False: no memory. */
bool mcds__completions_reserve(struct mcds__completions *completions, uint32_t more);
/* The operation has ended; there is space for it. Returns the place for its handle, which has its
 * name: the caller passes on its reference. */
struct mcds__handle **mcds__completions_put(struct mcds__completions *completions,
                                            const struct mcds__operation *operation);
/* Take the oldest, and leave its sentence in mcds_errmsg(). There is one. */
void mcds__completions_take(struct mcds__completions *completions, mcds_completion *done);
void mcds__completions_free(struct mcds__completions *completions);

#endif
