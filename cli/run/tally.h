/* Tally: what became of the lines of standard input, for the case that the store fails. */
#ifndef MCDS_CLI_RUN_TALLY_H
#define MCDS_CLI_RUN_TALLY_H

#include "io/output.h"

struct tally {
    uint64_t done;
    uint64_t doubtful; /* may have been applied, or may still be */
    unsigned long first_doubtful;
    unsigned long first_failed; /* not applied, because of the store */
};

/* Counts lines, from the number `line` on, that failed with `result`. */
void tally_failed(struct tally *tally, unsigned long line, uint64_t lines, int result);

/* The exit code, where the first failure chose `status`: a doubt outweighs every other failure. */
int tally_status(const struct tally *tally, int status);

/* Prints the numbers of lines, and from which line on the caller has to check or repeat. */
void tally_complain(const struct tally *tally, const struct output *output);

#endif
