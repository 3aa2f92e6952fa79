/* Segment: ends an append that has not appended all of its records. */
#include <assert.h>

#include "core/segment/append.h"

enum mcds__step mcds__segment_append_fail(struct mcds__segment_append *append,
                                          struct mcds__operation *operation,
                                          const mcds_reply *reply)
{
    assert(!append->under_way);
    (void)mcds__operation_fail(operation, reply);
    if (operation->result == MCDS_FULL || operation->result == MCDS_NO_MEMORY)
        mcds__segment_note_blocked(append->segments, append->stream);
    /* The reply is not the cause: the segment came and went until the deadline. */
    if (operation->result > 0)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(ITS_KEY_VANISHES));
    return MCDS__DONE;
}

/* Whether the store has refused an append to a segment that existed. memcached without memory
 * answers NOT_STORED, as it does for a missing segment, which another client may have made
 * since. Only the same token before and after shows that it existed. */
bool mcds__segment_append_has_no_room(const mcds_reply *before, const mcds_reply *refused,
                                      const mcds_reply *after)
{
    return mcds__is_refusal(refused) ||
           (refused->outcome == MCDS_OUT_NOT_STORED && before->outcome == MCDS_OUT_OK &&
            after->outcome == MCDS_OUT_OK && before->cas.connection != 0 &&
            before->flags == after->flags && before->cas.unique == after->cas.unique);
}

enum mcds__step mcds__segment_append_fail_for_scratch(struct mcds__segment_append *append,
                                                      struct mcds__operation *operation,
                                                      const mcds_reply *reply)
{
    if (mcds__is_refusal(reply))
        return mcds__segment_append_fail(append, operation, reply);
    mcds__segment_note_blocked(append->segments, append->stream);
    operation->peer = reply->peer;
    return mcds__operation_explain(operation, MCDS_FULL, MCDS__WHY(SERVER_FULL_FOR_VALUE));
}

enum mcds__step mcds__segment_append_refuse(struct mcds__segment_append *append,
                                            const mcds_reply *reply)
{
    assert(!append->is_refused && !append->under_way);
    append->refused = *reply;
    append->is_refused = true;
    return mcds__segment_append_go(append, APPEND_REFUSED);
}

/* Search the segments below for copies: what a closed segment lacks, it never will contain. */
enum mcds__step mcds__segment_append_take_refused(struct mcds__segment_append *append,
                                                  struct mcds__operation *operation)
{
    assert(append->is_refused);
    if (append->is_early) {
        append->is_early = false;
        append->count = append->segment;
        return mcds__segment_append_go(append, APPEND_COUNT);
    }
    if (append->doubt && !append->is_partly_in && append->doubted_last < append->segment)
        return mcds__segment_append_go(append, APPEND_RESOLVE);
    append->is_refused = false;
    return mcds__segment_append_fail_for_scratch(append, operation, &append->refused);
}

/* The stream has ended, or, without an end segment, it may have. */
enum mcds__step mcds__segment_append_end(struct mcds__segment_append *append,
                                         struct mcds__operation *operation, bool is_cleared)
{
    append->ended = true;
    append->is_cleared = is_cleared;
    append->stage = APPEND_BEGIN;
    return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(OTHERS_CLEAR_IT));
}

enum mcds__step mcds__segment_append_try_later(struct mcds__segment_append *append,
                                               struct mcds__operation *operation, uint8_t stage,
                                               const mcds_reply *reply)
{
    append->stage = stage;
    operation->tries++;
    return mcds__operation_wait(operation, 0)
               ? MCDS__SLEEP
               : mcds__segment_append_fail(append, operation, reply);
}

void mcds__segment_append_note_doubt(struct mcds__segment_append *append)
{
    if (!append->doubt)
        append->doubted = append->segment;
    append->doubt = true;
    append->doubted_last = append->segment;
    assert(append->doubted <= append->doubted_last);
}
