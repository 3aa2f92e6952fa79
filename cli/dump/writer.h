/* Writer: writes the lines of a dump. */
#ifndef MCDS_CLI_DUMP_WRITER_H
#define MCDS_CLI_DUMP_WRITER_H

#include <stdio.h>

#include "dump/sum.h"
#include "table/command.h"

struct writer {
    FILE *file;
    struct sum *all;
    struct sum *one; /* of the structure */
    char *line;
    size_t length;
    size_t capacity;
    int error;                       /* errno of the first failure */
    const struct command *structure; /* whose elements follow */
    bool has_begun;                  /* its first line is written */
    uint64_t here;                   /* its elements */
    uint64_t structures;
    uint64_t elements;
    uint64_t omitted;
};

/* Begins a dump; its first line is written with the first structure. False: writer->error. */
bool writer_open(struct writer *writer, FILE *file);
void writer_close(struct writer *writer);

/* The elements of this structure follow. Its line is written with the first of them, so that
 * nothing is written of a structure that cannot be read. */
void writer_begin(struct writer *writer, const struct command *structure);
/* An element of one to three fields; the last may have any length. False: writer->error. */
bool writer_element(struct writer *writer, const mcds_bytes *fields, size_t count);
/* Ends the structure. */
void writer_finish(struct writer *writer);
/* Names a structure whose contents the dump does not have. */
void writer_omit(struct writer *writer, const char *noun, const char *name);
/* The last line. The dump is whole if this is true. */
bool writer_end(struct writer *writer);

#endif
