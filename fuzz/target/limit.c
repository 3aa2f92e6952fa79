/* Takes of a limit: any bytes are an entry or a record, or are refused; what a take leaves is an entry
 * again; a refused take changes nothing, and passes at the time that it is told, no millisecond
 * before. */
#include "input.h"
#include "target.h"

#include <string.h>

#include "base/environment.h"
#include "base/little_endian.h"
#include "core/map/bucket/take.h"

#define ELEMENT "identity"

static const mcds_bytes key = {"mcds:r1:fuzz", 12};
static const mcds_bytes identity = {ELEMENT, sizeof ELEMENT - 1};

/* Applies a record to an entry with this value, or to none. */
static enum mcds__map_code apply(mcds_bytes value, const struct mcds__map_record *record,
                                 struct mcds__take_entry *after_out, int64_t *number_out)
{
    struct mcds__bucket bucket;
    struct mcds__map_entry entry = {
        .element = identity, .value = value, .there = value.length > 0};
    struct mcds__map_effect effect = {0};
    mcds__bucket_init(&bucket, mcds_env_system(), key, identity);
    MUST(mcds__take_apply(&bucket, &entry, record, &effect));
    memset(after_out, 0, sizeof *after_out);
    if (effect.code == MCDS__MAP_CHANGED) {
        MUST(mcds__take_read_entry(entry.value, after_out));
        MUST(entry.expires_ms >= mcds__take_full_ns(after_out) / NS_PER_MS);
    } else {
        MUST(entry.value.data == value.data && entry.value.length == value.length);
    }
    *number_out = effect.number;
    mcds__bucket_free(&bucket);
    return effect.code;
}

static bool passes(mcds_bytes value, const struct mcds__map_record *record, int64_t time_ms)
{
    struct mcds__map_record later = *record;
    struct mcds__take_entry after;
    int64_t number;
    later.time_ms = time_ms;
    return apply(value, &later, &after, &number) == MCDS__MAP_CHANGED;
}

static void take(mcds_bytes value, const struct mcds__map_record *record)
{
    struct mcds__take_entry after;
    int64_t number;
    switch (apply(value, record, &after, &number)) {
    case MCDS__MAP_CHANGED:
        MUST(after.rate_count >= 1 && after.time_ns >= record->time_ms * NS_PER_MS);
        break;
    case MCDS__MAP_REFUSED: {
        int64_t wait_ms = number / NS_PER_MS + (number % NS_PER_MS > 0 ? 1 : 0);
        MUST(number > 0);
        if (number == MCDS__TAKE_NEVER || wait_ms > MCDS__TAKE_TIME_MS_MAX - record->time_ms)
            break;
        MUST(passes(value, record, record->time_ms + wait_ms));
        MUST(!passes(value, record, record->time_ms + wait_ms - 1));
        break;
    }
    default:
        break;
    }
}

static struct mcds__map_record record_of(struct fuzz_input *input, mcds_bytes value)
{
    uint64_t tokens = next_number(input, next_byte(input) % 9);
    uint64_t time = next_number(input, 6);
    return (struct mcds__map_record){
        .command = {.verb = MCDS__MAP_TAKE,
                    .element = identity,
                    .value = value,
                    .delta = (int64_t)tokens},
        .time_ms = (int64_t)(time % (MCDS__TAKE_TIME_MS_MAX + 1)),
    };
}

/* A number of any size, mostly small. */
static uint64_t number_up_to(struct fuzz_input *input, uint64_t most)
{
    return next_number(input, next_byte(input) % 9) % (most + 1);
}

/* A take that a client may send. */
static size_t right_take(struct fuzz_input *input, uint8_t out[MCDS__TAKE_PART_MAX])
{
    struct mcds__take made = {.rate_count = 1 + next_byte(input) % MCDS__TAKE_RATES_MAX};
    made.patience_ns = number_up_to(input, MCDS__TAKE_NS_MAX);
    for (uint32_t i = 0; i < made.rate_count; i++) {
        made.rates[i].interval_ns = 1 + number_up_to(input, MCDS__TAKE_NS_MAX - 1);
        made.rates[i].burst_ns = number_up_to(input, MCDS__TAKE_NS_MAX);
    }
    return mcds__take_write(&made, out);
}

/* An entry whose times are near those of records. */
static size_t right_entry(struct fuzz_input *input, uint8_t out[MCDS__TAKE_ENTRY_MAX])
{
    uint32_t rates = next_byte(input) % (MCDS__TAKE_RATES_MAX + 1);
    int64_t time_ms = (int64_t)number_up_to(input, (uint64_t)MCDS__TAKE_TIME_MS_MAX);
    uint64_t time_ns = (uint64_t)(time_ms * NS_PER_MS);
    mcds__put_u64(out, time_ns);
    for (uint32_t i = 0; i < rates; i++) {
        uint8_t *rate = out + sizeof(uint64_t) + (size_t)16 * i;
        mcds__put_u64(rate, 1 + number_up_to(input, MCDS__TAKE_NS_MAX - 1));
        mcds__put_u64(rate + sizeof(uint64_t),
                      time_ns + number_up_to(input, 2 * MCDS__TAKE_NS_MAX));
    }
    return rates == 0 ? 0 : sizeof(uint64_t) + (size_t)16 * rates;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct mcds__take_entry entry;
    uint8_t part[MCDS__TAKE_PART_MAX];
    uint8_t bytes[MCDS__TAKE_ENTRY_MAX];
    if (mcds__take_read_entry((mcds_bytes){data, size}, &entry))
        MUST(entry.rate_count >= 1 && entry.rate_count <= MCDS__TAKE_RATES_MAX &&
             mcds__take_full_ns(&entry) >= 0);
    mcds_bytes any_entry = next_bytes(&input, MCDS__TAKE_ENTRY_MAX);
    mcds_bytes any_take = next_bytes(&input, MCDS__TAKE_PART_MAX);
    size_t entry_length = right_entry(&input, bytes);
    size_t take_length = right_take(&input, part);
    mcds_bytes right = {bytes, entry_length};
    struct mcds__map_record record = record_of(&input, any_take);
    take(any_entry, &record);
    take(right, &record);
    record.command.value = (mcds_bytes){part, take_length};
    take(any_entry, &record);
    take(right, &record);
    record.time_ms = entry_length > 0 ? (int64_t)(mcds__get_u64(bytes) / NS_PER_MS) : 0;
    take(right, &record);
    return 0;
}
