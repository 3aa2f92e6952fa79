/* Supervisor: the process between mcds and the command that it runs; ends the command when mcds
 * cannot.
 *
 *   mcds  --orders-->  supervisor  -- parent of -->  the command's group, and its orphans
 *         <---news---
 *         <---news of its start----------------------  the command
 *
 * The process of the command itself writes NEWS_FORKED before its exec, and NEWS_FAILED when the
 * exec fails. Its end of the pipe closes on exec, so these facts arrive even if the supervisor is
 * killed at any moment, and the pipe ends only when no process is left that could still run the
 * command.
 *
 * The supervisor kills every descendant of the command, in its process group or not, when mcds dies
 * (the pipe of orders ends), when mcds has not moved the deadline in time (it is stopped, or
 * gets no processor time), or when mcds orders it. Where it can make a cgroup, it kills through
 * that, which reaches set-user-ID programs too. It finds processes in /proc, or, where that is
 * not mounted, by trying process ids.
 *
 * It keeps no file of mcds open except its ends of the pipes. */
#ifndef MCDS_CLI_CHILD_SUPERVISOR_H
#define MCDS_CLI_CHILD_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "child/cgroup.h"

struct supervisor {
    pid_t pid;
    int orders;           /* to it */
    int news;             /* from it, without blocking */
    struct cgroup cgroup; /* of the command; the supervisor removes it */
};

enum supervisor_news_kind {
    NEWS_FORKED,  /* number: the process id of the command, whose program is not running yet */
    NEWS_STARTED, /* number: 0; the program runs, or was killed */
    NEWS_FAILED,  /* number: the errno of the failed start */
    NEWS_LATE,    /* number: 0; the deadline was over before the start */
    NEWS_STOPPED, /* number: the signal */
    NEWS_ENDED, /* number: as waitpid gives it; the command may be a zombie until NEWS_REAPED */
    NEWS_REAPED, /* number: 0 */
    NEWS_SWEPT   /* number: 1 if processes could not be killed, else 0 */
};

struct supervisor_news {
    int32_t kind;
    int32_t number;
};

/* The clock of all deadlines of the supervisor. It also runs while the machine is suspended. */
int64_t supervisor_now_ns(void);
/* Forks the supervisor. In the process of the command it calls `become`, which returns only when
 * the command cannot be run: an errno. The supervisor kills all at `kill_at_ns`, as after
 * supervisor_deadline; from that time on it does not start the command. NEWS_STARTED, NEWS_FAILED
 * or NEWS_LATE follows. Returns 0 or an errno. */
int supervisor_start(struct supervisor *supervisor, int64_t kill_at_ns,
                     int (*become)(const void *context), const void *context);
/* Kills all at this time, unless a later call moves it; INT64_MAX: never. */
void supervisor_deadline(const struct supervisor *supervisor, int64_t kill_at_ns);
/* Kills all now. NEWS_SWEPT follows. */
void supervisor_sweep(const struct supervisor *supervisor);
/* The next news. False: none until `until_ns` (0: does not wait; INT64_MAX: no limit), or none will
 * come, because the supervisor is dead. */
bool supervisor_next(const struct supervisor *supervisor, int64_t until_ns,
                     struct supervisor_news *news_out);
/* Ends the supervisor without killing processes that have left the command's group. */
void supervisor_leave(struct supervisor *supervisor);

#endif
