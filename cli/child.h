/* A program in a process group of its own, below a supervisor. */
#ifndef MCDS_CLI_CHILD_H
#define MCDS_CLI_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "supervisor.h"

struct child {
    struct supervisor supervisor;
    pid_t group;       /* also the process id of the program */
    int tty;           /* the controlling terminal, or -1 */
    bool is_ended;     /* the program itself; others of its group may live on */
    int wait_status;   /* as waitpid gives it, when it has ended */
    int stopped_by;    /* the signal that has stopped the program, or 0 */
    bool is_following; /* we have stopped with it */
    bool is_unwatched; /* the supervisor was killed */
};

/* What the program inherits: the signals as they were before ours. */
struct inheritance {
    sigset_t mask;
    struct sigaction pipe;
    struct sigaction size;
    struct sigaction child;
};

/* Starts `program`, found by $PATH. All its descendants die with mcds, and at `kill_at_ns` unless
 * child_deadline moves that. When mcds is in the foreground of a terminal and both standard streams
 * are that terminal, the group becomes the foreground group. Returns 0, or the errno of why it
 * cannot be run; ETIME: that time was over before it could start. */
int child_start(struct child *child, char *const *program, int64_t kill_at_ns,
                const struct inheritance *inheritance);

/* Take notice of what has ended or stopped. */
void child_reap(struct child *child);

/* Whether any process of the group lives; a zombie does not. */
bool child_group_lives(const struct child *child);

/* Send a signal to the whole group. */
void child_signal(const struct child *child, int number);
/* Whether a process of the group cannot be signalled, because it runs as another user; which.
 * Without /proc: whether none of the group can, and not which. */
bool child_is_out_of_reach(const struct child *child, char *sentence, size_t room);

/* Readable when child_reap has something to take; -1: never. */
int child_news(const struct child *child);

/* Have all killed at this time, even if we are stopped then. */
void child_deadline(const struct child *child, int64_t kill_at_ns);
/* Kills all descendants of the program, in its group or not, and waits for their end. */
void child_sweep(const struct child *child);

/* After a stop by the terminal: when mcds is in the foreground, a program that only waited for the
 * terminal gets it. Otherwise mcds stops its own group too, so that the shell shows its prompt;
 * child_continue continues the program when the shell continues mcds. A stop by another process
 * changes nothing: the lock is held meanwhile. */
void child_follow_stop(struct child *child);
void child_continue(struct child *child);

/* Give the terminal back to our own group, and let the supervisor go. */
void child_end(struct child *child);

#endif
