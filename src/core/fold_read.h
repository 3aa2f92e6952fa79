/* Reading the numbers and bytes of a fold value: every function moves *at, and is false where the
 * bytes end too soon. Inlined, for whoever reads one element reads all of its key. */
#ifndef MCDS_CORE_FOLD_READ_H
#define MCDS_CORE_FOLD_READ_H

#include <string.h>

#include "base/crc32c.h"
#include "core/fold_format.h"

/* One of any length. */
bool mcds__fold_get_long_varint(mcds_bytes from, size_t *at, uint64_t *out);

/* Most are of one byte. */
static inline bool mcds__fold_get_varint(mcds_bytes from, size_t *at, uint64_t *out)
{
    if (*at < from.length && ((const uint8_t *)from.at)[*at] < 128) {
        *out = ((const uint8_t *)from.at)[(*at)++];
        return true;
    }
    return mcds__fold_get_long_varint(from, at, out);
}

/* With a constant width of 2, 4 or 8 it becomes one load. */
static inline uint64_t mcds__fold_load_number(const uint8_t *at, unsigned width)
{
    uint64_t number = 0;
    memcpy(&number, at, width);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    number = __builtin_bswap64(number);
#endif
    return number;
}

static inline bool mcds__fold_get_u32(mcds_bytes from, size_t *at, uint32_t *out)
{
    if (*at > from.length || from.length - *at < 4)
        return false;
    *out = (uint32_t)mcds__fold_load_number((const uint8_t *)from.at + *at, 4);
    *at += 4;
    return true;
}

static inline bool mcds__fold_get_u64(mcds_bytes from, size_t *at, uint64_t *out)
{
    if (*at > from.length || from.length - *at < 8)
        return false;
    *out = mcds__fold_load_number((const uint8_t *)from.at + *at, 8);
    *at += 8;
    return true;
}

/* Two loads: of six bytes put together in memory the processor would have to wait for the
 * memory. */
static inline int64_t mcds__fold_load_time(const uint8_t *at)
{
    return (int64_t)(mcds__fold_load_number(at, 4) | mcds__fold_load_number(at + 4, 2) << 32);
}

static inline bool mcds__fold_get_time(mcds_bytes from, size_t *at, int64_t *out_ms)
{
    if (*at > from.length || from.length - *at < 6)
        return false;
    *out_ms = mcds__fold_load_time((const uint8_t *)from.at + *at);
    *at += 6;
    return true;
}

static inline bool mcds__fold_get_bytes(mcds_bytes from, size_t *at, uint64_t length,
                                        mcds_bytes *out)
{
    if (*at > from.length || length > from.length - *at)
        return false;
    *out = (mcds_bytes){(const uint8_t *)from.at + *at, (size_t)length};
    *at += (size_t)length;
    return true;
}

/* Where the parts of a record begin as long as no number of varying length before them takes more than
 * a byte: mark, length, sum and body; and in the body. */
#define MCDS__FOLD_RECORD_MARK 0xA7
#define MCDS__FOLD_SUM_AT 2
#define MCDS__FOLD_BODY_AT 6
#define MCDS__FOLD_PARTS_AT 1
#define MCDS__FOLD_WRITER_AT 2
#define MCDS__FOLD_SEQ_AT 10
#define MCDS__FOLD_BELOW_AT 14 /* seq - low */
#define MCDS__FOLD_TIME_AT 15
#define MCDS__FOLD_LENGTH_AT 21
#define MCDS__FOLD_ELEMENT_AT 22

/* All parts that a record may have. */
#define MCDS__FOLD_PARTS_KNOWN 15

/* The body of the record at *at, which moves behind it, if its sum is right; of any length. */
bool mcds__fold_next_long_body(mcds_bytes value, uint32_t key_sum, size_t *at,
                               mcds_bytes *body_out);

static inline bool mcds__fold_next_body(mcds_bytes value, uint32_t key_sum, size_t *at,
                                        mcds_bytes *body_out)
{
    const uint8_t *bytes = (const uint8_t *)value.at + *at;
    size_t left = value.length - *at;
    if (left < MCDS__FOLD_BODY_AT || bytes[1] > 127 || left - MCDS__FOLD_BODY_AT < bytes[1])
        return mcds__fold_next_long_body(value, key_sum, at, body_out);
    *body_out = (mcds_bytes){bytes + MCDS__FOLD_BODY_AT, bytes[1]};
    *at += MCDS__FOLD_BODY_AT + body_out->length;
    return bytes[0] == MCDS__FOLD_RECORD_MARK &&
           mcds__crc32c(key_sum, body_out->at, body_out->length) ==
               (uint32_t)mcds__fold_load_number(bytes + MCDS__FOLD_SUM_AT, 4);
}

/* Whether a body whose sum is right has an operation or parts that this version does not know. */
static inline bool mcds__fold_is_newer(mcds_bytes body)
{
    const uint8_t *bytes = body.at;
    return body.length > MCDS__FOLD_PARTS_AT &&
           (bytes[0] > MCDS__FOLD_VERB_MAX ||
            bytes[MCDS__FOLD_PARTS_AT] > MCDS__FOLD_PARTS_KNOWN);
}

static inline bool mcds__fold_is_element(mcds_bytes element)
{
    return element.length - 1 < MCDS__FOLD_ELEMENT_MAX;
}

/* What every body has: the members up to the element, behind which *at is left. */
bool mcds__fold_begin_long_record(mcds_bytes body, size_t *at,
                                  struct mcds__fold_record *record);

/* In one pass where `below` takes at most two bytes, as that of a deep pipeline does, and the length
 * of the element one. */
static inline bool mcds__fold_begin_record(mcds_bytes body, size_t *at,
                                           struct mcds__fold_record *record)
{
    const uint8_t *bytes = body.at;
    if (body.length <= MCDS__FOLD_ELEMENT_AT)
        return mcds__fold_begin_long_record(body, at, record);
    size_t is_wide = bytes[MCDS__FOLD_BELOW_AT] >> 7;
    const uint8_t *rest = bytes + is_wide;
    size_t length = rest[MCDS__FOLD_LENGTH_AT];
    size_t begin = MCDS__FOLD_ELEMENT_AT + is_wide;
    if (rest[MCDS__FOLD_BELOW_AT] > 127 || length - 1 > 126 || body.length - begin < length)
        return mcds__fold_begin_long_record(body, at, record);
    uint32_t below = bytes[MCDS__FOLD_BELOW_AT] & 127;
    below |= (uint32_t)(rest[MCDS__FOLD_BELOW_AT] * is_wide) << 7;
    record->writer = mcds__fold_load_number(bytes + MCDS__FOLD_WRITER_AT, 8);
    record->seq = (uint32_t)mcds__fold_load_number(bytes + MCDS__FOLD_SEQ_AT, 4);
    record->low = record->seq - below;
    record->time_ms = mcds__fold_load_time(rest + MCDS__FOLD_TIME_AT);
    record->command.element = (mcds_bytes){rest + MCDS__FOLD_ELEMENT_AT, length};
    *at = begin + length;
    return bytes[0] != 0 && below <= record->seq;
}

/* And the rest of it. */
bool mcds__fold_end_record(mcds_bytes body, size_t at, struct mcds__fold_record *record);

/* Of less than eight bytes, for which a call would be most of the work. */
static inline bool mcds__fold_same_short(const uint8_t *a, const uint8_t *b, size_t length)
{
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

/* Elements of one key are often alike in front and seldom at the end. */
static inline bool mcds__fold_same(mcds_bytes a, mcds_bytes b)
{
    uint64_t end_a;
    uint64_t end_b;
    if (a.length != b.length)
        return false;
    if (a.length < sizeof end_a)
        return mcds__fold_same_short(a.at, b.at, a.length);
    memcpy(&end_a, (const uint8_t *)a.at + a.length - sizeof end_a, sizeof end_a);
    memcpy(&end_b, (const uint8_t *)b.at + b.length - sizeof end_b, sizeof end_b);
    return end_a == end_b && memcmp(a.at, b.at, a.length) == 0;
}

#endif
