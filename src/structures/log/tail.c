/* Log: tail, which visits the events put since the last call with the same cursor.
 *
 * For each chunk that may still take events, the cursor holds the segment, the number of its bytes
 * that were read, and its incarnation. One round trip shows which chunks have grown and whether the
 * log still has a root. The cursor drops chunks that take no more events. */
#include <stdatomic.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/log/log.h"

#define WANT_FIRST 4
/* Most times that a tail may find its life ended before it fails. */
#define TURNS_MAX 16
/* Largest difference of two incarnations that different clocks can cause. */
#define SKEW_INCARNATION ((uint32_t)(MCDS__LOG_SKEW_MS / MS_PER_S) << 10)

enum {
    TAIL_ROOT,
    TAIL_TURN,
    TAIL_BEGIN,
    TAIL_LOCATE,
    TAIL_POLL,
    TAIL_READ,
    TAIL_VISIT,
    TAIL_LARGE
};

struct log_tail {
    struct mcds__operation base;
    mcds_log *log;
    mcds_log_cursor *cursor;
    mcds_log_scan_cb visit;
    void *context;
    mcds_log_info *info_out;
    uint8_t stage;
    bool goes_on;
    bool is_asked;
    bool has_segments; /* segments of the life of the cursor have been seen */
    bool has_root;     /* a root of any life has been seen */
    bool is_new;       /* the cursor begins where the chunks end now */
    uint32_t root_at;  /* the request for the root */
    uint32_t at;       /* the chunk of the cursor that is being read */
    uint32_t item;     /* the next to visit */
    uint32_t changed;  /* bit i: chunk i of the cursor has grown */
    int64_t now_ms;
    uint64_t gaps;
    uint64_t bound;      /* of the chunk: no segment existed from here on; 0: not known */
    uint32_t newer_than; /* an incarnation: older segments have been read; 0: not used */
    uint8_t turns;
    struct mcds__log_begin root;
    struct mcds__log_turn turn;
    struct mcds__segment_locate locate;
    struct mcds__segment_read read;
    struct mcds__segment_fetch large;
    struct mcds__segment_scratch *scratch;
};

static void release_tail(struct mcds__operation *operation)
{
    struct log_tail *tail = (struct log_tail *)operation;
    mcds__log_add_info(tail->info_out, tail->gaps, 0);
    if (tail->read.segments != NULL) {
        mcds__log_add_info(tail->info_out, tail->read.gaps, tail->read.corrupt);
        mcds__segment_read_free(&tail->read);
        mcds__segment_fetch_free(&tail->large);
    }
    mcds__free(operation->env, tail->locate.scratch);
    mcds__free(operation->env, tail->scratch);
    tail->locate.scratch = tail->scratch = NULL;
}

static enum mcds__step log_tail_go_to(struct log_tail *tail, uint8_t stage)
{
    tail->stage = stage;
    tail->goes_on = true;
    return MCDS__SLEEP;
}

/* A new round trip, not a retry: it has the whole timeout. */
static enum mcds__step begin_poll(struct log_tail *tail)
{
    mcds__operation_renew(&tail->base);
    return log_tail_go_to(tail, TAIL_POLL);
}

static enum mcds__step log_tail_begin(struct log_tail *tail)
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
        return begin_poll(tail);
    }
    tail->gaps += mcds__log_cursor_pass_expired(cursor, tail->log, tail->now_ms);
    return begin_poll(tail);
}

/* A cursor for new events only begins at the end of each chunk. */
static enum mcds__step step_locate(struct log_tail *tail)
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
    return log_tail_go_to(tail, TAIL_LOCATE);
}

static enum mcds__step log_tail_ask_poll(struct log_tail *tail)
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
static bool has_changed(const struct log_tail *tail, uint32_t i)
{
    const mcds_log_cursor *cursor = tail->cursor;
    const mcds_reply *count = &tail->scratch->requests[3 * i].reply;
    const mcds_reply *next = &tail->scratch->requests[3 * i + 1].reply;
    const mcds_reply *here = &tail->scratch->requests[3 * i + 2].reply;
    bool exists = here->outcome == MCDS_OUT_OK;
    if (next->outcome == MCDS_OUT_OK || exists != (cursor->at[i].incarnation != 0))
        return true;
    if (mcds__segment_count_of(count, tail->base.batch.values) > cursor->at[i].segment + 1)
        return true;
    return exists && (here->flags != cursor->at[i].incarnation ||
                      here->value_length != cursor->at[i].size);
}

/* A new cursor begins where the chunks of one segment end; those of several are left to be
 * located. */
static void note_ends(struct log_tail *tail)
{
    for (uint32_t i = 0; i < tail->cursor->count; i++) {
        const mcds_reply *here = &tail->scratch->requests[3 * i + 2].reply;
        if (here->outcome == MCDS_OUT_OK)
            mcds__log_cursor_move(tail->cursor, i, 0, here->value_length, here->flags);
    }
}

static enum mcds__step step_poll(struct log_tail *tail)
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
        if (mcds__is_transport_trouble(reply) && mcds__operation_again(&tail->base))
            return MCDS__SLEEP;
        return mcds__operation_fail_read(&tail->base, reply);
    }
    cursor->polled_ms = tail->now_ms;
    if (tail->is_new)
        note_ends(tail);
    tail->changed = 0;
    for (uint32_t i = 0; i < cursor->count; i++)
        tail->changed |= (uint32_t)has_changed(tail, i) << i;
    tail->at = 0;
    if (mcds__segment_truth_of(mcds__log_cursor_stream(cursor, 0),
                               &tail->scratch->requests[tail->root_at].reply) ==
        MCDS__SEGMENT_ALIVE) {
        mcds__log_cursor_own(cursor, tail->log);
        cursor->flags &= ~MCDS__LOG_CURSOR_TOLD;
        return log_tail_go_to(tail, tail->is_new ? TAIL_LOCATE : TAIL_READ);
    }
    mcds__operation_renew(&tail->base);
    mcds__log_turn_begin(&tail->turn, tail->log, mcds__log_cursor_stem(cursor));
    return log_tail_go_to(tail, TAIL_TURN);
}

/* The root of the cursor's life was missing. */
static enum mcds__step log_tail_take_turn(struct log_tail *tail, enum mcds__step step)
{
    mcds_log_cursor *cursor = tail->cursor;
    const struct mcds__log_turn *turn = &tail->turn;
    if (step != MCDS__DONE)
        return step;
    int result = tail->base.result;
    if (result == MCDS_NOT_FOUND && turn->was_dropped) {
        mcds__log_cursor_begin_life(cursor, cursor->life);
        (void)mcds__log_cursor_shift(cursor, tail->log, tail->now_ms);
        return step;
    }
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        return step;
    uint32_t life = mcds__descriptor_flags(turn->begin.root.number);
    if ((result == MCDS_NOT_FOUND || life != cursor->life) && !turn->was_dropped &&
        !tail->has_segments && mcds__log_cursor_is_foreign(cursor, tail->log))
        return mcds__operation_explain(&tail->base, MCDS_INVALID,
                                       MCDS__WHY(CURSOR_OF_OTHER_STORE));
    if (result == MCDS_NOT_FOUND || life == cursor->life) /* what the store has left of it */
        return log_tail_go_to(tail, tail->is_new ? TAIL_LOCATE : TAIL_READ);
    if (tail->turns++ == TURNS_MAX)
        return mcds__operation_finish(&tail->base, MCDS_BUSY);
    tail->gaps += !turn->was_dropped && (cursor->flags & MCDS__LOG_CURSOR_TOLD) == 0;
    mcds__log_cursor_begin_life(cursor, life);
    return begin_poll(tail);
}

/* Moves the cursor past what is lost, so that each gap is counted once. */
static enum mcds__step log_tail_finish(struct log_tail *tail)
{
    if (!tail->has_segments && !tail->has_root && tail->gaps > 0)
        tail->cursor->flags |= MCDS__LOG_CURSOR_TOLD;
    return mcds__operation_finish(
        &tail->base, tail->has_segments || tail->has_root ? MCDS_OK : MCDS_NOT_FOUND);
}

/* Reads the next chunk that has grown. */
static enum mcds__step log_tail_step_read(struct log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    if (!tail->is_asked) {
        while (tail->at < cursor->count && (tail->changed & 1u << tail->at) == 0)
            tail->at++;
        if (tail->at == cursor->count)
            return mcds__log_cursor_shift(cursor, tail->log, tail->now_ms)
                       ? begin_poll(tail)
                       : log_tail_finish(tail);
        tail->read.stream = mcds__log_cursor_stream(cursor, tail->at);
        tail->read.from = cursor->at[tail->at].segment;
        tail->read.want = WANT_FIRST;
        tail->read.stage = 0;
        tail->read.seen_incarnation = cursor->at[tail->at].incarnation;
        tail->read.seen_size = cursor->at[tail->at].size;
        bool is_counted = (cursor->flags & mcds__log_cursor_counted(tail->at)) != 0;
        tail->read.counted = tail->newer_than != 0 ? WANT_FIRST : is_counted;
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
    if (tail->bound == 0)
        tail->bound = tail->read.bound;
    tail->item = 0;
    return log_tail_go_to(tail, TAIL_VISIT);
}

/* Counts a gap where this chunk's segment is not the one that the cursor knows. */
static bool begins_anew(struct log_tail *tail, uint32_t incarnation)
{
    mcds_log_cursor *cursor = tail->cursor;
    uint32_t known = cursor->at[tail->at].incarnation;
    if (known == 0 || known == incarnation)
        return false;
    /* The lost events of a finished chunk have been read before. */
    if (incarnation != 0 || tail->at >= (cursor->flags & MCDS__LOG_CURSOR_FINISHED))
        tail->gaps++;
    /* The segment is lost together with the count, which was more: writers begin again at the first
     * missing segment. What has survived was read before. */
    uint64_t segment = cursor->at[tail->at].segment;
    bool begins = incarnation == 0 && segment > 0 && tail->read.made <= segment;
    tail->newer_than = begins ? known : tail->newer_than;
    mcds__log_cursor_move(cursor, tail->at, begins ? 0 : segment, 0, incarnation);
    cursor->flags |= mcds__log_cursor_counted(tail->at);
    return true;
}

/* A chunk that is read again has one loss, which is counted. */
static void move_to(struct log_tail *tail, uint64_t segment, size_t size, uint32_t incarnation)
{
    mcds__log_cursor_move(tail->cursor, tail->at, segment, size, incarnation);
    if (tail->newer_than != 0)
        tail->cursor->flags |= mcds__log_cursor_counted(tail->at);
}

/* Everything that was read has been visited. */
static enum mcds__step pass_read(struct log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    const struct mcds__segment_read *read = &tail->read;
    bool moved = read->next != cursor->at[tail->at].segment;
    if (!moved && begins_anew(tail, read->next_incarnation) &&
        cursor->at[tail->at].segment == 0)
        return log_tail_go_to(tail, TAIL_READ);
    move_to(tail, read->next, read->next_size, read->next_incarnation);
    if (!read->more || read->next >= tail->bound) {
        tail->at++;
        tail->newer_than = 0;
        tail->bound = 0;
    }
    return log_tail_go_to(tail, TAIL_READ);
}

/* Moves the cursor past this record. */
static void pass_record(struct log_tail *tail, uint64_t segment, uint32_t incarnation,
                        size_t end)
{
    move_to(tail, segment, end, incarnation);
    tail->item++;
}

/* Visits an event. Returns true when `visit` has ended the call. */
static bool log_tail_show(struct log_tail *tail, const struct mcds__segment_record *record,
                          mcds_bytes payload)
{
    const struct mcds__segment_item *item = &tail->read.items[tail->item];
    uint64_t segment = tail->read.from - tail->read.back + item->index;
    mcds_log_event event = mcds__log_event(record, payload);
    mcds__operation_note_result(&tail->base);
    pass_record(tail, segment, mcds__segment_read_incarnation(&tail->read, item), record->end);
    return !tail->visit(tail->context, &event);
}

static enum mcds__step log_tail_visit_items(struct log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    while (tail->item < tail->read.count) {
        struct mcds__segment_record record;
        const struct mcds__segment_item *item = &tail->read.items[tail->item];
        uint64_t segment = mcds__segment_read_item(&tail->read, item, &record);
        uint32_t incarnation = mcds__segment_read_incarnation(&tail->read, item);
        if (segment == cursor->at[tail->at].segment) {
            (void)begins_anew(tail, incarnation);
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
            return log_tail_go_to(tail, TAIL_LARGE);
        else if (log_tail_show(tail, &record, record.payload))
            return mcds__operation_finish(&tail->base, MCDS_OK);
    }
    return pass_read(tail);
}

static enum mcds__step log_tail_step_large(struct log_tail *tail)
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
    tail->read.gaps += result == MCDS_LOST;
    tail->read.corrupt += result == MCDS_CORRUPT;
    if (result != MCDS_OK)
        pass_record(tail, segment, mcds__segment_read_incarnation(&tail->read, item),
                    record.end);
    else if (log_tail_show(tail, &record, tail->large.payload))
        return mcds__operation_finish(&tail->base, MCDS_OK);
    return log_tail_go_to(tail, TAIL_VISIT);
}

static enum mcds__step log_tail_take_root(struct log_tail *tail, enum mcds__step step)
{
    mcds_log_cursor *cursor = tail->cursor;
    if (step != MCDS__DONE)
        return step;
    /* The first event is put after this call, and the cursor must not miss it. */
    if (tail->base.result == MCDS_NOT_FOUND && cursor->count == 0 && cursor->from_ms == 0)
        mcds__log_cursor_wait(cursor, mcds__wall_ms(tail->base.env));
    return tail->base.result == MCDS_OK ? log_tail_begin(tail) : step;
}

static enum mcds__step log_tail_step_stage(struct log_tail *tail,
                                           struct mcds__operation *operation)
{
    switch (tail->stage) {
    case TAIL_ROOT:
        if (atomic_load(&tail->log->is_ready) && tail->cursor->count > 0)
            return log_tail_begin(tail);
        return log_tail_take_root(tail, mcds__log_begin_step(&tail->root, false, operation));
    case TAIL_TURN:
        return log_tail_take_turn(tail, mcds__log_turn_step(&tail->turn, operation));
    case TAIL_LOCATE:
        return step_locate(tail);
    case TAIL_POLL:
        return step_poll(tail);
    case TAIL_READ:
        return log_tail_step_read(tail);
    case TAIL_VISIT:
        return log_tail_visit_items(tail);
    default:
        return log_tail_step_large(tail);
    }
}

static enum mcds__step step_tail(struct mcds__operation *operation)
{
    struct log_tail *tail = (struct log_tail *)operation;
    enum mcds__step step = MCDS__DONE;
    do {
        tail->goes_on = false;
        step = log_tail_step_stage(tail, operation);
    } while (tail->goes_on);
    if (step == MCDS__DONE && tail->is_new && operation->result != MCDS_OK &&
        operation->result != MCDS_NOT_FOUND)
        tail->cursor->count = 0;
    return step;
}

static const struct mcds__operation_kind tail_kind = {"log", "tail", sizeof(struct log_tail),
                                                      step_tail};

static int launch_tail(struct log_tail *tail, mcds_log *log, mcds_log_cursor *cursor,
                       mcds_log_scan_cb visit, void *context, mcds_log_info *info_out,
                       mcds_pipeline *pipeline, uint64_t tag)
{
    int result = MCDS_OK;
    if (log == NULL || cursor == NULL || visit == NULL)
        return mcds__fail_missing("log", "tail", "a log, a cursor and a visitor");
    result = mcds__log_cursor_check(cursor, log);
    if (result == MCDS_OK && info_out != NULL)
        result = mcds__sized_check(MCDS__SIZED_mcds_log_info, info_out);
    if (result != MCDS_OK)
        return result;
    if (tail == NULL)
        tail = mcds__pipeline_new(pipeline, &log->handle, &tail_kind, &result);
    if (tail == NULL)
        return result;
    mcds__operation_begin(&tail->base, &tail_kind, log->store, log->name, 0);
    tail->log = log;
    tail->cursor = cursor;
    tail->visit = visit;
    tail->context = context;
    tail->info_out = info_out;
    tail->stage = TAIL_ROOT;
    tail->is_asked = tail->has_segments = tail->has_root = tail->is_new = false;
    tail->gaps = tail->bound = 0;
    tail->newer_than = tail->turns = 0;
    tail->locate = (struct mcds__segment_locate){.from = 0};
    tail->read.segments = NULL;
    tail->scratch = NULL;
    mcds__log_begin(&tail->root, log);
    tail->base.release = release_tail;
    return mcds__launch(&tail->base, pipeline, tag);
}

int mcds_log_tail(mcds_log *log, mcds_log_cursor *cursor, mcds_log_scan_cb visit, void *context,
                  mcds_log_info *info_out)
{
    struct log_tail tail;
    return launch_tail(&tail, log, cursor, visit, context, info_out, NULL, 0);
}

int mcds_log_tail_start(mcds_log *log, mcds_log_cursor *cursor, mcds_log_scan_cb visit,
                        void *context, mcds_log_info *info_out, mcds_pipeline *pipeline,
                        uint64_t tag)
{
    return launch_tail(NULL, log, cursor, visit, context, info_out, pipeline, tag);
}
