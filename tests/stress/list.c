/* Eight members push to one list: list STORE (memory, lmdb, memcached)
 *
 * All push to one list, one value, several, or through a pipeline, and read it. An acknowledged
 * value is in the list once, after all values that were acknowledged before its call began; the
 * values of one call are in order. Each member also has a list of its own, which it may clear
 * and drop, and knows its content at any time. At the end the lists agree with the journals;
 * the unanswered calls of a killed process may count or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/pushed.h"
#include "stress/stage.h"

#define MANY_MAX 6
#define PIPELINED 16
#define FETCH_ONE_IN 300

enum verb { PUSH, MINE_PUSH, MINE_CLEAR, MINE_DROP };

struct mine {
    uint32_t first, count; /* the values that are there: their numbers */
    bool exists;
};

struct player {
    struct crowd_member *member;
    mcds_pipeline *pipeline;
    mcds_list *list, *mine;
    uint32_t next; /* value */
    struct mine own;
};

static bool must_be(const char *verb, int result, int expected)
{
    if (result == expected)
        return true;
    return COMPLAIN("%s: %s (%s), must be %s", verb, mcds_result_name(result), mcds_errmsg(),
                    mcds_result_name(expected));
}

struct visit {
    struct pushed pushed;
    int64_t latest_ns; /* when the latest of those visited was asked for */
    bool fine;
};

static bool visit_value(void *context, mcds_bytes text)
{
    struct visit *visit = context;
    const struct crowd_note *note;
    visit->fine = pushed_see(&visit->pushed, text, &note);
    if (!visit->fine || note == NULL)
        return visit->fine;
    if (note->answered_ns != 0 && visit->latest_ns > note->answered_ns)
        return visit->fine = COMPLAIN("a value from %u on stands behind a later one",
                                      note->what);
    if (visit->latest_ns < note->asked_ns)
        visit->latest_ns = note->asked_ns;
    return true;
}

/* Read the list from the start and compare it with the journals of all, or of one. */
static bool read_list(mcds_list *list, int only, struct crowd_journal *const *journals,
                      uint64_t *total_out)
{
    struct visit visit = {.fine = true};
    pushed_begin(&visit.pushed, PUSH, only, journals);
    int result = mcds_list_scan(list, 0, 0, visit_value, &visit);
    bool fine = visit.fine && (result == MCDS_NOT_FOUND || must_be("fetch", result, MCDS_OK)) &&
                pushed_is_complete(&visit.pushed);
    *total_out = visit.pushed.total;
    pushed_end(&visit.pushed);
    return fine;
}

static bool play_fetch(struct player *player)
{
    struct crowd_journal *journals[CROWD] = {NULL};
    uint64_t total;
    journals[player->member->number] = player->member->journal;
    return read_list(player->list, player->member->number, journals, &total);
}

static struct crowd_note *ask_push(struct player *player, uint32_t count)
{
    struct crowd_note *note = crowd_ask(player->member, PUSH, player->next);
    note->number = count;
    player->next += count;
    return note;
}

static bool play_push(struct player *player)
{
    char capacity[PUSHED_TEXT_MAX];
    mcds_bytes value = pushed_write(capacity, player->member->number, player->next);
    struct crowd_note *note = ask_push(player, 1);
    if (!must_be("push", mcds_list_push(player->list, value), MCDS_OK))
        return false;
    crowd_answer(note, 1);
    return true;
}

static bool play_many(struct player *player)
{
    static _Thread_local char rooms[MANY_MAX][PUSHED_TEXT_MAX];
    mcds_bytes values[MANY_MAX];
    uint32_t count = 1 + (uint32_t)crowd_roll(player->member, MANY_MAX);
    for (uint32_t i = 0; i < count; i++)
        values[i] = pushed_write(rooms[i], player->member->number, player->next + i);
    struct crowd_note *note = ask_push(player, count);
    if (!must_be("push_many", mcds_list_push_many(player->list, values, count, NULL), MCDS_OK))
        return false;
    crowd_answer(note, 1);
    return true;
}

static bool play_pipeline(struct player *player)
{
    struct crowd_note *notes[PIPELINED];
    for (uint64_t i = 0; i < PIPELINED; i++) {
        char capacity[PUSHED_TEXT_MAX];
        mcds_bytes value = pushed_write(capacity, player->member->number, player->next);
        notes[i] = ask_push(player, 1);
        int result = mcds_list_push_start(player->list, value, player->pipeline, i);
        if (!must_be("push_start", result, MCDS_OK))
            return false;
    }
    for (int i = 0; i < PIPELINED; i++) {
        mcds_completion done;
        if (!must_be("next", mcds_pipeline_next(player->pipeline, &done), MCDS_OK) ||
            !must_be("push", done.result, MCDS_OK))
            return false;
        crowd_answer(notes[done.tag], 1);
    }
    return true;
}

struct slice {
    int member;
    uint32_t next, count;
    bool fine;
};

static bool visit_mine(void *context, mcds_bytes text)
{
    struct slice *slice = context;
    int member;
    uint32_t value;
    slice->fine = pushed_read(text, &member, &value) && member == slice->member &&
                  value == slice->next++;
    slice->count++;
    return slice->fine;
}

/* All from `skip` on, `limit` at most. */
static bool is_mine(mcds_list *list, int member, const struct mine *own, uint32_t skip,
                    uint32_t limit)
{
    struct slice slice = {.member = member, .next = own->first + skip, .fine = true};
    uint32_t expected = skip < own->count ? own->count - skip : 0;
    if (limit > 0 && expected > limit)
        expected = limit;
    int result = mcds_list_scan(list, skip, limit, visit_mine, &slice);
    return result == (own->exists ? MCDS_OK : MCDS_NOT_FOUND) && slice.fine &&
           slice.count == expected;
}

static void apply(struct mine *own, unsigned verb)
{
    if (verb == MINE_PUSH) {
        own->count++;
    } else {
        own->first += own->count;
        own->count = 0;
    }
    own->exists = verb != MINE_DROP && (own->exists || verb == MINE_PUSH);
}

static bool play_mine(struct player *player)
{
    char capacity[PUSHED_TEXT_MAX];
    struct crowd_member *member = player->member;
    struct mine *own = &player->own;
    uint64_t chance = crowd_roll(member, 200);
    if (chance < 20 && !is_mine(player->mine, member->number, own,
                                (uint32_t)crowd_roll(member, own->count + 2),
                                (uint32_t)crowd_roll(member, 10)))
        return COMPLAIN("the own list is not what it was told");
    unsigned verb = chance == 20 ? MINE_CLEAR : chance == 21 ? MINE_DROP : MINE_PUSH;
    struct crowd_note *note = crowd_ask(member, verb, player->next);
    int expected = verb == MINE_PUSH || own->exists ? MCDS_OK : MCDS_NOT_FOUND;
    int result;
    if (verb == MINE_PUSH)
        result = mcds_list_push(
            player->mine, pushed_write(capacity, member->number, own->first + own->count));
    else
        result = verb == MINE_CLEAR ? mcds_list_clear(player->mine)
                                    : mcds_list_drop(player->mine);
    if (!must_be(verb == MINE_PUSH ? "push" : "clear or drop", result, expected))
        return false;
    apply(own, verb);
    crowd_answer(note, 1);
    return true;
}

static bool play(struct player *player)
{
    bool fine = true;
    while (fine && crowd_goes_on(player->member)) {
        uint64_t chance = crowd_roll(player->member, 8);
        if (crowd_roll(player->member, FETCH_ONE_IN) == 0)
            fine = play_fetch(player);
        else if (chance == 0)
            fine = play_many(player);
        else if (chance == 1)
            fine = play_pipeline(player);
        else
            fine = chance < 5 ? play_push(player) : play_mine(player);
    }
    return fine;
}

static bool open_lists(struct player *player, mcds_store *store, int number)
{
    char name[32];
    (void)snprintf(name, sizeof name, "mine %d", number);
    if (mcds_list_open(store, "all", NULL, &player->list) != MCDS_OK ||
        mcds_list_open(store, name, NULL, &player->mine) != MCDS_OK ||
        mcds_pipeline_open(store, NULL, &player->pipeline) != MCDS_OK)
        return COMPLAIN("open: %s", mcds_errmsg());
    return true;
}

static void close_lists(struct player *player)
{
    mcds_pipeline_close(player->pipeline);
    mcds_list_close(player->mine);
    mcds_list_close(player->list);
}

static bool live(struct crowd_member *member)
{
    struct player player = {.member = member};
    bool fine = open_lists(&player, member->store, member->number) && play(&player);
    close_lists(&player);
    return fine;
}

static bool judge_mine(struct player *player, const struct crowd_journal *journal, int number)
{
    struct mine told = {0, 0, false}, doubted = told, begun;
    bool doubt = false;
    for (uint32_t i = 0; i < journal->count; i++) {
        const struct crowd_note *note = &journal->notes[i];
        if (note->verb == PUSH)
            continue;
        doubt = note->answered_ns == 0; /* the last of all */
        doubted = told;
        apply(doubt ? &doubted : &told, note->verb);
    }
    begun = told; /* a first push has made the list, which has no value yet */
    begun.exists = told.exists || doubted.exists;
    return is_mine(player->mine, number, &told, 0, 0) ||
           (doubt && is_mine(player->mine, number, &doubted, 0, 0)) ||
           (doubt && is_mine(player->mine, number, &begun, 0, 0)) ||
           COMPLAIN("the own list of %d is not what it was told", number);
}

static bool judge(mcds_store *store, struct crowd_journal *const *journals)
{
    uint64_t total = 0;
    bool fine = true;
    for (int i = 0; fine && i < CROWD; i++) {
        struct player player = {0};
        fine = open_lists(&player, store, i) && judge_mine(&player, journals[i], i) &&
               (i > 0 || read_list(player.list, PUSHED_ALL, journals, &total));
        close_lists(&player);
    }
    (void)printf("  %llu values in the list\n", (unsigned long long)total);
    return fine;
}

int main(int argc, char **argv)
{
    static const struct crowd_play list = {live, judge};
    return crowd_main(argc, argv, &list);
}
