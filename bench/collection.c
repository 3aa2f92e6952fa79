/* The mcds side of the comparisons of structures with many elements: one verb, elements by
 * number. */
#include "collection.h"

#include <stdio.h>
#include <string.h>

#include "work/work.h"

static bool fail(const struct collection *collection)
{
    (void)fprintf(stderr, "bench: %s: %s\n", verb_name(collection->verb), mcds_errmsg());
    return false;
}

static bool open_structure(struct collection *collection, const char *name)
{
    mcds_store *store = collection->store;
    switch (collection->verb) {
    case SET_ADD:
        return mcds_set_open(store, name, NULL, &collection->set) == MCDS_OK;
    case LIST_PUSH:
        return mcds_list_open(store, name, NULL, &collection->list) == MCDS_OK;
    case LOG_PUT:
        return mcds_log_open(store, name, NULL, &collection->log) == MCDS_OK;
    default:
        return mcds_table_open(store, name, NULL, &collection->table) == MCDS_OK;
    }
}

bool collection_open_on(struct collection *collection, enum verb verb, mcds_store *store,
                        const char *name, uint32_t depth)
{
    mcds_pipeline_options in_flight = MCDS_PIPELINE_OPTIONS_INIT;
    in_flight.depth = depth;
    *collection = (struct collection){.verb = verb, .store = store, .depth = depth};
    if (mcds_pipeline_open(store, &in_flight, &collection->pipeline) == MCDS_OK &&
        open_structure(collection, name))
        return true;
    (void)fail(collection);
    collection_close(collection);
    return false;
}

bool collection_open(struct collection *collection, enum verb verb, const char *uri,
                     const char *name, uint32_t depth)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    options.timeout_ms = 30000;
    *collection = (struct collection){.verb = verb};
    if (mcds_open(uri, &options, &store) != MCDS_OK)
        return fail(collection);
    return collection_open_on(collection, verb, store, name, depth);
}

void collection_close(struct collection *collection)
{
    mcds_pipeline_close(collection->pipeline);
    mcds_set_close(collection->set);
    mcds_table_close(collection->table);
    mcds_list_close(collection->list);
    mcds_log_close(collection->log);
    mcds_close(collection->store);
    *collection = (struct collection){0};
}

/* With a pipeline, start the operation; without one, wait for it. */
static int act(struct collection *collection, enum verb verb, uint64_t number,
               mcds_pipeline *pipeline)
{
    char element[ELEMENT_LENGTH + 1];
    element_of(number, element);
    mcds_bytes bytes = {element, ELEMENT_LENGTH};
    mcds_bytes value = {value_bytes, VALUE_LENGTH};
    mcds_bytes event = {event_bytes, EVENT_LENGTH};
    bool waits = pipeline == NULL;
    switch (verb) {
    case SET_ADD:
        return waits ? mcds_set_add(collection->set, bytes, NULL)
                     : mcds_set_add_start(collection->set, bytes, NULL, pipeline, number);
    case TABLE_PUT:
        return waits
                   ? mcds_table_put(collection->table, bytes, value, 0)
                   : mcds_table_put_start(collection->table, bytes, value, 0, pipeline, number);
    case LIST_PUSH:
        return waits ? mcds_list_push(collection->list, value)
                     : mcds_list_push_start(collection->list, value, pipeline, number);
    case LOG_PUT:
        return waits ? mcds_log_put(collection->log, 0, event)
                     : mcds_log_put_start(collection->log, 0, event, pipeline, number);
    default:
        return waits ? mcds_table_has(collection->table, bytes)
                     : mcds_table_has_start(collection->table, bytes, pipeline, number);
    }
}

/* The verb that fills the structure for `verb`. */
static enum verb filling(enum verb verb)
{
    return verb == TABLE_HAS ? TABLE_PUT : verb;
}

static uint64_t next_number(struct collection *collection, enum verb verb)
{
    if (verb == TABLE_HAS)
        return spread(collection->next++, collection->size);
    return collection->size++;
}

struct acts {
    struct collection *collection;
    enum verb verb;
};

static bool start_act(void *context, uint64_t tag)
{
    const struct acts *acts = context;
    (void)tag;
    return act(acts->collection, acts->verb, next_number(acts->collection, acts->verb),
               acts->collection->pipeline) == MCDS_OK;
}

static bool run(struct collection *collection, enum verb verb, uint64_t operations)
{
    struct acts acts = {collection, verb};
    return keep_in_flight(collection->pipeline, collection->depth, operations, start_act,
                          &acts) ||
           fail(collection);
}

bool collection_fill(struct collection *collection, uint64_t size)
{
    return size <= collection->size ||
           run(collection, filling(collection->verb), size - collection->size);
}

bool collection_run(void *state, uint64_t operations)
{
    struct collection *collection = state;
    return run(collection, collection->verb, operations);
}

bool collection_run_waiting(void *state, uint64_t operations)
{
    struct collection *collection = state;
    for (uint64_t i = 0; i < operations; i++)
        if (act(collection, collection->verb, next_number(collection, collection->verb),
                NULL) != MCDS_OK)
            return fail(collection);
    return true;
}
