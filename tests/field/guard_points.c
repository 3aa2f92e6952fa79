/* Preloaded into mcds lock, makes what may happen at any moment happen at the one that GUARD_POINT
 * names:
 *
 *   unforked           the guard is killed before it forks the command
 *   unforked-stopped   the guard is stopped there
 *   forked             the guard is killed before the command does anything
 *   failed             the guard is killed when the command has ended, before it knows whether it ran
 *   running            the guard is killed when it knows that the command runs, before mcds does
 *   running-stopped    the guard is stopped there
 *   ended              the guard is killed there when the command has ended
 *   reaping            mcds is stopped between reading what the guard has told and reaping
 *   no-close-range     the kernel has no close_range
 *   threadless         no thread can be created */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_point(const char *process, const char *point)
{
    char name[16];
    const char *wanted = getenv("GUARD_POINT");
    return wanted != NULL && strcmp(wanted, point) == 0 && prctl(PR_GET_NAME, name) == 0 &&
           strcmp(name, process) == 0;
}

static void strike(const char *point, int signal)
{
    if (is_point("mcds-lock-guard", point))
        (void)raise(signal);
}

static void strike_after_the_command(const char *point)
{
    siginfo_t info;
    if (!is_point("mcds-lock-guard", point))
        return;
    (void)waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
    (void)raise(SIGKILL);
}

/* The guard makes a pipe, and then the process of the command. */
static pid_t guard;

int pipe2(int ends[2], int flags)
{
    int (*next)(int *, int);
    void *found = dlsym(RTLD_NEXT, "pipe2");
    memcpy(&next, &found, sizeof next);
    strike("unforked", SIGKILL);
    strike("unforked-stopped", SIGSTOP);
    if (is_point("mcds-lock-guard", "forked"))
        guard = getpid();
    return next(ends, flags);
}

/* Both processes call this: that of the command first. */
int setpgid(pid_t pid, pid_t group)
{
    int (*next)(pid_t, pid_t);
    void *found = dlsym(RTLD_NEXT, "setpgid");
    memcpy(&next, &found, sizeof next);
    if (pid > 0)
        strike_after_the_command("failed");
    if (getppid() == guard && is_point("mcds-lock-guard", "forked")) {
        (void)kill(guard, SIGKILL);
        while (getppid() == guard)
            (void)sched_yield();
    }
    return next(pid, group);
}

/* The guard replaces its streams before it reports that the command runs. */
int dup2(int from, int to)
{
    int (*next)(int, int);
    void *found = dlsym(RTLD_NEXT, "dup2");
    memcpy(&next, &found, sizeof next);
    if (to == STDIN_FILENO) {
        strike("running", SIGKILL);
        strike("running-stopped", SIGSTOP);
        strike_after_the_command("ended");
    }
    return next(from, to);
}

long syscall(long number, ...)
{
    long (*next)(long, ...);
    void *found = dlsym(RTLD_NEXT, "syscall");
    long words[6];
    va_list rest;
    memcpy(&next, &found, sizeof next);
    va_start(rest, number);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        words[i] = va_arg(rest, long);
    va_end(rest);
#ifdef SYS_close_range
    if (number == SYS_close_range && is_point("mcds-lock-guard", "no-close-range")) {
        errno = ENOSYS;
        return -1;
    }
#endif
    return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*run)(void *context), void *context)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&next, &found, sizeof next);
    return is_point("mcds", "threadless") ? EAGAIN : next(thread, attributes, run, context);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    static bool has_stopped;
    pid_t (*next)(pid_t, int *, int);
    void *found = dlsym(RTLD_NEXT, "waitpid");
    memcpy(&next, &found, sizeof next);
    if (!has_stopped && is_point("mcds", "reaping")) {
        has_stopped = true;
        (void)raise(SIGSTOP);
    }
    return next(pid, status, options);
}
