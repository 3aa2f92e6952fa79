/* Waiting in lines: how an operation of a pipeline uses a place that takes one operation, or a number
 * of bytes, at once. The others wait in the line of the place (engine/line.h). Operations of other
 * pipelines do not wait for them, and a waiting call waits for none. */
#ifndef MCDS_ENGINE_LINE_WAIT_H
#define MCDS_ENGINE_LINE_WAIT_H

#include "engine/operation.h"

/* Use the place alone, until mcds__line_release or the end of the operation. True: others use it or
 * wait for it, and the step is *step_out: SLEEP until it may try again; or DONE after the deadline,
 * as nothing could be sent. */
bool mcds__line_waits_alone(struct mcds__operation *operation, uint64_t place,
                            enum mcds__step *step_out);
/* Wait for the operations that came before this one, without using the place. The result is as above. */
bool mcds__line_waits_after(struct mcds__operation *operation, uint64_t place,
                            enum mcds__step *step_out);
/* mcds__line_waits_alone for an operation that may have changed something: after its deadline it does
 * not wait. */
bool mcds__line_waits_in_doubt(struct mcds__operation *operation, uint64_t place,
                               enum mcds__step *step_out);
/* Use the place together with others, for a number of bytes, which are under way there until the
 * operation sleeps or ends. The result is as above. */
bool mcds__line_waits(struct mcds__operation *operation, uint64_t place, size_t length,
                      enum mcds__step *step_out);
/* The others may use the place, after this step. */
void mcds__line_release(struct mcds__operation *operation);

/* The monotonic clock, which a pipeline reads once in a pass. */
int64_t mcds__line_now_ns(const struct mcds__operation *operation);

#endif
