/* Refuses to follow a store that this user reads from a copy. */
#ifndef MCDS_CLI_WATCH_READ_COPY_H
#define MCDS_CLI_WATCH_READ_COPY_H

#include "run/session.h"

/* Whether this user reads a copy of the open store, which shows no later change. Writes a sentence
 * that begins with the `path` of the file and has the way out. */
bool reads_copy(const struct session *session, char *sentence, size_t capacity);
/* The same as a failure of a command that shows changes as they are made: returns 0 or, with the
 * sentence printed, the exit code. */
int refuse_copy(struct session *session, const struct command *command);

#endif
