/* A match of one side, on a server and a relay of its own. */
#include "duel/match.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/environment.h"

#define REFEREE_TRIES 20
#define REFEREE_PAUSE_MS 200
#define TIMEOUT_MS 120
#define PAUSE_MS 10
#define DAY_S 86400

int64_t match_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void match_sleep_ms(uint32_t milliseconds)
{
    struct timespec length = {(time_t)(milliseconds / 1000),
                              (long)(milliseconds % 1000) * NS_PER_MS};
    (void)nanosleep(&length, NULL);
}

void match_tell(struct match *match, const char *format, ...)
{
    char text[256];
    va_list arguments;
    if (!match->side->is_ours || match->errors_told++ >= ERRORS_TOLD_MAX)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)printf("%s, %s, seed %" PRIu64 ": %s\n", match->side->structure, match->side->whose,
                 match->seed, text);
}

uint64_t match_count(const struct match *match, enum fate fate)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < PLAYERS; i++)
        for (uint32_t number = 0; number < match->side->calls; number++)
            count += match->players[i].fates[number] == fate;
    return count;
}

enum told told_by_result(struct player *player, const char *verb, int result)
{
    switch (result) {
    case MCDS_OK:
        return TOLD_DONE;
    case MCDS_AMBIGUOUS:
        return TOLD_UNKNOWN;
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        return TOLD_NOT;
    default:
        player->wrong++;
        match_tell(player->match, "%s: %s: %s", verb, mcds_result_name(result), mcds_errmsg());
        return TOLD_NOT;
    }
}

/* The article's caller has an exception in hand, or waited for a lock in vain. */
enum told told_by_answer(enum answer answer)
{
    switch (answer) {
    case DONE:
        return TOLD_DONE;
    case STOPPED:
        return TOLD_NOT;
    default:
        return TOLD_UNKNOWN;
    }
}

void score_number(struct score *score, uint64_t there, uint64_t counted, uint64_t unknown)
{
    if (there < counted)
        score->found[LOST] += counted - there;
    if (there > counted + unknown)
        score->found[DOUBLED] += there - counted - unknown;
}

bool referee_reads(struct reading *reading, struct player *referee, struct score *score,
                   const char *verb)
{
    if (reading->tries > 0 && reading->told == TOLD_DONE)
        return false;
    if (reading->tries == REFEREE_TRIES) {
        score->unread++;
        match_tell(referee->match, "%s: not judged: %s", verb, mcds_errmsg());
        return false;
    }
    if (reading->tries++ > 0)
        match_sleep_ms(REFEREE_PAUSE_MS);
    return true;
}

void score_lap(const struct match *match, struct score *score, uint32_t lap, uint64_t before,
               uint64_t there)
{
    uint32_t calls = match->side->lap;
    uint64_t counted = before;
    uint64_t unknown = 0;
    for (uint32_t i = 0; i < PLAYERS; i++)
        for (uint32_t number = lap * calls; number < (lap + 1) * calls; number++) {
            counted += match->players[i].fates[number] == FATE_DONE;
            unknown += match->players[i].fates[number] == FATE_UNKNOWN;
        }
    score_number(score, there, counted, unknown);
}

/* It begins at noon: no match runs over the end of a day. */
static int64_t wall_ns(void *self)
{
    const struct match *match = self;
    int64_t passed_ns = match->side->lap_s > 0 ? 0 : match_now_ns() - match->begun_ns;
    return match->wall_ns + passed_ns + match->ahead_ns;
}

static bool open_player(struct match *match, struct player *player, const struct server *server)
{
    char uri[128];
    char query[192];
    mcds_options options = MCDS_OPTIONS_INIT;
    options.env = &match->env;
    server_uri(server, uri, sizeof uri);
    (void)snprintf(query, sizeof query, "%s?timeout=%d&connect_timeout=100", uri, TIMEOUT_MS);
    player->match = match;
    if (mcds_open(query, &options, &player->store) != MCDS_OK) {
        (void)printf("duel: %s: %s\n", match->side->structure, mcds_errmsg());
        return false;
    }
    uint32_t operations = match->side->operations;
    /* The article's time begins an hour before the match: no ring is at its edge. */
    player->mc = (struct memcache){.store = player->store,
                                   .epoch_s = match->wall_ns / NS_PER_S - DAY_S / 24,
                                   .operation_max = operations > 0 ? operations : UINT64_MAX,
                                   .stopped_at = MCDS_ADD,
                                   .reconnects = true};
    return match->side->open == NULL || match->side->open(player);
}

static void close_player(struct player *player)
{
    if (player->store == NULL)
        return;
    if (player->match->side->close != NULL)
        player->match->side->close(player);
    mcds_close(player->store);
}

static enum fate make_call(struct player *player, uint32_t number)
{
    const struct side *side = player->match->side;
    uint32_t tries = side->tries > 0 ? side->tries : TRIES_MAX;
    enum fate fate = FATE_NOT;
    for (uint32_t i = 0; i < tries; i++) {
        match_sleep_ms(i * PAUSE_MS); /* longer each time, as connections may need it */
        player->mc.operations = 0;
        enum told told = side->call(player, number);
        if (told == TOLD_DONE)
            return FATE_DONE;
        if (told == TOLD_UNKNOWN)
            fate = FATE_UNKNOWN;
        if (told == TOLD_UNKNOWN && side->gives_up)
            return fate;
    }
    return fate;
}

/* One of them puts the clocks forward while the others wait. */
static void meet(struct match *match)
{
    if (pthread_barrier_wait(&match->meeting) == PTHREAD_BARRIER_SERIAL_THREAD)
        match->ahead_ns += match->side->lap_s * NS_PER_S;
    (void)pthread_barrier_wait(&match->meeting);
}

static void *play(void *context)
{
    struct player *player = context;
    const struct side *side = player->match->side;
    uint32_t lap = side->lap > 0 ? side->lap : side->calls;
    for (uint32_t number = 0; number < side->calls; number++) {
        if (number % lap == 0)
            meet(player->match);
        player->fates[number] = make_call(player, number);
    }
    return NULL;
}

static bool open_match(struct match *match, uint32_t fault_ppm)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    match->env = *mcds_env_system();
    match->env.self = match;
    match->env.wall_ns = wall_ns;
    match->wall_ns = ((int64_t)now.tv_sec / DAY_S * DAY_S + DAY_S / 2) * NS_PER_S;
    match->begun_ns = match_now_ns();
    match->relay.listener = -1;
    match->stage = calloc(1, match->side->stage_size + 1);
    if (match->stage == NULL || pthread_mutex_init(&match->mutex, NULL) != 0 ||
        pthread_barrier_init(&match->meeting, NULL, PLAYERS) != 0)
        abort();
    if (!server_start_memcached(&match->server) ||
        !relay_start(&match->relay, &match->server, match->seed)) {
        (void)printf("duel: %s: a server does not start\n", match->side->structure);
        return false;
    }
    relay_set_faults(&match->relay, RELAY_ALL_FAULTS, fault_ppm);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        match->players[i].number = i;
        if (!open_player(match, &match->players[i], &match->relay.place))
            return false;
    }
    return true;
}

static void close_match(struct match *match)
{
    for (uint32_t i = 0; i < PLAYERS; i++)
        close_player(&match->players[i]);
    relay_stop(&match->relay);
    server_stop(&match->server);
    (void)pthread_barrier_destroy(&match->meeting);
    (void)pthread_mutex_destroy(&match->mutex);
    free(match->stage);
    free(match);
}

/* The server is asked directly, when the relay has nothing more to deliver. */
static bool judge(struct match *match, struct score *score)
{
    struct player *referee = calloc(1, sizeof *referee);
    if (referee == NULL)
        abort();
    referee->number = PLAYERS;
    bool fine = open_player(match, referee, &match->server);
    if (fine) {
        score->calls += (uint64_t)PLAYERS * match->side->calls;
        score->done += match_count(match, FATE_DONE);
        score->unknown += match_count(match, FATE_UNKNOWN);
        match->side->judge(referee, score);
        for (uint32_t i = 0; i < PLAYERS; i++)
            score->found[WRONG] += match->players[i].wrong;
        score->found[WRONG] += referee->wrong;
    }
    close_player(referee);
    free(referee);
    return fine;
}

bool match_play(const struct side *side, uint64_t seed, uint32_t fault_ppm, struct score *score)
{
    struct match *match = calloc(1, sizeof *match);
    if (match == NULL)
        abort();
    match->side = side;
    match->seed = seed;
    bool fine = open_match(match, fault_ppm);
    for (uint32_t i = 0; fine && i < PLAYERS; i++)
        if (pthread_create(&match->players[i].thread, NULL, play, &match->players[i]) != 0)
            abort();
    for (uint32_t i = 0; fine && i < PLAYERS; i++)
        (void)pthread_join(match->players[i].thread, NULL);
    fine = fine && judge(match, score);
    close_match(match);
    return fine;
}
