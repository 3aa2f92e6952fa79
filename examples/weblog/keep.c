/* Views that are kept in an SQLite database. */
#include "keep.h"

#include <stdlib.h>

#include "clock.h"

#ifdef WEBLOG_SQLITE
#include "views/sqlite.h"
#endif

#define DEPTH 256
#define SAVE_EVERY_S 10.0

#ifdef WEBLOG_SQLITE
static bool open_database(struct keep *keep, const char *path, mcds_views_options *options)
{
    keep->database = views_sqlite_open(path);
    keep->failure = "the database cannot be opened";
    options->load = views_sqlite_load;
    options->save = views_sqlite_save;
    options->context = keep->database;
    return keep->database != NULL;
}

static void close_database(struct keep *keep)
{
    if (keep->database != NULL)
        views_sqlite_close(keep->database);
}
#else
static bool open_database(struct keep *keep, const char *path, mcds_views_options *options)
{
    (void)path;
    (void)options;
    keep->failure = "--database: this weblog was built without SQLite (libsqlite3-dev)";
    return false;
}

static void close_database(struct keep *keep)
{
    (void)keep;
}
#endif

bool keep_open(struct keep *keep, const struct figures *figures, mcds_store *store)
{
    char name[FIGURES_LONG_MAX];
    mcds_views_options options = figures_views_options();
    *keep = (struct keep){.store = store, .saved_s = clock_now_s()};
    if (figures->database == NULL)
        return true;
    if (!open_database(keep, figures->database, &options))
        return false;
    figures_name(figures, "views", name);
    if (mcds_views_open(store, name, &options, &keep->views) == MCDS_OK)
        return true;
    keep->failure = mcds_errmsg();
    return false;
}

void keep_close(struct keep *keep)
{
    mcds_views_close(keep->views);
    close_database(keep);
    *keep = (struct keep){0};
}

int keep_save_sometimes(struct keep *keep)
{
    if (keep->views == NULL || clock_now_s() - keep->saved_s < SAVE_EVERY_S)
        return MCDS_OK;
    keep->saved_s = clock_now_s();
    return mcds_views_flush(keep->views);
}

int keep_save_all(struct keep *keep)
{
    return keep->views != NULL ? mcds_views_flush_final(keep->views) : MCDS_OK;
}

/* Take one value back. MCDS_IDLE: all have been. */
static int take_one(mcds_pipeline *pipeline)
{
    mcds_completion done;
    int result = mcds_pipeline_next(pipeline, &done);
    return result == MCDS_OK && done.result < 0 ? done.result : result;
}

static int ask_pages(struct keep *keep, mcds_pipeline *pipeline, const struct names *pages,
                     int64_t *views)
{
    char fit[FIGURES_FIT_MAX];
    int result = MCDS_OK;
    for (uint32_t i = 0; i < pages->count && result == MCDS_OK; i++) {
        figures_fit((struct text){pages->at[i].bytes, pages->at[i].length}, fit);
        if (i >= DEPTH)
            result = take_one(pipeline);
        if (result == MCDS_OK)
            result = mcds_views_get_start(keep->views, fit, &views[i], pipeline, i);
    }
    while (result == MCDS_OK)
        result = take_one(pipeline);
    return result == MCDS_IDLE ? MCDS_OK : result;
}

int keep_read_pages(struct keep *keep, struct names *pages)
{
    mcds_pipeline *pipeline = NULL;
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    options.depth = DEPTH;
    int64_t *views = calloc((size_t)pages->count + 1, sizeof *views);
    int result = MCDS_NO_MEMORY;
    if (views != NULL)
        result = mcds_pipeline_open(keep->store, &options, &pipeline);
    if (result == MCDS_OK)
        result = ask_pages(keep, pipeline, pages, views);
    mcds_pipeline_close(pipeline);
    for (uint32_t i = 0; i < pages->count && result == MCDS_OK; i++)
        pages->at[i].count = (uint64_t)views[i];
    free(views);
    return result;
}
