/* Under fire: chaos [SEED]
 *
 * Three memcached servers, each behind a relay that cuts, delays, delivers late and falls silent,
 * and that is brought to a halt now and then. Six threads play one round after the other: calls on
 * the entries of a table, the elements of a set, arrays and counters that are new in each round.
 * Afterwards the history of every object is judged: there must be an order in which each call takes
 * effect at one moment between its begin and its end.
 *
 * CHAOS_SECONDS: how long, else 5. CHAOS_PPM: of pieces, for each kind of fault. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "chaos/relay.h"
#include "support/dice.h"
#include "support/history.h"

#define SKIPPED 77
#define SERVERS 3
#define PLAYERS 6
#define SUBJECTS 4
#define IN_FLIGHT 3
#define FAULT_PPM 8000
#define TIMEOUT_MS 300
/* One round in so many, a server stands still for a part of the time that calls have. */
#define HALT_ONE_IN 6
#define HALT_MS_MAX 500

static const struct history_subject *const subjects[SUBJECTS] = {
    &history_table, &history_set, &history_array, &history_counter};
static const char *const fault_names[RELAY_FAULTS] = {"passed", "cut before", "cut after",
                                                      "late",   "held",       "silent"};

struct counts {
    uint64_t rounds, histories, calls, unknown, unmade, longest, undecided, wrong;
};

struct play {
    struct server servers[SERVERS];
    struct relay relays[SERVERS];
    char uri[200];
    mcds_store *stores[2]; /* the players share them, three and three */
    mcds_pipeline *pipelines[PLAYERS];
    uint64_t dice;
    struct counts counts;
    struct history_actor actors[PLAYERS];
};

static int64_t now_ns(void *clock)
{
    struct timespec now;
    (void)clock;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t number_from(const char *text, uint64_t usual)
{
    char *end;
    uint64_t number = text != NULL ? strtoull(text, &end, 10) : usual;
    return text != NULL && *end == '\0' ? number : usual;
}

static uint64_t roll(struct play *play, uint64_t below)
{
    return dice_roll(&play->dice, below);
}

static bool complain(const char *what)
{
    (void)printf("chaos: %s: %s\n", what, mcds_errmsg());
    return false;
}

static void *play_calls(void *context)
{
    struct history_actor *actor = context;
    mcds_completion done;
    for (int i = 0; i < IN_FLIGHT; i++)
        (void)history_call(actor);
    while (mcds_pipeline_next(actor->pipeline, &done) == MCDS_OK) {
        history_book(actor, &done);
        (void)history_call(actor);
    }
    return NULL;
}

/* A server that stands still while the others go on. */
static void halt_one(struct play *play)
{
    const struct server *server = &play->servers[roll(play, SERVERS)];
    struct timespec pause = {0, (long)roll(play, HALT_MS_MAX) * 1000000};
    if (!server_pause(server))
        return;
    (void)nanosleep(&pause, NULL);
    (void)server_resume(server);
}

static void print_history(const struct linear_op *ops, uint32_t count)
{
    char line[HISTORY_LINE];
    for (uint32_t i = 0; i < count; i++) {
        history_describe(&ops[i], line);
        (void)printf("    %s\n", line);
    }
}

static void judge(struct play *play, const struct history_subject *subject)
{
    struct counts *counts = &play->counts;
    struct linear_op ops[LINEAR_OPS_MAX];
    for (uint32_t object = 0; object < HISTORY_OBJECTS; object++) {
        uint32_t count = history_gather(play->actors, PLAYERS, object, NULL, ops);
        enum linear_verdict verdict = linear_check(ops, count, subject->initial,
                                                   subject->apply);
        counts->histories++;
        counts->calls += count;
        counts->undecided += verdict == LINEAR_TOO_LONG;
        for (uint32_t i = 0; i < count; i++)
            counts->unknown += !ops[i].known;
        if (verdict == LINEAR && count > counts->longest)
            counts->longest = count;
        if (verdict != NOT_LINEAR)
            continue;
        counts->wrong++;
        (void)printf("round %" PRIu64 ", %s %u: a history that no order explains\n",
                     counts->rounds, subject->name, object);
        print_history(ops, count);
    }
}

static bool play_round(struct play *play)
{
    pthread_t threads[PLAYERS];
    char name[32];
    const struct history_subject *subject = subjects[play->counts.rounds % SUBJECTS];
    (void)snprintf(name, sizeof name, "round %" PRIu64, play->counts.rounds);
    for (uint64_t i = 0; i < PLAYERS; i++) {
        struct history_actor *actor = &play->actors[i];
        if (history_open(actor, subject, play->stores[i % 2], play->pipelines[i], name,
                         play->dice + i) != MCDS_OK)
            return complain("open");
        actor->now_ns = now_ns;
    }
    for (int i = 0; i < PLAYERS; i++)
        if (pthread_create(&threads[i], NULL, play_calls, &play->actors[i]) != 0)
            abort();
    if (roll(play, HALT_ONE_IN) == 0)
        halt_one(play);
    for (int i = 0; i < PLAYERS; i++)
        (void)pthread_join(threads[i], NULL);
    judge(play, subject);
    for (int i = 0; i < PLAYERS; i++) {
        if (play->actors[i].impossible[0] != '\0') {
            (void)printf("round %" PRIu64 ", %s: %s\n", play->counts.rounds, subject->name,
                         play->actors[i].impossible);
            play->counts.wrong++;
        }
        history_close(&play->actors[i]);
    }
    play->counts.rounds++;
    return true;
}

static bool open_play(struct play *play, uint64_t seed)
{
    uint32_t ppm = (uint32_t)number_from(getenv("CHAOS_PPM"), FAULT_PPM);
    int used = snprintf(play->uri, sizeof play->uri, "memcached://");
    play->dice = seed;
    for (int i = 0; i < SERVERS; i++)
        play->relays[i].listener = -1;
    for (uint64_t i = 0; i < SERVERS; i++) {
        if (!server_start_memcached(&play->servers[i]) ||
            !relay_start(&play->relays[i], &play->servers[i], ppm, seed * SERVERS + i))
            return complain("a server does not start");
        used += snprintf(play->uri + used, sizeof play->uri - (size_t)used, "%s127.0.0.1:%u",
                         i > 0 ? "," : "", (unsigned)play->relays[i].place.port);
    }
    (void)snprintf(play->uri + used, sizeof play->uri - (size_t)used,
                   "?timeout=%d&connect_timeout=100&connections=2", TIMEOUT_MS);
    for (int i = 0; i < 2; i++)
        if (mcds_open(play->uri, NULL, &play->stores[i]) != MCDS_OK)
            return complain("open");
    for (int i = 0; i < PLAYERS; i++)
        if (mcds_pipeline_open(play->stores[i % 2], NULL, &play->pipelines[i]) != MCDS_OK)
            return complain("pipeline");
    return true;
}

static void close_play(struct play *play)
{
    for (int i = 0; i < PLAYERS; i++)
        mcds_pipeline_close(play->pipelines[i]);
    for (int i = 0; i < 2; i++)
        mcds_close(play->stores[i]);
    for (int i = 0; i < SERVERS; i++) {
        relay_stop(&play->relays[i]);
        server_stop(&play->servers[i]);
    }
}

static void tell(const struct play *play, uint64_t seed, double seconds)
{
    const struct counts *counts = &play->counts;
    (void)printf("seed %" PRIu64 ", %.0f s: %" PRIu64 " rounds, %" PRIu64
                 " histories, the longest of %" PRIu64 " calls\n",
                 seed, seconds, counts->rounds, counts->histories, counts->longest);
    (void)printf("calls %" PRIu64 ", ambiguous %.1f %%, undecided histories %" PRIu64
                 ", violations %" PRIu64 "\n",
                 counts->calls,
                 counts->calls > 0 ? 100.0 * (double)counts->unknown / (double)counts->calls
                                   : 0.0,
                 counts->undecided, counts->wrong);
    (void)printf("pieces");
    for (int fault = 0; fault < RELAY_FAULTS; fault++) {
        uint64_t sum = 0;
        for (int i = 0; i < SERVERS; i++)
            sum += play->relays[i].counts[fault];
        (void)printf("%s %s %" PRIu64, fault > 0 ? "," : "", fault_names[fault], sum);
    }
    (void)printf("\n");
}

int main(int argc, char **argv)
{
    static struct play play;
    uint64_t seed = number_from(argc > 1 ? argv[1] : NULL, 1);
    uint64_t seconds = number_from(getenv("CHAOS_SECONDS"), 5);
    if (!server_is_installed("memcached")) {
        (void)puts("skipped: memcached is not installed");
        return SKIPPED;
    }
    bool fine = open_play(&play, seed);
    int64_t begun_ns = now_ns(NULL);
    int64_t until_ns = begun_ns + (int64_t)seconds * 1000000000;
    while (fine && play.counts.wrong == 0 && now_ns(NULL) < until_ns)
        fine = play_round(&play);
    tell(&play, seed, (double)(now_ns(NULL) - begun_ns) / 1e9);
    close_play(&play);
    fine = fine && play.counts.wrong == 0 && play.counts.rounds >= SUBJECTS;
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
