/* Bucket: the layout of a part of a queue, and of the orders for it. */
#include "core/map/bucket/jobs.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "core/map/bucket/decode.h"
#include "core/map/bucket/jobs_layout.h"

#define NUMBERS_LENGTH 20

size_t mcds__jobs_write_claim(uint64_t ms, const struct mcds__jobs_receipt *ended, uint8_t *out)
{
    uint8_t *end = out;
    assert(ms > 0 && ms <= MCDS__JOBS_MS_MAX && ended->number < MCDS__JOBS_NUMBER_MAX);
    *end++ = MCDS__JOBS_CLAIM;
    end = mcds__bucket_write_varint(end, ms);
    end = mcds__bucket_write_varint(end, ended->tries > 0 ? ended->number + 1 : 0);
    end = mcds__bucket_write_varint(end, ended->tries);
    assert(end - out <= MCDS__JOBS_ORDER_MAX);
    return (size_t)(end - out);
}

size_t mcds__jobs_write_receipt(enum mcds__jobs_order order,
                                const struct mcds__jobs_receipt *receipt, uint64_t ms,
                                uint8_t *out)
{
    uint8_t *end = out;
    assert(order >= MCDS__JOBS_DONE && order <= MCDS__JOBS_LONGER);
    assert(receipt->tries > 0 && ms <= MCDS__JOBS_MS_MAX);
    *end++ = (uint8_t)order;
    end = mcds__bucket_write_varint(end, receipt->number);
    end = mcds__bucket_write_varint(end, receipt->tries);
    if (order != MCDS__JOBS_DONE)
        end = mcds__bucket_write_varint(end, ms);
    return (size_t)(end - out);
}

size_t mcds__jobs_write_raise(uint64_t incarnation, uint64_t first, uint64_t last, uint8_t *out)
{
    assert(first <= last && last < MCDS__JOBS_NUMBER_MAX);
    out[0] = MCDS__JOBS_RAISE;
    mcds__put_u64(out + 1, incarnation);
    uint8_t *end = mcds__bucket_write_varint(mcds__bucket_write_varint(out + 9, first), last);
    assert(end - out <= MCDS__JOBS_ORDER_MAX);
    return (size_t)(end - out);
}

bool mcds__jobs_begin_push(mcds_buffer *out, bool opens, uint64_t delay_ms)
{
    assert(out->length == 0 && delay_ms <= MCDS__JOBS_MS_MAX);
    if (!mcds__buffer_reserve(out, MCDS__JOBS_ORDER_MAX))
        return false;
    out->data[0] = MCDS__JOBS_PUSH;
    out->data[1] = opens;
    out->length = (size_t)(mcds__bucket_write_varint(out->data + 2, delay_ms) - out->data);
    return true;
}

bool mcds__jobs_add(mcds_buffer *out, mcds_bytes bytes)
{
    assert(out->length >= 3 && bytes.length <= MCDS__JOBS_BYTES_MAX);
    if (!mcds__bucket_put_varint(out, bytes.length) || !mcds__buffer_reserve(out, bytes.length))
        return false;
    if (bytes.length > 0)
        memcpy(out->data + out->length, bytes.data, bytes.length);
    out->length += bytes.length;
    return true;
}

bool mcds__jobs_open(mcds_bytes value, struct mcds__jobs_part *part_out)
{
    const uint8_t *bytes = value.data;
    *part_out = (struct mcds__jobs_part){.next_at = MCDS__JOBS_HEAD, .value = value};
    if (value.length < MCDS__JOBS_HEAD ||
        (bytes[0] != MCDS__JOBS_IS_OPEN && bytes[0] != MCDS__JOBS_IS_CLOSED))
        return false;
    part_out->is_closed = bytes[0] == MCDS__JOBS_IS_CLOSED;
    return true;
}

bool mcds__jobs_next(struct mcds__jobs_part *part, struct mcds__job *job_out)
{
    size_t at = part->next_at;
    assert(at >= MCDS__JOBS_HEAD && at <= part->value.length);
    const uint8_t *bytes = (const uint8_t *)part->value.data + at;
    if (part->value.length - at < MCDS__JOBS_JOB || part->count == MCDS__JOBS_IN_PART_MAX)
        return false;
    uint32_t length = mcds__get_u32(bytes + MCDS__JOBS_LENGTH_AT);
    if (length > part->value.length - at - MCDS__JOBS_JOB ||
        mcds__get_time(bytes) >= MCDS__JOBS_NUMBER_MAX)
        return false;
    *job_out = (struct mcds__job){
        .number = (uint64_t)mcds__get_time(bytes),
        .tries = mcds__get_u16(bytes + MCDS__JOBS_TRIES_AT),
        .is_claimed = bytes[MCDS__JOBS_CLAIMED_AT] != 0,
        .time_ms = mcds__get_time(bytes + MCDS__JOBS_TIME_AT),
        .bytes = {bytes + MCDS__JOBS_JOB, length},
    };
    part->next_at = at + MCDS__JOBS_JOB + length;
    part->count++;
    return true;
}

bool mcds__jobs_read_numbers(mcds_bytes value, struct mcds__jobs_numbers *numbers_out)
{
    const uint8_t *bytes = value.data;
    if (value.length != NUMBERS_LENGTH)
        return false;
    *numbers_out = (struct mcds__jobs_numbers){
        mcds__get_u64(bytes),
        (uint64_t)mcds__get_time(bytes + 8),
        (uint64_t)mcds__get_time(bytes + 14),
    };
    return numbers_out->incarnation != 0 && numbers_out->first <= numbers_out->last &&
           numbers_out->last < MCDS__JOBS_NUMBER_MAX;
}

size_t mcds__jobs_write_numbers(const struct mcds__jobs_numbers *numbers, uint8_t *out)
{
    assert(numbers->incarnation != 0 && numbers->first <= numbers->last);
    mcds__put_u64(out, numbers->incarnation);
    mcds__put_time(out + 8, (int64_t)numbers->first);
    mcds__put_time(out + 14, (int64_t)numbers->last);
    return NUMBERS_LENGTH;
}
