/* Bucket: the effect of each command on the entry of its element. */
#include "core/map/bucket/apply.h"

#include <assert.h>
#include <string.h>

#include "base/frame.h"
#include "base/number.h"
#include "core/map/bucket/decode.h"
#include "core/map/bucket/jobs.h"
#include "core/map/bucket/take.h"

#define NUMBER_CAPACITY (MCDS__U64_DIGITS + 1)

static void bucket_apply_remove_entry(struct mcds__map_entry *entry)
{
    entry->there = false;
    entry->spare = 0;
    entry->value = (mcds_bytes){NULL, 0};
    entry->expires_ms = 0;
}

static void set_entry(struct mcds__map_entry *entry, mcds_bytes value, int64_t expires_ms)
{
    entry->there = true;
    entry->spare = 0;
    entry->value = value;
    entry->expires_ms = expires_ms;
}

bool mcds__map_parse_number(mcds_bytes text, int64_t *number_out)
{
    const char *digits = text.data;
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

static bool set_number(struct mcds__bucket *bucket, struct mcds__map_entry *entry,
                       int64_t number)
{
    char *text = (char *)mcds__map_make(bucket, NUMBER_CAPACITY);
    if (text == NULL)
        return false;
    bool negative = number < 0;
    text[0] = '-';
    size_t length = mcds__format_u64(negative ? 0 - (uint64_t)number : (uint64_t)number,
                                     text + negative);
    assert(length + negative <= NUMBER_CAPACITY);
    entry->there = true;
    entry->spare = 0;
    entry->value = (mcds_bytes){text, length + negative};
    return true;
}

static bool bucket_apply_count(struct mcds__bucket *bucket, struct mcds__map_entry *entry,
                               const struct mcds__map_command *command,
                               struct mcds__map_effect *effect)
{
    int64_t number = 0;
    if (entry->there && !mcds__map_parse_number(entry->value, &number)) {
        effect->code = MCDS__MAP_NO_NUMBER;
        return true;
    }
    effect->number = number;
    if (__builtin_add_overflow(number, command->delta, &number)) {
        effect->code = MCDS__MAP_RANGE;
        return true;
    }
    effect->number = number;
    effect->code = MCDS__MAP_CHANGED;
    return set_number(bucket, entry, number);
}

static bool bucket_apply_gather(struct mcds__bucket *bucket, struct mcds__map_entry *entry,
                                const struct mcds__map_command *command,
                                struct mcds__map_effect *effect)
{
    if (!entry->there && command->delta <= 0)
        return true;
    if (!bucket_apply_count(bucket, entry, command, effect))
        return false;
    if (effect->code == MCDS__MAP_CHANGED && effect->number <= 0) {
        effect->number = 0;
        bucket_apply_remove_entry(entry);
    }
    return true;
}

static void pop(struct mcds__map_entry *entry)
{
    if (entry->value.length <= MCDS__MAP_PLACE) {
        bucket_apply_remove_entry(entry);
        return;
    }
    entry->value.data = (const uint8_t *)entry->value.data + MCDS__MAP_PLACE;
    entry->value.length -= MCDS__MAP_PLACE;
}

static void swap(struct mcds__map_entry *entry, const struct mcds__map_command *command,
                 struct mcds__map_effect *effect)
{
    assert(command->verb == MCDS__MAP_SWAP);
    if (!entry->there)
        return;
    if (entry->value.length != command->expected.length ||
        (entry->value.length > 0 &&
         memcmp(entry->value.data, command->expected.data, entry->value.length) != 0)) {
        effect->code = MCDS__MAP_DIFFERS;
        return;
    }
    effect->code = MCDS__MAP_CHANGED;
    set_entry(entry, command->value, command->expires_ms);
}

static void raise_byte(struct mcds__map_entry *entry, const struct mcds__map_command *command,
                       struct mcds__map_effect *effect)
{
    assert(command->verb == MCDS__MAP_RAISE);
    effect->code = MCDS__MAP_PRESENT;
    if (command->value.length != 1)
        return;
    if (entry->there && entry->value.length == 1 &&
        *(const uint8_t *)entry->value.data >= *(const uint8_t *)command->value.data)
        return;
    effect->code = MCDS__MAP_CHANGED;
    set_entry(entry, command->value, 0);
}

static bool apply(struct mcds__bucket *bucket, struct mcds__map_entry *entry,
                  const struct mcds__map_writer *writer, const struct mcds__map_record *record,
                  struct mcds__map_effect *effect)
{
    const struct mcds__map_command *command = &record->command;
    assert(command->verb >= MCDS__MAP_PUT && command->verb <= MCDS__MAP_VERB_MAX);
    *effect = (struct mcds__map_effect){entry->there ? MCDS__MAP_PRESENT : MCDS__MAP_ABSENT, 0};
    switch (command->verb) {
    case MCDS__MAP_PUT:
    case MCDS__MAP_PUT_NEW:
        if (entry->there && command->verb == MCDS__MAP_PUT_NEW)
            return true;
        if (!entry->there)
            effect->code = MCDS__MAP_CHANGED;
        set_entry(entry, command->value, command->expires_ms);
        return true;
    case MCDS__MAP_SWAP:
        swap(entry, command, effect);
        return true;
    case MCDS__MAP_REMOVE:
    case MCDS__MAP_POP:
        if (!entry->there)
            return true;
        effect->code = MCDS__MAP_CHANGED;
        if (command->verb == MCDS__MAP_REMOVE)
            bucket_apply_remove_entry(entry);
        else
            pop(entry);
        return true;
    case MCDS__MAP_COUNT:
        return bucket_apply_count(bucket, entry, command, effect);
    case MCDS__MAP_GATHER:
        return bucket_apply_gather(bucket, entry, command, effect);
    case MCDS__MAP_PUSH:
        effect->code = MCDS__MAP_CHANGED;
        return mcds__map_push(bucket, entry, writer, record, &effect->number);
    case MCDS__MAP_RAISE:
        raise_byte(entry, command, effect);
        return true;
    case MCDS__MAP_TAKE:
        return mcds__take_apply(bucket, entry, record, effect);
    case MCDS__MAP_JOBS:
        return mcds__jobs_apply(bucket, entry, record, effect);
    }
    return true;
}

bool mcds__bucket_apply(struct mcds__bucket *bucket, struct mcds__map_entry *entry,
                        const struct mcds__map_writer *writer,
                        const struct mcds__map_record *record, struct mcds__map_effect *effect)
{
    assert(mcds__map_same(entry->element, record->command.element));
    mcds_bytes before = entry->value;
    if (!mcds__map_is_there(entry, record->time_ms))
        bucket_apply_remove_entry(entry);
    if (record->command.verb != MCDS__MAP_JOBS)
        entry->jobs = 0;
    if (record->command.verb == MCDS__MAP_PUSH)
        return mcds__map_note_value(bucket, before, entry->value) &&
               apply(bucket, entry, writer, record, effect);
    bool is_applied = apply(bucket, entry, writer, record, effect) &&
                      mcds__map_note_value(bucket, before, entry->value);
    if (!entry->there)
        bucket->removed += before.length;
    return is_applied;
}
