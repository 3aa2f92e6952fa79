/* Executes one command. */
#ifndef MCDS_CLI_RUN_RUN_H
#define MCDS_CLI_RUN_RUN_H

#include "run/session.h"

/* Executes one command and prints the result; returns the exit code. */
int run_command(struct session *session, const struct command *command);

#endif
