/* Tally: the outcomes of the lines of standard input, or of the operations of one command line, for
 * the case that the store fails or a signal ends them. */
#include "run/tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/exit.h"

/* The numbers of one sentence. */
#define NUMBERS_CAPACITY 800
#define RANGE_CAPACITY 64

/* Where a range reaches the next one, they become one. */
static void join_next(struct line_ranges *ranges, size_t at)
{
    if (at + 1 == ranges->count || ranges->of[at].last + 1 != ranges->of[at + 1].first)
        return;
    ranges->of[at].last = ranges->of[at + 1].last;
    ranges->count--;
    memmove(&ranges->of[at + 1], &ranges->of[at + 2],
            (ranges->count - at - 1) * sizeof ranges->of[0]);
}

static void add_lines(struct line_ranges *ranges, unsigned long first, unsigned long last)
{
    size_t at = ranges->count;
    while (at > 0 && ranges->of[at - 1].first > first)
        at--;
    if (at > 0 && ranges->of[at - 1].last + 1 == first) {
        ranges->of[at - 1].last = last;
        join_next(ranges, at - 1);
        return;
    }
    if (at < ranges->count && ranges->of[at].first == last + 1) {
        ranges->of[at].first = first;
        return;
    }
    if (ranges->count == LINE_RANGES_MAX) {
        ranges->is_cut = true;
        return;
    }
    memmove(&ranges->of[at + 1], &ranges->of[at], (ranges->count - at) * sizeof ranges->of[0]);
    ranges->of[at].first = first;
    ranges->of[at].last = last;
    ranges->count++;
}

void tally_failed(struct tally *tally, unsigned long line, uint64_t lines, int result)
{
    if (lines == 0)
        return;
    bool is_doubtful = result == MCDS_AMBIGUOUS;
    tally->doubtful_count += is_doubtful ? lines : 0;
    add_lines(is_doubtful ? &tally->doubtful : &tally->failed, line,
              line + (unsigned long)lines - 1);
}

int tally_status(const struct tally *tally, int status)
{
    return tally->doubtful_count > 0 ? STATUS_AMBIGUOUS : status;
}

static size_t write_range(char out[RANGE_CAPACITY], unsigned long first, unsigned long last)
{
    int length = first == last ? snprintf(out, RANGE_CAPACITY, "%lu", first)
                               : snprintf(out, RANGE_CAPACITY, "%lu-%lu", first, last);
    return (size_t)length;
}

/* Prints the numbers in as many sentences as they need. */
static void print_lines(const struct line_ranges *ranges, const struct output *output,
                        const char *what)
{
    char numbers[NUMBERS_CAPACITY];
    size_t length = 0;
    for (size_t i = 0; i < ranges->count; i++) {
        char range[RANGE_CAPACITY];
        if (length + write_range(range, ranges->of[i].first, ranges->of[i].last) + 3 >
            sizeof numbers) {
            complain(output, "standard input: %s: lines %s", what, numbers);
            length = 0;
        }
        length += (size_t)snprintf(numbers + length, sizeof numbers - length, "%s%s",
                                   length > 0 ? ", " : "", range);
    }
    if (ranges->count > 0)
        complain(output, "standard input: %s: lines %s%s", what, numbers,
                 ranges->is_cut ? ", and others" : "");
}

/* `units` is that and "was" or "were". */
static void print_counts(const struct tally *tally, const struct output *output,
                         const char *what, const char *units)
{
    if (tally->doubtful_count > 0)
        complain(output,
                 "%s: %" PRIu64 " %s carried out; %" PRIu64
                 " may have been, or may still be: check before you repeat",
                 what, tally->done, units, tally->doubtful_count);
    else
        complain(output, "%s: %" PRIu64 " %s carried out", what, tally->done, units);
}

void tally_complain(const struct tally *tally, const struct output *output, unsigned long last)
{
    if (tally->done == 0 && tally->doubtful_count == 0)
        return;
    print_counts(tally, output, "standard input", tally->done == 1 ? "line was" : "lines were");
    print_lines(&tally->doubtful, output, "in doubt");
    print_lines(&tally->failed, output, "not carried out");
    if (last > 0)
        complain(output, "standard input: no line after line %lu was tried", last);
}

void tally_complain_operations(const struct tally *tally, const struct output *output,
                               const char *what, const char *untried)
{
    print_counts(tally, output, what, tally->done == 1 ? "operation was" : "operations were");
    if (untried != NULL)
        complain(output, "%s: '%.200s' was not tried, nor anything after it", what, untried);
}
