/* A way station between clients and a server. It writes down what goes through, so that the
 * raw loops can send the same bytes, and it can hold every byte back for a while, which makes a
 * server on this machine as far away as one in the next room. */
#ifndef BENCH_RELAY_H
#define BENCH_RELAY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/server.h"

#define RELAY_PAIRS_MAX 8

struct chunk;

/* One direction of one connection: what has been read and is not yet due or not yet written. */
struct stretch {
    int from;
    int to;
    struct chunk *first;
    struct chunk **end;
};

struct relay {
    struct server server; /* where it listens */
    const struct server *target;
    int64_t delay_ns; /* each way */
    int listener;
    int stop[2]; /* closing the second ends the thread */
    pthread_t thread;
    struct stretch stretches[2 * RELAY_PAIRS_MAX]; /* to the server, and back, by turns */
    uint32_t stretch_count;
    pthread_mutex_t mutex; /* guards what follows */
    uint8_t *requests;
    size_t length;
    uint32_t feeds; /* line feeds in the replies */
};

/* A relay that listens at PLACE/NAME. False: no such thing could be made. */
bool relay_start(struct relay *relay, const char *place, const char *name,
                 const struct server *target, int64_t delay_ns);
void relay_stop(struct relay *relay);

/* Forget what was recorded. */
void relay_begin(struct relay *relay);
/* A copy of the requests since relay_begin() and the number of line feeds in their replies. Only
 * while nothing is in flight. free() the copy; NULL: out of memory. */
uint8_t *relay_end(struct relay *relay, size_t *length_out, uint32_t *feeds_out);

#endif
