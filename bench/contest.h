/* Contests: the same work done in several ways, side by side.
 *
 * Rounds are interleaved: in each, every contestant does its share, and who begins changes from
 * round to round. Ratios are taken inside a round, so a machine that is slow for a while is
 * slow for all; a row shows their median, and the smallest and largest beside it. */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CONTESTANTS_MAX 6
#define ROUNDS_MAX 31
#define ROWS_MAX 96

struct contestant {
    const char *name;
    const char *skipped; /* why it cannot take part, or NULL */
    double goal;         /* least ratio of the first contestant to this one; 0: none */
    double cpu_goal;     /* the same of the client's processor time; 0: there is no such row */
    /* Do exactly that many operations; false, with a sentence on stderr, when that failed. */
    bool (*run)(void *state, uint64_t operations);
    void *state;
    /* Where run() leaves the time when the operations were done, if it has to wait longer for
     * somebody; NULL: they are done when it returns. */
    const double *done_s;
};

/* The first contestant is mcds. */
struct contest {
    const char *work;
    uint32_t step; /* operations come in multiples of this; 0 = 1 */
    uint32_t count;
    struct contestant list[CONTESTANTS_MAX];
};

struct row {
    char work[80];
    char against[48];
    char skipped[80]; /* empty: it ran */
    double goal;
    /* Operations per second, ours to theirs; of processor time, theirs to ours. */
    double ratio, ratio_min, ratio_max;
    double rate[2];   /* median operations per second, ours and theirs */
    double cpu_us[2]; /* median processor time of the client per operation */
};

struct bench {
    uint32_t rounds;
    double round_s;   /* what a contestant's share of a round should take */
    const char *only; /* run contests with this in their name; NULL: all */
    bool alone;       /* mcds without the others, and without rows: for a profiler */
    char place[256];  /* an existing folder for files and sockets */
    struct row rows[ROWS_MAX];
    uint32_t row_count;
    bool failed;
};

/* The clock of the contests, in seconds. */
double contest_now_s(void);

/* Run a contest and add a row for each contestant but the first, and one more where processor
 * time has a goal. */
void contest_run(struct bench *bench, const struct contest *contest);
/* Add a row that says why there is no figure. */
void contest_skip(struct bench *bench, const char *work, const char *why);
/* Add a row on the bytes of an entry, as how many of them go into 10^9 bytes: more is better. 0: not
 * to be had. */
void contest_tell_bytes(struct bench *bench, const char *work, const char *against, double ours,
                        double theirs);
/* Whether bench->only leaves this one in. */
bool contest_is_wanted(const struct bench *bench, const char *work);

void table_print(FILE *out, const struct bench *bench);
/* An array of {work, against, ratio, ratio_min, ratio_max, goal, higher_is_better}. */
bool table_write_json(const char *path, const struct bench *bench);

#endif
