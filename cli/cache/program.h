/* Program: runs a command for the verbs of cache. */
#ifndef MCDS_CLI_CACHE_PROGRAM_H
#define MCDS_CLI_CACHE_PROGRAM_H

#include "run/session.h"
#include "signals/signals.h"

/* The whole output of a command. */
struct collected {
    char *data;
    size_t length;
    bool is_too_long;
    bool is_out_of_memory;
    bool is_not_run; /* its sentence is printed */
};

/* How to run a command. */
struct program {
    struct signals *signals;     /* open */
    struct collected *collected; /* gathers standard output; NULL: the command has ours */
    size_t length_max;           /* a command that prints more is stopped */
    void (*renew)(void *context);
    void *context;
    int every_ms; /* between two calls of `renew`, until the command has ended; 0: none */
};

/* Runs the command to its end. The signals are passed to it. Returns the exit code: that of the
 * command, 128 + N when signal N ended it or was received, or, with the sentence printed, 126 or
 * 127. */
int program_run(const struct session *session, const struct command *command,
                const struct program *program);

/* Tags are the values of --tag. NULL where there is none. */
static inline const mcds_bytes *tags_of(const struct command *command)
{
    return command->element_count > 0 ? command->elements : NULL;
}

#endif
