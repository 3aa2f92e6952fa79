/* Logs: each call puts one event with the time of its call; all are read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "duel/elements.h"
#include "duel/sides.h"

#define CALLS 64
#define CHUNK_S 10
#define KEYS 10
#define SINCE_S 45
#define RETENTION_MS 3600000
#define JUDGED (COLUMN(LOST) | COLUMN(DOUBLED) | COLUMN(WRONG))

static struct article_log log_of(struct player *player, const char *name)
{
    return (struct article_log){.mc = &player->mc, .name = name, .C = CHUNK_S, .N = KEYS};
}

/* Its text has tenths of seconds; an event that is rounded up would be one of the future. */
static enum told put_article(struct player *player, void *handle, const char *name,
                             const char *element)
{
    struct article_log log = log_of(player, name);
    double when = floor(memcache_time(&player->mc) * 10) / 10;
    (void)handle;
    return told_by_answer(article_log_put(&log, when, element));
}

static enum told fetch_article(struct player *player, void *handle, const char *name,
                               struct tally *tally)
{
    struct article_log log = log_of(player, name);
    struct article_events *events = calloc(1, sizeof *events);
    (void)handle;
    if (events == NULL)
        abort();
    enum answer answer = article_log_fetch(&log, memcache_time(&player->mc) - SINCE_S,
                                           ARTICLE_NONE, events);
    for (size_t i = 0; answer == DONE && i < events->count; i++)
        tally_note(tally, events->at[i].text, strlen(events->at[i].text));
    free(events);
    return told_by_answer(answer);
}

static void *open_ours(struct player *player, const char *name)
{
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    mcds_log *log = NULL;
    options.retention_ms = RETENTION_MS;
    return mcds_log_open(player->store, name, &options, &log) == MCDS_OK ? log : NULL;
}

static void close_ours(void *handle)
{
    mcds_log_close(handle);
}

static enum told put_ours(struct player *player, void *handle, const char *name,
                          const char *element)
{
    (void)name;
    return told_by_result(player, "put", mcds_log_put(handle, 0, mcds_text(element)));
}

static bool visit(void *context, const mcds_log_event *event)
{
    tally_note(context, event->event.data, event->event.length);
    return true;
}

static enum told fetch_ours(struct player *player, void *handle, const char *name,
                            struct tally *tally)
{
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = {.gaps = 0};
    (void)name;
    range.first_ms = player->match->wall_ns / NS_PER_MS;
    int result = mcds_log_scan(handle, &range, visit, tally, &info);
    tally->foreign += info.gaps + info.corrupt;
    return result == MCDS_NOT_FOUND ? TOLD_DONE : told_by_result(player, "fetch", result);
}

static const struct elements article_elements = {
    .objects = 1, .add = put_article, .read = fetch_article};
static const struct elements our_elements = {.objects = 1,
                                             .open_handle = open_ours,
                                             .close_handle = close_ours,
                                             .add = put_ours,
                                             .read = fetch_ours};

#define SIDE(who, elements, columns, ...)                                                      \
    {                                                                                          \
        .structure = "log", .whose = who, .judged = JUDGED, .must = columns, .calls = CALLS,   \
        ELEMENTS_SIDE(elements), __VA_ARGS__                                                   \
    }

const struct side log_sides[] = {
    SIDE("the article's", article_elements, COLUMN(DOUBLED), .is_ours = false),
    SIDE("the article's, never repeated", article_elements, 0, .gives_up = true),
    SIDE("ours", our_elements, 0, .is_ours = true, .gives_up = true),
    {.structure = NULL},
};
