/* Executes a verb on the lines or the whole of standard input. */
#ifndef MCDS_CLI_RUN_STDIN_FEED_H
#define MCDS_CLI_RUN_STDIN_FEED_H

#include "table/command.h"

/* Executes a command whose `input` is not INPUT_NONE and prints the result; returns the exit
 * code. */
int feed_run(struct session *session, const struct command *command);

#endif
