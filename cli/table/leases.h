/* The verbs of the nouns that hold a lease, for the table of all commands. */
#ifndef MCDS_CLI_TABLE_LEASES_H
#define MCDS_CLI_TABLE_LEASES_H

#include "table/command.h"

/* The options of the keys of once. */
#define ONCE_KEY                                                                               \
    OPTION_IN, OPTION_KEEP, OPTION_RUN, OPTION_STRICT, OPTION_RETRY_FAILED, OPTION_SETTLE,     \
        OPTION_FORGET

/* Each is ended by word NULL. */
extern const struct verb lock_verbs[];
extern const struct verb semaphore_verbs[];
extern const struct verb once_verbs[];
extern const struct verb leader_verbs[];

#endif
