/* Rows: what their structures have, read through one pipeline. */
#include "top/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/clock.h"
#include "io/exit.h"
#include "io/failure.h"
#include "nouns/lock.h"
#include "table/commands.h"
#include "table/nouns.h"

/* In one reading, opening rows whose server does not answer takes at most so long, and one timeout.
 * Later readings of a screen try other rows. */
#define OPENING_NS INT64_C(2000000000)
#define OPENING_ONCE_NS INT64_C(10000000000)

void rows_note_trouble(struct reading *reading, const struct command *command)
{
    char said[FAILURE_CAPACITY];
    if (reading->trouble[0] != '\0')
        return;
    describe_failure(said, command);
    reading->trouble_result = mcds_last_error()->result;
    (void)snprintf(reading->trouble, sizeof reading->trouble, "%.280s", said);
}

char *row_print_plain(const struct reading *reading, const char *name, const struct row *row)
{
    char *text = NULL;
    size_t length = 0;
    struct output output = {.ascii = reading->session->output.ascii};
    output.file = open_memstream(&text, &length);
    if (output.file == NULL)
        return NULL;
    output_begin(&output);
    if (name != NULL)
        output_name(&output, "", name, SHOWN);
    else
        row->command.verb->print(&output, &row->command, &row->answer, MCDS_OK);
    (void)fclose(output.file);
    return text;
}

static bool is_queue(const struct row *row)
{
    return row->command.noun->open == queue_open;
}

static bool must_read(const struct row *row, int64_t now_ns)
{
    bool takes_long = is_queue(row) || row->handle == NULL;
    return row->command.verb != NULL && (!takes_long || row->begun_ns == 0 ||
                                         now_ns - row->begun_ns >= WHOLE_SHARE * row->took_ns);
}

static void forget(struct row *row)
{
    row->value[0] = '\0';
    row->has_number = false;
    row->has_rate = false;
    row->left_ms = -1;
    free(row->holder);
    row->holder = NULL;
}

/* False: its server does not answer, which has taken a timeout. */
static bool open_row(struct reading *reading, struct row *row)
{
    int64_t now_ns = clock_ns();
    if (row->handle != NULL || !must_read(row, now_ns))
        return true;
    int result = row->command.noun->open(reading->session->store, &row->command, &row->handle);
    if (result == MCDS_OK)
        return true;
    row->begun_ns = now_ns;
    row->took_ns = clock_ns() - now_ns;
    if (is_unanswered(result))
        rows_note_trouble(reading, &row->command);
    return !is_unanswered(result);
}

static void start_row(struct reading *reading, size_t i)
{
    struct row *row = &reading->rows[i];
    int64_t now_ns = clock_ns();
    if (row->handle == NULL) {
        forget(row);
        return;
    }
    if (!must_read(row, now_ns))
        return;
    memset(&row->answer, 0, sizeof row->answer);
    row->passed_ns = row->begun_ns > 0 ? now_ns - row->begun_ns : 0;
    row->begun_ns = now_ns;
    int result = row->command.verb->start(row->handle, &row->command, &row->answer,
                                          reading->pipeline, i);
    if (result == MCDS_OK)
        return;
    forget(row);
    if (is_unanswered(result))
        rows_note_trouble(reading, &row->command);
}

static void take_value(struct reading *reading, struct row *row)
{
    char *text = row_print_plain(reading, NULL, row);
    reading->is_out_of_memory = reading->is_out_of_memory || text == NULL;
    if (text == NULL)
        return;
    char *end = NULL;
    double number = strtod(text, &end);
    bool is_number = end != text && (*end == '\0' || is_queue(row));
    (void)snprintf(row->value, sizeof row->value, "%.*s", (int)strcspn(text, "\t\n"), text);
    row->has_rate = is_number && row->has_number && row->passed_ns > 0;
    row->rate = row->has_rate ? (number - row->number) * 1e9 / (double)row->passed_ns : 0;
    row->number = number;
    row->has_number = is_number;
    free(text);
}

/* The count of a queue that has lost jobs counts the rest. */
static void end_row(struct reading *reading, struct row *row, int result)
{
    bool is_lock = row->command.noun->open == lock_open;
    row->took_ns = clock_ns() - row->begun_ns;
    if (result != MCDS_OK && !(result == MCDS_LOST && is_queue(row))) {
        forget(row);
        if (is_unanswered(result))
            rows_note_trouble(reading, &row->command);
        else if (result < 0) { /* dropped, or made again with other options */
            row->command.noun->close(row->handle);
            row->handle = NULL;
        }
    } else if (is_lock) {
        forget(row);
        row->left_ms = row->answer.holder.remaining_ms;
        lock_write_mode(row->value, &row->answer.holder);
        const char *label = row->answer.holder.label;
        row->holder = row_print_plain(reading, label[0] != '\0' ? label : "-", NULL);
    } else {
        take_value(reading, row);
        if (row->command.noun->open == counter_open)
            row->left_ms = row->answer.counter.ttl_ms;
    }
}

/* How long rows are opened where a server does not answer. If none does, only the first is tried. */
static int64_t patience_ns(const struct reading *reading)
{
    if (reading->silent_count == reading->server_count)
        return 0;
    return is_given(reading->command, OPTION_ONCE) ? OPENING_ONCE_NS : OPENING_NS;
}

/* Before any read is started: an operation that nobody drives would reach its deadline. */
static void open_rows(struct reading *reading)
{
    int64_t left_ns = patience_ns(reading);
    bool is_over = false;
    for (size_t i = 0; i < reading->count && !is_over; i++) {
        int64_t begun_ns = clock_ns();
        if (open_row(reading, &reading->rows[i]))
            continue;
        left_ns -= clock_ns() - begun_ns;
        is_over = left_ns <= 0;
    }
}

void rows_read(struct reading *reading)
{
    mcds_completion done;
    open_rows(reading);
    for (size_t i = 0; i < reading->count; i++)
        start_row(reading, i);
    while (mcds_pipeline_next(reading->pipeline, &done) == MCDS_OK)
        end_row(reading, &reading->rows[done.tag], done.result);
}
