/* Chunk: values that are put with one operation, copied into one piece of memory. */
#ifndef MCDS_CLI_IO_CHUNK_H
#define MCDS_CLI_IO_CHUNK_H

#include <stdbool.h>

#include "mcds.h"

struct chunk {
    mcds_bytes *values; /* `data` is set by chunk_values */
    size_t count;
    size_t capacity;
    char *text;
    size_t bytes;
    size_t text_capacity;
};

/* Copies the value. False: out of memory. */
bool chunk_keep(struct chunk *chunk, mcds_bytes value);
/* The values, until the next call. */
const mcds_bytes *chunk_values(struct chunk *chunk);
/* Keeps the memory for the next values, unless it is large. */
void chunk_clear(struct chunk *chunk);
void chunk_free(struct chunk *chunk);

#endif
