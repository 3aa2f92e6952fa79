/* On-lost: runs the command line of --on-lost. */
#include "lock/on_lost.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/report.h"

#define NS_PER_S INT64_C(1000000000)
#define RUN_S 10
/* A process that lives longer than this after KILL is stuck in the kernel. */
#define STUCK_NS NS_PER_S
#define NAME_CAPACITY 1100

extern char **environ;

void on_lost_init(struct on_lost *on_lost, struct session *session,
                  const struct command *command)
{
    *on_lost = (struct on_lost){
        .session = session, .command = command, .kill_at_ns = INT64_MAX};
}

const char *on_lost_reason(int result)
{
    return result == MCDS_EXPIRED ? "expired" : "lost";
}

void on_lost_note(struct on_lost *on_lost, const char *reason)
{
    if (on_lost->reason == NULL)
        on_lost->reason = reason;
}

static void say(const struct on_lost *on_lost, const char *what, const char *detail)
{
    complain(&on_lost->session->output, "%s '%.200s': the command of --on-lost %s%s",
             on_lost->command->noun->word, on_lost->command->arguments[0], what, detail);
}

static bool is_own(const char *variable)
{
    return strncmp(variable, "MCDS_NAME=", 10) == 0 ||
           strncmp(variable, "MCDS_REASON=", 12) == 0;
}

/* The environment of mcds, which has the variables of COMMAND, and two more variables. NULL: out of
 * memory. The caller frees it. The environment of mcds itself is not changed, because the thread
 * that renews may read it. */
static char **environment_with(char *name, char *reason)
{
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **all = calloc(count + 3, sizeof *all);
    if (all == NULL)
        return NULL;
    size_t used = 0;
    all[used++] = name;
    all[used++] = reason;
    for (size_t i = 0; i < count; i++)
        if (!is_own(environ[i]))
            all[used++] = environ[i];
    assert(used <= count + 2 && all[used] == NULL);
    return all;
}

/* The process gets its own group, the signal actions that mcds was started with, an empty standard
 * input, and standard error for all output. */
static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
                   const struct inheritance *inheritance)
{
    sigset_t defaults;
    (void)sigemptyset(&defaults);
    if (inheritance->pipe.sa_handler == SIG_DFL)
        (void)sigaddset(&defaults, SIGPIPE);
    if (inheritance->size.sa_handler == SIG_DFL)
        (void)sigaddset(&defaults, SIGXFSZ);
    int reason = posix_spawnattr_setsigdefault(attributes, &defaults);
    if (reason == 0)
        reason = posix_spawnattr_setsigmask(attributes, &inheritance->mask);
    if (reason == 0)
        reason = posix_spawnattr_setpgroup(attributes, 0);
    if (reason == 0)
        reason = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    if (reason == 0)
        reason = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY,
                                                  0);
    if (reason == 0)
        reason = posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
    return reason;
}

/* Returns 0 or an errno. */
static int spawn(struct on_lost *on_lost, const struct inheritance *inheritance,
                 char *const *environment)
{
    char shell[] = "sh";
    char option[] = "-c";
    char *line = (char *)on_lost->command->options[OPTION_ON_LOST].text;
    char *const words[] = {shell, option, line, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    int reason = prepare(&actions, &attributes, inheritance);
    if (reason == 0)
        reason = posix_spawn(&on_lost->process.pid, "/bin/sh", &actions, &attributes, words,
                             environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return reason;
}

static void start(struct on_lost *on_lost, struct child *child,
                  const struct inheritance *inheritance)
{
    char name[NAME_CAPACITY];
    char why[64];
    (void)snprintf(name, sizeof name, "MCDS_NAME=%s", on_lost->command->arguments[0]);
    (void)snprintf(why, sizeof why, "MCDS_REASON=%s", on_lost->reason);
    char **environment = environment_with(name, why);
    int reason = environment != NULL ? spawn(on_lost, inheritance, environment) : ENOMEM;
    free(environment);
    if (reason != 0) {
        say(on_lost, "cannot be run: ", strerror(reason));
        return;
    }
    on_lost->kill_at_ns = clock_ns() + RUN_S * NS_PER_S;
    child_accept(child, &on_lost->process);
}

static bool is_running(const struct on_lost *on_lost)
{
    return on_lost->process.pid > 0 && !on_lost->process.is_ended;
}

/* Takes the status unless child_reap has taken it. */
static void reap(struct on_lost *on_lost)
{
    struct bystander *process = &on_lost->process;
    if (is_running(on_lost) && waitpid(process->pid, &process->wait_status, WNOHANG) != 0)
        process->is_ended = true;
}

static void kill_when_due(struct on_lost *on_lost)
{
    if (!is_running(on_lost) || on_lost->is_killed || clock_ns() < on_lost->kill_at_ns)
        return;
    (void)kill(-on_lost->process.pid, SIGKILL);
    on_lost->is_killed = true;
}

void on_lost_step(struct on_lost *on_lost, struct child *child,
                  const struct inheritance *inheritance)
{
    if (on_lost->reason == NULL || !is_given(on_lost->command, OPTION_ON_LOST))
        return;
    if (!on_lost->is_begun) {
        on_lost->is_begun = true;
        start(on_lost, child, inheritance);
    }
    reap(on_lost);
    kill_when_due(on_lost);
}

static void report_end(const struct on_lost *on_lost, int ended_by)
{
    int status = on_lost->process.wait_status;
    char number[16];
    if (on_lost->is_killed && ended_by == 0) {
        (void)snprintf(number, sizeof number, "%d s", RUN_S);
        say(on_lost, "was killed after ", number);
    } else if (on_lost->is_killed || WIFSIGNALED(status)) {
        (void)snprintf(number, sizeof number, "%d",
                       WIFSIGNALED(status) ? WTERMSIG(status) : SIGKILL);
        say(on_lost, "was ended by signal ", number);
    } else if (WEXITSTATUS(status) != 0) {
        (void)snprintf(number, sizeof number, "%d", WEXITSTATUS(status));
        say(on_lost, "has exited with ", number);
    }
}

int on_lost_end(struct on_lost *on_lost, struct watch *watch)
{
    int ended_by = 0;
    if (on_lost->process.pid <= 0)
        return 0;
    for (reap(on_lost); is_running(on_lost); reap(on_lost)) {
        kill_when_due(on_lost);
        int64_t wake_ns = on_lost->kill_at_ns + (on_lost->is_killed ? STUCK_NS : 0);
        if (on_lost->is_killed && clock_ns() >= wake_ns)
            break;
        (void)watch_wait(watch, wake_ns, -1, -1, NULL);
        int number = watch_end(watch);
        if (watch_is_ending(number) && !on_lost->is_killed) {
            ended_by = number;
            on_lost->kill_at_ns = clock_ns();
        }
    }
    report_end(on_lost, ended_by);
    return ended_by;
}
