/* Views: all players view one page after the other, each of which begins in the database. Every
 * page is judged by itself. */
#include <stdio.h>

#include "duel/sides.h"

#define CALLS 96
#define LAP 8
#define PAGES (CALLS / LAP)
#define IN_DATABASE 1000
#define JUDGED (COLUMN(LOST) | COLUMN(DOUBLED))

static void name_page(uint32_t page, char *out, size_t capacity)
{
    (void)snprintf(out, capacity, "page%u", page);
}

static uint64_t read_database(void *context)
{
    (void)context;
    return IN_DATABASE;
}

static enum told call_article(struct player *player, uint32_t number)
{
    char page[16];
    uint64_t value;
    name_page(number / LAP, page, sizeof page);
    return told_by_answer(article_view(&player->mc, page, read_database, NULL, &value));
}

static void judge_article(struct player *referee, struct score *score)
{
    struct text value = {NULL, 0, 0};
    for (uint32_t i = 0; i < PAGES; i++) {
        char page[16];
        name_page(i, page, sizeof page);
        if (memcache_get(&referee->mc, page, &value) != DONE)
            text_set(&value, "1000");
        score_lap(referee->match, score, i, IN_DATABASE, text_number(&value));
    }
    text_free(&value);
}

static int load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    (void)context;
    (void)page;
    (void)upto_slot;
    *views_out = IN_DATABASE;
    return 0;
}

static int save(void *context, const char *page, uint64_t slot, int64_t views)
{
    (void)context;
    (void)page;
    (void)slot;
    (void)views;
    return 0;
}

static bool open_ours(struct player *player)
{
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    mcds_views *views = NULL;
    options.load = load;
    options.save = save;
    bool fine = mcds_views_open(player->store, "x", &options, &views) == MCDS_OK;
    player->state = views;
    return fine;
}

static void close_ours(struct player *player)
{
    mcds_views_close(player->state);
}

static enum told call_ours(struct player *player, uint32_t number)
{
    char page[16];
    name_page(number / LAP, page, sizeof page);
    return told_by_result(player, "hit", mcds_views_hit(player->state, page, 1));
}

static void judge_ours(struct player *referee, struct score *score)
{
    for (uint32_t i = 0; i < PAGES; i++) {
        char page[16];
        int64_t value = 0;
        name_page(i, page, sizeof page);
        struct reading reading = {0};
        while (referee_reads(&reading, referee, score, "get"))
            reading.told = told_by_result(referee, "get",
                                          mcds_views_get(referee->state, page, &value));
        if (reading.told == TOLD_DONE)
            score_lap(referee->match, score, i, IN_DATABASE, (uint64_t)value);
    }
}

const struct side views_sides[] = {
    {.structure = "views",
     .whose = "the article's",
     .judged = JUDGED,
     .must = COLUMN(LOST),
     .must_in_time = COLUMN(DOUBLED),
     .calls = CALLS,
     .lap = LAP,
     .call = call_article,
     .judge = judge_article},
    {.structure = "views",
     .whose = "ours",
     .is_ours = true,
     .gives_up = true,
     .judged = JUDGED,
     .calls = CALLS,
     .lap = LAP,
     .open = open_ours,
     .call = call_ours,
     .close = close_ours,
     .judge = judge_ours},
    {.structure = NULL},
};
