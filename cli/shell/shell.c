/* mcds shell: a prompt for commands on one store, or a script of them.
 *
 *   typing --line--> command --> on the open store (kept), or in its own process (apart)
 *
 * While the shell runs, SIGINT, SIGTERM, SIGHUP and SIGQUIT arrive in a file. On a terminal SIGINT gives up
 * the line or the command. Every other signal ends the shell. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "child/descriptors.h"
#include "editor/history.h"
#include "help/help.h"
#include "io/exit.h"
#include "io/report.h"
#include "parse/options.h"
#include "run/run.h"
#include "run/tally.h"
#include "shell/apart.h"
#include "shell/complete.h"
#include "shell/kept.h"
#include "shell/line.h"
#include "shell/typing.h"
#include "signals/interrupt.h"
#include "table/commands.h"
#include "table/nouns.h"
#include "terminal/terminal.h"
#include "watch/read_copy.h"

#define PROMPT_CAPACITY 64

struct shell {
    struct session *session;
    const struct command *command;
    struct signals signals;
    struct kept kept;
    struct typing typing;
    struct history history;
    struct shell_line line;
    bool is_script;
    int last;   /* the exit code of the last line */
    int status; /* of the script */
    bool is_over;
};

/* The exit code of the script: AMBIGUOUS if a line had it, otherwise that of the first failure,
 * otherwise NO if a line had it. */
static void note_status(struct shell *shell, int status)
{
    shell->last = status;
    if (status == STATUS_AMBIGUOUS || (shell->status <= STATUS_NO && status > shell->status))
        shell->status = status;
    if (status != STATUS_DONE && is_given(shell->command, OPTION_BAIL))
        shell->is_over = true;
}

static int refuse(struct shell *shell, const struct command *command, int status,
                  const char *sentence)
{
    report_failure(&shell->session->output, command, status, "MCDS_INVALID", sentence);
    return status;
}

/* Sets the output by the options of the line and those of the shell. */
static void set_output(struct shell *shell, const struct command *command)
{
    struct output *output = &shell->session->output;
    output->json = is_given(command, OPTION_JSON) || is_given(shell->command, OPTION_JSON);
    output->quiet = is_given(command, OPTION_QUIET) || is_given(shell->command, OPTION_QUIET);
    output->raw = is_given(command, OPTION_RAW_LINES);
}

static int explain_line(const struct shell *shell, const struct command *command)
{
    if (is_given(command, OPTION_VERSION))
        output_print("mcds %s\n", mcds_version());
    else
        explain(shell->session->nouns, command->noun, command->verb);
    return STATUS_DONE;
}

/* rm drops structures through handles of its own. A structure that an earlier line has used is opened
 * again afterwards, and so has no memory of what was dropped. */
static void close_before_rm(struct shell *shell, const struct command *command)
{
    if (command->verb->run == rm_run)
        kept_close(&shell->kept);
}

static int execute(struct shell *shell, enum line_kind kind)
{
    struct session *session = shell->session;
    struct command *command = &shell->line.command;
    static const struct command nothing;
    if (!is_given(command, OPTION_COLOR))
        command->options[OPTION_COLOR] = shell->command->options[OPTION_COLOR];
    switch (kind) {
    case LINE_IS_REFUSED:
        return refuse(shell, shell->line.has_command ? command : &nothing, shell->line.status,
                      shell->line.sentence);
    case LINE_IS_HELP:
        return explain_line(shell, command);
    case LINE_IS_HERE:
        close_before_rm(shell, command);
        return run_command(session, command);
    default:
        close_before_rm(shell, command);
        return apart_run(session, command, &shell->signals,
                         !shell->is_script          ? APART_SAME
                         : command->program != NULL ? APART_EMPTY
                                                    : APART_UNREADABLE);
    }
}

/* SIGINT on a terminal has given up the command, and the shell continues. */
static void forget_interrupt(struct shell *shell)
{
    (void)signals_take(&shell->signals, 0);
    int number = interrupt_take_closed(); /* of a command with handlers of its own */
    if (shell->signals.number == 0)
        shell->signals.number = number;
    if (shell->signals.number == SIGINT && !shell->is_script)
        shell->signals.number = 0;
    shell->is_over = shell->is_over || shell->signals.number != 0;
}

static void run_line(struct shell *shell, char *text, size_t length)
{
    if (history_may_keep(&shell->history, text) && shell->typing.editor != NULL &&
        strlen(text) == length) {
        editor_remember(shell->typing.editor, text);
        history_append(&shell->history, text);
    }
    enum line_kind kind = line_read(shell->session, shell->command, shell->is_script, text,
                                    length, &shell->line);
    if (kind == LINE_IS_EXIT)
        shell->is_over = true;
    if (kind != LINE_IS_EMPTY && kind != LINE_IS_EXIT) {
        set_output(shell, &shell->line.command);
        shell->session->output.changes = 0;
        note_status(shell, execute(shell, kind));
        forget_interrupt(shell);
        set_output(shell, shell->command);
    }
    free_command(&shell->line.command);
    /* a line that runs in a process of its own has printed there itself */
    if (!output_flush(&shell->session->output) ||
        (shell->last == STATUS_IO && !output_is_read(0)))
        shell->is_over = true;
}

static void write_prompt(const struct shell *shell, char prompt[PROMPT_CAPACITY])
{
    struct terminal terminal;
    terminal_look(&terminal, STDOUT_FILENO,
                  (enum when)number_of(shell->command, OPTION_COLOR, WHEN_AUTO));
    /* the editor does not count the bytes between two marks */
    const char *mark = shell->typing.editor != NULL && terminal.has_color ? "\001" : "";
    if (shell->last == STATUS_DONE)
        (void)snprintf(prompt, PROMPT_CAPACITY, "mcds> ");
    else
        (void)snprintf(prompt, PROMPT_CAPACITY, "mcds %s%s%s[%d]%s%s%s> ", mark,
                       ink_begin(&terminal, INK_BAD), mark, shell->last, mark,
                       ink_end(&terminal, INK_BAD), mark);
}

static void refuse_input(struct shell *shell, enum typed typed)
{
    char sentence[120];
    if (typed == TYPED_TOO_LONG)
        (void)snprintf(sentence, sizeof sentence, "the line is longer than %d bytes",
                       TYPED_MAX);
    else if (typed == TYPED_NO_TEXT)
        (void)snprintf(sentence, sizeof sentence,
                       "the line has bytes that are not characters of the locale; write them "
                       "as $'\\xHH'");
    else
        (void)snprintf(sentence, sizeof sentence, "standard input cannot be read: %s",
                       strerror(shell->typing.lines.error));
    note_status(shell, typed == TYPED_FAILED ? STATUS_IO : STATUS_DATA);
    (void)refuse(shell, shell->command, shell->last, sentence);
    shell->is_over = shell->is_over || typed == TYPED_FAILED;
}

/* Ends the line of the prompt, unless the terminal is gone. */
static void end_prompt(const struct shell *shell, const char *text)
{
    if (!shell->is_script && shell->signals.number != SIGHUP) {
        output_print("%s\n", text);
        (void)fflush(stdout);
    }
}

static void take_line(struct shell *shell)
{
    char prompt[PROMPT_CAPACITY] = "";
    char *text = NULL;
    size_t length = 0;
    if (!shell->is_script)
        write_prompt(shell, prompt);
    enum typed typed = typing_next(&shell->typing, prompt, &text, &length);
    shell->session->output.script_line += shell->is_script;
    switch (typed) {
    case TYPED_LINE:
        run_line(shell, text, length);
        break;
    case TYPED_GIVEN_UP:
        end_prompt(shell, shell->typing.editor != NULL ? "^C" : "");
        shell->last = STATUS_DONE;
        break;
    case TYPED_END:
        end_prompt(shell, "");
        shell->is_over = true;
        break;
    default:
        refuse_input(shell, typed);
    }
}

static enum editor_wait wait_for_key(void *context)
{
    struct shell *shell = context;
    return typing_wait(&shell->signals, true);
}

static void complete_line(void *context, const char *line, size_t length,
                          struct completion *completion)
{
    struct shell *shell = context;
    complete(shell->session, &shell->signals, line, length, completion);
}

static void remember(void *context, const char *line)
{
    editor_remember(context, line);
}

static void greet(const struct shell *shell)
{
    char uri[4 * URI_MAX];
    (void)make_visible(shell->session->uri, is_ascii_terminal(STDOUT_FILENO), uri);
    output_print("mcds %s on %s%s\n"
                 "'help' lists the commands%s; 'exit' or Ctrl-D ends the shell.\n",
                 mcds_version(), uri,
                 session_is_private(shell->session) ? ", which ends with this shell" : "",
                 shell->typing.editor != NULL ? ", Tab completes them" : "");
}

static void open_terminal(struct shell *shell)
{
    const struct editor_calls calls = {shell, wait_for_key, complete_line};
    shell->typing.has_prompt = true;
    modes_save(&shell->typing.modes);
    shell->typing.editor = editor_open(&calls);
    if (shell->typing.editor != NULL) {
        history_open(&shell->history, shell->session->uri);
        history_load(&shell->history, remember, shell->typing.editor);
    }
    if (!shell->session->output.quiet && !shell->session->output.json)
        greet(shell);
}

static int run_lines(struct shell *shell)
{
    struct session *session = shell->session;
    shell->is_script = isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1;
    shell->kept.signals = &shell->signals;
    shell->typing.signals = &shell->signals;
    lines_open(&shell->typing.lines, TYPED_MAX);
    shell->typing.lines.skips_mark = true;
    session->kept = &shell->kept;
    if (!shell->is_script)
        open_terminal(shell);
    while (!shell->is_over)
        take_line(shell);
    editor_close(shell->typing.editor);
    modes_restore(&shell->typing.modes);
    history_close(&shell->history);
    lines_close(&shell->typing.lines);
    session->kept = NULL;
    kept_close(&shell->kept);
    session->output.script_line = 0;
    if (shell->signals.number != 0 && shell->status != STATUS_AMBIGUOUS)
        return STATUS_SIGNAL + shell->signals.number;
    return shell->is_script ? shell->status : STATUS_DONE;
}

int shell_run(struct session *session, const struct command *command)
{
    static struct shell shell; /* too large for a stack */
    char sentence[SENTENCE_MAX];
    shell = (struct shell){.session = session, .command = command};
    descriptors_note_inherited();
    int status = session_open_store(session);
    if (status == STATUS_DONE)
        status = signals_open(&shell.signals, &session->output, command);
    if (status != STATUS_DONE)
        return status;
    if (reads_copy(session, sentence, sizeof sentence))
        complain(&session->output, "%s", sentence);
    status = run_lines(&shell);
    signals_close(&shell.signals);
    return status;
}
