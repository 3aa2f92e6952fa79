/* Clock: the clocks of the library. */
#ifndef MCDS_CLI_IO_CLOCK_H
#define MCDS_CLI_IO_CLOCK_H

#include <stdint.h>

#include "mcds.h"

/* The monotonic clock, which keeps running during suspend. Leases and deadlines use it. */
static inline int64_t clock_ns(void)
{
    const mcds_env *env = mcds_env_system();
    return env->monotonic_ns(env->self);
}

static inline int64_t clock_ms(void)
{
    return clock_ns() / 1000000;
}

/* The time since 1970. */
static inline int64_t clock_wall_ms(void)
{
    const mcds_env *env = mcds_env_system();
    return env->wall_ns(env->self) / 1000000;
}

#endif
