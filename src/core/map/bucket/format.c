/* Bucket: the layout of the value of one map key. */
#include "core/map/bucket/decode.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash/crc32c.h"

#define VERSION 2
#define RECORD_SUM 4
/* Flags: 2 bits state, 2 bits zero, 12 bits end of the snapshot, 16 bits floor. */
#define END_MAX 4095
#define END_SHIFT 4
#define SUMMED 16

enum { HAS_VALUE = 1, HAS_EXPIRY = 2, HAS_EXPECTED = 4, HAS_DELTA = 8 };

uint32_t mcds__map_flags(enum mcds__map_state state, size_t snapshot_end, uint32_t floor_s)
{
    assert(state <= MCDS__MAP_MOVED);
    size_t units = (snapshot_end + MCDS__MAP_END_UNIT - 1) / MCDS__MAP_END_UNIT;
    if (units > END_MAX)
        units = END_MAX;
    return (uint32_t)state | (uint32_t)units << END_SHIFT |
           (floor_s / MCDS__MAP_FLOOR_UNIT_S & UINT16_MAX) << 16;
}

size_t mcds__map_snapshot_end(uint32_t flags)
{
    return (size_t)(flags >> END_SHIFT & END_MAX) * MCDS__MAP_END_UNIT;
}

bool mcds__map_has_room_at(uint32_t flags, size_t begin)
{
    size_t end = mcds__map_snapshot_end(flags);
    return end == (size_t)END_MAX * MCDS__MAP_END_UNIT || begin < end + MCDS__MAP_RECORDS_MAX;
}

__attribute__((noinline)) bool mcds__bucket_get_long_varint(mcds_bytes from, size_t *at,
                                                            uint64_t *out)
{
    const uint8_t *bytes = from.data;
    uint64_t number = 0;
    for (unsigned i = 0; i < MCDS__MAP_VARINT_MAX && *at < from.length; i++) {
        uint8_t byte = bytes[(*at)++];
        if (i == MCDS__MAP_VARINT_MAX - 1 && byte > 1)
            return false;
        number |= (uint64_t)(byte & 127) << (7 * i);
        if (byte < 128) {
            *out = number;
            return true;
        }
    }
    return false;
}

/* Functions that write into reserved space; each returns the position after its bytes. With a
 * constant width a number becomes one store. */

static inline uint8_t *bucket_format_write_number(uint8_t *out, unsigned width, uint64_t number)
{
    uint64_t little = MCDS__LITTLE_64(number);
    assert(width <= sizeof little);
    memcpy(out, &little, width);
    return out + width;
}

static inline uint8_t *write_bytes(uint8_t *out, mcds_bytes bytes)
{
    return mcds__bucket_write_bytes(mcds__bucket_write_varint(out, bytes.length), bytes);
}

static inline bool bucket_format_put_number(mcds_buffer *out, unsigned width, uint64_t number)
{
    if (!mcds__buffer_reserve(out, width))
        return false;
    (void)bucket_format_write_number(out->data + out->length, width, number);
    out->length += width;
    return true;
}

bool mcds__bucket_put_varint(mcds_buffer *out, uint64_t number)
{
    if (!mcds__buffer_reserve(out, MCDS__MAP_VARINT_MAX))
        return false;
    out->length = (size_t)(mcds__bucket_write_varint(out->data + out->length, number) -
                           out->data);
    assert(out->length <= out->capacity);
    return true;
}

bool mcds__bucket_put_u32(mcds_buffer *out, uint32_t number)
{
    return bucket_format_put_number(out, 4, number);
}

bool mcds__bucket_put_u64(mcds_buffer *out, uint64_t number)
{
    return bucket_format_put_number(out, 8, number);
}

static uint8_t *write_body(uint8_t *out, const struct mcds__map_record *record,
                           mcds_bytes *element_out)
{
    const struct mcds__map_command *command = &record->command;
    unsigned parts = command->value.length > 0 ? HAS_VALUE : 0;
    parts |= command->expires_ms != 0 ? HAS_EXPIRY : 0;
    parts |= command->expected.length > 0 ? HAS_EXPECTED : 0;
    parts |= command->delta != 0 ? HAS_DELTA : 0;
    *out++ = (uint8_t)command->verb;
    *out++ = (uint8_t)parts;
    out = bucket_format_write_number(out, 8, record->writer);
    out = bucket_format_write_number(out, 4, record->seq);
    out = mcds__bucket_write_varint(out, record->seq - record->low);
    out = bucket_format_write_number(out, 6, (uint64_t)record->time_ms);
    out = mcds__bucket_write_varint(out, command->element.length);
    *element_out = (mcds_bytes){out, command->element.length};
    out = mcds__bucket_write_bytes(out, command->element);
    if (command->value.length > 0)
        out = write_bytes(out, command->value);
    if (command->expires_ms != 0)
        out = bucket_format_write_number(out, 6, (uint64_t)command->expires_ms);
    if (command->expected.length > 0)
        out = write_bytes(out, command->expected);
    return command->delta != 0 ? bucket_format_write_number(out, 8, (uint64_t)command->delta)
                               : out;
}

static size_t varint_length(uint64_t number)
{
    size_t length = 1;
    for (; number >= 128; number >>= 7)
        length++;
    return length;
}

static size_t body_length(const struct mcds__map_record *record)
{
    const struct mcds__map_command *command = &record->command;
    size_t length = MCDS__MAP_BELOW_AT + varint_length(record->seq - record->low) + 6 +
                    varint_length(command->element.length) + command->element.length;
    if (command->value.length > 0)
        length += varint_length(command->value.length) + command->value.length;
    if (command->expected.length > 0)
        length += varint_length(command->expected.length) + command->expected.length;
    return length + (command->expires_ms != 0 ? 6 : 0) + (command->delta != 0 ? 8 : 0);
}

static uint32_t bucket_format_sum_of(mcds_bytes key, const uint8_t *bytes, size_t length)
{
    return mcds__crc32c(mcds__crc32c(0, key.data, key.length), bytes, length);
}

static bool get_part(mcds_bytes body, size_t *at, mcds_bytes *out)
{
    uint64_t length;
    return mcds__bucket_get_varint(body, at, &length) &&
           mcds__bucket_get_bytes(body, at, length, out);
}

bool mcds__map_write_record(mcds_buffer *out, const struct mcds__map_record *record,
                            mcds_bytes *element_out)
{
    size_t length = body_length(record);
    assert(record->low <= record->seq);
    size_t head = 1 + varint_length(length) + RECORD_SUM;
    if (!mcds__map_is_element(record->command.element) ||
        !mcds__buffer_reserve(out, head + length + MCDS__MAP_NUMBER_ROOM))
        return false;
    uint8_t *at = out->data + out->length;
    *at++ = MCDS__MAP_RECORD_MARK;
    uint8_t *sum = mcds__bucket_write_varint(at, length);
    uint8_t *body = sum + RECORD_SUM;
    uint8_t *end = write_body(body, record, element_out);
    assert(end == body + length);
    out->length = (size_t)(end - out->data);
    mcds__put_u32(sum, 0);
    return true;
}

void mcds__map_number_record(mcds_buffer *record, uint64_t writer, uint32_t seq, uint32_t low,
                             mcds_bytes *element_out)
{
    size_t at = 1;
    uint64_t length = 0;
    assert(low <= seq && record->capacity - record->length >= MCDS__MAP_NUMBER_ROOM);
    (void)mcds__bucket_get_varint((mcds_bytes){record->data, record->length}, &at, &length);
    const uint8_t *body = record->data + at + RECORD_SUM;
    assert(body + length == record->data + record->length && body[MCDS__MAP_BELOW_AT] == 0);
    size_t more = varint_length(seq - low) - 1;
    size_t begin = 1 + varint_length(length + more) + RECORD_SUM;
    uint8_t *fresh = record->data + begin;
    uint8_t verb = body[0];
    uint8_t parts = body[MCDS__MAP_PARTS_AT];
    memmove(fresh + MCDS__MAP_TIME_AT + more, body + MCDS__MAP_TIME_AT,
            (size_t)length - MCDS__MAP_TIME_AT);
    mcds__put_u32(mcds__bucket_write_varint(record->data + 1, length + more), 0);
    fresh[0] = verb;
    fresh[MCDS__MAP_PARTS_AT] = parts;
    uint8_t *number = bucket_format_write_number(fresh + MCDS__MAP_WRITER_AT, 8, writer);
    (void)mcds__bucket_write_varint(bucket_format_write_number(number, 4, seq), seq - low);
    record->length = begin + (size_t)length + more;
    size_t in_body = MCDS__MAP_LENGTH_AT + more;
    bool is_whole = get_part((mcds_bytes){fresh, (size_t)length + more}, &in_body, element_out);
    assert(is_whole && mcds__map_is_element(*element_out));
    (void)is_whole;
}

void mcds__map_readdress(mcds_buffer *record, mcds_bytes key)
{
    size_t at = 1;
    uint64_t length;
    if (!mcds__bucket_get_varint((mcds_bytes){record->data, record->length}, &at, &length))
        return;
    const uint8_t *body = record->data + at + RECORD_SUM;
    assert(record->length >= at + RECORD_SUM);
    mcds__put_u32(record->data + at,
                  bucket_format_sum_of(key, body, record->length - at - RECORD_SUM));
}

bool mcds__map_next_long_body(mcds_bytes value, uint32_t key_sum, size_t *at,
                              mcds_bytes *body_out)
{
    uint64_t length;
    uint32_t sum;
    return *at < value.length &&
           ((const uint8_t *)value.data)[(*at)++] == MCDS__MAP_RECORD_MARK &&
           mcds__bucket_get_varint(value, at, &length) &&
           mcds__bucket_get_u32(value, at, &sum) &&
           mcds__bucket_get_bytes(value, at, length, body_out) &&
           mcds__crc32c(key_sum, body_out->data, body_out->length) == sum;
}

bool mcds__map_begin_long_record(mcds_bytes body, size_t *at, struct mcds__map_record *record)
{
    uint64_t below;
    *at = MCDS__MAP_WRITER_AT;
    if (!mcds__bucket_get_u64(body, at, &record->writer) ||
        !mcds__bucket_get_u32(body, at, &record->seq) ||
        !mcds__bucket_get_varint(body, at, &below) || below > record->seq ||
        !mcds__bucket_get_time(body, at, &record->time_ms) ||
        !get_part(body, at, &record->command.element) ||
        !mcds__map_is_element(record->command.element))
        return false;
    record->low = record->seq - (uint32_t)below;
    return *(const uint8_t *)body.data != 0;
}

bool mcds__map_end_record(mcds_bytes body, size_t at, struct mcds__map_record *record)
{
    assert(at <= body.length && !mcds__map_is_newer(body));
    struct mcds__map_command *command = &record->command;
    uint8_t parts = ((const uint8_t *)body.data)[MCDS__MAP_PARTS_AT];
    uint64_t delta = 0;
    command->verb = (enum mcds__map_verb) * (const uint8_t *)body.data;
    command->value = (mcds_bytes){NULL, 0};
    command->expected = (mcds_bytes){NULL, 0};
    command->expires_ms = 0;
    bool whole = ((parts & HAS_VALUE) == 0 || get_part(body, &at, &command->value)) &&
                 ((parts & HAS_EXPIRY) == 0 ||
                  mcds__bucket_get_time(body, &at, &command->expires_ms)) &&
                 ((parts & HAS_EXPECTED) == 0 || get_part(body, &at, &command->expected)) &&
                 ((parts & HAS_DELTA) == 0 || mcds__bucket_get_u64(body, &at, &delta));
    command->delta = (int64_t)delta;
    return whole && at == body.length;
}

uint32_t mcds__map_key_sum(mcds_bytes key)
{
    return mcds__crc32c(0, key.data, key.length);
}

/* Flags that another program has stored with a value would hide its records or its entries. */
static uint32_t head_sum_of(uint32_t key_sum, uint32_t flags, const void *head)
{
    uint8_t bytes[sizeof flags];
    mcds__put_u32(bytes, flags);
    return mcds__crc32c(mcds__crc32c(key_sum, bytes, sizeof bytes), head, SUMMED);
}

int mcds__map_open_head(mcds_bytes value, mcds_bytes key, uint32_t flags,
                        struct mcds__map_head *head_out)
{
    static const uint8_t mark[] = {'m', 'd', 'F'};
    const uint8_t *bytes = value.data;
    size_t at = MCDS__MAP_HEAD;
    if (value.length < MCDS__MAP_HEAD || memcmp(value.data, mark, sizeof mark) != 0)
        return MCDS_CORRUPT;
    uint8_t version = bytes[sizeof mark];
    uint32_t length = mcds__get_u32(bytes + 4);
    head_out->rewrites = mcds__get_u32(bytes + 8);
    head_out->floor_s = mcds__get_u32(bytes + 12);
    uint32_t sum = mcds__get_u32(bytes + SUMMED);
    if (!mcds__bucket_get_bytes(value, &at, length, &head_out->snapshot))
        return MCDS_CORRUPT;
    head_out->records_at = at;
    assert(at == MCDS__MAP_HEAD + (size_t)length);
    head_out->key_sum = mcds__map_key_sum(key);
    uint32_t head_sum = head_sum_of(head_out->key_sum, flags, value.data);
    if (mcds__crc32c(head_sum, head_out->snapshot.data, length) != sum || version < VERSION)
        return MCDS_CORRUPT;
    return version == VERSION ? MCDS_OK : MCDS_UNSUPPORTED;
}

uint32_t mcds__map_count_record(mcds_bytes value, mcds_bytes key, uint32_t flags,
                                uint64_t writer, uint32_t seq)
{
    struct mcds__map_head head;
    struct mcds__map_record record;
    mcds_bytes body;
    size_t in_body;
    uint32_t count = 0;
    if (mcds__map_open_head(value, key, flags, &head) != MCDS_OK)
        return 0;
    size_t at = head.records_at;
    while (at < value.length && mcds__map_next_body(value, head.key_sum, &at, &body) &&
           mcds__map_begin_record(body, &in_body, &record))
        count += record.writer == writer && record.seq == seq;
    return count;
}

void mcds__map_seal_head(mcds_buffer *value, mcds_bytes key, uint32_t flags,
                         const struct mcds__map_head *head)
{
    assert(value->length >= MCDS__MAP_HEAD && value->length <= UINT32_MAX);
    uint8_t *bytes = value->data;
    size_t length = value->length - MCDS__MAP_HEAD;
    memcpy(bytes, "mdF", 3);
    bytes[3] = VERSION;
    mcds__put_u32(bytes + 4, (uint32_t)length);
    mcds__put_u32(bytes + 8, head->rewrites);
    mcds__put_u32(bytes + 12, head->floor_s);
    uint32_t sum = head_sum_of(mcds__map_key_sum(key), flags, bytes);
    mcds__put_u32(bytes + SUMMED, mcds__crc32c(sum, bytes + MCDS__MAP_HEAD, length));
}
