/* Bucket: the effect of an order on a part of a queue.
 *
 * A part is changed in place in memory of the bucket. So each record costs a search among at most
 * MCDS__JOBS_IN_PART_MAX jobs, and moves at most half of the bytes. */
#include <assert.h>
#include <string.h>

#include "core/map/bucket/decode.h"
#include "core/map/bucket/jobs_layout.h"

/* The least number of free bytes at the end of a copy of a part. */
#define SPARE_MIN 256
/* The largest time in 6 bytes. */
#define TIME_MS_MAX ((INT64_C(1) << 48) - 1)

/* One record, while it is applied. */
struct order {
    struct mcds__bucket *bucket;
    struct mcds__map_entry *entry;
    struct mcds__map_effect *effect;
    mcds_bytes value;
    size_t at;
    int64_t time_ms; /* of the record */
};

/* The bytes of the part as a copy that may be changed, with room for `more`; NULL: no memory. */
static uint8_t *make_writable(struct order *order, size_t more)
{
    struct mcds__map_entry *entry = order->entry;
    size_t length = entry->there ? entry->value.length : 0;
    assert(more <= UINT32_MAX / 2 && length <= UINT32_MAX / 2);
    if (entry->there && entry->spare > more)
        return (uint8_t *)(uintptr_t)entry->value.data;
    size_t spare = more + SPARE_MIN + length / 2;
    uint8_t *bytes = mcds__map_make(order->bucket, length + spare);
    if (bytes == NULL)
        return NULL;
    if (length > 0)
        memcpy(bytes, entry->value.data, length);
    entry->value = (mcds_bytes){bytes, length};
    entry->spare = (uint32_t)spare;
    return bytes;
}

static void set_length(struct order *order, size_t length)
{
    struct mcds__map_entry *entry = order->entry;
    size_t whole = entry->value.length + entry->spare;
    assert(length < whole);
    entry->value.length = length;
    entry->spare = (uint32_t)(whole - length);
    assert(entry->spare > 0); /* the bytes are the bucket's own, and may be changed */
}

/* The time of the record plus `ms`. */
static int64_t time_after(const struct order *order, uint64_t ms)
{
    assert(ms <= MCDS__JOBS_MS_MAX);
    int64_t time_ms = order->time_ms + (int64_t)ms;
    return time_ms < TIME_MS_MAX ? time_ms : TIME_MS_MAX;
}

/* When a job is due that is pushed or given back. Without a delay it is due at once, and the time of
 * the record is not used: the clock of another worker may be slower. */
static int64_t due_after(const struct order *order, uint64_t delay_ms)
{
    return delay_ms > 0 ? time_after(order, delay_ms) : MCDS__JOBS_AT_ONCE;
}

static bool jobs_read_number(struct order *order, uint64_t max, uint64_t *out)
{
    return mcds__bucket_get_varint(order->value, &order->at, out) && *out <= max;
}

static bool read_receipt(struct order *order, struct mcds__jobs_receipt *receipt_out)
{
    uint64_t tries;
    assert(order->at >= 1 && order->at <= order->value.length);
    if (!jobs_read_number(order, MCDS__JOBS_NUMBER_MAX, &receipt_out->number) ||
        !jobs_read_number(order, MCDS__JOBS_TRIES_MAX, &tries))
        return false;
    receipt_out->tries = (uint32_t)tries;
    return true;
}

/* Where the job begins in the part; 0: it is not there. */
static size_t find_job(struct order *order, uint64_t number, struct mcds__job *job_out)
{
    struct mcds__jobs_part part;
    size_t at = MCDS__JOBS_HEAD;
    bool is_part = mcds__jobs_open(order->entry->value, &part);
    assert(is_part);
    (void)is_part;
    for (; mcds__jobs_next(&part, job_out); at = part.next_at) {
        order->bucket->steps++;
        if (job_out->number == number)
            return at;
    }
    return 0;
}

static bool make_part(struct order *order)
{
    assert(!order->entry->there);
    uint8_t *bytes = make_writable(order, MCDS__JOBS_HEAD);
    if (bytes == NULL)
        return false;
    memset(bytes, 0, MCDS__JOBS_HEAD);
    bytes[0] = MCDS__JOBS_IS_OPEN;
    order->entry->there = true;
    order->entry->jobs = 1;
    order->entry->expires_ms = 0;
    set_length(order, MCDS__JOBS_HEAD);
    return true;
}

/* Add one job at the end of a part that has room for it. */
static void put_job(struct order *order, uint8_t *bytes, uint64_t number, int64_t due_ms,
                    mcds_bytes job)
{
    size_t at = order->entry->value.length;
    uint8_t *out = bytes + at;
    assert(at >= MCDS__JOBS_HEAD && job.length <= MCDS__JOBS_BYTES_MAX);
    assert(order->entry->spare > MCDS__JOBS_JOB + job.length);
    memset(out, 0, MCDS__JOBS_JOB);
    mcds__put_time(out, (int64_t)number);
    mcds__put_time(out + MCDS__JOBS_TIME_AT, due_ms);
    mcds__put_u32(out + MCDS__JOBS_LENGTH_AT, (uint32_t)job.length);
    if (job.length > 0)
        memcpy(out + MCDS__JOBS_JOB, job.data, job.length);
    set_length(order, at + MCDS__JOBS_JOB + job.length);
}

/* The jobs of a PUSH from here on: whether they can be read, their number and their bytes. */
static bool measure(const struct order *order, uint32_t *count_out, size_t *length_out)
{
    size_t at = order->at;
    uint64_t length;
    mcds_bytes job;
    *length_out = *count_out = 0;
    for (; at < order->value.length; (*count_out)++) {
        if (*count_out == MCDS__JOBS_PUSH_MAX ||
            !mcds__bucket_get_varint(order->value, &at, &length) ||
            length > MCDS__JOBS_BYTES_MAX ||
            !mcds__bucket_get_bytes(order->value, &at, length, &job))
            return false;
        *length_out += MCDS__JOBS_JOB + job.length;
    }
    return *count_out > 0;
}

/* The number of jobs; more than MCDS__JOBS_IN_PART_MAX for a value that is not a part. The jobs are
 * counted only before the first record; afterwards each change updates the number. */
static uint32_t count_jobs(struct order *order, bool *is_closed_out)
{
    struct mcds__jobs_part part;
    struct mcds__job job;
    if (!mcds__jobs_open(order->entry->value, &part))
        return UINT32_MAX;
    *is_closed_out = part.is_closed;
    if (order->entry->jobs > 0)
        return order->entry->jobs - UINT32_C(1);
    while (mcds__jobs_next(&part, &job))
        order->bucket->steps++;
    if (part.next_at != order->entry->value.length)
        return UINT32_MAX;
    assert(part.count <= MCDS__JOBS_IN_PART_MAX);
    order->entry->jobs = (uint16_t)(part.count + 1);
    return part.count;
}

static bool put_jobs(struct order *order, uint32_t count, size_t length, int64_t due_ms)
{
    uint8_t *bytes = make_writable(order, length);
    assert(count >= 1 && count <= MCDS__JOBS_IN_PART_MAX);
    if (bytes == NULL)
        return false;
    uint64_t number = (uint64_t)mcds__get_time(bytes + MCDS__JOBS_NEXT_AT);
    if (number > (uint64_t)MCDS__JOBS_NUMBER_MAX - MCDS__JOBS_PUSH_MAX)
        return true;
    order->effect->code = MCDS__MAP_CHANGED;
    order->effect->number = (int64_t)number;
    while (order->at < order->value.length) {
        uint64_t job_length = 0;
        mcds_bytes job = {NULL, 0};
        (void)mcds__bucket_get_varint(order->value, &order->at, &job_length);
        (void)mcds__bucket_get_bytes(order->value, &order->at, job_length, &job);
        put_job(order, bytes, number++, due_ms, job);
    }
    order->entry->jobs = (uint16_t)(count + 1);
    mcds__put_time(bytes + MCDS__JOBS_NEXT_AT, (int64_t)number);
    if (count >= MCDS__JOBS_FULL || order->entry->value.length >= MCDS__JOBS_FULL_BYTES)
        bytes[0] = MCDS__JOBS_IS_CLOSED;
    return true;
}

static bool push_jobs(struct order *order)
{
    const uint8_t *bytes = order->value.data;
    bool is_closed = false;
    uint64_t delay_ms;
    uint32_t count;
    size_t length;
    if (order->value.length < 3 || bytes[1] > 1)
        return true;
    order->at = 2;
    if (!jobs_read_number(order, MCDS__JOBS_MS_MAX, &delay_ms) ||
        !measure(order, &count, &length))
        return true;
    if (!order->entry->there) {
        order->effect->code = MCDS__MAP_ABSENT;
        if (bytes[1] == 0)
            return true;
        if (!make_part(order))
            return false;
    }
    uint32_t others = count_jobs(order, &is_closed);
    order->effect->code = is_closed ? MCDS__MAP_REFUSED : MCDS__MAP_NO_NUMBER;
    if (is_closed || others > MCDS__JOBS_FULL)
        return true;
    return put_jobs(order, others + count, length, due_after(order, delay_ms));
}

static bool open_part(struct order *order)
{
    order->effect->code = MCDS__MAP_PRESENT;
    if (order->entry->there)
        return true;
    order->effect->code = MCDS__MAP_CHANGED;
    return make_part(order);
}

/* Remove the job that begins at `at`: move the bytes before it or after it, whichever are fewer. */
static bool remove_job(struct order *order, size_t at, const struct mcds__job *job)
{
    uint8_t *bytes = make_writable(order, 0);
    if (bytes == NULL)
        return false;
    size_t end = at + MCDS__JOBS_JOB + job->bytes.length;
    size_t length = order->entry->value.length;
    assert(at >= MCDS__JOBS_HEAD && end <= length);
    if (at < length - end) {
        memmove(bytes + (end - at), bytes, at);
        order->entry->value = (mcds_bytes){bytes + (end - at), length - (end - at)};
    } else {
        memmove(bytes + at, bytes + end, length - end);
        set_length(order, length - (end - at));
    }
    assert(order->entry->jobs > 1);
    order->entry->jobs--;
    return true;
}

static bool set_job(struct order *order, size_t at, const struct mcds__job *job)
{
    uint8_t *bytes = make_writable(order, 0);
    if (bytes == NULL)
        return false;
    assert(at >= MCDS__JOBS_HEAD && at + MCDS__JOBS_JOB <= order->entry->value.length);
    assert(job->tries <= MCDS__JOBS_TRIES_MAX);
    mcds__put_u16(bytes + at + MCDS__JOBS_TRIES_AT, (uint16_t)job->tries);
    bytes[at + MCDS__JOBS_STATE_AT] = (uint8_t)((job->is_claimed ? MCDS__JOBS_CLAIMED : 0) |
                                                (job->is_dying ? MCDS__JOBS_DYING : 0));
    mcds__put_time(bytes + at + MCDS__JOBS_TIME_AT, job->time_ms);
    return true;
}

/* End the job of a receipt. */
static bool end_job(struct order *order, const struct mcds__jobs_receipt *receipt)
{
    struct mcds__job job;
    size_t at = find_job(order, receipt->number, &job);
    order->effect->code = MCDS__MAP_ABSENT;
    if (at == 0)
        return true;
    bool is_whole = job.tries == receipt->tries && !job.is_dying;
    order->effect->code = is_whole ? MCDS__MAP_CHANGED : MCDS__MAP_DIFFERS;
    return remove_job(order, at, &job);
}

/* Claim the first job that is due. */
static bool claim_due(struct order *order, uint64_t ms, int64_t flag)
{
    struct mcds__jobs_part part;
    struct mcds__job job;
    int64_t next_ms = 0;
    size_t at = MCDS__JOBS_HEAD;
    bool is_part = mcds__jobs_open(order->entry->value, &part);
    assert(is_part && (flag == 0 || flag == MCDS__JOBS_WAS_LOST));
    (void)is_part;
    for (; mcds__jobs_next(&part, &job); at = part.next_at) {
        order->bucket->steps++;
        if (mcds__jobs_is_due(&job, order->time_ms)) {
            job.tries += job.tries < MCDS__JOBS_TRIES_MAX;
            job.is_claimed = true;
            job.time_ms = time_after(order, ms);
            order->effect->code = MCDS__MAP_CHANGED;
            order->effect->number = flag |
                                    (int64_t)(job.number << MCDS__JOBS_TRIES_BITS | job.tries);
            return set_job(order, at, &job);
        }
        if (next_ms == 0 || job.time_ms < next_ms)
            next_ms = job.time_ms;
    }
    order->effect->code = part.is_closed && part.count == 0 ? MCDS__MAP_REFUSED
                                                            : MCDS__MAP_PRESENT;
    order->effect->number = flag | next_ms;
    return true;
}

static bool claim_job(struct order *order)
{
    uint64_t ms;
    uint64_t ended;
    uint64_t tries;
    if (!jobs_read_number(order, MCDS__JOBS_MS_MAX, &ms) ||
        !jobs_read_number(order, MCDS__JOBS_NUMBER_MAX, &ended) ||
        !jobs_read_number(order, MCDS__JOBS_TRIES_MAX, &tries))
        return true;
    int64_t flag = 0;
    if (ended > 0) {
        struct mcds__jobs_receipt receipt = {ended - 1, (uint32_t)tries};
        if (!end_job(order, &receipt))
            return false;
        flag = order->effect->code == MCDS__MAP_CHANGED ? 0 : MCDS__JOBS_WAS_LOST;
    }
    return claim_due(order, ms, flag);
}

/* AGAIN ends the claim of the receipt. LONGER and DIE let the claim end later, and never earlier
 * than before, because its worker works until then. */
static bool move_job(struct order *order, const struct mcds__jobs_receipt *receipt,
                     enum mcds__jobs_order what)
{
    struct mcds__job job;
    uint64_t ms;
    if (!jobs_read_number(order, MCDS__JOBS_MS_MAX, &ms))
        return true;
    size_t at = find_job(order, receipt->number, &job);
    order->effect->code = MCDS__MAP_ABSENT;
    if (at == 0)
        return true;
    order->effect->code = MCDS__MAP_DIFFERS;
    if (!job.is_claimed || job.tries != receipt->tries)
        return true;
    order->effect->code = MCDS__MAP_CHANGED;
    int64_t end_ms = time_after(order, ms);
    job.is_claimed = what != MCDS__JOBS_AGAIN;
    job.is_dying = job.is_dying || what == MCDS__JOBS_DIE;
    if (!job.is_claimed)
        job.time_ms = due_after(order, ms);
    else if (job.time_ms < end_ms)
        job.time_ms = end_ms;
    return set_job(order, at, &job);
}

/* The closed part refuses late requests. After a day, no request from the time when the part had jobs
 * can arrive any more. */
static void forget_part(struct order *order)
{
    bool is_closed = false;
    order->effect->code = MCDS__MAP_PRESENT;
    if (count_jobs(order, &is_closed) > 0 || !is_closed)
        return;
    order->effect->code = MCDS__MAP_CHANGED;
    if (order->entry->expires_ms == 0)
        order->entry->expires_ms = order->time_ms + MCDS__JOBS_MARK_MS;
}

/* The numbers that a RAISE asks for, and the number of stripes of those that it would make. */
static bool read_raise(struct order *order, uint64_t *incarnation_out,
                       struct mcds__jobs_range *range_out, uint64_t *stripes_out)
{
    const uint64_t max = (uint64_t)MCDS__JOBS_STRIPES_MAX << MCDS__JOBS_STRIPE_BIT;
    *stripes_out = 1;
    return mcds__bucket_get_u64(order->value, &order->at, incarnation_out) &&
           *incarnation_out != 0 && jobs_read_number(order, max, &range_out->first) &&
           jobs_read_number(order, max, &range_out->last) &&
           (order->at == order->value.length ||
            jobs_read_number(order, MCDS__JOBS_STRIPES_MAX, stripes_out)) &&
           *stripes_out >= 1 && range_out->first <= range_out->last &&
           mcds__jobs_is_part(range_out->first) && mcds__jobs_is_part(range_out->last) &&
           mcds__jobs_stripe_of(range_out->first) == mcds__jobs_stripe_of(range_out->last);
}

static bool jobs_put_numbers(struct order *order, const struct mcds__jobs_numbers *numbers)
{
    struct mcds__map_entry *entry = order->entry;
    uint8_t *bytes = mcds__map_make(order->bucket, MCDS__JOBS_NUMBERS_MAX);
    if (bytes == NULL)
        return false;
    order->effect->code = MCDS__MAP_CHANGED;
    entry->there = true;
    entry->jobs = 0;
    entry->spare = 0;
    entry->value = (mcds_bytes){bytes, mcds__jobs_write_numbers(numbers, bytes)};
    return true;
}

static bool jobs_raise_numbers(struct order *order)
{
    struct mcds__jobs_numbers numbers;
    struct mcds__jobs_range wanted;
    uint64_t incarnation;
    uint64_t stripes;
    if (!read_raise(order, &incarnation, &wanted, &stripes))
        return true;
    if (!order->entry->there && wanted.last > 0) {
        order->effect->code = MCDS__MAP_ABSENT;
        return true;
    }
    if (!order->entry->there)
        mcds__jobs_begin_numbers(incarnation, (uint32_t)stripes, &numbers);
    else if (!mcds__jobs_read_numbers(order->entry->value, &numbers))
        return true;
    uint32_t stripe = mcds__jobs_stripe_of(wanted.first);
    order->effect->code = MCDS__MAP_DIFFERS;
    if (numbers.incarnation != incarnation)
        return true;
    order->effect->code = MCDS__MAP_NO_NUMBER;
    if (stripe >= numbers.stripes)
        return true;
    struct mcds__jobs_range *range = &numbers.list[stripe];
    range->first = wanted.first > range->first ? wanted.first : range->first;
    range->last = wanted.last > range->last ? wanted.last : range->last;
    assert(range->first >= wanted.first && range->last >= wanted.last);
    return jobs_put_numbers(order, &numbers);
}

/* The orders about a part that exists. */
static bool apply_to_part(struct order *order, enum mcds__jobs_order what)
{
    struct mcds__jobs_receipt receipt;
    bool is_closed;
    order->effect->code = MCDS__MAP_ABSENT;
    if (!order->entry->there)
        return true;
    order->effect->code = MCDS__MAP_NO_NUMBER;
    if (count_jobs(order, &is_closed) > MCDS__JOBS_IN_PART_MAX)
        return true;
    switch (what) {
    case MCDS__JOBS_CLAIM:
        return claim_job(order);
    case MCDS__JOBS_DONE:
        return !read_receipt(order, &receipt) || end_job(order, &receipt);
    case MCDS__JOBS_AGAIN:
    case MCDS__JOBS_LONGER:
    case MCDS__JOBS_DIE:
        return !read_receipt(order, &receipt) || move_job(order, &receipt, what);
    case MCDS__JOBS_FORGET:
        forget_part(order);
        return true;
    default:
        return true;
    }
}

bool mcds__jobs_apply(struct mcds__bucket *bucket, struct mcds__map_entry *entry,
                      const struct mcds__map_record *record, struct mcds__map_effect *effect)
{
    struct order order = {bucket, entry, effect, record->command.value, 1, record->time_ms};
    effect->code = MCDS__MAP_NO_NUMBER;
    if (order.value.length == 0)
        return true;
    enum mcds__jobs_order what = *(const uint8_t *)order.value.data;
    switch (what) {
    case MCDS__JOBS_PUSH:
        return push_jobs(&order);
    case MCDS__JOBS_OPEN:
        return open_part(&order);
    case MCDS__JOBS_RAISE:
        return jobs_raise_numbers(&order);
    default:
        return apply_to_part(&order, what);
    }
}
