/* mcds/event.h: a pipeline in a libevent loop.
 *
 *   mcds_event adapter;
 *   mcds_event_attach(&adapter, base, pipeline, on_done, context);
 *   ... mcds_X_start(..., pipeline, tag), here, in any callback of the loop, or between two runs ...
 *   event_base_dispatch(base);       on_done is called for each operation that has finished
 *   mcds_event_detach(&adapter);
 *
 * The loop stays alive while operations are in flight. on_done may start more. It may also
 * detach the adapter and close the pipeline, its structures and their store. It is then not
 * called again.
 *
 * mcds.h has the rules of all calls. These also apply to this header:
 *
 * Threads:     the thread of the loop, which is also the thread of the pipeline */
#ifndef MCDS_EVENT_H
#define MCDS_EVENT_H

#include <event2/event.h>
#include <stdbool.h>

#include "pipeline.h"

/* Most completions that one loop iteration takes, so that other events are not delayed. */
#define MCDS_EVENT_TURN 1024

/* The loop polls at this interval if libevent has no memory to watch the pipeline's descriptor. */
#define MCDS_EVENT_RETRY_MS 10

typedef struct mcds_event {
    mcds_pipeline *pipeline; /* NULL: detached */
    mcds_done_cb done;
    void *context;
    struct event_base *base;
    struct event *timer;
    struct event *readable; /* NULL: the pipeline has no file descriptor, or not yet */
} mcds_event;

static inline void mcds_event_turn(evutil_socket_t fd, short what, void *context);
static inline void mcds_event_detach(mcds_event *adapter);

/* Private. Arms the timer. Returns 0, or -1: out of memory; the loop then calls mcds_event_turn at
 * once, which needs no memory. */
static inline int mcds_event_arm(mcds_event *adapter, int timeout_ms)
{
    struct timeval after = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
    if (event_add(adapter->timer, &after) == 0)
        return 0;
    event_active(adapter->timer, EV_TIMEOUT, 0);
    return -1;
}

/* Private. Sends the collected requests and arms the loop's events; disarms them when the
 * pipeline is idle. Returns 0, or -1: out of memory; the loop then polls the pipeline. */
static inline int mcds_event_wait(mcds_event *adapter, bool has_more)
{
    mcds_wait wait = MCDS_WAIT_INIT;
    bool is_idle = mcds_pipeline_is_idle(adapter->pipeline);
    mcds_pipeline_prepare(adapter->pipeline, &wait);
    int timeout_ms = has_more ? 0 : wait.timeout_ms;
    if (adapter->readable == NULL && wait.fd >= 0)
        adapter->readable = event_new(adapter->base, wait.fd, EV_READ, mcds_event_turn,
                                      adapter);
    int code = wait.fd >= 0 && adapter->readable == NULL ? -1 : 0;
    if (adapter->readable != NULL)
        code = is_idle ? event_del(adapter->readable) : event_add(adapter->readable, NULL);
    if (code != 0 && !is_idle && (timeout_ms < 0 || timeout_ms > MCDS_EVENT_RETRY_MS))
        timeout_ms = MCDS_EVENT_RETRY_MS;
    if (is_idle || timeout_ms < 0)
        return event_del(adapter->timer) == 0 ? code : -1;
    return mcds_event_arm(adapter, timeout_ms) == 0 ? code : -1;
}

/* Private. Takes the completions, then sends the requests of new operations. */
static inline void mcds_event_turn(evutil_socket_t fd, short what, void *context)
{
    mcds_event *adapter = (mcds_event *)context;
    mcds_completion done;
    int taken = 0;
    (void)fd;
    (void)what;
    while (taken < MCDS_EVENT_TURN && adapter->pipeline != NULL &&
           mcds_pipeline_poll(adapter->pipeline, &done) == MCDS_OK) {
        adapter->done(adapter->context, &done);
        taken++;
    }
    if (adapter->pipeline != NULL)
        (void)mcds_event_wait(adapter, taken == MCDS_EVENT_TURN);
}

/* Private. Called when an operation has started: the loop stays alive and calls mcds_event_turn. */
static inline void mcds_event_started(void *context)
{
    (void)mcds_event_arm((mcds_event *)context, 0);
}

/* Sends the requests of started operations at once. Without this call, the loop sends them in its
 * next iteration. The call also reports if libevent has no memory to arm the loop's events.
 * Arguments:   adapter  attached
 * Returns:     0, or -1: out of memory; the loop then polls the pipeline every 10 ms until there is
 *              memory
 * Cost:        as mcds_pipeline_prepare */
static inline int mcds_event_update(mcds_event *adapter)
{
    return mcds_event_wait(adapter, true);
}

/* Puts a pipeline into a loop.
 * Arguments:   adapter   the program's memory
 *              base      the program's loop, which outlives the adapter
 *              done      called in the loop for each operation that has finished
 *              context   passed to `done`
 * Returns:     0, or -1: out of memory; the adapter is then detached
 * Cost:        as mcds_pipeline_prepare
 * Lifetime:    the adapter must not move until it is detached */
static inline int mcds_event_attach(mcds_event *adapter, struct event_base *base,
                                    mcds_pipeline *pipeline, mcds_done_cb done, void *context)
{
    adapter->pipeline = pipeline;
    adapter->done = done;
    adapter->context = context;
    adapter->base = base;
    adapter->readable = NULL;
    adapter->timer = event_new(base, -1, 0, mcds_event_turn, adapter);
    if (adapter->timer == NULL) {
        adapter->pipeline = NULL;
        return -1;
    }
    mcds_pipeline_on_start(pipeline, mcds_event_started, adapter);
    if (mcds_event_update(adapter) == 0)
        return 0;
    mcds_event_detach(adapter);
    return -1;
}

/* Takes the pipeline out of the loop. Operations in flight stay in the pipeline.
 * Arguments:   adapter  attached
 * Cost:        none
 * Lifetime:    the pipeline may be closed directly after this call. After a call from `done`, the
 *              adapter must not move or be freed before `done` has returned. */
static inline void mcds_event_detach(mcds_event *adapter)
{
    mcds_pipeline_on_start(adapter->pipeline, NULL, NULL);
    adapter->pipeline = NULL;
    event_free(adapter->timer);
    if (adapter->readable != NULL)
        event_free(adapter->readable);
}

#endif
