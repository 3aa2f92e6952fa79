/* Once: settle and forget, which replace what a key holds, and get, which reads it.
 *
 *   LOOK   get
 *   WRITE  cas; or, if the key is missing, add FREE, and LOOK again
 *
 * A result is only written by a compare-and-set, so it never arrives after a later forget. For the
 * same reason forget does not delete: a late delete could take a claim that began after it. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/value.h"
#include "structures/once/once.h"

enum { CHANGE_BEGIN, CHANGE_LOOK, CHANGE_WRITE };

struct once_change {
    struct mcds__operation base;
    mcds_once *once;
    bool forgets;
    bool doubt; /* the reply to a write was lost */
    uint8_t stage;
    int32_t code;
    uint64_t token[2]; /* that is written; the second number counts the tries */
    struct mcds__key key;
    mcds_request request;
    mcds_buffer result; /* of settle */
    mcds_buffer bytes;
};

static void change_release(struct mcds__operation *operation)
{
    struct once_change *call = (struct once_change *)operation;
    mcds__buffer_free(&call->result);
    mcds__buffer_free(&call->bytes);
}

static enum mcds__step change_ask_look(struct once_change *call)
{
    call->stage = CHANGE_LOOK;
    call->request = (mcds_request){.command = MCDS_GET, .key = mcds__key_bytes(&call->key)};
    call->base.connection = 0;
    return mcds__operation_ask_repeatable(&call->base, &call->request, 1);
}

/* Write a FREE or the result. Without a cas token: add. `request` is that of the claim. */
static enum mcds__step change_ask_write(struct once_change *call, enum mcds__once_kind kind,
                                        uint64_t request, mcds_cas_token cas)
{
    int64_t now_ms = mcds__wall_ms(call->base.env);
    bool is_done = kind == MCDS__ONCE_IS_DONE;
    struct mcds__once_value value = {.kind = kind,
                                     .token = {call->token[0], ++call->token[1]},
                                     .began_ms = now_ms,
                                     .until_ms = now_ms};
    assert(!is_done || cas.connection != 0);
    if (is_done) {
        value.request = request;
        value.code = call->code;
        value.until_ms += (int64_t)call->once->keep_ms;
        value.result = (mcds_bytes){call->result.data, call->result.length};
    }
    if (!mcds__once_encode(&value, mcds__key_bytes(&call->key), &call->bytes))
        return mcds__operation_finish(&call->base, MCDS_NO_MEMORY);
    call->stage = CHANGE_WRITE;
    call->request = (mcds_request){.command = cas.connection != 0 ? MCDS_CAS : MCDS_ADD,
                                   .options = MCDS_NEEDS_CAS,
                                   .ttl_ms = is_done ? mcds__once_result_ttl_ms(call->once)
                                                     : MCDS__ONCE_FREE_MS,
                                   .key = mcds__key_bytes(&call->key),
                                   .value = {call->bytes.data, call->bytes.length},
                                   .cas = cas};
    call->base.connection = cas.connection;
    return mcds__operation_ask_repeatable(&call->base, &call->request, 1);
}

/* Replace what was read. */
static enum mcds__step change_replace(struct once_change *call, enum mcds__once_kind kind,
                                      uint64_t request)
{
    mcds_cas_token cas = call->request.reply.cas;
    assert(call->stage == CHANGE_LOOK);
    return cas.connection == 0 ? mcds__operation_lack_cas(&call->base)
                               : change_ask_write(call, kind, request, cas);
}

/* Reads the key again after a pause; NULL: others have changed the key. */
static enum mcds__step change_again(struct once_change *call, const mcds_reply *trouble)
{
    struct mcds__operation *operation = &call->base;
    call->stage = CHANGE_BEGIN;
    if (trouble == NULL ? mcds__operation_wait(operation, 0) : mcds__operation_again(operation))
        return MCDS__SLEEP;
    if (trouble == NULL)
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(OTHERS_KEPT_CHANGING));
    return mcds__operation_fail_read(operation, trouble);
}

/* `value` is NULL if mcds did not write the value of the key. */
static enum mcds__step change_forget(struct once_change *call,
                                     const struct mcds__once_value *value)
{
    if (value != NULL && value->kind == MCDS__ONCE_IS_FREE)
        return mcds__operation_finish(&call->base, call->doubt ? MCDS_OK : MCDS_NOT_FOUND);
    return change_replace(call, MCDS__ONCE_IS_FREE, 0);
}

static enum mcds__step change_settle(struct once_change *call,
                                     const struct mcds__once_value *value)
{
    struct mcds__operation *operation = &call->base;
    bool is_own = value->token[0] == call->token[0];
    if (value->kind == MCDS__ONCE_IS_DONE) /* a result in doubt may have been forgotten since */
        return mcds__operation_finish(operation, is_own        ? MCDS_OK
                                                 : call->doubt ? MCDS_AMBIGUOUS
                                                               : MCDS_EXISTS);
    if (value->kind == MCDS__ONCE_IS_RUNNING &&
        !mcds__once_has_vanished(value, mcds__wall_ms(operation->env)))
        return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(RUNNING));
    return change_replace(call, MCDS__ONCE_IS_DONE, value->request);
}

static enum mcds__step change_take_look(struct once_change *call)
{
    struct mcds__operation *operation = &call->base;
    const mcds_reply *reply = &call->request.reply;
    const mcds_reason *detail = NULL;
    struct mcds__once_value value;
    assert(call->request.command == MCDS_GET);
    if (mcds__is_transport_trouble(reply))
        return change_again(call, reply);
    if (reply->outcome == MCDS_OUT_MISS && call->forgets)
        return mcds__operation_finish(operation, call->doubt ? MCDS_OK : MCDS_NOT_FOUND);
    if (reply->outcome == MCDS_OUT_MISS)
        return change_ask_write(call, MCDS__ONCE_IS_FREE, 0, (mcds_cas_token){0, 0});
    if (reply->outcome != MCDS_OUT_OK)
        return mcds__operation_fail_read(operation, reply);
    int result = mcds__once_decode(mcds__operation_value(operation, &call->request),
                                   call->request.key, &value, &detail);
    if (call->forgets)
        return change_forget(call, result == MCDS_OK ? &value : NULL);
    return result == MCDS_OK ? change_settle(call, &value)
                             : mcds__operation_explain(operation, result, detail);
}

static enum mcds__step change_take_write(struct once_change *call)
{
    const mcds_reply *reply = &call->request.reply;
    assert(call->request.command == MCDS_ADD || call->request.command == MCDS_CAS);
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        if (call->request.command == MCDS_CAS)
            return mcds__operation_finish(&call->base, MCDS_OK);
        return change_ask_look(call);
    case MCDS_OUT_MISS:
    case MCDS_OUT_EXISTS:
    case MCDS_OUT_NOT_STORED:
        return change_again(call, NULL);
    case MCDS_OUT_UNKNOWN:
        call->doubt = call->doubt || call->request.command == MCDS_CAS;
        return change_again(call, reply);
    case MCDS_OUT_UNSENT:
        return change_again(call, reply);
    default:
        return mcds__operation_fail(&call->base, reply);
    }
}

static enum mcds__step step_once_change(struct mcds__operation *operation)
{
    struct once_change *call = (struct once_change *)operation;
    enum mcds__step step;
    switch (call->stage) {
    case CHANGE_BEGIN:
        step = change_ask_look(call);
        break;
    case CHANGE_LOOK:
        step = change_take_look(call);
        break;
    default:
        step = change_take_write(call);
    }
    if (step == MCDS__DONE)
        (void)mcds__once_end(operation, call->doubt);
    return step;
}

static const struct mcds__operation_kind once_settle_kind = {
    "once", "settle", sizeof(struct once_change), step_once_change, change_release};
static const struct mcds__operation_kind once_forget_kind = {
    "once", "forget", sizeof(struct once_change), step_once_change, change_release};

static int change_launch(mcds_once *once, const struct mcds__operation_kind *kind,
                         mcds_bytes key, int32_t code, mcds_bytes bytes,
                         const struct mcds__start *start)
{
    if (once == NULL)
        return mcds__fail_missing("once", kind->verb, "a handle");
    int result = mcds__check_bytes(kind, once->handle.name, "key", key);
    if (result == MCDS_OK)
        result = mcds__once_check_result(once, kind, bytes);
    if (result != MCDS_OK)
        return result;
    struct once_change own;
    struct once_change *call = mcds__call_begin_zero(&own.base, kind, &once->handle, start,
                                                     &result);
    if (call == NULL)
        return result;
    call->once = once;
    call->forgets = kind == &once_forget_kind;
    call->code = code;
    call->key = mcds__once_key(once, key);
    call->token[0] = mcds__random_u64(call->base.env);
    mcds__buffer_init(&call->result, call->base.env, bytes.length);
    mcds__buffer_init(&call->bytes, call->base.env, bytes.length + MCDS__ONCE_CLAIM_BYTES);
    if (!mcds_buffer_append(&call->result, bytes.data, bytes.length)) {
        mcds__call_forget(start, call);
        return mcds__fail_memory("once", once->handle.name, kind->verb);
    }
    return mcds__call_launch(&call->base, start);
}

int mcds_once_settle_start(mcds_once *once, mcds_bytes key, int32_t code, mcds_bytes result,
                           mcds_pipeline *pipeline, uint64_t tag)
{
    return change_launch(once, &once_settle_kind, key, code, result,
                         MCDS__START(pipeline, tag));
}

int mcds_once_settle(mcds_once *once, mcds_bytes key, int32_t code, mcds_bytes result)
{
    return mcds_once_settle_start(once, key, code, result, MCDS__WAIT, 0);
}

int mcds_once_forget_start(mcds_once *once, mcds_bytes key, mcds_pipeline *pipeline,
                           uint64_t tag)
{
    return change_launch(once, &once_forget_kind, key, 0, (mcds_bytes){NULL, 0},
                         MCDS__START(pipeline, tag));
}

int mcds_once_forget(mcds_once *once, mcds_bytes key)
{
    return mcds_once_forget_start(once, key, MCDS__WAIT, 0);
}
