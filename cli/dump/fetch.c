/* Fetch: one scan of each structure, in which each element becomes a line as it is read. */
#include "dump/fetch.h"

#include <inttypes.h>
#include <string.h>

#include "io/clock.h"
#include "queue/queue.h"
#include "table/nouns.h"

#define NUMBER_TEXT 24

struct fetch {
    struct writer *writer;
    struct progress *progress;
    bool has_counts; /* of a bag */
};

const char *why_omitted(const struct noun *noun)
{
    if (noun->open == lock_open)
        return "a lease and its fence belong to one store; the first use makes a lock in "
               "another";
    if (noun->open == cache_open)
        return "callers make its values again where they are missing";
    if (noun->open == ids_open)
        return "ids stay unique in another store without it, if the clocks agree";
    if (noun->open == once_open)
        return "its results expire; 'once KEY --settle' stores one in another store";
    if (noun->open == limit_open)
        return "in a store without it, every bucket is full";
    if (noun->open == views_open)
        return "its views are in its database: run 'views flush' and dump the table "
               "views:NAME there, or ask the program that saves them";
    return is_dumped(noun) ? NULL
                           : "only the number of its visitors can be read, not their names";
}

static bool put(struct fetch *fetch, const mcds_bytes *fields, size_t count)
{
    progress_count(fetch->progress, 1);
    return writer_element(fetch->writer, fields, count);
}

static mcds_bytes write_number(char text[NUMBER_TEXT], int64_t number)
{
    (void)snprintf(text, NUMBER_TEXT, "%" PRId64, number);
    return mcds_text(text);
}

static int fetch_counter(mcds_store *store, struct command *structure, struct fetch *fetch)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_counter *counter = NULL;
    char text[NUMBER_TEXT];
    int result = mcds_counter_made_with(store, structure->arguments[0], &options);
    if (result != MCDS_OK)
        return result;
    if (options.stripes <= 1 && options.flags == 0)
        structure_give(structure, OPTION_PLAIN, 0);
    if (options.stripes > 1)
        structure_give(structure, OPTION_STRIPES, options.stripes);
    if ((options.flags & MCDS_COUNTER_EXACT) != 0)
        structure_give(structure, OPTION_EXACT, 0);
    if (options.copies > 1)
        structure_give(structure, OPTION_COPIES, options.copies);
    options.flags |= MCDS_COUNTER_SIGNED;
    result = mcds_counter_open(store, structure->arguments[0], &options, &counter);
    if (result == MCDS_OK)
        result = mcds_counter_get(counter, &value);
    if (result == MCDS_OK) {
        mcds_bytes field = write_number(text, value.value);
        (void)put(fetch, &field, 1);
    }
    mcds_counter_close(counter);
    return result;
}

static bool see_element(void *context, mcds_bytes element, uint64_t count)
{
    struct fetch *fetch = context;
    char text[NUMBER_TEXT];
    mcds_bytes fields[] = {write_number(text, (int64_t)count), element};
    return fetch->has_counts ? put(fetch, fields, 2) : put(fetch, &element, 1);
}

static int fetch_set(mcds_store *store, struct command *structure, struct fetch *fetch)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    mcds_set *set = NULL;
    int result = mcds_set_made_with(store, structure->arguments[0], &options);
    if (result != MCDS_OK)
        return result;
    fetch->has_counts = options.form == MCDS_SET_BAG;
    if (options.form != MCDS_SET_PLAIN)
        structure_give(structure, fetch->has_counts ? OPTION_BAG : OPTION_LIST, 0);
    result = mcds_set_open(store, structure->arguments[0], &options, &set);
    if (result == MCDS_OK)
        result = mcds_set_scan(set, see_element, fetch);
    mcds_set_close(set);
    return result;
}

static bool see_entry(void *context, mcds_bytes key, mcds_bytes value)
{
    mcds_bytes fields[] = {key, value};
    return put(context, fields, 2);
}

/* After a loss the next call continues. */
static int fetch_table(mcds_store *store, struct command *structure, struct fetch *fetch)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    mcds_table *table = NULL;
    bool is_lost = false;
    int result = mcds_table_open(store, structure->arguments[0], NULL, &table);
    if (result != MCDS_OK)
        return result;
    do {
        uint64_t before = cursor.position;
        result = mcds_table_scan(table, &cursor, 0, see_entry, fetch);
        is_lost = is_lost || result == MCDS_LOST;
        if (result == MCDS_LOST && cursor.position == before)
            break;
    } while (result == MCDS_LOST && !cursor.done && fetch->writer->error == 0);
    mcds_table_close(table);
    return result == MCDS_OK && is_lost ? MCDS_LOST : result;
}

static bool see_value(void *context, mcds_bytes value)
{
    return put(context, &value, 1);
}

/* A part that mcds did not write is as good as lost, and the rest was visited. */
static int fetch_list(mcds_store *store, struct command *structure, struct fetch *fetch)
{
    mcds_list *list = NULL;
    int result = mcds_list_open(store, structure->arguments[0], NULL, &list);
    if (result == MCDS_OK)
        result = mcds_list_scan(list, 0, 0, see_value, fetch);
    mcds_list_close(list);
    return result == MCDS_CORRUPT && fetch->writer->has_begun ? MCDS_LOST : result;
}

static int fetch_array(mcds_store *store, struct command *structure, struct fetch *fetch)
{
    mcds_array *array = NULL;
    int result = mcds_array_open(store, structure->arguments[0], NULL, &array);
    if (result == MCDS_OK)
        result = mcds_array_scan(array, see_value, fetch);
    mcds_array_close(array);
    return result;
}

static bool see_event(void *context, const mcds_log_event *event)
{
    char when[NUMBER_TEXT];
    char filed[NUMBER_TEXT];
    mcds_bytes fields[] = {write_number(when, event->when_ms),
                           write_number(filed, event->filed_ms), event->event};
    return put(context, fields, 3);
}

/* The number of permits, after all resizes. */
static int fetch_semaphore(mcds_store *store, struct command *structure)
{
    mcds_semaphore_options options = MCDS_SEMAPHORE_OPTIONS_INIT;
    int result = mcds_semaphore_made_with(store, structure->arguments[0], &options);
    if (result == MCDS_OK)
        structure_give(structure, OPTION_PERMITS, options.permits);
    return result;
}

/* A job that is claimed keeps the end of its claim, and a delayed one the time at which it is due. */
static bool see_job(void *context, const mcds_queue_entry *entry)
{
    char tries[NUMBER_TEXT];
    char due[NUMBER_TEXT];
    bool is_later = entry->state == MCDS_JOB_CLAIMED || entry->state == MCDS_JOB_DELAYED;
    mcds_bytes fields[] = {
        mcds_text(job_state_word(entry->state)),
        write_number(tries, (int64_t)entry->tries),
        write_number(due, is_later ? clock_wall_ms() + (int64_t)entry->ms : 0),
        entry->job,
    };
    return put(context, fields, 4);
}

/* The number of stripes. Without it, the jobs that are left can still be read. */
static int fetch_stripes(mcds_store *store, struct command *structure)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    int result = mcds_queue_made_with(store, structure->arguments[0], &options);
    if (result == MCDS_OK && options.stripes > 1)
        structure_give(structure, OPTION_STRIPES, options.stripes);
    return result == MCDS_LOST ? MCDS_OK : result;
}

/* The dead jobs come last: a job that becomes dead meanwhile is there twice, and is not missed. */
static int fetch_queue(mcds_store *store, struct command *structure, struct fetch *fetch)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue = NULL;
    options.flags = MCDS_QUEUE_MAY_LOSE; /* it only reads */
    int result = fetch_stripes(store, structure);
    if (result == MCDS_OK)
        result = mcds_queue_open(store, structure->arguments[0], &options, &queue);
    if (result == MCDS_OK)
        result = mcds_queue_scan(queue, 0, see_job, fetch);
    bool is_lost = result == MCDS_LOST;
    if (result == MCDS_OK || is_lost)
        result = mcds_queue_dead(queue, 0, see_job, fetch);
    mcds_queue_close(queue);
    return result == MCDS_OK && is_lost ? MCDS_LOST : result;
}

static int fetch_log(mcds_store *store, struct command *structure, struct fetch *fetch)
{
    mcds_log *log = NULL;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int result = fetch_log_options(store, structure);
    if (result == MCDS_OK)
        result = mcds_log_open(store, structure->arguments[0], NULL, &log);
    if (result == MCDS_OK)
        result = mcds_log_scan(log, NULL, see_event, fetch, &info);
    mcds_log_close(log);
    return result == MCDS_OK && info.gaps + info.corrupt > 0 ? MCDS_LOST : result;
}

int fetch(mcds_store *store, const struct noun *noun, const char *name, struct writer *writer,
          struct progress *progress)
{
    struct fetch fetch = {writer, progress, false};
    struct command structure;
    int result;
    structure_describe(&structure, noun, name);
    writer_begin(writer, &structure);
    if (noun->open == counter_open)
        result = fetch_counter(store, &structure, &fetch);
    else if (noun->open == set_open)
        result = fetch_set(store, &structure, &fetch);
    else if (noun->open == table_open)
        result = fetch_table(store, &structure, &fetch);
    else if (noun->open == list_open)
        result = fetch_list(store, &structure, &fetch);
    else if (noun->open == log_open)
        result = fetch_log(store, &structure, &fetch);
    else if (noun->open == semaphore_open)
        result = fetch_semaphore(store, &structure);
    else if (noun->open == queue_open)
        result = fetch_queue(store, &structure, &fetch);
    else
        result = fetch_array(store, &structure, &fetch);
    bool is_there = result == MCDS_OK || result == MCDS_LOST;
    if (is_there && (writer->has_begun || noun->open != counter_open))
        writer_finish(writer);
    return result;
}
