/* mcds views: counted in the store, and kept for good in a table of another that lasts. */
#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "nouns.h"

struct viewer {
    mcds_views *views;
    struct base *base;
};

/* Where nothing else is said the store itself is the database, if it lasts. */
static const char *database_of(const struct command *command)
{
    if (is_given(command, OPTION_DATABASE))
        return command->options[OPTION_DATABASE].text;
    return strncmp(command->store_uri, "lmdb:", 5) == 0 ? command->store_uri : NULL;
}

const char *views_why_not(const struct command *command)
{
    if (command->verb->start == views_hit || database_of(command) != NULL)
        return NULL;
    return "this store is not durable, so --database URI must name a durable one for the "
           "views, such as lmdb:PATH";
}

int views_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_options base_options = MCDS_OPTIONS_INIT;
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    base_options.ns = command->store_ns;
    options.flush_ms = (uint32_t)number_of(command, OPTION_FLUSH, 0);
    options.load = base_load;
    options.save = base_save;
    /* What only hits needs no database. */
    struct viewer *viewer = calloc(1, sizeof *viewer);
    if (viewer == NULL)
        return MCDS_NO_MEMORY;
    const char *database = database_of(command);
    int result = MCDS_OK;
    if (database != NULL)
        result = base_open(database, &base_options, command->arguments[0], &viewer->base);
    options.context = viewer->base;
    if (result == MCDS_OK)
        result = mcds_views_open(store, command->arguments[0], &options, &viewer->views);
    if (result == MCDS_OK) {
        *handle_out = viewer;
        return MCDS_OK;
    }
    views_close(viewer);
    return result;
}

void views_close(void *handle)
{
    struct viewer *viewer = handle;
    if (viewer == NULL)
        return;
    mcds_views_close(viewer->views);
    base_close(viewer->base);
    free(viewer);
}

int views_hit(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    (void)answer;
    return mcds_views_hit_start(((struct viewer *)handle)->views, command->arguments[1],
                                (uint32_t)command->delta, pipeline, tag);
}

void views_print_hit(struct output *output, const struct command *command,
                     const struct answer *answer, int result)
{
    (void)answer;
    (void)result;
    output_name(output, "page", command->arguments[1], HIDDEN);
    output_word(output, "done", "counted");
}

int views_get(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    return mcds_views_get_start(((struct viewer *)handle)->views, command->arguments[1],
                                &answer->number, pipeline, tag);
}

void views_print_get(struct output *output, const struct command *command,
                     const struct answer *answer, int result)
{
    (void)result;
    output_name(output, "page", command->arguments[1], HIDDEN);
    output_number(output, "views", answer->number, SHOWN);
}

int views_flush(void *handle, const struct command *command, struct answer *answer,
                mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_views_flush_start(((struct viewer *)handle)->views, pipeline, tag);
}

void views_print_flush(struct output *output, const struct command *command,
                       const struct answer *answer, int result)
{
    (void)command;
    (void)answer;
    (void)result;
    output_word(output, "done", "flushed");
}
