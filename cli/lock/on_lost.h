/* On-lost: the command line of --on-lost, which mcds runs once when the lease of COMMAND is lost.
 *
 *   loss: TERM or KILL to COMMAND -- sh -c CMD -- its end, or KILL to its group after 10 s
 *
 * mcds does not wait for it while COMMAND lives, so it delays no signal to COMMAND. */
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
    bool is_begun;      /* and does not begin again */
    bool is_killed;
    struct bystander process;
    int64_t kill_at_ns; /* INT64_MAX: it does not run */
};

/* For a new lease. */
void on_lost_init(struct on_lost *on_lost, struct session *session,
                  const struct command *command);
/* Records the loss; the first reason counts. */
void on_lost_note(struct on_lost *on_lost, const char *reason);
/* After a loss, starts the command line unless that was done before. Kills it when its time is over. */
void on_lost_step(struct on_lost *on_lost, struct child *child,
                  const struct inheritance *inheritance);
/* Waits for its end, and reports a failure. A signal that ends mcds kills it. Returns that signal,
 * or 0. */
int on_lost_end(struct on_lost *on_lost, struct watch *watch);

#endif
