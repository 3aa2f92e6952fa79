/* Memory for the operations of one pipeline, kept for the next ones when they end. */
#ifndef MCDS_ENGINE_ROOMS_H
#define MCDS_ENGINE_ROOMS_H

#include "engine/handle.h"
#include "mcds.h"

/* Rooms come in powers of two, so that kinds of like size share them. */
#define MCDS__ROOM_CLASSES 8

struct mcds__room;

/* Zero at the start, except for `env`. */
struct mcds__rooms {
    const mcds_env *env;
    struct mcds__room *all;
    struct mcds__room *spare[MCDS__ROOM_CLASSES];
};

/* Room for an operation of `size` bytes, which holds `handle`. NULL: no memory. */
void *mcds__rooms_take(struct mcds__rooms *rooms, struct mcds__handle *handle, size_t size);
/* The operation has ended. Its reference to the handle is the caller's then. */
struct mcds__handle *mcds__rooms_give(struct mcds__rooms *rooms, void *operation);
/* Free all, and the operations that have not ended. */
void mcds__rooms_free(struct mcds__rooms *rooms);

#endif
