/* Empty: makes a structure that has no elements. */
#ifndef MCDS_CLI_LOAD_EMPTY_H
#define MCDS_CLI_LOAD_EMPTY_H

#include "load/moved_clock.h"
#include "table/command.h"

/* Retention of a log that was made without this option. */
#define LOG_RETENTION_MS UINT64_C(604800000)

/* Makes the structure of this handle. Keeps what other programs have put into it meanwhile. `clock`
 * is the clock of the store. The call may move it. Returns the result. */
int make_empty(const struct command *structure, void *handle, struct moved_clock *clock);

#endif
