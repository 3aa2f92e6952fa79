/* The verbs of queue. */
#ifndef MCDS_CLI_TABLE_QUEUE_COMMANDS_H
#define MCDS_CLI_TABLE_QUEUE_COMMANDS_H

#include "table/command.h"

extern const struct verb queue_verbs[];

#endif
