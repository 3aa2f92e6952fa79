/* Threads that share operations among them. */
#ifndef BENCH_THREAD_POOL_H
#define BENCH_THREAD_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define THREAD_POOL_MAX 64

/* Run `job` in `threads` threads; each gets its number and its part of the operations. True:
 * all succeeded. */
bool thread_pool_run(uint32_t threads, uint64_t operations,
                     bool (*job)(void *state, uint32_t thread, uint64_t operations),
                     void *state);

/* Bind the calling thread to a processor, one after the other. Otherwise a busy scheduler may
 * leave short-lived threads on the processor that started them. */
void thread_pool_spread(uint32_t thread);

#endif
