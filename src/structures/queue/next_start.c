/* Queue: the call that claims a job; its steps are in next.c. */
#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/value.h"
#include "structures/queue/next.h"

#define WAIT_MS_MAX 86400000

static enum mcds__step step_next(struct mcds__operation *operation)
{
    return mcds__queue_next_step((struct mcds__queue_next *)operation);
}

static void release_next(struct mcds__operation *operation)
{
    struct mcds__queue_next *next = (struct mcds__queue_next *)operation;
    mcds__queue_end_work(&next->work);
    mcds__buffer_free(&next->bytes);
}

static const struct mcds__operation_kind next_kind = {
    "queue", "next", sizeof(struct mcds__queue_next), step_next, release_next};

static int check_next(const mcds_queue *queue, uint32_t wait_ms, const mcds_job *job,
                      const mcds_value *value_out)
{
    const struct mcds__given wait = {MCDS_CAUSE_OUT_OF_RANGE, "wait_ms", wait_ms, 0,
                                     WAIT_MS_MAX};
    int result = mcds__queue_check_timed(queue, &next_kind, 0);
    if (result != MCDS_OK)
        return result;
    if (job == NULL || value_out == NULL)
        return mcds__fail_missing("queue", "next", "a job and a place for its bytes");
    if (job->is_held && !mcds__queue_is_receipt(job))
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING,
                          MCDS__CALL(&next_kind, queue->keyed.handle.name),
                          .wanted = "a job that this library has filled", .option = "job");
    if (job->is_held)
        result = mcds__queue_check_receipt(queue, &next_kind, job);
    if (result != MCDS_OK)
        return result;
    return mcds__check_given("queue", queue->keyed.handle.name, "next", &wait, 1);
}

int mcds_queue_next_start(mcds_queue *queue, uint32_t wait_ms, mcds_job *job,
                          mcds_value *value_out, mcds_pipeline *pipeline, uint64_t tag)
{
    const struct mcds__start *start = MCDS__START(pipeline, tag);
    int result = check_next(queue, wait_ms, job, value_out);
    if (result != MCDS_OK)
        return result;
    struct mcds__queue_next own;
    struct mcds__queue_next *next = mcds__call_begin_zero(&own.base, &next_kind,
                                                          &queue->keyed.handle, start, &result);
    if (next == NULL)
        return result;
    next->base.deadline_ns += (int64_t)wait_ms * NS_PER_MS;
    next->wait_until_ns = next->base.deadline_ns -
                          mcds__store_timeout_ns(queue->keyed.handle.store);
    next->work.queue = queue;
    next->job = job;
    next->value_out = value_out;
    job->was_lost = false;
    mcds__buffer_init(&next->bytes, next->base.env, MCDS__JOBS_BYTES_MAX);
    return mcds__call_launch(&next->base, start);
}

int mcds_queue_next(mcds_queue *queue, uint32_t wait_ms, mcds_job *job, mcds_value *value_out)
{
    return mcds_queue_next_start(queue, wait_ms, job, value_out, MCDS__WAIT, 0);
}
