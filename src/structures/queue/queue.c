/* Queue: the handle and its options. */
#include "structures/queue/queue.h"

#include <assert.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/hash/crc32c.h"

#define VISIBLE_MS 60000
#define VISIBLE_MS_MIN 100
#define TRIES_MAX 10000

static const mcds_reason *const other_forms[] = {
    MCDS__WHY(UNKNOWN_FORM),
    MCDS__WHY(UNKNOWN_FORM),
    MCDS__WHY(UNKNOWN_FORM),
    MCDS__WHY(UNKNOWN_FORM),
};

static const struct mcds__operation_kind drop_kind = MCDS__KEYED_DROP("queue");

int mcds__queue_check(const mcds_queue *queue, const struct mcds__operation_kind *kind,
                      uint64_t delay_ms)
{
    const struct mcds__given delay = {MCDS_CAUSE_OUT_OF_RANGE, "delay_ms", delay_ms, 0,
                                      MCDS__JOBS_MS_MAX};
    if (queue == NULL)
        return mcds__fail_missing("queue", kind->verb, "a queue");
    int result = mcds__check_given("queue", queue->keyed.handle.name, kind->verb, &delay, 1);
    return result != MCDS_OK
               ? result
               : mcds__check_cas(kind, &queue->keyed.handle, MCDS__WHY(GROWTH_WITHOUT_CAS));
}

int mcds__queue_check_timed(const mcds_queue *queue, const struct mcds__operation_kind *kind,
                            uint64_t delay_ms)
{
    int result = mcds__queue_check(queue, kind, delay_ms);
    return result == MCDS_OK ? mcds__check_wall(kind, &queue->keyed.handle) : result;
}

int mcds_queue_drop_start(mcds_queue *queue, mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds__keyed_launch_drop(queue != NULL ? &queue->keyed : NULL, &drop_kind,
                                   MCDS__START(pipeline, tag));
}

int mcds_queue_drop(mcds_queue *queue)
{
    return mcds_queue_drop_start(queue, MCDS__WAIT, 0);
}

void mcds__queue_init_map(struct mcds__map *map, mcds_store *store, const char *name)
{
    struct mcds__key root;
    mcds__key_begin(&root, mcds__store_ns(store), MCDS__TAG_QUEUE, name);
    mcds__map_init(map, store, &root, MCDS__KIND_QUEUE, 0, other_forms, 0);
}

static void destroy_queue(struct mcds__handle *handle)
{
    mcds_queue *queue = (mcds_queue *)handle;
    pthread_mutex_destroy(&queue->mutex);
    mcds__map_destroy(&queue->keyed.map);
}

static int queue_check_options(const mcds_store *store, const char *name,
                               const mcds_queue_options *options)
{
    const struct mcds__given given[] = {
        {MCDS_CAUSE_OUT_OF_RANGE, "visible_ms", options->visible_ms, VISIBLE_MS_MIN,
         MCDS__JOBS_MS_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "tries", options->tries, 0, TRIES_MAX},
        {MCDS_CAUSE_OUT_OF_RANGE, "flags", options->flags, 0, MCDS_QUEUE_MAY_LOSE},
        {MCDS_CAUSE_OUT_OF_RANGE, "stripes", options->stripes, 0, MCDS__JOBS_STRIPES_MAX},
    };
    int result = mcds__check_given("queue", name, NULL, given, 4);
    if (result != MCDS_OK)
        return result;
    if (mcds__store_can(store).evicts && (options->flags & MCDS_QUEUE_MAY_LOSE) == 0)
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(JOBS_MAY_BE_LOST), .noun = "queue",
                              .name = name, .verb = "open");
    return MCDS_OK;
}

int mcds_queue_open(mcds_store *store, const char *name, const mcds_queue_options *options,
                    mcds_queue **queue_out)
{
    mcds_queue_options read = MCDS_QUEUE_OPTIONS_INIT;
    int result = mcds__read_options("queue", store, name, queue_out,
                                    MCDS__SIZED_mcds_queue_options, options, &read);
    if (result == MCDS_OK)
        result = queue_check_options(store, name, &read);
    if (result != MCDS_OK)
        return result;
    mcds_queue *queue = mcds__handle_open("queue", store, name, sizeof *queue, destroy_queue);
    if (queue == NULL)
        return MCDS_NO_MEMORY;
    pthread_mutex_init(&queue->mutex, NULL);
    mcds__queue_init_map(&queue->keyed.map, store, name);
    queue->visible_ms = read.visible_ms > 0 ? read.visible_ms : VISIBLE_MS;
    queue->tries = read.tries;
    queue->stripes = read.stripes;
    const struct mcds__key *root = &queue->keyed.map.root;
    queue->id = mcds__crc32c(0, root->bytes, root->length);
    assert(queue->visible_ms >= VISIBLE_MS_MIN && queue->numbers.incarnation == 0);
    *queue_out = queue;
    return MCDS_OK;
}

void mcds_queue_close(mcds_queue *queue)
{
    mcds__handle_release((struct mcds__handle *)queue);
}
