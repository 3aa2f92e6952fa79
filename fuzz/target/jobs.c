/* Parts of queues: orders of any bytes on an entry of any bytes change it by their rules or not at all. A
 * part stays one, and no order makes it longer than a push may. */
#include "target.h"

#include <string.h>

#include "base/environment.h"
#include "core/map/bucket/jobs.h"

#define NOW_MS INT64_C(1700000000000)
#define ORDERS_MAX 64

static bool is_whole(mcds_bytes value)
{
    struct mcds__jobs_part part;
    struct mcds__job job;
    if (!mcds__jobs_open(value, &part))
        return false;
    while (mcds__jobs_next(&part, &job))
        MUST(job.bytes.length <= value.length && job.number < (uint64_t)MCDS__JOBS_NUMBER_MAX);
    return part.next_at == value.length;
}

static void apply(struct mcds__bucket *bucket, struct mcds__map_entry *entry, mcds_bytes order,
                  int64_t time_ms)
{
    const struct mcds__map_writer writer = {.id = 1};
    struct mcds__map_effect effect;
    struct mcds__jobs_numbers numbers;
    const struct mcds__map_record record = {
        .command = {.verb = MCDS__MAP_JOBS, .element = entry->element, .value = order},
        .writer = 1,
        .time_ms = time_ms,
    };
    bool was_there = entry->there;
    bool was_whole = was_there && is_whole(entry->value);
    size_t length = was_there ? entry->value.length : 0;
    MUST(mcds__bucket_apply(bucket, entry, &writer, &record, &effect));
    MUST(effect.code >= MCDS__MAP_CHANGED && effect.code <= MCDS__MAP_CODE_MAX);
    if (!entry->there)
        return;
    MUST(entry->value.length <= length + order.length * 20 + 32);
    if (was_whole)
        MUST(is_whole(entry->value));
    if (!was_there || !was_whole)
        MUST(!entry->there || effect.code != MCDS__MAP_CHANGED || is_whole(entry->value) ||
             mcds__jobs_read_numbers(entry->value, &numbers));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mcds__bucket bucket;
    struct mcds__map_entry entry = {.element = {"p", 1}};
    if (size < 2)
        return 0;
    size_t at = 1;
    size_t length = data[0] < size - at ? data[0] : size - at;
    mcds__bucket_init(&bucket, mcds_env_system(), (mcds_bytes){"key", 3},
                      (mcds_bytes){NULL, 0});
    entry.there = length > 0;
    entry.value = (mcds_bytes){data + at, length};
    at += length;
    for (int i = 0; i < ORDERS_MAX && at + 1 < size; i++) {
        size_t order_length = data[at] < size - at - 1 ? data[at] : size - at - 1;
        apply(&bucket, &entry, (mcds_bytes){data + at + 1, order_length}, NOW_MS + i);
        at += 1 + order_length;
    }
    mcds__bucket_free(&bucket);
    return 0;
}
