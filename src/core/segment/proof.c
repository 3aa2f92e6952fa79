/* Segment: proves that the life of a list or a log is not over.
 *
 * The keys of a log contain 30 bits of its life, and a drop erases the root: a record of that
 * life counts only while the root exists. A put is acknowledged when the root was seen after
 * the put had begun, so that no drop that had returned before has erased it. A root that was added
 * again proves nothing before it is confirmed: until then the put acts as if the root were missing. A
 * push to a list is acknowledged by the same rule: without the root no reader finds its value. */
#include <assert.h>

#include "core/segment/line.h"
#include "engine/proof.h"

mcds_request mcds__segment_request_root(const struct mcds__segments *segments)
{
    assert(segments->descriptor != NULL);
    return (mcds_request){
        .command = MCDS_GET,
        .options = MCDS_NO_VALUE,
        .key = mcds__key_bytes(segments->descriptor),
    };
}

static enum mcds__segment_truth truth_of_stem(uint64_t stem, const mcds_reply *reply)
{
    if (reply->outcome == MCDS_OUT_OK && mcds__descriptor_proves(reply->flags, stem))
        return MCDS__SEGMENT_ALIVE;
    if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
        return MCDS__SEGMENT_OVER;
    return MCDS__SEGMENT_UNPROVED;
}

enum mcds__segment_truth mcds__segment_truth_of(uint64_t stream, const mcds_reply *reply)
{
    return truth_of_stem(stream >> MCDS__SEGMENT_CHUNK_BITS, reply);
}

/* The bits of the life that its root's client flags contain. A list's stream is its whole life. */
static uint64_t stem_of(const struct mcds__segment_append *append)
{
    return append->segments->one_route
               ? mcds__descriptor_stem(mcds__descriptor_flags(append->stream))
               : append->stream >> MCDS__SEGMENT_CHUNK_BITS;
}

/* The place of a handle, for proofs and for the line of those that need one. */
static uint64_t segment_proof_place(const struct mcds__segment_append *append)
{
    return mcds__segment_line(append->segments, 0, MCDS__SEGMENT_LINE_PROOF);
}

bool mcds__segment_prove_along(struct mcds__segment_append *append,
                               const struct mcds__operation *operation)
{
    append->looks = false;
    append->round = operation->round;
    if (append->segments->descriptor != NULL && append->truth != MCDS__SEGMENT_ALIVE &&
        !mcds__store_answers_here(append->segments->store))
        append->looks = mcds__proof_claim(operation, segment_proof_place(append),
                                          stem_of(append));
    return append->looks;
}

static void segment_proof_take(struct mcds__segment_append *append, const mcds_reply *reply)
{
    enum mcds__segment_truth truth = truth_of_stem(stem_of(append), reply);
    if (truth != MCDS__SEGMENT_UNPROVED)
        append->truth = (uint8_t)truth;
}

void mcds__segment_take_proof(struct mcds__segment_append *append,
                              const struct mcds__operation *operation, const mcds_reply *reply)
{
    assert(append->looks || append->proves);
    segment_proof_take(append, reply);
    if (truth_of_stem(stem_of(append), reply) == MCDS__SEGMENT_ALIVE)
        mcds__proof_publish(operation, segment_proof_place(append), stem_of(append),
                            append->round);
}

static void segment_proof_see_root(void *context, const mcds_reply *reply, mcds_bytes value)
{
    (void)value;
    segment_proof_take(context, reply);
}

enum mcds__segment_truth mcds__segment_is_alive(struct mcds__segment_append *append,
                                                const struct mcds__operation *operation)
{
    const struct mcds__segments *segments = append->segments;
    if (segments->descriptor == NULL)
        return MCDS__SEGMENT_ALIVE;
    if (append->truth == MCDS__SEGMENT_UNPROVED && append->round != 0 &&
        mcds__proof_is_seen(operation, segment_proof_place(append), stem_of(append),
                            append->round))
        append->truth = MCDS__SEGMENT_ALIVE;
    if (append->truth == MCDS__SEGMENT_UNPROVED && mcds__store_answers_here(segments->store))
        (void)mcds__store_peek(segments->store, mcds__key_bytes(segments->descriptor),
                               segment_proof_see_root, append);
    return (enum mcds__segment_truth)append->truth;
}

/* The reply to another operation's read of the root has not come. One that waits reads it. */
static enum mcds__step prove_alone(struct mcds__segment_append *append,
                                   struct mcds__operation *operation)
{
    enum mcds__step step;
    if (mcds__line_waits_in_doubt(operation, segment_proof_place(append), &step))
        return step;
    append->proves = true;
    append->round = operation->round;
    (void)mcds__proof_claim(operation, segment_proof_place(append), stem_of(append));
    append->requests[0] = mcds__segment_request_root(append->segments);
    return mcds__operation_ask_repeatable(operation, append->requests, 1);
}

enum mcds__step mcds__segment_prove_step(struct mcds__segment_append *append,
                                         struct mcds__operation *operation)
{
    assert(!append->under_way);
    const mcds_reply *reply = &append->requests[0].reply;
    if (append->proves) {
        mcds__segment_take_proof(append, operation, reply);
        append->proves = false;
        if (mcds__first_trouble(append->requests, 1) != NULL)
            return mcds__operation_retry(operation, reply);
    }
    if (mcds__segment_is_alive(append, operation) == MCDS__SEGMENT_UNPROVED)
        return prove_alone(append, operation);
    if (operation->line == segment_proof_place(append))
        mcds__line_release(operation);
    return mcds__operation_finish(operation, MCDS_OK);
}
