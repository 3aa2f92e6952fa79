/* The verbs of the nouns that hold a lease, for the table of all commands. */
#ifndef MCDS_CLI_TABLE_LEASES_H
#define MCDS_CLI_TABLE_LEASES_H

#include "table/command.h"

/* Each is ended by word NULL. */
extern const struct verb lock_verbs[];
extern const struct verb semaphore_verbs[];
extern const struct verb once_verbs[];
extern const struct verb leader_verbs[];

#endif
