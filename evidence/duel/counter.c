/* Counters: each call adds 1. */
#include <stdlib.h>

#include "duel/sides.h"

#define CALLS 96
#define JUDGED (COLUMN(LOST) | COLUMN(DOUBLED))
#define KEY "counterx"

struct counting {
    mcds_counter *counter;
    bool pending; /* added to the handle, and a flush has not said that it is there */
};

static enum told call_article(struct player *player, uint32_t number)
{
    (void)number;
    return told_by_answer(article_increment(&player->mc, KEY, 1));
}

static void judge_numbers(struct player *referee, struct score *score, uint64_t there)
{
    score_number(score, there, match_count(referee->match, FATE_DONE),
                 match_count(referee->match, FATE_UNKNOWN));
}

static void judge_article(struct player *referee, struct score *score)
{
    struct text value = {NULL, 0, 0};
    (void)article_value(&referee->mc, KEY, &value);
    judge_numbers(referee, score, text_number(&value));
    text_free(&value);
}

static bool open_with(struct player *player, uint32_t flags)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    struct counting *counting = calloc(1, sizeof *counting);
    if (counting == NULL)
        abort();
    player->state = counting;
    options.flags = flags;
    options.flush_ms = MCDS_COUNTER_FLUSH_EACH;
    return mcds_counter_open(player->store, "x", &options, &counting->counter) == MCDS_OK;
}

static bool open_plain(struct player *player)
{
    return open_with(player, 0);
}

static bool open_exact(struct player *player)
{
    return open_with(player, MCDS_COUNTER_EXACT);
}

static void close_ours(struct player *player)
{
    struct counting *counting = player->state;
    mcds_counter_close(counting->counter);
    free(counting);
}

static enum told call_plain(struct player *player, uint32_t number)
{
    const struct counting *counting = player->state;
    (void)number;
    return told_by_result(player, "add", mcds_counter_add(counting->counter, 1, NULL));
}

/* What a handle has not brought to the store, its next flush brings: it is never added again. */
static enum told call_exact(struct player *player, uint32_t number)
{
    struct counting *counting = player->state;
    (void)number;
    int result = counting->pending ? mcds_counter_flush(counting->counter)
                                   : mcds_counter_add(counting->counter, 1, NULL);
    counting->pending = counting->pending || result == MCDS_AMBIGUOUS;
    if (result == MCDS_OK)
        counting->pending = false;
    enum told told = told_by_result(player, "exact add", result);
    return counting->pending ? TOLD_UNKNOWN : told;
}

static void judge_ours(struct player *referee, struct score *score)
{
    const struct counting *counting = referee->state;
    mcds_counter_value value = {.size = sizeof(mcds_counter_value), .value = 0};
    struct reading reading = {0};
    while (referee_reads(&reading, referee, score, "get"))
        reading.told = told_by_result(referee, "get",
                                      mcds_counter_get(counting->counter, &value));
    if (reading.told == TOLD_DONE)
        judge_numbers(referee, score, (uint64_t)value.value);
}

const struct side counter_sides[] = {
    {.structure = "counter",
     .whose = "the article's",
     .judged = JUDGED,
     .must = COLUMN(DOUBLED),
     .calls = CALLS,
     .call = call_article,
     .judge = judge_article},
    {.structure = "counter",
     .whose = "the article's, never repeated",
     .gives_up = true,
     .judged = JUDGED,
     .calls = CALLS,
     .call = call_article,
     .judge = judge_article},
    {.structure = "counter",
     .whose = "ours",
     .is_ours = true,
     .gives_up = true,
     .judged = JUDGED,
     .calls = CALLS,
     .open = open_plain,
     .call = call_plain,
     .close = close_ours,
     .judge = judge_ours},
    {.structure = "counter",
     .whose = "ours, EXACT",
     .is_ours = true,
     .judged = JUDGED,
     .calls = CALLS,
     .open = open_exact,
     .call = call_exact,
     .close = close_ours,
     .judge = judge_ours},
    {.structure = NULL},
};
