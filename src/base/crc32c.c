/* CRC-32C (Castagnoli), as in RFC 3720: reflected polynomial 0x82F63B78, four bits at a time.
 */
#include "base/crc32c.h"

static const uint32_t nibbles[16] = {
    0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3,
    0x61C69362, 0x7198540D, 0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9,
    0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75,
};

uint32_t mcds__crc32c(uint32_t sum, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    sum = ~sum;
    for (size_t i = 0; i < length; i++) {
        sum = nibbles[(sum ^ at[i]) & 15] ^ sum >> 4;
        sum = nibbles[(sum ^ at[i] >> 4) & 15] ^ sum >> 4;
    }
    return ~sum;
}
