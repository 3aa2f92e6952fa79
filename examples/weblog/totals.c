/* The figures as they stand in the store. */
#include "totals.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH 1024
#define ONLINE_LOOKS_MAX 4096

static int read_counter(const struct figures *figures, mcds_store *store, const char *what,
                        uint64_t *value_out)
{
    mcds_counter *counter;
    int result = figures_open_counter(figures, store, what, &counter);
    if (result != MCDS_OK)
        return result;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    result = mcds_counter_get(counter, &value);
    mcds_counter_close(counter);
    *value_out = (uint64_t)value.value;
    return result == MCDS_NOT_FOUND ? MCDS_OK : result;
}

int totals_read(const struct figures *figures, mcds_store *store, struct totals *totals)
{
    *totals = (struct totals){0};
    int result = read_counter(figures, store, "lines", &totals->lines);
    if (result == MCDS_OK)
        result = read_counter(figures, store, "malformed", &totals->malformed);
    if (result == MCDS_OK)
        result = read_counter(figures, store, "errors", &totals->errors);
    if (result != MCDS_OK)
        return result;
    mcds_visitors *hosts;
    result = figures_open_hosts(figures, store, &hosts);
    if (result != MCDS_OK)
        return result;
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    result = mcds_visitors_get(hosts, figures_hosts_at_ms(figures), &value);
    if (result == MCDS_OK)
        totals->visitors = value.current;
    mcds_visitors_close(hosts);
    return result;
}

int totals_read_online(const struct figures *figures, mcds_store *store, uint64_t *online)
{
    mcds_online *here;
    int result = figures_open_online(figures, store, &here);
    if (result != MCDS_OK)
        return result;
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    result = mcds_online_get(here, 0, &value);
    if (result == MCDS_OK)
        *online = (uint64_t)(value.estimate + 0.5);
    mcds_online_close(here);
    return result;
}

/* The first result below zero, or MCDS_OK. */
static int finish_all(mcds_pipeline *pipeline)
{
    mcds_completion done;
    int worst = MCDS_OK;
    int result;
    while ((result = mcds_pipeline_next(pipeline, &done)) == MCDS_OK)
        if (worst == MCDS_OK && done.result < 0)
            worst = done.result;
    return result == MCDS_IDLE ? worst : result;
}

/* Up to DEPTH pages at once. */
static int read_some_pages(const struct figures *figures, mcds_store *store,
                           mcds_pipeline *pipeline, struct name *pages, uint32_t count)
{
    mcds_counter_value values[DEPTH];
    mcds_counter *counters[DEPTH];
    memset(values, 0, sizeof values);
    int result = MCDS_OK;
    uint32_t open = 0;
    while (open < count && result == MCDS_OK) {
        struct text name = {pages[open].bytes, pages[open].length};
        result = figures_open_page(figures, store, name, &counters[open]);
        if (result != MCDS_OK)
            break;
        result = mcds_counter_get_start(counters[open], &values[open], pipeline, open);
        open++;
    }
    int finished = finish_all(pipeline);
    if (result == MCDS_OK)
        result = finished;
    for (uint32_t i = 0; i < open; i++) {
        mcds_counter_close(counters[i]);
        pages[i].count = (uint64_t)values[i].value;
    }
    return result;
}

static int open_pipeline(mcds_store *store, mcds_pipeline **pipeline_out)
{
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    options.depth = DEPTH;
    return mcds_pipeline_open(store, &options, pipeline_out);
}

int totals_read_pages(const struct figures *figures, mcds_store *store, struct names *pages)
{
    mcds_pipeline *pipeline;
    int result = open_pipeline(store, &pipeline);
    if (result != MCDS_OK)
        return result;
    for (uint32_t i = 0; i < pages->count && result == MCDS_OK; i += DEPTH) {
        uint32_t count = pages->count - i < DEPTH ? pages->count - i : DEPTH;
        result = read_some_pages(figures, store, pipeline, &pages->at[i], count);
    }
    mcds_pipeline_close(pipeline);
    return result;
}

static int read_days(const struct figures *figures, mcds_store *store, int64_t first_ms,
                     int64_t last_ms, struct details *details)
{
    const int64_t day_ms = (int64_t)FIGURES_DAY_MS;
    mcds_visitors *daily;
    int result = figures_open_daily(figures, store, &daily);
    if (result != MCDS_OK)
        return result;
    int64_t first_day = first_ms / day_ms;
    int64_t last_day = last_ms / day_ms;
    if (last_day - first_day >= TOTALS_DAYS_MAX)
        first_day = last_day - TOTALS_DAYS_MAX + 1;
    for (int64_t day = first_day; day <= last_day && result == MCDS_OK; day++) {
        mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
        /* the end of the day, since a time of 0 would mean today */
        result = mcds_visitors_get(daily, day * day_ms + day_ms - 1, &value);
        if (result == MCDS_OK)
            details->days[details->day_count++] = (struct day){day * day_ms, value.current};
    }
    mcds_visitors_close(daily);
    return result;
}

/* Look at every edge between two buckets, or at fewer when the log is long. */
static int look_for_peak(mcds_online *online, mcds_pipeline *pipeline, int64_t first_ms,
                         int64_t last_ms, struct details *details)
{
    const int64_t width_ms = FIGURES_ONLINE_WIDTH_MS;
    int64_t first = first_ms / width_ms + 1;
    int64_t last = last_ms / width_ms + FIGURES_ONLINE_BUCKETS;
    int64_t step = (last - first) / ONLINE_LOOKS_MAX + 1;
    mcds_online_value *looks = calloc((size_t)((last - first) / step) + 1, sizeof *looks);
    if (looks == NULL)
        return MCDS_NO_MEMORY;
    int result = MCDS_OK;
    for (int64_t at = first; at <= last && result == MCDS_OK; at += step)
        result = mcds_online_get_start(online, at * width_ms, &looks[(at - first) / step],
                                       pipeline, (uint64_t)at);
    int finished = finish_all(pipeline);
    for (int64_t at = first; at <= last; at += step)
        if (looks[(at - first) / step].closed > details->online_peak) {
            details->online_peak = looks[(at - first) / step].closed;
            details->online_peak_ms = at * width_ms;
        }
    free(looks);
    return result == MCDS_OK ? finished : result;
}

static int read_peak(const struct figures *figures, mcds_store *store, int64_t first_ms,
                     int64_t last_ms, struct details *details)
{
    mcds_pipeline *pipeline;
    int result = open_pipeline(store, &pipeline);
    if (result != MCDS_OK)
        return result;
    mcds_online *online;
    result = figures_open_online(figures, store, &online);
    if (result == MCDS_OK) {
        result = look_for_peak(online, pipeline, first_ms, last_ms, details);
        mcds_online_close(online);
    }
    mcds_pipeline_close(pipeline);
    return result;
}

int totals_read_details(const struct figures *figures, mcds_store *store, int64_t first_ms,
                        int64_t last_ms, struct details *details)
{
    memset(details, 0, sizeof *details);
    if (first_ms == 0)
        return MCDS_OK;
    int result = read_days(figures, store, first_ms, last_ms, details);
    return result == MCDS_OK ? read_peak(figures, store, first_ms, last_ms, details) : result;
}
