/* Log: follow it.
 *
 * For each chunk that may still take events, the cursor holds the part, the number of its bytes
 * that were read, and its birth. One round trip shows which of them have grown, and whether the
 * log still has a root. The cursor drops a chunk that takes no more events. */
#include <stdatomic.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/log.h"

#define WANT_FIRST 4
/* How often a tail may find that its life is over before it gives up. */
#define TURNS_MAX 16
/* How far apart two births may be by different clocks alone. */
#define SKEW_BIRTH ((uint32_t)(MCDS__LOG_SKEW_MS / MS_PER_S) << 10)

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
    bool (*visit)(void *context, const mcds_log_event *event);
    void *context;
    mcds_log_info *info_out;
    uint8_t stage;
    bool goes_on;
    bool is_asked;
    bool is_gone;     /* neither root nor parts have been seen */
    uint32_t root_at; /* the request for the root */
    uint32_t at;      /* the chunk of the cursor that is looked at */
    uint32_t item;    /* the next to be visited */
    uint32_t changed; /* bit i: chunk i of the cursor has grown */
    int64_t now_ms;
    uint64_t gaps;
    uint64_t bound;      /* of the chunk: no part existed from here on; 0: not known */
    uint32_t newer_than; /* a birth: older parts have been read; 0: that is not the question */
    uint8_t turns;
    struct mcds__log_begin root;
    struct mcds__log_turn turn;
    struct mcds__part_locate locate;
    struct mcds__part_read read;
    struct mcds__part_fetch large;
    struct mcds__part_room *room;
};

static void release_tail(struct mcds__operation *operation)
{
    struct log_tail *tail = (struct log_tail *)operation;
    mcds__log_add_info(tail->info_out, tail->gaps, 0);
    if (tail->read.parts != NULL) {
        mcds__log_add_info(tail->info_out, tail->read.gaps, tail->read.corrupt);
        mcds__part_read_free(&tail->read);
        mcds__part_fetch_free(&tail->large);
    }
    mcds__free(operation->env, tail->locate.room);
    mcds__free(operation->env, tail->room);
    tail->locate.room = tail->room = NULL;
}

static enum mcds__step go_to(struct log_tail *tail, uint8_t stage)
{
    tail->stage = stage;
    tail->goes_on = true;
    return MCDS__SLEEP;
}

/* A new round trip, with the whole timeout; not a repetition of one. */
static enum mcds__step begin_poll(struct log_tail *tail)
{
    mcds__operation_renew(&tail->base);
    return go_to(tail, TAIL_POLL);
}

/* The first chunk that may still take events. */
static uint64_t first_live(const struct log_tail *tail)
{
    int64_t open_ms = (int64_t)mcds__log_open_ms(&tail->log->settings);
    return mcds__log_chunk(tail->log, tail->now_ms - open_ms);
}

static uint64_t newest_of(const struct log_tail *tail)
{
    return mcds__log_newest(tail->log, tail->now_ms);
}

/* A cursor that comes so late that keys of chunks which it has never looked at may have expired. Of
 * the chunks that it knows, keys that are left are read, and those that are not are gaps. */
static void pass_expired(struct log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    uint64_t unexpired = mcds__log_unexpired(tail->log, tail->now_ms);
    if (cursor->chunk + cursor->count > unexpired)
        return;
    cursor->chunk = unexpired;
    cursor->count = 0;
    tail->gaps++;
}

static enum mcds__step begin(struct log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    tail->now_ms = mcds__wall_ms(tail->base.env);
    uint64_t oldest = mcds__log_oldest(tail->log, tail->now_ms);
    mcds__part_read_begin(&tail->read, &tail->log->parts, 0);
    mcds__part_fetch_begin(&tail->large, &tail->log->parts);
    tail->at = 0;
    if (cursor->count == 0) {
        cursor->life = mcds__descriptor_flags(tail->root.root.number);
        cursor->chunk = cursor->from_ms == 0 ? first_live(tail)
                                             : mcds__log_chunk(tail->log, cursor->from_ms);
        if (cursor->chunk < oldest)
            cursor->chunk = oldest;
        if (cursor->chunk > newest_of(tail))
            cursor->chunk = newest_of(tail);
        mcds__log_cursor_stretch(cursor, newest_of(tail));
        return cursor->from_ms == 0 ? go_to(tail, TAIL_LOCATE) : begin_poll(tail);
    }
    pass_expired(tail);
    return begin_poll(tail);
}

/* The end of each chunk is where a cursor begins that wants what comes from here on. */
static enum mcds__step step_locate(struct log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    if (tail->at == cursor->count)
        return mcds__operation_finish(&tail->base, MCDS_OK);
    tail->locate.family = mcds__log_cursor_family(cursor, tail->at);
    enum mcds__step step = mcds__part_locate_step(&tail->locate, &tail->log->parts,
                                                  &tail->base);
    if (step != MCDS__DONE)
        return step;
    if (tail->base.result != MCDS_OK) {
        cursor->count = 0;
        return step;
    }
    cursor->at[tail->at].part = tail->locate.part;
    cursor->at[tail->at].size = (uint32_t)tail->locate.size;
    cursor->at[tail->at].birth = tail->locate.birth;
    tail->at++;
    tail->locate.stage = 0;
    return go_to(tail, TAIL_LOCATE);
}

static enum mcds__step ask_poll(struct log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    struct mcds__part_room *room = mcds__part_get_room(&tail->room, tail->base.env);
    if (room == NULL)
        return mcds__operation_finish(&tail->base, MCDS_NO_MEMORY);
    mcds__log_cursor_stretch(cursor, newest_of(tail));
    for (uint32_t i = 0; i < cursor->count; i++) {
        uint64_t chunk = mcds__log_cursor_family(cursor, i);
        mcds__part_fill_count(&tail->log->parts, chunk, room, 3 * i);
        mcds__part_fill_get(&tail->log->parts, chunk, room, 3 * i + 1, cursor->at[i].part + 1,
                            MCDS_NO_VALUE);
        mcds__part_fill_get(&tail->log->parts, chunk, room, 3 * i + 2, cursor->at[i].part,
                            MCDS_NO_VALUE);
    }
    tail->root_at = 3 * cursor->count;
    room->requests[tail->root_at] = mcds__part_look_at_root(&tail->log->parts);
    tail->is_asked = true;
    (void)mcds__operation_ask_repeatable(&tail->base, room->requests, tail->root_at + 1);
    tail->base.batch.independent = true;
    return MCDS__ASK;
}

/* Whether chunk i of the cursor has grown, or lost where the cursor is. The count leads on where
 * the next parts are lost as well. */
static bool has_changed(const struct log_tail *tail, uint32_t i)
{
    const mcds_log_cursor *cursor = tail->cursor;
    const mcds_reply *count = &tail->room->requests[3 * i].reply;
    const mcds_reply *next = &tail->room->requests[3 * i + 1].reply;
    const mcds_reply *here = &tail->room->requests[3 * i + 2].reply;
    bool exists = here->outcome == MCDS_OUT_OK;
    if (next->outcome == MCDS_OUT_OK || exists != (cursor->at[i].birth != 0))
        return true;
    if (mcds__part_count_of(count, tail->base.batch.values) > cursor->at[i].part + 1)
        return true;
    return exists &&
           (here->flags != cursor->at[i].birth || here->value_length != cursor->at[i].size);
}

static enum mcds__step step_poll(struct log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    if (!tail->is_asked)
        return ask_poll(tail);
    tail->is_asked = false;
    tail->is_gone = true;
    for (uint32_t i = 0; i <= tail->root_at; i++) {
        const mcds_reply *reply = &tail->room->requests[i].reply;
        if (reply->outcome == MCDS_OUT_OK)
            tail->is_gone = false;
        if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
            continue;
        if (mcds__is_transport_trouble(reply) && mcds__operation_again(&tail->base))
            return MCDS__SLEEP;
        return mcds__operation_fail_read(&tail->base, reply);
    }
    tail->changed = 0;
    for (uint32_t i = 0; i < cursor->count; i++)
        tail->changed |= (uint32_t)has_changed(tail, i) << i;
    tail->at = 0;
    if (mcds__part_truth_of(mcds__log_cursor_family(cursor, 0),
                            &tail->room->requests[tail->root_at].reply) == MCDS__PART_ALIVE)
        return go_to(tail, TAIL_READ);
    mcds__operation_renew(&tail->base);
    mcds__log_turn_begin(&tail->turn, tail->log, mcds__log_cursor_stem(cursor));
    return go_to(tail, TAIL_TURN);
}

/* The root of the cursor's life was not there. */
static enum mcds__step take_turn(struct log_tail *tail, enum mcds__step step)
{
    mcds_log_cursor *cursor = tail->cursor;
    const struct mcds__log_turn *turn = &tail->turn;
    if (step != MCDS__DONE)
        return step;
    int result = tail->base.result;
    if (result == MCDS_NOT_FOUND && turn->was_dropped) {
        mcds__log_cursor_begin_life(cursor, cursor->life);
        (void)mcds__log_cursor_shift(cursor, first_live(tail), newest_of(tail));
        return step;
    }
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        return step;
    uint32_t life = mcds__descriptor_flags(turn->begin.root.number);
    if (result == MCDS_NOT_FOUND || life == cursor->life) /* what the store has left of it */
        return go_to(tail, TAIL_READ);
    if (tail->turns++ == TURNS_MAX)
        return mcds__operation_finish(&tail->base, MCDS_BUSY);
    tail->gaps += !turn->was_dropped;
    mcds__log_cursor_begin_life(cursor, life);
    return begin_poll(tail);
}

/* The cursor has moved past what is gone, so that each gap is counted once. */
static enum mcds__step finish(struct log_tail *tail)
{
    return mcds__operation_finish(&tail->base, tail->is_gone ? MCDS_NOT_FOUND : MCDS_OK);
}

/* Read the next chunk that has grown. */
static enum mcds__step step_read(struct log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    if (!tail->is_asked) {
        while (tail->at < cursor->count && (tail->changed & 1u << tail->at) == 0)
            tail->at++;
        if (tail->at == cursor->count)
            return mcds__log_cursor_shift(cursor, first_live(tail), newest_of(tail))
                       ? begin_poll(tail)
                       : finish(tail);
        tail->read.family = mcds__log_cursor_family(cursor, tail->at);
        tail->read.from = cursor->at[tail->at].part;
        tail->read.want = WANT_FIRST;
        tail->read.stage = 0;
        tail->is_asked = true;
        if (tail->bound == 0 || tail->read.count > 0)
            mcds__operation_renew(&tail->base);
    }
    enum mcds__step step = mcds__part_read_step(&tail->read, &tail->base);
    if (step != MCDS__DONE)
        return step;
    tail->is_asked = false;
    if (tail->base.result != MCDS_OK)
        return step;
    if (tail->bound == 0)
        tail->bound = tail->read.bound;
    tail->item = 0;
    return go_to(tail, TAIL_VISIT);
}

/* Where this chunk's part is not the one that the cursor knows, something is missing. */
static bool begins_anew(struct log_tail *tail, uint32_t birth)
{
    mcds_log_cursor *cursor = tail->cursor;
    uint32_t known = cursor->at[tail->at].birth;
    if (known == 0 || known == birth)
        return false;
    tail->gaps++;
    cursor->at[tail->at].birth = birth;
    cursor->at[tail->at].size = 0;
    /* Gone with the part before it, and with the count: whoever writes next begins again with the
     * first part that is missing. What survived was read before. */
    if (birth == 0 && !tail->read.follows && tail->read.made < cursor->at[tail->at].part) {
        cursor->at[tail->at].part = 0;
        tail->newer_than = known;
    }
    return true;
}

/* All of what was read has been visited. */
static enum mcds__step pass_read(struct log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    const struct mcds__part_read *read = &tail->read;
    bool moved = read->next != cursor->at[tail->at].part;
    if (!moved && begins_anew(tail, read->next_birth) && cursor->at[tail->at].part == 0)
        return go_to(tail, TAIL_READ);
    cursor->at[tail->at].part = read->next;
    cursor->at[tail->at].size = (uint32_t)read->next_size;
    cursor->at[tail->at].birth = read->next_birth;
    if (!read->more || read->next >= tail->bound) {
        tail->at++;
        tail->newer_than = 0;
        tail->bound = 0;
    }
    return go_to(tail, TAIL_READ);
}

/* The cursor stands behind this record. */
static void pass_record(struct log_tail *tail, uint64_t part, uint32_t birth, size_t end)
{
    mcds_log_cursor *cursor = tail->cursor;
    cursor->at[tail->at].part = part;
    cursor->at[tail->at].size = (uint32_t)end;
    cursor->at[tail->at].birth = birth;
    tail->item++;
}

/* True: that was enough. */
static bool show(struct log_tail *tail, const struct mcds__part_record *record,
                 mcds_bytes payload)
{
    const struct mcds__part_item *item = &tail->read.items[tail->item];
    uint64_t part = tail->read.from - tail->read.back + item->index;
    mcds_log_event event = mcds__log_event(record, payload);
    mcds__operation_note_result(&tail->base);
    pass_record(tail, part, mcds__part_read_birth(&tail->read, item), record->end);
    return !tail->visit(tail->context, &event);
}

static enum mcds__step visit_items(struct log_tail *tail)
{
    mcds_log_cursor *cursor = tail->cursor;
    while (tail->item < tail->read.count) {
        struct mcds__part_record record;
        const struct mcds__part_item *item = &tail->read.items[tail->item];
        uint64_t part = mcds__part_read_item(&tail->read, item, &record);
        uint32_t birth = mcds__part_read_birth(&tail->read, item);
        if (part == cursor->at[tail->at].part) {
            (void)begins_anew(tail, birth);
            if (record.begin < cursor->at[tail->at].size) {
                tail->item++;
                continue;
            }
        }
        bool was_read = tail->newer_than != 0 &&
                        mcds__part_is_older(birth + SKEW_BIRTH, tail->newer_than);
        if (was_read || record.filed_ms < cursor->from_ms)
            pass_record(tail, part, birth, record.end);
        else if ((record.flags & MCDS__PART_LARGE) != 0)
            return go_to(tail, TAIL_LARGE);
        else if (show(tail, &record, record.payload))
            return mcds__operation_finish(&tail->base, MCDS_OK);
    }
    return pass_read(tail);
}

static enum mcds__step step_large(struct log_tail *tail)
{
    struct mcds__part_record record;
    const struct mcds__part_item *item = &tail->read.items[tail->item];
    uint64_t part = mcds__part_read_item(&tail->read, item, &record);
    enum mcds__step step = mcds__part_fetch_step(&tail->large, tail->read.family, &record,
                                                 &tail->base);
    if (step != MCDS__DONE)
        return step;
    int result = tail->base.result;
    if (result != MCDS_OK && result != MCDS_LOST && result != MCDS_CORRUPT)
        return step;
    tail->read.gaps += result == MCDS_LOST;
    tail->read.corrupt += result == MCDS_CORRUPT;
    if (result != MCDS_OK)
        pass_record(tail, part, mcds__part_read_birth(&tail->read, item), record.end);
    else if (show(tail, &record, tail->large.payload))
        return mcds__operation_finish(&tail->base, MCDS_OK);
    return go_to(tail, TAIL_VISIT);
}

static enum mcds__step take_root(struct log_tail *tail, enum mcds__step step)
{
    mcds_log_cursor *cursor = tail->cursor;
    if (step != MCDS__DONE)
        return step;
    /* What makes the log is put after this call, and is not to be missed. */
    if (tail->base.result == MCDS_NOT_FOUND && cursor->count == 0 && cursor->from_ms == 0)
        cursor->from_ms = mcds__wall_ms(tail->base.env);
    return tail->base.result == MCDS_OK ? begin(tail) : step;
}

static enum mcds__step step_stage(struct log_tail *tail, struct mcds__operation *operation)
{
    switch (tail->stage) {
    case TAIL_ROOT:
        if (atomic_load(&tail->log->is_ready) && tail->cursor->count > 0)
            return begin(tail);
        return take_root(tail, mcds__log_begin_step(&tail->root, false, operation));
    case TAIL_TURN:
        return take_turn(tail, mcds__log_turn_step(&tail->turn, operation));
    case TAIL_LOCATE:
        return step_locate(tail);
    case TAIL_POLL:
        return step_poll(tail);
    case TAIL_READ:
        return step_read(tail);
    case TAIL_VISIT:
        return visit_items(tail);
    default:
        return step_large(tail);
    }
}

static enum mcds__step step_tail(struct mcds__operation *operation)
{
    struct log_tail *tail = (struct log_tail *)operation;
    enum mcds__step step = MCDS__DONE;
    do {
        tail->goes_on = false;
        step = step_stage(tail, operation);
    } while (tail->goes_on);
    return step;
}

static const struct mcds__operation_kind tail_kind = {"log", "tail", sizeof(struct log_tail),
                                                      step_tail};

static int launch_tail(struct log_tail *tail, mcds_log *log, mcds_log_cursor *cursor,
                       bool (*visit)(void *context, const mcds_log_event *event), void *context,
                       mcds_log_info *info_out, mcds_pipeline *pipeline, uint64_t tag)
{
    int result = MCDS_OK;
    if (log == NULL || cursor == NULL || visit == NULL)
        return mcds__fail_missing("log", "tail", "a log, a cursor and a visitor");
    if (cursor->count > MCDS_LOG_CURSOR_CHUNKS || cursor->from_ms < 0)
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(CURSOR_NOT_BEGUN), .noun = "log",
                              .name = log->name, .verb = "tail");
    if (info_out != NULL)
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
    tail->is_asked = tail->is_gone = false;
    tail->gaps = 0;
    tail->turns = 0;
    tail->newer_than = 0;
    tail->bound = 0;
    tail->locate = (struct mcds__part_locate){.from = 0};
    tail->read.parts = NULL;
    tail->room = NULL;
    mcds__log_begin(&tail->root, log);
    tail->base.release = release_tail;
    return mcds__launch(&tail->base, pipeline, tag);
}

int mcds_log_tail(mcds_log *log, mcds_log_cursor *cursor,
                  bool (*visit)(void *context, const mcds_log_event *event), void *context,
                  mcds_log_info *info_out)
{
    struct log_tail tail;
    return launch_tail(&tail, log, cursor, visit, context, info_out, NULL, 0);
}

int mcds_log_tail_start(mcds_log *log, mcds_log_cursor *cursor,
                        bool (*visit)(void *context, const mcds_log_event *event),
                        void *context, mcds_log_info *info_out, mcds_pipeline *pipeline,
                        uint64_t tag)
{
    return launch_tail(NULL, log, cursor, visit, context, info_out, pipeline, tag);
}
