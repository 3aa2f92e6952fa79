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
};

extern const struct loop loop_poll, loop_uv, loop_event;

#endif
