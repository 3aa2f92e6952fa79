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
/* Soon ends each wait, of this call and of later ones, until deadline_close. Safe in a signal
 * handler. */
void deadline_end_waits(void);

/* In a process that opens its own stores: their clock is that of the system. */
void deadline_reset(void);

#endif
