/* mcds lock: functions shared by its files. */
#ifndef MCDS_CLI_NOUNS_LOCK_H
#define MCDS_CLI_NOUNS_LOCK_H

#include "table/command.h"

#define LABEL_CAPACITY 201

/* As lock_open, but first contacts the server, whose capabilities are unknown until it answers. */
int lock_open_known(mcds_store *store, const struct command *command, void **handle_out);

/* Sets the variables that COMMAND inherits. */
void lock_set_environment(const char *name, uint64_t fence, int64_t left_ms);

#endif
