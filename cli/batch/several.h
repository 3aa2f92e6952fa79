/* Several elements or names on one command line. */
#ifndef MCDS_CLI_BATCH_SEVERAL_H
#define MCDS_CLI_BATCH_SEVERAL_H

#include "table/command.h"

/* Executes a command for each of its elements, many in flight at once, and prints one line for each
 * in the order typed. Returns the exit code, as of a batch. A signal ends it as it ends a batch. */
int several_run(struct session *session, const struct command *command);

#endif
