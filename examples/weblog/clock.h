/* Seconds of a clock that nobody sets. */
#ifndef WEBLOG_CLOCK_H
#define WEBLOG_CLOCK_H

#include <time.h>

static inline double clock_now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#endif
