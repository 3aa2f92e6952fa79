/* Bucket: write the snapshot, with the entries and writers that are kept. */
#include <assert.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/map/bucket/bucket.h"
#include "core/map/bucket/decode.h"

/* Few writers are remembered for ever; of many, those without recent records are dropped. */
#define WRITERS_KEPT 8
#define WRITER_KEPT_S 600
/* Expired entries are dropped this much later: a client's clock may be slow. */
#define EXPIRED_KEPT_MS 60000

/* Whether an entry goes into the next snapshot. */
static bool bucket_encode_is_kept(const struct mcds__map_entry *entry, int64_t now_ms)
{
    return mcds__map_is_there(entry, now_ms - EXPIRED_KEPT_MS);
}

size_t mcds__map_weight(const struct mcds__bucket *bucket, int64_t now_ms, uint32_t *count_out)
{
    size_t weight = 0;
    *count_out = 0;
    for (uint32_t i = 0; i < bucket->entry_count; i++) {
        const struct mcds__map_entry *entry = &bucket->entries[i];
        if (!bucket_encode_is_kept(entry, now_ms))
            continue;
        weight += entry->element.length + entry->value.length + 2;
        *count_out += 1;
    }
    return weight;
}

static int compare_seconds(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* Records from before the floor are void. It follows the time of the majority of writers, so
 * that one wrong clock cannot void the records of others. */
static bool raise_floor(struct mcds__bucket *bucket)
{
    if (bucket->writer_count <= WRITERS_KEPT)
        return true;
    uint32_t *seconds = mcds__allocate(bucket->env, bucket->writer_count * sizeof seconds[0]);
    if (seconds == NULL)
        return false;
    for (uint32_t i = 0; i < bucket->writer_count; i++)
        seconds[i] = bucket->writers[i].newest_s;
    qsort(seconds, bucket->writer_count, sizeof seconds[0], compare_seconds);
    uint32_t median_s = seconds[bucket->writer_count / 2];
    mcds__free(bucket->env, seconds);
    if (median_s < WRITER_KEPT_S + MCDS__MAP_FLOOR_UNIT_S)
        return true;
    uint32_t floor_s = median_s - WRITER_KEPT_S;
    floor_s -= floor_s % MCDS__MAP_FLOOR_UNIT_S;
    if ((floor_s / MCDS__MAP_FLOOR_UNIT_S & UINT16_MAX) == 0)
        floor_s -= MCDS__MAP_FLOOR_UNIT_S;
    assert((floor_s / MCDS__MAP_FLOOR_UNIT_S & UINT16_MAX) != 0 && floor_s <= median_s);
    if (floor_s > bucket->floor_s)
        bucket->floor_s = floor_s;
    return true;
}

static bool is_remembered(const struct mcds__bucket *bucket,
                          const struct mcds__map_writer *writer)
{
    return writer->newest_s >= bucket->floor_s;
}

/* For a list: note the last addition that its writer has finished. */
static void note_before(struct mcds__bucket *bucket, uint32_t number)
{
    assert(number < bucket->id_count && bucket->ids[number].writer < bucket->writer_count);
    const struct mcds__map_id *id = &bucket->ids[number];
    struct mcds__map_writer *writer = &bucket->writers[id->writer];
    if (bucket->form == MCDS__MAP_FORM_LIST && id->seq < writer->low && id->number != 0 &&
        (writer->before == 0 || bucket->ids[writer->before - 1].seq < id->seq))
        writer->before = number + 1;
}

/* Finished ids of a writer are dropped, except the position of its last finished addition:
 * those in flight come after it, whatever the writer's clock says. */
static bool is_id_kept(const struct mcds__bucket *bucket, uint32_t number)
{
    const struct mcds__map_id *id = &bucket->ids[number];
    const struct mcds__map_writer *writer = &bucket->writers[id->writer];
    return id->seq >= writer->low || writer->before == number + 1;
}

static bool encode_writer(struct mcds__bucket *bucket, uint32_t number, mcds_buffer *out)
{
    const struct mcds__map_writer *writer = &bucket->writers[number];
    if (!mcds__bucket_put_u64(out, writer->id) || !mcds__bucket_put_u32(out, writer->low) ||
        !mcds__bucket_put_u32(out, writer->newest_s) ||
        !mcds__bucket_put_varint(out, writer->ids))
        return false;
    for (uint32_t next = writer->first_id; next != 0;) {
        uint32_t i = next - 1;
        const struct mcds__map_id *id = &bucket->ids[i];
        uint8_t code = (uint8_t)id->code;
        bucket->steps++;
        next = id->next;
        assert(id->writer == number && next != i + 1);
        if (!is_id_kept(bucket, i))
            continue;
        if (!mcds__bucket_put_u32(out, id->seq) || !mcds_buffer_append(out, &code, 1) ||
            !mcds__bucket_put_u64(out, (uint64_t)id->number))
            return false;
    }
    return true;
}

static bool encode_writers(struct mcds__bucket *bucket, mcds_buffer *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < bucket->writer_count; i++) {
        count += is_remembered(bucket, &bucket->writers[i]);
        bucket->writers[i].ids = bucket->writers[i].before = 0;
    }
    for (uint32_t i = 0; i < bucket->id_count; i++)
        note_before(bucket, i);
    for (uint32_t i = 0; i < bucket->id_count; i++) {
        struct mcds__map_writer *writer = &bucket->writers[bucket->ids[i].writer];
        writer->ids += is_id_kept(bucket, i);
    }
    if (!mcds__bucket_put_varint(out, count))
        return false;
    for (uint32_t i = 0; i < bucket->writer_count; i++)
        if (is_remembered(bucket, &bucket->writers[i]) && !encode_writer(bucket, i, out))
            return false;
    return true;
}

static bool encode_entry(const struct mcds__map_entry *entry, mcds_buffer *out)
{
    assert(mcds__map_is_element(entry->element));
    bool expires = entry->expires_ms != 0;
    return mcds__bucket_put_varint(out, entry->element.length) &&
           mcds__bucket_put_varint(out, (uint64_t)entry->value.length << 1 | expires) &&
           mcds_buffer_append(out, entry->element.data, entry->element.length) &&
           mcds_buffer_append(out, entry->value.data, entry->value.length) &&
           (!expires || mcds__bucket_put_time(out, entry->expires_ms));
}

static bool is_chosen(const struct mcds__map_entry *entry, uint32_t depth, int digit,
                      int64_t now_ms)
{
    assert(depth <= MCDS__MAP_DEPTH_MAX && digit < MCDS__MAP_CHILDREN);
    unsigned shift = 64 - MCDS__MAP_LEVEL_BITS * (depth + 1);
    int own = (int)(entry->hash >> shift & (MCDS__MAP_CHILDREN - 1));
    return bucket_encode_is_kept(entry, now_ms) && (digit == MCDS__MAP_ALL || own == digit);
}

bool mcds__bucket_encode(struct mcds__bucket *bucket, mcds_bytes key, uint32_t depth, int digit,
                         enum mcds__map_state state, int64_t now_ms, mcds_buffer *out,
                         uint32_t *flags_out)
{
    assert(bucket->only.data == NULL);
    uint32_t count = 0;
    out->length = 0;
    /* A child has the floor of its parent. */
    if ((digit == MCDS__MAP_ALL && !raise_floor(bucket)) ||
        !mcds__buffer_reserve(out, MCDS__MAP_HEAD))
        return false;
    out->length = MCDS__MAP_HEAD;
    for (uint32_t i = 0; i < bucket->entry_count; i++)
        count += is_chosen(&bucket->entries[i], depth, digit, now_ms);
    if (!encode_writers(bucket, out) || !mcds__bucket_put_varint(out, count))
        return false;
    for (uint32_t i = 0; i < bucket->entry_count; i++)
        if (is_chosen(&bucket->entries[i], depth, digit, now_ms) &&
            !encode_entry(&bucket->entries[i], out))
            return false;
    struct mcds__map_head head = {
        .rewrites = digit == MCDS__MAP_ALL ? bucket->rewrites + 1 : 1,
        .floor_s = bucket->floor_s,
    };
    *flags_out = mcds__map_flags(state, out->length, bucket->floor_s);
    mcds__map_seal_head(out, key, *flags_out, &head);
    return true;
}
