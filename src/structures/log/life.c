/* Log: finds out whether a life without a root was dropped or lost, and whether what is missing of
 * a life was dropped. */
#include <assert.h>

#include "structures/log/log.h"

enum { TURN_MARK, TURN_ASKED, TURN_ROOT };

/* Longer than the ttl of any key of the log. */
static uint64_t mark_ttl_ms(const mcds_log *log)
{
    return mcds__log_ttl_ms(&log->settings);
}

static mcds_bytes mark_key(const mcds_log *log, uint64_t stem, struct mcds__key *key_out)
{
    *key_out = log->generation.key;
    mcds__key_add_number(key_out, stem);
    return mcds__key_bytes(key_out);
}

mcds_request mcds__log_mark(const mcds_log *log, uint64_t stem, struct mcds__key *key_out)
{
    return (mcds_request){
        .command = MCDS_SET,
        .options = MCDS_MAKES_ROOM,
        .flags = MCDS__SEGMENT_END,
        .ttl_ms = mark_ttl_ms(log),
        .key = mark_key(log, stem, key_out),
    };
}

void mcds__log_turn_begin(struct mcds__log_turn *turn, mcds_log *log, uint64_t stem)
{
    turn->stem = stem;
    turn->was_dropped = false;
    turn->stage = TURN_MARK;
    mcds__log_begin(&turn->begin, log);
}

enum mcds__step mcds__log_turn_step(struct mcds__log_turn *turn,
                                    struct mcds__operation *operation)
{
    const mcds_reply *reply = &turn->request.reply;
    assert(turn->stage <= TURN_ROOT);
    if (turn->stage == TURN_ROOT)
        return mcds__log_begin_step(&turn->begin, false, operation);
    if (turn->stage == TURN_MARK) {
        turn->request = (mcds_request){
            .command = MCDS_GET,
            .options = MCDS_NO_VALUE,
            .key = mark_key(turn->begin.log, turn->stem, &turn->key),
        };
        turn->stage = TURN_ASKED;
        return mcds__operation_ask_repeatable(operation, &turn->request, 1);
    }
    turn->stage = TURN_MARK;
    assert(turn->request.command == MCDS_GET);
    if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation))
        return MCDS__SLEEP;
    if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_MISS)
        return mcds__operation_fail_read(operation, reply);
    turn->was_dropped = reply->outcome == MCDS_OUT_OK;
    turn->stage = TURN_ROOT;
    return mcds__log_begin_step(&turn->begin, false, operation);
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
    const mcds_reply *mark = &fate->requests[0].reply;
    const mcds_reply *root = &fate->requests[1].reply;
    if (!fate->is_asked) {
        fate->requests[0] = (mcds_request){
            .command = MCDS_GET,
            .options = MCDS_NO_VALUE,
            .key = mark_key(fate->log, fate->stem, &fate->key),
        };
        fate->requests[1] = mcds__segment_request_root(&fate->log->segments);
        fate->is_asked = true;
        return mcds__operation_ask_repeatable(operation, fate->requests, 2);
    }
    fate->is_asked = false;
    for (uint32_t i = 0; i < 2; i++) {
        const mcds_reply *reply = &fate->requests[i].reply;
        if (reply->outcome == MCDS_OUT_OK || reply->outcome == MCDS_OUT_MISS)
            continue;
        if (mcds__is_transport_trouble(reply) && mcds__operation_again(operation))
            return MCDS__SLEEP;
        return mcds__operation_fail_read(operation, reply);
    }
    bool is_alive = root->outcome == MCDS_OUT_OK &&
                    mcds__descriptor_stem(root->flags) == fate->stem;
    fate->was_dropped = mark->outcome == MCDS_OUT_OK && !is_alive;
    return mcds__operation_finish(operation, MCDS_OK);
}
