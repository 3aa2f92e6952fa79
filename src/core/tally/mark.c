/* Mark: a small value under one key, by which only one of all clients does something. */
#include "core/tally/mark.h"

#include <assert.h>

#include "base/environment.h"
#include "base/frame.h"

#define FRAME_VERSION 1

void mcds__mark_init(struct mcds__mark *mark, uint64_t ttl_ms)
{
    mark->ttl_ms = ttl_ms;
    mark->token = 0;
    mark->stage = MCDS__MARK_BEGIN;
    mark->doubt = false;
    mark->cas = (mcds_cas_token){0, 0};
}

static enum mcds__step mark_ask(struct mcds__mark *mark, const struct mcds__mark_kind *kind,
                                struct mcds__operation *operation, mcds_command command,
                                mcds_cas_token cas)
{
    assert(mark->token != 0 && kind->count <= MCDS__MARK_NUMBERS);
    mcds_bytes key = mcds__key_bytes(&mark->key);
    uint64_t numbers[MCDS__MARK_NUMBERS];
    memcpy(numbers, mark->numbers, sizeof mark->numbers);
    numbers[kind->count - 1] = mark->token;
    mark->stage = MCDS__MARK_ASKED;
    mark->requests[0] = (mcds_request){
        .command = command,
        .options = kind->replaces ? MCDS_NEEDS_CAS : 0,
        .ttl_ms = mark->ttl_ms,
        .key = key,
        .value = mcds__frame_seal_numbers(mark->value, kind->type, FRAME_VERSION, key, numbers,
                                          kind->count),
        .cas = cas,
    };
    mark->requests[1] = (mcds_request){.command = MCDS_GET, .key = key};
    operation->connection = cas.connection;
    return mcds__operation_ask_repeatable(operation, mark->requests,
                                          kind->replaces || mark->doubt ? 2 : 1);
}

static enum mcds__step mark_take_trouble(struct mcds__mark *mark,
                                         struct mcds__operation *operation,
                                         const mcds_reply *reply)
{
    mark->stage = MCDS__MARK_BEGIN;
    enum mcds__step step = mcds__operation_retry(operation, reply);
    if (step == MCDS__DONE && mark->doubt)
        operation->result = MCDS_AMBIGUOUS;
    return step;
}

static enum mcds__step mark_end_written(struct mcds__mark *mark,
                                        struct mcds__operation *operation, mcds_cas_token cas)
{
    mark->cas = cas;
    return mcds__operation_finish(operation, MCDS_OK);
}

/* The write was refused, or its reply was lost: the value of the key decides. */
static enum mcds__step mark_take_look(struct mcds__mark *mark,
                                      const struct mcds__mark_kind *kind,
                                      struct mcds__operation *operation)
{
    const mcds_request *look = &mark->requests[1];
    uint64_t stored[MCDS__MARK_NUMBERS];
    if (look->reply.outcome != MCDS_OUT_OK)
        return mark_take_trouble(mark, operation, &look->reply);
    bool is_mark = mcds__frame_open_numbers(mcds__operation_value(operation, look), kind->type,
                                            FRAME_VERSION, look->key, stored, kind->count);
    int verdict = is_mark ? kind->judge(mark, stored) : MCDS_CORRUPT;
    if (verdict == MCDS_OK)
        return mark_end_written(mark, operation, look->reply.cas);
    if (verdict == MCDS_CORRUPT && mark->doubt)
        verdict = MCDS_AMBIGUOUS;
    if (verdict != MCDS__MARK_REPLACE)
        return mcds__operation_finish(operation, verdict);
    assert(kind->replaces);
    if (mcds__operation_is_late(operation))
        return mark_take_trouble(mark, operation, &look->reply);
    return mark_ask(mark, kind, operation, MCDS_CAS, look->reply.cas);
}

static enum mcds__step mark_take_replies(struct mcds__mark *mark,
                                         const struct mcds__mark_kind *kind,
                                         struct mcds__operation *operation)
{
    assert(mark->stage == MCDS__MARK_ASKED);
    const mcds_reply *written = &mark->requests[0].reply;
    switch (written->outcome) {
    case MCDS_OUT_OK:
        return mark_end_written(mark, operation, written->cas);
    case MCDS_OUT_NOT_STORED:
    case MCDS_OUT_EXISTS:
    case MCDS_OUT_MISS:
        if (kind->replaces || mark->doubt)
            return mark_take_look(mark, kind, operation);
        return mcds__operation_finish(operation, MCDS_EXISTS);
    case MCDS_OUT_UNKNOWN:
        mark->doubt = true;
        return mark_take_trouble(mark, operation, written);
    default:
        return mark_take_trouble(mark, operation, written);
    }
}

enum mcds__step mcds__mark_step(struct mcds__mark *mark, const struct mcds__mark_kind *kind,
                                struct mcds__operation *operation)
{
    if (mark->stage != MCDS__MARK_BEGIN)
        return mark_take_replies(mark, kind, operation);
    if (mark->token == 0)
        mark->token = mcds__random_u64(operation->env) | 1;
    return mark_ask(mark, kind, operation, MCDS_ADD, (mcds_cas_token){0, 0});
}

mcds_request mcds__mark_undo(const struct mcds__mark *mark)
{
    return (mcds_request){
        .command = MCDS_DELETE,
        .key = mcds__key_bytes(&mark->key),
        .cas = mark->cas,
    };
}
