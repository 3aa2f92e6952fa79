/* mcds: the main function of the command. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help/help.h"
#include "io/exit.h"
#include "io/report.h"
#include "parse/options.h"
#include "run/run.h"
#include "run/session.h"
#include "signals/crash.h"
#include "signals/interrupt.h"
#include "table/commands.h"
#include "table/nouns.h"

/* No file of a store may get the number of a standard stream that the caller has closed. The
 * descriptors opened in its place fail as a closed one does: 0 cannot be read, 1 and 2 cannot be
 * written. */
static void occupy_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            _exit(STATUS_INTERNAL);
}

/* Whether --json is given, also after a word that cannot be parsed. */
static bool asks_for_json(char *const *words)
{
    for (; *words != NULL && strcmp(*words, "--") != 0; words++)
        if (strcmp(*words, "--json") == 0)
            return true;
    return false;
}

/* Reports the mistake in the command line. */
static int refuse(struct output *output, const struct command *command, char *const *words,
                  const char *sentence)
{
    output->json = asks_for_json(words);
    report_failure(output, command, STATUS_USAGE, "MCDS_INVALID", sentence);
    return STATUS_USAGE;
}

static bool needs_store(const struct command *command)
{
    return command->verb->run != help_run && command->verb->run != completion_run;
}

static int run(struct session *session, struct command *command)
{
    session->output.json = is_given(command, OPTION_JSON);
    session->output.raw = is_given(command, OPTION_RAW_LINES);
    session->output.quiet = is_given(command, OPTION_QUIET);
    if (is_given(command, OPTION_VERSION)) {
        output_print("mcds %s\n", mcds_version());
        return STATUS_DONE;
    }
    if (is_given(command, OPTION_HELP)) {
        explain(session->nouns, command->noun, command->verb);
        return STATUS_DONE;
    }
    int status = needs_store(command) ? session_choose_store(session, command) : STATUS_DONE;
    command->store_uri = session->uri;
    command->store_ns = session->options.ns;
    return status == STATUS_DONE ? run_command(session, command) : status;
}

/* A shell ends its script or loop only if mcds dies of the SIGINT of the keyboard. */
static void die_of(int number)
{
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)raise(number);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* The terminal has sent the signal only to the group of COMMAND, and not to the script that runs
 * mcds. */
static void pass_on(int number)
{
    (void)kill(0, number);
    die_of(number);
}

int main(int argc, char **argv)
{
    (void)argc;
    occupy_standard_streams();
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return STATUS_INTERNAL;
    /* A closed pipe is an exit code, not a signal: a lock must still be released. */
    struct sigaction ignore;
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &ignore, &session->pipe_before);
    /* Likewise a file that may not grow (ulimit -f). */
    (void)sigaction(SIGXFSZ, &ignore, &session->size_before);
    session->options.size = sizeof session->options;
    session->output.file = stdout;
    session->nouns = all_nouns;
    crash_open(&session->output, session->uri);
    struct command command = {.elements = NULL};
    struct mistake mistake;
    int status;
    char *const *words = argv[0] != NULL ? argv + 1 : argv;
    if (!read_command(all_nouns, words, &command, &mistake))
        status = refuse(&session->output, &command, words, mistake.sentence);
    else
        status = run(session, &command);
    if (!output_flush(&session->output) && status <= STATUS_NO)
        status = STATUS_IO;
    free_command(&command);
    mcds_close(session->store);
    config_free(&session->config);
    int number = session->keyboard_signal;
    free(session);
    if (number != 0)
        pass_on(number);
    if (status == STATUS_SIGNAL + SIGINT && interrupt_is_of_keyboard())
        die_of(SIGINT);
    return status;
}
