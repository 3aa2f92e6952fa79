/* Log: the life that a tail follows, and whether what it misses was lost or dropped. */
#include <assert.h>
#include <stdatomic.h>

#include "base/error.h"
#include "structures/log/tail.h"

/* The records that the last call has missed were lost, or dropped. */
void mcds__log_tail_take_missed(struct mcds__log_tail *tail, bool was_dropped)
{
    mcds__log_tail_note_gaps(tail, &tail->gaps_sure,
                             !was_dropped &&
                                 (tail->cursor->flags & MCDS__LOG_CURSOR_MISSED) != 0);
    tail->cursor->flags &= ~MCDS__LOG_CURSOR_MISSED;
}

enum mcds__step mcds__log_tail_next_life(struct mcds__log_tail *tail)
{
    assert(tail->read.segments != NULL && !tail->is_asked);
    tail->read.looks = false;
    mcds__operation_renew(&tail->base);
    mcds__log_next_life_begin(&tail->next_life, tail->log, mcds__log_cursor_stem(tail->cursor));
    return mcds__log_tail_go_to(tail, MCDS__TAIL_NEXT_LIFE);
}

/* Chunks that a drop has erased are no gap. */
static void pass_gaps(struct mcds__log_tail *tail, bool were_dropped)
{
    tail->gaps_sure += were_dropped ? 0 : tail->gaps + tail->read.gaps;
    tail->gaps = tail->read.gaps = 0;
    if (tail->gaps_sure == 0)
        tail->lost_at = tail->read.lost_at = NULL;
}

/* The root of the cursor's life was missing. */
enum mcds__step mcds__log_tail_take_next_life(struct mcds__log_tail *tail, enum mcds__step step)
{
    mcds_log_cursor *cursor = tail->cursor;
    const struct mcds__log_next_life *next_life = &tail->next_life;
    if (step != MCDS__DONE)
        return step;
    int result = tail->base.result;
    if (result == MCDS_NOT_FOUND && next_life->was_dropped) {
        pass_gaps(tail, true);
        mcds__log_cursor_begin_life(cursor, cursor->life);
        (void)mcds__log_cursor_shift(cursor, tail->log, tail->now_ms);
        return step;
    }
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        return step;
    uint32_t life = mcds__descriptor_flags(next_life->begin.root.number);
    if ((result == MCDS_NOT_FOUND || life != cursor->life) && !next_life->was_dropped &&
        !tail->has_segments && mcds__log_cursor_is_foreign(cursor, tail->log))
        return mcds__operation_explain(&tail->base, MCDS_INVALID,
                                       MCDS__WHY(CURSOR_OF_OTHER_STORE));
    mcds__log_tail_take_missed(tail, next_life->was_dropped);
    if (result == MCDS_NOT_FOUND || life == cursor->life) /* what the store has left of it */
        return mcds__log_tail_go_to(tail, tail->has_read ? MCDS__TAIL_ITEMS
                                          : tail->is_new ? MCDS__TAIL_LOCATE
                                                         : MCDS__TAIL_READ);
    if (tail->lives++ == MCDS__LOG_LIVES_MAX)
        return mcds__operation_explain(&tail->base, MCDS_BUSY, MCDS__WHY(ROOT_CHANGES));
    pass_gaps(tail, next_life->was_dropped);
    uint64_t former = atomic_load(&tail->log->generation.former);
    if (next_life->was_dropped && mcds__log_stem(former) == next_life->stem)
        mcds__generation_forget_former(&tail->log->generation, former);
    mcds__log_tail_note_gaps(tail, &tail->gaps_sure,
                             !next_life->was_dropped &&
                                 (cursor->flags & MCDS__LOG_CURSOR_TOLD) == 0);
    mcds__log_cursor_begin_life(cursor, life);
    tail->has_read = tail->is_asked = false;
    tail->bound = tail->newer_than = 0;
    return mcds__log_tail_poll(tail);
}

/* The next call with the cursor finds out whether they are gaps. */
static enum mcds__step leave_gaps(struct mcds__log_tail *tail)
{
    tail->cursor->flags |= MCDS__LOG_CURSOR_MISSED;
    pass_gaps(tail, true);
    return MCDS__DONE;
}

/* The tail has ended, and segments were missing: perhaps because the log was dropped. */
enum mcds__step mcds__log_tail_judge_gaps(struct mcds__log_tail *tail)
{
    if (tail->is_judged || tail->read.segments == NULL || tail->gaps + tail->read.gaps == 0)
        return MCDS__DONE;
    assert(tail->cursor->count > 0);
    tail->is_judged = true;
    if (tail->base.result != MCDS_OK && tail->base.result != MCDS_NOT_FOUND)
        return leave_gaps(tail);
    tail->ended_with = tail->base.result;
    mcds__operation_renew(&tail->base);
    mcds__log_fate_begin(&tail->fate, tail->log, mcds__log_cursor_stem(tail->cursor));
    return mcds__log_tail_go_to(tail, MCDS__TAIL_FATE);
}

enum mcds__step mcds__log_tail_take_fate(struct mcds__log_tail *tail, enum mcds__step step)
{
    if (step != MCDS__DONE)
        return step;
    if (tail->base.result != MCDS_OK)
        (void)leave_gaps(tail);
    pass_gaps(tail, tail->fate.was_dropped);
    return mcds__operation_finish(&tail->base, tail->ended_with);
}
