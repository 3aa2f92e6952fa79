/* A raw loop, the least work that any client can do: it writes bytes and reads until the
 * replies are there. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct raw {
    int fd;
    uint8_t *requests; /* the bytes written at once */
    size_t length;
    uint32_t feeds; /* the line feeds in all replies to them */
    uint32_t depth; /* the operations in them */
};

/* contestant.run; operations are a multiple of depth. */
bool raw_add(void *raw, uint64_t operations);

#endif
