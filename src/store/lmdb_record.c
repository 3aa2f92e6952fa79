/* What one lmdb: file holds, byte by byte. */
#include "store/lmdb_record.h"

#include <assert.h>
#include <string.h>

#define RECORD_VERSION 1

static const uint8_t magic[4] = {'m', 'c', 'd', 's'};

static void put_little(uint8_t *out, uint64_t number, unsigned length)
{
    for (unsigned i = 0; i < length; i++)
        out[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t get_little(const uint8_t *in, unsigned length)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < length; i++)
        number |= (uint64_t)in[i] << 8 * i;
    return number;
}

bool mcds__record_read(mcds_bytes bytes, struct mcds__record *out)
{
    const uint8_t *at = bytes.at;
    if (bytes.length < MCDS__RECORD_HEADER || at[0] != RECORD_VERSION)
        return false;
    out->flags = (uint32_t)get_little(at + 4, 4);
    out->expires_ms = get_little(at + 8, 8);
    out->cas = get_little(at + 16, 8);
    out->value = (mcds_bytes){at + MCDS__RECORD_HEADER, bytes.length - MCDS__RECORD_HEADER};
    return true;
}

void mcds__record_write(const struct mcds__record *record, uint8_t out[MCDS__RECORD_HEADER])
{
    put_little(out, RECORD_VERSION, 4);
    put_little(out + 4, record->flags, 4);
    put_little(out + 8, record->expires_ms, 8);
    put_little(out + 16, record->cas, 8);
}

size_t mcds__expiry_write(uint64_t expires_ms, mcds_bytes key,
                          uint8_t out[MCDS__EXPIRY_KEY_MAX])
{
    assert(key.length + 8 <= MCDS__EXPIRY_KEY_MAX);
    for (unsigned i = 0; i < 8; i++)
        out[i] = (uint8_t)(expires_ms >> 8 * (7 - i));
    memcpy(out + 8, key.at, key.length);
    return 8 + key.length;
}

bool mcds__expiry_read(mcds_bytes bytes, uint64_t *expires_ms, mcds_bytes *key)
{
    const uint8_t *at = bytes.at;
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
    const uint8_t *at = bytes.at;
    if (bytes.length < MCDS__LMDB_FORMAT_BYTES || memcmp(at, magic, sizeof magic) != 0)
        return false;
    out->version = (uint32_t)get_little(at + 4, 4);
    out->identity = get_little(at + 8, 8);
    return true;
}

void mcds__lmdb_format_write(const struct mcds__lmdb_format *format,
                             uint8_t out[MCDS__LMDB_FORMAT_BYTES])
{
    memcpy(out, magic, sizeof magic);
    put_little(out + 4, format->version, 4);
    put_little(out + 8, format->identity, 8);
}

bool mcds__lmdb_cas_read(mcds_bytes bytes, struct mcds__lmdb_cas *out)
{
    const uint8_t *at = bytes.at;
    if (bytes.length != MCDS__LMDB_CAS_BYTES)
        return false;
    out->next = get_little(at, 8);
    out->reserved = get_little(at + 8, 8);
    return true;
}

void mcds__lmdb_cas_write(const struct mcds__lmdb_cas *cas, uint8_t out[MCDS__LMDB_CAS_BYTES])
{
    put_little(out, cas->next, 8);
    put_little(out + 8, cas->reserved, 8);
}
