/* Apart: a fork of the shell that executes one command and ends. */
#include "shell/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/exit.h"
#include "io/report.h"
#include "run/run.h"
#include "signals/deadline.h"

/* The process gets SIGTERM when the shell is killed. */
static void die_with(pid_t shell)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != shell) /* killed before that */
        (void)raise(SIGTERM);
}

pid_t apart_fork(struct session *session, struct signals *signals)
{
    pid_t shell = getpid();
    (void)fflush(NULL); /* else both processes would write what is in the buffers */
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    die_with(shell);
    (void)sigprocmask(SIG_SETMASK, &signals->before, NULL);
    signals_close(signals);
    session->store = NULL; /* which only the parent may use */
    deadline_reset();
    session->kept = NULL;
    return 0;
}

static void set_input(enum apart_input input)
{
    if (input == APART_SAME)
        return;
    int fd = open("/dev/null", input == APART_EMPTY ? O_RDONLY : O_WRONLY);
    if (fd < 0)
        return;
    (void)dup2(fd, STDIN_FILENO);
    (void)close(fd);
}

/* Looks for the default store again: the first command that changes something makes it. */
static int execute(struct session *session, const struct command *command)
{
    char sentence[SENTENCE_MAX];
    int status = STATUS_DONE;
    session->command = command;
    if (session->is_absent)
        status = session_find_store(session, command, sentence, sizeof sentence);
    if (status != STATUS_DONE)
        report_failure(&session->output, command, status, "MCDS_IO", sentence);
    else
        status = run_command(session, command);
    return output_flush(&session->output) || status > STATUS_NO ? status : STATUS_IO;
}

static int refuse(struct session *session, const struct command *command, int reason)
{
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence, "%s: no process can be started: %s%s",
                   command->noun->word, strerror(reason), advice_on_errno(reason));
    report_failure(&session->output, command, STATUS_INTERNAL, "MCDS_NO_MEMORY", sentence);
    return STATUS_INTERNAL;
}

static int wait_for(pid_t pid, struct signals *signals)
{
    struct pollfd file = {signals->file, POLLIN, 0};
    int state = 0;
    while (waitpid(pid, &state, WNOHANG) == 0) {
        (void)poll(&file, 1, -1); /* SIGCHLD arrives there too */
        (void)signals_take(signals, pid);
    }
    return WIFEXITED(state) ? WEXITSTATUS(state) : STATUS_SIGNAL + WTERMSIG(state);
}

int apart_run(struct session *session, const struct command *command, struct signals *signals,
              enum apart_input input)
{
    pid_t pid = apart_fork(session, signals);
    if (pid < 0)
        return refuse(session, command, errno);
    if (pid > 0)
        return wait_for(pid, signals);
    set_input(input);
    _exit(execute(session, command));
}
