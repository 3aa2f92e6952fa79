/* Log: put events. Each chunk of time is a stream of records (core/segment). */
#include "structures/log/log.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "core/segment/line.h"

#define HELD_SCRATCH 160

enum { PUT_BEGIN, PUT_LOOK, PUT_ROOT, PUT_APPEND, PUT_NEXT_LIFE, PUT_END_LIFE, PUT_CONFIRM };

struct log_put {
    struct mcds__operation base;
    mcds_log *log;
    int64_t when_ms;
    int64_t filed_ms; /* of the last batch of events */
    int64_t began_ns; /* of the batch of events in flight */
    uint64_t life;    /* in which they are put */
    uint8_t lives;
    bool has_made_again; /* this put has added the lost root of `life` again, or may have */
    bool doubt;          /* they may be stored in a life that has ended */
    const mcds_bytes *events;
    size_t count;
    size_t *put_out;  /* output: how many have been put; may be NULL */
    size_t under_way; /* how many are in the append */
    uint8_t stage;
    struct mcds__log_begin begin;
    struct mcds__log_next_life next_life;
    struct mcds__segment_append append;
    mcds_bytes own; /* a single event in a pipeline, copied into */
    mcds_buffer held;
    uint8_t held_scratch[HELD_SCRATCH];
};

static void release_put(struct mcds__operation *operation)
{
    struct log_put *put = (struct log_put *)operation;
    if (put->append.segments != NULL)
        mcds__segment_append_free(&put->append);
    mcds__buffer_free(&put->held);
}

static enum mcds__step step_put(struct mcds__operation *operation);

/* Returns MCDS_OK and the time under which the events are filed, or why a log with these settings
 * does not accept them. */
static int judge(struct log_put *put, const struct mcds__log_settings *settings,
                 int64_t *filed_out)
{
    int64_t now_ms = mcds__wall_ms(put->base.env);
    bool by_arrival = (settings->flags & MCDS_LOG_BY_ARRIVAL) != 0;
    *filed_out = by_arrival || put->when_ms == 0 ? now_ms : put->when_ms;
    /* A clock that is set back during the call does not change the order of its events. */
    if (*filed_out == now_ms && put->filed_ms > now_ms)
        *filed_out = put->filed_ms;
    return mcds__log_judge(&put->base, settings, *filed_out, now_ms);
}

/* The events may be stored in this life, or in one that has ended. */
static bool is_in_doubt(const struct log_put *put)
{
    return put->doubt || (put->under_way > 0 && put->append.doubt);
}

/* Adds to the append as many events as fit into one batch, unless they were refused. */
static enum mcds__step put_events(struct log_put *put, uint64_t life, int result,
                                  int64_t filed_ms)
{
    assert(put->under_way == 0);
    uint8_t flags = MCDS__SEGMENT_FILED;
    if (put->when_ms != 0 && put->when_ms != filed_ms)
        flags |= MCDS__SEGMENT_STAMPED;
    if (put->append.segments == NULL)
        mcds__segment_append_begin(&put->append, &put->log->segments, 0,
                                   mcds__log_ttl_ms(&put->log->settings));
    else
        mcds__segment_append_again(&put->append);
    while (result == MCDS_OK && put->count > 0 &&
           mcds__segment_append_fits(&put->append, put->events->length)) {
        result = mcds__segment_append_put(&put->append, flags, filed_ms, put->when_ms,
                                          *put->events);
        put->events++;
        put->count--;
        put->under_way++;
    }
    if (result != MCDS_OK)
        return mcds__operation_finish(&put->base, result);
    uint64_t chunk = mcds__log_chunk(put->log, filed_ms);
    (void)mcds__segment_append_move(&put->append, mcds__log_stream(mcds__log_stem(life), chunk),
                                    true);
    put->life = life;
    put->filed_ms = filed_ms;
    put->began_ns = mcds__operation_now_ns(&put->base);
    put->stage = PUT_APPEND;
    return step_put(&put->base);
}

/* The current life is known again. Events of another life do not count, and are put again. */
static enum mcds__step go_on_in(struct log_put *put, uint64_t life)
{
    if (put->under_way > 0 && life == put->life) {
        mcds__segment_append_resume(&put->append);
        put->stage = PUT_APPEND;
    } else {
        put->doubt = is_in_doubt(put);
        put->events -= put->under_way;
        put->count += put->under_way;
        put->under_way = 0;
        put->stage = PUT_BEGIN;
    }
    return step_put(&put->base);
}

static enum mcds__step log_go_on(struct log_put *put)
{
    atomic_store_explicit(&put->log->generation.seen_ns, put->base.sent_ns,
                          memory_order_relaxed);
    if (put->put_out != NULL)
        *put->put_out += put->under_way;
    put->under_way = 0;
    put->doubt = false;
    if (put->count == 0)
        return mcds__operation_finish(&put->base, MCDS_OK);
    mcds__operation_note_stored(&put->base);
    mcds__operation_renew(&put->base);
    put->stage = PUT_BEGIN;
    return step_put(&put->base);
}

/* A reader that follows the log waits this long for late events. */
static bool took_too_long(const struct log_put *put)
{
    int64_t took_ns = mcds__line_now_ns(&put->base) - put->began_ns;
    return took_ns > MCDS__LOG_SETTLE_MS * NS_PER_MS;
}

/* Finds out whether the life was dropped, and which is the current one. */
static void begin_next_life(struct log_put *put)
{
    put->stage = PUT_NEXT_LIFE;
    mcds__log_next_life_begin(&put->next_life, put->log, mcds__log_stem(put->life));
}

static enum mcds__step log_take_append(struct log_put *put, enum mcds__step step)
{
    assert(put->stage == PUT_APPEND);
    if (step != MCDS__DONE)
        return step;
    if (put->append.ended && put->lives++ < MCDS__LOG_LIVES_MAX) {
        begin_next_life(put);
        return step_put(&put->base);
    }
    if (put->base.result != MCDS_OK)
        return step;
    if (took_too_long(put))
        return mcds__operation_explain(&put->base, MCDS_AMBIGUOUS, MCDS__WHY(LOG_LATE));
    return log_go_on(put);
}

/* The settings to make the log with: those that this handle knows, if it knows any. */
static struct mcds__log_settings settings_of(const mcds_log *log)
{
    return atomic_load(&log->is_ready) ? log->settings : mcds__log_complete(&log->wanted);
}

/* There is no log. An event that is refused does not make it. */
static enum mcds__step make_root(struct log_put *put, uint64_t life)
{
    struct mcds__log_settings settings = settings_of(put->log);
    int64_t filed_ms;
    int result = judge(put, &settings, &filed_ms);
    if (result != MCDS_OK)
        return mcds__operation_finish(&put->base, result);
    put->stage = PUT_ROOT;
    mcds__log_begin(&put->begin, put->log);
    put->begin.root.count = mcds__log_encode(&settings, put->begin.root.settings);
    put->begin.root.number = life;
    put->begin.root.is_again = life == put->life &&
                               mcds__store_can(put->base.store).compare_and_set;
    return step_put(&put->base);
}

/* Changes the root of `begin`: erases it, or confirms it. */
static enum mcds__step change_root(struct log_put *put, uint8_t stage)
{
    assert(stage == PUT_END_LIFE || stage == PUT_CONFIRM);
    if (put->lives++ == MCDS__LOG_LIVES_MAX)
        return mcds__operation_explain(&put->base, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    put->has_made_again = false;
    put->stage = stage;
    return step_put(&put->base);
}

/* The root that this call has added may have been dropped before the call saw it: the next try must
 * not add the same life again, in which dropped events would count. */
static void add_no_life_twice(struct log_put *put)
{
    assert(put->begin.root.number != 0);
    if (put->begin.root.number == put->life)
        begin_next_life(put);
    else if (!put->begin.judges)
        put->begin.root.number = 0;
}

static enum mcds__step log_take_root(struct log_put *put, enum mcds__step step)
{
    bool has_made = step != MCDS__ASK && put->stage == PUT_ROOT &&
                    mcds__root_may_be_made(&put->begin.root);
    put->has_made_again = put->has_made_again ||
                          (has_made && put->begin.root.number == put->life);
    if (step == MCDS__SLEEP && put->stage == PUT_ROOT && put->begin.root.number != 0)
        add_no_life_twice(put);
    if (step == MCDS__DONE && put->base.result == MCDS_NOT_FOUND)
        return put->begin.is_dropped ? change_root(put, PUT_END_LIFE)
                                     : make_root(put, mcds__random_u64(put->base.env) | 1);
    if (step != MCDS__DONE || put->base.result != MCDS_OK)
        return step;
    mcds__line_release(&put->base);
    if (put->begin.root.is_again)
        return change_root(put, PUT_CONFIRM);
    if (!put->has_made_again)
        return go_on_in(put, put->begin.root.number);
    put->has_made_again = false;
    begin_next_life(put);
    return step_put(&put->base);
}

/* The life was dropped, and its root was added after that: it is erased. Or its root was lost and
 * added again, and is confirmed. */
static enum mcds__step take_changed_root(struct log_put *put, enum mcds__step step)
{
    assert(put->stage == PUT_END_LIFE || put->stage == PUT_CONFIRM);
    uint64_t life = put->stage == PUT_CONFIRM ? put->begin.root.number : 0;
    if (step != MCDS__DONE || put->base.result != MCDS_OK)
        return step;
    if (life != 0 && !put->begin.root.is_again &&
        life == atomic_load(&put->log->generation.known))
        return go_on_in(put, life);
    put->stage = PUT_BEGIN;
    if (put->life != 0)
        begin_next_life(put);
    else
        atomic_store(&put->log->generation.known, 0);
    return step_put(&put->base);
}

/* The life has ended, or its root was missing. A root that the store has lost is made again; all
 * events of its life are then readable as before. */
static enum mcds__step take_next_life(struct log_put *put, enum mcds__step step)
{
    assert(put->stage == PUT_NEXT_LIFE);
    if (step != MCDS__DONE)
        return step;
    if (put->next_life.was_dropped)
        mcds__generation_forget_former(&put->log->generation, put->life);
    uint64_t life = put->next_life.begin.root.number;
    if (put->base.result == MCDS_OK && put->next_life.was_dropped && life == put->life) {
        put->begin = put->next_life.begin;
        return change_root(put, PUT_END_LIFE);
    }
    if (put->base.result == MCDS_OK && put->next_life.begin.root.is_again) {
        put->begin = put->next_life.begin;
        return change_root(put, PUT_CONFIRM);
    }
    if (put->base.result == MCDS_OK)
        return go_on_in(put, life);
    if (put->base.result != MCDS_NOT_FOUND)
        return step;
    return make_root(put, put->next_life.was_dropped ? mcds__random_u64(put->base.env) | 1
                                                     : put->life);
}

/* Of the operations of a pipeline, one reads the root, and the others wait for it. */
static bool waits_for_root(struct log_put *put, uint64_t life, enum mcds__step *step_out)
{
    uint64_t line = mcds__segment_line(&put->log->segments, 0, MCDS__SEGMENT_LINE_ROOT);
    return life == 0 ? mcds__line_waits_alone(&put->base, line, step_out)
                     : mcds__line_waits_after(&put->base, line, step_out);
}

static bool log_waits_for_room(struct log_put *put, uint64_t life, int64_t filed_ms,
                               enum mcds__step *step_out)
{
    uint64_t stream = mcds__log_stream(mcds__log_stem(life),
                                       mcds__log_chunk(put->log, filed_ms));
    uint64_t line = mcds__segment_line(&put->log->segments, stream, MCDS__SEGMENT_LINE_END);
    atomic_store_explicit(&put->log->room, line, memory_order_relaxed);
    return mcds__line_waits(&put->base, line, put->events->length + MCDS__SEGMENT_OVERHEAD,
                            step_out);
}

/* Where others wait for room, this put waits too, before it reads the clock. */
static bool waits_after_others(struct log_put *put, uint64_t life, enum mcds__step *step_out)
{
    uint64_t line = atomic_load_explicit(&put->log->room, memory_order_relaxed);
    return waits_for_root(put, life, step_out) ||
           (line != 0 && mcds__line_waits_after(&put->base, line, step_out));
}

/* Its events get their time after it has waited: a follower of the log does not wait for them. */
static enum mcds__step begin_put(struct log_put *put)
{
    enum mcds__step step;
    int64_t filed_ms;
    uint64_t life = atomic_load(&put->log->generation.known);
    bool may_wait = !put->doubt && put->lives == 0;
    if (put->count == 0)
        return mcds__operation_finish(&put->base, MCDS_OK);
    if (may_wait && waits_after_others(put, life, &step))
        return step;
    if (life == 0) {
        put->stage = PUT_LOOK;
        mcds__log_begin(&put->begin, put->log);
        return step_put(&put->base);
    }
    int result = judge(put, &put->log->settings, &filed_ms);
    if (may_wait && log_waits_for_room(put, life, filed_ms, &step))
        return step;
    return put_events(put, life, result, filed_ms);
}

static enum mcds__step log_step_stage(struct log_put *put, struct mcds__operation *operation)
{
    switch (put->stage) {
    case PUT_BEGIN:
        return begin_put(put);
    case PUT_LOOK:
        return log_take_root(put, mcds__log_begin_step(&put->begin, false, operation));
    case PUT_ROOT:
        return log_take_root(put, mcds__log_begin_step(&put->begin, true, operation));
    case PUT_NEXT_LIFE:
        return take_next_life(put, mcds__log_next_life_step(&put->next_life, operation));
    case PUT_END_LIFE:
        return take_changed_root(
            put, mcds__root_change_step(&put->begin.root, operation, MCDS__ROOT_ERASE));
    case PUT_CONFIRM:
        return take_changed_root(
            put, mcds__root_change_step(&put->begin.root, operation, MCDS__ROOT_CONFIRM));
    default:
        return log_take_append(put, mcds__segment_append_step(&put->append, operation));
    }
}

static enum mcds__step step_put(struct mcds__operation *operation)
{
    struct log_put *put = (struct log_put *)operation;
    enum mcds__step step = log_step_stage(put, operation);
    if (step == MCDS__DONE && operation->result != MCDS_OK && is_in_doubt(put))
        operation->result = MCDS_AMBIGUOUS;
    return step;
}

static const struct mcds__operation_kind put_kind = {"log", "put", sizeof(struct log_put),
                                                     step_put, release_put};
static const struct mcds__operation_kind put_many_kind = {
    "log", "put_many", sizeof(struct log_put), step_put, release_put};

static int check_events(const mcds_log *log, const struct mcds__operation_kind *kind,
                        int64_t when_ms, const mcds_bytes *events, size_t count)
{
    if (log == NULL || (events == NULL && count > 0))
        return mcds__fail_missing("log", kind->verb, "a log and its events");
    if (when_ms < 0 || when_ms >= INT64_C(1) << 47)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, MCDS__CALL(kind, log->handle.name),
                          .option = "when_ms", .wanted = "in the years 1970 to 6429",
                          .wanted_max = (INT64_C(1) << 47) - 1, .found_number = when_ms);
    return mcds__check_payloads(kind, log->handle.name, "event", MCDS__SEGMENT_LARGE_MAX,
                                events, count);
}

static int launch_put(const struct mcds__operation_kind *kind, mcds_log *log, int64_t when_ms,
                      const mcds_bytes *events, size_t count, size_t *put_out,
                      const struct mcds__start *start)
{
    int result = check_events(log, kind, when_ms, events, count);
    if (put_out != NULL)
        *put_out = 0;
    if (result != MCDS_OK)
        return result;
    struct log_put own;
    struct log_put *put = mcds__call_begin(&own.base, kind, &log->handle, start, &result);
    if (put == NULL)
        return result;
    put->log = log;
    put->when_ms = when_ms;
    put->filed_ms = INT64_MIN;
    put->events = events;
    put->count = count;
    put->put_out = put_out;
    put->under_way = 0;
    put->life = 0;
    put->lives = 0;
    put->doubt = put->has_made_again = false;
    put->stage = PUT_BEGIN;
    put->append.segments = NULL;
    mcds__buffer_init_in(&put->held, put->base.env, (size_t)MCDS__SEGMENT_LARGE_MAX,
                         put->held_scratch, sizeof put->held_scratch);
    if (start != NULL && kind == &put_kind) {
        if (!mcds_buffer_append(&put->held, events->data, events->length)) {
            mcds__operation_free(&put->base);
            mcds__call_forget(start, put);
            return mcds__fail_memory("log", log->handle.name, "put");
        }
        put->own = (mcds_bytes){put->held.data, put->held.length};
        put->events = &put->own;
    }
    return mcds__call_launch(&put->base, start);
}

int mcds_log_put_start(mcds_log *log, int64_t when_ms, mcds_bytes event,
                       mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_put(&put_kind, log, when_ms, &event, 1, NULL, MCDS__START(pipeline, tag));
}

int mcds_log_put(mcds_log *log, int64_t when_ms, mcds_bytes event)
{
    return mcds_log_put_start(log, when_ms, event, MCDS__WAIT, 0);
}

int mcds_log_put_many_start(mcds_log *log, int64_t when_ms, const mcds_bytes *events,
                            size_t count, size_t *put_out, mcds_pipeline *pipeline,
                            uint64_t tag)
{
    return launch_put(&put_many_kind, log, when_ms, events, count, put_out,
                      MCDS__START(pipeline, tag));
}

int mcds_log_put_many(mcds_log *log, int64_t when_ms, const mcds_bytes *events, size_t count,
                      size_t *put_out)
{
    return mcds_log_put_many_start(log, when_ms, events, count, put_out, MCDS__WAIT, 0);
}
