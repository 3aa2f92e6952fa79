/* Executes a verb on the lines of standard input. */
#ifndef MCDS_CLI_RUN_STDIN_FEED_H
#define MCDS_CLI_RUN_STDIN_FEED_H

#include "table/command.h"

/* Executes a command for each line and prints the result, also of the lines read before a signal;
 * returns the exit code. */
int feed_run(struct session *session, const struct command *command);

#endif
