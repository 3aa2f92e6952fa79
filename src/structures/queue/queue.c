/* Queue: the handle, its options, and the calls that change one claim or one dead job. */
#include "structures/queue/queue.h"

#include <assert.h>

#include "base/environment.h"
#include "base/error.h"

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

/* DONE, AGAIN and LONGER. */
struct queue_settle {
    struct mcds__operation base;
    struct mcds__queue_work work;
    mcds_job *job;
    enum mcds__jobs_order order;
    int64_t begun_ns;
};

static void release_settle(struct mcds__operation *operation)
{
    mcds__queue_end_work(&((struct queue_settle *)operation)->work);
}

static enum mcds__step step_settle(struct mcds__operation *operation)
{
    struct queue_settle *settle = (struct queue_settle *)operation;
    const mcds_queue *queue = settle->work.queue;
    mcds_job *job = settle->job;
    enum mcds__step step = mcds__queue_step_update(&settle->work, operation);
    assert(job->is_held);
    if (step != MCDS__DONE || (operation->result != MCDS_OK && operation->result != MCDS_LOST))
        return step;
    bool is_mine = operation->result == MCDS_OK &&
                   settle->work.update.code == MCDS__MAP_CHANGED;
    job->is_held = is_mine && settle->order == MCDS__JOBS_LONGER;
    if (job->is_held)
        job->deadline_ns = settle->begun_ns + (int64_t)queue->visible_ms * NS_PER_MS;
    if (is_mine && settle->order == MCDS__JOBS_AGAIN)
        mcds__queue_note(settle->work.queue, job->incarnation, job->part, 0);
    if (is_mine || operation->result == MCDS_LOST)
        return step;
    return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(CLAIM_ENDED));
}

static const struct mcds__operation_kind done_kind = {
    "queue", "done", sizeof(struct queue_settle), step_settle, release_settle};
static const struct mcds__operation_kind again_kind = {
    "queue", "again", sizeof(struct queue_settle), step_settle, release_settle};
static const struct mcds__operation_kind longer_kind = {
    "queue", "longer", sizeof(struct queue_settle), step_settle, release_settle};

static int launch_settle(mcds_queue *queue, const struct mcds__operation_kind *kind,
                         enum mcds__jobs_order order, mcds_job *job, uint64_t ms,
                         const struct mcds__start *start)
{
    uint8_t element[MCDS__QUEUE_ELEMENT_MAX];
    uint8_t bytes[MCDS__JOBS_ORDER_MAX];
    int result = mcds__queue_check(queue, kind, ms);
    if (result != MCDS_OK)
        return result;
    if (!mcds__queue_is_receipt(job))
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                          MCDS__CALL(kind, queue->keyed.handle.name),
                          .wanted = "a job that is held", .option = "job");
    struct queue_settle own;
    struct queue_settle *settle = mcds__call_begin_zero(&own.base, kind, &queue->keyed.handle,
                                                        start, &result);
    if (settle == NULL)
        return result;
    const struct mcds__jobs_receipt receipt = {job->number, job->tries};
    settle->work.queue = queue;
    settle->job = job;
    settle->order = order;
    settle->begun_ns = mcds__monotonic_ns(settle->base.env);
    size_t length = mcds__jobs_write_receipt(order, &receipt, ms, bytes);
    if (!mcds__queue_begin_order(&settle->work,
                                 mcds__queue_part_element(job->incarnation, job->part, element),
                                 (mcds_bytes){bytes, length}, false)) {
        mcds__call_forget(start, settle);
        return mcds__fail_memory("queue", queue->keyed.handle.name, kind->verb);
    }
    return mcds__call_launch(&settle->base, start);
}

int mcds_queue_done_start(mcds_queue *queue, mcds_job *job, mcds_pipeline *pipeline,
                          uint64_t tag)
{
    return launch_settle(queue, &done_kind, MCDS__JOBS_DONE, job, 0,
                         MCDS__START(pipeline, tag));
}

int mcds_queue_done(mcds_queue *queue, mcds_job *job)
{
    return mcds_queue_done_start(queue, job, MCDS__WAIT, 0);
}

int mcds_queue_again_start(mcds_queue *queue, mcds_job *job, uint64_t delay_ms,
                           mcds_pipeline *pipeline, uint64_t tag)
{
    return launch_settle(queue, &again_kind, MCDS__JOBS_AGAIN, job, delay_ms,
                         MCDS__START(pipeline, tag));
}

int mcds_queue_again(mcds_queue *queue, mcds_job *job, uint64_t delay_ms)
{
    return mcds_queue_again_start(queue, job, delay_ms, MCDS__WAIT, 0);
}

int mcds_queue_longer_start(mcds_queue *queue, mcds_job *job, mcds_pipeline *pipeline,
                            uint64_t tag)
{
    return launch_settle(queue, &longer_kind, MCDS__JOBS_LONGER, job,
                         queue != NULL ? queue->visible_ms : 0, MCDS__START(pipeline, tag));
}

int mcds_queue_longer(mcds_queue *queue, mcds_job *job)
{
    return mcds_queue_longer_start(queue, job, MCDS__WAIT, 0);
}

static int take_discard_code(const struct mcds__map_update *update, void *out)
{
    (void)out;
    assert(update->wants_code);
    return update->code == MCDS__MAP_CHANGED ? MCDS_OK : MCDS_NOT_FOUND;
}

static const struct mcds__operation_kind discard_kind = MCDS__KEYED_UPDATE("queue", "discard");

int mcds_queue_discard_start(mcds_queue *queue, mcds_bytes id, mcds_pipeline *pipeline,
                             uint64_t tag)
{
    int result = mcds__queue_check(queue, &discard_kind, 0);
    if (result != MCDS_OK)
        return result;
    if (id.data == NULL || !mcds__queue_is_dead(id))
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                          MCDS__CALL(&discard_kind, queue->keyed.handle.name),
                          .wanted = "the id of a dead job", .option = "id");
    const struct mcds__keyed_command order = {
        .command = {.verb = MCDS__MAP_REMOVE, .element = id},
        .must_exist = true,
        .wants_code = true,
        .take = take_discard_code,
    };
    return mcds__keyed_launch_update(&queue->keyed, &discard_kind, &order,
                                     MCDS__START(pipeline, tag));
}

int mcds_queue_discard(mcds_queue *queue, mcds_bytes id)
{
    return mcds_queue_discard_start(queue, id, MCDS__WAIT, 0);
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
    };
    int result = mcds__check_given("queue", name, NULL, given, 3);
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
    struct mcds__key root;
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
    mcds__key_begin(&root, mcds__store_ns(store), MCDS__TAG_QUEUE, name);
    mcds__map_init(&queue->keyed.map, store, &root, MCDS__KIND_QUEUE, 0, other_forms, 0);
    queue->visible_ms = read.visible_ms > 0 ? read.visible_ms : VISIBLE_MS;
    queue->tries = read.tries;
    assert(queue->visible_ms >= VISIBLE_MS_MIN && queue->incarnation == 0);
    *queue_out = queue;
    return MCDS_OK;
}

void mcds_queue_close(mcds_queue *queue)
{
    mcds__handle_release((struct mcds__handle *)queue);
}
