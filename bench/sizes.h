/* The table of cost against size: what one waiting call costs when there are so many elements. */
#ifndef BENCH_SIZES_H
#define BENCH_SIZES_H

#include "contest.h"

/* Measure every verb on every home and print rows as they come. `huge` adds ten million elements
 * in memory and on lmdb, which take some 2 GB each. */
void sizes_run(struct bench *bench, bool huge);

/* A line for each size: microseconds of one call of each verb, in memory. False: told on stderr. */
bool sizes_write(FILE *file);

#endif
