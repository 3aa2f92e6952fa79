/* What mcds sends, byte for byte: a way station between a store and a memcached that writes
 * down what goes through. The raw loops send the same. */
#ifndef BENCH_RECORDER_H
#define BENCH_RECORDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/server.h"

#define RECORDING_MAX ((size_t)1 << 20)

struct recorder {
    char path[128]; /* where it listens */
    const struct server *target;
    int listener;
    int stop[2]; /* closing the second ends the thread */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    uint8_t *requests;
    size_t length;
    uint32_t feeds; /* line feeds in the replies */
};

bool recorder_start(struct recorder *recorder, const char *place, const struct server *target);
/* Forget what was recorded. */
void recorder_begin(struct recorder *recorder);
/* A copy of the requests since recorder_begin() and the number of line feeds in their replies.
 * Only while nothing is in flight. free() the copy. */
uint8_t *recorder_end(struct recorder *recorder, size_t *length_out, uint32_t *feeds_out);
void recorder_stop(struct recorder *recorder);

#endif
