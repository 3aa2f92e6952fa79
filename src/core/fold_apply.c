/* What each command does to the entry of its element. */
#include "core/fold_apply.h"

#include <string.h>

#include "base/frame.h"
#include "base/number.h"

#define NUMBER_ROOM (MCDS__U64_DIGITS + 1)

static void remove_entry(struct mcds__fold_entry *entry)
{
    entry->there = false;
    entry->spare = 0;
    entry->value = (mcds_bytes){NULL, 0};
    entry->expires_ms = 0;
}

static void set_entry(struct mcds__fold_entry *entry, mcds_bytes value, int64_t expires_ms)
{
    entry->there = true;
    entry->spare = 0;
    entry->value = value;
    entry->expires_ms = expires_ms;
}

bool mcds__fold_parse_number(mcds_bytes text, int64_t *number_out)
{
    const char *digits = text.at;
    if (text.length == 0)
        return false;
    bool negative = digits[0] == '-';
    uint64_t number;
    if (!mcds__parse_u64(digits + negative, text.length - negative, &number) ||
        number > (uint64_t)INT64_MAX + negative)
        return false;
    *number_out = negative ? (int64_t)(0 - number) : (int64_t)number;
    return true;
}

static bool set_number(struct mcds__fold_contents *contents, struct mcds__fold_entry *entry,
                       int64_t number)
{
    char *text = (char *)mcds__fold_make(contents, NUMBER_ROOM);
    if (text == NULL)
        return false;
    bool negative = number < 0;
    text[0] = '-';
    size_t length = mcds__format_u64(negative ? 0 - (uint64_t)number : (uint64_t)number,
                                     text + negative);
    entry->there = true;
    entry->spare = 0;
    entry->value = (mcds_bytes){text, length + negative};
    return true;
}

static bool count(struct mcds__fold_contents *contents, struct mcds__fold_entry *entry,
                  const struct mcds__fold_command *command, struct mcds__fold_effect *effect)
{
    int64_t number = 0;
    if (entry->there && !mcds__fold_parse_number(entry->value, &number)) {
        effect->code = MCDS__FOLD_NO_NUMBER;
        return true;
    }
    effect->number = number;
    if (__builtin_add_overflow(number, command->delta, &number)) {
        effect->code = MCDS__FOLD_RANGE;
        return true;
    }
    effect->number = number;
    effect->code = MCDS__FOLD_CHANGED;
    return set_number(contents, entry, number);
}

static bool gather(struct mcds__fold_contents *contents, struct mcds__fold_entry *entry,
                   const struct mcds__fold_command *command, struct mcds__fold_effect *effect)
{
    if (!entry->there && command->delta <= 0)
        return true;
    if (!count(contents, entry, command, effect))
        return false;
    if (effect->code == MCDS__FOLD_CHANGED && effect->number <= 0) {
        effect->number = 0;
        remove_entry(entry);
    }
    return true;
}

/* Clocks that are closer than this are taken to agree; longer than an addition is under way. */
#define CLOCKS_APART ((uint64_t)30000 << MCDS__FOLD_PLACE_SHIFT)

static uint64_t place_at(mcds_bytes places, size_t at)
{
    return mcds__get_u64((const uint8_t *)places.at + at);
}

/* The last place in the key that is before `end`, or 0. */
static uint64_t last_place(const struct mcds__fold_contents *contents, uint64_t end)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < contents->entry_count; i++) {
        mcds_bytes places = contents->entries[i].value;
        size_t at = places.length / MCDS__FOLD_PLACE * MCDS__FOLD_PLACE;
        while (at > 0 && place_at(places, at - MCDS__FOLD_PLACE) >= end)
            at -= MCDS__FOLD_PLACE;
        if (at > 0 && place_at(places, at - MCDS__FOLD_PLACE) > last)
            last = place_at(places, at - MCDS__FOLD_PLACE);
    }
    return last;
}

/* The nearest additions of the same writer. */
struct neighbours {
    const struct mcds__fold_id *earlier;
    const struct mcds__fold_id *later;
};

static struct neighbours neighbours_of(struct mcds__fold_contents *contents,
                                       const struct mcds__fold_record *record)
{
    struct neighbours found = {NULL, NULL};
    const struct mcds__fold_writer *writer = mcds__fold_find_writer(contents, record->writer);
    if (writer == NULL || writer->last == 0)
        return found;
    found.earlier = &contents->ids[writer->last - 1];
    if (found.earlier->seq < record->seq)
        return found;
    found.earlier = NULL;
    for (uint32_t next = writer->first_id; next != 0;) {
        const struct mcds__fold_id *id = &contents->ids[next - 1];
        contents->steps++;
        next = id->next;
        if (id->number == 0)
            continue;
        if (id->seq < record->seq && (found.earlier == NULL || id->seq > found.earlier->seq))
            found.earlier = id;
        if (id->seq > record->seq && (found.later == NULL || id->seq < found.later->seq))
            found.later = id;
    }
    return found;
}

/* The place of an addition whose writer has chosen `chosen`. Additions of one writer arrive in any
 * order, and keep the order in which they were begun. Against those of others its own time counts
 * where the clocks agree, and else the order of arrival. A place that is moved leaves room before it for those of the same writer
 * that are still under way. */
static uint64_t next_place(struct mcds__fold_contents *contents,
                           const struct mcds__fold_record *record)
{
    uint64_t chosen = ((uint64_t)record->time_ms << MCDS__FOLD_PLACE_SHIFT) +
                      (uint64_t)record->command.delta;
    if (contents->order_last == 0)
        contents->order_last = last_place(contents, UINT64_MAX);
    struct neighbours own = neighbours_of(contents, record);
    uint64_t floor = own.earlier != NULL ? (uint64_t)own.earlier->number : 0;
    uint64_t last = contents->order_last;
    if (own.later != NULL)
        last = last_place(contents, (uint64_t)own.later->number);
    bool agrees = chosen > last || last - chosen < CLOCKS_APART;
    if (chosen > floor && agrees)
        return chosen;
    if (own.later != NULL)
        return (uint64_t)own.later->number - (own.later->seq - record->seq);
    return (last > floor ? last : floor) + 1 + (record->seq - record->low);
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
    set_entry(entry, (mcds_bytes){places, old.length}, 0);
    entry->spare = (uint32_t)(room - old.length);
    return places;
}

/* The places of one element rise, so that the first is the one to be removed. */
static bool push(struct mcds__fold_contents *contents, struct mcds__fold_entry *entry,
                 const struct mcds__fold_record *record, struct mcds__fold_effect *effect)
{
    uint64_t place = next_place(contents, record);
    uint8_t *places = make_room(contents, entry);
    if (places == NULL)
        return false;
    size_t length = entry->value.length;
    size_t at = length / MCDS__FOLD_PLACE * MCDS__FOLD_PLACE;
    while (at > 0 && place_at(entry->value, at - MCDS__FOLD_PLACE) > place)
        at -= MCDS__FOLD_PLACE;
    memmove(places + at + MCDS__FOLD_PLACE, places + at, length - at);
    mcds__put_u64(places + at, place);
    entry->value.length += MCDS__FOLD_PLACE;
    entry->spare -= MCDS__FOLD_PLACE;
    if (place > contents->order_last)
        contents->order_last = place;
    effect->number = (int64_t)place;
    return true;
}

static void pop(struct mcds__fold_entry *entry)
{
    if (entry->value.length <= MCDS__FOLD_PLACE) {
        remove_entry(entry);
        return;
    }
    entry->value.at = (const uint8_t *)entry->value.at + MCDS__FOLD_PLACE;
    entry->value.length -= MCDS__FOLD_PLACE;
}

static void swap(struct mcds__fold_entry *entry, const struct mcds__fold_command *command,
                 struct mcds__fold_effect *effect)
{
    if (!entry->there)
        return;
    if (entry->value.length != command->expected.length ||
        (entry->value.length > 0 &&
         memcmp(entry->value.at, command->expected.at, entry->value.length) != 0)) {
        effect->code = MCDS__FOLD_DIFFERS;
        return;
    }
    effect->code = MCDS__FOLD_CHANGED;
    set_entry(entry, command->value, command->expires_ms);
}

static void raise_byte(struct mcds__fold_entry *entry, const struct mcds__fold_command *command,
                       struct mcds__fold_effect *effect)
{
    effect->code = MCDS__FOLD_PRESENT;
    if (command->value.length != 1)
        return;
    if (entry->there && entry->value.length == 1 &&
        *(const uint8_t *)entry->value.at >= *(const uint8_t *)command->value.at)
        return;
    effect->code = MCDS__FOLD_CHANGED;
    set_entry(entry, command->value, 0);
}

bool mcds__fold_apply(struct mcds__fold_contents *contents, struct mcds__fold_entry *entry,
                      const struct mcds__fold_record *record, struct mcds__fold_effect *effect)
{
    const struct mcds__fold_command *command = &record->command;
    if (!mcds__fold_is_there(entry, record->time_ms))
        remove_entry(entry);
    *effect = (struct mcds__fold_effect){entry->there ? MCDS__FOLD_PRESENT : MCDS__FOLD_ABSENT,
                                         0};
    switch (command->verb) {
    case MCDS__FOLD_PUT:
    case MCDS__FOLD_PUT_NEW:
        if (entry->there && command->verb == MCDS__FOLD_PUT_NEW)
            return true;
        if (!entry->there)
            effect->code = MCDS__FOLD_CHANGED;
        set_entry(entry, command->value, command->expires_ms);
        return true;
    case MCDS__FOLD_SWAP:
        swap(entry, command, effect);
        return true;
    case MCDS__FOLD_REMOVE:
    case MCDS__FOLD_POP:
        if (!entry->there)
            return true;
        effect->code = MCDS__FOLD_CHANGED;
        if (command->verb == MCDS__FOLD_REMOVE)
            remove_entry(entry);
        else
            pop(entry);
        return true;
    case MCDS__FOLD_COUNT:
        return count(contents, entry, command, effect);
    case MCDS__FOLD_GATHER:
        return gather(contents, entry, command, effect);
    case MCDS__FOLD_PUSH:
        effect->code = MCDS__FOLD_CHANGED;
        return push(contents, entry, record, effect);
    case MCDS__FOLD_RAISE:
        raise_byte(entry, command, effect);
        return true;
    }
    return true;
}
