/* Adds and removes elements, and judges which of them must exist. */
#include "duel/elements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN 4 /* calls of one player on one object before it takes the next */
#define ADDED_IN_TURN 1
#define REMOVED_IN_TURN 3
#define GROUP (PLAYERS / 2) /* players that use one object at a time */

/* What must be there when a player's calls below some number have been made. */
enum expected { THERE, GONE, EITHER };

static const struct elements *elements_of(const struct player *player)
{
    return player->match->side->parts;
}

static uint32_t object_of(const struct elements *elements, uint32_t player, uint32_t number)
{
    return (number / TURN * (PLAYERS / GROUP) + player / GROUP) % elements->objects;
}

static bool is_removal(const struct elements *elements, uint32_t number)
{
    return elements->removes && number % TURN == REMOVED_IN_TURN;
}

static enum expected expect(const struct player *player, uint32_t number, uint32_t made)
{
    const struct elements *elements = elements_of(player);
    uint32_t removal = number + REMOVED_IN_TURN - ADDED_IN_TURN;
    bool removed = elements->removes && number % TURN == ADDED_IN_TURN && removal < made;
    if (is_removal(elements, number) || number >= made)
        return GONE;
    if (player->fates[number] == FATE_UNKNOWN)
        return EITHER;
    if (player->fates[number] == FATE_NOT)
        return GONE;
    if (!removed || player->fates[removal] == FATE_NOT)
        return THERE;
    return player->fates[removal] == FATE_DONE ? GONE : EITHER;
}

static void name_element(uint32_t player, uint32_t number, char out[static ELEMENT_CAPACITY])
{
    (void)snprintf(out, ELEMENT_CAPACITY, "p%u.%u", player, number);
}

static void name_object(uint32_t object, char out[static ELEMENT_CAPACITY])
{
    (void)snprintf(out, ELEMENT_CAPACITY, "x%u", object);
}

void tally_note(struct tally *tally, const void *element, size_t length)
{
    char text[ELEMENT_CAPACITY];
    char again[ELEMENT_CAPACITY];
    unsigned player = 0;
    unsigned number = 0;
    (void)snprintf(text, sizeof text, "%.*s", (int)length, (const char *)element);
    if (sscanf(text, "p%u.%u", &player, &number) != 2 || player >= PLAYERS ||
        number >= tally->match->side->calls) {
        tally->foreign++;
        return;
    }
    name_element(player, number, again);
    if (strlen(again) != length || memcmp(again, element, length) != 0) {
        tally->foreign++;
        return;
    }
    bool first = tally->counts[player][number]++ == 0;
    if (!tally->ordered || !first || tally->match->players[player].fates[number] != FATE_DONE)
        return;
    tally->disorder += number < tally->next[player];
    tally->next[player] = number;
}

bool elements_open(struct player *player)
{
    const struct elements *elements = elements_of(player);
    void **handles = calloc(OBJECTS_MAX, sizeof *handles);
    if (handles == NULL)
        abort();
    player->state = handles;
    for (uint32_t i = 0; elements->open_handle != NULL && i < elements->objects; i++) {
        char name[ELEMENT_CAPACITY];
        name_object(i, name);
        handles[i] = elements->open_handle(player, name);
        if (handles[i] == NULL)
            return false;
    }
    return true;
}

void elements_close(struct player *player)
{
    const struct elements *elements = elements_of(player);
    void **handles = player->state;
    for (uint32_t i = 0; elements->open_handle != NULL && i < elements->objects; i++)
        elements->close_handle(handles[i]);
    free(handles);
}

static bool read_object(struct player *player, uint32_t object, bool ordered,
                        struct tally *tally, struct score *score)
{
    const struct elements *elements = elements_of(player);
    void **handles = player->state;
    char name[ELEMENT_CAPACITY];
    name_object(object, name);
    struct reading reading = {0};
    while (referee_reads(&reading, player, score, "read")) {
        *tally = (struct tally){.match = player->match, .ordered = ordered};
        reading.told = elements->read(player, handles[object], name, tally);
    }
    return reading.told == TOLD_DONE;
}

/* What this turn was told must be what there is to be read. */
static void look(struct player *player, uint32_t turn)
{
    struct tally *tally = malloc(sizeof *tally);
    struct score unread = {0}; /* a player may be told that it did not work */
    if (tally == NULL)
        abort();
    if (read_object(player, object_of(elements_of(player), player->number, turn), false, tally,
                    &unread))
        for (uint32_t number = turn; number < turn + TURN; number++) {
            enum expected expected = expect(player, number, turn + TURN);
            uint32_t count = tally->counts[player->number][number];
            if ((expected == THERE && count == 0) || (expected == GONE && count > 0)) {
                player->wrong++;
                match_tell(player->match, "p%u.%u is read %u times", player->number, number,
                           count);
            }
        }
    free(tally);
}

enum told elements_call(struct player *player, uint32_t number)
{
    const struct elements *elements = elements_of(player);
    uint32_t object = object_of(elements, player->number, number);
    void **handles = player->state;
    char name[ELEMENT_CAPACITY];
    char element[ELEMENT_CAPACITY];
    if (number % TURN == 0 && number > 0)
        look(player, number - TURN);
    name_object(object, name);
    name_element(player->number,
                 is_removal(elements, number) ? number - REMOVED_IN_TURN + ADDED_IN_TURN
                                              : number,
                 element);
    return is_removal(elements, number)
               ? elements->remove(player, handles[object], name, element)
               : elements->add(player, handles[object], name, element);
}

static void judge_element(struct player *referee, const struct player *player, uint32_t number,
                          uint32_t count, struct score *score)
{
    enum expected expected = expect(player, number, player->match->side->calls);
    bool fine = count <= 1 && (expected != THERE || count == 1) &&
                (expected != GONE || count == 0);
    if (expected == THERE && count == 0)
        score->found[LOST]++;
    if (expected == GONE && count > 0)
        score->found[WRONG]++;
    if (count > 1)
        score->found[DOUBLED] += count - 1;
    if (!fine)
        match_tell(referee->match, "p%u.%u is there %u times, fate %d", player->number, number,
                   count, (int)player->fates[number]);
}

/* Listed, and asked for by its name, must be one. */
static void ask_for(struct player *referee, uint32_t player, uint32_t number, uint32_t count,
                    struct score *score)
{
    const struct elements *elements = elements_of(referee);
    uint32_t object = object_of(elements, player, number);
    void **handles = referee->state;
    char name[ELEMENT_CAPACITY];
    char element[ELEMENT_CAPACITY];
    bool has = false;
    name_object(object, name);
    name_element(player, number, element);
    if (elements->has(referee, handles[object], name, element, &has) != TOLD_DONE ||
        has == (count > 0))
        return;
    score->found[WRONG]++;
    match_tell(referee->match, "%s is there %u times, and asked for, %d", element, count, has);
}

void elements_judge(struct player *referee, struct score *score)
{
    const struct elements *elements = elements_of(referee);
    const struct match *match = referee->match;
    struct tally *tally = malloc(sizeof *tally);
    if (tally == NULL)
        abort();
    for (uint32_t object = 0; object < elements->objects; object++) {
        if (!read_object(referee, object, elements->ordered, tally, score))
            continue;
        score->found[WRONG] += tally->foreign + tally->disorder;
        for (uint32_t i = 0; i < PLAYERS; i++)
            for (uint32_t number = 0; number < match->side->calls; number++) {
                uint32_t count = tally->counts[i][number];
                if (object_of(elements, i, number) != object) {
                    score->found[WRONG] += count;
                    continue;
                }
                judge_element(referee, &match->players[i], number, count, score);
                if (elements->has != NULL && !is_removal(elements, number))
                    ask_for(referee, i, number, count, score);
            }
    }
    free(tally);
}
