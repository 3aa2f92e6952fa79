/* Segment: the layout of the value of one segment.
 *
 *   header | record | record | ...           until the value is longer than MCDS__SEGMENT_LIMIT
 *
 * A record is
 *
 *   0xA7 | length of the body, 2 | CRC-32C over key and body, 4 | body
 *   body: flags | writer, 8 | seq, 4 | [filed, 6] | [when, 6] | payload
 *
 * The header is a record whose body is the flag HEADER and the incarnation of the segment
 * before. A record that ends beyond the limit is void. Zeros fill a segment that is closed
 * before it is full. */
#ifndef MCDS_CORE_SEGMENT_RECORD_H
#define MCDS_CORE_SEGMENT_RECORD_H

#include "mcds/backend.h"

#define MCDS__SEGMENT_LIMIT 16384
/* Bytes of a record besides its payload, at most. */
#define MCDS__SEGMENT_OVERHEAD 32
#define MCDS__SEGMENT_HEADER_LENGTH 12
/* A larger payload is stored in keys of its own. */
#define MCDS__SEGMENT_INLINE_MAX (MCDS__SEGMENT_LIMIT / 2 - 2 * MCDS__SEGMENT_OVERHEAD)
/* The distance in segments to an earlier copy of a record, at most. */
#define MCDS__SEGMENT_DISTANCE_MAX 3

enum mcds__segment_flag {
    MCDS__SEGMENT_DISTANCE = 3, /* two bits */
    MCDS__SEGMENT_LOSS = 4,     /* the writer has seen that a segment of the stream is gone */
    MCDS__SEGMENT_LARGE = 8,  /* the payload is the length and that of a block, 8 and 4 bytes */
    MCDS__SEGMENT_FILED = 16, /* a time follows: when it was filed */
    MCDS__SEGMENT_STAMPED = 32, /* another time follows: when it happened */
    MCDS__SEGMENT_HEADER = 64,
    MCDS__SEGMENT_NEWER =
        128 /* written by later versions: this version cannot read the rest of the body */
};

struct mcds__segment_record {
    uint8_t flags;
    uint32_t seq;
    uint64_t writer;
    int64_t filed_ms;
    int64_t when_ms; /* filed_ms, where it is not STAMPED */
    uint32_t
        before; /* HEADER: incarnation of the segment before; 0 = not known; UINT32_MAX = lost */
    size_t begin; /* where the record begins in the value */
    size_t end;
    mcds_bytes payload;
};

/* Add a record at the end, not yet addressed to a key. False: no memory. */
bool mcds__segment_put(mcds_buffer *out, const struct mcds__segment_record *record);
/* Write a header; returns its length. */
size_t mcds__segment_put_opening(uint8_t *out, mcds_bytes key, uint32_t before);
/* The sum of a key, which those of its records continue. */
uint32_t mcds__segment_key_sum(mcds_bytes key);
/* Set the DISTANCE and LOSS bits of all records in these bytes, and their sums for the key. */
void mcds__segment_address(uint8_t *records, size_t length, uint32_t key_sum, uint8_t flags);
/* The length of the record at the beginning of bytes made by mcds__segment_put. */
size_t mcds__segment_length(const uint8_t *record);

/* A scan of the records of a value. */
struct mcds__segment_scan {
    const uint8_t *bytes;
    size_t length;
    size_t at;
    uint32_t key_sum;
    uint32_t corrupt; /* runs of bytes that are not records */
    uint32_t newer;   /* records with an unknown flag, which are skipped */
    uint32_t chances;
};
void mcds__segment_scan_begin(struct mcds__segment_scan *scan, mcds_bytes key,
                              mcds_bytes value);
/* The next record that counts, headers included. False: no more. */
bool mcds__segment_scan_next(struct mcds__segment_scan *scan,
                             struct mcds__segment_record *record_out);
/* The record at `begin` of a value in which the scan has found it. */
void mcds__segment_get(mcds_bytes value, size_t begin, struct mcds__segment_record *record_out);
/* Whether a value with MCDS__SEGMENT_END is an end segment: it was empty when it was made,
 * and contains only what late requests have appended, records and zeros. A segment begins
 * with a header. */
bool mcds__segment_is_end(mcds_bytes key, mcds_bytes value);
/* Whether a value holds a record with the id of this one that counts. */
bool mcds__segment_holds(mcds_bytes key, mcds_bytes value, const uint8_t *record);

#endif
