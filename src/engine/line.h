/* Lines: operations of one pipeline that wait for the same place.
 *
 * A place is what only a few operations may use at once, for instance a key that takes a
 * certain number of bytes in flight. An operation that must wait for it joins the line of the
 * place, and has sent nothing. Only the first of a line tries again: when an operation leaves
 * the place, or at its wake_ns, because a place may also be used by other pipelines. When the
 * first continues, the next is first and tries at once. So operations continue in the order in
 * which they joined, and a long line costs no more than a short one. */
#ifndef MCDS_ENGINE_LINE_H
#define MCDS_ENGINE_LINE_H

#include "engine/operation.h"

#define MCDS__LINES_BITS 6

/* All zero at the start. */
struct mcds__lines {
    uint32_t waiting; /* operations */
    uint32_t count;   /* lines */
    /* The first of each line, by the hash of its place. */
    struct mcds__operation *firsts[1 << MCDS__LINES_BITS];
};

/* Join the line of this place, at its end. True: the operation is the first. */
bool mcds__lines_join(struct mcds__lines *lines, struct mcds__operation *operation,
                      uint64_t place);
/* The first of a line leaves it. The next one is first and wakes at once. */
void mcds__lines_leave(struct mcds__lines *lines, struct mcds__operation *operation);
/* The first of a line uses its place, and stays the first until it leaves the line. */
void mcds__lines_use(struct mcds__lines *lines, struct mcds__operation *operation);
/* An operation leaves this place: the first that waits for it wakes at once. */
void mcds__lines_call(struct mcds__lines *lines, uint64_t place);
/* Returns the first operation of a line whose wake time has come, or NULL. The search begins at
 * *slot, which is 0 at the start. */
struct mcds__operation *mcds__lines_due(struct mcds__lines *lines, uint32_t *slot,
                                        int64_t now_ns);
/* The time at which the next of them wakes; INT64_MAX: none waits. */
int64_t mcds__lines_wake_ns(const struct mcds__lines *lines);
/* Whether another operation of the same pipeline waits for this place. */
bool mcds__lines_has_other(const struct mcds__operation *operation, uint64_t place);

#endif
