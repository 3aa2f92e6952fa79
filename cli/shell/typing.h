/* Typing: the lines of a shell, from an editor, a plain terminal, or a script. */
#ifndef MCDS_CLI_SHELL_TYPING_H
#define MCDS_CLI_SHELL_TYPING_H

#include "editor/editor.h"
#include "io/lines.h"
#include "signals/signals.h"
#include "terminal/modes.h"

#define TYPED_MAX 16384 /* bytes of a line */

enum typed {
    TYPED_LINE,
    TYPED_TOO_LONG,
    TYPED_NO_TEXT,  /* it has bytes that are not characters */
    TYPED_GIVEN_UP, /* by Ctrl-C */
    TYPED_FAILED,   /* standard input cannot be read: lines.error */
    TYPED_END       /* the input has ended, or a signal has arrived: signals->number */
};

struct typing {
    struct signals *signals;
    struct editor *editor; /* NULL: none */
    bool has_prompt;       /* a terminal */
    struct modes modes;    /* of the terminal at the start; each prompt restores them */
    struct lines lines;
};

/* Prints `prompt` on a terminal, and reads a line. The caller may change the line. It is valid
 * until the next call. */
enum typed typing_next(struct typing *typing, const char *prompt, char **line_out,
                       size_t *length_out);

/* Waits for standard input or a signal. */
enum editor_wait typing_wait(struct signals *signals, bool is_terminal);

#endif
