/* Queue: mcds_queue_made_with, a read of the numbers. */
#include <assert.h>

#include "base/error.h"
#include "structures/queue/queue.h"

struct queue_made_with {
    struct mcds__operation base;
    struct mcds__map map;
    struct mcds__map_get get;
    struct mcds__jobs_numbers numbers;
};

static enum mcds__step step_made_with(struct mcds__operation *operation)
{
    struct queue_made_with *read = (struct queue_made_with *)operation;
    enum mcds__step step = mcds__map_get_step(&read->get, operation);
    if (step == MCDS__DONE)
        mcds__queue_explain_loss(operation, MCDS__WHY(JOB_LIST_GONE));
    if (step == MCDS__DONE && operation->result == MCDS_OK &&
        !mcds__jobs_read_numbers(read->get.value, &read->numbers))
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    return step;
}

static void release_made_with(struct mcds__operation *operation)
{
    mcds__map_get_free(&((struct queue_made_with *)operation)->get);
}

static const struct mcds__operation_kind made_with_kind = {
    "queue", "open", sizeof(struct queue_made_with), step_made_with, release_made_with};

static int read_stripes(mcds_store *store, const char *name, uint32_t *stripes_out)
{
    struct queue_made_with read;
    read.numbers.stripes = 0;
    mcds__operation_begin(&read.base, &made_with_kind, store, name, 0);
    mcds__queue_init_map(&read.map, store, name);
    int result = mcds__map_get_begin(&read.get, &read.map, mcds__queue_numbers_element())
                     ? mcds__call_launch(&read.base, NULL)
                     : mcds__fail_memory("queue", name, made_with_kind.verb);
    mcds__map_destroy(&read.map);
    assert(result != MCDS_OK || read.numbers.stripes > 0);
    *stripes_out = read.numbers.stripes;
    return result;
}

int mcds_queue_made_with(mcds_store *store, const char *name, mcds_queue_options *options)
{
    mcds_queue_options own;
    uint32_t stripes;
    int result = mcds__check_open("queue", "open", store, name, options,
                                  MCDS__MADE_WITH_NEEDED);
    if (result == MCDS_OK)
        result = mcds__sized_check(MCDS__SIZED_mcds_queue_options, options);
    if (result == MCDS_OK)
        result = read_stripes(store, name, &stripes);
    if (result != MCDS_OK)
        return result;
    mcds__sized_take(MCDS__SIZED_mcds_queue_options, options, &own);
    own.stripes = stripes;
    mcds__sized_write(MCDS__SIZED_mcds_queue_options, options, &own);
    return MCDS_OK;
}
