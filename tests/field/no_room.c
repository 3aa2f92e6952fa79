/* map | disk | memcached | classic: every structure on a store that is full but for a little room. Each change
 * ends in its time; what was acknowledged is there, and what was refused is not: on the full store,
 * when there is room again, and after a drop, which needs no room. FIELD_ROUNDS are rooms of
 * different size; FULL_ONLY names a structure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "field/field.h"
#include "field/ledger.h"
#include "field/no_room_world.h"
#include "support/dice.h"

#define EXIT_SKIPPED 77
/* A call that does not end: the program is killed. */
#define HANG_S 800
#define ROUNDS 4
#define REFUSED_MAX 40
#define STEP 20
#define LATER 30

struct play {
    const char *kind;
    const struct subject *subject;
    uint32_t capacity;
    bool is_piped;
    bool is_warm; /* it exists before the store is full */
    bool drops;   /* on the full store */
    int wrong;
};

static bool is_server(const char *kind)
{
    return strcmp(kind, "memcached") == 0 || strcmp(kind, "classic") == 0;
}

static void complain(struct play *play, const char *when, const char *what, const char *more)
{
    (void)fprintf(stderr, "%s, %s, %s, room %u, %s: %s: %s %s\n", play->kind,
                  play->subject->name, play->is_piped ? "piped" : "waiting",
                  (unsigned)play->capacity, play->is_warm ? "warm" : "cold", when, what, more);
    play->wrong++;
}

static void judge(struct play *play, struct ledger *ledger, const char *when)
{
    for (int is_fresh = 0; is_fresh <= 1; is_fresh++) {
        const char *why;
        char text[160];
        int result = is_fresh ? ledger_read_afresh(ledger) : ledger_read(ledger);
        if (result != MCDS_OK)
            complain(play, when, "cannot be read:", mcds_errmsg());
        if (ledger->is_lost)
            complain(play, when, "told of a loss:", mcds_errmsg());
        uint32_t number = ledger_judge(ledger, true, &why);
        if (number == LEDGER_MAX)
            continue;
        (void)snprintf(text, sizeof text, "%u of %u (%s): %u seen, sum %u, foreign %u, %s",
                       (unsigned)number, (unsigned)ledger->count,
                       number < ledger->count ? mcds_result_name(ledger->results[number]) : "",
                       number < ledger->count ? (unsigned)ledger->seen[number] : 0,
                       (unsigned)ledger->sum, (unsigned)ledger->foreign,
                       is_fresh ? "fresh" : "same handle");
        complain(play, when, why, text);
    }
}

/* Answers that a full store does not explain. With nothing else under way, nothing is in doubt. */
static void judge_answers(struct play *play, const struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->count; i++)
        switch (ledger->results[i]) {
        case MCDS_OK:
        case MCDS_EXISTS:
        case MCDS_NOT_FOUND:
        case MCDS_FULL:
            break;
        case MCDS_AMBIGUOUS:
            if (play->is_piped || play->subject->kind == SUBJECT_PARTS || is_server(play->kind))
                break;
            complain(play, "full", "in doubt:", ledger->sentence);
            return;
        default:
            complain(play, "full", "another answer:", mcds_result_name(ledger->results[i]));
            return;
        }
}

/* With room again, all works again. */
static void write_later(struct play *play, struct ledger *ledger, const char *when, bool all)
{
    uint32_t before = ledger->count;
    ledger_write(ledger, LATER);
    uint32_t refused = ledger_count(ledger, before, MCDS_FULL);
    uint32_t later = ledger->count - before;
    /* A server has room for each size of its own, and visitors without members stay known. */
    bool has_some = is_server(play->kind) || play->subject->kind == SUBJECT_SUM;
    if ((all && refused > 0) || (!has_some && later > 0 && refused == later))
        complain(play, when, "refused:", mcds_errmsg());
    judge(play, ledger, when);
}

static void forget(struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->count; i++)
        ledger->results[i] = MCDS_NOT_FOUND;
}

/* Returns whether it is all gone. */
static bool drop(struct play *play, struct ledger *ledger, const char *when)
{
    int result = ledger->subject->drop(ledger);
    if (result < 0)
        complain(play, when, "the drop:", mcds_errmsg());
    if (result >= 0)
        forget(ledger);
    return result >= 0;
}

static void play_one(struct play *play)
{
    struct full_world world;
    uint32_t refused = 0;
    if (full_world_open(&world, play->kind) != NULL)
        exit(1);
    struct ledger *ledger = ledger_open(play->subject, world.store, play->is_piped);
    if (play->is_warm)
        ledger_write(ledger, STEP);
    full_world_fill(&world, play->capacity);
    while (refused < REFUSED_MAX && ledger->count < LEDGER_MAX - 2 * LATER) {
        ledger_write(ledger, STEP);
        refused = ledger_count(ledger, 0, MCDS_FULL);
    }
    uint32_t acknowledged = ledger_count(ledger, 0, MCDS_OK);
    (void)printf("%s, %s, room %u%s: %u acknowledged, %u refused, %u ambiguous\n",
                 play->subject->name, play->is_piped ? "piped" : "waiting",
                 (unsigned)play->capacity, play->is_warm ? ", warm" : "",
                 (unsigned)acknowledged, (unsigned)refused,
                 (unsigned)ledger_count(ledger, 0, MCDS_AMBIGUOUS));
    judge_answers(play, ledger);
    judge(play, ledger, "full");
    if (play->drops && play->subject->drop != NULL && acknowledged >= STEP &&
        drop(play, ledger, "full"))
        write_later(play, ledger, "full, after the drop", false);
    full_world_make_room(&world);
    judge(play, ledger, "room again");
    write_later(play, ledger, "room again, later", true);
    if (play->subject->drop != NULL && drop(play, ledger, "room again"))
        write_later(play, ledger, "room again, after the drop", true);
    ledger_close(ledger);
    full_world_close(&world);
}

static int play_all(const char *kind)
{
    static const uint32_t rooms[] = {0, 3, 12, 80};
    const char *only = getenv("FULL_ONLY");
    uint64_t dice = 7;
    int wrong = 0;
    bool is_slow = is_server(kind); /* it has to be filled size by size */
    unsigned rounds = field_rounds(is_slow ? ROUNDS / 2 : ROUNDS);
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < ledger_subject_count; i++) {
            struct play play = {.kind = kind, .subject = &ledger_subjects[i]};
            play.capacity = round < ROUNDS ? rooms[round] : (uint32_t)dice_roll(&dice, 100);
            play.is_piped = dice_roll(&dice, 2) == 0;
            play.is_warm = dice_roll(&dice, 2) == 0 || (is_slow && play.capacity == 0);
            play.drops = dice_roll(&dice, 2) == 0 || is_slow;
            /* In the classic protocol the comparison that ends a lease needs room. */
            if (strcmp(kind, "classic") == 0 && strcmp(play.subject->name, "lock") == 0)
                play.drops = false;
            if (only == NULL || strcmp(only, play.subject->name) == 0)
                play_one(&play);
            wrong += play.wrong;
        }
    return wrong;
}

int main(int argc, char **argv)
{
    struct full_world world;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s map|disk|memcached|classic\n", argv[0]);
        return EXIT_FAILURE;
    }
    (void)alarm(HANG_S);
    const char *missing = full_world_open(&world, argv[1]);
    if (missing != NULL) {
        full_world_close(&world);
        (void)printf("skipped: %s\n", missing);
        return EXIT_SKIPPED;
    }
    full_world_close(&world);
    return play_all(argv[1]) == 0 ? 0 : 1;
}
