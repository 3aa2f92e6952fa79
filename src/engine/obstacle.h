/* Obstacles: what last kept a request of a call from being sent, other than the deadline of the call,
 * or from being answered. It is the cause of a failure where otherwise only time has run out. */
#ifndef MCDS_ENGINE_OBSTACLE_H
#define MCDS_ENGINE_OBSTACLE_H

#include "base/reason.h"
#include "mcds/backend.h"

struct mcds__obstacle {
    const mcds_reason *reason; /* NULL: there is none */
    const char *peer;          /* its server, which has answered nothing since */
};

/* Forget the obstacle if its server has answered a request of the batch. */
void mcds__obstacle_forget(struct mcds__obstacle *obstacle, const mcds_batch *batch);
/* Record what kept a request of the batch from being sent or answered. A request that the deadline
 * kept from being sent records nothing. One that had no reply in time, or that failed late, does not
 * replace an earlier failure. */
void mcds__obstacle_note(struct mcds__obstacle *obstacle, const mcds_batch *batch,
                         bool is_late);

#endif
