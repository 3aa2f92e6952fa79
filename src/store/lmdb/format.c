/* What one lmdb: file holds, byte by byte. */
#include "store/lmdb/format.h"

#include <assert.h>
#include <string.h>

#define RECORD_VERSION 1

static const uint8_t magic[4] = {'m', 'c', 'd', 's'};

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LITTLE_32(number) __builtin_bswap32(number)
#define LITTLE_64(number) __builtin_bswap64(number)
#else
#define LITTLE_32(number) (number)
#define LITTLE_64(number) (number)
#endif

static void lmdb_format_put_u32(uint8_t *out, uint32_t number)
{
    uint32_t little = LITTLE_32(number);
    memcpy(out, &little, sizeof little);
}

static void put_u64(uint8_t *out, uint64_t number)
{
    uint64_t little = LITTLE_64(number);
    memcpy(out, &little, sizeof little);
}

static uint32_t lmdb_format_get_u32(const uint8_t *in)
{
    uint32_t little;
    memcpy(&little, in, sizeof little);
    return LITTLE_32(little);
}

static uint64_t get_u64(const uint8_t *in)
{
    uint64_t little;
    memcpy(&little, in, sizeof little);
    return LITTLE_64(little);
}

bool mcds__record_read(mcds_bytes bytes, struct mcds__record *out)
{
    const uint8_t *at = bytes.data;
    if (bytes.length < MCDS__RECORD_HEADER || at[0] != RECORD_VERSION)
        return false;
    out->flags = lmdb_format_get_u32(at + 4);
    out->expires_ms = get_u64(at + 8);
    out->cas = get_u64(at + 16);
    out->value = (mcds_bytes){at + MCDS__RECORD_HEADER, bytes.length - MCDS__RECORD_HEADER};
    return true;
}

void mcds__record_write(const struct mcds__record *record, uint8_t out[MCDS__RECORD_HEADER])
{
    lmdb_format_put_u32(out, RECORD_VERSION);
    lmdb_format_put_u32(out + 4, record->flags);
    put_u64(out + 8, record->expires_ms);
    put_u64(out + 16, record->cas);
}

size_t mcds__expiry_write(uint64_t expires_ms, mcds_bytes key,
                          uint8_t out[MCDS__EXPIRY_KEY_MAX])
{
    assert(key.length + 8 <= MCDS__EXPIRY_KEY_MAX);
    for (unsigned i = 0; i < 8; i++)
        out[i] = (uint8_t)(expires_ms >> 8 * (7 - i));
    memcpy(out + 8, key.data, key.length);
    return 8 + key.length;
}

bool mcds__expiry_read(mcds_bytes bytes, uint64_t *expires_ms, mcds_bytes *key)
{
    const uint8_t *at = bytes.data;
    if (bytes.length <= 8 || bytes.length > MCDS__EXPIRY_KEY_MAX)
        return false;
    *expires_ms = 0;
    for (unsigned i = 0; i < 8; i++)
        *expires_ms = *expires_ms << 8 | at[i];
    *key = (mcds_bytes){at + 8, bytes.length - 8};
    return true;
}

bool mcds__lmdb_format_read(mcds_bytes bytes, struct mcds__lmdb_format *out)
{
    const uint8_t *at = bytes.data;
    if (bytes.length < MCDS__LMDB_FORMAT_BYTES || memcmp(at, magic, sizeof magic) != 0)
        return false;
    out->version = lmdb_format_get_u32(at + 4);
    out->identity = get_u64(at + 8);
    return true;
}

void mcds__lmdb_format_write(const struct mcds__lmdb_format *format,
                             uint8_t out[MCDS__LMDB_FORMAT_BYTES])
{
    memcpy(out, magic, sizeof magic);
    lmdb_format_put_u32(out + 4, format->version);
    put_u64(out + 8, format->identity);
}

bool mcds__lmdb_cas_read(mcds_bytes bytes, struct mcds__lmdb_cas *out)
{
    const uint8_t *at = bytes.data;
    if (bytes.length != MCDS__LMDB_CAS_BYTES)
        return false;
    out->next = get_u64(at);
    out->reserved = get_u64(at + 8);
    out->transaction = get_u64(at + 16);
    out->latest_ms = get_u64(at + 24);
    return true;
}

void mcds__lmdb_cas_write(const struct mcds__lmdb_cas *cas, uint8_t out[MCDS__LMDB_CAS_BYTES])
{
    put_u64(out, cas->next);
    put_u64(out + 8, cas->reserved);
    put_u64(out + 16, cas->transaction);
    put_u64(out + 24, cas->latest_ms);
}

bool mcds__lmdb_clock_read(mcds_bytes bytes, struct mcds__lmdb_clock_record *out)
{
    const uint8_t *at = bytes.data;
    if (bytes.length != MCDS__LMDB_CLOCK_BYTES)
        return false;
    memcpy(out->boot, at, MCDS__LMDB_BOOT_BYTES);
    out->offset_ns = (int64_t)get_u64(at + MCDS__LMDB_BOOT_BYTES);
    return true;
}

void mcds__lmdb_clock_write(const struct mcds__lmdb_clock_record *clock,
                            uint8_t out[MCDS__LMDB_CLOCK_BYTES])
{
    memcpy(out, clock->boot, MCDS__LMDB_BOOT_BYTES);
    put_u64(out + MCDS__LMDB_BOOT_BYTES, (uint64_t)clock->offset_ns);
}
