/* The parts of the manual pages that come from the table, in mdoc. tools/manuals adds the rest. */
#ifndef MCDS_CLI_HELP_MANUAL_H
#define MCDS_CLI_HELP_MANUAL_H

#include "table/command.h"

/* The options of all commands, and the nouns with their verbs. */
void print_manual(const struct noun *nouns);
/* The page of a noun: its name, a synopsis, and each verb with its arguments and options. */
void print_manual_of(const struct noun *noun);
/* The exit codes. */
void print_manual_exit(void);

#endif
