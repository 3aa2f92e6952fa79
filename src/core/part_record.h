/* Core part: how the value of one part is laid out.
 *
 *   opening | record | record | ...           until the value is longer than MCDS__PART_LIMIT
 *
 * A record is
 *
 *   0xA7 | length of the body, 2 | CRC-32C over key and body, 4 | body
 *   body: flags | writer, 8 | seq, 4 | [filed, 6] | [when, 6] | payload
 *
 * and the opening is one whose body is the flag OPENING and the birth of the part before. What
 * ends beyond the limit is void. Zeros fill a part that is closed before it is full. */
#ifndef MCDS_CORE_PART_RECORD_H
#define MCDS_CORE_PART_RECORD_H

#include "mcds_store.h"

#define MCDS__PART_LIMIT 16384
/* Bytes of a record besides its payload, at most and at least. */
#define MCDS__PART_OVERHEAD 32
#define MCDS__PART_RECORD_MIN 8
#define MCDS__PART_OPENING_LENGTH 12
/* A larger payload goes into keys of its own. */
#define MCDS__PART_INLINE_MAX (MCDS__PART_LIMIT / 2 - 2 * MCDS__PART_OVERHEAD)
/* How many parts back an earlier copy of a record may stand. */
#define MCDS__PART_DISTANCE_MAX 3

enum mcds__part_flag {
    MCDS__PART_DISTANCE = 3, /* two bits */
    MCDS__PART_LOSS = 4,     /* the writer has seen that a part of the family is gone */
    MCDS__PART_LARGE = 8,  /* the payload tells the length and that of a piece, 8 and 4 bytes */
    MCDS__PART_FILED = 16, /* a time follows: when it was filed */
    MCDS__PART_STAMPED = 32, /* another time follows: when it happened */
    MCDS__PART_OPENING = 64,
    MCDS__PART_NEWER = 128 /* of versions to come: the rest of the body is not for this one */
};

struct mcds__part_record {
    uint8_t flags;
    uint32_t seq;
    uint64_t writer;
    int64_t filed_ms;
    int64_t when_ms; /* filed_ms, where it is not STAMPED */
    uint32_t before; /* OPENING: birth of the part before; 0 = not known */
    size_t begin;    /* where the record stands in the value */
    size_t end;
    mcds_bytes payload;
};

/* Add a record at the end, not yet addressed to a key. False: no memory. */
bool mcds__part_put(mcds_buffer *out, const struct mcds__part_record *record);
/* Write an opening; returns its length. */
size_t mcds__part_put_opening(uint8_t *out, mcds_bytes key, uint32_t before);
/* Set the DISTANCE and LOSS bits of all records in these bytes, and their sums for the key. */
void mcds__part_address(uint8_t *records, size_t length, mcds_bytes key, uint8_t flags);
/* The length of the record at the beginning of bytes made by mcds__part_put. */
size_t mcds__part_length(const uint8_t *record);

/* Going through the records of a value. */
struct mcds__part_scan {
    const uint8_t *bytes;
    size_t length;
    size_t at;
    uint32_t key_sum;
    uint32_t corrupt; /* stretches of bytes that are no records */
    uint32_t newer;   /* records with a flag that this version does not know; they are passed */
    uint32_t chances;
};
void mcds__part_scan_begin(struct mcds__part_scan *scan, mcds_bytes key, mcds_bytes value);
/* The next record that counts, openings included. False: there is none. */
bool mcds__part_scan_next(struct mcds__part_scan *scan, struct mcds__part_record *record_out);
/* The record at `begin` of a value in which the scan has found it. */
void mcds__part_get(mcds_bytes value, size_t begin, struct mcds__part_record *record_out);
/* Whether a value holds a record with the id of this one that counts. */
bool mcds__part_holds(mcds_bytes key, mcds_bytes value, const uint8_t *record);

#endif
