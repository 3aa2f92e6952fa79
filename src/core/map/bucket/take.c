/* Bucket: a take from a token bucket of several rates (GCRA). */
#include "core/map/bucket/take.h"

#include <assert.h>

#include "base/environment.h"
#include "core/map/bucket/decode.h"

#define RATE_LENGTH 16
#define TIME_NS_MAX (MCDS__TAKE_TIME_MS_MAX * NS_PER_MS)

size_t mcds__take_write(const struct mcds__take *take, uint8_t out[MCDS__TAKE_PART_MAX])
{
    assert(take->rate_count >= 1 && take->rate_count <= MCDS__TAKE_RATES_MAX);
    assert(take->patience_ns <= MCDS__TAKE_NS_MAX);
    uint8_t *end = mcds__bucket_write_varint(out, take->patience_ns);
    for (uint32_t i = 0; i < take->rate_count; i++) {
        end = mcds__bucket_write_varint(end, take->rates[i].interval_ns);
        end = mcds__bucket_write_varint(end, take->rates[i].burst_ns);
    }
    assert(end - out <= MCDS__TAKE_PART_MAX);
    return (size_t)(end - out);
}

/* Any client may append a record: if its numbers are out of the bounds of a take, it is none. */
static bool read_take(const struct mcds__map_command *command, struct mcds__take *take)
{
    size_t at = 0;
    take->tokens = command->delta;
    take->rate_count = 0;
    if (!mcds__bucket_get_varint(command->value, &at, &take->patience_ns) ||
        take->patience_ns > MCDS__TAKE_NS_MAX || command->delta == 0 ||
        command->delta == INT64_MIN)
        return false;
    while (at < command->value.length) {
        if (take->rate_count == MCDS__TAKE_RATES_MAX)
            return false;
        struct mcds__take_rate *rate = &take->rates[take->rate_count++];
        if (!mcds__bucket_get_varint(command->value, &at, &rate->interval_ns) ||
            !mcds__bucket_get_varint(command->value, &at, &rate->burst_ns) ||
            rate->interval_ns == 0 || rate->interval_ns > MCDS__TAKE_NS_MAX ||
            rate->burst_ns > MCDS__TAKE_NS_MAX)
            return false;
    }
    return take->rate_count > 0;
}

bool mcds__take_read_entry(mcds_bytes value, struct mcds__take_entry *entry_out)
{
    const uint8_t *bytes = value.data;
    if (value.length < sizeof(uint64_t) + RATE_LENGTH || value.length > MCDS__TAKE_ENTRY_MAX ||
        (value.length - sizeof(uint64_t)) % RATE_LENGTH != 0)
        return false;
    uint64_t time = mcds__get_u64(bytes);
    entry_out->time_ns = (int64_t)time;
    entry_out->rate_count = (uint32_t)(value.length / RATE_LENGTH);
    for (uint32_t i = 0; i < entry_out->rate_count; i++) {
        const uint8_t *rate = bytes + sizeof(uint64_t) + (size_t)RATE_LENGTH * i;
        uint64_t interval = mcds__get_u64(rate);
        uint64_t full = mcds__get_u64(rate + sizeof(uint64_t));
        entry_out->rates[i].interval_ns = interval;
        entry_out->rates[i].full_ns = (int64_t)full;
        if (interval == 0 || interval > MCDS__TAKE_NS_MAX ||
            full > TIME_NS_MAX + 2 * MCDS__TAKE_NS_MAX)
            return false;
    }
    return time <= TIME_NS_MAX;
}

static size_t write_entry(const struct mcds__take_entry *entry, uint8_t *out)
{
    assert(entry->rate_count >= 1 && entry->rate_count <= MCDS__TAKE_RATES_MAX);
    mcds__put_u64(out, (uint64_t)entry->time_ns);
    out += sizeof(uint64_t);
    for (uint32_t i = 0; i < entry->rate_count; i++, out += RATE_LENGTH) {
        mcds__put_u64(out, entry->rates[i].interval_ns);
        mcds__put_u64(out + sizeof(uint64_t), (uint64_t)entry->rates[i].full_ns);
    }
    return sizeof(uint64_t) + (size_t)RATE_LENGTH * entry->rate_count;
}

int64_t mcds__take_full_ns(const struct mcds__take_entry *entry)
{
    int64_t full_ns = 0;
    assert(entry->rate_count <= MCDS__TAKE_RATES_MAX);
    for (uint32_t i = 0; i < entry->rate_count; i++)
        if (entry->rates[i].full_ns > full_ns)
            full_ns = entry->rates[i].full_ns;
    return full_ns;
}

/* The debt of a rate at this time, in time of the interval that the entry has. */
static uint64_t debt_in_entry(const struct mcds__take_entry *entry, uint32_t rate,
                              int64_t at_ns)
{
    if (rate >= entry->rate_count || entry->rates[rate].full_ns <= at_ns)
        return 0;
    return (uint64_t)(entry->rates[rate].full_ns - at_ns);
}

/* time * to / from; *rest_out: what the division leaves. At most 2^64 - 1. The product of two times
 * has up to 123 bits: where it has more than 64, each step appends one bit of `time`. */
static uint64_t scale_time(uint64_t time, uint64_t to, uint64_t from, uint64_t *rest_out)
{
    uint64_t product;
    uint64_t whole = 0;
    assert(from >= 1 && from <= MCDS__TAKE_NS_MAX);
    uint64_t to_whole = to / from;
    uint64_t to_rest = to % from;
    *rest_out = 0;
    if (!__builtin_mul_overflow(time, to, &product)) {
        *rest_out = product % from;
        return product / from;
    }
    for (int bit = 63; bit >= 0; bit--) {
        bool is_set = (time >> bit & 1) != 0;
        uint64_t rest = 2 * *rest_out + (is_set ? to_rest : 0);
        uint64_t more = rest / from + (is_set ? to_whole : 0);
        if (__builtin_mul_overflow(whole, UINT64_C(2), &whole) ||
            __builtin_add_overflow(whole, more, &whole))
            return UINT64_MAX;
        *rest_out = rest % from;
    }
    return whole;
}

/* The debt of a rate in time of another interval, rounded up. At most 2^64 - 1. */
static uint64_t debt_of(const struct mcds__take_entry *entry, uint32_t rate, int64_t at_ns,
                        uint64_t interval_ns)
{
    uint64_t debt = debt_in_entry(entry, rate, at_ns);
    uint64_t rest;
    if (debt == 0 || entry->rates[rate].interval_ns == interval_ns)
        return debt;
    uint64_t scaled = scale_time(debt, interval_ns, entry->rates[rate].interval_ns, &rest);
    return rest > 0 && scaled < UINT64_MAX ? scaled + 1 : scaled;
}

/* How long until the debt of a rate is at most `allowed`, which counts in the other interval. */
static uint64_t wait_of(const struct mcds__take_entry *entry, uint32_t rate, int64_t at_ns,
                        uint64_t interval_ns, uint64_t allowed)
{
    uint64_t debt = debt_in_entry(entry, rate, at_ns);
    uint64_t rest;
    if (debt == 0)
        return 0;
    uint64_t own = entry->rates[rate].interval_ns;
    if (own != interval_ns)
        allowed = scale_time(allowed, own, interval_ns, &rest);
    return allowed >= debt ? 0 : debt - allowed;
}

/* The time of n tokens; UINT64_MAX: more than any burst. */
static uint64_t time_of(uint64_t tokens, uint64_t interval_ns)
{
    uint64_t time;
    return __builtin_mul_overflow(tokens, interval_ns, &time) ? UINT64_MAX : time;
}

/* How long until all rates let the tokens pass; 0: now. */
static int64_t wait_for_all(const struct mcds__take *take, const struct mcds__take_entry *entry,
                            int64_t at_ns)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < take->rate_count; i++) {
        const struct mcds__take_rate *rate = &take->rates[i];
        uint64_t cost = time_of((uint64_t)take->tokens, rate->interval_ns);
        uint64_t most = rate->burst_ns + take->patience_ns;
        if (cost > most)
            return MCDS__TAKE_NEVER;
        uint64_t wait = wait_of(entry, i, at_ns, rate->interval_ns, most - cost);
        longest = wait > longest ? wait : longest;
    }
    assert(longest <= INT64_MAX);
    return (int64_t)longest;
}

/* Rates that the take does not have stay in the entry, up to the last that is in debt. */
static void take_set_rate(struct mcds__take_entry *entry, uint32_t rate, uint64_t interval_ns,
                          int64_t full_ns)
{
    assert(rate <= entry->rate_count && rate < MCDS__TAKE_RATES_MAX);
    if (rate == entry->rate_count)
        entry->rate_count++;
    entry->rates[rate].interval_ns = interval_ns;
    entry->rates[rate].full_ns = full_ns;
}

static void end_rates(struct mcds__take_entry *entry, uint32_t least)
{
    while (entry->rate_count > least &&
           entry->rates[entry->rate_count - 1].full_ns <= entry->time_ns)
        entry->rate_count--;
}

/* The tokens left, or the negated time until the debt of each rate is within its burst. */
static int64_t number_after(const struct mcds__take *take, const struct mcds__take_entry *entry)
{
    uint64_t left = INT64_MAX;
    uint64_t over = 0;
    for (uint32_t i = 0; i < take->rate_count; i++) {
        const struct mcds__take_rate *rate = &take->rates[i];
        uint64_t debt = debt_in_entry(entry, i, entry->time_ns);
        if (debt > rate->burst_ns && debt - rate->burst_ns > over)
            over = debt - rate->burst_ns;
        uint64_t own = debt > rate->burst_ns ? 0 : (rate->burst_ns - debt) / rate->interval_ns;
        left = own < left ? own : left;
    }
    return over > 0 ? -(int64_t)over : (int64_t)left;
}

static enum mcds__map_code take_tokens(const struct mcds__take *take, int64_t at_ns,
                                       struct mcds__take_entry *entry, int64_t *number_out)
{
    int64_t wait_ns = wait_for_all(take, entry, at_ns);
    *number_out = wait_ns;
    if (wait_ns > 0)
        return MCDS__MAP_REFUSED;
    for (uint32_t i = 0; i < take->rate_count; i++) {
        const struct mcds__take_rate *rate = &take->rates[i];
        uint64_t debt = debt_of(entry, i, at_ns, rate->interval_ns) +
                        time_of((uint64_t)take->tokens, rate->interval_ns);
        assert(debt <= rate->burst_ns + take->patience_ns);
        take_set_rate(entry, i, rate->interval_ns, at_ns + (int64_t)debt);
    }
    return MCDS__MAP_CHANGED;
}

static enum mcds__map_code give_tokens(const struct mcds__take *take, int64_t at_ns,
                                       struct mcds__take_entry *entry)
{
    if (entry->rate_count == 0)
        return MCDS__MAP_ABSENT;
    for (uint32_t i = 0; i < take->rate_count && i < entry->rate_count; i++) {
        const struct mcds__take_rate *rate = &take->rates[i];
        uint64_t debt = debt_of(entry, i, at_ns, rate->interval_ns);
        uint64_t given = time_of((uint64_t)-take->tokens, rate->interval_ns);
        debt = debt > given ? debt - given : 0;
        uint64_t most = rate->burst_ns + MCDS__TAKE_NS_MAX;
        take_set_rate(entry, i, rate->interval_ns,
                      at_ns + (int64_t)(debt < most ? debt : most));
    }
    return MCDS__MAP_CHANGED;
}

enum mcds__map_code mcds__take_decide(const struct mcds__take *take, int64_t own_ms,
                                      struct mcds__take_entry *entry, int64_t *number_out)
{
    assert(take->tokens != 0 && take->rate_count >= 1);
    assert(mcds__take_is_time(own_ms));
    int64_t own_ns = own_ms * NS_PER_MS;
    int64_t at_ns = entry->rate_count > 0 && entry->time_ns > own_ns ? entry->time_ns : own_ns;
    *number_out = at_ns - own_ns;
    if (at_ns - own_ns > MCDS__TAKE_BEHIND_MS * NS_PER_MS)
        return MCDS__MAP_TOO_OLD;
    enum mcds__map_code code = take->tokens > 0 ? take_tokens(take, at_ns, entry, number_out)
                                                : give_tokens(take, at_ns, entry);
    if (code == MCDS__MAP_REFUSED && *number_out != MCDS__TAKE_NEVER)
        *number_out += at_ns - own_ns;
    if (code != MCDS__MAP_CHANGED)
        return code;
    entry->time_ns = at_ns;
    end_rates(entry, 1);
    *number_out = number_after(take, entry);
    if (*number_out < 0)
        *number_out -= at_ns - own_ns;
    return code;
}

bool mcds__take_apply(struct mcds__bucket *bucket, struct mcds__map_entry *entry,
                      const struct mcds__map_record *record, struct mcds__map_effect *effect)
{
    struct mcds__take take;
    struct mcds__take_entry state = {0};
    effect->code = MCDS__MAP_NO_NUMBER;
    if (!mcds__take_is_time(record->time_ms) || !read_take(&record->command, &take) ||
        (entry->there && !mcds__take_read_entry(entry->value, &state)))
        return true;
    effect->code = mcds__take_decide(&take, record->time_ms, &state, &effect->number);
    if (effect->code != MCDS__MAP_CHANGED)
        return true;
    uint8_t *value = mcds__map_make(bucket, MCDS__TAKE_ENTRY_MAX);
    if (value == NULL)
        return false;
    entry->there = true;
    entry->spare = 0;
    entry->value = (mcds_bytes){value, write_entry(&state, value)};
    /* A full bucket has no entry. */
    entry->expires_ms = (mcds__take_full_ns(&state) + NS_PER_MS - 1) / NS_PER_MS;
    return true;
}
