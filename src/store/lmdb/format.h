/* The contents of an lmdb: file, byte by byte. Numbers are little-endian unless noted.
 *
 * Database "items": the key as the store sees it, 1..250 bytes, and a record:
 *
 *     0   1   version of the record, 1
 *     1   3   zero
 *     4   4   client flags
 *     8   8   expiry time, in ms since 1970-01-01 UTC; 0 = never
 *    16   8   cas: a number that no other write to this file has had or will have
 *    24   ..  the value
 *
 * Database "expiry": an entry without data for each record that expires. Its key is the expiry
 * time in ms, 8 bytes big-endian so that the first entry expires first, and the item's key.
 *
 * The unnamed database, besides LMDB's own entries for the two above:
 *
 *     "mcds"   "mcds", the version of the file (2) in 4 bytes, the file's identity in 8
 *     "cas"    written by every commit: the next cas in 8 bytes; in 8 the first cas that cannot
 *              have been used, even after a system crash that lost writes; in 8 the number of
 *              the transaction; in 8 the latest time of the file's clock in ms
 *     "clock"  the boot of the system in 16 bytes, and in 8 the offset from CLOCK_BOOTTIME to
 *              the file's clock, in ns (clock.c); absent before the first write
 *     "turn"   the commit id in 8 bytes of the last transaction that executed messages of other
 *              processes (commit/publications.h); absent before the first
 */
#ifndef MCDS_STORE_LMDB_FORMAT_H
#define MCDS_STORE_LMDB_FORMAT_H

#include <string.h>

#include "mcds/backend.h"

struct MDB_txn;

#define MCDS__RECORD_HEADER 24
#define MCDS__RECORD_NEVER 0
#define MCDS__EXPIRY_KEY_MAX (8 + 250)
#define MCDS__LMDB_VERSION 2
#define MCDS__LMDB_FORMAT_BYTES 16
#define MCDS__LMDB_CAS_BYTES 32
#define MCDS__LMDB_BOOT_BYTES 16
#define MCDS__LMDB_CLOCK_BYTES (MCDS__LMDB_BOOT_BYTES + 8)

struct mcds__record {
    uint32_t flags;
    uint64_t expires_ms; /* MCDS__RECORD_NEVER: never */
    uint64_t cas;
    mcds_bytes value;
};

/* False when these bytes are no record. The value points into them. */
bool mcds__record_read(mcds_bytes bytes, struct mcds__record *out);
/* Everything before the value. */
void mcds__record_write(const struct mcds__record *record, uint8_t out[MCDS__RECORD_HEADER]);

/* Returns the length. `key` has at most 250 bytes. */
size_t mcds__expiry_write(uint64_t expires_ms, mcds_bytes key,
                          uint8_t out[MCDS__EXPIRY_KEY_MAX]);
bool mcds__expiry_read(mcds_bytes bytes, uint64_t *expires_ms, mcds_bytes *key);

/* The number with these eight bytes as big-endian digits: numbers compare as the bytes do. */
static inline uint64_t mcds__eight_bytes(const uint8_t *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes;
}

/* Read or write an entry of the unnamed database, whose handle is `root`. 0 or a code of LMDB.
 * If there is no such entry, out->data is NULL and out->length 0. */
int mcds__lmdb_entry_get(struct MDB_txn *txn, unsigned root, const char *name, mcds_bytes *out);
int mcds__lmdb_entry_put(struct MDB_txn *txn, unsigned root, const char *name,
                         const void *bytes, size_t length);

struct mcds__lmdb_format {
    uint32_t version;
    uint64_t identity;
};
bool mcds__lmdb_format_read(mcds_bytes bytes, struct mcds__lmdb_format *out);
void mcds__lmdb_format_write(const struct mcds__lmdb_format *format,
                             uint8_t out[MCDS__LMDB_FORMAT_BYTES]);

struct mcds__lmdb_cas {
    uint64_t next;
    uint64_t reserved;
    uint64_t transaction; /* 0: not known */
    uint64_t latest_ms;
};
bool mcds__lmdb_cas_read(mcds_bytes bytes, struct mcds__lmdb_cas *out);
void mcds__lmdb_cas_write(const struct mcds__lmdb_cas *cas, uint8_t out[MCDS__LMDB_CAS_BYTES]);

struct mcds__lmdb_clock_record {
    uint8_t boot[MCDS__LMDB_BOOT_BYTES];
    int64_t offset_ns;
};
bool mcds__lmdb_clock_read(mcds_bytes bytes, struct mcds__lmdb_clock_record *out);
void mcds__lmdb_clock_write(const struct mcds__lmdb_clock_record *clock,
                            uint8_t out[MCDS__LMDB_CLOCK_BYTES]);

#endif
