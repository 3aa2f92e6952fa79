/* Look: a line about each structure of a listing. */
#ifndef MCDS_CLI_BATCH_LOOK_H
#define MCDS_CLI_BATCH_LOOK_H

#include "batch/listing.h"
#include "run/session.h"

/* Prints noun, name, size, seconds left and holder of each structure; the store is open. An unknown field is "-". Returns the exit code. */
int look_at_all(struct session *session, const struct command *command,
                const struct listing *listing);

#endif
