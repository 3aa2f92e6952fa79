/* Semaphore: the settings, and the look at them and the slots. */
#include <assert.h>

#include "base/error.h"
#include "core/tally/tally.h"
#include "structures/semaphore/semaphore.h"

#define FRAME_TYPE 'S'
#define FRAME_VERSION 1

mcds_bytes mcds__semaphore_encode(const struct mcds__semaphore_settings *settings,
                                  mcds_bytes key, uint8_t out[MCDS__SETTINGS_SIZE])
{
    const uint64_t numbers[2] = {settings->permits, settings->made};
    assert(settings->permits >= 1 && settings->permits <= MCDS__SLOTS);
    assert(settings->made >= 1 && settings->made <= MCDS__SLOTS);
    return mcds__frame_seal_numbers(out, FRAME_TYPE, FRAME_VERSION, key, numbers, 2);
}

bool mcds__semaphore_decode(mcds_bytes value, mcds_bytes key,
                            struct mcds__semaphore_settings *settings_out)
{
    uint64_t numbers[2];
    if (!mcds__frame_open_numbers(value, FRAME_TYPE, FRAME_VERSION, key, numbers, 2))
        return false;
    *settings_out = (struct mcds__semaphore_settings){numbers[0], numbers[1]};
    return numbers[0] >= 1 && numbers[0] <= MCDS__SLOTS && numbers[1] >= 1 &&
           numbers[1] <= MCDS__SLOTS;
}

int mcds__semaphore_read(struct mcds__operation *operation, const mcds_request *request,
                         struct mcds__semaphore_settings *settings_out)
{
    *settings_out = (struct mcds__semaphore_settings){0, 0};
    if (request->reply.outcome == MCDS_OUT_MISS)
        return MCDS_NOT_FOUND;
    if (request->reply.outcome != MCDS_OUT_OK) {
        (void)mcds__operation_fail_read(operation, &request->reply);
        return operation->result;
    }
    mcds_bytes value = mcds__operation_value(operation, request);
    if (mcds__semaphore_decode(value, request->key, settings_out))
        return MCDS_OK;
    bool is_newer = mcds__frame_is_newer(value, FRAME_TYPE, FRAME_VERSION, request->key);
    (void)mcds__operation_explain(operation, is_newer ? MCDS_UNSUPPORTED : MCDS_CORRUPT,
                                  is_newer ? MCDS__WHY(NEWER) : MCDS__WHY(FOREIGN));
    return operation->result;
}

int mcds__semaphore_learn(mcds_semaphore *semaphore, struct mcds__operation *operation,
                          const mcds_request *request)
{
    struct mcds__semaphore_settings settings;
    int result = mcds__semaphore_read(operation, request, &settings);
    if (result != MCDS_OK)
        return result;
    uint32_t wanted = semaphore->wanted;
    if (wanted != 0 && wanted != settings.made && wanted != settings.permits) {
        (void)mcds__operation_differ(
            operation, MCDS__WHY(PERMITS_DIFFER),
            (struct mcds__difference){"permits", wanted, (int64_t)settings.permits});
        return operation->result;
    }
    atomic_store(&semaphore->permits, (uint32_t)settings.permits);
    return MCDS_OK;
}

enum mcds__step mcds__semaphore_look_step(struct mcds__semaphore_look *look,
                                          const mcds_semaphore *semaphore,
                                          struct mcds__operation *operation)
{
    const uint32_t count = 1 + look->slots;
    assert(count <= MCDS_BATCH_MAX && look->slots <= MCDS__SLOTS);
    if (look->stage == 0) {
        look->keys[0] = semaphore->settings;
        for (uint32_t slot = 0; slot < look->slots; slot++) {
            look->keys[1 + slot] = semaphore->lease;
            mcds__key_add_number(&look->keys[1 + slot], slot);
        }
    }
    return mcds__tally_read_step(look->requests, look->keys, count, &semaphore->route,
                                 MCDS_WANT_TTL, &look->stage, operation);
}

enum mcds__slot_sight mcds__semaphore_see(const struct mcds__semaphore_look *look,
                                          struct mcds__operation *operation, uint32_t slot,
                                          struct mcds__lease_value *value_out)
{
    assert(slot < look->slots);
    const mcds_request *request = &look->requests[1 + slot];
    if (request->reply.outcome == MCDS_OUT_MISS)
        return SLOT_FREE;
    assert(request->reply.outcome == MCDS_OUT_OK);
    if (!mcds__lease_decode(mcds__operation_value(operation, request), request->key, value_out))
        return SLOT_DAMAGED;
    return value_out->free ? SLOT_FREE : SLOT_HELD;
}

enum mcds__step mcds__semaphore_refuse(const struct mcds__semaphore_look *look,
                                       struct mcds__operation *operation, uint32_t slot)
{
    assert(slot < look->slots);
    const mcds_request *request = &look->requests[1 + slot];
    const mcds_reason *detail;
    int result = mcds__lease_refuse(mcds__operation_value(operation, request), request->key,
                                    &detail);
    return mcds__operation_explain(operation, result, detail);
}
