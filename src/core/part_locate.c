/* Core part: find the last part of a family, and close what should be closed. */
#include "base/environment.h"
#include "core/part.h"

#define NEAR 8
#define NARROW 60

enum { LOCATE_BEGIN, LOCATE_LOOKING };

static enum mcds__step ask(struct mcds__part_locate *locate, struct mcds__operation *operation)
{
    locate->stage = LOCATE_LOOKING;
    return mcds__operation_ask_repeatable(operation, locate->room->requests, locate->count);
}

/* The first parts one by one, then at growing distances. */
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
    return ask(locate, operation);
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

/* Nothing there: the family begins here. */
static enum mcds__step take_nothing(struct mcds__part_locate *locate, struct mcds__parts *parts,
                                    struct mcds__operation *operation)
{
    struct mcds__part_tail tail = {
        .family = locate->family, .part = locate->from, .settled = locate->from};
    mcds__part_note_tail(parts, &tail);
    locate->exists = false;
    locate->part = locate->from;
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
    if (last == locate->count)
        return take_nothing(locate, parts, operation);
    const uint64_t *positions = locate->room->positions;
    if (last + 1 < locate->count && positions[last + 1] > positions[last] + 1)
        return narrow(locate, parts, positions[last], positions[last + 1], operation);
    return take_last(locate, parts, last, operation);
}

enum mcds__step mcds__part_locate_step(struct mcds__part_locate *locate,
                                       struct mcds__parts *parts,
                                       struct mcds__operation *operation)
{
    locate->ended = false;
    if (locate->stage == LOCATE_BEGIN)
        return begin(locate, parts, operation);
    return take(locate, parts, operation);
}
