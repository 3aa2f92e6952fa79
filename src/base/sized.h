/* Structs of a caller that was compiled for an older or newer version of this library.
 *
 * A public struct that may grow begins with `size`; mcds.h states the rule. Every such struct
 * is a line of MCDS__SIZED_MAP, and the functions below are the only code that looks at `size`.
 *
 * A line names the struct, the last member that version 0.1 declares, the last member that this
 * version knows, and the last member that it declares. Size 0 means the members up to the first of
 * these three: a program of version 0.1 has no more, so a later version never changes it. Padding
 * members are declared and not known. No bytes follow the last member: a later version would read
 * whatever an old caller left there as a value. tools/structs compares this list with the headers,
 * and tests/unit/sized.c with the sizes of version 0.1. */
#ifndef MCDS_BASE_SIZED_H
#define MCDS_BASE_SIZED_H

#include "mcds.h"

#define MCDS__SIZED_MAP(X)                                                                     \
    X(mcds_env, reallocate, reallocate, reallocate)                                            \
    X(mcds_options, env, env, env)                                                             \
    X(mcds_pipeline_options, reserved, depth, reserved)                                        \
    X(mcds_wait, wake_ns, wake_ns, wake_ns)                                                    \
    X(mcds_counter_options, flush_ms, flush_ms, flush_ms)                                      \
    X(mcds_counter_value, ttl_ms, ttl_ms, ttl_ms)                                              \
    X(mcds_lock_options, label, label, label)                                                  \
    X(mcds_lock_holder, intended, intended, intended)                                          \
    X(mcds_semaphore_options, label, label, label)                                             \
    X(mcds_visitors_options, members, members, members)                                        \
    X(mcds_visitors_value, reserved, reborn, reserved)                                         \
    X(mcds_online_options, reserved, members, reserved)                                        \
    X(mcds_online_value, reserved, reborn, reserved)                                           \
    X(mcds_set_options, reserved, form, reserved)                                              \
    X(mcds_table_options, size, size, size)                                                    \
    X(mcds_limit_options, remember_ms, remember_ms, remember_ms)                               \
    X(mcds_limit_value, full_ms, full_ms, full_ms)                                             \
    X(mcds_ids_options, spread_ms, spread_ms, spread_ms)                                       \
    X(mcds_queue_options, stripes, stripes, stripes)                                           \
    X(mcds_queue_counts, dead, dead, dead)                                                     \
    X(mcds_views_options, reserved, database, reserved)                                        \
    X(mcds_array_options, size, size, size)                                                    \
    X(mcds_list_options, size, size, size)                                                     \
    X(mcds_cache_options, jitter, jitter, jitter)                                              \
    X(mcds_once_options, flags, flags, flags)                                                  \
    X(mcds_once_value, until_ms, until_ms, until_ms)                                           \
    X(mcds_log_options, reserved, ahead_ms, reserved)                                          \
    X(mcds_log_info, peer, peer, peer)                                                         \
    X(mcds_log_range, reserved, newest_first, reserved)                                        \
    X(mcds_backend, features, features, features)                                              \
    X(mcds_sim_options, context, context, context)                                             \
    X(mcds_sim_counts, paused, paused, paused)

/* MCDS__SIZED_mcds_env, ... */
enum mcds__sized {
#define MCDS__SIZED_NAME(type, first, known, last) MCDS__SIZED_##type,
    MCDS__SIZED_MAP(MCDS__SIZED_NAME)
#undef MCDS__SIZED_NAME
        MCDS__SIZED_COUNT
};

struct mcds__sized_layout {
    const char *name;
    size_t size;  /* as declared in this version */
    size_t known; /* bytes of the members that this version knows */
    size_t first; /* bytes of the members of version 0.1: what size 0 means */
};
extern const struct mcds__sized_layout mcds__sized_layouts[MCDS__SIZED_COUNT];

/* A caller's struct may be this many bytes larger than ours; a larger size is refused. */
#define MCDS__SIZED_GROWTH_MAX 1024

/* Fill *ours with the caller's options, 0 where its struct ends; `given` NULL: all 0. Returns
 * MCDS_OK, or MCDS_INVALID with the sentence set. */
int mcds__sized_read(enum mcds__sized which, const void *given, void *ours);
/* Check the size of the caller's output: MCDS_OK, or MCDS_INVALID with the sentence set. */
int mcds__sized_check(enum mcds__sized which, const void *given);
/* mcds__sized_check for a call that needs the members in the first `least` bytes, which are of version
 * 0.1. */
int mcds__sized_check_least(enum mcds__sized which, const void *given, size_t least);
/* Fill *ours with the present contents of the caller's output. */
void mcds__sized_take(enum mcds__sized which, const void *given, void *ours);
/* Copy to the caller's output the members that fit, and clear those that this version does not
 * know. Its size stays. If mcds__sized_check refuses the size, the output is not touched. */
void mcds__sized_write(enum mcds__sized which, void *given, const void *ours);

#endif
