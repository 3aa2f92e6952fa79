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
#include <unistd.h>

#include "io/clock.h"
#include "io/exit.h"
#include "io/report.h"

#define CHUNK 65536
/* How often to check whether a command has ended that has closed its output. */
#define LOOK_MS 20
/* From SIGTERM to SIGKILL, for a command that prints too much. */
#define STOP_MS 2000

extern char **environ;

struct running {
    const struct program *program;
    size_t capacity; /* of collected->data */
    pid_t pid;
    int output;         /* -1: not gathered, or at its end */
    int64_t kill_at_ms; /* 0: not asked to stop */
    int64_t renew_at_ms;
};

/* Starts a script without an interpreter with sh, which searches PATH and then runs it as execvp does.
 * Returns 0 or an errno. */
static int spawn_script(pid_t *pid_out, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const *words)
{
    static char shell[] = "sh";
    static char option[] = "-c";
    static char line[] = "exec \"$0\" \"$@\"";
    size_t count = 0;
    while (words[count] != NULL)
        count++;
    char **all = calloc(count + 4, sizeof *all);
    if (all == NULL)
        return ENOMEM;
    all[0] = shell;
    all[1] = option;
    all[2] = line;
    memcpy(all + 3, words, count * sizeof *all);
    int reason = posix_spawn(pid_out, "/bin/sh", actions, attributes, all, environ);
    free(all);
    return reason;
}

/* Starts it with the signal actions and the mask that mcds was started with. Returns 0 or an errno. */
static int start(const struct session *session, char *const *words, int output,
                 struct running *running)
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
        reason = posix_spawnattr_setsigmask(&attributes, &running->program->signals->before);
    if (reason == 0)
        reason = posix_spawnattr_setflags(&attributes,
                                          POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (reason == 0 && output >= 0)
        reason = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (reason == 0)
        reason = posix_spawnp(&running->pid, words[0], &actions, &attributes, words, environ);
    if (reason == ENOEXEC)
        reason = spawn_script(&running->pid, &actions, &attributes, words);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return reason;
}

static void close_output(struct running *running)
{
    if (running->output >= 0)
        (void)close(running->output);
    running->output = -1;
}

/* Ends a command whose output cannot be kept. */
static void stop(struct running *running)
{
    close_output(running);
    (void)kill(running->pid, SIGTERM);
    running->kill_at_ms = clock_ms() + STOP_MS;
}

/* Makes room for `length` bytes. Returns whether there is. */
static bool grow(struct running *running, size_t length)
{
    size_t capacity = 2 * length;
    if (length <= running->capacity)
        return true;
    char *data = realloc(running->program->collected->data, capacity);
    if (data == NULL)
        return false;
    running->program->collected->data = data;
    running->capacity = capacity;
    return true;
}

/* Gathers the bytes that can be read now. */
static void gather(struct running *running)
{
    char chunk[CHUNK];
    struct collected *collected = running->program->collected;
    ssize_t got = read(running->output, chunk, sizeof chunk);
    if (got <= 0) {
        if (got == 0 || errno != EINTR)
            close_output(running);
        return;
    }
    size_t length = collected->length + (size_t)got;
    collected->is_too_long = length > running->program->length_max;
    collected->is_out_of_memory = !collected->is_too_long && !grow(running, length);
    if (collected->is_too_long || collected->is_out_of_memory) {
        stop(running);
        return;
    }
    memcpy(collected->data + collected->length, chunk, (size_t)got);
    collected->length = length;
}

/* The time until the next renewal; where there is no output, a little. */
static int64_t time_left(const struct running *running)
{
    int64_t left_ms = running->program->every_ms > 0 ? running->renew_at_ms - clock_ms() : 1000;
    if (running->output < 0 && running->program->collected != NULL && left_ms > LOOK_MS)
        left_ms = LOOK_MS;
    return left_ms > 0 ? left_ms : 0;
}

/* Waits for output, for a signal, or for the next renewal. */
static void wait_a_while(struct running *running)
{
    const struct program *program = running->program;
    if (program->every_ms > 0 && clock_ms() >= running->renew_at_ms) {
        program->renew(program->context);
        running->renew_at_ms = clock_ms() + program->every_ms;
    }
    struct pollfd files[] = {{.fd = running->output, .events = POLLIN},
                             {.fd = program->signals->file, .events = POLLIN}};
    if (poll(files, 2, (int)time_left(running)) > 0 && files[0].revents != 0)
        gather(running);
    (void)signals_take(program->signals, running->pid);
    if (running->kill_at_ms != 0 && clock_ms() >= running->kill_at_ms)
        (void)kill(running->pid, SIGKILL);
}

/* After a signal, mcds does not wait for the output of processes that the command leaves running. */
static int wait_for_end(struct running *running)
{
    struct signals *signals = running->program->signals;
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 || (ended < 0 && errno == EINTR)) {
        wait_a_while(running);
        bool has_more = running->output >= 0 && signals->number == 0;
        ended = has_more ? 0 : waitpid(running->pid, &status, WNOHANG);
    }
    if (signals_take(signals, 0) != 0)
        return STATUS_SIGNAL + signals->number;
    if (ended < 0)
        return STATUS_INTERNAL;
    return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static int start_and_wait(const struct session *session, const struct command *command,
                          struct running *running)
{
    int ends[2] = {-1, -1};
    struct collected *collected = running->program->collected;
    struct output output = session->output;
    int reason = collected != NULL && pipe2(ends, O_CLOEXEC) != 0 ? errno : 0;
    if (reason == 0)
        reason = start(session, command->program, ends[1], running);
    if (ends[1] >= 0)
        (void)close(ends[1]);
    running->output = ends[0];
    if (collected != NULL)
        collected->is_not_run = reason != 0;
    return reason == 0 ? wait_for_end(running) : report_not_run(&output, command, reason);
}

int program_run(const struct session *session, const struct command *command,
                const struct program *program)
{
    struct running running = {
        .program = program, .output = -1, .renew_at_ms = clock_ms() + program->every_ms};
    int status = start_and_wait(session, command, &running);
    close_output(&running);
    return status;
}
