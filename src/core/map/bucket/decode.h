/* Bucket: read the numbers and bytes of a value. Every function moves *at, and returns false
 * where the bytes end too soon. Inlined, because reading one element means reading its whole
 * key. */
#ifndef MCDS_CORE_MAP_BUCKET_DECODE_H
#define MCDS_CORE_MAP_BUCKET_DECODE_H

#include <assert.h>
#include <string.h>

#include "base/hash/crc32c.h"
#include "base/little_endian.h"
#include "core/map/bucket/format.h"

/* A varint of any length. */
bool mcds__bucket_get_long_varint(mcds_bytes from, size_t *at, uint64_t *out);

/* Most varints have one byte. */
static inline bool mcds__bucket_get_varint(mcds_bytes from, size_t *at, uint64_t *out)
{
    if (*at < from.length && ((const uint8_t *)from.data)[*at] < 128) {
        *out = ((const uint8_t *)from.data)[(*at)++];
        return true;
    }
    return mcds__bucket_get_long_varint(from, at, out);
}

static inline bool mcds__bucket_get_u32(mcds_bytes from, size_t *at, uint32_t *out)
{
    if (*at > from.length || from.length - *at < 4)
        return false;
    *out = mcds__get_u32((const uint8_t *)from.data + *at);
    *at += 4;
    return true;
}

static inline bool mcds__bucket_get_u64(mcds_bytes from, size_t *at, uint64_t *out)
{
    if (*at > from.length || from.length - *at < 8)
        return false;
    *out = mcds__get_u64((const uint8_t *)from.data + *at);
    *at += 8;
    return true;
}

static inline bool mcds__bucket_get_time(mcds_bytes from, size_t *at, int64_t *out_ms)
{
    if (*at > from.length || from.length - *at < 6)
        return false;
    *out_ms = mcds__get_time((const uint8_t *)from.data + *at);
    *at += 6;
    return true;
}

static inline bool mcds__bucket_get_bytes(mcds_bytes from, size_t *at, uint64_t length,
                                          mcds_bytes *out)
{
    if (*at > from.length || length > from.length - *at)
        return false;
    *out = (mcds_bytes){(const uint8_t *)from.data + *at, (size_t)length};
    *at += (size_t)length;
    return true;
}

/* Offsets in a record, if each varint before them takes one byte: mark, length, sum and body;
 * then those in the body. */
#define MCDS__MAP_RECORD_MARK 0xA7
#define MCDS__MAP_SUM_AT 2
#define MCDS__MAP_BODY_AT 6
#define MCDS__MAP_PARTS_AT 1
#define MCDS__MAP_WRITER_AT 2
#define MCDS__MAP_SEQ_AT 10
#define MCDS__MAP_BELOW_AT 14 /* seq - low */
#define MCDS__MAP_TIME_AT 15
#define MCDS__MAP_LENGTH_AT 21
#define MCDS__MAP_ELEMENT_AT 22

/* All parts that a record may have. */
#define MCDS__MAP_PARTS_KNOWN 15

/* The body of the record at *at, if its sum is correct; of any length. Moves *at after it. */
bool mcds__map_next_long_body(mcds_bytes value, uint32_t key_sum, size_t *at,
                              mcds_bytes *body_out);

static inline bool mcds__map_next_body(mcds_bytes value, uint32_t key_sum, size_t *at,
                                       mcds_bytes *body_out)
{
    assert(*at <= value.length);
    const uint8_t *bytes = (const uint8_t *)value.data + *at;
    size_t left = value.length - *at;
    if (left < MCDS__MAP_BODY_AT || bytes[1] > 127 || left - MCDS__MAP_BODY_AT < bytes[1])
        return mcds__map_next_long_body(value, key_sum, at, body_out);
    *body_out = (mcds_bytes){bytes + MCDS__MAP_BODY_AT, bytes[1]};
    *at += MCDS__MAP_BODY_AT + body_out->length;
    return bytes[0] == MCDS__MAP_RECORD_MARK &&
           mcds__crc32c(key_sum, body_out->data, body_out->length) ==
               mcds__get_u32(bytes + MCDS__MAP_SUM_AT);
}

/* Whether a body with a correct sum has an operation or parts unknown to this version. */
static inline bool mcds__map_is_newer(mcds_bytes body)
{
    const uint8_t *bytes = body.data;
    return body.length > MCDS__MAP_PARTS_AT &&
           (bytes[0] > MCDS__MAP_VERB_MAX || bytes[MCDS__MAP_PARTS_AT] > MCDS__MAP_PARTS_KNOWN);
}

static inline bool mcds__map_is_element(mcds_bytes element)
{
    return element.length - 1 < MCDS__MAP_ELEMENT_MAX;
}

/* Read the members of every body up to the element, and move *at after it. */
bool mcds__map_begin_long_record(mcds_bytes body, size_t *at, struct mcds__map_record *record);

/* mcds__map_begin_long_record, in one pass if `below` has at most two bytes and the length of the
 * element one. */
static inline bool mcds__map_begin_record(mcds_bytes body, size_t *at,
                                          struct mcds__map_record *record)
{
    const uint8_t *bytes = body.data;
    if (body.length <= MCDS__MAP_ELEMENT_AT)
        return mcds__map_begin_long_record(body, at, record);
    size_t is_wide = bytes[MCDS__MAP_BELOW_AT] >> 7;
    const uint8_t *rest = bytes + is_wide;
    size_t length = rest[MCDS__MAP_LENGTH_AT];
    size_t begin = MCDS__MAP_ELEMENT_AT + is_wide;
    if (rest[MCDS__MAP_BELOW_AT] > 127 || length - 1 > 126 || body.length - begin < length)
        return mcds__map_begin_long_record(body, at, record);
    uint32_t below = bytes[MCDS__MAP_BELOW_AT] & 127;
    below |= (uint32_t)(rest[MCDS__MAP_BELOW_AT] * is_wide) << 7;
    record->writer = mcds__get_u64(bytes + MCDS__MAP_WRITER_AT);
    record->seq = mcds__get_u32(bytes + MCDS__MAP_SEQ_AT);
    record->low = record->seq - below;
    record->time_ms = mcds__get_time(rest + MCDS__MAP_TIME_AT);
    record->command.element = (mcds_bytes){rest + MCDS__MAP_ELEMENT_AT, length};
    *at = begin + length;
    assert(*at <= body.length);
    return bytes[0] != 0 && below <= record->seq;
}

/* Read the remaining members of the record. */
bool mcds__map_end_record(mcds_bytes body, size_t at, struct mcds__map_record *record);

/* Compare fewer than eight bytes, for which a call would be most of the work. */
static inline bool mcds__map_same_short(const uint8_t *a, const uint8_t *b, size_t length)
{
    assert(length < sizeof(uint64_t));
    uint32_t front_a, front_b, end_a, end_b;
    if (length == 0)
        return true;
    if (length < sizeof front_a)
        return a[0] == b[0] && a[length / 2] == b[length / 2] && a[length - 1] == b[length - 1];
    memcpy(&front_a, a, sizeof front_a);
    memcpy(&front_b, b, sizeof front_b);
    memcpy(&end_a, a + length - sizeof end_a, sizeof end_a);
    memcpy(&end_b, b + length - sizeof end_b, sizeof end_b);
    return front_a == front_b && end_a == end_b;
}

/* Elements of one key often have equal beginnings and rarely equal ends. */
static inline bool mcds__map_same(mcds_bytes a, mcds_bytes b)
{
    uint64_t end_a;
    uint64_t end_b;
    if (a.length != b.length)
        return false;
    if (a.length < sizeof end_a)
        return mcds__map_same_short(a.data, b.data, a.length);
    memcpy(&end_a, (const uint8_t *)a.data + a.length - sizeof end_a, sizeof end_a);
    memcpy(&end_b, (const uint8_t *)b.data + b.length - sizeof end_b, sizeof end_b);
    return end_a == end_b && memcmp(a.data, b.data, a.length) == 0;
}

#endif
