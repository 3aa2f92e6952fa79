/* Replica: the tombstone of a drop.
 *
 * Payload of the frame (type 'Y', version 1): number u64, random, new with each drop */
#include "core/replica/tombstone.h"

#include <assert.h>
#include <string.h>

#include "base/frame.h"

#define FRAME_TYPE 'Y'
#define FRAME_VERSION 1
#define TOMBSTONE_MS 86400000
#define DROPPING_MS 120000 /* a drop takes less */

mcds_request mcds__replica_tombstone_get(const struct mcds__replica *replica, uint32_t copy)
{
    assert(copy < replica->copies);
    return (mcds_request){
        .command = MCDS_GET,
        .options = MCDS_WANT_TTL,
        .key = mcds__key_bytes(&replica->tombstone),
        .route = mcds__key_bytes(&replica->head),
        .copy = copy,
    };
}

mcds_request mcds__replica_tombstone_set(const struct mcds__replica *replica, uint32_t copy,
                                         uint64_t number, uint8_t *value)
{
    assert(number != 0);
    mcds_request request = mcds__replica_tombstone_get(replica, copy);
    request.command = MCDS_SET;
    request.options = MCDS_MAKES_ROOM;
    request.ttl_ms = TOMBSTONE_MS;
    request.value = mcds__frame_seal_numbers(value, FRAME_TYPE, FRAME_VERSION, request.key,
                                             &number, 1);
    assert(request.value.length == MCDS__REPLICA_TOMBSTONE_MAX);
    return request;
}

enum mcds__step mcds__replica_ask_tombstones(const struct mcds__replica *replica,
                                             mcds_request *requests,
                                             struct mcds__operation *operation)
{
    for (uint32_t i = 0; i < replica->copies; i++)
        requests[i] = mcds__replica_tombstone_get(replica, i);
    return mcds__operation_ask_repeatable(operation, requests, replica->copies);
}

/* False: the copy has not answered, or the value is not a tombstone. 0: there is no
 * tombstone. */
static bool read_tombstone(struct mcds__operation *operation, const mcds_request *request,
                           uint64_t *number_out)
{
    *number_out = 0;
    if (request->reply.outcome != MCDS_OUT_OK)
        return request->reply.outcome == MCDS_OUT_MISS;
    return mcds__frame_open_numbers(mcds__operation_value(operation, request), FRAME_TYPE,
                                    FRAME_VERSION, request->key, number_out, 1);
}

bool mcds__replica_is_being_dropped(const struct mcds__replica *replica,
                                    const mcds_request *requests)
{
    for (uint32_t i = 0; i < replica->copies; i++) {
        const mcds_reply *reply = &requests[i].reply;
        if (reply->outcome == MCDS_OUT_OK &&
            (reply->ttl_ms < 0 || reply->ttl_ms > TOMBSTONE_MS - DROPPING_MS))
            return true;
    }
    return false;
}

void mcds__replica_learn_tombstone(struct mcds__replica *replica, uint32_t copy,
                                   struct mcds__operation *operation,
                                   const mcds_request *request)
{
    assert(copy < replica->copies);
    replica->copy[copy].knows_tombstone = read_tombstone(operation, request,
                                                         &replica->copy[copy].tombstone);
}

bool mcds__replica_knows_tombstones(const struct mcds__replica *replica)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < replica->copies; i++)
        count += replica->copy[i].knows_tombstone;
    return count > replica->copies / 2;
}

bool mcds__replica_was_dropped(const struct mcds__replica *replica,
                               const mcds_request *requests, struct mcds__operation *operation)
{
    uint32_t changed = 0;
    for (uint32_t i = 0; i < replica->copies; i++) {
        const struct mcds__replica_copy *copy = &replica->copy[i];
        uint64_t number;
        assert(requests[i].copy == i);
        if (copy->knows_tombstone && read_tombstone(operation, &requests[i], &number) &&
            number != 0)
            changed += number != copy->tombstone;
    }
    return changed > replica->copies / 2;
}

void mcds__replica_forget_life(struct mcds__replica *replica)
{
    assert(replica->flushed <= replica->added);
    replica->total -= replica->stored;
    replica->stored = 0;
    replica->issued = 0;
    replica->owner = 0;
    replica->doubt = false;
    replica->known = false;
    replica->seen = false;
    replica->reborn = false;
    memset(replica->generations, 0, sizeof replica->generations);
    memset(replica->copy, 0, sizeof replica->copy);
}
