/* Segment: whether the life of a list or of a log is over.
 *
 * The keys of a log contain 30 bits of its life, and a drop erases the root: a record of that
 * life counts only while the root exists. A put is acknowledged when the root was seen after
 * the put had begun, so that no drop that had returned before has erased it. A push to a list
 * is acknowledged by the same rule: without the root nobody finds its value. */
#include <assert.h>
#include <stdatomic.h>

#include "core/segment/segment.h"

#define SEEN UINT64_C(1)
#define ROUND_SHIFT 31

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
    if (reply->outcome == MCDS_OUT_OK && mcds__descriptor_stem(reply->flags) == stem)
        return MCDS__SEGMENT_ALIVE;
    if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
        return MCDS__SEGMENT_OVER;
    return MCDS__SEGMENT_UNPROVED;
}

enum mcds__segment_truth mcds__segment_truth_of(uint64_t stream, const mcds_reply *reply)
{
    return truth_of_stem(stream >> MCDS__SEGMENT_CHUNK_BITS, reply);
}

/* The bits of the life that the client flags of its root contain. The stream of a list is its
 * whole life. */
static uint64_t stem_of(const struct mcds__segment_append *append)
{
    return append->segments->one_route
               ? mcds__descriptor_stem(mcds__descriptor_flags(append->stream))
               : append->stream >> MCDS__SEGMENT_CHUNK_BITS;
}

/* The proof word of this operation's round and life, not yet seen. */
static uint64_t claim_of(const struct mcds__segment_append *append)
{
    assert(stem_of(append) < UINT64_C(1) << (ROUND_SHIFT - 1));
    return append->round << ROUND_SHIFT | stem_of(append) << 1;
}

static _Atomic uint64_t *proof_slot(struct mcds__segment_append *append)
{
    assert(append->round != 0);
    return &append->segments->proofs[append->round % MCDS__SEGMENT_PROOFS];
}

/* All operations of a round began before it was sent, so they share one read. */
bool mcds__segment_prove_along(struct mcds__segment_append *append,
                               const struct mcds__operation *operation)
{
    append->looks = false;
    append->round = operation->round;
    if (append->segments->descriptor == NULL || append->truth == MCDS__SEGMENT_ALIVE ||
        mcds__store_answers_here(append->segments->store))
        return false;
    if (append->round != 0) {
        if ((atomic_load(proof_slot(append)) & ~SEEN) == claim_of(append))
            return false;
        atomic_store(proof_slot(append), claim_of(append));
    }
    append->looks = true;
    return true;
}

static void segment_proof_take(struct mcds__segment_append *append, const mcds_reply *reply)
{
    enum mcds__segment_truth truth = truth_of_stem(stem_of(append), reply);
    if (truth != MCDS__SEGMENT_UNPROVED)
        append->truth = (uint8_t)truth;
}

void mcds__segment_take_proof(struct mcds__segment_append *append, const mcds_reply *reply)
{
    assert(append->looks);
    uint64_t mine = claim_of(append);
    segment_proof_take(append, reply);
    if (append->truth == MCDS__SEGMENT_ALIVE && append->round != 0)
        (void)atomic_compare_exchange_strong(proof_slot(append), &mine, mine | SEEN);
}

static void segment_proof_see_root(void *context, const mcds_reply *reply, mcds_bytes value)
{
    (void)value;
    segment_proof_take(context, reply);
}

enum mcds__segment_truth mcds__segment_is_alive(struct mcds__segment_append *append)
{
    const struct mcds__segments *segments = append->segments;
    if (segments->descriptor == NULL)
        return MCDS__SEGMENT_ALIVE;
    if (append->truth == MCDS__SEGMENT_UNPROVED && append->round != 0 &&
        atomic_load(proof_slot(append)) == (claim_of(append) | SEEN))
        append->truth = MCDS__SEGMENT_ALIVE;
    if (append->truth == MCDS__SEGMENT_UNPROVED && mcds__store_answers_here(segments->store))
        (void)mcds__store_peek(segments->store, mcds__key_bytes(segments->descriptor),
                               segment_proof_see_root, append);
    return (enum mcds__segment_truth)append->truth;
}

enum mcds__step mcds__segment_prove_step(struct mcds__segment_append *append,
                                         struct mcds__operation *operation)
{
    assert(!append->under_way);
    const mcds_reply *reply = &append->requests[0].reply;
    if (append->proves) {
        append->proves = false;
        if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation))
            return MCDS__SLEEP;
        if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
            return mcds__operation_fail_read(operation, reply);
        segment_proof_take(append, reply);
    }
    if (mcds__segment_is_alive(append) != MCDS__SEGMENT_UNPROVED)
        return mcds__operation_finish(operation, MCDS_OK);
    append->proves = true;
    append->requests[0] = mcds__segment_request_root(append->segments);
    return mcds__operation_ask_repeatable(operation, append->requests, 1);
}
