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

static bool apply(struct mcds__fold_contents *contents, struct mcds__fold_entry *entry,
                  const struct mcds__fold_record *record, struct mcds__fold_effect *effect)
{
    const struct mcds__fold_command *command = &record->command;
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
        return mcds__fold_push(contents, entry, record, &effect->number);
    case MCDS__FOLD_RAISE:
        raise_byte(entry, command, effect);
        return true;
    }
    return true;
}

bool mcds__fold_apply(struct mcds__fold_contents *contents, struct mcds__fold_entry *entry,
                      const struct mcds__fold_record *record, struct mcds__fold_effect *effect)
{
    mcds_bytes before = entry->value;
    if (!mcds__fold_is_there(entry, record->time_ms))
        remove_entry(entry);
    if (record->command.verb == MCDS__FOLD_PUSH)
        return mcds__fold_note_value(contents, before, entry->value) &&
               apply(contents, entry, record, effect);
    return apply(contents, entry, record, effect) &&
           mcds__fold_note_value(contents, before, entry->value);
}
