/* Measures curves and draws them: throughput against depth, threads and processes, latency of
 * calls, and cost against size. */
#ifndef BENCH_CURVES_H
#define BENCH_CURVES_H

#include "comparison.h"
#include "servers.h"

/* Write depth.tsv, threads.tsv, lock.tsv, processes.tsv, latency.tsv and sizes.tsv, or those
 * with bench->only in their names, into an existing directory; if gnuplot is installed, also an
 * SVG of each. False: an error was printed on stderr. */
bool curves_run(struct bench *bench, const struct servers *servers, const char *folder);

#endif
