/* The least that any client can do: write bytes, read until the replies are there. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct raw {
    int fd;
    uint8_t *requests; /* what is written at once */
    size_t length;
    uint32_t feeds; /* line feeds of all the replies to that */
    uint32_t depth; /* operations in that */
};

/* contestant.run; operations are a multiple of depth. */
bool raw_add(void *raw, uint64_t operations);

#endif
