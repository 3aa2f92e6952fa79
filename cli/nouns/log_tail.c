/* mcds log tail: the last events, or those put since a cursor was saved, and with -f later ones.
 *
 * One cursor reads all of these, so no event is printed twice and none is missed between the last
 * events and the first new one. The cursor begins at the oldest of the last events; of the first
 * round only the last N events are printed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/cursor_file.h"
#include "io/exit.h"
#include "io/failure.h"
#include "io/outage.h"
#include "io/report.h"
#include "nouns/log.h"
#include "run/session.h"
#include "table/nouns.h"
#include "watch/read_copy.h"

#define LAST 10
#define PAUSE_MS 500

struct kept {
    mcds_log_event event;
    uint8_t *copy;
};

struct tail {
    struct session *session;
    const struct command *command;
    mcds_log *log;
    mcds_log_cursor cursor;
    mcds_log_info info;
    struct cursor_file file; /* with --cursor */
    /* The last events of the first round, when only these are printed. */
    struct kept *ring;
    size_t capacity;
    uint64_t seen;
    bool is_out_of_memory;
    struct outage outage;
    bool has_begun;
};

static bool keep(void *context, const mcds_log_event *event)
{
    struct tail *tail = context;
    uint8_t *copy = malloc(event->event.length + 1);
    if (copy == NULL) {
        tail->is_out_of_memory = true;
        return false;
    }
    if (event->event.length > 0)
        memcpy(copy, event->event.data, event->event.length);
    struct kept *place = &tail->ring[tail->seen++ % tail->capacity];
    free(place->copy);
    place->copy = copy;
    place->event = *event;
    place->event.event.data = copy;
    return true;
}

static void print_kept(struct tail *tail)
{
    uint64_t first = tail->seen > tail->capacity ? tail->seen - tail->capacity : 0;
    for (uint64_t i = first; i < tail->seen; i++)
        log_print_event(&tail->session->output, &tail->ring[i % tail->capacity].event);
}

static void free_ring(struct tail *tail)
{
    for (size_t i = 0; i < tail->capacity && tail->ring != NULL; i++)
        free(tail->ring[i].copy);
    free(tail->ring);
    tail->ring = NULL;
}

static bool note_oldest(void *context, const mcds_log_event *event)
{
    int64_t *oldest_ms = context;
    if (*oldest_ms == 0 || event->filed_ms < *oldest_ms)
        *oldest_ms = event->filed_ms;
    return true;
}

/* Begins at the oldest of the last events. Where there is none, or no log yet, all events are new:
 * one may be put between this scan and the first round. */
static int begin_at_last(struct tail *tail)
{
    uint64_t last = number_of(tail->command, OPTION_LAST, LAST);
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    int64_t oldest_ms = 0;
    range.limit = last;
    range.newest_first = true;
    if (last == 0)
        return MCDS_OK;
    int result = mcds_log_scan(tail->log, &range, note_oldest, &oldest_ms, NULL);
    if (result == MCDS_NOT_FOUND && is_given(tail->command, OPTION_FOLLOW))
        result = MCDS_OK;
    tail->cursor.from_ms = oldest_ms > 0 ? oldest_ms : 1;
    if (result != MCDS_OK || oldest_ms == 0)
        return result;
    tail->capacity = (size_t)last;
    tail->ring = calloc(tail->capacity, sizeof tail->ring[0]);
    return tail->ring != NULL ? MCDS_OK : MCDS_NO_MEMORY;
}

static int refuse_cursor(const struct tail *tail, int status, const char *sentence)
{
    report_failure(&tail->session->output, tail->command, status,
                   status == STATUS_IO ? "MCDS_IO" : "MCDS_INVALID", sentence);
    return status;
}

/* Returns 0, or the exit code with the sentence printed; false in *is_there_out: no cursor yet. */
static int load_cursor(struct tail *tail, const char *path, bool *is_there_out)
{
    char sentence[SENTENCE_MAX];
    int status = cursor_file_open(&tail->file, path, sentence, sizeof sentence);
    if (status != STATUS_DONE)
        return refuse_cursor(tail, status, sentence);
    *is_there_out = tail->file.text[0] != '\0';
    if (!*is_there_out || mcds_log_cursor_load(&tail->cursor, tail->file.text) == MCDS_OK)
        return STATUS_DONE;
    (void)snprintf(
        sentence, sizeof sentence,
        "%.200s does not hold a cursor of a log; give another FILE, or remove it to begin "
        "with the oldest event",
        path);
    return refuse_cursor(tail, STATUS_DATA, sentence);
}

static bool save_cursor(struct tail *tail)
{
    char text[MCDS_LOG_CURSOR_TEXT];
    char sentence[SENTENCE_MAX];
    const char *path = tail->command->options[OPTION_CURSOR_FILE].text;
    if (path == NULL)
        return true;
    mcds_log_cursor_save(&tail->cursor, text);
    if (cursor_file_write(&tail->file, text))
        return true;
    (void)snprintf(sentence, sizeof sentence, "the cursor %.200s cannot be written: %s", path,
                   strerror(errno));
    (void)refuse_cursor(tail, STATUS_IO, sentence);
    return false;
}

static int begin(struct tail *tail)
{
    bool is_there = false;
    const char *path = tail->command->options[OPTION_CURSOR_FILE].text;
    int status = path != NULL ? load_cursor(tail, path, &is_there) : STATUS_DONE;
    if (status != STATUS_DONE || is_there)
        return status;
    if (is_given(tail->command, OPTION_FROM) || path != NULL) {
        tail->cursor.from_ms = (int64_t)number_of(tail->command, OPTION_FROM, 1);
        return STATUS_DONE;
    }
    int result = begin_at_last(tail);
    if (result == MCDS_OK)
        return STATUS_DONE;
    return report(&tail->session->output, tail->command, NULL, result, NULL);
}

/* Whether a later try may succeed. */
static bool is_passing(int result)
{
    return result == MCDS_NOT_FOUND || result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE ||
           result == MCDS_BUSY;
}

static void tell_gaps(struct tail *tail)
{
    char sentence[SENTENCE_MAX];
    write_gaps(sentence, tail->command, &tail->info);
    if (tail->info.gaps > 0 || tail->info.corrupt > 0)
        report_failure(&tail->session->output, tail->command, STATUS_LOST, "MCDS_LOST",
                       sentence);
}

/* Says that the log is not read for now, or is read again. */
static void note_outage(struct tail *tail, int result)
{
    char said[FAILURE_CAPACITY];
    if (result >= 0) {
        outage_end(&tail->outage, &tail->session->output);
        return;
    }
    describe_failure(said, tail->command);
    outage_begin(&tail->outage, &tail->session->output, said);
}

/* Prints the new events. Returns 0 to continue, or the exit code. */
static int print_round(struct tail *tail)
{
    struct output *output = &tail->session->output;
    bool is_kept = tail->ring != NULL;
    tail->info = (mcds_log_info)MCDS_LOG_INFO_INIT;
    int result = mcds_log_tail(tail->log, &tail->cursor, is_kept ? keep : log_print_visited,
                               is_kept ? (void *)tail : (void *)output, &tail->info);
    if (is_kept && !tail->is_out_of_memory)
        print_kept(tail);
    bool may_wait = tail->has_begun && is_passing(result);
    bool may_begin = is_given(tail->command, OPTION_FOLLOW) && result == MCDS_NOT_FOUND;
    if (result >= 0 || may_wait)
        note_outage(tail, result);
    free_ring(tail);
    if (tail->is_out_of_memory)
        return report(output, tail->command, NULL, MCDS_NO_MEMORY, "out of memory");
    if (result != MCDS_OK && !may_wait && !may_begin)
        return report(output, tail->command, NULL, result, NULL);
    bool has_gap = tail->info.gaps > 0 || tail->info.corrupt > 0;
    tell_gaps(tail);
    tail->has_begun = true;
    if (!output_flush(output) || !save_cursor(tail))
        return STATUS_IO;
    return has_gap && !is_given(tail->command, OPTION_FOLLOW) ? STATUS_LOST : STATUS_DONE;
}

int log_tail(struct session *session, const struct command *command)
{
    struct tail tail = {.session = session, .command = command};
    void *handle = NULL;
    int status = session_open_store(session);
    if (status == STATUS_DONE && is_given(command, OPTION_FOLLOW))
        status = refuse_copy(session, command);
    if (status == STATUS_DONE && is_given(command, OPTION_FOLLOW))
        status = session_wait_for_store(session, command, PAUSE_MS);
    if (status != STATUS_DONE)
        return status;
    int result = command->noun->open(session->store, command, &handle);
    if (result != MCDS_OK)
        return report(&session->output, command, NULL, result, NULL);
    tail.log = handle;
    status = begin(&tail);
    if (status == STATUS_DONE)
        status = print_round(&tail);
    while (status == STATUS_DONE && is_given(command, OPTION_FOLLOW) &&
           output_is_read(PAUSE_MS))
        status = print_round(&tail);
    free_ring(&tail);
    command->noun->close(handle);
    return status;
}
