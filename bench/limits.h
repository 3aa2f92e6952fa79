/* Rate limits of mcds and of recipes on Redis, by many processes. */
#ifndef BENCH_LIMITS_H
#define BENCH_LIMITS_H

#include "comparison.h"

/* Prints the table of ratios, the round trips of a take, and the most takes that passed in any window.
 * Servers and processes share one processor. */
void limits_run(struct bench *bench);

#endif
