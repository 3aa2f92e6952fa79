/* mcds top: a live view of a store, or one reading of it for a script.
 *
 *   reading --view--> screen <--keys
 *   reading, reading --> lines or objects */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch/listing.h"
#include "io/clock.h"
#include "io/exit.h"
#include "io/outage.h"
#include "io/report.h"
#include "nouns/lock.h"
#include "parse/values.h"
#include "table/commands.h"
#include "table/nouns.h"
#include "terminal/screen.h"
#include "top/view.h"
#include "watch/read_copy.h"

#define INTERVAL_MS 1000
#define KEY_DELETE 127

struct top {
    struct session *session;
    const struct command *command;
    struct reading reading;
    struct view view;
    struct outage outage; /* of a reading after the other, in a script */
    bool must_read;       /* before the interval is over */
};

static int refuse(const struct top *top, int status, const char *result, const char *sentence)
{
    report_failure(&top->session->output, top->command, status, result, sentence);
    return status;
}

static void type_into_filter(struct view *view, int key)
{
    size_t length = strlen(view->filter);
    if (key == '\r' || key == '\n')
        view->is_typing = false;
    else if (key == KEY_ESCAPE)
        view->filter[0] = '\0';
    if (key == KEY_ESCAPE)
        view->is_typing = false;
    else if ((key == KEY_DELETE || key == '\b') && length > 0)
        view->filter[length - 1] = '\0';
    else if (key >= ' ' && key < KEY_NONE + 256 && key != KEY_DELETE &&
             length + 1 < sizeof view->filter) {
        view->filter[length] = (char)key;
        view->filter[length + 1] = '\0';
    }
}

static void scroll(struct view *view, int key)
{
    size_t page = view->page;
    if (key == KEY_UP || key == KEY_PAGE_UP) {
        size_t lines = key == KEY_UP ? 1 : page;
        view->skipped = view->skipped > lines ? view->skipped - lines : 0;
    } else if (key == KEY_DOWN || key == KEY_PAGE_DOWN) {
        view->skipped += key == KEY_DOWN ? 1 : page; /* the drawing limits it */
    }
}

/* False: the user ends it. */
static bool obey(struct top *top, int key)
{
    struct view *view = &top->view;
    if (view->is_typing && key != KEY_REDRAW) {
        type_into_filter(view, key);
        return true;
    }
    switch (key) {
    case 'q':
        return false;
    case 'p':
    case ' ':
        view->is_paused = !view->is_paused;
        break;
    case 's':
        view->sorted = (view->sorted + 1) % SORTED_COUNT;
        break;
    case '/':
        view->is_typing = true;
        break;
    case 'l':
        reading_next_log(&top->reading);
        top->must_read = true;
        break;
    default:
        scroll(view, key);
    }
    return true;
}

/* False: standard output cannot be written. */
static bool draw(struct top *top)
{
    struct terminal terminal;
    terminal_look(&terminal, STDOUT_FILENO,
                  (enum when)number_of(top->command, OPTION_COLOR, WHEN_AUTO));
    view_draw(&top->view, &top->reading, &terminal);
    return output_pass_on(&top->session->output);
}

/* The rows of a server that does not answer take time, so the screen names it before. */
static bool read_and_draw(struct top *top)
{
    bool is_drawn = !reading_take_figures(&top->reading) || draw(top);
    reading_take_rows(&top->reading);
    return is_drawn;
}

/* Draws at the beginning, and after each reading and each key. Returns the exit code. */
static int live(struct top *top)
{
    int64_t next_ms = 0;
    if (!draw(top))
        return STATUS_IO;
    for (;;) {
        if ((clock_ms() >= next_ms && !top->view.is_paused) || top->must_read) {
            if (!read_and_draw(top))
                return STATUS_IO;
            next_ms = clock_ms() + (int64_t)top->view.interval_ms;
            top->must_read = false;
        }
        if (top->reading.is_out_of_memory)
            return STATUS_INTERNAL;
        if (!draw(top))
            return STATUS_IO;
        int64_t left_ms = next_ms - clock_ms();
        int wait_ms = top->view.is_paused || left_ms > INTERVAL_MS ? INTERVAL_MS
                      : left_ms > 0                                ? (int)left_ms
                                                                   : 0;
        int key = screen_key(wait_ms);
        if (key == KEY_GONE)
            return STATUS_IO;
        if (!obey(top, key))
            return STATUS_DONE;
    }
}

static int run_live(struct top *top)
{
    const char *kind = getenv("TERM");
    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
        return refuse(top, STATUS_USAGE, "MCDS_INVALID",
                      "top: no terminal; --once prints one reading, --json prints objects");
    if (kind == NULL || strcmp(kind, "dumb") == 0)
        return refuse(top, STATUS_USAGE, "MCDS_INVALID",
                      "top: this terminal cannot be redrawn (TERM); --once prints one reading");
    if (!screen_open())
        return refuse(top, STATUS_IO, "MCDS_IO", "top: the terminal cannot be set");
    int status = live(top);
    screen_close();
    if (status == STATUS_INTERNAL)
        return refuse(top, status, "MCDS_NO_MEMORY", "top: out of memory");
    return status;
}

static void put_time(struct output *output)
{
    char at[MOMENT_CAPACITY];
    format_moment(clock_wall_ms(), at);
    output_text(output, "time", at, HIDDEN);
}

/* A field of a plain line that may be missing. */
static void put_dash(struct output *output, bool is_known)
{
    if (!is_known && !output->json)
        output_text(output, "", "-", SHOWN);
}

static void put_rate(struct output *output, bool is_known, double rate)
{
    if (is_known)
        output_real(output, "rate", rate, SHOWN);
    put_dash(output, is_known);
}

static void print_figure(struct output *output, const struct figure *figure)
{
    output_begin(output);
    put_time(output);
    output_text(output, output->json ? "figure" : "", figure->name, SHOWN);
    output_name(output, "subject", figure->subject, SHOWN);
    output_unsigned(output, "value", figure->number, SHOWN);
    put_rate(output, figure->has_rate, figure->rate);
    put_dash(output, false);
    put_dash(output, false);
    output_end(output);
}

/* The value is the number of waiting jobs. */
static void put_other_jobs(struct output *output, const mcds_queue_counts *jobs)
{
    output_unsigned(output, "delayed", jobs->delayed, HIDDEN);
    output_unsigned(output, "claimed", jobs->claimed, HIDDEN);
    output_unsigned(output, "dead", jobs->dead, HIDDEN);
}

static void print_row(struct output *output, const struct row *row)
{
    bool is_timed = row->left_ms >= 0;
    const char *label = row->answer.holder.label;
    output_begin(output);
    put_time(output);
    output_text(output, "noun", row->command.noun->word, SHOWN);
    output_name(output, "name", row->name, SHOWN);
    if (row->holder != NULL)
        lock_print_mode(output, &row->answer.holder);
    else if (row->has_number)
        output_copy(output, "value", row->value);
    put_dash(output, row->holder != NULL || row->has_number);
    if (row->has_number && row->command.noun->open == queue_open)
        put_other_jobs(output, &row->answer.jobs);
    put_rate(output, row->has_rate, row->rate);
    if (is_timed && output->json)
        output_number(output, "remaining_ms", row->left_ms, SHOWN);
    else if (is_timed)
        output_real(output, "", (double)row->left_ms / 1000, SHOWN);
    put_dash(output, is_timed);
    if (row->holder != NULL)
        output_name(output, "holder", label[0] != '\0' ? label : "-", SHOWN);
    put_dash(output, row->holder != NULL);
    output_end(output);
}

/* False: out of memory. */
static bool print_all(struct top *top)
{
    size_t count = 0;
    struct output *output = &top->session->output;
    const struct row **rows = view_order(&top->view, &top->reading, &count);
    for (size_t i = 0; i < top->reading.figure_count; i++)
        if (top->reading.figures[i].is_current)
            print_figure(output, &top->reading.figures[i]);
    for (size_t i = 0; rows != NULL && i < count && output_is_fine(output); i++)
        print_row(output, rows[i]);
    free(rows);
    return rows != NULL && !top->reading.is_out_of_memory;
}

/* False: standard output has no reader any more. */
static bool pause_of(const struct top *top)
{
    struct pollfd reader = {STDOUT_FILENO, 0, 0};
    return poll(&reader, 1, (int)top->view.interval_ms) <= 0 ||
           (reader.revents & (POLLERR | POLLNVAL)) == 0;
}

/* Reports why a part of the store was not read, or all of it; once, while readings follow. */
static int report_trouble(struct top *top)
{
    char sentence[SENTENCE_MAX];
    int result = top->reading.trouble_result;
    struct output *output = &top->session->output;
    if (top->reading.trouble[0] == '\0') {
        outage_end(&top->outage, output);
        return STATUS_DONE;
    }
    (void)snprintf(sentence, sizeof sentence, "top: %s", top->reading.trouble);
    if (!is_given(top->command, OPTION_ONCE)) {
        outage_begin(&top->outage, output, sentence);
        return STATUS_DONE;
    }
    return refuse(top, status_of(result), mcds_result_name(result), sentence);
}

/* The first reading has no rates. */
static int run_for_script(struct top *top)
{
    struct output *output = &top->session->output;
    bool is_once = is_given(top->command, OPTION_ONCE);
    reading_take(&top->reading);
    if (is_once && reading_is_silent(&top->reading))
        return report_trouble(top);
    for (;;) {
        if (!pause_of(top))
            return STATUS_DONE;
        reading_take(&top->reading);
        if (!print_all(top))
            return refuse(top, STATUS_INTERNAL, "MCDS_NO_MEMORY", "top: out of memory");
        int status = report_trouble(top);
        if (is_once)
            return status;
        if (!output_flush(output))
            return STATUS_IO;
    }
}

int top_run(struct session *session, const struct command *command)
{
    const struct noun *wanted;
    int status = listing_find_noun(session, command, &wanted);
    if (status != STATUS_DONE)
        return status;
    struct top *top = calloc(1, sizeof *top);
    if (top == NULL)
        return STATUS_INTERNAL;
    top->session = session;
    top->command = command;
    top->view.interval_ms = number_of(command, OPTION_INTERVAL, INTERVAL_MS);
    bool is_live = !is_given(command, OPTION_ONCE) && !session->output.json;
    status = session_open_store(session);
    if (status == STATUS_DONE && !is_given(command, OPTION_ONCE))
        status = refuse_copy(session, command);
    if (status == STATUS_DONE && !reading_open(&top->reading, session, command))
        status = refuse(top, STATUS_INTERNAL, "MCDS_NO_MEMORY", "top: out of memory");
    else if (status == STATUS_DONE)
        status = is_live ? run_live(top) : run_for_script(top);
    reading_close(&top->reading);
    free(top);
    return status;
}
