/* Damage of an lmdb: store, looked for in a child process. */
#include "damage/damage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 5 /* a slow disk, or a loaded machine */

static bool skip_listed(void *context, const mcds_listed *listed)
{
    (void)context;
    (void)listed;
    return true;
}

/* A crash leaves no core, no message of LMDB and no process. */
static void confine(pid_t parent, unsigned limit_s)
{
    static const int numbers[] = {SIGALRM, SIGPROF, SIGABRT, SIGBUS, SIGINT, SIGTERM};
    const struct rlimit no_core = {0, 0};
    const struct itimerval busy = {.it_value = {.tv_sec = limit_s}};
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(DAMAGE_UNREAD);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0)
        (void)dup2(nothing, STDERR_FILENO);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)signal(numbers[i], SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setitimer(ITIMER_PROF, &busy, NULL);
    (void)alarm(limit_s * PATIENCE);
}

static enum damage read_keys(const struct session *session)
{
    struct session own = *session;
    int result = session_open(&own);
    if (result == MCDS_OK && !own.is_absent)
        result = mcds_scan(own.store, skip_listed, NULL);
    return result == MCDS_OK                                ? DAMAGE_NONE
           : mcds_last_error()->cause == MCDS_CAUSE_DAMAGED ? DAMAGE_FOUND
                                                            : DAMAGE_UNREAD;
}

/* A sanitizer ends a process that crashes with an exit code. */
static enum damage damage_of(int wait_status)
{
    if (WIFEXITED(wait_status)) {
        int code = WEXITSTATUS(wait_status);
        return code == DAMAGE_NONE || code == DAMAGE_UNREAD ? (enum damage)code : DAMAGE_FOUND;
    }
    switch (WTERMSIG(wait_status)) {
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGSEGV:
        return DAMAGE_FOUND;
    default:
        return DAMAGE_UNREAD;
    }
}

enum damage damage_look(const struct session *session, unsigned limit_s)
{
    int status = 0;
    pid_t parent = getpid();
    if (strncmp(session->uri, "lmdb:", strlen("lmdb:")) != 0)
        return DAMAGE_NONE;
    if (session->store != NULL)
        return DAMAGE_UNREAD;
    pid_t child = fork();
    if (child == 0) {
        confine(parent, limit_s);
        _exit((int)read_keys(session));
    }
    pid_t ended = child;
    do {
        ended = child > 0 ? waitpid(child, &status, 0) : -1;
    } while (ended < 0 && child > 0 && errno == EINTR);
    return ended > 0 ? damage_of(status) : DAMAGE_UNREAD;
}
