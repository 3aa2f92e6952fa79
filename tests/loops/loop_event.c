/* A loop of libevent. */
#include "mcds/event.h"

#include "loops/loop.h"

static void ring(evutil_socket_t fd, short what, void *context)
{
    void (**later)(void) = context;
    (void)fd;
    (void)what;
    (*later)();
}

static void run(mcds_pipeline **pipelines, int count,
                void (*done)(void *context, const mcds_completion *done), void (*later)(void),
                int later_ms, void *context)
{
    struct event_base *base = event_base_new();
    struct timeval after = {later_ms / 1000, later_ms % 1000 * 1000};
    mcds_event adapters[LOOP_PIPELINES_MAX];
    if (base == NULL)
        return;
    for (int i = 0; i < count; i++)
        if (mcds_event_attach(&adapters[i], base, pipelines[i], done, context) != 0)
            return;
    if (later != NULL)
        (void)event_base_once(base, -1, EV_TIMEOUT, ring, &later, &after);
    (void)event_base_dispatch(base);
    for (int i = 0; i < count; i++)
        mcds_event_detach(&adapters[i]);
    event_base_free(base);
}

/* What leaves from within the loop. */
struct leaver {
    mcds_event adapter;
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
    mcds_event_detach(&leaver->adapter);
    leaver->close(leaver->context);
}

static void leave(mcds_pipeline *pipeline, bool (*done)(void *context),
                  void (*close)(void *context), void *context)
{
    struct event_base *base = event_base_new();
    struct leaver leaver = {.done = done, .close = close, .context = context};
    if (base == NULL || mcds_event_attach(&leaver.adapter, base, pipeline, take, &leaver) != 0)
        return;
    (void)event_base_dispatch(base);
    event_base_free(base);
}

const struct loop loop_event = {"libevent", run, leave};
