/* Lease: renew.
 *
 *   EXTEND  cas lease (extension + 1) | get lease
 *   LOOK    get lease                    after a batch without a reply
 *   WHY     get fence                    the lease is missing: has the server lost its contents?
 *
 * A reader always begins with a LOOK: its EXTEND also writes the other readers.
 *
 * The number of the extension shows whether a write of this call was applied: no other write has
 * the same. lease->extension is the number that may have been written last. A number that an
 * earlier call left in doubt proves nothing, because its time began earlier, and neither does that
 * of another process that shares the lease. */
#include <assert.h>

#include "base/environment.h"
#include "core/lease/readers.h"
#include "core/lease/value.h"

/* Before 1.6.24 memcached may change a CAS without a write, and the connection on which the
 * token was read may be gone: each costs one more read. After this many the call backs off. */
#define EXTENDS_MAX 4
/* The maximum for a reader is higher: other readers may change the value before it. */
#define READER_EXTENDS_MAX 16

/* Extensions of exported leases are random numbers from here on, so none is equal to a count. */
#define SHARED_FIRST (UINT64_C(1) << 63)

enum { BEGIN, EXTEND, LOOK, WHY };

/* The number of this call. */
static uint64_t choose_extension(const mcds_lease *lease,
                                 const struct mcds__operation *operation)
{
    uint64_t number = 0;
    if (!mcds__lease_is_shared(lease))
        return lease->extension + 1;
    assert((lease->state & MCDS__LEASE_HELD) != 0); /* no other is exported */
    operation->env->random(operation->env->self, &number, sizeof number);
    return number | SHARED_FIRST;
}

static enum mcds__step ask_extend(struct mcds__lease_call *call,
                                  struct mcds__operation *operation)
{
    mcds_cas_token cas = mcds__lease_cas(call->lease);
    call->stage = EXTEND;
    call->takes++;
    call->requests[0] = mcds__lease_write(call, MCDS_CAS, call->extension, cas);
    call->requests[1] = mcds__lease_get(call);
    operation->connection = cas.connection;
    enum mcds__step step = mcds__operation_ask_repeatable(operation, call->requests, 2);
    if (call->asked_ns == 0)
        call->asked_ns = operation->sent_ns;
    return step;
}

static enum mcds__step lease_renew_ask_look(struct mcds__lease_call *call,
                                            struct mcds__operation *operation)
{
    call->stage = LOOK;
    call->requests[1] = mcds__lease_get(call);
    return mcds__operation_ask_repeatable(operation, &call->requests[1], 1);
}

static enum mcds__step end_renewed(struct mcds__lease_call *call,
                                   struct mcds__operation *operation, mcds_cas_token cas)
{
    mcds_lease *lease = call->lease;
    assert(call->extension != 0);
    lease->extension = call->extension;
    lease->asked_ns = call->asked_ns;
    lease->deadline_ns = mcds__lease_deadline(call, call->asked_ns);
    mcds__lease_remember_cas(lease, cas);
    if (mcds__monotonic_ns(operation->env) >= lease->deadline_ns)
        return mcds__operation_explain(operation, MCDS_EXPIRED, MCDS__WHY(RENEWED_LATE));
    return mcds__operation_finish(operation, MCDS_OK);
}

/* Not renewed, as far as the client knows. */
static enum mcds__step end_unchanged(struct mcds__lease_call *call,
                                     struct mcds__operation *operation, int result,
                                     const mcds_reason *detail)
{
    if (call->doubt) {
        call->lease->extension = call->extension;
        result = MCDS_AMBIGUOUS;
    }
    return mcds__operation_explain(operation, result, detail);
}

/* The client holds the lease. The extension shows whether this call was applied. */
static enum mcds__step lease_renew_take_mine(struct mcds__lease_call *call,
                                             struct mcds__operation *operation,
                                             uint64_t extension, mcds_cas_token cas)
{
    assert(call->stage == EXTEND || call->stage == LOOK);
    assert(call->extension != 0 && call->extension != call->lease->extension);
    if (extension == call->extension)
        return end_renewed(call, operation, cas);
    if (mcds__lease_is_ghost(call->lease, extension))
        return mcds__lease_end_lost(call, operation, MCDS_LOST, MCDS__WHY(LEASE_ENDED));
    mcds__lease_remember_cas(call->lease, cas);
    if (mcds__operation_is_late(operation))
        return end_unchanged(call, operation, MCDS_TIMEOUT, MCDS__WHY(RENEWAL_LATE));
    if (call->takes < (call->is_reader ? READER_EXTENDS_MAX : EXTENDS_MAX))
        return ask_extend(call, operation);
    call->stage = BEGIN;
    if (call->is_reader) {
        call->takes = 0;
        if (mcds__operation_wait(operation, 0))
            return MCDS__SLEEP;
        return end_unchanged(call, operation, MCDS_TIMEOUT, MCDS__WHY(OTHERS_KEPT_CHANGING));
    }
    if (mcds__operation_again(operation))
        return MCDS__SLEEP;
    return end_unchanged(call, operation, MCDS_UNAVAILABLE, MCDS__WHY(SET_REFUSED));
}

static enum mcds__step lease_renew_take_trouble(struct mcds__lease_call *call,
                                                struct mcds__operation *operation,
                                                const mcds_reply *reply)
{
    call->stage = BEGIN;
    if (mcds__operation_retry(operation, reply) == MCDS__SLEEP)
        return MCDS__SLEEP;
    return end_unchanged(call, operation, operation->result, operation->detail);
}

/* A server that has lost the fence as well has lost its contents. */
static enum mcds__step ask_why(struct mcds__lease_call *call, struct mcds__operation *operation)
{
    call->stage = WHY;
    call->requests[0] = (mcds_request){
        .command = MCDS_GET,
        .key = mcds__key_bytes(&call->keys->fence),
        .route = mcds__lease_route(call),
    };
    return mcds__operation_ask_repeatable(operation, call->requests, 1);
}

static enum mcds__step take_why(struct mcds__lease_call *call,
                                struct mcds__operation *operation)
{
    assert(call->stage == WHY);
    if (call->requests[0].reply.outcome == MCDS_OUT_MISS)
        return mcds__lease_end_lost(call, operation, MCDS_LOST, MCDS__WHY(LEASE_LOST));
    return mcds__lease_end_lost(call, operation, MCDS_LOST, MCDS__WHY(LEASE_ENDED));
}

static enum mcds__step lease_renew_take_replies(struct mcds__lease_call *call,
                                                struct mcds__operation *operation)
{
    const mcds_reply *extended = &call->requests[0].reply;
    if (call->stage == EXTEND && extended->outcome == MCDS_OUT_UNKNOWN)
        call->doubt = true;
    if (call->stage == EXTEND && mcds__is_refusal(extended)) {
        (void)mcds__operation_fail(operation, extended);
        return end_unchanged(call, operation, operation->result, operation->detail);
    }
    struct mcds__lease_value value;
    const mcds_request *look = &call->requests[1];
    switch (mcds__lease_read(call, &operation->batch, look, &value)) {
    case LEASE_MINE:
        return lease_renew_take_mine(call, operation, value.extension, look->reply.cas);
    case LEASE_OTHERS:
        return mcds__lease_end_lost(call, operation, MCDS_LOST,
                                    call->is_reader && call->seen.count > 0
                                        ? MCDS__WHY(LEASE_ENDED)
                                        : MCDS__WHY(LEASE_TAKEN));
    case LEASE_MISSING:
        return ask_why(call, operation);
    case LEASE_UNSEEN:
        if (call->stage == EXTEND && extended->outcome == MCDS_OUT_OK)
            return end_renewed(call, operation, (mcds_cas_token){0, 0});
        return lease_renew_take_trouble(call, operation, &look->reply);
    case LEASE_DAMAGED:
        call->doubt = call->doubt ||
                      (call->stage == EXTEND && extended->outcome == MCDS_OUT_OK);
        if (call->doubt)
            return end_unchanged(call, operation, MCDS_AMBIGUOUS, MCDS__WHY(FOREIGN));
        return mcds__lease_end_lost(call, operation, MCDS_LOST, MCDS__WHY(LEASE_ENDED));
    default:
        return mcds__lease_end_lost(call, operation, MCDS_LOST, MCDS__WHY(LEASE_ENDED));
    }
}

/* False: the deadline has passed. Another process may have renewed an exported lease since. */
static bool may_be_live(const mcds_lease *lease, const struct mcds__operation *operation)
{
    bool is_let_go = (lease->state & MCDS__LEASE_LET_GO) != 0;
    return mcds__monotonic_ns(operation->env) < lease->deadline_ns ||
           (mcds__lease_is_shared(lease) && !is_let_go);
}

enum mcds__step mcds__lease_renew_step(struct mcds__lease_call *call,
                                       struct mcds__operation *operation)
{
    if (call->stage == WHY)
        return take_why(call, operation);
    if (call->stage != BEGIN)
        return lease_renew_take_replies(call, operation);
    if (call->extension == 0)
        call->extension = choose_extension(call->lease, operation);
    if (!may_be_live(call->lease, operation))
        return end_unchanged(call, operation, MCDS_EXPIRED, MCDS__WHY(LEASE_DEADLINE));
    bool token_known = call->lease->cas_connection != 0 && !call->is_reader;
    return token_known && !call->doubt ? ask_extend(call, operation)
                                       : lease_renew_ask_look(call, operation);
}
