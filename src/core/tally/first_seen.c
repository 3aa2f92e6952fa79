/* First seen: a mark for each visitor, so that of all clients that see it in one interval only
 * one counts it.
 *
 * Payload of the frame (type 'V', version 1): interval u64 | token u64 */
#include "core/tally/first_seen.h"

#include <assert.h>

#include "base/environment.h"
#include "base/frame.h"

#define FRAME_TYPE 'V'
#define FRAME_VERSION 1
#define PAYLOAD_LENGTH 16

enum { BEGIN, ADD };

static mcds_bytes tally_first_seen_encode(struct mcds__first_seen *first_seen)
{
    mcds__put_u64(first_seen->value + MCDS__FRAME_HEAD, first_seen->tally);
    mcds__put_u64(first_seen->value + MCDS__FRAME_HEAD + 8, first_seen->token);
    size_t length = mcds__frame_seal(first_seen->value, FRAME_TYPE, FRAME_VERSION,
                                     mcds__key_bytes(&first_seen->key), PAYLOAD_LENGTH);
    assert(length <= sizeof first_seen->value);
    return (mcds_bytes){first_seen->value, length};
}

static enum mcds__step ask_add(struct mcds__first_seen *first_seen,
                               struct mcds__operation *operation)
{
    assert(first_seen->token != 0);
    first_seen->stage = ADD;
    first_seen->requests[0] = (mcds_request){
        .command = MCDS_ADD,
        .ttl_ms = first_seen->ttl_ms,
        .key = mcds__key_bytes(&first_seen->key),
        .value = tally_first_seen_encode(first_seen),
    };
    first_seen->requests[1] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(&first_seen->key),
    };
    operation->connection = 0;
    return mcds__operation_ask_repeatable(operation, first_seen->requests,
                                          first_seen->doubt ? 2 : 1);
}

static enum mcds__step tally_first_seen_take_trouble(struct mcds__first_seen *first_seen,
                                                     struct mcds__operation *operation,
                                                     const mcds_reply *reply)
{
    first_seen->stage = BEGIN;
    if (!mcds__is_refusal(reply) && mcds__operation_again(operation))
        return MCDS__SLEEP;
    (void)mcds__operation_fail_read(operation, reply);
    if (first_seen->doubt)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

static enum mcds__step end_claimed(struct mcds__first_seen *first_seen,
                                   struct mcds__operation *operation, mcds_cas_token cas)
{
    first_seen->cas = cas;
    return mcds__operation_finish(operation, MCDS_OK);
}

/* The write was refused, or its reply was lost: the value of the key decides. */
static enum mcds__step tally_first_seen_take_look(struct mcds__first_seen *first_seen,
                                                  struct mcds__operation *operation)
{
    const mcds_request *look = &first_seen->requests[1];
    mcds_bytes payload;
    if (look->reply.outcome != MCDS_OUT_OK)
        return tally_first_seen_take_trouble(first_seen, operation, &look->reply);
    if (!mcds__frame_open(mcds__operation_value(operation, look), FRAME_TYPE, FRAME_VERSION,
                          look->key, &payload) ||
        payload.length != PAYLOAD_LENGTH)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    uint64_t tally = mcds__get_u64(payload.data);
    uint64_t token = mcds__get_u64((const uint8_t *)payload.data + 8);
    if (token == first_seen->token && tally == first_seen->tally)
        return end_claimed(first_seen, operation, look->reply.cas);
    return mcds__operation_finish(operation, MCDS_EXISTS);
}

static enum mcds__step tally_first_seen_take_replies(struct mcds__first_seen *first_seen,
                                                     struct mcds__operation *operation)
{
    assert(first_seen->stage == ADD);
    const mcds_reply *written = &first_seen->requests[0].reply;
    switch (written->outcome) {
    case MCDS_OUT_OK:
        return end_claimed(first_seen, operation, written->cas);
    case MCDS_OUT_NOT_STORED:
        if (first_seen->doubt)
            return tally_first_seen_take_look(first_seen, operation);
        return mcds__operation_finish(operation, MCDS_EXISTS);
    case MCDS_OUT_UNKNOWN:
        first_seen->doubt = true;
        return tally_first_seen_take_trouble(first_seen, operation, written);
    case MCDS_OUT_UNSENT:
        return tally_first_seen_take_trouble(first_seen, operation, written);
    default:
        return mcds__operation_fail(operation, written);
    }
}

enum mcds__step mcds__first_seen_step(struct mcds__first_seen *first_seen,
                                      struct mcds__operation *operation)
{
    if (first_seen->stage != BEGIN)
        return tally_first_seen_take_replies(first_seen, operation);
    if (first_seen->token == 0)
        first_seen->token = mcds__random_u64(operation->env) | 1;
    return ask_add(first_seen, operation);
}

bool mcds__first_seen_can_undo(const struct mcds__first_seen *first_seen)
{
    return first_seen->cas.connection != 0;
}

mcds_request mcds__first_seen_undo(const struct mcds__first_seen *first_seen)
{
    return (mcds_request){
        .command = MCDS_DELETE,
        .key = mcds__key_bytes(&first_seen->key),
        .cas = first_seen->cas,
    };
}
