/* Lines of standard input, or of a file. */
#include "io/lines.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM_FIRST 65536
/* After the longest line: its end (\r\n), and the byte that a read leaves free. */
#define ROOM_BEHIND 3

void lines_open(struct lines *lines, size_t max)
{
    memset(lines, 0, sizeof *lines);
    lines->fd = STDIN_FILENO;
    lines->max = max;
}

void lines_close(struct lines *lines)
{
    free(lines->buffer);
    lines->buffer = NULL;
}

/* The first newline; examines no byte twice. */
static char *find_newline(struct lines *lines)
{
    size_t there = lines->end - lines->begin;
    if (lines->seen == there)
        return NULL;
    char *newline = memchr(lines->buffer + lines->begin + lines->seen, '\n',
                           there - lines->seen);
    lines->seen = newline != NULL ? 0 : there;
    return newline;
}

/* The length of the byte order mark that is to be skipped. Only the first line has one. */
static size_t mark_length(struct lines *lines, const char *line, size_t length)
{
    static const char mark[] = "\xef\xbb\xbf";
    bool has_mark = lines->skips_mark && length >= strlen(mark) &&
                    memcmp(line, mark, strlen(mark)) == 0;
    lines->skips_mark = false;
    return has_mark ? strlen(mark) : 0;
}

enum line lines_next(struct lines *lines, char **line_out, size_t *length_out)
{
    for (;;) {
        size_t there = lines->end - lines->begin;
        char *newline = find_newline(lines);
        char *begin = there > 0 ? lines->buffer + lines->begin : NULL;
        bool is_whole = newline != NULL || (lines->is_over && there > 0);
        size_t length = newline != NULL ? (size_t)(newline - begin) : there;
        if (!is_whole && length <= lines->max + 1)
            return lines->is_over ? LINE_OVER : LINE_NONE;
        lines->begin += newline != NULL ? length + 1 : length;
        lines->seen = 0;
        bool was_skipping = lines->is_skipping;
        lines->is_skipping = !is_whole;
        if (was_skipping)
            continue;
        assert(begin != NULL); /* a whole line, or one that is too long */
        if (!lines->is_raw && is_whole && length > 0 && begin[length - 1] == '\r')
            length--;
        if (length > lines->max)
            return LINE_TOO_LONG;
        begin[length] = '\0'; /* the newline, or the free byte after the end */
        size_t skipped = mark_length(lines, begin, length);
        *line_out = begin + skipped;
        *length_out = length - skipped;
        return LINE_READY;
    }
}

bool lines_are_waiting(void)
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) > 0;
}

/* Doubles a full buffer, up to the size of the longest line. */
static bool make_room(struct lines *lines)
{
    size_t most = lines->max + ROOM_BEHIND > ROOM_FIRST ? lines->max + ROOM_BEHIND : ROOM_FIRST;
    if (lines->capacity - lines->end > 1 || lines->capacity == most)
        return true;
    size_t capacity = lines->capacity == 0 ? ROOM_FIRST : lines->capacity;
    if (lines->capacity > 0)
        capacity = capacity > most / 2 ? most : 2 * capacity;
    char *buffer = realloc(lines->buffer, capacity);
    if (buffer == NULL)
        return false;
    lines->buffer = buffer;
    lines->capacity = capacity;
    return true;
}

void lines_read(struct lines *lines)
{
    if (lines->begin > 0) {
        memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
        lines->end -= lines->begin;
        lines->begin = 0;
    }
    ssize_t got = -1;
    struct pollfd input = {lines->fd, POLLIN, 0};
    while (poll(&input, 1, -1) < 0 && errno == EINTR) { /* a signal may have ended the input */
    }
    if (!make_room(lines))
        errno = ENOMEM;
    else
        do {
            got = read(lines->fd, lines->buffer + lines->end, lines->capacity - lines->end - 1);
        } while (got < 0 && errno == EINTR);
    if (got > 0)
        lines->end += (size_t)got;
    else
        lines->is_over = true;
    lines->error = got < 0 ? errno : 0;
}

enum line lines_read_all(struct lines *lines, char **all_out, size_t *length_out)
{
    while (!lines->is_over && lines->end - lines->begin <= lines->max)
        lines_read(lines);
    size_t length = lines->end - lines->begin;
    if (lines->error != 0)
        return LINE_NONE;
    if (length > lines->max)
        return LINE_TOO_LONG;
    *all_out = lines->buffer + lines->begin;
    *length_out = length;
    return LINE_READY;
}
