/* The article's algorithms against those of mcds, under the same faults on real servers:
 *
 *     duel [SEED]
 *
 * Prints one table: the results that each side was given, and the content found afterwards.
 * Fails if mcds is wrong anywhere, or if the article's algorithm is right where it is known to
 * be wrong. DUEL_SECONDS: starts new rounds for this time; otherwise one. DUEL_PPM: the rate of
 * each kind of fault. DUEL_ONLY: one structure. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "duel/sides.h"

#define SKIPPED 77
#define FAULT_PPM 15000
#define WORKERS 3
#define SIDES_MAX 48
#define SEED_STEP 100
/* Rounds more for the sides in which no flaw was seen that must be. */
#define EXTRA_ROUNDS 8

/* In the order of the table. */
static const struct side *const lists[] = {counter_sides, visitors_sides, online_sides,
                                           views_sides,   lock_sides,     array_sides,
                                           list_sides,    table_sides,    log_sides};
#define LISTS (sizeof lists / sizeof lists[0])

struct duel {
    uint64_t seed;
    uint64_t rounds;
    uint64_t extra;
    uint32_t fault_ppm;
    size_t count;
    const struct side *sides[SIDES_MAX];
    struct score scores[SIDES_MAX];
    bool fine;
    pthread_mutex_t mutex; /* of the scores, fine and next */
    size_t next;
};

static uint64_t number_from(const char *text, uint64_t usual)
{
    char *end;
    uint64_t number = text != NULL ? strtoull(text, &end, 10) : usual;
    return text != NULL && *end == '\0' ? number : usual;
}

static void gather_sides(struct duel *duel)
{
    const char *only = getenv("DUEL_ONLY");
    for (size_t i = 0; i < LISTS; i++)
        for (const struct side *side = lists[i]; side->structure != NULL; side++)
            if (duel->count < SIDES_MAX && (only == NULL || strcmp(only, side->structure) == 0))
                duel->sides[duel->count++] = side;
}

/* Sides of one structure meet the same faults. */
static uint64_t seed_of(const struct duel *duel, const struct side *side)
{
    uint64_t seed = (duel->seed + duel->rounds + duel->extra) * SEED_STEP;
    for (size_t i = 0; i < duel->count; i++) {
        if (strcmp(duel->sides[i]->structure, side->structure) == 0)
            return seed + i;
    }
    return seed;
}

/* The slow ones begin before the others. */
static size_t place_in_round(const struct duel *duel, size_t turn)
{
    for (int slow = 1; slow >= 0; slow--)
        for (size_t i = 0; i < duel->count; i++)
            if (duel->sides[i]->is_slow == (slow == 1) && turn-- == 0)
                return i;
    return 0;
}

/* Whether each flaw was seen that one round must show. */
static bool is_shown(const struct side *side, const struct score *score)
{
    for (int column = 0; column < COLUMNS; column++)
        if ((side->must & COLUMN(column)) != 0 && score->found[column] == 0)
            return false;
    return true;
}

static bool all_are_shown(const struct duel *duel)
{
    for (size_t i = 0; i < duel->count; i++)
        if (!is_shown(duel->sides[i], &duel->scores[i]))
            return false;
    return true;
}

static void *work(void *context)
{
    struct duel *duel = context;
    for (;;) {
        struct score score = {.calls = 0};
        (void)pthread_mutex_lock(&duel->mutex);
        size_t turn = duel->next++;
        size_t at = turn < duel->count ? place_in_round(duel, turn) : 0;
        const struct side *side = duel->sides[at];
        bool is_over = duel->extra > 0 && is_shown(side, &duel->scores[at]);
        (void)pthread_mutex_unlock(&duel->mutex);
        if (turn >= duel->count)
            return NULL;
        if (is_over)
            continue;
        bool fine = match_play(side, seed_of(duel, side), duel->fault_ppm, &score);
        (void)pthread_mutex_lock(&duel->mutex);
        duel->fine = duel->fine && fine;
        duel->scores[at].calls += score.calls;
        duel->scores[at].done += score.done;
        duel->scores[at].unknown += score.unknown;
        duel->scores[at].unread += score.unread;
        for (int i = 0; i < COLUMNS; i++)
            duel->scores[at].found[i] += score.found[i];
        (void)pthread_mutex_unlock(&duel->mutex);
    }
}

static void play_round(struct duel *duel)
{
    pthread_t workers[WORKERS];
    duel->next = 0;
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&workers[i], NULL, work, duel) != 0)
            abort();
    for (int i = 0; i < WORKERS; i++)
        (void)pthread_join(workers[i], NULL);
}

static void print_table(const struct duel *duel)
{
    (void)puts(
        "| structure | whose | calls | done | unknown | lost | doubled | wrong | overlapping "
        "holders | fence violations |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (size_t i = 0; i < duel->count; i++) {
        const struct score *score = &duel->scores[i];
        (void)printf("| %s | %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " |",
                     duel->sides[i]->structure, duel->sides[i]->whose, score->calls,
                     score->done, score->unknown);
        for (int column = 0; column < COLUMNS; column++)
            if ((duel->sides[i]->judged & COLUMN(column)) != 0)
                (void)printf(" %" PRIu64 " |", score->found[column]);
            else
                (void)printf(" - |");
        (void)puts("");
    }
}

static bool judge_side(const struct side *side, const struct score *score, uint64_t rounds)
{
    unsigned musts = side->must | (rounds >= ROUNDS_LONG ? side->must_in_time : 0);
    static const char *const names[COLUMNS] = {"lost", "doubled", "wrong",
                                               "overlapping holders", "fence violations"};
    bool fine = true;
    for (int column = 0; column < COLUMNS; column++) {
        bool is_wrong = score->found[column] > 0;
        bool must = (musts & COLUMN(column)) != 0;
        if (is_wrong == must || (is_wrong && !side->is_ours))
            continue;
        (void)printf("%s, %s: %s %" PRIu64 ", which %s\n", side->structure, side->whose,
                     names[column], score->found[column],
                     must ? "shows nothing" : "must never be");
        fine = false;
    }
    if (score->unread > 0 && side->is_ours) {
        (void)printf("%s, %s: not judged: %" PRIu64 " readings did not work\n", side->structure,
                     side->whose, score->unread);
        fine = false;
    }
    return fine && score->done > 0;
}

int main(int argc, char **argv)
{
    static struct duel duel = {.fine = true, .mutex = PTHREAD_MUTEX_INITIALIZER};
    duel.seed = number_from(argc > 1 ? argv[1] : NULL, 1);
    duel.fault_ppm = (uint32_t)number_from(getenv("DUEL_PPM"), FAULT_PPM);
    if (!server_is_installed("memcached")) {
        (void)puts("skipped: memcached is not installed");
        return SKIPPED;
    }
    gather_sides(&duel);
    int64_t begun_ns = match_now_ns();
    int64_t until_ns = begun_ns + (int64_t)number_from(getenv("DUEL_SECONDS"), 0) * NS_PER_S;
    do {
        play_round(&duel);
        duel.rounds++;
    } while (duel.fine && match_now_ns() < until_ns);
    while (duel.fine && !all_are_shown(&duel) && duel.extra < EXTRA_ROUNDS) {
        duel.extra++;
        play_round(&duel);
    }
    (void)printf("seed %" PRIu64 ", %" PRIu64 " rounds, %.0f s, faults %" PRIu32
                 " ppm of each kind\n\n",
                 duel.seed, duel.rounds, (double)(match_now_ns() - begun_ns) / (double)NS_PER_S,
                 duel.fault_ppm);
    print_table(&duel);
    bool fine = duel.fine && duel.count > 0;
    for (size_t i = 0; i < duel.count; i++)
        fine = judge_side(duel.sides[i], &duel.scores[i], duel.rounds) && fine;
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
