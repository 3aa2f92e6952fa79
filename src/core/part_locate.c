/* Core part: find the last part of a family. */
#include "base/environment.h"
#include "core/part.h"

#define NEAR 8
#define NARROW 60

enum { LOCATE_BEGIN, LOCATE_COUNTING, LOCATE_LOOKING };

static enum mcds__step ask(struct mcds__part_locate *locate, struct mcds__operation *operation)
{
    locate->stage = LOCATE_LOOKING;
    return mcds__operation_ask_repeatable(operation, locate->room->requests, locate->count);
}

/* The first parts one by one, then at growing distances, and at first the count. */
static enum mcds__step begin(struct mcds__part_locate *locate, struct mcds__parts *parts,
                             struct mcds__operation *operation)
{
    if (mcds__part_get_room(&locate->room, operation->env) == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    for (uint32_t i = 0; i < NEAR; i++)
        mcds__part_fill_get(parts, locate->family, locate->room, i, locate->from + i,
                            MCDS_NO_VALUE);
    locate->count = mcds__part_fill_far(parts, locate->family, locate->room, NEAR,
                                        locate->from + NEAR - 2);
    if (locate->is_led)
        return ask(locate, operation);
    mcds__part_fill_count(parts, locate->family, locate->room, locate->count);
    locate->stage = LOCATE_COUNTING;
    return mcds__operation_ask_repeatable(operation, locate->room->requests, locate->count + 1);
}

/* Between the last that exists and the next that does not. */
static enum mcds__step narrow(struct mcds__part_locate *locate, struct mcds__parts *parts,
                              uint64_t last, uint64_t missing,
                              struct mcds__operation *operation)
{
    uint64_t between = missing - last - 1;
    uint64_t stride = between / (NARROW + 1) + 1;
    uint64_t part = last;
    locate->count = 0;
    do {
        mcds__part_fill_get(parts, locate->family, locate->room, locate->count++, part,
                            MCDS_NO_VALUE);
        part += stride;
    } while (part < missing);
    mcds__part_fill_get(parts, locate->family, locate->room, locate->count++, missing,
                        MCDS_NO_VALUE);
    return ask(locate, operation);
}

static const mcds_reply *reply_of(const struct mcds__part_locate *locate, uint32_t i)
{
    return &locate->room->requests[i].reply;
}

/* How many parts from the first looked at are full, or gone with others behind them. */
static uint32_t count_settled(const struct mcds__part_locate *locate, uint32_t last)
{
    uint32_t i = 0;
    for (; i < last; i++) {
        const mcds_reply *reply = reply_of(locate, i);
        bool next = locate->room->positions[i + 1] == locate->room->positions[i] + 1;
        if (!next ||
            (reply->outcome == MCDS_OUT_OK &&
             (reply->value_length <= MCDS__PART_LIMIT || reply->flags == MCDS__PART_END)))
            break;
    }
    return i;
}

/* The family begins or goes on with a part that does not exist; all below `settled` are closed or
 * gone. */
static enum mcds__step take_nothing(struct mcds__part_locate *locate, struct mcds__parts *parts,
                                    uint64_t settled, struct mcds__operation *operation)
{
    struct mcds__part_tail tail = {
        .family = locate->family, .part = locate->made, .settled = settled};
    mcds__part_note_tail(parts, &tail);
    locate->exists = false;
    locate->part = locate->made;
    locate->size = 0;
    locate->birth = 0;
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step take_last(struct mcds__part_locate *locate, struct mcds__parts *parts,
                                 uint32_t last, struct mcds__operation *operation)
{
    const mcds_reply *reply = reply_of(locate, last);
    uint64_t part = locate->room->positions[last];
    uint64_t settled = 0;
    if (locate->room->positions[0] == locate->from)
        settled = locate->from + count_settled(locate, last);
    if (part > MCDS__PART_AHEAD && settled < part - MCDS__PART_AHEAD)
        settled = part - MCDS__PART_AHEAD;
    struct mcds__part_tail tail = {
        .family = locate->family,
        .exists = true,
        .part = part,
        .birth = reply->flags,
        .size = reply->value_length,
        .settled = settled,
        .is_counted = locate->made >= part,
    };
    locate->ended = reply->flags == MCDS__PART_END;
    locate->exists = true;
    locate->part = part;
    locate->size = reply->value_length;
    locate->birth = reply->flags;
    if (!locate->ended) {
        mcds__part_note_tail(parts, &tail);
        (void)mcds__part_note_seen(parts, locate->family, part, tail.size, tail.birth,
                                   operation->sent_ns);
    }
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step take_trouble(struct mcds__part_locate *locate,
                                    struct mcds__operation *operation, const mcds_reply *reply)
{
    locate->stage = LOCATE_BEGIN;
    if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation))
        return MCDS__SLEEP;
    return mcds__operation_fail_read(operation, reply);
}

/* The parts end before the count: what is left may be around it. */
static enum mcds__step follow_count(struct mcds__part_locate *locate, struct mcds__parts *parts,
                                    struct mcds__operation *operation)
{
    locate->is_led = true;
    locate->from = locate->made > MCDS__PART_AHEAD ? locate->made - MCDS__PART_AHEAD : 0;
    return begin(locate, parts, operation);
}

static enum mcds__step take(struct mcds__part_locate *locate, struct mcds__parts *parts,
                            struct mcds__operation *operation)
{
    uint32_t last = locate->count;
    for (uint32_t i = 0; i < locate->count; i++) {
        const mcds_reply *reply = reply_of(locate, i);
        if (reply->outcome == MCDS_OUT_OK)
            last = i;
        else if (reply->outcome != MCDS_OUT_MISS)
            return take_trouble(locate, operation, reply);
    }
    const uint64_t *positions = locate->room->positions;
    uint64_t end = last < locate->count ? positions[last] + 1 : 0;
    if (end < locate->made && !locate->is_led)
        return follow_count(locate, parts, operation);
    if (last == locate->count)
        return take_nothing(locate, parts, locate->made, operation);
    if (last + 1 < locate->count && positions[last + 1] > positions[last] + 1)
        return narrow(locate, parts, positions[last], positions[last + 1], operation);
    if (end < locate->made)
        return take_nothing(locate, parts, locate->from, operation);
    return take_last(locate, parts, last, operation);
}

enum mcds__step mcds__part_locate_step(struct mcds__part_locate *locate,
                                       struct mcds__parts *parts,
                                       struct mcds__operation *operation)
{
    locate->ended = false;
    if (locate->stage == LOCATE_BEGIN) {
        locate->from = locate->made = 0;
        locate->is_led = false;
        return begin(locate, parts, operation);
    }
    if (locate->stage == LOCATE_COUNTING) {
        const mcds_reply *count = reply_of(locate, locate->count);
        if (count->outcome != MCDS_OUT_OK && count->outcome != MCDS_OUT_MISS)
            return take_trouble(locate, operation, count);
        locate->made = mcds__part_count_of(count, operation->batch.values);
    }
    return take(locate, parts, operation);
}
