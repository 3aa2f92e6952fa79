/* Ranking: the N greatest of any number of entries, with their keys. */
#ifndef MCDS_CLI_RANKING_RANKING_H
#define MCDS_CLI_RANKING_RANKING_H

#include "run/session.h"

struct ranked {
    int64_t number;
    char *key; /* owned */
    size_t length;
};

/* The least one is at the front until ranking_sort. */
struct ranking {
    uint64_t most; /* N, at least 1 */
    struct ranked *entries;
    size_t count;
    size_t capacity;
    bool is_out_of_memory;
};

/* The ranking that --limit asks for, without entries. */
struct ranking ranking_of(const struct command *command);
/* Takes an entry if it is one of the greatest so far. Returns false when out of memory. */
bool ranking_add(struct ranking *ranking, mcds_bytes key, int64_t number);
/* Sorts: the greatest first, equal ones by their keys. Nothing may be added after it. */
void ranking_sort(struct ranking *ranking);
/* Prints a line for each entry, in order: `key`, and the number as `number`. */
void ranking_print(const struct ranking *ranking, struct output *output, const char *key,
                   const char *number);
void ranking_free(struct ranking *ranking);

#endif
