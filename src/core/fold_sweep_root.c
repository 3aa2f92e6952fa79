/* Core fold, a sweep that erases: end the life before its keys are erased. */
#include <stdatomic.h>

#include "core/fold_sweep.h"

/* To erase: first the root as it is now. */
enum mcds__step mcds__sweep_ask_root(struct mcds__fold_sweep *sweep,
                                     struct mcds__operation *operation)
{
    sweep->room->requests[0] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(&sweep->fold->root),
    };
    sweep->stage = MCDS__SWEEP_ROOT;
    operation->connection = 0;
    return mcds__operation_ask_repeatable(operation, sweep->room->requests, 1);
}

/* The root is gone: nobody will see what is left. */
static enum mcds__step finish(struct mcds__fold_sweep *sweep, struct mcds__operation *operation)
{
    mcds__fold_forget(sweep->fold, sweep->life.number);
    atomic_store(&sweep->fold->rest, sweep->life.number);
    sweep->is_proved = true;
    return mcds__operation_finish(operation, MCDS_OK);
}

/* End the life that the root is of. */
static enum mcds__step take_root(struct mcds__fold_sweep *sweep,
                                 struct mcds__operation *operation)
{
    const mcds_request *request = &sweep->room->requests[0];
    struct mcds__fold_life life = {0};
    const mcds_reason *detail = NULL;
    mcds_capabilities can;
    if (mcds__is_transport_trouble(&request->reply)) {
        sweep->stage = MCDS__SWEEP_BEGIN;
        if (mcds__operation_again(operation))
            return MCDS__SLEEP;
        return mcds__operation_fail_read(operation, &request->reply);
    }
    if (request->reply.outcome != MCDS_OUT_OK && request->reply.outcome != MCDS_OUT_MISS)
        return mcds__operation_fail_read(operation, &request->reply);
    int result = MCDS_NOT_FOUND;
    if (request->reply.outcome == MCDS_OUT_OK)
        result = mcds__fold_read_root(
            sweep->fold, mcds__reply_value(&operation->batch, request), &life, &detail);
    /* Keys may be left of a life of which this handle knows. */
    if (result == MCDS_NOT_FOUND && !sweep->erased) {
        sweep->life = mcds__fold_life(sweep->fold);
        if (sweep->life.number == 0)
            sweep->life.number = atomic_load(&sweep->fold->rest);
        if (sweep->life.number != 0)
            return finish(sweep, operation);
    }
    /* An earlier try has ended it, though nothing was heard of that. */
    if (sweep->erased && life.number != sweep->life.number)
        return finish(sweep, operation);
    if (result != MCDS_OK)
        return mcds__fold_refuse(sweep->fold, operation, result, detail);
    mcds__store_capabilities(sweep->fold->store, &can);
    sweep->life = life;
    sweep->token = can.compare_and_delete ? request->reply.cas : (mcds_cas_token){0, 0};
    sweep->room->requests[0] = (mcds_request){
        .command = MCDS_DELETE,
        .key = mcds__key_bytes(&sweep->fold->root),
        .cas = sweep->token,
    };
    sweep->stage = MCDS__SWEEP_ENDING;
    operation->connection = sweep->token.connection;
    return mcds__operation_ask(operation, sweep->room->requests, 1);
}

static enum mcds__step take_end(struct mcds__fold_sweep *sweep,
                                struct mcds__operation *operation)
{
    const mcds_reply *reply = &sweep->room->requests[0].reply;
    operation->connection = 0;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        sweep->erased = true;
        return finish(sweep, operation);
    case MCDS_OUT_MISS:
    case MCDS_OUT_EXISTS:
        if (sweep->moves++ == MCDS__FOLD_MOVES_MAX)
            return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(ROOT_CHANGES));
        return mcds__sweep_ask_root(sweep, operation);
    case MCDS_OUT_UNKNOWN:
        sweep->erased = true;
        /* A late one that names no token would end a later life. */
        if (sweep->token.connection == 0)
            return mcds__operation_fail(operation, reply);
        break;
    case MCDS_OUT_UNSENT:
        break;
    default:
        return mcds__operation_fail(operation, reply);
    }
    sweep->stage = MCDS__SWEEP_BEGIN;
    if (mcds__operation_again(operation))
        return MCDS__SLEEP;
    return mcds__operation_fail(operation, reply);
}

enum mcds__step mcds__sweep_end_life(struct mcds__fold_sweep *sweep,
                                     struct mcds__operation *operation)
{
    return sweep->stage == MCDS__SWEEP_ROOT ? take_root(sweep, operation)
                                            : take_end(sweep, operation);
}
