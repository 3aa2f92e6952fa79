/* Meter: one line on standard error that overwrites itself. */
#include "dump/meter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mcds.h"

#define FIRST_NS INT64_C(1000000000)
#define EACH_NS INT64_C(200000000)
#define LOOK 64 /* elements between two looks at the clock; a power of two */

static int64_t now_ns(void)
{
    const mcds_env *env = mcds_env_system();
    return env->monotonic_ns(env->self);
}

void meter_begin(struct meter *meter, const char *done, bool is_quiet)
{
    memset(meter, 0, sizeof *meter);
    meter->done = done;
    meter->is_shown = !is_quiet && isatty(STDERR_FILENO);
    meter->began_ns = now_ns();
}

static void show(struct meter *meter, int64_t now)
{
    uint64_t ms = (uint64_t)(now - meter->began_ns) / 1000000;
    char share[16] = "";
    if (meter->all > 0)
        (void)snprintf(share, sizeof share, " (%u %%)",
                       (unsigned)(100.0 * (double)meter->elements / (double)meter->all));
    (void)fprintf(stderr, "\rmcds: %" PRIu64 " elements %s%s, %" PRIu64 " each second   ",
                  meter->elements, meter->done, share, meter->elements * 1000 / (ms + 1));
    (void)fflush(stderr);
    meter->shown_ns = now;
    meter->has_shown = true;
}

void meter_count(struct meter *meter, uint64_t elements)
{
    meter->elements += elements;
    if (!meter->is_shown || (meter->elements & (LOOK - 1)) != 0)
        return;
    int64_t now = now_ns();
    if (now - meter->began_ns >= FIRST_NS && now - meter->shown_ns >= EACH_NS)
        show(meter, now);
}

void meter_end(struct meter *meter)
{
    if (meter->has_shown)
        (void)fprintf(stderr, "\r%*s\r", 72, "");
    meter->is_shown = false;
}
