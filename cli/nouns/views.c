/* mcds views: counts views in the store and saves them into a table of a durable store. */
#include "nouns/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/made_with.h"
#include "table/nouns.h"

#define DURABLE "lmdb:"

#define PAGE_SHOWN 200 /* bytes of a page in a sentence */

#define FLUSH_MS_DEFAULT 60000
#define NS_PER_MS 1000000

struct viewer {
    mcds_views *views;
    uint32_t flush_ms;
    struct base *base;              /* NULL until something is read from or saved into it */
    uint64_t unsaved;               /* pages that a flush could not save */
    char first[PAGE_SHOWN + 1];     /* the first of them, */
    char because[FAILURE_CAPACITY]; /* and why */
};

const char *views_database(const struct command *command)
{
    if (is_given(command, OPTION_DATABASE))
        return command->options[OPTION_DATABASE].text;
    return command->store_uri;
}

const char *views_why_not(const struct command *command)
{
    const struct verb *verb = command->verb;
    bool needs_none = verb->start == views_hit || verb->start == views_drop;
    if (needs_none && !is_given(command, OPTION_DATABASE))
        return NULL;
    if (strncmp(views_database(command), DURABLE, strlen(DURABLE)) == 0)
        return NULL;
    if (is_given(command, OPTION_DATABASE))
        return "--database URI must name a durable store for the views, such as lmdb:PATH";
    return "this store is not durable, so --database URI must name a durable one for the "
           "views, such as lmdb:PATH";
}

/* Intervals after this one are of another length: no clock is wrong by months. */
static uint64_t latest_slot(const struct viewer *viewer)
{
    const mcds_env *env = mcds_env_system();
    uint64_t now = (uint64_t)env->wall_ns(env->self) / NS_PER_MS / viewer->flush_ms;
    return now + now / 64;
}

static int load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    struct viewer *viewer = context;
    *views_out = 0;
    if (viewer->base == NULL)
        return 0;
    return base_load(viewer->base, page, upto_slot, latest_slot(viewer), views_out);
}

static int save(void *context, const char *page, uint64_t slot, int64_t views)
{
    struct viewer *viewer = context;
    int result = base_save(viewer->base, page, slot, views);
    /* The other pages are saved before the flush fails: by then, other calls on the database have
     * replaced this thread's last failure. */
    if (result != 0 && viewer->unsaved++ == 0) {
        base_explain(viewer->base, result, viewer->because);
        (void)snprintf(viewer->first, sizeof viewer->first, "%s", page);
    }
    return result;
}

int views_open(mcds_store *store, const struct command *command, void **handle_out)
{
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    struct viewer *viewer = calloc(1, sizeof *viewer);
    if (viewer == NULL)
        return MCDS_NO_MEMORY;
    options.flush_ms = (uint32_t)number_of(command, OPTION_FLUSH, FLUSH_MS_DEFAULT);
    options.load = load;
    options.save = save;
    options.context = viewer;
    int result = MCDS_OK;
    if (takes_as_made(command))
        result = mcds_views_made_with(store, command->arguments[0], &options);
    options.database = MCDS_VIEWS_TABLE; /* a get or flush of others is refused */
    /* Without its settings nothing of it is left to save. */
    bool is_absent = result == MCDS_NOT_FOUND && command->verb->start == views_flush;
    if (!is_absent && (result == MCDS_OK || result == MCDS_NOT_FOUND || result == MCDS_CORRUPT))
        result = mcds_views_open(store, command->arguments[0], &options, &viewer->views);
    viewer->flush_ms = options.flush_ms;
    if (result == MCDS_OK)
        *handle_out = viewer;
    else
        free(viewer);
    return result;
}

/* Hits need no database: hosts that only count views do not make the file. */
static int open_base(struct viewer *viewer, const struct command *command)
{
    if (viewer->base != NULL)
        return MCDS_OK;
    return base_open(command, views_database(command), &viewer->base);
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
    struct viewer *viewer = handle;
    int result = open_base(viewer, command);
    /* A database that does not exist has no views: the first flush makes it. */
    if (result != MCDS_OK && mcds_last_error()->cause != MCDS_CAUSE_NO_FILE)
        return result;
    return mcds_views_get_start(viewer->views, command->arguments[1], &answer->number, pipeline,
                                tag);
}

void views_print_get(struct output *output, const struct command *command,
                     const struct answer *answer, int result)
{
    (void)result;
    output_name(output, "page", command->arguments[1], HIDDEN);
    output_number(output, "views", answer->number, SHOWN);
}

static void explain_unsaved(const void *handle, const struct command *command, char *out,
                            size_t capacity)
{
    const struct viewer *viewer = handle;
    char more[48] = " is";
    if (viewer->unsaved > 1)
        (void)snprintf(more, sizeof more, " and %" PRIu64 " more are", viewer->unsaved - 1);
    (void)snprintf(out, capacity,
                   "views '%.200s': flush: page '%s'%s not saved; correct the cause and flush "
                   "again; %s",
                   command->arguments[0], viewer->first, more, viewer->because);
}

int views_flush(void *handle, const struct command *command, struct answer *answer,
                mcds_pipeline *pipeline, uint64_t tag)
{
    struct viewer *viewer = handle;
    answer->explain = explain_unsaved;
    answer->handle = viewer;
    viewer->unsaved = 0;
    int result = open_base(viewer, command);
    return result == MCDS_OK ? mcds_views_flush_start(viewer->views, pipeline, tag) : result;
}

void views_print_flush(struct output *output, const struct command *command,
                       const struct answer *answer, int result)
{
    (void)command;
    (void)answer;
    (void)result;
    output_word(output, "done", "flushed");
}

int views_drop(void *handle, const struct command *command, struct answer *answer,
               mcds_pipeline *pipeline, uint64_t tag)
{
    (void)command;
    (void)answer;
    return mcds_views_drop_start(((struct viewer *)handle)->views, pipeline, tag);
}
