/* Kept: what the lines of a shell share besides the store: the open structures and a pipeline. So
 * an operation on a structure that an earlier line has used takes one round trip. */
#ifndef MCDS_CLI_SHELL_KEPT_H
#define MCDS_CLI_SHELL_KEPT_H

#include "run/session.h"
#include "signals/signals.h"

struct subjects;

struct kept {
    struct signals *signals;   /* a signal gives up the operation */
    struct subjects *subjects; /* the open structures; NULL: none */
    mcds_pipeline *pipeline;
};

/* Executes one command that is an operation of a structure, as session_operate does, with
 * session->kept. A signal gives up the operation. Then it may have been applied or not, unless it
 * only reads. Returns the exit code. */
int kept_operate(struct session *session, const struct command *command);

/* Closes the structures and the pipeline. */
void kept_close(struct kept *kept);

#endif
