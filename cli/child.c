/* A program in a process group of its own, with the terminal when there is one. */
#include "child.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exit.h"

/* More than a process's stat up to its number of threads. */
#define STAT_MAX 512

/* Whether our group is the foreground of the terminal. */
static bool is_foreground(int tty)
{
    return tty >= 0 && tcgetpgrp(tty) == getpgrp();
}

/* Between fork and exec: only what is safe there. Tells errno through `report` and ends. */
static _Noreturn void become(char *const *program, pid_t parent, int tty, int report,
                             const struct inheritance *inheritance)
{
    (void)setpgid(0, 0);
    if (tty >= 0)
        (void)tcsetpgrp(tty, getpid()); /* SIGTTOU is blocked here */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1); /* it died before we could ask for the signal */
    (void)sigaction(SIGPIPE, &inheritance->pipe, NULL);
    (void)sigaction(SIGCHLD, &inheritance->child, NULL);
    (void)sigprocmask(SIG_SETMASK, &inheritance->mask, NULL);
    (void)execvp(program[0], program);
    int reason = errno;
    ssize_t told = write(report, &reason, sizeof reason);
    _exit(told == (ssize_t)sizeof reason ? STATUS_CANNOT_RUN : STATUS_INTERNAL);
}

/* The errno of a failed exec, or 0 when `from` was closed by a successful one. */
static int read_reason(int from)
{
    int reason = 0;
    ssize_t got;
    do {
        got = read(from, &reason, sizeof reason);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof reason ? reason : 0;
}

int child_start(struct child *child, char *const *program,
                const struct inheritance *inheritance)
{
    *child = (struct child){-1, open("/dev/tty", O_RDWR | O_CLOEXEC), false, 0, 0, false};
    /* In a pipeline of the shell the others need the foreground that they share with us. */
    bool whole = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    int tty = whole && is_foreground(child->tty) ? child->tty : -1;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return errno;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become(program, parent, tty, report[1], inheritance);
    int reason = pid < 0 ? errno : 0;
    (void)close(report[1]);
    if (pid > 0) {
        (void)setpgid(pid, pid); /* whoever of the two comes first */
        child->group = pid;
        reason = read_reason(report[0]);
    }
    (void)close(report[0]);
    if (reason != 0)
        child_end(child);
    return reason;
}

void child_reap(struct child *child)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != child->group)
            continue;
        child->stopped_by = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
        if (!WIFSTOPPED(status)) {
            child->is_ended = true;
            child->wait_status = status;
        }
    }
}

/* What "PID (NAME) STATE PARENT GROUP ..." tells of a process; NAME may hold anything. */
struct process {
    char state;
    int group;
    long threads; /* a zombie with more than one lives on without its first */
};

/* False: it has gone, or cannot be told. */
static bool look_at(const char *pid, struct process *process)
{
    char path[sizeof "/proc/4294967295/stat"];
    char line[STAT_MAX];
    if (snprintf(path, sizeof path, "/proc/%s/stat", pid) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    size_t length = fread(line, 1, sizeof line - 1, file);
    (void)fclose(file);
    line[length] = '\0';
    const char *rest = strrchr(line, ')');
    return rest != NULL && sscanf(rest,
                                  ") %c %*s %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                  "%*s %*s %ld",
                                  &process->state, &process->group, &process->threads) == 3;
}

/* Whether /proc is there and tells of the same processes as kill(). */
static bool is_our_proc(void)
{
    char self[16] = "";
    ssize_t length = readlink("/proc/self", self, sizeof self - 1);
    return length > 0 && strtol(self, NULL, 10) == getpid();
}

/* Whether what is left of the group are zombies whose parents do not look after them. They hold
 * nothing any more and no signal ends them. In doubt: no. */
static bool is_all_zombies(pid_t group)
{
    DIR *processes = is_our_proc() ? opendir("/proc") : NULL;
    const struct dirent *entry;
    struct process process;
    bool lives = false;
    bool seen = false;
    while (!lives && processes != NULL && (entry = readdir(processes)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]) || !look_at(entry->d_name, &process) ||
            process.group != group)
            continue;
        seen = true;
        lives = process.state != 'Z' || process.threads > 1;
    }
    if (processes != NULL)
        (void)closedir(processes);
    return seen && !lives;
}

bool child_group_lives(const struct child *child)
{
    if (kill(-child->group, 0) == 0)
        return !is_all_zombies(child->group);
    return errno == EPERM;
}

void child_signal(const struct child *child, int number)
{
    (void)kill(-child->group, number);
}

/* Whether somebody of our session would continue us. */
static bool has_shell(void)
{
    pid_t session = getsid(getppid());
    return session >= 0 && session == getsid(0);
}

static void resume(struct child *child)
{
    child->is_following = false;
    if (is_foreground(child->tty))
        (void)tcsetpgrp(child->tty, child->group);
    child_signal(child, SIGCONT);
}

void child_follow_stop(struct child *child)
{
    int number = child->stopped_by;
    child->stopped_by = 0;
    if (child->tty < 0 || (number != SIGTSTP && number != SIGTTIN && number != SIGTTOU))
        return;
    bool wants_terminal = number != SIGTSTP && is_foreground(child->tty);
    if (wants_terminal || (number == SIGTSTP && !has_shell())) {
        resume(child);
        return;
    }
    if (tcgetpgrp(child->tty) == child->group)
        (void)tcsetpgrp(child->tty, getpgrp());
    child->is_following = true;
    (void)kill(0, number == SIGTSTP ? SIGTSTP : SIGTTIN); /* SIGTTOU is blocked */
}

void child_continue(struct child *child)
{
    if (child->is_following)
        resume(child);
}

void child_end(struct child *child)
{
    if (child->tty < 0)
        return;
    if (child->group > 0 && tcgetpgrp(child->tty) == child->group)
        (void)tcsetpgrp(child->tty, getpgrp());
    (void)close(child->tty);
    child->tty = -1;
}
