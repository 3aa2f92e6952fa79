/* Segment: the records that have been read, and which of them are copies. */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "core/segment/segment.h"

#define TABLE_MIN 256

uint64_t mcds__segment_read_item(const struct mcds__segment_read *read,
                                 const struct mcds__segment_item *item,
                                 struct mcds__segment_record *record_out)
{
    uint32_t number = read->base + read->near - 1 - item->index;
    assert(item->index < read->near && number < MCDS__SEGMENT_CAPACITY);
    const mcds_reply *reply = &read->scratch->requests[number].reply;
    mcds_bytes value = {read->values.data + reply->value_at, reply->value_length};
    assert(item->begin < value.length);
    mcds__segment_get(value, item->begin, record_out);
    return read->from - read->back + item->index;
}

/* The hash of an id, mixed with a number that clients which choose the ids do not know. */
static uint64_t segment_copies_hash(const struct mcds__segment_read *read,
                                    const struct mcds__segment_record *record)
{
    const uint64_t factor = UINT64_C(0xd6e8feb86659fd93);
    uint64_t hash = record->writer ^ read->seed;
    hash = (hash ^ hash >> 32) * factor;
    hash = (hash ^ hash >> 32 ^ record->seq) * factor;
    return (hash ^ hash >> 32) * factor;
}

/* The entry of an id in the table: that of its first copy, or a free one. */
static uint32_t *segment_copies_find_place(const struct mcds__segment_read *read,
                                           const struct mcds__segment_record *record)
{
    assert((read->table_size & (read->table_size - 1)) == 0);
    uint64_t hash = segment_copies_hash(read, record);
    for (uint32_t at = (uint32_t)(hash >> 32);; at++) {
        struct mcds__segment_record other;
        uint32_t *place = &read->table[at & (read->table_size - 1)];
        if (*place == 0)
            return place;
        (void)mcds__segment_read_item(read, &read->all[*place - 1], &other);
        if (other.writer == record->writer && other.seq == record->seq)
            return place;
    }
}

/* Of several copies of a record the first one counts. False: no memory. */
bool mcds__segment_drop_copies(struct mcds__segment_read *read)
{
    const mcds_env *env = read->segments->env;
    uint32_t size = TABLE_MIN;
    while (size < 2 * read->all_count)
        size *= 2;
    if (size > read->table_size) {
        uint32_t *moved = env->reallocate(env->self, read->table, size * sizeof moved[0]);
        if (moved == NULL)
            return false;
        read->table = moved;
        read->table_size = size;
    }
    memset(read->table, 0, read->table_size * sizeof read->table[0]);
    assert(read->table_size >= 2 * read->all_count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < read->all_count; i++) {
        struct mcds__segment_record record;
        (void)mcds__segment_read_item(read, &read->all[i], &record);
        uint32_t *place = segment_copies_find_place(read, &record);
        if (*place != 0)
            continue;
        assert(kept <= i);
        read->all[kept++] = read->all[i];
        *place = kept;
    }
    read->all_count = kept;
    return true;
}
