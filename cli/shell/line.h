/* Line: reads a line of the shell as a command, and chooses the process that executes it. */
#ifndef MCDS_CLI_SHELL_LINE_H
#define MCDS_CLI_SHELL_LINE_H

#include "run/session.h"

#define LINE_WORDS_MAX 1024
#define LINE_SENTENCE_MAX 600

enum line_kind {
    LINE_IS_EMPTY,   /* or a comment */
    LINE_IS_EXIT,    /* exit or quit */
    LINE_IS_REFUSED, /* status and sentence have the reason */
    LINE_IS_HELP,    /* --help or --version */
    LINE_IS_HERE,    /* executed in this process, on the store that is open */
    LINE_IS_APART    /* executed in its own process */
};

struct shell_line {
    struct command command;
    bool has_command; /* command is set, also if only a part of it could be read */
    int status;
    char *words[LINE_WORDS_MAX + 1];
    char sentence[LINE_SENTENCE_MAX];
};

/* Whether the option belongs to the shell: it selects the store that all lines share. */
bool is_of_shell(enum option_id id);

/* Reads the text. It changes the text, and the command points into it. The caller calls
 * free_command in every case. `shell` is the command that has started the shell. `is_script`: the
 * lines come from standard input without a terminal. */
enum line_kind line_read(const struct session *session, const struct command *shell,
                         bool is_script, char *text, size_t length, struct shell_line *line);

#endif
