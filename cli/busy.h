/* Which operations may overtake each other: not two on one element, and none on a list. */
#ifndef MCDS_CLI_BUSY_H
#define MCDS_CLI_BUSY_H

#include "command.h"

#define BUSY_COUNT 4096 /* a power of two */

/* By hash: elements that fall together wait for each other, which only costs time. */
struct busy {
    uint16_t under_way[BUSY_COUNT];
};

/* As the verb has it, but the additions of a list are its order. */
static inline enum overlap overlap_of(const struct command *command)
{
    enum overlap overlap = command->verb->overlap;
    bool is_list = overlap == OVERLAP_APART && is_given(command, OPTION_LIST);
    return is_list ? OVERLAP_NEVER : overlap;
}

static inline uint32_t busy_hash(uint32_t hash, mcds_bytes bytes)
{
    const unsigned char *at = bytes.at;
    for (size_t i = 0; i < bytes.length; i++)
        hash = (hash ^ at[i]) * UINT32_C(16777619);
    return hash;
}

/* The place of the name and the second argument of a command. */
static inline uint16_t *busy_place(struct busy *busy, const struct command *command)
{
    uint32_t hash = busy_hash(UINT32_C(2166136261), command->bytes[0]);
    hash = busy_hash(hash, command->bytes[1]);
    return &busy->under_way[(hash ^ hash >> 16) & (BUSY_COUNT - 1)];
}

#endif
