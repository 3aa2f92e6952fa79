/* Online: six minutes of the clients' clocks, each with its own visitors, each of which comes once. Each
 * minute is judged separately. */
#include <stdio.h>

#include "base/environment.h"
#include "duel/sides.h"

#define MINUTES 6
#define LAP 16 /* calls of each player in a minute */
#define CALLS (MINUTES * LAP)
#define MINUTE_S 60
#define JUDGED (COLUMN(LOST) | COLUMN(DOUBLED))

static void name_visitor(const struct player *player, uint32_t number, char *out,
                         size_t capacity)
{
    (void)snprintf(out, capacity, "visitor%u_%u", player->number, number);
}

static enum told call_article(struct player *player, uint32_t number)
{
    char name[48];
    name_visitor(player, number, name, sizeof name);
    return told_by_answer(article_online_hit(&player->mc, name));
}

/* Its keys, one for each minute; the last one has just run. */
static void judge_article(struct player *referee, struct score *score)
{
    struct text text = {NULL, 0, 0};
    uint64_t last = (uint64_t)memcache_time(&referee->mc) / MINUTE_S;
    for (uint32_t minute = 0; minute < MINUTES; minute++) {
        char key[16];
        (void)snprintf(key, sizeof key, "c_%u", (unsigned)((last + 1 + minute) % MINUTES));
        bool found = memcache_get(&referee->mc, key, &text) == DONE;
        score_lap(referee->match, score, minute, 0, found ? text_number(&text) : 0);
    }
    text_free(&text);
}

static bool open_with(struct player *player, mcds_members members)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    mcds_online *online = NULL;
    options.buckets = MINUTES;
    options.members = members;
    bool fine = mcds_online_open(player->store, "x", &options, &online) == MCDS_OK;
    player->state = online;
    return fine;
}

static bool open_plain(struct player *player)
{
    return open_with(player, MCDS_MEMBERS_NONE);
}

static bool open_members(struct player *player)
{
    return open_with(player, MCDS_MEMBERS_EXACT);
}

static void close_ours(struct player *player)
{
    mcds_online_close(player->state);
}

static enum told call_ours(struct player *player, uint32_t number)
{
    char name[48];
    name_visitor(player, number, name, sizeof name);
    int result = mcds_online_beat(player->state, name, 0);
    return result == MCDS_EXISTS ? TOLD_DONE : told_by_result(player, "beat", result);
}

static void judge_ours(struct player *referee, struct score *score)
{
    const struct match *match = referee->match;
    for (uint32_t minute = 0; minute < MINUTES; minute++) {
        mcds_online_value value = {.size = sizeof(mcds_online_value), .current = 0};
        int64_t at_ms = match->wall_ns / NS_PER_MS + (int64_t)(minute + 1) * MINUTE_S * 1000;
        struct reading reading = {0};
        while (referee_reads(&reading, referee, score, "count"))
            reading.told = told_by_result(referee, "count",
                                          mcds_online_get(referee->state, at_ms, &value));
        if (reading.told == TOLD_DONE)
            score_lap(match, score, minute, 0, value.current);
    }
}

const struct side online_sides[] = {
    {.structure = "online",
     .whose = "the article's",
     .judged = JUDGED,
     .must = COLUMN(DOUBLED),
     .must_in_time = COLUMN(LOST),
     .calls = CALLS,
     .lap = LAP,
     .lap_s = MINUTE_S,
     .call = call_article,
     .judge = judge_article},
    {.structure = "online",
     .whose = "ours",
     .is_ours = true,
     .gives_up = true,
     .judged = JUDGED,
     .calls = CALLS,
     .lap = LAP,
     .lap_s = MINUTE_S,
     .open = open_plain,
     .call = call_ours,
     .close = close_ours,
     .judge = judge_ours},
    {.structure = "online",
     .whose = "ours, with members",
     .is_ours = true,
     .judged = JUDGED,
     .calls = CALLS,
     .lap = LAP,
     .lap_s = MINUTE_S,
     .open = open_members,
     .call = call_ours,
     .close = close_ours,
     .judge = judge_ours},
    {.structure = NULL},
};
