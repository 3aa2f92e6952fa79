/* A store with a thousand counters, where a contest is to go from one to the other. */
#ifndef BENCH_SHELF_H
#define BENCH_SHELF_H

#include "verbs.h"
#include "work.h"

struct shelf {
    struct tool tool;                 /* its counter is one more */
    mcds_counter *counters[COUNTERS]; /* all there: each has been added to */
};

/* NULL: told on stderr. */
struct shelf *shelf_open(const char *uri, uint32_t depth);
void shelf_close(struct shelf *shelf);

/* Waiting adds to counters that the dice choose, in one of so many equal parts of the shelf. */
struct shelf_part {
    uint32_t number, of;
};
bool shelf_add_some(struct shelf *shelf, struct shelf_part part, uint32_t dice,
                    uint64_t operations);
/* contestant.run: the same with `depth` in flight; and waiting gets. */
bool shelf_add_pipelined(void *shelf, uint64_t operations);
bool shelf_get(void *shelf, uint64_t operations);

#endif
