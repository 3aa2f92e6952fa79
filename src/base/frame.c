/* The frame around every stored value that is not a plain number. */
#include "base/frame.h"

#include <assert.h>

#include "base/hash/crc32c.h"

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

mcds_bytes mcds__frame_seal_numbers(uint8_t *out, char type, uint8_t version, mcds_bytes key,
                                    const uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mcds__put_u64(out + MCDS__FRAME_HEAD + 8 * i, numbers[i]);
    return (mcds_bytes){out, mcds__frame_seal(out, type, version, key, 8 * count)};
}

bool mcds__frame_open_numbers(mcds_bytes value, char type, uint8_t version, mcds_bytes key,
                              uint64_t *numbers_out, size_t count)
{
    mcds_bytes payload;
    if (!mcds__frame_open(value, type, version, key, &payload) || payload.length != 8 * count)
        return false;
    for (size_t i = 0; i < count; i++)
        numbers_out[i] = mcds__get_u64((const uint8_t *)payload.data + 8 * i);
    return true;
}

bool mcds__frame_is_newer(mcds_bytes value, char type, uint8_t version, mcds_bytes key)
{
    return frame_is_whole(value, type, key) && ((const uint8_t *)value.data)[3] > version;
}
