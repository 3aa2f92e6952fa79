/* Deadline: after a signal, a wait for a memcached server ends although its timeout has not passed. */
#ifndef MCDS_CLI_SIGNALS_DEADLINE_H
#define MCDS_CLI_SIGNALS_DEADLINE_H

#include "mcds.h"

/* The environment of a store whose waits end so: that of the system, with a clock that moves forward
 * after a signal. */
const mcds_env *deadline_env(void);

/* Between these calls, a signal may call deadline_end_waits. They are not nested. */
void deadline_open(void);
void deadline_close(void);
/* From now until deadline_close, ends each wait after half a second. Safe in a signal handler. */
void deadline_end_waits(void);

/* Restores the clock of the system, in a child process that opens stores of its own. */
void deadline_reset(void);

#endif
