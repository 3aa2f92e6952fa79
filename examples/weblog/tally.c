/* Counting: the lines of a block are summed up here, and the sums go to the store. */
#include "tally.h"

#include <stdio.h>
#include <string.h>

#define OPEN_PAGES_MAX 8192

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
                   "out of memory, or more than %u distinct pages, hosts or referrers",
                   (unsigned)NAMES_MAX);
    return MCDS_NO_MEMORY;
}

int tally_open(struct tally *tally, const struct figures *figures, mcds_store *store)
{
    memset(tally, 0, sizeof *tally);
    names_init(&tally->pages);
    names_init(&tally->hosts);
    names_init(&tally->referrers);
    int result = sheet_open(&tally->sheet, figures, store);
    if (result == MCDS_OK)
        result = flight_open(&tally->flight, &tally->sheet);
    if (result == MCDS_NO_MEMORY)
        return out_of_memory(tally);
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
    flight_close(&tally->flight);
    tally_close_pages(tally);
    sheet_close(&tally->sheet);
    names_free(&tally->pages);
    names_free(&tally->hosts);
    names_free(&tally->referrers);
}

static int begin(struct tally *tally, struct wish wish)
{
    int result = flight_begin(&tally->flight, wish);
    return result == MCDS_OK ? MCDS_OK : fail(tally, result);
}

static int end(struct tally *tally)
{
    int result = flight_end(&tally->flight);
    return result == MCDS_OK ? MCDS_OK : fail(tally, result);
}

static int add(struct tally *tally, mcds_counter *counter, int64_t delta)
{
    if (delta == 0)
        return MCDS_OK;
    return begin(tally, (struct wish){.kind = COUNT, .counter = counter, .delta = delta});
}

/* Open the counter of a page when it is not; closes all when too many are. */
static int open_page(struct tally *tally, struct name *page)
{
    int result = MCDS_OK;
    if (page->counter != NULL)
        return MCDS_OK;
    if (tally->open_pages == OPEN_PAGES_MAX) {
        result = end(tally);
        tally_close_pages(tally);
    }
    if (result != MCDS_OK)
        return result;
    struct text text = {page->bytes, page->length};
    result = figures_open_page(tally->sheet.figures, tally->sheet.store, text, &page->counter);
    if (result != MCDS_OK)
        return fail(tally, result);
    tally->open_pages++;
    return MCDS_OK;
}

/* The views of each page of the block. */
static int send_pages(struct tally *tally)
{
    int result = MCDS_OK;
    struct names *pages = &tally->pages;
    for (uint32_t i = pages->newest; i != NAMES_NONE && result == MCDS_OK;
         i = pages->at[i].next) {
        struct name *page = &pages->at[i];
        struct wish wish = {
            .kind = VIEW, .delta = (int64_t)page->count, .text = {page->bytes, page->length}};
        if (tally->sheet.views == NULL) {
            result = open_page(tally, page);
            wish.kind = COUNT;
            wish.counter = page->counter;
        }
        if (result == MCDS_OK)
            result = begin(tally, wish);
    }
    names_begin(pages);
    return result;
}

/* The requests of each host of the block. */
static int send_hosts(struct tally *tally)
{
    int result = MCDS_OK;
    struct names *hosts = &tally->hosts;
    for (uint32_t i = hosts->newest; i != NAMES_NONE && result == MCDS_OK;
         i = hosts->at[i].next)
        result = begin(tally, (struct wish){.kind = REQUESTS,
                                            .delta = (int64_t)hosts->at[i].count,
                                            .text = {hosts->at[i].bytes, hosts->at[i].length}});
    names_begin(hosts);
    return result;
}

static int64_t wall_ms(void)
{
    const mcds_env *env = mcds_env_system();
    return env->wall_ns(env->self) / 1000000;
}

/* Whether the clock of the machine that wrote the line was wrong: mcds refuses such a time. */
static bool is_ahead(const struct entry *entry)
{
    return entry->at_ms > wall_ms() + (int64_t)FIGURES_ONLINE_WIDTH_MS;
}

/* What this process has told the store already it does not tell again. */
static int visit(struct tally *tally, const struct entry *entry, bool live)
{
    uint32_t index = names_count(&tally->hosts, entry->host);
    if (index == NAMES_NONE)
        return out_of_memory(tally);
    struct name *host = &tally->hosts.at[index];
    int64_t day = entry->at_ms / (int64_t)FIGURES_DAY_MS;
    int64_t minute = (live ? wall_ms() : entry->at_ms) / FIGURES_ONLINE_WIDTH_MS;
    struct wish wish = {
        .kind = HOST, .at_ms = figures_hosts_at_ms(tally->sheet.figures), .text = entry->host};
    int result = host->told ? MCDS_OK : begin(tally, wish);
    host->told = true;
    wish.kind = HOST_OF_DAY;
    wish.at_ms = entry->at_ms;
    if (result == MCDS_OK && host->told_day != day && !is_ahead(entry)) {
        result = begin(tally, wish);
        host->told_day = day;
    }
    wish.kind = ONLINE;
    wish.at_ms = live ? 0 : entry->at_ms;
    if (result == MCDS_OK && host->told_minute != minute && (live || !is_ahead(entry))) {
        result = begin(tally, wish);
        host->told_minute = minute;
    }
    return result;
}

static int refer(struct tally *tally, struct text referrer)
{
    if (referrer.length == 0)
        return MCDS_OK;
    uint32_t index = names_find(&tally->referrers, referrer);
    if (index == NAMES_NONE)
        return out_of_memory(tally);
    struct name *name = &tally->referrers.at[index];
    if (name->told)
        return MCDS_OK;
    name->told = true;
    return begin(tally, (struct wish){.kind = REFERRER, .text = referrer});
}

static int count_entry(struct tally *tally, const struct entry *entry, struct text line,
                       bool live)
{
    if (!is_ahead(entry))
        keep_time(&tally->summary, entry->at_ms);
    top_put(&tally->largest, entry->size, entry->page);
    if (names_count(&tally->pages, entry->page) == NAMES_NONE)
        return out_of_memory(tally);
    int result = visit(tally, entry, live);
    if (result == MCDS_OK)
        result = refer(tally, entry->referrer);
    if (result == MCDS_OK && entry->status >= 400)
        result = begin(tally,
                       (struct wish){.kind = ERROR_LOG, .at_ms = entry->at_ms, .text = line});
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

/* Merging twice does no harm, so a lost reply is no reason to stop. */
static int send_largest(struct tally *tally)
{
    if (!tally->largest.changed)
        return MCDS_OK;
    for (uint32_t attempts = 0;; attempts++) {
        int result = top_merge(&tally->largest, tally->sheet.largest);
        if (result == MCDS_OK)
            return MCDS_OK;
        bool again = flight_may_repeat(result) || result == MCDS_AMBIGUOUS ||
                     result == MCDS_LOST;
        if (!again || !flight_pause(attempts))
            return fail(tally, result);
    }
}

/* What the lines have left in `tally`, and these numbers. */
static int send(struct tally *tally, int64_t lines, int64_t malformed, int64_t errors)
{
    int result = send_pages(tally);
    if (result == MCDS_OK)
        result = send_hosts(tally);
    if (result == MCDS_OK)
        result = add(tally, tally->sheet.lines, lines);
    if (result == MCDS_OK)
        result = add(tally, tally->sheet.malformed, malformed);
    if (result == MCDS_OK)
        result = add(tally, tally->sheet.errors, errors);
    if (result == MCDS_OK)
        result = end(tally);
    tally->summary.uncertain = tally->flight.uncertain;
    return result == MCDS_OK ? send_largest(tally) : result;
}

int tally_block(struct tally *tally, const struct block *block)
{
    const char *at = block->bytes;
    const char *end_of_block = at + block->length;
    int64_t lines = 0, malformed = 0, errors = 0;
    int result = MCDS_OK;
    while (at < end_of_block && result == MCDS_OK) {
        const char *feed = memchr(at, '\n', (size_t)(end_of_block - at));
        if (feed == NULL)
            break;
        struct text line = {at, (size_t)(feed - at)};
        struct entry entry;
        const char *reason = parse_line(line.at, line.length, &entry);
        if (reason == NULL) {
            errors += entry.status >= 400;
            result = count_entry(tally, &entry, line, block->live);
        } else {
            malformed++;
            show_malformed(tally, block, block->first_line + (uint64_t)lines, line, reason);
        }
        lines++;
        at = feed + 1;
    }
    return result == MCDS_OK ? send(tally, lines, malformed, errors) : result;
}
