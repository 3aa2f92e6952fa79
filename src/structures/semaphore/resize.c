/* Semaphore: resize.
 *
 *   READ   get settings
 *   WRITE  cas settings
 *   COUNT  get settings | get each lease      the holders in slots at or above the new number
 *
 * A WRITE that arrives late finds another token and does nothing. COUNT comes after it, so it sees
 * every claim that was granted with the old number. */
#include <assert.h>

#include "base/error.h"
#include "core/tally/tally.h"
#include "structures/semaphore/semaphore.h"

enum { RESIZE_READ, RESIZE_WRITE, RESIZE_COUNT };

struct semaphore_resize {
    struct mcds__operation base;
    mcds_semaphore *semaphore;
    uint32_t permits;
    uint32_t *above_out;
    uint8_t stage;
    bool doubt; /* a write was not answered */
    uint8_t settings[MCDS__SETTINGS_SIZE];
    struct mcds__semaphore_look look;
};

static enum mcds__step step_resize(struct mcds__operation *operation);

static enum mcds__step end_resize(struct semaphore_resize *resize)
{
    if (resize->doubt)
        resize->base.result = MCDS_AMBIGUOUS;
    return MCDS__DONE;
}

/* Reads again after a pause; NULL: others have changed the settings. */
static enum mcds__step resize_again(struct semaphore_resize *resize, const mcds_reply *trouble)
{
    struct mcds__operation *operation = &resize->base;
    resize->stage = RESIZE_READ;
    resize->look.stage = 0;
    if (trouble == NULL ? mcds__operation_wait(operation, 0) : mcds__operation_again(operation))
        return MCDS__SLEEP;
    if (trouble == NULL)
        (void)mcds__operation_explain(operation, MCDS_BUSY, MCDS__WHY(OTHERS_KEPT_CHANGING));
    else
        (void)mcds__operation_fail_read(operation, trouble);
    return end_resize(resize);
}

static enum mcds__step end_resized(struct semaphore_resize *resize)
{
    atomic_store(&resize->semaphore->permits, resize->permits);
    if (resize->above_out == NULL)
        return mcds__operation_finish(&resize->base, MCDS_OK);
    resize->stage = RESIZE_COUNT;
    resize->look.stage = 0;
    resize->look.slots = MCDS__SLOTS;
    resize->base.tries = 1;
    resize->base.connection = 0;
    return step_resize(&resize->base);
}

static enum mcds__step resize_take_read(struct semaphore_resize *resize, enum mcds__step step)
{
    struct mcds__operation *operation = &resize->base;
    const mcds_semaphore *semaphore = resize->semaphore;
    const mcds_request *read = &resize->look.requests[0];
    struct mcds__semaphore_settings settings;
    assert(resize->stage == RESIZE_READ);
    if (step != MCDS__DONE)
        return step;
    if (operation->result != MCDS_OK)
        return end_resize(resize);
    int result = mcds__semaphore_read(operation, read, &settings);
    if (result == MCDS_NOT_FOUND)
        (void)mcds__operation_finish(operation, MCDS_NOT_FOUND);
    if (result != MCDS_OK)
        return end_resize(resize);
    if (settings.permits == resize->permits)
        return end_resized(resize);
    settings.permits = resize->permits;
    mcds_cas_token cas = read->reply.cas;
    resize->look.requests[0] = (mcds_request){
        .command = MCDS_CAS,
        .key = mcds__key_bytes(&semaphore->settings),
        .value = mcds__semaphore_encode(&settings, mcds__key_bytes(&semaphore->settings),
                                        resize->settings),
        .route = mcds__key_bytes(&semaphore->route),
        .cas = cas,
    };
    resize->stage = RESIZE_WRITE;
    operation->connection = cas.connection;
    return mcds__operation_ask_repeatable(operation, resize->look.requests, 1);
}

static enum mcds__step resize_take_write(struct semaphore_resize *resize)
{
    const mcds_reply *reply = &resize->look.requests[0].reply;
    assert(resize->stage == RESIZE_WRITE);
    switch (reply->outcome) {
    case MCDS_OUT_OK:
        return end_resized(resize);
    case MCDS_OUT_MISS:
    case MCDS_OUT_EXISTS:
        return resize_again(resize, NULL);
    case MCDS_OUT_UNKNOWN:
        resize->doubt = true;
        return resize_again(resize, reply);
    case MCDS_OUT_UNSENT:
        return resize_again(resize, reply);
    default:
        (void)mcds__operation_fail(&resize->base, reply);
        return end_resize(resize);
    }
}

/* The number is changed already, so a failure to count leaves the caller in doubt. */
static enum mcds__step resize_take_count(struct semaphore_resize *resize, enum mcds__step step)
{
    struct mcds__operation *operation = &resize->base;
    struct mcds__lease_value value;
    uint32_t above = 0;
    assert(resize->stage == RESIZE_COUNT && resize->above_out != NULL);
    if (step != MCDS__DONE)
        return step;
    if (operation->result != MCDS_OK) {
        resize->doubt = true;
        return end_resize(resize);
    }
    for (uint32_t slot = resize->permits; slot < MCDS__SLOTS; slot++) {
        enum mcds__slot_sight sight = mcds__semaphore_see(&resize->look, operation, slot,
                                                          &value);
        if (sight == SLOT_DAMAGED) {
            (void)mcds__semaphore_refuse(&resize->look, operation, slot);
            resize->doubt = true;
            return end_resize(resize);
        }
        above += sight == SLOT_HELD;
    }
    *resize->above_out = above;
    return mcds__operation_finish(operation, MCDS_OK);
}

static enum mcds__step step_resize(struct mcds__operation *operation)
{
    struct semaphore_resize *resize = (struct semaphore_resize *)operation;
    switch (resize->stage) {
    case RESIZE_READ:
        return resize_take_read(
            resize, mcds__semaphore_look_step(&resize->look, resize->semaphore, operation));
    case RESIZE_WRITE:
        return resize_take_write(resize);
    default:
        return resize_take_count(
            resize, mcds__semaphore_look_step(&resize->look, resize->semaphore, operation));
    }
}

static const struct mcds__operation_kind resize_kind = {
    "semaphore", "resize", sizeof(struct semaphore_resize), step_resize, NULL};

int mcds_semaphore_resize_start(mcds_semaphore *semaphore, uint32_t permits,
                                uint32_t *above_out, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    if (semaphore == NULL)
        return mcds__fail_missing("semaphore", "resize", "a semaphore");
    if (permits < 1 || permits > MCDS__SLOTS)
        return mcds__fail(MCDS_INVALID, OUT_OF_RANGE,
                          MCDS__CALL(&resize_kind, semaphore->leased.handle.name),
                          .option = "permits", .wanted_min = 1, .wanted_max = MCDS__SLOTS,
                          MCDS__FOUND(permits));
    int result = MCDS_OK;
    struct semaphore_resize own;
    struct semaphore_resize *resize = mcds__call_begin(
        &own.base, &resize_kind, &semaphore->leased.handle, start, &result);
    if (resize == NULL)
        return result;
    resize->semaphore = semaphore;
    resize->permits = permits;
    resize->above_out = above_out;
    resize->stage = RESIZE_READ;
    resize->doubt = false;
    resize->look.stage = 0;
    resize->look.slots = 0;
    return mcds__call_launch(&resize->base, start);
}

int mcds_semaphore_resize(mcds_semaphore *semaphore, uint32_t permits, uint32_t *above_out)
{
    return mcds_semaphore_resize_start(semaphore, permits, above_out, MCDS__WAIT, 0);
}
