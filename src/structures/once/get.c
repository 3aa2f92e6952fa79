/* Once: get, which reads the state of a key. */
#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/value.h"
#include "core/tally/tally.h"
#include "structures/once/once.h"

struct once_get {
    struct mcds__operation base;
    mcds_once_value *value_out;
    mcds_value *result_out;
    uint8_t stage;
    struct mcds__key key;
    mcds_request request;
};

static uint32_t once_get_state(const struct mcds__once_value *value, int64_t now_ms)
{
    if (value->kind == MCDS__ONCE_IS_DONE)
        return MCDS_ONCE_DONE;
    return mcds__once_has_vanished(value, now_ms) ? MCDS_ONCE_VANISHED : MCDS_ONCE_RUNNING;
}

static enum mcds__step once_get_take(struct once_get *call)
{
    struct mcds__operation *operation = &call->base;
    const mcds_request *request = &call->request;
    const mcds_reason *detail = NULL;
    struct mcds__once_value value;
    if (request->reply.outcome == MCDS_OUT_MISS)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    assert(request->reply.outcome == MCDS_OUT_OK);
    int result = mcds__once_decode(mcds__operation_value(operation, request), request->key,
                                   &value, &detail);
    if (result != MCDS_OK)
        return mcds__operation_explain(operation, result, detail);
    if (value.kind == MCDS__ONCE_IS_FREE)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    const mcds_once_value out = {.state = once_get_state(&value, mcds__wall_ms(operation->env)),
                                 .code = value.code,
                                 .began_ms = value.began_ms,
                                 .until_ms = value.until_ms};
    if (!mcds__value_set(call->result_out, operation->env, value.result))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    mcds__sized_write(MCDS__SIZED_mcds_once_value, call->value_out, &out);
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step step_once_get(struct mcds__operation *operation)
{
    struct once_get *call = (struct once_get *)operation;
    enum mcds__step step = mcds__tally_read_step(&call->request, &call->key, 1, NULL, 0,
                                                 &call->stage, operation);
    return step == MCDS__DONE && operation->result == MCDS_OK ? once_get_take(call) : step;
}

static const struct mcds__operation_kind once_get_kind = {
    "once", "get", sizeof(struct once_get), step_once_get, NULL};

int mcds_once_get_start(mcds_once *once, mcds_bytes key, mcds_once_value *value_out,
                        mcds_value *result_out, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    if (once == NULL || value_out == NULL || result_out == NULL)
        return mcds__fail_missing("once", "get",
                                  "a handle, a place for the value and one for the result");
    int result = mcds__check_bytes(&once_get_kind, once->handle.name, "key", key);
    if (result == MCDS_OK)
        result = mcds__sized_check(MCDS__SIZED_mcds_once_value, value_out);
    if (result == MCDS_OK)
        result = mcds__check_wall(&once_get_kind, &once->handle);
    if (result != MCDS_OK)
        return result;
    struct once_get own;
    struct once_get *call = mcds__call_begin_zero(&own.base, &once_get_kind, &once->handle,
                                                  start, &result);
    if (call == NULL)
        return result;
    call->value_out = value_out;
    call->result_out = result_out;
    call->key = mcds__once_key(once, key);
    return mcds__call_launch(&call->base, start);
}

int mcds_once_get(mcds_once *once, mcds_bytes key, mcds_once_value *value_out,
                  mcds_value *result_out)
{
    return mcds_once_get_start(once, key, value_out, result_out, MCDS__WAIT, 0);
}
