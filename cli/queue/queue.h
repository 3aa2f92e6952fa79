/* What the files of mcds queue share. */
#ifndef MCDS_CLI_QUEUE_QUEUE_H
#define MCDS_CLI_QUEUE_QUEUE_H

#include "run/session.h"
#include "table/command.h"

/* How often a job is handed out before it is dead, unless --tries says otherwise. */
#define QUEUE_TRIES UINT64_C(5)
/* Lost parts in a row that one command passes over. */
#define QUEUE_LOSSES_MAX 64

/* Reports on standard error that the store has lost a part of the queue. */
void queue_tell_of_loss(const struct session *session, const struct command *command);

#endif
