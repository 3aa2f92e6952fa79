/* What a run found, for people and for programs. */
#include "report.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "json.h"

#define TOP_PAGES 10
#define PAGE_COLUMNS 48
#define BAR_COLUMNS 24

void report_json(FILE *out, const struct report *report)
{
    const struct totals *totals = report->totals;
    (void)fprintf(out, "{\"lines\":%" PRIu64 ",\"malformed\":%" PRIu64 ",\"views\":{",
                  totals->lines, totals->malformed);
    for (uint32_t i = 0; i < report->pages->count; i++) {
        const struct page *page = &report->pages->at[i];
        (void)fputs(i > 0 ? "," : "", out);
        json_string(out, (struct text){page->bytes, page->length});
        (void)fprintf(out, ":%" PRIu64, page->views);
    }
    (void)fprintf(out, "},\"pages\":%u,\"visitors\":%" PRIu64 ",\"errors\":%" PRIu64,
                  (unsigned)report->pages->count, totals->visitors, totals->errors);
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

static void print_pages(FILE *out, const struct pages *pages)
{
    uint32_t shown = pages->count < TOP_PAGES ? pages->count : TOP_PAGES;
    (void)fprintf(out, "\n%10s  page\n", "views");
    for (uint32_t i = 0; i < shown; i++) {
        const struct page *page = &pages->at[i];
        (void)fprintf(out, "%10" PRIu64 "  ", page->views);
        int taken = print_safely(out, (struct text){page->bytes, page->length}, PAGE_COLUMNS);
        (void)fprintf(out, "%*s", PAGE_COLUMNS + 2 - taken, "");
        print_bar(out, page->views, pages->at[0].views);
    }
    if (pages->count > shown)
        (void)fprintf(out, "%10s  and %u more pages\n", "", (unsigned)(pages->count - shown));
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
        (void)fprintf(out, "%*s", PAGE_COLUMNS + 2 - 10, "");
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
    (void)fprintf(out, "%" PRIu64 " lines in %.2f s (%.0f lines/s), %u process%s, %s\n",
                  report->own_lines, report->seconds,
                  report->seconds > 0 ? (double)report->own_lines / report->seconds : 0.0,
                  (unsigned)report->workers, report->workers == 1 ? "" : "es",
                  report->figures->uri);
    if (totals->lines != report->own_lines)
        (void)fprintf(out, "with what '%s' had before: %" PRIu64 " lines\n",
                      report->figures->name, totals->lines);
    print_pages(out, report->pages);
    print_days(out, details);
    (void)fprintf(out, "\n%10" PRIu64 "  visitors (distinct client hosts)\n", totals->visitors);
    if (details->online_peak_ms != 0) {
        (void)fprintf(out, "%10" PRIu64 "  online at most, in the %d minutes up to ",
                      details->online_peak, FIGURES_ONLINE_BUCKETS);
        print_time(out, "%Y-%m-%d %H:%M UTC\n", details->online_peak_ms);
    }
    (void)fprintf(out, "%10" PRIu64 "  errors (status 400 and more)\n", totals->errors);
    (void)fprintf(out, "%10" PRIu64 "  malformed lines%s\n", totals->malformed,
                  report->summary->sample_count > 0 ? ", the first of them:" : "");
    print_samples(out, report);
    if (report->summary->uncertain > 0)
        (void)fprintf(out, "%10" PRIu64 "  uncertain: the reply was lost, counted or not\n",
                      report->summary->uncertain);
}
