/* Signals: SIGINT, SIGTERM, SIGHUP and SIGQUIT as a file. A command that holds something in the store
 * learns of them there, and gives it back before it ends. */
#ifndef MCDS_CLI_SIGNALS_SIGNALS_H
#define MCDS_CLI_SIGNALS_SIGNALS_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "table/command.h"

struct signals {
    int file;   /* readable when a signal or the end of a child has arrived; -1: not open */
    int number; /* of the first signal received, or 0 */
    sigset_t before; /* the mask that mcds was started with */
};

/* From this call on the signals, and SIGCHLD, arrive only in the file. A signal that was ignored at
 * the start stays ignored (nohup). Returns 0 or, with the sentence printed, the exit code. */
int signals_open(struct signals *signals, struct output *output, const struct command *command);
/* Takes all that have arrived. Passes them to the process `pid` (0: to none), except those of the
 * keyboard, which the process has received too. Returns signals->number. */
int signals_take(struct signals *signals, pid_t pid);
/* Waits this long at most, or until a signal arrives. Returns signals->number. */
int signals_wait(struct signals *signals, int64_t ms);
/* Between these calls, a signal ends each call of the library whose server does not answer, and
 * signals_take returns it. */
void signals_open_calls(void);
void signals_close_calls(void);
/* Closes the file. The signals stay blocked. */
void signals_close(struct signals *signals);

#endif
