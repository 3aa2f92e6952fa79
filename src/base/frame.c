/* How every value that is not a bare number is kept. */
#include "base/frame.h"

#include <string.h>

#include "base/crc32c.h"

void mcds__put_u64(uint8_t *out, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(number >> (8 * i));
}

uint64_t mcds__get_u64(const uint8_t *in)
{
    uint64_t number = 0;
    for (int i = 7; i >= 0; i--)
        number = number << 8 | in[i];
    return number;
}

static uint32_t sum_of(mcds_bytes key, const uint8_t *bytes, size_t length)
{
    return mcds__crc32c(mcds__crc32c(0, key.at, key.length), bytes, length);
}

size_t mcds__frame_seal(uint8_t *out, char type, uint8_t version, mcds_bytes key,
                        size_t payload_length)
{
    size_t length = MCDS__FRAME_HEAD + payload_length;
    out[0] = 'm';
    out[1] = 'd';
    out[2] = (uint8_t)type;
    out[3] = version;
    uint32_t sum = sum_of(key, out, length);
    for (int i = 0; i < MCDS__FRAME_TAIL; i++)
        out[length + (size_t)i] = (uint8_t)(sum >> (8 * i));
    return length + MCDS__FRAME_TAIL;
}

bool mcds__frame_open(mcds_bytes value, char type, uint8_t version, mcds_bytes key,
                      mcds_bytes *payload_out)
{
    const uint8_t *bytes = value.at;
    if (value.length < MCDS__FRAME_OVERHEAD)
        return false;
    if (bytes[0] != 'm' || bytes[1] != 'd' || bytes[2] != (uint8_t)type || bytes[3] != version)
        return false;
    size_t length = value.length - MCDS__FRAME_TAIL;
    uint32_t sum = sum_of(key, bytes, length);
    for (int i = 0; i < MCDS__FRAME_TAIL; i++)
        if (bytes[length + (size_t)i] != (uint8_t)(sum >> (8 * i)))
            return false;
    payload_out->at = bytes + MCDS__FRAME_HEAD;
    payload_out->length = length - MCDS__FRAME_HEAD;
    return true;
}
