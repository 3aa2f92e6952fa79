/* Program: runs a command for the verbs of cache. */
#ifndef MCDS_CLI_CACHE_PROGRAM_H
#define MCDS_CLI_CACHE_PROGRAM_H

#include "run/session.h"

/* The whole output of a command. */
struct collected {
    char *data;
    size_t length;
    bool is_too_long;
    bool is_out_of_memory;
    bool is_not_run; /* its sentence is printed */
    int interrupt;   /* the signal that mcds received and passed, or 0 */
};

/* Runs a command to its end. With `collected`, its standard output is gathered there, at most
 * `length_max` bytes, and a command that prints more is stopped; else it has ours. SIGINT, SIGTERM and
 * SIGHUP are passed to the command, and stay blocked afterwards. `renew` is called every `every_ms` until then, if it is not
 * NULL. Returns the exit code: that of the command, 128 + N when signal N ended it or was passed, or,
 * with the sentence printed, 126 or 127. */
int program_run(const struct session *session, const struct command *command,
                struct collected *collected, size_t length_max, void (*renew)(void *context),
                void *context, int every_ms);

/* Tags are the values of --tag. NULL where there is none. */
static inline const mcds_bytes *tags_of(const struct command *command)
{
    return command->element_count > 0 ? command->elements : NULL;
}

#endif
