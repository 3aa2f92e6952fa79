/* Counting: the lines of a block are summed up here, and the sums go to the store. */
#ifndef WEBLOG_TALLY_H
#define WEBLOG_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flight.h"
#include "names.h"
#include "sheet.h"
#include "top.h"

#define TALLY_SAMPLES 5
#define TALLY_EXCERPT 72

/* Whole lines, each ended by a line feed. */
struct block {
    const char *bytes;
    size_t length;
    uint64_t first_line; /* of its file, from 1 */
    uint32_t lines;
    uint32_t file; /* index of its file */
    bool live;     /* it has just been written: who is in it is online at this moment */
};

/* A malformed line to show. */
struct sample {
    uint64_t line;
    uint32_t file;
    uint32_t excerpt_length;
    char excerpt[TALLY_EXCERPT];
    char reason[64];
};

/* What a process knows of its part apart from what is in the store. Plain data: it travels
 * through a pipe. */
struct summary {
    uint64_t uncertain; /* operations that may have been applied */
    int64_t first_ms;   /* oldest and newest time in the log; 0: none */
    int64_t last_ms;
    uint32_t sample_count;
    struct sample samples[TALLY_SAMPLES];
    int result; /* MCDS_OK, or why counting ended early */
    char failure[400];
};

/* Put the samples of both, first lines first, into `into`, and so on with every figure. */
void summary_merge(struct summary *into, const struct summary *from);

struct tally {
    struct sheet sheet;
    struct flight flight;
    struct names pages;
    struct names hosts;
    struct names referrers;
    struct top largest;
    uint32_t open_pages;
    struct summary summary;
};

/* Ready to count in `store`. On failure says so in summary.failure, and tally_close() is still
 * needed. Returns an mcds_result. */
int tally_open(struct tally *tally, const struct figures *figures, mcds_store *store);
/* Does not close the store. */
void tally_close(struct tally *tally);

/* Close the counters of the pages, which are opened again as they are met. Only while nothing
 * is in flight. */
void tally_close_pages(struct tally *tally);

/* Count a block and wait until all of it is in the store. Not applied for want of a connection
 * or of time: tried again for some seconds. Returns an mcds_result; on failure summary.failure
 * says why. */
int tally_block(struct tally *tally, const struct block *block);

#endif
