/* Busy elements: two operations in flight on one element keep their order. */
#ifndef MCDS_CLI_RUN_BUSY_H
#define MCDS_CLI_RUN_BUSY_H

#include "table/command.h"

#define BUSY_COUNT 4096 /* a power of two */

/* By hash: elements with the same hash wait for each other, which only costs time. */
struct busy {
    uint16_t under_way[BUSY_COUNT];
};

static inline uint32_t busy_hash(uint32_t hash, mcds_bytes bytes)
{
    const unsigned char *at = bytes.data;
    for (size_t i = 0; i < bytes.length; i++)
        hash = (hash ^ at[i]) * UINT32_C(16777619);
    return hash;
}

/* The index for the name and the second argument of a command. */
static inline uint16_t *busy_place(struct busy *busy, const struct command *command)
{
    uint32_t hash = busy_hash(UINT32_C(2166136261), command->bytes[0]);
    hash = busy_hash(hash, command->bytes[1]);
    return &busy->under_way[(hash ^ hash >> 16) & (BUSY_COUNT - 1)];
}

#endif
