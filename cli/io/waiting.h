/* Waiting: explains a wait for other callers to a user at a terminal, and how to end it. */
#ifndef MCDS_CLI_IO_WAITING_H
#define MCDS_CLI_IO_WAITING_H

#include "io/output.h"

/* A wait of less than this is not explained. */
#define WAITING_SILENT_MS INT64_C(1000)

/* Whether standard error is a terminal, without -q. */
bool waiting_is_told(const struct output *output);

/* Prints `why`, and that Ctrl-C ends the wait. `advice` follows it, or is empty. */
void waiting_tell(const struct output *output, const char *why, const char *advice);

#endif
