/* Queues of mcds, of Redis and of beanstalkd, at several depths, by many processes. */
#ifndef BENCH_QUEUES_H
#define BENCH_QUEUES_H

#include "comparison.h"

/* Prints the table of ratios. Servers and processes share one processor. */
void queues_run(struct bench *bench);

#endif
