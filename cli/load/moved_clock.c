/* Moved clock. A log takes an event only near its own time, and by arrival it files the event under
 * the time of the clock. So each event is put at its time. Only the wall clock moves: deadlines
 * use the monotonic clock, and records of an lmdb file expire by the file's clock. */
#include "load/moved_clock.h"

#define NS_PER_MS INT64_C(1000000)

static int64_t moved_wall_ns(void *self)
{
    const struct moved_clock *clock = self;
    const mcds_env *env = mcds_env_system();
    return clock->ms > 0 ? clock->ms * NS_PER_MS : env->wall_ns(env->self);
}

void moved_clock_open(struct moved_clock *clock, const mcds_env *env)
{
    clock->env = env != NULL ? *env : *mcds_env_system();
    clock->env.self = clock;
    clock->env.wall_ns = moved_wall_ns;
    clock->ms = 0;
}
