/* Prints the rows of all comparisons, for people and for programs. */
#include "comparison.h"

static void print_rate(FILE *out, double rate)
{
    if (rate >= 1e6)
        (void)fprintf(out, " %7.2f M", rate / 1e6);
    else if (rate >= 1e4)
        (void)fprintf(out, " %7.1f k", rate / 1e3);
    else
        (void)fprintf(out, " %7.0f  ", rate);
}

static void print_row(FILE *out, const struct row *row)
{
    (void)fprintf(out, "%-54s %-30s ", row->work, row->against);
    if (row->skipped[0] != '\0') {
        (void)fprintf(out, "skipped: %s\n", row->skipped);
        return;
    }
    (void)fprintf(out, "%7.2f %7.2f - %-7.2f", row->ratio, row->ratio_min, row->ratio_max);
    if (row->goal > 0)
        (void)fprintf(out, " %5.2f %-4s", row->goal, row->ratio >= row->goal ? "met" : "MISS");
    else
        (void)fprintf(out, " %5s %-4s", "", "");
    print_rate(out, row->rate[0]);
    print_rate(out, row->rate[1]);
    (void)fprintf(out, " %8.2f %8.2f\n", row->cpu_us[0], row->cpu_us[1]);
}

void table_print(FILE *out, const struct bench *bench)
{
    (void)fprintf(
        out,
        "%u rounds of %.2f s; ratio: mcds to the other, more is better (of CPU: the other "
        "to mcds);\nrates in operations per second; cpu: the client's microseconds per "
        "operation\n\n",
        (unsigned)bench->rounds, bench->round_s);
    (void)fprintf(out, "%-54s %-30s %7s %17s %10s %9s %9s %8s %8s\n", "work", "against",
                  "ratio", "smallest - largest", "goal", "mcds", "other", "cpu", "other");
    for (uint32_t i = 0; i < bench->row_count; i++)
        print_row(out, &bench->rows[i]);
}

/* The names are ours: no byte in them needs an escape. */
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
