/* A relay before a server that behaves like a faulty network. It cuts connections before or
 * after it has passed a request on, delivers requests after their sender is gone, delays them,
 * and withholds replies. */
#ifndef MCDS_TESTS_CHAOS_RELAY_H
#define MCDS_TESTS_CHAOS_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/server.h"

#define RELAY_LINES 96

/* What may happen to a piece that a client has sent. */
enum relay_fault {
    RELAY_NONE,
    RELAY_CUT_BEFORE,
    RELAY_CUT_AFTER,
    RELAY_LATE,
    RELAY_HOLD,
    RELAY_SILENT,
    RELAY_FAULTS
};

#define RELAY_ALL_FAULTS ((UINT32_C(1) << RELAY_FAULTS) - 2)

/* One connection through the station. */
struct relay_line {
    int client; /* -1: gone, or free when the server's end is too */
    int server;
    bool silent;
    uint8_t *held; /* what is not passed on before */
    size_t held_length;
    int64_t held_until_ns;
};

struct relay {
    struct server place; /* where it listens */
    const struct server *target;
    /* Of pieces, for each kind of fault; a pair of halves, so that both change at once: which
     * kinds, 1 << enum relay_fault or'ed, and how many of a million. */
    _Atomic uint64_t faults;
    _Atomic uint32_t doubled_ppm; /* of the server's answers, those that come twice */
    _Atomic uint64_t doubled;
    uint64_t dice;
    int listener;
    pthread_t thread;
    _Atomic bool over;
    _Atomic uint64_t counts[RELAY_FAULTS];
    struct relay_line lines[RELAY_LINES];
};

/* Listen at a free port of loopback, for a server that runs. False: no socket. */
bool relay_start(struct relay *relay, const struct server *target, uint64_t seed);
/* None at the start. The rate is for each kind where all are chosen; fewer kinds share it. */
void relay_set_faults(struct relay *relay, uint32_t kinds, uint32_t ppm);
void relay_stop(struct relay *relay);

#endif
