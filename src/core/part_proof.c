/* Core part: whether the life of a log is over.
 *
 * The keys of a log contain a part of its life, and whoever drops it erases the root: a record of
 * that life counts only while the root is there. A put is acknowledged when the root was seen after
 * the put had begun, so that no drop that had returned before has erased it. */
#include <stdatomic.h>

#include "core/part.h"

#define SEEN UINT64_C(1)
#define ROUND_SHIFT 31

mcds_request mcds__part_look_at_root(const struct mcds__parts *parts)
{
    return (mcds_request){
        .command = MCDS_GET,
        .options = MCDS_NO_VALUE,
        .key = mcds__key_bytes(parts->descriptor),
    };
}

enum mcds__part_truth mcds__part_truth_of(uint64_t family, const mcds_reply *reply)
{
    if (reply->outcome == MCDS_OUT_OK &&
        mcds__descriptor_stem(reply->flags) == family >> MCDS__PART_CHUNK_BITS)
        return MCDS__PART_ALIVE;
    if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
        return MCDS__PART_OVER;
    return MCDS__PART_UNPROVED;
}

/* That this operation's round looks for the root of its life. */
static uint64_t claim_of(const struct mcds__part_append *append)
{
    return append->round << ROUND_SHIFT | append->family >> MCDS__PART_CHUNK_BITS << 1;
}

static _Atomic uint64_t *place_of(struct mcds__part_append *append)
{
    return &append->parts->proofs[append->round % MCDS__PART_PROOFS];
}

/* All operations of a round began before it was sent, so they share one look. */
bool mcds__part_prove_along(struct mcds__part_append *append,
                            const struct mcds__operation *operation)
{
    append->looks = false;
    append->round = operation->round;
    if (append->parts->descriptor == NULL || append->truth == MCDS__PART_ALIVE ||
        mcds__store_answers_here(append->parts->store))
        return false;
    if (append->round != 0) {
        if ((atomic_load(place_of(append)) & ~SEEN) == claim_of(append))
            return false;
        atomic_store(place_of(append), claim_of(append));
    }
    append->looks = true;
    return true;
}

static void take(struct mcds__part_append *append, const mcds_reply *reply)
{
    enum mcds__part_truth truth = mcds__part_truth_of(append->family, reply);
    if (truth != MCDS__PART_UNPROVED)
        append->truth = (uint8_t)truth;
}

void mcds__part_take_proof(struct mcds__part_append *append, const mcds_reply *reply)
{
    uint64_t mine = claim_of(append);
    take(append, reply);
    if (append->truth == MCDS__PART_ALIVE && append->round != 0)
        (void)atomic_compare_exchange_strong(place_of(append), &mine, mine | SEEN);
}

static void see_root(void *context, const mcds_reply *reply, mcds_bytes value)
{
    (void)value;
    take(context, reply);
}

enum mcds__part_truth mcds__part_is_alive(struct mcds__part_append *append)
{
    const struct mcds__parts *parts = append->parts;
    if (parts->descriptor == NULL)
        return MCDS__PART_ALIVE;
    if (append->truth == MCDS__PART_UNPROVED && append->round != 0 &&
        atomic_load(place_of(append)) == (claim_of(append) | SEEN))
        append->truth = MCDS__PART_ALIVE;
    if (append->truth == MCDS__PART_UNPROVED && mcds__store_answers_here(parts->store))
        (void)mcds__store_look(parts->store, mcds__key_bytes(parts->descriptor), see_root,
                               append);
    return (enum mcds__part_truth)append->truth;
}

enum mcds__step mcds__part_prove_step(struct mcds__part_append *append,
                                      struct mcds__operation *operation)
{
    const mcds_reply *reply = &append->requests[0].reply;
    if (append->proves) {
        append->proves = false;
        if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation))
            return MCDS__SLEEP;
        if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
            return mcds__operation_fail_read(operation, reply);
        take(append, reply);
    }
    if (mcds__part_is_alive(append) != MCDS__PART_UNPROVED)
        return mcds__operation_finish(operation, MCDS_OK);
    append->proves = true;
    append->requests[0] = mcds__part_look_at_root(append->parts);
    return mcds__operation_ask_repeatable(operation, append->requests, 1);
}
