/* mcds log tail: the last events, or what is new since a cursor was saved; and, following, what
 * comes.
 *
 * Everything goes through one cursor of the log, so that no event is printed twice and none is
 * left out between the last events and the first new one: the cursor begins at the oldest of the
 * last events, and of what it gives at first only the last are printed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit.h"
#include "failure.h"
#include "log.h"
#include "nouns.h"
#include "report.h"
#include "session.h"

#define LAST 10
#define PAUSE_MS 500
#define PATH_ROOM 4096

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
    const char *file; /* where the cursor is kept, or NULL */
    /* The last events of the first round, when only they shall be printed. */
    struct kept *ring;
    size_t room;
    uint64_t seen;
    bool is_out_of_memory;
    bool is_down;
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
        memcpy(copy, event->event.at, event->event.length);
    struct kept *place = &tail->ring[tail->seen++ % tail->room];
    free(place->copy);
    place->copy = copy;
    place->event = *event;
    place->event.event.at = copy;
    return true;
}

static void print_kept(struct tail *tail)
{
    uint64_t first = tail->seen > tail->room ? tail->seen - tail->room : 0;
    for (uint64_t i = first; i < tail->seen; i++)
        log_print_event(&tail->session->output, &tail->ring[i % tail->room].event);
}

static void free_ring(struct tail *tail)
{
    for (size_t i = 0; i < tail->room && tail->ring != NULL; i++)
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

/* Begin at the oldest of the last events. Where there is none, or no log yet, everything is new:
 * an event may come between this look and the first round. */
static int begin_at_last(struct tail *tail)
{
    uint64_t last = number_of(tail->command, OPTION_LAST, LAST);
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    int64_t oldest_ms = 0;
    range.limit = last;
    range.newest_first = true;
    if (last == 0)
        return MCDS_OK;
    int result = mcds_log_fetch(tail->log, &range, note_oldest, &oldest_ms, NULL);
    if (result == MCDS_NOT_FOUND && is_given(tail->command, OPTION_FOLLOW))
        result = MCDS_OK;
    tail->cursor.from_ms = oldest_ms > 0 ? oldest_ms : 1;
    if (result != MCDS_OK || oldest_ms == 0)
        return result;
    tail->room = (size_t)last;
    tail->ring = calloc(tail->room, sizeof tail->ring[0]);
    return tail->ring != NULL ? MCDS_OK : MCDS_NO_MEMORY;
}

/* Returns 0, or the exit code with the sentence printed; false in *is_there_out: no such file. */
static int load_cursor(struct tail *tail, bool *is_there_out)
{
    char text[MCDS_LOG_CURSOR_TEXT] = "";
    struct output *output = &tail->session->output;
    *is_there_out = false;
    FILE *file = fopen(tail->file, "re");
    if (file == NULL && errno == ENOENT)
        return STATUS_DONE;
    bool is_read = file != NULL && fgets(text, sizeof text, file) != NULL;
    int reason = errno;
    bool is_empty = file != NULL && !is_read && ferror(file) == 0;
    if (file != NULL)
        (void)fclose(file);
    text[strcspn(text, "\n")] = '\0';
    *is_there_out = is_read;
    if (!is_read && !is_empty) {
        complain(output, "the cursor %.200s cannot be read: %s", tail->file, strerror(reason));
        return STATUS_IO;
    }
    if (is_empty || mcds_log_cursor_load(&tail->cursor, text) == MCDS_OK)
        return STATUS_DONE;
    complain(output, "%.200s does not hold a cursor of a log", tail->file);
    return STATUS_DATA;
}

/* Written aside and moved, so that there is always a whole one. */
static bool save_cursor(struct tail *tail)
{
    char text[MCDS_LOG_CURSOR_TEXT];
    char aside[PATH_ROOM];
    if (tail->file == NULL)
        return true;
    mcds_log_cursor_save(&tail->cursor, text);
    int length = snprintf(aside, sizeof aside, "%s.new", tail->file);
    FILE *file = length < PATH_ROOM ? fopen(aside, "we") : NULL;
    bool is_saved = file != NULL && fprintf(file, "%s\n", text) > 0;
    is_saved = file != NULL && fclose(file) == 0 && is_saved;
    is_saved = is_saved && rename(aside, tail->file) == 0;
    if (!is_saved)
        complain(&tail->session->output, "the cursor %.200s cannot be written: %s", tail->file,
                 strerror(errno));
    return is_saved;
}

static int begin(struct tail *tail)
{
    bool is_there = false;
    tail->file = tail->command->options[OPTION_CURSOR_FILE].text;
    int status = tail->file != NULL ? load_cursor(tail, &is_there) : STATUS_DONE;
    if (status != STATUS_DONE || is_there)
        return status;
    if (is_given(tail->command, OPTION_FROM) || tail->file != NULL) {
        tail->cursor.from_ms = (int64_t)number_of(tail->command, OPTION_FROM, 1);
        return STATUS_DONE;
    }
    int result = begin_at_last(tail);
    if (result == MCDS_OK)
        return STATUS_DONE;
    return report(&tail->session->output, tail->command, NULL, result, NULL);
}

/* Whether it may be otherwise in a while. */
static bool is_passing(int result)
{
    return result == MCDS_NOT_FOUND || result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE ||
           result == MCDS_BUSY;
}

static void tell_gaps(struct tail *tail)
{
    if (tail->info.gaps > 0 || tail->info.corrupt > 0)
        complain(&tail->session->output, "log '%.200s': events are missing here",
                 tail->command->arguments[0]);
    memset(&tail->info, 0, sizeof tail->info);
}

static void complain_waiting(const struct tail *tail)
{
    char said[FAILURE_ROOM];
    describe_failure(said, tail->command);
    complain(&tail->session->output, "%s; waiting", said);
}

/* Print what is new. Returns 0 to go on, or the exit code. */
static int print_round(struct tail *tail)
{
    struct output *output = &tail->session->output;
    bool is_kept = tail->ring != NULL;
    int result = mcds_log_tail(tail->log, &tail->cursor, is_kept ? keep : log_print_visited,
                               is_kept ? (void *)tail : (void *)output, &tail->info);
    if (is_kept && !tail->is_out_of_memory)
        print_kept(tail);
    bool may_wait = tail->has_begun && is_passing(result);
    bool may_begin = is_given(tail->command, OPTION_FOLLOW) && result == MCDS_NOT_FOUND;
    if (result < 0 && may_wait && !tail->is_down)
        complain_waiting(tail);
    tail->is_down = result < 0;
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
    if (status != STATUS_DONE)
        return status;
    int result = command->noun->open(session->store, command, &handle);
    if (result != MCDS_OK)
        return report(&session->output, command, NULL, result, NULL);
    tail.log = handle;
    status = begin(&tail);
    if (status == STATUS_DONE)
        status = print_round(&tail);
    struct pollfd reader = {STDOUT_FILENO, 0, 0};
    while (status == STATUS_DONE && is_given(command, OPTION_FOLLOW)) {
        if (poll(&reader, 1, PAUSE_MS) > 0 && (reader.revents & (POLLERR | POLLNVAL)) != 0)
            break;
        status = print_round(&tail);
    }
    free_ring(&tail);
    command->noun->close(handle);
    return status;
}
