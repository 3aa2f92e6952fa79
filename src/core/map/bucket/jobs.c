/* Bucket: the layout of a part of a queue, and of the orders for it. */
#include "core/map/bucket/jobs.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "core/map/bucket/decode.h"
#include "core/map/bucket/jobs_layout.h"

#define NUMBERS_HEAD 8
#define NUMBERS_STRIPE 12

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
    assert((order >= MCDS__JOBS_DONE && order <= MCDS__JOBS_LONGER) || order == MCDS__JOBS_DIE);
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
    assert(first <= last && mcds__jobs_is_part(first) && mcds__jobs_is_part(last));
    assert(mcds__jobs_stripe_of(first) == mcds__jobs_stripe_of(last));
    out[0] = MCDS__JOBS_RAISE;
    mcds__put_u64(out + 1, incarnation);
    uint8_t *end = mcds__bucket_write_varint(mcds__bucket_write_varint(out + 9, first), last);
    assert(end - out <= MCDS__JOBS_ORDER_MAX);
    return (size_t)(end - out);
}

size_t mcds__jobs_write_make(uint64_t incarnation, uint32_t stripes, uint8_t *out)
{
    size_t length = mcds__jobs_write_raise(incarnation, 0, 0, out);
    assert(stripes >= 1 && stripes <= MCDS__JOBS_STRIPES_MAX);
    return stripes == 1 ? length
                        : (size_t)(mcds__bucket_write_varint(out + length, stripes) - out);
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
        .is_claimed = (bytes[MCDS__JOBS_STATE_AT] & MCDS__JOBS_CLAIMED) != 0,
        .is_dying = (bytes[MCDS__JOBS_STATE_AT] & MCDS__JOBS_DYING) != 0,
        .time_ms = mcds__get_time(bytes + MCDS__JOBS_TIME_AT),
        .bytes = {bytes + MCDS__JOBS_JOB, length},
    };
    part->next_at = at + MCDS__JOBS_JOB + length;
    part->count++;
    return true;
}

void mcds__jobs_begin_numbers(uint64_t incarnation, uint32_t stripes,
                              struct mcds__jobs_numbers *out)
{
    assert(incarnation != 0 && stripes >= 1 && stripes <= MCDS__JOBS_STRIPES_MAX);
    *out = (struct mcds__jobs_numbers){.incarnation = incarnation, .stripes = stripes};
    for (uint32_t i = 0; i < stripes; i++)
        out->list[i].first = out->list[i].last = (uint64_t)i << MCDS__JOBS_STRIPE_BIT;
}

static bool is_range(const struct mcds__jobs_range *range, uint32_t stripe)
{
    return range->first <= range->last && mcds__jobs_is_part(range->first) &&
           mcds__jobs_is_part(range->last) && mcds__jobs_stripe_of(range->first) == stripe &&
           mcds__jobs_stripe_of(range->last) == stripe;
}

bool mcds__jobs_read_numbers(mcds_bytes value, struct mcds__jobs_numbers *numbers_out)
{
    const uint8_t *at = value.data;
    if (value.length < NUMBERS_HEAD + NUMBERS_STRIPE ||
        value.length > NUMBERS_HEAD + NUMBERS_STRIPE * MCDS__JOBS_STRIPES_MAX ||
        (value.length - NUMBERS_HEAD) % NUMBERS_STRIPE != 0)
        return false;
    numbers_out->incarnation = mcds__get_u64(at);
    numbers_out->stripes = (uint32_t)((value.length - NUMBERS_HEAD) / NUMBERS_STRIPE);
    at += NUMBERS_HEAD;
    for (uint32_t i = 0; i < numbers_out->stripes; i++, at += NUMBERS_STRIPE) {
        struct mcds__jobs_range *range = &numbers_out->list[i];
        *range = (struct mcds__jobs_range){(uint64_t)mcds__get_time(at),
                                           (uint64_t)mcds__get_time(at + 6)};
        if (!is_range(range, i))
            return false;
    }
    return numbers_out->incarnation != 0;
}

size_t mcds__jobs_write_numbers(const struct mcds__jobs_numbers *numbers, uint8_t *out)
{
    uint8_t *end = out + NUMBERS_HEAD;
    assert(numbers->incarnation != 0 && numbers->stripes >= 1 &&
           numbers->stripes <= MCDS__JOBS_STRIPES_MAX);
    mcds__put_u64(out, numbers->incarnation);
    for (uint32_t i = 0; i < numbers->stripes; i++, end += NUMBERS_STRIPE) {
        assert(is_range(&numbers->list[i], i));
        mcds__put_time(end, (int64_t)numbers->list[i].first);
        mcds__put_time(end + 6, (int64_t)numbers->list[i].last);
    }
    assert(end - out <= MCDS__JOBS_NUMBERS_MAX);
    return (size_t)(end - out);
}
