/* Editor: reads a line from a terminal by libedit, with history and completion. If mcds was built
 * without libedit, or libedit is not installed, there is no editor. */
#ifndef MCDS_CLI_EDITOR_EDITOR_H
#define MCDS_CLI_EDITOR_EDITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "editor/completion.h"

struct editor;

enum editor_wait {
    EDITOR_READY,    /* a byte can be read, or a line was read */
    EDITOR_AGAIN,    /* a signal handler has run: wait again */
    EDITOR_NO_TEXT,  /* bytes of the line are not characters of the locale; they are left out */
    EDITOR_GIVEN_UP, /* the user has given up the line */
    EDITOR_OVER      /* the input has ended */
};

/* The functions that the editor calls. */
struct editor_calls {
    void *context;
    enum editor_wait (*wait)(void *context);
    /* Completes the end of a line. */
    void (*complete)(void *context, const char *line, size_t length,
                     struct completion *completion);
};

/* NULL: there is no editor, and the terminal is read without one. */
struct editor *editor_open(const struct editor_calls *calls);
void editor_close(struct editor *editor);

/* Reads a line without its newline. Afterwards the terminal has its earlier modes. The line is
 * valid until the next call. Never returns EDITOR_AGAIN. */
enum editor_wait editor_read(struct editor *editor, const char *prompt, char **line_out,
                             size_t *length_out);

/* Adds a line to the history of this editor. */
void editor_remember(struct editor *editor, const char *line);

#endif
