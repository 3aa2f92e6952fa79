/* Core lease: release.
 *
 *   DELETE  compare and delete
 *   BURY    cas to a tombstone       when an add of ours may still land, or nothing else is
 * possible LOOK    get lease                after a refusal or a batch that went unanswered
 *   GUARD   add a tombstone          nothing there, but an add of ours may still land */
#include "base/environment.h"
#include "core/lease_value.h"

#define LOOKS_MAX 4

enum { BEGIN, DELETE, BURY, LOOK, GUARD };

static enum mcds__step ask(struct mcds__lease_call *call, struct mcds__operation *operation,
                           uint8_t stage, mcds_request request)
{
    call->stage = stage;
    call->requests[0] = request;
    operation->connection = request.cas.connection;
    return mcds__operation_ask_repeatable(operation, call->requests, 1);
}

static enum mcds__step ask_look(struct mcds__lease_call *call,
                                struct mcds__operation *operation)
{
    call->takes++;
    return ask(call, operation, LOOK, mcds__lease_get(call));
}

static enum mcds__step ask_let_go(struct mcds__lease_call *call,
                                  struct mcds__operation *operation)
{
    mcds_cas_token cas = mcds__lease_cas(call->lease);
    bool doubt = (call->lease->state & MCDS__LEASE_DOUBT) != 0;
    if (doubt || call->outcome == MCDS_UNSUPPORTED)
        return ask(call, operation, BURY, mcds__lease_bury(call, MCDS_CAS, cas));
    return ask(call, operation, DELETE, mcds__lease_delete(call, cas));
}

static enum mcds__step end(struct mcds__lease_call *call, struct mcds__operation *operation,
                           int result, const char *detail)
{
    mcds__lease_clear(call->lease);
    return mcds__operation_explain(operation, result, detail);
}

/* It is not ours any more: by our own hand, or before? */
static enum mcds__step end_gone(struct mcds__lease_call *call,
                                struct mcds__operation *operation)
{
    uint32_t state = call->lease->state;
    if (call->doubt || (state & MCDS__LEASE_LET_GO) != 0 || (state & MCDS__LEASE_HELD) == 0)
        return end(call, operation, MCDS_AMBIGUOUS,
                   "the lease is gone; whether it was ours to the end is not known");
    return end(
        call, operation, MCDS_LOST,
        "the lease had ended before; the work under it may have overlapped with another's");
}

static enum mcds__step take_trouble(struct mcds__lease_call *call,
                                    struct mcds__operation *operation, const mcds_reply *reply)
{
    call->stage = BEGIN;
    if (!mcds__is_refusal(reply) && mcds__operation_again(operation))
        return MCDS__SLEEP;
    if (call->doubt)
        call->lease->state |= MCDS__LEASE_LET_GO;
    return mcds__operation_fail_read(operation, reply);
}

static enum mcds__step take_look(struct mcds__lease_call *call,
                                 struct mcds__operation *operation)
{
    struct mcds__lease_value value;
    const mcds_request *look = &call->requests[0];
    switch (mcds__lease_look(call, &operation->batch, look, &value)) {
    case LEASE_MINE:
        call->ghost = value.extension < call->lease->extension;
        mcds__lease_remember_cas(call->lease, look->reply.cas);
        if (call->takes > LOOKS_MAX)
            return take_trouble(call, operation, &look->reply);
        return ask_let_go(call, operation);
    case LEASE_MISSING:
        if ((call->lease->state & MCDS__LEASE_DOUBT) != 0)
            return ask(call, operation, GUARD,
                       mcds__lease_bury(call, MCDS_ADD, (mcds_cas_token){0, 0}));
        return end_gone(call, operation);
    case LEASE_UNSEEN:
        return take_trouble(call, operation, &look->reply);
    default:
        return end_gone(call, operation);
    }
}

static enum mcds__step take_let_go(struct mcds__lease_call *call,
                                   struct mcds__operation *operation)
{
    const mcds_reply *reply = &call->requests[0].reply;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        if (call->ghost || (call->lease->state & MCDS__LEASE_HELD) == 0)
            return end_gone(call, operation);
        return end(call, operation, MCDS_OK, NULL);
    case MCDS_OUT_MISS:
    case MCDS_OUT_EXISTS:
        return ask_look(call, operation);
    case MCDS_OUT_UNSUPPORTED:
        if (call->stage == BURY)
            return mcds__operation_fail(operation, reply);
        call->outcome = MCDS_UNSUPPORTED;
        return ask_let_go(call, operation);
    case MCDS_OUT_UNKNOWN:
        call->doubt = true;
        return take_trouble(call, operation, reply);
    case MCDS_OUT_UNSENT:
        return take_trouble(call, operation, reply);
    default:
        return mcds__operation_fail(operation, reply);
    }
}

enum mcds__step mcds__lease_release_step(struct mcds__lease_call *call,
                                         struct mcds__operation *operation)
{
    bool token_known = call->lease->cas_connection != 0;
    switch (call->stage) {
    case BEGIN:
        return token_known && !call->doubt ? ask_let_go(call, operation)
                                           : ask_look(call, operation);
    case LOOK:
        return take_look(call, operation);
    case GUARD:
        return end_gone(call, operation);
    default:
        return take_let_go(call, operation);
    }
}
