/* Log: events with a time, kept for a while (core part): putting them. */
#include "structures/log.h"

#include <stdatomic.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"

#define HELD_ROOM 160

enum { PUT_BEGIN, PUT_LOOK, PUT_ROOT, PUT_APPEND, PUT_HEAL };

struct log_put {
    struct mcds__operation base;
    mcds_log *log;
    int64_t when_ms;
    int64_t began_ns; /* the batch of events that is under way */
    const mcds_bytes *events;
    size_t count;
    size_t *put_out;  /* how many have been put, for the caller; NULL: not wanted */
    size_t under_way; /* how many are in the append */
    uint8_t stage;
    struct mcds__log_begin begin;
    struct mcds__part_append append;
    mcds_bytes own; /* a single event in a pipeline, copied into */
    mcds_buffer held;
    uint8_t held_room[HELD_ROOM];
};

static void release_put(struct mcds__operation *operation)
{
    struct log_put *put = (struct log_put *)operation;
    if (put->append.parts != NULL)
        mcds__part_append_free(&put->append);
    mcds__buffer_free(&put->held);
}

static enum mcds__step step_put(struct mcds__operation *operation);

/* MCDS_OK, and under which time the events are filed; or why a log with these settings does not
 * take them. */
static int judge(const struct log_put *put, const struct mcds__log_settings *settings,
                 int64_t *filed_out)
{
    int64_t now_ms = mcds__wall_ms(put->base.env);
    bool by_arrival = (settings->flags & MCDS_LOG_BY_ARRIVAL) != 0;
    *filed_out = by_arrival || put->when_ms == 0 ? now_ms : put->when_ms;
    if (*filed_out < now_ms - (int64_t)settings->late_ms)
        return MCDS_TOO_OLD;
    if (*filed_out > now_ms + (int64_t)settings->ahead_ms)
        return MCDS_TOO_FUTURE;
    return MCDS_OK;
}

/* As many events as share a batch. */
static enum mcds__step put_events(struct log_put *put)
{
    int64_t filed_ms;
    int result = judge(put, &put->log->settings, &filed_ms);
    uint8_t flags = MCDS__PART_FILED;
    if (put->when_ms != 0 && put->when_ms != filed_ms)
        flags |= MCDS__PART_STAMPED;
    if (put->append.parts == NULL)
        mcds__part_append_begin(&put->append, &put->log->parts, 0,
                                mcds__log_ttl_ms(&put->log->settings));
    else
        mcds__part_append_again(&put->append);
    while (result == MCDS_OK && put->count > 0 &&
           mcds__part_append_fits(&put->append, put->events->length)) {
        result = mcds__part_append_put(&put->append, flags, filed_ms, put->when_ms,
                                       *put->events);
        put->events++;
        put->count--;
        put->under_way++;
    }
    if (result != MCDS_OK)
        return mcds__operation_finish(&put->base, result);
    (void)mcds__part_append_move(&put->append, mcds__log_chunk(put->log, filed_ms), true);
    put->began_ns = mcds__operation_now_ns(&put->base);
    put->stage = PUT_APPEND;
    return mcds__part_append_step(&put->append, &put->base);
}

static enum mcds__step go_on(struct log_put *put)
{
    if (put->put_out != NULL)
        *put->put_out += put->under_way;
    put->under_way = 0;
    if (put->count == 0)
        return mcds__operation_finish(&put->base, MCDS_OK);
    mcds__operation_note_result(&put->base);
    mcds__operation_renew(&put->base);
    put->stage = PUT_BEGIN;
    return step_put(&put->base);
}

/* A reader who follows the log gives late events so much time. */
static bool took_too_long(const struct log_put *put)
{
    int64_t took_ns = mcds__monotonic_ns(put->base.env) - put->began_ns;
    return took_ns > MCDS__LOG_SETTLE_MS * NS_PER_MS;
}

static enum mcds__step take_append(struct log_put *put, enum mcds__step step)
{
    if (step != MCDS__DONE || put->base.result != MCDS_OK)
        return step;
    if (took_too_long(put))
        return mcds__operation_explain(&put->base, MCDS_AMBIGUOUS, MCDS__WHY(LOG_LATE));
    if (!put->append.made)
        return go_on(put);
    /* Who makes a part looks after the root, so that its settings are not forgotten. */
    put->stage = PUT_HEAL;
    mcds__log_begin(&put->begin, put->log);
    put->begin.root.count = mcds__log_encode(&put->log->settings, put->begin.root.settings);
    put->begin.root.number = atomic_load(&put->log->generation.known);
    return step_put(&put->base);
}

/* There is no log: an event that is refused does not make it. */
static enum mcds__step make_root(struct log_put *put)
{
    struct mcds__log_settings settings = mcds__log_complete(&put->log->wanted);
    int64_t filed_ms;
    int result = judge(put, &settings, &filed_ms);
    if (result != MCDS_OK)
        return mcds__operation_finish(&put->base, result);
    put->stage = PUT_ROOT;
    mcds__log_begin(&put->begin, put->log);
    put->begin.root.number = mcds__random_u64(put->base.env) | 1;
    return step_put(&put->base);
}

static enum mcds__step take_root(struct log_put *put, enum mcds__step step)
{
    if (step == MCDS__DONE && put->base.result == MCDS_NOT_FOUND)
        return make_root(put);
    if (step != MCDS__DONE || put->base.result != MCDS_OK)
        return step;
    atomic_store(&put->log->generation.known, put->begin.root.number);
    put->stage = PUT_BEGIN;
    return step_put(&put->base);
}

static enum mcds__step take_heal(struct log_put *put, enum mcds__step step)
{
    if (step != MCDS__DONE)
        return step;
    if (put->base.result == MCDS_INVALID || put->base.result == MCDS_LOST)
        return step;
    return go_on(put);
}

static enum mcds__step step_put(struct mcds__operation *operation)
{
    struct log_put *put = (struct log_put *)operation;
    switch (put->stage) {
    case PUT_BEGIN:
        if (put->count == 0)
            return mcds__operation_finish(operation, MCDS_OK);
        if (atomic_load(&put->log->is_ready))
            return put_events(put);
        put->stage = PUT_LOOK;
        mcds__log_begin(&put->begin, put->log);
        return step_put(operation);
    case PUT_LOOK:
        return take_root(put, mcds__log_begin_step(&put->begin, false, operation));
    case PUT_ROOT:
        return take_root(put, mcds__log_begin_step(&put->begin, true, operation));
    case PUT_HEAL:
        return take_heal(put, mcds__log_begin_step(&put->begin, true, operation));
    default:
        return take_append(put, mcds__part_append_step(&put->append, operation));
    }
}

static const struct mcds__operation_kind put_kind = {"log", "put", sizeof(struct log_put),
                                                     step_put};
static const struct mcds__operation_kind put_many_kind = {"log", "put_many",
                                                          sizeof(struct log_put), step_put};

static int check_events(const mcds_log *log, const struct mcds__operation_kind *kind,
                        int64_t when_ms, const mcds_bytes *events, size_t count)
{
    if (log == NULL || (events == NULL && count > 0))
        return mcds__fail_missing("log", kind->verb, "a log and its events");
    if (when_ms < 0 || when_ms >= INT64_C(1) << 47)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "log", .name = log->name,
                          .verb = kind->verb, .option = "when_ms",
                          .wanted = "in the years 1970 to 6429",
                          .wanted_max = (INT64_C(1) << 47) - 1, .found_number = when_ms);
    for (size_t i = 0; i < count; i++) {
        if (events[i].at == NULL && events[i].length > 0)
            return mcds__fail_why(MCDS_INVALID, MCDS__WHY(EVENT_MISSING), .noun = "log",
                                  .name = log->name, .verb = kind->verb);
        if (events[i].length > MCDS__PART_LARGE_MAX)
            return mcds__fail(MCDS_TOO_BIG, TOO_BIG, .noun = "log", .name = log->name,
                              .verb = kind->verb, .option = "event", .wanted = "64 MB",
                              .wanted_max = MCDS__PART_LARGE_MAX,
                              .found_number = mcds__clamped(events[i].length));
    }
    return MCDS_OK;
}

static int launch_put(struct log_put *put, const struct mcds__operation_kind *kind,
                      mcds_log *log, int64_t when_ms, const mcds_bytes *events, size_t count,
                      size_t *put_out, mcds_pipeline *pipeline, uint64_t tag)
{
    int result = check_events(log, kind, when_ms, events, count);
    if (put_out != NULL)
        *put_out = 0;
    bool is_waiting = put != NULL;
    if (result != MCDS_OK)
        return result;
    if (put == NULL)
        put = mcds__pipeline_new(pipeline, &log->handle, kind, &result);
    if (put == NULL)
        return result;
    mcds__operation_begin(&put->base, kind, log->store, log->name, 0);
    put->log = log;
    put->when_ms = when_ms;
    put->events = events;
    put->count = count;
    put->put_out = put_out;
    put->under_way = 0;
    put->stage = PUT_BEGIN;
    put->append.parts = NULL;
    mcds__buffer_init_in(&put->held, put->base.env, (size_t)MCDS__PART_LARGE_MAX,
                         put->held_room, sizeof put->held_room);
    put->base.release = release_put;
    if (!is_waiting && kind == &put_kind) {
        if (!mcds_buffer_append(&put->held, events->at, events->length)) {
            mcds__operation_free(&put->base);
            mcds__pipeline_forget(pipeline, put);
            return mcds__fail_memory("log", log->name, "put");
        }
        put->own = (mcds_bytes){put->held.at, put->held.length};
        put->events = &put->own;
    }
    return mcds__launch(&put->base, pipeline, tag);
}

int mcds_log_put(mcds_log *log, int64_t when_ms, mcds_bytes event)
{
    struct log_put put;
    return launch_put(&put, &put_kind, log, when_ms, &event, 1, NULL, NULL, 0);
}

int mcds_log_put_start(mcds_log *log, int64_t when_ms, mcds_bytes event,
                       mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_put(NULL, &put_kind, log, when_ms, &event, 1, NULL, pipeline, tag);
}

int mcds_log_put_many(mcds_log *log, int64_t when_ms, const mcds_bytes *events, size_t count,
                      size_t *put_out)
{
    struct log_put put;
    return launch_put(&put, &put_many_kind, log, when_ms, events, count, put_out, NULL, 0);
}

int mcds_log_put_many_start(mcds_log *log, int64_t when_ms, const mcds_bytes *events,
                            size_t count, size_t *put_out, mcds_pipeline *pipeline,
                            uint64_t tag)
{
    return launch_put(NULL, &put_many_kind, log, when_ms, events, count, put_out, pipeline,
                      tag);
}

static void destroy_log(struct mcds__handle *handle)
{
    mcds_log *log = (mcds_log *)handle;
    const mcds_env *env = mcds__store_env(log->store);
    if (atomic_load(&log->is_ready))
        mcds__parts_destroy(&log->parts);
    (void)pthread_mutex_destroy(&log->mutex);
    mcds__free(env, log->name);
    mcds__free(env, log);
}

void mcds__log_add_info(mcds_log_info *info_out, uint64_t gaps, uint64_t corrupt)
{
    mcds_log_info info;
    if (info_out == NULL)
        return;
    mcds__sized_take(MCDS__SIZED_mcds_log_info, info_out, &info);
    info.gaps += gaps;
    info.corrupt += corrupt;
    mcds__sized_write(MCDS__SIZED_mcds_log_info, info_out, &info);
}

int mcds_log_open(mcds_store *store, const char *name, const mcds_log_options *options,
                  mcds_log **log_out)
{
    mcds_log_options own;
    struct mcds__key key;
    int result = mcds__check_open("log", store, name, log_out);
    if (result == MCDS_OK)
        result = mcds__sized_read(MCDS__SIZED_mcds_log_options, options, &own);
    if (result != MCDS_OK)
        return result;
    struct mcds__log_settings wanted = {
        .flags = own.flags,
        .late_ms = own.late_ms,
        .ahead_ms = own.ahead_ms,
        .retention_ms = own.retention_ms,
        .chunk_ms = own.chunk_ms,
    };
    result = mcds__log_check(name, &wanted);
    if (result != MCDS_OK)
        return result;
    const mcds_env *env = mcds__store_env(store);
    mcds_log *log = mcds__allocate_zero(env, sizeof *log);
    char *own_name = mcds__copy_string(env, name);
    if (log == NULL || own_name == NULL) {
        mcds__free(env, log);
        mcds__free(env, own_name);
        return mcds__fail_memory("log", name, NULL);
    }
    log->store = store;
    log->name = own_name;
    log->wanted = wanted;
    mcds__key_begin(&key, mcds__store_ns(store), MCDS__TAG_LOG, name);
    mcds__generation_init(&log->generation, store, &key, MCDS__KIND_LOG);
    (void)pthread_mutex_init(&log->mutex, NULL);
    atomic_init(&log->is_ready, false);
    mcds__handle_begin(&log->handle, store, destroy_log);
    *log_out = log;
    return MCDS_OK;
}

void mcds_log_close(mcds_log *log)
{
    if (log != NULL)
        mcds__handle_release(&log->handle);
}
