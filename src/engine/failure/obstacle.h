/* Obstacles: the last reason why a request of a call was not sent or not answered. The deadline of the
 * call is no reason for the former. If a call runs out of time, its obstacle is the cause. */
#ifndef MCDS_ENGINE_FAILURE_OBSTACLE_H
#define MCDS_ENGINE_FAILURE_OBSTACLE_H

#include "base/reason.h"
#include "mcds/backend.h"

struct mcds__obstacle {
    const mcds_reason *reason; /* NULL: there is none */
    const char *peer;          /* its server, which has answered nothing since */
};

/* Forget the obstacle if its server has answered a request of the batch. */
void mcds__obstacle_forget(struct mcds__obstacle *obstacle, const mcds_batch *batch);
/* Record what kept a request of the batch from being sent or answered. Records nothing if
 * the deadline has prevented the sending. A request without a reply in time, or with is_late, does not
 * replace an earlier failure. Returns false if is_late and an earlier failure remains. */
bool mcds__obstacle_note(struct mcds__obstacle *obstacle, const mcds_batch *batch,
                         bool is_late);

#endif
