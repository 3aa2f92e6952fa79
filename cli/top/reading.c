/* Reading: keeps rows and figures from one reading to the next, for their rates. */
#include "top/reading.h"

#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch/listing.h"
#include "io/clock.h"
#include "io/exit.h"
#include "io/failure.h"
#include "io/report.h"
#include "nouns/lock.h"
#include "nouns/log.h"
#include "table/commands.h"
#include "table/nouns.h"
#include "top/rows.h"
#include "watch/watched.h"

#define DEPTH 512
#define LIST_NS INT64_C(5000000000) /* between two listings; at least */
#define MEMCACHED "memcached:"

struct scan {
    struct reading *reading;
    struct listing listing;
};

static void free_row(struct row *row)
{
    if (row->handle != NULL)
        row->command.noun->close(row->handle);
    free(row->name);
    free(row->shown);
    free(row->holder);
}

static bool is_wanted(const struct reading *reading, const struct noun *noun, const char *name)
{
    const char *wanted = reading->command->arguments[0];
    const char *word = reading->command->options[OPTION_NOUN].text;
    if (word != NULL && strcmp(word, noun->word) != 0)
        return false;
    if (wanted == NULL)
        return true;
    if (strpbrk(wanted, "*?[") != NULL)
        return fnmatch(wanted, name, 0) == 0;
    return strncmp(name, wanted, strlen(wanted)) == 0;
}

static bool see_listed(void *context, const mcds_listed *listed)
{
    struct scan *scan = context;
    struct reading *reading = scan->reading;
    const struct noun *noun = find_noun(reading->session->nouns, listed->noun);
    if (noun == NULL || !is_wanted(reading, noun, listed->name))
        return true;
    reading->listed++;
    if (scan->listing.count < ROWS_MAX)
        reading->is_out_of_memory = !listing_keep(&scan->listing, noun, 0, listed->name);
    return !reading->is_out_of_memory;
}

static int compare_to(const struct row *row, const struct found *found)
{
    int order = strcmp(row->command.noun->word, found->noun->word);
    return order != 0 ? order : strcmp(row->name, found->name);
}

static bool begin_row(struct reading *reading, struct row *row, const struct found *found)
{
    memset(row, 0, sizeof *row);
    enum compared compared = compared_of(found->noun);
    row->name = strdup(found->name);
    row->shown = row_print_plain(reading, found->name, NULL);
    row->left_ms = -1;
    row->command.noun = found->noun;
    row->command.verb = compared == COMPARED_HOLDER  ? &found->noun->verbs[0]
                        : compared == COMPARED_VALUE ? find_verb(found->noun, "get")
                        : compared == COMPARED_JOBS  ? find_verb(found->noun, "count")
                                                     : NULL;
    row->command.store_uri = reading->command->store_uri;
    row->command.store_ns = reading->command->store_ns;
    row->command.arguments[0] = row->name;
    row->command.bytes[0] = mcds_text(row->name != NULL ? row->name : "");
    row->command.options[OPTION_INFO].given = compared == COMPARED_HOLDER;
    return row->name != NULL && row->shown != NULL;
}

/* Rows that are listed again keep their values. */
static void merge(struct reading *reading, const struct listing *listing)
{
    struct row *rows = calloc(listing->count + 1, sizeof rows[0]);
    size_t old = 0;
    reading->is_out_of_memory = reading->is_out_of_memory || rows == NULL;
    if (rows == NULL)
        return;
    size_t count = 0;
    for (size_t i = 0; i < listing->count; i++) {
        while (old < reading->count && compare_to(&reading->rows[old], &listing->found[i]) < 0)
            free_row(&reading->rows[old++]);
        if (old < reading->count && compare_to(&reading->rows[old], &listing->found[i]) == 0)
            rows[count++] = reading->rows[old++];
        else if (!begin_row(reading, &rows[count++], &listing->found[i]))
            reading->is_out_of_memory = true;
    }
    while (old < reading->count)
        free_row(&reading->rows[old++]);
    free(reading->rows);
    reading->rows = rows;
    reading->count = count;
}

static void list(struct reading *reading)
{
    struct scan scan = {.reading = reading};
    int64_t begun_ns = clock_ns();
    size_t listed_before = reading->listed;
    reading->listed = 0;
    int result = mcds_scan(reading->session->store, see_listed, &scan);
    bool is_first = reading->count == 0; /* then a part is better than nothing */
    if ((result == MCDS_OK || is_first) && !reading->is_out_of_memory) {
        listing_sort(&scan.listing);
        merge(reading, &scan.listing);
    }
    if (result == MCDS_OK) {
        reading->listed_ns = clock_ns();
        reading->list_took_ns = reading->listed_ns - begun_ns;
    } else {
        rows_note_trouble(reading, NULL);
        reading->listed = listed_before;
    }
    listing_free(&scan.listing);
}

/* A listing takes long where there are many keys. */
static bool must_list(const struct reading *reading)
{
    int64_t least_ns = WHOLE_SHARE * reading->list_took_ns;
    return reading->listed_ns == 0 ||
           clock_ns() - reading->listed_ns >= (least_ns > LIST_NS ? least_ns : LIST_NS);
}

/* Only a server that answers has a fact. */
static void see_server(struct reading *reading, const mcds_finding *finding)
{
    size_t i = 0;
    while (i < reading->server_count && strncmp(reading->servers[i].subject, finding->subject,
                                                sizeof reading->servers[i].subject - 1) != 0)
        i++;
    if (i == SERVERS_MAX)
        return;
    struct server *server = &reading->servers[i];
    if (i == reading->server_count) {
        memset(server, 0, sizeof *server);
        (void)snprintf(server->subject, sizeof server->subject, "%s", finding->subject);
        reading->server_count++;
    }
    server->has_fact = server->has_fact || finding->severity == MCDS_FACT;
    if (finding->severity == MCDS_PROBLEM && server->trouble[0] == '\0')
        (void)snprintf(server->trouble, sizeof server->trouble, "%s", finding->what);
}

static bool add_figure(void *context, const mcds_finding *finding)
{
    struct reading *reading = context;
    int64_t now_ns = clock_ns();
    if (strncmp(reading->session->uri, MEMCACHED, strlen(MEMCACHED)) == 0)
        see_server(reading, finding);
    if (finding->figure == NULL)
        return true;
    size_t i = 0;
    while (i < reading->figure_count &&
           (strncmp(reading->figures[i].subject, finding->subject,
                    sizeof reading->figures[i].subject - 1) != 0 ||
            strcmp(reading->figures[i].name, finding->figure) != 0))
        i++;
    if (i == FIGURES_MAX)
        return true;
    struct figure *figure = &reading->figures[i];
    bool is_new = i == reading->figure_count;
    if (is_new) {
        memset(figure, 0, sizeof *figure);
        (void)snprintf(figure->subject, sizeof figure->subject, "%s", finding->subject);
        (void)snprintf(figure->name, sizeof figure->name, "%s", finding->figure);
        reading->figure_count++;
    }
    double passed_s = (double)(now_ns - figure->at_ns) / 1e9;
    figure->is_current = true;
    figure->has_rate = !is_new && finding->number >= figure->number && passed_s > 0;
    figure->rate = figure->has_rate ? (double)(finding->number - figure->number) / passed_s : 0;
    figure->number = finding->number;
    figure->at_ns = now_ns;
    return true;
}

const struct row *reading_find_log(const struct reading *reading)
{
    for (size_t i = 0; i < reading->count; i++)
        if (reading->rows[i].command.noun->open == log_open &&
            strcmp(reading->rows[i].name, reading->log) == 0)
            return &reading->rows[i];
    return NULL;
}

void reading_next_log(struct reading *reading)
{
    reading->has_log = reading->count > 0;
    for (size_t i = 0; i < reading->count; i++) {
        const struct row *row = &reading->rows[i];
        bool is_later = reading->log[0] == '\0' || strcmp(row->name, reading->log) > 0;
        if (row->command.noun->open == log_open && is_later) {
            (void)snprintf(reading->log, sizeof reading->log, "%s", row->name);
            return;
        }
    }
    reading->log[0] = '\0';
}

static void read_log(struct reading *reading)
{
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log *log = NULL;
    size_t length = 0;
    struct output output = {.ascii = reading->session->output.ascii};
    free(reading->events);
    reading->events = NULL;
    if (reading->log[0] == '\0' || reading_find_log(reading) == NULL)
        return;
    range.limit = EVENTS_MAX;
    range.newest_first = true;
    output.file = open_memstream(&reading->events, &length);
    if (output.file == NULL)
        return;
    int result = mcds_log_open(reading->session->store, reading->log, NULL, &log);
    if (result == MCDS_OK)
        result = mcds_log_scan(log, &range, log_print_visited, &output, NULL);
    if (result < 0)
        rows_note_trouble(reading, NULL);
    mcds_log_close(log);
    (void)fclose(output.file);
}

static int open_pipeline(struct reading *reading)
{
    mcds_pipeline_options depth = MCDS_PIPELINE_OPTIONS_INIT;
    depth.depth = DEPTH;
    return mcds_pipeline_open(reading->session->store, &depth, &reading->pipeline);
}

/* Another process may have made the default store. Until now an empty one replaced it, so there
 * are no rows. */
static void find_store(struct reading *reading)
{
    char sentence[SENTENCE_MAX];
    struct session *session = reading->session;
    int status = session_find_store(session, reading->command, sentence, sizeof sentence);
    if (status != STATUS_DONE || session->is_absent)
        return;
    assert(reading->count == 0);
    mcds_pipeline_close(reading->pipeline);
    reading->pipeline = NULL;
    reading->listed_ns = 0;
    reading->is_out_of_memory = open_pipeline(reading) != MCDS_OK;
}

/* Returns whether a server has become silent, or answers again. */
static bool judge_servers(struct reading *reading, int64_t asked_ms)
{
    bool has_changed = false;
    reading->silent_count = 0;
    for (size_t i = 0; i < reading->server_count; i++) {
        struct server *server = &reading->servers[i];
        bool was_silent = server->is_silent;
        server->is_silent = !server->has_fact;
        if (server->is_silent && !was_silent)
            server->since_ms = asked_ms;
        has_changed = has_changed || server->is_silent != was_silent;
        reading->silent_count += server->is_silent;
    }
    return has_changed;
}

/* The figures of a server that does not answer have no rate. */
static bool inspect(struct reading *reading)
{
    int64_t asked_ms = clock_wall_ms();
    for (size_t i = 0; i < reading->figure_count; i++) {
        reading->figures[i].is_current = false;
        reading->figures[i].has_rate = false;
    }
    for (size_t i = 0; i < reading->server_count; i++) {
        reading->servers[i].has_fact = false;
        reading->servers[i].trouble[0] = '\0';
    }
    if (mcds_inspect(reading->session->store, add_figure, reading) != MCDS_OK)
        rows_note_trouble(reading, NULL);
    return judge_servers(reading, asked_ms);
}

bool reading_take_figures(struct reading *reading)
{
    reading->trouble[0] = '\0';
    if (reading->session->is_absent)
        find_store(reading);
    return !reading->is_out_of_memory && inspect(reading);
}

bool reading_is_silent(const struct reading *reading)
{
    return reading->server_count > 0 && reading->silent_count == reading->server_count;
}

/* No listing has found that. */
static void note_silence(struct reading *reading)
{
    const struct server *first = &reading->servers[0];
    (void)snprintf(reading->trouble, sizeof reading->trouble, "%.110s: %.120s%s",
                   first->subject, first->trouble,
                   reading->server_count > 1 ? "; the other servers do not answer either" : "");
    reading->trouble_result = MCDS_UNAVAILABLE;
}

/* Where no server answers, nothing is listed: that would only wait for the timeout again. */
void reading_take_rows(struct reading *reading)
{
    bool is_silent = reading_is_silent(reading);
    if (reading->is_out_of_memory)
        return;
    if (!is_silent && must_list(reading))
        list(reading);
    if (!reading->has_log)
        reading_next_log(reading);
    rows_read(reading);
    if (is_silent && reading->trouble[0] == '\0')
        note_silence(reading);
    if (reading->trouble[0] == '\0')
        read_log(reading);
}

void reading_take(struct reading *reading)
{
    (void)reading_take_figures(reading);
    reading_take_rows(reading);
}

bool reading_open(struct reading *reading, struct session *session,
                  const struct command *command)
{
    reading->session = session;
    reading->command = command;
    return open_pipeline(reading) == MCDS_OK;
}

void reading_close(struct reading *reading)
{
    mcds_pipeline_close(reading->pipeline);
    for (size_t i = 0; i < reading->count; i++)
        free_row(&reading->rows[i]);
    free(reading->rows);
    free(reading->events);
}
