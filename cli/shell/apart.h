/* Apart: executes a command in its own process, as `mcds` does. This is for commands that run a
 * COMMAND, take signals or the terminal, or read the whole store. */
#ifndef MCDS_CLI_SHELL_APART_H
#define MCDS_CLI_SHELL_APART_H

#include "run/session.h"
#include "signals/signals.h"

/* The standard input of the process. */
enum apart_input {
    APART_SAME,      /* that of the shell */
    APART_EMPTY,     /* empty: for a command that runs a COMMAND */
    APART_UNREADABLE /* none: to read it is a failure */
};

/* Executes the command and waits for its end. Signals that arrive meanwhile are passed on, except
 * those of the terminal. Returns the exit code. */
int apart_run(struct session *session, const struct command *command, struct signals *signals,
              enum apart_input input);

/* Forks a process with the signal actions that the shell had before signals_open. The process opens
 * its own store, and gets SIGTERM when the shell is killed. Returns as fork. */
pid_t apart_fork(struct session *session, struct signals *signals);

#endif
