/* Segment: the layout of the value of one segment. */
#include "core/segment/record.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/frame.h"
#include "base/hash/crc32c.h"
#include "base/little_endian.h"

#define MARK 0xA7
#define HEAD 7
#define ID 13
/* How often a scan searches for a record after garbage. Each search may sum a whole segment. */
#define CHANCES 64

static size_t times_length(uint8_t flags)
{
    size_t length = (flags & MCDS__SEGMENT_FILED) != 0 ? MCDS__TIME_LENGTH : 0;
    return (flags & MCDS__SEGMENT_STAMPED) != 0 ? length + MCDS__TIME_LENGTH : length;
}

bool mcds__segment_put(mcds_buffer *out, const struct mcds__segment_record *record)
{
    size_t length = ID + times_length(record->flags) + record->payload.length;
    assert(length <= UINT16_MAX);
    if (!mcds__buffer_reserve(out, HEAD + length))
        return false;
    uint8_t *head = out->data + out->length;
    uint8_t *at = head + HEAD;
    head[0] = MARK;
    mcds__put_u16(head + 1, (uint16_t)length);
    mcds__put_u32(head + 3, 0);
    at[0] = record->flags;
    mcds__put_u64(at + 1, record->writer);
    mcds__put_u32(at + 9, record->seq);
    at += ID;
    if ((record->flags & MCDS__SEGMENT_FILED) != 0) {
        mcds__put_time(at, record->filed_ms);
        at += MCDS__TIME_LENGTH;
    }
    if ((record->flags & MCDS__SEGMENT_STAMPED) != 0) {
        mcds__put_time(at, record->when_ms);
        at += MCDS__TIME_LENGTH;
    }
    assert((size_t)(at - head) + record->payload.length == HEAD + length);
    if (record->payload.length > 0)
        memcpy(at, record->payload.data, record->payload.length);
    out->length += HEAD + length;
    return true;
}

uint32_t mcds__segment_key_sum(mcds_bytes key)
{
    assert(key.length > 0);
    return mcds__crc32c(0, key.data, key.length);
}

size_t mcds__segment_put_opening(uint8_t *out, mcds_bytes key, uint32_t before)
{
    uint32_t sum = mcds__segment_key_sum(key);
    out[0] = MARK;
    mcds__put_u16(out + 1, MCDS__SEGMENT_HEADER_LENGTH - HEAD);
    out[HEAD] = MCDS__SEGMENT_HEADER;
    mcds__put_u32(out + HEAD + 1, before);
    mcds__put_u32(out + 3, mcds__crc32c(sum, out + HEAD, MCDS__SEGMENT_HEADER_LENGTH - HEAD));
    return MCDS__SEGMENT_HEADER_LENGTH;
}

size_t mcds__segment_length(const uint8_t *record)
{
    return HEAD + mcds__get_u16(record + 1);
}

void mcds__segment_address(uint8_t *records, size_t length, uint32_t key_sum, uint8_t flags)
{
    static const uint8_t changing = MCDS__SEGMENT_DISTANCE | MCDS__SEGMENT_LOSS;
    assert((flags & ~changing) == 0);
    for (size_t at = 0; at < length;) {
        uint8_t *record = records + at;
        size_t whole = mcds__segment_length(record);
        record[HEAD] = (uint8_t)((record[HEAD] & ~changing) | flags);
        mcds__put_u32(record + 3, mcds__crc32c(key_sum, record + HEAD, whole - HEAD));
        assert(whole >= HEAD + ID && whole <= length - at);
        at += whole;
    }
}

void mcds__segment_get(mcds_bytes value, size_t begin, struct mcds__segment_record *record_out)
{
    const uint8_t *record = (const uint8_t *)value.data + begin;
    const uint8_t *body = record + HEAD;
    size_t length = mcds__segment_length(record);
    assert(record[0] == MARK && begin + length <= value.length);
    *record_out = (struct mcds__segment_record){
        .flags = body[0], .begin = begin, .end = begin + length};
    if ((body[0] & MCDS__SEGMENT_HEADER) != 0) {
        record_out->before = mcds__get_u32(body + 1);
        return;
    }
    record_out->writer = mcds__get_u64(body + 1);
    record_out->seq = mcds__get_u32(body + 9);
    const uint8_t *at = body + ID;
    if ((body[0] & MCDS__SEGMENT_FILED) != 0) {
        record_out->when_ms = record_out->filed_ms = mcds__get_time(at);
        at += MCDS__TIME_LENGTH;
    }
    if ((body[0] & MCDS__SEGMENT_STAMPED) != 0) {
        record_out->when_ms = mcds__get_time(at);
        at += MCDS__TIME_LENGTH;
    }
    assert((size_t)(at - record) <= length);
    record_out->payload = (mcds_bytes){at, length - (size_t)(at - record)};
}

void mcds__segment_scan_begin(struct mcds__segment_scan *scan, mcds_bytes key, mcds_bytes value)
{
    *scan = (struct mcds__segment_scan){
        .bytes = value.data,
        .length = value.length,
        .key_sum = mcds__segment_key_sum(key),
        .chances = CHANCES,
    };
}

/* Whether the bytes at `at` are a record, counting or void. */
static bool is_record(const struct mcds__segment_scan *scan, size_t at)
{
    assert(at < scan->length);
    size_t left = scan->length - at;
    const uint8_t *record = scan->bytes + at;
    if (left < HEAD || record[0] != MARK || left < mcds__segment_length(record))
        return false;
    size_t length = mcds__segment_length(record) - HEAD;
    if (length == 0)
        return false;
    if ((record[HEAD] & MCDS__SEGMENT_NEWER) != 0)
        return mcds__crc32c(scan->key_sum, record + HEAD, length) == mcds__get_u32(record + 3);
    bool opens = (record[HEAD] & MCDS__SEGMENT_HEADER) != 0;
    size_t least = opens ? MCDS__SEGMENT_HEADER_LENGTH - HEAD : ID + times_length(record[HEAD]);
    return length >= least && (!opens || length == least) &&
           mcds__crc32c(scan->key_sum, record + HEAD, length) == mcds__get_u32(record + 3);
}

/* Skip bytes that are not a record. False: no record follows. */
static bool skip_garbage(struct mcds__segment_scan *scan)
{
    scan->corrupt++;
    while (++scan->at < scan->length && scan->at < MCDS__SEGMENT_LIMIT) {
        if (scan->bytes[scan->at] != MARK)
            continue;
        if (is_record(scan, scan->at))
            return true;
        if (scan->chances-- == 0)
            break;
    }
    scan->at = scan->length;
    return false;
}

bool mcds__segment_scan_next(struct mcds__segment_scan *scan,
                             struct mcds__segment_record *record_out)
{
    for (;;) {
        if (scan->at >= scan->length || scan->at >= MCDS__SEGMENT_LIMIT ||
            scan->bytes[scan->at] == 0)
            return false;
        if (!is_record(scan, scan->at) && !skip_garbage(scan))
            return false;
        size_t begin = scan->at;
        size_t end = begin + mcds__segment_length(scan->bytes + begin);
        assert(end <= scan->length);
        scan->at = end <= MCDS__SEGMENT_LIMIT ? end : scan->length;
        if (end > MCDS__SEGMENT_LIMIT)
            return false;
        if ((scan->bytes[begin + HEAD] & MCDS__SEGMENT_NEWER) == 0) {
            mcds__segment_get((mcds_bytes){scan->bytes, scan->length}, begin, record_out);
            return true;
        }
        scan->newer++;
    }
}

bool mcds__segment_is_end(mcds_bytes key, mcds_bytes value)
{
    struct mcds__segment_scan scan;
    struct mcds__segment_record record;
    mcds__segment_scan_begin(&scan, key, value);
    while (mcds__segment_scan_next(&scan, &record))
        if ((record.flags & MCDS__SEGMENT_HEADER) != 0)
            return false;
    return scan.corrupt == 0;
}

bool mcds__segment_holds(mcds_bytes key, mcds_bytes value, const uint8_t *record)
{
    struct mcds__segment_scan scan;
    struct mcds__segment_record own;
    struct mcds__segment_record other;
    mcds__segment_get((mcds_bytes){record, mcds__segment_length(record)}, 0, &own);
    mcds__segment_scan_begin(&scan, key, value);
    while (mcds__segment_scan_next(&scan, &other))
        if ((other.flags & MCDS__SEGMENT_HEADER) == 0 && other.writer == own.writer &&
            other.seq == own.seq)
            return true;
    return false;
}
