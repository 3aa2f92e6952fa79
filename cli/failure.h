/* Failures of the library in the words of the command. */
#ifndef MCDS_CLI_FAILURE_H
#define MCDS_CLI_FAILURE_H

#include "command.h"

/* Room for a sentence of describe_failure. */
#define FAILURE_ROOM 512

/* This thread's last failure, as a failure of `command`, which may be NULL: the verb that was typed, and
 * options as they are typed. Cut to fit. */
void describe_failure(char out[FAILURE_ROOM], const struct command *command);

/* The same with advice on what to do. */
void explain_failure(char *out, size_t room, const struct command *command);

#endif
