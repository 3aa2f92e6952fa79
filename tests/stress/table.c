/* Eight members use one table: table STORE (memory, lmdb, memcached)
 *
 * Each member has keys of its own, knows their values at any time, and checks every answer and
 * every scan. All share numbers that they add to: no sum is returned twice, and the last is the
 * sum of all adds. They also share keys that only one may claim, numbers that they increase by
 * compare_and_set, and keys that they put and remove. At the end the table agrees with the
 * journals; the unanswered call of a killed process may count or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/crowd.h"
#include "stress/stage.h"

#define SHARED 8
#define CLAIMS 200000
#define OWN 500
#define SCAN_ONE_IN 300
#define ABSENT INT64_C(-1)

/* What a note is about. Own: `what` is the key, `number` the value after, ABSENT: none. */
enum verb { OWN_CHANGE, INCREMENT, CLAIM, RAISE, TAKE, LEAVE };

struct player {
    struct crowd_member *member;
    mcds_table *table;
    mcds_value value;
    int64_t own[OWN];
    int64_t scanned[OWN];
    uint32_t next_claim;
};

static mcds_bytes write_text(char capacity[static 48], const char *format, uint32_t a,
                             uint32_t b)
{
    (void)snprintf(capacity, 48, format, a, b);
    return mcds_text(capacity);
}

#define OWN_KEY "own key %u of %04u"
#define VALUE "%u"

static bool read_number(mcds_bytes text, int64_t *number_out)
{
    char capacity[24] = "";
    char *end;
    if (text.length == 0 || text.length >= sizeof capacity)
        return false;
    memcpy(capacity, text.data, text.length);
    *number_out = strtoll(capacity, &end, 10);
    return *end == '\0';
}

/* The value of a key, or ABSENT. */
static bool get(struct player *player, mcds_bytes key, int64_t *number_out)
{
    int result = mcds_table_get(player->table, key, &player->value);
    *number_out = ABSENT;
    if (result == MCDS_NOT_FOUND)
        return true;
    if (result != MCDS_OK)
        return COMPLAIN("get: %s", mcds_errmsg());
    if (!read_number((mcds_bytes){player->value.data, player->value.length}, number_out))
        return COMPLAIN("get brings what nobody put");
    return true;
}

static bool must_be(const char *verb, int result, int expected)
{
    if (result == expected)
        return true;
    return COMPLAIN("%s: %s (%s), must be %s", verb, mcds_result_name(result), mcds_errmsg(),
                    mcds_result_name(expected));
}

enum own_verb { PUT, PUT_IF_ABSENT, COMPARE, COMPARE_OTHER, REMOVE, INCR, OWN_VERBS };

/* What is there after, if all is well. */
static int64_t foretell(enum own_verb verb, int64_t before, uint32_t value)
{
    switch (verb) {
    case PUT:
        return value;
    case PUT_IF_ABSENT:
        return before == ABSENT ? value : before;
    case COMPARE:
        return before == ABSENT ? ABSENT : value;
    case COMPARE_OTHER:
        return before;
    case REMOVE:
        return ABSENT;
    default:
        return before == ABSENT ? value : before + value;
    }
}

static bool change_own(struct player *player, enum own_verb verb, mcds_bytes key,
                       int64_t before, uint32_t value)
{
    char now_room[48], new_room[48];
    mcds_table *table = player->table;
    mcds_bytes new_value = write_text(new_room, VALUE, value, 0);
    mcds_bytes now = write_text(now_room, VALUE, before == ABSENT ? 0 : (uint32_t)before, 0);
    bool there = before != ABSENT, changed = !there;
    int64_t sum = 0;
    switch (verb) {
    case PUT:
        return must_be("put", mcds_table_put(table, key, new_value, 0), MCDS_OK);
    case PUT_IF_ABSENT:
        return must_be("put_if_absent", mcds_table_put_if_absent(table, key, new_value, 0),
                       there ? MCDS_EXISTS : MCDS_OK);
    case COMPARE:
        return must_be("compare_and_set",
                       mcds_table_compare_and_set(table, key, now, new_value, 0),
                       there ? MCDS_OK : MCDS_NOT_FOUND);
    case COMPARE_OTHER:
        return must_be(
            "compare_and_set",
            mcds_table_compare_and_set(table, key, mcds_text("another"), new_value, 0),
            there ? MCDS_EXISTS : MCDS_NOT_FOUND);
    case REMOVE:
        return must_be("remove", mcds_table_remove(table, key, &changed), MCDS_OK) &&
               (changed == there || COMPLAIN("remove: changed %d", changed));
    default:
        return must_be("incr", mcds_table_incr(table, key, value, &sum), MCDS_OK) &&
               (sum == foretell(INCR, before, value) ||
                COMPLAIN("incr: %lld is not the sum", (long long)sum));
    }
}

static bool play_own(struct player *player)
{
    char capacity[48];
    uint32_t at = (uint32_t)crowd_roll(player->member, OWN);
    int64_t before = player->own[at], found;
    mcds_bytes key = write_text(capacity, OWN_KEY, (uint32_t)player->member->number, at);
    if (crowd_roll(player->member, 4) == 0)
        return get(player, key, &found) &&
               (found == before || COMPLAIN("own key %u is %lld, must be %lld", at,
                                            (long long)found, (long long)before));
    enum own_verb verb = (enum own_verb)crowd_roll(player->member, OWN_VERBS);
    uint32_t value = (uint32_t)crowd_roll(player->member, 1000);
    struct crowd_note *note = crowd_ask(player->member, OWN_CHANGE, at);
    note->number = foretell(verb, before, value);
    if (!change_own(player, verb, key, before, value))
        return false;
    player->own[at] = note->number;
    crowd_answer(note, 1);
    return true;
}

static bool play_increment(struct player *player)
{
    char capacity[48];
    uint32_t which = (uint32_t)crowd_roll(player->member, SHARED);
    struct crowd_note *note = crowd_ask(player->member, INCREMENT, which);
    mcds_bytes key = write_text(capacity, "sum %u", which, 0);
    int result = mcds_table_incr(player->table, key, 1, &note->number);
    if (!must_be("incr", result, MCDS_OK))
        return false;
    crowd_answer(note, 1);
    return true;
}

/* All claim the same keys in about the same order; each is one's. */
static bool play_claim(struct player *player)
{
    char key_capacity[48], capacity[48];
    player->next_claim += (uint32_t)crowd_roll(player->member, 2);
    uint32_t which = player->next_claim;
    if (which >= CLAIMS)
        return true;
    struct crowd_note *note = crowd_ask(player->member, CLAIM, which);
    mcds_bytes key = write_text(key_capacity, "claim %u", which, 0);
    mcds_bytes mine = write_text(capacity, VALUE, (uint32_t)player->member->number, 0);
    int result = mcds_table_put_if_absent(player->table, key, mine, 0);
    if (result != MCDS_EXISTS && !must_be("put_if_absent", result, MCDS_OK))
        return false;
    crowd_answer(note, result == MCDS_OK);
    player->next_claim += result == MCDS_EXISTS;
    return true;
}

static bool play_raise(struct player *player)
{
    char key_capacity[48], now_room[48], next_room[48];
    uint32_t which = (uint32_t)crowd_roll(player->member, SHARED);
    mcds_bytes key = write_text(key_capacity, "height %u", which, 0);
    int64_t now;
    if (!get(player, key, &now))
        return false;
    mcds_bytes next = write_text(next_room, VALUE, now == ABSENT ? 1 : (uint32_t)now + 1, 0);
    mcds_bytes old = write_text(now_room, VALUE, now == ABSENT ? 0 : (uint32_t)now, 0);
    struct crowd_note *note = crowd_ask(player->member, RAISE, which);
    int result = now == ABSENT ? mcds_table_put_if_absent(player->table, key, next, 0)
                               : mcds_table_compare_and_set(player->table, key, old, next, 0);
    if (result != MCDS_EXISTS && !must_be("compare_and_set", result, MCDS_OK))
        return false;
    crowd_answer(note, result == MCDS_OK);
    return true;
}

static bool play_take(struct player *player)
{
    char capacity[48];
    uint32_t which = (uint32_t)crowd_roll(player->member, SHARED);
    unsigned verb = crowd_roll(player->member, 2) == 0 ? TAKE : LEAVE;
    mcds_bytes key = write_text(capacity, "seat %u", which, 0);
    struct crowd_note *note = crowd_ask(player->member, verb, which);
    bool changed = false;
    int result = verb == LEAVE
                     ? mcds_table_remove(player->table, key, &changed)
                     : mcds_table_put_if_absent(player->table, key, mcds_text("1"), 0);
    if (verb == TAKE) {
        changed = result == MCDS_OK;
        result = result == MCDS_EXISTS ? MCDS_OK : result;
    }
    if (!must_be(verb == TAKE ? "put_if_absent" : "remove", result, MCDS_OK))
        return false;
    crowd_answer(note, changed);
    return true;
}

/* Each of its own keys once, with its value. */
static bool note_row(void *context, mcds_bytes key, mcds_bytes value)
{
    struct player *player = context;
    char text[48] = "", expected[48];
    unsigned member, at;
    if (key.length >= sizeof text)
        return COMPLAIN("a scan brings what nobody put");
    memcpy(text, key.data, key.length);
    if (sscanf(text, OWN_KEY, &member, &at) != 2 || (int)member != player->member->number)
        return true;
    (void)write_text(expected, OWN_KEY, member, at);
    if (strcmp(text, expected) != 0 || at >= OWN)
        return COMPLAIN("a scan brings what nobody put");
    if (player->scanned[at] != ABSENT)
        return COMPLAIN("a scan brings \"%s\" twice", text);
    return read_number(value, &player->scanned[at]) || COMPLAIN("\"%s\" is no number", text);
}

static void clear(int64_t *numbers)
{
    for (int i = 0; i < OWN; i++)
        numbers[i] = ABSENT;
}

static bool scan(struct player *player, uint64_t limit)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    clear(player->scanned);
    while (!cursor.done) {
        int result = mcds_table_scan(player->table, &cursor, limit, note_row, player);
        if (result == MCDS_NOT_FOUND)
            break;
        if (result != MCDS_OK)
            return COMPLAIN("scan: %s", mcds_errmsg());
    }
    return true;
}

static bool play_scan(struct player *player)
{
    if (!scan(player, 100 * crowd_roll(player->member, 3)))
        return false;
    return memcmp(player->scanned, player->own, sizeof player->own) == 0 ||
           COMPLAIN("a scan differs from what is there");
}

static bool play(struct player *player)
{
    static bool (*const turns[])(struct player *) = {play_increment, play_claim, play_raise,
                                                     play_take};
    bool fine = true;
    while (fine && crowd_goes_on(player->member)) {
        uint64_t chance = crowd_roll(player->member, 8);
        if (crowd_roll(player->member, SCAN_ONE_IN) == 0)
            fine = play_scan(player);
        else
            fine = chance < 4 ? turns[chance](player) : play_own(player);
    }
    return fine;
}

static bool open_table(struct player *player, mcds_store *store)
{
    clear(player->own);
    player->value = (mcds_value)MCDS_VALUE_INIT;
    if (mcds_table_open(store, "stress", NULL, &player->table) != MCDS_OK)
        return COMPLAIN("open: %s", mcds_errmsg());
    return true;
}

static bool live(struct crowd_member *member)
{
    struct player *player = calloc(1, sizeof *player);
    if (player == NULL)
        abort();
    player->member = member;
    bool fine = open_table(player, member->store) && play(player);
    mcds_table_close(player->table);
    mcds_value_free(&player->value);
    free(player);
    return fine;
}

static bool judge_own(struct player *player, const struct crowd_journal *journal)
{
    uint32_t doubted = OWN;
    for (uint32_t i = 0; i < journal->count; i++) {
        const struct crowd_note *note = &journal->notes[i];
        if (note->verb == OWN_CHANGE && note->answered_ns != 0)
            player->own[note->what] = note->number;
        if (note->verb == OWN_CHANGE && note->answered_ns == 0)
            doubted = note->what; /* the last of all */
    }
    if (!scan(player, 0))
        return false;
    bool fine = true;
    for (uint32_t i = 0; i < OWN; i++) {
        int64_t found = player->scanned[i];
        if (found == player->own[i])
            continue;
        const struct crowd_note *last = &journal->notes[journal->count - 1];
        if (i != doubted || found != last->number)
            fine = COMPLAIN("key %u of %d is %lld, must be %lld", i, player->member->number,
                            (long long)found, (long long)player->own[i]);
    }
    return fine;
}

struct balance {
    int64_t net;
    int64_t more, less; /* what calls in doubt may have done */
};

static struct balance weigh(struct crowd_journal *const *journals, unsigned up, unsigned down,
                            uint32_t which)
{
    struct balance balance = {0, 0, 0};
    for (int i = 0; i < CROWD; i++)
        for (uint32_t k = 0; k < journals[i]->count; k++) {
            const struct crowd_note *note = &journals[i]->notes[k];
            if (note->what != which || (note->verb != up && note->verb != down))
                continue;
            if (note->answered_ns == 0)
                *(note->verb == up ? &balance.more : &balance.less) += 1;
            else if (note->answer != 0)
                balance.net += note->verb == up ? 1 : -1;
        }
    return balance;
}

static bool judge_balance(struct player *player, struct crowd_journal *const *journals,
                          const char *format, unsigned up, unsigned down)
{
    bool fine = true;
    for (uint32_t which = 0; which < SHARED; which++) {
        char capacity[48];
        int64_t found;
        struct balance balance = weigh(journals, up, down, which);
        mcds_bytes key = write_text(capacity, format, which, 0);
        if (!get(player, key, &found))
            return false;
        if (found == ABSENT)
            found = 0;
        if (found < balance.net - balance.less || found > balance.net + balance.more)
            fine = COMPLAIN("\"%s\" is %lld, must be %lld", capacity, (long long)found,
                            (long long)balance.net);
    }
    return fine;
}

/* No sum has been told to two. */
static bool judge_sums(struct crowd_journal *const *journals)
{
    enum { SUMS_MAX = CROWD * CROWD_NOTES_MAX };
    uint8_t *told = calloc(SUMS_MAX + 1, 1); /* a bit for each of the shared numbers */
    bool fine = true;
    if (told == NULL)
        abort();
    for (int i = 0; i < CROWD; i++)
        for (uint32_t k = 0; k < journals[i]->count; k++) {
            const struct crowd_note *note = &journals[i]->notes[k];
            if (note->verb != INCREMENT || note->answered_ns == 0)
                continue;
            uint8_t bit = (uint8_t)(1U << note->what);
            if (note->number < 1 || note->number > SUMS_MAX || (told[note->number] & bit) != 0)
                fine = COMPLAIN("sum %u: %lld was told twice, or cannot be", note->what,
                                (long long)note->number);
            else
                told[note->number] |= bit;
        }
    free(told);
    return fine;
}

/* A claim is its only winner's; one that nobody was told of is that of a call in doubt. */
static bool judge_claims(struct player *player, struct crowd_journal *const *journals)
{
    struct claim {
        uint8_t answered, doubted, winners, winner; /* doubted: a bit for each member */
    } *claims = calloc(CLAIMS, sizeof *claims);
    if (claims == NULL)
        abort();
    for (int i = 0; i < CROWD; i++)
        for (uint32_t k = 0; k < journals[i]->count; k++) {
            const struct crowd_note *note = &journals[i]->notes[k];
            if (note->verb != CLAIM)
                continue;
            struct claim *claim = &claims[note->what];
            if (note->answered_ns == 0)
                claim->doubted |= (uint8_t)(1U << i);
            else
                claim->answered = 1;
            if (note->answered_ns != 0 && note->answer != 0) {
                claim->winners++;
                claim->winner = (uint8_t)i;
            }
        }
    bool fine = true;
    for (uint32_t which = 0; which < CLAIMS && fine; which++) {
        char capacity[48];
        int64_t found;
        const struct claim *claim = &claims[which];
        if (claim->answered == 0 && claim->doubted == 0)
            continue;
        if (!get(player, write_text(capacity, "claim %u", which, 0), &found))
            fine = false;
        else if (found == ABSENT)
            fine = claim->answered == 0;
        else if (claim->winners == 0)
            fine = (claim->doubted >> found & 1) != 0;
        else
            fine = claim->winners == 1 && found == claim->winner;
        if (!fine)
            (void)COMPLAIN("claim %u: %u winners, and it is %lld's", which, claim->winners,
                           (long long)found);
    }
    free(claims);
    return fine;
}

static bool judge(mcds_store *store, struct crowd_journal *const *journals)
{
    static struct player player;
    bool fine = open_table(&player, store);
    for (int i = 0; fine && i < CROWD; i++) {
        struct crowd_member member = {.number = i, .store = store};
        player.member = &member;
        clear(player.own);
        fine = judge_own(&player, journals[i]);
    }
    fine = fine && judge_balance(&player, journals, "sum %u", INCREMENT, INCREMENT) &&
           judge_balance(&player, journals, "height %u", RAISE, RAISE) &&
           judge_balance(&player, journals, "seat %u", TAKE, LEAVE) && judge_sums(journals) &&
           judge_claims(&player, journals);
    mcds_table_close(player.table);
    mcds_value_free(&player.value);
    return fine;
}

int main(int argc, char **argv)
{
    static const struct crowd_play table = {live, judge};
    return crowd_main(argc, argv, &table);
}
