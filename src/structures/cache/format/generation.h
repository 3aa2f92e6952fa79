/* Cache: generations, of the cache and of each tag.
 *
 * A generation is 8 random bytes under a key. An item carries the generations that its filler read
 * before it read the source. It is shown only while each of these keys holds the same bytes. To
 * forget all items with a tag, a caller sets the key to new random bytes. No number is used
 * twice, so no item is shown again after a repeated request or a lost key.
 *
 * Payload of the frame (type 'K', version 1): state u8 (1 alive, 2 held) | generation u64
 *
 * A held generation still shows its items, and no item is stored under it. The hold is written by
 * compare-and-set: a set of the bytes that were read could undo a change of the generation after
 * that read. For the same reason its ttl is renewed by compare-and-set and never by touch, which
 * would also prolong a hold. */
#ifndef MCDS_STRUCTURES_CACHE_FORMAT_GENERATION_H
#define MCDS_STRUCTURES_CACHE_FORMAT_GENERATION_H

#include "base/frame.h"
#include "base/key.h"
#include "engine/operation.h"

#define MCDS__CACHE_GENERATION_BYTES (MCDS__FRAME_OVERHEAD + 1 + 8)
/* Longer than the life of an item that was stored when the generation had RENEW_MS left. */
#define MCDS__CACHE_GENERATION_MS (UINT64_C(90) * 24 * 3600 * 1000)
#define MCDS__CACHE_RENEW_MS (UINT64_C(75) * 24 * 3600 * 1000)

enum mcds__cache_generation_state {
    MCDS__CACHE_GONE = 0, /* no key */
    MCDS__CACHE_ALIVE = 1,
    MCDS__CACHE_HELD = 2,
    MCDS__CACHE_DAMAGED /* not written by mcds */
};

struct mcds__cache_generation {
    struct mcds__key key;
    enum mcds__cache_generation_state state;
    uint64_t number;
    int64_t ttl_ms; /* as the store reports it */
    mcds_cas_token cas;
    uint8_t frame[MCDS__CACHE_GENERATION_BYTES];
};

/* The key's value for a state and a number, in `generation->frame`. */
mcds_bytes mcds__cache_generation_frame(struct mcds__cache_generation *generation,
                                        enum mcds__cache_generation_state state,
                                        uint64_t number);
mcds_request mcds__cache_generation_get(const struct mcds__cache_generation *generation);
/* Take the reply to that request, OK or MISS. */
void mcds__cache_generation_take(struct mcds__cache_generation *generation,
                                 const mcds_batch *batch, const mcds_request *request);
/* Decode a value. False: not written by this version. */
bool mcds__cache_generation_decode(mcds_bytes value, mcds_bytes key,
                                   enum mcds__cache_generation_state *state_out,
                                   uint64_t *number_out);

/* Whether an item may be stored under it. */
static inline bool
mcds__cache_generation_is_alive(const struct mcds__cache_generation *generation)
{
    return generation->state == MCDS__CACHE_ALIVE;
}

#endif
