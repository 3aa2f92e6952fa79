/* Survey: a read of each structure that ends with its first element. */
#include "load/survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/structure.h"
#include "io/exit.h"
#include "io/failure.h"
#include "table/nouns.h"

#define CHUNK 256

struct row {
    uint64_t number; /* in the dump */
    struct named_structure named;
    void *handle;
    mcds_table_cursor cursor;
    mcds_counter_value value;
    int64_t wanted; /* of a counter */
    int result;
};

struct survey {
    struct dump_reader *reader;
    mcds_store *store;
    mcds_pipeline *pipeline;
    bool only_counters;
    survey_cb visit;
    void *context;
    size_t count;
    struct row rows[CHUNK];
};

static bool see_bytes(void *context, mcds_bytes bytes)
{
    (void)context;
    (void)bytes;
    return false;
}

static bool see_element(void *context, mcds_bytes element, uint64_t count)
{
    (void)count;
    return see_bytes(context, element);
}

static bool see_entry(void *context, mcds_bytes key, mcds_bytes value)
{
    (void)value;
    return see_bytes(context, key);
}

static bool see_event(void *context, const mcds_log_event *event)
{
    return see_bytes(context, event->event);
}

static bool see_job(void *context, const mcds_queue_entry *entry)
{
    return see_bytes(context, entry->job);
}

static bool see_holder(void *context, const mcds_semaphore_holder *holder)
{
    return see_bytes(context, mcds_text(holder->label));
}

/* The handle has the default options: a structure with others is refused, and thus exists. */
static int start_look(struct survey *survey, struct row *row, uint64_t tag)
{
    const struct noun *noun = row->named.command.noun;
    mcds_pipeline *pipeline = survey->pipeline;
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    range.limit = 1;
    if (noun->open == counter_open)
        return mcds_counter_get_start(row->handle, &row->value, pipeline, tag);
    if (noun->open == set_open)
        return mcds_set_scan_start(set_of(row->handle), see_element, NULL, pipeline, tag);
    if (noun->open == table_open)
        return mcds_table_scan_start(row->handle, &row->cursor, 1, see_entry, NULL, pipeline,
                                     tag);
    if (noun->open == list_open)
        return mcds_list_scan_start(row->handle, 0, 1, see_bytes, NULL, pipeline, tag);
    if (noun->open == log_open)
        return mcds_log_scan_start(row->handle, &range, see_event, NULL, NULL, pipeline, tag);
    if (noun->open == queue_open)
        return mcds_queue_scan_start(row->handle, 1, see_job, NULL, pipeline, tag);
    if (noun->open == semaphore_open)
        return mcds_semaphore_holders_start(row->handle, see_holder, NULL, pipeline, tag);
    return mcds_array_scan_start(row->handle, see_bytes, NULL, pipeline, tag);
}

/* A failure that comes from a stored value means that something is there. */
static int judge(int result)
{
    bool is_there = result == MCDS_INVALID || result == MCDS_CORRUPT || result == MCDS_LOST ||
                    result == MCDS_OVERFLOW || result == MCDS_BUSY;
    return is_there ? MCDS_OK : result;
}

/* It is opened in one way only: another handle could not read more. */
static bool has_one_form(const struct noun *noun)
{
    return noun->open == counter_open || noun->open == queue_open;
}

/* Begins to ask for the structure that the reader has. False: its options cannot be used. */
static bool start_row(struct survey *survey)
{
    struct dump_reader *reader = survey->reader;
    struct row *row = &survey->rows[survey->count];
    void *own = NULL;
    row->number = reader->structures;
    structure_copy(&row->named, &reader->structure);
    row->cursor = (mcds_table_cursor)MCDS_TABLE_CURSOR_INIT;
    row->value = (mcds_counter_value)MCDS_COUNTER_VALUE_INIT;
    row->handle = NULL;
    int result = structure_open(survey->store, &row->named.command, &own);
    if (result == MCDS_OK && has_one_form(row->named.command.noun)) {
        row->handle = own;
    } else if (result == MCDS_OK) {
        struct command plain;
        row->named.command.noun->close(own);
        structure_describe(&plain, row->named.command.noun, row->named.name);
        result = structure_open(survey->store, &plain, &row->handle);
    }
    row->result = result == MCDS_OK ? start_look(survey, row, survey->count) : result;
    if (row->result != MCDS_OK && result == MCDS_OK)
        row->named.command.noun->close(row->handle);
    if (row->result == MCDS_OK)
        survey->count++;
    return row->result == MCDS_OK;
}

/* Collects all answers and visits the rows in order. */
static bool finish_rows(struct survey *survey)
{
    mcds_completion done;
    bool goes_on = true;
    while (mcds_pipeline_next(survey->pipeline, &done) == MCDS_OK)
        survey->rows[done.tag].result = done.result;
    for (size_t i = 0; i < survey->count; i++) {
        struct row *row = &survey->rows[i];
        bool is_other = row->named.command.noun->open == counter_open &&
                        (row->result != MCDS_OK || row->value.value != row->wanted);
        row->named.command.noun->close(row->handle);
        goes_on = goes_on && survey->visit(survey->context, row->number, &row->named.command,
                                           judge(row->result), is_other);
    }
    survey->count = 0;
    return goes_on;
}

/* The options cannot be used, or the store cannot keep such a structure. */
static bool refuse_options(struct survey *survey)
{
    struct dump_reader *reader = survey->reader;
    char said[FAILURE_CAPACITY];
    bool is_store = mcds_last_error()->result == MCDS_UNSUPPORTED;
    reader->status = is_store ? STATUS_PROTOCOL : STATUS_DATA;
    describe_failure(said, NULL);
    (void)snprintf(reader->sentence, sizeof reader->sentence, "%.200s: line %lu: %s",
                   reader->path, reader->line, said);
    return false;
}

static bool ask_for(struct survey *survey)
{
    const struct command *structure = &survey->reader->structure;
    if (survey->store == NULL ||
        (survey->only_counters && structure->noun->open != counter_open))
        return true;
    if (survey->count == CHUNK && !finish_rows(survey))
        return false;
    return start_row(survey) || refuse_options(survey);
}

/* The value that a counter should have. */
static void note_value(struct survey *survey)
{
    struct row *row = survey->count > 0 ? &survey->rows[survey->count - 1] : NULL;
    if (row != NULL && row->number == survey->reader->structures)
        row->wanted = survey->reader->element.number;
}

static bool survey_all(struct survey *survey)
{
    struct dump_reader *reader = survey->reader;
    dump_reader_rewind(reader);
    for (;;) {
        enum record record = dump_reader_next(reader);
        if (record == RECORD_BAD)
            return false;
        if (record == RECORD_END)
            return survey->store == NULL || finish_rows(survey);
        if (record == RECORD_STRUCTURE && !ask_for(survey))
            return false;
        if (record == RECORD_ELEMENT)
            note_value(survey);
    }
}

bool survey_run(struct dump_reader *reader, mcds_store *store, bool only_counters,
                survey_cb visit, void *context)
{
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    struct survey *survey = calloc(1, sizeof *survey);
    options.depth = CHUNK;
    bool is_fine = survey != NULL &&
                   (store == NULL ||
                    mcds_pipeline_open(store, &options, &survey->pipeline) == MCDS_OK);
    if (!is_fine) {
        reader->status = STATUS_INTERNAL;
        (void)snprintf(reader->sentence, sizeof reader->sentence, "out of memory");
    } else {
        survey->reader = reader;
        survey->store = store;
        survey->only_counters = only_counters;
        survey->visit = visit;
        survey->context = context;
        is_fine = survey_all(survey);
    }
    if (survey != NULL) {
        mcds_pipeline_close(survey->pipeline);
        for (size_t i = 0; i < survey->count; i++)
            survey->rows[i].named.command.noun->close(survey->rows[i].handle);
    }
    free(survey);
    return is_fine;
}
