/* Lease: release.
 *
 *   DELETE  compare and delete
 *   BURY    cas to a tombstone   when an add of ours may still arrive, or the store cannot
 *                                compare and delete
 *   LOOK    get lease            after a refusal or a batch without a reply
 *   GUARD   add a tombstone      the key is missing, but an add of ours may still arrive
 *           cas lease            the same where a cas of ours may: the value as it is, or a tombstone
 *   LEAVE   cas lease            a reader that is not the last: the value without it
 *
 * A reader always begins with a LOOK.
 *
 * After a DELETE or BURY without a reply, the result is AMBIGUOUS until a LOOK shows that the
 * key is another client's, or another DELETE or BURY is answered. */
#include "base/environment.h"

#include <assert.h>

#include "core/lease/readers.h"
#include "core/lease/value.h"

#define LOOKS_MAX 4
/* The maximum for a reader is higher: other readers may change the value before it. */
#define READER_LOOKS_MAX 16

enum { BEGIN, DELETE, BURY, LEAVE, LOOK, GUARD };

static enum mcds__step lease_release_ask(struct mcds__lease_call *call,
                                         struct mcds__operation *operation, uint8_t stage,
                                         mcds_request request)
{
    assert(stage != BEGIN);
    call->stage = stage;
    call->requests[0] = request;
    operation->connection = request.cas.connection;
    return mcds__operation_ask_repeatable(operation, call->requests, 1);
}

static enum mcds__step lease_release_ask_look(struct mcds__lease_call *call,
                                              struct mcds__operation *operation)
{
    call->takes++;
    return lease_release_ask(call, operation, LOOK, mcds__lease_get(call));
}

static enum mcds__step ask_let_go(struct mcds__lease_call *call,
                                  struct mcds__operation *operation)
{
    mcds_cas_token cas = mcds__lease_cas(call->lease);
    bool doubt = (call->lease->state & MCDS__LEASE_DOUBT) != 0;
    if (call->is_reader && mcds__readers_are_others(call))
        return lease_release_ask(call, operation, LEAVE, mcds__readers_leave(call, cas));
    if (doubt || call->outcome == MCDS_UNSUPPORTED)
        return lease_release_ask(call, operation, BURY, mcds__lease_bury(call, MCDS_CAS, cas));
    return lease_release_ask(call, operation, DELETE, mcds__lease_delete(call, cas));
}

/* The lease is gone: ended by this release, or before it. */
static enum mcds__step end_gone(struct mcds__lease_call *call,
                                struct mcds__operation *operation)
{
    uint32_t state = call->lease->state;
    if (call->doubt || (state & MCDS__LEASE_LET_GO) != 0 || (state & MCDS__LEASE_HELD) == 0)
        return mcds__lease_end_lost(call, operation, MCDS_AMBIGUOUS, MCDS__WHY(LEASE_GONE));
    return mcds__lease_end_lost(call, operation, MCDS_LOST, MCDS__WHY(LEASE_ENDED_OR_RELEASED));
}

/* The outcome stays unknown. A release in doubt was applied, or may still be: from now on the
 * caller has no right to the lease. */
static enum mcds__step end_kept(struct mcds__lease_call *call,
                                struct mcds__operation *operation)
{
    mcds_lease *lease = call->lease;
    if (call->doubt) {
        lease->state |= MCDS__LEASE_LET_GO;
        lease->deadline_ns = 0;
    }
    if ((lease->state & MCDS__LEASE_LET_GO) != 0)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

static enum mcds__step lease_release_take_trouble(struct mcds__lease_call *call,
                                                  struct mcds__operation *operation,
                                                  const mcds_reply *reply)
{
    call->stage = BEGIN;
    if (mcds__operation_retry(operation, reply) == MCDS__SLEEP)
        return MCDS__SLEEP;
    return end_kept(call, operation);
}

static enum mcds__step lease_release_refuse(struct mcds__lease_call *call,
                                            struct mcds__operation *operation,
                                            const mcds_reply *reply)
{
    (void)mcds__operation_fail(operation, reply);
    return end_kept(call, operation);
}

/* Each time the connection was lost between a read and the request after it. */
static enum mcds__step take_refusals(struct mcds__lease_call *call,
                                     struct mcds__operation *operation)
{
    call->stage = BEGIN;
    if (call->is_reader)
        call->takes = 0;
    if (call->is_reader ? mcds__operation_wait(operation, 0) : mcds__operation_again(operation))
        return MCDS__SLEEP;
    (void)mcds__operation_explain(
        operation, mcds__operation_is_late(operation) ? MCDS_TIMEOUT : MCDS_UNAVAILABLE,
        MCDS__WHY(DELETE_REFUSED));
    return end_kept(call, operation);
}

/* The lease is not in the store, but the write that was to acquire it may still arrive. An add fails
 * while there is a value, and a cas when the value has been written again. */
static enum mcds__step ask_guard(struct mcds__lease_call *call,
                                 struct mcds__operation *operation, mcds_cas_token cas)
{
    bool is_missing = cas.connection == 0;
    bool is_shared = !is_missing && call->is_reader && call->seen.count > 0;
    assert((call->lease->state & MCDS__LEASE_DOUBT) != 0);
    return lease_release_ask(
        call, operation, GUARD,
        is_shared ? mcds__readers_leave(call, cas)
                  : mcds__lease_bury(call, is_missing ? MCDS_ADD : MCDS_CAS, cas));
}

static enum mcds__step lease_release_take_look(struct mcds__lease_call *call,
                                               struct mcds__operation *operation)
{
    struct mcds__lease_value value;
    const mcds_request *look = &call->requests[0];
    switch (mcds__lease_read(call, &operation->batch, look, &value)) {
    case LEASE_MINE:
        call->ghost = mcds__lease_is_ghost(call->lease, value.extension);
        mcds__lease_remember_cas(call->lease, look->reply.cas);
        return call->takes > (call->is_reader ? READER_LOOKS_MAX : LOOKS_MAX)
                   ? take_refusals(call, operation)
                   : ask_let_go(call, operation);
    case LEASE_MISSING:
        if ((call->lease->state & MCDS__LEASE_DOUBT) != 0)
            return ask_guard(call, operation, (mcds_cas_token){0, 0});
        return end_gone(call, operation);
    case LEASE_UNSEEN:
        return lease_release_take_trouble(call, operation, &look->reply);
    case LEASE_DAMAGED:
        (void)mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(FOREIGN));
        return call->doubt ? end_kept(call, operation) : end_gone(call, operation);
    case LEASE_FREE: /* a cas of ours may compare with this value */
        if ((call->lease->state & MCDS__LEASE_DOUBT) != 0)
            return ask_guard(call, operation, look->reply.cas);
        return end_gone(call, operation);
    default:
        return end_gone(call, operation);
    }
}

/* Whether the caller worked until after its deadline. A store may keep the key longer, so that the
 * key of an ended lease can still be there. Of a shared lease, another process may have moved the
 * deadline. */
static bool is_overdue(const struct mcds__lease_call *call)
{
    const mcds_lease *lease = call->lease;
    return !mcds__lease_is_shared(lease) && lease->deadline_ns != 0 &&
           call->asked_ns >= lease->deadline_ns;
}

static enum mcds__step take_let_go(struct mcds__lease_call *call,
                                   struct mcds__operation *operation)
{
    const mcds_reply *reply = &call->requests[0].reply;
    assert(call->stage == DELETE || call->stage == BURY || call->stage == LEAVE);
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        if (call->ghost || (call->lease->state & MCDS__LEASE_HELD) == 0)
            return end_gone(call, operation);
        if (is_overdue(call))
            return mcds__lease_end_lost(call, operation, MCDS_LOST,
                                        MCDS__WHY(LEASE_ENDED_BEFORE));
        mcds__lease_clear(call->lease);
        return mcds__operation_finish(operation, MCDS_OK);
    case MCDS_OUT_MISS:
    case MCDS_OUT_EXISTS:
        return lease_release_ask_look(call, operation);
    case MCDS_OUT_UNSUPPORTED:
        if (call->stage != DELETE)
            return lease_release_refuse(call, operation, reply);
        call->outcome = MCDS_UNSUPPORTED;
        return ask_let_go(call, operation);
    case MCDS_OUT_UNKNOWN:
        call->doubt = true;
        return lease_release_take_trouble(call, operation, reply);
    case MCDS_OUT_UNSENT:
        return lease_release_take_trouble(call, operation, reply);
    default:
        return lease_release_refuse(call, operation, reply);
    }
}

/* A late write must not bring the lease back. What refused the guard may be that write. */
static enum mcds__step take_guard(struct mcds__lease_call *call,
                                  struct mcds__operation *operation)
{
    assert((call->lease->state & MCDS__LEASE_DOUBT) != 0);
    const mcds_reply *reply = &call->requests[0].reply;
    if (mcds__is_transport_trouble(reply)) {
        call->doubt = true;
        return lease_release_take_trouble(call, operation, reply);
    }
    bool is_refused = reply->outcome == MCDS_OUT_NOT_STORED ||
                      reply->outcome == MCDS_OUT_EXISTS || reply->outcome == MCDS_OUT_MISS;
    if (is_refused && call->takes <= (call->is_reader ? READER_LOOKS_MAX : LOOKS_MAX))
        return lease_release_ask_look(call, operation);
    return end_gone(call, operation);
}

enum mcds__step mcds__lease_release_step(struct mcds__lease_call *call,
                                         struct mcds__operation *operation)
{
    assert(call->stage <= GUARD);
    bool token_known = call->lease->cas_connection != 0 && !call->is_reader;
    switch (call->stage) {
    case BEGIN:
        if (call->asked_ns == 0)
            call->asked_ns = mcds__monotonic_ns(operation->env);
        return token_known && !call->doubt ? ask_let_go(call, operation)
                                           : lease_release_ask_look(call, operation);
    case LOOK:
        return lease_release_take_look(call, operation);
    case GUARD:
        return take_guard(call, operation);
    default:
        return take_let_go(call, operation);
    }
}
