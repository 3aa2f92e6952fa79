/* A store with a thousand counters, for comparisons that alternate between them. */
#ifndef BENCH_KEYSPACE_H
#define BENCH_KEYSPACE_H

#include "verbs.h"
#include "work/work.h"

struct keyspace {
    struct tool tool;                 /* has one counter more */
    mcds_counter *counters[COUNTERS]; /* all exist: each was added to */
};

/* NULL: an error was printed on stderr. */
struct keyspace *keyspace_open(const char *uri, uint32_t depth);
void keyspace_close(struct keyspace *keyspace);

/* Waiting adds to random counters in one of `parts` equal parts of the keyspace. */
struct keyspace_part {
    uint32_t number, of;
};
bool keyspace_add_some(struct keyspace *keyspace, struct keyspace_part part, uint32_t dice,
                       uint64_t operations);
/* contestant.run: the same with `depth` in flight; and waiting gets. */
bool keyspace_add_pipelined(void *keyspace, uint64_t operations);
bool keyspace_get(void *keyspace, uint64_t operations);

#endif
