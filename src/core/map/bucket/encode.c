/* Bucket: write the snapshot, with the entries and writers that are kept. */
#include <assert.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/map/bucket/bucket.h"
#include "core/map/bucket/decode.h"

/* If there are more writers than this, those without records since the floor are dropped. */
#define WRITERS_KEPT 8
/* Expired entries are kept for this time, because a client's clock may be slow. */
#define EXPIRED_KEPT_MS 60000
/* An entry without its element and its value. */
#define ENTRY_MAX (2 * MCDS__MAP_VARINT_MAX + MCDS__TIME_LENGTH)
/* A writer without its ids, of which there are fewer than 128; with more it is longer by a few bytes. */
#define WRITER_LENGTH 17

/* How far the floor is before the median of the writers' times. The next level applies while the
 * writers take more than another quarter of the room. */
static const int64_t writer_kept_s[] = {600, 120, 30};
#define LEVELS (sizeof writer_kept_s / sizeof writer_kept_s[0])
/* At the last level the floor is this far before the clock of this machine. */
#define LAST_KEPT_S 30

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
        !mcds__bucket_put_varint(out, writer->ids) ||
        !mcds__buffer_reserve(out, (size_t)writer->ids * MCDS__MAP_ID_LENGTH))
        return false;
    uint8_t *at = out->data + out->length;
    for (uint32_t next = writer->first_id; next != 0;) {
        uint32_t i = next - 1;
        const struct mcds__map_id *id = &bucket->ids[i];
        bucket->steps++;
        next = id->next;
        assert(id->writer == number && next != i + 1);
        if (!is_id_kept(bucket, i))
            continue;
        mcds__put_u32(at, id->seq);
        at[4] = (uint8_t)id->code;
        mcds__put_u64(at + 5, (uint64_t)id->number);
        at += MCDS__MAP_ID_LENGTH;
    }
    out->length += (size_t)writer->ids * MCDS__MAP_ID_LENGTH;
    assert(at == out->data + out->length);
    return true;
}

/* Count the writers that are remembered, and for each writer the ids that are kept. */
static uint32_t count_remembered(struct mcds__bucket *bucket)
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
    return count;
}

static bool encode_writers(struct mcds__bucket *bucket, mcds_buffer *out)
{
    if (!mcds__bucket_put_varint(out, count_remembered(bucket)))
        return false;
    for (uint32_t i = 0; i < bucket->writer_count; i++)
        if (is_remembered(bucket, &bucket->writers[i]) && !encode_writer(bucket, i, out))
            return false;
    return true;
}

static int compare_seconds(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* The median of the writers' times. False: no memory. */
static bool find_median(const struct mcds__bucket *bucket, uint32_t *median_s_out)
{
    uint32_t *seconds = mcds__allocate(bucket->env, bucket->writer_count * sizeof seconds[0]);
    if (seconds == NULL)
        return false;
    for (uint32_t i = 0; i < bucket->writer_count; i++)
        seconds[i] = bucket->writers[i].newest_s;
    qsort(seconds, bucket->writer_count, sizeof seconds[0], compare_seconds);
    *median_s_out = seconds[bucket->writer_count / 2];
    mcds__free(bucket->env, seconds);
    return true;
}

static void raise_floor(struct mcds__bucket *bucket, int64_t second)
{
    if (second < MCDS__MAP_FLOOR_UNIT_S || second > UINT32_MAX)
        return;
    uint32_t floor_s = (uint32_t)second;
    floor_s -= floor_s % MCDS__MAP_FLOOR_UNIT_S;
    if ((floor_s / MCDS__MAP_FLOOR_UNIT_S & UINT16_MAX) == 0)
        floor_s -= MCDS__MAP_FLOOR_UNIT_S;
    assert((floor_s / MCDS__MAP_FLOOR_UNIT_S & UINT16_MAX) != 0 && floor_s <= second);
    if (floor_s > bucket->floor_s)
        bucket->floor_s = floor_s;
}

/* Whether the writers that are remembered take more than these quarters of their room. */
static bool writers_exceed(struct mcds__bucket *bucket, size_t quarters)
{
    size_t most = bucket->writers_room / 4 * quarters;
    size_t length = (size_t)bucket->writer_count * WRITER_LENGTH +
                    (size_t)bucket->id_count * MCDS__MAP_ID_LENGTH;
    if (length <= most)
        return false;
    length = (size_t)count_remembered(bucket) * WRITER_LENGTH;
    for (uint32_t i = 0; i < bucket->writer_count; i++)
        if (is_remembered(bucket, &bucket->writers[i]))
            length += (size_t)bucket->writers[i].ids * MCDS__MAP_ID_LENGTH;
    return length > most;
}

/* Records from before the floor are void. The floor follows the median of the writers' times, so
 * that one wrong clock cannot void the records of others. The more room the writers take, the
 * nearer it is: otherwise the key would become too large for the store. At the last level, most
 * writers may have the same time. Then no new writer has room, and the median stays the same. So
 * the clock of this machine decides, up to the next unit after the median: a clock that is ahead
 * voids records of others for at most that long. */
static bool settle_floor(struct mcds__bucket *bucket, int64_t now_ms)
{
    uint32_t median_s;
    if (bucket->writer_count <= WRITERS_KEPT)
        return true;
    if (!find_median(bucket, &median_s))
        return false;
    raise_floor(bucket, median_s - writer_kept_s[0]);
    for (size_t level = 1; level < LEVELS && writers_exceed(bucket, level); level++)
        raise_floor(bucket, median_s - writer_kept_s[level]);
    int64_t last_s = now_ms / MS_PER_S - LAST_KEPT_S;
    int64_t most_s = (int64_t)median_s + MCDS__MAP_FLOOR_UNIT_S;
    if (writers_exceed(bucket, LEVELS))
        raise_floor(bucket, last_s < most_s ? last_s : most_s);
    return true;
}

static bool encode_entry(const struct mcds__map_entry *entry, mcds_buffer *out)
{
    assert(mcds__map_is_element(entry->element));
    bool expires = entry->expires_ms != 0;
    if (!mcds__buffer_reserve(out, ENTRY_MAX + entry->element.length + entry->value.length))
        return false;
    uint8_t *at = mcds__bucket_write_varint(out->data + out->length, entry->element.length);
    at = mcds__bucket_write_varint(at, (uint64_t)entry->value.length << 1 | expires);
    at = mcds__bucket_write_bytes(mcds__bucket_write_bytes(at, entry->element), entry->value);
    if (expires) {
        mcds__put_time(at, entry->expires_ms);
        at += MCDS__TIME_LENGTH;
    }
    out->length = (size_t)(at - out->data);
    return true;
}

/* The number of the child of an entry; 0 if there is one value. */
static uint32_t child_number(const struct mcds__map_entry *entry, uint32_t depth,
                             uint32_t count)
{
    assert(depth < MCDS__MAP_DEPTH_MAX && (count == 1 || count == MCDS__MAP_CHILDREN));
    unsigned shift = 64 - MCDS__MAP_LEVEL_BITS * (depth + 1);
    return (uint32_t)(entry->hash >> shift) & (count - 1);
}

/* Write the snapshot of one value, or of a value for each child of a key of this depth. */
static bool encode_snapshots(struct mcds__bucket *bucket, uint32_t depth, int64_t now_ms,
                             mcds_buffer *values, uint32_t count)
{
    uint32_t entries[MCDS__MAP_CHILDREN] = {0};
    assert(bucket->only.data == NULL);
    values->length = 0;
    if (!mcds__buffer_reserve(values, MCDS__MAP_HEAD))
        return false;
    values->length = MCDS__MAP_HEAD;
    if (!encode_writers(bucket, values))
        return false;
    for (uint32_t i = 0; i < bucket->entry_count; i++)
        if (bucket_encode_is_kept(&bucket->entries[i], now_ms))
            entries[child_number(&bucket->entries[i], depth, count)]++;
    for (uint32_t i = 1; i < count; i++) {
        values[i].length = 0;
        if (!mcds_buffer_append(&values[i], values->data, values->length))
            return false;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!mcds__bucket_put_varint(&values[i], entries[i]))
            return false;
    for (uint32_t i = 0; i < bucket->entry_count; i++) {
        const struct mcds__map_entry *entry = &bucket->entries[i];
        if (bucket_encode_is_kept(entry, now_ms) &&
            !encode_entry(entry, &values[child_number(entry, depth, count)]))
            return false;
    }
    return true;
}

/* Write the head of a value; returns its flags. */
static uint32_t encode_head(const struct mcds__bucket *bucket, mcds_bytes key,
                            enum mcds__map_state state, uint32_t rewrites, mcds_buffer *value)
{
    struct mcds__map_head head = {.rewrites = rewrites, .floor_s = bucket->floor_s};
    uint32_t flags = mcds__map_flags(state, value->length, bucket->floor_s);
    mcds__map_seal_head(value, key, flags, &head);
    return flags;
}

bool mcds__bucket_encode(struct mcds__bucket *bucket, mcds_bytes key,
                         enum mcds__map_state state, int64_t now_ms, mcds_buffer *out,
                         uint32_t *flags_out)
{
    if (!settle_floor(bucket, now_ms) || !encode_snapshots(bucket, 0, now_ms, out, 1))
        return false;
    *flags_out = encode_head(bucket, key, state, bucket->rewrites + 1, out);
    return true;
}

bool mcds__bucket_split(struct mcds__bucket *bucket, uint32_t depth, int64_t now_ms,
                        const struct mcds__key keys[MCDS__MAP_CHILDREN],
                        mcds_buffer values[MCDS__MAP_CHILDREN],
                        uint32_t flags_out[MCDS__MAP_CHILDREN])
{
    if (!encode_snapshots(bucket, depth, now_ms, values, MCDS__MAP_CHILDREN))
        return false;
    for (uint32_t i = 0; i < MCDS__MAP_CHILDREN; i++)
        flags_out[i] = encode_head(bucket, mcds__key_bytes(&keys[i]), MCDS__MAP_OPEN, 1,
                                   &values[i]);
    return true;
}
