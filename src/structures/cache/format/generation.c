/* Cache: the value of a generation's key. */
#include "structures/cache/format/generation.h"

#include <assert.h>

#define FRAME_TYPE 'K'
#define FRAME_VERSION 1

mcds_bytes mcds__cache_generation_frame(struct mcds__cache_generation *generation,
                                        enum mcds__cache_generation_state state,
                                        uint64_t number)
{
    assert(state == MCDS__CACHE_ALIVE || state == MCDS__CACHE_HELD);
    uint8_t *at = generation->frame + MCDS__FRAME_HEAD;
    at[0] = (uint8_t)state;
    mcds__put_u64(at + 1, number);
    size_t length = mcds__frame_seal(generation->frame, FRAME_TYPE, FRAME_VERSION,
                                     mcds__key_bytes(&generation->key), 1 + 8);
    assert(length == sizeof generation->frame);
    return (mcds_bytes){generation->frame, length};
}

mcds_request mcds__cache_generation_get(const struct mcds__cache_generation *generation)
{
    return (mcds_request){.command = MCDS_GET,
                          .options = MCDS_WANT_TTL,
                          .key = mcds__key_bytes(&generation->key)};
}

bool mcds__cache_generation_decode(mcds_bytes value, mcds_bytes key,
                                   enum mcds__cache_generation_state *state_out,
                                   uint64_t *number_out)
{
    mcds_bytes payload;
    if (!mcds__frame_open(value, FRAME_TYPE, FRAME_VERSION, key, &payload) ||
        payload.length != 1 + 8)
        return false;
    const uint8_t *at = payload.data;
    if (at[0] != MCDS__CACHE_ALIVE && at[0] != MCDS__CACHE_HELD)
        return false;
    *state_out = (enum mcds__cache_generation_state)at[0];
    *number_out = mcds__get_u64(at + 1);
    return true;
}

void mcds__cache_generation_take(struct mcds__cache_generation *generation,
                                 const mcds_batch *batch, const mcds_request *request)
{
    const mcds_reply *reply = &request->reply;
    assert(reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS);
    generation->state = MCDS__CACHE_GONE;
    generation->number = 0;
    generation->ttl_ms = reply->ttl_ms;
    generation->cas = reply->cas;
    if (reply->outcome == MCDS_OUT_OK &&
        !mcds__cache_generation_decode(mcds__reply_value(batch, request), request->key,
                                       &generation->state, &generation->number))
        generation->state = MCDS__CACHE_DAMAGED;
}
