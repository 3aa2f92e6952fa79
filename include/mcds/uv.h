/* mcds/uv.h: a pipeline in a libuv loop.
 *
 *   mcds_uv adapter;
 *   mcds_uv_attach(&adapter, loop, pipeline, on_done, context);
 *   ... mcds_X_start(..., pipeline, tag), here, in any callback of the loop, or between two runs ...
 *   uv_run(loop, UV_RUN_DEFAULT);    on_done is called for each operation that has finished
 *   mcds_uv_detach(&adapter);        then run the loop once more: libuv closes handles in it
 *
 * The loop stays alive while operations are in flight. on_done may start more. It may also
 * detach the adapter and close the pipeline, its structures and their store. It is then not
 * called again.
 *
 * mcds.h has the rules of all calls. These also apply to this header:
 *
 * Threads:     the thread of the loop, which is also the thread of the pipeline */
#ifndef MCDS_UV_H
#define MCDS_UV_H

#include <stdbool.h>
#include <uv.h>

#include "pipeline.h"

/* Most completions that one loop iteration takes, so that other handles are not delayed. */
#define MCDS_UV_TURN 1024

/* The loop polls at this interval if libuv does not watch the pipeline's descriptor. */
#define MCDS_UV_RETRY_MS 10

typedef struct mcds_uv {
    mcds_pipeline *pipeline; /* NULL: detached */
    mcds_done_cb done;
    void *context;
    bool has_poll;
    uv_prepare_t prepare;
    uv_timer_t timer;
    uv_poll_t poll;
} mcds_uv;

/* Private. */
static inline void mcds_uv_woken(uv_timer_t *timer)
{
    (void)timer; /* the next loop iteration calls mcds_uv_turn */
}

/* Private. */
static inline void mcds_uv_readable(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    (void)uv_poll_stop(handle); /* until mcds_uv_turn has polled the pipeline */
}

/* Private. Called when an operation has started: keeps the loop alive until the next
 * mcds_uv_turn, and this iteration does not wait. The timer alone would not keep the loop alive:
 * libuv from 1.45 on calls it at the end of an iteration. */
static inline void mcds_uv_started(void *context)
{
    mcds_uv *adapter = (mcds_uv *)context;
    uv_ref((uv_handle_t *)&adapter->prepare);
    (void)uv_timer_start(&adapter->timer, mcds_uv_woken, 0, 0);
}

/* Private. Sends the collected requests and arms the loop's handles; stops them when the pipeline
 * is idle. */
static inline void mcds_uv_wait(mcds_uv *adapter, bool has_more)
{
    mcds_wait wait = MCDS_WAIT_INIT;
    bool is_idle = mcds_pipeline_is_idle(adapter->pipeline);
    mcds_pipeline_prepare(adapter->pipeline, &wait);
    int timeout_ms = has_more ? 0 : wait.timeout_ms;
    if (!adapter->has_poll && wait.fd >= 0)
        adapter->has_poll = uv_poll_init(adapter->prepare.loop, &adapter->poll, wait.fd) == 0;
    bool is_watched = wait.fd < 0 || adapter->has_poll;
    if (adapter->has_poll && !is_idle)
        is_watched = uv_poll_start(&adapter->poll, UV_READABLE, mcds_uv_readable) == 0;
    else if (adapter->has_poll)
        (void)uv_poll_stop(&adapter->poll);
    if (!is_watched && (timeout_ms < 0 || timeout_ms > MCDS_UV_RETRY_MS))
        timeout_ms = MCDS_UV_RETRY_MS;
    if (is_idle)
        uv_unref((uv_handle_t *)&adapter->prepare);
    else
        uv_ref((uv_handle_t *)&adapter->prepare);
    if (is_idle || timeout_ms < 0)
        (void)uv_timer_stop(&adapter->timer);
    else
        (void)uv_timer_start(&adapter->timer, mcds_uv_woken, (uint64_t)timeout_ms, 0);
}

/* Private. Called before the loop waits: takes the completions, then sends the requests of new
 * operations. */
static inline void mcds_uv_turn(uv_prepare_t *handle)
{
    mcds_uv *adapter = (mcds_uv *)handle->data;
    mcds_completion done;
    int taken = 0;
    while (taken < MCDS_UV_TURN && adapter->pipeline != NULL &&
           mcds_pipeline_poll(adapter->pipeline, &done) == MCDS_OK) {
        adapter->done(adapter->context, &done);
        taken++;
    }
    if (adapter->pipeline == NULL)
        return;
    uv_update_time(handle->loop);
    mcds_uv_wait(adapter, taken == MCDS_UV_TURN);
}

/* Puts a pipeline into a loop.
 * Arguments:   adapter   the program's memory
 *              loop      the program's loop, which outlives the adapter
 *              done      called in the loop for each operation that has finished
 *              context   passed to `done`
 * Returns:     0, or an error code of libuv
 * Cost:        none
 * Lifetime:    the adapter must not move until it is detached and the loop has run once more */
static inline int mcds_uv_attach(mcds_uv *adapter, uv_loop_t *loop, mcds_pipeline *pipeline,
                                 mcds_done_cb done, void *context)
{
    adapter->pipeline = pipeline;
    adapter->done = done;
    adapter->context = context;
    adapter->has_poll = false;
    int code = uv_timer_init(loop, &adapter->timer);
    if (code == 0)
        code = uv_prepare_init(loop, &adapter->prepare);
    if (code != 0)
        return code;
    adapter->prepare.data = adapter;
    code = uv_prepare_start(&adapter->prepare, mcds_uv_turn);
    if (code != 0)
        return code;
    mcds_pipeline_on_start(pipeline, mcds_uv_started, adapter);
    /* The first iteration sends the requests of operations that were already started. */
    mcds_uv_started(adapter);
    return 0;
}

/* Takes the pipeline out of the loop. Operations in flight stay in the pipeline.
 * Arguments:   adapter  attached
 * Cost:        none
 * Lifetime:    the pipeline may be closed directly after this call. The adapter must not move or
 *              be freed before the loop has run once more */
static inline void mcds_uv_detach(mcds_uv *adapter)
{
    mcds_pipeline_on_start(adapter->pipeline, NULL, NULL);
    adapter->pipeline = NULL;
    uv_close((uv_handle_t *)&adapter->prepare, NULL);
    uv_close((uv_handle_t *)&adapter->timer, NULL);
    if (adapter->has_poll)
        uv_close((uv_handle_t *)&adapter->poll, NULL);
}

#endif
