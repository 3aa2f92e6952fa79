/* CRC-32C (Castagnoli), as in RFC 3720: reflected polynomial 0x82F63B78. By the processor's own
 * instruction where it has one, else four bits at a time. */
#include "base/crc32c.h"

#include <string.h>

static const uint32_t nibbles[16] = {
    0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3,
    0x61C69362, 0x7198540D, 0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9,
    0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75,
};

uint32_t mcds__crc32c_portable(uint32_t sum, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    sum = ~sum;
    for (size_t i = 0; i < length; i++) {
        sum = nibbles[(sum ^ at[i]) & 15] ^ sum >> 4;
        sum = nibbles[(sum ^ at[i] >> 4) & 15] ^ sum >> 4;
    }
    return ~sum;
}

#if defined(__x86_64__) && defined(__GNUC__)

__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t sum, const uint8_t *at, size_t length)
{
    uint64_t wide = ~sum;
    for (; length >= sizeof(uint64_t); length -= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        wide = __builtin_ia32_crc32di(wide, word);
        at += sizeof word;
    }
    sum = (uint32_t)wide;
    if (length & 4) {
        uint32_t word;
        memcpy(&word, at, sizeof word);
        sum = __builtin_ia32_crc32si(sum, word);
        at += sizeof word;
    }
    for (length &= 3; length > 0; length--)
        sum = __builtin_ia32_crc32qi(sum, *at++);
    return ~sum;
}

uint32_t mcds__crc32c(uint32_t sum, const void *bytes, size_t length)
{
    if (__builtin_cpu_supports("sse4.2"))
        return by_instruction(sum, bytes, length);
    return mcds__crc32c_portable(sum, bytes, length);
}

#else

uint32_t mcds__crc32c(uint32_t sum, const void *bytes, size_t length)
{
    return mcds__crc32c_portable(sum, bytes, length);
}

#endif
