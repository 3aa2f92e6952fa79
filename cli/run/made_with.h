/* Opens structures with the options that they were made with, for commands that give none. */
#ifndef MCDS_CLI_RUN_MADE_WITH_H
#define MCDS_CLI_RUN_MADE_WITH_H

#include "table/command.h"

/* Whether the command reads or erases a structure that keeps its options, and gives no options. */
bool takes_as_made(const struct command *command);

#endif
