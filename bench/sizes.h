/* Measures the table of cost against size: the cost of one waiting call at each number of
 * elements. */
#ifndef BENCH_SIZES_H
#define BENCH_SIZES_H

#include "comparison.h"

/* Measure every verb on every backend, and print rows immediately. `huge` adds ten million
 * elements in memory and on lmdb, which use about 2 GB each. */
void sizes_run(struct bench *bench, bool huge);

/* A line for each size: microseconds of one call of each verb, in memory. False: an error was
 * printed on stderr. */
bool sizes_write(FILE *file);

#endif
