/* Queue: mcds_queue_made_with, a read of the numbers. */
#include <assert.h>

#include "base/error.h"
#include "structures/queue/queue.h"

struct queue_made_with {
    struct mcds__operation base;
    struct mcds__queue_work work;
};

static enum mcds__step step_made_with(struct mcds__operation *operation)
{
    return mcds__queue_step_numbers(&((struct queue_made_with *)operation)->work, operation);
}

static void release_made_with(struct mcds__operation *operation)
{
    mcds__queue_end_work(&((struct queue_made_with *)operation)->work);
}

static const struct mcds__operation_kind made_with_kind = {
    "queue", "open", sizeof(struct queue_made_with), step_made_with, release_made_with};

/* Read the numbers of the queue, which the handle then knows. */
static int made_with_read_numbers(mcds_queue *queue)
{
    struct queue_made_with read;
    int result = MCDS_OK;
    struct queue_made_with *made = mcds__call_begin_zero(&read.base, &made_with_kind,
                                                         &queue->keyed.handle, NULL, &result);
    if (made == NULL)
        return result;
    assert(queue->stripes == 0);
    made->work.queue = queue;
    if (!mcds__queue_begin_get(&made->work, mcds__queue_numbers_element()))
        return mcds__fail_memory("queue", queue->keyed.handle.name, made_with_kind.verb);
    return mcds__call_launch(&made->base, NULL);
}

int mcds_queue_made_with(mcds_store *store, const char *name, mcds_queue_options *options)
{
    mcds_queue_options own = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue = NULL;
    int result = mcds__check_open("queue", "open", store, name, options,
                                  MCDS__MADE_WITH_NEEDED);
    if (result == MCDS_OK)
        result = mcds__sized_check(MCDS__SIZED_mcds_queue_options, options);
    if (result != MCDS_OK)
        return result;
    own.flags = MCDS_QUEUE_MAY_LOSE;
    result = mcds_queue_open(store, name, &own, &queue);
    if (result != MCDS_OK)
        return result;
    result = made_with_read_numbers(queue);
    if (result == MCDS_OK) {
        mcds__sized_take(MCDS__SIZED_mcds_queue_options, options, &own);
        own.stripes = mcds__queue_stripes(queue);
        mcds__sized_write(MCDS__SIZED_mcds_queue_options, options, &own);
    }
    mcds_queue_close(queue);
    return result;
}
