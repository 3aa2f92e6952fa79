/* mcds queue push --file: executes a verb on the content of the file. */
#ifndef MCDS_CLI_QUEUE_PUSH_FILE_H
#define MCDS_CLI_QUEUE_PUSH_FILE_H

#include "run/session.h"

/* Executes the command with the content as its only element, and prints the result. Returns the
 * exit code. */
int file_run(struct session *session, const struct command *command);

#endif
