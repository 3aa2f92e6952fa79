/* Window mark: the beats of one visitor, so that of all clients that report it only one counts it
 * in each window. */
#include "core/tally/window_mark.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/frame.h"
#include "engine/line.h"
#include "engine/line_wait.h"

void mcds__window_mark_init(struct mcds__window_mark *window, uint64_t bucket, uint32_t span,
                            uint64_t ttl_ms)
{
    assert(span <= MCDS__BEATS_SPAN_MAX);
    mcds__mark_init(&window->mark, ttl_ms);
    window->bucket = bucket;
    window->span = span;
    window->before = window->after = window->written = (struct mcds__beats){0, 0};
    window->operation = NULL;
    window->followers = 0;
    window->verdict = MCDS_OK;
    window->is_decided = false;
}

/* The next beat of the same visitor in the line, or NULL. */
static struct mcds__window_mark *next_in_line(const struct mcds__window_mark *window)
{
    const struct mcds__operation *operation = window->operation;
    struct mcds__operation *next = operation->next_in_line;
    if (next == NULL || next->kind != operation->kind)
        return NULL;
    ptrdiff_t at = (const uint8_t *)window - (const uint8_t *)operation;
    struct mcds__window_mark *other = (void *)((uint8_t *)next + at);
    mcds_bytes key = mcds__key_bytes(&window->mark.key);
    mcds_bytes other_key = mcds__key_bytes(&other->mark.key);
    bool is_same = mcds__bytes_same(key, other_key) && window->span == other->span &&
                   window->mark.ttl_ms == other->mark.ttl_ms;
    return is_same ? other : NULL;
}

/* The beats that wait now are the group. */
static void gather_group(struct mcds__window_mark *window)
{
    window->followers = 0;
    for (const struct mcds__window_mark *other = next_in_line(window); other != NULL;
         other = next_in_line(other)) {
        assert(!other->is_decided);
        window->followers++;
    }
    window->operation->leads_line = window->followers > 0;
}

/* The next of a group. */
static struct mcds__window_mark *follower_of(const struct mcds__window_mark *window)
{
    struct mcds__window_mark *next = next_in_line(window);
    assert(next != NULL);
    return next;
}

/* Add the bucket of one of the group if a window must count it. Returns MCDS_OK, or the result of the
 * beat. */
static int add_beat(const struct mcds__window_mark *window, struct mcds__beats *beats)
{
    bool doubt = window->mark.doubt; /* it may have been written and replaced since */
    if (mcds__beats_is_late(beats, window->bucket))
        return doubt ? MCDS_AMBIGUOUS : MCDS_TOO_OLD;
    if (!mcds__beats_change(beats, window->bucket, window->span))
        return doubt ? MCDS_AMBIGUOUS : MCDS_EXISTS;
    *beats = mcds__beats_with(*beats, window->bucket);
    return MCDS_OK;
}

static void judge_beat(struct mcds__window_mark *window, struct mcds__beats *beats)
{
    window->before = *beats;
    window->verdict = add_beat(window, beats);
    window->after = *beats;
}

/* Add the buckets of the group to these beats; each of the group gets its verdict. */
static struct mcds__beats judge_group(struct mcds__window_mark *window,
                                      struct mcds__beats beats)
{
    struct mcds__window_mark *one = window;
    assert(window->followers == 0 || window->operation->uses_line);
    judge_beat(one, &beats);
    for (uint32_t i = 0; i < window->followers; i++) {
        one = follower_of(one);
        judge_beat(one, &beats);
    }
    return beats;
}

static int window_mark_judge(struct mcds__mark *mark, const uint64_t *stored)
{
    struct mcds__window_mark *window = (struct mcds__window_mark *)mark;
    const struct mcds__beats found = {stored[0], stored[1]};
    const struct mcds__beats none = {0, 0};
    if ((found.bits & 1) == 0)
        return MCDS_CORRUPT;
    if (stored[2] == mark->token) {
        /* The mark is that of this call's add: there was none before. */
        if (found.newest != window->written.newest || found.bits != window->written.bits)
            (void)judge_group(window, none);
        return MCDS_OK;
    }
    struct mcds__beats after = judge_group(window, found);
    if (window->verdict != MCDS_OK)
        return window->verdict;
    window->token_before = stored[2];
    window->written = after;
    mark->numbers[0] = after.newest;
    mark->numbers[1] = after.bits;
    return MCDS__MARK_REPLACE;
}

static const struct mcds__mark_kind window_mark_kind = {'O', 3, true, window_mark_judge};

/* Set the mark to add. The verdicts are those of the last cas, which may have been applied. */
static void set_first_beats(struct mcds__window_mark *window)
{
    const struct mcds__window_mark *one = window;
    struct mcds__beats beats = {window->bucket, 1};
    for (uint32_t i = 0; i < window->followers; i++) {
        one = follower_of(one);
        (void)add_beat(one, &beats);
    }
    window->mark.numbers[0] = beats.newest;
    window->mark.numbers[1] = beats.bits;
}

/* The reply to a write with the beats of the group was lost. */
static void doubt_group(struct mcds__window_mark *window, bool is_add)
{
    struct mcds__window_mark *one = window;
    for (uint32_t i = 0; i < window->followers; i++) {
        one = follower_of(one);
        one->mark.doubt = one->mark.doubt || is_add || one->verdict == MCDS_OK;
    }
}

/* The others of the group continue. Where nothing was written, these are only those before the first
 * that must be counted. Only the last bucket that was added can be undone. */
static void end_group(struct mcds__window_mark *window, bool is_written)
{
    struct mcds__window_mark *one = window, *last = window;
    assert(window->followers == 0 || window->operation->uses_line);
    for (uint32_t i = 0; i < window->followers; i++) {
        one = follower_of(one);
        if (!is_written && one->verdict == MCDS_OK)
            return;
        one->is_decided = true;
        if (one->verdict == MCDS_OK)
            last = one;
    }
    if (last == window)
        return;
    assert(is_written);
    last->token_before = window->mark.token;
    last->mark.cas = window->mark.cas;
    window->mark.cas = (mcds_cas_token){0, 0};
}

/* True: other beats of the visitor are under way. False: this is the first of its group. */
static bool window_mark_waits(struct mcds__window_mark *window,
                              struct mcds__operation *operation, enum mcds__step *step_out)
{
    if (operation->lines == NULL || operation->uses_line)
        return false;
    uint64_t place = mcds__lines_place(operation->lines, mcds__key_bytes(&window->mark.key));
    bool waits = window->mark.doubt ? mcds__line_waits_in_doubt(operation, place, step_out)
                                    : mcds__line_waits_alone(operation, place, step_out);
    window->followers = 0;
    if (!waits && operation->uses_line)
        gather_group(window);
    return waits;
}

static void window_mark_end(struct mcds__window_mark *window, struct mcds__operation *operation)
{
    const mcds_request *write = &window->mark.requests[0];
    bool is_written = operation->result == MCDS_OK;
    if (is_written && write->command == MCDS_ADD && write->reply.outcome == MCDS_OUT_OK)
        (void)judge_group(window, (struct mcds__beats){0, 0});
    assert(!is_written || (window->verdict == MCDS_OK && window->after.bits != 0));
    if (operation->result == MCDS_TOO_OLD)
        operation->detail = MCDS__WHY(BEAT_TOO_OLD);
    if (is_written || operation->result == MCDS_EXISTS || operation->result == MCDS_TOO_OLD)
        end_group(window, is_written);
    mcds__line_release(operation);
}

enum mcds__step mcds__window_mark_step(struct mcds__window_mark *window,
                                       struct mcds__operation *operation)
{
    enum mcds__step step;
    struct mcds__mark *mark = &window->mark;
    const mcds_request *write = &mark->requests[0];
    window->operation = operation;
    if (window->is_decided)
        return mcds__operation_explain(operation, window->verdict,
                                       window->verdict == MCDS_TOO_OLD ? MCDS__WHY(BEAT_TOO_OLD)
                                                                       : NULL);
    bool is_asked = mark->stage != MCDS__MARK_BEGIN;
    if (!is_asked && window_mark_waits(window, operation, &step))
        return step;
    if (!is_asked)
        set_first_beats(window);
    if (is_asked && write->reply.outcome == MCDS_OUT_UNKNOWN)
        doubt_group(window, write->command == MCDS_ADD);
    step = mcds__mark_step(mark, &window_mark_kind, operation);
    if (step == MCDS__DONE)
        window_mark_end(window, operation);
    return step;
}

mcds_request mcds__window_mark_undo(struct mcds__window_mark *window)
{
    mcds_request undo = mcds__mark_undo(&window->mark);
    if (window->before.bits == 0)
        return undo;
    const uint64_t numbers[] = {window->before.newest, window->before.bits,
                                window->token_before};
    undo.command = MCDS_CAS;
    undo.ttl_ms = window->mark.ttl_ms;
    undo.value = mcds__frame_seal_numbers(window->mark.value, window_mark_kind.type, 1,
                                          undo.key, numbers, 3);
    return undo;
}
