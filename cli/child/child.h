/* Child: a program in its own process group, under a supervisor. */
#ifndef MCDS_CLI_CHILD_CHILD_H
#define MCDS_CLI_CHILD_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "child/descendants.h"
#include "child/supervisor.h"

/* Another child of mcds, beside the program. */
struct bystander {
    pid_t pid; /* 0: none */
    bool is_ended;
    int wait_status; /* as waitpid gives it, when it has ended */
};

struct child {
    struct supervisor supervisor;
    pid_t group;                    /* also the process id of the program */
    int tty;                        /* the controlling terminal, or -1 */
    bool is_ended;                  /* the program itself; others of its group may live on */
    bool is_reaped;                 /* by the supervisor; before that, it may be a zombie */
    int wait_status;                /* as waitpid gives it, when it has ended */
    int stopped_by;                 /* the signal that has stopped the program, or 0 */
    bool is_following;              /* we have stopped with it */
    bool is_hung_up;                /* it waited for a terminal that never comes */
    bool had_terminal;              /* its group was in the foreground when it ended */
    bool is_unwatched;              /* the supervisor was killed */
    bool is_orphaned;               /* and the program had not ended by then */
    struct descendants descendants; /* which are ours to kill when it is orphaned */
    struct bystander *bystander;    /* or NULL */
};

/* The program inherits the signal actions that mcds was started with, and streams for its
 * output. */
struct inheritance {
    const int *ends; /* of a relay, for both output streams; NULL: those of mcds */
    int input;       /* the file for its standard input; 0: that of mcds */
    sigset_t mask;
    struct sigaction pipe;
    struct sigaction size;
    struct sigaction child;
};

enum child_outcome {
    CHILD_STARTED,
    CHILD_FAILED,   /* it cannot be run: *reason_out has the errno */
    CHILD_LATE,     /* `kill_at_ns` was over before it could start */
    CHILD_UNGUARDED /* the supervisor was killed before it had forked the program */
};

/* Starts `program`, found by $PATH. All its descendants die with mcds, and at `kill_at_ns` unless
 * child_deadline moves that. When mcds is in the foreground of a terminal and both standard streams
 * are that terminal, the group becomes the foreground group. The caller ends a child that is
 * CHILD_STARTED. */
enum child_outcome child_start(struct child *child, char *const *program, int64_t kill_at_ns,
                               const struct inheritance *inheritance, int *reason_out);

/* Accepts a child that mcds has just started for itself: child_reap records its end, and
 * child_sweep does not kill it. */
void child_accept(struct child *child, struct bystander *bystander);

/* Records which processes have ended or stopped. */
void child_reap(struct child *child);

/* The exit code of a program that has ended. */
int child_status(const struct child *child);

/* Whether the program or a process of its group lives; a zombie does not. When the program
 * is_orphaned, whether any descendant of it may live: each call kills those that it finds. */
bool child_lives(struct child *child);

/* Sends a signal to the whole group. */
void child_signal(const struct child *child, int number);
/* Whether a process of the group cannot be signalled because it runs as another user; `sentence`
 * names it. Without /proc: whether no process of the group can be signalled; none is named. */
bool child_is_out_of_reach(const struct child *child, char *sentence, size_t capacity);

/* Readable when child_reap has something to take; -1: never. */
int child_news(const struct child *child);

/* All are killed at this time, even if mcds is stopped then. */
void child_deadline(const struct child *child, int64_t kill_at_ns);
/* Kills all descendants of the program, in its group or not, and waits for their end. */
void child_sweep(struct child *child);

/* After a stop by the terminal: when mcds is in the foreground, a program that only waited for the
 * terminal gets it. Otherwise mcds stops its own group too, so that the shell shows its prompt;
 * child_continue continues the program when the shell continues mcds. Where no shell would continue
 * mcds, mcds cannot be stopped, and the program continues at once; one that waits for the terminal
 * gets SIGHUP. A stop by another process changes nothing: the lock is held meanwhile. */
void child_follow_stop(struct child *child);
void child_continue(struct child *child);

/* Gives the terminal back to our own group and ends the supervisor. */
void child_end(struct child *child);

#endif
