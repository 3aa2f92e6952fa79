/* A loop around poll(). */
#include <time.h>

#include "loops/loop.h"
#include "mcds/poll.h"

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void run(mcds_pipeline **pipelines, int count,
                void (*done)(void *context, const mcds_completion *done), void (*later)(void),
                int later_ms, void *context)
{
    int64_t later_at_ms = now_ms() + later_ms;
    for (;;) {
        struct pollfd polled[LOOP_PIPELINES_MAX];
        mcds_completion completion;
        int timeout_ms = later != NULL ? later_ms : -1;
        bool is_idle = true;
        for (int i = 0; i < count; i++) {
            mcds_poll_prepare(pipelines[i], &polled[i], &timeout_ms);
            is_idle = is_idle && mcds_pipeline_is_idle(pipelines[i]);
        }
        if (is_idle && later == NULL)
            return;
        (void)poll(polled, (nfds_t)count, timeout_ms);
        if (later != NULL && now_ms() >= later_at_ms) {
            later();
            later = NULL;
        }
        for (int i = 0; i < count; i++)
            while (mcds_pipeline_poll(pipelines[i], &completion) == MCDS_OK)
                done(context, &completion);
    }
}

static void leave(mcds_pipeline *pipeline, bool (*done)(void *context),
                  void (*close)(void *context), void *context)
{
    bool stays = true;
    while (stays) {
        struct pollfd polled;
        mcds_completion completion;
        int timeout_ms = -1;
        mcds_poll_prepare(pipeline, &polled, &timeout_ms);
        (void)poll(&polled, 1, timeout_ms);
        while (stays && mcds_pipeline_poll(pipeline, &completion) == MCDS_OK)
            stays = done(context);
    }
    close(context);
}

/* This loop has no callbacks. */
static const char *start_late(mcds_pipeline *pipeline, int way, void (*start)(void *context),
                              void (*done)(void *context, const mcds_completion *done),
                              void *context)
{
    if (way > 0)
        return NULL;
    run(&pipeline, 1, done, NULL, 0, context);
    start(context);
    run(&pipeline, 1, done, NULL, 0, context);
    return "outside";
}

const struct loop loop_poll = {"poll", run, leave, start_late, NULL};
