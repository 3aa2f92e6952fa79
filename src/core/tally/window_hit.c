/* Window hit: write the mark of a visitor, then add to each window that has not counted it. */
#include "core/tally/window_hit.h"

#include <assert.h>

#include "base/environment.h"
#include "base/number.h"

/* A number that vanishes between its add and its increment was evicted. A store that evicts it this
 * often in a row has no room for it. */
#define REPEATS_MAX 6

enum { BEGIN, MARK, COUNT, REPEAT, UNDO };
enum { PRESENT, MISSING, COUNTED }; /* of a number: as far as this call knows */

void mcds__window_hit_init(struct mcds__window_hit *hit, uint64_t bucket, uint32_t span,
                           uint64_t ttl_ms)
{
    mcds__window_mark_init(&hit->mark, bucket, span, ttl_ms);
    hit->stage = BEGIN;
    hit->counted = false;
    hit->doubt = false;
    hit->offset = 0;
    hit->count = 0;
}

/* Chooses the next windows that must count the visitor. Returns false when no window is left. */
static bool window_hit_choose_windows(struct mcds__window_hit *hit)
{
    const struct mcds__window_mark *mark = &hit->mark;
    hit->count = 0;
    hit->repeats = 0;
    for (; hit->offset <= mark->span && hit->count < MCDS__WINDOW_HIT_KEYS; hit->offset++) {
        uint64_t bucket = mark->bucket + hit->offset;
        uint64_t delta = mcds__beats_delta(&mark->before, &mark->after, bucket, mark->span);
        if (delta == 0)
            continue;
        struct mcds__window_hit_count *window = &hit->windows[hit->count++];
        window->key = hit->counts;
        mcds__key_add_number(&window->key, bucket);
        window->bucket = bucket;
        window->delta = delta;
        window->state = PRESENT;
    }
    return hit->count > 0;
}

static enum mcds__step window_hit_ask_counts(struct mcds__window_hit *hit,
                                             struct mcds__operation *operation)
{
    uint32_t count = 0;
    hit->incarnation = mcds__wall_s(operation->env);
    for (uint32_t i = 0; i < hit->count; i++) {
        struct mcds__window_hit_count *window = &hit->windows[i];
        if (window->state == COUNTED)
            continue;
        mcds_request *request = &hit->requests[count++];
        *request = (mcds_request){
            .command = MCDS_INCR,
            .key = mcds__key_bytes(&window->key),
            .delta = window->delta,
        };
        if (window->state == MISSING) {
            request->command = MCDS_ADD;
            request->flags = hit->incarnation;
            request->ttl_ms = hit->mark.mark.ttl_ms;
            request->value = (mcds_bytes){window->text,
                                          mcds__format_u64(window->delta, window->text)};
        }
    }
    hit->stage = COUNT;
    (void)mcds__operation_ask_any_order(operation, hit->requests, count);
    return mcds__operation_share(operation);
}

/* The visitor is certainly counted in no window: the mark is undone, so that a later hit counts. */
static enum mcds__step window_hit_begin_undo(struct mcds__window_hit *hit,
                                             struct mcds__operation *operation)
{
    if (!mcds__mark_can_undo(&hit->mark.mark))
        return mcds__operation_finish(operation, MCDS_AMBIGUOUS);
    hit->stage = UNDO;
    hit->result = operation->result;
    hit->requests[0] = mcds__window_mark_undo(&hit->mark);
    operation->connection = hit->mark.mark.cas.connection;
    return mcds__operation_ask_repeatable(operation, hit->requests, 1);
}

static enum mcds__step window_hit_end_failed(struct mcds__window_hit *hit,
                                             struct mcds__operation *operation)
{
    if (hit->counted || hit->doubt)
        return mcds__operation_finish(operation, MCDS_AMBIGUOUS);
    return window_hit_begin_undo(hit, operation);
}

/* Take the reply to the request of one window. False: it is a failure that no repetition mends. */
static bool window_hit_take_count(struct mcds__window_hit *hit,
                                  struct mcds__window_hit_count *window,
                                  struct mcds__operation *operation, const mcds_reply *reply)
{
    bool added = window->state == MISSING;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        window->state = COUNTED;
        hit->counted = true;
        if (added)
            (void)mcds__tally_remember(&hit->memories[window->bucket % hit->memory_count],
                                       window->bucket, hit->incarnation);
        return true;
    case MCDS_OUT_MISS:
    case MCDS_OUT_NOT_STORED:
        window->state = added ? PRESENT : MISSING;
        return true;
    case MCDS_OUT_UNKNOWN:
        window->state = COUNTED;
        hit->doubt = true;
        (void)mcds__operation_fail(operation, reply);
        return true;
    case MCDS_OUT_UNSENT:
        return true;
    default:
        (void)mcds__operation_fail(operation, reply);
        return false;
    }
}

static enum mcds__step window_hit_take_counts(struct mcds__window_hit *hit,
                                              struct mcds__operation *operation)
{
    const mcds_reply *unsent = NULL;
    bool failed = false;
    uint32_t left = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < hit->count; i++) {
        struct mcds__window_hit_count *window = &hit->windows[i];
        if (window->state == COUNTED)
            continue;
        const mcds_reply *reply = &hit->requests[at++].reply;
        failed = !window_hit_take_count(hit, window, operation, reply) || failed;
        left += window->state != COUNTED;
        if (reply->outcome == MCDS_OUT_UNSENT)
            unsent = reply;
    }
    if (failed)
        return window_hit_end_failed(hit, operation);
    if (unsent != NULL) {
        hit->stage = REPEAT;
        if (mcds__operation_again(operation))
            return MCDS__SLEEP;
        (void)mcds__operation_fail(operation, unsent);
        return window_hit_end_failed(hit, operation);
    }
    if (left > 0 && hit->repeats++ == REPEATS_MAX) {
        (void)mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(KEY_VANISHES));
        return window_hit_end_failed(hit, operation);
    }
    if (left > 0 || window_hit_choose_windows(hit))
        return window_hit_ask_counts(hit, operation);
    return mcds__operation_finish(operation, hit->doubt ? MCDS_AMBIGUOUS : MCDS_OK);
}

static enum mcds__step window_hit_end_undo(const struct mcds__window_hit *hit,
                                           struct mcds__operation *operation)
{
    bool undone = hit->requests[0].reply.outcome == MCDS_OUT_OK;
    return mcds__operation_finish(operation, undone ? hit->result : MCDS_AMBIGUOUS);
}

enum mcds__step mcds__window_hit_step(struct mcds__window_hit *hit,
                                      struct mcds__operation *operation)
{
    if (hit->stage == UNDO)
        return window_hit_end_undo(hit, operation);
    if (hit->stage == COUNT)
        return window_hit_take_counts(hit, operation);
    if (hit->stage == REPEAT)
        return window_hit_ask_counts(hit, operation);
    hit->stage = MARK;
    enum mcds__step step = mcds__window_mark_step(&hit->mark, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    bool counts = window_hit_choose_windows(hit);
    assert(counts); /* else the mark would not have been written */
    return counts ? window_hit_ask_counts(hit, operation) : step;
}
