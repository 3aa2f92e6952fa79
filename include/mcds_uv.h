/* mcds_uv.h: a pipeline in a loop of libuv.
 *
 *   mcds_uv adapter;
 *   mcds_uv_attach(&adapter, loop, pipeline, on_done, context);
 *   ... mcds_X_start(..., pipeline, tag), here or in any callback of the loop ...
 *   uv_run(loop, UV_RUN_DEFAULT);    on_done is called for each operation that has finished
 *   mcds_uv_detach(&adapter);        and run the loop once more: libuv closes in its turns
 *
 * The loop is kept alive while operations are under way. on_done may start others. It may also
 * detach the adapter and close the pipeline, its structures and their store; it is not called
 * again then. Everything in the thread of the loop. */
#ifndef MCDS_UV_H
#define MCDS_UV_H

#include <stdbool.h>
#include <uv.h>

#include "mcds.h"

/* Completions that one turn of the loop takes, so that its other handles have their turn. */
#define MCDS_UV_TURN 1024

typedef struct mcds_uv {
    mcds_pipeline *pipeline; /* NULL: detached */
    void (*done)(void *context, const mcds_completion *done);
    void *context;
    bool has_poll;
    uv_prepare_t prepare;
    uv_timer_t timer;
    uv_poll_t poll;
} mcds_uv;

static inline void mcds_uv_woken(uv_timer_t *timer)
{
    (void)timer; /* the next turn begins with mcds_uv_turn */
}

static inline void mcds_uv_readable(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    (void)uv_poll_stop(handle); /* until the next turn has looked */
}

/* Wait for what the pipeline waits for; with nothing under way for nothing. */
static inline void mcds_uv_wait(mcds_uv *adapter, bool has_more)
{
    mcds_wait wait = MCDS_WAIT_INIT;
    bool is_idle = mcds_pipeline_is_idle(adapter->pipeline);
    mcds_pipeline_prepare(adapter->pipeline, &wait);
    int timeout_ms = has_more ? 0 : wait.timeout_ms;
    if (!adapter->has_poll && wait.fd >= 0)
        adapter->has_poll = uv_poll_init(adapter->prepare.loop, &adapter->poll, wait.fd) == 0;
    if (adapter->has_poll && !is_idle)
        (void)uv_poll_start(&adapter->poll, UV_READABLE, mcds_uv_readable);
    else if (adapter->has_poll)
        (void)uv_poll_stop(&adapter->poll);
    if (is_idle || timeout_ms < 0)
        (void)uv_timer_stop(&adapter->timer);
    else
        (void)uv_timer_start(&adapter->timer, mcds_uv_woken, (uint64_t)timeout_ms, 0);
}

/* Before the loop waits: take what has finished, send what was started. */
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

/* Returns 0, or a code of libuv. The adapter must stay where it is until it is detached. */
static inline int mcds_uv_attach(mcds_uv *adapter, uv_loop_t *loop, mcds_pipeline *pipeline,
                                 void (*done)(void *context, const mcds_completion *done),
                                 void *context)
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
    uv_unref((uv_handle_t *)&adapter->prepare);
    /* A first turn, for what was started before. */
    return code != 0 ? code : uv_timer_start(&adapter->timer, mcds_uv_woken, 0, 0);
}

/* The pipeline may be closed at once. The adapter must stay where it is until the loop has run once
 * more. */
static inline void mcds_uv_detach(mcds_uv *adapter)
{
    adapter->pipeline = NULL;
    uv_close((uv_handle_t *)&adapter->prepare, NULL);
    uv_close((uv_handle_t *)&adapter->timer, NULL);
    if (adapter->has_poll)
        uv_close((uv_handle_t *)&adapter->poll, NULL);
}

#endif
