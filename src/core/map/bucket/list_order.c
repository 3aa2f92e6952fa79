/* Bucket: the order of a list, and the position of an addition by PUSH.
 *
 * Few positions and ids are searched one by one, many in sorted order, so that a forged value
 * does not take time in proportion to the square of its length. */
#include "core/map/bucket/apply.h"

#include <assert.h>
#include <string.h>

#include "base/frame.h"

/* Clocks closer than this are taken to agree; longer than an addition is in flight. */
#define CLOCKS_APART ((uint64_t)30000 << MCDS__MAP_PLACE_SHIFT)

static uint64_t place_at(mcds_bytes places, size_t at)
{
    assert(at + MCDS__MAP_PLACE <= places.length);
    return mcds__get_u64((const uint8_t *)places.data + at);
}

/* The index of the first position that is not below `end`; positions increase. */
static size_t bucket_list_order_find_place(mcds_bytes places, uint64_t end)
{
    size_t low = 0;
    size_t high = places.length / MCDS__MAP_PLACE;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (place_at(places, middle * MCDS__MAP_PLACE) < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low * MCDS__MAP_PLACE;
}

static bool sort_places(struct mcds__bucket *bucket, mcds_bytes places)
{
    for (size_t at = 0; at + MCDS__MAP_PLACE <= places.length; at += MCDS__MAP_PLACE)
        if (!mcds__bucket_sorted_add(&bucket->sorted_places, bucket->env, place_at(places, at),
                                     0))
            return false;
    return true;
}

/* Many positions are sorted at the first search. False: no memory. */
static bool has_sorted_places(struct mcds__bucket *bucket)
{
    if (mcds__bucket_sorted_is_used(&bucket->sorted_places))
        return true;
    for (uint32_t i = 0; i < bucket->entry_count; i++)
        if (!sort_places(bucket, bucket->entries[i].value))
            return false;
    return true;
}

/* If the beginning of a value was removed, only that is removed here. */
bool mcds__map_note_value(struct mcds__bucket *bucket, mcds_bytes before, mcds_bytes after)
{
    const uint8_t *end = (const uint8_t *)before.data + before.length;
    size_t gone = before.length;
    if (!mcds__bucket_sorted_is_used(&bucket->sorted_places) || before.data == after.data)
        return true;
    bool is_rest = after.length > 0 && after.length < before.length &&
                   (const uint8_t *)after.data + after.length == end;
    if (is_rest)
        assert(after.length < gone);
    gone -= after.length;
    for (size_t at = 0; at + MCDS__MAP_PLACE <= gone; at += MCDS__MAP_PLACE)
        mcds__bucket_sorted_remove(&bucket->sorted_places, place_at(before, at));
    return is_rest || sort_places(bucket, after);
}

/* The last position in the key that is before `end`, or 0. False: no memory. */
static bool last_place(struct mcds__bucket *bucket, uint64_t end, uint64_t *last_out)
{
    uint32_t item;
    *last_out = 0;
    if (bucket->entry_count >= MCDS__MAP_INDEX_FROM && end != UINT64_MAX) {
        if (!has_sorted_places(bucket))
            return false;
        (void)mcds__bucket_sorted_below(&bucket->sorted_places, end, last_out, &item);
        assert(*last_out == 0 || *last_out < end);
        return true;
    }
    bucket->steps += bucket->entry_count;
    for (uint32_t i = 0; i < bucket->entry_count; i++) {
        mcds_bytes places = bucket->entries[i].value;
        size_t at = bucket_list_order_find_place(places, end);
        if (at > 0 && place_at(places, at - MCDS__MAP_PLACE) > *last_out)
            *last_out = place_at(places, at - MCDS__MAP_PLACE);
    }
    return true;
}

/* The nearest additions of the same writer. */
struct neighbours {
    const struct mcds__map_id *earlier;
    const struct mcds__map_id *later;
};

static uint64_t order_of(uint32_t writer, uint32_t seq)
{
    return (uint64_t)writer << 32 | seq;
}

bool mcds__map_sort_id(struct mcds__bucket *bucket, uint32_t number)
{
    assert(number < bucket->id_count);
    const struct mcds__map_id *id = &bucket->ids[number];
    return id->number == 0 || mcds__bucket_sorted_add(&bucket->sorted_ids, bucket->env,
                                                      order_of(id->writer, id->seq), number);
}

/* Many ids are sorted at the first search. False: no memory. */
static bool has_sorted_ids(struct mcds__bucket *bucket)
{
    if (mcds__bucket_sorted_is_used(&bucket->sorted_ids))
        return true;
    for (uint32_t i = 0; i < bucket->id_count; i++)
        if (!mcds__map_sort_id(bucket, i))
            return false;
    return true;
}

static bool find_neighbours(struct mcds__bucket *bucket, uint32_t writer, uint32_t seq,
                            struct neighbours *found)
{
    uint64_t at = order_of(writer, seq);
    uint64_t order;
    uint32_t number;
    if (!has_sorted_ids(bucket))
        return false;
    if (mcds__bucket_sorted_below(&bucket->sorted_ids, at, &order, &number) &&
        order >> 32 == writer)
        found->earlier = &bucket->ids[number];
    if (mcds__bucket_sorted_above(&bucket->sorted_ids, at, &order, &number) &&
        order >> 32 == writer)
        found->later = &bucket->ids[number];
    return true;
}

/* False: no memory. */
static bool neighbours_of(struct mcds__bucket *bucket, const struct mcds__map_writer *writer,
                          const struct mcds__map_record *record, struct neighbours *found)
{
    assert(writer->last <= bucket->id_count);
    *found = (struct neighbours){NULL, NULL};
    if (writer->last == 0)
        return true;
    if (bucket->ids[writer->last - 1].seq < record->seq) {
        found->earlier = &bucket->ids[writer->last - 1];
        return true;
    }
    if (bucket->id_count >= MCDS__MAP_INDEX_FROM)
        return find_neighbours(bucket, (uint32_t)(writer - bucket->writers), record->seq,
                               found);
    for (uint32_t next = writer->first_id; next != 0;) {
        const struct mcds__map_id *id = &bucket->ids[next - 1];
        bucket->steps++;
        next = id->next;
        if (id->number == 0)
            continue;
        if (id->seq < record->seq && (found->earlier == NULL || id->seq > found->earlier->seq))
            found->earlier = id;
        if (id->seq > record->seq && (found->later == NULL || id->seq < found->later->seq))
            found->later = id;
    }
    return true;
}

/* The position of an addition whose writer has chosen `chosen`. Additions of one writer may
 * arrive in any order, and keep the order in which they were begun. Relative to other writers,
 * the time decides if the clocks agree, otherwise the order of arrival. A position that is
 * moved leaves space before it for additions of the same writer that are still in flight.
 * False: no memory. */
static bool next_place(struct mcds__bucket *bucket, const struct mcds__map_writer *writer,
                       const struct mcds__map_record *record, uint64_t *place_out)
{
    uint64_t chosen = ((uint64_t)record->time_ms << MCDS__MAP_PLACE_SHIFT) +
                      (uint64_t)record->command.delta;
    struct neighbours own;
    if (bucket->order_last == 0)
        (void)last_place(bucket, UINT64_MAX, &bucket->order_last);
    if (!neighbours_of(bucket, writer, record, &own))
        return false;
    uint64_t floor = own.earlier != NULL ? (uint64_t)own.earlier->number : 0;
    uint64_t last = bucket->order_last;
    assert(own.later == NULL || own.later->seq > record->seq);
    assert(own.earlier == NULL || own.earlier->seq < record->seq);
    if (own.later != NULL && !last_place(bucket, (uint64_t)own.later->number, &last))
        return false;
    bool agrees = chosen > last || last - chosen < CLOCKS_APART;
    if (chosen > floor && agrees)
        *place_out = chosen;
    else if (own.later != NULL)
        *place_out = (uint64_t)own.later->number - (own.later->seq - record->seq);
    else
        *place_out = (last > floor ? last : floor) + 1 + (record->seq - record->low);
    return true;
}

/* The positions of an entry, with space for one more. The space doubles, so many additions of
 * one element take only a few times the memory of its positions. NULL: no memory. */
static uint8_t *bucket_list_order_make_room(struct mcds__bucket *bucket,
                                            struct mcds__map_entry *entry)
{
    mcds_bytes old = entry->there ? entry->value : (mcds_bytes){NULL, 0};
    if (entry->there && entry->spare >= MCDS__MAP_PLACE)
        return (uint8_t *)old.data;
    size_t capacity = 2 * old.length + MCDS__MAP_PLACE;
    uint8_t *places = capacity <= UINT32_MAX ? mcds__map_make(bucket, capacity) : NULL;
    if (places == NULL)
        return NULL;
    if (old.length > 0)
        memcpy(places, old.data, old.length);
    entry->there = true;
    entry->value = (mcds_bytes){places, old.length};
    entry->expires_ms = 0;
    assert(capacity - old.length >= MCDS__MAP_PLACE);
    entry->spare = (uint32_t)(capacity - old.length);
    return places;
}

/* The positions of one element increase, so the first one is removed. */
bool mcds__map_push(struct mcds__bucket *bucket, struct mcds__map_entry *entry,
                    const struct mcds__map_writer *writer,
                    const struct mcds__map_record *record, int64_t *place_out)
{
    uint64_t place;
    uint8_t *places = next_place(bucket, writer, record, &place)
                          ? bucket_list_order_make_room(bucket, entry)
                          : NULL;
    if (places == NULL)
        return false;
    size_t length = entry->value.length;
    size_t at = length / MCDS__MAP_PLACE * MCDS__MAP_PLACE;
    if (at > 0 && place_at(entry->value, at - MCDS__MAP_PLACE) > place)
        at = bucket_list_order_find_place(entry->value, place + 1);
    assert(at <= length && entry->spare >= MCDS__MAP_PLACE);
    memmove(places + at + MCDS__MAP_PLACE, places + at, length - at);
    mcds__put_u64(places + at, place);
    entry->value.length += MCDS__MAP_PLACE;
    entry->spare -= MCDS__MAP_PLACE;
    if (place > bucket->order_last)
        bucket->order_last = place;
    *place_out = (int64_t)place;
    return !mcds__bucket_sorted_is_used(&bucket->sorted_places) ||
           mcds__bucket_sorted_add(&bucket->sorted_places, bucket->env, place, 0);
}
