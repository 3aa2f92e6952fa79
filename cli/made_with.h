/* Commands that take a structure as it was made, and need none of its options. */
#ifndef MCDS_CLI_MADE_WITH_H
#define MCDS_CLI_MADE_WITH_H

#include "command.h"

/* Whether the command reads or erases, of a structure that keeps its options, and gives none. */
bool takes_as_made(const struct command *command);

#endif
