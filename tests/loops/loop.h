/* An event loop of another library, in which pipelines run. */
#ifndef MCDS_TESTS_LOOPS_LOOP_H
#define MCDS_TESTS_LOOPS_LOOP_H

#include "mcds.h"

#define LOOP_PIPELINES_MAX 2

struct loop {
    const char *name;
    /* Run until nothing is under way in any of the pipelines. Calls `done` for each operation
     * that has finished and, once, `later` after so many milliseconds, unless it is NULL. */
    void (*run)(mcds_pipeline **pipelines, int count,
                void (*done)(void *context, const mcds_completion *done), void (*later)(void),
                int later_ms, void *context);
    /* Run until `done`, called for each operation that has finished, has said false: then leave the
     * loop at once, call `close` from within it, and let the loop end. */
    void (*leave)(mcds_pipeline *pipeline, bool (*done)(void *context),
                  void (*close)(void *context), void *context);
    /* Run an idle pipeline until the loop has ended. Then call `start`, from outside of the loop
     * or from a callback of it that leaves the loop nothing else to do, and run the loop again
     * until it ends. `way` says from where. Returns its name; NULL: there is no such way. */
    const char *(*start_late)(mcds_pipeline *pipeline, int way, void (*start)(void *context),
                              void (*done)(void *context, const mcds_completion *done),
                              void *context);
    /* Call `start`, and run until the loop ends, although it cannot watch the pipeline's file
     * descriptor. False: it waited without end. NULL: such a loop always can. */
    bool (*run_unwatched)(mcds_pipeline *pipeline, void (*start)(void *context),
                          void (*done)(void *context, const mcds_completion *done),
                          void *context);
};

extern const struct loop loop_poll, loop_uv, loop_event;

/* Call this before anything else of libevent: loop_event_attach and run_unwatched refuse it memory. */
void loop_event_begin(void);
/* Attach the pipeline to a loop of libevent that gets `allowed` blocks of memory. Returns what
 * mcds_event_attach has returned. The adapter is detached, and its bytes are overwritten. */
int loop_event_attach(mcds_pipeline *pipeline, int allowed);

#endif
