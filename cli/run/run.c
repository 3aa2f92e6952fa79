/* Executes one command: by its own function, or as one or many operations of a structure. */
#include "run/run.h"

#include <unistd.h>

#include "batch/several.h"
#include "io/exit.h"
#include "queue/push_file.h"
#include "run/stdin_feed.h"
#include "run/stdin_whole.h"
#include "shell/kept.h"
#include "table/commands.h"
#include "table/nouns.h"

/* A change whose answer cannot be printed would look like a failure, so it is refused before it
 * begins. With -q there may be nothing to print. A watch would have no reader. */
static bool is_heard(struct session *session, const struct command *command)
{
    const struct verb *verb = command->verb;
    bool prints = verb->takes_lines || verb->run == watch_run || verb->run == leader_watch ||
                  (verb->run == cache_get && command->program != NULL) ||
                  (command->program == NULL && verb->done != NULL && !session->output.quiet) ||
                  verb->start == counter_take;
    return !prints || output_may_begin(&session->output);
}

/* Whether there are lines to align. Several results have a line each. */
static bool has_columns(const struct session *session, const struct command *command)
{
    const struct verb *verb = command->verb;
    bool is_one = takes_each(verb) && command->element_count <= 1;
    bool is_short = is_among(verb->options, OPTION_LONG) && !is_given(command, OPTION_LONG);
    bool is_live = is_among(verb->options, OPTION_ONCE) && !is_given(command, OPTION_ONCE);
    return verb->columns != NULL && !is_live && !session->output.json && !is_one && !is_short;
}

/* Whether the function makes calls that change something, and waits for nothing else. */
static bool is_call(const struct verb *verb)
{
    return verb->run == lock_renew || verb->run == lock_release || verb->run == queue_next ||
           verb->run == queue_retry || verb->run == queue_discard;
}

static int run_plainly(struct session *session, const struct command *command)
{
    const struct verb *verb = command->verb;
    if (!is_heard(session, command))
        return STATUS_IO;
    if (verb->run != NULL && (verb->start == NULL || command->program != NULL))
        return is_call(verb) ? session_call(session, command, verb->run)
                             : verb->run(session, command);
    int status;
    if (is_given(command, OPTION_FILE))
        status = file_run(session, command);
    else if (command->input == INPUT_WHOLE)
        status = whole_run(session, command);
    else if (command->input != INPUT_NONE)
        status = feed_run(session, command);
    else if (takes_each(verb) && command->element_count > 1)
        status = several_run(session, command);
    else
        status = session->kept != NULL ? kept_operate(session, command)
                                       : session_operate(session, command);
    if (status == STATUS_DONE && session->kept == NULL && session_is_private(session))
        complain(&session->output, "only this command sees a memory: store, which is gone when "
                                   "it ends; 'batch' runs several commands on one");
    return status;
}

int run_command(struct session *session, const struct command *command)
{
    struct output *output = &session->output;
    FILE *file = output->file;
    struct terminal terminal;
    struct columns columns;
    terminal_look(&terminal, STDOUT_FILENO,
                  (enum when)number_of(command, OPTION_COLOR, WHEN_AUTO));
    output->ascii = terminal.is_there && !terminal.has_utf8;
    if (!terminal.is_there || !has_columns(session, command) ||
        !columns_open(&columns, command->verb->columns, &terminal))
        return run_plainly(session, command);
    output->file = columns.memory;
    output->columns = &columns;
    int status = run_plainly(session, command);
    columns_close(&columns);
    output->file = file;
    output->columns = NULL;
    return status;
}
