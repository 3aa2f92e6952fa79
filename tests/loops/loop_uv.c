/* A loop of libuv. */
#include "mcds_uv.h"

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

const struct loop loop_uv = {"libuv", run};
