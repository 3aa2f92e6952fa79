/* Lease: acquire.
 *
 *   TRY    add lease | increment fence | get lease        ours if the get shows our token
 *   TAKE   cas lease | increment fence | get lease        replaces a tombstone
 *   MARK   cas lease | increment fence | get lease        ours, extension 1: an earlier add of ours
 *                                                         may still arrive, with extension 0
 *   FENCE  add fence SEED | increment fence | get lease   the fence key was missing
 *   POLL   get lease                                      while another client holds it
 *   UNDO   compare and delete, or cas to a tombstone      ours, but too late or without a fence
 *   INTEND cas lease                                      readers share it, and this writer waits
 *
 * A reader takes the lease by a cas that adds it to the other readers.
 *
 * A holder that finds no fence creates it; the increment never does: a late increment would
 * create it from an old time, and fences would decrease.
 *
 * A batch that was not answered is repeated with the same token: at worst the fence skips a
 * number. */
#include <assert.h>
#include <stdatomic.h>

#include "base/environment.h"
#include "base/number.h"
#include "core/lease/readers.h"
#include "core/lease/value.h"
#include "core/tally/tally.h"

/* How often one call tries to replace a tombstone before it treats the lease as held. */
#define TAKES_MAX 3
/* How often a reader tries to join before it pauses: other readers may change the value first. */
#define JOINS_MAX 16
/* How often one call raises a fence that is below one that its handle has seen. */
#define RAISES_MAX 3
/* Fences begin as nanoseconds since 1970. A number outside of this range is not a fence: if
 * somebody has set the number to the highest one, increments begin again at 0. */
#define FENCE_MIN (UINT64_C(1) << 32)
#define FENCE_MAX ((UINT64_C(1) << 63) - 1)

enum { BEGIN, TRY, TAKE, MARK, FENCE, POLL, UNDO, INTEND };

bool mcds__lease_is_fence(uint64_t number)
{
    return number >= FENCE_MIN && number <= FENCE_MAX;
}

/* Greater than every fence drawn so far, as far as clocks agree, and than those that this
 * handle has seen. */
static uint64_t fence_seed(const struct mcds__lease_call *call,
                           const struct mcds__operation *operation)
{
    uint64_t newest = atomic_load_explicit(call->fence_newest, memory_order_relaxed);
    int64_t now_ns = mcds__wall_ns(operation->env);
    uint64_t seed = now_ns > (int64_t)FENCE_MIN ? (uint64_t)now_ns : FENCE_MIN;
    if (seed > MCDS__LEASE_WALL_NS_MAX) /* the clock was set during the call */
        seed = MCDS__LEASE_WALL_NS_MAX;
    return seed > newest ? seed : newest + 1;
}

static void remember_fence(struct mcds__lease_call *call, uint64_t fence)
{
    uint64_t newest = atomic_load_explicit(call->fence_newest, memory_order_relaxed);
    while (fence > newest &&
           !atomic_compare_exchange_weak(call->fence_newest, &newest, fence)) {
    }
}

/* How much the fence grows with this acquisition: by more than 1 where somebody has set it below
 * one that this handle has seen. */
static uint64_t fence_step(const struct mcds__lease_call *call)
{
    assert(call->fence_drawn <= FENCE_MAX);
    uint64_t newest = atomic_load_explicit(call->fence_newest, memory_order_relaxed);
    return call->fence_drawn != 0 && newest > call->fence_drawn ? newest - call->fence_drawn + 1
                                                                : 1;
}

/* Put the increment of the fence, the get and the read of `beside` after the first request, route
 * all to the lease's server, and ask. */
static enum mcds__step lease_acquire_ask(struct mcds__lease_call *call,
                                         struct mcds__operation *operation, uint8_t stage)
{
    assert(stage == TRY || stage == TAKE || stage == MARK || stage == FENCE);
    call->requests[1] = (mcds_request){
        .command = MCDS_INCR,
        .delta = fence_step(call),
        .key = mcds__key_bytes(&call->keys->fence),
    };
    call->requests[2] = mcds__lease_get(call);
    uint32_t count = 3;
    if (call->beside != NULL)
        call->requests[count++] = (mcds_request){
            .command = MCDS_GET,
            .key = mcds__key_bytes(call->beside),
        };
    for (uint32_t i = 0; i < count; i++)
        call->requests[i].route = mcds__lease_route(call);
    call->stage = stage;
    return mcds__operation_ask_repeatable(operation, call->requests, count);
}

/* A new token for every attempt, unless an earlier one may still be in the store. */
static void draw_token(const struct mcds__lease_call *call, struct mcds__operation *operation)
{
    mcds_lease *lease = call->lease;
    if ((lease->state & MCDS__LEASE_TOKEN) != 0)
        return;
    mcds__lease_clear(lease);
    assert((lease->state & MCDS__LEASE_HELD) == 0);
    if (call->is_reader)
        lease->state = MCDS__LEASE_READER;
    operation->env->random(operation->env->self, lease->token, sizeof lease->token);
}

static enum mcds__step ask_try(struct mcds__lease_call *call, struct mcds__operation *operation)
{
    mcds_lease *lease = call->lease;
    draw_token(call, operation);
    call->requests[0] = mcds__lease_write(call, MCDS_ADD, 0, (mcds_cas_token){0, 0});
    call->requests[0].options = MCDS_NEEDS_CAS; /* to renew and to release it */
    enum mcds__step step = lease_acquire_ask(call, operation, TRY);
    /* If an earlier add is in doubt, the time of the lease may have begun with the first one. */
    if ((lease->state & MCDS__LEASE_TOKEN) == 0)
        lease->asked_ns = operation->sent_ns;
    return step;
}

/* Replace a tombstone. If an add is in doubt, the time of the lease may have begun when the
 * tombstone was seen; otherwise not before this write. */
static enum mcds__step ask_take(struct mcds__lease_call *call,
                                struct mcds__operation *operation, mcds_cas_token cas)
{
    mcds_lease *lease = call->lease;
    int64_t seen_ns = operation->sent_ns;
    draw_token(call, operation);
    call->requests[0] = mcds__lease_write(call, MCDS_CAS, 0, cas);
    operation->connection = cas.connection;
    enum mcds__step step = lease_acquire_ask(call, operation, TAKE);
    lease->asked_ns = (lease->state & MCDS__LEASE_TOKEN) != 0 ? seen_ns : operation->sent_ns;
    return step;
}

/* The time of the lease still counts from the earlier request, so it is never too long. */
static enum mcds__step lease_acquire_ask_mark(struct mcds__lease_call *call,
                                              struct mcds__operation *operation,
                                              mcds_cas_token cas)
{
    assert((call->lease->state & MCDS__LEASE_TOKEN) != 0);
    assert((call->lease->state & MCDS__LEASE_DOUBT) != 0);
    call->requests[0] = mcds__lease_write(call, MCDS_CAS, 1, cas);
    operation->connection = cas.connection;
    return lease_acquire_ask(call, operation, MARK);
}

static enum mcds__step lease_acquire_ask_fence(struct mcds__lease_call *call,
                                               struct mcds__operation *operation)
{
    call->requests[0] = (mcds_request){
        .command = MCDS_ADD,
        .flags = mcds__wall_s(operation->env),
        .key = mcds__key_bytes(&call->keys->fence),
        .value = {call->seed_text,
                  mcds__format_u64(fence_seed(call, operation), call->seed_text)},
    };
    return lease_acquire_ask(call, operation, FENCE);
}

static enum mcds__step lease_acquire_ask_poll(struct mcds__lease_call *call,
                                              struct mcds__operation *operation)
{
    call->stage = POLL;
    call->requests[0] = mcds__lease_get(call);
    return mcds__operation_ask_repeatable(operation, call->requests, 1);
}

static enum mcds__step ask_undo(struct mcds__lease_call *call,
                                struct mcds__operation *operation, mcds_cas_token cas,
                                int outcome)
{
    assert(outcome != MCDS_OK); /* a tenure that is undone was not granted */
    call->stage = UNDO;
    call->outcome = outcome;
    bool doubt = (call->lease->state & MCDS__LEASE_DOUBT) != 0;
    call->requests[0] = doubt || call->is_reader ? mcds__lease_bury(call, MCDS_CAS, cas)
                                                 : mcds__lease_delete(call, cas);
    if (call->is_reader && mcds__readers_are_others(call))
        call->requests[0] = mcds__readers_leave(call, cas);
    operation->connection = cas.connection;
    return mcds__operation_ask_repeatable(operation, call->requests, 1);
}

/* If the undo failed, the lease may still be in the store, and a late add may still arrive. */
static enum mcds__step lease_acquire_end_undo(struct mcds__lease_call *call,
                                              struct mcds__operation *operation)
{
    mcds_outcome outcome = call->requests[0].reply.outcome;
    bool doubt = (call->lease->state & MCDS__LEASE_DOUBT) != 0;
    /* Another reader may have changed the value of this one. */
    bool gone = outcome == MCDS_OUT_MISS || (outcome == MCDS_OUT_EXISTS && !call->is_reader);
    if (outcome != MCDS_OUT_OK && (doubt || !gone))
        return mcds__operation_finish(operation, MCDS_AMBIGUOUS);
    mcds__lease_clear(call->lease);
    operation->result = call->outcome; /* the cause is that of the reply before */
    return MCDS__DONE;
}

/* Whether to poll again, and then at wake_ns. The last poll is at the end of the wait. */
static bool wait_more(const struct mcds__lease_call *call, struct mcds__operation *operation,
                      int64_t hint_ns)
{
    if (mcds__monotonic_ns(operation->env) >= call->wait_until_ns ||
        !mcds__operation_wait(operation, hint_ns))
        return false;
    if (operation->wake_ns > call->wait_until_ns)
        operation->wake_ns = call->wait_until_ns;
    assert(operation->wake_ns <= call->wait_until_ns);
    return true;
}

/* The replies decide nothing: repeat the batch while the caller waits, or fail. */
static enum mcds__step lease_acquire_take_trouble(struct mcds__lease_call *call,
                                                  struct mcds__operation *operation,
                                                  const mcds_reply *reply)
{
    call->stage = BEGIN;
    call->polls = false;
    call->marks = 0;
    if (!mcds__is_refusal(reply) &&
        (wait_more(call, operation, 0) || mcds__operation_again(operation)))
        return MCDS__SLEEP;
    (void)mcds__operation_fail_read(operation, reply);
    if ((call->lease->state & MCDS__LEASE_TOKEN) != 0)
        operation->result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

/* The lease is held, but its fence is a number that no lock draws. */
static enum mcds__step take_without_fence(struct mcds__lease_call *call,
                                          struct mcds__operation *operation,
                                          const mcds_reply *look, int64_t deadline_ns)
{
    mcds_lease *lease = call->lease;
    assert(call->takes_any_fence && lease->fence == 0);
    lease->deadline_ns = deadline_ns;
    lease->state |= MCDS__LEASE_HELD;
    mcds__lease_remember_cas(lease, look->cas);
    return mcds__operation_finish(operation, MCDS_OK);
}

/* The increment has drawn no fence: give the lease back. */
static enum mcds__step refuse_fence(struct mcds__lease_call *call,
                                    struct mcds__operation *operation, const mcds_reply *fence,
                                    const mcds_reply *look)
{
    if (fence->outcome == MCDS_OUT_OK) {
        mcds__operation_note_read(operation, fence);
        (void)mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FENCE_FORGED));
        return ask_undo(call, operation, look->cas, MCDS_CORRUPT);
    }
    bool unborn = fence->outcome == MCDS_OUT_MISS;
    (void)mcds__operation_fail(operation, unborn ? &call->requests[0].reply : fence);
    if (operation->result >= 0)
        /* Stored, but missing: the store has no room for it. */
        operation->result = MCDS_FULL;
    return ask_undo(call, operation, look->cas, operation->result);
}

/* Other readers change the value between the look and the mark, so a reader needs more attempts. */
static bool may_mark(struct mcds__lease_call *call)
{
    return call->marks++ < (call->is_reader ? JOINS_MAX : TAKES_MAX);
}

/* The get has shown our token, and `fence` is the reply of the increment before it. */
static enum mcds__step lease_acquire_take_mine(struct mcds__lease_call *call,
                                               struct mcds__operation *operation,
                                               const mcds_reply *fence, const mcds_reply *look,
                                               uint64_t extension)
{
    mcds_lease *lease = call->lease;
    lease->state |= MCDS__LEASE_TOKEN;
    if (extension == 0 && (lease->state & MCDS__LEASE_DOUBT) != 0)
        return may_mark(call) ? lease_acquire_ask_mark(call, operation, look->cas)
                              : lease_acquire_take_trouble(call, operation, look);
    if (fence->outcome == MCDS_OUT_MISS && call->stage != FENCE)
        return lease_acquire_ask_fence(call, operation);
    if (mcds__is_transport_trouble(fence))
        return lease_acquire_take_trouble(call, operation, fence);
    bool is_drawn = fence->outcome == MCDS_OUT_OK && mcds__lease_is_fence(fence->number);
    if (!is_drawn && !(call->takes_any_fence && fence->outcome == MCDS_OUT_OK))
        return refuse_fence(call, operation, fence, look);
    uint64_t newest = atomic_load(call->fence_newest); /* read before the clock */
    int64_t deadline_ns = mcds__lease_deadline(call, lease->asked_ns);
    if (mcds__monotonic_ns(operation->env) >= deadline_ns) {
        operation->detail = MCDS__WHY(GRANTED_LATE);
        return ask_undo(call, operation, look->cas, MCDS_TIMEOUT);
    }
    if (call->is_reader && look->ttl_ms < 0) {
        operation->detail = MCDS__WHY(LOCK_WITHOUT_TTL);
        return ask_undo(call, operation, look->cas, MCDS_UNSUPPORTED);
    }
    if (!is_drawn)
        return take_without_fence(call, operation, look, deadline_ns);
    if (fence->number <= newest && call->raises++ < RAISES_MAX) {
        call->fence_drawn = fence->number;
        return lease_acquire_ask_fence(call, operation);
    }
    assert(extension > 0 ||
           (lease->state & MCDS__LEASE_DOUBT) == 0); /* no late add is taken for it */
    lease->fence = fence->number;
    lease->deadline_ns = deadline_ns;
    lease->extension = extension;
    lease->state |= MCDS__LEASE_HELD;
    mcds__lease_remember_cas(lease, look->cas);
    remember_fence(call, fence->number);
    return mcds__operation_finish(operation, MCDS_OK);
}

/* The lease is not held. An add in doubt may still acquire it later. */
static enum mcds__step end_not_ours(struct mcds__lease_call *call,
                                    struct mcds__operation *operation,
                                    const mcds_reason *detail)
{
    if ((call->lease->state & MCDS__LEASE_DOUBT) == 0)
        return mcds__operation_explain(operation, MCDS_BUSY, detail);
    return mcds__operation_explain(operation, MCDS_AMBIGUOUS, MCDS__WHY(REQUEST_MAY_ARRIVE));
}

/* Polls after a pause, or ends. */
static enum mcds__step wait_or_end(struct mcds__lease_call *call,
                                   struct mcds__operation *operation, int64_t hint_ns)
{
    call->stage = BEGIN;
    if (wait_more(call, operation, hint_ns))
        return MCDS__SLEEP;
    return end_not_ours(call, operation, mcds__readers_why_busy(call));
}

/* The reply is not used: the next poll shows whether the intent has to be written again. */
static enum mcds__step ask_intend(struct mcds__lease_call *call,
                                  struct mcds__operation *operation, mcds_cas_token cas)
{
    call->stage = INTEND;
    call->requests[0] = mcds__readers_intend(call, cas);
    operation->connection = cas.connection;
    return mcds__operation_ask_repeatable(operation, call->requests, 1);
}

/* Another client holds it. An add that was surely refused needs no repetition of its token. */
static enum mcds__step take_others(struct mcds__lease_call *call,
                                   struct mcds__operation *operation, const mcds_reply *look)
{
    mcds_lease *lease = call->lease;
    if ((lease->state & MCDS__LEASE_DOUBT) == 0)
        mcds__lease_clear(lease);
    else
        lease->asked_ns = operation->sent_ns; /* the lease was not held at this time */
    call->polls = true;
    operation->tries = 1; /* earlier failures no longer count */
    if (mcds__readers_need_intent(call) && look->ttl_ms >= 0 &&
        mcds__monotonic_ns(operation->env) < call->wait_until_ns &&
        mcds__readers_make_room(call))
        return ask_intend(call, operation, look->cas);
    return wait_or_end(call, operation, look->ttl_ms > 0 ? look->ttl_ms * NS_PER_MS : 0);
}

/* Other readers have changed the value before each try: pause, and read it again. */
static enum mcds__step take_overtaken(struct mcds__lease_call *call,
                                      struct mcds__operation *operation)
{
    assert(call->is_reader);
    if ((call->lease->state & MCDS__LEASE_DOUBT) == 0)
        mcds__lease_clear(call->lease);
    call->stage = BEGIN;
    call->polls = true;
    call->takes = 0;
    if (mcds__operation_wait(operation, 0))
        return MCDS__SLEEP;
    return end_not_ours(call, operation, MCDS__WHY(OTHERS_KEPT_CHANGING));
}

/* A tombstone, or readers whom this client may join or whose leases have ended. */
static enum mcds__step take_free(struct mcds__lease_call *call,
                                 struct mcds__operation *operation, const mcds_reply *look)
{
    if (call->is_reader && call->takes >= JOINS_MAX)
        return take_overtaken(call, operation);
    if (call->takes++ >= TAKES_MAX && !call->is_reader)
        return take_others(call, operation, look);
    return ask_take(call, operation, look->cas);
}

/* The write was refused, or its lease expired or was evicted before the get. */
static enum mcds__step take_missing(struct mcds__lease_call *call,
                                    struct mcds__operation *operation)
{
    const mcds_reply *written = &call->requests[0].reply;
    if (mcds__is_refusal(written)) {
        (void)mcds__operation_fail(operation, written);
        if ((call->lease->state & MCDS__LEASE_DOUBT) != 0)
            operation->result = MCDS_AMBIGUOUS;
        return MCDS__DONE;
    }
    if ((call->lease->state & MCDS__LEASE_DOUBT) == 0)
        call->lease->state &= ~(uint32_t)MCDS__LEASE_TOKEN;
    else
        call->lease->asked_ns = operation->sent_ns; /* the lease was not held at this time */
    call->stage = BEGIN;
    call->polls = false;
    if (mcds__operation_again(operation))
        return MCDS__SLEEP;
    return end_not_ours(call, operation, MCDS__WHY(KEY_VANISHES));
}

/* Update the state of the lease from the reply to the write. */
static void note_write(struct mcds__lease_call *call)
{
    mcds_outcome outcome = call->requests[0].reply.outcome;
    if (call->stage != TRY && call->stage != TAKE && call->stage != MARK)
        return;
    if (outcome == MCDS_OUT_UNKNOWN)
        call->lease->state |= MCDS__LEASE_TOKEN | MCDS__LEASE_DOUBT;
    if (outcome == MCDS_OUT_OK)
        call->lease->state |= MCDS__LEASE_TOKEN;
}

static enum mcds__step lease_acquire_take_replies(struct mcds__lease_call *call,
                                                  struct mcds__operation *operation)
{
    const mcds_reason *detail;
    int result;
    const mcds_request *look = call->stage == POLL ? &call->requests[0] : &call->requests[2];
    struct mcds__lease_value value;
    note_write(call);
    switch (mcds__lease_read(call, &operation->batch, look, &value)) {
    case LEASE_MINE:
        if (call->stage == POLL)
            return ask_try(call, operation);
        return lease_acquire_take_mine(call, operation, &call->requests[1].reply, &look->reply,
                                       value.extension);
    case LEASE_OTHERS:
        return take_others(call, operation, &look->reply);
    case LEASE_FREE:
        return take_free(call, operation, &look->reply);
    case LEASE_MISSING:
        if (call->stage == POLL)
            return ask_try(call, operation);
        return take_missing(call, operation);
    case LEASE_DAMAGED:
        result = mcds__lease_refuse(mcds__operation_value(operation, look), look->key, &detail);
        if ((call->lease->state & MCDS__LEASE_TOKEN) != 0)
            result = MCDS_AMBIGUOUS;
        return mcds__operation_explain(operation, result, detail);
    default:
        return lease_acquire_take_trouble(call, operation, &look->reply);
    }
}

enum mcds__step mcds__lease_acquire_step(struct mcds__lease_call *call,
                                         struct mcds__operation *operation)
{
    switch (call->stage) {
    case BEGIN:
        return call->polls ? lease_acquire_ask_poll(call, operation) : ask_try(call, operation);
    case UNDO:
        return lease_acquire_end_undo(call, operation);
    case INTEND:
        return wait_or_end(call, operation, 0);
    default:
        return lease_acquire_take_replies(call, operation);
    }
}
