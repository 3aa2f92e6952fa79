/* A loop of libuv. */
#include "mcds/uv.h"

#include "loops/loop.h"

static void ring(uv_timer_t *timer)
{
    void (**later)(void) = timer->data;
    (*later)();
    uv_close((uv_handle_t *)timer, NULL);
}

static void run(mcds_pipeline **pipelines, int count,
                void (*done)(void *context, const mcds_completion *done), void (*later)(void),
                int later_ms, void *context)
{
    uv_loop_t loop;
    uv_timer_t timer;
    mcds_uv adapters[LOOP_PIPELINES_MAX];
    if (uv_loop_init(&loop) != 0)
        return;
    for (int i = 0; i < count; i++)
        if (mcds_uv_attach(&adapters[i], &loop, pipelines[i], done, context) != 0)
            return;
    if (later != NULL) {
        (void)uv_timer_init(&loop, &timer);
        timer.data = &later;
        (void)uv_timer_start(&timer, ring, (uint64_t)later_ms, 0);
    }
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    for (int i = 0; i < count; i++)
        mcds_uv_detach(&adapters[i]);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop);
}

/* What leaves from within the loop. */
struct leaver {
    mcds_uv adapter;
    bool (*done)(void *context);
    void (*close)(void *context);
    void *context;
};

static void take(void *context, const mcds_completion *done)
{
    struct leaver *leaver = context;
    (void)done;
    if (leaver->done(leaver->context))
        return;
    mcds_uv_detach(&leaver->adapter);
    leaver->close(leaver->context);
}

static void leave(mcds_pipeline *pipeline, bool (*done)(void *context),
                  void (*close)(void *context), void *context)
{
    uv_loop_t loop;
    struct leaver leaver = {.done = done, .close = close, .context = context};
    if (uv_loop_init(&loop) != 0 ||
        mcds_uv_attach(&leaver.adapter, &loop, pipeline, take, &leaver) != 0)
        return;
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop);
}

const struct loop loop_uv = {"libuv", run, leave};
