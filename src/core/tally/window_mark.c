/* Window mark: the beats of one visitor, so that of all clients that report it only one counts it
 * in each window.
 *
 * Payload of the frame (type 'O', version 1): newest bucket u64 | bits u64 | token u64 */
#include "core/tally/window_mark.h"

#include <assert.h>

#include "base/environment.h"
#include "base/frame.h"

#define FRAME_TYPE 'O'
#define FRAME_VERSION 1
#define PAYLOAD_LENGTH 24

enum { BEGIN, ADD, REPLACE };

void mcds__window_mark_init(struct mcds__window_mark *mark, uint64_t bucket, uint32_t span,
                            uint64_t ttl_ms)
{
    assert(span <= MCDS__BEATS_SPAN_MAX);
    mark->bucket = bucket;
    mark->span = span;
    mark->ttl_ms = ttl_ms;
    mark->before = (struct mcds__window_beats){{0, 0}, 0};
    mark->after = mark->before;
    mark->stage = BEGIN;
    mark->doubt = false;
    mark->cas = (mcds_cas_token){0, 0};
}

static mcds_bytes window_mark_encode(struct mcds__window_mark *mark,
                                     const struct mcds__window_beats *beats)
{
    uint8_t *payload = mark->value + MCDS__FRAME_HEAD;
    mcds__put_u64(payload, beats->beats.newest);
    mcds__put_u64(payload + 8, beats->beats.bits);
    mcds__put_u64(payload + 16, beats->token);
    size_t length = mcds__frame_seal(mark->value, FRAME_TYPE, FRAME_VERSION,
                                     mcds__key_bytes(&mark->key), PAYLOAD_LENGTH);
    assert(length <= sizeof mark->value);
    return (mcds_bytes){mark->value, length};
}

/* False: foreign or damaged. */
static bool window_mark_decode(mcds_bytes value, mcds_bytes key, struct mcds__window_beats *out)
{
    mcds_bytes payload;
    if (!mcds__frame_open(value, FRAME_TYPE, FRAME_VERSION, key, &payload) ||
        payload.length != PAYLOAD_LENGTH)
        return false;
    const uint8_t *at = payload.data;
    out->beats.newest = mcds__get_u64(at);
    out->beats.bits = mcds__get_u64(at + 8);
    out->token = mcds__get_u64(at + 16);
    return (out->beats.bits & 1) != 0;
}

static enum mcds__step window_mark_ask(struct mcds__window_mark *mark,
                                       struct mcds__operation *operation, uint8_t stage,
                                       mcds_cas_token cas)
{
    assert(stage == ADD || stage == REPLACE);
    assert(mark->after.token != 0);
    struct mcds__window_beats first = {{mark->bucket, 1}, mark->after.token};
    mark->stage = stage;
    mark->requests[0] = (mcds_request){
        .command = stage == REPLACE ? MCDS_CAS : MCDS_ADD,
        .ttl_ms = mark->ttl_ms,
        .key = mcds__key_bytes(&mark->key),
        .value = window_mark_encode(mark, stage == REPLACE ? &mark->after : &first),
        .cas = cas,
    };
    mark->requests[1] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(&mark->key),
    };
    operation->connection = cas.connection;
    return mcds__operation_ask_repeatable(operation, mark->requests, 2);
}

static enum mcds__step window_mark_take_trouble(struct mcds__window_mark *mark,
                                                struct mcds__operation *operation,
                                                const mcds_reply *reply)
{
    mark->stage = BEGIN;
    if (!mcds__is_refusal(reply) && mcds__operation_again(operation))
        return MCDS__SLEEP;
    (void)mcds__operation_fail_read(operation, reply);
    if (mark->doubt)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

/* The mark is that of this call's add: there was none before. */
static void window_mark_take_first(struct mcds__window_mark *mark)
{
    mark->before.beats = (struct mcds__beats){0, 0};
    mark->after.beats = (struct mcds__beats){mark->bucket, 1};
}

static enum mcds__step window_mark_end_written(struct mcds__window_mark *mark,
                                               struct mcds__operation *operation,
                                               mcds_cas_token cas)
{
    assert(mark->after.beats.bits != 0);
    mark->cas = cas;
    return mcds__operation_finish(operation, MCDS_OK);
}

/* Nothing is left to count; in doubt, a mark of this call may have been replaced since. */
static enum mcds__step window_mark_end_unwritten(const struct mcds__window_mark *mark,
                                                 struct mcds__operation *operation, int result)
{
    return mcds__operation_finish(operation, mark->doubt ? MCDS_AMBIGUOUS : result);
}

/* The write was refused, or its reply was lost: the value of the key decides. */
static enum mcds__step window_mark_take_look(struct mcds__window_mark *mark,
                                             struct mcds__operation *operation)
{
    const mcds_request *look = &mark->requests[1];
    struct mcds__window_beats found;
    if (look->reply.outcome != MCDS_OUT_OK)
        return window_mark_take_trouble(mark, operation, &look->reply);
    if (!window_mark_decode(mcds__operation_value(operation, look), look->key, &found))
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    if (found.token == mark->after.token) {
        if (found.beats.newest != mark->after.beats.newest ||
            found.beats.bits != mark->after.beats.bits)
            window_mark_take_first(mark);
        return window_mark_end_written(mark, operation, look->reply.cas);
    }
    if (mcds__beats_is_late(&found.beats, mark->bucket))
        return window_mark_end_unwritten(mark, operation, MCDS_TOO_OLD);
    if (!mcds__beats_change(&found.beats, mark->bucket, mark->span))
        return window_mark_end_unwritten(mark, operation, MCDS_EXISTS);
    if (mcds__operation_is_late(operation))
        return window_mark_take_trouble(mark, operation, &look->reply);
    mark->before = found;
    mark->after.beats = mcds__beats_with(found.beats, mark->bucket);
    return window_mark_ask(mark, operation, REPLACE, look->reply.cas);
}

static enum mcds__step window_mark_take_replies(struct mcds__window_mark *mark,
                                                struct mcds__operation *operation)
{
    const mcds_reply *written = &mark->requests[0].reply;
    switch (written->outcome) {
    case MCDS_OUT_OK:
        if (mark->stage == ADD)
            window_mark_take_first(mark);
        return window_mark_end_written(mark, operation, written->cas);
    case MCDS_OUT_NOT_STORED:
    case MCDS_OUT_EXISTS:
    case MCDS_OUT_MISS:
        return window_mark_take_look(mark, operation);
    case MCDS_OUT_UNKNOWN:
        mark->doubt = true;
        return window_mark_take_trouble(mark, operation, written);
    case MCDS_OUT_UNSENT:
        return window_mark_take_trouble(mark, operation, written);
    default:
        return mcds__operation_fail(operation, written);
    }
}

enum mcds__step mcds__window_mark_step(struct mcds__window_mark *mark,
                                       struct mcds__operation *operation)
{
    if (mark->stage != BEGIN)
        return window_mark_take_replies(mark, operation);
    if (mark->after.token == 0)
        mark->after.token = mcds__random_u64(operation->env) | 1;
    return window_mark_ask(mark, operation, ADD, (mcds_cas_token){0, 0});
}

bool mcds__window_mark_can_undo(const struct mcds__window_mark *mark)
{
    return mark->cas.connection != 0;
}

mcds_request mcds__window_mark_undo(struct mcds__window_mark *mark)
{
    mcds_request undo = {
        .command = MCDS_DELETE, .key = mcds__key_bytes(&mark->key), .cas = mark->cas};
    if (mark->before.beats.bits == 0)
        return undo;
    undo.command = MCDS_CAS;
    undo.ttl_ms = mark->ttl_ms;
    undo.value = window_mark_encode(mark, &mark->before);
    return undo;
}
