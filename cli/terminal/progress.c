/* Progress: one line on standard error that overwrites itself. */
#include "terminal/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/clock.h"
#include "mcds.h"
#include "terminal/terminal.h"

#define FIRST_NS INT64_C(1000000000)
#define EACH_NS INT64_C(200000000)
#define LINE_CAPACITY 160
#define LEFT_MAX_S (100 * 86400.0)

static struct progress *shown; /* whose line is on the terminal, or NULL */

bool progress_is_wanted(bool is_quiet, bool prints)
{
    return !is_quiet && isatty(STDERR_FILENO) == 1 && !(prints && isatty(STDOUT_FILENO) == 1);
}

void progress_begin(struct progress *progress, const char *unit, const char *done,
                    bool is_wanted)
{
    memset(progress, 0, sizeof *progress);
    progress->unit = unit;
    progress->done = done;
    progress->is_wanted = is_wanted;
    progress->began_ns = clock_ns();
}

void progress_of_file(struct progress *progress, int fd)
{
    struct stat status;
    off_t begin = lseek(fd, 0, SEEK_CUR);
    if (begin < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size <= begin)
        return;
    progress->fd = fd;
    progress->begin = begin;
    progress->end = status.st_size;
}

/* From 0 to 1, or less than 0: not known. */
static double share_of(const struct progress *progress)
{
    if (progress->all > 0)
        return (double)progress->count / (double)progress->all;
    off_t at = progress->end > 0 ? lseek(progress->fd, 0, SEEK_CUR) : -1;
    if (at < progress->begin)
        return -1;
    return (double)(at - progress->begin) / (double)(progress->end - progress->begin);
}

/* "1h 02m", "3m 20s" or "12s". */
static void write_time(char *out, size_t capacity, double seconds)
{
    unsigned whole = (unsigned)(seconds + 0.5);
    if (whole >= 3600)
        (void)snprintf(out, capacity, "%uh %02um", whole / 3600, whole / 60 % 60);
    else if (whole >= 60)
        (void)snprintf(out, capacity, "%um %02us", whole / 60, whole % 60);
    else
        (void)snprintf(out, capacity, "%us", whole);
}

static void write_line(char line[LINE_CAPACITY], const struct progress *progress,
                       double passed_s)
{
    char left[32];
    double share = share_of(progress);
    int length = snprintf(line, LINE_CAPACITY, "mcds: %" PRIu64 " %s %s", progress->count,
                          progress->unit, progress->done);
    if (share >= 0 && share <= 1)
        length += snprintf(line + length, (size_t)(LINE_CAPACITY - length), " (%.0f %%)",
                           100 * share);
    length += snprintf(line + length, (size_t)(LINE_CAPACITY - length), ", %.0f each second",
                       (double)progress->count / passed_s);
    double left_s = share > 0 ? passed_s * (1 - share) / share : LEFT_MAX_S;
    if (left_s < 0 || left_s >= LEFT_MAX_S)
        return;
    write_time(left, sizeof left, left_s);
    (void)snprintf(line + length, (size_t)(LINE_CAPACITY - length), ", %s left", left);
}

static void show(struct progress *progress, int64_t now)
{
    struct terminal terminal;
    char line[LINE_CAPACITY];
    write_line(line, progress, (double)(now - progress->began_ns) / 1e9);
    terminal_look(&terminal, STDERR_FILENO, WHEN_AUTO);
    size_t length = strlen(line);
    if (length + 1 > terminal.columns) /* a line that wraps cannot be erased */
        length = terminal.columns - 1;
    size_t rest = progress->width > length ? progress->width - length : 0;
    (void)fprintf(stderr, "\r%.*s%*s", (int)length, line, (int)rest, "");
    (void)fflush(stderr);
    progress->width = length + rest;
    progress->shown_ns = now;
    shown = progress;
}

void progress_count(struct progress *progress, uint64_t more)
{
    progress->count += more;
    if (!progress->is_wanted)
        return;
    int64_t now = clock_ns();
    if (now - progress->began_ns >= FIRST_NS && now - progress->shown_ns >= EACH_NS)
        show(progress, now);
}

void progress_clear(void)
{
    if (shown == NULL)
        return;
    (void)fprintf(stderr, "\r%*s\r", (int)shown->width, "");
    (void)fflush(stderr);
    shown->width = 0;
    shown = NULL;
}

void progress_end(struct progress *progress)
{
    if (shown == progress)
        progress_clear();
    progress->is_wanted = false;
}
