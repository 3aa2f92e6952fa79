/* Figures to be drawn: throughput against depth, threads and processes, how long calls take, and
 * what they cost when there is much. */
#ifndef BENCH_CURVES_H
#define BENCH_CURVES_H

#include "contest.h"
#include "servers.h"

/* Write depth.tsv, threads.tsv, lock.tsv, processes.tsv, latency.tsv and sizes.tsv, or those with
 * bench->only in their names, into an existing folder, and, where gnuplot is installed, an SVG beside
 * each. False: told on stderr. */
bool curves_run(struct bench *bench, const struct servers *servers, const char *folder);

#endif
