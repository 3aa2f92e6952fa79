/* What a run found, for people and for programs. */
#include "report.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "json.h"

#define TOP_NAMES 10
#define NAME_COLUMNS 48
#define BAR_COLUMNS 24
#define ERROR_COLUMNS 100

static struct text text_of(const struct name *name)
{
    return (struct text){name->bytes, name->length};
}

static void json_names(FILE *out, const struct names *names)
{
    (void)fputc('{', out);
    for (uint32_t i = 0; i < names->count; i++) {
        (void)fputs(i > 0 ? "," : "", out);
        json_string(out, text_of(&names->at[i]));
        (void)fprintf(out, ":%" PRIu64, names->at[i].count);
    }
    (void)fputc('}', out);
}

static void json_largest(FILE *out, const struct top *top)
{
    (void)fputc('[', out);
    for (uint32_t i = 0; i < top->count; i++) {
        const struct response *response = &top->at[i];
        (void)fprintf(out, "%s{\"size\":%" PRIu64 ",\"page\":", i > 0 ? "," : "",
                      response->size);
        json_string(out, (struct text){response->page, strlen(response->page)});
        (void)fputc('}', out);
    }
    (void)fputc(']', out);
}

void report_json(FILE *out, const struct report *report)
{
    const struct totals *totals = report->totals;
    const struct finds *finds = report->finds;
    (void)fprintf(out,
                  "{\"lines\":%" PRIu64 ",\"malformed\":%" PRIu64 ",\"views\":", totals->lines,
                  totals->malformed);
    json_names(out, report->pages);
    (void)fprintf(out, ",\"pages\":%u,\"visitors\":%" PRIu64 ",\"errors\":%" PRIu64,
                  (unsigned)report->pages->count, totals->visitors, totals->errors);
    (void)fprintf(out, ",\"error_log\":%" PRIu64 ",\"hosts\":", finds->logged);
    json_names(out, &finds->hosts);
    (void)fprintf(out, ",\"referrers\":%" PRIu64 ",\"largest\":", finds->referrers);
    json_largest(out, &finds->largest);
    if (report->summary->uncertain > 0)
        (void)fprintf(out, ",\"uncertain\":%" PRIu64, report->summary->uncertain);
    (void)fputs("}\n", out);
}

/* At most `columns` bytes of the text, what a terminal would act on as \xNN, `...` for the
 * rest. Returns the columns taken. */
static int print_safely(FILE *out, struct text text, int columns)
{
    int taken = 0;
    for (size_t i = 0; i < text.length; i++) {
        uint8_t byte = (uint8_t)text.at[i];
        int width = byte >= 0x20 && byte < 0x7f ? 1 : 4;
        if (taken + width > columns - 3 && i + 1 < text.length)
            return taken + fprintf(out, "...");
        taken += fprintf(out, width == 1 ? "%c" : "\\x%02x", byte);
    }
    return taken;
}

static void print_bar(FILE *out, uint64_t value, uint64_t most)
{
    int length = most > 0 ? (int)((double)value * BAR_COLUMNS / (double)most + 0.5) : 0;
    if (length == 0 && value > 0)
        length = 1;
    for (int i = 0; i < length; i++)
        (void)fputc('#', out);
    (void)fputc('\n', out);
}

/* The first of a sorted kind. */
static void print_names(FILE *out, const struct names *names, const char *what, const char *one,
                        const char *many)
{
    uint32_t shown = names->count < TOP_NAMES ? names->count : TOP_NAMES;
    if (names->count == 0)
        return;
    (void)fprintf(out, "\n%10s  %s\n", what, one);
    for (uint32_t i = 0; i < shown; i++) {
        const struct name *name = &names->at[i];
        (void)fprintf(out, "%10" PRIu64 "  ", name->count);
        int taken = print_safely(out, text_of(name), NAME_COLUMNS);
        (void)fprintf(out, "%*s", NAME_COLUMNS + 2 - taken, "");
        print_bar(out, name->count, names->at[0].count);
    }
    if (names->count > shown)
        (void)fprintf(out, "%10s  and %u more %s\n", "", (unsigned)(names->count - shown),
                      many);
}

static void print_largest(FILE *out, const struct top *top)
{
    if (top->count > 0)
        (void)fprintf(out, "\n%10s  largest responses\n", "bytes");
    for (uint32_t i = 0; i < top->count; i++) {
        const struct response *response = &top->at[i];
        (void)fprintf(out, "%10" PRIu64 "  ", response->size);
        (void)print_safely(out, (struct text){response->page, strlen(response->page)},
                           NAME_COLUMNS);
        (void)fputc('\n', out);
    }
}

static void print_errors(FILE *out, const struct finds *finds)
{
    for (uint32_t i = 0; i < finds->error_count; i++) {
        (void)fprintf(out, "%12s", "");
        (void)print_safely(out, finds->errors[i], ERROR_COLUMNS);
        (void)fputc('\n', out);
    }
}

static void print_time(FILE *out, const char *format, int64_t at_ms)
{
    char text[64];
    time_t at_s = (time_t)(at_ms / 1000);
    struct tm parts;
    if (gmtime_r(&at_s, &parts) != NULL && strftime(text, sizeof text, format, &parts) > 0)
        (void)fputs(text, out);
}

static void print_days(FILE *out, const struct details *details)
{
    if (details->day_count == 0)
        return;
    uint64_t most = 0;
    for (uint32_t i = 0; i < details->day_count; i++)
        if (details->days[i].visitors > most)
            most = details->days[i].visitors;
    (void)fprintf(out, "\n%10s  day (UTC)\n", "visitors");
    for (uint32_t i = 0; i < details->day_count; i++) {
        (void)fprintf(out, "%10" PRIu64 "  ", details->days[i].visitors);
        print_time(out, "%Y-%m-%d", details->days[i].at_ms);
        (void)fprintf(out, "%*s", NAME_COLUMNS + 2 - 10, "");
        print_bar(out, details->days[i].visitors, most);
    }
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static void print_samples(FILE *out, const struct report *report)
{
    const struct summary *summary = report->summary;
    for (uint32_t i = 0; i < summary->sample_count; i++) {
        const struct sample *sample = &summary->samples[i];
        (void)fprintf(out, "            %s:%" PRIu64 ": %s: ",
                      last_part(report->paths[sample->file]), sample->line, sample->reason);
        (void)print_safely(out, (struct text){sample->excerpt, sample->excerpt_length},
                           TALLY_EXCERPT);
        (void)fputc('\n', out);
    }
}

void report_people(FILE *out, const struct report *report)
{
    const struct totals *totals = report->totals;
    const struct details *details = report->details;
    const struct finds *finds = report->finds;
    (void)fprintf(out, "%" PRIu64 " lines in %.2f s (%.0f lines/s), %u process%s, %s\n",
                  report->own_lines, report->seconds,
                  report->seconds > 0 ? (double)report->own_lines / report->seconds : 0.0,
                  (unsigned)report->workers, report->workers == 1 ? "" : "es",
                  report->figures->uri);
    if (totals->lines != report->own_lines)
        (void)fprintf(out, "with what '%s' had before: %" PRIu64 " lines\n",
                      report->figures->name, totals->lines);
    print_names(out, report->pages, "views", "page", "pages");
    print_names(out, &finds->hosts, "requests", "client host", "hosts");
    print_largest(out, &finds->largest);
    print_days(out, details);
    (void)fprintf(out, "\n%10" PRIu64 "  visitors (distinct client hosts)\n", totals->visitors);
    if (details->online_peak_ms != 0) {
        (void)fprintf(out, "%10" PRIu64 "  online at most, in the %d minutes up to ",
                      details->online_peak, FIGURES_ONLINE_BUCKETS);
        print_time(out, "%Y-%m-%d %H:%M UTC\n", details->online_peak_ms);
    }
    if (finds->referrers > 0)
        (void)fprintf(out, "%10" PRIu64 "  referrers (distinct)\n", finds->referrers);
    (void)fprintf(out, "%10" PRIu64 "  errors (status 400 and more)%s\n", totals->errors,
                  finds->error_count > 0 ? ", the latest of them:" : "");
    print_errors(out, finds);
    (void)fprintf(out, "%10" PRIu64 "  malformed lines%s\n", totals->malformed,
                  report->summary->sample_count > 0 ? ", the first of them:" : "");
    print_samples(out, report);
    if (report->summary->uncertain > 0)
        (void)fprintf(out, "%10" PRIu64 "  uncertain: the reply was lost, counted or not\n",
                      report->summary->uncertain);
}
