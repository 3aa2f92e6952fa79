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
 *   reaping            mcds is stopped between reading what the guard has told and reaping */
#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

pid_t fork(void)
{
    pid_t (*next)(void);
    void *found = dlsym(RTLD_NEXT, "fork");
    pid_t guard = getpid();
    memcpy(&next, &found, sizeof next);
    strike("unforked", SIGKILL);
    strike("unforked-stopped", SIGSTOP);
    pid_t pid = next();
    if (pid > 0)
        strike("forked", SIGKILL);
    while (pid == 0 && is_point("mcds-lock-guard", "forked") && getppid() == guard)
        (void)sched_yield();
    return pid;
}

int setpgid(pid_t pid, pid_t group)
{
    int (*next)(pid_t, pid_t);
    void *found = dlsym(RTLD_NEXT, "setpgid");
    memcpy(&next, &found, sizeof next);
    if (pid > 0)
        strike_after_the_command("failed");
    return next(pid, group);
}

DIR *opendir(const char *path)
{
    DIR *(*next)(const char *);
    void *found = dlsym(RTLD_NEXT, "opendir");
    memcpy(&next, &found, sizeof next);
    strike("running", SIGKILL);
    strike("running-stopped", SIGSTOP);
    strike_after_the_command("ended");
    return next(path);
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
