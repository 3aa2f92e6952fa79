/* Moved clock: the environment of a load, whose wall clock shows another time while events are put. */
#ifndef MCDS_CLI_LOAD_MOVED_CLOCK_H
#define MCDS_CLI_LOAD_MOVED_CLOCK_H

#include "mcds.h"

struct moved_clock {
    mcds_env env; /* of the store that is opened with it */
    int64_t ms;   /* the time that the wall clock shows; 0: the time of the system */
};

/* Copies `env`, or the environment of the system if it is NULL, except the wall clock. The struct
 * must outlive the store. */
void moved_clock_open(struct moved_clock *clock, const mcds_env *env);

#endif
