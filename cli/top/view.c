/* View: draws a reading on the screen.
 *
 *   the store, the servers that do not answer, and the figures / titles / rows / the last events of a
 *   log / keys, or the trouble
 *
 * A line never reaches the last column: there it would wrap. A text that is cut ends with a sign. */
#include "top/view.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/clock.h"
#include "parse/values.h"
#include "table/nouns.h"
#include "terminal/width.h"

#define LINE_CAPACITY 4096
#define GAP 2
#define VALUE_WIDTH 11 /* these three at least: no digit of a number is cut */
#define RATE_WIDTH 9
#define LEFT_WIDTH 7
#define HOLDER_SHARE 6 /* a part in so many of the columns */
#define NAME_MIN 12
#define NOUN_WIDTH 9
#define FIGURES_SHARE 6 /* a part in so many of the lines */
#define EVENTS_SHARE 4
#define EVENTS_ROWS_MIN 12 /* a lower terminal has no room for them */

struct frame {
    const struct terminal *terminal;
    FILE *file;
    size_t lines;
    size_t name_width;
    size_t value_width;
    size_t rate_width;
    size_t left_width;
};

/* The bytes of a text that fit. In *sign_out, what follows them: "", or the sign of a cut. */
static size_t cut(const struct frame *frame, const char *text, size_t length, size_t columns,
                  const char **sign_out)
{
    size_t fit = text_fit(text, length, columns);
    *sign_out = "";
    if (fit == length)
        return length;
    const char *sign = frame->terminal->has_utf8 ? "\xe2\x80\xa6" : "...";
    size_t width = text_width(sign, strlen(sign));
    if (columns <= width)
        return fit;
    *sign_out = sign;
    return text_fit(text, length, columns - width);
}

/* Prints a line of less than LINE_CAPACITY bytes, cut to the columns. Characters that the terminal
 * would act on, or cannot show, are printed as \xHH. */
static void put_line(struct frame *frame, enum ink ink, const char *text)
{
    char line[4 * LINE_CAPACITY];
    const char *sign;
    size_t length = make_visible(text, !frame->terminal->has_utf8, line);
    while (length > 0 && line[length - 1] == ' ')
        length--;
    if (frame->lines >= frame->terminal->rows)
        return;
    length = cut(frame, line, length, frame->terminal->columns - 1, &sign);
    (void)fputs(frame->lines++ > 0 ? "\r\n" : "", frame->file);
    (void)fputs(ink_begin(frame->terminal, ink), frame->file);
    (void)fwrite(line, 1, length, frame->file);
    (void)fputs(sign, frame->file);
    (void)fputs(ink_end(frame->terminal, ink), frame->file);
    (void)fputs("\033[K", frame->file);
}

static void MCDS_PRINTF(3, 4)
    put_format(struct frame *frame, enum ink ink, const char *format, ...)
{
    char line[LINE_CAPACITY];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    put_line(frame, ink, line);
}

/* Appends a text in a column, cut or filled; a number on the right. */
static void add_cell(const struct frame *frame, char line[LINE_CAPACITY], const char *text,
                     size_t width, bool is_number)
{
    const char *sign;
    size_t at = strlen(line);
    size_t length = cut(frame, text, strlen(text), width, &sign);
    size_t pad = width - text_width(text, length) - text_width(sign, strlen(sign));
    if (at + length + strlen(sign) + pad + GAP >= LINE_CAPACITY)
        return;
    (void)snprintf(line + at, LINE_CAPACITY - at, "%*s%.*s%s%*s", is_number ? (int)pad : 0, "",
                   (int)length, text, sign, (int)(is_number ? GAP : pad + GAP), "");
}

static void write_rate(char out[32], bool is_known, double rate)
{
    if (!is_known)
        (void)snprintf(out, 32, "-");
    else if (fabs(rate) >= 1000 || rate == 0)
        (void)snprintf(out, 32, "%.0f", rate);
    else
        (void)snprintf(out, 32, "%.1f", rate);
}

static void write_left(char out[32], int64_t left_ms)
{
    if (left_ms < 0)
        (void)snprintf(out, 32, "-");
    else
        (void)snprintf(out, 32, "%.1fs", (double)left_ms / 1000);
}

static size_t holder_width(const struct terminal *terminal)
{
    return terminal->columns / HOLDER_SHARE;
}

static void widen(size_t *width, const char *text)
{
    size_t needed = text_width(text, strlen(text));
    *width = needed > *width ? needed : *width;
}

/* The widths of the columns: of the names as far as the others leave room. */
static void measure(struct frame *frame, const struct reading *reading)
{
    size_t widest = NAME_MIN;
    frame->value_width = VALUE_WIDTH;
    frame->rate_width = RATE_WIDTH;
    frame->left_width = LEFT_WIDTH;
    for (size_t i = 0; i < reading->count; i++) {
        const struct row *row = &reading->rows[i];
        char text[32];
        widen(&widest, row->shown);
        widen(&frame->value_width, row->value);
        write_rate(text, row->has_rate, row->rate);
        widen(&frame->rate_width, text);
        write_left(text, row->left_ms);
        widen(&frame->left_width, text);
    }
    size_t columns = frame->terminal->columns;
    size_t others = NOUN_WIDTH + frame->value_width + frame->rate_width + frame->left_width +
                    holder_width(frame->terminal) + 5 * GAP + 1;
    size_t most = columns > others + NAME_MIN ? columns - others : NAME_MIN;
    frame->name_width = widest < most ? widest : most;
}

static void put_row(struct frame *frame, const struct row *row)
{
    char line[LINE_CAPACITY] = "";
    char rate[32];
    char left[32];
    bool is_moving = row->has_rate && row->rate != 0;
    write_rate(rate, row->has_rate, row->rate);
    write_left(left, row->left_ms);
    add_cell(frame, line, row->command.noun->word, NOUN_WIDTH, false);
    add_cell(frame, line, row->shown, frame->name_width, false);
    add_cell(frame, line, row->value[0] != '\0' ? row->value : "-", frame->value_width, true);
    add_cell(frame, line, rate, frame->rate_width, true);
    add_cell(frame, line, left, frame->left_width, true);
    add_cell(frame, line, row->holder != NULL ? row->holder : "-",
             holder_width(frame->terminal), false);
    put_line(frame, row->holder != NULL ? INK_WARNING : is_moving ? INK_GOOD : INK_NONE, line);
}

static void put_titles(struct frame *frame, const struct view *view)
{
    char line[LINE_CAPACITY] = "";
    add_cell(frame, line, "noun", NOUN_WIDTH, false);
    add_cell(frame, line, view->sorted == SORTED_BY_NAME ? "name *" : "name", frame->name_width,
             false);
    add_cell(frame, line, view->sorted == SORTED_BY_VALUE ? "* value" : "value",
             frame->value_width, true);
    add_cell(frame, line, view->sorted == SORTED_BY_CHANGE ? "* each s" : "each s",
             frame->rate_width, true);
    add_cell(frame, line, "left", frame->left_width, true);
    add_cell(frame, line, "holder", holder_width(frame->terminal), false);
    put_line(frame, INK_TITLE, line);
}

static bool is_match(const char *filter, const struct row *row)
{
    if (filter[0] == '\0')
        return true;
    if (strpbrk(filter, "*?[") != NULL)
        return fnmatch(filter, row->name, 0) == 0;
    return strstr(row->name, filter) != NULL || strcmp(row->command.noun->word, filter) == 0;
}

static int compare_numbers(double a, double b)
{
    return (a < b) - (a > b);
}

/* A held lock ranks as a structure that changes most. */
static double change_of(const struct row *row)
{
    return row->holder != NULL ? INFINITY : row->has_rate ? fabs(row->rate) : -1;
}

/* The rows are in the order of noun and name, and so are their addresses. */
static int compare_places(const void *a, const void *b)
{
    const struct row *const *one = a;
    const struct row *const *other = b;
    return (*one > *other) - (*one < *other);
}

static int compare_changes(const void *a, const void *b)
{
    const struct row *const *one = a;
    const struct row *const *other = b;
    int order = compare_numbers(change_of(*one), change_of(*other));
    return order != 0 ? order : compare_places(a, b);
}

static int compare_values(const void *a, const void *b)
{
    const struct row *const *one = a;
    const struct row *const *other = b;
    int order = compare_numbers((*one)->has_number ? (*one)->number : -INFINITY,
                                (*other)->has_number ? (*other)->number : -INFINITY);
    return order != 0 ? order : compare_places(a, b);
}

const struct row **view_order(const struct view *view, const struct reading *reading,
                              size_t *count_out)
{
    const struct row **rows = calloc(reading->count + 1, sizeof rows[0]);
    *count_out = 0;
    for (size_t i = 0; rows != NULL && i < reading->count; i++)
        if (is_match(view->filter, &reading->rows[i]))
            rows[(*count_out)++] = &reading->rows[i];
    if (rows != NULL)
        qsort(rows, *count_out, sizeof rows[0],
              view->sorted == SORTED_BY_CHANGE  ? compare_changes
              : view->sorted == SORTED_BY_VALUE ? compare_values
                                                : compare_places);
    return rows;
}

/* Each server that does not answer, and since when. */
static void put_silent(struct frame *frame, const struct reading *reading)
{
    size_t most = frame->terminal->rows / FIGURES_SHARE;
    size_t count = 0;
    for (size_t i = 0; i < reading->server_count; i++) {
        const struct server *server = &reading->servers[i];
        char since[MOMENT_CAPACITY];
        if (!server->is_silent || count++ >= most)
            continue;
        format_moment(server->since_ms, since);
        put_format(frame, INK_BAD, "no answer since %s: %s", since, server->subject);
    }
    if (count > most && most > 0)
        put_format(frame, INK_BAD, "no answer of %zu other server%s", count - most,
                   count - most == 1 ? "" : "s");
}

static void put_figures(struct frame *frame, const struct reading *reading)
{
    size_t most = frame->terminal->rows / FIGURES_SHARE;
    for (size_t i = 0; i < reading->figure_count && i < most; i++) {
        const struct figure *figure = &reading->figures[i];
        char rate[32];
        write_rate(rate, figure->has_rate, figure->rate);
        if (strcmp(figure->name, "bytes") == 0 && !figure->is_current)
            put_format(frame, INK_NONE, "%s: - MB", figure->subject);
        else if (strcmp(figure->name, "bytes") == 0)
            put_format(frame, INK_NONE, "%s: %.1f MB", figure->subject,
                       (double)figure->number / (1 << 20));
        else
            put_format(frame, INK_NONE, "%s: %s %s each second", figure->subject, rate,
                       figure->name);
    }
    if (reading->figure_count > most && most > 0)
        put_format(frame, INK_DIM, "and %zu other figure%s", reading->figure_count - most,
                   reading->figure_count - most == 1 ? "" : "s");
}

/* The events that fit; the newest is the last. */
static void put_events(struct frame *frame, const struct reading *reading, size_t most)
{
    const char *starts[EVENTS_MAX];
    size_t count = 0;
    for (const char *at = reading->events; *at != '\0' && count < most; at++) {
        starts[count++] = at;
        at += strcspn(at, "\n");
    }
    const struct row *log = reading_find_log(reading);
    put_format(frame, INK_TITLE, "log %s", log != NULL ? log->shown : "");
    for (size_t i = count; i-- > 0;) {
        char line[LINE_CAPACITY];
        (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(starts[i], "\n"), starts[i]);
        char *tab = strchr(line, '\t');
        if (tab != NULL)
            *tab = ' ';
        put_line(frame, INK_NONE, line);
    }
}

/* Prints a sentence in as many lines as it needs, ended between words; with a NULL frame, none.
 * Returns the number of lines. */
static size_t put_wrapped(struct frame *frame, size_t columns, const char *text)
{
    size_t lines = 0;
    while (*text != '\0') {
        char line[LINE_CAPACITY];
        size_t length = text_fit(text, strlen(text), columns > 1 ? columns - 1 : 1);
        size_t end = length;
        while (text[length] != '\0' && end > 0 && text[end] != ' ')
            end--;
        length = end > 0 ? end : length > 0 ? length : strlen(text);
        (void)snprintf(line, sizeof line, "%.*s", (int)length, text);
        if (frame != NULL)
            put_line(frame, INK_BAD, line);
        lines++;
        text += length;
        text += strspn(text, " ");
    }
    return lines;
}

/* Why the store was not read, for the foot; "" where that has something else. */
static void write_trouble(char out[LINE_CAPACITY], const struct view *view,
                          const struct reading *reading)
{
    out[0] = '\0';
    if (!view->is_typing && reading->trouble[0] != '\0')
        (void)snprintf(out, LINE_CAPACITY, "waiting: %s", reading->trouble);
}

static size_t foot_lines(const struct frame *frame, const struct view *view,
                         const struct reading *reading)
{
    char trouble[LINE_CAPACITY];
    write_trouble(trouble, view, reading);
    return trouble[0] != '\0' ? put_wrapped(NULL, frame->terminal->columns, trouble) : 1;
}

/* Which rows of the list are shown, if they are not all. */
static void put_foot(struct frame *frame, const struct view *view,
                     const struct reading *reading, size_t count)
{
    char scroll[64] = "";
    if (count > view->page && view->page > 0)
        (void)snprintf(scroll, sizeof scroll, "  arrows: %zu to %zu of %zu", view->skipped + 1,
                       view->skipped + view->page, count);
    char trouble[LINE_CAPACITY];
    write_trouble(trouble, view, reading);
    if (view->is_typing)
        put_format(frame, INK_TITLE, "filter: %s_", view->filter);
    else if (trouble[0] != '\0')
        (void)put_wrapped(frame, frame->terminal->columns, trouble);
    else
        put_format(frame, INK_DIM, "q quit  p %s  s sort  / filter%s%s  l log%s",
                   view->is_paused ? "resume" : "pause", view->filter[0] != '\0' ? ": " : "",
                   view->filter, scroll);
}

/* The URI has a line of its own where the first has no room for it. */
static void put_head(struct frame *frame, const struct view *view,
                     const struct reading *reading)
{
    char at[MOMENT_CAPACITY];
    char interval[DURATION_CAPACITY];
    char head[LINE_CAPACITY];
    const char *ns = reading->command->store_ns;
    const char *uri = reading->session->uri;
    format_moment(clock_wall_ms(), at);
    format_duration(view->interval_ms, interval);
    char structures[64];
    if (reading->listed_ns == 0)
        (void)snprintf(structures, sizeof structures,
                       reading->count > 0 ? "%zu structures, not all" : "not listed yet",
                       reading->count);
    else
        (void)snprintf(structures, sizeof structures, "%zu structures%s", reading->listed,
                       reading->listed > ROWS_MAX ? ", the first 4096 are read" : "");
    (void)snprintf(head, sizeof head, "mcds top  %s  every %s%s  %s: %s", at, interval,
                   view->is_paused ? " (paused)" : "", ns != NULL ? ns : "mcds", structures);
    size_t width = text_width(head, strlen(head)) + GAP + text_width(uri, strlen(uri));
    if (width < frame->terminal->columns) {
        put_format(frame, INK_TITLE, "%s%*s%s", head, GAP, "", uri);
        return;
    }
    put_line(frame, INK_TITLE, head);
    put_format(frame, INK_TITLE, "%s", uri);
}

/* The rows of events: as many as there are, and at most a share of the lines. */
static size_t event_rows(const struct reading *reading, size_t lines)
{
    size_t count = 0;
    if (reading->events == NULL || lines < EVENTS_ROWS_MIN)
        return 0;
    for (const char *at = reading->events; *at != '\0' && count < lines / EVENTS_SHARE; at++) {
        count++;
        at += strcspn(at, "\n");
    }
    return count;
}

/* Rows of the list, and after them the events and the foot, up to the last line. Returns the number
 * of rows, also of those that are not shown. */
static size_t put_body(struct frame *frame, struct view *view, const struct reading *reading)
{
    size_t count = 0;
    const struct row **rows = view_order(view, reading, &count);
    size_t all = frame->terminal->rows;
    size_t events = event_rows(reading, all);
    size_t last = foot_lines(frame, view, reading);
    size_t foot = last + (events > 0 ? events + 1 : 0); /* with the title of the events */
    view->page = all > frame->lines + foot ? all - frame->lines - foot : 0;
    if (view->skipped + view->page > count)
        view->skipped = count > view->page ? count - view->page : 0;
    for (size_t i = view->skipped; i < view->skipped + view->page; i++)
        if (rows != NULL && i < count)
            put_row(frame, rows[i]);
        else
            put_line(frame, INK_NONE, "");
    free(rows);
    if (events > 0)
        put_events(frame, reading, events);
    while (frame->lines + last < all)
        put_line(frame, INK_NONE, "");
    return count;
}

void view_draw(struct view *view, const struct reading *reading,
               const struct terminal *terminal)
{
    struct frame frame = {.terminal = terminal};
    char *text = NULL;
    size_t length = 0;
    frame.file = open_memstream(&text, &length);
    if (frame.file == NULL)
        return;
    measure(&frame, reading);
    (void)fputs("\033[H", frame.file);
    put_head(&frame, view, reading);
    put_silent(&frame, reading);
    put_figures(&frame, reading);
    put_titles(&frame, view);
    size_t count = put_body(&frame, view, reading);
    put_foot(&frame, view, reading, count);
    if (fclose(frame.file) == 0)
        (void)fwrite(text, 1, length, stdout);
    free(text);
}
