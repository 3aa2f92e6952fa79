/* Prints the rows of all comparisons, for people and for programs. */
#include "comparison.h"

#include <string.h>

static void print_rate(FILE *out, double rate)
{
    if (rate >= 1e6)
        (void)fprintf(out, " %7.2f M", rate / 1e6);
    else if (rate >= 1e4)
        (void)fprintf(out, " %7.1f k", rate / 1e3);
    else
        (void)fprintf(out, " %7.0f  ", rate);
}

/* On one processor the ratio does not depend on where the system wakes a thread, so it is printed
 * first. */
static const char on_one[] = ", one CPU";

/* The name of the work without the processor. Returns whether it had one. */
static bool name_work(const struct row *row, char *out, size_t capacity)
{
    const char *found = strstr(row->work, on_one);
    size_t length = found != NULL ? (size_t)(found - row->work) : strlen(row->work);
    (void)snprintf(out, capacity, "%.*s%s", (int)length, row->work,
                   found != NULL ? found + strlen(on_one) : "");
    return found != NULL;
}

/* Find the row of the same work and contestant: on one processor if `one`, otherwise on all. NULL
 * if there is none. */
static const struct row *find_row(const struct bench *bench, const struct row *like, bool one)
{
    char wanted[sizeof like->work];
    char work[sizeof like->work];
    (void)name_work(like, wanted, sizeof wanted);
    for (uint32_t i = 0; i < bench->row_count; i++)
        if (name_work(&bench->rows[i], work, sizeof work) == one && strcmp(work, wanted) == 0 &&
            strcmp(bench->rows[i].against, like->against) == 0)
            return &bench->rows[i];
    return NULL;
}

static void print_ratio(FILE *out, const struct row *row)
{
    if (row == NULL || row->skipped[0] != '\0') {
        (void)fprintf(out, "%7s %17s %10s", "", "", "");
        return;
    }
    (void)fprintf(out, "%7.2f %7.2f - %-7.2f", row->ratio, row->ratio_min, row->ratio_max);
    if (row->goal > 0)
        (void)fprintf(out, " %5.2f %-4s", row->goal, row->ratio >= row->goal ? "met" : "MISS");
    else
        (void)fprintf(out, " %5s %-4s", "", "");
}

/* Print the ratios of `row` and of its work on the other number of processors. The rates are those of
 * `row`. */
static void print_row(FILE *out, const struct bench *bench, const struct row *row)
{
    char work[sizeof row->work];
    bool one = name_work(row, work, sizeof work);
    const struct row *other = find_row(bench, row, !one);
    (void)fprintf(out, "%-50s %-30s ", work, row->against);
    if (row->skipped[0] != '\0') {
        (void)fprintf(out, "skipped: %s\n", row->skipped);
        return;
    }
    print_ratio(out, one ? row : other);
    print_ratio(out, one ? other : row);
    print_rate(out, row->rate[0]);
    print_rate(out, row->rate[1]);
    (void)fprintf(out, " %8.2f %8.2f\n", row->cpu_us[0], row->cpu_us[1]);
}

/* Whether print_row() prints `row` together with the row of the same work on one processor. */
static bool is_shown_by_other(const struct bench *bench, const struct row *row)
{
    const struct row *first = find_row(bench, row, true);
    return first != NULL && first != row && first->skipped[0] == '\0';
}

void table_print(FILE *out, const struct bench *bench)
{
    (void)fprintf(
        out,
        "%u rounds of %.2f s. A ratio is mcds divided by the other (of CPU: the other divided "
        "by mcds);\nmore is better. The first ratio is with client and servers on one "
        "processor, "
        "the second on all.\nRates (operations per second) and cpu (microseconds of the client "
        "per operation) belong to the\nfirst ratio that is shown.\n\n",
        (unsigned)bench->rounds, bench->round_s);
    (void)fprintf(out, "%-50s %-30s %7s %17s %10s %7s %17s %10s %9s %9s %8s %8s\n", "work",
                  "against", "one CPU", "smallest - largest", "goal", "all",
                  "smallest - largest", "goal", "mcds", "other", "cpu", "other");
    for (uint32_t i = 0; i < bench->row_count; i++)
        if (!is_shown_by_other(bench, &bench->rows[i]))
            print_row(out, bench, &bench->rows[i]);
}

/* The names are constants of this program. No byte in them needs an escape. */
static void write_row(FILE *out, const struct row *row)
{
    (void)fprintf(out,
                  "  {\"work\": \"%s\", \"against\": \"%s\", \"ratio\": %.4f, \"ratio_min\": "
                  "%.4f, \"ratio_max\": %.4f, \"goal\": ",
                  row->work, row->against, row->ratio, row->ratio_min, row->ratio_max);
    if (row->goal > 0)
        (void)fprintf(out, "%.4f", row->goal);
    else
        (void)fputs("null", out);
    (void)fputs(", \"higher_is_better\": true}", out);
}

bool table_write_json(const char *path, const struct bench *bench)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    const char *before = "[\n";
    for (uint32_t i = 0; i < bench->row_count; i++) {
        if (bench->rows[i].skipped[0] != '\0')
            continue;
        (void)fputs(before, out);
        write_row(out, &bench->rows[i]);
        before = ",\n";
    }
    (void)fputs(before[0] == '[' ? "[]\n" : "\n]\n", out);
    return fclose(out) == 0;
}
