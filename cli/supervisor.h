/* The process between `mcds lock` and its command, which ends the command when mcds cannot.
 *
 *   mcds  --orders-->  supervisor  -- parent of -->  the command's group, and its orphans
 *         <---news---
 *
 * The supervisor kills every process that descends from the command, in its group or not, when mcds
 * dies (the pipe of orders ends), when mcds has not moved the deadline in time (it is stopped, or
 * starved), or when mcds orders it. Where the kernel lends it a cgroup of its own, it kills through
 * that, which reaches set-uid programs too. It finds the processes in /proc, and where that is not
 * mounted by their numbers.
 *
 * It keeps no file of mcds open but its ends of the pipes. */
#ifndef MCDS_CLI_SUPERVISOR_H
#define MCDS_CLI_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct supervisor {
    pid_t pid;
    int orders; /* to it */
    int news;   /* from it, without blocking */
};

enum supervisor_news_kind {
    NEWS_STARTED, /* number: the process id of the command */
    NEWS_FAILED,  /* number: the errno of why it cannot be run */
    NEWS_STOPPED, /* number: the signal */
    NEWS_ENDED,   /* number: as waitpid gives it */
    NEWS_SWEPT    /* number: 1 if processes could not be killed, else 0 */
};

struct supervisor_news {
    int32_t kind;
    int32_t number;
};

/* Fork it. It calls `become`, which does not return, in the process of the command; what `become`
 * writes to `report`, an errno, is why the command cannot be run. It kills all at `kill_at_ns`, as
 * after supervisor_deadline; from that time on it does not start the command, and NEWS_FAILED has
 * the number ETIME. Returns 0 or an errno. */
int supervisor_start(struct supervisor *supervisor, int64_t kill_at_ns,
                     void (*become)(const void *context, int report), const void *context);
/* Kill all at this time, unless a later one is given before; INT64_MAX: at none. */
void supervisor_deadline(const struct supervisor *supervisor, int64_t kill_at_ns);
/* Kill all now. NEWS_SWEPT follows. */
void supervisor_sweep(const struct supervisor *supervisor);
/* The next news. False: none yet; or, with `wait`, none will come. */
bool supervisor_next(const struct supervisor *supervisor, bool wait,
                     struct supervisor_news *news_out);
/* Let it go, and leave alone what has left the command's group. */
void supervisor_leave(struct supervisor *supervisor);

#endif
