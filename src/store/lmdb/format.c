/* The contents of one lmdb: file, byte by byte. */
#include "store/lmdb/format.h"

#include <assert.h>
#include <lmdb.h>

#include "base/little_endian.h"

#define RECORD_VERSION 1

static const uint8_t magic[4] = {'m', 'c', 'd', 's'};

/* A record before its value, and the entry "cas", as they are stored. */
struct stored_record {
    uint32_t version;
    uint32_t flags;
    uint64_t expires_ms;
    uint64_t cas;
};
_Static_assert(sizeof(struct stored_record) == MCDS__RECORD_HEADER, "no padding");
_Static_assert(sizeof(struct mcds__lmdb_cas) == MCDS__LMDB_CAS_BYTES, "no padding");

bool mcds__record_read(mcds_bytes bytes, struct mcds__record *out)
{
    const uint8_t *at = bytes.data;
    struct stored_record stored;
    if (bytes.length < MCDS__RECORD_HEADER || at[0] != RECORD_VERSION)
        return false;
    memcpy(&stored, at, sizeof stored);
    out->flags = MCDS__LITTLE_32(stored.flags);
    out->expires_ms = MCDS__LITTLE_64(stored.expires_ms);
    out->cas = MCDS__LITTLE_64(stored.cas);
    out->value = (mcds_bytes){at + MCDS__RECORD_HEADER, bytes.length - MCDS__RECORD_HEADER};
    return true;
}

void mcds__record_write(const struct mcds__record *record, uint8_t out[MCDS__RECORD_HEADER])
{
    const struct stored_record stored = {
        .version = MCDS__LITTLE_32(RECORD_VERSION),
        .flags = MCDS__LITTLE_32(record->flags),
        .expires_ms = MCDS__LITTLE_64(record->expires_ms),
        .cas = MCDS__LITTLE_64(record->cas),
    };
    memcpy(out, &stored, sizeof stored);
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

int mcds__lmdb_entry_get(MDB_txn *txn, unsigned root, const char *name, mcds_bytes *out)
{
    MDB_val at = {strlen(name), (void *)(uintptr_t)name};
    MDB_val data = {0, NULL};
    int code = mdb_get(txn, root, &at, &data);
    *out = (mcds_bytes){data.mv_data, data.mv_size};
    return code == MDB_NOTFOUND ? 0 : code;
}

int mcds__lmdb_entry_put(MDB_txn *txn, unsigned root, const char *name, const void *bytes,
                         size_t length)
{
    MDB_val at = {strlen(name), (void *)(uintptr_t)name};
    MDB_val data = {length, (void *)(uintptr_t)bytes};
    return mdb_put(txn, root, &at, &data, 0);
}

bool mcds__lmdb_format_read(mcds_bytes bytes, struct mcds__lmdb_format *out)
{
    const uint8_t *at = bytes.data;
    if (bytes.length < MCDS__LMDB_FORMAT_BYTES || memcmp(at, magic, sizeof magic) != 0)
        return false;
    out->version = mcds__get_u32(at + 4);
    out->identity = mcds__get_u64(at + 8);
    return true;
}

void mcds__lmdb_format_write(const struct mcds__lmdb_format *format,
                             uint8_t out[MCDS__LMDB_FORMAT_BYTES])
{
    memcpy(out, magic, sizeof magic);
    mcds__put_u32(out + 4, format->version);
    mcds__put_u64(out + 8, format->identity);
}

bool mcds__lmdb_cas_read(mcds_bytes bytes, struct mcds__lmdb_cas *out)
{
    if (bytes.length != MCDS__LMDB_CAS_BYTES)
        return false;
    memcpy(out, bytes.data, sizeof *out);
    out->next = MCDS__LITTLE_64(out->next);
    out->reserved = MCDS__LITTLE_64(out->reserved);
    out->transaction = MCDS__LITTLE_64(out->transaction);
    out->latest_ms = MCDS__LITTLE_64(out->latest_ms);
    return true;
}

void mcds__lmdb_cas_write(const struct mcds__lmdb_cas *cas, uint8_t out[MCDS__LMDB_CAS_BYTES])
{
    const struct mcds__lmdb_cas stored = {
        .next = MCDS__LITTLE_64(cas->next),
        .reserved = MCDS__LITTLE_64(cas->reserved),
        .transaction = MCDS__LITTLE_64(cas->transaction),
        .latest_ms = MCDS__LITTLE_64(cas->latest_ms),
    };
    memcpy(out, &stored, sizeof stored);
}

bool mcds__lmdb_clock_read(mcds_bytes bytes, struct mcds__lmdb_clock_record *out)
{
    const uint8_t *at = bytes.data;
    if (bytes.length != MCDS__LMDB_CLOCK_BYTES)
        return false;
    memcpy(out->boot, at, MCDS__LMDB_BOOT_BYTES);
    out->offset_ns = (int64_t)mcds__get_u64(at + MCDS__LMDB_BOOT_BYTES);
    return true;
}

void mcds__lmdb_clock_write(const struct mcds__lmdb_clock_record *clock,
                            uint8_t out[MCDS__LMDB_CLOCK_BYTES])
{
    memcpy(out, clock->boot, MCDS__LMDB_BOOT_BYTES);
    mcds__put_u64(out + MCDS__LMDB_BOOT_BYTES, (uint64_t)clock->offset_ns);
}
