/* Threads that share out operations. */
#ifndef BENCH_GANG_H
#define BENCH_GANG_H

#include <stdbool.h>
#include <stdint.h>

#define GANG_MAX 64

/* Run `job` in `threads` threads; each gets its number and its part of the operations. True
 * when all were. */
bool gang_run(uint32_t threads, uint64_t operations,
              bool (*job)(void *state, uint32_t thread, uint64_t operations), void *state);

/* Put the calling thread on a processor: by turns on each that there is. A scheduler that is busy
 * otherwise would leave threads that live for a moment where they were begun, all on one. */
void gang_spread(uint32_t thread);

#endif
