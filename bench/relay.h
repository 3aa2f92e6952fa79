/* A relay between clients and a server. It records the bytes that pass, so that the raw loops
 * can send the same ones. It can also delay every byte, so that a server on this machine seems
 * as far away as one in another room. */
#ifndef BENCH_RELAY_H
#define BENCH_RELAY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/server.h"

#define RELAY_PAIRS_MAX 8

struct chunk;

/* One direction of one connection: bytes that were read and are not due or not written yet. */
struct stretch {
    int from;
    int to;
    struct chunk *first;
    struct chunk **end;
};

struct relay {
    struct server server; /* where it listens */
    const struct server *target;
    int64_t delay_ns; /* in each direction */
    int listener;
    int stop[2]; /* closing the second ends the thread */
    pthread_t thread;
    struct stretch stretches[2 * RELAY_PAIRS_MAX]; /* to the server, and back, alternating */
    uint32_t stretch_count;
    pthread_mutex_t mutex; /* guards the members below */
    uint8_t *requests;
    size_t length;
    uint32_t feeds; /* line feeds in the replies */
};

/* Start a relay that listens at PLACE/NAME. False: it could not be started. */
bool relay_start(struct relay *relay, const char *place, const char *name,
                 const struct server *target, int64_t delay_ns);
void relay_stop(struct relay *relay);

/* Discard what was recorded. */
void relay_begin(struct relay *relay);
/* A copy of the requests since relay_begin() and the number of line feeds in their replies.
 * Call it only while nothing is in flight. Release the copy with free(); NULL: no memory. */
uint8_t *relay_end(struct relay *relay, size_t *length_out, uint32_t *feeds_out);

#endif
