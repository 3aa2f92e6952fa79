/* mcds/poll.h: a pipeline in a loop around poll().
 *
 *   while (!mcds_pipeline_is_idle(pipeline)) {
 *       struct pollfd polled[1 + OTHERS];
 *       int timeout_ms = -1;
 *       mcds_poll_prepare(pipeline, &polled[0], &timeout_ms);
 *       ... the program's own descriptors ...
 *       poll(polled, 1 + OTHERS, timeout_ms);
 *       while (mcds_pipeline_poll(pipeline, &done) == MCDS_OK)
 *           ...
 *   }
 *
 * mcds.h has the rules of all calls. */
#ifndef MCDS_POLL_H
#define MCDS_POLL_H

#include <poll.h>

#include "pipeline.h"

/* Sends the collected requests and prepares one call of poll().
 * Arguments:   polled_out  one entry; fd is -1 if there is nothing to wait for, and poll() then
 *                          ignores the entry
 *              timeout_ms  in and out; lowered to the time until the pipeline must run; -1: no
 *                          limit
 * Cost:        as mcds_pipeline_prepare
 * Threads:     the thread of the pipeline */
static inline void mcds_poll_prepare(mcds_pipeline *pipeline, struct pollfd *polled_out,
                                     int *timeout_ms)
{
    mcds_wait wait = MCDS_WAIT_INIT;
    mcds_pipeline_prepare(pipeline, &wait);
    polled_out->fd = wait.fd;
    polled_out->events = POLLIN;
    polled_out->revents = 0;
    if (wait.timeout_ms >= 0 && (*timeout_ms < 0 || wait.timeout_ms < *timeout_ms))
        *timeout_ms = wait.timeout_ms;
}

#endif
