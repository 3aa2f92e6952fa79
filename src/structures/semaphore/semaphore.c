/* Semaphore: N leases (core/lease) with a slot each. */
#include "structures/semaphore/semaphore.h"

#include <assert.h>

#include "base/error.h"
#include "core/tally/tally.h"

void mcds__semaphore_keys(const mcds_semaphore *semaphore, uint32_t slot,
                          struct mcds__lease_keys *keys_out)
{
    assert(slot < MCDS__SLOTS);
    keys_out->lease = semaphore->lease;
    keys_out->fence = semaphore->fence;
    mcds__key_add_number(&keys_out->lease, slot);
    mcds__key_add_number(&keys_out->fence, slot);
}

void mcds__semaphore_prepare(mcds_semaphore *semaphore, uint32_t slot, mcds_lease *lease,
                             struct mcds__lease_keys *keys, struct mcds__lease_call *call)
{
    mcds__semaphore_keys(semaphore, slot, keys);
    mcds__leased_prepare(&semaphore->leased, keys, &semaphore->fences_newest[slot], lease,
                         call);
    call->route = &semaphore->route;
    assert(call->lease_ms > 0 && call->keys == keys);
}

struct semaphore_call {
    struct mcds__operation base;
    mcds_semaphore *semaphore;
    uint32_t slot;
    struct mcds__lease_keys keys;
    struct mcds__lease_call lease;
};

static enum mcds__step semaphore_step_renew(struct mcds__operation *operation)
{
    return mcds__lease_renew_step(&((struct semaphore_call *)operation)->lease, operation);
}

static enum mcds__step semaphore_step_release(struct mcds__operation *operation)
{
    struct semaphore_call *call = (struct semaphore_call *)operation;
    enum mcds__step step = mcds__lease_release_step(&call->lease, operation);
    if (step == MCDS__DONE && operation->result == MCDS_OK)
        atomic_store(&call->semaphore->slot_hot, call->slot);
    return step;
}

static const struct mcds__operation_kind renew_kind = {
    "semaphore", "renew", sizeof(struct semaphore_call), semaphore_step_renew, NULL};
static const struct mcds__operation_kind release_kind = {
    "semaphore", "release", sizeof(struct semaphore_call), semaphore_step_release, NULL};

static int semaphore_launch(const struct mcds__operation_kind *kind, mcds_semaphore *semaphore,
                            mcds_permit *permit, enum mcds__leased_need need,
                            const struct mcds__start *start)
{
    if (semaphore == NULL || permit == NULL)
        return mcds__fail_missing("semaphore", kind->verb, "a semaphore and a permit");
    const struct mcds__given slot = {MCDS_CAUSE_OUT_OF_RANGE, "slot", permit->slot, 0,
                                     MCDS__SLOTS - 1};
    int result = mcds__leased_check(&semaphore->leased, &permit->lease, kind, need);
    if (result == MCDS_OK)
        result = mcds__check_given("semaphore", semaphore->leased.handle.name, kind->verb,
                                   &slot, 1);
    if (result != MCDS_OK)
        return result;
    struct semaphore_call own;
    struct semaphore_call *call = mcds__call_begin(&own.base, kind, &semaphore->leased.handle,
                                                   start, &result);
    if (call == NULL)
        return result;
    call->semaphore = semaphore;
    call->slot = permit->slot;
    mcds__semaphore_prepare(semaphore, permit->slot, &permit->lease, &call->keys, &call->lease);
    return mcds__call_launch(&call->base, start);
}

int mcds_semaphore_renew_start(mcds_semaphore *semaphore, mcds_permit *permit,
                               mcds_pipeline *pipeline, uint64_t tag)
{
    return semaphore_launch(&renew_kind, semaphore, permit, MCDS__NEED_HELD,
                            MCDS__START(pipeline, tag));
}

int mcds_semaphore_renew(mcds_semaphore *semaphore, mcds_permit *permit)
{
    return mcds_semaphore_renew_start(semaphore, permit, MCDS__WAIT, 0);
}

int mcds_semaphore_release_start(mcds_semaphore *semaphore, mcds_permit *permit,
                                 mcds_pipeline *pipeline, uint64_t tag)
{
    return semaphore_launch(&release_kind, semaphore, permit, MCDS__NEED_ANY,
                            MCDS__START(pipeline, tag));
}

int mcds_semaphore_release(mcds_semaphore *semaphore, mcds_permit *permit)
{
    return mcds_semaphore_release_start(semaphore, permit, MCDS__WAIT, 0);
}

int64_t mcds_semaphore_remaining_ms(const mcds_semaphore *semaphore, const mcds_permit *permit)
{
    return semaphore == NULL || permit == NULL
               ? 0
               : mcds__leased_remaining_ms(&semaphore->leased, &permit->lease);
}

int mcds_semaphore_open(mcds_store *store, const char *name,
                        const mcds_semaphore_options *options, mcds_semaphore **semaphore_out)
{
    mcds_semaphore_options own;
    int result = mcds__read_options("semaphore", store, name, semaphore_out,
                                    MCDS__SIZED_mcds_semaphore_options, options, &own);
    if (result != MCDS_OK)
        return result;
    const mcds_capabilities can = mcds__store_can(store);
    const struct mcds__given permits = {MCDS_CAUSE_OUT_OF_RANGE, "permits", own.permits, 1,
                                        MCDS__SLOTS};
    result = mcds__check_given("semaphore", name, NULL, &permits, 1);
    if (result == MCDS_OK)
        result = mcds__leased_check_options("semaphore", name, own.lease_ms, own.label, &can);
    if (result != MCDS_OK)
        return result;
    mcds_semaphore *semaphore = mcds__handle_open("semaphore", store, name, sizeof *semaphore,
                                                  NULL);
    if (semaphore == NULL)
        return MCDS_NO_MEMORY;
    mcds__leased_init(&semaphore->leased, own.lease_ms, own.label, &can);
    semaphore->wanted = own.permits;
    atomic_init(&semaphore->slot_hot, MCDS__SLOT_NONE);
    const char *ns = mcds__store_ns(store);
    mcds__key_begin(&semaphore->settings, ns, MCDS__TAG_SEMAPHORE, name);
    mcds__key_begin(&semaphore->lease, ns, MCDS__TAG_SEMAPHORE_LEASE, name);
    mcds__key_begin(&semaphore->fence, ns, MCDS__TAG_SEMAPHORE_FENCE, name);
    semaphore->route = semaphore->settings;
    *semaphore_out = semaphore;
    return MCDS_OK;
}

void mcds_semaphore_close(mcds_semaphore *semaphore)
{
    mcds__handle_release((struct mcds__handle *)semaphore);
}

struct semaphore_made_with {
    struct mcds__operation base;
    uint8_t stage;
    struct mcds__semaphore_settings settings;
    struct mcds__key key;
    mcds_request request;
};

static enum mcds__step semaphore_step_made_with(struct mcds__operation *operation)
{
    struct semaphore_made_with *read = (struct semaphore_made_with *)operation;
    enum mcds__step step = mcds__tally_read_step(&read->request, &read->key, 1, NULL, 0,
                                                 &read->stage, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    operation->result = mcds__semaphore_read(operation, &read->request, &read->settings);
    return MCDS__DONE;
}

static const struct mcds__operation_kind made_with_kind = {
    "semaphore", "open", sizeof(struct semaphore_made_with), semaphore_step_made_with, NULL};

int mcds_semaphore_made_with(mcds_store *store, const char *name,
                             mcds_semaphore_options *options)
{
    struct semaphore_made_with read = {.stage = 0};
    mcds_semaphore_options own;
    int result = mcds__check_open("semaphore", "open", store, name, options,
                                  MCDS__MADE_WITH_NEEDED);
    if (result == MCDS_OK)
        result = mcds__sized_check(MCDS__SIZED_mcds_semaphore_options, options);
    if (result != MCDS_OK)
        return result;
    mcds__key_begin(&read.key, mcds__store_ns(store), MCDS__TAG_SEMAPHORE, name);
    mcds__operation_begin(&read.base, &made_with_kind, store, name, 0);
    result = mcds__call_launch(&read.base, NULL);
    if (result != MCDS_OK)
        return result;
    mcds__sized_take(MCDS__SIZED_mcds_semaphore_options, options, &own);
    own.permits = (uint32_t)read.settings.permits;
    mcds__sized_write(MCDS__SIZED_mcds_semaphore_options, options, &own);
    return MCDS_OK;
}
