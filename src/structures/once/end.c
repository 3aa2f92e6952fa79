/* Once: renew, finish and abandon, which replace the caller's claim.
 *
 *   WRITE  cas      over the claim
 *   CHECK  get      after a lost reply, or another connection: whether the claim is still there, or
 *                   what was written
 *
 * A claim that is gone is never replaced by an add or a set: another caller may have begun. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "structures/once/once.h"

/* How often one call writes: again after a change of the connection, or a lost reply. */
#define WRITES_MAX 10

enum { END_BEGIN, END_WRITE, END_CHECK };

struct once_end {
    struct mcds__operation base;
    mcds_once *once;
    mcds_once_run *run;
    enum mcds__once_kind
        kind; /* of the value that it writes: RUNNING renews, DONE finishes, FREE abandons */
    uint8_t stage;
    uint8_t writes;
    bool doubt; /* this or an earlier call has lost the reply to a write that ends the claim */
    bool is_renewed; /* and its token is to be read */
    int64_t until_ms;
    uint64_t ttl_ms;
    mcds_cas_token cas;
    struct mcds__key key;
    mcds_request request;
    mcds_buffer bytes;
};

static void once_end_release(struct mcds__operation *operation)
{
    mcds__buffer_free(&((struct once_end *)operation)->bytes);
}

static enum mcds__step once_end_finish(struct once_end *call, int result)
{
    mcds_once_run *run = call->run;
    assert(result == MCDS_OK || result == MCDS_LOST || result == MCDS_AMBIGUOUS);
    run->mine = call->kind == MCDS__ONCE_IS_RUNNING && result == MCDS_OK;
    run->doubt = false;
    run->until_ms = run->mine ? call->until_ms : 0;
    return mcds__operation_explain(&call->base, result,
                                   result == MCDS_OK ? NULL : MCDS__WHY(RUN_OVER));
}

/* The key contains nothing of this run, so the claim has ended. A write in doubt may have been
 * applied before that. Another caller may then have got the result before the store lost it. */
static enum mcds__step take_gone(struct once_end *call)
{
    int result = MCDS_LOST;
    if (call->kind == MCDS__ONCE_IS_DONE && call->doubt)
        result = MCDS_AMBIGUOUS;
    if (call->kind == MCDS__ONCE_IS_FREE && (call->doubt || !call->run->mine))
        result = MCDS_OK; /* what was written may have ended since */
    return once_end_finish(call, result);
}

static enum mcds__step once_end_ask_check(struct once_end *call)
{
    call->stage = END_CHECK;
    call->request = (mcds_request){.command = MCDS_GET, .key = mcds__key_bytes(&call->key)};
    call->base.connection = 0;
    return mcds__operation_ask_repeatable(&call->base, &call->request, 1);
}

static enum mcds__step once_end_ask_write(struct once_end *call)
{
    assert(call->cas.connection != 0 && call->bytes.length > 0);
    if (call->writes++ == WRITES_MAX)
        return mcds__operation_fail_waiting(&call->base, MCDS__WHY(SET_REFUSED));
    call->stage = END_WRITE;
    call->request = (mcds_request){.command = MCDS_CAS,
                                   .ttl_ms = call->ttl_ms,
                                   .key = mcds__key_bytes(&call->key),
                                   .value = {call->bytes.data, call->bytes.length},
                                   .cas = call->cas};
    call->base.connection = call->cas.connection;
    return mcds__operation_ask_repeatable(&call->base, &call->request, 1);
}

/* The reply does not show the value of the key: read it after a pause, or fail. */
static enum mcds__step once_end_take_trouble(struct once_end *call)
{
    const mcds_reply reply = call->request.reply;
    call->stage = END_BEGIN;
    call->cas = (mcds_cas_token){0, 0};
    if (mcds__operation_again(&call->base))
        return MCDS__SLEEP;
    return mcds__operation_fail_read(&call->base, &reply);
}

/* If the store does not return the token of a write, a get reads it. */
static enum mcds__step once_end_take_renewed(struct once_end *call)
{
    const mcds_cas_token cas = call->request.reply.cas;
    assert(call->kind == MCDS__ONCE_IS_RUNNING);
    call->is_renewed = true;
    if (cas.connection == 0 && call->stage == END_WRITE)
        return once_end_ask_check(call);
    call->run->cas[0] = cas.unique;
    call->run->cas[1] = cas.connection;
    return once_end_finish(call, MCDS_OK);
}

static enum mcds__step once_end_take_write(struct once_end *call)
{
    const mcds_reply *reply = &call->request.reply;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        return call->kind == MCDS__ONCE_IS_RUNNING ? once_end_take_renewed(call)
                                                   : once_end_finish(call, MCDS_OK);
    case MCDS_OUT_MISS:
    case MCDS_OUT_EXISTS:
        return once_end_ask_check(call);
    case MCDS_OUT_UNKNOWN:
        call->doubt = true;
        return once_end_take_trouble(call);
    case MCDS_OUT_UNSENT:
        return once_end_take_trouble(call);
    default:
        return mcds__operation_fail(&call->base, reply);
    }
}

/* Whether what was read is of this run: of a begin in doubt, any of its claims. */
static bool is_ours(const struct once_end *call, const struct mcds__once_value *value)
{
    const mcds_once_run *run = call->run;
    return value->token[0] == run->token[0] &&
           (value->token[1] == run->token[1] ||
            (!run->mine && value->token[1] < run->token[1]));
}

/* A renewed claim keeps its token, so a read does not show whether it was renewed. Either way it
 * lives, but its time is certain only after a write that was answered. */
static enum mcds__step once_end_take_check(struct once_end *call)
{
    const mcds_reply *reply = &call->request.reply;
    struct mcds__once_value value;
    const mcds_reason *detail = NULL;
    if (reply->outcome == MCDS_OUT_MISS)
        return take_gone(call);
    if (mcds__is_transport_trouble(reply))
        return once_end_take_trouble(call);
    if (reply->outcome != MCDS_OUT_OK)
        return mcds__operation_fail_read(&call->base, reply);
    mcds_bytes bytes = mcds__operation_value(&call->base, &call->request);
    if (mcds__once_decode(bytes, call->request.key, &value, &detail) != MCDS_OK ||
        !is_ours(call, &value))
        return take_gone(call);
    if (value.kind != MCDS__ONCE_IS_RUNNING)
        return once_end_finish(call, value.kind == call->kind ? MCDS_OK : MCDS_LOST);
    if (call->is_renewed)
        return once_end_take_renewed(call);
    call->cas = reply->cas;
    if (call->cas.connection == 0)
        return mcds__operation_lack_cas(&call->base);
    return once_end_ask_write(call);
}

static bool ends_claim(const struct once_end *call)
{
    return call->kind != MCDS__ONCE_IS_RUNNING;
}

static enum mcds__step step_once_end(struct mcds__operation *operation)
{
    struct once_end *call = (struct once_end *)operation;
    enum mcds__step step;
    switch (call->stage) {
    case END_BEGIN:
        step = call->cas.connection != 0 ? once_end_ask_write(call) : once_end_ask_check(call);
        break;
    case END_WRITE:
        step = once_end_take_write(call);
        break;
    default:
        step = once_end_take_check(call);
    }
    if (step == MCDS__DONE) {
        (void)mcds__once_end(operation, call->doubt);
        call->run->doubt = call->run->doubt ||
                           (call->run->mine && ends_claim(call) && call->doubt);
    }
    return step;
}

#define END_KIND(verb)                                                                         \
    {                                                                                          \
        "once", verb, sizeof(struct once_end), step_once_end, once_end_release                 \
    }
static const struct mcds__operation_kind once_renew_kind = END_KIND("renew");
static const struct mcds__operation_kind once_finish_kind = END_KIND("finish");
static const struct mcds__operation_kind once_abandon_kind = END_KIND("abandon");

/* The bytes to write. A pipeline sends them later, so they are made at once. */
static bool once_end_encode(struct once_end *call, int32_t code, mcds_bytes result)
{
    const mcds_once_run *run = call->run;
    const mcds_once *once = call->once;
    int64_t now_ms = mcds__wall_ms(call->base.env);
    call->until_ms = call->kind == MCDS__ONCE_IS_RUNNING ? now_ms + once->run_ms
                                                         : now_ms + (int64_t)once->keep_ms;
    call->ttl_ms = call->kind == MCDS__ONCE_IS_RUNNING
                       ? mcds__once_claim_ttl_ms(once, run->strict)
                   : call->kind == MCDS__ONCE_IS_DONE ? mcds__once_result_ttl_ms(once)
                                                      : MCDS__ONCE_FREE_MS;
    const struct mcds__once_value value = {.kind = call->kind,
                                           .strict = run->strict,
                                           .token = {run->token[0], run->token[1]},
                                           .request = run->request,
                                           .began_ms = run->began_ms,
                                           .until_ms = call->until_ms,
                                           .code = code,
                                           .result = result};
    mcds__buffer_init(&call->bytes, call->base.env, result.length + MCDS__ONCE_CLAIM_BYTES);
    return mcds__once_encode(&value, mcds__key_bytes(&call->key), &call->bytes);
}

static int once_end_check(const mcds_once *once, const struct mcds__operation_kind *kind,
                          const mcds_once_run *run, mcds_bytes result)
{
    if (once == NULL || run == NULL)
        return mcds__fail_missing("once", kind->verb, "a handle and a run");
    /* A colon, and the key in its encoded form. */
    bool is_whole = run->suffix_length > 1 && run->suffix_length <= 1 + MCDS__ELEMENT_MAX &&
                    mcds__key_is_legal((mcds_bytes){run->suffix, run->suffix_length});
    if (!is_whole || (!run->mine && !(run->doubt && kind == &once_abandon_kind)))
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(RUN_NOT_MINE),
                              MCDS__CALL(kind, once->handle.name));
    return mcds__once_check_result(once, kind, result);
}

static int once_end_launch(mcds_once *once, const struct mcds__operation_kind *kind,
                           enum mcds__once_kind written, mcds_once_run *run, int32_t code,
                           mcds_bytes bytes, const struct mcds__start *start)
{
    int result = once_end_check(once, kind, run, bytes);
    if (result != MCDS_OK)
        return result;
    struct once_end own;
    struct once_end *call = mcds__call_begin_zero(&own.base, kind, &once->handle, start,
                                                  &result);
    if (call == NULL)
        return result;
    call->once = once;
    call->run = run;
    call->kind = written;
    if (run->mine)
        call->cas = (mcds_cas_token){run->cas[0], run->cas[1]};
    call->doubt = run->mine && run->doubt && ends_claim(call);
    call->key = once->begin;
    assert(run->suffix_length > 1);
    mcds__key_add_encoded(&call->key, run->suffix + 1, (size_t)run->suffix_length - 1);
    if (!once_end_encode(call, code, bytes)) {
        mcds__call_forget(start, call);
        return mcds__fail_memory("once", once->handle.name, kind->verb);
    }
    return mcds__call_launch(&call->base, start);
}

int mcds_once_renew_start(mcds_once *once, mcds_once_run *run, mcds_pipeline *pipeline,
                          uint64_t tag)
{
    return once_end_launch(once, &once_renew_kind, MCDS__ONCE_IS_RUNNING, run, 0,
                           (mcds_bytes){NULL, 0}, MCDS__START(pipeline, tag));
}

int mcds_once_renew(mcds_once *once, mcds_once_run *run)
{
    return mcds_once_renew_start(once, run, MCDS__WAIT, 0);
}

int mcds_once_finish_start(mcds_once *once, mcds_once_run *run, int32_t code, mcds_bytes result,
                           mcds_pipeline *pipeline, uint64_t tag)
{
    return once_end_launch(once, &once_finish_kind, MCDS__ONCE_IS_DONE, run, code, result,
                           MCDS__START(pipeline, tag));
}

int mcds_once_finish(mcds_once *once, mcds_once_run *run, int32_t code, mcds_bytes result)
{
    return mcds_once_finish_start(once, run, code, result, MCDS__WAIT, 0);
}

int mcds_once_abandon_start(mcds_once *once, mcds_once_run *run, mcds_pipeline *pipeline,
                            uint64_t tag)
{
    return once_end_launch(once, &once_abandon_kind, MCDS__ONCE_IS_FREE, run, 0,
                           (mcds_bytes){NULL, 0}, MCDS__START(pipeline, tag));
}

int mcds_once_abandon(mcds_once *once, mcds_once_run *run)
{
    return mcds_once_abandon_start(once, run, MCDS__WAIT, 0);
}
