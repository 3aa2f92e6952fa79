/* Apart: executes a command in a process of its own, as `mcds` does: what runs a COMMAND, takes signals
 * or the terminal, or reads the whole store. */
#ifndef MCDS_CLI_SHELL_APART_H
#define MCDS_CLI_SHELL_APART_H

#include "io/signals.h"
#include "run/session.h"

/* The standard input of the process. */
enum apart_input {
    APART_SAME,      /* that of the shell */
    APART_EMPTY,     /* none: of a COMMAND */
    APART_UNREADABLE /* none, and reading it is a failure */
};

/* Executes the command and waits for its end; passes the signals on that arrive meanwhile, except those
 * of the terminal. Returns the exit code. */
int apart_run(struct session *session, const struct command *command, struct signals *signals,
              enum apart_input input);

/* Forks a process that takes signals as the shell did before signals_open; it opens a store of its
 * own. Returns as fork. */
pid_t apart_fork(struct session *session, struct signals *signals);

#endif
