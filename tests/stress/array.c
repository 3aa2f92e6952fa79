/* Eight members change a few arrays: array STORE (memory, lmdb, memcached)
 *
 * In two arrays, one of which is so large that it is stored in blocks, each member keeps
 * elements of its own: every read shows all of them, in order. In a third all members add to
 * one number: no sum is returned twice. The fourth is set as a whole by all: every read shows
 * one whole value. The last belongs to one member, which may drop it. At the end all arrays
 * agree with the journals; the unanswered call of a killed process may count or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/crowd.h"
#include "stress/stage.h"

#define SMALL_LENGTH 24
#define LARGE_LENGTH 14000
#define LARGE_ONE_IN 24
#define OWN_MAX 8
#define STEP_MAX 2
#define ABSENT UINT32_MAX

/* What a note is about. CHANGE: `what` has the array and how many are removed and added, OWN:
 * how many elements are there after, ABSENT: no array. */
enum verb { CHANGE, SUM, WHOLE, OWN };

enum array { SMALL, LARGE, SUMS, WHOLES, MINE, ARRAYS };
static const char *const names[ARRAYS] = {"small", "large", "sums", "wholes", "mine"};

/* A member's elements have serial numbers; those that are there are the last ones. */
struct own {
    uint32_t first, count;
};

struct player {
    struct crowd_member *member;
    mcds_array *arrays[ARRAYS];
    struct own own[2];
    uint32_t mine; /* elements, or ABSENT */
};

static size_t length_of(int array)
{
    return array == LARGE ? LARGE_LENGTH : SMALL_LENGTH;
}

/* "MEMBER SERIAL " and then the same letter to the end. */
static mcds_bytes write_element(char *capacity, size_t length, int member, uint32_t serial)
{
    int used = snprintf(capacity, length, "%d %u ", member, serial);
    memset(capacity + used, 'a' + (int)(serial % 26), length - (size_t)used);
    return (mcds_bytes){capacity, length};
}

static bool parse_element(mcds_bytes element, size_t length, int *member_out,
                          uint32_t *serial_out)
{
    static _Thread_local char expected[LARGE_LENGTH];
    char head[24] = "";
    if (element.length != length)
        return COMPLAIN("an element has %zu bytes", element.length);
    memcpy(head, element.data, sizeof head - 1);
    if (sscanf(head, "%d %u", member_out, serial_out) != 2)
        return COMPLAIN("\"%s\" is no element", head);
    (void)write_element(expected, length, *member_out, *serial_out);
    if (memcmp(expected, element.data, length) != 0)
        return COMPLAIN("element %d %u has been damaged", *member_out, *serial_out);
    return true;
}

struct seen {
    int array;
    struct own own[CROWD];
    int last_member; /* of what was visited last */
    uint32_t last_serial;
    uint32_t count; /* of all */
    bool fine;
};

static bool see(void *context, mcds_bytes element)
{
    struct seen *seen = context;
    int member;
    uint32_t serial;
    if (!parse_element(element, length_of(seen->array), &member, &serial) || member < 0 ||
        member >= CROWD)
        return seen->fine = false;
    struct own *own = &seen->own[member];
    if (own->count == 0)
        own->first = serial;
    if (seen->array < SUMS && serial != own->first + own->count)
        return seen->fine = COMPLAIN("%s: element %u of %d follows %u", names[seen->array],
                                     serial, member, own->first + own->count - 1);
    if (seen->array == WHOLES && seen->count > 0 &&
        (member != seen->last_member || serial != seen->last_serial))
        return seen->fine = COMPLAIN("a whole value was torn");
    own->count++;
    seen->last_member = member;
    seen->last_serial = serial;
    seen->count++;
    return true;
}

static bool get(mcds_array *array, int which, struct seen *seen)
{
    memset(seen, 0, sizeof *seen);
    seen->array = which;
    seen->fine = true;
    int result = mcds_array_scan(array, see, seen);
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        return COMPLAIN("get: %s", mcds_errmsg());
    if (result == MCDS_NOT_FOUND)
        seen->count = ABSENT;
    return seen->fine;
}

static bool must_be(const char *verb, int result, int expected)
{
    if (result == expected)
        return true;
    return COMPLAIN("%s: %s (%s), must be %s", verb, mcds_result_name(result), mcds_errmsg(),
                    mcds_result_name(expected));
}

static bool is_own(const struct own *told, const struct own *found)
{
    return told->count == found->count && (told->count == 0 || told->first == found->first);
}

static bool play_get(struct player *player, int array)
{
    struct seen seen;
    int number = player->member->number;
    return get(player->arrays[array], array, &seen) &&
           (is_own(&player->own[array], &seen.own[number]) ||
            COMPLAIN("%s: %u elements from %u on, must be %u from %u on", names[array],
                     seen.own[number].count, seen.own[number].first, player->own[array].count,
                     player->own[array].first));
}

static uint32_t what_of(int array, uint32_t removed, uint32_t added)
{
    return ((uint32_t)array << 8) | (removed << 4) | added;
}

static void apply(struct own *own, uint32_t what)
{
    uint32_t removed = what >> 4 & 15, added = what & 15;
    own->first += removed;
    own->count += added - removed;
}

static bool play_change(struct player *player, int array)
{
    struct own *own = &player->own[array];
    size_t length = length_of(array);
    mcds_bytes elements[2 * STEP_MAX];
    uint32_t removed = (uint32_t)crowd_roll(player->member, STEP_MAX + 1);
    uint32_t added = (uint32_t)crowd_roll(player->member, STEP_MAX) + 1;
    if (removed > own->count)
        removed = own->count;
    if (own->count + added > OWN_MAX)
        added = 0;
    char *rooms = malloc(2 * STEP_MAX * length);
    if (rooms == NULL)
        abort();
    for (uint32_t i = 0; i < removed + added; i++)
        elements[i] = write_element(rooms + i * length, length, player->member->number,
                                    i < removed ? own->first + i
                                                : own->first + own->count + i - removed);
    struct crowd_note *note = crowd_ask(player->member, CHANGE, what_of(array, removed, added));
    int result = mcds_array_change(player->arrays[array], elements + removed, added, elements,
                                   removed);
    free(rooms);
    if (!must_be("change", result, MCDS_OK))
        return false;
    apply(own, note->what);
    crowd_answer(note, 1);
    return true;
}

/* The number is its element's serial; whose it is does not matter. */
static int add_one(void *context, const mcds_bytes *old, size_t old_count, mcds_elements *fresh)
{
    int64_t *sum = context;
    char capacity[SMALL_LENGTH];
    int member;
    uint32_t serial = 0;
    if (old != NULL &&
        (old_count != 1 || !parse_element(old[0], SMALL_LENGTH, &member, &serial)))
        return MCDS_CORRUPT;
    *sum = (int64_t)serial + 1;
    return mcds_elements_add(fresh, write_element(capacity, sizeof capacity, 0, serial + 1));
}

static bool play_sum(struct player *player)
{
    struct crowd_note *note = crowd_ask(player->member, SUM, 0);
    int result = mcds_array_change_by(player->arrays[SUMS], add_one, &note->number);
    if (!must_be("change_by", result, MCDS_OK))
        return false;
    crowd_answer(note, 1);
    return true;
}

static bool play_whole(struct player *player)
{
    struct seen seen;
    char capacity[SMALL_LENGTH];
    mcds_bytes elements[OWN_MAX];
    size_t count = 1 + (size_t)crowd_roll(player->member, OWN_MAX);
    struct crowd_note *note = crowd_ask(player->member, WHOLE, 0);
    uint32_t serial = player->member->journal->count;
    note->number = serial;
    for (size_t i = 0; i < count; i++)
        elements[i] = write_element(capacity, sizeof capacity, player->member->number, serial);
    if (!must_be("set", mcds_array_set(player->arrays[WHOLES], elements, count), MCDS_OK))
        return false;
    crowd_answer(note, 1);
    return get(player->arrays[WHOLES], WHOLES, &seen);
}

static bool play_mine(struct player *player)
{
    struct seen seen;
    char capacity[SMALL_LENGTH];
    mcds_array *mine = player->arrays[MINE];
    if (!get(mine, MINE, &seen))
        return false;
    if (seen.count != player->mine)
        return COMPLAIN("of %u own elements %u are there", player->mine, seen.count);
    struct crowd_note *note = crowd_ask(player->member, OWN, 0);
    mcds_bytes element = write_element(capacity, sizeof capacity, player->member->number, 0);
    bool there = player->mine != ABSENT;
    bool fine;
    if (crowd_roll(player->member, 4) == 0) {
        note->what = ABSENT;
        fine = must_be("drop", mcds_array_drop(mine), there ? MCDS_OK : MCDS_NOT_FOUND);
    } else if (crowd_roll(player->member, 4) == 0) {
        note->what = 0;
        fine = must_be("set", mcds_array_set(mine, NULL, 0), MCDS_OK);
    } else {
        note->what = there ? player->mine + 1 : 1;
        fine = must_be("change", mcds_array_change(mine, &element, 1, NULL, 0), MCDS_OK);
    }
    player->mine = note->what;
    crowd_answer(note, 1);
    return fine;
}

static bool play(struct player *player)
{
    bool fine = true;
    while (fine && crowd_goes_on(player->member)) {
        int array = crowd_roll(player->member, LARGE_ONE_IN) == 0 ? LARGE : SMALL;
        switch (crowd_roll(player->member, 6)) {
        case 0:
            fine = play_sum(player);
            break;
        case 1:
            fine = play_whole(player);
            break;
        case 2:
            fine = play_mine(player);
            break;
        case 3:
            fine = play_get(player, array);
            break;
        default:
            fine = play_change(player, array);
        }
    }
    return fine;
}

static bool open_arrays(struct player *player, mcds_store *store, int number)
{
    for (int i = 0; i < ARRAYS; i++) {
        char name[32];
        if (i == MINE)
            (void)snprintf(name, sizeof name, "mine %d", number);
        else
            (void)snprintf(name, sizeof name, "%s", names[i]);
        if (mcds_array_open(store, name, NULL, &player->arrays[i]) != MCDS_OK)
            return COMPLAIN("open: %s", mcds_errmsg());
    }
    return true;
}

static void close_arrays(struct player *player)
{
    for (int i = 0; i < ARRAYS; i++)
        mcds_array_close(player->arrays[i]);
}

static bool live(struct crowd_member *member)
{
    struct player player = {.member = member, .mine = ABSENT};
    bool fine = open_arrays(&player, member->store, member->number) && play(&player);
    close_arrays(&player);
    return fine;
}

/* The elements of a member in one of the arrays. */
static bool judge_changes(const struct crowd_journal *journal, int array, int number,
                          const struct own *found)
{
    struct own told = {0, 0}, doubted;
    bool doubt = false;
    for (uint32_t i = 0; i < journal->count; i++) {
        const struct crowd_note *note = &journal->notes[i];
        if (note->verb != CHANGE || (int)(note->what >> 8) != array)
            continue;
        doubt = note->answered_ns == 0; /* the last of all */
        doubted = told;
        apply(doubt ? &doubted : &told, note->what);
    }
    if (is_own(&told, found) || (doubt && is_own(&doubted, found)))
        return true;
    return COMPLAIN("%s: %u elements of %d from %u on, must be %u from %u on", names[array],
                    found->count, number, found->first, told.count, told.first);
}

static bool judge_sum(struct crowd_journal *const *journals, const struct seen *seen)
{
    enum { SUMS_MAX = CROWD * CROWD_NOTES_MAX };
    uint8_t *told = calloc(SUMS_MAX + 1, 1);
    uint32_t sure = 0, doubted = 0;
    bool fine = true;
    if (told == NULL)
        abort();
    for (int i = 0; i < CROWD; i++)
        for (uint32_t k = 0; k < journals[i]->count; k++) {
            const struct crowd_note *note = &journals[i]->notes[k];
            if (note->verb != SUM)
                continue;
            doubted += note->answered_ns == 0;
            if (note->answered_ns == 0)
                continue;
            sure++;
            if (note->number < 1 || note->number > SUMS_MAX || told[note->number]++ > 0)
                fine = COMPLAIN("sum %lld was told twice, or cannot be",
                                (long long)note->number);
        }
    free(told);
    uint32_t last = seen->count == ABSENT ? 0 : seen->last_serial;
    if (last < sure || last > sure + doubted)
        fine = COMPLAIN("the sum is %u, must be %u", last, sure);
    return fine;
}

/* The value that is there is one that nobody has set another after. */
static bool judge_whole(struct crowd_journal *const *journals, const struct seen *seen)
{
    const struct crowd_note *last = NULL;
    if (seen->count != ABSENT)
        last = &journals[seen->last_member]->notes[seen->last_serial - 1];
    for (int i = 0; i < CROWD; i++)
        for (uint32_t k = 0; k < journals[i]->count; k++) {
            const struct crowd_note *note = &journals[i]->notes[k];
            if (note->verb != WHOLE || note->answered_ns == 0 || note == last)
                continue;
            if (last == NULL || (last->answered_ns != 0 && note->asked_ns > last->answered_ns))
                return COMPLAIN("a value that %d has set is not there", i);
        }
    return true;
}

static bool judge_mine(const struct crowd_journal *journal, int number, uint32_t found)
{
    uint32_t told = ABSENT;
    for (uint32_t i = 0; i < journal->count; i++) {
        const struct crowd_note *note = &journal->notes[i];
        if (note->verb == OWN && (note->answered_ns != 0 || note->what == found))
            told = note->what;
    }
    return found == told ||
           COMPLAIN("of %u elements that are %d's own %u are there", told, number, found);
}

static bool judge(mcds_store *store, struct crowd_journal *const *journals)
{
    struct seen seen[ARRAYS];
    bool fine = true;
    for (int i = 0; fine && i < CROWD; i++) {
        struct player player = {0};
        fine = open_arrays(&player, store, i);
        for (int array = 0; fine && array < ARRAYS; array++)
            fine = get(player.arrays[array], array, &seen[array]);
        close_arrays(&player);
        fine = fine && judge_changes(journals[i], SMALL, i, &seen[SMALL].own[i]) &&
               judge_changes(journals[i], LARGE, i, &seen[LARGE].own[i]) &&
               judge_mine(journals[i], i, seen[MINE].count);
    }
    return fine && judge_sum(journals, &seen[SUMS]) && judge_whole(journals, &seen[WHOLES]);
}

int main(int argc, char **argv)
{
    static const struct crowd_play array = {live, judge};
    return crowd_main(argc, argv, &array);
}
