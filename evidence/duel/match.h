/* A match: one side plays one structure on a memcached behind a relay, with the same rate of
 * faults and the same seed for each side. Eight players, each with its own store, make the same
 * calls at once. Afterwards their results are compared with the content of the server. */
#ifndef MCDS_EVIDENCE_DUEL_MATCH_H
#define MCDS_EVIDENCE_DUEL_MATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "article/article.h"
#include "chaos/relay.h"
#include "mcds.h"

#define PLAYERS 8
#define CALLS_MAX 128
#define TRIES_MAX 12
#define ERRORS_TOLD_MAX 10
#define ROUNDS_LONG 4

/* What one try of a call was told. */
enum told {
    TOLD_DONE,
    TOLD_NOT, /* certainly not applied: it may be made again */
    TOLD_UNKNOWN
};

/* What its caller knows in the end. */
enum fate { FATE_NOT, FATE_UNKNOWN, FATE_DONE };

enum column {
    LOST,       /* acknowledged, and not there */
    DOUBLED,    /* there more often than it was asked for */
    WRONG,      /* there though it was removed or refused; read and not so; out of order */
    OVERLAPS,   /* a holder that began while another's right was valid */
    VIOLATIONS, /* writes that were let through after those of a later holder */
    COLUMNS
};
#define COLUMN(name) (1u << (name))

struct score {
    uint64_t calls;
    uint64_t done;    /* their callers were told so */
    uint64_t unknown; /* their callers do not know; the others are known not to be done */
    uint64_t unread;  /* what the referee could not read, so that it is not judged */
    uint64_t found[COLUMNS];
};

struct match;

struct player {
    struct match *match;
    uint32_t number;
    mcds_store *store;
    struct memcache mc; /* the article's way into the same store */
    void *state;        /* of the side */
    uint64_t wrong;     /* seen during the match */
    enum fate fates[CALLS_MAX];
    pthread_t thread;
};

/* How one side plays one structure. */
struct side {
    const char *structure;
    const char *whose;
    bool is_ours;
    bool is_slow;    /* begins before the others */
    bool gives_up;   /* after the first try whose fate is unknown; else it is made again */
    unsigned judged; /* the columns that mean something here */
    /* In which this side must be found wrong, by the article's known flaws: in one round; in
     * ROUNDS_LONG of them. */
    unsigned must;
    unsigned must_in_time;
    uint32_t calls; /* of each player */
    uint32_t tries; /* of each call; 0: TRIES_MAX */
    /* After so many requests the article's caller gives up to wait for a lock. 0: never. */
    uint32_t operations;
    uint32_t lap; /* the players meet before every so many calls; 0: once */
    /* There the wall clocks of all are put forward; between them they stop. 0: they run. */
    uint32_t lap_s;
    size_t stage_size; /* zeroed memory for all players */
    const void *parts; /* of the kind of side */

    bool (*open)(struct player *player); /* NULL: there is nothing to open */
    enum told (*call)(struct player *player, uint32_t number);
    void (*close)(struct player *player);
    /* After all have played: `referee` is a player beside the relay. */
    void (*judge)(struct player *referee, struct score *score);
};

struct match {
    const struct side *side;
    uint64_t seed;
    struct server server;
    struct relay relay;
    mcds_env env;
    int64_t wall_ns; /* when the monotonic clock was begun_ns */
    int64_t begun_ns;
    _Atomic int64_t ahead_ns;
    pthread_barrier_t meeting;
    pthread_mutex_t mutex; /* for the side */
    void *stage;
    _Atomic uint32_t errors_told;
    struct player players[PLAYERS];
};

/* Play it and add what was found. False: it could not be played, which has been printed. */
bool match_play(const struct side *side, uint64_t seed, uint32_t fault_ppm,
                struct score *score);

int64_t match_now_ns(void);
void match_sleep_ms(uint32_t milliseconds);
/* Say what is wrong with ours, with the seed that may show it again. */
void match_tell(struct match *match, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
uint64_t match_count(const struct match *match, enum fate fate);

/* An mcds_result that fits no server that loses nothing is wrong, and told. */
enum told told_by_result(struct player *player, const char *verb, int result);
enum told told_by_answer(enum answer answer);

/* The referee reads again and again while it is only told that it did not work, for the machine may
 * be busy:
 *
 *     struct reading reading = {0};
 *     while (referee_reads(&reading, referee, score, "get"))
 *         reading.told = ...;
 *     if (reading.told == TOLD_DONE) ...      else it is not judged, which is told */
struct reading {
    uint32_t tries;
    enum told told;
};
bool referee_reads(struct reading *reading, struct player *referee, struct score *score,
                   const char *verb);

/* What is there, of what was counted and what may have been. */
void score_number(struct score *score, uint64_t there, uint64_t counted, uint64_t unknown);
/* The same for the calls of one lap of all players, with what was there `before` them. */
void score_lap(const struct match *match, struct score *score, uint32_t lap, uint64_t before,
               uint64_t there);

#endif
