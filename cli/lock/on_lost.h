/* On-lost: the command line of --on-lost, which mcds runs once when the lease of COMMAND is lost.
 *
 *   loss: TERM or KILL to COMMAND -- sh -c CMD -- its end, or KILL to its group after 10 s
 *
 * mcds does not wait for it while COMMAND lives, so the command line delays no signal to
 * COMMAND. */
#ifndef MCDS_CLI_LOCK_ON_LOST_H
#define MCDS_CLI_LOCK_ON_LOST_H

#include <stdbool.h>
#include <stdint.h>

#include "child/child.h"
#include "lock/watch.h"
#include "run/session.h"
#include "table/command.h"

struct on_lost {
    struct session *session;
    const struct command *command;
    const char *reason; /* the value of MCDS_REASON; NULL: the lease is not lost */
    bool is_begun;      /* the command line was started, and is not started again */
    bool is_killed;
    struct bystander process;
    int64_t kill_at_ns; /* INT64_MAX: the command line was not started */
};

/* For a new lease. */
void on_lost_init(struct on_lost *on_lost, struct session *session,
                  const struct command *command);
/* The reason for a loss that the library has reported. */
const char *on_lost_reason(int result);
/* Records the loss; the first reason counts. */
void on_lost_note(struct on_lost *on_lost, const char *reason);
/* After a loss, starts the command line unless it was started before. Kills it after 10 s. */
void on_lost_step(struct on_lost *on_lost, struct child *child,
                  const struct inheritance *inheritance);
/* Waits for the end of the command line, and reports its failure. If a signal that ends mcds
 * arrives meanwhile, the command line is killed. Returns that signal, or 0. */
int on_lost_end(struct on_lost *on_lost, struct watch *watch);

#endif
