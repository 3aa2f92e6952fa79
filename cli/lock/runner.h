/* Runner: runs COMMAND while this process holds a lease, any number of times: for `mcds lock`, `mcds
 * semaphore run`, `mcds leader run`, `mcds once` and `mcds queue work`. */
#ifndef MCDS_CLI_LOCK_RUNNER_H
#define MCDS_CLI_LOCK_RUNNER_H

#include "child/child.h"
#include "lock/acquire.h"
#include "lock/on_lost.h"
#include "lock/renewer.h"
#include "lock/tenure.h"
#include "lock/watch.h"
#include "run/session.h"

enum runner_phase {
    PHASE_RUNNING,
    PHASE_RESTING,  /* COMMAND has ended; the rest of its group may end by itself */
    PHASE_STOPPING, /* TERM was sent because of the lease, or to the rest */
    PHASE_KILLED
};

enum runner_end {
    RUNNER_NOT_RUN, /* nothing was acquired, or COMMAND cannot be run on this machine now */
    RUNNER_LATE,    /* the lease ended before COMMAND could start */
    RUNNER_ENDED    /* COMMAND has run, and no process of its group is left */
};

struct runner {
    struct session *session;
    const struct command *command;
    struct tenure tenure;
    struct watch watch;
    /* Of the last acquisition, and of the COMMAND that ran with it. */
    enum runner_end end;
    int ended_by; /* the signal after which mcds is to end, or 0 */
    struct child child;
    struct renewer renewer;
    struct relay own_relay;
    struct relay *relay; /* of the output of COMMAND; NULL: COMMAND has that of mcds */
    enum runner_phase phase;
    bool is_lost;
    struct on_lost on_lost;
    bool is_reach_told;   /* that a process cannot be signalled */
    struct outage outage; /* of waits, renewals and releases */
    int64_t deadline_ns;
    int64_t span_ns;  /* from a renewal to its deadline */
    int64_t asked_ns; /* when the last renewal was begun */
    int64_t renew_at_ns;
    int64_t next_at_ns; /* when the phase ends, unless the lease ends it before */
};

/* Opens the store and what is leased. From this call on, signals arrive only through the watch: it is
 * made once in a process. Returns 0 or, with the sentence printed, the exit code. */
int runner_open(struct runner *runner, struct session *session, const struct command *command,
                const struct tenure_kind *kind);

/* Waits for the lease. True with the lease; false with the exit code, after it has said why, or after
 * the signal `ended_by`, or where once has a result. */
bool runner_acquire(struct runner *runner, const struct patience *patience, int *status_out);

/* Runs COMMAND in its own process group, renews the lease meanwhile, and releases it. Signals are
 * passed on. If the lease cannot be renewed, the group and all descendants are ended before the lease
 * is. Returns the exit code of COMMAND, or that of the failure. */
int runner_run(struct runner *runner);
/* Releases the lease. A signal ends the call if the server does not answer. */
int runner_release(struct runner *runner);
/* Releases what this process may hold, and reports what follows from that. Why COMMAND has ended, or was
 * not started, is reported apart. */
void runner_let_go(struct runner *runner);
/* Releases the lease after a COMMAND that has ended with `status`, and reports a failure of that.
 * Returns the exit code: `status`, unless that is 0 and the release has failed, or the lease had ended. */
int runner_end(struct runner *runner, int status);
/* Reports `what` on standard error; NULL: nothing. */
void runner_say(const struct runner *runner, const char *what);

void runner_close(struct runner *runner);

#endif
