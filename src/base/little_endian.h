/* Numbers as they are stored: little-endian, at any address. */
#ifndef MCDS_BASE_LITTLE_ENDIAN_H
#define MCDS_BASE_LITTLE_ENDIAN_H

#include <stdint.h>
#include <string.h>

/* From the order of the processor to that of the store, and back. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define MCDS__LITTLE_16(number) __builtin_bswap16(number)
#define MCDS__LITTLE_32(number) __builtin_bswap32(number)
#define MCDS__LITTLE_64(number) __builtin_bswap64(number)
#else
#define MCDS__LITTLE_16(number) (number)
#define MCDS__LITTLE_32(number) (number)
#define MCDS__LITTLE_64(number) (number)
#endif

static inline void mcds__put_u16(uint8_t *out, uint16_t number)
{
    uint16_t little = MCDS__LITTLE_16(number);
    memcpy(out, &little, sizeof little);
}

static inline uint16_t mcds__get_u16(const uint8_t *in)
{
    uint16_t little;
    memcpy(&little, in, sizeof little);
    return MCDS__LITTLE_16(little);
}

static inline void mcds__put_u32(uint8_t *out, uint32_t number)
{
    uint32_t little = MCDS__LITTLE_32(number);
    memcpy(out, &little, sizeof little);
}

static inline uint32_t mcds__get_u32(const uint8_t *in)
{
    uint32_t little;
    memcpy(&little, in, sizeof little);
    return MCDS__LITTLE_32(little);
}

static inline void mcds__put_u64(uint8_t *out, uint64_t number)
{
    uint64_t little = MCDS__LITTLE_64(number);
    memcpy(out, &little, sizeof little);
}

static inline uint64_t mcds__get_u64(const uint8_t *in)
{
    uint64_t little;
    memcpy(&little, in, sizeof little);
    return MCDS__LITTLE_64(little);
}

/* A time in milliseconds, in six bytes. */
#define MCDS__TIME_LENGTH 6

static inline void mcds__put_time(uint8_t *out, int64_t time_ms)
{
    mcds__put_u32(out, (uint32_t)time_ms);
    mcds__put_u16(out + 4, (uint16_t)((uint64_t)time_ms >> 32));
}

/* Two loads: the processor would wait for six bytes that are put together in memory. */
static inline int64_t mcds__get_time(const uint8_t *in)
{
    return (int64_t)(mcds__get_u32(in) | (uint64_t)mcds__get_u16(in + 4) << 32);
}

#endif
