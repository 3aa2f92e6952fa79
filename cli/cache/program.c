/* Program: runs a command for the verbs of cache. */
#include "cache/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/exit.h"
#include "io/report.h"

#define CHUNK 65536
/* How often to check whether a command has ended that has closed its output. */
#define LOOK_MS 20

extern char **environ;

struct running {
    struct collected *collected;
    size_t length_max;
    int output; /* -1: not gathered, or at its end */
    void (*renew)(void *context);
    void *context;
    int every_ms;
    int64_t renew_at_ms;
};

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int report_not_run(const struct session *session, const struct command *command,
                          int reason)
{
    char sentence[SENTENCE_MAX];
    bool is_missing = reason == ENOENT;
    int status = is_missing ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
    struct output output = session->output;
    (void)snprintf(sentence, sizeof sentence, "cache '%.200s': %.200s cannot be run: %s%s",
                   command->arguments[0], command->program[0], strerror(reason),
                   advice_on_errno(reason));
    report_failure(&output, command, status, is_missing ? "MCDS_NOT_FOUND" : "MCDS_IO",
                   sentence);
    return status;
}

/* Starts it with the signal actions that mcds was started with. Returns 0 or an errno. */
static int start(const struct session *session, char *const *program, int output, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    (void)sigemptyset(&defaults);
    if (session->pipe_before.sa_handler == SIG_DFL)
        (void)sigaddset(&defaults, SIGPIPE);
    if (session->size_before.sa_handler == SIG_DFL)
        (void)sigaddset(&defaults, SIGXFSZ);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    int reason = posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (reason == 0)
        reason = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (reason == 0 && output >= 0)
        reason = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (reason == 0)
        reason = posix_spawnp(pid, program[0], &actions, &attributes, program, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return reason;
}

/* Gathers what there is to read. What is too long is read all the same, so that the command ends. */
static void gather(struct running *running)
{
    char chunk[CHUNK];
    struct collected *collected = running->collected;
    ssize_t got = read(running->output, chunk, sizeof chunk);
    if (got <= 0) {
        if (got == 0 || errno != EINTR) {
            (void)close(running->output);
            running->output = -1;
        }
        return;
    }
    size_t length = collected->length + (size_t)got;
    if (collected->is_too_long || collected->is_out_of_memory || length > running->length_max) {
        collected->is_too_long = collected->is_too_long || length > running->length_max;
        return;
    }
    char *data = realloc(collected->data, length);
    if (data == NULL) {
        collected->is_out_of_memory = true;
        return;
    }
    memcpy(data + collected->length, chunk, (size_t)got);
    collected->data = data;
    collected->length = length;
}

/* Waits for output, for the next renewal, or, where there is no output, a little. */
static void wait_a_while(struct running *running)
{
    int64_t now = now_ms();
    if (running->renew != NULL && now >= running->renew_at_ms) {
        running->renew(running->context);
        running->renew_at_ms = now_ms() + running->every_ms;
        now = now_ms();
    }
    int64_t left_ms = running->renew != NULL ? running->renew_at_ms - now : 1000;
    if (running->output < 0 && left_ms > LOOK_MS)
        left_ms = LOOK_MS;
    struct pollfd output = {.fd = running->output, .events = POLLIN};
    if (poll(&output, 1, left_ms > 0 ? (int)left_ms : 0) > 0)
        gather(running);
}

static int wait_for_end(struct running *running, pid_t pid)
{
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 || (ended < 0 && errno == EINTR)) {
        bool has_more = running->output >= 0 || running->renew != NULL;
        if (has_more)
            wait_a_while(running);
        ended = running->output >= 0 ? 0 : waitpid(pid, &status, has_more ? WNOHANG : 0);
    }
    if (ended < 0)
        return STATUS_INTERNAL;
    return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

int program_run(const struct session *session, const struct command *command,
                struct collected *collected, size_t length_max, void (*renew)(void *context),
                void *context, int every_ms)
{
    int ends[2] = {-1, -1};
    pid_t pid;
    struct running running = {.collected = collected,
                              .length_max = length_max,
                              .renew = renew,
                              .context = context,
                              .every_ms = every_ms,
                              .renew_at_ms = now_ms() + every_ms};
    if (collected != NULL && pipe2(ends, O_CLOEXEC) != 0)
        return report_not_run(session, command, errno);
    int reason = start(session, command->program, ends[1], &pid);
    if (ends[1] >= 0)
        (void)close(ends[1]);
    running.output = ends[0];
    if (reason == 0)
        return wait_for_end(&running, pid);
    if (ends[0] >= 0)
        (void)close(ends[0]);
    return report_not_run(session, command, reason);
}
