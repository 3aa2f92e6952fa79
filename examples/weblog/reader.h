/* The input as blocks of whole lines: files, pipes, or one file that goes on growing. */
#ifndef WEBLOG_READER_H
#define WEBLOG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parse.h"
#include "tally.h"

#define READER_PIECE ((size_t)256 * 1024)
/* The beginning of a line that the last block cut off, a piece more, and a line feed. */
#define READER_CAPACITY (PARSE_LINE_MAX + 1 + READER_PIECE + 1)

struct reader {
    const char *const *paths; /* "-" is the standard input */
    uint32_t path_count;
    uint32_t next_path;
    int fd; /* -1: none open */
    bool follow;
    bool fresh;       /* nothing of this file has been read */
    bool caught_up;   /* following has reached the end once */
    bool skipping;    /* inside a line that is longer than any block */
    int quiet_rounds; /* how often the end was found since the file was replaced */
    uint64_t line;    /* of this file: the next one's number */
    char *carry;      /* the beginning of a line */
    size_t carry_length;
    char failure[300];
};

enum reader_answer {
    READER_BLOCK,
    READER_END,
    READER_IDLE, /* following: nothing new, ask again in READER_POLL_MS */
    READER_FAILED
};

#define READER_POLL_MS 200

/* Whether every path can be read is looked at here. False: see failure. */
bool reader_open(struct reader *reader, const char *const *paths, uint32_t path_count,
                 bool follow);
void reader_close(struct reader *reader);

/* The next block, in `room` (READER_ROOM bytes). A line longer than PARSE_LINE_MAX comes once,
 * cut to one byte more than that. A last line without line feed gets one. */
enum reader_answer reader_next(struct reader *reader, char *capacity, struct block *block);

#endif
