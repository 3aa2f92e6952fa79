/* Where PUSH puts an addition: the places of a list.
 *
 * Few places and ids are searched one by one, many in their order, so that a forged value does not take
 * time by the square of its length. */
#include "core/fold_apply.h"

#include <string.h>

#include "base/frame.h"

/* Clocks that are closer than this are taken to agree; longer than an addition is under way. */
#define CLOCKS_APART ((uint64_t)30000 << MCDS__FOLD_PLACE_SHIFT)

static uint64_t place_at(mcds_bytes places, size_t at)
{
    return mcds__get_u64((const uint8_t *)places.at + at);
}

/* Where the places begin that are not below `end`: places rise. */
static size_t find_place(mcds_bytes places, uint64_t end)
{
    size_t low = 0;
    size_t high = places.length / MCDS__FOLD_PLACE;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (place_at(places, middle * MCDS__FOLD_PLACE) < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low * MCDS__FOLD_PLACE;
}

static bool sort_places(struct mcds__fold_contents *contents, mcds_bytes places)
{
    for (size_t at = 0; at + MCDS__FOLD_PLACE <= places.length; at += MCDS__FOLD_PLACE)
        if (!mcds__fold_sorted_add(&contents->sorted_places, contents->env,
                                   place_at(places, at), 0))
            return false;
    return true;
}

/* Many places are sorted at the first question. False: no memory. */
static bool has_sorted_places(struct mcds__fold_contents *contents)
{
    if (mcds__fold_sorted_is_used(&contents->sorted_places))
        return true;
    for (uint32_t i = 0; i < contents->entry_count; i++)
        if (!sort_places(contents, contents->entries[i].value))
            return false;
    return true;
}

/* Of a value that has lost its beginning, only that is taken out. */
bool mcds__fold_note_value(struct mcds__fold_contents *contents, mcds_bytes before,
                           mcds_bytes after)
{
    const uint8_t *end = (const uint8_t *)before.at + before.length;
    size_t gone = before.length;
    if (!mcds__fold_sorted_is_used(&contents->sorted_places) || before.at == after.at)
        return true;
    bool is_rest = after.length > 0 && after.length < before.length &&
                   (const uint8_t *)after.at + after.length == end;
    if (is_rest)
        gone -= after.length;
    for (size_t at = 0; at + MCDS__FOLD_PLACE <= gone; at += MCDS__FOLD_PLACE)
        mcds__fold_sorted_remove(&contents->sorted_places, place_at(before, at));
    return is_rest || sort_places(contents, after);
}

/* The last place in the key that is before `end`, or 0. False: no memory. */
static bool last_place(struct mcds__fold_contents *contents, uint64_t end, uint64_t *last_out)
{
    uint32_t item;
    *last_out = 0;
    if (contents->entry_count >= MCDS__FOLD_INDEX_FROM && end != UINT64_MAX) {
        if (!has_sorted_places(contents))
            return false;
        (void)mcds__fold_sorted_below(&contents->sorted_places, end, last_out, &item);
        return true;
    }
    contents->steps += contents->entry_count;
    for (uint32_t i = 0; i < contents->entry_count; i++) {
        mcds_bytes places = contents->entries[i].value;
        size_t at = find_place(places, end);
        if (at > 0 && place_at(places, at - MCDS__FOLD_PLACE) > *last_out)
            *last_out = place_at(places, at - MCDS__FOLD_PLACE);
    }
    return true;
}

/* The nearest additions of the same writer. */
struct neighbours {
    const struct mcds__fold_id *earlier;
    const struct mcds__fold_id *later;
};

static uint64_t order_of(uint32_t writer, uint32_t seq)
{
    return (uint64_t)writer << 32 | seq;
}

bool mcds__fold_sort_id(struct mcds__fold_contents *contents, uint32_t number)
{
    const struct mcds__fold_id *id = &contents->ids[number];
    return id->number == 0 || mcds__fold_sorted_add(&contents->sorted_ids, contents->env,
                                                    order_of(id->writer, id->seq), number);
}

/* Many ids are sorted at the first question. False: no memory. */
static bool has_sorted_ids(struct mcds__fold_contents *contents)
{
    if (mcds__fold_sorted_is_used(&contents->sorted_ids))
        return true;
    for (uint32_t i = 0; i < contents->id_count; i++)
        if (!mcds__fold_sort_id(contents, i))
            return false;
    return true;
}

static bool find_neighbours(struct mcds__fold_contents *contents, uint32_t writer, uint32_t seq,
                            struct neighbours *found)
{
    uint64_t at = order_of(writer, seq);
    uint64_t order;
    uint32_t number;
    if (!has_sorted_ids(contents))
        return false;
    if (mcds__fold_sorted_below(&contents->sorted_ids, at, &order, &number) &&
        order >> 32 == writer)
        found->earlier = &contents->ids[number];
    if (mcds__fold_sorted_above(&contents->sorted_ids, at, &order, &number) &&
        order >> 32 == writer)
        found->later = &contents->ids[number];
    return true;
}

/* False: no memory. */
static bool neighbours_of(struct mcds__fold_contents *contents,
                          const struct mcds__fold_record *record, struct neighbours *found)
{
    const struct mcds__fold_writer *writer = mcds__fold_find_writer(contents, record->writer);
    *found = (struct neighbours){NULL, NULL};
    if (writer == NULL || writer->last == 0)
        return true;
    if (contents->ids[writer->last - 1].seq < record->seq) {
        found->earlier = &contents->ids[writer->last - 1];
        return true;
    }
    if (contents->id_count >= MCDS__FOLD_INDEX_FROM)
        return find_neighbours(contents, (uint32_t)(writer - contents->writers), record->seq,
                               found);
    for (uint32_t next = writer->first_id; next != 0;) {
        const struct mcds__fold_id *id = &contents->ids[next - 1];
        contents->steps++;
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

/* The place of an addition whose writer has chosen `chosen`. Additions of one writer arrive in any
 * order, and keep the order in which they were begun. Against those of others its own time counts
 * where the clocks agree, and else the order of arrival. A place that is moved leaves room before it for those of the same writer that are
 * still under way. False: no memory. */
static bool next_place(struct mcds__fold_contents *contents,
                       const struct mcds__fold_record *record, uint64_t *place_out)
{
    uint64_t chosen = ((uint64_t)record->time_ms << MCDS__FOLD_PLACE_SHIFT) +
                      (uint64_t)record->command.delta;
    struct neighbours own;
    if (contents->order_last == 0)
        (void)last_place(contents, UINT64_MAX, &contents->order_last);
    if (!neighbours_of(contents, record, &own))
        return false;
    uint64_t floor = own.earlier != NULL ? (uint64_t)own.earlier->number : 0;
    uint64_t last = contents->order_last;
    if (own.later != NULL && !last_place(contents, (uint64_t)own.later->number, &last))
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

/* The places of an entry, with room for one more. They double, so that many additions of one element
 * take no more memory than a few times its places. NULL: no memory. */
static uint8_t *make_room(struct mcds__fold_contents *contents, struct mcds__fold_entry *entry)
{
    mcds_bytes old = entry->there ? entry->value : (mcds_bytes){NULL, 0};
    if (entry->there && entry->spare >= MCDS__FOLD_PLACE)
        return (uint8_t *)old.at;
    size_t room = 2 * old.length + MCDS__FOLD_PLACE;
    uint8_t *places = room <= UINT32_MAX ? mcds__fold_make(contents, room) : NULL;
    if (places == NULL)
        return NULL;
    if (old.length > 0)
        memcpy(places, old.at, old.length);
    entry->there = true;
    entry->value = (mcds_bytes){places, old.length};
    entry->expires_ms = 0;
    entry->spare = (uint32_t)(room - old.length);
    return places;
}

/* The places of one element rise, so that the first is the one to be removed. */
bool mcds__fold_push(struct mcds__fold_contents *contents, struct mcds__fold_entry *entry,
                     const struct mcds__fold_record *record, int64_t *place_out)
{
    uint64_t place;
    uint8_t *places = next_place(contents, record, &place) ? make_room(contents, entry) : NULL;
    if (places == NULL)
        return false;
    size_t length = entry->value.length;
    size_t at = length / MCDS__FOLD_PLACE * MCDS__FOLD_PLACE;
    if (at > 0 && place_at(entry->value, at - MCDS__FOLD_PLACE) > place)
        at = find_place(entry->value, place + 1);
    memmove(places + at + MCDS__FOLD_PLACE, places + at, length - at);
    mcds__put_u64(places + at, place);
    entry->value.length += MCDS__FOLD_PLACE;
    entry->spare -= MCDS__FOLD_PLACE;
    if (place > contents->order_last)
        contents->order_last = place;
    *place_out = (int64_t)place;
    return !mcds__fold_sorted_is_used(&contents->sorted_places) ||
           mcds__fold_sorted_add(&contents->sorted_places, contents->env, place, 0);
}
