/* Lines of standard input, or of a file, without waiting for more input than a line needs. */
#ifndef MCDS_CLI_IO_LINES_H
#define MCDS_CLI_IO_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct lines {
    int fd;       /* standard input, unless the caller sets another */
    char *buffer; /* grows up to the size of the longest line */
    size_t capacity;
    size_t max;   /* bytes of a line */
    size_t begin; /* of the bytes that were not handed out */
    size_t end;
    size_t seen; /* bytes from `begin` on that hold no newline */
    bool is_over;
    bool skips_mark;  /* a byte order mark at the beginning is not part of the first line */
    bool is_raw;      /* a carriage return at the end belongs to the line */
    bool is_skipping; /* the rest of a line that was too long */
    int error;        /* errno of the read that failed, or of the memory that was refused */
};

enum line {
    LINE_READY,
    LINE_TOO_LONG, /* returned once per such line */
    LINE_NONE,     /* more must be read first */
    LINE_OVER
};

/* Begins with lines of at most `max` bytes. */
void lines_open(struct lines *lines, size_t max);
void lines_close(struct lines *lines);

/* The next line without its end (\n or \r\n; is_raw: \n), ended by NUL. The caller may change
 * it; it is valid until the next read. */
enum line lines_next(struct lines *lines, char **line_out, size_t *length_out);

/* Whether a read would return without waiting. */
bool lines_are_waiting(void);

/* Reads once; waits if there is no input. */
void lines_read(struct lines *lines);

/* Reads all remaining input, at most `max` bytes: LINE_READY, LINE_TOO_LONG, or
 * LINE_NONE with `error` set. */
enum line lines_read_all(struct lines *lines, char **all_out, size_t *length_out);

#endif
