/* What all commands of one run share: the output and the store. */
#ifndef MCDS_CLI_SESSION_H
#define MCDS_CLI_SESSION_H

#include <signal.h>

#include "command.h"

#define URI_MAX 4096

struct session {
    struct output output;
    mcds_options options;
    char uri[URI_MAX];
    const char *uri_origin; /* why it is this one */
    bool is_from_environment;
    mcds_store *store;
    const struct command *command; /* that opens it */
    struct sigaction pipe_before;  /* what SIGPIPE did when we were started */
    struct sigaction size_before;  /* what SIGXFSZ did */
};

/* Find out which store is meant, without opening it. Returns 0 or, with the sentence printed,
 * the exit code. */
int session_choose_store(struct session *session, const struct command *command);

/* Whether the chosen store is seen by this process alone, and ends with it. */
bool session_is_private(const struct session *session);
/* Open the store. Returns 0 or, with the sentence printed, the exit code. */
int session_open_store(struct session *session);

/* Carry out one command that is an operation of a structure, and print what comes of it; returns
 * the exit code. */
int session_operate(struct session *session, const struct command *command);

/* Carry out one command and print what comes of it; returns the exit code. */
int session_run(struct session *session, const struct command *command);

#endif
