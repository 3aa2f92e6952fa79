/* What came of a command, printed. */
#ifndef MCDS_CLI_REPORT_H
#define MCDS_CLI_REPORT_H

#include "command.h"

/* Print the outcome of one operation; `message` is mcds_errmsg() for a negative result.
 * Returns the exit code. */
int report(struct output *output, const struct command *command, const union answer *answer,
           int result, const char *message);

/* Print that a command did not work. `name` is that of the result, for --json. */
void report_failure(struct output *output, const struct command *command, int status,
                    const char *name, const char *sentence);

#endif
