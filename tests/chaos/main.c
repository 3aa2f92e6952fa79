/* Runs players on real stores under continuous faults: chaos [PLACE [SEED]]
 *
 *   relays      three memcached servers, each behind a relay that cuts connections, delays
 *               requests, delivers them late and withholds replies; sometimes one is stopped
 *   losses      the same, and the servers are killed and restart empty, are flushed, pause for up
 *               to two seconds, and have to evict
 *   nutcracker  the relays again, behind a proxy
 *   lmdb        one file, and processes that are stopped and killed
 *
 * Six players call the entries of a table, the elements of a set, arrays, counters and locks, which
 * are new in each round. Afterwards the history of every object is judged: there must be an order
 * in which each call takes effect at one moment between its start and its end, and the object may
 * start again only when it can have been lost.
 *
 * CHAOS_SECONDS: the duration, by default 4. CHAOS_PPM: the rate of each kind of fault, per million
 * pieces. CHAOS_ONLY: the name of one kind of object. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chaos/chaos.h"
#include "support/dice.h"
#include "support/server.h"

#define SKIPPED 77
#define SECONDS 4
#define SUBJECTS_BRIEF 6 /* those of which a round takes less than a second */
#define SUBJECTS 7
/* Of a value, and in one of so many rounds. */
#define VALUE_MAX 9000
#define LONG_EVERY 16
/* So long a play has time for the others. */
#define SECONDS_LONG 30

static const struct history_subject *const subjects[SUBJECTS] = {
    &history_table,   &history_values, &history_set,  &history_array,
    &history_counter, &history_lock,   &history_lease};
static const struct chaos_place *const places[] = {&chaos_relays, &chaos_losses,
                                                   &chaos_nutcracker, &chaos_lmdb};

int64_t chaos_now_ns(void *clock)
{
    struct timespec now;
    (void)clock;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void chaos_sleep_us(uint64_t us)
{
    struct timespec pause = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    (void)nanosleep(&pause, NULL);
}

static uint64_t number_from(const char *text, uint64_t usual)
{
    char *end;
    uint64_t number = text != NULL ? strtoull(text, &end, 10) : usual;
    return text != NULL && *end == '\0' ? number : usual;
}

uint64_t chaos_setting(const char *name, uint64_t usual)
{
    return number_from(getenv(name), usual);
}

uint64_t chaos_roll(struct chaos *chaos, uint64_t below)
{
    return dice_roll(&chaos->dice, below);
}

bool chaos_complain(const char *what)
{
    (void)printf("chaos: %s: %s\n", what, mcds_errmsg());
    return false;
}

static const struct chaos_place *find_place(const char *name)
{
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (strcmp(places[i]->name, name) == 0)
            return places[i];
    return NULL;
}

static const struct history_subject *choose_subject(uint64_t round)
{
    const char *only = getenv("CHAOS_ONLY");
    for (int i = 0; only != NULL && i < SUBJECTS; i++)
        if (strcmp(subjects[i]->name, only) == 0)
            return subjects[i];
    bool is_long = chaos_setting("CHAOS_SECONDS", SECONDS) >= SECONDS_LONG;
    return subjects[round % (is_long ? SUBJECTS : SUBJECTS_BRIEF)];
}

static void choose_lengths(struct chaos *chaos)
{
    struct lengths key;
    uint64_t seed = chaos_roll(chaos, UINT32_MAX);
    bool is_long = chaos_roll(chaos, LONG_EVERY) == 0;
    lengths_begin(&chaos->lengths, seed, HISTORY_ARGUMENTS, 0,
                  is_long ? HISTORY_VALUE_MAX : VALUE_MAX);
    lengths_begin(&key, ~seed, 1, 1, HISTORY_KEY_MAX);
    chaos->key_length = (int)key.of[0];
}

/* The kinds of objects in turn, each at least once, and whatever trouble the place makes. */
static bool play(struct chaos *chaos, const struct chaos_place *place, int64_t until_ns)
{
    while (chaos->judge.wrong == 0 &&
           (chaos_now_ns(NULL) < until_ns || chaos->judge.rounds < SUBJECTS_BRIEF)) {
        chaos->subject = choose_subject(chaos->judge.rounds);
        (void)snprintf(chaos->name, sizeof chaos->name, "round %" PRIu64, chaos->judge.rounds);
        choose_lengths(chaos);
        if (!place->round(chaos))
            return false;
    }
    if (chaos->judge.wrong > 0) {
        (void)printf("keys of %d bytes\n", chaos->key_length);
        lengths_print(&chaos->lengths);
    }
    return chaos->judge.wrong == 0;
}

int main(int argc, char **argv)
{
    static struct chaos chaos;
    const struct chaos_place *place = find_place(argc > 1 ? argv[1] : "relays");
    if (place == NULL || argc > 3) {
        (void)fprintf(stderr, "usage: chaos [relays|losses|nutcracker|lmdb [SEED]]\n");
        return EXIT_FAILURE;
    }
    for (int i = 0; i < 2; i++)
        if (place->programs[i] != NULL && !server_is_installed(place->programs[i])) {
            (void)printf("skipped: %s is not installed\n", place->programs[i]);
            return SKIPPED;
        }
    chaos.dice = chaos.seed = number_from(argc > 2 ? argv[2] : NULL, 1);
    int64_t begun_ns = chaos_now_ns(NULL);
    int64_t until_ns = begun_ns + (int64_t)chaos_setting("CHAOS_SECONDS", SECONDS) * 1000000000;
    bool fine = place->open(&chaos) && play(&chaos, place, until_ns);
    (void)printf("%s, seed %" PRIu64 ", %.1f s\n", place->name, chaos.seed,
                 (double)(chaos_now_ns(NULL) - begun_ns) / 1e9);
    judge_tell(&chaos.judge);
    place->close(&chaos);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
