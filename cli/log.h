/* What the two sides of `mcds log` share. */
#ifndef MCDS_CLI_LOG_H
#define MCDS_CLI_LOG_H

#include "command.h"

void log_print_event(struct output *output, const mcds_log_event *event);

/* As a visitor whose context is a struct output. */
bool log_print_visited(void *context, const mcds_log_event *event);

#endif
