/* Lines of standard input. */
#include "lines.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum line lines_next(struct lines *lines, char **line_out, size_t *length_out)
{
    for (;;) {
        char *begin = lines->buffer + lines->begin;
        size_t there = lines->end - lines->begin;
        char *newline = memchr(begin, '\n', there);
        bool is_whole = newline != NULL || (lines->is_over && there > 0);
        size_t length = newline != NULL ? (size_t)(newline - begin) : there;
        if (!is_whole && length <= LINE_MAX_BYTES)
            return lines->is_over ? LINE_OVER : LINE_NONE;
        lines->begin += newline != NULL ? length + 1 : length;
        bool was_skipping = lines->is_skipping;
        lines->is_skipping = !is_whole;
        if (was_skipping)
            continue;
        if (length > LINE_MAX_BYTES)
            return LINE_TOO_LONG;
        if (length > 0 && begin[length - 1] == '\r')
            length--;
        begin[length] = '\0'; /* the newline, or the byte that is kept free behind the end */
        *line_out = begin;
        *length_out = length;
        return LINE_READY;
    }
}

bool lines_are_waiting(void)
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) > 0;
}

void lines_read(struct lines *lines)
{
    memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
    lines->end -= lines->begin;
    lines->begin = 0;
    ssize_t got;
    do {
        got = read(STDIN_FILENO, lines->buffer + lines->end,
                   sizeof lines->buffer - lines->end - 1);
    } while (got < 0 && errno == EINTR);
    if (got > 0)
        lines->end += (size_t)got;
    else
        lines->is_over = true;
    lines->error = got < 0 ? errno : 0;
}
