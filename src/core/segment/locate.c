/* Segment: find the last segment of a stream. */
#include <assert.h>

#include "core/segment/segment.h"

#define NEAR 8
#define NARROW 60

enum { LOCATE_BEGIN, LOCATE_COUNTING, LOCATE_LOOKING, LOCATE_END };

static enum mcds__step segment_locate_ask(struct mcds__segment_locate *locate,
                                          struct mcds__operation *operation)
{
    locate->stage = LOCATE_LOOKING;
    return mcds__operation_ask_repeatable(operation, locate->scratch->requests, locate->count);
}

/* Ask for the count, the first segments one by one, and later ones at growing distances. */
static enum mcds__step segment_locate_begin(struct mcds__segment_locate *locate,
                                            struct mcds__segments *segments,
                                            struct mcds__operation *operation)
{
    if (mcds__segment_get_scratch(&locate->scratch, operation->env) == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    for (uint32_t i = 0; i < NEAR; i++)
        mcds__segment_fill_get(segments, locate->stream, locate->scratch, i, locate->from + i,
                               MCDS_NO_VALUE);
    locate->count = mcds__segment_fill_far(segments, locate->stream, locate->scratch, NEAR,
                                           locate->from + NEAR - 2);
    assert(locate->count < MCDS__SEGMENT_CAPACITY);
    if (locate->is_led)
        return segment_locate_ask(locate, operation);
    mcds__segment_fill_count(segments, locate->stream, locate->scratch, locate->count);
    locate->stage = LOCATE_COUNTING;
    return mcds__operation_ask_repeatable(operation, locate->scratch->requests,
                                          locate->count + 1);
}

/* Ask for segments between the last that exists and the next that does not. */
static enum mcds__step narrow(struct mcds__segment_locate *locate,
                              struct mcds__segments *segments, uint64_t last, uint64_t missing,
                              struct mcds__operation *operation)
{
    assert(missing > last + 1);
    uint64_t between = missing - last - 1;
    uint64_t stride = between / (NARROW + 1) + 1;
    uint64_t segment = last;
    locate->count = 0;
    do {
        mcds__segment_fill_get(segments, locate->stream, locate->scratch, locate->count++,
                               segment, MCDS_NO_VALUE);
        segment += stride;
    } while (segment < missing);
    mcds__segment_fill_get(segments, locate->stream, locate->scratch, locate->count++, missing,
                           MCDS_NO_VALUE);
    assert(locate->count >= 3 && locate->count <= NARROW + 2);
    return segment_locate_ask(locate, operation);
}

static const mcds_reply *reply_of(const struct mcds__segment_locate *locate, uint32_t i)
{
    assert(i <= locate->count && i < MCDS__SEGMENT_CAPACITY);
    return &locate->scratch->requests[i].reply;
}

/* The number of segments, from the first, that are full, or gone while later ones exist. */
static uint32_t count_settled(const struct mcds__segment_locate *locate, uint32_t last)
{
    assert(last < locate->count);
    uint32_t i = 0;
    for (; i < last; i++) {
        const mcds_reply *reply = reply_of(locate, i);
        bool next = locate->scratch->positions[i + 1] == locate->scratch->positions[i] + 1;
        if (!next ||
            (reply->outcome == MCDS_OUT_OK &&
             (reply->value_length <= MCDS__SEGMENT_LIMIT || reply->flags == MCDS__SEGMENT_END)))
            break;
    }
    return i;
}

/* The stream ends before a missing segment; all below `settled` are closed or gone. */
static enum mcds__step segment_locate_take_nothing(struct mcds__segment_locate *locate,
                                                   struct mcds__segments *segments,
                                                   uint64_t settled,
                                                   struct mcds__operation *operation)
{
    struct mcds__segment_tail tail = {
        .stream = locate->stream,
        .segment = locate->made,
        .before = locate->made > 0 ? MCDS__SEGMENT_END : 0,
        .settled = settled,
        .counted = locate->counted,
    };
    mcds__segment_note_tail(segments, &tail);
    locate->exists = false;
    locate->segment = locate->made;
    locate->size = 0;
    locate->incarnation = 0;
    return mcds__operation_finish(operation, MCDS_OK);
}

enum mcds__step mcds__segment_see_end(struct mcds__segment_locate *locate,
                                      const struct mcds__segments *segments,
                                      struct mcds__operation *operation, uint64_t segment)
{
    if (mcds__segment_get_scratch(&locate->scratch, operation->env) == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    locate->ended = locate->exists = true;
    locate->stage = LOCATE_END;
    mcds__segment_fill_get(segments, locate->stream, locate->scratch, 0, segment, 0);
    return mcds__operation_ask_repeatable(operation, locate->scratch->requests, 1);
}

static enum mcds__step take_last(struct mcds__segment_locate *locate,
                                 struct mcds__segments *segments, uint32_t last,
                                 struct mcds__operation *operation)
{
    const mcds_reply *reply = reply_of(locate, last);
    uint64_t segment = locate->scratch->positions[last];
    uint64_t settled = 0;
    if (locate->scratch->positions[0] == locate->from)
        settled = locate->from + count_settled(locate, last);
    if (segment > MCDS__SEGMENT_AHEAD && settled < segment - MCDS__SEGMENT_AHEAD)
        settled = segment - MCDS__SEGMENT_AHEAD;
    assert(settled <= segment);
    struct mcds__segment_tail tail = {
        .stream = locate->stream,
        .exists = true,
        .segment = segment,
        .incarnation = reply->flags,
        .size = reply->value_length,
        .settled = settled,
        .counted = locate->counted,
    };
    locate->ended = segments->one_route && reply->flags == MCDS__SEGMENT_END;
    locate->exists = true;
    locate->segment = segment;
    locate->size = reply->value_length;
    locate->incarnation = reply->flags;
    if (!locate->ended) {
        mcds__segment_note_tail(segments, &tail);
        if (segment == 0) /* the next append finds out whether it is another */
            mcds__segment_note_sight(segments, locate->stream, tail.incarnation);
        mcds__segment_note_made(segments, locate->stream, segment, tail.incarnation);
        if (mcds__segment_is_closed(tail.size, tail.incarnation))
            mcds__segment_note_closed(segments, locate->stream, segment);
    } else if (locate->size > 0) {
        return mcds__segment_see_end(locate, segments, operation, segment);
    }
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step segment_locate_take_trouble(struct mcds__segment_locate *locate,
                                                   struct mcds__operation *operation,
                                                   const mcds_reply *reply)
{
    locate->stage = LOCATE_BEGIN;
    return mcds__operation_retry(operation, reply);
}

/* The end segment was lost, and a writer that had not seen it has made the segment again. */
static enum mcds__step take_another(struct mcds__segment_locate *locate,
                                    struct mcds__operation *operation)
{
    assert(locate->stage == LOCATE_END && locate->ended);
    locate->stage = LOCATE_BEGIN;
    locate->ended = false;
    return mcds__operation_again(operation)
               ? MCDS__SLEEP
               : mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
}

/* A segment that had the flags of an end segment and was not empty has been read. */
static enum mcds__step segment_locate_take_end(struct mcds__segment_locate *locate,
                                               struct mcds__operation *operation)
{
    const mcds_request *read = locate->scratch->requests;
    if (read->reply.outcome != MCDS_OUT_OK && read->reply.outcome != MCDS_OUT_MISS)
        return segment_locate_take_trouble(locate, operation, &read->reply);
    operation->read = read;
    if (read->reply.outcome == MCDS_OUT_OK && read->reply.flags != MCDS__SEGMENT_END)
        return take_another(locate, operation);
    if (read->reply.outcome == MCDS_OUT_OK &&
        !mcds__segment_is_end(read->key, mcds__operation_value(operation, read)))
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    return mcds__operation_finish(operation, MCDS_OK);
}

/* The segments end before the count: others may be left near it. */
static enum mcds__step follow_count(struct mcds__segment_locate *locate,
                                    struct mcds__segments *segments,
                                    struct mcds__operation *operation)
{
    assert(!locate->is_led && locate->made > 0);
    locate->is_led = true;
    locate->from = locate->made > MCDS__SEGMENT_AHEAD ? locate->made - MCDS__SEGMENT_AHEAD : 0;
    return segment_locate_begin(locate, segments, operation);
}

static enum mcds__step segment_locate_take(struct mcds__segment_locate *locate,
                                           struct mcds__segments *segments,
                                           struct mcds__operation *operation)
{
    uint32_t last = locate->count;
    for (uint32_t i = 0; i < locate->count; i++) {
        const mcds_reply *reply = reply_of(locate, i);
        if (reply->outcome == MCDS_OUT_OK)
            last = i;
        else if (reply->outcome != MCDS_OUT_MISS)
            return segment_locate_take_trouble(locate, operation, reply);
    }
    const uint64_t *positions = locate->scratch->positions;
    uint64_t end = last < locate->count ? positions[last] + 1 : 0;
    assert(last == locate->count || end > locate->from);
    if (end < locate->made && !locate->is_led)
        return follow_count(locate, segments, operation);
    if (last == locate->count)
        return segment_locate_take_nothing(locate, segments, locate->made, operation);
    if (last + 1 < locate->count && positions[last + 1] > positions[last] + 1)
        return narrow(locate, segments, positions[last], positions[last + 1], operation);
    if (end < locate->made)
        return segment_locate_take_nothing(locate, segments, locate->from, operation);
    return take_last(locate, segments, last, operation);
}

enum mcds__step mcds__segment_locate_step(struct mcds__segment_locate *locate,
                                          struct mcds__segments *segments,
                                          struct mcds__operation *operation)
{
    if (locate->stage == LOCATE_END)
        return segment_locate_take_end(locate, operation);
    locate->ended = false;
    if (locate->stage == LOCATE_BEGIN) {
        locate->from = locate->made = locate->counted = 0;
        locate->is_led = false;
        return segment_locate_begin(locate, segments, operation);
    }
    if (locate->stage == LOCATE_COUNTING) {
        const mcds_reply *count = reply_of(locate, locate->count);
        if (count->outcome != MCDS_OUT_OK && count->outcome != MCDS_OUT_MISS)
            return segment_locate_take_trouble(locate, operation, count);
        /* What this handle has seen is not made again: a reader may be past it. */
        uint64_t seen = mcds__segment_sight_copy(segments, locate->stream).made;
        locate->counted = mcds__segment_count_of(count, operation->batch.values);
        locate->made = locate->counted > seen ? locate->counted : seen;
    }
    return segment_locate_take(locate, segments, operation);
}
