/* Visitors: two players count each visitor at about the same time, as two requests of one page
 * do. */
#include <stdio.h>

#include "duel/sides.h"

#define CALLS 96
#define LAP 16
#define DAY_S 86400
#define JUDGED (COLUMN(LOST) | COLUMN(DOUBLED))

static void name_visitor(const struct player *player, uint32_t number, char *out,
                         size_t capacity)
{
    (void)snprintf(out, capacity, "visitor%u_%u", player->number / 2, number);
}

/* A visitor is known to be counted if one of the two was told so. Where a call is made only once,
 * the other one hears of a visitor who has come before, and nothing of what became of that. */
static enum fate fate_of_visitor(const struct match *match, uint32_t pair, uint32_t number)
{
    enum fate one = match->players[pair * 2].fates[number];
    enum fate other = match->players[pair * 2 + 1].fates[number];
    bool is_unknown = one == FATE_UNKNOWN || other == FATE_UNKNOWN;
    bool is_done = one == FATE_DONE || other == FATE_DONE;
    if (is_unknown && (match->side->gives_up || !is_done))
        return FATE_UNKNOWN;
    return is_done ? FATE_DONE : FATE_NOT;
}

static void judge_count(const struct match *match, struct score *score, uint64_t there)
{
    uint64_t counted = 0;
    uint64_t unknown = 0;
    for (uint32_t pair = 0; pair < PLAYERS / 2; pair++)
        for (uint32_t number = 0; number < match->side->calls; number++) {
            enum fate fate = fate_of_visitor(match, pair, number);
            counted += fate == FATE_DONE;
            unknown += fate == FATE_UNKNOWN;
        }
    score_number(score, there, counted, unknown);
}

static struct article_visitors article_visitors_of(struct player *player)
{
    return (struct article_visitors){
        .mc = &player->mc, .name = "x", .T = DAY_S, .ends_with_period = true};
}

static enum told call_article(struct player *player, uint32_t number)
{
    struct article_visitors visitors = article_visitors_of(player);
    char name[48];
    name_visitor(player, number, name, sizeof name);
    return told_by_answer(article_visitors_hit(&visitors, name));
}

/* It shows the period before the one that runs. */
static void judge_article(struct player *referee, struct score *score)
{
    struct article_visitors visitors = article_visitors_of(referee);
    uint64_t there = 0;
    referee->mc.epoch_s -= DAY_S;
    (void)article_visitors_value(&visitors, &there);
    judge_count(referee->match, score, there);
}

static bool open_with(struct player *player, mcds_members members)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors = NULL;
    options.period_ms = (uint64_t)DAY_S * 1000;
    options.members = members;
    bool fine = mcds_visitors_open(player->store, "x", &options, &visitors) == MCDS_OK;
    player->state = visitors;
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
    mcds_visitors_close(player->state);
}

static enum told call_ours(struct player *player, uint32_t number)
{
    char name[48];
    name_visitor(player, number, name, sizeof name);
    int result = mcds_visitors_hit(player->state, name, 0);
    return result == MCDS_EXISTS ? TOLD_DONE : told_by_result(player, "hit", result);
}

static void judge_ours(struct player *referee, struct score *score)
{
    mcds_visitors_value value = {.size = sizeof(mcds_visitors_value), .current = 0};
    struct reading reading = {0};
    while (referee_reads(&reading, referee, score, "get"))
        reading.told = told_by_result(referee, "get",
                                      mcds_visitors_get(referee->state, 0, &value));
    if (reading.told == TOLD_DONE)
        judge_count(referee->match, score, value.current);
}

const struct side visitors_sides[] = {
    {.structure = "visitors",
     .whose = "the article's",
     .judged = JUDGED,
     .must = COLUMN(DOUBLED),
     .calls = CALLS,
     .lap = LAP,
     .call = call_article,
     .judge = judge_article},
    {.structure = "visitors",
     .whose = "ours",
     .is_ours = true,
     .gives_up = true,
     .judged = JUDGED,
     .calls = CALLS,
     .lap = LAP,
     .open = open_plain,
     .call = call_ours,
     .close = close_ours,
     .judge = judge_ours},
    {.structure = "visitors",
     .whose = "ours, with members",
     .is_ours = true,
     .judged = JUDGED,
     .calls = CALLS,
     .lap = LAP,
     .open = open_members,
     .call = call_ours,
     .close = close_ours,
     .judge = judge_ours},
    {.structure = NULL},
};
