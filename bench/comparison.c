/* Runs comparisons: timing and interleaving. */
#include "comparison.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct share {
    double seconds;
    double cpu_s;
};

struct standing {
    uint64_t operations; /* in each round */
    double rate[ROUNDS_MAX];
    double cpu_us[ROUNDS_MAX];
};

double comparison_now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* CPU time of this process and of the children that it has waited for. */
static double cpu_now(void)
{
    struct rusage own, children;
    (void)getrusage(RUSAGE_SELF, &own);
    (void)getrusage(RUSAGE_CHILDREN, &children);
    return seconds_of(own.ru_utime) + seconds_of(own.ru_stime) + seconds_of(children.ru_utime) +
           seconds_of(children.ru_stime);
}

static double servers_cpu_s(const struct bench *bench)
{
    double sum = 0;
    for (uint32_t i = 0; i < bench->sharing_count; i++) {
        clockid_t clock;
        struct timespec used = {0};
        if (clock_getcpuclockid(bench->sharing[i], &clock) == 0)
            (void)clock_gettime(clock, &used);
        sum += (double)used.tv_sec + (double)used.tv_nsec / 1e9;
    }
    return sum;
}

static bool take_share(const struct bench *bench, const struct contestant *contestant,
                       uint64_t operations, struct share *share)
{
    double servers_s = servers_cpu_s(bench);
    double cpu_s = cpu_now();
    double begun_s = comparison_now_s();
    bool fine = contestant->run(contestant->state, operations);
    double done_s = contestant->done_s != NULL ? *contestant->done_s : comparison_now_s();
    share->cpu_s = cpu_now() - cpu_s;
    share->seconds = bench->sharing_count > 0 ? share->cpu_s + servers_cpu_s(bench) - servers_s
                                              : done_s - begun_s;
    if (!fine)
        (void)fprintf(stderr, "bench: %s failed\n", contestant->name);
    return fine;
}

/* Find the number of operations that fills a share of a round. This also warms up. */
static bool calibrate(const struct bench *bench, const struct comparison *comparison,
                      const struct contestant *contestant, uint64_t *operations_out)
{
    uint64_t step = comparison->step > 0 ? comparison->step : 1;
    uint64_t operations = step;
    for (;;) {
        struct share share;
        if (!take_share(bench, contestant, operations, &share))
            return false;
        if (share.seconds >= bench->round_s / 4) {
            double wanted = (double)operations * bench->round_s / share.seconds;
            *operations_out = ((uint64_t)wanted / step + 1) * step;
            return true;
        }
        operations *= 2;
    }
}

static bool run_round(const struct bench *bench, const struct comparison *comparison,
                      uint32_t round, struct standing *standings)
{
    for (uint32_t i = 0; i < comparison->count; i++) {
        uint32_t who = (round + i) % comparison->count;
        struct standing *standing = &standings[who];
        struct share share;
        if (comparison->list[who].skipped != NULL)
            continue;
        if (!take_share(bench, &comparison->list[who], standing->operations, &share))
            return false;
        standing->rate[round] = (double)standing->operations / share.seconds;
        standing->cpu_us[round] = share.cpu_s * 1e6 / (double)standing->operations;
    }
    return true;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double median(const double *values, uint32_t count)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, values, count * sizeof sorted[0]);
    qsort(sorted, count, sizeof sorted[0], compare);
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static struct row *add_row(struct bench *bench, const char *work, const char *against)
{
    if (bench->row_count == ROWS_MAX) {
        (void)fputs("bench: more rows than ROWS_MAX\n", stderr);
        abort();
    }
    struct row *row = &bench->rows[bench->row_count++];
    *row = (struct row){0};
    (void)snprintf(row->work, sizeof row->work, "%s", work);
    (void)snprintf(row->against, sizeof row->against, "%s", against);
    return row;
}

enum measure { RATE, CPU };

/* The ratio of ours to theirs, by `measure`: more is better. */
static double ratio_of(enum measure measure, const struct standing *ours,
                       const struct standing *theirs, uint32_t round)
{
    return measure == RATE ? ours->rate[round] / theirs->rate[round]
                           : theirs->cpu_us[round] / ours->cpu_us[round];
}

static void fill_theirs(const struct bench *bench, enum measure measure,
                        const struct standing *ours, const struct standing *theirs,
                        struct row *row)
{
    double ratios[ROUNDS_MAX];
    for (uint32_t i = 0; i < bench->rounds; i++) {
        ratios[i] = ratio_of(measure, ours, theirs, i);
        if (i == 0 || ratios[i] < row->ratio_min)
            row->ratio_min = ratios[i];
        if (i == 0 || ratios[i] > row->ratio_max)
            row->ratio_max = ratios[i];
    }
    row->ratio = median(ratios, bench->rounds);
    row->rate[1] = median(theirs->rate, bench->rounds);
    row->cpu_us[1] = median(theirs->cpu_us, bench->rounds);
}

static void fill_ours(const struct bench *bench, const struct standing *ours, struct row *row)
{
    row->rate[0] = median(ours->rate, bench->rounds);
    row->cpu_us[0] = median(ours->cpu_us, bench->rounds);
}

/* Add the row of contestant `who`. `failure` says why it has no figures, or is NULL. */
static void report(struct bench *bench, const struct comparison *comparison, uint32_t who,
                   enum measure measure, const struct standing *standings, const char *failure)
{
    const struct contestant *contestant = &comparison->list[who];
    char work[sizeof bench->rows[0].work];
    (void)snprintf(work, sizeof work, "%s%s", comparison->work,
                   measure == CPU ? ": client CPU" : "");
    struct row *row = add_row(bench, work, contestant->name);
    row->goal = measure == CPU ? contestant->cpu_goal : contestant->goal;
    const char *why = failure != NULL ? failure : contestant->skipped;
    if (failure == NULL)
        fill_ours(bench, &standings[0], row);
    if (why != NULL)
        (void)snprintf(row->skipped, sizeof row->skipped, "%s", why);
    else
        fill_theirs(bench, measure, &standings[0], &standings[who], row);
}

static bool run_rounds(const struct bench *bench, const struct comparison *comparison,
                       struct standing *standings)
{
    for (uint32_t i = 0; i < comparison->count; i++)
        if (comparison->list[i].skipped == NULL &&
            !calibrate(bench, comparison, &comparison->list[i], &standings[i].operations))
            return false;
    for (uint32_t round = 0; round < bench->rounds; round++)
        if (!run_round(bench, comparison, round, standings))
            return false;
    return true;
}

bool comparison_is_wanted(const struct bench *bench, const char *work)
{
    return bench->only == NULL || strstr(work, bench->only) != NULL;
}

void comparison_skip(struct bench *bench, const char *work, const char *why)
{
    if (comparison_is_wanted(bench, work))
        (void)snprintf(add_row(bench, work, "-")->skipped, sizeof bench->rows[0].skipped, "%s",
                       why);
}

void comparison_tell_bytes(struct bench *bench, const char *work, const char *against,
                           double ours, double theirs)
{
    struct row *row = add_row(bench, work, against);
    if (ours <= 0 || theirs <= 0) {
        (void)snprintf(row->skipped, sizeof row->skipped, "%s could not be filled",
                       ours <= 0 ? "memory:" : against);
        return;
    }
    row->ratio = row->ratio_min = row->ratio_max = theirs / ours;
    row->rate[0] = 1e9 / ours;
    row->rate[1] = 1e9 / theirs;
}

void comparison_run(struct bench *bench, const struct comparison *comparison)
{
    struct standing standings[CONTESTANTS_MAX];
    memset(standings, 0, sizeof standings);
    if (!comparison_is_wanted(bench, comparison->work))
        return;
    (void)fprintf(stderr, "%s ...\n", comparison->work);
    struct comparison run = *comparison;
    run.count = bench->alone ? 1 : comparison->count;
    bool fine = run_rounds(bench, &run, standings);
    bench->failed = bench->failed || !fine;
    if (bench->alone)
        return;
    const char *failure = fine ? NULL : "failed";
    for (uint32_t i = 1; i < comparison->count; i++) {
        report(bench, comparison, i, RATE, standings, failure);
        if (comparison->list[i].cpu_goal > 0)
            report(bench, comparison, i, CPU, standings, failure);
    }
}
