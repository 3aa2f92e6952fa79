/* Lock: break, which takes the lock from its holder.
 *
 *   LOOK   get lease
 *   WRITE  compare and delete what was read, or, where the store cannot, cas it to a tombstone
 *
 * A WRITE that arrives late finds another value and does nothing to it. After one without a reply,
 * a LOOK decides: where it does not show the same lease again, that lease is over. */
#include <assert.h>

#include "base/error.h"
#include "core/lease/value.h"
#include "structures/lock/lock.h"

enum { BREAK_BEGIN, BREAK_LOOK, BREAK_WRITE };

struct lock_break {
    struct mcds__operation base;
    mcds_lock *lock;
    uint8_t stage;
    bool buries; /* the store cannot compare and delete */
    bool doubt;  /* a write was not answered; it was to end the lease with this token */
    uint64_t token[2];
    bool ends_readers; /* that write ends several readers; the token is that of one of them */
    uint64_t found[2]; /* the token that was read last; 0: bytes that are no lease */
    mcds_lease lease;
    struct mcds__lease_call call;
    mcds_request requests[1];
};

static enum mcds__step lock_break_ask(struct lock_break *call, uint8_t stage,
                                      mcds_request request)
{
    assert(stage == BREAK_LOOK || stage == BREAK_WRITE);
    call->stage = stage;
    call->requests[0] = request;
    call->base.connection = request.cas.connection;
    return mcds__operation_ask_repeatable(&call->base, call->requests, 1);
}

static enum mcds__step lock_break_ask_write(struct lock_break *call, mcds_cas_token cas)
{
    return lock_break_ask(call, BREAK_WRITE,
                          call->buries ? mcds__lease_bury(&call->call, MCDS_CAS, cas)
                                       : mcds__lease_delete(&call->call, cas));
}

/* Looks again after a pause; NULL: others have changed the key. */
static enum mcds__step lock_break_again(struct lock_break *call, const mcds_reply *trouble)
{
    struct mcds__operation *operation = &call->base;
    call->stage = BREAK_BEGIN;
    if (trouble == NULL ? mcds__operation_wait(operation, 0) : mcds__operation_again(operation))
        return MCDS__SLEEP;
    if (trouble == NULL)
        (void)mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(OTHERS_KEPT_CHANGING));
    else
        (void)mcds__operation_fail_read(operation, trouble);
    if (call->doubt)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

static enum mcds__step lock_break_take_look(struct lock_break *call)
{
    assert(call->stage == BREAK_LOOK);
    struct mcds__operation *operation = &call->base;
    const mcds_request *look = &call->requests[0];
    struct mcds__lease_value value = {.token = {0, 0}};
    switch (mcds__lease_read(&call->call, &operation->batch, look, &value)) {
    case LEASE_UNSEEN:
        if (mcds__is_transport_trouble(&look->reply))
            return lock_break_again(call, &look->reply);
        return mcds__operation_fail_read(operation, &look->reply);
    case LEASE_MISSING:
    case LEASE_FREE:
        return mcds__operation_finish(operation, call->doubt ? MCDS_OK : MCDS_NOT_FOUND);
    default:
        break;
    }
    /* Readers that have joined since then do not prove that the earlier ones have ended. */
    bool are_readers = call->ends_readers && call->call.seen.count > 0;
    if (call->doubt && !are_readers &&
        (value.token[0] != call->token[0] || value.token[1] != call->token[1]))
        return mcds__operation_finish(operation, MCDS_OK);
    call->found[0] = value.token[0];
    call->found[1] = value.token[1];
    return lock_break_ask_write(call, look->reply.cas);
}

static enum mcds__step lock_break_take_write(struct lock_break *call)
{
    assert(call->stage == BREAK_WRITE);
    struct mcds__operation *operation = &call->base;
    const mcds_reply *reply = &call->requests[0].reply;
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        return mcds__operation_finish(operation, MCDS_OK);
    case MCDS_OUT_MISS:
    case MCDS_OUT_EXISTS:
        return lock_break_again(call, NULL);
    case MCDS_OUT_UNKNOWN:
        call->doubt = true;
        call->token[0] = call->found[0];
        call->token[1] = call->found[1];
        call->ends_readers = call->call.seen.count > 0;
        return lock_break_again(call, reply);
    case MCDS_OUT_UNSENT:
        return lock_break_again(call, reply);
    case MCDS_OUT_UNSUPPORTED:
        if (!call->buries) {
            call->buries = true;
            return lock_break_ask_write(call, call->requests[0].cas);
        }
        /* fall through */
    default:
        (void)mcds__operation_fail(operation, reply);
        if (call->doubt)
            operation->result = MCDS_AMBIGUOUS;
        return MCDS__DONE;
    }
}

static enum mcds__step step_break(struct mcds__operation *operation)
{
    struct lock_break *call = (struct lock_break *)operation;
    mcds_request request;
    switch (call->stage) {
    case BREAK_BEGIN:
        request = mcds__lease_get(&call->call);
        request.options |= MCDS_NEEDS_CAS;
        return lock_break_ask(call, BREAK_LOOK, request);
    case BREAK_LOOK:
        return lock_break_take_look(call);
    default:
        return lock_break_take_write(call);
    }
}

static const struct mcds__operation_kind break_kind = {
    "lock", "break", sizeof(struct lock_break), step_break, NULL};

int mcds_lock_break_start(mcds_lock *lock, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    if (lock == NULL)
        return mcds__fail_missing("lock", "break", "a lock");
    int result = MCDS_OK;
    struct lock_break own;
    struct lock_break *call = mcds__call_begin_zero(&own.base, &break_kind,
                                                    &lock->leased.handle, start, &result);
    if (call == NULL)
        return result;
    call->lock = lock;
    call->lease = (mcds_lease)MCDS_LEASE_INIT;
    mcds__lock_prepare(lock, &call->lease, &call->call);
    return mcds__call_launch(&call->base, start);
}

int mcds_lock_break(mcds_lock *lock)
{
    return mcds_lock_break_start(lock, MCDS__WAIT, 0);
}
