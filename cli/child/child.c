/* Child: a program in its own process group, with the terminal if there is one. */
#include "child/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child/processes.h"
#include "io/exit.h"

/* How often orphans are killed, and the time between: in all as long as a sweep of the
 * supervisor. */
#define ORPHAN_STEPS 250
#define ORPHAN_STEP_MS 20

/* Whether our group is the foreground of the terminal. */
static bool is_foreground(int tty)
{
    return tty >= 0 && tcgetpgrp(tty) == getpgrp();
}

/* The data that the process of the program needs between vfork and exec. */
struct start {
    char *const *program;
    int tty; /* to come to the foreground of, or -1 */
    const struct inheritance *inheritance;
};

/* In the process of the program, below the supervisor: only calls that are safe between vfork and
 * exec. */
static int become(const void *context)
{
    const struct start *start = context;
    if (start->tty >= 0)
        (void)tcsetpgrp(start->tty, getpid()); /* SIGTTOU is blocked here */
    (void)sigaction(SIGPIPE, &start->inheritance->pipe, NULL);
    (void)sigaction(SIGXFSZ, &start->inheritance->size, NULL);
    (void)sigaction(SIGCHLD, &start->inheritance->child, NULL);
    (void)sigprocmask(SIG_SETMASK, &start->inheritance->mask, NULL);
    const int *ends = start->inheritance->ends;
    if (ends != NULL && (dup2(ends[0], STDOUT_FILENO) < 0 || dup2(ends[1], STDERR_FILENO) < 0))
        return errno;
    if (start->inheritance->input != STDIN_FILENO &&
        dup2(start->inheritance->input, STDIN_FILENO) < 0)
        return errno;
    (void)execvp(start->program[0], start->program);
    return errno;
}

static void take_news(struct child *child)
{
    struct supervisor_news news;
    while (supervisor_next(&child->supervisor, 0, &news)) {
        if (news.kind == NEWS_STOPPED)
            child->stopped_by = news.number;
        if (news.kind == NEWS_ENDED) {
            child->stopped_by = 0;
            child->is_ended = true;
            child->wait_status = news.number;
        }
        if (news.kind == NEWS_REAPED)
            child->is_reaped = true;
    }
}

/* A supervisor that was stopped, while we are not, continues: it reports the end of the program. */
static void continue_supervisor(const struct child *child)
{
    siginfo_t stop = {.si_pid = 0};
    if (waitid(P_PID, (id_t)child->supervisor.pid, &stop, WSTOPPED | WNOHANG) == 0 &&
        stop.si_pid != 0)
        (void)kill(child->supervisor.pid, SIGCONT);
}

/* The supervisor was killed, and its children are ours now: the program, which died with it, and
 * others. Returns whether a child is left. */
static bool reap_ours(struct child *child)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        take_news(child); /* it may have reported the end of the program before it was killed */
        if (pid == child->supervisor.pid) {
            child->is_unwatched = true;
            child->is_orphaned = child->is_orphaned || !child->is_ended;
        }
        if (child->bystander != NULL && pid == child->bystander->pid) {
            child->bystander->is_ended = true;
            child->bystander->wait_status = status;
        }
        if (pid == child->group && !child->is_ended) {
            child->is_ended = true;
            child->wait_status = status;
            /* A process that dies with the supervisor is killed; else it had ended before. */
            child->is_orphaned = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        }
    }
    return pid == 0;
}

static bool reap_orphans(void *context, bool wait)
{
    (void)wait;
    return reap_ours(context);
}

/* Returns whether something may be left. */
static bool kill_orphans(struct child *child)
{
    bool is_left = descendants_kill(&child->descendants, reap_orphans, child);
    (void)reap_ours(child);
    return is_left;
}

/* Repeats that until no process is left that can be killed. */
static void end_orphans(struct child *child)
{
    for (int step = 0; step < ORPHAN_STEPS && kill_orphans(child); step++)
        (void)poll(NULL, 0, ORPHAN_STEP_MS);
}

/* Takes the news of the start. If the supervisor has not started the program at `kill_at_ns`,
 * because it is stopped or gets no processor time, it is killed. A supervisor that was killed may
 * have sent incomplete news. So the program counts as started from its fork on, and child_reap
 * reads how it ended. */
static enum child_outcome hear_of_start(struct child *child, int64_t kill_at_ns,
                                        int *reason_out)
{
    struct supervisor_news news;
    int64_t until_ns = kill_at_ns;
    bool is_late = false;
    for (;;) {
        bool is_told = supervisor_next(&child->supervisor, until_ns, &news);
        if (is_told && news.kind == NEWS_FORKED) {
            child->group = child->descendants.group = news.number;
        } else if (is_told) {
            *reason_out = news.number;
            return news.kind == NEWS_STARTED ? CHILD_STARTED
                   : news.kind == NEWS_LATE  ? CHILD_LATE
                                             : CHILD_FAILED;
        } else {
            (void)kill(child->supervisor.pid, SIGKILL);
            if (child->group > 0)
                return CHILD_STARTED;
            child->is_unwatched = true;
            is_late = is_late || supervisor_now_ns() >= kill_at_ns;
            if (until_ns == INT64_MAX)
                return is_late ? CHILD_LATE : CHILD_UNGUARDED;
            until_ns = INT64_MAX; /* to the end of the pipe, from where on no program starts */
        }
    }
}

enum child_outcome child_start(struct child *child, char *const *program, int64_t kill_at_ns,
                               const struct inheritance *inheritance, int *reason_out)
{
    *child = (struct child){.group = -1, .tty = open("/dev/tty", O_RDWR | O_CLOEXEC)};
    child->descendants.group = -1;
    descendants_spare(&child->descendants);
    /* In a shell pipeline, the other commands need the foreground, which they share with mcds. */
    bool whole = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    struct start start = {program, whole && is_foreground(child->tty) ? child->tty : -1,
                          inheritance};
    enum child_outcome outcome = CHILD_FAILED;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* for when the supervisor is killed */
    *reason_out = supervisor_start(&child->supervisor, kill_at_ns, become, &start);
    child->descendants.cgroup = child->supervisor.cgroup;
    if (*reason_out == 0)
        outcome = hear_of_start(child, kill_at_ns, reason_out);
    if (outcome != CHILD_STARTED)
        child_end(child);
    return outcome;
}

void child_accept(struct child *child, struct bystander *bystander)
{
    child->bystander = bystander;
    descendants_spare_one(&child->descendants, bystander->pid);
}

void child_reap(struct child *child)
{
    continue_supervisor(child);
    take_news(child);
    (void)reap_ours(child);
}

int child_news(const struct child *child)
{
    return child->is_unwatched ? -1 : child->supervisor.news;
}

struct group_look {
    pid_t group;
    bool seen;
    bool lives;
    char *sentence; /* on a process that may not be signalled, or NULL */
    size_t sentence_capacity;
};

static bool look_for_life(void *context, const struct process *process)
{
    struct group_look *look = context;
    if (process->group != look->group)
        return true;
    look->seen = true;
    look->lives = process->state != 'Z' || process->threads > 1;
    return !look->lives;
}

/* Whether the rest of the group are zombies whose parents do not look after them. They hold
 * nothing any more and no signal ends them. In doubt: no. */
static bool is_all_zombies(pid_t group)
{
    struct group_look look = {.group = group};
    return processes_visit(look_for_life, &look) && look.seen && !look.lives;
}

int child_status(const struct child *child)
{
    if (child->is_orphaned)
        return STATUS_INTERNAL;
    if (WIFSIGNALED(child->wait_status))
        return STATUS_SIGNAL + WTERMSIG(child->wait_status);
    return WEXITSTATUS(child->wait_status);
}

bool child_lives(struct child *child)
{
    bool is_orphan_left = child->is_orphaned && kill_orphans(child);
    if (is_orphan_left || !child->is_ended)
        return true;
    if (!child->is_reaped && !child->is_unwatched)
        return true; /* NEWS_REAPED follows at once */
    if (kill(-child->group, 0) == 0)
        return !is_all_zombies(child->group);
    return errno == EPERM;
}

void child_signal(const struct child *child, int number)
{
    (void)kill(-child->group, number);
}

static bool look_for_others(void *context, const struct process *process)
{
    struct group_look *look = context;
    if (process->group != look->group || process->state == 'Z' || kill(process->pid, 0) == 0 ||
        errno != EPERM)
        return true;
    look->seen = true;
    (void)snprintf(look->sentence, look->sentence_capacity, "process %ld (%s)",
                   (long)process->pid, process->name);
    return false;
}

bool child_is_out_of_reach(const struct child *child, char *sentence, size_t capacity)
{
    struct group_look look = {
        .group = child->group, .sentence = sentence, .sentence_capacity = capacity};
    if (!processes_visit(look_for_others, &look)) {
        look.seen = kill(-child->group, 0) != 0 && errno == EPERM;
        (void)snprintf(sentence, capacity, "a process of the command");
    }
    return look.seen;
}

void child_deadline(const struct child *child, int64_t kill_at_ns)
{
    supervisor_deadline(&child->supervisor, kill_at_ns);
}

void child_sweep(struct child *child)
{
    struct supervisor_news news = {NEWS_STARTED, 0};
    (void)kill(child->supervisor.pid, SIGCONT); /* if it is stopped */
    supervisor_sweep(&child->supervisor);
    while (news.kind != NEWS_SWEPT && supervisor_next(&child->supervisor, INT64_MAX, &news)) {
    }
    if (news.kind != NEWS_SWEPT)
        end_orphans(child);
}

/* Stops our own group. False: the kernel ignores that, as nobody in our session would continue the
 * group. The SIGCONT that ends a stop is pending afterwards, because it is blocked. */
static bool stop_own_group(int number)
{
    sigset_t pending;
    (void)kill(0, number);
    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}

static void resume(struct child *child)
{
    child->is_following = false;
    if (is_foreground(child->tty))
        (void)tcsetpgrp(child->tty, child->group);
    child_signal(child, SIGCONT);
}

/* The terminal will never be ours: as the kernel does to a stopped group without a shell, but once,
 * because a program that ignores SIGHUP would stop again. */
static void hang_up(struct child *child)
{
    if (child->is_hung_up)
        return;
    child->is_hung_up = true;
    child_signal(child, SIGHUP);
    child_signal(child, SIGCONT);
}

void child_follow_stop(struct child *child)
{
    int number = child->stopped_by;
    child->stopped_by = 0;
    if (child->tty < 0 || (number != SIGTSTP && number != SIGTTIN && number != SIGTTOU))
        return;
    bool wants_terminal = number != SIGTSTP && is_foreground(child->tty);
    if (wants_terminal) {
        resume(child);
        return;
    }
    if (tcgetpgrp(child->tty) == child->group)
        (void)tcsetpgrp(child->tty, getpgrp());
    child->is_following = true;
    if (stop_own_group(number == SIGTSTP ? SIGTSTP : SIGTTIN)) /* SIGTTOU is blocked */
        return;
    if (number == SIGTSTP)
        resume(child);
    else
        hang_up(child);
}

void child_continue(struct child *child)
{
    if (child->is_following)
        resume(child);
}

void child_end(struct child *child)
{
    if (child->supervisor.orders > 0)
        supervisor_leave(&child->supervisor);
    if (child->is_unwatched)
        cgroup_remove(&child->descendants.cgroup);
    if (child->tty < 0)
        return;
    child->had_terminal = child->group > 0 && tcgetpgrp(child->tty) == child->group;
    if (child->had_terminal)
        (void)tcsetpgrp(child->tty, getpgrp());
    (void)close(child->tty);
    child->tty = -1;
}
