/* Log: tail, which visits the events put since the last call with the same cursor.
 *
 * For each chunk that may still take events, the cursor holds the segment, the number of its bytes
 * that were read, and its incarnation. One round trip shows which chunks have grown and whether the
 * log still has a root. The cursor drops chunks that take no more events. */
#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/log/tail.h"

#define WANT_FIRST 4
/* Largest difference of two incarnations that different clocks can cause. */
#define SKEW_INCARNATION ((uint32_t)(MCDS__LOG_SKEW_MS / MS_PER_S) << 10)

static void release_tail(struct mcds__operation *operation)
{
    struct mcds__log_tail *tail = (struct mcds__log_tail *)operation;
    const char *peer = tail->read.lost_at != NULL ? tail->read.lost_at : tail->lost_at;
    mcds__log_add_info(tail->info_out, tail->gaps + tail->gaps_sure, 0, peer);
    if (tail->read.segments != NULL) {
        mcds__log_add_info(tail->info_out, tail->read.gaps, tail->read.corrupt,
                           tail->read.gaps > 0 ? peer
                                               : mcds__segment_read_refused_at(&tail->read));
        mcds__segment_read_free(&tail->read);
        mcds__segment_fetch_free(&tail->large);
    }
    mcds__free(operation->env, tail->locate.scratch);
    mcds__free(operation->env, tail->scratch);
    tail->locate.scratch = tail->scratch = NULL;
}

static enum mcds__step log_tail_begin(struct mcds__log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    tail->now_ms = mcds__wall_ms(tail->base.env);
    mcds__segment_read_begin(&tail->read, &tail->log->segments, 0);
    mcds__segment_fetch_begin(&tail->large, &tail->log->segments);
    tail->at = 0;
    if (cursor->count == 0) {
        cursor->life = mcds__descriptor_flags(tail->root.root.number);
        mcds__log_cursor_own(cursor, tail->log);
        mcds__log_cursor_begin(cursor, tail->log, tail->now_ms);
        tail->is_new = cursor->from_ms == 0;
        return mcds__log_tail_poll(tail);
    }
    tail->is_new = mcds__log_cursor_return(cursor, tail->log, tail->now_ms);
    mcds__log_tail_note_gaps(
        tail, &tail->gaps_sure,
        tail->is_new || mcds__log_cursor_pass_expired(cursor, tail->log, tail->now_ms));
    return mcds__log_tail_poll(tail);
}

/* A cursor for new events only begins at the end of each chunk. */
static enum mcds__step step_locate(struct mcds__log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    while (tail->at < cursor->count && (tail->changed & 1u << tail->at) == 0)
        tail->at++;
    if (tail->at == cursor->count)
        return mcds__operation_finish(&tail->base, MCDS_OK);
    tail->locate.stream = mcds__log_cursor_stream(cursor, tail->at);
    enum mcds__step step = mcds__segment_locate_step(&tail->locate, &tail->log->segments,
                                                     &tail->base);
    if (step != MCDS__DONE || tail->base.result != MCDS_OK)
        return step;
    mcds__log_cursor_move(cursor, tail->at, tail->locate.segment, tail->locate.size,
                          tail->locate.incarnation);
    tail->at++;
    tail->locate.stage = 0;
    return mcds__log_tail_go_to(tail, MCDS__TAIL_LOCATE);
}

static enum mcds__step log_tail_ask_poll(struct mcds__log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    struct mcds__segment_scratch *scratch = mcds__segment_get_scratch(&tail->scratch,
                                                                      tail->base.env);
    if (scratch == NULL)
        return mcds__operation_finish(&tail->base, MCDS_NO_MEMORY);
    mcds__log_cursor_stretch(cursor, tail->log, tail->now_ms);
    for (uint32_t i = 0; i < cursor->count; i++) {
        uint64_t chunk = mcds__log_cursor_stream(cursor, i);
        mcds__segment_fill_count(&tail->log->segments, chunk, scratch, 3 * i);
        mcds__segment_fill_get(&tail->log->segments, chunk, scratch, 3 * i + 1,
                               cursor->at[i].segment + 1, MCDS_NO_VALUE);
        mcds__segment_fill_get(&tail->log->segments, chunk, scratch, 3 * i + 2,
                               cursor->at[i].segment, MCDS_NO_VALUE);
    }
    tail->root_at = 3 * cursor->count;
    scratch->requests[tail->root_at] = mcds__segment_request_root(&tail->log->segments);
    tail->is_asked = true;
    (void)mcds__operation_ask_repeatable(&tail->base, scratch->requests, tail->root_at + 1);
    tail->base.batch.independent = true;
    return MCDS__ASK;
}

/* Whether chunk i of the cursor has grown, or has lost the segment at the cursor. Where the next
 * segments are lost as well, the count shows those after them. */
static bool has_changed(const struct mcds__log_tail *tail, uint32_t i)
{
    const mcds_log_cursor *cursor = tail->cursor;
    const mcds_reply *count = &tail->scratch->requests[3 * i].reply;
    const mcds_reply *next = &tail->scratch->requests[3 * i + 1].reply;
    const mcds_reply *here = &tail->scratch->requests[3 * i + 2].reply;
    bool exists = here->outcome == MCDS_OUT_OK;
    uint64_t made = mcds__segment_count_of(count, tail->base.batch.values);
    if (next->outcome == MCDS_OUT_OK || exists != (cursor->at[i].incarnation != 0))
        return true;
    uint64_t known = exists ? 1 : cursor->at[i].incarnation == 0 ? cursor->at[i].size : 0;
    if (made > cursor->at[i].segment + known)
        return true;
    /* The count is lost, and perhaps all that was read. */
    if (!exists && made < cursor->at[i].segment)
        return true;
    return exists && (here->flags != cursor->at[i].incarnation ||
                      here->value_length != cursor->at[i].size);
}

/* The segment at the cursor was lost, and so was the count. Now the count says that it has been
 * made again, and it is missing: this is another loss. */
static void note_made_again(struct mcds__log_tail *tail, uint32_t i)
{
    const mcds_reply *count = &tail->scratch->requests[3 * i].reply;
    const mcds_reply *here = &tail->scratch->requests[3 * i + 2].reply;
    if (here->outcome == MCDS_OUT_MISS && tail->cursor->at[i].incarnation == 0 &&
        tail->cursor->at[i].size == 0 &&
        mcds__segment_count_of(count, tail->base.batch.values) ==
            tail->cursor->at[i].segment + 1)
        tail->cursor->flags &= ~mcds__log_cursor_counted(i);
}

/* A new cursor begins where the chunks of one segment end; those of several are located. */
static void note_ends(struct mcds__log_tail *tail)
{
    for (uint32_t i = 0; i < tail->cursor->count; i++) {
        const mcds_reply *here = &tail->scratch->requests[3 * i + 2].reply;
        if (here->outcome == MCDS_OUT_OK)
            mcds__log_cursor_move(tail->cursor, i, 0, here->value_length, here->flags);
    }
}

static enum mcds__step step_poll(struct mcds__log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    if (!tail->is_asked)
        return log_tail_ask_poll(tail);
    tail->is_asked = false;
    tail->has_segments = tail->has_root = false;
    for (uint32_t i = 0; i <= tail->root_at; i++) {
        const mcds_reply *reply = &tail->scratch->requests[i].reply;
        if (reply->outcome == MCDS_OUT_OK)
            *(i == tail->root_at ? &tail->has_root : &tail->has_segments) = true;
        if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
            continue;
        return mcds__operation_retry(&tail->base, reply);
    }
    tail->before_ms = cursor->polled_ms;
    cursor->polled_ms = tail->now_ms;
    if (tail->is_new)
        note_ends(tail);
    tail->changed = 0;
    for (uint32_t i = 0; i < cursor->count; i++) {
        tail->changed |= (uint32_t)has_changed(tail, i) << i;
        note_made_again(tail, i);
    }
    tail->at = 0;
    if (mcds__segment_truth_of(mcds__log_cursor_stream(cursor, 0),
                               &tail->scratch->requests[tail->root_at].reply) ==
        MCDS__SEGMENT_ALIVE) {
        mcds__log_cursor_own(cursor, tail->log);
        cursor->flags &= ~MCDS__LOG_CURSOR_TOLD;
        mcds__log_tail_take_missed(tail, false);
        tail->read.looks = true;
        return mcds__log_tail_go_to(tail, tail->is_new ? MCDS__TAIL_LOCATE : MCDS__TAIL_READ);
    }
    return mcds__log_tail_next_life(tail);
}

/* Whether writers may have begun again at a segment that the cursor has passed: the one at the cursor
 * is lost, or the last one before it, and so is the count, which was more. What has survived was read
 * before. */
static bool begins_anew(struct mcds__log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    const struct mcds__segment_read *read = &tail->read;
    uint32_t known = cursor->at[tail->at].incarnation;
    uint64_t segment = cursor->at[tail->at].segment;
    bool is_left = known == 0 && (read->before != 0 || read->made == segment);
    if (segment == 0 || read->here != 0 || read->made > segment || is_left)
        return false;
    bool is_counted = (cursor->flags & mcds__log_cursor_counted(tail->at)) != 0;
    bool is_finished = tail->at < (cursor->flags & MCDS__LOG_CURSOR_FINISHED);
    tail->read.gaps = tail->gaps_before;
    mcds__log_tail_note_gaps(tail, &tail->gaps,
                             known != 0 ? read->here != 0 || read->made > 0 || !is_finished
                                        : !is_counted);
    tail->newer_than = known != 0 ? known : (uint32_t)(tail->before_ms / MS_PER_S) << 10 | 1;
    mcds__log_cursor_move(cursor, tail->at, 0, 0, 0);
    cursor->flags |= mcds__log_cursor_counted(tail->at);
    return true;
}

/* Visits the events that were read. */
static enum mcds__step take_items(struct mcds__log_tail *tail)
{
    bool is_first = tail->bound == 0;
    assert(tail->has_read && tail->at < tail->cursor->count);
    tail->has_read = false;
    if (is_first)
        tail->bound = tail->read.bound;
    if (is_first && begins_anew(tail))
        return mcds__log_tail_go_to(tail, MCDS__TAIL_READ);
    tail->item = 0;
    return mcds__log_tail_go_to(tail, MCDS__TAIL_VISIT);
}

/* Moves the cursor past the lost segments, so that each gap is counted once. */
static enum mcds__step log_tail_finish(struct mcds__log_tail *tail)
{
    if (!tail->has_segments && !tail->has_root && tail->gaps + tail->gaps_sure > 0)
        tail->cursor->flags |= MCDS__LOG_CURSOR_TOLD;
    return mcds__operation_finish(
        &tail->base, tail->has_segments || tail->has_root ? MCDS_OK : MCDS_NOT_FOUND);
}

/* The segments, from that at the cursor on, of which the loss is counted. */
static uint32_t count_counted(const struct mcds__log_tail *tail)
{
    const mcds_log_cursor *cursor = tail->cursor;
    if (tail->newer_than != 0)
        return UINT32_MAX / 2;
    if ((cursor->flags & mcds__log_cursor_counted(tail->at)) == 0)
        return 0;
    return cursor->at[tail->at].incarnation == 0 && cursor->at[tail->at].size > 0
               ? cursor->at[tail->at].size
               : 1;
}

/* Reads the next chunk that has grown. */
static enum mcds__step log_tail_step_read(struct mcds__log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    if (!tail->is_asked) {
        while (tail->at < cursor->count && (tail->changed & 1u << tail->at) == 0)
            tail->at++;
        if (tail->at == cursor->count)
            return mcds__log_cursor_shift(cursor, tail->log, tail->now_ms)
                       ? mcds__log_tail_poll(tail)
                       : log_tail_finish(tail);
        tail->read.stream = mcds__log_cursor_stream(cursor, tail->at);
        tail->read.from = cursor->at[tail->at].segment;
        tail->read.want = WANT_FIRST;
        tail->read.stage = 0;
        tail->read.resumes = tail->bound == 0;
        tail->read.seen_incarnation = cursor->at[tail->at].incarnation;
        tail->read.seen_size = cursor->at[tail->at].size;
        tail->read.counted = count_counted(tail);
        tail->read.lost = cursor->at[tail->at].incarnation == 0 ? cursor->at[tail->at].size : 0;
        tail->gaps_before = tail->read.gaps;
        tail->is_asked = true;
        if (tail->bound == 0 || tail->read.count > 0)
            mcds__operation_renew(&tail->base);
    }
    enum mcds__step step = mcds__segment_read_step(&tail->read, &tail->base);
    if (step != MCDS__DONE)
        return step;
    tail->is_asked = false;
    if (tail->base.result != MCDS_OK)
        return step;
    tail->has_read = true;
    return tail->read.looks && tail->read.truth != MCDS__SEGMENT_ALIVE
               ? mcds__log_tail_next_life(tail)
               : take_items(tail);
}

/* Counts a gap where this chunk's segment is not the one that the cursor knows. */
static void note_another(struct mcds__log_tail *tail, uint32_t incarnation)
{
    mcds_log_cursor *cursor = tail->cursor;
    uint32_t known = cursor->at[tail->at].incarnation;
    assert(incarnation != MCDS__SEGMENT_END);
    if (known == 0)
        cursor->at[tail->at].size = 0;
    if (known == 0 || known == incarnation)
        return;
    /* The lost events of a finished chunk have been read before. */
    if (incarnation != 0 || tail->at >= (cursor->flags & MCDS__LOG_CURSOR_FINISHED))
        mcds__log_tail_note_gaps(tail, &tail->gaps, 1);
    mcds__log_cursor_move(cursor, tail->at, cursor->at[tail->at].segment, 0, incarnation);
    cursor->flags |= mcds__log_cursor_counted(tail->at);
}

/* A chunk that is read again has one loss, which is counted. */
static void move_to(struct mcds__log_tail *tail, uint64_t segment, size_t size,
                    uint32_t incarnation)
{
    mcds__log_cursor_move(tail->cursor, tail->at, segment, size, incarnation);
    if (tail->newer_than != 0 || (incarnation == 0 && size > 0))
        tail->cursor->flags |= mcds__log_cursor_counted(tail->at);
}

/* Everything that was read has been visited. */
static enum mcds__step pass_read(struct mcds__log_tail *tail)
{
    const struct mcds__segment_read *read = &tail->read;
    assert(tail->item == read->count && !tail->has_read);
    bool moved = read->next != tail->cursor->at[tail->at].segment;
    bool is_lost = read->next_incarnation == 0 && read->next_size > 0;
    if (!moved && !is_lost)
        note_another(tail, read->next_incarnation);
    move_to(tail, read->next, read->next_size, read->next_incarnation);
    if (!read->more || read->next >= tail->bound) {
        tail->at++;
        tail->newer_than = 0;
        tail->bound = 0;
    }
    return mcds__log_tail_go_to(tail, MCDS__TAIL_READ);
}

/* Moves the cursor past this record. */
static void pass_record(struct mcds__log_tail *tail, uint64_t segment, uint32_t incarnation,
                        size_t end)
{
    move_to(tail, segment, end, incarnation);
    tail->item++;
}

/* Visits an event. Returns true when `visit` has ended the call. */
static bool log_tail_show(struct mcds__log_tail *tail,
                          const struct mcds__segment_record *record, mcds_bytes payload)
{
    const struct mcds__segment_item *item = &tail->read.items[tail->item];
    uint64_t segment = tail->read.from - tail->read.back + item->index;
    mcds_log_event event = mcds__log_event(record, payload);
    mcds__operation_note_visit(&tail->base);
    pass_record(tail, segment, mcds__segment_read_incarnation(&tail->read, item), record->end);
    return !tail->visit(tail->context, &event);
}

static enum mcds__step log_tail_visit_items(struct mcds__log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    while (tail->item < tail->read.count) {
        struct mcds__segment_record record;
        const struct mcds__segment_item *item = &tail->read.items[tail->item];
        uint64_t segment = mcds__segment_read_item(&tail->read, item, &record);
        uint32_t incarnation = mcds__segment_read_incarnation(&tail->read, item);
        if (segment == cursor->at[tail->at].segment) {
            note_another(tail, incarnation);
            if (record.begin < cursor->at[tail->at].size) {
                tail->item++;
                continue;
            }
        }
        bool was_read = tail->newer_than != 0 &&
                        mcds__segment_is_older(incarnation + SKEW_INCARNATION,
                                               tail->newer_than);
        if (was_read || record.filed_ms < cursor->from_ms)
            pass_record(tail, segment, incarnation, record.end);
        else if ((record.flags & MCDS__SEGMENT_LARGE) != 0)
            return mcds__log_tail_go_to(tail, MCDS__TAIL_LARGE);
        else if (log_tail_show(tail, &record, record.payload))
            return mcds__operation_finish(&tail->base, MCDS_OK);
    }
    return pass_read(tail);
}

static enum mcds__step log_tail_step_large(struct mcds__log_tail *tail)
{
    struct mcds__segment_record record;
    const struct mcds__segment_item *item = &tail->read.items[tail->item];
    uint64_t segment = mcds__segment_read_item(&tail->read, item, &record);
    enum mcds__step step = mcds__segment_fetch_step(&tail->large, tail->read.stream, &record,
                                                    &tail->base);
    if (step != MCDS__DONE)
        return step;
    int result = tail->base.result;
    if (result != MCDS_OK && result != MCDS_LOST && result != MCDS_CORRUPT)
        return step;
    mcds__segment_read_note_gaps(&tail->read, result == MCDS_LOST, tail->base.asked);
    tail->read.corrupt += result == MCDS_CORRUPT;
    if (result == MCDS_CORRUPT)
        mcds__segment_read_note_refused(&tail->read, mcds__operation_read(&tail->base));
    if (result != MCDS_OK)
        pass_record(tail, segment, mcds__segment_read_incarnation(&tail->read, item),
                    record.end);
    else if (log_tail_show(tail, &record, tail->large.payload))
        return mcds__operation_finish(&tail->base, MCDS_OK);
    return mcds__log_tail_go_to(tail, MCDS__TAIL_VISIT);
}

static enum mcds__step log_tail_take_root(struct mcds__log_tail *tail, enum mcds__step step)
{
    mcds_log_cursor *cursor = tail->cursor;
    if (step != MCDS__DONE)
        return step;
    /* The first event is put after this call, and the cursor must not miss it. */
    if (tail->base.result == MCDS_NOT_FOUND && cursor->count == 0 && cursor->from_ms == 0)
        mcds__log_cursor_wait(cursor, mcds__wall_ms(tail->base.env));
    return tail->base.result == MCDS_OK ? log_tail_begin(tail) : step;
}

static enum mcds__step log_tail_step_stage(struct mcds__log_tail *tail,
                                           struct mcds__operation *operation)
{
    switch (tail->stage) {
    case MCDS__TAIL_ROOT:
        if (atomic_load(&tail->log->is_ready) && tail->cursor->count > 0)
            return log_tail_begin(tail);
        return log_tail_take_root(tail, mcds__log_begin_step(&tail->root, false, operation));
    case MCDS__TAIL_NEXT_LIFE:
        return mcds__log_tail_take_next_life(
            tail, mcds__log_next_life_step(&tail->next_life, operation));
    case MCDS__TAIL_LOCATE:
        return step_locate(tail);
    case MCDS__TAIL_POLL:
        return step_poll(tail);
    case MCDS__TAIL_READ:
        return log_tail_step_read(tail);
    case MCDS__TAIL_ITEMS:
        return take_items(tail);
    case MCDS__TAIL_VISIT:
        return log_tail_visit_items(tail);
    case MCDS__TAIL_FATE:
        return mcds__log_tail_take_fate(tail, mcds__log_fate_step(&tail->fate, operation));
    default:
        return log_tail_step_large(tail);
    }
}

static enum mcds__step step_tail(struct mcds__operation *operation)
{
    struct mcds__log_tail *tail = (struct mcds__log_tail *)operation;
    enum mcds__step step;
    do {
        step = log_tail_step_stage(tail, operation);
        if (step == MCDS__DONE)
            step = mcds__log_tail_judge_gaps(tail);
    } while (step == MCDS__NEXT);
    if (step == MCDS__DONE && tail->is_new && operation->result != MCDS_OK &&
        operation->result != MCDS_NOT_FOUND)
        tail->cursor->count = 0;
    return step;
}

static const struct mcds__operation_kind tail_kind = {
    "log", "tail", sizeof(struct mcds__log_tail), step_tail, release_tail};

int mcds_log_tail_start(mcds_log *log, mcds_log_cursor *cursor, mcds_log_scan_cb visit,
                        void *context, mcds_log_info *info_out, mcds_pipeline *pipeline,
                        uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = MCDS_OK;
    if (log == NULL || cursor == NULL || visit == NULL)
        return mcds__fail_missing("log", "tail", "a log, a cursor and a visitor");
    result = mcds__log_cursor_check(cursor, log);
    if (result == MCDS_OK && info_out != NULL)
        result = mcds__sized_check(MCDS__SIZED_mcds_log_info, info_out);
    if (result == MCDS_OK)
        result = mcds__check_wall(&tail_kind, &log->handle);
    if (result != MCDS_OK)
        return result;
    struct mcds__log_tail own;
    struct mcds__log_tail *tail = mcds__call_begin_zero(&own.base, &tail_kind, &log->handle,
                                                        start, &result);
    if (tail == NULL)
        return result;
    tail->log = log;
    tail->cursor = cursor;
    tail->visit = visit;
    tail->context = context;
    tail->info_out = info_out;
    mcds__log_begin(&tail->root, log);
    return mcds__call_launch(&tail->base, start);
}

int mcds_log_tail(mcds_log *log, mcds_log_cursor *cursor, mcds_log_scan_cb visit, void *context,
                  mcds_log_info *info_out)
{
    return mcds_log_tail_start(log, cursor, visit, context, info_out, MCDS__WAIT, 0);
}
