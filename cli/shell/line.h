/* Line: a line of the shell as a command, and where that is executed. */
#ifndef MCDS_CLI_SHELL_LINE_H
#define MCDS_CLI_SHELL_LINE_H

#include "run/session.h"

#define LINE_WORDS_MAX 1024
#define LINE_SENTENCE_MAX 600

enum line_kind {
    LINE_IS_EMPTY,   /* or a comment */
    LINE_IS_EXIT,    /* the end of the shell */
    LINE_IS_REFUSED, /* status and sentence say why */
    LINE_IS_HELP,    /* --help or --version */
    LINE_IS_HERE,    /* executed in this process, on the store that is open */
    LINE_IS_APART    /* executed in a process of its own */
};

struct shell_line {
    struct command command;
    bool has_command; /* so far as it could be read */
    int status;
    char *words[LINE_WORDS_MAX + 1];
    char sentence[LINE_SENTENCE_MAX];
};

/* Whether the option belongs to the shell: it selects the store that all lines share. */
bool is_of_shell(enum option_id id);

/* Reads the text, which it changes and the command points into; free_command in every case. `shell` is the
 * command of the shell. `is_script`: standard input has the lines. */
enum line_kind line_read(const struct session *session, const struct command *shell,
                         bool is_script, char *text, size_t length, struct shell_line *line);

#endif
