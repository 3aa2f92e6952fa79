/* The checksum CRC-32C (Castagnoli), as in RFC 3720: reflected polynomial 0x82F63B78. Uses the
 * processor's instruction where there is one, else a table of four bits. */
#include "base/hash/crc32c.h"

#include <string.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAS_INSTRUCTION 1
#endif

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

#ifdef HAS_INSTRUCTION

/* The instruction takes three cycles, and one can start in each cycle, so long inputs are
 * summed as three streams of STREAM bytes at once. To append zeros of a stream's length to a
 * sum, multiply it by a power of x. The factors are x^(8 * STREAM - 33) and x^(16 * STREAM -
 * 33) modulo the polynomial, reflected; the instruction adds the 33. */
#define STREAM 128
#define OVER_ONE UINT32_C(0x0D3B6092)
#define OVER_TWO UINT32_C(0xB9E02B86)

static uint64_t word_at(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

__attribute__((target("sse4.2,pclmul"))) static uint64_t moved(uint64_t sum, uint32_t factor)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)sum),
                                           _mm_cvtsi64_si128((int64_t)factor), 0);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

__attribute__((target("sse4.2,pclmul"))) static uint64_t
three_streams(uint64_t sum, const uint8_t *at, size_t streams)
{
    for (; streams >= 3; streams -= 3, at += (size_t)3 * STREAM) {
        uint64_t second = 0;
        uint64_t third = 0;
        for (size_t i = 0; i < STREAM; i += sizeof(uint64_t)) {
            sum = _mm_crc32_u64(sum, word_at(at + i));
            second = _mm_crc32_u64(second, word_at(at + STREAM + i));
            third = _mm_crc32_u64(third, word_at(at + (size_t)2 * STREAM + i));
        }
        sum = moved(sum, OVER_TWO) ^ moved(second, OVER_ONE) ^ third;
    }
    return sum;
}

__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t sum, const uint8_t *at, size_t length)
{
    uint64_t wide = ~sum;
    if (length >= (size_t)3 * STREAM && __builtin_cpu_supports("pclmul")) {
        size_t rounds = length / ((size_t)3 * STREAM);
        wide = three_streams(wide, at, rounds * 3);
        at += rounds * 3 * STREAM;
        length -= rounds * 3 * STREAM;
    }
    for (; length >= 4 * sizeof(uint64_t); length -= 4 * sizeof(uint64_t)) {
        for (size_t i = 0; i < 4; i++)
            wide = _mm_crc32_u64(wide, word_at(at + i * sizeof(uint64_t)));
        at += 4 * sizeof(uint64_t);
    }
    for (; length >= sizeof(uint64_t); length -= sizeof(uint64_t)) {
        wide = _mm_crc32_u64(wide, word_at(at));
        at += sizeof(uint64_t);
    }
    sum = (uint32_t)wide;
    if (length & 4) {
        uint32_t word;
        memcpy(&word, at, sizeof word);
        sum = _mm_crc32_u32(sum, word);
        at += sizeof word;
    }
    if (length & 2) {
        uint16_t half;
        memcpy(&half, at, sizeof half);
        sum = _mm_crc32_u16(sum, half);
        at += sizeof half;
    }
    if (length & 1)
        sum = _mm_crc32_u8(sum, *at);
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
