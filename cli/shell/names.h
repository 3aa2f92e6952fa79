/* Names: the names of the structures in the store, for completion, with a time limit. */
#ifndef MCDS_CLI_SHELL_NAMES_H
#define MCDS_CLI_SHELL_NAMES_H

#include "editor/completion.h"
#include "run/session.h"
#include "signals/signals.h"

/* Adds the names of the structures of `noun` (NULL: of all nouns) that begin with `typed`; those with
 * a minus only if `options_over`, because before -- they would be read as options. Ends at a
 * signal, which the caller still has to take, and after a second. Then there may be more names. */
void names_add(struct session *session, struct signals *signals, const struct noun *noun,
               const char *typed, bool options_over, struct completion *completion);

#endif
