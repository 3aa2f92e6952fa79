/* Segment: append records. */
#include "core/segment/append.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/number.h"
#include "core/segment/line.h"

#define MAKINGS_MAX 3
/* After this many full segments in a row, the end of the stream is searched. */
#define WALK_MAX 3

static mcds_request *append_request(struct mcds__segment_append *append)
{
    assert(append->stage == APPEND_ASKED);
    return append->requests + append->checks + append->leads;
}

/* The request that makes the segment, if `makes`. */
static const mcds_reply *making_reply(const struct mcds__segment_append *append)
{
    return &append->requests[append->checks].reply;
}

/* The batch may have made a segment that the count included before: that segment was lost. If the
 * request that makes it has no reply, the look after the append shows whether the segment has the
 * incarnation of that request. */
static void note_making(struct mcds__segment_append *append, const mcds_buffer *values)
{
    const mcds_request *making = &append->requests[append->checks];
    const mcds_reply *read = &append->requests[0].reply;
    uint64_t count = append->checks ? mcds__segment_count_of(read, values) : 0;
    if (count <= append->segment)
        return;
    mcds__segment_note_count(append->segments, append->stream, count, read->cas);
    if (making->reply.outcome == MCDS_OUT_OK || making->reply.outcome == MCDS_OUT_UNKNOWN)
        append->remade = making->flags;
}

static mcds_request *look_request(struct mcds__segment_append *append)
{
    return append_request(append) + 1;
}

/* The reply to the GET of the segment after the one to which the batch appends. */
static const mcds_reply *next_reply(struct mcds__segment_append *append)
{
    assert(append->makes);
    uint32_t at = append->counts ? MCDS__SEGMENT_COUNTING : 1 + append->reads;
    return &look_request(append)[at].reply;
}

/* Whether this handle has not seen the segment before, and other writers have passed it. The
 * segment may have been lost and made again, and readers may be past it. */
static bool is_passed(struct mcds__segment_append *append, const mcds_buffer *values)
{
    if (append->segments->one_route || !append->makes || append->has_passed)
        return false;
    const mcds_reply *next = next_reply(append);
    return mcds__segment_count_of(&append->requests[0].reply, values) > append->segment + 1 ||
           (next->outcome == MCDS_OUT_OK && next->flags != MCDS__SEGMENT_END);
}

/* Whether other writers have passed the segment, and the segment after it is lost. The lost segment
 * cannot show whether this one was made again. So readers would treat the repeated record at the
 * end as a copy of one that they have read. */
static bool is_next_lost(struct mcds__segment_append *append, const mcds_buffer *values)
{
    return is_passed(append, values) && next_reply(append)->outcome == MCDS_OUT_MISS;
}

static enum mcds__step segment_append_begin(struct mcds__segment_append *append,
                                            struct mcds__operation *operation);

/* A handle that knows nothing of a stream that may end first reads whether it has ended. */
static enum mcds__step segment_append_locate(struct mcds__segment_append *append,
                                             struct mcds__operation *operation)
{
    if (append->segments->one_route && !append->is_fresh && append->locate.stage == 0)
        return mcds__segment_append_end(append, operation, false);
    append->stage = APPEND_LOCATING;
    assert(append->locate.stream == append->stream);
    enum mcds__step step = mcds__segment_locate_step(&append->locate, append->segments,
                                                     operation);
    if (step != MCDS__DONE)
        return step;
    append->locate.stage = 0;
    if (operation->result != MCDS_OK)
        return MCDS__DONE;
    append->tells_loss |= append->had_segments && !append->locate.exists;
    if (append->locate.ended)
        return mcds__segment_append_end(append, operation, true);
    return segment_append_begin(append, operation);
}

static void end_alone(struct mcds__segment_append *append, struct mcds__operation *operation)
{
    if (append->is_alone)
        mcds__line_release(operation);
    append->is_alone = false;
}

static enum mcds__step segment_append_ask(struct mcds__segment_append *append,
                                          struct mcds__operation *operation,
                                          const struct mcds__segment_place *place)
{
    append->tells_loss = append->tells_loss || place->owes_loss;
    uint32_t count = mcds__segment_append_fill(append, place, operation);
    if (!append->makes)
        end_alone(append, operation);
    append->has_sent = true;
    append->stage = APPEND_ASKED;
    if (append->counts)
        operation->connection = append->token.connection;
    if (append->looks || append->reads || append->checks || append->leads != append->makes)
        return mcds__operation_ask_repeatable(operation, append->requests, count);
    return mcds__operation_ask_combinable(operation, append->requests, count);
}

static enum mcds__step store_blocks(struct mcds__segment_append *append,
                                    struct mcds__operation *operation)
{
    append->stage = APPEND_BLOCKS;
    enum mcds__step step = mcds__segment_store_blocks(append, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    return segment_append_begin(append, operation);
}

static uint64_t line_of(const struct mcds__segment_append *append)
{
    return mcds__segment_line(append->segments, append->stream, MCDS__SEGMENT_LINE_END);
}

/* A segment that fills voids the records in flight to it beyond its limit. So of the operations of
 * one pipeline only few segments' bytes are in flight, and the others wait before they send
 * anything. */
static bool waits_for_room(struct mcds__segment_append *append,
                           struct mcds__operation *operation, enum mcds__step *step_out)
{
    append->stage = APPEND_BEGIN;
    return !append->has_sent &&
           mcds__line_waits(operation, line_of(append), append->records.length, step_out);
}

/* One of them searches for the end of the stream, or makes the next segment. */
static bool waits_for_end(struct mcds__segment_append *append,
                          struct mcds__operation *operation, enum mcds__step *step_out)
{
    bool was_alone = operation->uses_line;
    if (append->has_sent || operation->lines == NULL)
        return false;
    if (mcds__line_waits_alone(operation, line_of(append), step_out))
        return true;
    append->is_alone = append->is_alone || !was_alone;
    return false;
}

static enum mcds__step segment_append_begin(struct mcds__segment_append *append,
                                            struct mcds__operation *operation)
{
    enum mcds__step step;
    struct mcds__segment_place place;
    size_t length = append->records.length;
    if (append->block < append->block_count)
        return store_blocks(append, operation);
    assert(!append->under_way && length > 0);
    if (waits_for_room(append, operation, &step))
        return step;
    int64_t now_ns = operation->deadline_ns - mcds__store_timeout_ns(operation->store);
    place.makes = operation->lines == NULL || append->has_sent || operation->uses_line;
    place.key = &append->key;
    bool is_known = mcds__segment_take_place(append->segments, append->stream, length,
                                             operation->round, now_ns, &place);
    if (!is_known)
        return waits_for_end(append, operation, &step)
                   ? step
                   : segment_append_locate(append, operation);
    if (!place.is_taken)
        return waits_for_end(append, operation, &step)
                   ? step
                   : segment_append_begin(append, operation);
    bool is_far = append->doubt &&
                  (place.segment < append->doubted ||
                   (!append->is_past &&
                    place.segment > append->doubted + MCDS__SEGMENT_DISTANCE_MAX));
    if (is_far) {
        if (!place.settles)
            mcds__segment_give_place(append->segments, append->stream, place.segment, length);
        if (place.segment > append->doubted)
            return mcds__segment_append_resolve(append, operation);
        /* The stream has lost its end, and perhaps not the segment that contains a copy. */
        return mcds__operation_explain(operation, MCDS_AMBIGUOUS, NULL);
    }
    if (place.settles) {
        append->segment = place.segment;
        append->is_in = append->is_settled = false;
        return mcds__segment_append_settle(append, operation);
    }
    append->length = length;
    append->under_way = true;
    return segment_append_ask(append, operation, &place);
}

/* All records are in the segment. If it is not the segment that this handle knew, the record is
 * written again with the LOSS flag; and if readers may be past it, at the end. */
static enum mcds__step take_in(struct mcds__segment_append *append,
                               struct mcds__operation *operation, bool is_another,
                               bool is_passed)
{
    assert(append->records.length > 0 && !append->under_way);
    mcds__segment_append_note_doubt(append);
    append->is_in = true;
    if ((!is_another || append->tells_loss) && !is_passed)
        return mcds__segment_append_settle(append, operation);
    if (is_another)
        append->tells_loss = true;
    append->is_past = append->is_past || (is_another && !append->segments->one_route);
    append->has_passed = true;
    mcds__segment_note_blocked(append->segments, append->stream);
    return segment_append_begin(append, operation);
}

/* The segment was full before the end of the records, or is full after them. */
static enum mcds__step take_full(struct mcds__segment_append *append,
                                 struct mcds__operation *operation, bool is_exact,
                                 size_t end_at)
{
    if (is_exact) {
        size_t begin_at = end_at > append->length ? end_at - append->length : 0;
        size_t scratch = begin_at < MCDS__SEGMENT_LIMIT ? MCDS__SEGMENT_LIMIT - begin_at : 0;
        size_t counted = mcds__segment_whole_records(append, scratch);
        assert(counted < append->records.length);
        if (counted > 0) {
            mcds__segment_append_note_doubt(append);
            append->is_partly_in = true;
        }
        mcds__buffer_consume(&append->records, counted);
    } else {
        mcds__segment_append_note_doubt(append);
    }
    bool is_slow = mcds__segment_is_counted(append->segments, append->stream,
                                            append->segment + 2);
    if (++append->walked % WALK_MAX == 0 || is_slow)
        return segment_append_locate(append, operation);
    return segment_append_begin(append, operation);
}

/* Whether it is in a segment, whose state the batch has read. */
static bool is_appended(struct mcds__segment_append *append)
{
    const mcds_reply *looked = &look_request(append)->reply;
    return append_request(append)->reply.outcome == MCDS_OUT_OK &&
           looked->outcome == MCDS_OUT_OK && looked->flags != 0 &&
           looked->flags != MCDS__SEGMENT_END;
}

/* Whether the reply to the append contains the size after it. */
static bool tells_size(const struct mcds__segment_append *append, const mcds_reply *appended)
{
    return appended->value_length > 0 &&
           mcds__store_can(append->segments->store).size_after_write;
}

static enum mcds__step segment_append_take_look(struct mcds__segment_append *append,
                                                struct mcds__operation *operation)
{
    const mcds_reply *appended = &append_request(append)->reply;
    const mcds_reply *looked = &look_request(append)->reply;
    assert(appended->outcome == MCDS_OUT_OK && looked->outcome == MCDS_OUT_OK);
    operation->read = look_request(append);
    struct mcds__segment_seen seen = mcds__segment_note_seen(
        append->segments, append->stream, append->segment, looked->value_length, looked->flags,
        append->length, operation->sent_ns);
    append->is_counted = append->is_counted || seen.is_counted;
    append->is_settled = seen.is_settled;
    bool is_another = seen.is_another || looked->flags == append->remade;
    bool is_exact = tells_size(append, appended);
    size_t end_at = is_exact ? appended->value_length : looked->value_length;
    if (end_at <= MCDS__SEGMENT_LIMIT)
        return take_in(append, operation,
                       is_another || is_next_lost(append, operation->batch.values),
                       is_passed(append, operation->batch.values));
    append->tells_loss = append->tells_loss || is_another;
    return take_full(append, operation, is_exact, end_at);
}

/* It is in the end segment, or in a foreign value. */
static enum mcds__step take_foreign(struct mcds__segment_append *append,
                                    struct mcds__operation *operation)
{
    const mcds_reply *looked = &look_request(append)->reply;
    operation->read = look_request(append);
    if (looked->flags == MCDS__SEGMENT_END)
        return mcds__segment_append_see_end(append, operation, append->segment,
                                            looked->value_length - append->length);
    assert(looked->flags == 0);
    return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
}

/* The segment is open, and the append was NOT_STORED. */
static enum mcds__step take_open_refusal(struct mcds__segment_append *append,
                                         struct mcds__operation *operation)
{
    const mcds_reply *refused = &append_request(append)->reply;
    assert(append->refusals <= REFUSALS_MAX);
    if (append->leads && !append->makes &&
        mcds__segment_append_has_no_room(&append->requests[0].reply, refused,
                                         &look_request(append)->reply))
        return mcds__segment_append_refuse(append, refused);
    if (append->refusals == REFUSALS_MAX)
        return mcds__segment_append_try_later(append, operation, APPEND_BEGIN, refused);
    append->refusals++;
    mcds__segment_note_refused(append->segments, append->stream);
    return segment_append_begin(append, operation);
}

/* NOT_STORED: the segment is missing or has no room. */
static enum mcds__step segment_append_take_refusal(struct mcds__segment_append *append,
                                                   struct mcds__operation *operation)
{
    assert(append->stage == APPEND_ASKED);
    const mcds_reply *looked = &look_request(append)->reply;
    const mcds_reply *added = making_reply(append);
    if (looked->outcome == MCDS_OUT_OK) {
        if (!mcds__segment_is_closed(looked->value_length, looked->flags))
            return take_open_refusal(append, operation);
        if (looked->flags == MCDS__SEGMENT_END)
            return mcds__segment_append_see_end(append, operation, append->segment,
                                                looked->value_length);
        mcds__segment_note_closed(append->segments, append->stream, append->segment);
        return segment_append_begin(append, operation);
    }
    if (append->makes && added->outcome != MCDS_OUT_OK && added->outcome != MCDS_OUT_NOT_STORED)
        return mcds__is_transport_trouble(added)
                   ? mcds__segment_append_try_later(append, operation, APPEND_BEGIN, added)
                   : mcds__segment_append_refuse(append, added);
    if (mcds__segment_is_alive(append, operation) == MCDS__SEGMENT_OVER)
        return mcds__segment_append_end(append, operation, false);
    if (append->makings++ == MAKINGS_MAX)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    if (mcds__segment_note_missing(append->segments, append->stream, append->segment)) {
        append->tells_loss = true;
        if (append->segments->one_route)
            return mcds__segment_append_end(append, operation, false);
        return segment_append_locate(append, operation);
    }
    return segment_append_begin(append, operation);
}

static enum mcds__step segment_append_take(struct mcds__segment_append *append,
                                           struct mcds__operation *operation)
{
    const mcds_reply *appended = &append_request(append)->reply;
    const mcds_reply *looked = &look_request(append)->reply;
    assert(append->under_way && append->length == append->records.length);
    bool is_in = is_appended(append);
    if (!is_in)
        mcds__segment_give_place(append->segments, append->stream, append->segment,
                                 append->length);
    append->under_way = false;
    end_alone(append, operation);
    note_making(append, operation->batch.values);
    if (append->looks)
        mcds__segment_take_proof(append, operation,
                                 &append->requests[operation->batch.count - 1].reply);
    if (append->counts || append->reads) {
        assert(look_request(append) + 1 < append->requests + operation->batch.count);
        mcds__segment_append_take_count(append, look_request(append) + 1,
                                        operation->batch.values);
    }
    if (appended->outcome == MCDS_OUT_UNKNOWN ||
        (appended->outcome == MCDS_OUT_OK && looked->outcome != MCDS_OUT_OK))
        mcds__segment_append_note_doubt(append);
    if (mcds__is_transport_trouble(appended))
        return mcds__segment_append_try_later(append, operation, APPEND_BEGIN, appended);
    if (mcds__is_refusal(appended))
        return mcds__segment_append_refuse(append, appended);
    if (mcds__is_transport_trouble(looked))
        return mcds__segment_append_try_later(append, operation, APPEND_BEGIN, looked);
    if (looked->outcome != MCDS_OUT_OK && looked->outcome != MCDS_OUT_MISS)
        return mcds__segment_append_fail(append, operation, looked);
    if (appended->outcome != MCDS_OUT_OK || looked->outcome == MCDS_OUT_MISS)
        return segment_append_take_refusal(append, operation);
    return is_in ? segment_append_take_look(append, operation)
                 : take_foreign(append, operation);
}

static enum mcds__step segment_append_step_stage(struct mcds__segment_append *append,
                                                 struct mcds__operation *operation)
{
    assert(append->stage <= APPEND_PROVE);
    switch (append->stage) {
    case APPEND_BLOCKS:
        return store_blocks(append, operation);
    case APPEND_BEGIN:
        return segment_append_begin(append, operation);
    case APPEND_LOCATING:
        return segment_append_locate(append, operation);
    case APPEND_ASKED:
        return segment_append_take(append, operation);
    case APPEND_SETTLE:
        return mcds__segment_append_settle(append, operation);
    case APPEND_SETTLING:
        return mcds__segment_append_take_settling(append, operation);
    case APPEND_CLOSING:
        return mcds__segment_append_take_closing(append, operation);
    case APPEND_COUNT:
        return mcds__segment_append_count(append, operation);
    case APPEND_COUNTED:
        return mcds__segment_append_take_counted(append, operation);
    case APPEND_REFUSED:
        return mcds__segment_append_take_refused(append, operation);
    case APPEND_PROVE:
        return mcds__segment_append_prove(append, operation);
    case APPEND_RESOLVE:
        return mcds__segment_append_resolve(append, operation);
    default:
        return mcds__segment_append_take_resolution(append, operation);
    }
}

enum mcds__step mcds__segment_append_step(struct mcds__segment_append *append,
                                          struct mcds__operation *operation)
{
    for (;;) {
        append->goes_on = false;
        enum mcds__step step = segment_append_step_stage(append, operation);
        if (!append->goes_on)
            return step;
    }
}
