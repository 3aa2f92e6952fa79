/* Tally: the outcomes of the lines of standard input, or of the operations of one command line, for
 * the case that the store fails or a signal ends them. */
#ifndef MCDS_CLI_RUN_TALLY_H
#define MCDS_CLI_RUN_TALLY_H

#include "io/output.h"

/* Enough for every line of a pipeline of 512. */
#define LINE_RANGES_MAX 257

/* Lines in ascending order, without those for which there was no room. */
struct line_ranges {
    size_t count;
    bool is_cut;
    struct {
        unsigned long first;
        unsigned long last;
    } of[LINE_RANGES_MAX];
};

struct tally {
    uint64_t done;
    uint64_t doubtful_count; /* may have been applied, or may still be */
    struct line_ranges doubtful;
    struct line_ranges failed; /* not applied, because of the store */
};

/* Counts lines, from the number `line` on, that failed with `result`. */
void tally_failed(struct tally *tally, unsigned long line, uint64_t lines, int result);

/* The exit code: 80 if a line is in doubt, otherwise `status`, that of the first failure. */
int tally_status(const struct tally *tally, int status);

/* Prints how many lines were carried out, and which were not or are in doubt; nothing where none
 * was carried out or is in doubt. No line after `last` was tried; 0: all were. */
void tally_complain(const struct tally *tally, const struct output *output, unsigned long last);

/* The same for the operations of one command line, which a signal has ended. `what` is the command;
 * neither `untried` nor an element or name after it was tried; NULL: all were. */
void tally_complain_operations(const struct tally *tally, const struct output *output,
                               const char *what, const char *untried);

#endif
