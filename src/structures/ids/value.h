/* Ids: the value of the key, and the time in an id.
 *
 * An id has the milliseconds since 2020 (41 bits) and a number in that millisecond, 22 bits or 12.
 *
 * Payload of the frame (type 'I', version 1): state (1 mark, 2 numbers) | bits u8 | next u64 */
#ifndef MCDS_STRUCTURES_IDS_VALUE_H
#define MCDS_STRUCTURES_IDS_VALUE_H

#include "base/frame.h"
#include "mcds.h"

#define MCDS__IDS_EPOCH_MS INT64_C(1577836800000) /* 2020-01-01 00:00 UTC */
#define MCDS__IDS_TIME_BITS 41
/* A clock at or after this is refused: an hour before the last time of an id, in 2089. */
#define MCDS__IDS_TIME_END ((INT64_C(1) << MCDS__IDS_TIME_BITS) - 3600000)
#define MCDS__IDS_VALUE_LENGTH (MCDS__FRAME_OVERHEAD + 10)

struct mcds__ids_value {
    bool is_mark; /* the key was made, and has no number yet */
    uint32_t bits;
    uint64_t next; /* no id from here on was returned since the key was made */
};

static inline uint32_t mcds__ids_shift(uint32_t bits)
{
    return bits - MCDS__IDS_TIME_BITS;
}

/* Milliseconds since 2020. */
static inline int64_t mcds__ids_time_of(uint64_t id, uint32_t bits)
{
    return (int64_t)(id >> mcds__ids_shift(bits));
}

/* The first id of a millisecond. */
static inline uint64_t mcds__ids_first_of(int64_t time, uint32_t bits)
{
    return (uint64_t)time << mcds__ids_shift(bits);
}

/* Encode into `out`, which has MCDS__IDS_VALUE_LENGTH bytes. */
mcds_bytes mcds__ids_encode(const struct mcds__ids_value *value, mcds_bytes key, uint8_t *out);
/* MCDS_OK; MCDS_CORRUPT or MCDS_UNSUPPORTED, and why. */
int mcds__ids_decode(mcds_bytes value, mcds_bytes key, struct mcds__ids_value *value_out,
                     const mcds_reason **detail_out);

#endif
