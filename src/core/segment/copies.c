/* Segment: keeps the records that were read, and finds copies. */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "core/segment/read.h"

#define ITEMS_MIN 256
#define TABLE_MIN 256

uint64_t mcds__segment_read_item(const struct mcds__segment_read *read,
                                 const struct mcds__segment_item *item,
                                 struct mcds__segment_record *record_out)
{
    mcds_bytes value = mcds__segment_read_value(read, item->index);
    assert(item->begin < value.length);
    mcds__segment_get(value, item->begin, record_out);
    return read->from - read->back + item->index;
}

bool mcds__segment_add_item(struct mcds__segment_read *read, uint32_t index, size_t begin)
{
    const mcds_env *env = read->segments->env;
    if (read->all_count == read->all_scratch) {
        uint32_t scratch = read->all_scratch > 0 ? 2 * read->all_scratch : ITEMS_MIN;
        struct mcds__segment_item *moved = env->reallocate(env->self, read->all,
                                                           scratch * sizeof moved[0]);
        if (moved == NULL)
            return false;
        read->all = moved;
        read->all_scratch = scratch;
    }
    assert(read->all_count < read->all_scratch && index < read->near);
    read->all[read->all_count++] = (struct mcds__segment_item){index, (uint32_t)begin};
    return true;
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

/* Whether a caller that has read the segments below in another call has not seen this copy: their
 * segment was lost and made again since, as the next one shows, or as the writer has found. */
static bool is_unseen(const struct mcds__segment_read *read,
                      const struct mcds__segment_item *copy,
                      const struct mcds__segment_record *record)
{
    return read->resumes && copy->index < read->back &&
           ((record->flags & MCDS__SEGMENT_LOSS) != 0 ||
            mcds__segment_is_disowned(read, copy->index));
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
        if (*place != 0 && !is_unseen(read, &read->all[*place - 1], &record))
            continue;
        assert(kept <= i);
        read->all[kept++] = read->all[i];
        *place = kept;
    }
    read->all_count = kept;
    return true;
}
