/* Lines: operations of one pipeline that wait for the same place.
 *
 * A place is a resource that only a few operations may use at once, for instance a key that takes a
 * certain number of bytes in flight. An operation that must wait for it joins the line of the
 * place, and has sent nothing. Only the first of a line tries again: when an operation leaves
 * the place, or at its wake_ns, because a place may also be used by other pipelines. When the
 * first continues, the next is first and tries at once. So operations continue in the order in
 * which they joined, and a long line costs no more than a short one. Each of the others wakes at its
 * deadline, because the first may have a later one.
 *
 * The first may also do the work of the others: it sets leads_line, follows next_in_line and stores
 * the results in their structs. Until it leaves the line, the others stay in it, also the late ones. */
#ifndef MCDS_ENGINE_LINE_H
#define MCDS_ENGINE_LINE_H

#include "base/environment.h"
#include "base/hash/hash.h"
#include "engine/operation.h"
#include "engine/proof.h"

#define MCDS__LINES_BITS 6
/* Bytes of the operations of one pipeline that are under way at a place. */
#define MCDS__LINES_BYTES_MAX 16384

/* The state that the operations of one pipeline share. All zero at the start. */
struct mcds__lines {
    uint32_t waiting; /* operations */
    bool only_waits;  /* none is with the servers, or about to be sent */
    int64_t now_ns;   /* the monotonic clock in this pass of the pipeline; 0: not read yet */
    /* A lower bound of the deadlines of the operations after the first ones; 0: there are none. */
    int64_t late_ns;
    uint64_t taken; /* a bit for each of `firsts` */
    uint64_t seed;  /* of places that are hashes of keys, which users may have chosen */
    /* Under way at the places, by the hash of the place. */
    uint32_t bytes[1 << MCDS__LINES_BITS];
    /* The first of each line, by the hash of its place. */
    struct mcds__operation *firsts[1 << MCDS__LINES_BITS];
    struct mcds__proof proofs[MCDS__PROOFS];
};

/* The place of a key. */
static inline uint64_t mcds__lines_place(const struct mcds__lines *lines, mcds_bytes key)
{
    return mcds__hash(lines->seed, key) | 1;
}
/* Join the line of this place, at its end. */
void mcds__lines_join(struct mcds__lines *lines, struct mcds__operation *operation,
                      uint64_t place);
/* Whether an operation does not leave its line with this step. */
static inline bool mcds__lines_stays(const struct mcds__operation *operation,
                                     enum mcds__step step)
{
    if (operation->uses_line)
        return step != MCDS__DONE;
    return step == MCDS__SLEEP && operation->wanted == operation->line;
}
/* An operation leaves its line. If it was the first, the next one is first and wakes at once. */
void mcds__lines_leave(struct mcds__lines *lines, struct mcds__operation *operation);
/* The first of a line uses its place, and stays the first until it leaves the line. */
void mcds__lines_use(struct mcds__lines *lines, struct mcds__operation *operation);
/* It no longer uses the place, and leaves the line after this step. */
void mcds__lines_unuse(struct mcds__lines *lines, struct mcds__operation *operation);
/* An operation leaves its place. The first that waits for the place wakes at once, with the obstacle
 * of the operation that left. */
void mcds__lines_call(struct mcds__lines *lines, const struct mcds__operation *operation,
                      uint64_t place);
/* From now on `length` bytes of this operation are under way at the place. False: the place has
 * no room for them, and nothing has changed. */
bool mcds__lines_take_bytes(struct mcds__lines *lines, struct mcds__operation *operation,
                            uint64_t place, uint32_t length);
/* No bytes of this operation are under way any more. If half of the room is free, the first that
 * waits wakes. */
void mcds__lines_give_bytes(struct mcds__lines *lines, struct mcds__operation *operation);
/* The time of this pass. */
static inline int64_t mcds__lines_now_ns(struct mcds__lines *lines, const mcds_env *env)
{
    if (lines->now_ns == 0)
        lines->now_ns = mcds__monotonic_ns(env);
    return lines->now_ns;
}
/* Returns the first operation of a line whose wake time has come, or NULL. The search begins at
 * *slot, which is 0 at the start. */
struct mcds__operation *mcds__lines_due(struct mcds__lines *lines, uint32_t *slot,
                                        const mcds_env *env);
/* Returns the operations, linked by `next`, that are not the first of their line and whose deadline
 * has passed. Each gets the obstacle of the first. */
struct mcds__operation *mcds__lines_late(struct mcds__lines *lines, const mcds_env *env);
/* The deadline of an operation that may be in a line has changed, and has passed. */
static inline void mcds__lines_note_late(struct mcds__lines *lines)
{
    lines->late_ns = 1;
}
/* The time at which the next of them wakes; INT64_MAX: none waits. */
int64_t mcds__lines_wake_ns(const struct mcds__lines *lines);
/* Whether another operation of the same pipeline waits for this place. */
bool mcds__lines_has_other(const struct mcds__operation *operation, uint64_t place);

#endif
