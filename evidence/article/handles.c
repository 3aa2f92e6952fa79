/* Opens the structures of mcds for a row; the row's world closes them. */
#include "article/handles.h"
#include "mcds.h"

#define CHUNK_MS 10000
#define LATE_MS 90000
#define DAY_MS 86400000

static void close_lock(void *handle)
{
    mcds_lock_close(handle);
}

mcds_lock *open_lock(struct actor *actor, const char *name, uint32_t lease_ms)
{
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    mcds_lock *lock = NULL;
    options.lease_ms = lease_ms;
    if (mcds_lock_open(actor->store, name, &options, &lock) != MCDS_OK)
        return NULL;
    world_keep(actor->world, close_lock, lock);
    return lock;
}

static void close_counter(void *handle)
{
    mcds_counter_close(handle);
}

mcds_counter *open_counter(struct actor *actor, const char *name, uint32_t flags,
                           uint32_t stripes)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    options.flags = flags;
    options.stripes = stripes;
    options.flush_ms = MCDS_COUNTER_FLUSH_EACH;
    if (mcds_counter_open(actor->store, name, &options, &counter) != MCDS_OK)
        return NULL;
    world_keep(actor->world, close_counter, counter);
    return counter;
}

static void close_visitors(void *handle)
{
    mcds_visitors_close(handle);
}

mcds_visitors *open_visitors(struct actor *actor, const char *name, uint64_t period_ms)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors = NULL;
    options.period_ms = period_ms;
    if (mcds_visitors_open(actor->store, name, &options, &visitors) != MCDS_OK)
        return NULL;
    world_keep(actor->world, close_visitors, visitors);
    return visitors;
}

static void close_online(void *handle)
{
    mcds_online_close(handle);
}

mcds_online *open_online(struct actor *actor, const char *name)
{
    mcds_online *online = NULL;
    if (mcds_online_open(actor->store, name, NULL, &online) != MCDS_OK)
        return NULL;
    world_keep(actor->world, close_online, online);
    return online;
}

static void close_table(void *handle)
{
    mcds_table_close(handle);
}

mcds_table *open_table(struct actor *actor, const char *name)
{
    mcds_table *table = NULL;
    if (mcds_table_open(actor->store, name, NULL, &table) != MCDS_OK)
        return NULL;
    world_keep(actor->world, close_table, table);
    return table;
}

static void close_set(void *handle)
{
    mcds_set_close(handle);
}

mcds_set *open_set(struct actor *actor, const char *name, mcds_set_form form)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    mcds_set *set = NULL;
    options.form = form;
    if (mcds_set_open(actor->store, name, &options, &set) != MCDS_OK)
        return NULL;
    world_keep(actor->world, close_set, set);
    return set;
}

static void close_views(void *handle)
{
    mcds_views_close(handle);
}

mcds_views *open_views(struct actor *actor, const char *name, const mcds_views_options *options)
{
    mcds_views *views = NULL;
    if (mcds_views_open(actor->store, name, options, &views) != MCDS_OK)
        return NULL;
    world_keep(actor->world, close_views, views);
    return views;
}

static void close_pipeline(void *handle)
{
    mcds_pipeline_close(handle);
}

mcds_pipeline *open_pipeline(struct actor *actor)
{
    mcds_pipeline *pipeline = NULL;
    if (mcds_pipeline_open(actor->store, NULL, &pipeline) != MCDS_OK)
        return NULL;
    world_keep(actor->world, close_pipeline, pipeline);
    return pipeline;
}

static void close_array(void *handle)
{
    mcds_array_close(handle);
}

mcds_array *open_array(struct actor *actor, const char *name)
{
    mcds_array *array = NULL;
    if (mcds_array_open(actor->store, name, NULL, &array) != MCDS_OK)
        return NULL;
    world_keep(actor->world, close_array, array);
    return array;
}

static void close_list(void *handle)
{
    mcds_list_close(handle);
}

mcds_list *open_list(struct actor *actor, const char *name)
{
    mcds_list *list = NULL;
    if (mcds_list_open(actor->store, name, NULL, &list) != MCDS_OK)
        return NULL;
    world_keep(actor->world, close_list, list);
    return list;
}

static void close_log(void *handle)
{
    mcds_log_close(handle);
}

mcds_log *open_log(struct actor *actor, const char *name, uint64_t retention_ms)
{
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    mcds_log *log = NULL;
    options.retention_ms = retention_ms;
    options.late_ms = LATE_MS;
    options.chunk_ms = retention_ms > DAY_MS ? 0 : CHUNK_MS;
    if (mcds_log_open(actor->store, name, &options, &log) != MCDS_OK)
        return NULL;
    world_keep(actor->world, close_log, log);
    return log;
}
