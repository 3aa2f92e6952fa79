/* Empty: makes a structure that has no elements. */
#ifndef MCDS_CLI_LOAD_EMPTY_H
#define MCDS_CLI_LOAD_EMPTY_H

#include "load/moved_clock.h"
#include "table/command.h"

/* Of a log that was made without it. */
#define LOG_RETENTION_MS UINT64_C(604800000)

/* Makes the structure, which has this handle. What other programs have put into it meanwhile stays.
 * The clock is that of the store, and may be moved afterwards. Returns the result. */
int make_empty(const struct command *structure, void *handle, struct moved_clock *clock);

#endif
