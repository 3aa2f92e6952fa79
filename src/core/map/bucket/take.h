/* Bucket: a take from a token bucket of several rates (GCRA), which the order of a key's records
 * decides.
 *
 * A rate lets one token in per `interval_ns`, and `burst_ns` = burst * interval_ns of them at
 * once. The entry of an identity keeps, for each rate, the time at which the bucket is full
 * again: GCRA's theoretical arrival time. With the time T of the entry and n tokens,
 *
 *   debt = full - T                     passes if debt + n * interval <= burst + patience
 *   full = T + debt + n * interval      for all rates, or for none of them
 *
 * T is the later of the record's own time and that of the entry, so it never falls. A record
 * whose own time is more than MCDS__TAKE_BEHIND_MS before the entry's changes nothing: at the
 * entry's time, the take would depend on a clock that is ahead; at its own time, the bucket would
 * refill twice for the same time. A refused take changes nothing either.
 *
 * The entry keeps the interval of each rate, so a debt counts in tokens: after 100 of 100 an
 * hour, 900 are left when the rate becomes 1000 an hour. Rates are compared by their place in
 * the list. Those that a take does not have stay as they are, until they are full.
 *
 *   value of a record: patience varint | (interval varint, burst varint)*, in ns; 1 to 4 rates
 *   delta of a record: the tokens; negative: give them back
 *   value of an entry: time u64 | (interval u64, full u64)*; times in ns since 1970 */
#ifndef MCDS_CORE_MAP_BUCKET_TAKE_H
#define MCDS_CORE_MAP_BUCKET_TAKE_H

#include "core/map/bucket/apply.h"

#define MCDS__TAKE_RATES_MAX 4
#define MCDS__TAKE_BEHIND_MS 5000
/* Of an interval, a burst and a patience: ten years of 366 days. */
#define MCDS__TAKE_NS_MAX (UINT64_C(10) * 366 * 24 * 3600 * 1000000000)
/* The latest time of a record: with a debt after it, it stays below 2^63. */
#define MCDS__TAKE_TIME_MS_MAX INT64_C(7000000000000)
#define MCDS__TAKE_PART_MAX (10 + 20 * MCDS__TAKE_RATES_MAX)
#define MCDS__TAKE_ENTRY_MAX (8 + 16 * MCDS__TAKE_RATES_MAX)
/* The wait of a take that never passes. */
#define MCDS__TAKE_NEVER INT64_MAX

struct mcds__take_rate {
    uint64_t interval_ns;
    uint64_t burst_ns;
};

struct mcds__take {
    int64_t tokens; /* negative: given back */
    uint64_t patience_ns;
    uint32_t rate_count;
    struct mcds__take_rate rates[MCDS__TAKE_RATES_MAX];
};

struct mcds__take_entry {
    int64_t time_ns;
    uint32_t rate_count;
    struct {
        uint64_t interval_ns;
        int64_t full_ns;
    } rates[MCDS__TAKE_RATES_MAX];
};

/* Whether a take may be decided at this time. */
static inline bool mcds__take_is_time(int64_t time_ms)
{
    return time_ms >= 0 && time_ms <= MCDS__TAKE_TIME_MS_MAX;
}

/* Write the value of the record; returns its length. */
size_t mcds__take_write(const struct mcds__take *take, uint8_t out[MCDS__TAKE_PART_MAX]);
/* Read the value of an entry. False: it is not one of a bucket. */
bool mcds__take_read_entry(mcds_bytes value, struct mcds__take_entry *entry_out);
/* The time at which all rates are full. */
int64_t mcds__take_full_ns(const struct mcds__take_entry *entry);

/* Decide a take of the time own_ms on an entry, which has no rates if it does not exist. Returns
 *
 *   MCDS__MAP_CHANGED  taken or given; the number is the tokens left, or, below 0, the negated
 *                      time from own_ms until the take may begin, in ns
 *   MCDS__MAP_REFUSED  unchanged; the number is the time from own_ms until the same take would
 *                      pass, in ns, or MCDS__TAKE_NEVER
 *   MCDS__MAP_TOO_OLD  unchanged; the number is how much later the entry is, in ns
 *   MCDS__MAP_ABSENT   there is nothing to give back to */
enum mcds__map_code mcds__take_decide(const struct mcds__take *take, int64_t own_ms,
                                      struct mcds__take_entry *entry, int64_t *number_out);

/* Apply a record to its entry. False: no memory. A value that is not one of a bucket, or no take,
 * is NO_NUMBER. */
bool mcds__take_apply(struct mcds__bucket *bucket, struct mcds__map_entry *entry,
                      const struct mcds__map_record *record, struct mcds__map_effect *effect);

#endif
