/* The frame around every stored value that is not a plain number. */
#include "base/frame.h"

#include <assert.h>
#include <string.h>

#include "base/hash/crc32c.h"

void mcds__put_u32(uint8_t *out, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(number >> (8 * i));
}

uint32_t mcds__get_u32(const uint8_t *in)
{
    uint32_t number = 0;
    for (int i = 3; i >= 0; i--)
        number = number << 8 | in[i];
    return number;
}

void mcds__put_u64(uint8_t *out, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(number >> (8 * i));
}

uint64_t mcds__get_u64(const uint8_t *in)
{
    uint64_t number;
    memcpy(&number, in, sizeof number);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    number = __builtin_bswap64(number);
#endif
    return number;
}

static uint32_t frame_sum_of(mcds_bytes key, const uint8_t *bytes, size_t length)
{
    return mcds__crc32c(mcds__crc32c(0, key.data, key.length), bytes, length);
}

size_t mcds__frame_seal(uint8_t *out, char type, uint8_t version, mcds_bytes key,
                        size_t payload_length)
{
    assert(payload_length <= SIZE_MAX - MCDS__FRAME_OVERHEAD);
    size_t length = MCDS__FRAME_HEAD + payload_length;
    out[0] = 'm';
    out[1] = 'd';
    out[2] = (uint8_t)type;
    out[3] = version;
    mcds__put_u32(out + length, frame_sum_of(key, out, length));
    return length + MCDS__FRAME_TAIL;
}

/* Whether it is a whole frame of this type, of any version. */
static bool frame_is_whole(mcds_bytes value, char type, mcds_bytes key)
{
    const uint8_t *bytes = value.data;
    if (value.length < MCDS__FRAME_OVERHEAD || bytes[0] != 'm' || bytes[1] != 'd' ||
        bytes[2] != (uint8_t)type)
        return false;
    size_t length = value.length - MCDS__FRAME_TAIL;
    return mcds__get_u32(bytes + length) == frame_sum_of(key, bytes, length);
}

bool mcds__frame_open(mcds_bytes value, char type, uint8_t version, mcds_bytes key,
                      mcds_bytes *payload_out)
{
    const uint8_t *bytes = value.data;
    if (!frame_is_whole(value, type, key) || bytes[3] != version)
        return false;
    payload_out->data = bytes + MCDS__FRAME_HEAD;
    payload_out->length = value.length - MCDS__FRAME_OVERHEAD;
    assert(payload_out->length < value.length);
    return true;
}

bool mcds__frame_is_newer(mcds_bytes value, char type, uint8_t version, mcds_bytes key)
{
    return frame_is_whole(value, type, key) && ((const uint8_t *)value.data)[3] > version;
}
