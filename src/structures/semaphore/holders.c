/* Semaphore: holders.
 *
 *   LOOK    get settings | get each lease
 *   FENCES  get the fence of each slot that is held */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "core/tally/tally.h"
#include "structures/semaphore/semaphore.h"

enum { HOLDERS_LOOK, HOLDERS_FENCES };

struct semaphore_holders {
    struct mcds__operation base;
    mcds_semaphore *semaphore;
    mcds_semaphore_holders_cb visit;
    void *context;
    uint8_t stage;
    uint8_t read_stage;
    uint32_t permits;
    uint32_t count;
    mcds_semaphore_holder holders[MCDS__SLOTS];
    struct mcds__semaphore_look look;
};

static enum mcds__step ask_fences(struct semaphore_holders *call)
{
    assert(call->count >= 1 && call->count <= MCDS__SLOTS);
    call->stage = HOLDERS_FENCES;
    call->read_stage = 0;
    for (uint32_t i = 0; i < call->count; i++) {
        call->look.keys[i] = call->semaphore->fence;
        mcds__key_add_number(&call->look.keys[i], call->holders[i].slot);
    }
    call->base.tries = 1;
    return call->base.kind->step(&call->base);
}

static enum mcds__step take_holders(struct semaphore_holders *call, enum mcds__step step)
{
    struct mcds__operation *operation = &call->base;
    struct mcds__semaphore_settings settings;
    struct mcds__lease_value value;
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    int result = mcds__semaphore_read(operation, &call->look.requests[0], &settings);
    if (result == MCDS_NOT_FOUND)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    if (result != MCDS_OK)
        return MCDS__DONE;
    call->count = 0;
    for (uint32_t slot = 0; slot < MCDS__SLOTS; slot++) {
        enum mcds__slot_sight sight = mcds__semaphore_see(&call->look, operation, slot, &value);
        if (sight == SLOT_DAMAGED)
            return mcds__semaphore_refuse(&call->look, operation, slot);
        if (sight == SLOT_FREE)
            continue;
        int64_t ttl_ms = call->look.requests[1 + slot].reply.ttl_ms;
        mcds_semaphore_holder *holder = &call->holders[call->count++];
        *holder = (mcds_semaphore_holder){
            .remaining_ms = ttl_ms >= 0 ? ttl_ms : -1,
            .slot = slot,
            .permits = (uint32_t)settings.permits,
        };
        assert(value.label_length < sizeof holder->label);
        memcpy(holder->label, value.label, value.label_length + 1);
    }
    return call->count > 0 ? ask_fences(call) : mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step visit_holders(struct semaphore_holders *call)
{
    struct mcds__operation *operation = &call->base;
    for (uint32_t i = 0; i < call->count; i++) {
        const mcds_request *fence = &call->look.requests[i];
        if (fence->reply.outcome == MCDS_OUT_OK)
            (void)mcds__tally_parse(mcds__operation_value(operation, fence),
                                    &call->holders[i].fence);
        if (!call->visit(call->context, &call->holders[i]))
            break;
    }
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step step_holders(struct mcds__operation *operation)
{
    struct semaphore_holders *call = (struct semaphore_holders *)operation;
    if (call->stage == HOLDERS_LOOK)
        return take_holders(call,
                            mcds__semaphore_look_step(&call->look, call->semaphore, operation));
    enum mcds__step step = mcds__tally_read_step(call->look.requests, call->look.keys,
                                                 call->count, &call->semaphore->route, 0,
                                                 &call->read_stage, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    return visit_holders(call);
}

static const struct mcds__operation_kind holders_kind = {
    "semaphore", "holders", sizeof(struct semaphore_holders), step_holders, NULL};

int mcds_semaphore_holders_start(mcds_semaphore *semaphore, mcds_semaphore_holders_cb visit,
                                 void *context, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    if (semaphore == NULL || visit == NULL)
        return mcds__fail_missing("semaphore", "holders", "a semaphore and a visitor");
    int result = MCDS_OK;
    struct semaphore_holders own;
    struct semaphore_holders *call = mcds__call_begin(
        &own.base, &holders_kind, &semaphore->leased.handle, start, &result);
    if (call == NULL)
        return result;
    call->semaphore = semaphore;
    call->visit = visit;
    call->context = context;
    call->stage = HOLDERS_LOOK;
    call->read_stage = 0;
    call->count = 0;
    call->look.stage = 0;
    call->look.slots = MCDS__SLOTS;
    return mcds__call_launch(&call->base, start);
}

int mcds_semaphore_holders(mcds_semaphore *semaphore, mcds_semaphore_holders_cb visit,
                           void *context)
{
    return mcds_semaphore_holders_start(semaphore, visit, context, MCDS__WAIT, 0);
}
