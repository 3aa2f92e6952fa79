/* A comparison: the same work done by several contestants, side by side.
 *
 * Rounds are interleaved: in each round every contestant does its share, and another one
 * begins. Ratios are computed within a round, so a period in which the machine is slow affects
 * all contestants. A row shows the median of the ratios, with the smallest and the largest. */
#ifndef BENCH_COMPARISON_H
#define BENCH_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define CONTESTANTS_MAX 6
#define ROUNDS_MAX 31
#define ROWS_MAX 96
#define SHARING_MAX 4

struct contestant {
    const char *name;
    const char *skipped; /* why it cannot take part, or NULL */
    double goal;         /* least ratio of the first contestant to this one; 0: no goal */
    double cpu_goal;     /* the same for the client's CPU time; 0: no such row */
    /* Execute exactly this many operations. False: failed, with a sentence on stderr. */
    bool (*run)(void *state, uint64_t operations);
    void *state;
    /* Where run() stores the time at which the operations were done, if it returns later. NULL:
     * they are done when it returns. */
    const double *done_s;
};

/* The first contestant is mcds. */
struct comparison {
    const char *work;
    uint32_t step; /* operations come in multiples of this; 0 = 1 */
    uint32_t count;
    struct contestant list[CONTESTANTS_MAX];
};

struct row {
    char work[80];
    char against[48];
    char skipped[80]; /* empty: the comparison ran */
    double goal;
    /* Operations per second, ours to theirs; CPU time, theirs to ours. */
    double ratio, ratio_min, ratio_max;
    double rate[2];   /* median operations per second, ours and theirs */
    double cpu_us[2]; /* median CPU time of the client per operation */
};

struct bench {
    uint32_t rounds;
    double round_s;   /* the duration of a contestant's share of a round */
    const char *only; /* run comparisons with this in their name; NULL: all */
    bool alone;       /* only mcds, and no rows: for a profiler */
    /* Servers that share one processor with this process. Rates are then operations per second
     * of the processor time of them all, so that other programs of the machine do not count. */
    pid_t sharing[SHARING_MAX];
    uint32_t sharing_count; /* 0: rates are by the clock */
    char place[256];        /* an existing directory for files and sockets */
    struct row rows[ROWS_MAX];
    uint32_t row_count;
    bool failed;
};

/* The clock of the comparisons, in seconds. */
double comparison_now_s(void);

/* Run a comparison and add a row for each contestant but the first, and one more if CPU time
 * has a goal. */
void comparison_run(struct bench *bench, const struct comparison *comparison);
/* Add a row that says why there is no figure. */
void comparison_skip(struct bench *bench, const char *work, const char *why);
/* Add a row on the bytes of an entry, as the number of entries in 10^9 bytes: more is better.
 * 0: unknown. */
void comparison_tell_bytes(struct bench *bench, const char *work, const char *against,
                           double ours, double theirs);
/* Whether bench->only selects this comparison. */
bool comparison_is_wanted(const struct bench *bench, const char *work);

void table_print(FILE *out, const struct bench *bench);
/* An array of {work, against, ratio, ratio_min, ratio_max, goal, higher_is_better}. */
bool table_write_json(const char *path, const struct bench *bench);

#endif
