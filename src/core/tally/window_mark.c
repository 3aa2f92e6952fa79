/* Window mark: the beats of one visitor, so that of all clients that report it only one counts it
 * in each window. */
#include "core/tally/window_mark.h"

#include <assert.h>

#include "base/frame.h"

void mcds__window_mark_init(struct mcds__window_mark *window, uint64_t bucket, uint32_t span,
                            uint64_t ttl_ms)
{
    assert(span <= MCDS__BEATS_SPAN_MAX);
    mcds__mark_init(&window->mark, ttl_ms);
    window->bucket = bucket;
    window->span = span;
    window->before = (struct mcds__beats){0, 0};
    window->after = window->before;
}

/* The mark is that of this call's add: there was none before. */
static void window_mark_take_first(struct mcds__window_mark *window)
{
    window->before = (struct mcds__beats){0, 0};
    window->after = (struct mcds__beats){window->bucket, 1};
}

static int window_mark_judge(struct mcds__mark *mark, const uint64_t *stored)
{
    struct mcds__window_mark *window = (struct mcds__window_mark *)mark;
    const struct mcds__beats found = {stored[0], stored[1]};
    if ((found.bits & 1) == 0)
        return MCDS_CORRUPT;
    if (stored[2] == mark->token) {
        if (found.newest != window->after.newest || found.bits != window->after.bits)
            window_mark_take_first(window);
        return MCDS_OK;
    }
    /* Nothing is left to count; in doubt, a mark of this call may have been replaced since. */
    if (mcds__beats_is_late(&found, window->bucket))
        return mark->doubt ? MCDS_AMBIGUOUS : MCDS_TOO_OLD;
    if (!mcds__beats_change(&found, window->bucket, window->span))
        return mark->doubt ? MCDS_AMBIGUOUS : MCDS_EXISTS;
    window->before = found;
    window->token_before = stored[2];
    window->after = mcds__beats_with(found, window->bucket);
    mark->numbers[0] = window->after.newest;
    mark->numbers[1] = window->after.bits;
    return MCDS__MARK_REPLACE;
}

static const struct mcds__mark_kind window_mark_kind = {'O', 3, true, window_mark_judge};

enum mcds__step mcds__window_mark_step(struct mcds__window_mark *window,
                                       struct mcds__operation *operation)
{
    struct mcds__mark *mark = &window->mark;
    if (mark->stage == MCDS__MARK_BEGIN) {
        mark->numbers[0] = window->bucket;
        mark->numbers[1] = 1;
    }
    enum mcds__step step = mcds__mark_step(mark, &window_mark_kind, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    const mcds_request *write = &mark->requests[0];
    if (write->command == MCDS_ADD && write->reply.outcome == MCDS_OUT_OK)
        window_mark_take_first(window);
    assert(window->after.bits != 0);
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
