/* Names: the names of the structures in the store, for completion, within a bound of time. */
#ifndef MCDS_CLI_SHELL_NAMES_H
#define MCDS_CLI_SHELL_NAMES_H

#include "editor/completion.h"
#include "io/signals.h"
#include "run/session.h"

/* Adds the names that begin with `typed` of the structures of `noun` (NULL: of all). Stops at a signal, which
 * it leaves for the caller, and after a second: then there may be more. */
void names_add(struct session *session, struct signals *signals, const struct noun *noun,
               const char *typed, struct completion *completion);

#endif
