/* mcds log: functions shared by its files. */
#ifndef MCDS_CLI_NOUNS_LOG_H
#define MCDS_CLI_NOUNS_LOG_H

#include "table/command.h"

void log_print_event(struct output *output, const mcds_log_event *event);

/* An mcds_log_scan_cb that prints the event; its context is a struct output. */
bool log_print_visited(void *context, const mcds_log_event *event);

#endif
