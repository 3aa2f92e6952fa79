/* Which store a run uses when none is named: that of the command mcds. */
#ifndef WEBLOG_HOME_H
#define WEBLOG_HOME_H

#include <stdbool.h>
#include <stddef.h>

#define HOME_URI_MAX 4096

/* $MCDS_STORE, else lmdb:$XDG_STATE_HOME/mcds/default.lmdb, with $HOME/.local/state for a state
 * home that is not set. Makes the folders of that file. False: neither is set, or too long. */
bool home_default(char uri[HOME_URI_MAX]);

#endif
