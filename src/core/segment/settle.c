/* Segment: makes an appended record count. A record counts when the segments below are closed,
 * the count includes its segment, and the root of its life exists. */
#include <assert.h>

#include "core/segment/append.h"
#include "core/segment/line.h"

/* One operation of a pipeline closes segments and writes the count for all operations whose
 * records are in a segment. Their records were sent, so an operation whose deadline passes does
 * not wait any longer, but continues by itself. */
static bool waits_for_other(struct mcds__segment_append *append,
                            struct mcds__operation *operation, enum mcds__step *step_out)
{
    uint64_t place = mcds__segment_line(append->segments, append->stream,
                                        MCDS__SEGMENT_LINE_COUNT);
    append->stage = APPEND_SETTLE;
    return append->is_in && mcds__line_waits_in_doubt(operation, place, step_out);
}

/* Finish: the record counts if its life is not over. */
enum mcds__step mcds__segment_append_prove(struct mcds__segment_append *append,
                                           struct mcds__operation *operation)
{
    assert(append->is_in && append->segment >= append->doubted);
    append->stage = APPEND_PROVE;
    enum mcds__step step = mcds__segment_prove_step(append, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_OK && append->truth == MCDS__SEGMENT_OVER &&
        !append->segments->one_route) {
        append->ended = true;
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    }
    if (operation->result == MCDS_OK && append->tells_loss && append->segments->one_route)
        mcds__segment_note_recorded(append->segments, append->stream);
    return mcds__operation_explain(operation, operation->result, operation->detail);
}

/* The segments below are closed. */
static enum mcds__step take_settled(struct mcds__segment_append *append,
                                    struct mcds__operation *operation)
{
    enum mcds__step step;
    assert(!append->under_way);
    if (append->is_in && !append->is_counted &&
        !mcds__segment_is_counted(append->segments, append->stream, append->segment))
        return waits_for_other(append, operation, &step)
                   ? step
                   : mcds__segment_append_go(append, APPEND_COUNT);
    if (append->is_in)
        return mcds__segment_append_prove(append, operation);
    mcds__segment_note_settled(append->segments, append->stream, append->segment);
    return mcds__segment_append_go(append, APPEND_BEGIN);
}

/* Close the segments below, if any is open. Then the records are counted, or appended. */
enum mcds__step mcds__segment_append_settle(struct mcds__segment_append *append,
                                            struct mcds__operation *operation)
{
    uint64_t first;
    enum mcds__step step;
    if (append->is_settled ||
        mcds__segment_is_settled(append->segments, append->stream, append->segment, &first))
        return take_settled(append, operation);
    if (waits_for_other(append, operation, &step))
        return step;
    struct mcds__segment_scratch *scratch = mcds__segment_get_scratch(&append->scratch,
                                                                      operation->env);
    if (scratch == NULL)
        return mcds__operation_explain(operation, MCDS_NO_MEMORY, NULL);
    uint32_t count = 0;
    for (uint64_t segment = first; segment < append->segment; segment++)
        mcds__segment_fill_get(append->segments, append->stream, scratch, count++, segment,
                               MCDS_NO_VALUE);
    assert(count > 0 && count <= MCDS__SEGMENT_CAPACITY);
    append->stage = APPEND_SETTLING;
    return mcds__operation_ask_repeatable(operation, scratch->requests, count);
}

enum mcds__step mcds__segment_append_see_end(struct mcds__segment_append *append,
                                             struct mcds__operation *operation,
                                             uint64_t segment, size_t others)
{
    if (!append->segments->one_route)
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    if (others == 0)
        return mcds__segment_append_end(append, operation, true);
    append->stage = APPEND_LOCATING;
    return mcds__segment_see_end(&append->locate, append->segments, operation, segment);
}

/* The stream has ended below the segment, so the records in the segment are void. */
static enum mcds__step end_below(struct mcds__segment_append *append,
                                 struct mcds__operation *operation, uint64_t end, size_t length)
{
    append->doubt = append->doubt && append->doubted <= end;
    return mcds__segment_append_see_end(append, operation, end, length);
}

enum mcds__step mcds__segment_append_take_settling(struct mcds__segment_append *append,
                                                   struct mcds__operation *operation)
{
    struct mcds__segment_scratch *scratch = append->scratch;
    uint32_t open = 0;
    uint64_t segment = 0;
    size_t size = 0;
    for (uint32_t i = 0; i < operation->batch.count; i++) {
        const mcds_reply *reply = &scratch->requests[i].reply;
        if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
            return mcds__segment_append_try_later(append, operation, APPEND_SETTLE, reply);
        if (reply->outcome == MCDS_OUT_OK && reply->flags == MCDS__SEGMENT_END &&
            append->segments->one_route)
            return end_below(append, operation, scratch->positions[i], reply->value_length);
        if (reply->outcome == MCDS_OUT_MISS ||
            mcds__segment_is_closed(reply->value_length, reply->flags)) {
            mcds__segment_note_closed(append->segments, append->stream, scratch->positions[i]);
        } else if (open++ == 0) {
            segment = scratch->positions[i];
            size = reply->value_length;
        }
    }
    if (open == 0)
        return take_settled(append, operation);
    assert(segment < append->segment && size <= MCDS__SEGMENT_LIMIT);
    mcds__segment_fill_get(append->segments, append->stream, scratch, 0, segment,
                           MCDS_NO_VALUE);
    mcds__segment_fill_close(append->segments, append->stream, scratch, 1, segment, size);
    mcds__segment_fill_get(append->segments, append->stream, scratch, 2, segment,
                           MCDS_NO_VALUE);
    append->stage = APPEND_CLOSING;
    return mcds__operation_ask_repeatable(operation, scratch->requests, 3);
}

enum mcds__step mcds__segment_append_take_closing(struct mcds__segment_append *append,
                                                  struct mcds__operation *operation)
{
    assert(append->stage == APPEND_CLOSING);
    const mcds_request *requests = append->scratch->requests;
    assert(requests[1].command == MCDS_APPEND);
    const mcds_reply *closed = &requests[1].reply;
    if (mcds__segment_append_has_no_room(&requests[0].reply, closed, &requests[2].reply))
        return mcds__segment_append_fail_for_scratch(append, operation, closed);
    if (append->refusals == REFUSALS_MAX)
        return mcds__segment_append_try_later(append, operation, APPEND_SETTLE, closed);
    if (closed->outcome == MCDS_OUT_NOT_STORED)
        append->refusals++;
    return mcds__segment_append_settle(append, operation);
}
