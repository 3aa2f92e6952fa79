/* Core slot, who counts: of all that see the same visitor in the same interval, one claims it.
 *
 * Payload of the frame (type 'V', version 1): slot u64 | token u64 */
#include "core/claim.h"

#include "base/environment.h"
#include "base/frame.h"

#define FRAME_TYPE 'V'
#define FRAME_VERSION 1
#define PAYLOAD_LENGTH 16

enum { BEGIN, ADD, RENEW };

static mcds_bytes encode(struct mcds__claim *claim)
{
    mcds__put_u64(claim->value + MCDS__FRAME_HEAD, claim->slot);
    mcds__put_u64(claim->value + MCDS__FRAME_HEAD + 8, claim->token);
    size_t length = mcds__frame_seal(claim->value, FRAME_TYPE, FRAME_VERSION,
                                     mcds__key_bytes(&claim->key), PAYLOAD_LENGTH);
    return (mcds_bytes){claim->value, length};
}

static enum mcds__step ask(struct mcds__claim *claim, struct mcds__operation *operation,
                           uint8_t stage, mcds_cas_token cas)
{
    claim->stage = stage;
    claim->renewed = claim->renewed || stage == RENEW;
    claim->requests[0] = (mcds_request){
        .command = stage == RENEW ? MCDS_CAS : MCDS_ADD,
        .ttl_ms = claim->ttl_ms,
        .key = mcds__key_bytes(&claim->key),
        .value = encode(claim),
        .cas = cas,
    };
    claim->requests[1] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(&claim->key),
    };
    claim->looks = claim->span > 0 || claim->doubt;
    operation->connection = cas.connection;
    return mcds__operation_ask_repeatable(operation, claim->requests, claim->looks ? 2 : 1);
}

static enum mcds__step ask_add(struct mcds__claim *claim, struct mcds__operation *operation)
{
    return ask(claim, operation, ADD, (mcds_cas_token){0, 0});
}

static enum mcds__step take_trouble(struct mcds__claim *claim,
                                    struct mcds__operation *operation, const mcds_reply *reply)
{
    claim->stage = BEGIN;
    if (!mcds__is_refusal(reply) && mcds__operation_again(operation))
        return MCDS__SLEEP;
    (void)mcds__operation_fail_read(operation, reply);
    if (claim->doubt)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

static enum mcds__step end_claimed(struct mcds__claim *claim, struct mcds__operation *operation,
                                   mcds_cas_token cas)
{
    claim->cas = cas;
    return mcds__operation_finish(operation, MCDS_OK);
}

/* The write was refused or went unanswered: what the key holds decides. */
static enum mcds__step take_look(struct mcds__claim *claim, struct mcds__operation *operation)
{
    const mcds_request *look = &claim->requests[1];
    mcds_bytes payload;
    if (look->reply.outcome != MCDS_OUT_OK)
        return take_trouble(claim, operation, &look->reply);
    if (!mcds__frame_open(mcds__reply_value(&operation->batch, look), FRAME_TYPE, FRAME_VERSION,
                          look->key, &payload) ||
        payload.length != PAYLOAD_LENGTH)
        return mcds__operation_finish(operation, MCDS_CORRUPT);
    uint64_t slot = mcds__get_u64(payload.at);
    uint64_t token = mcds__get_u64((const uint8_t *)payload.at + 8);
    if (token == claim->token && slot == claim->slot)
        return end_claimed(claim, operation, look->reply.cas);
    if (claim->span == 0 || slot + claim->span > claim->slot)
        return mcds__operation_finish(operation, MCDS_EXISTS);
    if (mcds__operation_is_late(operation))
        return take_trouble(claim, operation, &look->reply);
    return ask(claim, operation, RENEW, look->reply.cas);
}

static enum mcds__step take_replies(struct mcds__claim *claim,
                                    struct mcds__operation *operation)
{
    const mcds_reply *written = &claim->requests[0].reply;
    switch (written->outcome) {
    case MCDS_OUT_OK:
        return end_claimed(claim, operation, written->cas);
    case MCDS_OUT_NOT_STORED:
    case MCDS_OUT_EXISTS:
    case MCDS_OUT_MISS:
        if (claim->looks)
            return take_look(claim, operation);
        return mcds__operation_finish(operation, MCDS_EXISTS);
    case MCDS_OUT_UNKNOWN:
        claim->doubt = true;
        return take_trouble(claim, operation, written);
    case MCDS_OUT_UNSENT:
        return take_trouble(claim, operation, written);
    default:
        return mcds__operation_fail(operation, written);
    }
}

enum mcds__step mcds__claim_step(struct mcds__claim *claim, struct mcds__operation *operation)
{
    if (claim->stage != BEGIN)
        return take_replies(claim, operation);
    if (claim->token == 0)
        claim->token = mcds__random_u64(operation->env) | 1;
    return ask_add(claim, operation);
}

bool mcds__claim_can_undo(const struct mcds__claim *claim)
{
    return claim->cas.connection != 0 && !claim->renewed;
}

mcds_request mcds__claim_undo(const struct mcds__claim *claim)
{
    return (mcds_request){
        .command = MCDS_DELETE,
        .key = mcds__key_bytes(&claim->key),
        .cas = claim->cas,
    };
}
