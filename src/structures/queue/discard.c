/* Queue: erase a dead job.
 *
 *   READ     the dead job
 *   REMOVE   the job from its part: the call that has made it dead may have ended before that
 *   ERASE    the dead job, if it is still there, and leave a done record: dead.c
 *
 * So no later claim gets the job or makes it dead again, and a copy that is under way is not made. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "structures/queue/queue.h"

enum { DISCARD_READ, DISCARD_REMOVE, DISCARD_ERASE };

struct queue_discard {
    struct mcds__operation base;
    struct mcds__queue_work work;
    uint8_t stage;
    size_t id_length;
    uint8_t id[MCDS__QUEUE_ELEMENT_MAX];
    mcds_buffer dead; /* the value of the entry */
};

static enum mcds__step discard_step_on(struct queue_discard *discard);

static mcds_bytes element_of(const struct queue_discard *discard)
{
    assert(discard->id_length > 0);
    return (mcds_bytes){discard->id, discard->id_length};
}

static enum mcds__step discard_ask(struct queue_discard *discard, uint8_t stage, bool is_begun)
{
    discard->stage = stage;
    discard->base.tries = 1;
    return is_begun ? discard_step_on(discard)
                    : mcds__operation_finish(&discard->base, MCDS_NO_MEMORY);
}

static enum mcds__step discard_ask_erase(struct queue_discard *discard)
{
    return discard_ask(
        discard, DISCARD_ERASE,
        mcds__queue_begin_erase(&discard->work, element_of(discard),
                                (mcds_bytes){discard->dead.data, discard->dead.length}));
}

static enum mcds__step discard_take_dead(struct queue_discard *discard)
{
    struct mcds__queue_spot spot;
    struct mcds__operation *operation = &discard->base;
    enum mcds__step step = mcds__queue_step_get(&discard->work, operation);
    if (step == MCDS__DONE)
        mcds__queue_explain_loss(operation, MCDS__WHY(JOBS_GONE));
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    const mcds_bytes value = discard->work.get.value;
    if (value.length < MCDS__QUEUE_DEAD_TRIES)
        return mcds__operation_finish(operation, MCDS_NOT_FOUND);
    if (!mcds_buffer_append(&discard->dead, value.data, value.length))
        return mcds__operation_finish(operation, MCDS_NO_MEMORY);
    if (!mcds__queue_find_spot(element_of(discard), &spot))
        return discard_ask_erase(discard);
    const struct mcds__jobs_receipt receipt = {spot.number, 1}; /* of any try: it is removed */
    return discard_ask(
        discard, DISCARD_REMOVE,
        mcds__queue_begin_done(&discard->work, spot.incarnation, spot.part, &receipt));
}

/* If the part is lost, the job is in no part. */
static enum mcds__step discard_take_removed(struct queue_discard *discard)
{
    enum mcds__step step = mcds__queue_step_update(&discard->work, &discard->base);
    if (step != MCDS__DONE || mcds__queue_has_vanished(&discard->work, &discard->base))
        return step;
    if (discard->base.result != MCDS_OK && discard->base.result != MCDS_LOST)
        return step;
    return discard_ask_erase(discard);
}

static enum mcds__step discard_take_erased(struct queue_discard *discard)
{
    enum mcds__step step = mcds__queue_step_update(&discard->work, &discard->base);
    if (step == MCDS__DONE)
        mcds__queue_explain_loss(&discard->base, MCDS__WHY(JOBS_GONE));
    if (step != MCDS__DONE || discard->base.result != MCDS_OK)
        return step;
    return discard->work.update.code == MCDS__MAP_CHANGED
               ? step
               : mcds__operation_finish(&discard->base, MCDS_NOT_FOUND);
}

static enum mcds__step discard_step_on(struct queue_discard *discard)
{
    switch (discard->stage) {
    case DISCARD_READ:
        return discard_take_dead(discard);
    case DISCARD_REMOVE:
        return discard_take_removed(discard);
    default:
        return discard_take_erased(discard);
    }
}

static enum mcds__step step_discard(struct mcds__operation *operation)
{
    return discard_step_on((struct queue_discard *)operation);
}

static void release_discard(struct mcds__operation *operation)
{
    struct queue_discard *discard = (struct queue_discard *)operation;
    mcds__queue_end_work(&discard->work);
    mcds__buffer_free(&discard->dead);
}

static const struct mcds__operation_kind discard_kind = {
    "queue", "discard", sizeof(struct queue_discard), step_discard, release_discard};

static int check_discard(const mcds_queue *queue, mcds_bytes id)
{
    int result = mcds__queue_check_timed(queue, &discard_kind, 0);
    if (result == MCDS_OK && (id.data == NULL || !mcds__queue_is_dead(id)))
        result = mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                            MCDS__CALL(&discard_kind, queue->keyed.handle.name),
                            .wanted = "the id of a dead job", .option = "id");
    return result;
}

int mcds_queue_discard_start(mcds_queue *queue, mcds_bytes id, mcds_pipeline *pipeline,
                             uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = check_discard(queue, id);
    if (result != MCDS_OK)
        return result;
    struct queue_discard own;
    struct queue_discard *discard = mcds__call_begin_zero(&own.base, &discard_kind,
                                                          &queue->keyed.handle, start, &result);
    if (discard == NULL)
        return result;
    assert(id.length <= sizeof discard->id);
    memcpy(discard->id, id.data, discard->id_length = id.length);
    mcds__buffer_init(&discard->dead, discard->base.env,
                      MCDS__QUEUE_DEAD_TRIES + MCDS__JOBS_BYTES_MAX);
    discard->work.queue = queue;
    if (!mcds__queue_begin_get(&discard->work, element_of(discard))) {
        mcds__call_forget(start, discard);
        return mcds__fail_memory("queue", queue->keyed.handle.name, discard_kind.verb);
    }
    return mcds__call_launch(&discard->base, start);
}

int mcds_queue_discard(mcds_queue *queue, mcds_bytes id)
{
    return mcds_queue_discard_start(queue, id, MCDS__WAIT, 0);
}
