/* Parts of lists and logs: bytes are records that count or are passed over; none is read beyond
 * the limit, and damage of one record costs no other. */
#include "target.h"

#include <string.h>

#include "base/buffer.h"
#include "core/segment/record.h"

#define KEY "mcds:lp1:fuzz:1:0"
#define RECORDS_MAX 40

static const mcds_bytes key = {KEY, sizeof KEY - 1};

/* How many records count; those of damaged bytes are told apart by their sums. */
static uint32_t scan(mcds_bytes value, uint32_t *corrupt_out)
{
    struct mcds__segment_scan scan;
    struct mcds__segment_record record;
    struct mcds__segment_record again;
    uint32_t count = 0;
    size_t before = 0;
    mcds__segment_scan_begin(&scan, key, value);
    while (mcds__segment_scan_next(&scan, &record)) {
        MUST(record.begin >= before && record.end > record.begin);
        MUST(record.end <= value.length && record.end <= MCDS__SEGMENT_LIMIT);
        const uint8_t *payload = record.payload.data;
        if (record.payload.length > 0)
            MUST(payload + record.payload.length == (const uint8_t *)value.data + record.end);
        mcds__segment_get(value, record.begin, &again);
        MUST(again.writer == record.writer && again.seq == record.seq &&
             again.flags == record.flags && again.when_ms == record.when_ms);
        if ((record.flags & MCDS__SEGMENT_HEADER) == 0)
            MUST(mcds__segment_holds(key, value, (const uint8_t *)value.data + record.begin));
        before = record.end;
        count++;
    }
    *corrupt_out = scan.corrupt;
    MUST(!mcds__segment_scan_next(&scan, &record));
    return count;
}

/* A scan that has met damage gives up after so many bytes that might begin a record. */
#define MARK 0xA7
#define MARKS_MAX 64

static size_t count_marks(const mcds_buffer *value)
{
    size_t count = 0;
    for (size_t i = 0; i < value->length; i++)
        count += value->data[i] == MARK;
    return count;
}

/* Records as they are written come back all; of those with one damaged bit all others do. */
static void write(const uint8_t *data, size_t size)
{
    mcds_buffer value;
    uint32_t corrupt;
    uint32_t put = 0;
    size_t at = 0;
    mcds__buffer_init(&value, mcds_env_system(), (size_t)1 << 20);
    while (at + 4 <= size && put < RECORDS_MAX) {
        size_t length = data[at] < size - at - 4 ? data[at] : size - at - 4;
        struct mcds__segment_record record = {
            .flags = (uint8_t)(data[at + 1] & (MCDS__SEGMENT_FILED | MCDS__SEGMENT_STAMPED)),
            .writer = data[at + 2],
            .seq = put,
            .filed_ms = 1700000000000 + data[at + 3],
            .when_ms = data[at + 3],
            .payload = {data + at + 4, length},
        };
        MUST(mcds__segment_put(&value, &record));
        put++;
        at += 4 + length;
    }
    mcds__segment_address(value.data, value.length, mcds__segment_key_sum(key),
                          data[0] & MCDS__SEGMENT_DISTANCE);
    MUST(scan((mcds_bytes){value.data, value.length}, &corrupt) == put && corrupt == 0);
    if (put > 0) {
        size_t bit = (data[0] * 997u + size * 31) % (value.length * 8);
        value.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        uint32_t left = scan((mcds_bytes){value.data, value.length}, &corrupt);
        /* A first byte that became 0 would be the end; one bit does not make it so. */
        MUST(corrupt == 1 && left < put);
        MUST(left + 1 == put || count_marks(&value) > MARKS_MAX);
    }
    mcds__buffer_free(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t corrupt;
    (void)scan((mcds_bytes){data, size}, &corrupt);
    if (size > 0)
        write(data, size);
    /* Behind a whole part of filling nothing counts. */
    static uint8_t full[MCDS__SEGMENT_LIMIT + 1024];
    size_t length = size < 1024 ? size : 1024;
    memcpy(full + MCDS__SEGMENT_LIMIT, data, length);
    MUST(scan((mcds_bytes){full, MCDS__SEGMENT_LIMIT + length}, &corrupt) == 0);
    return 0;
}
