/* Executes a verb on the whole of standard input. */
#ifndef MCDS_CLI_RUN_STDIN_WHOLE_H
#define MCDS_CLI_RUN_STDIN_WHOLE_H

#include "table/command.h"

#define WHOLE_MAX (size_t)(16 << 20) /* the largest value */

/* Executes a command one of whose arguments is all of standard input, and prints the result; returns
 * the exit code. */
int whole_run(struct session *session, const struct command *command);

#endif
