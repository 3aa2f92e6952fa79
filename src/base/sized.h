/* Structs of the caller that may be older or newer than this library.
 *
 * A public struct that may grow begins with `size`; mcds.h states the rule. Every such struct is a
 * line of MCDS__SIZED_MAP, and the functions below are the only code that looks at `size`.
 *
 * A line is the struct, its last member in version 0.1, the last member that this version knows, and
 * the last that it declares: a member that only fills up the struct is declared and not known. There
 * are no bytes after it, because the next version would take what an old caller left there for a
 * value. tools/structs compares this list with the headers. */
#ifndef MCDS_BASE_SIZED_H
#define MCDS_BASE_SIZED_H

#include "mcds.h"

#define MCDS__SIZED_MAP(X)                                                                     \
    X(mcds_env, reallocate, reallocate, reallocate)                                            \
    X(mcds_options, env, env, env)                                                             \
    X(mcds_pipeline_options, depth, depth, reserved)                                           \
    X(mcds_wait, wake_ns, wake_ns, wake_ns)                                                    \
    X(mcds_counter_options, flush_ms, flush_ms, flush_ms)                                      \
    X(mcds_counter_value, reborn, reborn, reserved)                                            \
    X(mcds_lock_options, label, label, label)                                                  \
    X(mcds_lock_holder, label, label, label)                                                   \
    X(mcds_visitors_options, members, members, members)                                        \
    X(mcds_visitors_value, reborn, reborn, reserved)                                           \
    X(mcds_online_options, members, members, reserved)                                         \
    X(mcds_online_value, reborn, reborn, reserved)                                             \
    X(mcds_set_options, form, form, reserved)                                                  \
    X(mcds_table_options, size, size, size)                                                    \
    X(mcds_views_options, context, context, context)                                           \
    X(mcds_array_options, size, size, size)                                                    \
    X(mcds_list_options, size, size, size)                                                     \
    X(mcds_log_options, ahead_ms, ahead_ms, reserved)                                          \
    X(mcds_log_info, corrupt, corrupt, corrupt)                                                \
    X(mcds_log_range, newest_first, newest_first, reserved)                                    \
    X(mcds_home, backup, backup, backup)                                                       \
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
    size_t first; /* bytes of the members of version 0.1 */
};
extern const struct mcds__sized_layout mcds__sized_layouts[MCDS__SIZED_COUNT];

/* A caller's struct has at most so many bytes more than ours: another size is not one. */
#define MCDS__SIZED_GROWTH_MAX 1024

/* Fill *ours with the caller's options, 0 where its struct ends; `given` NULL: all 0. Returns MCDS_OK,
 * or MCDS_INVALID with the sentence set. */
int mcds__sized_read(enum mcds__sized which, const void *given, void *ours);
/* Whether the caller's output has a possible size: MCDS_OK, or MCDS_INVALID with the sentence set. */
int mcds__sized_check(enum mcds__sized which, const void *given);
/* Fill *ours with what the caller's output has already. */
void mcds__sized_take(enum mcds__sized which, const void *given, void *ours);
/* Copy to the caller's output the members that it has room for, and clear those of it that we do not
 * know. Its size stays; one that mcds__sized_check refuses leaves all of it as it is. */
void mcds__sized_write(enum mcds__sized which, void *given, const void *ours);

#endif
