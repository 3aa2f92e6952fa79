/* What the two sides of `mcds lock` share. */
#ifndef MCDS_CLI_LOCK_H
#define MCDS_CLI_LOCK_H

#include "command.h"

#define LABEL_ROOM 201

/* As lock_open, after a look at the store: until its server has answered, it is taken for one that can
 * do what a lock needs. */
int lock_open_known(mcds_store *store, const struct command *command, void **handle_out);

#endif
