/* Once: begin, which claims a key or reads its result.
 *
 *   CLAIM  add RUNNING | get       ours if the get shows our token
 *          cas RUNNING | get       over FREE
 *   READ   get                     while another caller runs the work
 *
 * Every request that writes a claim has a token of its own, and the transport never repeats a
 * request. With one token for two requests, the late copy of the first could bring a claim back
 * after it has ended and another caller has begun: the first caller would take it for its own and
 * finish, as if it had been alone. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/hash/hash.h"
#include "base/value.h"
#include "structures/once/once.h"

#define WAIT_MS_MAX 86400000
#define POLL_NS (50 * NS_PER_MS)

enum { ONCE_BEGIN, ONCE_READ, ONCE_CLAIM };
enum { WRITE, GET, REQUESTS };

struct once_begin {
    struct mcds__operation base;
    mcds_once *once;
    mcds_once_run *run;
    mcds_value *result_out;
    int32_t *code_out;
    uint64_t request;
    int64_t wait_until_ns;
    uint8_t stage;
    bool has_read; /* another caller ran the work: the next request only reads */
    struct mcds__key key;
    mcds_request requests[REQUESTS];
    uint8_t claim[MCDS__ONCE_CLAIM_BYTES];
};

static enum mcds__step ask_read(struct once_begin *call)
{
    call->stage = ONCE_READ;
    call->requests[GET] = (mcds_request){.command = MCDS_GET,
                                         .key = mcds__key_bytes(&call->key)};
    call->base.connection = 0;
    return mcds__operation_ask_repeatable(&call->base, &call->requests[GET], 1);
}

/* The bytes of a claim with a token of its own. */
static mcds_bytes draw_claim(struct once_begin *call)
{
    mcds_once_run *run = call->run;
    mcds_buffer buffer;
    run->token[1]++;
    run->strict = call->once->strict;
    run->request = call->request;
    run->began_ms = mcds__wall_ms(call->base.env);
    const struct mcds__once_value value = {.kind = MCDS__ONCE_IS_RUNNING,
                                           .strict = run->strict,
                                           .token = {run->token[0], run->token[1]},
                                           .request = run->request,
                                           .began_ms = run->began_ms,
                                           .until_ms = run->began_ms + call->once->run_ms};
    mcds__buffer_init_in(&buffer, call->base.env, sizeof call->claim, call->claim,
                         sizeof call->claim);
    bool fits = mcds__once_encode(&value, mcds__key_bytes(&call->key), &buffer);
    assert(fits && buffer.data == call->claim && buffer.length == sizeof call->claim);
    (void)fits;
    return (mcds_bytes){call->claim, sizeof call->claim};
}

/* Without a token: the key is missing. */
static enum mcds__step once_begin_ask_claim(struct once_begin *call, mcds_cas_token cas)
{
    mcds_bytes key = mcds__key_bytes(&call->key);
    call->stage = ONCE_CLAIM;
    call->requests[WRITE] = (mcds_request){
        .command = cas.connection != 0 ? MCDS_CAS : MCDS_ADD,
        .options = MCDS_NEEDS_CAS, /* to finish it */
        .ttl_ms = mcds__once_claim_ttl_ms(call->once, call->once->strict),
        .key = key,
        .value = draw_claim(call),
        .cas = cas,
    };
    call->requests[GET] = (mcds_request){.command = MCDS_GET, .key = key};
    call->base.connection = cas.connection;
    return mcds__operation_ask_repeatable(&call->base, call->requests, REQUESTS);
}

/* Reads the key again after a pause, or ends. */
static enum mcds__step once_begin_again(struct once_begin *call)
{
    call->stage = ONCE_BEGIN;
    call->has_read = true;
    if (mcds__operation_again(&call->base))
        return MCDS__SLEEP;
    return mcds__operation_explain(&call->base, MCDS_BUSY, MCDS__WHY(KEY_VANISHES));
}

/* Poll until the time to wait is over. */
static enum mcds__step once_begin_wait(struct once_begin *call)
{
    struct mcds__operation *operation = &call->base;
    int64_t now_ns = mcds__monotonic_ns(operation->env);
    call->stage = ONCE_BEGIN;
    call->has_read = true;
    if (now_ns < call->wait_until_ns) {
        operation->deadline_ns = now_ns + mcds__store_timeout_ns(operation->store);
        operation->tries = 1;
        if (mcds__operation_wait(operation, POLL_NS)) {
            if (operation->wake_ns > call->wait_until_ns)
                operation->wake_ns = call->wait_until_ns;
            return MCDS__SLEEP;
        }
    }
    return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(RUNNING));
}

static enum mcds__step once_begin_take_mine(struct once_begin *call,
                                            const struct mcds__once_value *value)
{
    mcds_once_run *run = call->run;
    assert(value->kind == MCDS__ONCE_IS_RUNNING);
    run->mine = true;
    run->doubt = false;
    run->token[1] = value->token[1];
    run->strict = value->strict;
    run->request = value->request;
    run->began_ms = value->began_ms;
    run->until_ms = value->until_ms;
    run->cas[0] = call->requests[GET].reply.cas.unique;
    run->cas[1] = call->requests[GET].reply.cas.connection;
    return mcds__operation_finish(&call->base, MCDS_OK);
}

static enum mcds__step once_begin_take_done(struct once_begin *call,
                                            const struct mcds__once_value *value)
{
    call->run->doubt = false; /* a late claim is refused as long as the result is there */
    if (!mcds__value_set(call->result_out, call->base.env, value->result))
        return mcds__operation_finish(&call->base, MCDS_NO_MEMORY);
    if (call->code_out != NULL)
        *call->code_out = value->code;
    return mcds__operation_finish(&call->base, MCDS_OK);
}

/* Act on what the key holds. */
static enum mcds__step once_begin_act(struct once_begin *call)
{
    struct mcds__operation *operation = &call->base;
    const mcds_request *get = &call->requests[GET];
    const mcds_reason *detail = NULL;
    struct mcds__once_value value;
    int result = mcds__once_decode(mcds__operation_value(operation, get), get->key, &value,
                                   &detail);
    if (result != MCDS_OK)
        return mcds__operation_explain(operation, result, detail);
    if (value.kind == MCDS__ONCE_IS_FREE && get->reply.cas.connection == 0)
        return mcds__operation_lack_cas(operation);
    if (value.kind == MCDS__ONCE_IS_FREE)
        return call->stage == ONCE_READ || call->requests[WRITE].command == MCDS_ADD
                   ? once_begin_ask_claim(call, get->reply.cas)
                   : once_begin_again(call);
    if (value.kind == MCDS__ONCE_IS_RUNNING && value.token[0] == call->run->token[0] &&
        value.token[1] <= call->run->token[1])
        return once_begin_take_mine(call, &value);
    if (value.request != 0 && call->request != 0 && value.request != call->request)
        return mcds__operation_finish(operation, MCDS_EXISTS);
    if (value.kind == MCDS__ONCE_IS_DONE)
        return once_begin_take_done(call, &value);
    call->run->until_ms = value.until_ms;
    if (mcds__once_has_vanished(&value, mcds__wall_ms(operation->env)))
        return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(RUNNER_VANISHED));
    return once_begin_wait(call);
}

static enum mcds__step once_begin_retry(struct once_begin *call, const mcds_reply *trouble)
{
    call->stage = ONCE_BEGIN;
    return mcds__operation_retry(&call->base, trouble);
}

static enum mcds__step once_begin_take(struct once_begin *call)
{
    const mcds_reply *read = &call->requests[GET].reply;
    const mcds_reply *written = &call->requests[WRITE].reply;
    bool is_claim = call->stage == ONCE_CLAIM;
    assert(call->stage != ONCE_BEGIN);
    if (read->outcome != MCDS_OUT_OK && read->outcome != MCDS_OUT_MISS) {
        if (is_claim &&
            (written->outcome == MCDS_OUT_OK || written->outcome == MCDS_OUT_UNKNOWN))
            call->run->doubt = true;
        return once_begin_retry(call, read);
    }
    if (read->outcome == MCDS_OUT_OK)
        return once_begin_act(call);
    if (!is_claim)
        return once_begin_ask_claim(call, (mcds_cas_token){0, 0});
    if (mcds__is_refusal(written))
        return mcds__operation_fail(&call->base, written);
    return once_begin_again(call);
}

static enum mcds__step step_once_begin(struct mcds__operation *operation)
{
    struct once_begin *call = (struct once_begin *)operation;
    enum mcds__step step;
    if (call->stage != ONCE_BEGIN)
        step = once_begin_take(call);
    else if (call->has_read)
        step = ask_read(call);
    else
        step = once_begin_ask_claim(call, (mcds_cas_token){0, 0});
    if (step == MCDS__DONE)
        (void)mcds__once_end(operation, call->run->doubt);
    return step;
}

static const struct mcds__operation_kind once_begin_kind = {
    "once", "begin", sizeof(struct once_begin), step_once_begin, NULL};

static int once_begin_check(const mcds_once *once, mcds_bytes key, mcds_bytes request,
                            uint32_t wait_ms, const mcds_once_run *run,
                            const mcds_value *result_out)
{
    const struct mcds__given wait = {MCDS_CAUSE_OUT_OF_RANGE, "wait_ms", wait_ms, 0,
                                     WAIT_MS_MAX};
    if (once == NULL || run == NULL || result_out == NULL)
        return mcds__fail_missing("once", "begin",
                                  "a handle, a run and a place for the result");
    int result = mcds__check_bytes(&once_begin_kind, once->handle.name, "key", key);
    if (result != MCDS_OK)
        return result;
    if (request.data == NULL && request.length > 0)
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                          MCDS__CALL(&once_begin_kind, once->handle.name), .option = "request");
    if (run->mine)
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(RUN_MINE),
                              MCDS__CALL(&once_begin_kind, once->handle.name));
    result = mcds__check_given("once", once->handle.name, "begin", &wait, 1);
    return result == MCDS_OK ? mcds__check_wall(&once_begin_kind, &once->handle) : result;
}

/* A run in doubt keeps its token, which its late claim has; another run gets a new one. */
static void take_run(struct once_begin *call, mcds_once_run *run)
{
    const char *suffix = call->key.bytes + call->once->begin.length;
    size_t length = (size_t)(call->key.length - call->once->begin.length);
    assert(length > 1 && length < sizeof run->suffix);
    call->run = run;
    call->has_read = run->doubt;
    run->until_ms = 0;
    if (run->doubt && run->suffix_length == length && memcmp(run->suffix, suffix, length) == 0)
        return;
    run->doubt = call->has_read = false;
    run->suffix_length = (uint8_t)length;
    memcpy(run->suffix, suffix, length);
    run->token[0] = mcds__random_u64(call->base.env);
    run->token[1] = 0;
}

int mcds_once_begin_start(mcds_once *once, mcds_bytes key, mcds_bytes request, uint32_t wait_ms,
                          mcds_once_run *run, mcds_value *result_out, int32_t *code_out,
                          mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = once_begin_check(once, key, request, wait_ms, run, result_out);
    if (result != MCDS_OK)
        return result;
    struct once_begin own;
    struct once_begin *call = mcds__call_begin_zero(&own.base, &once_begin_kind, &once->handle,
                                                    start, &result);
    if (call == NULL)
        return result;
    call->once = once;
    call->result_out = result_out;
    call->code_out = code_out;
    call->key = mcds__once_key(once, key);
    call->request = request.length > 0 ? mcds__hash(0, request) | 1 : 0;
    call->wait_until_ns = call->base.sent_ns + (int64_t)wait_ms * NS_PER_MS;
    take_run(call, run);
    return mcds__call_launch(&call->base, start);
}

int mcds_once_begin(mcds_once *once, mcds_bytes key, mcds_bytes request, uint32_t wait_ms,
                    mcds_once_run *run, mcds_value *result_out, int32_t *code_out)
{
    return mcds_once_begin_start(once, key, request, wait_ms, run, result_out, code_out,
                                 MCDS__WAIT, 0);
}
