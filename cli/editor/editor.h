/* Editor: a line on a terminal that can be edited, with history and completion, by libedit; where that is
 * not built in or not installed, there is none. */
#ifndef MCDS_CLI_EDITOR_EDITOR_H
#define MCDS_CLI_EDITOR_EDITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "editor/completion.h"

struct editor;

enum editor_wait {
    EDITOR_READY,    /* a byte can be read, or a line is there */
    EDITOR_AGAIN,    /* a handler has run */
    EDITOR_GIVEN_UP, /* the line */
    EDITOR_OVER      /* the input has ended */
};

/* What the editor asks its user. */
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

/* Reads a line, without its end. The terminal is as before afterwards. The line is valid until the next
 * call. Never returns EDITOR_AGAIN. */
enum editor_wait editor_read(struct editor *editor, const char *prompt, char **line_out,
                             size_t *length_out);

/* Adds a line to the history of this editor. */
void editor_remember(struct editor *editor, const char *line);

#endif
