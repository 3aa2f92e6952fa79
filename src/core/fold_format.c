/* How the value of one fold key is laid out. */
#include "core/fold_read.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/crc32c.h"

#define VERSION 2
#define RECORD_SUM 4
#define VARINT_MAX 10
/* Flags: 2 bits state, 2 bits zero, 12 bits where the snapshot ends, 16 bits floor. */
#define END_UNIT 256
#define END_MAX 4095
#define END_SHIFT 4
#define SUMMED 16

enum { HAS_VALUE = 1, HAS_EXPIRY = 2, HAS_EXPECTED = 4, HAS_DELTA = 8 };

uint32_t mcds__fold_flags(enum mcds__fold_state state, size_t snapshot_end, uint32_t floor_s)
{
    size_t units = (snapshot_end + END_UNIT - 1) / END_UNIT;
    if (units > END_MAX)
        units = END_MAX;
    return (uint32_t)state | (uint32_t)units << END_SHIFT |
           (floor_s / MCDS__FOLD_FLOOR_UNIT_S & UINT16_MAX) << 16;
}

size_t mcds__fold_snapshot_end(uint32_t flags)
{
    return (size_t)(flags >> END_SHIFT & END_MAX) * END_UNIT;
}

bool mcds__fold_has_room_at(uint32_t flags, size_t begin)
{
    size_t end = mcds__fold_snapshot_end(flags);
    return end == (size_t)END_MAX * END_UNIT || begin < end + MCDS__FOLD_RECORDS_MAX;
}

bool mcds__fold_is_below_floor(uint32_t flags, int64_t time_ms)
{
    uint32_t floor = flags >> 16;
    uint32_t now = (uint32_t)((uint64_t)time_ms / 1000 / MCDS__FOLD_FLOOR_UNIT_S) & UINT16_MAX;
    return floor != 0 && ((now - floor) & UINT16_MAX) > INT16_MAX;
}

__attribute__((noinline)) bool mcds__fold_get_long_varint(mcds_bytes from, size_t *at,
                                                          uint64_t *out)
{
    const uint8_t *bytes = from.at;
    uint64_t number = 0;
    for (unsigned i = 0; i < VARINT_MAX && *at < from.length; i++) {
        uint8_t byte = bytes[(*at)++];
        if (i == VARINT_MAX - 1 && byte > 1)
            return false;
        number |= (uint64_t)(byte & 127) << (7 * i);
        if (byte < 128) {
            *out = number;
            return true;
        }
    }
    return false;
}

/* Writers where there is room: each returns the place after what it wrote. With a constant width a
 * number becomes one store. */

static inline uint8_t *write_number(uint8_t *out, unsigned width, uint64_t number)
{
    for (unsigned i = 0; i < width; i++)
        out[i] = (uint8_t)(number >> (8 * i));
    return out + width;
}

static inline uint8_t *write_varint(uint8_t *out, uint64_t number)
{
    for (; number >= 128; number >>= 7)
        *out++ = (uint8_t)(number | 128);
    *out++ = (uint8_t)number;
    return out;
}

static inline uint8_t *write_bytes(uint8_t *out, mcds_bytes bytes)
{
    out = write_varint(out, bytes.length);
    memcpy(out, bytes.at, bytes.length);
    return out + bytes.length;
}

static inline bool put_number(mcds_buffer *out, unsigned width, uint64_t number)
{
    if (!mcds__buffer_reserve(out, width))
        return false;
    (void)write_number(out->at + out->length, width, number);
    out->length += width;
    return true;
}

bool mcds__fold_put_varint(mcds_buffer *out, uint64_t number)
{
    if (!mcds__buffer_reserve(out, VARINT_MAX))
        return false;
    out->length = (size_t)(write_varint(out->at + out->length, number) - out->at);
    return true;
}

bool mcds__fold_put_u32(mcds_buffer *out, uint32_t number)
{
    return put_number(out, 4, number);
}

bool mcds__fold_put_u64(mcds_buffer *out, uint64_t number)
{
    return put_number(out, 8, number);
}

bool mcds__fold_put_time(mcds_buffer *out, int64_t time_ms)
{
    return put_number(out, 6, (uint64_t)time_ms);
}

static uint8_t *write_body(uint8_t *out, const struct mcds__fold_record *record)
{
    const struct mcds__fold_command *command = &record->command;
    unsigned parts = command->value.length > 0 ? HAS_VALUE : 0;
    parts |= command->expires_ms != 0 ? HAS_EXPIRY : 0;
    parts |= command->expected.length > 0 ? HAS_EXPECTED : 0;
    parts |= command->delta != 0 ? HAS_DELTA : 0;
    *out++ = (uint8_t)command->verb;
    *out++ = (uint8_t)parts;
    out = write_number(out, 8, record->writer);
    out = write_number(out, 4, record->seq);
    out = write_varint(out, record->seq - record->low);
    out = write_number(out, 6, (uint64_t)record->time_ms);
    out = write_bytes(out, command->element);
    if (command->value.length > 0)
        out = write_bytes(out, command->value);
    if (command->expires_ms != 0)
        out = write_number(out, 6, (uint64_t)command->expires_ms);
    if (command->expected.length > 0)
        out = write_bytes(out, command->expected);
    return command->delta != 0 ? write_number(out, 8, (uint64_t)command->delta) : out;
}

static size_t varint_length(uint64_t number)
{
    size_t length = 1;
    for (; number >= 128; number >>= 7)
        length++;
    return length;
}

static size_t body_length(const struct mcds__fold_record *record)
{
    const struct mcds__fold_command *command = &record->command;
    size_t length = MCDS__FOLD_BELOW_AT + varint_length(record->seq - record->low) + 6 +
                    varint_length(command->element.length) + command->element.length;
    if (command->value.length > 0)
        length += varint_length(command->value.length) + command->value.length;
    if (command->expected.length > 0)
        length += varint_length(command->expected.length) + command->expected.length;
    return length + (command->expires_ms != 0 ? 6 : 0) + (command->delta != 0 ? 8 : 0);
}

static uint32_t sum_of(mcds_bytes key, const uint8_t *bytes, size_t length)
{
    return mcds__crc32c(mcds__crc32c(0, key.at, key.length), bytes, length);
}

static void set_u32(uint8_t *out, uint32_t number)
{
    (void)write_number(out, 4, number);
}

/* Appends the record without its sum. Returns the place of the sum, with the body after it, or
 * NULL: no room. */
static uint8_t *put_unsummed(mcds_buffer *out, const struct mcds__fold_record *record,
                             mcds_bytes *body_out)
{
    size_t length = body_length(record);
    size_t head = 1 + varint_length(length) + RECORD_SUM;
    if (!mcds__buffer_reserve(out, head + length))
        return NULL;
    uint8_t *at = out->at + out->length;
    *at++ = MCDS__FOLD_RECORD_MARK;
    uint8_t *sum = write_varint(at, length);
    uint8_t *body = sum + RECORD_SUM;
    uint8_t *end = write_body(body, record);
    assert(end == body + length);
    out->length = (size_t)(end - out->at);
    *body_out = (mcds_bytes){body, length};
    return sum;
}

bool mcds__fold_put_record(mcds_buffer *out, mcds_bytes key,
                           const struct mcds__fold_record *record)
{
    mcds_bytes body;
    uint8_t *sum = put_unsummed(out, record, &body);
    if (sum != NULL)
        set_u32(sum, sum_of(key, body.at, body.length));
    return sum != NULL;
}

bool mcds__fold_write_record(mcds_buffer *out, const struct mcds__fold_record *record,
                             mcds_bytes *element_out)
{
    struct mcds__fold_record read;
    mcds_bytes body;
    size_t at;
    uint8_t *sum = put_unsummed(out, record, &body);
    if (sum == NULL || !mcds__fold_begin_record(body, &at, &read))
        return false;
    set_u32(sum, 0);
    *element_out = read.command.element;
    return true;
}

void mcds__fold_readdress(mcds_buffer *record, mcds_bytes key)
{
    size_t at = 1;
    uint64_t length;
    if (!mcds__fold_get_varint((mcds_bytes){record->at, record->length}, &at, &length))
        return;
    const uint8_t *body = record->at + at + RECORD_SUM;
    set_u32(record->at + at, sum_of(key, body, record->length - at - RECORD_SUM));
}

bool mcds__fold_next_long_body(mcds_bytes value, uint32_t key_sum, size_t *at,
                               mcds_bytes *body_out)
{
    uint64_t length;
    uint32_t sum;
    return *at < value.length &&
           ((const uint8_t *)value.at)[(*at)++] == MCDS__FOLD_RECORD_MARK &&
           mcds__fold_get_varint(value, at, &length) && mcds__fold_get_u32(value, at, &sum) &&
           mcds__fold_get_bytes(value, at, length, body_out) &&
           mcds__crc32c(key_sum, body_out->at, body_out->length) == sum;
}

static bool get_part(mcds_bytes body, size_t *at, mcds_bytes *out)
{
    uint64_t length;
    return mcds__fold_get_varint(body, at, &length) &&
           mcds__fold_get_bytes(body, at, length, out);
}

bool mcds__fold_begin_long_record(mcds_bytes body, size_t *at, struct mcds__fold_record *record)
{
    uint64_t below;
    *at = MCDS__FOLD_WRITER_AT;
    if (!mcds__fold_get_u64(body, at, &record->writer) ||
        !mcds__fold_get_u32(body, at, &record->seq) ||
        !mcds__fold_get_varint(body, at, &below) || below > record->seq ||
        !mcds__fold_get_time(body, at, &record->time_ms) ||
        !get_part(body, at, &record->command.element) ||
        !mcds__fold_is_element(record->command.element))
        return false;
    record->low = record->seq - (uint32_t)below;
    return *(const uint8_t *)body.at != 0;
}

bool mcds__fold_end_record(mcds_bytes body, size_t at, struct mcds__fold_record *record)
{
    struct mcds__fold_command *command = &record->command;
    uint8_t parts = ((const uint8_t *)body.at)[MCDS__FOLD_PARTS_AT];
    uint64_t delta = 0;
    command->verb = (enum mcds__fold_verb) * (const uint8_t *)body.at;
    command->value = (mcds_bytes){NULL, 0};
    command->expected = (mcds_bytes){NULL, 0};
    command->expires_ms = 0;
    bool whole = ((parts & HAS_VALUE) == 0 || get_part(body, &at, &command->value)) &&
                 ((parts & HAS_EXPIRY) == 0 ||
                  mcds__fold_get_time(body, &at, &command->expires_ms)) &&
                 ((parts & HAS_EXPECTED) == 0 || get_part(body, &at, &command->expected)) &&
                 ((parts & HAS_DELTA) == 0 || mcds__fold_get_u64(body, &at, &delta));
    command->delta = (int64_t)delta;
    return whole && at == body.length;
}

uint32_t mcds__fold_key_sum(mcds_bytes key)
{
    return mcds__crc32c(0, key.at, key.length);
}

int mcds__fold_next_record(mcds_bytes value, uint32_t key_sum, size_t *at,
                           struct mcds__fold_record *record_out)
{
    size_t next = *at;
    size_t in_body;
    mcds_bytes body;
    if (!mcds__fold_next_body(value, key_sum, &next, &body))
        return MCDS_CORRUPT;
    if (mcds__fold_is_newer(body))
        return MCDS_UNSUPPORTED;
    if (!mcds__fold_begin_record(body, &in_body, record_out) ||
        !mcds__fold_end_record(body, in_body, record_out))
        return MCDS_CORRUPT;
    *at = next;
    return MCDS_OK;
}

int mcds__fold_open_head(mcds_bytes value, mcds_bytes key, struct mcds__fold_head *head_out)
{
    static const uint8_t mark[] = {'m', 'd', 'F'};
    size_t at = sizeof mark + 1;
    uint32_t length;
    uint32_t sum;
    if (value.length < MCDS__FOLD_HEAD || memcmp(value.at, mark, sizeof mark) != 0)
        return MCDS_CORRUPT;
    uint8_t version = ((const uint8_t *)value.at)[sizeof mark];
    (void)mcds__fold_get_u32(value, &at, &length);
    (void)mcds__fold_get_u32(value, &at, &head_out->rewrites);
    (void)mcds__fold_get_u32(value, &at, &head_out->floor_s);
    size_t summed = at;
    (void)mcds__fold_get_u32(value, &at, &sum);
    if (!mcds__fold_get_bytes(value, &at, length, &head_out->snapshot))
        return MCDS_CORRUPT;
    head_out->records_at = at;
    head_out->key_sum = mcds__fold_key_sum(key);
    uint32_t head_sum = mcds__crc32c(head_out->key_sum, value.at, summed);
    if (mcds__crc32c(head_sum, head_out->snapshot.at, length) != sum || version < VERSION)
        return MCDS_CORRUPT;
    return version == VERSION ? MCDS_OK : MCDS_UNSUPPORTED;
}

void mcds__fold_seal_head(mcds_buffer *value, mcds_bytes key,
                          const struct mcds__fold_head *head)
{
    uint8_t *bytes = value->at;
    size_t length = value->length - MCDS__FOLD_HEAD;
    memcpy(bytes, "mdF", 3);
    bytes[3] = VERSION;
    set_u32(bytes + 4, (uint32_t)length);
    set_u32(bytes + 8, head->rewrites);
    set_u32(bytes + 12, head->floor_s);
    uint32_t sum = sum_of(key, bytes, SUMMED);
    set_u32(bytes + SUMMED, mcds__crc32c(sum, bytes + MCDS__FOLD_HEAD, length));
}
