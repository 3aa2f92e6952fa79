/* Bucket: a part of a queue, which is one entry, and the orders that change it. The order of the
 * records of a key decides which claim gets which job.
 *
 *   PUSH    add jobs at the end; with `opens`, to a part that does not exist yet
 *   OPEN    make the part, if it does not exist yet
 *   CLAIM   first end a claim of this writer, as DONE does; then claim the first job that is due
 *   DONE    remove a job, even if another worker holds it
 *   AGAIN   end a claim; the job is due after a delay, or at once
 *   LONGER  extend a claim; it never ends earlier
 *   DIE     extend a claim, and mark its job as dying: a client copies the job to a dead job
 *   FORGET  let the entry of a part that is closed and has no jobs expire after a day
 *   RAISE   the numbers of the first and of the last part, which are an entry of their own
 *
 * A part is closed by the push that fills it, and never takes another job. A job without a delay is
 * due for each claim that comes after it, whatever the clocks of the clients show. A delayed job is
 * due at a time, and a claim ends at a time: that of the client's record plus the delay, or plus the
 * length of the claim. Both are compared only with the time of the record of the next claim. So a
 * clock that is ahead affects only the records of its own client. Each claim of a job raises its
 * tries. The number of the job and its tries are the receipt of the claim. Only DONE affects a newer
 * claim. If a DONE or a CLAIM ends a dying job, its result is that of an old receipt: the client
 * must also erase the dead job.
 *
 *   value of a part: state u8 (1 open, 2 closed) | next number, 6 bytes | job*
 *   job:             number, 6 bytes | tries u16 | state u8 (1 claimed, 2 dying) | time in ms, 6 bytes | length u32
 *                    | bytes
 *   value of the numbers: incarnation u64 | (first, 6 bytes | last, 6 bytes) for each stripe
 *
 *   value of a record: order u8, and then
 *     PUSH    opens u8 | delay in ms varint | (length varint | bytes)*, 1 to MCDS__JOBS_PUSH_MAX
 *     CLAIM   ms varint | number + 1 of the job to end (0: none) varint | its tries varint
 *     DONE    number varint | tries varint
 *     AGAIN, LONGER, DIE  number varint | tries varint | ms varint
 *     RAISE   incarnation u64 | first varint | last varint; to make the numbers of several stripes:
 *             first and last 0 | stripes varint
 *
 * The client that makes the numbers draws `incarnation`. A RAISE with another incarnation changes
 * nothing.
 *
 * A queue has one stripe or more, each with parts of its own. The number of a part has the stripe
 * in its bits from MCDS__JOBS_STRIPE_BIT on, so the parts of a stripe have numbers in sequence. */
#ifndef MCDS_CORE_MAP_BUCKET_JOBS_H
#define MCDS_CORE_MAP_BUCKET_JOBS_H

#include "core/map/bucket/apply.h"

/* A push closes its part if the part then has at least this many jobs, or this many bytes. */
#define MCDS__JOBS_FULL 256
#define MCDS__JOBS_FULL_BYTES 8192
/* Jobs in one PUSH. */
#define MCDS__JOBS_PUSH_MAX 64
#define MCDS__JOBS_IN_PART_MAX (MCDS__JOBS_FULL + MCDS__JOBS_PUSH_MAX)
#define MCDS__JOBS_BYTES_MAX 65536
/* Numbers of jobs, and of the parts of a stripe, are below this. */
#define MCDS__JOBS_NUMBER_MAX (INT64_C(1) << 40)
/* Bit 40 is set in the part of a dead job that was added as one. */
#define MCDS__JOBS_STRIPE_BIT 41
#define MCDS__JOBS_STRIPES_MAX 32
#define MCDS__JOBS_TRIES_MAX UINT16_MAX
/* The time at which a job without a delay is due. */
#define MCDS__JOBS_AT_ONCE 0
#define MCDS__JOBS_MS_MAX (UINT64_C(7) * 24 * 3600 * 1000)
#define MCDS__JOBS_MARK_MS (INT64_C(24) * 3600 * 1000)
/* Added to the number of a CLAIM: the job to end was missing, or had been claimed again. */
#define MCDS__JOBS_WAS_LOST (INT64_C(1) << 62)
#define MCDS__JOBS_TRIES_BITS 16

enum mcds__jobs_order {
    MCDS__JOBS_PUSH = 1,
    MCDS__JOBS_OPEN,
    MCDS__JOBS_CLAIM,
    MCDS__JOBS_DONE,
    MCDS__JOBS_AGAIN,
    MCDS__JOBS_LONGER,
    MCDS__JOBS_FORGET,
    MCDS__JOBS_RAISE,
    MCDS__JOBS_DIE
};

/* One claim of one job. */
struct mcds__jobs_receipt {
    uint64_t number;
    uint32_t tries; /* 0: none */
};

/* Write the value of a record; the length is at most MCDS__JOBS_ORDER_MAX. */
#define MCDS__JOBS_ORDER_MAX 32
size_t mcds__jobs_write_claim(uint64_t ms, const struct mcds__jobs_receipt *ended,
                              uint8_t *out);
/* DONE, AGAIN, LONGER, DIE; `ms` is not used for DONE. */
size_t mcds__jobs_write_receipt(enum mcds__jobs_order order,
                                const struct mcds__jobs_receipt *receipt, uint64_t ms,
                                uint8_t *out);
size_t mcds__jobs_write_raise(uint64_t incarnation, uint64_t first, uint64_t last,
                              uint8_t *out);
/* A RAISE that makes the numbers. */
size_t mcds__jobs_write_make(uint64_t incarnation, uint32_t stripes, uint8_t *out);
/* Begin the value of a PUSH in an empty buffer, and add a job. False: no memory. */
bool mcds__jobs_begin_push(mcds_buffer *out, bool opens, uint64_t delay_ms);
bool mcds__jobs_add(mcds_buffer *out, mcds_bytes bytes);

struct mcds__job {
    uint64_t number;
    uint32_t tries;
    bool is_claimed;
    bool is_dying;
    int64_t time_ms; /* claimed until; else due at, or MCDS__JOBS_AT_ONCE */
    mcds_bytes bytes;
};

struct mcds__jobs_part {
    bool is_closed;
    uint32_t count;
    size_t next_at; /* private: of mcds__jobs_next */
    mcds_bytes value;
};
/* Open the value of a part, and read its jobs in order. False: not a part. */
bool mcds__jobs_open(mcds_bytes value, struct mcds__jobs_part *part_out);
bool mcds__jobs_next(struct mcds__jobs_part *part, struct mcds__job *job_out);
/* Whether a claim at now_ms gets this job. */
static inline bool mcds__jobs_is_due(const struct mcds__job *job, int64_t now_ms)
{
    return job->time_ms <= now_ms;
}

static inline uint32_t mcds__jobs_stripe_of(uint64_t part)
{
    return (uint32_t)(part >> MCDS__JOBS_STRIPE_BIT);
}

/* The number of a part in its stripe. */
static inline uint64_t mcds__jobs_place_of(uint64_t part)
{
    return part & ((UINT64_C(1) << MCDS__JOBS_STRIPE_BIT) - 1);
}

static inline bool mcds__jobs_is_part(uint64_t part)
{
    return mcds__jobs_stripe_of(part) < MCDS__JOBS_STRIPES_MAX &&
           mcds__jobs_place_of(part) < (uint64_t)MCDS__JOBS_NUMBER_MAX;
}

/* Of the first and of the last part of a stripe. */
struct mcds__jobs_range {
    uint64_t first;
    uint64_t last;
};

struct mcds__jobs_numbers {
    uint64_t incarnation;
    uint32_t stripes;
    struct mcds__jobs_range list[MCDS__JOBS_STRIPES_MAX];
};
/* Those of a new queue. */
void mcds__jobs_begin_numbers(uint64_t incarnation, uint32_t stripes,
                              struct mcds__jobs_numbers *out);
/* False: not the value of the numbers. */
bool mcds__jobs_read_numbers(mcds_bytes value, struct mcds__jobs_numbers *numbers_out);

/* Apply a record to its entry. False: no memory. The code is
 *
 *   PUSH    CHANGED, the number is that of the first job; REFUSED: the part is closed; ABSENT
 *   OPEN    CHANGED; PRESENT
 *   CLAIM   CHANGED, the number is the receipt: number << MCDS__JOBS_TRIES_BITS | tries;
 *           PRESENT: no job is due; the number is the earliest time in ms of a job, or 0;
 *           REFUSED: closed and without jobs; ABSENT. MCDS__JOBS_WAS_LOST may be added
 *   DONE    CHANGED; DIFFERS: removed, but the receipt was old, or the job dying; ABSENT: no such job
 *   AGAIN, LONGER, DIE  CHANGED; DIFFERS: the receipt is old; ABSENT: no such job
 *   FORGET  CHANGED; PRESENT: it is open or has jobs; ABSENT
 *   RAISE   CHANGED; DIFFERS: another incarnation; ABSENT: there are no numbers. A record with
 *           first = last = 0 makes them instead, with its number of stripes
 *   NO_NUMBER  for an entry that is not of a queue, or an order that cannot be read */
bool mcds__jobs_apply(struct mcds__bucket *bucket, struct mcds__map_entry *entry,
                      const struct mcds__map_record *record, struct mcds__map_effect *effect);

#endif
