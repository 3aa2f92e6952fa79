/* A loop of libevent. */
#include "mcds/event.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* What starts late. */
struct starter {
    mcds_event adapter;
    void (*start)(void *context);
    void *context;
    struct event *event;
    int ends[2]; /* of a pipe */
};

static void start_now(evutil_socket_t fd, short what, void *context)
{
    struct starter *starter = context;
    (void)fd;
    (void)what;
    if (starter->event != NULL)
        event_free(starter->event);
    starter->event = NULL;
    starter->start(starter->context);
}

static const char *arm(struct starter *starter, struct event_base *base, int way)
{
    struct timeval after = {0, 1000};
    switch (way) {
    case 0:
        start_now(-1, 0, starter);
        return "outside";
    case 1:
        (void)event_base_once(base, -1, EV_TIMEOUT, start_now, starter, &after);
        return "timer";
    case 2:
        starter->event = event_new(base, -1, 0, start_now, starter);
        event_active(starter->event, EV_READ, 0);
        return "active";
    case 3:
        if (write(starter->ends[1], "x", 1) != 1)
            return NULL;
        starter->event = event_new(base, starter->ends[0], EV_READ, start_now, starter);
        (void)event_add(starter->event, NULL);
        return "readable";
    default:
        return NULL;
    }
}

static const char *start_late(mcds_pipeline *pipeline, int way, void (*start)(void *context),
                              void (*done)(void *context, const mcds_completion *done),
                              void *context)
{
    struct event_base *base = event_base_new();
    struct starter starter = {.start = start, .context = context};
    if (base == NULL || pipe(starter.ends) != 0 ||
        mcds_event_attach(&starter.adapter, base, pipeline, done, context) != 0)
        return NULL;
    (void)event_base_dispatch(base);
    const char *name = arm(&starter, base, way);
    (void)event_base_dispatch(base);
    mcds_event_detach(&starter.adapter);
    event_base_free(base);
    (void)close(starter.ends[0]);
    (void)close(starter.ends[1]);
    return name;
}

static int granted = -1; /* blocks of memory until libevent gets none; negative: all */

static bool is_granted(void)
{
    if (granted > 0)
        granted--;
    return granted != 0;
}

static void *allocate(size_t length)
{
    return is_granted() ? malloc(length) : NULL;
}

static void *reallocate(void *memory, size_t length)
{
    return is_granted() ? realloc(memory, length) : NULL;
}

void loop_event_begin(void)
{
    event_set_mem_functions(allocate, reallocate, free);
}

static void ignore(void *context, const mcds_completion *done)
{
    (void)context;
    (void)done;
}

int loop_event_attach(mcds_pipeline *pipeline, int allowed)
{
    struct event_base *base = event_base_new();
    mcds_event adapter;
    if (base == NULL)
        return -2;
    granted = allowed + 1;
    int code = mcds_event_attach(&adapter, base, pipeline, ignore, NULL);
    granted = -1;
    if (code == 0)
        mcds_event_detach(&adapter);
    memset(&adapter, 0xff, sizeof adapter);
    event_base_free(base);
    return code;
}

static bool run_unwatched(mcds_pipeline *pipeline, void (*start)(void *context),
                          void (*done)(void *context, const mcds_completion *done),
                          void *context)
{
    struct event_base *base = event_base_new();
    mcds_event adapter;
    if (base == NULL || mcds_event_attach(&adapter, base, pipeline, done, context) != 0)
        return false;
    granted = 0;
    start(context);
    (void)event_base_dispatch(base);
    granted = -1;
    mcds_event_detach(&adapter);
    event_base_free(base);
    return true;
}

const struct loop loop_event = {"libevent", run, leave, start_late, run_unwatched};
