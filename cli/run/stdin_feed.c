/* Executes a verb on the lines of standard input:
 *   line --> slot --start--> pipeline       one operation per line, many in flight
 *   lines --> chunk --start--> pipeline     one operation for many lines, one after the other
 *
 * A line that is not valid is reported and skipped; a failure of the store or a signal ends the feed.
 * Before a wait for input, everything read so far is executed. */
#include "run/stdin_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/chunk.h"
#include "io/clock.h"
#include "io/exit.h"
#include "io/lines.h"
#include "io/report.h"
#include "parse/shell_words.h"
#include "parse/values.h"
#include "run/busy.h"
#include "run/session.h"
#include "run/stdin_whole.h"
#include "run/tally.h"
#include "signals/interrupt.h"
#include "terminal/progress.h"

#define DEPTH 512
#define FED_LINE_MAX (4 * WHOLE_MAX) /* the largest value with each byte written \xHH */
#define BYTES_MAX (size_t)(8 << 20)  /* of the lines in flight */
#define CHUNK_LINES 256
#define CHUNK_BYTES (size_t)(64 << 10)
#define ALL_BYTES                                                                              \
    (size_t)(64 << 20) /* of an array, with the addresses and lengths of its lines */

static const char no_memory[] = "out of memory";

struct slot {
    struct slot *next; /* the next free slot */
    unsigned long line;
    struct command command;
    struct answer answer;
    char *text; /* the line, into which the command points */
    size_t length;
};

struct feed {
    struct session *session;
    const struct command *command;
    mcds_pipeline *pipeline;
    void *handle;
    struct lines lines;
    struct progress progress;
    unsigned long line;
    uint64_t read; /* valid lines */
    uint64_t changed;
    struct tally tally;
    bool is_over; /* the store has failed, or a signal came */
    int signal;   /* that ended the input, or 0 */
    int status;
    struct slot slots[DEPTH];
    struct slot *free;
    size_t bytes; /* of the lines in flight */
    struct busy busy;
    struct chunk chunk;       /* the lines of one operation, one after the other, */
    unsigned long chunk_line; /* the number of the first of them, */
    int64_t chunk_ms;         /* and with --timed the time of all of them */
};

static void note_failure(struct feed *feed, unsigned long line, int status, const char *name,
                         const char *sentence)
{
    struct output *output = &feed->session->output;
    output->line = line;
    if (output->json)
        report_failure(output, feed->command, status, name, sentence);
    else
        complain(output, "%s", sentence);
    output->line = 0;
    if (feed->status <= STATUS_NO || feed->status == STATUS_DATA)
        feed->status = status;
}

static void refuse_line(struct feed *feed, const char *sentence)
{
    note_failure(feed, feed->line, STATUS_DATA, "MCDS_INVALID", sentence);
}

/* Whether the line itself caused the failure, so that the next one may succeed. */
static bool is_of_line(const struct command *command, int result)
{
    bool is_of_its_time = is_given(command, OPTION_TIMED) &&
                          (result == MCDS_TOO_OLD || result == MCDS_TOO_FUTURE);
    return result == MCDS_INVALID || result == MCDS_TOO_BIG || is_of_its_time;
}

static void note_result(struct feed *feed, const struct command *command,
                        const struct answer *answer, unsigned long line, size_t lines,
                        int result)
{
    const struct verb *verb = command->verb;
    progress_count(&feed->progress, lines);
    if (result == MCDS_OK)
        feed->changed += verb->change == CHANGE_UNTOLD || answer->changed ? lines : 0;
    if (result == MCDS_OK || result == MCDS_NOT_FOUND || result == MCDS_EXISTS) {
        feed->tally.done += lines;
        return;
    }
    if (verb->feed == FEED_CHUNKS) { /* the first of them were taken */
        feed->changed += answer->done;
        feed->tally.done += answer->done;
        line += answer->done;
        lines -= answer->done;
    }
    bool is_line = is_of_line(command, result);
    if (!is_line)
        tally_failed(&feed->tally, line, lines, result);
    if (feed->is_over)
        return;
    char sentence[SENTENCE_MAX];
    write_sentence(sentence, command, answer, result, NULL);
    int status = is_line ? STATUS_DATA : status_of_command(command, result);
    note_failure(feed, line, status, mcds_result_name(result), sentence);
    feed->is_over = !is_line;
}

static void finish_slot(struct feed *feed, struct slot *slot, int result)
{
    note_result(feed, &slot->command, &slot->answer, slot->line, 1, result);
    feed->bytes -= slot->length;
    free(slot->text);
    slot->text = NULL;
    slot->next = feed->free;
    feed->free = slot;
}

/* Waits for one operation to end. False when none is in flight. */
static bool collect(struct feed *feed)
{
    mcds_completion done;
    if (mcds_pipeline_next(feed->pipeline, &done) != MCDS_OK)
        return false;
    struct slot *slot = &feed->slots[done.tag];
    --*busy_place(&feed->busy, &slot->command);
    finish_slot(feed, slot, done.result);
    return true;
}

static void end_without_memory(struct feed *feed)
{
    note_failure(feed, feed->line, STATUS_INTERNAL, "MCDS_NO_MEMORY", no_memory);
    feed->is_over = true;
}

/* Points the arguments after the name at the fields of the line. Returns the mistake as a sentence, or NULL. */
static const char *cut_line(struct command *command, char *text, size_t length)
{
    const struct parameter *const *parameters = command->verb->arguments;
    bool is_last = false;
    for (size_t i = 1; !is_last; i++) {
        is_last = parameters[i + 1] == NULL || parameters[i + 1]->optional;
        char *tab = memchr(text, '\t', length);
        if (!is_last && tab == NULL)
            return "there is no tab after the KEY";
        size_t taken = is_last ? length : (size_t)(tab - text);
        text[taken] = '\0';
        size_t unquoted = taken;
        if (!is_given(command, OPTION_RAW_LINES) && !unquote_field(text, &unquoted))
            return no_memory;
        command->bytes[i] = (mcds_bytes){text, unquoted};
        if (parameters[i]->needs_dash && memchr(text, '\0', unquoted) != NULL)
            return "a NUL byte; no name can hold one";
        command->arguments[i] = text;
        text += taken + 1;
        length -= taken + 1;
    }
    return NULL;
}

static void start_slot(struct feed *feed, struct slot *slot)
{
    bool is_in_order = slot->command.verb->feed == FEED_IN_ORDER;
    uint16_t *place = busy_place(&feed->busy, &slot->command);
    while (is_in_order && *place > 0 && collect(feed)) {
    }
    feed->read++;
    memset(&slot->answer, 0, sizeof slot->answer);
    int result = slot->command.verb->start(feed->handle, &slot->command, &slot->answer,
                                           feed->pipeline, (uint64_t)(slot - feed->slots));
    if (result == MCDS_OK)
        ++*place;
    else
        finish_slot(feed, slot, result);
}

static void take_each(struct feed *feed, const char *line, size_t length)
{
    while ((feed->free == NULL || feed->bytes + length > BYTES_MAX) && collect(feed)) {
    }
    char *text = malloc(length + 1);
    if (text == NULL) {
        end_without_memory(feed);
        return;
    }
    memcpy(text, line, length + 1);
    struct slot *slot = feed->free;
    slot->line = feed->line;
    slot->command = *feed->command;
    const char *error = cut_line(&slot->command, text, length);
    if (error != NULL) {
        if (error == no_memory)
            end_without_memory(feed);
        else
            refuse_line(feed, error);
        free(text);
        return;
    }
    feed->free = slot->next;
    slot->text = text;
    slot->length = length;
    feed->bytes += length;
    start_slot(feed, slot);
}

/* Executes the lines from `first` on. Returns how many of them are settled: all, or those that were
 * stored and the one that was refused. */
static size_t carry_out_from(struct feed *feed, size_t first)
{
    const struct chunk *chunk = &feed->chunk;
    struct command command = *feed->command;
    struct answer answer;
    memset(&answer, 0, sizeof answer);
    command.elements = chunk->values + first;
    command.element_count = chunk->count - first;
    if (is_given(&command, OPTION_TIMED))
        command.options[OPTION_AT] = (struct value){true, (uint64_t)feed->chunk_ms, NULL};
    int result = command.verb->start(feed->handle, &command, &answer, feed->pipeline, 0);
    mcds_completion done = {0, result};
    if (result == MCDS_OK)
        result = mcds_pipeline_next(feed->pipeline, &done);
    if (result == MCDS_OK)
        result = done.result;
    note_result(feed, &command, &answer, feed->chunk_line + first, command.element_count,
                result);
    bool is_settled = result == MCDS_OK || command.verb->feed == FEED_ALL;
    return is_settled ? command.element_count : answer.done + 1;
}

static void carry_out_chunk(struct feed *feed)
{
    struct chunk *chunk = &feed->chunk;
    size_t settled = 0;
    (void)chunk_values(chunk);
    do {
        settled += carry_out_from(feed, settled);
    } while (settled < chunk->count && !feed->is_over);
    feed->read += chunk->count;
    chunk_clear(chunk);
}

/* Skips a line. The lines of a chunk are consecutive, so that a failed one can be named: the chunk
 * before this line is executed first. */
static void leave_out(struct feed *feed, const char *sentence)
{
    if (feed->command->verb->feed == FEED_CHUNKS && feed->chunk.count > 0)
        carry_out_chunk(feed);
    refuse_line(feed, sentence);
}

/* Removes the time from the front of a line. Returns a sentence if it is not valid, or NULL. */
static const char *cut_time(char **text, size_t *length, int64_t *when_ms_out)
{
    char *tab = memchr(*text, '\t', *length);
    if (tab == NULL)
        return "there is no tab after the time";
    *tab = '\0';
    if (!parse_moment(*text, clock_wall_ms(), when_ms_out))
        return "the line does not begin with a time, such as 2026-11-21T10:30:15.250Z";
    if (*when_ms_out < 1)
        return "the time is not after 1970-01-01T00:00:00Z";
    *length -= (size_t)(tab + 1 - *text);
    *text = tab + 1;
    return NULL;
}

static void take_into_chunk(struct feed *feed, char *text, size_t length)
{
    struct chunk *chunk = &feed->chunk;
    const char *error = NULL;
    int64_t when_ms = feed->chunk_ms;
    if (is_given(feed->command, OPTION_TIMED))
        error = cut_time(&text, &length, &when_ms);
    if (error != NULL) {
        leave_out(feed, error);
        return;
    }
    if (chunk->count > 0 && when_ms != feed->chunk_ms)
        carry_out_chunk(feed);
    feed->chunk_ms = when_ms;
    if (chunk->count == 0)
        feed->chunk_line = feed->line;
    bool is_raw = is_given(feed->command, OPTION_RAW_LINES);
    if (feed->command->verb->feed != FEED_CHUNKS &&
        chunk->bytes + length + (chunk->count + 1) * sizeof chunk->values[0] > ALL_BYTES) {
        note_failure(
            feed, feed->line, STATUS_DATA, "MCDS_TOO_BIG",
            "the lines of an array take more than 64 MB, each its length and 16 bytes; "
            "nothing was set");
        feed->is_over = true;
    } else if ((!is_raw && !unquote_field(text, &length)) ||
               !chunk_keep(chunk, (mcds_bytes){text, length})) {
        end_without_memory(feed);
    } else if (feed->command->verb->feed == FEED_CHUNKS &&
               (chunk->count == CHUNK_LINES || chunk->bytes >= CHUNK_BYTES)) {
        carry_out_chunk(feed);
    }
}

/* Waits for all operations in flight. */
static void settle(struct feed *feed)
{
    while (collect(feed)) {
    }
    if (feed->command->verb->feed == FEED_CHUNKS && feed->chunk.count > 0 && !feed->is_over)
        carry_out_chunk(feed);
}

static void take_lines(struct feed *feed)
{
    char sentence[160];
    (void)snprintf(sentence, sizeof sentence,
                   "the line is longer than %zu bytes; nothing after it was read",
                   FED_LINE_MAX);
    while (!feed->is_over) {
        char *line = NULL;
        size_t length = 0;
        enum line kind = lines_next(&feed->lines, &line, &length);
        if (kind == LINE_OVER || interrupt_number() != 0)
            break;
        if (kind == LINE_NONE) {
            if (!lines_are_waiting())
                settle(feed);
            lines_read(&feed->lines);
            continue;
        }
        feed->line++;
        if (kind == LINE_TOO_LONG) { /* and may have no end */
            leave_out(feed, sentence);
            break;
        }
        if (feed->command->verb->feed <= FEED_IN_ORDER)
            take_each(feed, line, length);
        else
            take_into_chunk(feed, line, length);
    }
    feed->signal = interrupt_number();
    feed->is_over = feed->is_over || feed->signal != 0;
    settle(feed);
    if (feed->lines.error != 0) {
        (void)snprintf(sentence, sizeof sentence, "standard input cannot be read: %s",
                       strerror(feed->lines.error));
        note_failure(feed, 0, STATUS_IO, "MCDS_IO", sentence);
    }
    if (feed->command->verb->feed == FEED_ALL && feed->status == STATUS_DONE &&
        feed->signal == 0)
        carry_out_chunk(feed);
}

/* Where lines are typed, the terminal shows them. */
static void begin_progress(struct feed *feed)
{
    bool is_wanted = progress_is_wanted(feed->session->output.quiet, false) &&
                     isatty(STDIN_FILENO) != 1;
    progress_begin(&feed->progress, "lines", feed->command->verb->done, is_wanted);
    progress_of_file(&feed->progress, STDIN_FILENO);
}

static int run_lines(struct feed *feed)
{
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    options.depth = DEPTH;
    struct session *session = feed->session;
    const struct command *command = feed->command;
    int result = mcds_pipeline_open(session->store, &options, &feed->pipeline);
    if (result == MCDS_OK)
        result = command->noun->open(session->store, command, &feed->handle);
    if (result != MCDS_OK)
        return report(&session->output, command, NULL, result, NULL);
    for (size_t i = 0; i < DEPTH; i++) {
        feed->slots[i].next = feed->free;
        feed->free = &feed->slots[i];
    }
    begin_progress(feed);
    take_lines(feed);
    progress_end(&feed->progress);
    bool is_one = command->verb->feed == FEED_ALL; /* and its failure says all */
    if (feed->is_over && !is_one)
        tally_complain(&feed->tally, &session->output,
                       feed->chunk.count > 0 ? feed->chunk_line - 1 : feed->line);
    if (feed->signal != 0 && is_one)
        complain(&session->output, "standard input: ended by signal %d; nothing was %s",
                 feed->signal, command->verb->done);
    else if (!is_one || feed->status == STATUS_DONE)
        report_feed(&session->output, command, feed->read, feed->changed,
                    feed->tally.doubtful_count);
    return tally_status(&feed->tally,
                        feed->signal != 0 ? STATUS_SIGNAL + feed->signal : feed->status);
}

static int feed_lines(struct session *session, const struct command *command)
{
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    struct feed *feed = calloc(1, sizeof *feed);
    if (feed == NULL) {
        report_failure(&session->output, command, STATUS_INTERNAL, "MCDS_NO_MEMORY",
                       "out of memory");
        return STATUS_INTERNAL;
    }
    feed->session = session;
    feed->command = command;
    lines_open(&feed->lines, FED_LINE_MAX);
    feed->lines.is_raw = is_given(command, OPTION_RAW_LINES);
    interrupt_open();
    status = run_lines(feed);
    mcds_pipeline_close(feed->pipeline);
    command->noun->close(feed->handle);
    for (size_t i = 0; i < DEPTH; i++)
        free(feed->slots[i].text);
    chunk_free(&feed->chunk);
    lines_close(&feed->lines);
    free(feed);
    return status;
}

int feed_run(struct session *session, const struct command *command)
{
    if (command->is_input_untold && isatty(STDIN_FILENO)) {
        char sentence[SENTENCE_MAX];
        (void)snprintf(sentence, sizeof sentence,
                       "the %s is missing; - reads from the terminal, a line for each",
                       command->verb->arguments[1]->placeholder);
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", sentence);
        return STATUS_USAGE;
    }
    return feed_lines(session, command);
}
