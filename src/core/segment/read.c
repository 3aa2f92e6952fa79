/* Segment: read the records that count. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/frame.h"
#include "core/segment/read.h"

enum { READ_BEGIN, READ_ASKED, READ_FIND };

void mcds__segment_read_begin(struct mcds__segment_read *read, struct mcds__segments *segments,
                              uint64_t stream)
{
    *read = (struct mcds__segment_read){.segments = segments,
                                        .stream = stream,
                                        .want = 1,
                                        .seed = mcds__random_u64(segments->env)};
    mcds__buffer_init(&read->values, segments->env, MCDS__VALUES_MAX);
}

void mcds__segment_read_free(struct mcds__segment_read *read)
{
    const mcds_env *env = read->segments->env;
    mcds__buffer_free(&read->values);
    mcds__free(env, read->all);
    mcds__free(env, read->table);
    mcds__free(env, read->scratch);
    read->all = read->items = NULL;
    read->table = NULL;
    read->scratch = NULL;
}

static enum mcds__step segment_read_ask(struct mcds__segment_read *read,
                                        struct mcds__operation *operation)
{
    uint64_t from = read->from;
    assert(read->want >= 1 && read->want <= MCDS__SEGMENT_WANT_MAX);
    if (mcds__segment_get_scratch(&read->scratch, operation->env) == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    read->back = from < MCDS__SEGMENT_DISTANCE_MAX ? (uint32_t)from
                                                   : MCDS__SEGMENT_DISTANCE_MAX;
    read->near = read->back + read->want;
    uint64_t end = from + read->want;
    uint32_t count = read->head = 1;
    read->sight = (struct mcds__segment_sight){.stream = read->stream};
    if (read->recalls)
        read->sight = mcds__segment_sight_copy(read->segments, read->stream);
    mcds__segment_fill_count(read->segments, read->stream, read->scratch, 0);
    for (uint64_t segment = end; segment < end + MCDS__SEGMENT_AHEAD; segment++)
        mcds__segment_fill_get(read->segments, read->stream, read->scratch, count++, segment,
                               MCDS_NO_VALUE);
    read->base = count = mcds__segment_fill_far(read->segments, read->stream, read->scratch,
                                                count, end + MCDS__SEGMENT_AHEAD - 2);
    for (uint32_t i = 1; i <= read->near; i++)
        mcds__segment_fill_get(read->segments, read->stream, read->scratch, count++, end - i,
                               0);
    assert(count == read->base + read->near && count < MCDS__SEGMENT_CAPACITY);
    read->stage = READ_ASKED;
    if (read->looks)
        read->scratch->requests[count++] = mcds__segment_request_root(read->segments);
    (void)mcds__operation_ask_repeatable(operation, read->scratch->requests, count);
    operation->batch.independent = !mcds__store_can(operation->store).ordered_batch;
    read->values.length = 0;
    operation->batch.values = &read->values;
    return MCDS__ASK;
}

static bool exists(const struct mcds__segment_read *read, uint32_t i)
{
    return mcds__segment_read_request(read, i)->reply.outcome == MCDS_OUT_OK;
}

/* A segment that did not exist at the time of the request, and after which none did. */
static uint64_t find_bound(const struct mcds__segment_read *read)
{
    uint64_t end = read->from + read->want;
    uint64_t bound = end;
    for (uint32_t i = read->head; i < read->base; i++) /* in the order of the segments */
        if (read->scratch->requests[i].reply.outcome == MCDS_OUT_OK)
            bound = end +
                    2 * (read->scratch->positions[i] - end + 1); /* the distances double */
    uint64_t counted = read->known > 0 ? read->known + MCDS__SEGMENT_AHEAD + 1 : 0;
    return bound > counted ? bound : counted;
}

/* The next segment that exists, of those asked for; or the count, if it is beyond; or 0. */
static uint64_t find_beyond(const struct mcds__segment_read *read)
{
    for (uint32_t i = read->head; i < read->base; i++)
        if (read->scratch->requests[i].reply.outcome == MCDS_OUT_OK)
            return read->scratch->positions[i];
    return read->known > read->from + read->want ? read->known : 0;
}

/* The number of segments to read: up to the last one that is followed by another, or was. */
static uint32_t count_known(const struct mcds__segment_read *read)
{
    if (find_beyond(read) > 0)
        return read->near + 1;
    uint64_t begin = read->from - read->back;
    assert(read->back <= read->from);
    uint32_t counted = read->known > begin ? (uint32_t)(read->known - begin) : 0;
    uint32_t count = read->near;
    while (count > counted && !exists(read, count - 1))
        count--;
    return count;
}

/* Whether the loss that a record of the i-th segment shows is counted elsewhere: the caller has
 * read the record, or counts the loss of the segment that the record, or its first copy, is in; or
 * the missing segment before is the gap. */
static bool is_loss_counted(const struct mcds__segment_read *read, uint32_t i,
                            const struct mcds__segment_record *record)
{
    uint32_t seen = read->seen_incarnation;
    uint32_t first = read->back + (record->flags & MCDS__SEGMENT_DISTANCE);
    if (i == read->back && seen != 0 && record->begin < read->seen_size)
        return true;
    if (i == first && seen != 0 &&
        seen != mcds__segment_read_request(read, read->back)->reply.flags)
        return true;
    uint32_t lost = i - ((record->flags & MCDS__SEGMENT_HEADER) != 0);
    if (read->counted > 0 && lost < first + read->counted)
        return true;
    return read->head > 0 && i > 0 && !exists(read, i - 1);
}

/* Whether the i-th segment ends the stream. Streams of a log have no end segment. */
static bool is_end_segment(const struct mcds__segment_read *read, uint32_t i)
{
    const mcds_request *request = mcds__segment_read_request(read, i);
    return request->reply.flags == MCDS__SEGMENT_END && read->segments->one_route &&
           mcds__segment_is_end(request->key, mcds__segment_read_value(read, i));
}

/* Whether this record of the i-th segment shows a loss. */
static bool shows_loss(const struct mcds__segment_read *read, uint32_t i,
                       const struct mcds__segment_record *record)
{
    if ((record->flags & MCDS__SEGMENT_HEADER) == 0)
        return (record->flags & MCDS__SEGMENT_LOSS) != 0;
    uint32_t before = i > 0 && exists(read, i - 1)
                          ? mcds__segment_read_request(read, i - 1)->reply.flags
                          : 0;
    return before != 0 && before != MCDS__SEGMENT_END && record->before != 0 &&
           record->before != before;
}

void mcds__segment_read_note_refused(struct mcds__segment_read *read,
                                     const mcds_request *request)
{
    struct mcds__segment_scratch *scratch = read->scratch;
    assert(scratch != NULL);
    if (read->refused != NULL || request == NULL)
        return;
    assert(request->key.length <= MCDS__KEY_MAX);
    scratch->refused = *request;
    memcpy(scratch->refused_key.bytes, request->key.data, request->key.length);
    scratch->refused.key.data = scratch->refused_key.bytes;
    read->refused = &scratch->refused;
}

static void note_refused(struct mcds__segment_read *read, uint32_t i, uint32_t corrupt)
{
    read->corrupt += corrupt;
    mcds__segment_read_note_refused(read, mcds__segment_read_request(read, i));
}

static void note_gaps(struct mcds__segment_read *read, uint32_t i, uint64_t gaps)
{
    mcds__segment_read_note_gaps(read, gaps, mcds__segment_read_request(read, i)->reply.peer);
}

/* Add the records of one segment. All writers that have seen a loss record it, so a segment shows
 * one gap at most. False: no memory. */
static bool scan_segment(struct mcds__segment_read *read, uint32_t i)
{
    struct mcds__segment_scan scan;
    struct mcds__segment_record record;
    bool is_wanted = i >= read->back;
    bool is_shown = false;
    assert(exists(read, i));
    if (mcds__segment_read_request(read, i)->reply.flags == MCDS__SEGMENT_END) {
        if (is_wanted && !is_end_segment(read, i))
            note_refused(read, i, 1);
        return true;
    }
    mcds__segment_scan_begin(&scan, mcds__segment_read_request(read, i)->key,
                             mcds__segment_read_value(read, i));
    while (mcds__segment_scan_next(&scan, &record)) {
        if (is_wanted && !is_shown && shows_loss(read, i, &record)) {
            is_shown = true;
            note_gaps(read, i, !is_loss_counted(read, i, &record));
        }
        if ((record.flags & MCDS__SEGMENT_HEADER) == 0 &&
            !mcds__segment_add_item(read, i, record.begin))
            return false;
    }
    read->is_newer = read->is_newer || (is_wanted && scan.newer > 0);
    if (is_wanted && (scan.corrupt > 0 || scan.newer > 0))
        note_refused(read, i, scan.corrupt);
    return true;
}

static enum mcds__step segment_read_finish(struct mcds__segment_read *read,
                                           struct mcds__operation *operation)
{
    if (!mcds__segment_drop_copies(read))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    uint32_t first = 0;
    while (first < read->all_count && read->all[first].index < read->back)
        first++;
    assert(first <= read->all_count);
    read->items = first > 0 ? read->all + first : read->all; /* which may be NULL */
    read->count = read->all_count - first;
    read->stage = READ_BEGIN;
    operation->read = read->refused;
    if (read->is_newer)
        return mcds__operation_explain(operation, MCDS_UNSUPPORTED, MCDS__WHY(NEWER));
    return mcds__operation_finish(operation, MCDS_OK);
}

/* This is the last segment of the stream, as far as is known. Those that are missing before it may
 * be made again, by a writer that knows nothing of them. */
static void stop_at(struct mcds__segment_read *read, uint32_t i)
{
    uint32_t end = i;
    while (i > read->back && (i >= read->near || !exists(read, i)) && !exists(read, i - 1))
        i--;
    read->more = false;
    read->next = read->from - read->back + i;
    read->next_size = end - i;
    read->next_incarnation = 0;
    if (i < read->near && exists(read, i)) {
        const mcds_reply *reply = &mcds__segment_read_request(read, i)->reply;
        read->next_incarnation = reply->flags;
        read->next_size = reply->value_length;
        read->ended = reply->flags == MCDS__SEGMENT_END;
    }
}

/* Continue with this segment, of which nothing has been read. */
static void stop_before(struct mcds__segment_read *read, uint32_t i)
{
    assert(i > read->back && i < read->near);
    read->more = true;
    read->next = read->from - read->back + i;
    read->next_size = 0;
    read->next_incarnation = 0;
}

/* Whether reading ends with the i-th segment, which exists. Nothing after an open segment has
 * been acknowledged, unless the segment was lost and made again. */
static bool is_end(struct mcds__segment_read *read, uint32_t i, uint32_t known)
{
    const mcds_reply *reply = &mcds__segment_read_request(read, i)->reply;
    if (i < read->back)
        return false;
    if (reply->flags == MCDS__SEGMENT_END)
        return is_end_segment(read, i);
    if (mcds__segment_is_closed(reply->value_length, reply->flags))
        return false;
    if (i + 1 >= known)
        return true;
    if (mcds__segment_is_disowned(read, i)) /* the next segment counts the gap */
        return false;
    if (mcds__segment_is_before_lost(read, i)) /* the missing segment is the gap */
        return false;
    bool is_remade = mcds__segment_has_distant(read, i);
    note_gaps(read, i, is_remade);
    return !is_remade;
}

/* Continue at the next segment that exists, or, if none does, at the end of the stream. */
static enum mcds__step segment_read_step_find(struct mcds__segment_read *read,
                                              struct mcds__operation *operation)
{
    assert(read->find.stream == read->stream);
    enum mcds__step step = mcds__segment_find_step(&read->find, read->segments, read->scratch,
                                                   operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    read->next = read->find.found ? read->find.segment : read->find.high;
    if (!read->find.found && !read->is_followed) {
        read->more = false;
        read->next = read->from;
        read->next_size = (size_t)(read->find.high - read->from);
        read->next_incarnation = 0;
    }
    return segment_read_finish(read, operation);
}

static enum mcds__step find_next(struct mcds__segment_read *read,
                                 struct mcds__operation *operation)
{
    assert(read->more && read->is_empty && find_beyond(read) >= read->next);
    read->stage = READ_FIND;
    read->all_count = 0; /* they are in memory that is reused */
    read->is_followed = false;
    for (uint32_t i = read->head; i < read->base; i++)
        if (read->scratch->requests[i].reply.outcome == MCDS_OUT_OK)
            read->is_followed = true;
    read->find = (struct mcds__segment_find){
        .stream = read->stream, .low = read->next, .high = find_beyond(read)};
    return segment_read_step_find(read, operation);
}

/* The last of the segments that have been seen. */
static void note_segments(const struct mcds__segment_read *read)
{
    const mcds_request *last = NULL;
    uint64_t segment = 0;
    for (uint32_t i = read->head; i < read->base + read->near; i++) {
        const mcds_request *request = &read->scratch->requests[i];
        if (request->reply.outcome != MCDS_OUT_OK ||
            request->reply.flags == MCDS__SEGMENT_END ||
            (last != NULL && read->scratch->positions[i] < segment))
            continue;
        last = request;
        segment = read->scratch->positions[i];
    }
    if (last != NULL)
        mcds__segment_note_made(read->segments, read->stream, segment, last->reply.flags);
}

/* Whether the i-th segment differs from the last one that this handle has seen. */
static bool is_another(const struct mcds__segment_read *read, uint32_t i)
{
    uint64_t segment = read->from - read->back + i;
    return i >= read->back && segment > 0 && segment + 1 == read->sight.made &&
           mcds__segment_read_request(read, i)->reply.flags != MCDS__SEGMENT_END &&
           mcds__segment_read_request(read, i)->reply.flags != read->sight.last;
}

/* Where the i-th segment is the first of a run that is missing, that is a gap, unless the caller has
 * counted it. A segment of which it has read something is another loss; so is one that had not been
 * made then. */
static bool is_missing_new(const struct mcds__segment_read *read, uint32_t i)
{
    assert(i >= read->back && !exists(read, i));
    bool is_here = i == read->back;
    bool is_more = read->lost > 0 && i == read->back + read->lost;
    if (!is_here && !is_more && !exists(read, i - 1))
        return false;
    return i >= read->back + read->counted || (is_here && read->seen_incarnation != 0);
}

static uint32_t incarnation_of(const struct mcds__segment_read *read, uint32_t i)
{
    return exists(read, i) ? mcds__segment_read_request(read, i)->reply.flags : 0;
}

/* The state of the stream as a whole, by the replies. */
static void take_stream(struct mcds__segment_read *read)
{
    assert(read->back < read->near);
    const mcds_reply *count = &read->scratch->requests[0].reply;
    read->made = mcds__segment_count_of(count, &read->values);
    read->known = read->sight.made > read->made ? read->sight.made : read->made;
    if (read->looks)
        read->truth = (uint8_t)mcds__segment_truth_of(
            read->stream, &read->scratch->requests[read->base + read->near].reply);
    note_segments(read);
    read->all_count = 0;
    read->bound = find_bound(read);
    read->more = read->ended = false;
    read->is_empty = true;
    read->before = read->back > 0 ? incarnation_of(read, read->back - 1) : 0;
    read->here = incarnation_of(read, read->back);
}

static enum mcds__step segment_read_take(struct mcds__segment_read *read,
                                         struct mcds__operation *operation)
{
    take_stream(read);
    uint32_t known = count_known(read);
    assert(known <= read->near + 1);
    for (uint32_t i = 0; i < read->near; i++) {
        if (!exists(read, i)) {
            if (i < read->back)
                continue;
            if (i >= known) {
                stop_at(read, i);
                return segment_read_finish(read, operation);
            }
            note_gaps(read, i, is_missing_new(read, i));
            continue;
        }
        read->is_empty = read->is_empty && i < read->back;
        if (mcds__segment_is_before_unread(read, i)) {
            stop_before(read, i);
            return segment_read_finish(read, operation);
        }
        uint64_t gaps = read->gaps;
        bool ends = is_end(read, i, known);
        if (ends)
            stop_at(read, i);
        if (!scan_segment(read, i))
            return mcds__operation_finish(operation, MCDS_NO_MEMORY);
        note_gaps(read, i, read->gaps == gaps && is_another(read, i));
        if (ends)
            return segment_read_finish(read, operation);
    }
    stop_at(read, read->near);
    read->more = known > read->near;
    if (read->more && read->is_empty && !read->stays)
        return find_next(read, operation);
    return segment_read_finish(read, operation);
}

/* Handle failures, and repeat after transport failures. False: none has happened. */
static bool fails(struct mcds__segment_read *read, struct mcds__operation *operation,
                  enum mcds__step *step_out)
{
    const mcds_reply *trouble = mcds__first_trouble(operation->batch.requests,
                                                    operation->batch.count);
    if (trouble == NULL)
        return false;
    read->stage = READ_BEGIN;
    *step_out = mcds__operation_retry(operation, trouble);
    return true;
}

enum mcds__step mcds__segment_read_step(struct mcds__segment_read *read,
                                        struct mcds__operation *operation)
{
    enum mcds__step step;
    if (read->stage == READ_FIND)
        return segment_read_step_find(read, operation);
    if (read->stage != READ_ASKED)
        return segment_read_ask(read, operation);
    return fails(read, operation, &step) ? step : segment_read_take(read, operation);
}

/* Ask for the count of each stream, and then for its first segment. */
static enum mcds__step segment_read_ask_survey(struct mcds__segment_read *read, uint32_t count,
                                               bool down, struct mcds__operation *operation)
{
    struct mcds__segment_scratch *scratch = mcds__segment_get_scratch(&read->scratch,
                                                                      operation->env);
    if (scratch == NULL)
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    assert(count >= 1 && count <= MCDS__SEGMENT_SURVEY_MAX);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t stream = down ? read->stream - i : read->stream + i;
        mcds__segment_fill_count(read->segments, stream, scratch, i);
        mcds__segment_fill_get(read->segments, stream, scratch, 2 * count - 1 - i, 0, 0);
    }
    read->back = 0;
    read->near = count;
    read->head = 0;
    read->base = count;
    read->stage = READ_ASKED;
    if (read->looks)
        scratch->requests[2 * count] = mcds__segment_request_root(read->segments);
    (void)mcds__operation_ask_repeatable(operation, scratch->requests, 2 * count + read->looks);
    operation->batch.independent = true;
    read->values.length = 0;
    operation->batch.values = &read->values;
    return MCDS__ASK;
}

enum mcds__step mcds__segment_survey_step(struct mcds__segment_read *read, uint32_t count,
                                          bool down, struct mcds__operation *operation)
{
    enum mcds__step step;
    if (read->stage != READ_ASKED)
        return segment_read_ask_survey(read, count, down, operation);
    if (fails(read, operation, &step))
        return step;
    read->all_count = 0;
    if (read->looks)
        read->truth = (uint8_t)mcds__segment_truth_of(
            read->stream, &read->scratch->requests[2 * count].reply);
    for (uint32_t i = 0; i < count; i++) {
        const mcds_reply *reply = &mcds__segment_read_request(read, i)->reply;
        read->incarnations[i] = exists(read, i) ? reply->flags : 0;
        read->peers[i] = reply->peer;
        read->kinds[i] = exists(read, i) ? MCDS__SEGMENT_SHORT : MCDS__SEGMENT_NOTHING;
        if (mcds__segment_count_of(&read->scratch->requests[i].reply, &read->values) > 0 ||
            (exists(read, i) && mcds__segment_is_closed(reply->value_length, reply->flags)))
            read->kinds[i] = MCDS__SEGMENT_LONG;
        else if (exists(read, i) && !scan_segment(read, i))
            return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    }
    return segment_read_finish(read, operation);
}

uint32_t mcds__segment_read_incarnation(const struct mcds__segment_read *read,
                                        const struct mcds__segment_item *item)
{
    return mcds__segment_read_request(read, item->index)->reply.flags;
}
