/* Log: finds out whether a life without a root was dropped or lost, and whether what is missing of
 * a life was dropped. */
#include <assert.h>

#include "structures/log/log.h"

enum { NEXT_LIFE_TOMBSTONE, NEXT_LIFE_ASKED, NEXT_LIFE_ROOT };

/* Longer than the ttl of any key of the log. */
static uint64_t tombstone_ttl_ms(const mcds_log *log)
{
    return mcds__log_ttl_ms(&log->settings);
}

mcds_request mcds__log_tombstone(const mcds_log *log, uint64_t stem, struct mcds__key *key_out)
{
    return (mcds_request){
        .command = MCDS_SET,
        .options = MCDS_MAKES_ROOM,
        .flags = MCDS__SEGMENT_END,
        .ttl_ms = tombstone_ttl_ms(log),
        .key = mcds__log_tombstone_key(log, stem, key_out),
    };
}

void mcds__log_next_life_begin(struct mcds__log_next_life *next, mcds_log *log, uint64_t stem)
{
    next->stem = stem;
    next->was_dropped = false;
    next->stage = NEXT_LIFE_TOMBSTONE;
    mcds__log_begin(&next->begin, log);
}

/* The life may have been dropped after its tombstone was read, and its root added again
 * after that. */
static enum mcds__step step_next_root(struct mcds__log_next_life *next,
                                      struct mcds__operation *operation)
{
    enum mcds__step step = mcds__log_begin_step(&next->begin, false, operation);
    if (step == MCDS__DONE && next->begin.is_dropped &&
        mcds__log_stem(next->begin.root.number) == next->stem)
        next->was_dropped = true;
    return step;
}

enum mcds__step mcds__log_next_life_step(struct mcds__log_next_life *next,
                                         struct mcds__operation *operation)
{
    const mcds_reply *reply = &next->request.reply;
    assert(next->stage <= NEXT_LIFE_ROOT);
    if (next->stage == NEXT_LIFE_ROOT)
        return step_next_root(next, operation);
    if (next->stage == NEXT_LIFE_TOMBSTONE) {
        next->request = mcds__log_read_tombstone(next->begin.log, next->stem, &next->key);
        next->stage = NEXT_LIFE_ASKED;
        return mcds__operation_ask_repeatable(operation, &next->request, 1);
    }
    next->stage = NEXT_LIFE_TOMBSTONE;
    assert(next->request.command == MCDS_GET);
    if (mcds__first_trouble(&next->request, 1) != NULL)
        return mcds__operation_retry(operation, reply);
    if (!mcds__log_is_tombstone(reply))
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    next->was_dropped = reply->outcome == MCDS_OUT_OK;
    next->stage = NEXT_LIFE_ROOT;
    return step_next_root(next, operation);
}

void mcds__log_fate_begin(struct mcds__log_fate *fate, const mcds_log *log, uint64_t stem)
{
    assert(stem != 0);
    fate->log = log;
    fate->stem = stem;
    fate->was_dropped = false;
    fate->is_asked = false;
}

enum mcds__step mcds__log_fate_step(struct mcds__log_fate *fate,
                                    struct mcds__operation *operation)
{
    const mcds_reply *tombstone = &fate->requests[0].reply;
    const mcds_reply *root = &fate->requests[1].reply;
    if (!fate->is_asked) {
        fate->requests[0] = mcds__log_read_tombstone(fate->log, fate->stem, &fate->key);
        fate->requests[1] = mcds__segment_request_root(&fate->log->segments);
        fate->is_asked = true;
        return mcds__operation_ask_repeatable(operation, fate->requests, 2);
    }
    fate->is_asked = false;
    const mcds_reply *trouble = mcds__first_trouble(fate->requests, 2);
    if (trouble != NULL)
        return mcds__operation_retry(operation, trouble);
    if (!mcds__log_is_tombstone(tombstone))
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    bool is_alive = root->outcome == MCDS_OUT_OK &&
                    mcds__descriptor_proves(root->flags, fate->stem);
    fate->was_dropped = tombstone->outcome == MCDS_OUT_OK && !is_alive;
    return mcds__operation_finish(operation, MCDS_OK);
}
