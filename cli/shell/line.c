/* Line: splits a line, reads its command, and refuses what a shell cannot execute. */
#include "shell/line.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/exit.h"
#include "lock/token.h"
#include "parse/options.h"
#include "parse/shell_words.h"
#include "shell/typing.h"
#include "table/commands.h"
#include "table/nouns.h"

bool is_of_shell(enum option_id id)
{
    return id == OPTION_STORE || id == OPTION_NAMESPACE || id == OPTION_TIMEOUT ||
           id == OPTION_PROFILE;
}

static enum line_kind refuse(struct shell_line *line, int status, const char *sentence)
{
    line->status = status;
    (void)snprintf(line->sentence, sizeof line->sentence, "%s", sentence);
    return LINE_IS_REFUSED;
}

/* The number of the character at `place` in the text `before`, from 1 on. */
static size_t column_of(const char *before, size_t place)
{
    size_t column = 1;
    for (size_t i = 0; i < place; i++)
        column += ((unsigned char)before[i] & 0xc0) != 0x80;
    return column;
}

/* Splits the text. Returns the number of words, or -1 with the reason in the line. */
static int split(struct shell_line *line, char *text, size_t length)
{
    const char *error = NULL;
    size_t place = strlen(text);
    char before[TYPED_MAX + 1];
    assert(length <= TYPED_MAX);
    memcpy(before, text, length + 1); /* splitting overwrites it */
    if (place == length) {
        int count = split_typed_words(text, line->words, LINE_WORDS_MAX, &error, &place);
        if (count >= 0)
            return count;
    } else {
        error = "a NUL byte; no command and no name can hold one";
    }
    line->status = STATUS_USAGE;
    (void)snprintf(line->sentence, sizeof line->sentence, "column %zu: %s",
                   column_of(before, place), error);
    return -1;
}

/* Whether the token of the command is on the standard input of the shell. */
static bool has_token_on_input(const struct command *command)
{
    const struct verb *verb = command->verb;
    if (!is_among(verb->options, OPTION_TOKEN_FD))
        return false;
    int usual = verb->run == lock_acquire ? STDOUT_FILENO : STDIN_FILENO;
    const struct token_place place = token_place_of(command, usual);
    return place.path == NULL && place.fd == STDIN_FILENO;
}

/* Returns a sentence if a shell cannot execute the command, or NULL. */
static const char *why_not(const struct command *command, const struct command *shell,
                           bool is_script)
{
    const struct verb *verb = command->verb;
    for (int id = 0; id < OPTION_GLOBALS; id++)
        if (is_of_shell((enum option_id)id) && is_given(command, (enum option_id)id))
            return "-s, -N, --timeout and --profile belong before 'shell' and apply to all "
                   "lines; "
                   "start another shell, or 'mcds' outside of this one";
    if (verb == shell->verb)
        return "this is a shell already; start another one outside of it";
    const char *file = is_given(command, OPTION_FILE) ? command->options[OPTION_FILE].text : "";
    bool loads_input = verb->run == load_run && command->arguments[0] != NULL &&
                       strcmp(command->arguments[0], "-") == 0;
    if (is_script && (command->input != INPUT_NONE || verb->takes_lines || loads_input ||
                      strcmp(file, "-") == 0))
        return "standard input is the script itself; give the data as an argument or in a "
               "file, "
               "or run this command outside of the shell";
    if (is_script && has_token_on_input(command))
        return "standard input is the script itself; give the token with --token FILE or "
               "--token-fd N";
    return NULL;
}

/* Whether the command is one operation of a structure, or one for each of several elements. */
static bool is_operation(const struct command *command)
{
    return command->verb->start != NULL && command->program == NULL &&
           command->input == INPUT_NONE && !is_given(command, OPTION_FILE);
}

/* Whether the command ends without a signal or input. On a memory: store, which another process
 * would not see, the shell executes it in its own process. */
static bool is_short(const struct verb *verb)
{
    return verb->run == help_run || verb->run == completion_run || verb->run == ls_run ||
           verb->run == rm_run || verb->run == doctor_run;
}

static enum line_kind choose_place(const struct session *session, struct shell_line *line)
{
    const struct verb *verb = line->command.verb;
    bool asks_nothing = verb->run == help_run || verb->run == completion_run;
    if (is_operation(&line->command) || asks_nothing)
        return LINE_IS_HERE;
    if (!session_is_private(session))
        return LINE_IS_APART;
    if (is_short(verb))
        return LINE_IS_HERE;
    return refuse(
        line, STATUS_USAGE,
        "this command runs in a process of its own, which does not see the memory: store "
        "of the shell; start the shell with -s lmdb:PATH");
}

/* Copies the options of the shell into the command. */
static void take_options(struct command *command, const struct command *shell,
                         const struct session *session)
{
    for (int id = 0; id < OPTION_GLOBALS; id++)
        if (is_of_shell((enum option_id)id))
            command->options[id] = shell->options[id];
    command->store_uri = session->uri;
    command->store_ns = session->options.ns;
}

static const char exit_takes_nothing[] =
    "'exit' and 'quit' take no argument; the exit code of a script is that of its lines";

static bool is_exit(const char *word)
{
    return strcmp(word, "exit") == 0 || strcmp(word, "quit") == 0;
}

enum line_kind line_read(const struct session *session, const struct command *shell,
                         bool is_script, char *text, size_t length, struct shell_line *line)
{
    struct mistake mistake;
    memset(&line->command, 0, sizeof line->command);
    line->has_command = false;
    int count = split(line, text, length);
    if (count < 0)
        return LINE_IS_REFUSED;
    line->words[count] = NULL;
    char *const *words = line->words;
    if (words[0] == NULL)
        return LINE_IS_EMPTY;
    if (strcmp(words[0], "mcds") == 0) /* as in the manuals */
        words++;
    if (words[0] != NULL && is_exit(words[0]))
        return words[1] == NULL ? LINE_IS_EXIT : refuse(line, STATUS_USAGE, exit_takes_nothing);
    line->has_command = true;
    if (!read_command(session->nouns, words, &line->command, &mistake))
        return refuse(line, STATUS_USAGE, mistake.sentence);
    if (is_given(&line->command, OPTION_HELP) || is_given(&line->command, OPTION_VERSION))
        return LINE_IS_HELP;
    const char *against = why_not(&line->command, shell, is_script);
    if (against != NULL)
        return refuse(line, STATUS_USAGE, against);
    take_options(&line->command, shell, session);
    return choose_place(session, line);
}
