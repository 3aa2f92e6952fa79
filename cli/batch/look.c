/* Look: reads the structures of a listing, many at once, and prints a line about each.
 *
 *   listing --chunk--> rows --get--> pipeline --> rows --in order--> lines
 *
 * Only one value of a structure is read: a number, or the holder of a lock. */
#include "batch/look.h"

#include <stdlib.h>
#include <string.h>

#include "io/exit.h"
#include "io/report.h"
#include "nouns/lock.h"
#include "table/commands.h"
#include "table/nouns.h"

#define CHUNK 256

struct row {
    struct command command;
    struct answer answer;
    void *handle;
    bool is_known; /* `answer` is the result of a read */
};

struct look {
    struct session *session;
    mcds_pipeline *pipeline;
    struct row rows[CHUNK];
    int status;
};

/* The verb that reads the value of the structure; NULL: that would read all of it. */
static const struct verb *verb_for(const struct noun *noun)
{
    if (noun->open == lock_open)
        return &noun->verbs[0]; /* with --info */
    bool keeps_number = noun->open == counter_open || noun->open == visitors_open ||
                        noun->open == online_open;
    return keeps_number ? find_verb(noun, "get") : NULL;
}

/* Records the result of a read, and prints a failure. A free lock, or a structure that was dropped
 * meanwhile, is no failure. */
static void note_result(struct look *look, struct row *row, int result)
{
    row->is_known = result == MCDS_OK;
    if (result >= 0)
        return;
    char sentence[SENTENCE_MAX];
    write_sentence(sentence, &row->command, &row->answer, result, NULL);
    complain(&look->session->output, "%s", sentence);
    if (look->status <= STATUS_NO)
        look->status = status_of(result);
}

static void open_row(struct look *look, struct row *row, const struct command *command,
                     const struct found *found)
{
    memset(row, 0, sizeof *row);
    row->command.noun = found->noun;
    row->command.verb = verb_for(found->noun);
    row->command.store_uri = command->store_uri;
    row->command.store_ns = command->store_ns;
    row->command.arguments[0] = found->name;
    row->command.bytes[0] = mcds_text(found->name);
    row->command.options[OPTION_INFO].given = true;
    if (row->command.verb == NULL)
        return;
    int result = found->noun->open(look->session->store, &row->command, &row->handle);
    if (result != MCDS_OK)
        note_result(look, row, result);
}

static void start_row(struct look *look, size_t i)
{
    struct row *row = &look->rows[i];
    const struct verb *verb = row->command.verb;
    if (verb == NULL || row->handle == NULL)
        return;
    int result = verb->start(row->handle, &row->command, &row->answer, look->pipeline, i);
    if (result != MCDS_OK)
        note_result(look, row, result);
}

static void print_or_dash(struct output *output, bool is_known)
{
    if (!is_known && !output->json)
        output_text(output, "", "-", SHOWN);
}

static void print_size(struct output *output, const struct row *row)
{
    const struct verb *verb = row->command.verb;
    bool is_known = row->is_known;
    if (is_known && verb->start == lock_look)
        lock_print_mode(output, &row->answer.holder);
    else if (is_known && verb->start == counter_get)
        output_number(output, "size", row->answer.counter.value, SHOWN);
    else if (is_known && verb->start == visitors_get)
        output_unsigned(output, "size", row->answer.visitors.current, SHOWN);
    else if (is_known)
        output_rounded(output, "size", row->answer.online.estimate, SHOWN);
    print_or_dash(output, is_known);
}

/* The time until the lease of a lock ends or a counter expires, if it does. */
static void print_left(struct output *output, const struct row *row)
{
    int64_t left_ms = -1;
    if (row->is_known && row->command.verb->start == lock_look)
        left_ms = row->answer.holder.remaining_ms;
    else if (row->is_known && row->command.verb->start == counter_get)
        left_ms = row->answer.counter.ttl_ms;
    if (left_ms >= 0 && output->json)
        output_number(output, "remaining_ms", left_ms, SHOWN);
    else if (left_ms >= 0)
        output_real(output, "", (double)left_ms / 1000, SHOWN);
    print_or_dash(output, left_ms >= 0);
}

static void print_holder(struct output *output, const struct row *row)
{
    const mcds_lock_holder *holder = &row->answer.holder;
    bool is_held = row->is_known && row->command.verb->start == lock_look;
    bool is_labelled = is_held && holder->label[0] != '\0';
    if (is_labelled)
        output_name(output, "holder", holder->label, SHOWN);
    print_or_dash(output, is_labelled);
}

static void print_row(struct look *look, struct row *row)
{
    struct output *output = &look->session->output;
    output_begin(output);
    output_text(output, "noun", row->command.noun->word, SHOWN);
    output_name(output, "name", row->command.arguments[0], SHOWN);
    print_size(output, row);
    print_left(output, row);
    print_holder(output, row);
    output_end(output);
    if (row->handle != NULL)
        row->command.noun->close(row->handle);
}

static void look_at_chunk(struct look *look, const struct command *command,
                          const struct found *found, size_t count)
{
    mcds_completion done;
    /* Opening may wait for a server that is down; no deadline may pass meanwhile. */
    for (size_t i = 0; i < count; i++)
        open_row(look, &look->rows[i], command, &found[i]);
    for (size_t i = 0; i < count; i++)
        start_row(look, i);
    while (mcds_pipeline_next(look->pipeline, &done) == MCDS_OK)
        note_result(look, &look->rows[done.tag], done.result);
    for (size_t i = 0; i < count; i++)
        print_row(look, &look->rows[i]);
}

static int print_all(struct look *look, const struct command *command,
                     const struct listing *listing)
{
    for (size_t i = 0; i < listing->count && output_is_fine(&look->session->output); i += CHUNK)
        look_at_chunk(look, command, &listing->found[i],
                      listing->count - i < CHUNK ? listing->count - i : CHUNK);
    return look->status;
}

int look_at_all(struct session *session, const struct command *command,
                const struct listing *listing)
{
    mcds_pipeline_options depth = MCDS_PIPELINE_OPTIONS_INIT;
    depth.depth = CHUNK;
    int status = STATUS_INTERNAL;
    struct look *look = calloc(1, sizeof *look);
    if (look != NULL &&
        mcds_pipeline_open(session->store, &depth, &look->pipeline) == MCDS_OK) {
        look->session = session;
        status = print_all(look, command, listing);
    }
    if (status == STATUS_INTERNAL)
        report_failure(&session->output, command, status, "MCDS_NO_MEMORY",
                       "ls: out of memory");
    if (look != NULL)
        mcds_pipeline_close(look->pipeline);
    free(look);
    return status;
}
