/* Interrupt: a signal that ends the reading of standard input, or what a command has begun, but not
 * the process. Half a second later it ends each wait for a memcached server (signals/deadline.h). */
#ifndef MCDS_CLI_SIGNALS_INTERRUPT_H
#define MCDS_CLI_SIGNALS_INTERRUPT_H

#include <stdbool.h>

/* From this call on, the first SIGINT, SIGTERM or SIGHUP ends standard input, also if the signals
 * were blocked. A read that waits returns, as at the end of a file. A second signal ends the
 * process. A signal that was ignored at the start stays ignored. */
void interrupt_open(void);

/* The same for calls of the library, also for SIGQUIT: standard input continues, and a second signal
 * changes nothing. */
void interrupt_open_calls(void);

/* The number of the first signal received since interrupt_open, or 0. */
int interrupt_number(void);

/* Undoes interrupt_open: standard input and the signals are as before, and interrupt_number is
 * 0. Returns the number until then. */
int interrupt_close(void);

/* Whether the terminal has sent SIGINT to this process. It has sent it to the shell too. */
bool interrupt_is_of_keyboard(void);
/* Notes a signal that has arrived in another way. `code`: si_code. */
void interrupt_note(int number, int code);

/* The number of the first signal that a closed interrupt has received since the last call, or 0. */
int interrupt_take_closed(void);

#endif
