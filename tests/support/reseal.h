/* Store the value of a key of a map with other client flags: its sum is made to agree. */
#ifndef TEST_RESEAL_H
#define TEST_RESEAL_H

#include "base/frame.h"
#include "base/hash/crc32c.h"
#include "core/map/bucket/format.h"

#define RESEAL_SUM_AT 16

/* Records that follow the snapshot stay as they are. */
static inline void reseal(mcds_buffer *value, mcds_bytes key, uint32_t flags)
{
    uint8_t bytes[sizeof flags];
    mcds__put_u32(bytes, flags);
    uint32_t sum = mcds__crc32c(mcds__map_key_sum(key), bytes, sizeof bytes);
    sum = mcds__crc32c(sum, value->data, RESEAL_SUM_AT);
    sum = mcds__crc32c(sum, value->data + MCDS__MAP_HEAD, mcds__get_u32(value->data + 4));
    mcds__put_u32(value->data + RESEAL_SUM_AT, sum);
}

#endif
