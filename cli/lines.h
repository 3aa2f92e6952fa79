/* Lines of standard input, cut without waiting for more than is there. */
#ifndef MCDS_CLI_LINES_H
#define MCDS_CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_MAX_BYTES 16384

struct lines {
    char buffer[4 * LINE_MAX_BYTES];
    size_t begin; /* of what has not been handed out */
    size_t end;
    bool is_over;
    bool is_skipping; /* the rest of a line that was too long */
    int error;        /* errno of the read that failed */
};

enum line {
    LINE_READY,
    LINE_TOO_LONG, /* handed out once per such line */
    LINE_NONE,     /* more must be read first */
    LINE_OVER
};

/* The next line without its end (\n or \r\n), ended by NUL; valid until the next read. */
enum line lines_next(struct lines *lines, char **line_out, size_t *length_out);

/* Whether reading would give something at once. */
bool lines_are_waiting(void);

/* Read once, waiting if need be. */
void lines_read(struct lines *lines);

#endif
