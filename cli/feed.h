/* Standard input as what a verb works on. */
#ifndef MCDS_CLI_FEED_H
#define MCDS_CLI_FEED_H

#include "command.h"

/* Carry out a command whose `input` is not INPUT_NONE and print what comes of it; returns the
 * exit code. */
int feed_run(struct session *session, const struct command *command);

#endif
