/* Counting: each line becomes a few operations in a pipeline.
 *
 * An operation is remembered until the pipeline hands it back, so that one that was certainly
 * not applied can be started again. One whose reply was lost must not be: it counts as
 * uncertain. */
#include "tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEPTH 1024
#define OPEN_PAGES_MAX 8192
/* 50 ms, doubled each time: 12.75 s in all. */
#define ATTEMPTS_MAX 8
#define ATTEMPT_PAUSE_NS INT64_C(50000000)

enum kind { VIEW, LINES, MALFORMED, ERROR, HOST, HOST_OF_DAY, ONLINE };

struct wish {
    enum kind kind;
    uint32_t page; /* VIEW */
    int64_t delta; /* counters */
    int64_t at_ms; /* visitors and online */
};

struct operation {
    struct wish wish;
    uint32_t attempts;
    char host[FIGURES_FIT_MAX];
};

static const struct text nobody = {"", 0};

static bool sample_before(const struct sample *a, const struct sample *b)
{
    return a->file != b->file ? a->file < b->file : a->line < b->line;
}

/* Keep the first TALLY_SAMPLES in the order of the input. */
static void keep_sample(struct summary *summary, const struct sample *sample)
{
    uint32_t place = summary->sample_count;
    while (place > 0 && sample_before(sample, &summary->samples[place - 1]))
        place--;
    if (place == TALLY_SAMPLES)
        return;
    if (summary->sample_count < TALLY_SAMPLES)
        summary->sample_count++;
    memmove(&summary->samples[place + 1], &summary->samples[place],
            (summary->sample_count - place - 1) * sizeof *sample);
    summary->samples[place] = *sample;
}

static void keep_time(struct summary *summary, int64_t at_ms)
{
    if (summary->first_ms == 0 || at_ms < summary->first_ms)
        summary->first_ms = at_ms;
    if (at_ms > summary->last_ms)
        summary->last_ms = at_ms;
}

void summary_merge(struct summary *into, const struct summary *from)
{
    into->uncertain += from->uncertain;
    if (from->first_ms != 0) {
        keep_time(into, from->first_ms);
        keep_time(into, from->last_ms);
    }
    for (uint32_t i = 0; i < from->sample_count; i++)
        keep_sample(into, &from->samples[i]);
    if (into->result == MCDS_OK && from->result != MCDS_OK) {
        into->result = from->result;
        memcpy(into->failure, from->failure, sizeof into->failure);
    }
}

/* Note the first failure; returns `result`. */
static int fail(struct tally *tally, int result)
{
    if (tally->summary.result == MCDS_OK) {
        tally->summary.result = result;
        (void)snprintf(tally->summary.failure, sizeof tally->summary.failure, "%s",
                       mcds_errmsg());
    }
    return result;
}

static int out_of_memory(struct tally *tally)
{
    tally->summary.result = MCDS_NO_MEMORY;
    (void)snprintf(tally->summary.failure, sizeof tally->summary.failure,
                   "out of memory, or more than %u distinct pages", (unsigned)PAGES_MAX);
    return MCDS_NO_MEMORY;
}

static int open_figures(struct tally *tally)
{
    const struct figures *figures = tally->figures;
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    options.depth = DEPTH;
    int result = mcds_pipeline_open(tally->store, &options, &tally->pipeline);
    if (result == MCDS_OK)
        result = figures_open_counter(figures, tally->store, "lines", &tally->lines);
    if (result == MCDS_OK)
        result = figures_open_counter(figures, tally->store, "malformed", &tally->malformed);
    if (result == MCDS_OK)
        result = figures_open_counter(figures, tally->store, "errors", &tally->errors);
    if (result == MCDS_OK)
        result = figures_open_hosts(figures, tally->store, &tally->hosts);
    if (result == MCDS_OK)
        result = figures_open_daily(figures, tally->store, &tally->daily);
    if (result == MCDS_OK)
        result = figures_open_online(figures, tally->store, &tally->online);
    return result;
}

int tally_open(struct tally *tally, const struct figures *figures, mcds_store *store)
{
    memset(tally, 0, sizeof *tally);
    tally->figures = figures;
    tally->store = store;
    pages_init(&tally->pages);
    tally->operations = calloc(DEPTH, sizeof *tally->operations);
    tally->idle = calloc(DEPTH, sizeof *tally->idle);
    if (tally->operations == NULL || tally->idle == NULL)
        return out_of_memory(tally);
    for (uint32_t i = 0; i < DEPTH; i++)
        tally->idle[tally->idle_count++] = i;
    int result = open_figures(tally);
    return result == MCDS_OK ? MCDS_OK : fail(tally, result);
}

void tally_close_pages(struct tally *tally)
{
    for (uint32_t i = 0; i < tally->pages.count && tally->open_pages > 0; i++)
        if (tally->pages.at[i].counter != NULL) {
            mcds_counter_close(tally->pages.at[i].counter);
            tally->pages.at[i].counter = NULL;
            tally->open_pages--;
        }
}

void tally_close(struct tally *tally)
{
    mcds_pipeline_close(tally->pipeline);
    tally_close_pages(tally);
    mcds_counter_close(tally->lines);
    mcds_counter_close(tally->malformed);
    mcds_counter_close(tally->errors);
    mcds_visitors_close(tally->hosts);
    mcds_visitors_close(tally->daily);
    mcds_online_close(tally->online);
    pages_free(&tally->pages);
    free(tally->operations);
    free(tally->idle);
}

static mcds_counter *counter_of(const struct tally *tally, const struct wish *wish)
{
    switch (wish->kind) {
    case VIEW:
        return tally->pages.at[wish->page].counter;
    case LINES:
        return tally->lines;
    case MALFORMED:
        return tally->malformed;
    default:
        return tally->errors;
    }
}

static int start(struct tally *tally, uint32_t index)
{
    const struct operation *operation = &tally->operations[index];
    const struct wish *wish = &operation->wish;
    mcds_pipeline *pipeline = tally->pipeline;
    switch (wish->kind) {
    case HOST:
        return mcds_visitors_hit_start(tally->hosts, operation->host, wish->at_ms, pipeline,
                                       index);
    case HOST_OF_DAY:
        return mcds_visitors_hit_start(tally->daily, operation->host, wish->at_ms, pipeline,
                                       index);
    case ONLINE:
        return mcds_online_beat_start(tally->online, operation->host, wish->at_ms, pipeline,
                                      index);
    default:
        return mcds_counter_add_start(counter_of(tally, wish), wish->delta, NULL, pipeline,
                                      index);
    }
}

static bool may_be_repeated(int result)
{
    return result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE || result == MCDS_BUSY;
}

static int repeat(struct tally *tally, uint32_t index, int result)
{
    struct operation *operation = &tally->operations[index];
    if (operation->attempts == ATTEMPTS_MAX)
        return fail(tally, result);
    int64_t pause_ns = ATTEMPT_PAUSE_NS << operation->attempts++;
    struct timespec pause = {.tv_sec = (time_t)(pause_ns / 1000000000),
                             .tv_nsec = (long)(pause_ns % 1000000000)};
    (void)nanosleep(&pause, NULL);
    result = start(tally, index);
    return result == MCDS_OK ? MCDS_OK : fail(tally, result);
}

/* Take one finished operation back. MCDS_IDLE: none is in flight. */
static int finish_one(struct tally *tally)
{
    mcds_completion done;
    int result = mcds_pipeline_next(tally->pipeline, &done);
    if (result == MCDS_IDLE)
        return MCDS_IDLE;
    if (result != MCDS_OK)
        return fail(tally, result);
    if (may_be_repeated(done.result))
        return repeat(tally, (uint32_t)done.tag, done.result);
    tally->idle[tally->idle_count++] = (uint32_t)done.tag;
    if (done.result == MCDS_AMBIGUOUS)
        tally->summary.uncertain++;
    else if (done.result < 0)
        return fail(tally, done.result);
    return MCDS_OK;
}

static int finish_all(struct tally *tally)
{
    int result;
    do
        result = finish_one(tally);
    while (result == MCDS_OK);
    return result == MCDS_IDLE ? MCDS_OK : result;
}

static int begin(struct tally *tally, struct wish wish, struct text host)
{
    while (tally->idle_count == 0) {
        int result = finish_one(tally);
        if (result != MCDS_OK)
            return result;
    }
    uint32_t index = tally->idle[tally->idle_count - 1];
    struct operation *operation = &tally->operations[index];
    operation->wish = wish;
    operation->attempts = 0;
    figures_fit(host, operation->host);
    int result = start(tally, index);
    if (result != MCDS_OK)
        return fail(tally, result);
    tally->idle_count--;
    return MCDS_OK;
}

static int add(struct tally *tally, enum kind kind, int64_t delta)
{
    if (delta == 0)
        return MCDS_OK;
    return begin(tally, (struct wish){.kind = kind, .delta = delta}, nobody);
}

/* Open the counter of a page when it is not; closes all when too many are. */
static int view(struct tally *tally, struct text name)
{
    uint32_t index = pages_find(&tally->pages, name);
    if (index == PAGES_NONE)
        return out_of_memory(tally);
    if (tally->pages.at[index].counter == NULL) {
        int result = MCDS_OK;
        if (tally->open_pages == OPEN_PAGES_MAX) {
            result = finish_all(tally);
            tally_close_pages(tally);
        }
        if (result != MCDS_OK)
            return result;
        result = figures_open_page(tally->figures, tally->store, name,
                                   &tally->pages.at[index].counter);
        if (result != MCDS_OK)
            return fail(tally, result);
        tally->open_pages++;
    }
    return begin(tally, (struct wish){.kind = VIEW, .page = index, .delta = 1}, nobody);
}

static int count_entry(struct tally *tally, const struct entry *entry, bool live)
{
    keep_time(&tally->summary, entry->at_ms);
    int result = view(tally, entry->page);
    const struct wish wishes[] = {
        {.kind = HOST, .at_ms = figures_hosts_at_ms(tally->figures)},
        {.kind = HOST_OF_DAY, .at_ms = entry->at_ms},
        {.kind = ONLINE, .at_ms = live ? 0 : entry->at_ms},
    };
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0] && result == MCDS_OK; i++)
        result = begin(tally, wishes[i], entry->host);
    return result;
}

static void show_malformed(struct tally *tally, const struct block *block, uint64_t line,
                           struct text bytes, const char *reason)
{
    struct sample sample = {.line = line, .file = block->file};
    size_t length = bytes.length < TALLY_EXCERPT ? bytes.length : TALLY_EXCERPT;
    sample.excerpt_length = (uint32_t)length;
    memcpy(sample.excerpt, bytes.at, length);
    (void)snprintf(sample.reason, sizeof sample.reason, "%s", reason);
    keep_sample(&tally->summary, &sample);
}

int tally_block(struct tally *tally, const struct block *block)
{
    const char *at = block->bytes;
    const char *end = at + block->length;
    int64_t lines = 0, malformed = 0, errors = 0;
    int result = MCDS_OK;
    while (at < end && result == MCDS_OK) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        if (feed == NULL)
            break;
        struct text line = {at, (size_t)(feed - at)};
        struct entry entry;
        const char *reason = parse_line(line.at, line.length, &entry);
        if (reason == NULL) {
            errors += entry.status >= 400;
            result = count_entry(tally, &entry, block->live);
        } else {
            malformed++;
            show_malformed(tally, block, block->first_line + (uint64_t)lines, line, reason);
        }
        lines++;
        at = feed + 1;
    }
    if (result == MCDS_OK)
        result = add(tally, LINES, lines);
    if (result == MCDS_OK)
        result = add(tally, MALFORMED, malformed);
    if (result == MCDS_OK)
        result = add(tally, ERROR, errors);
    return result == MCDS_OK ? finish_all(tally) : result;
}
