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

/* What starts late. */
struct starter {
    mcds_uv adapter;
    uv_loop_t loop;
    void (*start)(void *context);
    void *context;
    uv_idle_t waker; /* the loop does not wait while it is active */
    union {
        uv_work_t work;
        uv_fs_t file;
        uv_async_t async;
        uv_timer_t timer;
        uv_prepare_t prepare;
        uv_check_t check;
        uv_idle_t idle;
    } by;
};

static struct starter *starter; /* that which plays */

static void start_now(void)
{
    starter->start(starter->context);
}

static void do_nothing(uv_work_t *work)
{
    (void)work;
}

static void after_work(uv_work_t *work, int status)
{
    (void)work;
    (void)status;
    start_now();
}

static void after_file(uv_fs_t *file)
{
    uv_fs_req_cleanup(file);
    start_now();
}

static void in_async(uv_async_t *async)
{
    uv_close((uv_handle_t *)async, NULL);
    start_now();
}

static void in_timer(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
    start_now();
}

static void in_prepare(uv_prepare_t *prepare)
{
    uv_close((uv_handle_t *)prepare, NULL);
    start_now();
}

static void in_check(uv_check_t *check)
{
    uv_close((uv_handle_t *)check, NULL);
    uv_close((uv_handle_t *)&starter->waker, NULL);
    start_now();
}

static void in_idle(uv_idle_t *idle)
{
    uv_close((uv_handle_t *)idle, NULL);
    start_now();
}

static void wake(uv_idle_t *waker)
{
    (void)waker;
}

static void in_close(uv_handle_t *handle)
{
    (void)handle;
    start_now();
}

static const char *arm(uv_loop_t *loop, int way)
{
    switch (way) {
    case 0:
        start_now();
        return "outside";
    case 1:
        (void)uv_queue_work(loop, &starter->by.work, do_nothing, after_work);
        return "work";
    case 2:
        (void)uv_fs_stat(loop, &starter->by.file, "/", after_file);
        return "file";
    case 3:
        (void)uv_async_init(loop, &starter->by.async, in_async);
        (void)uv_async_send(&starter->by.async);
        return "async";
    case 4:
        (void)uv_timer_init(loop, &starter->by.timer);
        (void)uv_timer_start(&starter->by.timer, in_timer, 1, 0);
        return "timer";
    case 5: /* called after the adapter's */
        (void)uv_prepare_init(loop, &starter->by.prepare);
        (void)uv_prepare_start(&starter->by.prepare, in_prepare);
        return "prepare";
    case 6:
        (void)uv_check_init(loop, &starter->by.check);
        (void)uv_check_start(&starter->by.check, in_check);
        (void)uv_idle_init(loop, &starter->waker);
        (void)uv_idle_start(&starter->waker, wake);
        return "check";
    case 7:
        (void)uv_idle_init(loop, &starter->by.idle);
        (void)uv_idle_start(&starter->by.idle, in_idle);
        return "idle";
    case 8:
        (void)uv_idle_init(loop, &starter->by.idle);
        uv_close((uv_handle_t *)&starter->by.idle, in_close);
        return "close";
    default:
        return NULL;
    }
}

static const char *start_late(mcds_pipeline *pipeline, int way, void (*start)(void *context),
                              void (*done)(void *context, const mcds_completion *done),
                              void *context)
{
    struct starter own = {.start = start, .context = context};
    starter = &own;
    if (uv_loop_init(&own.loop) != 0 ||
        mcds_uv_attach(&own.adapter, &own.loop, pipeline, done, context) != 0)
        return NULL;
    (void)uv_run(&own.loop, UV_RUN_DEFAULT);
    const char *name = arm(&own.loop, way);
    (void)uv_run(&own.loop, UV_RUN_DEFAULT);
    mcds_uv_detach(&own.adapter);
    (void)uv_run(&own.loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&own.loop);
    return name;
}

#define UNWATCHED_MS 20000 /* the operations have a longer timeout */

static void never(uv_poll_t *poll, int status, int events)
{
    (void)poll;
    (void)status;
    (void)events;
}

static void give_up(uv_timer_t *timer)
{
    *(bool *)timer->data = false;
    uv_stop(timer->loop);
}

/* The program itself watches the descriptor, which libuv allows once, for what never comes. */
static bool run_unwatched(mcds_pipeline *pipeline, void (*start)(void *context),
                          void (*done)(void *context, const mcds_completion *done),
                          void *context)
{
    uv_loop_t loop;
    uv_poll_t own;
    uv_timer_t watchdog;
    mcds_uv adapter;
    mcds_wait wait = MCDS_WAIT_INIT;
    bool ended = true;
    start(context);
    mcds_pipeline_prepare(pipeline, &wait);
    if (uv_loop_init(&loop) != 0 || uv_poll_init(&loop, &own, wait.fd) != 0 ||
        uv_poll_start(&own, UV_WRITABLE, never) != 0 || uv_timer_init(&loop, &watchdog) != 0)
        return false;
    watchdog.data = &ended;
    (void)uv_timer_start(&watchdog, give_up, UNWATCHED_MS, 0);
    uv_unref((uv_handle_t *)&own);
    uv_unref((uv_handle_t *)&watchdog);
    if (mcds_uv_attach(&adapter, &loop, pipeline, done, context) != 0)
        return false;
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    mcds_uv_detach(&adapter);
    uv_close((uv_handle_t *)&own, NULL);
    uv_close((uv_handle_t *)&watchdog, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop) == 0 && ended;
}

const struct loop loop_uv = {"libuv", run, leave, start_late, run_unwatched};
