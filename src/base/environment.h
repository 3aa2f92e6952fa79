/* The environment: the only access to clocks, randomness and memory. */
#ifndef MCDS_BASE_ENVIRONMENT_H
#define MCDS_BASE_ENVIRONMENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "mcds.h"

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define MS_PER_S INT64_C(1000)
/* The bytes of a cache line of the processor. */
#define MCDS__PROCESSOR_LINE 64

/* Memory of `length` bytes, not cleared; NULL when refused. */
void *mcds__allocate(const mcds_env *env, size_t length);
/* Memory of `length` bytes, all zero; NULL when refused. */
void *mcds__allocate_zero(const mcds_env *env, size_t length);
void mcds__free(const mcds_env *env, void *memory);
/* A copy of a C string; NULL when memory is refused. */
char *mcds__copy_string(const mcds_env *env, const char *string);

/* Copy a caller's environment; a function that it lacks is the system's. Returns MCDS_OK, or
 * MCDS_INVALID with the sentence set. */
int mcds__env_complete(const mcds_env *given, mcds_env *env_out);
bool mcds__env_is_same(const mcds_env *one, const mcds_env *other);
int64_t mcds__monotonic_ns(const mcds_env *env);
/* The time until monotonic_ns, rounded up, and at most ms_max; 0 if it has passed. */
int mcds__ms_until(const mcds_env *env, int64_t monotonic_ns, int ms_max);
int64_t mcds__wall_ns(const mcds_env *env);
int64_t mcds__wall_ms(const mcds_env *env); /* 0 before 1970 */
/* Whole seconds; never 0. */
uint32_t mcds__wall_s(const mcds_env *env);
uint64_t mcds__random_u64(const mcds_env *env);
/* Whether random numbers exist: a sandbox may refuse both getrandom and /dev/urandom. */
bool mcds__has_random(const mcds_env *env);
void mcds__sleep_until_ns(const mcds_env *env, int64_t monotonic_ns);

/* The number of forks that led to this process, from the first call of mcds__watch_forks on.
 * In a child it differs from the number that a handle has stored. */
extern _Atomic uint64_t mcds__fork_count;
uint64_t mcds__watch_forks(void); /* returns mcds__forks() */
static inline uint64_t mcds__forks(void)
{
    return atomic_load_explicit(&mcds__fork_count, memory_order_relaxed);
}

/* Guards the lists of the files and stores that this process has open. A fork holds it: a child finds them whole. */
void mcds__registry_lock(void);
void mcds__registry_unlock(void);

/* Initialize a condition for mcds__condition_wait. False: the system has none left. */
bool mcds__condition_init(pthread_cond_t *condition);
/* Wait for a signal, at most until the environment's monotonic clock reads monotonic_ns; it may
 * also return early. False: the clock has reached that time. */
bool mcds__condition_wait(const mcds_env *env, pthread_cond_t *condition,
                          pthread_mutex_t *mutex, int64_t monotonic_ns);
/* Initialize a mutex in memory that processes share. If its owner dies, the next one to lock
 * it gets EOWNERDEAD. False: the system has none left. */
bool mcds__mutex_init_shared(pthread_mutex_t *mutex);
/* Lock, waiting until monotonic_ns at most. Returns what pthread_mutex_timedlock returns. */
int mcds__mutex_lock_until(const mcds_env *env, pthread_mutex_t *mutex, int64_t monotonic_ns);

/* Wait until another thread, or another process that shares the word, calls mcds__word_wake, at
 * most until monotonic_ns; it may also return early. Returns at once if the word is not
 * `expected`. */
void mcds__word_wait(const mcds_env *env, _Atomic uint32_t *word, uint32_t expected,
                     int64_t monotonic_ns);
/* Wake the waiter that has waited longest. False: none was waiting. */
bool mcds__word_wake(_Atomic uint32_t *word);

#endif
