/* mcds watch: a line for each change of some structures, until a signal comes or standard output
 * is closed.
 *
 *   names x nouns --read, every interval--> pipeline --> lines */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/exit.h"
#include "io/failure.h"
#include "io/outage.h"
#include "io/report.h"
#include "run/session.h"
#include "table/commands.h"
#include "table/nouns.h"
#include "watch/read_copy.h"
#include "watch/watched.h"

#define INTERVAL_MS 1000
#define DEPTH 512

struct watch {
    struct session *session;
    const struct command *command;
    struct watched *all; /* each name of each noun */
    size_t count;
    mcds_pipeline *pipeline;
    struct outage outage; /* of the last round */
    int status;           /* of the first failure that does not pass */
};

/* Whether a later read may succeed. */
static bool is_passing(int result)
{
    return result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE || result == MCDS_BUSY ||
           result == MCDS_LOST || result == MCDS_IO;
}

static int interval_of(const struct watch *watch)
{
    return (int)number_of(watch->command, OPTION_INTERVAL, INTERVAL_MS);
}

/* Reports that once, and watches nothing any more. */
static void give_up(struct watch *watch)
{
    const mcds_error *error = mcds_last_error();
    if (watch->status == STATUS_DONE)
        complain(&watch->session->output, "watch: %s: %s", error->peer, error->reason);
    watch->status = STATUS_IO;
    for (size_t i = 0; i < watch->count; i++)
        watch->all[i].is_given_up = true;
}

/* Reports once that the store does not answer, and once for each structure that it cannot be
 * read. */
static void note_failure(struct watch *watch, struct watched *watched, int result)
{
    char said[FAILURE_CAPACITY];
    bool passes = is_passing(result);
    if (is_of_a_lost_file(result)) {
        give_up(watch);
        return;
    }
    if (passes) {
        const mcds_error *error = mcds_last_error();
        (void)snprintf(said, sizeof said, "watch: %s%s%s", error->peer,
                       error->peer[0] != '\0' ? ": " : "", error->reason);
        outage_begin(&watch->outage, &watch->session->output, said);
        return;
    }
    describe_failure(said, &watched->command);
    complain(&watch->session->output, "%s; it is not watched", said);
    watched->is_given_up = true;
    if (watch->status == STATUS_DONE)
        watch->status = status_of(result);
}

/* The structure was dropped, or made with other options since the handle was opened: a new
 * handle accepts that. To a handle of one key, the root of a counter in stripes is corrupt. */
static bool may_open_again(struct watched *watched, int result)
{
    bool is_stale = result == MCDS_INVALID || result == MCDS_LOST || result == MCDS_CORRUPT;
    if (!is_stale || watched->handle == NULL || watched->is_opened_again)
        return false;
    watched_reopen(watched);
    return true;
}

static uint64_t note_result(struct watch *watch, struct watched *watched, int result)
{
    if (watched_is_read(watched, result))
        return watched_end(watched, result);
    watched_abandon(watched);
    if (!may_open_again(watched, result))
        note_failure(watch, watched, result);
    return 0;
}

/* Reads all once. Returns the number of changes. */
static uint64_t go_round(struct watch *watch)
{
    uint64_t changes = 0;
    size_t started = 0;
    size_t answered = 0;
    bool was_down = watch->outage.is_told;
    mcds_completion done;
    for (size_t i = 0; i < watch->count; i++) {
        struct watched *watched = &watch->all[i];
        if (watched->is_given_up)
            continue;
        int result = watched_start(watched, watch->pipeline, i);
        started++;
        if (result != MCDS_OK)
            changes += note_result(watch, watched, result);
    }
    while (mcds_pipeline_next(watch->pipeline, &done) == MCDS_OK) {
        changes += note_result(watch, &watch->all[done.tag], done.result);
        answered += watched_is_read(&watch->all[done.tag], done.result) ? 1 : 0;
    }
    if (was_down && answered == started)
        outage_end(&watch->outage, &watch->session->output);
    return changes;
}

/* Whether a structure of the name at this place of the command line is watched. */
static bool has_watched(const struct watch *watch, size_t place)
{
    size_t nouns = watch->count / watch->command->element_count;
    for (size_t i = place * nouns; i < (place + 1) * nouns; i++)
        if (watched_is_there(&watch->all[i]))
            return true;
    return false;
}

/* Reports a structure whose noun is not watched, where nothing else of its name is. */
static bool see_listed(void *context, const mcds_listed *listed)
{
    struct watch *watch = context;
    const struct command *command = watch->command;
    const struct noun *noun = find_noun(watch->session->nouns, listed->noun);
    bool is_meant = noun != NULL && compared_of(noun) == COMPARED_NOT;
    for (size_t i = 0; is_meant && i < command->element_count; i++)
        if (strcmp(listed->name, command->elements[i].data) == 0 && !has_watched(watch, i))
            complain(
                &watch->session->output,
                "%s '%.200s': this noun is not watched; 'mcds help watch' names those that "
                "are not",
                noun->word, listed->name);
    return true;
}

/* A listing is slow: it is read once, and only for names of which nothing is watched. */
static void look_for_others(struct watch *watch)
{
    size_t place = 0;
    while (place < watch->command->element_count && has_watched(watch, place))
        place++;
    if (place < watch->command->element_count)
        (void)!mcds_scan(watch->session->store, see_listed, watch);
}

/* Of a name that reads like a pattern, and that nothing has yet. */
static void explain_patterns(struct watch *watch)
{
    for (size_t i = 0; i < watch->command->element_count; i++) {
        const char *name = watch->command->elements[i].data;
        if (strpbrk(name, "*?[") != NULL && !has_watched(watch, i))
            complain(&watch->session->output,
                     "watch: '%.200s' is watched as a name, because watch takes no patterns; "
                     "'mcds ls PATTERN' lists names",
                     name);
    }
}

static bool is_over(const struct watch *watch)
{
    size_t left = 0;
    for (size_t i = 0; i < watch->count; i++)
        left += watch->all[i].is_given_up ? 0 : 1;
    return left == 0;
}

static int go_on(struct watch *watch)
{
    struct output *output = &watch->session->output;
    for (bool is_first = true;; is_first = false) {
        uint64_t changes = go_round(watch);
        if (!output_flush(output))
            return STATUS_IO;
        if (is_first && !watch->outage.is_told) {
            look_for_others(watch);
            explain_patterns(watch);
        }
        if (is_over(watch))
            return watch->status;
        if (changes > 0 && is_given(watch->command, OPTION_ONCE))
            return STATUS_DONE;
        if (!output_is_read(interval_of(watch)))
            return STATUS_DONE;
    }
}

static int refuse_memory(struct watch *watch)
{
    report_failure(&watch->session->output, watch->command, STATUS_INTERNAL, "MCDS_NO_MEMORY",
                   "watch: out of memory");
    return STATUS_INTERNAL;
}

/* Each name may be of several nouns. */
static bool begin_all(struct watch *watch, bool store_is_new)
{
    const struct command *command = watch->command;
    size_t nouns = 0;
    for (const struct noun *noun = watch->session->nouns; noun->word != NULL; noun++)
        nouns += compared_of(noun) != COMPARED_NOT ? 1 : 0;
    watch->all = calloc(nouns * command->element_count, sizeof watch->all[0]);
    if (watch->all == NULL)
        return false;
    for (size_t i = 0; i < command->element_count; i++)
        for (const struct noun *noun = watch->session->nouns; noun->word != NULL; noun++)
            if (compared_of(noun) != COMPARED_NOT)
                watched_begin(&watch->all[watch->count++], watch->session, command, noun,
                              command->elements[i].data, store_is_new);
    return true;
}

static int watch_all(struct watch *watch)
{
    mcds_pipeline_options depth = MCDS_PIPELINE_OPTIONS_INIT;
    depth.depth = DEPTH;
    bool store_is_new = watch->session->is_absent;
    int status = session_wait_for_store(watch->session, watch->command, interval_of(watch));
    if (status != STATUS_DONE || watch->session->is_absent)
        return status;
    if (mcds_pipeline_open(watch->session->store, &depth, &watch->pipeline) != MCDS_OK ||
        !begin_all(watch, store_is_new))
        return refuse_memory(watch);
    return go_on(watch);
}

int watch_run(struct session *session, const struct command *command)
{
    struct watch watch = {.session = session, .command = command};
    if (session_is_private(session)) {
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID",
                       "watch: only this command sees a memory: store, and it changes nothing; "
                       "name a store that others change with -s");
        return STATUS_USAGE;
    }
    int status = session_open_store(session);
    if (status == STATUS_DONE)
        status = refuse_copy(session, command);
    if (status != STATUS_DONE)
        return status;
    if (isatty(STDERR_FILENO) == 1 && !session->output.quiet)
        complain(&session->output, "waiting for changes; Ctrl-C ends");
    status = watch_all(&watch);
    mcds_pipeline_close(watch.pipeline);
    for (size_t i = 0; i < watch.count; i++)
        watched_close(&watch.all[i]);
    free(watch.all);
    return status;
}
