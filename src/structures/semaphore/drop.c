/* Semaphore: drop.
 *
 *   LOOK      get settings | get each lease
 *   FENCES    get each fence
 *   SLOT      core/lease's drop of each slot that has a key
 *   SETTINGS  delete settings
 *
 * All keys are read before the first is erased, so a drop that is refused has erased nothing.
 *
 * A caller that acquires a slot meanwhile has its own lease and fence: the settings only limit the
 * number of slots. */
#include <assert.h>

#include "base/error.h"
#include "core/tally/tally.h"
#include "structures/semaphore/semaphore.h"

enum { DROP_LOOK, DROP_FENCES, DROP_SLOT, DROP_SETTINGS };

struct semaphore_drop {
    struct mcds__operation base;
    mcds_semaphore *semaphore;
    uint8_t stage;
    uint8_t read_stage;
    bool is_there;             /* a key of the semaphore was found */
    bool has_erased;           /* a slot is erased */
    uint32_t slot;             /* of the stage SLOT */
    bool is_used[MCDS__SLOTS]; /* the slot has a key */
    struct mcds__lease_keys keys;
    struct mcds__lease_drop drop;
    struct mcds__semaphore_look look;
};

static enum mcds__step semaphore_drop_on(struct semaphore_drop *call);

static void enter(struct semaphore_drop *call, uint8_t stage)
{
    assert(stage > DROP_LOOK);
    call->stage = stage;
    call->read_stage = 0;
    call->base.tries = 1;
    call->base.connection = 0;
}

static enum mcds__step take_leases(struct semaphore_drop *call, enum mcds__step step)
{
    struct mcds__operation *operation = &call->base;
    struct mcds__lease_value value;
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    call->is_there = call->look.requests[0].reply.outcome == MCDS_OUT_OK;
    for (uint32_t slot = 0; slot < MCDS__SLOTS; slot++) {
        enum mcds__slot_sight sight = mcds__semaphore_see(&call->look, operation, slot, &value);
        if (sight == SLOT_HELD)
            return mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(HELD));
        if (sight == SLOT_DAMAGED)
            return mcds__semaphore_refuse(&call->look, operation, slot);
        call->is_used[slot] = call->look.requests[1 + slot].reply.outcome == MCDS_OUT_OK;
    }
    for (uint32_t slot = 0; slot < MCDS__SLOTS; slot++) {
        call->look.keys[slot] = call->semaphore->fence;
        mcds__key_add_number(&call->look.keys[slot], slot);
    }
    enter(call, DROP_FENCES);
    return semaphore_drop_on(call);
}

/* Goes to the next slot that has a key, from this one on, or to the settings. */
static enum mcds__step drop_next_slot(struct semaphore_drop *call, uint32_t slot)
{
    while (slot < MCDS__SLOTS && !call->is_used[slot])
        slot++;
    call->slot = slot;
    if (slot == MCDS__SLOTS) {
        enter(call, DROP_SETTINGS);
        return semaphore_drop_on(call);
    }
    enter(call, DROP_SLOT);
    mcds__semaphore_prepare(call->semaphore, slot, &call->drop.lease, &call->keys,
                            &call->drop.call);
    mcds__lease_drop_begin(&call->drop);
    return semaphore_drop_on(call);
}

/* False: the fence cannot be erased, and the operation has failed. */
static bool check_fence(struct semaphore_drop *call, const mcds_request *request)
{
    struct mcds__operation *operation = &call->base;
    uint64_t fence;
    assert(call->stage == DROP_FENCES && request->reply.outcome == MCDS_OUT_OK);
    if (!mcds__tally_parse(mcds__operation_value(operation, request), &fence))
        (void)mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    else if (mcds__lease_is_fence_ahead(fence, operation->env))
        (void)mcds__operation_explain(operation, MCDS_INVALID, MCDS__WHY(FENCE_AHEAD));
    return operation->result == MCDS_OK;
}

static enum mcds__step step_fences(struct semaphore_drop *call)
{
    struct mcds__operation *operation = &call->base;
    assert(call->stage == DROP_FENCES);
    enum mcds__step step = mcds__tally_read_step(call->look.requests, call->look.keys,
                                                 MCDS__SLOTS, &call->semaphore->route, 0,
                                                 &call->read_stage, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    for (uint32_t slot = 0; slot < MCDS__SLOTS; slot++) {
        bool has_fence = call->look.requests[slot].reply.outcome == MCDS_OUT_OK;
        if (has_fence && !check_fence(call, &call->look.requests[slot]))
            return MCDS__DONE;
        call->is_used[slot] = call->is_used[slot] || has_fence;
        call->is_there = call->is_there || call->is_used[slot];
    }
    if (!call->is_there)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    return drop_next_slot(call, 0);
}

/* A failure after a part was erased is no failure that has changed nothing. BUSY: the settings are
 * kept, so the semaphore is too. */
static enum mcds__step end_drop(struct semaphore_drop *call)
{
    if (call->has_erased && call->base.result < 0)
        call->base.result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

static enum mcds__step drop_take_slot(struct semaphore_drop *call, enum mcds__step step)
{
    struct mcds__operation *operation = &call->base;
    assert(call->stage == DROP_SLOT && call->slot < MCDS__SLOTS);
    if (step != MCDS__DONE)
        return step;
    if (operation->result != MCDS_OK && operation->result != MCDS_NOT_FOUND)
        return end_drop(call);
    call->has_erased = call->has_erased || operation->result == MCDS_OK;
    mcds__operation_renew(operation);
    return drop_next_slot(call, call->slot + 1);
}

static enum mcds__step step_settings(struct semaphore_drop *call)
{
    struct mcds__operation *operation = &call->base;
    enum mcds__step step = mcds__tally_drop_step(
        call->look.requests, &call->semaphore->settings, 1, &call->semaphore->route,
        &call->read_stage, operation);
    if (step != MCDS__DONE)
        return step;
    if (operation->result == MCDS_NOT_FOUND)
        return mcds__operation_finish(operation, MCDS_OK);
    return end_drop(call);
}

static enum mcds__step semaphore_drop_on(struct semaphore_drop *call)
{
    struct mcds__operation *operation = &call->base;
    switch (call->stage) {
    case DROP_LOOK:
        return take_leases(call,
                           mcds__semaphore_look_step(&call->look, call->semaphore, operation));
    case DROP_FENCES:
        return step_fences(call);
    case DROP_SLOT:
        return drop_take_slot(call, mcds__lease_drop_step(&call->drop, operation));
    default:
        return step_settings(call);
    }
}

static enum mcds__step semaphore_step_drop(struct mcds__operation *operation)
{
    return semaphore_drop_on((struct semaphore_drop *)operation);
}

static const struct mcds__operation_kind drop_kind = {
    "semaphore", "drop", sizeof(struct semaphore_drop), semaphore_step_drop, NULL};

int mcds_semaphore_drop_start(mcds_semaphore *semaphore, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = MCDS_OK;
    if (semaphore == NULL)
        return mcds__fail_missing("semaphore", "drop", "a semaphore");
    struct semaphore_drop own;
    struct semaphore_drop *call = mcds__call_begin(&own.base, &drop_kind,
                                                   &semaphore->leased.handle, start, &result);
    if (call == NULL)
        return result;
    call->semaphore = semaphore;
    call->stage = DROP_LOOK;
    call->read_stage = 0;
    call->is_there = false;
    call->has_erased = false;
    call->look.stage = 0;
    call->look.slots = MCDS__SLOTS;
    return mcds__call_launch(&call->base, start);
}

int mcds_semaphore_drop(mcds_semaphore *semaphore)
{
    return mcds_semaphore_drop_start(semaphore, MCDS__WAIT, 0);
}
